//! The split of a full leaf: an operation of its own under its own label, which changes the leaf and its parent.

pub mod previous;

use crate::descent::Path;
use crate::design::{DescriptorOf, Design, LocksOf};
use crate::index::{LeafVersion, SeekTarget, TreeRoot};
use crate::inner::{Inner, NewChild};
use crate::keys::Keys;
use crate::latch::{Latch, LatchGuard};
use crate::leaf::{
    Durability as _, KeyRange, Leaf, LeafRef, Overflow, PendingPair, Recovery, RoomFor, Split, SplitRequest,
};
use crate::locks::Locks;
use crate::split_node::NodeSplit;
use crate::tree_set::{DurabilityOf, LatchedLeaf, OverflowOf, TreeSet};
use crate::wait::{back_off, wait};
use holm_medium::{Guard, Medium, Result, WriteHandle};
use previous::Previous;

/// What a split of a design latches besides its own leaf.
type PreviousOf<D> = <<<D as Design>::Leaf as Leaf>::Recovery as Recovery<<D as Design>::Leaf>>::Previous;

/// A fresh block. Its own latch, if it has one, is held, so that a reader with a stale number of the block validates
/// nothing.
pub(crate) struct FreshBlock<'a, D: Design> {
    pub(crate) number: u32,
    leaf: &'a D::Leaf,
    descriptor: &'a DescriptorOf<D>,
    held: Option<LatchGuard<'a>>,
}

/// A leaf below a leaf parent, and its latch.
pub(crate) struct Child<'a, D: Design> {
    pub(crate) number: u32,
    pub(crate) leaf: &'a D::Leaf,
    pub(crate) descriptor: &'a DescriptorOf<D>,
    pub(crate) latch: &'a Latch,
}

impl<'a, D: Design> Child<'a, D> {
    pub(crate) fn leaf_ref(&self) -> LeafRef<'a, D::Leaf> {
        LeafRef { number: self.number, leaf: self.leaf, volatile: &self.descriptor.volatile }
    }
}

impl<D: Design> LatchedLeaf<'_, D> {
    pub(crate) fn leaf_ref(&self) -> LeafRef<'_, D::Leaf> {
        LeafRef { number: self.number, leaf: self.leaf, volatile: &self.descriptor.volatile }
    }
}

/// The leaf before a full one, if there is one and the design needs it. Its latch, unless the full leaf shares it.
pub struct PreviousLeaf<'a, D: Design> {
    leaf: Option<&'a D::Leaf>,
    held: Option<LatchGuard<'a>>,
}

impl<D: Design> PreviousLeaf<'_, D> {
    /// No leaf.
    fn none() -> Self {
        PreviousLeaf { leaf: None, held: None }
    }
}

impl<D: Design> FreshBlock<'_, D> {
    pub(crate) fn leaf_ref(&self) -> LeafRef<'_, D::Leaf> {
        LeafRef { number: self.number, leaf: self.leaf, volatile: &self.descriptor.volatile }
    }
}

/// What a split has done.
#[derive(Debug)]
pub(crate) struct SplitOutcome {
    /// Whether the pair that found no room has been put.
    pub(crate) put: bool,
    /// The leaf as it was, and the leaves that have its pairs and its range now, if the leaf has been changed.
    pub(crate) leaves: Option<(LeafVersion, Vec<LeafVersion>)>,
}

/// Where a leaf is split.
pub(crate) enum SplitPoint<'a, K: Keys> {
    /// Where the design divides its pairs best, for a pair that found no room, if there is one.
    Middle(Option<u64>),
    /// Likewise, for a record of the search key that is laid into the leaf afterwards.
    ForRecord,
    /// At a separator within the leaf's range.
    At(&'a K::Separator),
    /// Nowhere: the leaf moves as a whole to a free block below this number, if there is one.
    Below(u32),
}

