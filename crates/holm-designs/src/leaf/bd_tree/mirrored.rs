//! Fingerprints of BD+Tree's leaf, searched in a copy in DRAM: a lookup of an absent key reads no line of the block.
//!
//! The block remains authoritative. Each change and each recovery renews the copy, which adds no flush and no fence.

use crate::guide::{Aside, Signs};
use holm_medium::{Medium, Pen, Word};
use holm_search::Search;
use holm_tree::leaf::buffered::{Fingerprints, Line, Prints, State, Versions};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// The same bytes, and a copy of them in a line of DRAM together with the slots that count now. A search needs nothing
/// else before it reads a pair.
pub struct Mirrored;

/// A line of DRAM for each block: the words of fingerprints, and the present bitmap.
type Copied = Aside<8>;

/// The index of the present bitmap in it.
const PRESENT: usize = 4;

fn copied(beside: &<Copied as Signs>::Beside) -> &[AtomicU64] {
    Copied::words(&(), beside)
}

impl Prints for Mirrored {
    type Beside = <Copied as Signs>::Beside;

    #[inline]
    fn candidates(line: &Line, search: Search, print: u8) -> u32 {
        Fingerprints::candidates(line, search, print)
    }

    #[inline]
    fn of(line: &Line, index: usize) -> Option<u8> {
        Fingerprints::of(line, index)
    }

    #[inline]
    fn set<M: Medium>(line: &Line, pen: &mut Pen<'_, M>, index: usize, print: u8) {
        Fingerprints::set(line, pen, index, print);
    }

    #[inline]
    fn look(_: &Line, beside: &Self::Beside, search: Search, print: u8) -> u32 {
        search.bytes_equal(copied(beside)[..PRESENT].try_into().expect("four words"), print)
    }

    #[inline]
    fn now<V: Versions>(_: &V, beside: &Self::Beside) -> State {
        State::unpack(copied(beside)[PRESENT].load(Relaxed))
    }

    #[inline]
    fn derive<V: Versions>(line: &Line, versions: &V, beside: &Self::Beside) {
        let words = line.iter().map(Word::read).chain([versions.now().pack()]);
        // Release, like the stores of a write handle: unlocking the latch afterwards publishes both in the same way.
        copied(beside).iter().zip(words).for_each(|(copy, word)| copy.store(word, Release));
    }

    /// Does nothing: DRAM says first which line is needed, if any.
    #[inline]
    fn summon<B>(_: &B) {}

    #[inline]
    fn approach<B>(_: &B) {}
}
