//! Syncs that no thread waits for: a server holds its replies until they are done, and serves others meanwhile.

use crate::database::Database;
use crate::engine::Engine;
use crate::error::Result;
use crate::operation::Operation;
use holm_medium::WantedEpoch;
use std::sync::Arc;

/// A sync that was begun by [`Database::begin_sync`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let (bell, news) = std::sync::mpsc::channel();
/// db.on_sync(move || bell.send(()).unwrap_or_default());
///
/// db.keyspace("reefs")?.insert("north", "coral")?;
/// let sync = db.begin_sync()?;
/// while !sync.is_done()? {
///     news.recv()?; // a server goes on with its other connections here
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct PendingSync {
    engine: Arc<Engine>,
    wanted: WantedEpoch,
}

impl PendingSync {
    /// Returns whether all that was written before [`Database::begin_sync`] survives a power cut. O(1), and waits for
    /// nothing.
    ///
    /// # Errors
    /// As [`Database::sync`].
    pub fn is_done(&self) -> Result<bool> {
        Ok(self.engine.store.clock().is_durable(self.wanted)?)
    }

    /// Returns the epoch that becomes durable. Of two syncs, the one with the greater epoch includes the other.
    pub fn epoch(&self) -> u64 {
        self.wanted.epoch
    }
}

impl std::fmt::Debug for PendingSync {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PendingSync").field("epoch", &self.wanted.epoch).finish_non_exhaustive()
    }
}

impl Database {
    /// Begins what [`Database::sync`] does, and waits for nothing. All syncs that were begun in one epoch are one.
    ///
    /// # Errors
    /// The database is closed, poisoned or full already.
    pub fn begin_sync(&self) -> Result<PendingSync> {
        let operation = Operation::begin(&self.engine.store)?;
        let epoch = operation.epoch();
        operation.finish_later();
        let wanted = self.engine.store.clock().request_durable(epoch);
        Ok(PendingSync { engine: self.engine.clone(), wanted })
    }

    /// Lets a function be called whenever [`PendingSync::is_done`] may answer anew, failures included, for as long as
    /// the database is open. A thread of the database calls it and ends no epoch meanwhile, so it should only wake
    /// others; it must not wait for the database.
    pub fn on_sync(&self, call: impl Fn() + Send + Sync + 'static) {
        self.engine.store.clock().on_news(call);
    }

    /// Returns the last epoch that survives a power cut. A load, unlike [`Database::stats`].
    pub fn durable_epoch(&self) -> u64 {
        self.engine.store.clock().durable()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use crate::{Database, Durability};
    use std::sync::mpsc;

    /// A sync that nobody rings a bell for would be waited for until another write comes.
    #[test]
    fn a_sync_that_was_begun_ends_with_a_call_and_includes_what_was_written_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("test.holm");
        let db = Database::builder().durability(Durability::OnSync).capacity(1 << 30).open(path).unwrap();
        let (bell, news) = mpsc::channel();
        db.on_sync(move || bell.send(()).unwrap_or_default());
        let reefs = db.keyspace("reefs").unwrap();
        for round in 0..20u32 {
            reefs.insert(round.to_be_bytes(), "coral").unwrap();
            let written = db.stats().epochs.active;
            let sync = db.begin_sync().unwrap();
            assert!(sync.epoch() >= written);
            while !sync.is_done().unwrap() {
                news.recv().unwrap();
            }
            assert!(db.durable_epoch() >= written);
        }
    }

    #[test]
    fn a_sync_of_a_closed_database_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::builder().capacity(1 << 30).open(folder.path().join("test.holm")).unwrap();
        let other = db.clone();
        db.close().unwrap();
        assert!(other.begin_sync().is_err());
    }
}
