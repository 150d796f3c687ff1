//! Runs of empty leaves: what a removal of a range leaves below one leaf parent becomes one empty leaf.
//!
//! One pass under the latches of the leaf parent and of the run does what as many merges would do. An empty leaf is
//! given up without a store, because it is empty at every recovery point that includes the removals before. The leaf
//! that stays, or a fresh one, has the whole range of the run from then on, and this epoch as its stamp.
//!
//! Every latch is tried and none is awaited, the leaf parent's first, as in a merge. The death of the process finds
//! empty blocks, which belong to no tree. After a power cut, the recovery point has every leaf as it was then.

use crate::descent::Path;
use crate::design::{Design, LocksOf};
use crate::index::{SeekTarget, TreeRoot};
use crate::inner::{Inner as _, Route as _};
use crate::keys::Keys;
use crate::latch::LatchGuard;
use crate::leaf::{Durability as _, Home, Leaf as _, LeafRef, Pairs};
use crate::locks::Locks as _;
use crate::split::FreshBlock;
use crate::tree_set::{DurabilityOf, LatchedLeaf, TreeSet};
use crate::wait::back_off;
use holm_medium::{Guard, Medium, WriteHandle};
use std::ops::RangeInclusive;

/// How often a run that misses a latch is tried again.
const RETRIES: u32 = 4;

/// What became of an attempt.
enum Collapsed {
    /// The run is one leaf, or there is no run.
    Done,
    /// Another thread holds a latch, or has changed the path or a leaf.
    Missed,
}

/// A run of empty leaves.
struct EmptyRun {
    /// Their positions in the leaf parent.
    positions: RangeInclusive<usize>,
    /// The bytes that all keys of the run's range share.
    shared: usize,
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Whether empty leaves of this design can become one: not if one of them cannot take the others' ranges over, and
    /// not with a lock array, where one latch may stand for several leaves of a run. A design that cannot must differ
    /// from an attempt that fails, which is noted and tried again.
    const COLLAPSES: bool = DurabilityOf::<D>::REMOVES_SLOTS && !LocksOf::<D>::IN_NODE;

    /// Makes one leaf of the run of empty leaves to which the search key's leaf belongs. The attempt does not wait, and
    /// its failure is not an error: the run is noted for later removals.
    pub(crate) fn collapse(&self, root: &TreeRoot, guard: &Guard<'_>, search_key: K::SearchKey<'_>) {
        if !Self::COLLAPSES {
            return;
        }
        let mut turn = 0;
        // Leaves do not merge while a snapshot is open: see `merge`.
        while guard.has_snapshots() || matches!(self.try_collapse(root, guard, search_key), Collapsed::Missed) {
            if turn == RETRIES || guard.has_snapshots() || !guard.valid() {
                return self.postponed.note(root.keyspace(), K::to_separator(search_key));
            }
            back_off(&mut turn);
        }
    }

    fn try_collapse(&self, root: &TreeRoot, guard: &Guard<'_>, search_key: K::SearchKey<'_>) -> Collapsed {
        let Some(path) = self.inner.walk::<K>(root, &SeekTarget::Holding(search_key)) else { return Collapsed::Missed };
        let Some(positions) = self.empty_positions(&path).filter(|positions| positions.start() < positions.end())
        else {
            return Collapsed::Done;
        };
        let (low, high) = self.inner.range_of_run::<_, K>(
            path.leaf_parent.node,
            &path.ranges[path.uppers.len()],
            positions.clone(),
            search_key,
        );
        let run = EmptyRun { positions, shared: K::common(&low, high.as_ref()) };
        // Usually one of the run leaves out as few bytes as the whole range shares.
        let fits = |at| self.child(&path, at).is_some_and(|child| child.leaf.skip() <= run.shared);
        let any_fits = run.positions.clone().any(fits);
        // As in a merge: before the label is validated.
        let fresh = if any_fits { None } else { self.fresh_block(guard).ok() };
        let done = self.collapse_latched(root, guard, &path, &run, fresh.as_ref());
        let uses_fresh = done.as_ref().is_some_and(|(stays, _)| fresh.as_ref().is_some_and(|it| it.number == *stays));
        fresh.into_iter().filter(|_| !uses_fresh).for_each(|fresh| self.unused(fresh));
        let Some((_, given_up)) = done else { return Collapsed::Missed };
        let blocks = given_up.into_iter().flat_map(|number| self.blocks_of(number));
        blocks.for_each(|number| self.writer.storage().space.retire_block(guard.epoch(), number));
        Collapsed::Done
    }

