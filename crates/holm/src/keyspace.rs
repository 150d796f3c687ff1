//! One named, ordered map of a database.

use crate::engine::{Engine, Reader};
use crate::error::{Error, Result};
use crate::expiry::{Deadline, ValueFormat};
use crate::iter::Iter;
use crate::keyspace_options::KeyspaceOptions;
use crate::keyspace_tree::KeyspaceTree;
use crate::operation::Operation;
use crate::record;
use crate::record_buffer::with_buffer;
use crate::slice::Slice;
use crate::store::WritableStore;
use crate::{MAX_KEY, MAX_VALUE};
use std::ops::RangeBounds;
use std::sync::Arc;

/// A named, ordered map of a database: [`Database::keyspace`](crate::Database::keyspace).
///
/// Cloning is cheap and shares the map. Any number of threads may use it. A handle keeps the database locked.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let reefs = db.keyspace("reefs")?;
/// std::thread::scope(|scope| {
///     let writer = scope.spawn(|| reefs.insert("north", "coral"));
///     let reader = scope.spawn(|| reefs.get("north")); // `None` or `coral`, and nothing between
///     writer.join().unwrap().and(reader.join().unwrap())
/// })?;
/// assert!(reefs.contains_key("north")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Keyspace {
    /// The engine's, one step nearer. Dropped before the engine, which must be the last to have it.
    store: Arc<WritableStore>,
    engine: Arc<Engine>,
    tree: Arc<KeyspaceTree>,
}

impl std::fmt::Debug for Keyspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyspace").field("name", &self.tree.name).finish_non_exhaustive()
    }
}

/// Refuses a key or value over its limit.
pub(crate) fn limit(key: &[u8], value: &[u8]) -> Result<()> {
    if key.len() > MAX_KEY {
        return Err(Error::TooLarge { what: "a key", found: key.len() as u64, limit: MAX_KEY as u64 });
    }
    if value.len() > MAX_VALUE {
        return Err(Error::TooLarge { what: "a value", found: value.len() as u64, limit: MAX_VALUE as u64 });
    }
    Ok(())
}

impl Keyspace {
    pub(crate) fn new(engine: Arc<Engine>, tree: Arc<KeyspaceTree>) -> Self {
        Keyspace { store: engine.store.clone(), engine, tree }
    }

    pub(crate) fn tree(&self) -> &Arc<KeyspaceTree> {
        &self.tree
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn store(&self) -> &WritableStore {
        &self.store
    }

    fn reader(&self) -> Reader {
        Reader::Writable(self.engine.clone())
    }

    /// Returns the keyspace's name.
    pub fn name(&self) -> &str {
        &self.tree.name
    }

    /// Returns the options that the keyspace was created with.
    pub fn options(&self) -> KeyspaceOptions {
        self.tree.options
    }

    /// Stores a value under a key and replaces the previous value. The key does not expire. O(log n). Returns when the
    /// write is as durable as the database's [`Durability`](crate::Durability) promises. May wait while the disk cannot
    /// keep up.
    ///
    /// # Errors
    /// - [`TooLarge`](Error::TooLarge): the key exceeds 64 KiB, or the value 1 GiB.
    /// - [`NoSpace`](Error::NoSpace), [`Capacity`](Error::Capacity): nothing has changed (but see `NoSpace` on
    ///   [`Strict`](crate::Durability::Strict)).
    /// - [`Poisoned`](Error::Poisoned): a write or sync failed earlier, or the database was closed.
    /// - [`Dropped`](Error::Dropped): the keyspace was dropped.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// reefs.insert("north", [0xff, 0x00])?; // any bytes; replaces the value
    /// assert_eq!(reefs.get("north")?.as_deref(), Some(&[0xff, 0x00][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.put(key.as_ref(), value.as_ref(), Deadline::NEVER)
    }

