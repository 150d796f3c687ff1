//! The reachable part of the record area: one bit per word while the rebuild runs, then the free runs.

use holm_medium::{MediumError, Result};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The first word that a record may have. The first line of the area stays unused: location zero means none.
const FIRST_WORD: u64 = 8;

/// The words by which the end of the last record is rounded up: a mebibyte.
const STEP: u64 = 1 << 17;

/// One bit for each word of the record area. Memory is taken where records are, and not for the rest of the area.
pub(crate) struct ReachableRecords {
    bits: Box<[AtomicU64]>,
    words: u64,
    /// Behind the last marked record, in words: whole steps, so that threads seldom write it.
    end: AtomicU64,
}

impl ReachableRecords {
    /// Of an area of `bytes`, in which no record is marked.
    ///
    /// # Errors
    /// `Io` of kind `OutOfMemory`: the file is longer than any that this machine can recover.
    pub(crate) fn new(bytes: u64) -> Result<Self> {
        let words = bytes / 8;
        let bits = bytemuck::allocation::try_zeroed_slice_box(words.div_ceil(64) as usize).map_err(|()| {
            let what = format!("found {bytes} bytes, for which there is no memory");
            let error = io::Error::new(io::ErrorKind::OutOfMemory, what);
            MediumError::io("allocating a bit for each word of", Path::new("records"), error)
        })?;
        Ok(ReachableRecords { bits, words, end: AtomicU64::new(0) })
    }

    /// The bits up to the last record.
    fn used(&self) -> &[AtomicU64] {
        &self.bits[..self.end.load(Relaxed).div_ceil(64) as usize]
    }

    /// Prefetches the bits of a record.
    #[inline]
    pub(crate) fn prefetch(&self, offset: u64) {
        self.bits.get((offset / 8 / 64) as usize).into_iter().for_each(holm_search::prefetch_write);
    }

    /// Marks a record; returns whether it lies where records may.
    pub(crate) fn mark(&self, offset: u64, words: u32) -> bool {
        let (start, end) = (offset / 8, offset / 8 + u64::from(words));
        // If a record in the unused line counted, its space would be free once it is removed, and be given out.
        if start < FIRST_WORD || end > self.words || !offset.is_multiple_of(8) {
            return false;
        }
        let mut at = start;
        while at < end {
            let upto = end.min((at / 64 + 1) * 64);
            let mask = (u64::MAX >> (64 - (upto - at))) << (at % 64);
            self.bits[(at / 64) as usize].fetch_or(mask, Relaxed);
            at = upto;
        }
        if self.end.load(Relaxed) < end {
            self.end.fetch_max(end.next_multiple_of(STEP).min(self.words), Relaxed);
        }
        true
    }

    /// Returns the bytes of all marked records. O(bytes up to the last one, and a mebibyte).
    pub(crate) fn bytes(&self) -> u64 {
        self.used().iter().map(|bits| u64::from(bits.load(Relaxed).count_ones())).sum::<u64>() * 8
    }

    /// Returns the end of the last record, and the free runs below it (offset, bytes).
    pub(crate) fn free_runs(&self) -> (u64, Vec<(u64, u64)>) {
        let mut runs = Vec::new();
        let mut free_from = FIRST_WORD;
        for (index, bits) in self.used().iter().enumerate() {
            let bits = bits.load(Relaxed);
            let base = index as u64 * 64;
            if bits == 0 {
                continue;
            }
            let mut at = 0;
            while at < 64 {
                let zeros = u64::from((bits >> at).trailing_zeros()).min(64 - at);
                at += zeros;
                if at == 64 {
                    break;
                }
                let start = base + at;
                if start > free_from {
                    runs.push((free_from * 8, (start - free_from) * 8));
                }
                let ones = u64::from((!(bits >> at)).trailing_zeros()).min(64 - at);
                at += ones;
                free_from = base + at;
            }
        }
        (free_from * 8, runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_what_lies_between_records() {
        let reachable = ReachableRecords::new(8 << 10).expect("memory");
        assert!(reachable.mark(64, 16));
        assert!(reachable.mark(64 + 16 * 8 + 640, 100));
        assert!(reachable.mark(64 + 16 * 8 + 640 + 800 + 8, 1));
        assert!(!reachable.mark(8 << 10, 1), "outside");
        assert!(!reachable.mark(68, 1), "no word's place");
        assert!(!reachable.mark(56, 1), "in the unused line");
        let (frontier, runs) = reachable.free_runs();
        assert_eq!(frontier, 64 + 128 + 640 + 800 + 16);
        assert_eq!(
            runs,
            [(64 + 128, 640), (64 + 128 + 640 + 800, 8)],
            "a gap of one word joins what is freed beside it"
        );
        assert_eq!(reachable.bytes(), 117 * 8);
    }

    /// A file can be as long as its system allows, and have little in it.
    #[test]
    #[cfg_attr(miri, ignore = "memory that nothing touches is memory there")]
    fn a_file_that_is_too_long_costs_what_its_records_cost() {
        let reachable = ReachableRecords::new(1 << 32).expect("64 MiB that nothing touches");
        assert!(reachable.mark(64, 16));
        assert_eq!((reachable.bytes(), reachable.used().len()), (128, STEP as usize / 64));
        let refused = ReachableRecords::new(u64::MAX).map(drop);
        assert!(matches!(refused, Err(MediumError::Io { .. })), "{refused:?}");
    }
}
