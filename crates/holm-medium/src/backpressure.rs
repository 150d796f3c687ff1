//! What the open epochs have been asked to write, so that no epoch's record can outgrow what a record may be.
//!
//! Each operation says how many bytes it will dirty *before* it is let in; those of an epoch are forgotten when its
//! lines have been taken for its record. While the sum is at its limit nobody is let in, so it exceeds the limit by one
//! operation at most, and by what threads have saved up: small operations are counted in lots, for a shared counter at
//! each put would cost more than the put. Who waits, and for what, is left to the clock.

use crate::epoch::Epoch;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of small operations that a thread may have done before it counts them.
pub(crate) const LOT: u64 = 64 << 10;

/// Bytes of leaf lines that an operation counts beside its record. It dirties three lines and rarely a block or two,
/// but shares them with its neighbours: at the worst a record has twice what was counted.
pub(crate) const LEAF_LINES: u64 = 128;

pub(crate) struct Backpressure {
    limit: AtomicU64,
    total: AtomicU64,
    /// The part of `total` that belongs to each of the two open epochs.
    of_epoch: [AtomicU64; 2],
}

impl Backpressure {
    /// Without a limit: media that flush each line have no records.
    pub(crate) fn unlimited() -> Self {
        Backpressure {
            limit: AtomicU64::new(u64::MAX),
            total: AtomicU64::new(0),
            of_epoch: [const { AtomicU64::new(0) }; 2],
        }
    }

    pub(crate) fn limit(&self, bytes: u64) {
        self.limit.store(bytes, Relaxed);
    }

    /// Counts `bytes`, unless the limit has been reached. Large enough or not, whoever finds it open is let in:
    /// otherwise something larger than the limit would wait for ever.
    pub(crate) fn try_reserve(&self, bytes: u64) -> bool {
        let limit = self.limit.load(Relaxed);
        self.total.fetch_update(Relaxed, Relaxed, |total| (total < limit).then(|| total.saturating_add(bytes))).is_ok()
    }

    /// What was counted turns out to be an epoch's. The caller pins it, or holds the clock.
    pub(crate) fn assign(&self, epoch: Epoch, bytes: u64) {
        self.of_epoch[(epoch & 1) as usize].fetch_add(bytes, Relaxed);
    }

    /// What was counted is not going to be done.
    pub(crate) fn cancel(&self, bytes: u64) {
        let _ = self.total.fetch_update(Relaxed, Relaxed, |total| Some(total.saturating_sub(bytes)));
    }

    /// The lines of an epoch have been taken, and none of its operations is under way.
    pub(crate) fn release(&self, epoch: Epoch) {
        let of_epoch = self.of_epoch[(epoch & 1) as usize].swap(0, Relaxed);
        // Not below zero: after a stop everybody is let in uncounted, to be turned away further on.
        let _ = self.total.fetch_update(Relaxed, Relaxed, |total| Some(total.saturating_sub(of_epoch)));
    }
}
