//! Batches: writes that take effect together. A batch is a commit that depends on nothing it has read.

use crate::commit::{self, Unconditional, WRITE_BYTES, Write};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::expiry::Deadline;
use crate::keyspace::{Keyspace, limit};
use crate::keyspace_tree::KeyspaceTree;
use crate::mark;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// One operation of a batch.
struct Entry {
    tree: Arc<KeyspaceTree>,
    key: Vec<u8>,
    /// `None` means remove.
    value: Option<Vec<u8>>,
    /// When it expires.
    deadline: Deadline,
}

impl Entry {
    fn as_write(&self) -> Write<'_> {
        let value = self.value.as_deref().map(|value| self.tree.format.stored(value, self.deadline));
        Write { tree: &self.tree, key: &self.key, value, seen: None }
    }

    /// The order in which commits write.
    fn place(&self) -> (u32, &[u8]) {
        (self.tree.root.keyspace(), &self.key)
    }
}

/// A set of writes to keyspaces of one database that take effect at one instant: [`Database::batch`].
///
/// Every reader sees all of a batch or nothing of it, and a crash leaves all or nothing. Batches of several threads
/// are applied one after the other where they write to the same leaves, and at the same time elsewhere. Of two writes
/// to the same key in one batch, the later one counts. To make writes depend on what was read, use
/// [`Database::transact`](crate::Database::transact).
///
/// A batch has at most 64 MiB of keys and values; each write counts 64 bytes more. It keeps copies of keys and values
/// until it is committed. While a batch is applied, readers and writers of the same leaves wait: less than a
/// microsecond for a few writes, and about a millisecond for some thousand.
///
/// [`Batch::insert`], [`Batch::remove`] and their kin take the batch and return it, for chains. [`Batch::push_insert`]
/// and [`Batch::push_remove`] add to a batch that stays where it is, for loops and for batches in structs:
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let (reefs, count) = (db.keyspace("reefs")?, db.keyspace("count")?);
/// let mut batch = db.batch();
/// for name in ["north", "south", "east"] {
///     batch.push_insert(&reefs, name, "coral");
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
    mark: Option<u64>,
    refused: Option<Error>,
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("operations", &self.operations.len()).field("bytes", &self.bytes).finish()
    }
}

