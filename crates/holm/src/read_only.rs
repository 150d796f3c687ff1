//! A cleanly closed database, opened for reading: these handles have only the reading methods, so writes do not
//! compile.

use crate::check::{self, Report};
use crate::engine::Engine;
use crate::error::Result;
use crate::iter::Iter;
use crate::keyspace::Keyspace;
use crate::recovery::Recovery;
use crate::slice::Slice;
use crate::stats::Stats;
use std::ops::RangeBounds;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
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
    engine: Arc<Engine>,
}

/// A keyspace of a [`ReadOnlyDatabase`]: the reading half of [`Keyspace`].
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
#[derive(Clone, Debug)]
pub struct ReadOnlyKeyspace(Keyspace);

impl ReadOnlyDatabase {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        ReadOnlyDatabase { engine }
    }

    /// Returns the keyspace of that name, if there is one.
    ///
    /// # Errors
    /// None today; a lookup may read the disk in a later version.
    pub fn existing_keyspace(&self, name: &str) -> Result<Option<ReadOnlyKeyspace>> {
        let tree = self.engine.find_keyspace(name)?;
        Ok(tree.map(|tree| ReadOnlyKeyspace(Keyspace::new(self.engine.clone(), tree))))
    }

    /// Returns the names of all keyspaces, in order.
    ///
    /// # Errors
    /// None today.
    pub fn keyspaces(&self) -> Result<Vec<String>> {
        self.engine.keyspace_names()
    }

    /// Returns what opening found: a clean shutdown, and any damage.
    pub fn recovery(&self) -> &Recovery {
        &self.engine.recovery
    }

    /// Returns statistics of this database. Counters of a session's activity are 0.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::of(&self.engine);
        stats.space.disk_bytes = disk_bytes(&self.engine.path);
        stats
    }

    /// Verifies everything, as [`Database::check`](crate::Database::check).
    ///
    /// # Errors
    /// None today. A fault is not an error but an entry of [`Report::faults`].
    pub fn check(&self) -> Result<Report> {
        check::check(&self.engine)
    }
}

/// The bytes that the files of a folder occupy. A file without readable metadata counts 0.
fn disk_bytes(path: &Path) -> u64 {
    let files = std::fs::read_dir(path).into_iter().flatten().filter_map(|file| file.ok()?.metadata().ok());
    files.filter(|about| about.is_file()).map(|about| about.blocks() * 512).sum()
}

impl ReadOnlyKeyspace {
    /// Returns the keyspace's name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Returns a copy of a key's value, as [`Keyspace::get`].
    ///
    /// # Errors
    /// [`Corrupt`](crate::Error::Corrupt): the key's record is damaged.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        self.0.get(key)
    }

    /// Copies a key's value into a buffer, as [`Keyspace::get_into`].
    ///
    /// # Errors
    /// As [`ReadOnlyKeyspace::get`].
    pub fn get_into(&self, key: impl AsRef<[u8]>, into: &mut Vec<u8>) -> Result<bool> {
        self.0.get_into(key, into)
    }

    /// Returns whether a key is present, as [`Keyspace::contains_key`].
    ///
    /// # Errors
    /// As [`ReadOnlyKeyspace::get`].
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.0.contains_key(key)
    }

    /// Iterates over a range of keys, as [`Keyspace::range`].
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Iter {
        self.0.range(range)
    }

    /// Iterates over the keys with a prefix, as [`Keyspace::prefix`].
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Iter {
        self.0.prefix(prefix)
    }

    /// Iterates over every pair, as [`Keyspace::iter`].
    pub fn iter(&self) -> Iter {
        self.0.iter()
    }

    /// Returns the number of pairs.
    ///
    /// # Errors
    /// None today.
    pub fn len(&self) -> Result<u64> {
        self.0.len()
    }

    /// Returns whether there is no pair.
    ///
    /// # Errors
    /// None today.
    pub fn is_empty(&self) -> Result<bool> {
        self.0.is_empty()
    }
}
