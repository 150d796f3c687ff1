//! Where a guide's signs lie: in DRAM beside the leaf, or in the block behind its pairs, as scratch words.
//!
//! In the block they share the medium's lines with nothing durable, so that no write-back carries them; but lines of
//! the block they are, and may be evicted to the medium unasked.

use holm_medium::{Medium, Pen, Persistent, Scratch, scratch_atomics};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A place for words that a crash may take.
pub trait Signs: Send + Sync + 'static {
    /// What of it lies in the block.
    type Inlaid: Persistent;
    /// What of it lies beside.
    type Beside: Default + Send + Sync + 'static;
    /// How many words.
    const WORDS: usize;

    /// The words.
    fn words<'a>(inlaid: &'a Self::Inlaid, beside: &'a Self::Beside) -> &'a [AtomicU64];
    /// Changes one.
    fn set<M: Medium>(inlaid: &Self::Inlaid, beside: &Self::Beside, pen: &mut Pen<'_, M>, index: usize, value: u64);
}

/// Beside the block, in DRAM.
pub struct Aside<const WORDS: usize>;

/// Words that start a line of their own. The standard library's atomics, which vector kernels read.
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
        // Release, as a pen's stores are: a latch that is let go later vouches for it either way.
        beside.0[index].store(value, std::sync::atomic::Ordering::Release);
        debug_assert_eq!(beside.0[index].load(Relaxed), value, "writers are alone");
    }
}

/// In the block, behind the pairs.
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
