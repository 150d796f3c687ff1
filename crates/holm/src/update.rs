//! Read-modify-write of one key: read, decide, and change the key if its leaf is still as it was read.
//!
//! Nothing is pinned and no latch is held while the caller decides, so its code may take long, panic, or use the
//! database. A change that misses its leaf is tried again, and decided again if the key has another value by then. A
//! leaf holds several keys, so a neighbour's change causes another attempt, but never another answer.

use crate::error::{Error, Result};
use crate::expiry::{Deadline, ReadView};
use crate::keys::{Records, SearchKey};
use crate::keyspace::limit;
use crate::keyspace_tree::KeyspaceTree;
use crate::operation::Operation;
use crate::read::Attempts;
use crate::record::{self, NoRecord};
use crate::record_buffer::write_record;
use crate::slice::Slice;
use crate::store::{Store, WritableStore};
use holm_medium::Epoch;
use holm_tree::{LeafCursor, LeafVersion, Lookup, SeekTarget, Seen, Wanted, back_off};

/// After this many attempts an update, or a transaction, gives up: something conflicts with it that does not end.
pub(crate) const MOST_ATTEMPTS: u32 = 1_000;

/// What an update does with its key.
pub(crate) enum Decision<V> {
    /// Nothing.
    Keep,
    /// Puts a value. The key keeps its deadline, if it has one.
    Put(V),
    /// Puts a value with a deadline.
    PutUntil(V, Deadline),
    /// Removes the key.
    Remove,
}

/// Counts the calls of a caller's closure for one update: one that changes the key itself would be called for ever.
#[derive(Default)]
pub(crate) struct ClosureCalls(u32);

impl ClosureCalls {
    /// Counts a call that is about to be made.
    ///
    /// # Errors
    /// `Conflict`: there have been too many.
    pub(crate) fn count(&mut self) -> Result<()> {
        self.0 += 1;
        if self.0 > MOST_ATTEMPTS { Err(Error::Conflict) } else { Ok(()) }
    }
}

/// The end of a keyspace from which pairs are popped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    First,
    Last,
}

/// A key's value, and the leaf that answered for it.
pub(crate) struct Before {
    pub(crate) value: Option<Slice>,
    /// When it expires; `NEVER` of an absent key.
    pub(crate) deadline: Deadline,
    pub(crate) leaf: LeafVersion,
    pub(crate) stamp: Epoch,
}

/// The outermost pair of a keyspace; `pair` is `None` if the keyspace is empty.
struct Outermost {
    pair: Option<(Slice, Slice)>,
    leaf: LeafVersion,
    /// Empty leaves between the end and that leaf.
    passed: Vec<LeafVersion>,
    stamp: Epoch,
}

impl Store {
    /// Reads a key's value for an update or a transaction. Waits for no durability: these wait themselves.
    pub(crate) fn before(&self, tree: &KeyspaceTree, key: SearchKey<'_>, view: ReadView) -> Result<Before> {
        let mut attempts = Attempts::default();
        loop {
            let lookup = self.index.get(&tree.root, key);
            if let Some(before) = self.before_at(&mut attempts, tree, lookup, view)? {
                return Ok(before);
            }
        }
    }

    /// Reads what a lookup leads to; `None` if its leaf has changed since.
    pub(crate) fn before_of(&self, tree: &KeyspaceTree, lookup: Lookup, view: ReadView) -> Result<Option<Before>> {
        self.before_at(&mut Attempts::default(), tree, lookup, view)
    }

    /// The same for one of several attempts.
    fn before_at(
        &self,
        attempts: &mut Attempts,
        tree: &KeyspaceTree,
        lookup: Lookup,
        view: ReadView,
    ) -> Result<Option<Before>> {
        let source = self.source();
        let copy = |payload| record::copy_value_and_deadline(source, payload, view).map_err(|NoRecord| payload);
        let check = || tree.check_not_dropped();
        let copy = || lookup.payload.map_or(Ok(None), copy);
        let copied = self.copied_at(attempts, check, Some(lookup.leaf_version), copy)?;
        let Some(found) = copied else { return Ok(None) };
        let found = found.map_err(|payload| self.no_record(payload))?;
        let deadline = found.as_ref().map_or(Deadline::NEVER, |(_, deadline)| *deadline);
        let value = found.map(|(value, _)| value);
        Ok(Some(Before { value, deadline, leaf: lookup.leaf_version, stamp: lookup.stamp }))
    }

