//! Marks: the position of an outside log up to which its commands have been applied, kept with their effects.
//!
//! A replicated state machine applies the commands of a log, and must know after a crash where to go on. A mark is a
//! record of the catalog that a batch or transaction writes together with the effects of a command, so both are there
//! or neither.

use crate::catalog::Catalog;
use crate::commit::Write;
use crate::database::Database;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::slice::Slice;
use crate::store::Store;
use crate::transaction::{Transaction, pause};
use holm_medium::Epoch;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The catalog's key of the mark.
pub(crate) const MARK: &[u8] = b"\0m";

/// Reads a mark from its record's value.
///
/// # Errors
/// `Corrupt`: the record has another length.
pub(crate) fn decode(store: &Store, value: &Slice) -> Result<u64> {
    Ok(u64::from_le_bytes(store.catalog_record(value, "the mark")?))
}

/// Refuses a mark that does not rise.
pub(crate) fn check_rises(present: Option<u64>, next: u64) -> Result<()> {
    match present {
        Some(present) if next <= present => {
            Err(Error::Invalid { what: format!("a mark rises: found {present}, and {next} is not above it") })
        }
        _ => Ok(()),
    }
}

/// Reads the mark of a store's catalog.
pub(crate) fn read(store: &Store, catalog: &Catalog) -> Result<Option<u64>> {
    let value = store.get(catalog.own(), MARK, crate::record::copy_value)?;
    value.map(|value| decode(store, &value)).transpose()
}

/// How often a batch is tried before it gives up: each time, another one has set the mark meanwhile.
const MOST_ATTEMPTS: u32 = 1_000;

/// Commits writes together with a mark.
///
/// # Errors
/// As [`Batch::commit`](crate::Batch::commit).
pub(crate) fn commit_with(engine: &Arc<Engine>, mark: u64, writes: &[Write<'_>]) -> Result<()> {
    for attempt in 0..MOST_ATTEMPTS {
        // The mark that is found decides whether this one rises, so the commit depends on it.
        let marked = Transaction::new(engine.clone());
        match marked.set_mark(mark).and_then(|()| marked.commit_with(writes, None)) {
            Err(Error::Conflict) => pause(attempt),
            done => return done.map(drop),
        }
    }
    Err(Error::Conflict)
}

/// The marks that this session has committed and that are not yet known to be durable.
#[derive(Default)]
pub(crate) struct CommittedMarks(Mutex<RecentMarks>);

#[derive(Default)]
struct RecentMarks {
    durable: Option<u64>,
    /// In the order in which their commits returned.
    recent: VecDeque<(Epoch, u64)>,
}

impl RecentMarks {
    /// Forgets the marks whose epochs are durable, except for the greatest.
    fn note_durable(&mut self, durable: Epoch) {
        let is_durable = |(epoch, _): &(Epoch, u64)| *epoch <= durable;
        let greatest = self.recent.iter().filter(|entry| is_durable(entry)).map(|(_, mark)| *mark).max();
        self.durable = self.durable.max(greatest);
        self.recent.retain(|entry| !is_durable(entry));
    }
}

impl CommittedMarks {
    fn lock(&self) -> MutexGuard<'_, RecentMarks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the marks of a database that was just opened. All that it has is durable.
    pub(crate) fn opened_at(mark: Option<u64>) -> Self {
        CommittedMarks(Mutex::new(RecentMarks { durable: mark, recent: VecDeque::new() }))
    }

    /// Notes a mark that was committed in an epoch.
    pub(crate) fn note(&self, store: &Store, epoch: Epoch, mark: u64) {
        let mut marks = self.lock();
        marks.note_durable(store.clock().durable());
        marks.recent.push_back((epoch, mark));
    }

    fn durable(&self, store: &Store) -> Option<u64> {
        let mut marks = self.lock();
        marks.note_durable(store.clock().durable());
        marks.durable
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_durable_mark_counts() {
        let mut marks = RecentMarks { durable: Some(3), recent: VecDeque::from([(10, 4), (11, 6), (10, 5), (12, 7)]) };
        marks.note_durable(9);
        assert_eq!((marks.durable, marks.recent.len()), (Some(3), 4));
        marks.note_durable(11);
        assert_eq!((marks.durable, marks.recent.len()), (Some(6), 1));
        marks.note_durable(12);
        assert_eq!((marks.durable, marks.recent.len()), (Some(7), 0));
    }
}
