//! Volatile levels: they are loaded from the leaves.

use super::LevelPlan;
use crate::design::Design;
use crate::index::TreeRoot;
use crate::keys::Keys;
use crate::load::LoadedChild;
use crate::rebuild::found_leaves::{FoundLeaf, Placed, RangeStart};
use crate::rebuild::unchanged::Unchanged;
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

    fn build(
        &mut self,
        tree: &[FoundLeaf<K>],
        places: Vec<Placed<K::Separator>>,
        unchanged: &Unchanged<'_>,
    ) -> Result<TreeRoot> {
        let tree_set = self.tree_set;
        let (keyspace, pairs) = (tree[0].live.keyspace, tree.iter().map(|leaf| leaf.pairs as u64).sum());
        let fill = |Placed { low, start, behind }| match start {
            RangeStart::Leaf(number) => Ok((LoadedChild { low, number }, behind)),
            RangeStart::Gap(home) => {
                tree_set.fresh_leaf(self.epoch, home).map(|number| (LoadedChild { low, number }, behind))
            }
        };
        let leaves = places.into_iter().map(fill).collect::<Result<Vec<_>>>()?;
        let left = leaves.iter().map(|(_, behind)| 1 + behind.len()).sum();
        let leaves = leaves.into_iter().flat_map(|(first, behind)| {
            let behind = unchanged.leaves[behind].iter();
            let behind = behind.map(|it| LoadedChild { low: K::from_long(it.separator), number: it.leaf.number });
            std::iter::once(first).chain(behind)
        });
        let leaves = Counted { leaves, left };
        let mut handle = tree_set.writer.begin_write_at(self.epoch);
        let (level, top) = tree_set.inner.load::<M, K>(&mut handle, keyspace, leaves);
        Ok(TreeRoot::new(keyspace, level, top, pairs))
    }

    fn end_all(&mut self) -> Result<()> {
        Ok(())
    }
}

/// An iterator of known length.
struct Counted<I> {
    leaves: I,
    left: usize,
}

impl<I: Iterator> Iterator for Counted<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        self.left = self.left.saturating_sub(1);
        self.leaves.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<I: Iterator> ExactSizeIterator for Counted<I> {}
