//! The group-commit thread: advances the clock, copies what the ended epoch dirtied, writes one record, publishes the
//! epoch.
//!
//! Writers continue meanwhile. A line copied here may already hold stores of the next epoch. A design that persists
//! per epoch keeps versions, so these stores do no harm. For other designs the writers are stopped while lines are
//! copied.

use super::log_segment::add_segment;
use super::log_size;
use super::state::{Journal, Shared};
use crate::epoch::Epoch;
use crate::error::{MediumError, Result};
use crate::loc::LINE;
use crate::log::EpochRecord;
use crate::superblock::ImageKind;
use crate::sync::Instant;
use crate::sync::MutexGuard;
use crate::sync::atomic::Ordering::Relaxed;

/// Runs of dirty lines that are on their way to the cache while others are copied: about as many as a core asks for at
/// once.
const AHEAD: usize = 16;

/// A record buffer of at most this many bytes is always kept.
const SMALL_BUFFER: u64 = 256 << 10;

/// Tells the observer, and those who wait for an epoch, that no further one becomes durable; also after a panic.
struct Ending<'a> {
    shared: &'a Shared,
    why: Option<MediumError>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if let Some(observer) = self.shared.observer() {
            observer.ended(self.why.as_ref());
        }
        self.shared.storage().clock.end_waits();
    }
}

/// Ends epochs until the clock is stopped, and one last epoch after that.
pub(super) fn run(shared: &Shared) {
    let died = MediumError::Died { thread: "the group-commit thread", why: "it panicked".into() };
    let mut ending = Ending { shared, why: Some(died) };
    ending.why = end_epochs(shared).err();
}

/// The loop. Returns the error after which nothing is acknowledged.
fn end_epochs(shared: &Shared) -> Result<()> {
    let mut epoch_record = EpochRecord::new();
    // About the greatest recent length; it decays by a sixteenth with each record.
    let mut usual = 0;
    let mut last = Instant::now();
    shared.counters().not_durable_since(last);
    loop {
        let stopped =
            shared.storage().clock.sleep(shared.pace().interval().and_then(|interval| last.checked_add(interval)));
        last = Instant::now();
        // Another thread may have met a failure: nothing is acknowledged after it.
        shared.refuse_if_failed()?;
        let ended = if stopped {
            end_last_epoch(shared, &mut epoch_record)
        } else if shared.per_epoch() {
            end_epoch(shared, &mut epoch_record)
        } else {
            end_epoch_stopped(shared, &mut epoch_record)
        };
        if let Err(error) = make_durable(shared, &mut epoch_record, ended, last) {
            end(shared, &epoch_record, &error);
            return Err(error);
        }
        usual = epoch_record.padded_len().max(usual - usual / 16);
        if epoch_record.memory() > SMALL_BUFFER.max(4 * usual) {
            // One large value, or a load that is over, must not keep its memory forever.
            epoch_record = EpochRecord::new();
        }
        if stopped {
            return Ok(());
        }
    }
}

/// Ends an epoch while writers continue, and copies its lines.
fn end_epoch(shared: &Shared, epoch_record: &mut EpochRecord) -> Epoch {
    let started = Instant::now();
    let ended = shared.storage().clock.advance();
    shared.counters().longest_pin_wait_ns.fetch_max(started.elapsed().as_nanos() as u64, Relaxed);
    collect(shared, epoch_record, ended);
    ended
}

/// Ends an epoch and copies its lines while the writers are stopped, for designs without versions.
fn end_epoch_stopped(shared: &Shared, epoch_record: &mut EpochRecord) -> Epoch {
    let started = Instant::now();
    let ended = shared.storage().clock.advance_stopped(|ended| collect(shared, epoch_record, ended));
    shared.counters().longest_pin_wait_ns.fetch_max(started.elapsed().as_nanos() as u64, Relaxed);
    ended
}

/// Ends the last epoch of the session, after which no operation pins, and copies its lines.
fn end_last_epoch(shared: &Shared, epoch_record: &mut EpochRecord) -> Epoch {
    let ended = shared.storage().clock.shut("it was closed");
    collect(shared, epoch_record, ended);
    ended
}

