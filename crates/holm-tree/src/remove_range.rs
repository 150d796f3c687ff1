//! The removal of a range of keys, leaf by leaf.
//!
//! Each leaf is latched, validated and emptied on its own. A leaf of one block is emptied by one commit word for any
//! number of pairs. So the removal takes O(leaves), and no record is read except where a bound divides equal heads. In
//! leaves of several blocks, each run of keys that lie in one block has a commit word of its own, and the records of
//! equal heads are read. The removal is not one operation: each leaf has its own label. Labels rise from leaf to leaf,
//! and words are committed in key order, so a crash leaves the range removed from its low end up to some key.
//!
//! **A put is before or after**: a put latches the leaf of its key. If it comes before the removal of that leaf, its
//! pair is removed. If it comes after, it stays: the removal goes on at the end of the leaf's range and looks at no
//! lower key again, even if leaves merge meanwhile.
//!
//! Emptied leaves of one leaf parent become one (`collapse`), and sparse ones merge as after any removal. While a
//! snapshot is open they stay: later removals of the tree merge them.

use crate::design::Design;
use crate::index::{SeekTarget, TreeRoot};
use crate::keys::{Keys, Slot};
use crate::leaf::{Durability as _, KeyRange, Leaf as _, Merge as _, Pairs};
use crate::pairs::MOST_PAIRS;
use crate::superseded::Superseded;
use crate::tree_set::{DurabilityOf, LatchedLeaf, TreeSet};
use crate::wait::back_off;
use holm_medium::{Epoch, Guard, Medium, Result};
use holm_search::prefetch_lines;

/// A part of the removal of a range.
pub struct RangeRemoval<'a, 'r, K: Keys> {
    /// What is still to be removed.
    pub range: KeyRange<'a, K::Separator>,
    /// The most leaves that this part changes.
    pub most_leaves: usize,
    /// Gets each payload that gives way, and the epoch in which it does.
    pub removed: &'r mut dyn FnMut(Epoch, Superseded),
}

/// A latched leaf of a range.
struct LeafOfRange<'a, D: Design, S> {
    latched: LatchedLeaf<'a, D>,
    /// The end of the leaf's range; `None` if it has none.
    edge: Option<S>,
    /// Whether it is the last leaf of its leaf parent.
    is_last: bool,
}

