//! Durable levels: they are repaired, and made to agree with the leaves.

use super::LevelPlan;
use crate::design::Design;
use crate::index::TreeRoot;
use crate::inner::DurableNode;
use crate::keys::Keys;
use crate::rebuild::found_leaves::{FoundLeaf, Placed};
use crate::rebuild::unchanged::Unchanged;
use crate::restore::{DurableLevels, Restorer};
use holm_medium::{Medium, Result};

/// The plan of durable levels.
pub(super) struct Restored<'a, M: Medium, D: Design, K: Keys> {
    restorer: Restorer<'a, M, D, K>,
    levels: DurableLevels,
}

impl<'a, M: Medium, D: Design, K: Keys> Restored<'a, M, D, K> {
    pub(super) fn new(restorer: Restorer<'a, M, D, K>) -> Self {
        Restored { restorer, levels: DurableLevels::default() }
    }
}

impl<M: Medium, D: Design<Upper: DurableNode, LeafParent: DurableNode>, K: Keys> LevelPlan<K>
    for Restored<'_, M, D, K>
{
    fn is_node(&self, number: u32) -> bool {
        self.restorer.node_header(number).is_some()
    }

    fn find(&mut self, has_leaves: &dyn Fn(u32) -> bool) -> Result<()> {
        self.levels = self.restorer.find(has_leaves)?;
        Ok(())
    }

    fn places(&self, leaf: u32) -> bool {
        self.levels.placed.contains(&leaf)
    }

    fn keeps_empty_leaves(&self) -> bool {
        true
    }

    fn blocks(&self) -> Vec<u32> {
        let nodes = self.levels.trees.values().flatten().flatten().map(|node| node.1);
        nodes.chain(self.levels.placed.iter().copied()).collect()
    }

    /// A design with durable levels has no index.
    fn build(&mut self, tree: &[FoundLeaf<K>], _: Vec<Placed<K::Separator>>, _: &Unchanged<'_>) -> Result<TreeRoot> {
        let (keyspace, pairs) = (tree[0].live.keyspace, tree.iter().map(|leaf| leaf.pairs as u64).sum());
        let leaves = tree.iter().map(FoundLeaf::below).collect();
        self.restorer.build(&mut self.levels, keyspace, leaves, pairs)
    }

    fn end_all(&mut self) -> Result<()> {
        self.restorer.end_all(std::mem::take(&mut self.levels))
    }
}
