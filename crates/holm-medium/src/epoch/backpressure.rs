//! Write backpressure: the bytes that the open epochs have been asked to write, against a limit, so that the record of
//! an epoch never exceeds the largest size of a record.
//!
//! Each operation states how many bytes it will dirty *before* it is admitted. The bytes of an epoch are released when
//! its lines have been taken for its record. While the sum is at the limit no operation is admitted. The sum exceeds
//! the limit by one operation at most, and by what threads have accumulated. Small operations are counted in lots,
//! since a shared counter at each put would cost more than the put. The clock decides which operations wait, and for
//! what.

use super::label::Epoch;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of small operations that a thread may accumulate before it counts them.
pub(super) const LOT: u64 = 64 << 10;

/// Bytes of leaf lines that an operation counts besides its record. An operation dirties three lines, and rarely one
/// or two blocks, but shares them with neighbouring operations. In the worst case a record has twice the bytes that
/// were counted.
pub(super) const LEAF_LINES: u64 = 128;

pub(super) struct Backpressure {
    limit: AtomicU64,
    total: AtomicU64,
    /// The part of `total` that belongs to each of the two open epochs.
    of_epoch: [AtomicU64; 2],
}

impl Backpressure {
    /// Without a limit: media that flush each line have no records.
    pub(super) fn unlimited() -> Self {
        Backpressure {
            limit: AtomicU64::new(u64::MAX),
            total: AtomicU64::new(0),
            of_epoch: [const { AtomicU64::new(0) }; 2],
        }
    }

    pub(super) fn limit(&self, bytes: u64) {
        self.limit.store(bytes, Relaxed);
    }

    /// Counts `bytes`, unless the sum has reached the limit. Below the limit an operation of any size is admitted:
    /// otherwise an operation larger than the limit would wait forever.
    pub(super) fn try_reserve(&self, bytes: u64) -> bool {
        let limit = self.limit.load(Relaxed);
        self.total.fetch_update(Relaxed, Relaxed, |total| (total < limit).then(|| total.saturating_add(bytes))).is_ok()
    }

    /// Assigns counted bytes to an epoch, which the caller has pinned or holds.
    pub(super) fn assign(&self, epoch: Epoch, bytes: u64) {
        self.of_epoch[(epoch & 1) as usize].fetch_add(bytes, Relaxed);
    }

    /// Cancels counted bytes that will not be written.
    pub(super) fn cancel(&self, bytes: u64) {
        let _ = self.total.fetch_update(Relaxed, Relaxed, |total| Some(total.saturating_sub(bytes)));
    }

    /// Releases the bytes of an epoch: its lines have been taken, and none of its operations is in progress.
    pub(super) fn release(&self, epoch: Epoch) {
        let of_epoch = self.of_epoch[(epoch & 1) as usize].swap(0, Relaxed);
        // Saturating: after a stop every operation is admitted without being counted, and is refused later.
        let _ = self.total.fetch_update(Relaxed, Relaxed, |total| Some(total.saturating_sub(of_epoch)));
    }
}