    /// Reads the first or the last visible pair. `None` if a leaf has changed meanwhile.
    fn outermost(&self, attempts: &mut Attempts, tree: &KeyspaceTree, end: End) -> Result<Option<Outermost>> {
        let (mut cursor, mut passed, mut stamp) = (LeafCursor::default(), Vec::new(), 0);
        let mut edge: Option<Vec<u8>> = None;
        let view = tree.view(&self.wall_clock);
        loop {
            let target = match (end, &edge) {
                (End::First, None) => SeekTarget::Holding(SearchKey::new(b"")),
                (End::First, Some(edge)) => SeekTarget::Holding(SearchKey::new(edge)),
                (End::Last, None) => SeekTarget::Last,
                (End::Last, Some(edge)) => SeekTarget::Below(SearchKey::new(edge)),
            };
            self.index.copy_leaf(&tree.root, target, Wanted::leaf(), &mut cursor);
            let leaf = cursor.leaf_version;
            let check = || tree.check_not_dropped();
            let copied = self.copied_at(attempts, check, Some(leaf), || self.copy_outermost(&cursor, end, view))?;
            let Some(pair) = copied else { return Ok(None) };
            stamp = cursor.stamp.max(stamp);
            if let Some(pair) = pair.map_err(|payload| self.no_record(payload))? {
                return Ok(Some(Outermost { pair: Some(pair), leaf, passed, stamp }));
            }
            passed.push(leaf);
            match cursor.edge.take() {
                Some(next) => edge = Some(next),
                None => return Ok(Some(Outermost { pair: None, leaf, passed, stamp })),
            }
        }
    }

    /// Copies the first or the last visible pair of a leaf. On failure, names the payload that leads to no record.
    fn copy_outermost(
        &self,
        cursor: &LeafCursor<Records>,
        end: End,
        view: ReadView,
    ) -> Result<Option<(Slice, Slice)>, u64> {
        let mut slots = cursor.pairs.iter();
        let mut next = || match end {
            End::First => slots.next(),
            End::Last => slots.next_back(),
        };
        while let Some(slot) = next() {
            let pair = record::copy_pair(self.source(), slot.payload, view);
            if let Some(pair) = pair.map_err(|NoRecord| slot.payload)? {
                return Ok(Some(pair));
            }
        }
        Ok(None)
    }
}

impl WritableStore {
    /// Changes a key as `decide` says, which gets the key's value and deadline, and is called again if the key has
    /// others by then. Returns that value, and what `decide` has returned beside the change.
    pub(crate) fn update<V: AsRef<[u8]>, T>(
        &self,
        tree: &KeyspaceTree,
        key: &[u8],
        decide: impl FnMut(Option<&Slice>, Deadline) -> Result<(Decision<V>, T)>,
    ) -> Result<(Option<Slice>, T)> {
        limit(key, &[])?;
        let key = SearchKey::new(key);
        let before = self.before(tree, key, tree.view(&self.wall_clock))?;
        self.update_from(tree, key, before, decide)
    }

    /// As [`WritableStore::update`], of a key that was read just now.
    pub(crate) fn update_from<V: AsRef<[u8]>, T>(
        &self,
        tree: &KeyspaceTree,
        key: SearchKey<'_>,
        mut before: Before,
        mut decide: impl FnMut(Option<&Slice>, Deadline) -> Result<(Decision<V>, T)>,
    ) -> Result<(Option<Slice>, T)> {
        let mut attempt = 0;
        let read = || self.before(tree, key, tree.view(&self.wall_clock));
        let (mut change, mut answer) = decide(before.value.as_ref(), before.deadline)?;
        while !self.change(tree, key, &change, &before)? {
            back_off(&mut attempt);
            let now = read()?;
            // Decide again only about another value. A closure that writes to a neighbouring key would otherwise
            // disturb its own update each time.
            if (&now.value, now.deadline) != (&before.value, before.deadline) {
                (change, answer) = decide(now.value.as_ref(), now.deadline)?;
            }
            before = now;
        }
        Ok((before.value, answer))
    }

