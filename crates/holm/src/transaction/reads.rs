//! What a transaction has read: leaves at their versions, and the values that gets returned.
//!
//! All that a transaction has read is of one instant, whether it commits or not. After each read every noted leaf
//! is validated. A leaf that has changed is read again: the gets that it answered must have the same values as before.
//! So gets conflict by key. Scans conflict by leaf, about seventeen pairs, because they depend on the gaps, too. A
//! transaction that only reads keeps no answers to compare: all its reads conflict by leaf, and it begins anew.
//!
//! A transaction that has read many leaves goes on at a snapshot, and its reads validate nothing more: see
//! `at_snapshot`. A commit that writes validates all that was read, once.

mod at_snapshot;
mod pooled;

use crate::commit::Dependencies;
use crate::copied_pairs::{CopiedPairs, Remainder, ScanBounds};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::expiry::{Deadline, Millis, ReadView};
use crate::generation::OpenGeneration;
use crate::iter::copy_part;
use crate::keys::{Records, SearchKey};
use crate::keyspace_tree::KeyspaceTree;
use crate::slice::Slice;
use crate::store::Store;
use crate::transaction::fallback_lock::FallbackGuard;
use crate::update::Before;
use holm_medium::Epoch;
use holm_tree::{LeafCursor, LeafVersion};
pub(super) use pooled::PooledReads;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// How often all that was read is read again before the transaction counts as conflicting.
const MOST_ROUNDS: usize = 8;

/// From this many leaves on, they are found by a map.
const FEW_LEAVES: usize = 24;

/// A transaction that has read more leaves than this goes on at a snapshot. All validations up to here together take
/// about as long as reading these leaves.
const MOST_LEAVES: usize = 64;

/// Buffers of more bytes are not kept for another transaction.
const MOST_KEPT: usize = 64 << 10;

/// A write looks for the get of its key among this many last ones, and whether it is the first one.
const RECENT: usize = 8;

/// What is known of a leaf that was read.
#[derive(Clone, Copy, Default)]
struct LeafState {
    /// Whether any change of it conflicts: a scan has read it, or the transaction only reads.
    by_version: bool,
    /// Whether it has changed; what it answered is then read again.
    stale: bool,
}

/// A value that a get returned.
struct Point {
    /// The index of its tree.
    tree: usize,
    /// Where its key lies among the keys.
    key: Range<usize>,
    found: Option<Slice>,
    /// The index of its leaf.
    leaf: usize,
}

/// The number of a get among those of its transaction.
#[derive(Clone, Copy)]
pub(super) struct PointIndex(usize);

/// The reads of a transaction.
#[derive(Default)]
pub(super) struct Reads {
    versions: Vec<LeafVersion>,
    states: Vec<LeafState>,
    points: Vec<Point>,
    /// The points that were read ahead and that no get has asked for.
    expected: Range<usize>,
    keys: Vec<u8>,
    trees: Vec<Arc<KeyspaceTree>>,
    /// The index of each leaf by its number, once there are many.
    by_number: HashMap<u32, usize>,
    /// The latest epoch of anything that was read.
    stamp: Epoch,
    /// The time of the transaction, once it has met a keyspace with expiry.
    now: Option<Millis>,
    /// The snapshot at which it reads, once it has read many leaves.
    snapshot: Option<OpenGeneration>,
    /// It writes nothing, so no answer is noted, and at its snapshot no leaf either.
    read_only: bool,
}

impl Reads {
    /// States that the transaction will write nothing.
    pub(super) fn set_read_only(&mut self) {
        self.read_only = true;
    }

    /// Forgets everything and keeps the buffers. Returns whether they are worth keeping.
    fn clear(&mut self) -> bool {
        self.versions.clear();
        self.states.clear();
        self.points.clear();
        self.keys.clear();
        self.trees.clear();
        self.by_number.clear();
        (self.stamp, self.now, self.snapshot, self.read_only, self.expected) = (0, None, None, false, 0..0);
        let leaves = self.versions.capacity() * size_of::<LeafVersion>() + self.by_number.capacity() * 16;
        self.keys.capacity() + self.points.capacity() * size_of::<Point>() + leaves < MOST_KEPT
    }

    /// The epoch that must be durable for what was read to be.
    pub(super) fn stamp(&self) -> Epoch {
        self.stamp
    }

