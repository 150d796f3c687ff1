//! A cleanly closed database, opened for reading: these handles have only the reading methods, so writes do not
//! compile.

use crate::check::{self, Report};
use crate::engine::{ReadOnlyEngine, Reader};
use crate::error::Result;
use crate::expiry::{Deadline, Expiry};
use crate::iter::Iter;
use crate::keyspace_options::KeyspaceOptions;
use crate::keyspace_tree::KeyspaceTree;
use crate::mark;
use crate::record;
use crate::recovery::Recovery;
use crate::slice::Slice;
use crate::stats::Stats;
use std::ops::RangeBounds;
use std::sync::Arc;

/// A database that may only be read: [`Database::open_read_only`](crate::Database::open_read_only).
///
/// Writes do not compile. Cloning is cheap. The handles keep writers out until the last one is dropped.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// use holm::Database;
/// let path = folder.path().join("sea.holm");
/// let db = Database::open(&path)?;
/// db.keyspace("reefs")?.insert("north", "coral")?;
/// db.close()?;
///
/// let db = Database::open_read_only(&path)?;
/// let reefs = db.existing_keyspace("reefs")?.ok_or("no reefs")?;
/// assert_eq!(reefs.get("north")?.as_deref(), Some(&b"coral"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReadOnlyDatabase {
    pub(crate) engine: Arc<ReadOnlyEngine>,
}

/// A keyspace of a [`ReadOnlyDatabase`]: the reading half of [`Keyspace`](crate::Keyspace).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// use holm::{Database, ReadOnlyKeyspace};
///
/// # let path = folder.path().join("sea.holm");
/// # Database::open(&path)?.close()?;
/// fn count(pairs: &ReadOnlyKeyspace, prefix: &str) -> usize {
///     pairs.prefix(prefix).filter(|pair| pair.is_ok()).count()
/// }
///
/// let db = Database::open_read_only(&path)?;
/// let default = db.existing_keyspace("default")?.ok_or("it is always there")?;
/// assert_eq!(count(&default, "north"), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It has no method that writes:
///
/// ```compile_fail,E0599
/// fn write(pairs: &holm::ReadOnlyKeyspace) {
///     pairs.insert("north", "coral");
/// }
/// ```
#[derive(Clone)]
pub struct ReadOnlyKeyspace {
    engine: Arc<ReadOnlyEngine>,
    tree: Arc<KeyspaceTree>,
}

impl std::fmt::Debug for ReadOnlyKeyspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReadOnlyKeyspace").field("name", &self.tree.name).finish_non_exhaustive()
    }
}

impl ReadOnlyDatabase {
    pub(crate) fn new(engine: Arc<ReadOnlyEngine>) -> Self {
        ReadOnlyDatabase { engine }
    }

    /// Returns the keyspace of that name, if there is one.
    ///
    /// # Errors
    /// None today; a lookup may read the disk in a later version.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// # let db = holm::Database::open_read_only(&path)?;
    /// assert!(db.existing_keyspace("reefs")?.is_some());
    /// assert!(db.existing_keyspace("depths")?.is_none()); // and is not created
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn existing_keyspace(&self, name: &str) -> Result<Option<ReadOnlyKeyspace>> {
        let tree = self.engine.catalog.find_keyspace(&self.engine.store, name)?;
        Ok(tree.map(|tree| ReadOnlyKeyspace { engine: self.engine.clone(), tree }))
    }

    /// Returns the names of all keyspaces, in order.
    ///
    /// # Errors
    /// None today.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// # let db = holm::Database::open_read_only(&path)?;
    /// assert_eq!(db.keyspaces()?, ["default", "reefs"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keyspaces(&self) -> Result<Vec<String>> {
        self.engine.catalog.keyspace_names(&self.engine.store)
    }

    /// Returns the mark: see [`Database::mark`](crate::Database::mark).
    ///
    /// # Errors
    /// As [`ReadOnlyKeyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.batch().set_mark(7).commit()?;
    /// let db = holm::Database::open_read_only(&path)?;
    /// assert_eq!(db.mark()?, Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mark(&self) -> Result<Option<u64>> {
        mark::read(&self.engine.store, &self.engine.catalog)
    }

    /// Returns what opening found: a clean shutdown, and any damage.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// # let db = holm::Database::open_read_only(&path)?;
    /// assert_eq!(db.recovery().source, holm::RecoveredFrom::CleanShutdown);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recovery(&self) -> &Recovery {
        &self.engine.recovery
    }

    /// Returns statistics of this database. Counters of a session's activity are 0.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// # let db = holm::Database::open_read_only(&path)?;
    /// let stats = db.stats();
    /// assert_eq!((stats.records, stats.log.entries), (1, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stats(&self) -> Stats {
        Stats::of_read_only(&self.engine)
    }

    /// Verifies everything, as [`Database::check`](crate::Database::check).
    ///
    /// # Errors
    /// None today. A fault is not an error but an entry of [`Report::faults`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// # let db = holm::Database::open_read_only(&path)?;
    /// assert!(db.check()?.faults.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Result<Report> {
        check::check_read_only(&self.engine)
    }
}