    /// Stores a value with a deadline, which a keyspace without expiry leaves out.
    #[inline]
    pub(crate) fn put(&self, key: &[u8], value: &[u8], deadline: Deadline) -> Result<()> {
        limit(key, value)?;
        let mut operation = Operation::begin_to_write(&self.store, key, value)?;
        self.tree.check_not_dropped()?;
        let value = self.tree.format.stored(value, deadline);
        with_buffer(|buffer| operation.insert(&self.tree, key, value, buffer))?;
        operation.finish()
    }

    /// Returns a copy of a key's value, or `None` if the key is absent. O(log n), without a lock.
    ///
    /// # Errors
    /// - [`Dropped`](Error::Dropped): the keyspace was dropped.
    /// - [`Corrupt`](Error::Corrupt): the key's leaf, or the lengths of its record, are damaged. No read compares a
    ///   value with its checksum; [`Database::check`](crate::Database::check), a [scrub](crate::Database::scrub) and a
    ///   [backup](crate::Database::backup_to) do.
    /// - [`Poisoned`](Error::Poisoned), [`NoSpace`](Error::NoSpace): only in [`Strict`](crate::Durability::Strict), if
    ///   the result cannot be made durable.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let value = reefs.get("north")?;
    /// assert_eq!(value.as_deref(), Some(&b"coral"[..]));
    /// assert_eq!(reefs.get("south")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        self.store.get(&self.tree, key.as_ref(), record::copy_value)
    }

    /// Copies a key's value into the caller's buffer and returns whether the key is present. The buffer then holds the
    /// value and nothing else; it is empty if the key is absent. O(log n).
    ///
    /// # Errors
    /// As [`Keyspace::get`]; the buffer's content is then unspecified.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let mut buffer = Vec::new();
    /// assert!(reefs.get_into("north", &mut buffer)? && buffer == b"coral");
    /// assert!(!reefs.get_into("south", &mut buffer)? && buffer.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn get_into(&self, key: impl AsRef<[u8]>, into: &mut Vec<u8>) -> Result<bool> {
        self.store.get_into(&self.tree, key.as_ref(), into)
    }

    /// Returns the values of many keys, in the order of `keys`. Faster than one call for each key where the data are
    /// larger than the processor's caches, because the cache misses overlap. Each key is looked up at an instant of its
    /// own. O(k log n) for k keys.
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let values = reefs.get_many(&["south", "north"])?;
    /// assert!(values[0].is_none() && values[1].as_deref() == Some(&b"coral"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Slice>>> {
        self.store.get_many(&self.tree, keys)
    }

    /// As [`Keyspace::get_many`], but lends each value to `give` instead of copying it to a buffer of its own. `give`
    /// is called once for each key, in the order of `keys`; an absent key gives `None`. Faster than `get_many` where
    /// values are read and not kept. A value that is lent is a copy: `give` may use the database.
    ///
    /// # Errors
    /// As [`Keyspace::get`]. The values before the one that fails have been given.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let mut bytes = 0;
    /// reefs.get_many_with(&["south", "north"], |value| bytes += value.map_or(0, <[u8]>::len))?;
    /// assert_eq!(bytes, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_many_with<K: AsRef<[u8]>>(&self, keys: &[K], give: impl FnMut(Option<&[u8]>)) -> Result<()> {
        self.store.get_many_with(&self.tree, keys, give)
    }

    /// Returns whether a key is present. O(log n).
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "")?;
    /// assert!(reefs.contains_key("north")?);
    /// assert!(!reefs.contains_key("south")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.store.contains_key(&self.tree, key.as_ref())
    }

    /// Removes a key and returns whether it was present. O(log n). As durable as [`Keyspace::insert`].
    ///
    /// # Errors
    /// - [`Poisoned`](Error::Poisoned), [`Dropped`](Error::Dropped): as for [`Keyspace::insert`].
    /// - [`NoSpace`](Error::NoSpace): the log waits for space; nothing has changed (but see `NoSpace` on
    ///   [`Strict`](crate::Durability::Strict)). The removal itself needs no room.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// assert!(reefs.remove("north")?);
    /// assert!(!reefs.remove("north")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        // Before the operation pins an epoch: what the caller gives may use the database itself.
        let key = key.as_ref();
        let mut operation = Operation::begin(&self.store)?;
        self.tree.check_not_dropped()?;
        let removed = operation.remove(&self.tree, key)?;
        operation.finish()?;
        Ok(removed)
    }

    /// Returns the pair with the least key. O(log n).
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("b", "2")?;
    /// reefs.insert("a", "1")?;
    /// assert_eq!(reefs.first()?.map(|(key, _)| key.to_vec()), Some(b"a".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first(&self) -> Result<Option<(Slice, Slice)>> {
        self.iter().limit(1).next().transpose()
    }

    /// Returns the pair with the greatest key. O(log n).
    ///
    /// # Errors
    /// As [`Keyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// for number in [1u64, 2, 300] {
    ///     reefs.insert(number.to_be_bytes(), "coral")?;
    /// }
    /// let last = reefs.last()?.map(|(key, _)| key.to_vec());
    /// assert_eq!(last, Some(300u64.to_be_bytes().to_vec())); // the next number to give is 301
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn last(&self) -> Result<Option<(Slice, Slice)>> {
        self.iter().limit(1).next_back().transpose()
    }

    /// Returns the number of pairs; of a dropped keyspace, the number that it had. Pairs that have expired count until
    /// they are swept. The result is exact while no thread writes. O(threads that have written to the keyspace). In
    /// [`Strict`](crate::Durability::Strict), the call waits until every operation that it may have counted is durable.
    ///
    /// # Errors
    /// In [`Strict`](crate::Durability::Strict), [`Poisoned`](Error::Poisoned) or [`NoSpace`](Error::NoSpace) if the
    /// counted operations cannot be made durable.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// reefs.insert("north", "sand")?; // replaces
    /// assert_eq!(reefs.len()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> Result<u64> {
        self.store.len(&self.tree)
    }

    /// Returns whether there is no pair. O(1); in a keyspace with expiry as [`Keyspace::first`], because expired pairs
    /// are none.
    ///
    /// # Errors
    /// As [`Keyspace::len`] and [`Keyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// assert!(reefs.is_empty()?);
    /// reefs.insert("", "")?; // an empty key is a key
    /// assert!(!reefs.is_empty()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0 || self.tree.format == ValueFormat::Expiring && self.first()?.is_none())
    }

    /// Iterates over every pair, in key order. [`Iter`] states what an iterator sees.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.insert("south", "sand")?;
    /// reefs.insert("north", "coral")?;
    /// let values = reefs.iter().map(|pair| Ok(pair?.1)).collect::<holm::Result<Vec<_>>>()?;
    /// assert_eq!(values.concat(), b"coralsand");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> Iter {
        self.range::<Vec<u8>>(..)
    }

    /// Iterates over the pairs of a range of keys, which compare byte by byte. [`Iter`] states what an iterator sees.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// for key in ["a", "b", "c", "d"] {
    ///     reefs.insert(key, "")?;
    /// }
    /// let keys = |pairs: holm::Iter| pairs.map(|pair| Ok(pair?.0)).collect::<holm::Result<Vec<_>>>();
    /// assert_eq!(keys(reefs.range("b".."d"))?.concat(), b"bc");
    /// assert_eq!(keys(reefs.range("c"..))?.concat(), b"cd");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Iter {
        Iter::new(self.reader(), self.tree.clone(), range)
    }

    /// Iterates over the pairs whose keys start with `prefix`; an empty prefix selects all pairs.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// for key in ["north/1", "north/2", "south/1"] {
    ///     reefs.insert(key, "")?;
    /// }
    /// assert_eq!(reefs.prefix("north/").count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Iter {
        Iter::with_prefix(self.reader(), self.tree.clone(), prefix.as_ref())
    }
}
