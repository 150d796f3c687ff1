//! Fingerprints of whole keys, a byte for each slot of a block; or none, as the paper has it.
//!
//! A slot's byte stands as long as any state that a crash may choose names the slot, so it needs no version.
//!
//! Searches look at them in the block, or at a copy beside it, in DRAM: then a key that is not there costs no line of
//! the block. The block remains what is true: the copy is made anew after each change and by every recovery, and adds
//! no flush and no fence.

use super::SLOTS;
use super::tagged::State;
use super::versions::Versions;
use holm_medium::{Medium, Pen, Word, atomics};
use holm_search::Search;

/// The words for fingerprints: 28 bytes, and above them the number of the leaf's first block.
pub type Line = [Word; 4];

/// Whether there are fingerprints, and where a search looks.
pub trait Prints: Send + Sync + 'static {
    /// What is known of a block beside it.
    type Beside: Default + Send + Sync + 'static;

    /// The slots that may hold a key of that fingerprint, and bits beyond the last slot that mean nothing.
    fn candidates(line: &Line, search: Search, print: u8) -> u32;

    /// A slot's, if it has one.
    fn of(line: &Line, index: usize) -> Option<u8>;

    /// Sets a slot's. The caller flushes.
    fn set<M: Medium>(line: &Line, pen: &mut Pen<'_, M>, index: usize, print: u8);

    /// [`Prints::candidates`], for a search.
    #[inline]
    fn look(line: &Line, beside: &Self::Beside, search: Search, print: u8) -> u32 {
        let _ = beside;
        Self::candidates(line, search, print)
    }

    /// Which slots count now, for a search.
    #[inline]
    fn now<V: Versions>(versions: &V, beside: &Self::Beside) -> State {
        let _ = beside;
        versions.now()
    }

    /// The block has changed: what is known beside it is made anew.
    #[inline]
    fn derive<V: Versions>(line: &Line, versions: &V, beside: &Self::Beside) {
        let _ = (line, versions, beside);
    }

    /// Asks the CPU for what a search will read of a block, of which nothing has been looked at.
    #[inline]
    fn summon<B>(block: &B) {
        holm_search::prefetch_lines(block);
    }

    /// The same of what a search will read first.
    #[inline]
    fn approach<B>(block: &B) {
        holm_search::prefetch(block);
    }
}

/// A byte for each slot, all of them compared at once.
pub struct Fingerprints;

impl Prints for Fingerprints {
    type Beside = ();

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
    type Beside = ();

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
