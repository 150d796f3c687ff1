//! The steps of recovery that depend on how a design's leaves are found: see [`crate::leaf::AlongLinks`] and the
//! others.

use super::chains::{Links, follow};
use super::found_leaves::{FoundLeaf, overlapping};
use super::leaves::LiveLeaf;
use super::parallel::parallel;
use crate::design::Design;
use crate::keys::Keys;
use crate::leaf::{Leaf, Linked, Overflow as _, Pairs, Scrubbed};

use crate::levels::LevelPlan;
use crate::tree_set::{OverflowOf, TreeSet};
use holm_medium::{Epoch, Medium, Result, WriteHandle};

/// Collects the bounds of a leaf once more.
pub type Collect<'a, K> = &'a dyn Fn(LiveLeaf) -> Result<FoundLeaf<K>>;

/// The steps of recovery after each block is at the recovery point.
pub trait Plan<K: Keys>: Sync {
    /// Returns whether a keyspace has a tree because of this leaf.
    fn makes_tree(&self, leaf: &LiveLeaf) -> bool {
        let _ = leaf;
        true
    }

    /// Returns the leaves among those that recovery found to be live, each repaired by itself.
    ///
    /// # Errors
    /// `Corrupt` for bits that no crash can have left.
    fn leaves(&self, live: Vec<LiveLeaf>, levels: &dyn LevelPlan<K>, threads: usize) -> Result<Vec<LiveLeaf>>;

    /// Returns the lower end of a leaf's range, if the leaf keeps it durably.
    fn low(&self, number: u32) -> Option<K::Separator> {
        let _ = number;
        None
    }

    /// Returns whether a leaf is in its tree even if it is empty: dropping the tree must find it.
    fn keeps_empty(&self, leaf: &LiveLeaf) -> bool {
        let _ = leaf;
        false
    }

    /// Returns whether every leaf that a durable node leads to is still there.
    fn leaves_stay(&self) -> bool {
        false
    }

    /// Repairs leaves that reach into their right neighbours.
    ///
    /// # Errors
    /// `Corrupt` for bits that no crash can have left.
    fn repair_overlaps(&self, found: &mut [FoundLeaf<K>], collect: Collect<'_, K>) -> Result<()> {
        let _ = (found, collect);
        Ok(())
    }
}

/// The plan of designs whose leaves are found along links.
pub struct LinkPlan<'a, M: Medium, D: Design, K: Keys> {
    pub(crate) tree_set: &'a TreeSet<M, D, K>,
    pub(crate) epoch: Epoch,
}

/// The plan of designs in which each block says whether it is a leaf.
pub struct BlockPlan<'a, M: Medium, D: Design, K: Keys> {
    pub(crate) tree_set: &'a TreeSet<M, D, K>,
    pub(crate) epoch: Epoch,
}

/// The plan of designs in which the versions of each block say whether it is a leaf.
pub struct VersionPlan<'a, M: Medium, D: Design, K: Keys> {
    pub(crate) tree_set: &'a TreeSet<M, D, K>,
    pub(crate) epoch: Epoch,
}

/// The links of a design's leaves, and one write handle for all repairs of them.
struct LinksOf<'a, M: Medium, D: Design, K: Keys> {
    tree_set: &'a TreeSet<M, D, K>,
    handle: WriteHandle<'a, M>,
}

impl<M: Medium, D: Design<Leaf: Linked>, K: Keys> Links<K> for LinksOf<'_, M, D, K> {
    fn block_bytes(&self) -> usize {
        size_of::<D::Leaf>()
    }

    fn low(&self, number: u32) -> Result<Option<K::Separator>> {
        let (leaf, descriptor) = self.tree_set.block(number)?;
        Ok(leaf.low(self.tree_set.context(&descriptor.volatile)))
    }

    fn next(&self, number: u32) -> u32 {
        self.tree_set.leaf(number).map_or(0, Linked::next)
    }

    fn repair(&mut self, number: u32, pairs: &mut Pairs) -> Result<()> {
        let (leaf, descriptor) = self.tree_set.block(number)?;
        let next = leaf.next();
        let right = (next != 0).then(|| self.tree_set.leaf(next)).flatten();
        leaf.repair_link(&mut self.tree_set.writing(&descriptor.volatile, &mut self.handle), right);
        leaf.rebuild_volatile(self.tree_set.context(&descriptor.volatile));
        pairs.clear();
        self.tree_set.leaf_pairs(leaf, &descriptor.volatile, pairs);
        Ok(())
    }

    fn relink(&mut self, number: u32, next: u32) -> Result<()> {
        let (leaf, descriptor) = self.tree_set.block(number)?;
        leaf.relink(&mut self.tree_set.writing(&descriptor.volatile, &mut self.handle), next);
        Ok(())
    }

    fn fence(&mut self) {
        self.handle.fence();
    }
}

