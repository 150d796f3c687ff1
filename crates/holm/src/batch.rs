//! Batches: atomic in a crash, not isolated. After any crash, either all operations of a batch are present or none is.
//! The engine applies one batch at a time; a reader may see some operations of a batch before the others.
//!
//! Against power loss, atomicity costs nothing: the batch holds the clock, so all its operations carry one epoch. The
//! death of the process alone keeps every store, a half-applied batch included. Against that, the batch first writes an
//! intent: its operations, and a progress word that counts the operations that are done.
//!
//! Each operation advances the progress word under the latch of its own leaf. The next open does the operations that
//! the word does not count. If the word were advanced after the latch is released, another writer could overwrite the
//! key and acknowledge its write in between. The next open would then apply the batch's operation a second time, over
//! that write.

mod codec;
mod intent;

pub(crate) use intent::{Pending, forget, is_pending, pending, redo};

use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::keyspace::{Keyspace, limit};
use crate::keyspace_tree::KeyspaceTree;
use crate::operation::Operation;
use crate::store::Store;
use codec::Write;
use holm_medium::{Hold, MediumError};
use holm_tree::BatchProgress;
use intent::Intent;
use std::sync::{Arc, Mutex};

/// The most bytes of one batch. A batch must fit one epoch record, together with all other writes of that epoch.
const MAX_BATCH: u64 = 64 << 20;

/// The bytes that an operation counts beside its key and value: a million removals may dirty a million leaves.
const OPERATION: u64 = 64;

/// A leaf of any design takes more pairs than this between two splits.
const LEAST_FILL: u64 = 4;

/// One operation of a batch.
struct Entry {
    tree: Arc<KeyspaceTree>,
    key: Vec<u8>,
    /// `None` means remove.
    value: Option<Vec<u8>>,
}

impl Entry {
    fn as_write(&self) -> Write<&[u8], &[u8]> {
        Write { keyspace: self.tree.root.keyspace(), key: &self.key, value: self.value.as_deref() }
    }
}

/// A set of writes to keyspaces of one database. A crash leaves all of them done or none: [`Database::batch`].
///
/// The database applies one batch at a time. Of two batches that write the same keys, the later one overwrites the
/// earlier. A batch is not isolated from readers and single writes: they may see some of its writes before the others.
/// A batch has at most 64 MiB of keys and values; each write counts 64 bytes more. The batch keeps copies of keys and
/// values until it is committed.
///
/// [`Batch::insert`] and [`Batch::remove`] take the batch and return it, for chains. In a loop, assign what they
/// return:
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let (reefs, count) = (db.keyspace("reefs")?, db.keyspace("count")?);
/// let mut batch = db.batch();
/// for name in ["north", "south", "east"] {
///     batch = batch.insert(&reefs, name, "coral");
/// }
/// batch.insert(&count, "reefs", "3").commit()?;
/// assert_eq!(count.get("reefs")?.as_deref(), Some(&b"3"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`Database::batch`]: crate::Database::batch
#[must_use = "a batch does nothing until it is committed"]
pub struct Batch {
    engine: Arc<Engine>,
    operations: Vec<Entry>,
    bytes: u64,
    refused: Option<Error>,
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("operations", &self.operations.len()).field("bytes", &self.bytes).finish()
    }
}

