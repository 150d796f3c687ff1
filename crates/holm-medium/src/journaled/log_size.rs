//! How large the log may stay, measured against the data.

#![forbid(unsafe_code)]

use super::state::{Journal, Shared};

/// A log that holds less needs no checkpoint, however little data there is.
const LITTLE: u64 = 16 << 20;

/// The share of the data that the log may hold before a checkpoint is due, as a divisor. Each checkpoint makes every
/// large page fault once more, and recovery from a killed process reads what the log holds.
const SHARE: u64 = 2;

/// The share of what the log may hold that a segment has, as a divisor. The log has about one segment more than it
/// holds.
const SEGMENT_SHARE: u64 = 8;

/// The share of the data that each of the first segments keeps as its size while no thread writes, as a divisor.
const KEPT_SHARE: u64 = 256;

/// Bytes of records since the last checkpoint beyond which the next one is due.
pub(super) fn due_at(shared: &Shared, journal: &Journal) -> u64 {
    (shared.data_bytes() / SHARE).max(LITTLE).min(journal.log.total() / 8 * 3)
}

/// The size, in bytes, at which the log moves on to the next segment, if a checkpoint is due at `due_at` bytes.
pub(super) fn segment(due_at: u64) -> u64 {
    due_at / SEGMENT_SHARE
}

/// The size of each of the first segments, in bytes, while no thread writes. The others then have a page.
pub(super) fn kept(shared: &Shared, journal: &Journal) -> u64 {
    (shared.data_bytes() / KEPT_SHARE).clamp(journal.log.initial(), journal.log.total() / 2)
}
