//! The fingerprints of a block's slots in DRAM, one byte each.

use holm_search::Search;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release};

/// A fingerprint for each of 32 slots, in four words: as many as one vector comparison covers. Readers race with the
/// writer, who holds the latch.
#[derive(Default)]
pub struct SlotFingerprints([AtomicU64; 4]);

impl SlotFingerprints {
    /// Returns the fingerprint of a slot.
    #[inline]
    pub fn of(&self, slot: usize) -> u8 {
        (self.word(slot / 8) >> (slot % 8 * 8)) as u8
    }

    /// Returns those of eight slots; the first slot is in the low byte.
    #[inline]
    pub fn word(&self, word: usize) -> u64 {
        self.0[word].load(Relaxed)
    }

    /// Changes the fingerprint of a slot.
    #[inline]
    pub fn set(&self, slot: usize, fingerprint: u8) {
        let (word, shift) = (&self.0[slot / 8], slot % 8 * 8);
        // Release, like the stores of a write handle: unlocking the latch afterwards publishes both in the same way.
        word.store(word.load(Relaxed) & !(0xff << shift) | u64::from(fingerprint) << shift, Release);
    }

    /// Returns a bit for each slot with this fingerprint, whether the slot counts or not.
    #[inline]
    pub fn alike(&self, search: Search, fingerprint: u8) -> u32 {
        search.bytes_equal(&self.0, fingerprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_has_a_byte_of_its_own() {
        let fingerprints = SlotFingerprints::default();
        (0..32).for_each(|slot| fingerprints.set(slot, 0xff));
        (0..32).for_each(|slot| fingerprints.set(slot, slot as u8 % 16));
        assert!((0..32).all(|slot| fingerprints.of(slot) == slot as u8 % 16));
        assert_eq!(fingerprints.word(3), 0x0f0e_0d0c_0b0a_0908);
        for search in Search::all_available() {
            assert_eq!(fingerprints.alike(search, 5), 1 << 5 | 1 << 21);
        }
    }
}
