//! The interface of a level: the contract between `search.rs`, which checks and dispatches, and the kernels, which only
//! compute.
//!
//! A value of a type that implements `Kernels` proves that this CPU can run them: it is created only after a check. So
//! the calls are safe, and a level costs at most one byte.

use crate::LINE_WORDS;
use crate::search::MOST_RANKED;
use std::sync::atomic::AtomicU64;

/// One cache line of words.
pub(crate) type Line = [AtomicU64; LINE_WORDS];

/// Lines that one kernel call turns into a mask of 64 bits.
pub(crate) const WINDOW_LINES: usize = 8;

/// The computations of one level.
pub(crate) trait Kernels: Copy {
    /// Returns how many of the first `count` words are <= `key`. `lines` has at most `WINDOW_LINES` lines, and `count`
    /// is at most the number of their words. The result is at most `count`.
    fn rank(self, lines: &[Line], count: usize, key: u64) -> usize;

    /// Bit i of the result is set if and only if byte i equals `byte`.
    fn bytes_equal(self, words: &[AtomicU64; 4], byte: u8) -> u32;

    /// Bit i of the result is set if and only if word i equals `key`. `lines` has at most `WINDOW_LINES` lines.
    fn words_equal(self, lines: &[Line], key: u64) -> u64;

    /// Returns for each number how many of the first `count` are less. `count` is at most `MOST_RANKED`.
    fn ranks(self, numbers: &[u64; MOST_RANKED], count: usize) -> [u64; MOST_RANKED];

    /// Copies as many words as both slices hold.
    fn copy(self, from: &[AtomicU64], out: &mut [u64]);

    /// Returns whether the words' little-endian bytes start with `key`. The words hold at least `key.len()` bytes.
    fn starts_with(self, words: &[AtomicU64], key: &[u8]) -> bool;
}
