//! A checkpoint: everything up to an epoch into the data files, so that the log before it can be used again.
//!
//! Shared image: the kernel has the bytes and syncs them, in one go. To start their write-back before that, in pieces,
//! writes whatever is in use more than once, and each time its writers fault: where all pages are in use, thrice the
//! faults, less throughput, and syncs of the log that take no less time.
//! Private image: the log itself holds every line since the last checkpoint exactly as it was at an epoch's end, so
//! the checkpoint applies the log to the files. A crash in the middle finds the old superblock and the same log, and
//! applies it again: exact for every design, whether it keeps versions or not.

use super::background::Shared;
use super::open::sum_leaves;
use super::{Journaled, SMALL_EXTENT, area_path, due};
use crate::error::{MediumError, Result};
use crate::loc::parts;
use crate::log::replay_until;
use crate::superblock::{ImageKind, State, Superblock, superblock_path};
use crate::vfs::write_all_at;
use std::sync::atomic::Ordering::Relaxed;

/// Takes a checkpoint, if the log holds anything.
pub(super) fn take(shared: &Shared, state: State) -> Result<()> {
    if state == State::Clean && shared.journal().log.is_other_needed() {
        // The last record may have opened the other half. One checkpoint empties one half; a clean mark over the other
        // would be believed, and what it holds forgotten.
        take(shared, State::Dirty)?;
        if let Some(error) = shared.postponed() {
            return Err(error);
        }
    }
    let epoch = {
        let mut journal = shared.journal();
        if journal.log.used_bytes() == 0 && !journal.log.is_other_needed() && state == State::Dirty {
            return Ok(());
        }
        let until = if journal.log.is_other_needed() { journal.until } else { journal.epoch };
        if state == State::Dirty && !shared.storage().space.retention().may_release_log(until) {
            // A floor retains what this would release. Closing does not wait for it.
            return Ok(());
        }
        if !journal.log.is_other_needed() {
            journal.switch()?;
        }
        journal.until
    };
    let medium = &shared.storage().medium;
    if medium.kind == ImageKind::Private {
        match apply(shared, medium) {
            // Nothing is synced yet and the old half is as it was: applied again from its start when there is space.
            Err(error) if error.is_no_space() && state == State::Dirty => {
                shared.postpone(error);
                return Ok(());
            }
            applied => applied?,
        }
    }
    // Measured before the sync: what grows meanwhile is not yet durable. Closed, only so much counts as is in use.
    let lengths = medium.lengths()?;
    let lengths = if state == State::Clean { kept(shared, lengths) } else { lengths };
    medium.sync_data()?;
    let leaves_sum = if state == State::Clean { sum_leaves(&medium.dir, &medium.files, lengths[0])? } else { 0 };
    let mut journal = shared.journal();
    let start = journal.log.start();
    let path = superblock_path(&medium.dir);
    let mut next = Superblock { epoch, log_start: start, state, lengths, leaves_sum, ..journal.superblock.clone() };
    // After the data: written first, a crash would start the replay behind lines that no file has.
    next.write(&*journal.superblock_file, &path)?;
    journal.superblock = next;
    // And only now may the old half be overwritten.
    journal.log.release();
    if state == State::Clean {
        // The data files are cut when `Background` is dropped: until then readers may look at any byte of the mapping.
        let initial = journal.log.initial();
        journal.log.trim(initial)?;
    } else {
        // Far larger than what it held: a burst is over, though somebody still writes.
        let keep = (2 * journal.given_up).max(due::kept(shared, &journal));
        if journal.log.spare_capacity() > 4 * keep {
            journal.log.trim(keep)?;
        }
    }
    shared.counters().checkpoints.fetch_add(1, Relaxed);
    shared.counters().write_back_bytes.fetch_add(journal.to_write, Relaxed);
    drop(journal);
    shared.checkpoint_done();
    Ok(())
}

/// How long the files of a closed database are: as far as they are in use, in whole extents.
fn kept(shared: &Shared, lengths: [u64; 2]) -> [u64; 2] {
    let space = &shared.storage().space;
    space.settle();
    let used = [u64::from(space.block_frontier()) * space.block_bytes(), space.record_frontier()];
    std::array::from_fn(|area| lengths[area].min(used[area].next_multiple_of(SMALL_EXTENT)))
}

/// Applies the records of the half that is to be given up to the files.
fn apply(shared: &Shared, medium: &Journaled) -> Result<()> {
    let (uuid, start, end) = {
        let journal = shared.journal();
        (journal.superblock.uuid, journal.superblock.log_start, journal.log.start())
    };
    // Only what lies before the switch: the group-commit thread writes on behind it.
    replay_until(&*medium.vfs, &medium.dir, &uuid, start, end, |_, loc, bytes| {
        let (area, offset) = parts(loc);
        write_all_at(&*medium.files[area as usize], bytes, offset)
            .map_err(|error| MediumError::io("applying the log to", &area_path(&medium.dir, area), error))
    })?;
    Ok(())
}