impl Batch {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Batch { engine, operations: Vec::new(), bytes: 0, mark: None, refused: None }
    }

    fn push(&mut self, keyspace: &Keyspace, key: &[u8], value: Option<&[u8]>, deadline: Deadline) -> &mut Self {
        if let Err(error) = limit(key, value.unwrap_or_default()) {
            self.refused.get_or_insert(error);
        }
        if !Arc::ptr_eq(keyspace.engine(), &self.engine) {
            let what = format!("the keyspace {:?} belongs to another database than the batch", keyspace.name());
            self.refused.get_or_insert(Error::Invalid { what });
        }
        self.bytes += (key.len() + value.map_or(0, <[u8]>::len)) as u64 + WRITE_BYTES;
        let (tree, key, value) = (keyspace.tree().clone(), key.into(), value.map(Vec::from));
        self.operations.push(Entry { tree, key, value, deadline });
        self
    }

    /// Adds a write that stores a value with a deadline.
    fn push_until(mut self, keyspace: &Keyspace, key: &[u8], value: &[u8], deadline: Deadline) -> Self {
        if let Err(error) = keyspace.tree().check_expires() {
            self.refused.get_or_insert(error);
        }
        self.push(keyspace, key, Some(value), deadline);
        self
    }

    /// As [`Batch::insert`], for a batch that stays where it is. Returns it, for further writes.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// fn note(batch: &mut holm::Batch, reefs: &holm::Keyspace, name: &str) {
    ///     batch.push_insert(reefs, name, "coral").push_remove(reefs, "unknown");
    /// }
    /// let mut batch = db.batch();
    /// ["north", "south"].iter().for_each(|name| note(&mut batch, &reefs, name));
    /// batch.commit()?;
    /// assert_eq!(reefs.len()?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_insert(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> &mut Self {
        self.push(keyspace, key.as_ref(), Some(value.as_ref()), Deadline::NEVER)
    }

    /// As [`Batch::remove`], for a batch that stays where it is: see [`Batch::push_insert`].
    pub fn push_remove(&mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> &mut Self {
        self.push(keyspace, key.as_ref(), None, Deadline::NEVER)
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
    pub fn insert(mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.push_insert(keyspace, key, value);
        self
    }

    /// Adds a write that stores a value that expires, as [`Keyspace::insert_for`]. The lifetime counts from this call
    /// on. In a keyspace without expiry, [`Batch::commit`] fails.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::KeyspaceOptions;
    /// use std::time::Duration;
    /// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    /// db.batch().insert_for(&tides, "north", "high", Duration::from_secs(3600)).commit()?;
    /// assert!(tides.contains_key("north")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_for(
        self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        lifetime: Duration,
    ) -> Self {
        let deadline = Deadline::after(self.engine.store.wall_clock.now(), lifetime);
        self.push_until(keyspace, key.as_ref(), value.as_ref(), deadline)
    }

    /// As [`Batch::insert_for`], until a time.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::KeyspaceOptions;
    /// use std::time::{Duration, SystemTime};
    /// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    /// let tomorrow = SystemTime::now() + Duration::from_secs(86_400);
    /// db.batch().insert_until(&tides, "north", "high", tomorrow).commit()?;
    /// assert!(tides.contains_key("north")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_until(
        self,
        keyspace: &Keyspace,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        time: SystemTime,
    ) -> Self {
        self.push_until(keyspace, key.as_ref(), value.as_ref(), Deadline::at(time))
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
    pub fn remove(mut self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Self {
        self.push_remove(keyspace, key);
        self
    }

    /// Sets the database's mark with the batch: see [`Database::mark`](crate::Database::mark). The last of several
    /// counts.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// db.batch().insert(&reefs, "north", "coral").set_mark(17).commit()?;
    /// assert_eq!(db.mark()?, Some(17));
    /// let again = db.batch().insert(&reefs, "north", "sand").set_mark(17).commit();
    /// assert!(matches!(again, Err(holm::Error::Invalid { .. }))); // it was applied already
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_mark(mut self, mark: u64) -> Self {
        self.mark = Some(mark);
        self
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

    /// Returns whether the batch has no write. Committing an empty batch does nothing, except that it sets a mark.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Applies all writes at one instant. Returns when they are as durable as the database's
    /// [`Durability`](crate::Durability) promises. O(n log (n + m)) for n writes and m pairs.
    ///
    /// # Errors
    /// Every error except `Poisoned` means that nothing was applied. One exception: in
    /// [`Strict`](crate::Durability::Strict), `NoSpace` may also follow a batch that is applied; it becomes durable
    /// once the disk has space.
    /// - [`TooLarge`](Error::TooLarge): a write or the whole batch exceeds its limit.
    /// - [`Invalid`](Error::Invalid): a keyspace belongs to another database, the mark does not rise, or a value is to
    ///   expire in a keyspace without expiry.
    /// - [`Conflict`](Error::Conflict): other threads have set marks all the time.
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
        commit::check_size("a batch", self.bytes)?;
        // Stable, so of several writes to one key the last added comes last; it is the one that counts.
        let mut operations: Vec<_> = self.operations.iter().collect();
        operations.sort_by(|one, other| one.place().cmp(&other.place()));
        let next = operations.iter().skip(1).map(Some).chain([None]);
        let counts = |(entry, next): &(&&Entry, Option<&&Entry>)| next.is_none_or(|next| next.place() != entry.place());
        let writes: Vec<_> = operations.iter().zip(next).filter(counts).map(|(entry, _)| entry.as_write()).collect();
        let engine = &*self.engine;
        match self.mark {
            Some(mark) => mark::commit_with(&self.engine, mark, &writes),
            None if writes.is_empty() => Ok(()),
            None => commit::commit(&engine.store, &engine.intents, &writes, &mut Unconditional).map(drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intent::slot_loc;
    use crate::{Database, Durability, RecoveredFrom};
    use holm_medium::MediumError;
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
    fn a_read_only_open_is_refused_while_a_commit_is_pending() {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path()).unwrap().close().unwrap();
        drop(Database::open_read_only(folder.path()).unwrap());
        let leaves = fs::OpenOptions::new().write(true).open(folder.path().join("leaves")).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&leaves, &[64], slot_loc(31)).unwrap();
        let looked = Database::open_read_only(folder.path()).map(drop);
        assert!(matches!(looked, Err(Error::NotClean { .. })), "{looked:?}");
    }
}