    /// Applies a change if the leaf is as it was. Returns whether it was.
    fn change<V: AsRef<[u8]>>(
        &self,
        tree: &KeyspaceTree,
        search_key: SearchKey<'_>,
        change: &Decision<V>,
        before: &Before,
    ) -> Result<bool> {
        // A key must not come back to life: another thread may have missed it once its time was over. The last look at
        // the time is under the latch, so a reader of the leaf as it was has an earlier time.
        let lives = || !before.deadline.is_over(self.wall_clock.now());
        let revives = matches!(change, Decision::PutUntil(..)) && before.deadline != Deadline::NEVER;
        let holds: Option<&dyn Fn() -> bool> = if revives { Some(&lives) } else { None };
        let seen = Seen { leaf: before.leaf, others: &[], holds };
        let (operation, done) = match change {
            Decision::Remove if before.value.is_some() => {
                let mut operation = Operation::begin(self)?;
                tree.check_not_dropped()?;
                let done = operation.remove_seen(tree, search_key, seen)?;
                (operation, done)
            }
            Decision::Keep | Decision::Remove => {
                self.wait_stable(before.stamp)?;
                return Ok(true);
            }
            Decision::Put(value) | Decision::PutUntil(value, _) => {
                let deadline = if let Decision::PutUntil(_, deadline) = change { *deadline } else { before.deadline };
                let value = value.as_ref();
                let key = search_key.bytes;
                limit(key, value)?;
                let mut operation = Operation::begin_to_write(self, key, value)?;
                tree.check_not_dropped()?;
                let payload = write_record(&operation, key, tree.format.stored(value, deadline))?;
                let done = operation.put_seen(tree, search_key, payload, seen)?;
                (operation, done)
            }
        };
        if done {
            operation.finish()?;
        }
        Ok(done)
    }

    /// Removes the first or the last pair, and returns it; `None` if the keyspace is empty.
    pub(crate) fn pop(&self, tree: &KeyspaceTree, end: End) -> Result<Option<(Slice, Slice)>> {
        let (mut attempt, mut attempts) = (0, Attempts::default());
        loop {
            if let Some(Outermost { pair, leaf, passed, stamp }) = self.outermost(&mut attempts, tree, end)? {
                let Some((key, value)) = pair else {
                    // Each leaf was empty when it was read and is so now. So all were empty at once, in between.
                    if passed.iter().all(|leaf| self.index.validate(*leaf)) {
                        self.wait_stable(stamp)?;
                        return Ok(None);
                    }
                    back_off(&mut attempt);
                    continue;
                };
                let mut operation = Operation::begin(self)?;
                tree.check_not_dropped()?;
                let seen = Seen { leaf, others: &passed, holds: None };
                if operation.remove_seen(tree, SearchKey::new(&key), seen)? {
                    operation.finish()?;
                    return Ok(Some((key, value)));
                }
            }
            back_off(&mut attempt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, KeyspaceOptions, Sweep};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    use std::time::{Duration, UNIX_EPOCH};

    /// A key expired between the look at it and its new deadline, and came back to life, although another thread could
    /// have missed it.
    #[test]
    fn a_key_that_expires_before_it_gets_a_deadline_stays_absent() {
        let folder = tempfile::tempdir().unwrap();
        let hands = Arc::new(AtomicU64::new(1_000));
        let time = hands.clone();
        let builder = Database::builder().sweep(Sweep::Manual);
        let builder = builder.time_source(Arc::new(move || UNIX_EPOCH + Duration::from_millis(time.load(SeqCst))));
        let db = builder.open(folder.path()).unwrap();
        let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).unwrap();
        for (over, deadline) in [(2_000, Deadline::NEVER), (3_000, Deadline::after(9_000, Duration::ZERO))] {
            tides.insert_until("north", "high", UNIX_EPOCH + Duration::from_millis(over)).unwrap();
            let mut looks = Vec::new();
            let decide = |current: Option<&Slice>, _| {
                looks.push(current.is_some());
                hands.store(over, SeqCst);
                Ok((current.map_or(Decision::Keep, |value| Decision::PutUntil(value.clone(), deadline)), ()))
            };
            let found = tides.store().update(tides.tree(), b"north", decide).unwrap().0;
            assert_eq!((found, looks), (None, vec![true, false]));
            assert_eq!(tides.get("north").unwrap(), None);
        }
    }
}
