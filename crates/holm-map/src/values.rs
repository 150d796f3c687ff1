//! Values lent out, and all of them dropped: the only way from a slot to a reference. One of the rooms where `unsafe`
//! may stand.

use crate::key::Key;
use crate::leaf::Leaf;
use crate::level::Selection;
use crate::tree::{NOWHERE, Tree};
use holm_search::LaneKernels;

impl<K: Key, V, S: Selection> Tree<K, V, S> {
    /// The value in an occupied slot.
    #[inline(always)]
    pub(crate) fn value(&self, (leaf, slot): (u32, usize)) -> &V {
        // SAFETY: an occupied slot has a value (others panic), which nobody changes while the tree is borrowed.
        unsafe { self.leaves.value_at(leaf, slot).as_ref() }
    }

    /// The value of `key`. A function for each level of vectors, so that one's registers are not the others' too, and
    /// one for the height that most trees have: how many searches a CPU has under way at a time is how often their
    /// instructions fit into what it looks ahead.
    #[inline(never)]
    pub(crate) fn get<X: LaneKernels>(&self, x: X, key: K::Lane) -> Option<&V> {
        if self.height() != 2 {
            return self.get_at_any_height(x, key);
        }
        self.value_in(x, self.seek_below_two(x, key), key)
    }

    #[inline(never)]
    fn get_at_any_height<X: LaneKernels>(&self, x: X, key: K::Lane) -> Option<&V> {
        match self.seek_at_any_height(x, key) {
            NOWHERE => None,
            leaf => self.value_in(x, leaf, key),
        }
    }

    /// The value of `key`, whose leaf this is.
    #[inline(always)]
    fn value_in<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> Option<&V> {
        let slot = self.find_in(x, leaf, key)?;
        // SAFETY: the slot was found just now, so it has a value, which nobody changes while the tree is borrowed.
        Some(unsafe { self.leaves.value_found(leaf, slot).as_ref() })
    }

    /// The values of many keys, each in the leaf where it belongs.
    #[inline(always)]
    pub(crate) fn values<X: LaneKernels, const MANY: usize>(
        &self,
        x: X,
        leaves: &[u32; MANY],
        keys: &[K::Lane; MANY],
    ) -> [Option<&V>; MANY] {
        // SAFETY: what leaves find is a value, which nobody changes while the tree is borrowed.
        self.leaves.find_many(x, leaves, keys).map(|found| found.map(|value| unsafe { value.as_ref() }))
    }

    /// The value in an occupied slot, to be changed.
    #[inline(always)]
    pub(crate) fn value_mut(&mut self, (leaf, slot): (u32, usize)) -> &mut V {
        // SAFETY: as above, and nobody else looks at it while the tree is borrowed exclusively.
        unsafe { self.leaves.value_at(leaf, slot).as_mut() }
    }

    /// The value in an occupied slot, for as long as the tree is borrowed, whatever else is lent of it.
    ///
    /// # Safety
    /// The tree is borrowed exclusively for `'a`, nothing changes it meanwhile, and each slot is asked for once.
    #[inline(always)]
    pub(crate) unsafe fn value_once<'a>(&self, (leaf, slot): (u32, usize)) -> &'a mut V {
        // SAFETY: there is a value, and by this function's contract nobody else has a reference to it. What is looked
        // at of other slots, their keys, lies beside it.
        unsafe { self.leaves.value_at(leaf, slot).as_mut() }
    }

    /// Drops what is left, leaf by leaf. A value is out of its leaf before it is dropped, so after a panic this goes
    /// on with the next one.
    fn drop_values(&mut self) {
        while self.head != NOWHERE {
            while let Some(slot) = self.leaves.any(self.head) {
                drop(self.leaves.remove(self.head, slot));
            }
            self.head = self.after(self.head);
        }
    }
}

impl<K: Key, V, S: Selection> Drop for Tree<K, V, S> {
    fn drop(&mut self) {
        /// Goes on when the drop of a value panics; a second panic aborts, as everywhere.
        struct Rest<'a, K: Key, V, S: Selection>(&'a mut Tree<K, V, S>);

        impl<K: Key, V, S: Selection> Drop for Rest<'_, K, V, S> {
            fn drop(&mut self) {
                self.0.drop_values();
            }
        }

        if std::mem::needs_drop::<V>() {
            let rest = Rest(self);
            rest.0.drop_values();
        }
    }
}