/// What the removal has left of a leaf.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// Enough pairs.
    Enough,
    /// So few pairs that a merge is worth an attempt.
    Few,
    /// None, which is worth an attempt too.
    Nothing,
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// See [`crate::Index::remove_range`].
    pub(crate) fn remove_part(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        RangeRemoval { range, most_leaves, removed }: RangeRemoval<'_, '_, K>,
    ) -> Result<Option<K::Separator>> {
        if range.high.is_some_and(|high| high <= range.low) {
            return Ok(None);
        }
        let (mut low, mut sparse, mut empty) = (range.low.clone(), None, None);
        let mut next = None;
        for _ in 0..most_leaves.max(1) {
            let leaf = self.take_in_range(root, guard, K::search_key(&low))?;
            next = leaf.edge.clone().filter(|edge| range.high.is_none_or(|high| edge < high));
            let is_last = leaf.is_last;
            // A bound at or beyond the end of the leaf's range excludes none of its keys, and heads do not compare with
            // it.
            let high = range.high.filter(|high| leaf.edge.as_ref().is_none_or(|edge| *high < edge));
            // The compiler decides: a design without this must not have its leaf latched and preserved for nothing.
            if DurabilityOf::<D>::REMOVES_SLOTS {
                match self.remove_in_leaf(root, guard, leaf, KeyRange { low: &low, high }, removed) {
                    Left::Enough => {}
                    Left::Few => sparse = Some(low.clone()),
                    Left::Nothing => empty = Some(low.clone()),
                }
            } else {
                let part = KeyRange { low: &low, high: next.as_ref().or(range.high) };
                self.remove_singly(root, guard, leaf, part, removed)?;
            }
            match &next {
                Some(edge) if !is_last => low = edge.clone(),
                _ => break,
            }
        }
        // Operations of their own, as after a single removal.
        if let Some(key) = &empty {
            self.collapse(root, guard, K::search_key(key));
            if guard.has_snapshots() {
                self.postponed.note(root.keyspace(), range.low.clone());
            }
        }
        for key in empty.iter().chain(&sparse) {
            self.merge(root, guard, K::search_key(key));
        }
        Ok(next)
    }

    /// Latches the search key's leaf under a valid label.
    fn take_in_range(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
    ) -> Result<LeafOfRange<'_, D, K::Separator>> {
        let mut turn = 0;
        loop {
            match self.try_take_in_range(root, search_key) {
                Some(leaf) if guard.valid() => return Ok(leaf),
                Some(leaf) => {
                    leaf.latched.held.unlock_unchanged();
                    root.repin(guard)?;
                }
                None => {
                    root.check_sound()?;
                    back_off(&mut turn);
                }
            }
        }
    }

    fn try_take_in_range(
        &self,
        root: &TreeRoot,
        search_key: K::SearchKey<'_>,
    ) -> Option<LeafOfRange<'_, D, K::Separator>> {
        let (at, edge) = self.inner.descend::<K>(root, &SeekTarget::Holding(search_key))?;
        let latched = self.try_take_reached(root, &at)?;
        let next = at.sibling(1);
        // Its lines arrive while this leaf is emptied.
        next.and_then(|number| self.leaf(number)).into_iter().for_each(prefetch_lines);
        Some(LeafOfRange { latched, edge, is_last: next.is_none() })
    }

    /// Removes the pairs of a range from a latched leaf, and releases it. The range begins within the leaf's own.
    fn remove_in_leaf(
        &self,
        root: &TreeRoot,
        guard: &Guard<'_>,
        LeafOfRange { latched, .. }: LeafOfRange<'_, D, K::Separator>,
        range: KeyRange<'_, K::Separator>,
        removed: &mut dyn FnMut(Epoch, Superseded),
    ) -> Left {
        let LatchedLeaf { number, leaf, descriptor, .. } = &latched;
        let skip = leaf.skip();
        let (low, high) = (K::search_key(range.low), range.high.map(K::search_key));
        let mut chosen = |slot: Slot| {
            self.keys.compare(slot, skip, low).is_ge()
                && high.is_none_or(|high| self.keys.compare(slot, skip, high).is_lt())
        };
        let mut old = Vec::with_capacity(D::Leaf::CAPACITY.min(MOST_PAIRS));
        self.preserve(guard, &latched, None);
        {
            // The write handle goes before the latch, as in a put.
            let mut handle = self.writer.begin_write(guard);
            let mut context = self.writing(&descriptor.volatile, &mut handle);
            let mut each = |replaced| old.push(self.superseded(guard, *number, replaced));
            DurabilityOf::<D>::remove_slots(*leaf, &mut context, &mut chosen, &mut each);
        }
        let left = match leaf.sparse(self.context(&descriptor.volatile)) {
            true if self.is_empty(latched.leaf_ref(), &mut Pairs::default()) => Left::Nothing,
            true => Left::Few,
            false => Left::Enough,
        };
        if old.is_empty() {
            latched.held.unlock_unchanged();
            return left;
        }
        self.unlock(guard, latched);
        root.pairs.add(-(old.len() as i64));
        old.into_iter().for_each(|old| removed(guard.epoch(), old));
        left
    }

    /// Removes the pairs of a leaf that lie in a range one by one, for designs that cannot do more.
    fn remove_singly(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        LeafOfRange { latched, .. }: LeafOfRange<'_, D, K::Separator>,
        range: KeyRange<'_, K::Separator>,
        removed: &mut dyn FnMut(Epoch, Superseded),
    ) -> Result<()> {
        let LatchedLeaf { leaf: block, descriptor, .. } = &latched;
        let mut pairs = Pairs::default();
        self.leaf_pairs(block, &descriptor.volatile, &mut pairs);
        pairs.sort(&self.keys, self.inner.search, block.skip());
        let keys: Vec<_> = pairs.iter().filter_map(|slot| self.keys.key(*slot)).collect();
        latched.held.unlock_unchanged();
        let in_range = |key: &&K::Separator| *key >= range.low && range.high.is_none_or(|high| *key < high);
        for key in keys.iter().filter(in_range) {
            let search_key = K::search_key(key);
            let latched = self.take_uncrowded(root, guard, search_key)?;
            let old = self.remove_latched(root, guard, latched, search_key);
            old.into_iter().for_each(|old| removed(guard.epoch(), old));
        }
        Ok(())
    }
}
