//! The word that the clock shows: the active epoch, and the latest snapshot.
//!
//! ```text
//! bits 0-35    the epoch; 0 while writers are stopped
//!      36-62   the lower 27 bits of the latest snapshot's generation
//!      63      whether a snapshot is open
//! ```
//!
//! A writer compares whole words. So the beginning of a snapshot orders writers as the end of an epoch does: one that
//! has validated its word before belongs to the snapshot, and one that validates later does not. An unchanged word
//! means that neither has come in between, because an epoch has fewer snapshots than these bits count.

#![forbid(unsafe_code)]

use super::label::{Epoch, LAST_EPOCH};

const EPOCH_BITS: u32 = 36;
const GENERATION_BITS: u32 = 27;
const SNAPSHOT_OPEN: u64 = 1 << 63;

/// The most snapshots of one epoch. The words of two epochs may be in use.
pub(super) const MOST_SNAPSHOTS: u64 = 1 << (GENERATION_BITS - 1);

const _: () = assert!(LAST_EPOCH < 1 << EPOCH_BITS && EPOCH_BITS + GENERATION_BITS == 63);

/// What the clock shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Instant(pub(super) u64);

impl Instant {
    /// The active epoch; 0 while writers are stopped.
    #[inline]
    pub(super) fn epoch(self) -> Epoch {
        self.0 & ((1 << EPOCH_BITS) - 1)
    }

    /// Whether a snapshot is open.
    #[inline]
    pub(super) fn has_snapshots(self) -> bool {
        self.0 & SNAPSHOT_OPEN != 0
    }

    /// The same snapshot in another epoch.
    pub(super) fn in_epoch(self, epoch: Epoch) -> Self {
        Instant(self.0 >> EPOCH_BITS << EPOCH_BITS | epoch)
    }

    /// The same epoch after a snapshot of this generation has begun.
    pub(super) fn with_snapshot(self, generation: u64) -> Self {
        Instant(self.epoch() | (generation % (1 << GENERATION_BITS)) << EPOCH_BITS | SNAPSHOT_OPEN)
    }

    /// The same without an open snapshot.
    pub(super) fn without_snapshots(self) -> Self {
        Instant(self.0 & !SNAPSHOT_OPEN)
    }

    /// The generation to which this word belongs, if `latest` is the latest of all.
    pub(super) fn generation(self, latest: u64) -> u64 {
        let lower = self.0 >> EPOCH_BITS;
        latest - (latest.wrapping_sub(lower) % (1 << GENERATION_BITS))
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_its_epoch_and_generation() {
        let word = Instant(LAST_EPOCH).with_snapshot(5);
        assert_eq!((word.epoch(), word.generation(5), word.generation(7)), (LAST_EPOCH, 5, 5));
        assert!(word.has_snapshots() && !word.without_snapshots().has_snapshots());
        let later = word.in_epoch(9);
        assert_eq!((later.epoch(), later.generation(6)), (9, 5));
        let many = (1 << 40) + 3;
        let word = Instant(7).with_snapshot(many);
        assert_eq!((word.epoch(), word.generation(many), word.generation(many + MOST_SNAPSHOTS)), (7, many, many));
        assert_eq!(word.without_snapshots().generation(many), many);
        assert_eq!(Instant(4).generation(0), 0);
    }
}
