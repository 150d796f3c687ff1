//! Fingerprints of whole keys, one byte for each slot of a block; or none, as in the paper.
//!
//! A slot's byte is valid as long as any state that a crash may choose names the slot, so it needs no version.
//!
//! Searches read the fingerprints in the block or in a copy in DRAM. With the copy, a search for an absent key reads no
//! line of the block. The block remains authoritative: each change and each recovery renews the copy, which adds no
//! flush and no fence.

use super::SLOTS;
use super::tagged::State;
use super::versions::Versions;
use holm_medium::{Medium, Word, WriteHandle, atomics};
use holm_search::Search;

/// The fingerprint words: 28 bytes, and above them the number of the leaf's first block.
pub type Line = [Word; 4];

/// Whether there are fingerprints, and where a search reads them.
pub trait FingerprintPolicy: Send + Sync + 'static {
    /// What DRAM keeps of a block.
    type Volatile: Default + Send + Sync + 'static;

    /// Returns the slots that may hold a key with that fingerprint; bits beyond the last slot are arbitrary.
    fn candidates(line: &Line, search: Search, fingerprint: u8) -> u32;

    /// Returns a slot's fingerprint, if it has one.
    fn of(line: &Line, index: usize) -> Option<u8>;

    /// Returns a slot's fingerprint from a copy of the word that has it, if it has one.
    fn of_word(word: u64, index: usize) -> Option<u8> {
        let _ = (word, index);
        None
    }

    /// Sets a slot's fingerprint. The caller flushes.
    fn set<M: Medium>(line: &Line, handle: &mut WriteHandle<'_, M>, index: usize, fingerprint: u8);

    /// [`FingerprintPolicy::candidates`], for a search.
    #[inline]
    fn search_candidates(line: &Line, volatile: &Self::Volatile, search: Search, fingerprint: u8) -> u32 {
        let _ = volatile;
        Self::candidates(line, search, fingerprint)
    }

    /// Returns the live slots, for a search.
    #[inline]
    fn now<V: Versions>(versions: &V, volatile: &Self::Volatile) -> State {
        let _ = volatile;
        versions.now()
    }

    /// Renews what DRAM keeps of the block, after a change.
    #[inline]
    fn derive<V: Versions>(line: &Line, versions: &V, volatile: &Self::Volatile) {
        let _ = (line, versions, volatile);
    }

    /// Prefetches what a search reads of a block of which nothing has been read.
    #[inline]
    fn prefetch_block<B>(block: &B) {
        holm_search::prefetch_lines(block);
    }

    /// Prefetches what a search reads first.
    #[inline]
    fn prefetch_header<B>(block: &B) {
        holm_search::prefetch(block);
    }
}

/// A byte for each slot, all compared at once.
pub struct Fingerprints;

impl FingerprintPolicy for Fingerprints {
    type Volatile = ();

    #[inline]
    fn candidates(line: &Line, search: Search, fingerprint: u8) -> u32 {
        search.bytes_equal(atomics(line).try_into().expect("four words"), fingerprint)
    }

    #[inline]
    fn of(line: &Line, index: usize) -> Option<u8> {
        Self::of_word(line[index / 8].read(), index)
    }

    #[inline]
    fn of_word(word: u64, index: usize) -> Option<u8> {
        Some((word >> (index % 8 * 8)) as u8)
    }

    #[inline]
    fn set<M: Medium>(line: &Line, handle: &mut WriteHandle<'_, M>, index: usize, fingerprint: u8) {
        debug_assert!(index < SLOTS);
        let (word, shift) = (&line[index / 8], index % 8 * 8);
        handle.write(word, word.read() & !(0xff << shift) | u64::from(fingerprint) << shift);
    }
}

/// No fingerprints: a search compares every pair.
pub struct NoFingerprints;

impl FingerprintPolicy for NoFingerprints {
    type Volatile = ();

    #[inline]
    fn candidates(_: &Line, _: Search, _: u8) -> u32 {
        u32::MAX
    }

    #[inline]
    fn of(_: &Line, _: usize) -> Option<u8> {
        None
    }

    #[inline]
    fn set<M: Medium>(_: &Line, _: &mut WriteHandle<'_, M>, _: usize, _: u8) {}
}