impl<M: Medium, D: Design<Leaf: Linked>, K: Keys> Plan<K> for LinkPlan<'_, M, D, K> {
    fn makes_tree(&self, leaf: &LiveLeaf) -> bool {
        leaf.first
    }

    /// Each leaf of the result is repaired against its right neighbour. The order is that of the chains.
    fn leaves(&self, live: Vec<LiveLeaf>, levels: &dyn LevelPlan<K>, _: usize) -> Result<Vec<LiveLeaf>> {
        let handle = self.tree_set.writer.begin_write_at(self.epoch);
        follow(&mut LinksOf { tree_set: self.tree_set, handle }, &live, levels.keeps_empty_leaves())
    }

    fn low(&self, number: u32) -> Option<K::Separator> {
        let (leaf, descriptor) = self.tree_set.leaf(number).zip(self.tree_set.descriptors.get(number))?;
        leaf.low(self.tree_set.context(&descriptor.volatile))
    }

    fn keeps_empty(&self, leaf: &LiveLeaf) -> bool {
        leaf.first
    }

    fn leaves_stay(&self) -> bool {
        true
    }
}

impl<M: Medium, D: Design<Leaf: Scrubbed>, K: Keys> Plan<K> for BlockPlan<'_, M, D, K> {
    /// Uncommitted data can no longer come back by then.
    fn leaves(&self, live: Vec<LiveLeaf>, levels: &dyn LevelPlan<K>, threads: usize) -> Result<Vec<LiveLeaf>> {
        parallel(threads, &live, &|part| {
            let mut kept = Vec::with_capacity(part.len());
            let mut handle = self.tree_set.writer.begin_write_at(self.epoch);
            for leaf in part {
                let (block, descriptor) = self.tree_set.block(leaf.number)?;
                let mut context = self.tree_set.writing(&descriptor.volatile, &mut handle);
                if block.scrub_leaf(leaf.number, &mut context, levels.places(leaf.number))? {
                    kept.push(*leaf);
                }
            }
            // The fence precedes changes of the leaves and reuse of released ones. Without it, a crash finds a part of
            // the scrubbing together with a part of what follows.
            handle.fence();
            Ok(kept)
        })
    }

    fn repair_overlaps(&self, found: &mut [FoundLeaf<K>], collect: Collect<'_, K>) -> Result<()> {
        let overlapping = overlapping(found);
        let mut handle = self.tree_set.writer.begin_write_at(self.epoch);
        for &index in &overlapping {
            let (left, descriptor) = self.tree_set.block(found[index].live.number)?;
            let (right, _) = self.tree_set.block(found[index + 1].live.number)?;
            left.repair_overlap(&mut self.tree_set.writing(&descriptor.volatile, &mut handle), right);
        }
        if !overlapping.is_empty() {
            // The fence precedes any change of either leaf. Without it, a crash finds the overlap again after one of
            // the two leaves has changed, and no recovery can match them.
            handle.fence();
        }
        for index in overlapping {
            found[index] = collect(found[index].live)?;
        }
        Ok(())
    }
}

impl<M: Medium, D: Design, K: Keys> Plan<K> for VersionPlan<'_, M, D, K> {
    /// Leaves of one block need nothing more. That saves another pass over all leaves, and changes no result.
    fn leaves(&self, live: Vec<LiveLeaf>, _: &dyn LevelPlan<K>, threads: usize) -> Result<Vec<LiveLeaf>> {
        if OverflowOf::<D>::BLOCKS == 1 {
            return Ok(live);
        }
        parallel(threads, &live, &|part| {
            let mut handle = self.tree_set.writer.begin_write_at(self.epoch);
            for leaf in part {
                let (block, descriptor) = self.tree_set.block(leaf.number)?;
                OverflowOf::<D>::repair(block, &mut self.tree_set.writing(&descriptor.volatile, &mut handle));
            }
            // As above: the fence precedes changes of the leaves.
            handle.fence();
            Ok(part.to_vec())
        })
    }
}
