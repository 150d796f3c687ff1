//! Dropping a tree: its leaves are freed first, then the levels above them. Its writers have finished; readers may
//! still be active.

use crate::design::Design;
use crate::index::{SeekTarget, TreeRoot};
use crate::inner::{Inner, Placement as _};
use crate::inner_levels::InnerLevels;
use crate::keys::Keys;
use crate::leaf::{Leaf, Overflow as _, Pairs};
use crate::slab::Slab;
use crate::tree_set::{OverflowOf, TreeSet};
use crate::wait::back_off;
use holm_medium::{Guard, Medium, Result, WriteHandle};

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Frees every leaf of a tree that no writer uses any more.
    pub(crate) fn free_tree(&self, root: &TreeRoot, guard: &mut Guard<'_>, freed: &mut dyn FnMut(u64)) -> Result<()> {
        // Before the first leaf is another's: readers that try again give up.
        root.mark_freed();
        let space = &self.writer.storage().space;
        let mut edge = K::Separator::default();
        let mut turn = 0;
        loop {
            let path = self.inner.walk::<K>(root, &SeekTarget::Holding(K::search_key(&edge)));
            let latched = path.as_ref().and_then(|path| self.take_at(root, path, path.leaf_parent.position));
            let (Some(path), Some(latched)) = (path, latched) else {
                root.check_sound()?;
                back_off(&mut turn);
                continue;
            };
            if !guard.valid() {
                latched.held.unlock_unchanged();
                guard.repin()?;
                continue;
            }
            let mut pairs = Pairs::default();
            self.leaf_pairs(latched.leaf, &latched.descriptor.volatile, &mut pairs);
            let blocks: Vec<_> = self.blocks_of(latched.number).collect();
            for (place, number) in blocks.into_iter().enumerate().rev() {
                if let Some(block) = self.leaf(number) {
                    block.release(&mut self.writer.begin_write(guard));
                }
                if !OverflowOf::<D>::keeps(latched.leaf, &latched.descriptor.volatile, place) {
                    space.retire_block(guard.epoch(), number);
                }
            }
            self.pre_images.forget(latched.number);
            pairs.iter().for_each(|slot| freed(slot.payload));
            match path.leaf.high {
                Some(high) => edge = high,
                None => break,
            }
        }
        self.postponed.forget(root.keyspace());
        self.free_inner_nodes(root, guard)
    }

    /// Frees the inner nodes of a tree, durable ones from the top down. A crash before that finds nodes without leaves,
    /// which are not a tree.
    fn free_inner_nodes(&self, root: &TreeRoot, guard: &mut Guard<'_>) -> Result<()> {
        let nodes = self.inner.nodes(root);
        self.inner.release_nodes(root);
        for (level, number) in nodes {
            while !guard.valid() {
                guard.repin()?;
            }
            let mut handle = self.writer.begin_write(guard);
            match level {
                1 => end_node(&self.inner.leaf_parents, number, &mut handle),
                _ => end_node(&self.inner.uppers, number, &mut handle),
            }
            self.writer.storage().space.retire_block(guard.epoch(), number);
        }
        Ok(())
    }
}

impl<D: Design> InnerLevels<D> {
    /// Releases the volatile nodes of a tree for reuse.
    fn release_nodes(&self, root: &TreeRoot) {
        let (uppers, leaf_parents) = self.numbers(root);
        uppers
            .into_iter()
            .for_each(|number| <D::Upper as Inner>::Placement::release(&self.uppers, &self.long_separators, number));
        leaf_parents.into_iter().for_each(|number| {
            <D::LeafParent as Inner>::Placement::release(&self.leaf_parents, &self.long_separators, number)
        });
    }
}

/// Ends one durable node.
fn end_node<I: Inner, M: Medium>(slab: &Slab<I>, number: u32, handle: &mut WriteHandle<'_, M>) {
    if let Some(node) = slab.get(number) {
        I::Placement::end(node, handle);
    }
}
