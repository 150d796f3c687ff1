//! What DRAM keeps of a leaf: fingerprints, which copies of keys are the newest, and which lines have changed in this
//! epoch. A search reads no line of the block until a fingerprint names one, and a put finds a line that is written
//! anyway.

use crate::slot_fingerprints::SlotFingerprints;
use holm_medium::Epoch;
use holm_search::Search;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// A bit for each slot of a leaf.
pub const SLOTS: u32 = 24;
const ALL: u32 = (1 << SLOTS) - 1;

/// The volatile side of a leaf.
#[derive(Default)]
pub struct Known {
    /// A fingerprint for each slot; the fourth word is unused.
    fingerprints: SlotFingerprints,
    /// Newest copies, and above them older ones.
    copies: AtomicU64,
    /// The epoch of the leaf's last change, and above it a bit for each line that has changed in it.
    changed: AtomicU64,
}

/// The live slots of a leaf.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Copies {
    /// Slots with the newest copy of a key: the leaf's pairs.
    pub newest: u32,
    /// Slots with older copies, which are live in their lines and count no more.
    pub stale: u32,
}

/// Where the changed lines begin.
const LINES: u32 = 36;

impl Known {
    /// Returns the slots of the leaf whose fingerprint is this one, live or not.
    #[inline]
    pub fn alike(&self, search: Search, fingerprint: u8) -> u32 {
        self.fingerprints.alike(search, fingerprint) & ALL
    }

    #[inline]
    pub fn copies(&self) -> Copies {
        let word = self.copies.load(Relaxed);
        Copies { newest: word as u32 & ALL, stale: (word >> SLOTS) as u32 & ALL }
    }

    /// Returns the slots with any copy.
    pub fn live(&self) -> u32 {
        let Copies { newest, stale } = self.copies();
        newest | stale
    }

    // Release, like the stores of a write handle: unlocking the latch afterwards publishes both in the same way.

    pub fn set_copies(&self, Copies { newest, stale }: Copies) {
        self.copies.store(u64::from(newest) | u64::from(stale) << SLOTS, Release);
    }

    pub fn set_fingerprint(&self, slot: usize, fingerprint: u8) {
        self.fingerprints.set(slot, fingerprint);
    }

    /// Returns the epoch of the leaf's last change.
    #[inline]
    pub fn changed_in(&self) -> Epoch {
        self.changed.load(Relaxed) & ((1 << LINES) - 1)
    }

    /// Returns a bit for each line that has changed in this epoch.
    #[inline]
    pub fn dirty(&self, epoch: Epoch) -> u32 {
        let word = self.changed.load(Relaxed);
        if self.changed_in() == epoch { (word >> LINES) as u32 } else { 0 }
    }

    /// Notes a change of a line.
    #[inline]
    pub fn note(&self, epoch: Epoch, line: usize) {
        let dirty = self.dirty(epoch) | 1 << line;
        self.changed.store(u64::from(dirty) << LINES | epoch, Release);
    }

    /// Forgets everything; the leaf last changed in `epoch`.
    pub fn begin(&self, epoch: Epoch) {
        self.set_copies(Copies::default());
        self.changed.store(epoch, Release);
    }
}