    /// Returns what the transaction sees of a keyspace's records. It asks for the time once.
    pub(super) fn view(&mut self, store: &Store, tree: &KeyspaceTree) -> ReadView {
        tree.format.view(|| *self.now.get_or_insert_with(|| store.wall_clock.now()))
    }

    /// Refuses what was read if a sweep has since removed records that had not expired at the transaction's time: of
    /// two keys with one deadline, it would see one and miss the other.
    fn check_not_swept(&self, store: &Store) -> Result<()> {
        if self.now.is_some_and(|now| store.wall_clock.was_swept_after(now)) { Err(Error::Conflict) } else { Ok(()) }
    }

    /// Refuses what was read of a keyspace that was dropped since: what is read from now on is of a time without it.
    /// Versions of leaves do not tell, because a backup that reads the keyspace keeps its leaves as they were.
    pub(super) fn check_not_dropped(&self) -> Result<()> {
        self.trees.iter().try_for_each(|tree| tree.check_sound())?;
        if self.trees.iter().any(|tree| tree.root.is_dropped()) { Err(Error::Conflict) } else { Ok(()) }
    }

    /// Reads a key's value, which belongs together with all that was read before.
    ///
    /// # Errors
    /// `Conflict`; those of a get.
    #[inline]
    pub(super) fn get(
        &mut self,
        engine: &Arc<Engine>,
        (tree, key, view): (&Arc<KeyspaceTree>, &[u8], ReadView),
    ) -> Result<Option<Slice>> {
        if let Some(found) = self.expected_answer(tree, key) {
            tree.check_not_dropped()?;
            return Ok(found);
        }
        if self.snapshot.is_some() {
            return self.get_at_snapshot((tree, key, view));
        }
        let before = engine.store.before(tree, SearchKey::new(key), view)?;
        if self.read_only {
            self.note_by_version(engine, tree, (before.leaf, before.stamp))?;
            return Ok(before.value);
        }
        let value = before.value.clone();
        let leaf = self.note_answer((tree, key), before)?;
        self.validate(engine, leaf)?;
        Ok(value)
    }

    /// Notes what a key has, and the leaf that has answered. Returns the leaf's index; the caller validates.
    #[inline]
    pub(super) fn note_answer(&mut self, (tree, key): (&Arc<KeyspaceTree>, &[u8]), before: Before) -> Result<usize> {
        self.stamp = self.stamp.max(before.stamp);
        let leaf = self.note_leaf(before.leaf, false)?;
        self.note_point((tree, key, before.value), leaf);
        Ok(leaf)
    }

    /// States that gets will ask for points that were noted, in their order: from this one on, and for no later ones.
    pub(super) fn expect_gets(&mut self, from: usize) {
        self.expected = from..self.points.len();
    }

    /// Returns the number of answers that are noted.
    pub(super) fn answers(&self) -> usize {
        self.points.len()
    }

    /// Returns what a key has if it is the one that was read ahead for this get. It belongs together with all that
    /// was read since, as any answer does.
    #[inline]
    fn expected_answer(&mut self, tree: &Arc<KeyspaceTree>, key: &[u8]) -> Option<Option<Slice>> {
        // The get of one that the transaction has written was answered by that write.
        let at = self.expected.clone().take(2).find(|at| self.is_of(&self.points[*at], tree, key))?;
        self.expected.start = at + 1;
        Some(self.points[at].found.clone())
    }

