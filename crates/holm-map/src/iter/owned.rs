//! The iterator that owns the map. Pairs that it does not return are dropped with the tree. This is one of the files
//! where `unsafe` is allowed.

use super::Removing;
use super::shared::ends_in_order;
use crate::key::Key;
use crate::leaf::Leaf;
use crate::level::Selection;
use crate::presets::Fast;
use crate::tree::Tree;
use std::fmt;
use std::iter::FusedIterator;

/// An iterator over all pairs of a map that it owns. The map's `into_iter` returns it.
pub struct IntoIter<K: Key, V, S: Selection = Fast> {
    pub(crate) tree: Tree<K, V, S>,
    pub(crate) walk: Removing<K>,
}

impl<K: Key, V, S: Selection> IntoIter<K, V, S> {
    /// Removes the pair of `lane` from its leaf, where an earlier removal may have moved it. The leaf stays, because
    /// the walk continues from it.
    fn take(&mut self, lane: K::Lane, (leaf, slot): (u32, usize)) -> Option<(K, V)> {
        let slot = self.tree.look_again(leaf, lane, slot)?;
        self.tree.len -= 1;
        Some((K::of_lane(lane), self.tree.leaves.remove(leaf, slot)))
    }
}

impl<K: Key, V, S: Selection> Iterator for IntoIter<K, V, S> {
    type Item = (K, V);

    #[inline]
    fn next(&mut self) -> Option<(K, V)> {
        // SAFETY: the walk reads this tree alone, and its order reads none: it holds the keys of the leaf.
        let (lane, place) = unsafe { self.walk.next(&self.tree) }?;
        self.take(lane, place)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.tree.len, Some(self.tree.len))
    }

    ends_in_order!(by_key);
}

impl<K: Key, V, S: Selection> DoubleEndedIterator for IntoIter<K, V, S> {
    #[inline]
    fn next_back(&mut self) -> Option<(K, V)> {
        // SAFETY: as above.
        let (lane, place) = unsafe { self.walk.next_back(&self.tree) }?;
        self.take(lane, place)
    }
}

impl<K: Key, V, S: Selection> ExactSizeIterator for IntoIter<K, V, S> {}
impl<K: Key, V, S: Selection> FusedIterator for IntoIter<K, V, S> {}

impl<K: Key, V: fmt::Debug, S: Selection> fmt::Debug for IntoIter<K, V, S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut walk = self.walk.clone();
        let left = std::iter::from_fn(|| {
            // SAFETY: as above.
            let (lane, (leaf, slot)) = unsafe { walk.next(&self.tree) }?;
            let slot = self.tree.look_again(leaf, lane, slot)?;
            Some((K::of_lane(lane), self.tree.value((leaf, slot))))
        });
        out.debug_list().entries(left).finish()
    }
}
