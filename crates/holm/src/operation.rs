//! A write operation: its epoch, its changes and its acknowledgement.
//!
//! Only this file fixes the order: pin an epoch, change leaves, unpin, and then wait until that epoch is durable. An
//! operation that waited while pinned would wait for itself.

use crate::durability::Durability;
use crate::error::Result;
use crate::expiry::{StoredValue, ValueFormat};
use crate::keys::{Records, SearchKey};
use crate::keyspace_tree::KeyspaceTree;
use crate::record;
use crate::store::WritableStore;
use holm_medium::{Epoch, Guard, Hold, MediumError, Persistence, RecordRun};
use holm_tree::leaf::KeyRange;
use holm_tree::{
    CommitObserver, CommitRequest, Committed, Conditional, LeafVersion, ManyPuts, PutRecord, RangeRemoval, Reuse, Seen,
    Superseded, TreeRoot, TreeWrite,
};

/// A write operation in progress. Dropping it unpins the epoch; [`Operation::finish`] also acknowledges it.
#[must_use = "only `finish` waits for what the mode promises"]
pub(crate) struct Operation<'a, H = ()> {
    store: &'a WritableStore,
    /// Fields are dropped in order, so the operation unpins before it releases the hold.
    guard: Guard<'a>,
    hold: H,
}

impl<'a> Operation<'a> {
    /// Begins an operation that writes no record.
    ///
    /// # Errors
    /// The database is closed, poisoned or full.
    #[inline]
    pub(crate) fn begin(store: &'a WritableStore) -> Result<Self> {
        Ok(Operation { store, guard: store.clock().pin()?, hold: () })
    }

    /// Begins an operation that writes a record. Waits while the disk cannot keep up (backpressure).
    ///
    /// # Errors
    /// As [`Operation::begin`].
    #[inline]
    pub(crate) fn begin_to_write(store: &'a WritableStore, key: &[u8], value: &[u8]) -> Result<Self> {
        Self::begin_with_bytes(store, (key.len() + value.len()) as u64)
    }

    /// Begins an operation that writes this many bytes besides a leaf.
    ///
    /// # Errors
    /// As [`Operation::begin`].
    #[inline]
    pub(crate) fn begin_with_bytes(store: &'a WritableStore, bytes: u64) -> Result<Self> {
        Ok(Operation { store, guard: store.clock().pin_with_bytes(bytes)?, hold: () })
    }
}

impl<'a> Operation<'a, Hold<'a>> {
    /// Begins an operation whose epoch cannot end before it does.
    ///
    /// # Errors
    /// As [`Operation::begin`].
    pub(crate) fn begin_held(store: &'a WritableStore, bytes: u64, operations: u64) -> Result<Self> {
        let hold = store.clock().hold(bytes, operations)?;
        Ok(Operation { store, guard: hold.pin()?, hold })
    }

    /// The same for an operation that writes nothing. It does not wait while writers are throttled.
    ///
    /// # Errors
    /// `Poisoned`.
    pub(crate) fn begin_held_to_read(store: &'a WritableStore) -> Result<Self> {
        let hold = store.clock().hold_to_read();
        Ok(Operation { store, guard: hold.pin()?, hold })
    }
}

impl WritableStore {
    /// Frees the space of a payload's record from an epoch on. That of a record in a leaf block belongs to the block.
    pub(crate) fn retire(&self, epoch: Epoch, payload: u64) {
        if let Some((offset, words)) = record::extent(payload) {
            self.storage.space().retire_record(epoch, offset, words);
        }
    }

    /// Frees the record of a payload that has given way in an epoch.
    fn free_superseded(&self, epoch: Epoch, old: Superseded) {
        let Some((offset, words)) = record::extent(old.payload) else { return };
        match old.reuse {
            Reuse::AtOnce => self.storage.space().free_record(offset, words),
            Reuse::AfterGrace => self.storage.space().retire_record(epoch, offset, words),
            // The end of the last snapshot that needs it frees it.
            Reuse::WithSnapshots => {}
        }
    }
}

