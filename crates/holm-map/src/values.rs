//! References to values, and their drop: the only code that turns a slot into a reference. This is one of the files
//! where `unsafe` is allowed.

use crate::key::Key;
use crate::leaf::Leaf;
use crate::level::Selection;
use crate::tree::{NOWHERE, Tree};
use holm_search::LaneKernels;

impl<K: Key, V, S: Selection> Tree<K, V, S> {
    /// Returns the value in an occupied slot.
    #[inline(always)]
    pub(crate) fn value(&self, (leaf, slot): (u32, usize)) -> &V {
        // SAFETY: an occupied slot has a value (for others `value_at` panics), and no writer changes it while the tree
        // is borrowed.
        unsafe { self.leaves.value_at(leaf, slot).as_ref() }
    }

    /// As [`Tree::value`], of a slot that is known to be occupied.
    ///
    /// # Safety
    /// The slot is occupied.
    #[inline(always)]
    pub(crate) unsafe fn value_found(&self, (leaf, slot): (u32, usize)) -> &V {
        // SAFETY: by this function's contract there is a value, and no writer changes it while the tree is borrowed.
        unsafe { self.leaves.value_found(leaf, slot).as_ref() }
    }

    /// Returns the value of `key`. There is one function per level of vectors, so that the registers of one level do
    /// not burden the others. The usual height has a function of its own: the number of searches that a CPU overlaps
    /// depends on how many of their instructions fit into its reorder window.
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

    /// Returns the value of `key`, whose leaf is `leaf`.
    #[inline(always)]
    fn value_in<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> Option<&V> {
        let slot = self.find_in(x, leaf, key)?;
        // SAFETY: the slot was found just now, so it has a value, and no writer changes it while the tree is borrowed.
        Some(unsafe { self.leaves.value_found(leaf, slot).as_ref() })
    }

    /// Returns the values of many keys. Each key's leaf is given.
    #[inline(always)]
    pub(crate) fn values<X: LaneKernels, const MANY: usize>(
        &self,
        x: X,
        leaves: &[u32; MANY],
        keys: &[K::Lane; MANY],
    ) -> [Option<&V>; MANY] {
        // SAFETY: `find_many` returns pointers to values, and no writer changes them while the tree is borrowed.
        self.leaves.find_many(x, leaves, keys).map(|found| found.map(|value| unsafe { value.as_ref() }))
    }

    /// Returns the value in an occupied slot, mutably.
    #[inline(always)]
    pub(crate) fn value_mut(&mut self, (leaf, slot): (u32, usize)) -> &mut V {
        // SAFETY: as above, and no other reference exists while the tree is borrowed exclusively.
        unsafe { self.leaves.value_at(leaf, slot).as_mut() }
    }

    /// Returns the value in an occupied slot for as long as the tree is borrowed, independent of other borrowed values.
    ///
    /// # Safety
    /// The tree is borrowed exclusively for `'a`, nothing changes it meanwhile, and the caller requests each slot once.
    #[inline(always)]
    pub(crate) unsafe fn value_once<'a>(&self, (leaf, slot): (u32, usize)) -> &'a mut V {
        // SAFETY: there is a value, and by this function's contract no other reference to it exists. Of other slots
        // only the keys are read, which lie beside the value.
        unsafe { self.leaves.value_at(leaf, slot).as_mut() }
    }

    /// Drops the remaining values in the order of their keys. A value leaves its leaf before it is dropped, so after a
    /// panic the drop continues with the next value.
    fn drop_values(&mut self) {
        let mut order = Vec::new();
        while self.head != NOWHERE {
            let leaf = self.head;
            self.order(leaf, &mut order);
            for (lane, slot) in order.drain(..) {
                if let Some(slot) = self.look_again(leaf, lane, slot as usize) {
                    drop(self.leaves.remove(leaf, slot));
                }
            }
            self.head = self.after(leaf);
        }
    }
}

impl<K: Key, V, S: Selection> Drop for Tree<K, V, S> {
    fn drop(&mut self) {
        /// Continues when the drop of a value panics. A second panic aborts, as usual.
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
