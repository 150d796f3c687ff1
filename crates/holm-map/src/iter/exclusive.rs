//! Iterators with mutable values. This is one of the files where `unsafe` is allowed.

use super::shared::{ends_in_order, exact};
use super::{Range, Reading};
use crate::key::Key;
use crate::level::Selection;
use crate::map::Map;
use crate::presets::Fast;
use crate::tree::Tree;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;

/// An iterator over the pairs between two keys, with mutable values. [`crate::Map::range_mut`] returns it.
pub struct RangeMut<'a, K: Key, V, S: Selection = Fast> {
    /// A shared reference, because the iteration reads only keys. This iterator alone accesses the values.
    tree: &'a Tree<K, V, S>,
    walk: Reading<K, V, S>,
    values: PhantomData<&'a mut V>,
}

/// An iterator over all pairs, with mutable values. [`crate::Map::iter_mut`] returns it.
pub struct IterMut<'a, K: Key, V, S: Selection = Fast> {
    pub(crate) range: RangeMut<'a, K, V, S>,
    pub(crate) left: usize,
}

/// An iterator over all values, mutably. [`crate::Map::values_mut`] returns it.
pub struct ValuesMut<'a, K: Key, V, S: Selection = Fast>(pub(crate) IterMut<'a, K, V, S>);

impl<'a, K: Key, V, S: Selection> RangeMut<'a, K, V, S> {
    pub(crate) fn new(tree: &'a mut Tree<K, V, S>, walk: Reading<K, V, S>) -> Self {
        Self { tree, walk, values: PhantomData }
    }
}

impl<'a, K: Key, V, S: Selection> Iterator for RangeMut<'a, K, V, S> {
    type Item = (K, &'a mut V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        // SAFETY: the walk reads this tree alone, which is borrowed while the walk exists; only values change.
        let (lane, place) = unsafe { self.walk.next(self.tree) }?;
        // SAFETY: the tree is borrowed exclusively for `'a`, and a walk reaches each place once, from one end or the
        // other.
        Some((K::of_lane(lane), unsafe { self.tree.value_once(place) }))
    }

    /// In O(log n), without the pairs before it.
    fn last(mut self) -> Option<Self::Item> {
        self.next_back()
    }

    ends_in_order!(by_key);
}

impl<K: Key, V, S: Selection> DoubleEndedIterator for RangeMut<'_, K, V, S> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        // SAFETY: as above.
        let (lane, place) = unsafe { self.walk.next_back(self.tree) }?;
        // SAFETY: as above.
        Some((K::of_lane(lane), unsafe { self.tree.value_once(place) }))
    }
}

impl<K: Key, V, S: Selection> FusedIterator for RangeMut<'_, K, V, S> {}

// SAFETY: the tree is borrowed exclusively, so no other thread reads it. The iterator reaches only the values that it
// lends exclusively. So it may be sent where the map may be sent, even if the values are not `Sync`.
unsafe impl<K: Key, V: Send, S: Selection> Send for RangeMut<'_, K, V, S> where Map<K, V, S>: Send {}

/// Formats the pairs that are still to come. None of them is lent yet.
impl<K: Key, V: fmt::Debug, S: Selection> fmt::Debug for RangeMut<'_, K, V, S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Range { tree: self.tree, walk: self.walk.clone() }.fmt(out)
    }
}

impl<K: Key, V: fmt::Debug, S: Selection> fmt::Debug for IterMut<'_, K, V, S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.range.fmt(out)
    }
}

impl<K: Key, V: fmt::Debug, S: Selection> fmt::Debug for ValuesMut<'_, K, V, S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = &self.0.range;
        let values = Range { tree: range.tree, walk: range.walk.clone() }.map(|(_, value)| value);
        out.debug_list().entries(values).finish()
    }
}

exact!(IterMut => (K, &'a mut V), by_key, self: self.range, pair => { self.left -= 1; pair }, self.left);
exact!(ValuesMut => &'a mut V, by_value, self: self.0, (_, value) => value, self.0.left);
