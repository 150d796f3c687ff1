//! Clones: a tree of the same shape, whose nodes are copied as memory and whose values are cloned leaf by leaf.

use crate::key::Key;
use crate::leaf::Leaf;
use crate::level::Selection;
use crate::map::Map;
use crate::tree::{NOWHERE, Tree};

/// Values are cloned leaf by leaf in the order of keys, and within a leaf in no particular order. A clone takes as much
/// memory as its original; [`Map::shrink_to_fit`] makes it dense.
impl<K: Key, V: Clone, S: Selection> Clone for Map<K, V, S> {
    fn clone(&self) -> Self {
        let (leaves, free) = self.tree.leaves.counts();
        if free <= leaves / 2 {
            return Self { tree: self.tree.copy() };
        }
        // A copy would spend memory and time on leaves that have no pairs.
        let mut map = Self::with_vectors(self.vectors());
        map.refill(self.iter().map(|(key, value)| (key, value.clone())));
        map
    }
}

impl<K: Key, V: Clone, S: Selection> Tree<K, V, S> {
    /// Returns a copy. If a clone panics, the values that were cloned before it are dropped with the unfinished copy.
    fn copy(&self) -> Self {
        let mut copy = self.empty_copy();
        let mut leaf = self.head;
        while leaf != NOWHERE {
            let coming = self.after(leaf);
            if coming != NOWHERE {
                self.leaves.ask_all(coming);
                self.ask_links(coming);
            }
            copy.leaves.copy_leaf(&self.leaves, leaf);
            leaf = coming;
        }
        copy.len = self.len;
        copy
    }
}