    pub(super) fn is_at_snapshot(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Reads when a key expires; `None` if it is absent. Answers to gets have no deadlines, so any change of the leaf
    /// conflicts.
    ///
    /// # Errors
    /// As [`Reads::get`].
    pub(super) fn deadline(
        &mut self,
        engine: &Arc<Engine>,
        (tree, key, view): (&Arc<KeyspaceTree>, &[u8], ReadView),
    ) -> Result<Option<Deadline>> {
        if self.snapshot.is_some() {
            return self.deadline_at_snapshot((tree, key, view));
        }
        let before = engine.store.before(tree, SearchKey::new(key), view)?;
        self.note_by_version(engine, tree, (before.leaf, before.stamp))?;
        Ok(before.value.map(|_| before.deadline))
    }

    /// Copies pairs of the leaf at a scan's near bound, which belong together with all that was read before. Returns
    /// what remains of that leaf.
    ///
    /// # Errors
    /// As [`Reads::get`].
    pub(super) fn scan(
        &mut self,
        engine: &Arc<Engine>,
        (tree, bounds): (&Arc<KeyspaceTree>, ScanBounds<'_>),
        cursor: &mut LeafCursor<Records>,
        copied: &mut CopiedPairs,
    ) -> Result<Remainder> {
        if self.snapshot.is_some() {
            return self.scan_at_snapshot((tree, bounds), cursor, copied);
        }
        let store: &Store = &engine.store;
        let remainder = copy_part(store, tree, bounds, 0, cursor, copied)?;
        self.note_by_version(engine, tree, (cursor.leaf_version, cursor.stamp))?;
        Ok(remainder)
    }

    /// Notes a leaf of which any change conflicts, and validates all that was read.
    #[inline]
    fn note_by_version(
        &mut self,
        engine: &Arc<Engine>,
        tree: &Arc<KeyspaceTree>,
        (version, stamp): (LeafVersion, Epoch),
    ) -> Result<()> {
        self.note_tree(tree);
        self.stamp = self.stamp.max(stamp);
        let leaf = self.note_leaf(version, false)?;
        self.states[leaf].by_version = true;
        self.validate(engine, leaf)
    }

    /// Returns the index of a tree that was read.
    fn note_tree(&mut self, tree: &Arc<KeyspaceTree>) -> usize {
        self.trees.iter().position(|known| Arc::ptr_eq(known, tree)).unwrap_or_else(|| {
            self.trees.push(tree.clone());
            self.trees.len() - 1
        })
    }

    /// Notes the answer of a get.
    fn note_point(&mut self, (tree, key, found): (&Arc<KeyspaceTree>, &[u8], Option<Slice>), leaf: usize) {
        let tree = self.note_tree(tree);
        let start = self.keys.len();
        self.keys.extend_from_slice(key);
        self.points.push(Point { tree, key: start..self.keys.len(), found, leaf });
    }

    /// Returns whether a point is the answer for a key.
    #[inline]
    fn is_of(&self, point: &Point, tree: &Arc<KeyspaceTree>, key: &[u8]) -> bool {
        self.keys[point.key.clone()] == *key && Arc::ptr_eq(&self.trees[point.tree], tree)
    }

    /// Returns the get of a key, if it is among the last ones or the first one. What was read ahead is no get yet.
    #[inline]
    pub(super) fn recent(&self, tree: &Arc<KeyspaceTree>, key: &[u8]) -> Option<PointIndex> {
        // The next ones of those may also be written without a get.
        let asked = if self.expected.is_empty() { self.points.len() } else { self.expected.start + 1 };
        let first = asked.saturating_sub(RECENT);
        let is_of = |point: &Point| self.is_of(point, tree, key);
        let recent = self.points[first..asked].iter().rposition(is_of).map(|at| first + at);
        // What a transaction reads first, it often writes last.
        recent.or_else(|| self.points.first().filter(|point| is_of(point)).map(|_| 0)).map(PointIndex)
    }

    /// Returns the leaf that has answered a get last.
    pub(super) fn leaf_of(&self, point: Option<PointIndex>) -> Option<LeafVersion> {
        Some(self.versions[self.points[point?.0].leaf])
    }

    fn find(&self, number: u32) -> Option<usize> {
        if self.versions.len() > FEW_LEAVES {
            return self.by_number.get(&number).copied();
        }
        self.versions.iter().rposition(|version| version.leaf() == number)
    }

    /// Returns the index of a leaf at a version, at which its answer is `stale` or not. If it was noted otherwise, that
    /// becomes stale.
    fn note_leaf(&mut self, version: LeafVersion, stale: bool) -> Result<usize> {
        if let Some(at) = self.find(version.leaf()) {
            if self.versions[at] == version && self.states[at].stale == stale {
                return Ok(at);
            }
            self.mark_stale(at)?;
        }
        self.versions.push(version);
        self.states.push(LeafState { by_version: false, stale });
        let at = self.versions.len() - 1;
        if at == FEW_LEAVES {
            self.index_leaves();
        } else if at > FEW_LEAVES {
            self.by_number.insert(version.leaf(), at);
        }
        Ok(at)
    }

    fn index_leaves(&mut self) {
        self.by_number.clear();
        self.by_number.extend(self.versions.iter().enumerate().map(|(at, version)| (version.leaf(), at)));
    }

    /// Notes that a leaf has changed. At a snapshot that is no conflict yet: the transaction may write nothing.
    fn mark_stale(&mut self, at: usize) -> Result<()> {
        if self.states[at].by_version && self.snapshot.is_none() {
            return Err(Error::Conflict);
        }
        self.states[at].stale = true;
        Ok(())
    }

    /// Makes sure that there is an instant at which everything was as it was read; `read` is the leaf that was read
    /// last, which need not be the last in the list.
    ///
    /// # Errors
    /// `Conflict`; those of a get.
    #[inline]
    pub(super) fn validate(&mut self, engine: &Arc<Engine>, read: usize) -> Result<()> {
        if self.versions.len() > MOST_LEAVES {
            return self.go_on_at_snapshot(engine);
        }
        let store: &Store = &engine.store;
        self.check_not_swept(store)?;
        self.check_not_dropped()?;
        // The leaf was validated when it was read. If the others are unchanged after that, all stood together then.
        let is_unchanged =
            |at: usize| !self.states[at].stale && (at == read || store.index.validate(self.versions[at]));
        if (0..self.versions.len()).all(is_unchanged) { Ok(()) } else { self.validate_again(store) }
    }

    #[cold]
    fn validate_again(&mut self, store: &Store) -> Result<()> {
        self.check_not_dropped()?;
        for _ in 0..MOST_ROUNDS {
            for at in 0..self.versions.len() {
                if self.states[at].stale || !store.index.validate(self.versions[at]) {
                    self.mark_stale(at)?;
                }
            }
            if self.states.iter().all(|state| !state.stale) {
                return Ok(());
            }
            self.read_again(store)?;
        }
        Err(Error::Conflict)
    }

    /// Reads once more what stale leaves answered, and forgets these leaves. To read one point may make another leaf
    /// stale; that one waits for the next round.
    fn read_again(&mut self, store: &Store) -> Result<()> {
        for at in 0..self.points.len() {
            if !self.states[self.points[at].leaf].stale {
                continue;
            }
            let tree = self.trees[self.points[at].tree].clone();
            let view = self.view(store, &tree);
            let Point { key, found, .. } = &self.points[at];
            let before = store.before(&tree, SearchKey::new(&self.keys[key.clone()]), view)?;
            if before.value != *found {
                return Err(Error::Conflict);
            }
            self.stamp = self.stamp.max(before.stamp);
            self.points[at].leaf = self.note_leaf(before.leaf, false)?;
        }
        self.forget_stale();
        Ok(())
    }

    /// Forgets the stale leaves to which no point belongs any more.
    fn forget_stale(&mut self) {
        let mut kept = vec![false; self.versions.len()];
        kept.iter_mut().zip(&self.states).for_each(|(kept, state)| *kept = !state.stale);
        self.points.iter().for_each(|point| kept[point.leaf] = true);
        let places = kept.iter().scan(0, |count, kept| Some(std::mem::replace(count, *count + usize::from(*kept))));
        let moved: Vec<_> = places.collect();
        self.points.iter_mut().for_each(|point| point.leaf = moved[point.leaf]);
        let mut at = 0..;
        self.versions.retain(|_| kept[at.next().unwrap_or_default()]);
        let mut at = 0..;
        self.states.retain(|_| kept[at.next().unwrap_or_default()]);
        if self.versions.len() > FEW_LEAVES {
            self.index_leaves();
        }
    }
}

/// The reads of a transaction that commits.
pub(super) struct CommittedReads<'a> {
    pub(super) reads: &'a mut Reads,
    pub(super) store: &'a Store,
    /// Released once the transaction has taken effect: others need not wait for its durability.
    pub(super) fallback: Option<FallbackGuard<'a>>,
}

impl Dependencies for CommittedReads<'_> {
    fn leaves(&self) -> &[LeafVersion] {
        &self.reads.versions
    }

    fn check_not_dropped(&self) -> Result<()> {
        self.reads.check_not_dropped()
    }

    fn validate_again(&mut self) -> Result<bool> {
        match self.reads.validate_again(self.store) {
            Ok(()) => Ok(true),
            Err(Error::Conflict) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn took_effect(&mut self) {
        self.fallback = None;
    }
}
