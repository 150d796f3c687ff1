//! What DRAM keeps of a leaf: its overflow blocks, and the pairs of each block that were stored elsewhere.
//!
//! An overflow block names the first block durably, and no word names the overflow block. So a running process knows a
//! leaf's blocks only from here, and recovery attaches them anew. Readers race with the writer: a number that they find
//! here may be any number, and what they read through it counts only after the leaf's latch validates.

use super::fingerprint_policy::FingerprintPolicy;
use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::{Relaxed, Release};

/// A block's place in a leaf; 0 for the first block.
pub type BlockIndex = usize;

/// The volatile side of a leaf's first block.
pub struct OverflowBlocks<const BLOCKS: usize, P: FingerprintPolicy> {
    /// At index 0, the number of a block that was just detached. At the others, the number of the block at that place.
    /// 0 is none, and there are no gaps.
    numbers: [AtomicU32; BLOCKS],
    /// By place: slots whose pairs came from another leaf, by a split or merge, and were not stored here since.
    ///
    /// A crash may still choose states of the leaf that they came from, and this leaf's own states do not name them. If
    /// they counted as pairs of the active epoch, their records would be reused while recovery could still bring them
    /// back. The field is volatile: after a crash, every pair belongs to an epoch before the active one.
    moved: [AtomicU32; BLOCKS],
    /// By place: what DRAM keeps of the block.
    copies: [P::Volatile; BLOCKS],
}

impl<const BLOCKS: usize, P: FingerprintPolicy> Default for OverflowBlocks<BLOCKS, P> {
    fn default() -> Self {
        let none = || std::array::from_fn(|_| AtomicU32::new(0));
        OverflowBlocks { numbers: none(), moved: none(), copies: std::array::from_fn(|_| P::Volatile::default()) }
    }
}

impl<const BLOCKS: usize, P: FingerprintPolicy> OverflowBlocks<BLOCKS, P> {
    /// Returns the number of the overflow block at a place; 0 is none.
    #[inline]
    pub fn number(&self, place: BlockIndex) -> u32 {
        self.numbers.get(place).map_or(0, |number| number.load(Relaxed))
    }

    /// Returns the number of blocks of the leaf.
    pub fn blocks(&self) -> usize {
        1 + (1..BLOCKS).take_while(|place| self.number(*place) != 0).count()
    }

    /// Returns what DRAM keeps of the block at a place.
    #[inline]
    pub fn copy(&self, place: BlockIndex) -> &P::Volatile {
        &self.copies[place]
    }

    fn set(&self, place: BlockIndex, number: u32, moved: u32) {
        // Release, as the stores of a write handle are. A latch that is released later vouches for the number either
        // way.
        self.numbers[place].store(number, Release);
        self.moved[place].store(moved, Relaxed);
    }

    /// Resets to one block without moved pairs.
    pub fn begin(&self) {
        (0..BLOCKS).for_each(|place| self.set(place, 0, 0));
    }

    /// Attaches another overflow block, if the leaf may have one more.
    pub fn attach(&self, number: u32) -> bool {
        let place = self.blocks();
        if place < BLOCKS {
            self.set(place, number, 0);
        }
        place < BLOCKS
    }

    /// Detaches the overflow block at a place, which [`OverflowBlocks::take_detached`] then returns. The last overflow
    /// block takes its place.
    pub fn detach(&self, place: BlockIndex) {
        let (number, last) = (self.number(place), self.blocks() - 1);
        self.set(place, self.number(last), self.moved[last].load(Relaxed));
        self.set(last, 0, 0);
        self.numbers[0].store(number, Relaxed);
    }

    /// Returns the number of the block that was just detached, once.
    pub fn take_detached(&self) -> u32 {
        let number = self.number(0);
        if number != 0 {
            self.numbers[0].store(0, Relaxed);
        }
        number
    }

    /// Returns whether the slot's pair came from another leaf.
    pub fn has_moved(&self, place: BlockIndex, slot: usize) -> bool {
        self.moved[place].load(Relaxed) >> slot & 1 == 1
    }

    /// Sets the slots of a place whose pairs came from another leaf.
    pub fn set_moved(&self, place: BlockIndex, slots: u32) {
        self.moved[place].store(slots, Relaxed);
    }

    /// Adds slots of a place whose pairs have come from another leaf.
    pub fn add_moved(&self, place: BlockIndex, slots: u32) {
        self.set_moved(place, self.moved[place].load(Relaxed) | slots);
    }

    /// Notes that the slot's pair is now stored here.
    pub fn stored(&self, place: BlockIndex, slot: usize) {
        self.set_moved(place, self.moved[place].load(Relaxed) & !(1 << slot));
    }
}
