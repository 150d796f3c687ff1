//! What the placement of nodes means for all levels of a tree: how they are made at open, what becomes of a full leaf
//! parent, and whether sparse nodes merge.

mod loaded;
mod restored;

use crate::design::Design;
use crate::index::TreeRoot;
use crate::inner::{DurableNode, InBlocks, InMemory, Inner, Placement, RebuiltWhenFull};
use crate::keys::Keys;
use crate::merge::Attempt;
use crate::rebuild::found_leaves::{FoundLeaf, Placed};
use crate::rebuild::unchanged::Unchanged;
use crate::restore::Restorer;
use crate::shrink::NodeMerge;
use crate::split_node::NodeSplit;
use crate::tree_set::TreeSet;
use holm_medium::{Epoch, Medium, Result};
use loaded::Loaded;
use restored::Restored;

/// What the placement of a design's nodes means for its trees. The upper nodes' placement answers for all levels.
pub trait Levels<D: Design>: Placement<D::Upper> {
    /// Whether nodes have room for whole keys of eight bytes only.
    const NEEDS_WHOLE_KEYS: bool = false;

    /// Returns how many children a leaf parent gets at open.
    #[doc(hidden)]
    fn loaded_children() -> usize {
        D::LeafParent::CHILDREN * 7 / 8
    }

    /// Makes room above a full leaf parent of a descent, unless something has changed since.
    #[doc(hidden)]
    fn leaf_parent_full<M: Medium, K: Keys>(split: &NodeSplit<'_, '_, '_, M, D, K>) -> Result<()> {
        split.split_leaf_parent()
    }

    /// Merges a sparse node with a sibling.
    #[doc(hidden)]
    fn merge_node<M: Medium, K: Keys>(merge: &NodeMerge<'_, '_, M, D, K>) -> Attempt<K::Separator> {
        let _ = merge;
        Attempt::Apart
    }

    /// Returns the steps of the rebuild for the levels of all trees.
    #[doc(hidden)]
    fn plan<'a, M: Medium, K: Keys>(tree_set: &'a TreeSet<M, D, K>, opening: Opening) -> Box<dyn LevelPlan<K> + 'a> {
        Box::new(Loaded { tree_set, epoch: opening.epoch })
    }
}

/// What the levels must know of an opening.
#[derive(Clone, Copy)]
pub struct Opening {
    /// The label of what recovery writes.
    pub(crate) epoch: Epoch,
    /// The number of blocks of the leaf area.
    pub(crate) blocks: u32,
    /// Whether every leaf that a durable node leads to is still there.
    pub(crate) leaves_stay: bool,
}

impl<D: Design> Levels<D> for InMemory {
    fn merge_node<M: Medium, K: Keys>(merge: &NodeMerge<'_, '_, M, D, K>) -> Attempt<K::Separator> {
        merge.merge()
    }
}

impl<D: Design> Levels<D> for RebuiltWhenFull {
    /// The first leaf parent that is full causes a rebuild of all of them.
    fn loaded_children() -> usize {
        D::LeafParent::CHILDREN / 2
    }

    fn leaf_parent_full<M: Medium, K: Keys>(split: &NodeSplit<'_, '_, '_, M, D, K>) -> Result<()> {
        let mut handle = split.writer.begin_write(split.guard);
        split.inner.rebuild_levels::<M, K>(&mut handle, split.root, split.path);
        Ok(())
    }
}

impl<D: Design<Upper: DurableNode, LeafParent: DurableNode>> Levels<D> for InBlocks {
    const NEEDS_WHOLE_KEYS: bool = true;

    fn plan<'a, M: Medium, K: Keys>(tree_set: &'a TreeSet<M, D, K>, opening: Opening) -> Box<dyn LevelPlan<K> + 'a> {
        Box::new(Restored::new(Restorer { tree_set, opening }))
    }
}

/// The inner levels of trees, as the rebuild makes them.
pub trait LevelPlan<K: Keys>: Sync {
    /// Returns whether a block is a node.
    fn is_node(&self, number: u32) -> bool;
    /// Finds and repairs the nodes of every tree that has leaves.
    ///
    /// # Errors
    /// `Corrupt` for bits that no crash can have left.
    fn find(&mut self, has_leaves: &dyn Fn(u32) -> bool) -> Result<()>;
    /// Returns whether a node leads to this leaf.
    fn places(&self, leaf: u32) -> bool;
    /// Returns whether nodes lead to empty leaves, too.
    fn keeps_empty_leaves(&self) -> bool;
    /// Returns the blocks that are in use, or that nodes name as if they were.
    fn blocks(&self) -> Vec<u32>;
    /// Makes the levels above the leaves of one tree, which are in key order and have these places.
    ///
    /// # Errors
    /// `Corrupt` for bits that no crash can have left; `NoSpace`.
    fn build(
        &mut self,
        tree: &[FoundLeaf<K>],
        places: Vec<Placed<K::Separator>>,
        unchanged: &Unchanged<'_>,
    ) -> Result<TreeRoot>;
    /// Ends the remaining nodes, those of trees without a leaf.
    ///
    /// # Errors
    /// `Corrupt` for a node that is none.
    fn end_all(&mut self) -> Result<()>;
}
