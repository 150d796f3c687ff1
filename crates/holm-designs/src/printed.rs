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

use holm_medium::{Medium, Pen, Word, atomics, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{Lens, MOST_PAIRS, Pairs};
use holm_tree::pair::Pair;
use holm_tree::pair::slots;
use holm_tree::pairs::Placed;

/// The number of slots.
pub const SLOTS: usize = 29;
/// A bit for each slot.
pub const ALL: u32 = (1 << SLOTS) - 1;

persistent! {
    /// Four words of fingerprints, and the pairs.
    pub struct Printed {
        prints: [Word; 4],
        pairs: [Pair; 29],
    }
}

const _: () = assert!(size_of::<Printed>() == 496 && SLOTS <= MOST_PAIRS);

/// The line of a slot.
pub const fn line(slot: usize) -> usize {
    slot.div_ceil(4)
}

impl Printed {
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
    pub fn print_word(&self, at: usize) -> &Word {
        &self.prints[at / 8]
    }

    /// A slot's fingerprint.
    pub fn print(&self, at: usize) -> u8 {
        (self.prints[at / 8].read() >> (at % 8 * 8)) as u8
    }

    /// Of these slots, those whose fingerprint equals the search key's.
    #[inline]
    pub fn candidates<K: Keys>(
        &self,
        bits: u32,
        lens: Lens<'_, K>,
        probe: K::Probe<'_>,
    ) -> impl Iterator<Item = usize> {
        let prints: &[_; 4] = atomics(&self.prints).try_into().expect("four words");
        slots(lens.search.bytes_equal(prints, K::print(probe)) & bits)
    }

    /// Of these slots, the one with the search key, and its payload.
    #[inline]
    pub fn find<K: Keys>(&self, bits: u32, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<(usize, u64)> {
        let pairs = self.candidates(bits, lens, probe).map(|at| (at, self.slot(at)));
        pairs.into_iter().find(|(_, slot)| lens.keys.is(*slot, probe)).map(|(at, slot)| (at, slot.payload))
    }

    /// See [`crate::leaf::Leaf::prefetch_pairs`].
    #[inline]
    pub fn aim<K: Keys>(&self, bits: u32, lens: Lens<'_, K>, probe: K::Probe<'_>) {
        if let Some(at) = self.candidates(bits, lens, probe).next() {
            holm_search::prefetch(&self.pairs[at]);
        }
    }

    /// See [`crate::leaf::Leaf::candidate_payload`].
    #[inline]
    pub fn glance<K: Keys>(&self, bits: u32, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        self.candidates(bits, lens, probe).next().map(|at| self.pairs[at].payload.read())
    }

    /// The pairs of these slots, in any order.
    pub fn live(&self, bits: u32, out: &mut Pairs) {
        slots(bits).for_each(|at| out.push(self.slot(at)));
    }

    /// The pairs of these slots, each with its slot.
    pub(crate) fn placed(&self, bits: u32) -> impl Iterator<Item = Placed> {
        slots(bits).map(|at| (self.slot(at), at))
    }

    /// Writes the fingerprint of a slot that does not count; the caller flushes.
    #[inline]
    #[track_caller]
    pub fn set_print<M: Medium>(&self, pen: &mut Pen<'_, M>, at: usize, print: u8) {
        let (word, shift) = (&self.prints[at / 8], at % 8 * 8);
        pen.write(word, word.read() & !(0xff << shift) | u64::from(print) << shift);
    }

    /// Copies everything from another one; the caller flushes.
    #[track_caller]
    pub fn copy<M: Medium>(&self, pen: &mut Pen<'_, M>, other: &Self) {
        for (to, from) in self.prints.iter().zip(&other.prints) {
            pen.write(to, from.read());
        }
        for (to, from) in self.pairs.iter().zip(&other.pairs) {
            to.write(pen, from.slot());
        }
    }
}
