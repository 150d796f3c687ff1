//! Iterators that lend values to be changed. One of the rooms where `unsafe` may stand.

use super::shared::exact;
use super::{Range, Walk};
use crate::key::Key;
use crate::level::Selection;
use crate::map::Map;
use crate::presets::Fast;
use crate::tree::Tree;
use std::fmt;
use std::iter::FusedIterator;
use std::marker::PhantomData;

/// The pairs between two keys, to be changed; see [`crate::Map::range_mut`].
pub struct RangeMut<'a, K: Key, V, S: Selection = Fast> {
    /// Shared, for what is read on the way are keys; the values are this iterator's alone.
    tree: &'a Tree<K, V, S>,
    walk: Walk<K::Lane>,
    values: PhantomData<&'a mut V>,
}

/// All pairs, to be changed; see [`crate::Map::iter_mut`].
pub struct IterMut<'a, K: Key, V, S: Selection = Fast> {
    pub(crate) range: RangeMut<'a, K, V, S>,
    pub(crate) left: usize,
}

/// All values, to be changed; see [`crate::Map::values_mut`].
pub struct ValuesMut<'a, K: Key, V, S: Selection = Fast>(pub(crate) IterMut<'a, K, V, S>);

impl<'a, K: Key, V, S: Selection> RangeMut<'a, K, V, S> {
    pub(crate) fn new(tree: &'a mut Tree<K, V, S>, walk: Walk<K::Lane>) -> Self {
        Self { tree, walk, values: PhantomData }
    }
}

impl<'a, K: Key, V, S: Selection> Iterator for RangeMut<'a, K, V, S> {
    type Item = (K, &'a mut V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (lane, place) = self.walk.next(self.tree)?;
        // SAFETY: the tree was lent exclusively for `'a`, and a walk reaches each place once, from one end or the
        // other.
        Some((K::of_lane(lane), unsafe { self.tree.value_once(place) }))
    }
}

impl<K: Key, V, S: Selection> DoubleEndedIterator for RangeMut<'_, K, V, S> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        let (lane, place) = self.walk.next_back(self.tree)?;
        // SAFETY: as above.
        Some((K::of_lane(lane), unsafe { self.tree.value_once(place) }))
    }
}

impl<K: Key, V, S: Selection> FusedIterator for RangeMut<'_, K, V, S> {}

// SAFETY: the tree was lent exclusively, so nobody else looks at it, and of the values those alone are reached that
// this iterator lends exclusively: where the map may go it may go, also if its values must not be shared.
unsafe impl<K: Key, V: Send, S: Selection> Send for RangeMut<'_, K, V, S> where Map<K, V, S>: Send {}

/// What is still to come: of that nothing is lent yet.
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

exact!(IterMut => (K, &'a mut V), self: self.range, pair => { self.left -= 1; pair }, self.left);
exact!(ValuesMut => &'a mut V, self: self.0, (_, value) => value, self.0.left);
