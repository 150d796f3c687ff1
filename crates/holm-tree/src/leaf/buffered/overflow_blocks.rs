//! What DRAM knows of a leaf: which blocks are behind its first one, and which pairs of each were stored elsewhere.
//!
//! A block behind names the first one durably and is named by nobody, so a leaf of a running process knows its blocks
//! from here alone, and recovery attaches its blocks anew. Readers race with the writer: a number that they find here
//! may be any, and what they read there counts only once the leaf's latch was asked.

use super::fingerprint_policy::FingerprintPolicy;
use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::{Relaxed, Release};

/// A block's place in a leaf: 0 for the first one.
pub type Place = usize;

/// The volatile side of a leaf's first block.
pub struct OverflowBlocks<const SEGMENTS: usize, P: FingerprintPolicy> {
    /// Of the first place, the number of a block that has just been given up; of the others, the number of the block
    /// there. 0 for none, and no gaps.
    numbers: [AtomicU32; SEGMENTS],
    /// By place, slots whose pairs came from another leaf by a split or merge and were not stored here since.
    ///
    /// The states of the leaf they came from may still be chosen by a crash, and this leaf's own say nothing of them:
    /// taken for pairs of this very epoch, their records would be used again while a recovery point could bring them
    /// back. Volatile, for after a crash every pair is of an epoch before the active one.
    moved: [AtomicU32; SEGMENTS],
    /// By place, what is known of the block.
    copies: [P::Volatile; SEGMENTS],
}

impl<const SEGMENTS: usize, P: FingerprintPolicy> Default for OverflowBlocks<SEGMENTS, P> {
    fn default() -> Self {
        let none = || std::array::from_fn(|_| AtomicU32::new(0));
        OverflowBlocks { numbers: none(), moved: none(), copies: std::array::from_fn(|_| P::Volatile::default()) }
    }
}

impl<const SEGMENTS: usize, P: FingerprintPolicy> OverflowBlocks<SEGMENTS, P> {
    /// The number of the block at a place behind the first one; 0 is none.
    #[inline]
    pub fn number(&self, place: Place) -> u32 {
        self.numbers.get(place).map_or(0, |number| number.load(Relaxed))
    }

    /// How many blocks the leaf has.
    pub fn blocks(&self) -> usize {
        1 + (1..SEGMENTS).take_while(|place| self.number(*place) != 0).count()
    }

    /// What is known of the block at a place.
    #[inline]
    pub fn copy(&self, place: Place) -> &P::Volatile {
        &self.copies[place]
    }

    fn set(&self, place: Place, number: u32, moved: u32) {
        // Release, as a write handle's stores are: a latch that is let go later vouches for it either way.
        self.numbers[place].store(number, Release);
        self.moved[place].store(moved, Relaxed);
    }

    /// One block, and nothing moved to it.
    pub fn begin(&self) {
        (0..SEGMENTS).for_each(|place| self.set(place, 0, 0));
    }

    /// Another block behind the last one, if there may be one more.
    pub fn attach(&self, number: u32) -> bool {
        let place = self.blocks();
        if place < SEGMENTS {
            self.set(place, number, 0);
        }
        place < SEGMENTS
    }

    /// The block at a place behind the first one is given up, which `take_detached` tells of; the last one takes its
    /// place.
    pub fn detach(&self, place: Place) {
        let (number, last) = (self.number(place), self.blocks() - 1);
        self.set(place, self.number(last), self.moved[last].load(Relaxed));
        self.set(last, 0, 0);
        self.numbers[0].store(number, Relaxed);
    }

    /// The number of the block that has just been given up, once.
    pub fn take_detached(&self) -> u32 {
        let number = self.number(0);
        if number != 0 {
            self.numbers[0].store(0, Relaxed);
        }
        number
    }

    /// Whether the slot's pair came from another leaf.
    pub fn has_moved(&self, place: Place, slot: usize) -> bool {
        self.moved[place].load(Relaxed) >> slot & 1 == 1
    }

    /// The slots of a place whose pairs came from another leaf.
    pub fn set_moved(&self, place: Place, slots: u32) {
        self.moved[place].store(slots, Relaxed);
    }

    /// The pairs of these slots of a place have come from another leaf.
    pub fn add_moved(&self, place: Place, slots: u32) {
        self.set_moved(place, self.moved[place].load(Relaxed) | slots);
    }

    /// The slot's pair is stored here now.
    pub fn stored(&self, place: Place, slot: usize) {
        self.set_moved(place, self.moved[place].load(Relaxed) & !(1 << slot));
    }
}
