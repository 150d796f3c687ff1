//! How large the log may stay, measured against the data.

#![forbid(unsafe_code)]

use super::state::{Journal, Shared};

/// A log that holds less needs no checkpoint, however little data there is.
const LITTLE: u64 = 16 << 20;

/// The share of the data that the log may hold before a checkpoint is due, as a divisor. Each checkpoint makes every
/// large page fault once more, and recovery from a killed process reads what the log holds.
const SHARE: u64 = 2;

/// The share of the data that a half keeps as its size while no thread writes, as a divisor.
const KEPT_SHARE: u64 = 256;

/// Bytes of records in a half beyond which a checkpoint is due.
pub(super) fn due_at(shared: &Shared, journal: &Journal) -> u64 {
    (shared.data_bytes() / SHARE).max(LITTLE).min(journal.log.maximum() / 4 * 3)
}

/// The size of a half, in bytes, while no thread writes.
pub(super) fn kept(shared: &Shared, journal: &Journal) -> u64 {
    (shared.data_bytes() / KEPT_SHARE).clamp(journal.log.initial(), journal.log.maximum())
}