    /// Returns the positions of the run of empty leaves around the path's leaf. A hint: nothing is latched.
    fn empty_positions(&self, path: &Path<'_, D, K>) -> Option<RangeInclusive<usize>> {
        let mut pairs = Pairs::default();
        let mut is_empty = |position: usize| {
            self.child(path, position).is_some_and(|child| self.is_empty(child.leaf_ref(), &mut pairs))
        };
        let own = path.leaf_parent.position;
        let last = path.leaf_parent.node.len().min(D::LeafParent::CHILDREN - 1);
        if own > last || !is_empty(own) {
            return None;
        }
        let start = (0..own).rev().take_while(|position| is_empty(*position)).last().unwrap_or(own);
        let end = (own + 1..=last).take_while(|position| is_empty(*position)).last().unwrap_or(own);
        Some(start..=end)
    }

    pub(crate) fn is_empty(&self, child: LeafRef<'_, D::Leaf>, pairs: &mut Pairs) -> bool {
        pairs.clear();
        self.leaf_pairs(child.leaf, child.volatile, pairs);
        pairs.is_empty()
    }

    /// The same with the latches of the leaf parent and of the run held. Returns the number of the leaf that stays, and
    /// of those that are given up; `None` if nothing has changed.
    fn collapse_latched(
        &self,
        root: &TreeRoot,
        guard: &Guard<'_>,
        path: &Path<'_, D, K>,
        run: &EmptyRun,
        fresh: Option<&FreshBlock<'_, D>>,
    ) -> Option<(u32, Vec<u32>)> {
        let node = path.leaf_parent.node;
        let node_held = node.latch().try_lock(path.leaf_parent.version)?;
        debug_assert!(run.positions.start() < run.positions.end(), "one leaf is no run");
        debug_assert!(*run.positions.end() <= node.len(), "the latch is held at the path's version");
        let mut leaves = Vec::with_capacity(run.positions.clone().count());
        let mut pairs = Pairs::default();
        let latched = run.positions.clone().all(|position| match self.take_at(root, path, position) {
            Some(leaf) => {
                let is_empty = self.is_empty(leaf.leaf_ref(), &mut pairs);
                leaves.push(leaf);
                is_empty
            }
            None => false,
        });
        let mut handle = self.writer.begin_write(guard);
        // The label is validated while the latches are held. So every removal from these leaves has this label or an
        // earlier one, and no recovery point has a key in their common leaf and still has their old pairs.
        let stays =
            if latched && guard.valid() { self.heir(root, &leaves, &mut handle, run.shared, fresh) } else { None };
        let Some(stays) = stays else {
            drop(handle);
            leaves.into_iter().for_each(|leaf| leaf.held.unlock_unchanged());
            node_held.unlock_unchanged();
            return None;
        };
        debug_assert!(
            leaves.iter().any(|leaf| leaf.number == stays) || fresh.is_some_and(|fresh| fresh.number == stays),
            "the leaf that stays is one of the run, or the fresh one"
        );
        node.set_child(&mut handle, *run.positions.start(), stays);
        for position in run.positions.clone().rev().skip(1) {
            self.inner.long_separators.forget(node.entry(position).long);
            node.remove_child(&mut handle, position);
        }
        drop(handle);
        let given_up = leaves.iter().map(|leaf| leaf.number).filter(|number| *number != stays).collect();
        leaves.into_iter().for_each(|leaf| drop::<LatchGuard<'_>>(leaf.held));
        drop(node_held);
        Some((stays, given_up))
    }

    /// Chooses the leaf that takes the range of the run over: one of the run, or the fresh one.
    fn heir(
        &self,
        root: &TreeRoot,
        leaves: &[LatchedLeaf<'_, D>],
        handle: &mut WriteHandle<'_, M>,
        shared: usize,
        fresh: Option<&FreshBlock<'_, D>>,
    ) -> Option<u32> {
        for LatchedLeaf { number, leaf, descriptor, .. } in leaves {
            if DurabilityOf::<D>::take_over(*leaf, &mut self.writing(&descriptor.volatile, handle), shared) {
                return Some(*number);
            }
        }
        let LeafRef { number, leaf, volatile } = fresh?.leaf_ref();
        leaf.format(volatile, handle, Home { keyspace: root.keyspace(), skip: shared as u8, first: false });
        DurabilityOf::<D>::take_over(leaf, &mut self.writing(volatile, handle), shared).then_some(number)
    }
}
