//! Compares what the death of a process left with the log, before recovery trusts any of it.
//!
//! The log says what the leaves led to at the end of the last logged epoch. The image must contain that as it was
//! logged, whether the leaves still lead there or not: a page that went back in time shows in whatever lies on it.
//! Changes of later epochs are in no log. Recovery writes their blocks and records to the files again, because their
//! pages may be clean in memory and on no disk. Then it verifies them by their own checks.

use crate::design::Design;
use crate::keys::{Keys, Slot};
use crate::leaf::{Leaf, Pairs, damaged};
use crate::tree_set::TreeSet;
use holm_medium::{Area, Epoch, Logged, Medium, MediumError, Result};
use std::sync::{Mutex, MutexGuard};

/// The first and the last epoch, after the log's last one, in which a block changed.
pub(super) type ChangedAfter = Option<(Epoch, Epoch)>;

/// The same of several blocks.
#[derive(Clone, Copy, Default)]
pub(super) struct Changes(pub(super) ChangedAfter);

impl Changes {
    pub(super) fn join(&mut self, other: ChangedAfter) {
        self.0 = match (self.0, other) {
            (Some(one), Some(two)) => Some((one.0.min(two.0), one.1.max(two.1))),
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
}

pub(super) struct Kept<'a, M: Medium, D: Design, K: Keys> {
    tree_set: &'a TreeSet<M, D, K>,
    /// `None` if the database was cleanly closed, or recovered from the log.
    logged: Option<&'a Logged>,
    seen: Mutex<Seen>,
}

/// The findings of one thread.
pub(super) struct Look<'a, M: Medium, D: Design, K: Keys> {
    kept: &'a Kept<'a, M, D, K>,
    seen: Seen,
    before: Pairs,
    now: Pairs,
}

impl<'a, M: Medium, D: Design, K: Keys> Kept<'a, M, D, K> {
    pub(super) fn new(tree_set: &'a TreeSet<M, D, K>, logged: Option<&'a Logged>) -> Self {
        Kept { tree_set, logged, seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn look(&self) -> Look<'_, M, D, K> {
        Look { kept: self, seen: Seen::default(), before: Pairs::default(), now: Pairs::default() }
    }

    pub(super) fn gather(&self, look: Look<'_, M, D, K>) {
        let mut seen = self.seen();
        seen.unlogged.extend(look.seen.unlogged);
        seen.suspect = seen.suspect.take().or(look.seen.suspect);
    }

    /// Runs once all blocks are recovered: writes what is in no log to the files again, and verifies it.
    pub(super) fn finish(&self, after: ChangedAfter) -> Result<()> {
        let Some(logged) = self.logged else { return Ok(()) };
        let Seen { unlogged, suspect } = std::mem::take(&mut *self.seen());
        // If more than two epochs follow, the log has lost the first of them, and space that it freed may be in use
        // again.
        let lost_end = after.is_some_and(|(first, last)| last > first + 1);
        if let Some(error) = suspect.filter(|_| !lost_end) {
            return Err(error);
        }
        let size = size_of::<D::Leaf>() as u64;
        let mut places: Vec<_> =
            unlogged.iter().map(|number| (Area::Leaves.at(u64::from(*number) * size), size)).collect();
        let mut found = Vec::new();
        let (mut before, mut now) = (Pairs::default(), Pairs::default());
        for number in unlogged {
            let (leaf, descriptor) = self.tree_set.block(number)?;
            before.clear();
            now.clear();
            leaf.live_at(logged.epoch(), &mut before);
            leaf.block_pairs(&descriptor.volatile, &mut now);
            found.extend(now.iter().filter(|slot| !before.contains(slot)).map(|slot| (number, *slot, leaf.skip())));
        }
        let records = found.iter().filter_map(|(_, slot, _)| K::extent(slot.payload));
        places.extend(records.map(|(offset, words)| (Area::Records.at(offset), u64::from(words) * 8)));
        self.tree_set.writer.storage().medium.write_again(&places)?;
        // Verify only after that: a page that was clean, and is read from the disk again, holds what is on the disk.
        let lost = found.iter().find(|(_, slot, skip)| !self.tree_set.keys.is_whole(*slot, *skip));
        lost.map_or(Ok(()), |(number, ..)| Err(lost_writes::<D>(*number)))
    }
}

fn lost_writes<D: Design>(number: u32) -> MediumError {
    let found = "a damaged one, or one that has lost writes";
    damaged::<D::Leaf>((number, 0), "a slot's record", found, "what was written")
}

impl<M: Medium, D: Design, K: Keys> Look<'_, M, D, K> {
    /// Compares the records of a block, which recovery has not changed yet, with the log. `changed` says whether the
    /// block changed after the log's last epoch.
    pub(super) fn at(
        &mut self,
        number: u32,
        leaf: &D::Leaf,
        volatile: &<D::Leaf as Leaf>::Volatile,
        changed: bool,
    ) -> Result<()> {
        let Some(logged) = self.kept.logged else { return Ok(()) };
        self.before.clear();
        leaf.live_at(logged.epoch(), &mut self.before);
        if changed {
            self.seen.unlogged.push(number);
        }
        let image = self.kept.tree_set.writer.storage().medium.image();
        let agrees = |slot: &Slot| {
            let extent = K::extent(slot.payload);
            extent.is_none_or(|(offset, words)| logged.agrees(image, Area::Records.at(offset), words))
        };
        for slot in self.before.iter().filter(|slot| !agrees(slot)) {
            self.now.clear();
            leaf.block_pairs(volatile, &mut self.now);
            if self.now.contains(slot) {
                return Err(lost_writes::<D>(number));
            }
            self.seen.suspect.get_or_insert_with(|| lost_writes::<D>(number));
        }
        Ok(())
    }
}
