//! The end of one epoch: advances the clock, copies what the ended epoch dirtied, writes one record, publishes the
//! epoch.
//!
//! Writers continue meanwhile. A line copied here may already hold stores of the next epoch. A design that persists
//! per epoch keeps versions, so these stores do no harm. For other designs the writers are stopped while lines are
//! copied.

#![forbid(unsafe_code)]

use super::append::{append, append_if_there_is_room};
use super::commit_state::CommitState;
use super::state::Shared;
use crate::epoch::Epoch;
use crate::error::{MediumError, Result};
use crate::loc::LINE;
use crate::log::EpochRecord;
use crate::superblock::ImageKind;
use crate::sync::Instant;
use crate::sync::atomic::Ordering::Relaxed;

/// Runs of dirty lines that are on their way to the cache while others are copied: about as many as a core asks for at
/// once.
const AHEAD: usize = 16;

/// Ends the active epoch and copies its lines: while writers continue, or, for designs without versions, while
/// they are stopped. The earlier epoch is durable.
pub(super) fn end_epoch(shared: &Shared, state: &mut CommitState) {
    let clock = &shared.storage().clock;
    state.active_since = Instant::now();
    let ended = if shared.per_epoch() {
        let ended = clock.advance();
        count_wait(shared, state.active_since);
        collect(shared, &mut state.epoch_record, ended);
        ended
    } else {
        let ended = clock.advance_stopped(|ended| collect(shared, &mut state.epoch_record, ended));
        count_wait(shared, state.active_since);
        ended
    };
    state.ended = Some(ended);
}

fn count_wait(shared: &Shared, since: Instant) {
    let waited = since.elapsed().as_nanos() as u64;
    shared.counters().longest_pin_wait_ns.fetch_max(waited, Relaxed);
}

/// Ends the last epoch of the session, after which no operation pins, and copies its lines.
pub(super) fn end_last_epoch(shared: &Shared, state: &mut CommitState) {
    state.active_since = Instant::now();
    let ended = shared.storage().clock.shut("it was closed");
    collect(shared, &mut state.epoch_record, ended);
    state.ended = Some(ended);
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

/// Makes the epoch that has ended durable, and waits for room in the log.
///
/// # Errors
/// Nothing is acknowledged after one, and this has said so: to the waiters, and to the next open if data are in
/// doubt.
pub(super) fn make_durable(shared: &Shared, state: &mut CommitState) -> Result<()> {
    let append = |shared: &Shared, epoch_record: &mut EpochRecord| append(shared, epoch_record).map(|()| true);
    let failed = state.failure.take().map_or(Ok(()), Err);
    failed.and_then(|()| write(shared, state, append)).inspect_err(|error| give_up(shared, state, error)).map(drop)
}

/// The same, if the log has room. Returns whether the epoch is durable. After an error, [`CommitState::fail`].
pub(super) fn make_durable_if_there_is_room(shared: &Shared, state: &mut CommitState) -> Result<bool> {
    write(shared, state, append_if_there_is_room)
}

/// Writes the record of the epoch that has ended, and publishes the epoch. Returns whether the record could be
/// appended.
fn write(
    shared: &Shared,
    state: &mut CommitState,
    append: impl FnOnce(&Shared, &mut EpochRecord) -> Result<bool>,
) -> Result<bool> {
    let Some(ended) = state.ended else { return Ok(true) };
    let (clock, counters) = (&shared.storage().clock, shared.counters());
    if let Some(error) = clock.poisoned() {
        // The end of the epoch has waited for the operation that failed, so an interrupted batch belongs to this
        // epoch. If the epoch were logged, recovery from a power cut would find the batch segment done.
        return Err(error.clone());
    }
    let epoch_record = &mut state.epoch_record;
    if !epoch_record.is_empty() {
        let (started, bytes) = (Instant::now(), epoch_record.padded_len());
        counters.record_in_writing.store(bytes, Relaxed);
        if !append(shared, epoch_record)? {
            return Ok(false);
        }
        counters.longest_sync_ns.fetch_max(started.elapsed().as_nanos() as u64, Relaxed);
        counters.log_records.fetch_add(1, Relaxed);
        counters.log_bytes.fetch_add(bytes, Relaxed);
        counters.largest_log_record.fetch_max(bytes, Relaxed);
    }
    if let Some(observer) = shared.observer()
        && observer.is_listening()
    {
        // After the record is durable: what the observer passes on cannot be undone by a power cut. Before the
        // epoch is published, and so before the next one can end: the observer reads states that the epoch after
        // next reuses.
        observer.epoch_durable(ended, &mut epoch_record.places());
    }
    // Before a waiter of the epoch can ask what is not durable.
    counters.record_in_writing.store(0, Relaxed);
    counters.not_durable_since(state.active_since);
    // After the record is durable: if the epoch were published first, a power cut could undo what a waiter has
    // acknowledged.
    clock.publish(ended);
    state.finish();
    Ok(true)
}

/// Handles an error in making an epoch durable.
fn give_up(shared: &Shared, state: &CommitState, error: &MediumError) {
    let mut journal = shared.journal();
    let ended = shared.storage().clock.is_stopped() && shared.refuse_if_failed().is_ok();
    // A batch was interrupted: files and log are consistent, and the next open completes the batch.
    let interrupted = shared.storage().clock.poisoned().is_some() && shared.refuse_if_failed().is_ok();
    let doubtful = !(error.is_no_space() && ended || interrupted) || journal.log.is_poisoned();
    if !doubtful && !interrupted && shared.storage().medium.kind == ImageKind::Shared {
        // No operation writes any more, and the data files are about to be synced as a whole: closing needs no
        // record of what they hold. Threads that waited for this epoch have received the error.
        ::log::warn!("holm: {}: {error}; closing without the log", shared.storage().medium.dir.display());
        journal.epoch = state.epoch_record.epoch();
        return;
    }
    drop(journal);
    if doubtful { shared.fail(error) } else { shared.give_up(error) }
}
