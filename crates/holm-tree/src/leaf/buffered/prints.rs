//! Fingerprints of whole keys, a byte for each slot of a block; or none, as the paper has it.
//!
//! A slot's byte stands as long as any state that a crash may choose names the slot, so it needs no version.

use super::SLOTS;
use holm_medium::{Medium, Pen, Word, atomics};
use holm_search::Search;

/// The words for fingerprints: 28 bytes, and above them the number of the leaf's first block.
pub type Line = [Word; 4];

/// Whether there are fingerprints.
pub trait Prints: Send + Sync + 'static {
    /// The slots that may hold a key of that fingerprint, and bits beyond the last slot that mean nothing.
    fn candidates(line: &Line, search: Search, print: u8) -> u32;

    /// A slot's, if it has one.
    fn of(line: &Line, index: usize) -> Option<u8>;

    /// Sets a slot's. The caller flushes.
    fn set<M: Medium>(line: &Line, pen: &mut Pen<'_, M>, index: usize, print: u8);
}

/// A byte for each slot, all of them compared at once.
pub struct Fingerprints;

impl Prints for Fingerprints {
    #[inline]
    fn candidates(line: &Line, search: Search, print: u8) -> u32 {
        search.bytes_equal(atomics(line).try_into().expect("four words"), print)
    }

    #[inline]
    fn of(line: &Line, index: usize) -> Option<u8> {
        Some((line[index / 8].read() >> (index % 8 * 8)) as u8)
    }

    #[inline]
    fn set<M: Medium>(line: &Line, pen: &mut Pen<'_, M>, index: usize, print: u8) {
        debug_assert!(index < SLOTS);
        let (word, shift) = (&line[index / 8], index % 8 * 8);
        pen.write(word, word.read() & !(0xff << shift) | u64::from(print) << shift);
    }
}

/// None: every pair is looked at.
pub struct Unprinted;

impl Prints for Unprinted {
    #[inline]
    fn candidates(_: &Line, _: Search, _: u8) -> u32 {
        u32::MAX
    }

    #[inline]
    fn of(_: &Line, _: usize) -> Option<u8> {
        None
    }

    #[inline]
    fn set<M: Medium>(_: &Line, _: &mut Pen<'_, M>, _: usize, _: u8) {}
}