impl ReadOnlyKeyspace {
    fn reader(&self) -> Reader {
        Reader::ReadOnly(self.engine.clone())
    }

    /// Returns the keyspace's name.
    pub fn name(&self) -> &str {
        &self.tree.name
    }

    /// Returns the options that the keyspace was created with.
    pub fn options(&self) -> KeyspaceOptions {
        self.tree.options
    }

    /// Returns when a key expires, as [`Keyspace::expiry`](crate::Keyspace::expiry).
    ///
    /// # Errors
    /// As [`ReadOnlyKeyspace::get`]; [`Invalid`](crate::Error::Invalid) in a keyspace without expiry.
    pub fn expiry(&self, key: impl AsRef<[u8]>) -> Result<Option<Expiry>> {
        self.tree.check_expires()?;
        Ok(self.engine.store.deadline(&self.tree, key.as_ref())?.map(Deadline::to_expiry))
    }

    /// Returns a copy of a key's value, as [`Keyspace::get`](crate::Keyspace::get).
    ///
    /// # Errors
    /// [`Corrupt`](crate::Error::Corrupt): the lengths of the key's record are damaged.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// # let db = holm::Database::open_read_only(&path)?;
    /// # let reefs = db.existing_keyspace("reefs")?.ok_or("no reefs")?;
    /// assert_eq!(reefs.get("north")?.as_deref(), Some(&b"coral"[..]));
    /// assert_eq!(reefs.get("south")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        self.engine.store.get(&self.tree, key.as_ref(), record::copy_value)
    }

    /// Copies a key's value into a buffer, as [`Keyspace::get_into`](crate::Keyspace::get_into).
    ///
    /// # Errors
    /// As [`ReadOnlyKeyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// # let db = holm::Database::open_read_only(&path)?;
    /// # let reefs = db.existing_keyspace("reefs")?.ok_or("no reefs")?;
    /// let mut buffer = Vec::new();
    /// assert!(reefs.get_into("north", &mut buffer)? && buffer == b"coral");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_into(&self, key: impl AsRef<[u8]>, into: &mut Vec<u8>) -> Result<bool> {
        self.engine.store.get_into(&self.tree, key.as_ref(), into)
    }

    /// Returns whether a key is present, as [`Keyspace::contains_key`](crate::Keyspace::contains_key).
    ///
    /// # Errors
    /// As [`ReadOnlyKeyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// # let db = holm::Database::open_read_only(&path)?;
    /// # let reefs = db.existing_keyspace("reefs")?.ok_or("no reefs")?;
    /// assert!(reefs.contains_key("north")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.engine.store.contains_key(&self.tree, key.as_ref())
    }

    /// Iterates over a range of keys, as [`Keyspace::range`](crate::Keyspace::range).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// # let db = holm::Database::open_read_only(&path)?;
    /// # let reefs = db.existing_keyspace("reefs")?.ok_or("no reefs")?;
    /// assert_eq!(reefs.range("a".."o").count(), 1);
    /// assert_eq!(reefs.range("o"..).count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Iter {
        Iter::new(self.reader(), self.tree.clone(), range)
    }

    /// Iterates over the keys with a prefix, as [`Keyspace::prefix`](crate::Keyspace::prefix).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// # let db = holm::Database::open_read_only(&path)?;
    /// # let reefs = db.existing_keyspace("reefs")?.ok_or("no reefs")?;
    /// assert_eq!(reefs.prefix("nor").count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Iter {
        Iter::with_prefix(self.reader(), self.tree.clone(), prefix.as_ref())
    }

    /// Iterates over every pair, as [`Keyspace::iter`](crate::Keyspace::iter).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// # let db = holm::Database::open_read_only(&path)?;
    /// # let reefs = db.existing_keyspace("reefs")?.ok_or("no reefs")?;
    /// for pair in reefs.iter() {
    ///     let (key, value) = pair?;
    ///     assert!(&key[..] == b"north" && &value[..] == b"coral");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> Iter {
        self.range::<Vec<u8>>(..)
    }

    /// Returns the number of pairs, as [`Keyspace::len`](crate::Keyspace::len).
    ///
    /// # Errors
    /// None today.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// # let db = holm::Database::open_read_only(&path)?;
    /// # let reefs = db.existing_keyspace("reefs")?.ok_or("no reefs")?;
    /// assert_eq!(reefs.len()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> Result<u64> {
        self.engine.store.len(&self.tree)
    }

    /// Returns whether there is no pair.
    ///
    /// # Errors
    /// None today.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// # let db = holm::Database::open_read_only(&path)?;
    /// # let reefs = db.existing_keyspace("reefs")?.ok_or("no reefs")?;
    /// assert!(!reefs.is_empty()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.iter().limit(1).next().transpose()?.is_none())
    }
}