impl<K: Keys> SplitPoint<'_, K> {
    /// What found no room, of a search key.
    fn room_for<'k>(&self, search_key: K::SearchKey<'k>) -> RoomFor<'k, K> {
        match self {
            SplitPoint::Middle(Some(payload)) => RoomFor::Pair(PendingPair { search_key, payload: *payload }),
            SplitPoint::ForRecord => RoomFor::Key(search_key),
            SplitPoint::Middle(None) | SplitPoint::At(_) | SplitPoint::Below(_) => RoomFor::Any,
        }
    }

    /// Whether nothing is left to do: the separator is the low end of the leaf's range, or the leaf has moved.
    fn is_passed(&self, path: &Path<'_, impl Design, K>) -> bool {
        match self {
            SplitPoint::Middle(_) | SplitPoint::ForRecord => false,
            SplitPoint::At(separator) => path.leaf.low.as_ref().is_some_and(|low| low >= *separator),
            SplitPoint::Below(limit) => path.leaf_parent.node.child(path.leaf_parent.position) < *limit,
        }
    }

    /// Whether it adds a child to the leaf parent.
    fn divides(&self) -> bool {
        !matches!(self, SplitPoint::Below(_))
    }
}

/// Returns a split leaf as it was, and the leaves in its place as they will be once their latches are released. `None`
/// with a lock array, where leaves have no version of their own.
fn versions_after<D: Design, S>(
    latched: &LatchedLeaf<'_, D>,
    split: &Split<S>,
    fresh_blocks: &[FreshBlock<'_, D>],
) -> Option<(LeafVersion, Vec<LeafVersion>)> {
    let version_of = |leaf, version| LeafVersion { leaf, leaf_parent: 0, version };
    let version_after = |number: u32| {
        let fresh = fresh_blocks.iter().find(|fresh_block| fresh_block.number == number);
        let held = fresh.map_or(Some(&latched.held), |fresh_block| fresh_block.held.as_ref())?;
        Some(version_of(number, held.version_after()))
    };
    let after: Option<_> = split.leaves().map(version_after).collect();
    Some((version_of(latched.number, latched.held.version()), after?))
}

/// In debug builds, asserts what a design must answer whatever its leaf holds.
#[inline]
fn assert_answer<D: Design, S>(split: &Split<S>, own: u32, fresh: &[FreshBlock<'_, D>], pending: Option<u64>) {
    let is_ours = |number: u32| number == own || fresh.iter().any(|fresh_block| fresh_block.number == number);
    debug_assert!(split.leaves().all(is_ours), "a split names its own leaf and fresh blocks alone");
    debug_assert!(split.right.as_ref().is_none_or(|(_, right)| *right != split.left), "two halves are two leaves");
    debug_assert!(!split.put || pending.is_some(), "only a pair that was given is put");
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Makes room in the search key's leaf. Returns whether the pair has been put. The leaf may have room by now,
    /// because another writer has split it since the caller looked: it is then divided once more, which costs space
    /// alone.
    pub(crate) fn make_room(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        pending: Option<u64>,
    ) -> Result<bool> {
        Ok(self.split_at_point(root, guard, search_key, &SplitPoint::Middle(pending))?.put)
    }

    /// See [`Index::move_leaf`](crate::Index::move_leaf).
    pub(crate) fn move_below(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        limit: u32,
    ) -> Result<bool> {
        if !DurabilityOf::<D>::MOVES {
            return Ok(false);
        }
        Ok(self.split_at_point(root, guard, search_key, &SplitPoint::Below(limit))?.leaves.is_some())
    }

    /// Splits the search key's leaf.
    pub(crate) fn split_at_point(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        point: &SplitPoint<'_, K>,
    ) -> Result<SplitOutcome> {
        let mut turn = 0;
        loop {
            // Allocate before the label is validated: an epoch end in between could release a block that is too young
            // for this label.
            let Some(fresh_blocks) = self.fresh_blocks(guard, point)? else {
                return Ok(SplitOutcome { put: false, leaves: None });
            };
            if let Some(outcome) = self.try_split(root, guard, search_key, point, fresh_blocks)? {
                return Ok(outcome);
            }
            if !guard.valid() {
                root.repin(guard)?;
            }
            back_off(&mut turn);
        }
    }

    /// Takes the two blocks that a split of any design may use, and its design's spare ones: all, or none. `None` if
    /// the leaf is to move and there are too few.
    fn fresh_blocks(&self, guard: &Guard<'_>, point: &SplitPoint<'_, K>) -> Result<Option<Vec<FreshBlock<'_, D>>>> {
        let mut taken = Vec::with_capacity(2 + OverflowOf::<D>::SPARE);
        let space = &self.writer.storage().space;
        for _ in 0..2 + OverflowOf::<D>::SPARE {
            let fresh_block = match point {
                SplitPoint::Below(limit) => {
                    space.take_block_below(guard, *limit).map(|number| self.hold_block(number)).transpose()
                }
                _ => self.fresh_block(guard).map(Some),
            };
            match fresh_block {
                Ok(Some(fresh_block)) => taken.push(fresh_block),
                too_few => {
                    taken.into_iter().for_each(|fresh_block| self.unused(fresh_block));
                    return too_few.map(|_| None);
                }
            }
        }
        Ok(Some(taken))
    }

    /// Gives an unused block back.
    pub(crate) fn unused(&self, fresh_block: FreshBlock<'_, D>) {
        let number = fresh_block.number;
        fresh_block.held.into_iter().for_each(LatchGuard::unlock_unchanged);
        self.writer.storage().space.return_block(number);
    }

    pub(crate) fn fresh_block(&self, guard: &Guard<'_>) -> Result<FreshBlock<'_, D>> {
        let storage = self.writer.storage();
        self.hold_block(storage.space.take_block(&storage.medium, guard)?)
    }

    /// Latches a block that was taken just now.
    fn hold_block(&self, number: u32) -> Result<FreshBlock<'_, D>> {
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
        let latch = path.leaf_parent.node.locks().of(&descriptor.latch, number);
        Some(Child { number, leaf, descriptor, latch })
    }

    /// Latches the leaf at a position.
    pub(crate) fn take_at<'a>(
        &'a self,
        root: &TreeRoot,
        path: &Path<'a, D, K>,
        position: usize,
    ) -> Option<LatchedLeaf<'a, D>> {
        let Child { number, leaf, descriptor, latch } = self.child(path, position)?;
        Some(LatchedLeaf { number, leaf, descriptor, held: latch.try_lock(self.read_latch(root, number, latch)?)? })
    }

    /// Enters the leaves that a split has made in the leaf parent of the path, whose latch is held.
    fn enter_split(
        &self,
        handle: &mut WriteHandle<'_, M>,
        path: &Path<'_, D, K>,
        own: u32,
        split: &Split<K::Separator>,
        search_key: K::SearchKey<'_>,
    ) {
        let (leaf_parent, position) = (path.leaf_parent.node, path.leaf_parent.position);
        if split.left != own {
            leaf_parent.set_child(handle, position, split.left);
        }
        if let Some((separator, right)) = &split.right {
            let range = path.ranges.last().expect("the leaf parent's own");
            let new_child = NewChild { position, separator, child: *right };
            leaf_parent.insert_child::<M, K>(&mut self.inner.writing(handle), range, new_child, search_key);
        }
    }

    /// Attempts a split once. On `None`, all leaves are unchanged and the blocks are free again.
    fn try_split(
        &self,
        root: &TreeRoot,
        guard: &Guard<'_>,
        search_key: K::SearchKey<'_>,
        point: &SplitPoint<'_, K>,
        fresh_blocks: Vec<FreshBlock<'_, D>>,
    ) -> Result<Option<SplitOutcome>> {
        let all_unused =
            |fresh_blocks: Vec<_>| fresh_blocks.into_iter().for_each(|fresh_block| self.unused(fresh_block));
        let path = self.inner.walk::<K>(root, &SeekTarget::Holding(search_key));
        let (inner, writer) = (&self.inner, &*self.writer);
        let full = match &path {
            Some(path) if point.divides() => NodeSplit { inner, writer, root, guard, path, search_key }.split_full(),
            path => Ok(path.is_none()),
        };
        let (Some(path), Ok(false)) = (path, &full) else {
            all_unused(fresh_blocks);
            return full.map(|_| None);
        };
        if point.is_passed(&path) {
            all_unused(fresh_blocks);
            return Ok(Some(SplitOutcome { put: false, leaves: None }));
        }
        let held = path.leaf_parent.node.latch().try_lock(path.leaf_parent.version);
        let latched = held.is_some().then(|| self.take_at(root, &path, path.leaf_parent.position)).flatten();
        let (Some(leaf_parent_guard), Some(latched)) = (held, latched) else {
            all_unused(fresh_blocks);
            return Ok(None);
        };
        let before = match PreviousOf::<D>::take(self, root, &path, &latched) {
            Some(before) if guard.valid() => before,
            other => {
                other.and_then(|before| before.held).into_iter().for_each(LatchGuard::unlock_unchanged);
                latched.held.unlock_unchanged();
                leaf_parent_guard.unlock_unchanged();
                all_unused(fresh_blocks);
                return Ok(None);
            }
        };
        let low = path.leaf.low.clone().unwrap_or_default();
        debug_assert!(path.leaf.holds(search_key), "the path leads to the leaf of the key");
        debug_assert_eq!(fresh_blocks.len(), 2 + OverflowOf::<D>::SPARE, "as many as the design may use");
        let spare: Vec<_> = fresh_blocks[2..].iter().map(FreshBlock::leaf_ref).collect();
        let room_for = point.room_for(search_key);
        let pending = room_for.pair().map(|pair| pair.payload);
        if pending.is_some() {
            // The split may put that pair; a split alone changes nothing that a snapshot could see.
            self.preserve(guard, &latched, pending);
        }
        let mut handle = self.writer.begin_write(guard);
        let request = SplitRequest {
            own: latched.number,
            fresh: [fresh_blocks[0].leaf_ref(), fresh_blocks[1].leaf_ref()],
            spare: &spare,
            range: KeyRange { low: &low, high: path.leaf.high.as_ref() },
            previous: before.leaf,
            room_for,
        };
        let mut context = self.writing(&latched.descriptor.volatile, &mut handle);
        let split = match point {
            SplitPoint::Middle(_) | SplitPoint::ForRecord => latched.leaf.split(&mut context, request),
            SplitPoint::At(separator) => DurabilityOf::<D>::split_at(latched.leaf, &mut context, request, separator),
            SplitPoint::Below(_) => DurabilityOf::<D>::move_to(latched.leaf, &mut context, request),
        };
        assert_answer(&split, latched.number, &fresh_blocks, pending);
        self.enter_split(&mut handle, &path, latched.number, &split, search_key);
        let is_used = |number: u32| split.leaves().any(|leaf| self.blocks_of(leaf).any(|block| block == number));
        let leaves = versions_after(&latched, &split, &fresh_blocks);
        self.pre_images.divide(latched.number, split.leaves());
        // Dirty marks of stores to a block that turned out to be unused are set while the block is still reserved.
        drop(handle);
        fresh_blocks
            .into_iter()
            .filter(|fresh_block| !is_used(fresh_block.number))
            .for_each(|fresh_block| self.unused(fresh_block));
        let given_up = self.blocks_of(latched.number).filter(|number| !is_used(*number));
        given_up.for_each(|number| self.writer.storage().space.retire_block(guard.epoch(), number));
        Ok(Some(SplitOutcome { put: split.put, leaves }))
    }
}
