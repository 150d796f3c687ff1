//! A payload that a leaf has got or lost, in the order in which records are read.

use crate::record;

/// A payload that came or went, and its keyspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChangedPayload {
    /// The payload with its offset in the upper bits, so that records are read in the order in which they lie.
    pub(super) place: u64,
    pub(super) keyspace: u32,
}

impl ChangedPayload {
    pub(super) fn new(payload: u64, keyspace: u32) -> Self {
        ChangedPayload { place: payload.rotate_left(record::LENGTH_BITS), keyspace }
    }

    pub(super) fn payload(self) -> u64 {
        self.place.rotate_right(record::LENGTH_BITS)
    }
}
