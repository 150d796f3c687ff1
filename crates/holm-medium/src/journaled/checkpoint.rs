//! A checkpoint: brings everything up to an epoch into the data files, so that the log before it can be reused.
//!
//! Shared image: the kernel has the bytes, and one sync writes them. Starting their write-back earlier, in pieces,
//! writes each page in use more than once, and makes its writers fault each time. Where all pages are in use, that
//! gives three times the faults and less throughput, and syncs of the log take no less time.
//!
//! Private image: the log holds every line since the last checkpoint exactly as it was at the end of an epoch, so the
//! checkpoint applies the log to the files. After a crash in the middle, recovery finds the old superblock and the
//! same log, and applies the log again. This is exact for every design, with or without versions.

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
        // The last record may have switched to the other half. One checkpoint empties one half. Recovery would believe
        // a clean mark over the other half, and lose what that half holds.
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
            // Nothing is synced yet and the old half is intact: it is applied again from its start when there is
            // space.
            Err(error) if error.is_no_space() && state == State::Dirty => {
                shared.postpone(error);
                return Ok(());
            }
            applied => applied?,
        }
    }
    // Measured before the sync: later growth is not yet durable. At close, only the length in use counts.
    let lengths = medium.lengths()?;
    let lengths = if state == State::Clean { kept(shared, lengths) } else { lengths };
    medium.sync_data()?;
    let leaves_sum = if state == State::Clean { sum_leaves(&medium.dir, &medium.files, lengths[0])? } else { 0 };
    let mut journal = shared.journal();
    let start = journal.log.start();
    let path = superblock_path(&medium.dir);
    let mut next = Superblock { epoch, log_start: start, state, lengths, leaves_sum, ..journal.superblock.clone() };
    // After the data: if the superblock were written first, a crash would start the replay after lines that no file
    // has.
    next.write(&*journal.superblock_file, &path)?;
    journal.superblock = next;
    // Only now may the old half be overwritten.
    journal.log.release();
    if state == State::Clean {
        // The data files are cut when the background threads are dropped: until then readers may load any byte of the
        // mapping.
        let initial = journal.log.initial();
        journal.log.trim(initial)?;
    } else {
        // The half is far larger than what it held: a burst is over, although writers are still active.
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

/// The lengths of the files of a closed database: as far as they are in use, in whole extents.
fn kept(shared: &Shared, lengths: [u64; 2]) -> [u64; 2] {
    let space = &shared.storage().space;
    space.settle();
    let used = [u64::from(space.block_frontier()) * space.block_bytes(), space.record_frontier()];
    std::array::from_fn(|area| lengths[area].min(used[area].next_multiple_of(SMALL_EXTENT)))
}

/// Applies the records of the half that is to be released to the files.
fn apply(shared: &Shared, medium: &Journaled) -> Result<()> {
    let (uuid, start, end) = {
        let journal = shared.journal();
        (journal.superblock.uuid, journal.superblock.log_start, journal.log.start())
    };
    // Only what lies before the switch: the group-commit thread keeps writing after it.
    replay_until(&*medium.vfs, &medium.dir, &uuid, start, end, |_, loc, bytes| {
        let (area, offset) = parts(loc);
        write_all_at(&*medium.files[area as usize], bytes, offset)
            .map_err(|error| MediumError::io("applying the log to", &area_path(&medium.dir, area), error))
    })?;
    Ok(())
}
