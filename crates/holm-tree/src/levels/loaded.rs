//! Volatile levels: they are loaded from the leaves.

use super::LevelPlan;
use crate::design::Design;
use crate::index::TreeRoot;
use crate::keys::Keys;
use crate::load::LoadedChild;
use crate::rebuild::found_leaves::{FoundLeaf, RangeStart};
use crate::tree_set::TreeSet;
use holm_medium::{Epoch, Medium, Result};

/// The plan of volatile levels.
pub(super) struct Loaded<'a, M: Medium, D: Design, K: Keys> {
    pub(super) tree_set: &'a TreeSet<M, D, K>,
    /// The label of the leaves that fill gaps.
    pub(super) epoch: Epoch,
}

impl<M: Medium, D: Design, K: Keys> LevelPlan<K> for Loaded<'_, M, D, K> {
    fn is_node(&self, _: u32) -> bool {
        false
    }

    fn find(&mut self, _: &dyn Fn(u32) -> bool) -> Result<()> {
        Ok(())
    }

    fn places(&self, _: u32) -> bool {
        false
    }

    fn keeps_empty_leaves(&self) -> bool {
        false
    }

    fn blocks(&self) -> Vec<u32> {
        Vec::new()
    }

    fn build(&mut self, tree: &[FoundLeaf<K>], places: Vec<(K::Separator, RangeStart)>) -> Result<TreeRoot> {
        let tree_set = self.tree_set;
        let (keyspace, pairs) = (tree[0].live.keyspace, tree.iter().map(|leaf| leaf.pairs as u64).sum());
        let fill = |(low, place)| match place {
            RangeStart::Leaf(number) => Ok(LoadedChild { low, number }),
            RangeStart::Gap(home) => tree_set.fresh_leaf(self.epoch, home).map(|number| LoadedChild { low, number }),
        };
        let leaves = places.into_iter().map(fill).collect::<Result<Vec<_>>>()?;
        let mut handle = tree_set.writer.begin_write_at(self.epoch);
        let (level, top) = tree_set.inner.load::<M, K>(&mut handle, keyspace, leaves.into_iter());
        Ok(TreeRoot::new(keyspace, level, top, pairs))
    }

    fn end_all(&mut self) -> Result<()> {
        Ok(())
    }
}
