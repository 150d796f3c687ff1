//! The split of a full leaf: an operation of its own under its own label, which changes the leaf and its parent.

use crate::design::{DescriptorOf, Design, LocksOf};
use crate::index::{SeekTarget, TreeRoot};
use crate::inner::Inner;
use crate::inner_levels::Path;
use crate::keys::Keys;
use crate::latch::{Latch, LatchGuard};
use crate::leaf::{Fresh, Leaf, SplitRequest};
use crate::locks::Locks;
use crate::tree_set::{LatchedLeaf, Put, TreeSet, back_off, wait};
use holm_medium::{Guard, Medium, Result};

/// A fresh block. Its own latch, if it has one, is held, so that a reader with a stale number of the block validates
/// nothing.
pub(crate) struct FreshBlock<'a, D: Design> {
    pub(crate) number: u32,
    leaf: &'a D::Leaf,
    descriptor: &'a DescriptorOf<D>,
    held: Option<LatchGuard<'a>>,
}

/// A leaf below a leaf parent, and its latch.
pub(crate) type Child<'a, D> = (u32, &'a <D as Design>::Leaf, &'a DescriptorOf<D>, &'a Latch);

/// The leaf before a full one, if there is one and the design needs it. Its latch, unless the full leaf shares it.
type Before<'a, D> = (Option<&'a <D as Design>::Leaf>, Option<LatchGuard<'a>>);

/// The pair that found no room; `None` if the caller wants room only.
type Pending = Option<Put>;

