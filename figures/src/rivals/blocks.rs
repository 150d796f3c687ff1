//! The persistent memory of a rival: blocks of as many words each, by number, and which of them are in use. What is in
//! use is volatile, and a recovery does not derive it.

use crate::measured_tree::TreeSetup;
use holm_lab::measured::Memory;
use holm_medium::{Area, Mapped, Medium, Result, Word, Writer};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The block that is always in use: no link leads to it, so a link to it is none.
pub(super) const FIRST: u64 = 0;

/// Blocks of `words` words each.
pub(super) struct Blocks {
    memory: Memory,
    words: usize,
    unused: Mutex<Unused>,
}

struct Unused {
    free: Vec<u64>,
    /// The first block that was never used.
    frontier: u64,
    /// The bytes of memory that are there.
    grown: u64,
}

impl Blocks {
    /// Creates blocks of `words` words, of which the first one is in use. `per_epoch` states that changes become
    /// durable when an epoch ends.
    ///
    /// # Errors
    /// The medium's, if there is not enough memory.
    pub(super) fn new(setup: TreeSetup, words: usize, per_epoch: bool) -> Result<Self> {
        let memory = Memory::new(setup, per_epoch)?;
        let grown = memory.writer().storage().medium.image().area(Area::Leaves).len() as u64;
        let blocks = Blocks { memory, words, unused: Mutex::new(Unused { free: vec![], frontier: FIRST, grown }) };
        blocks.take()?;
        Ok(blocks)
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    fn unused(&self) -> MutexGuard<'_, Unused> {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn block_bytes(&self) -> u64 {
        (self.words * size_of::<Word>()) as u64
    }

    pub(super) fn writer(&self) -> &Writer<Mapped> {
        self.memory.writer()
    }

    /// Takes a block; what it contains is what its last user left.
    ///
    /// # Errors
    /// The medium's, if there is not enough memory.
    pub(super) fn take(&self) -> Result<u64> {
        let mut unused = self.unused();
        if let Some(block) = unused.free.pop() {
            return Ok(block);
        }
        unused.frontier += 1;
        let bytes = unused.frontier * self.block_bytes();
        if bytes > unused.grown {
            unused.grown = bytes.next_multiple_of(1 << 20);
            self.writer().storage().medium.grow(Area::Leaves, unused.grown)?;
        }
        Ok(unused.frontier - 1)
    }

    pub(super) fn give_back(&self, block: u64) {
        self.unused().free.push(block);
    }

    /// Returns the words of a block that was taken.
    pub(super) fn block(&self, block: u64) -> &[Word] {
        let place = Area::Leaves.at(block * self.block_bytes());
        self.writer().storage().medium.image().words(place, self.words).expect("a block that was taken")
    }

    /// Returns the first block that was never used.
    pub(super) fn frontier(&self) -> u64 {
        self.unused().frontier
    }

    pub(super) fn bytes_in_use(&self) -> u64 {
        let unused = self.unused();
        (unused.frontier - unused.free.len() as u64) * self.block_bytes()
    }

    /// Returns the words of all blocks up to the frontier, and of as many more as exist.
    pub(super) fn words(&self, more: u64) -> &[Word] {
        let image = self.writer().storage().medium.image();
        let most = image.area(Area::Leaves).len() as u64 / size_of::<Word>() as u64;
        let words = ((self.frontier() + more) * self.words as u64).min(most);
        image.words(Area::Leaves.at(0), words as usize).unwrap_or_default()
    }
}
