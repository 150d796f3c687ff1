//! Pairs in any slot, each with a fingerprint of its key: what 512-byte leaves share that find a pair by one comparison
//! of a line.
//!
//! The leaf decides which slots count; the contents of other slots mean nothing. The leaf's own header is two words
//! before these, so that all fingerprints and slot 0 share its line.
//!
//! ```text
//! bytes 16-44   29 fingerprints of whole keys; 45-47 zero
//!       48-511  29 pairs {head, payload}; slot s lies in line s / 4, rounded up
//! ```

use crate::look::VECTORS;
use holm_medium::{Medium, Word, WriteHandle, atomics, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{MOST_PAIRS, Pairs, ReadContext};
use holm_tree::pair::Pair;
use holm_tree::pair::slots;
use holm_tree::pairs::IndexedPair;

/// The number of slots.
pub const SLOTS: usize = 29;
/// A bit for each slot.
pub const ALL: u32 = (1 << SLOTS) - 1;

persistent! {
    /// Four words of fingerprints, and the pairs.
    pub struct FingerprintedPairs {
        fingerprints: [Word; 4],
        pairs: [Pair; 29],
    }
}

const _: () = assert!(size_of::<FingerprintedPairs>() == 496 && SLOTS <= MOST_PAIRS);

/// The line of a slot.
pub const fn line(slot: usize) -> usize {
    slot.div_ceil(4)
}

impl FingerprintedPairs {
    /// A slot's pair.
    #[inline]
    pub fn pair(&self, at: usize) -> &Pair {
        &self.pairs[at]
    }

    /// The contents of a slot.
    #[inline]
    pub fn slot(&self, at: usize) -> Slot {
        self.pairs[at].slot()
    }

    /// The word of a slot's fingerprint.
    pub fn fingerprint_word(&self, at: usize) -> &Word {
        &self.fingerprints[at / 8]
    }

    /// A slot's fingerprint.
    pub fn fingerprint(&self, at: usize) -> u8 {
        (self.fingerprints[at / 8].read() >> (at % 8 * 8)) as u8
    }

    /// Of these slots, those whose fingerprint equals the search key's; compared with vectors, or one by one.
    #[inline]
    pub fn candidates<const LOOK: usize, V, K: Keys>(
        &self,
        bits: u32,
        context: ReadContext<'_, V, K>,
        search_key: K::SearchKey<'_>,
    ) -> impl Iterator<Item = usize> {
        let (words, fingerprint) = (atomics(&self.fingerprints), K::fingerprint(search_key));
        let words: &[_; 4] = words.try_into().expect("four words");
        let bits = if LOOK == VECTORS { context.search.bytes_equal(words, fingerprint) & bits } else { bits };
        slots(bits).filter(move |at| LOOK == VECTORS || self.fingerprint(*at) == fingerprint)
    }

    /// Of these slots, the one with the search key, and its payload.
    #[inline]
    pub fn find<const LOOK: usize, V, K: Keys>(
        &self,
        bits: u32,
        context: ReadContext<'_, V, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<(usize, u64)> {
        let pairs = self.candidates::<LOOK, V, K>(bits, context, search_key).map(|at| (at, self.slot(at)));
        pairs.into_iter().find(|(_, slot)| context.keys.is(*slot, search_key)).map(|(at, slot)| (at, slot.payload))
    }

    /// See [`crate::leaf::Leaf::prefetch_pairs`].
    #[inline]
    pub fn prefetch_pairs<const LOOK: usize, V, K: Keys>(
        &self,
        bits: u32,
        context: ReadContext<'_, V, K>,
        search_key: K::SearchKey<'_>,
    ) {
        if let Some(at) = self.candidates::<LOOK, V, K>(bits, context, search_key).next() {
            holm_search::prefetch(&self.pairs[at]);
        }
    }

    /// See [`crate::leaf::Leaf::candidate_payload`].
    #[inline]
    pub fn candidate_payload<const LOOK: usize, V, K: Keys>(
        &self,
        bits: u32,
        context: ReadContext<'_, V, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<u64> {
        self.candidates::<LOOK, V, K>(bits, context, search_key).next().map(|at| self.pairs[at].payload.read())
    }

    /// The pairs of these slots, in any order.
    pub fn block_pairs(&self, bits: u32, out: &mut Pairs) {
        slots(bits).for_each(|at| out.push(self.slot(at)));
    }

    /// The pairs of these slots, each with its slot.
    pub(crate) fn indexed_pairs(&self, bits: u32) -> impl Iterator<Item = IndexedPair> {
        slots(bits).map(|at| IndexedPair { slot: self.slot(at), at })
    }

    /// Writes the fingerprint of a slot that does not count; the caller flushes.
    #[inline]
    #[track_caller]
    pub fn set_fingerprint<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, at: usize, fingerprint: u8) {
        let (word, shift) = (&self.fingerprints[at / 8], at % 8 * 8);
        handle.write(word, word.read() & !(0xff << shift) | u64::from(fingerprint) << shift);
    }

    /// Copies everything from another one; the caller flushes.
    #[track_caller]
    pub fn copy<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, other: &Self) {
        for (to, from) in self.fingerprints.iter().zip(&other.fingerprints) {
            handle.write(to, from.read());
        }
        for (to, from) in self.pairs.iter().zip(&other.pairs) {
            to.write(handle, from.slot());
        }
    }
}