impl<D: Design> FreshBlock<'_, D> {
    pub(crate) fn fresh(&self) -> Fresh<'_, D::Leaf> {
        Fresh { number: self.number, leaf: self.leaf, volatile: &self.descriptor.volatile }
    }
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Makes room in the search key's leaf, unless it has room by now. Returns whether the pair has been put.
    pub(crate) fn make_room(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        pending: Pending,
    ) -> Result<bool> {
        let mut turn = 0;
        loop {
            // Allocate before the label is validated: an epoch end in between could release a block that is too young
            // for this label.
            let fresh_blocks = self.fresh_blocks(guard)?;
            if let Some(put) = self.try_split(root, guard, search_key, pending, fresh_blocks)? {
                return Ok(put);
            }
            if !guard.valid() {
                root.repin(guard)?;
            }
            back_off(&mut turn);
        }
    }

    /// Takes the two blocks that a split of any design may use, and its design's spare ones: all, or none.
    fn fresh_blocks(&self, guard: &Guard<'_>) -> Result<Vec<FreshBlock<'_, D>>> {
        let mut taken = Vec::with_capacity(2 + D::Leaf::SPARE);
        for _ in 0..2 + D::Leaf::SPARE {
            match self.fresh_block(guard) {
                Ok(fresh_block) => taken.push(fresh_block),
                Err(error) => {
                    taken.into_iter().for_each(|fresh_block| self.unused(fresh_block));
                    return Err(error);
                }
            }
        }
        Ok(taken)
    }

    /// Gives an unused block back.
    pub(crate) fn unused(&self, fresh_block: FreshBlock<'_, D>) {
        let number = fresh_block.number;
        fresh_block.held.into_iter().for_each(LatchGuard::unlock_unchanged);
        self.writer.storage().space.return_block(number);
    }

    pub(crate) fn fresh_block(&self, guard: &Guard<'_>) -> Result<FreshBlock<'_, D>> {
        let storage = self.writer.storage();
        let number = storage.space.take_block(&storage.medium, guard)?;
        let (leaf, descriptor) = self.block(number)?;
        let Some(latch) = LocksOf::<D>::own(&descriptor.latch) else {
            return Ok(FreshBlock { number, leaf, descriptor, held: None });
        };
        // No thread writes to a free block. The holder can only be a merge that is about to release the latch.
        Ok(FreshBlock { number, leaf, descriptor, held: Some(wait(latch)) })
    }

    /// Returns the leaf at a position of the path's leaf parent, whose latch is held.
    pub(crate) fn child<'a>(&'a self, path: &Path<'a, D, K>, position: usize) -> Option<Child<'a, D>> {
        let number = path.leaf_parent.node.child(position);
        let (leaf, descriptor) = self.leaf(number).zip(self.descriptors.get(number))?;
        Some((number, leaf, descriptor, path.leaf_parent.node.locks().of(&descriptor.latch, number)))
    }

    /// Latches the leaf at a position.
    pub(crate) fn take_at<'a>(&'a self, path: &Path<'a, D, K>, position: usize) -> Option<LatchedLeaf<'a, D>> {
        let (number, leaf, descriptor, latch) = self.child(path, position)?;
        Some(LatchedLeaf { number, leaf, descriptor, held: latch.try_lock(latch.read()?)? })
    }

    /// Latches the leaf before the path's latched leaf, for designs that need it. `None`: another thread holds it, or a
    /// leaf has come between the two. The latch is tried and not awaited: its holder may wait for the latched leaf.
    fn take_before<'a>(
        &'a self,
        root: &TreeRoot,
        path: &Path<'a, D, K>,
        latched: &LatchedLeaf<'a, D>,
    ) -> Option<Before<'a, D>> {
        let Some(low) = path.leaf.0.as_ref().filter(|_| D::Leaf::NEEDS_BEFORE) else { return Some((None, None)) };
        if let Some(position) = path.leaf_parent.position.checked_sub(1) {
            // It is below the same leaf parent, whose latch is held.
            let (_, leaf, _, latch) = self.child(path, position)?;
            let shared = latched.held.holds(latch);
            let held = if shared { None } else { Some(latch.try_lock(latch.read()?)?) };
            return Some((Some(leaf), held));
        }
        let before = self.inner.walk::<K>(root, &SeekTarget::Below(K::search_key(low)))?;
        let (_, leaf, _, latch) = self.child(&before, before.leaf_parent.position)?;
        let version = latch.read()?;
        // As in every descent: the leaf is the right one if the leaf parent validates after the leaf's version was
        // read.
        let still =
            before.leaf.1.as_ref() == Some(low) && before.leaf_parent.node.latch().validate(before.leaf_parent.version);
        let held = latch.try_lock(version).filter(|_| still)?;
        Some((Some(leaf), Some(held)))
    }

    /// Returns whether the pair that found no room has been put. On `None`, all leaves are unchanged and the blocks are
    /// free again.
    fn try_split(
        &self,
        root: &TreeRoot,
        guard: &Guard<'_>,
        search_key: K::SearchKey<'_>,
        pending: Pending,
        fresh_blocks: Vec<FreshBlock<'_, D>>,
    ) -> Result<Option<bool>> {
        let all_unused =
            |fresh_blocks: Vec<_>| fresh_blocks.into_iter().for_each(|fresh_block| self.unused(fresh_block));
        let path = self.inner.walk::<K>(root, &SeekTarget::Holding(search_key));
        let full =
            path.as_ref().map_or(Ok(true), |path| self.inner.split_full(&self.writer, root, guard, path, search_key));
        let (Some(path), Ok(false)) = (path, &full) else {
            all_unused(fresh_blocks);
            return full.map(|_| None);
        };
        let held = path.leaf_parent.node.latch().try_lock(path.leaf_parent.version);
        let latched = held.is_some().then(|| self.take_at(&path, path.leaf_parent.position)).flatten();
        let (Some(leaf_parent_guard), Some(latched)) = (held, latched) else {
            all_unused(fresh_blocks);
            return Ok(None);
        };
        let (before, _before_held) = match self.take_before(root, &path, &latched) {
            Some(both) if guard.valid() => both,
            other => {
                other.and_then(|(_, held)| held).into_iter().for_each(LatchGuard::unlock_unchanged);
                latched.held.unlock_unchanged();
                leaf_parent_guard.unlock_unchanged();
                all_unused(fresh_blocks);
                return Ok(None);
            }
        };
        let low = path.leaf.0.clone().unwrap_or_default();
        let fresh = [fresh_blocks[0].fresh(), fresh_blocks[1].fresh()];
        let more: Vec<_> = fresh_blocks[2..].iter().map(FreshBlock::fresh).collect();
        let mut handle = self.writer.begin_write(guard);
        let request =
            SplitRequest { own: latched.number, fresh, spare: &more, range: (&low, path.leaf.1.as_ref()), before };
        let volatile = &latched.descriptor.volatile;
        let (split, put) = match pending {
            Some((payload, _)) => {
                latched.leaf.split_and_put(volatile, self.context(), &mut handle, request, search_key, payload)
            }
            None => (
                latched.leaf.split(request.own, volatile, self.context(), &mut handle, request.fresh, request.range),
                false,
            ),
        };
        if let Some((_, progress)) = pending.filter(|_| put) {
            self.write_progress(&mut handle, progress);
        }
        let (leaf_parent, position) = (path.leaf_parent.node, path.leaf_parent.position);
        if split.left != latched.number {
            leaf_parent.set_child(&mut handle, position, split.left);
        }
        if let Some((separator, right)) = &split.right {
            let range = path.ranges.last().expect("the leaf parent's own");
            leaf_parent.insert_child::<M, K>(
                &mut handle,
                &self.inner.long_separators,
                range,
                (position, separator, *right),
                search_key,
            );
        }
        let is_used = |number: u32| {
            let mut leaves = std::iter::once(split.left).chain(split.right.as_ref().map(|(_, right)| *right));
            leaves.any(|leaf| self.blocks_of(leaf).any(|block| block == number))
        };
        // Dirty marks of stores to a block that turned out to be unused are set while the block is still reserved.
        drop(handle);
        fresh_blocks
            .into_iter()
            .filter(|fresh_block| !is_used(fresh_block.number))
            .for_each(|fresh_block| self.unused(fresh_block));
        let given_up = self.blocks_of(latched.number).filter(|number| !is_used(*number));
        given_up.for_each(|number| self.writer.storage().space.retire_block(guard.epoch(), number));
        Ok(Some(put))
    }
}
