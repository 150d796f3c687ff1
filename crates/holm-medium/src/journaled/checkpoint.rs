//! A checkpoint: brings everything up to an epoch into the data files, so that the log before it can be reused.
//!
//! Shared image: the kernel has the bytes, and one sync writes them. Starting their write-back earlier, in pieces,
//! writes each page in use more than once, and makes its writers fault each time. Where all pages are in use, that
//! gives three times the faults and less throughput, and syncs of the log take no less time.
//!
//! Private image: the log holds every line since the last checkpoint exactly as it was at the end of an epoch, so the
//! checkpoint applies the log to the files. After a crash in the middle, recovery finds the old superblock and the
//! same log, and applies the log again. This is exact for every design, with or without versions.
//!
//! Here: the checkpoint of a database in use, and the steps that it shares with closing (`close.rs`).

use super::data_files::{Journaled, area_path};
use super::log_size;
use super::state::{Journal, Shared};
use crate::epoch::Epoch;
use crate::error::{MediumError, Result};
use crate::loc::parts;
use crate::log::replay_until;
use crate::superblock::{ImageKind, State, Superblock, superblock_path};
use crate::sync::MutexGuard;
use crate::sync::atomic::Ordering::Relaxed;
use crate::vfs::write_all_at;

/// Takes a checkpoint, if the log holds anything.
pub(super) fn checkpoint(shared: &Shared) -> Result<()> {
    let epoch = {
        let mut journal = shared.journal();
        if journal.log.used_bytes() == 0 && !journal.log.awaits_release() {
            return Ok(());
        }
        leave_segments(&mut journal)?
    };
    release_segments(shared, epoch)
}

/// Brings what the segments that were left hold, up to `epoch`, into the data files and releases them; postpones that
/// for want of space. Other segments may get records meanwhile.
pub(super) fn release_segments(shared: &Shared, epoch: Epoch) -> Result<()> {
    let medium = &shared.storage().medium;
    match apply_log(shared, medium) {
        // Nothing is synced yet and the old segments are intact: they are applied again when there is space.
        Err(error) if error.is_no_space() => {
            shared.postpone(error);
            return Ok(());
        }
        applied => applied?,
    }
    // Measured before the sync: later growth is not yet durable.
    let lengths = medium.lengths()?;
    medium.sync_data()?;
    let mut journal = commit(shared, CheckpointMark { epoch, state: State::Dirty, lengths, leaves_sum: 0 })?;
    // Segments may be far larger than what the log held: a burst is over, although writers are still active.
    let keep = (2 * journal.given_up).max(log_size::kept(shared, &journal));
    if journal.log.largest_free() > 4 * keep {
        journal.log.trim(keep)?;
    }
    journal.log.trim_unused()?;
    finish(shared, journal);
    Ok(())
}

/// What the data files hold durably.
pub(super) struct CheckpointMark {
    /// Everything up to this epoch.
    pub(super) epoch: Epoch,
    /// The state of the database from now on.
    pub(super) state: State,
    /// The lengths of the files, in bytes.
    pub(super) lengths: [u64; 2],
    /// The checksum of the leaves, for a clean database.
    pub(super) leaves_sum: u32,
}

/// Switches to a free segment, unless an earlier switch has left segments that no checkpoint has released yet. Returns
/// the last epoch of those that are left.
pub(super) fn leave_segments(journal: &mut Journal) -> Result<Epoch> {
    if !journal.log.awaits_release() {
        journal.switch()?;
    }
    Ok(journal.until)
}

/// Applies the records of the segments that are left to the files of a private image. The kernel has the bytes of a
/// shared one.
pub(super) fn apply_log(shared: &Shared, medium: &Journaled) -> Result<()> {
    if medium.kind != ImageKind::Private {
        return Ok(());
    }
    let (superblock, end) = {
        let journal = shared.journal();
        (journal.superblock.clone(), journal.log.start())
    };
    let files = superblock.log_files(&medium.dir);
    // Only what lies before the switch: the group-commit thread keeps writing after it.
    replay_until(&*medium.vfs, files, superblock.log_start, end, |_, loc, bytes| {
        let (area, offset) = parts(loc);
        write_all_at(&*medium.files[area as usize], bytes, offset)
            .map_err(|error| MediumError::io("applying the log to", &area_path(&medium.dir, area), error))
    })?;
    Ok(())
}

/// Writes the superblock, and releases the segments that were left.
///
/// # Errors
/// The failure of another thread: the database is marked, and what the log has must stay there.
pub(super) fn commit(shared: &Shared, mark: CheckpointMark) -> Result<MutexGuard<'_, Journal>> {
    let CheckpointMark { epoch, state, lengths, leaves_sum } = mark;
    let mut journal = shared.journal();
    // Under the lock under which the mark of a failure is written: this superblock must not take its place.
    shared.refuse_if_failed()?;
    // Recovery would replay what the files hold, or miss what they lack.
    let last = journal.superblock.epoch;
    assert!(last <= epoch && epoch <= journal.epoch, "a checkpoint of {epoch} outside of {last}..={}", journal.epoch);
    let start = journal.log.start();
    let path = superblock_path(&shared.storage().medium.dir);
    let next = Superblock { epoch, log_start: start, state, lengths, leaves_sum, ..journal.superblock.clone() };
    // After the data: if the superblock were written first, a crash would start the replay after lines that no file
    // has.
    let Journal { superblock, superblock_file, .. } = &mut *journal;
    superblock.replace(next, &**superblock_file, &path)?;
    // Only now may the old segments be overwritten.
    journal.log.release();
    journal.lacks_room_for_segments = false;
    Ok(journal)
}

/// Counts the checkpoint, and wakes the threads that wait for it.
pub(super) fn finish(shared: &Shared, journal: MutexGuard<'_, Journal>) {
    shared.counters().checkpoints.fetch_add(1, Relaxed);
    shared.counters().write_back_bytes.fetch_add(journal.to_write, Relaxed);
    drop(journal);
    shared.checkpoint_done();
}
