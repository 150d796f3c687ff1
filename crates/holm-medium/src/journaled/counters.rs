//! What the log, growth and checkpoints have cost since open.

#![forbid(unsafe_code)]

use crate::sync::atomic::AtomicU64;
use crate::sync::{Instant, Mutex};

/// Counters of the log, of growth and of checkpoints, since open.
#[derive(Debug, Default)]
pub struct JournalCounters {
    /// Times that a writer reached the end of the preallocated space, and grew the file itself.
    pub grow_stalls: AtomicU64,
    /// Bytes of extents allocated since open.
    pub bytes_grown: AtomicU64,
    /// Epoch records written.
    pub log_records: AtomicU64,
    /// Bytes written to the log, padding included.
    pub log_bytes: AtomicU64,
    /// Bytes of the largest epoch record.
    pub largest_log_record: AtomicU64,
    /// Checkpoints finished.
    pub checkpoints: AtomicU64,
    /// Bytes of distinct pages that hold lines logged since the previous checkpoint, summed over all checkpoints.
    pub write_back_bytes: AtomicU64,
    /// The longest wait for the operations of an epoch to unpin, in nanoseconds.
    pub longest_pin_wait_ns: AtomicU64,
    /// The longest write and sync of an epoch's record, in nanoseconds.
    pub longest_sync_ns: AtomicU64,
    /// Bytes of the epoch record that is being written; 0 while none is.
    pub record_in_writing: AtomicU64,
    /// Before the begin of the first epoch that is not durable.
    not_durable_since: Mutex<Option<Instant>>,
}

impl JournalCounters {
    pub(super) fn not_durable_since(&self, moment: Instant) {
        *self.not_durable_since.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(moment);
    }

    /// Returns how long ago the first epoch that is not durable can have begun, in nanoseconds.
    pub fn not_durable_ns(&self) -> u64 {
        let since = *self.not_durable_since.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        since.map_or(0, |since| since.elapsed().as_nanos() as u64)
    }
}
