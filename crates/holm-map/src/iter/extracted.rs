//! The iterator that removes some pairs from a map. It calls the closure in key order. Pairs that it does not reach
//! stay in the map.

use crate::key::Key;
use crate::leaf::Leaf;
use crate::level::Selection;
use crate::presets::Fast;
use crate::tree::{NOWHERE, Tree};
use std::fmt;
use std::iter::FusedIterator;

/// An iterator that removes the pairs between two keys that a closure selects. [`crate::Map::extract_if`] returns it.
pub struct ExtractIf<'a, K: Key, V, F: FnMut(&K, &mut V) -> bool, S: Selection = Fast> {
    tree: &'a mut Tree<K, V, S>,
    wanted: F,
    /// The range that is still to be visited; `None` at the end.
    left: Option<(K::Lane, K::Lane)>,
    leaf: u32,
    /// The keys of the current leaf when the iterator entered it, and their slots at that time.
    order: Vec<(K::Lane, u32)>,
    at: usize,
}

impl<'a, K: Key, V, F: FnMut(&K, &mut V) -> bool, S: Selection> ExtractIf<'a, K, V, F, S> {
    pub(crate) fn new(tree: &'a mut Tree<K, V, S>, left: Option<(K::Lane, K::Lane)>, wanted: F) -> Self {
        let left = left.filter(|_| !tree.is_bare());
        Self { tree, wanted, left, leaf: NOWHERE, order: Vec::new(), at: 0 }
    }

    /// Enters the next leaf, if there is one.
    fn advance(&mut self, low: K::Lane) -> bool {
        let (leaf, first) = match self.leaf {
            NOWHERE => (self.tree.home(low), true),
            leaf => (self.tree.after(leaf), false),
        };
        self.leave();
        if leaf == NOWHERE {
            return false;
        }
        self.leaf = leaf;
        self.tree.order(leaf, &mut self.order);
        self.at = if first { self.order.partition_point(|(lane, _)| *lane < low) } else { 0 };
        true
    }

    /// Removes the leaf if it is empty. This happens only now, because the iterator continues from this leaf.
    fn leave(&mut self) {
        let leaf = std::mem::replace(&mut self.leaf, NOWHERE);
        if leaf == NOWHERE || self.tree.leaves.len(leaf) > 0 {
            return;
        }
        if let Some((lane, _)) = self.order.first() {
            self.tree.leave(*lane);
        }
    }
}

impl<K: Key, V, F: FnMut(&K, &mut V) -> bool, S: Selection> Iterator for ExtractIf<'_, K, V, F, S> {
    type Item = (K, V);

    fn next(&mut self) -> Option<(K, V)> {
        loop {
            let (low, high) = self.left?;
            let Some((lane, slot)) = self.order.get(self.at).copied() else {
                if !self.advance(low) {
                    self.left = None;
                }
                continue;
            };
            if lane > high {
                self.left = None;
                continue;
            }
            self.at += 1;
            // An earlier removal may have moved the pair.
            let Some(slot) = self.tree.look_again(self.leaf, lane, slot as usize) else { continue };
            if (self.wanted)(&K::of_lane(lane), self.tree.value_mut((self.leaf, slot))) {
                self.tree.len -= 1;
                return Some((K::of_lane(lane), self.tree.leaves.remove(self.leaf, slot)));
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.tree.len))
    }
}

impl<K: Key, V, F: FnMut(&K, &mut V) -> bool, S: Selection> FusedIterator for ExtractIf<'_, K, V, F, S> {}

impl<K: Key, V, F: FnMut(&K, &mut V) -> bool, S: Selection> fmt::Debug for ExtractIf<'_, K, V, F, S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ExtractIf").finish_non_exhaustive()
    }
}

impl<K: Key, V, F: FnMut(&K, &mut V) -> bool, S: Selection> Drop for ExtractIf<'_, K, V, F, S> {
    fn drop(&mut self) {
        self.leave();
    }
}
