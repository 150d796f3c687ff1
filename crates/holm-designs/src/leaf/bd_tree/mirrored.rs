//! Fingerprints of BD+Tree's leaf, searched in a copy in DRAM: a lookup of an absent key reads no line of the block.
//!
//! The block remains authoritative. Each change and each recovery renews the copy, which adds no flush and no fence.

use crate::guide::{Aside, Signs};
use holm_medium::{Medium, Word, WriteHandle};
use holm_search::Search;
use holm_tree::leaf::buffered::{FingerprintPolicy, Fingerprints, Line, State, Versions};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// The same bytes, and a copy of them in a line of DRAM together with the slots that count now. A search needs nothing
/// else before it reads a pair.
pub struct Mirrored;

/// A line of DRAM for each block: the words of fingerprints, and the present bitmap.
type Copied = Aside<8>;

/// The index of the present bitmap in it.
const PRESENT: usize = 4;

fn copied(volatile: &<Copied as Signs>::Volatile) -> &[AtomicU64] {
    Copied::words(&(), volatile)
}

impl FingerprintPolicy for Mirrored {
    type Volatile = <Copied as Signs>::Volatile;

    #[inline]
    fn candidates(line: &Line, search: Search, fingerprint: u8) -> u32 {
        Fingerprints::candidates(line, search, fingerprint)
    }

    #[inline]
    fn of(line: &Line, index: usize) -> Option<u8> {
        Fingerprints::of(line, index)
    }

    #[inline]
    fn of_word(word: u64, index: usize) -> Option<u8> {
        Fingerprints::of_word(word, index)
    }

    #[inline]
    fn set<M: Medium>(line: &Line, handle: &mut WriteHandle<'_, M>, index: usize, fingerprint: u8) {
        Fingerprints::set(line, handle, index, fingerprint);
    }

    #[inline]
    fn search_candidates(_: &Line, volatile: &Self::Volatile, search: Search, fingerprint: u8) -> u32 {
        search.bytes_equal(copied(volatile)[..PRESENT].try_into().expect("four words"), fingerprint)
    }

    #[inline]
    fn now<V: Versions>(_: &V, volatile: &Self::Volatile) -> State {
        State::unpack(copied(volatile)[PRESENT].load(Relaxed))
    }

    #[inline]
    fn derive<V: Versions>(line: &Line, versions: &V, volatile: &Self::Volatile) {
        let words = line.iter().map(Word::read).chain([versions.now().pack()]);
        // Release, like the stores of a write handle: unlocking the latch afterwards publishes both in the same way.
        copied(volatile).iter().zip(words).for_each(|(copy, word)| copy.store(word, Release));
    }

    /// Does nothing: DRAM says first which line is needed, if any.
    #[inline]
    fn prefetch_block<B>(_: &B) {}

    #[inline]
    fn prefetch_header<B>(_: &B) {}
}
