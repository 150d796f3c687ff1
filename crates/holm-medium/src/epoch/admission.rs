//! Admission: which operations may write now, and which wait for the disk or are refused.

#![forbid(unsafe_code)]

use super::backpressure::Backpressure;
use super::label::Epoch;
use super::labels::Labels;
use super::requests::Requests;
use crate::error::{MediumError, Result};
use crate::sync::atomic::{AtomicU8, Ordering};
use crossbeam_utils::CachePadded;
use std::sync::atomic::AtomicU64 as Count;

const OPEN: u8 = 0;
/// Set until the lines of an epoch are taken.
const THROTTLED: u8 = 1;
/// Set until there is room for the log.
const FULL: u8 = 2;
/// Set for good.
const SHUT: u8 = 4;

/// The gate before the operations that write.
pub(super) struct Admission {
    /// No bit set: open. Each operation that writes reads it.
    gate: CachePadded<AtomicU8>,
    backpressure: Backpressure,
    throttled_writes: Count,
}

impl Admission {
    /// Open, and without a limit.
    pub(super) fn new() -> Self {
        Admission {
            gate: CachePadded::new(AtomicU8::new(OPEN)),
            backpressure: Backpressure::unlimited(),
            throttled_writes: Count::new(0),
        }
    }

    /// Whether no operation has to wait.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.gate.load(Ordering::Relaxed) == OPEN
    }

    /// Whether the gate was shut for good.
    pub(super) fn is_shut(&self) -> bool {
        self.gate.load(Ordering::SeqCst) & SHUT != 0
    }

    /// Shuts the gate for good: each operation looks at the reason before it waits.
    pub(super) fn shut(&self) {
        self.gate.fetch_or(SHUT, Ordering::SeqCst);
    }

    /// Counts bytes that are about to be written, once the gate and the limit allow it.
    pub(super) fn pass(&self, bytes: u64, labels: &Labels, requests: &Requests) -> Result<()> {
        if self.is_open() && self.backpressure.try_reserve(bytes) {
            return Ok(());
        }
        let mut asked = requests.lock();
        let refusals = asked.refusals;
        let mut throttled = false;
        loop {
            labels.failure().refuse_if_ended()?;
            asked.refused(refusals)?;
            let full = self.gate.load(Ordering::Relaxed) & FULL != 0;
            if asked.stop || (!full && self.backpressure.try_reserve(bytes)) {
                return Ok(());
            }
            if !full {
                // Set under the lock under which it is cleared: the thread that takes the lines next sees it and wakes
                // this one.
                self.gate.fetch_or(THROTTLED, Ordering::Relaxed);
                self.throttled_writes.fetch_add(u64::from(!throttled), Ordering::Relaxed);
                throttled = true;
                requests.want(&mut asked, labels.active());
            }
            asked = requests.wait(asked);
        }
    }

    /// Assigns counted bytes to an epoch, which the caller has pinned or holds.
    pub(super) fn assign(&self, epoch: Epoch, bytes: u64) {
        self.backpressure.assign(epoch, bytes);
    }

    /// Cancels counted bytes that will not be written.
    pub(super) fn cancel(&self, bytes: u64) {
        self.backpressure.cancel(bytes);
    }

    /// Sets how many bytes the open epochs may be asked to write before writers are throttled.
    pub(super) fn limit(&self, bytes: u64) {
        self.backpressure.limit(bytes);
    }

    /// How often an operation was throttled at the limit.
    pub(super) fn throttled_writes(&self) -> u64 {
        self.throttled_writes.load(Ordering::Relaxed)
    }

    /// Releases the bytes of an ended epoch, whose lines have been taken, and admits the operations that wait for that.
    pub(super) fn release(&self, ended: Epoch, requests: &Requests) {
        self.backpressure.release(ended);
        let asked = requests.lock();
        if self.gate.fetch_and(!THROTTLED, Ordering::Relaxed) & THROTTLED != 0 {
            drop(asked);
            requests.wake();
        }
    }

    /// Refuses operations for now, for want of space.
    pub(super) fn refuse(&self, why: &MediumError, requests: &Requests) {
        let mut asked = requests.lock();
        asked.refusal = Some(why.clone());
        asked.refusals += 1;
        self.gate.fetch_or(FULL, Ordering::Relaxed);
        drop(asked);
        requests.wake();
    }

    /// Ends what [`Admission::refuse`] began.
    pub(super) fn accept(&self, requests: &Requests) {
        if self.gate.load(Ordering::Relaxed) & FULL != 0 {
            let mut asked = requests.lock();
            asked.refusal = None;
            self.gate.fetch_and(!FULL, Ordering::Relaxed);
            drop(asked);
            requests.wake();
        }
    }
}
