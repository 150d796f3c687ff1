//! Where a guide's signs lie: in DRAM beside the leaf, or in the block behind its pairs, as scratch words.
//!
//! Signs in the block share no line with durable words, so no write-back of durable words includes them. But they are
//! lines of the block, and the CPU may evict them to the medium at any time.

use holm_medium::{Medium, Pen, Persistent, Scratch, scratch_atomics};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A place for words that need not survive a crash.
pub trait Signs: Send + Sync + 'static {
    /// The part in the block.
    type Inlaid: Persistent;
    /// The part outside the block.
    type Beside: Default + Send + Sync + 'static;
    /// The number of words.
    const WORDS: usize;

    /// The words.
    fn words<'a>(inlaid: &'a Self::Inlaid, beside: &'a Self::Beside) -> &'a [AtomicU64];
    /// Changes one word.
    fn set<M: Medium>(inlaid: &Self::Inlaid, beside: &Self::Beside, pen: &mut Pen<'_, M>, index: usize, value: u64);
}

/// Signs in DRAM, beside the block.
pub struct Aside<const WORDS: usize>;

/// Words that start on a line boundary. They are the standard library's atomics, which vector kernels read.
#[repr(align(64))]
pub struct Lines<const WORDS: usize>([AtomicU64; WORDS]);

impl<const WORDS: usize> Default for Lines<WORDS> {
    fn default() -> Self {
        Lines(std::array::from_fn(|_| AtomicU64::new(u64::MAX)))
    }
}

impl<const WORDS: usize> Signs for Aside<WORDS> {
    type Inlaid = ();
    type Beside = Lines<WORDS>;
    const WORDS: usize = WORDS;

    #[inline(always)]
    fn words<'a>(_: &'a (), beside: &'a Lines<WORDS>) -> &'a [AtomicU64] {
        &beside.0
    }
    #[inline]
    fn set<M: Medium>(_: &(), beside: &Lines<WORDS>, _: &mut Pen<'_, M>, index: usize, value: u64) {
        // Release, like the stores of a write handle: unlocking the latch afterwards publishes both in the same way.
        beside.0[index].store(value, std::sync::atomic::Ordering::Release);
        debug_assert_eq!(beside.0[index].load(Relaxed), value, "writers are alone");
    }
}

/// Signs in the block, behind the pairs.
pub struct Inlaid<const WORDS: usize>;

impl<const WORDS: usize> Signs for Inlaid<WORDS> {
    type Inlaid = [Scratch; WORDS];
    type Beside = ();
    const WORDS: usize = WORDS;

    #[inline(always)]
    fn words<'a>(inlaid: &'a [Scratch; WORDS], _: &'a ()) -> &'a [AtomicU64] {
        scratch_atomics(inlaid)
    }
    #[inline]
    fn set<M: Medium>(inlaid: &[Scratch; WORDS], _: &(), pen: &mut Pen<'_, M>, index: usize, value: u64) {
        pen.scratch(&inlaid[index], value);
    }
}
