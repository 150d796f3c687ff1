//! Appends the record of an epoch to the log, and makes room for it there.

#![forbid(unsafe_code)]

use super::log_segment::add_segment;
use super::log_size;
use super::state::{Journal, Shared};
use crate::error::{MediumError, Result};
use crate::log::EpochRecord;
use crate::sync::MutexGuard;

/// Appends to the log if it has room, without waiting. Returns whether it has; otherwise the record stays as it is.
pub(super) fn append_if_there_is_room(shared: &Shared, epoch_record: &mut EpochRecord) -> Result<bool> {
    let mut journal = shared.journal();
    let due_at = aim(shared, &mut journal, epoch_record)?;
    let is_appended = try_append(shared, &mut journal, epoch_record, due_at)?.is_none();
    if is_appended {
        accept(shared, journal);
    }
    Ok(is_appended)
}

/// Appends to the log; when that is full, once a checkpoint has released segments.
pub(super) fn append(shared: &Shared, epoch_record: &mut EpochRecord) -> Result<()> {
    let mut journal = shared.journal();
    let due_at = aim(shared, &mut journal, epoch_record)?;
    let mut tried = Tried::default();
    while let Some(error) = try_append(shared, &mut journal, epoch_record, due_at)? {
        journal = make_room(shared, journal, epoch_record.padded_len(), error, &mut tried)?;
    }
    accept(shared, journal);
    Ok(())
}

/// Lets writers go on whom an earlier refusal has stopped, without the lock: functions that are called for the news may
/// look at the journal.
fn accept(shared: &Shared, journal: MutexGuard<'_, Journal>) {
    drop(journal);
    shared.storage().clock.accept();
}

/// Aims at the size that segments are to have, and adds one if the log needs it. Returns how many bytes of the log make
/// a checkpoint due.
fn aim(shared: &Shared, journal: &mut Journal, epoch_record: &EpochRecord) -> Result<u64> {
    let due_at = log_size::due_at(shared, journal);
    journal.log.aim_at(log_size::segment(due_at));
    add_segment(shared, journal, epoch_record.padded_len())?;
    Ok(due_at)
}

/// Appends to the log as it is. Returns an error for which it may lack room; the record then stays as it is.
fn try_append(
    shared: &Shared,
    journal: &mut Journal,
    epoch_record: &mut EpochRecord,
    due_at: u64,
) -> Result<Option<MediumError>> {
    match journal.log.append(epoch_record) {
        Err(error) if error.is_log_full() || (error.is_no_space() && !journal.log.is_poisoned()) => Ok(Some(error)),
        Err(error) => Err(error),
        Ok(()) => {
            journal.epoch = epoch_record.epoch();
            epoch_record.places().for_each(|(loc, bytes)| journal.touched.mark(loc, bytes));
            if journal.log.used_bytes() > due_at && !journal.log.awaits_release() {
                shared.request_checkpoint();
            }
            Ok(None)
        }
    }
}

/// What has been tried already to make room for a record. Each step helps once or not at all.
#[derive(Default)]
struct Tried {
    switches: u32,
    trimmed: bool,
}

/// Takes one step that may let the log take a record of `bytes` bytes, or waits for it. The record stays as it is and
/// its epoch unpublished. Meanwhile writers are throttled, and waiters get an error if nothing but space will help.
fn make_room<'a>(
    shared: &'a Shared,
    mut journal: MutexGuard<'a, Journal>,
    bytes: u64,
    error: MediumError,
    tried: &mut Tried,
) -> Result<MutexGuard<'a, Journal>> {
    let postponed = shared.postponed();
    let is_free = !journal.log.awaits_release();
    // Switch to a free segment if the record fits. If it does not, switch so that a checkpoint releases this one, which
    // may be larger.
    let helps = error.is_log_full() || journal.log.used_bytes() > 0 || bytes <= journal.log.spare_capacity();
    if is_free && tried.switches < 2 && helps {
        tried.switches += 1;
        journal.switch()?;
        shared.request_checkpoint();
    } else if is_free && !tried.trimmed {
        // What free segments have beyond a page is on the full disk.
        tried.trimmed = true;
        journal.log.trim(0)?;
    } else if !is_free && postponed.is_none() {
        shared.request_checkpoint();
        journal = shared.wait_for_checkpoint(journal);
        shared.refuse_if_failed()?;
    } else {
        let error = postponed.unwrap_or(error);
        let clock = &shared.storage().clock;
        // Functions that are called for the news may look at the journal.
        drop(journal);
        clock.refuse(&error);
        // After the refusal: a checkpoint that fails from now on is another attempt. Without this, one that failed
        // before the caller freed space would be counted again and again until the next one begins.
        shared.forget_postponed();
        if clock.is_stopped() {
            return Err(error);
        }
        journal = shared.wait_for_checkpoint(shared.journal());
        shared.refuse_if_failed()?;
    }
    Ok(journal)
}
