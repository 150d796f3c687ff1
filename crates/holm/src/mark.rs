//! Marks: the position of an outside log up to which its commands have been applied, kept with their effects.
//!
//! A replicated state machine applies the commands of a log, and must know after a crash where to go on. A mark is a
//! record of the catalog that a batch or transaction writes together with the effects of a command, so both are there
//! or neither.

mod commit;
mod database;

use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::slice::Slice;
use crate::store::Store;
pub(crate) use commit::commit_with;
use holm_medium::Epoch;
use holm_medium::sync::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::PoisonError;

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

/// The marks that this session has committed and that are not yet known to be durable.
#[derive(Default)]
pub(crate) struct CommittedMarks(Mutex<RecentMarks>);

#[derive(Default)]
struct RecentMarks {
    durable: Option<u64>,
    /// In the order in which their commits returned.
    recent: VecDeque<RecentMark>,
}

#[derive(Clone, Copy)]
struct RecentMark {
    epoch: Epoch,
    mark: u64,
}

impl RecentMark {
    fn is_durable(self, durable: Epoch) -> bool {
        self.epoch <= durable
    }
}

impl RecentMarks {
    /// Forgets the marks whose epochs are durable, except for the greatest.
    fn note_durable(&mut self, durable: Epoch) {
        let durable_marks = self.recent.iter().filter(|recent| recent.is_durable(durable));
        self.durable = self.durable.max(durable_marks.map(|recent| recent.mark).max());
        self.recent.retain(|recent| !recent.is_durable(durable));
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
        let (durable, mut marks) = (store.clock().durable(), self.lock());
        // Not with each commit: many marks wait for one epoch.
        if marks.recent.front().is_some_and(|first| first.is_durable(durable)) {
            marks.note_durable(durable);
        }
        marks.recent.push_back(RecentMark { epoch, mark });
    }

    pub(crate) fn durable(&self, store: &Store) -> Option<u64> {
        let mut marks = self.lock();
        marks.note_durable(store.clock().durable());
        marks.durable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_durable_mark_counts() {
        let recent = [(10, 4), (11, 6), (10, 5), (12, 7)].map(|(epoch, mark)| RecentMark { epoch, mark });
        let mut marks = RecentMarks { durable: Some(3), recent: recent.into() };
        marks.note_durable(9);
        assert_eq!((marks.durable, marks.recent.len()), (Some(3), 4));
        marks.note_durable(11);
        assert_eq!((marks.durable, marks.recent.len()), (Some(6), 1));
        marks.note_durable(12);
        assert_eq!((marks.durable, marks.recent.len()), (Some(7), 0));
    }
}