impl Batch {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Batch { engine, operations: Vec::new(), bytes: 0, refused: None }
    }

    fn push(mut self, keyspace: &Keyspace, key: &[u8], value: Option<&[u8]>) -> Self {
        if let Err(error) = limit(key, value.unwrap_or_default()) {
            self.refused.get_or_insert(error);
        }
        if !Arc::ptr_eq(keyspace.engine(), &self.engine) {
            let what = format!("the keyspace {:?} belongs to another database than the batch", keyspace.name());
            self.refused.get_or_insert(Error::Invalid { what });
        }
        self.bytes += (key.len() + value.map_or(0, <[u8]>::len)) as u64 + OPERATION;
        self.operations.push(Entry { tree: keyspace.tree().clone(), key: key.into(), value: value.map(Vec::from) });
        self
    }

    /// Adds a write that stores a value under a key, after the writes added before. An invalid write, such as one with
    /// a key over the limit, makes [`Batch::commit`] fail.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// let batch = db.batch().insert(&reefs, "north", "coral").insert(&reefs, "north", "sand");
    /// batch.commit()?;
    /// assert_eq!(reefs.get("north")?.as_deref(), Some(&b"sand"[..])); // in the order in which they were added
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert(self, keyspace: &Keyspace, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.push(keyspace, key.as_ref(), Some(value.as_ref()))
    }

    /// Adds a write that removes a key if it is present, after the writes added before.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// db.batch().remove(&reefs, "north").remove(&reefs, "south").commit()?; // no matter that "south" is absent
    /// assert!(reefs.is_empty()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Self {
        self.push(keyspace, key.as_ref(), None)
    }

    /// Returns the number of writes added so far.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// let batch = db.batch();
    /// assert!(batch.is_empty());
    /// assert_eq!(batch.insert(&reefs, "north", "coral").remove(&reefs, "south").len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Returns whether the batch has no write. Committing an empty batch does nothing.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Applies all writes, in order. Returns when they are as durable as the database's
    /// [`Durability`](crate::Durability) promises. Other writers wait meanwhile. O(n log m) for n writes and m pairs.
    ///
    /// # Errors
    /// Every error except `Poisoned` means that nothing was applied. One exception: in
    /// [`Strict`](crate::Durability::Strict), `NoSpace` may also follow a batch that is applied; it becomes durable
    /// once the disk has space.
    /// - [`TooLarge`](Error::TooLarge): a write or the whole batch exceeds its limit.
    /// - [`Invalid`](Error::Invalid): a keyspace belongs to another database.
    /// - [`Dropped`](Error::Dropped): a keyspace was dropped.
    /// - [`Capacity`](Error::Capacity), [`NoSpace`](Error::NoSpace): the batch does not fit.
    /// - [`Poisoned`](Error::Poisoned): the next open applies all of the batch or nothing.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// use holm::Error;
    /// let long = [0; holm::MAX_KEY + 1];
    /// let refused = db.batch().insert(&reefs, "north", "coral").insert(&reefs, long, "").commit();
    /// assert!(matches!(refused, Err(Error::TooLarge { .. })));
    /// assert!(reefs.is_empty()?); // nothing was applied
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(self) -> Result<()> {
        if let Some(error) = self.refused {
            return Err(error);
        }
        if self.bytes > MAX_BATCH {
            return Err(Error::TooLarge { what: "a batch", found: self.bytes, limit: MAX_BATCH });
        }
        if self.operations.is_empty() {
            return Ok(());
        }
        let engine = &*self.engine;
        let store = &engine.store;
        let mut operation = Operation::begin_batch(store, self.bytes, self.operations.len() as u64)?;
        self.operations.iter().try_for_each(|entry| entry.tree.check_not_dropped())?;
        // Writes all records and reserves room for all splits first, so that lack of space shows before anything is
        // applied.
        let payloads = write_records(&operation, &self.operations)?;
        let blocks = most_blocks(store, self.operations.len() as u64);
        let ready = store.storage.reserve_blocks(operation.guard(), blocks).map_err(Error::from);
        let writes = self.operations.iter().map(Entry::as_write);
        let ready = ready.and_then(|reserved| Ok((reserved, Intent::write(store, operation.guard(), writes)?)));
        let (reserved, intent) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                payloads.into_iter().flatten().for_each(|payload| operation.free_record(payload));
                return Err(error);
            }
        };
        apply(engine, &mut operation, intent, self.operations.iter().zip(payloads))?;
        drop(reserved);
        operation.finish()
    }
}

/// Applies the operations of a batch whose records are written. Waits for the batches before it.
fn apply<'a>(
    engine: &Engine,
    operation: &mut Operation<'_, Hold<'_>>,
    intent: Intent,
    entries: impl Iterator<Item = (&'a Entry, Option<u64>)>,
) -> Result<()> {
    // A batch takes its turn after the hold, never before. A batch that waits for the hold, behind the end of an epoch,
    // must not own a turn that another batch waits for. Single writes take no turn.
    let _turn = engine.batches.lock().map_err(|_| cut_short(engine, "a thread that applied one has panicked"))?;
    if let Some(error) = engine.store.clock().poisoned() {
        // The intent of the batch that failed midway must stay in place.
        return Err(error.clone().into());
    }
    intent.set(&engine.store, operation.guard());
    for (done, (entry, payload)) in entries.enumerate() {
        let progress = Some(BatchProgress { word: intent.progress(), value: done as u64 + 1 });
        let result = match payload {
            Some(payload) => operation.put(&entry.tree, &entry.key, payload, progress),
            None => operation.remove(&entry.tree, &entry.key, progress).map(drop),
        };
        // The batch is half applied and cannot be rolled back. The database must neither acknowledge a write on top of
        // it nor log its epoch. The intent stays, and the next open applies the rest.
        result.map_err(|error| cut_short(engine, &error.to_string()))?;
    }
    intent.clear(&engine.store, operation.guard());
    Ok(())
}

