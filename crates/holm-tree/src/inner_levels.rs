//! The inner levels, 1 and up, of all trees of a tree set. The descent through them is in `descent`, their splits are
//! in `split_node`, and their merges in `shrink`.

use crate::design::Design;
use crate::index::TreeRoot;
use crate::inner::{Inner, NodeContext, Placement as _, Route as _};
use crate::latch::{Latch, LatchGuard};
use crate::long_separators::LongSeparators;
use crate::slab::Slab;
use crate::sync::atomic::Ordering::Relaxed;
use holm_medium::{Medium, WriteHandle};
use holm_search::Search;

/// The most levels of upper nodes; with 8 children each, more levels would exceed the node numbers.
pub(crate) const MOST_LEVELS: usize = 12;

/// The nodes of a tree set; for durable nodes, their volatile sides.
pub(crate) struct InnerLevels<D: Design> {
    pub(crate) uppers: Slab<D::Upper>,
    pub(crate) leaf_parents: Slab<D::LeafParent>,
    pub(crate) long_separators: LongSeparators,
    pub(crate) search: Search,
}

impl<D: Design> InnerLevels<D> {
    pub(crate) fn new(search: Search) -> Self {
        InnerLevels {
            uppers: Slab::default(),
            leaf_parents: Slab::default(),
            long_separators: LongSeparators::default(),
            search,
        }
    }

    /// Returns the bytes of its nodes.
    pub(crate) fn bytes(&self) -> u64 {
        self.uppers.bytes() + self.leaf_parents.bytes() + self.long_separators.bytes()
    }

    /// Returns what a writer of nodes has.
    pub(crate) fn writing<'a, 'h, M: Medium>(&'a self, handle: &'a mut WriteHandle<'h, M>) -> NodeContext<'a, 'h, M> {
        NodeContext { handle, long_separators: &self.long_separators }
    }

    /// Returns the numbers of a tree's upper nodes from the top down, and of its leaf parents from left to right. No
    /// thread may write to the tree meanwhile.
    pub(crate) fn numbers(&self, root: &TreeRoot) -> (Vec<u32>, Vec<u32>) {
        let top = root.top.load(Relaxed);
        let (mut uppers, mut row) = (vec![], vec![top as u32]);
        for _ in 1..top >> 32 {
            uppers.extend_from_slice(&row);
            let nodes = row.iter().filter_map(|number| self.uppers.get(*number));
            row = nodes.flat_map(|node| (0..=node.len()).map(|index| node.child(index))).collect();
        }
        (uppers, row)
    }

    /// Returns the number of children of each leaf parent of a tree, from left to right. No thread may write to the
    /// tree meanwhile.
    pub(crate) fn fills(&self, root: &TreeRoot) -> Vec<usize> {
        let leaf_parents = self.numbers(root).1;
        leaf_parents.into_iter().filter_map(|number| Some(self.leaf_parents.get(number)?.len() + 1)).collect()
    }

    /// Returns the level and number of every durable node of a tree, from the top down. No thread may write to the tree
    /// meanwhile.
    pub(crate) fn nodes(&self, root: &TreeRoot) -> Vec<(u32, u32)> {
        let top = root.top.load(Relaxed);
        let (height, mut first) = ((top >> 32) as u32, top as u32);
        let mut nodes = vec![];
        for level in (1..=height).rev() {
            let mut each = |number| nodes.push((level, number));
            first = match level {
                1 => row(&self.leaf_parents, first, &mut each),
                _ => row(&self.uppers, first, &mut each),
            };
        }
        nodes
    }
}

/// Takes all of these latches, or none.
pub(crate) fn hold_all<'a>(latches: impl IntoIterator<Item = &'a Latch>) -> Option<Vec<LatchGuard<'a>>> {
    let mut all = Vec::new();
    for latch in latches {
        match latch.read().and_then(|version| latch.try_lock(version)) {
            Some(held) => all.push(held),
            None => {
                all.into_iter().for_each(LatchGuard::unlock_unchanged);
                return None;
            }
        }
    }
    Some(all)
}

/// Passes on the durable nodes of a level from its first one on; returns the first node of the level below.
fn row<I: Inner>(slab: &Slab<I>, first: u32, each: &mut dyn FnMut(u32)) -> u32 {
    I::Placement::each_durable(slab, first, each);
    slab.get(first).map_or(0, |node| node.child(0))
}
