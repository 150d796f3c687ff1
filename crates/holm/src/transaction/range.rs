//! Scans within a transaction: what is stored, leaf by leaf, merged with the transaction's own writes.

use super::{State, Transaction};
use crate::continuation::Continuation;
use crate::copied_pairs::{CopiedPairs, ScanBounds};
use crate::direction::Direction;
use crate::error::{Error, Result};
use crate::iter::{half_open, successor};
use crate::keys::Records;
use crate::keyspace_tree::KeyspaceTree;
use crate::slice::Slice;
use holm_tree::LeafCursor;
use std::collections::VecDeque;
use std::iter::FusedIterator;
use std::ops::RangeBounds;
use std::sync::Arc;

/// A double-ended iterator over the pairs of a range, as a transaction sees them: [`Transaction::range`].
///
/// The iterator shows what the transaction has written, also what it writes while the iterator is in use. It notes
/// each leaf before it returns the leaf's pairs, so no key can appear in a range that the transaction has scanned.
///
/// # Errors
/// An item is an error if its pair cannot be read, as for [`Transaction::get`]. The iterator ends after the first
/// error.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let reefs = db.keyspace("reefs")?;
/// reefs.insert("east", "coral")?;
/// db.transact(|transaction| {
///     transaction.insert(&reefs, "north", "kelp")?;
///     let keys: Vec<_> = transaction.iter(&reefs)?.rev().map(|pair| Ok(pair?.0)).collect::<holm::Result<_>>()?;
///     assert_eq!((&*keys[0], &*keys[1]), (&b"north"[..], &b"east"[..]));
///     Ok::<_, holm::Error>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TransactionRange<'t> {
    transaction: &'t Transaction,
    tree: Arc<KeyspaceTree>,
    /// Pairs still to come lie at or above `low` and below `high`.
    low: Vec<u8>,
    high: Option<Vec<u8>>,
    /// By direction: the front and the back.
    ends: [CopiedEnd; 2],
    cursor: LeafCursor<Records>,
    copied: CopiedPairs,
}

/// What one end has copied of the stored pairs, its next pair first.
struct CopiedEnd {
    pairs: VecDeque<(Slice, Slice)>,
    next: Continuation,
}

impl CopiedEnd {
    fn new() -> Self {
        CopiedEnd { pairs: VecDeque::new(), next: Continuation::AtBound }
    }
}

impl<'t> TransactionRange<'t> {
    pub(super) fn new<K: AsRef<[u8]>>(
        transaction: &'t Transaction,
        tree: Arc<KeyspaceTree>,
        range: &impl RangeBounds<K>,
    ) -> Self {
        let (low, high) = half_open(range);
        let ends = [CopiedEnd::new(), CopiedEnd::new()];
        let (cursor, copied) = (LeafCursor::default(), CopiedPairs::default());
        TransactionRange { transaction, tree, low, high, ends, cursor, copied }
    }

    fn is_empty(&self) -> bool {
        self.high.as_ref().is_some_and(|high| *high <= self.low)
    }

    /// Ends the iterator.
    fn stop(&mut self) {
        self.high = Some(Vec::new());
    }

    /// Copies the next leaf at an end, and notes it.
    fn load(&mut self, state: &mut State, direction: Direction) -> Result<()> {
        let next = std::mem::replace(&mut self.ends[direction as usize].next, Continuation::Ended);
        let (low, high) = match (next, direction) {
            (Continuation::Ended, _) => return Ok(()),
            (Continuation::AtBound, _) => (self.low.clone(), self.high.clone()),
            (Continuation::Beyond(key), Direction::Forward) => (key, self.high.clone()),
            (Continuation::Beyond(key), Direction::Backward) => (self.low.clone(), Some(key)),
        };
        let store = self.transaction.store();
        let view = state.reads.view(store, &self.tree);
        let bounds = ScanBounds { low: &low, high: high.as_deref(), direction, most: usize::MAX, view };
        let (engine, tree) = (&self.transaction.engine, &self.tree);
        let remainder = state.reads.scan(engine, (tree, bounds), &mut self.cursor, &mut self.copied)?;
        let pairs = (0..self.copied.len()).map(|index| self.copied.give(index));
        let end = &mut self.ends[direction as usize];
        match direction {
            Direction::Forward => end.pairs.extend(pairs),
            Direction::Backward => end.pairs.extend(pairs.rev()),
        }
        end.next = Continuation::after(store, bounds, remainder, self.cursor.edge.take())?;
        Ok(())
    }

    /// Makes sure that an end has its next stored pair, if there is one left in the range.
    fn fill(&mut self, state: &mut State, direction: Direction) -> Result<()> {
        loop {
            let end = &mut self.ends[direction as usize];
            // The other end has taken what lies beyond the bounds.
            let in_range = |key: &[u8]| key >= &self.low[..] && self.high.as_ref().is_none_or(|high| key < &high[..]);
            while end.pairs.front().is_some_and(|(key, _)| !in_range(key)) {
                end.pairs.pop_front();
            }
            if !end.pairs.is_empty() || end.next == Continuation::Ended {
                return Ok(());
            }
            self.load(state, direction)?;
        }
    }

    /// Returns the next pair of an end, and moves that end's bound over it.
    fn step(&mut self, direction: Direction) -> Result<Option<(Slice, Slice)>> {
        let transaction = self.transaction;
        transaction.with_state(|state| {
            let view = state.reads.view(transaction.store(), &self.tree);
            while !self.is_empty() {
                self.fill(state, direction)?;
                let end = &mut self.ends[direction as usize];
                let stored = end.pairs.front().map(|(key, _)| &**key);
                let own = state.writes.outermost(&self.tree, &self.low, self.high.as_deref(), direction);
                let is_first = |own: &[u8]| match direction {
                    Direction::Forward => stored.is_none_or(|stored| own <= stored),
                    Direction::Backward => stored.is_none_or(|stored| own >= stored),
                };
                let pair = match own.filter(|(key, _)| is_first(key)) {
                    Some((key, own)) => {
                        let (key, value) = (Slice::from(key), own.visible(view).map(Slice::from));
                        if stored.is_some_and(|stored| *stored == *key) {
                            end.pairs.pop_front();
                        }
                        (key, value)
                    }
                    None => match end.pairs.pop_front() {
                        Some((key, value)) => (key, Some(value)),
                        None => break,
                    },
                };
                match direction {
                    Direction::Forward => self.low = successor(&pair.0),
                    Direction::Backward => self.high = Some(pair.0.to_vec()),
                }
                if let (key, Some(value)) = pair {
                    return Ok(Some((key, value)));
                }
            }
            Ok(None)
        })
    }

    fn step_or_stop(&mut self, direction: Direction) -> Option<Result<(Slice, Slice)>> {
        // Before all else: a transaction that has conflicted refuses each further step.
        if self.is_empty() {
            return None;
        }
        let stepped = self.step(direction);
        if !matches!(stepped, Ok(Some(_))) {
            self.stop();
        }
        stepped.transpose()
    }
}

impl Iterator for TransactionRange<'_> {
    type Item = Result<(Slice, Slice), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step_or_stop(Direction::Forward)
    }
}

impl DoubleEndedIterator for TransactionRange<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.step_or_stop(Direction::Backward)
    }
}

impl FusedIterator for TransactionRange<'_> {}

impl std::fmt::Debug for TransactionRange<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TransactionRange").field("keyspace", &self.tree.name).finish_non_exhaustive()
    }
}
