//! Compares what the death of a process left with the log, before recovery trusts any of it.
//!
//! The log says what the leaves led to at the end of the last logged epoch. The image must contain that as it was
//! logged, whether the leaves still lead there or not: a page that went back in time shows in whatever lies on it.
//! Changes of later epochs are in no log. Recovery writes their blocks and records to the files again, because their
//! pages may be clean in memory and on no disk. Then it verifies them by their own checks. A block that a split or
//! merge has emptied names the leaves that have its pairs, and those must be there.

use super::leaves::{ChangedAfter, Leaves};
use crate::keys::{Keys, Slot};
use crate::leaf::{BlockByte, Pairs, damaged_in};
use crate::sync::{Mutex, MutexGuard};
use holm_medium::{Area, Logged, MediumError, Result};

/// [`ChangedAfter`] of several blocks.
#[derive(Clone, Copy, Default)]
pub(super) struct Changes(pub(super) ChangedAfter);

impl Changes {
    pub(super) fn join(&mut self, other: ChangedAfter) {
        self.0 = match (self.0, other) {
            (Some(one), Some(two)) => Some(one.join(two)),
            (one, two) => one.or(two),
        };
    }
}

/// What all threads have found.
#[derive(Default)]
struct Seen {
    /// Blocks that changed in an epoch that is in no log.
    unlogged: Vec<u32>,
    /// A record that differs from the log, and that no leaf leads to any more.
    suspect: Option<MediumError>,
    /// Where the last record ends that a leaf led to at the end of the log's last epoch.
    records_end: u64,
}

pub(super) struct Kept<'a, K: Keys> {
    leaves: &'a dyn Leaves<K>,
    /// `None` if the database was cleanly closed, or recovered from the log.
    logged: Option<&'a Logged>,
    seen: Mutex<Seen>,
}

/// The findings of one thread.
pub(super) struct LogComparison<'a, K: Keys> {
    kept: &'a Kept<'a, K>,
    seen: Seen,
    before: Pairs,
    now: Pairs,
}

impl<'a, K: Keys> Kept<'a, K> {
    pub(super) fn new(leaves: &'a dyn Leaves<K>, logged: Option<&'a Logged>) -> Self {
        Kept { leaves, logged, seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn comparison(&self) -> LogComparison<'_, K> {
        LogComparison { kept: self, seen: Seen::default(), before: Pairs::default(), now: Pairs::default() }
    }

    pub(super) fn gather(&self, comparison: LogComparison<'_, K>) {
        let mut seen = self.seen();
        seen.unlogged.extend(comparison.seen.unlogged);
        seen.suspect = seen.suspect.take().or(comparison.seen.suspect);
        seen.records_end = seen.records_end.max(comparison.seen.records_end);
    }

    /// Runs once all blocks are recovered: writes what is in no log to the files again, and verifies it. Returns where
    /// the last record ends that a cut back to the log's last epoch would need, of those that recovery was passed.
    pub(super) fn finish(&self, after: ChangedAfter) -> Result<u64> {
        let Some(logged) = self.logged else { return Ok(0) };
        let Seen { unlogged, suspect, records_end } = std::mem::take(&mut *self.seen());
        // If more than two epochs follow, the log has lost the first of them, and space that it freed may be in use
        // again.
        let lost_end = after.is_some_and(|after| after.last > after.first + 1);
        if let Some(error) = suspect.filter(|_| !lost_end) {
            return Err(error);
        }
        let size = self.leaves.block_bytes() as u64;
        let mut places: Vec<_> =
            unlogged.iter().map(|number| (Area::Leaves.at(u64::from(*number) * size), size)).collect();
        let mut found = Vec::new();
        let (mut before, mut now) = (Pairs::default(), Pairs::default());
        for number in unlogged {
            let skip = self.leaves.live_at(number, logged.epoch(), &mut before);
            self.leaves.block_pairs(number, &mut now);
            found.extend(now.iter().filter(|slot| !before.contains(slot)).map(|slot| (number, *slot, skip)));
        }
        let records = found.iter().filter_map(|(_, slot, _)| K::location(slot.payload));
        places.extend(records.map(|(location, words)| (location, u64::from(words) * 8)));
        self.leaves.write_again(&places)?;
        // Verify only after that: a page that was clean, and is read from the disk again, holds what is on the disk.
        let lost = found.iter().find(|(_, slot, skip)| !self.leaves.keys().is_whole(*slot, *skip));
        lost.map_or(Ok(records_end), |(number, ..)| Err(self.lost_writes(*number)))
    }

    fn lost_writes(&self, number: u32) -> MediumError {
        let found = "a damaged one, or one that has lost writes";
        damaged_in(self.leaves.block_bytes(), BlockByte::first_of(number), "a slot's record", found, "what was written")
    }
}

impl<K: Keys> LogComparison<'_, K> {
    /// Compares the records of a block, which recovery has not changed yet, with the log. `changed` says whether the
    /// block changed after the log's last epoch.
    pub(super) fn check_block(&mut self, number: u32, changed: bool) -> Result<()> {
        let Some(logged) = self.kept.logged else { return Ok(()) };
        let leaves = self.kept.leaves;
        leaves.live_at(number, logged.epoch(), &mut self.before);
        // What leads out of the area is damage, which other checks report.
        let len = leaves.image().area(Area::Records).len() as u64;
        let ends = self.before.iter().filter_map(|slot| K::extent(slot.payload));
        let ends = ends.map(|(offset, words)| offset + u64::from(words) * 8).filter(|end| *end <= len);
        self.seen.records_end = ends.fold(self.seen.records_end, u64::max);
        if changed {
            self.seen.unlogged.push(number);
        }
        if let Some(heir) = leaves.lost_heir(number, logged.epoch()) {
            return Err(self.kept.lost_writes(heir));
        }
        let agrees = |slot: &Slot| {
            let record = K::location(slot.payload);
            record.is_none_or(|(location, words)| logged.agrees(leaves.image(), location, words))
        };
        for slot in self.before.iter().filter(|slot| !agrees(slot)) {
            leaves.block_pairs(number, &mut self.now);
            if self.now.contains(slot) {
                return Err(self.kept.lost_writes(number));
            }
            self.seen.suspect.get_or_insert_with(|| self.kept.lost_writes(number));
        }
        Ok(())
    }
}