/// Poisons the database, whose last batch is half applied.
fn cut_short(engine: &Engine, why: &str) -> Error {
    let why = format!("a batch was cut short: {why}");
    engine.store.clock().poison(&MediumError::Poisoned { why: why.clone() });
    Error::Poisoned { reason: why }
}

/// The most leaf blocks that `operations` operations may need. Each split takes two blocks and frees none in the same
/// epoch. Only a leaf that existed before, or that filled up after the split that made it, is split.
fn most_blocks(store: &Store, operations: u64) -> u64 {
    let space = store.storage.space();
    let leaves = u64::from(space.block_frontier()).saturating_sub(space.free_blocks());
    2 * operations.min(leaves + operations / LEAST_FILL) + 2
}

fn write_records(operation: &Operation<'_, Hold<'_>>, entries: &[Entry]) -> Result<Vec<Option<u64>>> {
    let mut payloads = Vec::with_capacity(entries.len());
    let mut buffer = Vec::new();
    for entry in entries {
        let written = entry.value.as_ref().map(|value| operation.write_record(&entry.key, value, &mut buffer));
        match written.transpose() {
            Ok(payload) => payloads.push(payload),
            Err(error) => {
                payloads.into_iter().flatten().for_each(|payload| operation.free_record(payload));
                return Err(error);
            }
        }
    }
    Ok(payloads)
}

/// The right to apply a batch and to use its intent word. At most one batch of a database has it.
pub(crate) type Turn = Mutex<()>;

/// Leaves a batch as the death of the process leaves it: its intent is set, and no operation is done.
#[cfg(test)]
pub(crate) fn write_down_for_a_test(batch: &Batch) {
    let store = &batch.engine.store;
    let operation = Operation::begin(store).unwrap();
    let intent = Intent::write(store, operation.guard(), batch.operations.iter().map(Entry::as_write)).unwrap();
    intent.set(store, operation.guard());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::intent::slot_loc;
    use crate::{Database, Durability, RecoveredFrom};
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    fn open(path: &Path) -> Result<Database> {
        // An epoch ends only when a caller waits for it.
        let durability = Durability::Buffered { interval: Duration::from_secs(3_600) };
        Database::builder().capacity(1 << 30).durability(durability).open(path)
    }

    /// The state after a batch that failed midway: its epoch is never logged, and the database is not marked as closed,
    /// so that the next open applies the rest.
    #[test]
    fn an_epoch_with_half_a_batch_is_neither_logged_nor_closed() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        let db = open(&one).unwrap();
        let space = db.keyspace("default").unwrap();
        space.insert("before", "whole").unwrap();
        db.sync().unwrap();
        space.insert("half", "of it").unwrap();
        db.engine.store.clock().poison(&MediumError::Poisoned { why: "a batch was cut short".into() });
        let refused = db.sync();
        assert!(matches!(refused, Err(Error::Poisoned { .. })), "{refused:?}");
        let closed = db.close();
        assert!(matches!(closed, Err(Error::Poisoned { .. })), "{closed:?}");
        drop(space);
        fs::create_dir(&two).unwrap();
        for entry in fs::read_dir(&one).unwrap().map(|entry| entry.unwrap()) {
            fs::copy(entry.path(), two.join(entry.file_name())).unwrap();
        }
        for (path, kept) in [(one, true), (two, false)] {
            let db = open(&path).unwrap();
            assert_eq!(db.recovery().source == RecoveredFrom::PageCache, kept, "{:?}", db.recovery());
            let space = db.keyspace("default").unwrap();
            assert!(space.contains_key("before").unwrap());
            assert_eq!(space.contains_key("half").unwrap(), kept);
        }
    }

    #[test]
    fn whoever_only_looks_is_refused_while_a_batch_is_pending() {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path()).unwrap().close().unwrap();
        drop(Database::open_read_only(folder.path()).unwrap());
        let leaves = fs::OpenOptions::new().write(true).open(folder.path().join("leaves")).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&leaves, &[64], slot_loc(31)).unwrap();
        let looked = Database::open_read_only(folder.path()).map(drop);
        assert!(matches!(looked, Err(Error::NotClean { .. })), "{looked:?}");
    }
}
