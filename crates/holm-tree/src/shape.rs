//! The shape of a tree: its nodes, how full they are, and its height.

use crate::design::Design;
use crate::index::TreeRoot;
use crate::keys::Keys;
use crate::sync::atomic::Ordering::Relaxed;
use crate::tree_set::TreeSet;
use holm_medium::Medium;

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Returns the blocks of the durable nodes of a tree, the top's first. No thread may write to the tree meanwhile.
    pub fn nodes(&self, root: &TreeRoot) -> Vec<u32> {
        self.inner.nodes(root).into_iter().map(|node| node.1).collect()
    }

    /// Returns the number of children of each leaf parent, from left to right. No thread may write to the tree
    /// meanwhile.
    pub fn fills(&self, root: &TreeRoot) -> Vec<usize> {
        self.inner.fills(root)
    }

    /// Returns the number of levels above a tree's leaves.
    pub fn height(&self, root: &TreeRoot) -> u32 {
        (root.top.load(Relaxed) >> 32) as u32
    }
}
