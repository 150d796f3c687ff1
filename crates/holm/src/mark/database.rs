//! The marks of a database, as its handle returns them.

use super::read;
use crate::database::Database;
use crate::engine::Engine;
use crate::error::Result;

/// Marks.
impl Database {
    /// Returns the mark: the greatest number given to [`Batch::set_mark`](crate::Batch::set_mark) or
    /// [`Transaction::set_mark`](crate::Transaction::set_mark). `None` if there never was one.
    ///
    /// After any crash, the mark and the effects that were committed with it are both there or both missing. A program
    /// that applies the commands of a log, and gives each command's position as the mark, goes on behind it.
    ///
    /// # Errors
    /// As [`Keyspace::get`](crate::Keyspace::get).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// let log = [("north", "coral"), ("south", "sand"), ("north", "kelp")];
    /// let next = db.mark()?.map_or(0, |applied| applied + 1);
    /// for (position, (key, value)) in log.iter().enumerate().skip(next as usize) {
    ///     db.batch().insert(&reefs, key, value).set_mark(position as u64).commit()?;
    /// }
    /// assert_eq!(db.mark()?, Some(2));
    /// db.sync()?;
    /// assert_eq!(db.durable_mark(), Some(2)); // the log is no longer needed up to here
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mark(&self) -> Result<Option<u64>> {
        read(&self.engine.store, &self.engine.catalog)
    }

    /// Returns a mark that survives a power cut, with everything that was committed with it or before. It is the
    /// latest such mark among those whose commits have returned. O(marks since the last call).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// db.batch().set_mark(7).commit()?;
    /// assert!(matches!(db.durable_mark(), None | Some(7)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn durable_mark(&self) -> Option<u64> {
        let Engine { store, marks, .. } = &*self.engine;
        marks.durable(store)
    }
}
