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
use holm_medium::{Medium, Word, WriteHandle, atomics};
use holm_search::Search;

/// The words for fingerprints: 28 bytes, and above them the number of the leaf's first block.
pub type Line = [Word; 4];

/// Whether there are fingerprints, and where a search looks.
pub trait FingerprintPolicy: Send + Sync + 'static {
    /// What is known of a block beside it.
    type Volatile: Default + Send + Sync + 'static;

    /// The slots that may hold a key of that fingerprint, and bits beyond the last slot that mean nothing.
    fn candidates(line: &Line, search: Search, fingerprint: u8) -> u32;

    /// A slot's, if it has one.
    fn of(line: &Line, index: usize) -> Option<u8>;

    /// Sets a slot's. The caller flushes.
    fn set<M: Medium>(line: &Line, handle: &mut WriteHandle<'_, M>, index: usize, fingerprint: u8);

    /// [`FingerprintPolicy::candidates`], for a search.
    #[inline]
    fn search_candidates(line: &Line, volatile: &Self::Volatile, search: Search, fingerprint: u8) -> u32 {
        let _ = volatile;
        Self::candidates(line, search, fingerprint)
    }

    /// Which slots count now, for a search.
    #[inline]
    fn now<V: Versions>(versions: &V, volatile: &Self::Volatile) -> State {
        let _ = volatile;
        versions.now()
    }

    /// The block has changed: what is known beside it is made anew.
    #[inline]
    fn derive<V: Versions>(line: &Line, versions: &V, volatile: &Self::Volatile) {
        let _ = (line, versions, volatile);
    }

    /// Asks the CPU for what a search will read of a block, of which nothing has been looked at.
    #[inline]
    fn prefetch_block<B>(block: &B) {
        holm_search::prefetch_lines(block);
    }

    /// The same of what a search will read first.
    #[inline]
    fn prefetch_header<B>(block: &B) {
        holm_search::prefetch(block);
    }
}

/// A byte for each slot, all of them compared at once.
pub struct Fingerprints;

impl FingerprintPolicy for Fingerprints {
    type Volatile = ();

    #[inline]
    fn candidates(line: &Line, search: Search, fingerprint: u8) -> u32 {
        search.bytes_equal(atomics(line).try_into().expect("four words"), fingerprint)
    }

    #[inline]
    fn of(line: &Line, index: usize) -> Option<u8> {
        Some((line[index / 8].read() >> (index % 8 * 8)) as u8)
    }

    #[inline]
    fn set<M: Medium>(line: &Line, handle: &mut WriteHandle<'_, M>, index: usize, fingerprint: u8) {
        debug_assert!(index < SLOTS);
        let (word, shift) = (&line[index / 8], index % 8 * 8);
        handle.write(word, word.read() & !(0xff << shift) | u64::from(fingerprint) << shift);
    }
}

/// None: every pair is looked at.
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
