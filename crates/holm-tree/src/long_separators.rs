//! Long separators: those that their heads do not determine. Their bytes lie out of line, under a number, and can be
//! read while writers change others.
//!
//! As in the slab, this memory never changes type. A stale number leads to some other separator and never to a fault,
//! and the reader validates the node that the number came from. Most separators are short and unique within their head;
//! only common runs longer than eight bytes put anything here.

use crate::head::head_of;
use crate::slab::Slab;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::cmp::Ordering as Cmp;

const WORDS: usize = 4;
const BYTES: usize = WORDS * 8;

/// A link of a long separator: up to 32 bytes, and the next link.
#[derive(Default)]
struct Link {
    /// The separator's length in the upper half (first link only), the number of the next link in the lower.
    head: AtomicU64,
    words: [AtomicU64; WORDS],
}

/// Long separators by number; number 0 is none.
pub struct LongSeparators(Slab<Link>);

impl Default for LongSeparators {
    fn default() -> Self {
        let slab = Slab::default();
        slab.take();
        LongSeparators(slab)
    }
}

impl LongSeparators {
    /// Returns the bytes of all links that were ever taken.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Stores a long separator and returns its number.
    pub fn keep(&self, long: &[u8]) -> u32 {
        let mut next = 0;
        let links = long.chunks(BYTES).collect::<Vec<_>>();
        for bytes in links.iter().rev().copied().chain(links.is_empty().then_some(&[][..])) {
            let (number, link) = self.0.take();
            for (word, bytes) in link.words.iter().zip(bytes.chunks(8)) {
                let mut whole = [0; 8];
                whole[..bytes.len()].copy_from_slice(bytes);
                word.store(u64::from_le_bytes(whole), Ordering::Relaxed);
            }
            link.head.store((long.len() as u64) << 32 | u64::from(next), Ordering::Relaxed);
            next = number;
        }
        next
    }

    /// Frees a long separator; its links are reused.
    pub fn forget(&self, number: u32) {
        let mut at = number;
        while at != 0 {
            let next = self.0.get(at).map_or(0, |link| link.head.load(Ordering::Relaxed) as u32);
            self.0.give(at);
            at = next;
        }
    }

    /// Compares a long separator with some bytes. The answer is arbitrary if the separator is being replaced.
    pub fn compare(&self, number: u32, bytes: &[u8]) -> Cmp {
        let Some(mut link) = self.0.get(number) else { return Cmp::Less };
        let len = (link.head.load(Ordering::Relaxed) >> 32) as usize;
        let mut at = 0;
        while at < len {
            // Words after the end hold what the link held before.
            for word in link.words.iter().take((len - at).div_ceil(8)) {
                // Missing bytes of either side read as zeros; the lengths decide then.
                let own = word.load(Ordering::Relaxed).swap_bytes();
                let theirs = head_of(bytes, at);
                if own != theirs {
                    return own.cmp(&theirs);
                }
                at += 8;
            }
            match self.0.get(link.head.load(Ordering::Relaxed) as u32) {
                Some(next) => link = next,
                None => break,
            }
        }
        len.cmp(&bytes.len())
    }

    /// Appends a long separator to `out`. If it is being replaced, the bytes are arbitrary but no longer than any
    /// separator.
    pub fn read(&self, number: u32, out: &mut Vec<u8>) {
        let Some(link) = self.0.get(number) else { return };
        let mut left = ((link.head.load(Ordering::Relaxed) >> 32) as usize).min(1 << 17);
        let mut at = number;
        while left > 0 {
            let Some(link) = self.0.get(at) else { return };
            for word in &link.words {
                let bytes = word.load(Ordering::Relaxed).to_le_bytes();
                let count = left.min(8);
                out.extend_from_slice(&bytes[..count]);
                left -= count;
            }
            at = link.head.load(Ordering::Relaxed) as u32;
            if at == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_separators_compare_as_their_bytes_do() {
        let long_separators = LongSeparators::default();
        let lens = [0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 100];
        let all: Vec<Vec<u8>> = lens.iter().flat_map(|len| [0, 1, 255].map(|byte| vec![byte; *len])).collect();
        let last = all.iter().filter(|long| !long.is_empty()).map(|long| [&long[..long.len() - 1], &[7]].concat());
        let all: Vec<_> = all.iter().cloned().chain(last).collect();
        all.iter().for_each(|long| long_separators.forget(long_separators.keep(&[&long[..], &[9; 40]].concat())));
        for long in &all {
            let number = long_separators.keep(long);
            for other in &all {
                assert_eq!(long_separators.compare(number, other), long.cmp(other), "{long:?} {other:?}");
            }
        }
    }

    #[test]
    fn long_separators_of_every_length_come_back() {
        let long_separators = LongSeparators::default();
        for round in 0..3 {
            let kept: Vec<_> = (0..200).map(|len| (0..len).map(|i| (i + round) as u8).collect::<Vec<_>>()).collect();
            let numbers: Vec<_> = kept.iter().map(|long| long_separators.keep(long)).collect();
            for (number, long) in numbers.iter().zip(&kept) {
                let mut out = vec![];
                long_separators.read(*number, &mut out);
                assert_eq!(&out, long);
                assert_ne!(*number, 0);
            }
            numbers.into_iter().for_each(|number| long_separators.forget(number));
        }
        assert!(long_separators.0.take().0 < 1000, "links are reused");
    }
}
