//! A cleanly closed database, to look at: the reading half of the handles, so that writes do not compile.

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
/// Writes do not compile. The handle is cheap to clone, and keeps writers out until the last one is dropped.
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

    /// The keyspace of that name, if there is one.
    ///
    /// # Errors
    /// None today; a result, since looking up may come to read.
    pub fn existing_keyspace(&self, name: &str) -> Result<Option<ReadOnlyKeyspace>> {
        let tree = self.engine.find_keyspace(name)?;
        Ok(tree.map(|tree| ReadOnlyKeyspace(Keyspace::new(self.engine.clone(), tree))))
    }

    /// The names of all keyspaces, in order.
    ///
    /// # Errors
    /// None today, as above.
    pub fn keyspaces(&self) -> Result<Vec<String>> {
        self.engine.keyspace_names()
    }

    /// What opening found: a clean shutdown, and what is damaged.
    pub fn recovery(&self) -> &Recovery {
        &self.engine.recovery
    }

    /// Statistics of this database. Those that count what a session did are 0.
    pub fn stats(&self) -> Stats {
        let mut stats = Stats::of(&self.engine);
        stats.space.disk_bytes = disk_bytes(&self.engine.path);
        stats
    }

    /// As [`Database::check`](crate::Database::check).
    ///
    /// # Errors
    /// A fault is no error, but a line of [`Report::faults`].
    pub fn check(&self) -> Result<Report> {
        check::check(&self.engine)
    }
}

/// What the files of a folder occupy; those that cannot be asked count nothing.
fn disk_bytes(path: &Path) -> u64 {
    let files = std::fs::read_dir(path).into_iter().flatten().filter_map(|file| file.ok()?.metadata().ok());
    files.filter(|about| about.is_file()).map(|about| about.blocks() * 512).sum()
}

impl ReadOnlyKeyspace {
    /// Its name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// As [`Keyspace::get`].
    ///
    /// # Errors
    /// None today.
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        self.0.get(key)
    }

    /// As [`Keyspace::get_into`].
    ///
    /// # Errors
    /// None today.
    pub fn get_into(&self, key: impl AsRef<[u8]>, into: &mut Vec<u8>) -> Result<bool> {
        self.0.get_into(key, into)
    }

    /// As [`Keyspace::contains_key`].
    ///
    /// # Errors
    /// None today.
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.0.contains_key(key)
    }

    /// As [`Keyspace::range`].
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Iter {
        self.0.range(range)
    }

    /// As [`Keyspace::prefix`].
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Iter {
        self.0.prefix(prefix)
    }

    /// As [`Keyspace::iter`].
    pub fn iter(&self) -> Iter {
        self.0.iter()
    }

    /// The number of pairs.
    ///
    /// # Errors
    /// None today.
    pub fn len(&self) -> Result<u64> {
        self.0.len()
    }

    /// Whether there is no pair.
    ///
    /// # Errors
    /// None today.
    pub fn is_empty(&self) -> Result<bool> {
        self.0.is_empty()
    }
}