impl<H> Operation<'_, H> {
    /// Returns the operation's epoch, its label.
    #[inline]
    pub(crate) fn epoch(&self) -> Epoch {
        self.guard.epoch()
    }

    pub(crate) fn guard(&self) -> &Guard<'_> {
        &self.guard
    }

    /// Writes a record that no leaf leads to yet, and returns its payload.
    #[inline]
    pub(crate) fn write_record(&self, key: &[u8], value: StoredValue<'_>, buffer: &mut Vec<u64>) -> Result<u64> {
        record::encode(key, value, buffer);
        self.write_words(buffer)
    }

    /// The same of the words of a whole record.
    #[inline]
    fn write_words(&self, words: &[u64]) -> Result<u64> {
        let offset = self.store.storage.write_record(&self.guard, words, self.store.persistence)?;
        Ok(record::payload(offset, words.len()))
    }

    /// Writes the words of a whole record into free space that ends below an offset, and returns its payload; `None`
    /// if there is none.
    pub(crate) fn write_words_below(&self, words: &[u64], limit: u64) -> Option<u64> {
        let offset = self.store.storage.write_record_below(&self.guard, words, self.store.persistence, limit)?;
        Some(record::payload(offset, words.len()))
    }

    /// The same into the next words of a run; `None` if it has too few.
    pub(crate) fn write_words_in(&self, words: &[u64], run: &mut RecordRun) -> Option<u64> {
        let offset = self.store.storage.write_record_in(&self.guard, words, self.store.persistence, run)?;
        Some(record::payload(offset, words.len()))
    }

    /// The same into a run of its own, which is cut off a piece.
    pub(crate) fn write_words_beside(&self, words: &[u64], piece: &mut RecordRun) -> Result<u64> {
        let mut run = self.store.storage.cut_run(piece, words.len() as u64 * 8)?;
        let written = self.write_words_in(words, &mut run);
        Ok(written.expect("the run is as long as the record"))
    }

    /// Writes a record that has a key only, and that no leaf will lead to. It survives the death of the process, and no
    /// more.
    pub(crate) fn write_key(&self, key: &[u8], buffer: &mut Vec<u64>) -> Result<u64> {
        record::encode(key, StoredValue::verbatim(&[]), buffer);
        let offset = self.store.storage.write_record(&self.guard, buffer, Persistence::ProcessOnly)?;
        Ok(record::payload(offset, buffer.len()))
    }

    /// Applies several writes at one instant, if what they depend on is unchanged, and retires the records that they
    /// replace. Returns whether it was.
    pub(crate) fn commit(
        &mut self,
        reads: &[LeafVersion],
        writes: &[TreeWrite<'_, Records>],
        observer: &mut dyn CommitObserver,
    ) -> Result<bool, MediumError> {
        let request = CommitRequest { reads, writes, observer };
        match self.store.index.commit(&mut self.guard, request)? {
            Committed::Done(replaced) => {
                replaced.into_iter().for_each(|old| self.free_old(old));
                Ok(true)
            }
            Committed::Conflict => Ok(false),
        }
    }

    /// Frees a record that no leaf has ever led to.
    pub(crate) fn free_record(&self, payload: u64) {
        if let Some((offset, words)) = record::extent(payload) {
            self.store.storage.space().free_record(offset, words);
        }
    }

    fn free_old(&self, old: Superseded) {
        self.store.free_superseded(self.epoch(), old);
    }

    /// Puts a record under its key and retires the record that it replaces.
    pub(crate) fn put(&mut self, tree: &KeyspaceTree, key: &[u8], payload: u64) -> Result<()> {
        let old = self.store.index.put(&tree.root, &mut self.guard, SearchKey::new(key), payload);
        let old = old.inspect_err(|_| self.free_record(payload)).map_err(|error| tree.explain(error))?;
        old.into_iter().for_each(|old| self.free_old(old));
        Ok(())
    }

    /// Writes a record and puts it under its key, in its leaf's own block if that has room, and retires the record that
    /// it replaces.
    #[inline]
    pub(crate) fn insert(
        &mut self,
        tree: &KeyspaceTree,
        key: &[u8],
        value: StoredValue<'_>,
        buffer: &mut Vec<u64>,
    ) -> Result<()> {
        record::encode(key, value, buffer);
        if buffer.len() <= self.store.longest_in_leaf && self.put_in_leaf(tree, key, buffer)? {
            return Ok(());
        }
        let payload = self.write_words(buffer)?;
        self.put(tree, key, payload)
    }

    /// Puts the words of a record into the leaf of its key. Returns whether the leaf had room.
    fn put_in_leaf(&mut self, tree: &KeyspaceTree, key: &[u8], words: &[u64]) -> Result<bool> {
        match self.store.index.put_record(&tree.root, &mut self.guard, SearchKey::new(key), words) {
            Ok(PutRecord::Put(old)) => {
                old.into_iter().for_each(|old| self.free_old(old));
                Ok(true)
            }
            Ok(PutRecord::NoRoom) => Ok(false),
            Err(error) => Err(tree.explain(error)),
        }
    }

    /// Moves the leaf that has a key to a free block below a number. Returns whether it did.
    pub(crate) fn move_leaf(&mut self, tree: &KeyspaceTree, key: &[u8], limit: u32) -> Result<bool> {
        let moved = self.store.index.move_leaf(&tree.root, &mut self.guard, SearchKey::new(key), limit);
        moved.map_err(|error| tree.explain(error))
    }

    /// Puts records under their keys, in order, and retires those that they replace. On an error, the puts before it
    /// have taken effect, and the other records are freed.
    pub(crate) fn put_many(
        &mut self,
        tree: &KeyspaceTree,
        search_keys: &[SearchKey<'_>],
        payloads: &[u64],
    ) -> Result<()> {
        let (store, mut count) = (self.store, 0);
        let mut done = |epoch, old: Option<Superseded>| {
            old.into_iter().for_each(|old| store.free_superseded(epoch, old));
            count += 1;
        };
        let puts = ManyPuts { search_keys, payloads, done: &mut done };
        let put = store.index.put_many(&tree.root, &mut self.guard, puts);
        put.inspect_err(|_| payloads[count..].iter().for_each(|payload| self.free_record(*payload)))
            .map_err(|error| tree.explain(error))
    }

    /// Removes a key and retires its record. Returns whether the key was present: an expired one was not.
    pub(crate) fn remove(&mut self, tree: &KeyspaceTree, key: &[u8]) -> Result<bool> {
        let view = tree.view(&self.store.wall_clock);
        let old = self.store.index.remove(&tree.root, &mut self.guard, SearchKey::new(key));
        let Some(old) = old.map_err(|error| tree.explain(error))? else { return Ok(false) };
        // Before its space is free. A damaged deadline is no reason to call the key absent.
        let was_present = || record::deadline(self.store.storage.image(), old.payload).map_or(true, |d| view.shows(d));
        let was_present = tree.format == ValueFormat::Plain || was_present();
        self.free_old(old);
        Ok(was_present)
    }

    /// Removes a part of a range from its low end on, and retires the records. Returns how many, and where the rest of
    /// the range begins; `None` if nothing is left of it.
    pub(crate) fn remove_part(
        &mut self,
        tree: &KeyspaceTree,
        range: KeyRange<'_, Vec<u8>>,
        most_leaves: usize,
    ) -> Result<(u64, Option<Vec<u8>>)> {
        let (store, mut count) = (self.store, 0);
        let mut removed = |epoch, old| {
            store.free_superseded(epoch, old);
            count += 1;
        };
        let request = RangeRemoval { range, most_leaves, removed: &mut removed };
        let next = store.index.remove_range(&tree.root, &mut self.guard, request);
        let next = next.map_err(|error| tree.explain(error))?;
        Ok((count, next))
    }

    /// Puts a record under its key if the leaf is as it was seen. Returns whether it was; if not, the record is freed.
    pub(crate) fn put_seen(
        &mut self,
        tree: &KeyspaceTree,
        key: SearchKey<'_>,
        payload: u64,
        seen: Seen<'_>,
    ) -> Result<bool> {
        let done = self.store.index.put_if_unchanged(&tree.root, &mut self.guard, seen, key, payload);
        let done = done.inspect_err(|_| self.free_record(payload)).map_err(|error| tree.explain(error))?;
        if done == Conditional::Conflict {
            self.free_record(payload);
        }
        Ok(self.free_if_done(done))
    }

    /// Removes a key and retires its record, if the leaf is as it was seen. Returns whether it was.
    pub(crate) fn remove_seen(&mut self, tree: &KeyspaceTree, key: SearchKey<'_>, seen: Seen<'_>) -> Result<bool> {
        let done = self.store.index.remove_if_unchanged(&tree.root, &mut self.guard, seen, key);
        let done = done.map_err(|error| tree.explain(error))?;
        Ok(self.free_if_done(done))
    }

    fn free_if_done(&self, done: Conditional) -> bool {
        match done {
            Conditional::Done(old) => {
                old.into_iter().for_each(|old| self.free_old(old));
                true
            }
            Conditional::Conflict => false,
        }
    }

    /// Creates an empty tree.
    pub(crate) fn create_tree(&mut self, number: u32) -> Result<TreeRoot> {
        Ok(self.store.index.create_tree(&mut self.guard, number)?)
    }

    /// Frees a tree with all its leaves and records.
    pub(crate) fn drop_tree(&mut self, root: &TreeRoot) -> Result<()> {
        let mut freed = Vec::new();
        self.store.index.drop_tree(root, &mut self.guard, &mut |payload| freed.push(payload))?;
        freed.into_iter().for_each(|payload| self.store.retire(self.epoch(), payload));
        Ok(())
    }

    /// Unpins the epoch, then waits for what the mode promises of an operation that returned.
    ///
    /// # Errors
    /// The failure that keeps the epoch from becoming durable.
    #[inline]
    pub(crate) fn finish(self) -> Result<()> {
        if self.guard.has_snapshots() {
            return self.finish_beside_snapshots();
        }
        if self.store.durability == Durability::Strict {
            return self.finish_durably();
        }
        Ok(())
    }

    /// Unpins the epoch and waits for nothing: a later operation of the same call waits for this one, too.
    pub(crate) fn pause(self) {
        let (store, has_snapshots) = (self.store, self.guard.has_snapshots());
        drop(self);
        if has_snapshots {
            store.limit_snapshots();
        }
    }

    /// Finishes while a snapshot is open: ends the oldest one if all of them together keep too much.
    #[cold]
    #[inline(never)]
    fn finish_beside_snapshots(self) -> Result<()> {
        let store = self.store;
        let finished = match store.durability {
            Durability::Strict => self.finish_durably(),
            Durability::Buffered { .. } | Durability::OnSync => {
                drop(self);
                Ok(())
            }
        };
        store.limit_snapshots();
        finished
    }

    /// Finishes without waiting for durability, whatever the mode: the caller ends with an operation that does, or no
    /// caller can observe the change.
    pub(crate) fn finish_later(self) {
        let (store, beside_snapshots) = (self.store, self.guard.has_snapshots());
        drop(self);
        if beside_snapshots {
            store.limit_snapshots();
        }
    }

    /// Finishes durably in every mode: when this returns, the operation and all before it survive a power cut.
    ///
    /// # Errors
    /// As [`Operation::finish`].
    pub(crate) fn finish_durably(self) -> Result<()> {
        let Operation { store, guard, hold } = self;
        let label = guard.epoch();
        drop(guard);
        drop(hold);
        Ok(store.clock().wait_durable(label)?)
    }
}
