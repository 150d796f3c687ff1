//! The reference: every kernel in safe Rust, with relaxed loads of single words.
//!
//! It runs everywhere, including under Miri, and the vector kernels are tested against it. It is branch-free where they
//! are, so that measurements compare instructions and not code styles.

use crate::kernels::{Kernels, Line};
use crate::search::MOST_RANKED;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The portable kernels. They need no CPU feature, so any caller may construct this value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portable;

/// A one in each byte.
const ONES: u64 = 0x0101_0101_0101_0101;

impl Kernels for Portable {
    #[inline]
    fn rank(self, lines: &[Line], count: usize, key: u64) -> usize {
        lines.as_flattened().iter().take(count).map(|word| usize::from(word.load(Relaxed) <= key)).sum()
    }

    #[inline]
    fn bytes_equal(self, words: &[AtomicU64; 4], byte: u8) -> u32 {
        let wanted = u64::from(byte) * ONES;
        let masks = words.iter().map(|word| u32::from(zero_bytes(word.load(Relaxed) ^ wanted)));
        masks.enumerate().fold(0, |mask, (word, eight)| mask | eight << (8 * word))
    }

    #[inline]
    fn words_equal(self, lines: &[Line], key: u64) -> u64 {
        let words = lines.as_flattened().iter().enumerate();
        words.fold(0, |mask, (slot, word)| mask | u64::from(word.load(Relaxed) == key) << slot)
    }

    #[inline(always)]
    fn ranks(self, numbers: &[u64; MOST_RANKED], count: usize) -> [u64; MOST_RANKED] {
        let mut ranks = [0; MOST_RANKED];
        for than in &numbers[..count] {
            for (rank, number) in ranks.iter_mut().zip(&numbers[..count]) {
                *rank += u64::from(than < number);
            }
        }
        ranks
    }

    #[inline]
    fn copy(self, from: &[AtomicU64], out: &mut [u64]) {
        for (word, out) in from.iter().zip(out) {
            *out = word.load(Relaxed);
        }
    }

    #[inline]
    fn starts_with(self, words: &[AtomicU64], key: &[u8]) -> bool {
        let (whole, rest) = key.as_chunks::<8>();
        let differing = words
            .iter()
            .zip(whole)
            .fold(0, |bits, (word, bytes)| bits | (word.load(Relaxed) ^ u64::from_le_bytes(*bytes)));
        if rest.is_empty() {
            return differing == 0;
        }
        let last = words.get(whole.len()).map_or(0, |word| word.load(Relaxed));
        let tail = (last ^ rest_word(key, rest)) << (64 - 8 * rest.len());
        differing | tail == 0
    }
}

/// Bit i of the result is set if and only if byte i of `word` is zero. No carry leaves its byte. The shorter form with
/// a subtraction is exact only in the first byte.
#[inline]
fn zero_bytes(word: u64) -> u8 {
    let low_bits = 0x7f * ONES;
    let zeros = !(((word & low_bits) + low_bits) | word | low_bits);
    // The product moves bit 8 * i to bit 56 + i, and no two of its terms overlap.
    ((zeros >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

/// Returns the one to seven bytes `rest`, the end of `key`, as the low bytes of a word. It uses overlapping loads of
/// fixed sizes: a copy of variable length would be a call.
#[inline]
fn rest_word(key: &[u8], rest: &[u8]) -> u64 {
    if let Some(last) = key.last_chunk::<8>() {
        return u64::from_le_bytes(*last) >> (64 - 8 * rest.len());
    }
    if let (Some(first), Some(last)) = (rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        let shift = 8 * (rest.len() - 4);
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << shift;
    }
    rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}