/// Writes the record of an ended epoch, and publishes the epoch. The next one began after the moment `next`.
fn make_durable(shared: &Shared, epoch_record: &mut EpochRecord, ended: Epoch, next: Instant) -> Result<()> {
    let clock = &shared.storage().clock;
    if let Some(error) = clock.poisoned() {
        // The end of the epoch has waited for the operation that failed, so an interrupted batch belongs to this
        // epoch. If the epoch were logged, recovery from a power cut would find the batch segment done.
        return Err(error.clone());
    }
    if !epoch_record.is_empty() {
        let started = Instant::now();
        shared.counters().record_in_writing.store(epoch_record.padded_len(), Relaxed);
        append(shared, epoch_record)?;
        shared.counters().longest_sync_ns.fetch_max(started.elapsed().as_nanos() as u64, Relaxed);
        shared.counters().log_records.fetch_add(1, Relaxed);
        shared.counters().log_bytes.fetch_add(epoch_record.padded_len(), Relaxed);
        shared.counters().largest_log_record.fetch_max(epoch_record.padded_len(), Relaxed);
    }
    if let Some(observer) = shared.observer()
        && observer.is_listening()
    {
        // After the record is durable: what the observer passes on cannot be undone by a power cut. Before the epoch is
        // published, and so before the next one can end: the observer reads states that the epoch after next reuses.
        observer.epoch_durable(ended, &mut epoch_record.places());
    }
    // Before a waiter of the epoch can ask what is not durable.
    shared.counters().record_in_writing.store(0, Relaxed);
    shared.counters().not_durable_since(next);
    // After the record is durable: if the epoch were published first, a power cut could undo what a waiter has
    // acknowledged.
    clock.publish(ended);
    Ok(())
}

fn collect(shared: &Shared, epoch_record: &mut EpochRecord, ended: Epoch) {
    let medium = &shared.storage().medium;
    epoch_record.begin(ended);
    let mut copy = |(line, count): (u64, u64)| {
        epoch_record.push_with(line * LINE, (count * LINE) as usize, |out| medium.copy_lines(line, out));
    };
    // Other processors have written these lines: they are asked for before those ahead of them are copied.
    let (mut runs, mut next) = ([(0, 0); AHEAD], 0);
    shared.storage().clock.drain(ended, |line, count| {
        medium.prefetch_lines(line, count);
        let earlier = std::mem::replace(&mut runs[next % AHEAD], (line, count));
        next += 1;
        copy(earlier);
    });
    (next..next + AHEAD).for_each(|index| copy(runs[index % AHEAD]));
}

/// Handles an error in writing the record of an epoch.
fn end(shared: &Shared, epoch_record: &EpochRecord, error: &MediumError) {
    let mut journal = shared.journal();
    let ended = shared.storage().clock.is_stopped() && shared.refuse_if_failed().is_ok();
    // A batch was interrupted: files and log are consistent, and the next open completes the batch.
    let interrupted = shared.storage().clock.poisoned().is_some() && shared.refuse_if_failed().is_ok();
    let doubtful = !(error.is_no_space() && ended || interrupted) || journal.log.is_poisoned();
    if !doubtful && !interrupted && shared.storage().medium.kind == ImageKind::Shared {
        // No operation writes any more, and the data files are about to be synced as a whole: closing needs no record
        // of what they hold. Threads that waited for this epoch have received the error.
        ::log::warn!("holm: {}: {error}; closing without the log", shared.storage().medium.dir.display());
        journal.epoch = epoch_record.epoch();
        return;
    }
    drop(journal);
    if doubtful { shared.fail(error) } else { shared.give_up(error) }
}

/// Appends to the log; when that is full, once a checkpoint has released segments.
fn append(shared: &Shared, epoch_record: &mut EpochRecord) -> Result<()> {
    let mut journal = shared.journal();
    let due_at = log_size::due_at(shared, &journal);
    journal.log.aim_at(log_size::segment(due_at));
    add_segment(shared, &mut journal, epoch_record.padded_len())?;
    let mut tried = Tried::default();
    loop {
        match journal.log.append(epoch_record) {
            Err(error) if error.is_log_full() || (error.is_no_space() && !journal.log.is_poisoned()) => {
                journal = make_room(shared, journal, epoch_record.padded_len(), error, &mut tried)?;
            }
            Err(error) => return Err(error),
            Ok(()) => {
                shared.storage().clock.accept();
                journal.epoch = epoch_record.epoch();
                epoch_record.places().for_each(|(loc, bytes)| journal.touched.mark(loc, bytes));
                if journal.log.used_bytes() > due_at && !journal.log.awaits_release() {
                    shared.request_checkpoint();
                }
                return Ok(());
            }
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
        clock.refuse(&error);
        // After the refusal: a checkpoint that fails from now on is another attempt. Without this, one that failed
        // before the caller freed space would be counted again and again until the next one begins.
        shared.forget_postponed();
        if clock.is_stopped() {
            return Err(error);
        }
        journal = shared.wait_for_checkpoint(journal);
        shared.refuse_if_failed()?;
    }
    Ok(journal)
}
