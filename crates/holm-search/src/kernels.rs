//! What every level must be able to do: the contract between `search.rs`, which checks and dispatches, and the
//! kernels, which only compute.
//!
//! A type that implements `Kernels` is a proof that this CPU can run them: it can be made only where that was asked.
//! So the calls are safe, and a level costs at most one byte.

use crate::LINE_WORDS;
use crate::search::MOST_RANKED;
use std::sync::atomic::AtomicU64;

/// One cache line of words.
pub(crate) type Line = [AtomicU64; LINE_WORDS];

/// Lines of which one kernel call makes a mask of 64 bits.
pub(crate) const WINDOW_LINES: usize = 8;

/// The computations of one level.
pub(crate) trait Kernels: Copy {
    /// How many of the first `count` words are <= `key`. At most `WINDOW_LINES` lines, and `count` is at most the
    /// number of their words; the answer is at most `count`.
    fn rank(self, lines: &[Line], count: usize, key: u64) -> usize;

    /// Bit i is set if and only if byte i equals `byte`.
    fn bytes_equal(self, words: &[AtomicU64; 4], byte: u8) -> u32;

    /// Bit i is set if and only if word i equals `key`. At most `WINDOW_LINES` lines.
    fn words_equal(self, lines: &[Line], key: u64) -> u64;

    /// For each number how many of the first `count` are less; `count` is at most `MOST_RANKED`.
    fn ranks(self, numbers: &[u64; MOST_RANKED], count: usize) -> [u64; MOST_RANKED];

    /// Copies as many words as both hold.
    fn copy(self, from: &[AtomicU64], out: &mut [u64]);

    /// Whether `key` stands at the start of the words' little-endian bytes; the words hold at least `key.len()` bytes.
    fn starts_with(self, words: &[AtomicU64], key: &[u8]) -> bool;
}
