//! The thread that ends epochs: raises the clock, copies what the ended epoch dirtied, writes one record, publishes.
//!
//! Writers go on meanwhile. A line copied here may already hold stores of the next epoch; a design that defers keeps
//! versions, so they do no harm, and for the others the writers are stopped while lines are copied.

use super::due;
use super::keeper::Shared;
use crate::epoch::Epoch;
use crate::error::Result;
use crate::loc::LINE;
use crate::log::RecordBuffer;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

/// A record's buffer that is no larger is never given back.
const SMALL_BUFFER: u64 = 256 << 10;

/// Ends epochs until the clock is stopped; the last one after that.
pub(super) fn run(shared: &Shared) {
    let mut record = RecordBuffer::new();
    // About the greatest length of late; each record makes it forget a sixteenth.
    let mut usual = 0;
    let mut last = Instant::now();
    loop {
        let stopped = shared.pool().clock.sleep(shared.pace().interval().map(|interval| last + interval));
        last = Instant::now();
        if shared.refuse_if_failed().is_err() {
            // Another thread has met a failure: nothing is acknowledged after it.
            return;
        }
        if let Err(error) = tick(shared, &mut record, stopped) {
            shared.fail(&error);
            return;
        }
        usual = record.padded_len().max(usual - usual / 16);
        if record.memory() > SMALL_BUFFER.max(4 * usual) {
            // One large value, or a load that is over, must not keep its memory for ever.
            record = RecordBuffer::new();
        }
        if stopped {
            return;
        }
    }
}

/// One epoch's end.
fn tick(shared: &Shared, record: &mut RecordBuffer, last: bool) -> Result<()> {
    let clock = &shared.pool().clock;
    let started = Instant::now();
    let ended = if last {
        let ended = clock.shut("it was closed");
        collect(shared, record, ended);
        ended
    } else if shared.defers() {
        let ended = clock.raise();
        let cut = started.elapsed();
        shared.house().longest_cut_ns.fetch_max(cut.as_nanos() as u64, Relaxed);
        collect(shared, record, ended);
        ended
    } else {
        let ended = clock.raise_stopped(|ended| collect(shared, record, ended));
        shared.house().longest_cut_ns.fetch_max(started.elapsed().as_nanos() as u64, Relaxed);
        ended
    };
    if !record.is_empty() {
        let started = Instant::now();
        append(shared, record)?;
        shared.house().longest_sync_ns.fetch_max(started.elapsed().as_nanos() as u64, Relaxed);
        shared.house().records.fetch_add(1, Relaxed);
        shared.house().log_bytes.fetch_add(record.padded_len(), Relaxed);
    }
    // After the record is durable: published first, a power cut could take back what a waiter has acknowledged.
    clock.publish(ended);
    Ok(())
}

fn collect(shared: &Shared, record: &mut RecordBuffer, ended: Epoch) {
    let medium = &shared.pool().medium;
    record.begin(ended);
    shared.pool().clock.drain(ended, |line, count| {
        record.push_with(line * LINE, (count * LINE) as usize, |out| medium.copy_lines(line, out));
    });
}

/// Into the active half; when that is full, into the other one, once the checkpoint has let go of it.
fn append(shared: &Shared, record: &mut RecordBuffer) -> Result<()> {
    let mut journal = shared.journal();
    loop {
        match journal.log.append(record) {
            Err(full) if full.is_log_full() => {
                if journal.log.is_other_needed() {
                    shared.ask();
                    journal = shared.wait_for_checkpoint(journal);
                    shared.refuse_if_failed()?;
                } else {
                    journal.switch()?;
                    shared.ask();
                }
            }
            Err(error) => return Err(error),
            Ok(()) => {
                journal.epoch = record.epoch();
                if journal.log.used_bytes() > due::due_at(shared, &journal) && !journal.log.is_other_needed() {
                    shared.ask();
                }
                return Ok(());
            }
        }
    }
}
