//! What the log, growth and checkpoints have cost since open.

#![forbid(unsafe_code)]

use crate::sync::atomic::AtomicU64;

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
}
