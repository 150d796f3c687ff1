//! Where a guide's signs lie: in DRAM beside the leaf, or in the block behind its pairs, as scratch words.
//!
//! Signs in the block share no line with durable words, so no write-back of durable words includes them. But they are
//! lines of the block, and the CPU may evict them to the medium at any time.

use holm_medium::{Medium, Persistent, Scratch, WriteHandle, scratch_atomics};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A place for words that need not survive a crash.
pub trait Signs: Send + Sync + 'static {
    /// The part in the block.
    type Inlaid: Persistent;
    /// The part outside the block.
    type Volatile: Default + Send + Sync + 'static;
    /// The number of words.
    const WORDS: usize;

    /// The words.
    fn words<'a>(inlaid: &'a Self::Inlaid, volatile: &'a Self::Volatile) -> &'a [AtomicU64];
    /// Changes one word.
    fn set<M: Medium>(
        inlaid: &Self::Inlaid,
        volatile: &Self::Volatile,
        handle: &mut WriteHandle<'_, M>,
        index: usize,
        value: u64,
    );
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
    type Volatile = Lines<WORDS>;
    const WORDS: usize = WORDS;

    #[inline(always)]
    fn words<'a>(_: &'a (), volatile: &'a Lines<WORDS>) -> &'a [AtomicU64] {
        &volatile.0
    }
    #[inline]
    fn set<M: Medium>(_: &(), volatile: &Lines<WORDS>, _: &mut WriteHandle<'_, M>, index: usize, value: u64) {
        // Release, like the stores of a write handle: unlocking the latch afterwards publishes both in the same way.
        volatile.0[index].store(value, std::sync::atomic::Ordering::Release);
        debug_assert_eq!(volatile.0[index].load(Relaxed), value, "writers are alone");
    }
}

/// Signs in the block, behind the pairs.
pub struct Inlaid<const WORDS: usize>;

impl<const WORDS: usize> Signs for Inlaid<WORDS> {
    type Inlaid = [Scratch; WORDS];
    type Volatile = ();
    const WORDS: usize = WORDS;

    #[inline(always)]
    fn words<'a>(inlaid: &'a [Scratch; WORDS], _: &'a ()) -> &'a [AtomicU64] {
        scratch_atomics(inlaid)
    }
    #[inline]
    fn set<M: Medium>(inlaid: &[Scratch; WORDS], _: &(), handle: &mut WriteHandle<'_, M>, index: usize, value: u64) {
        handle.scratch(&inlaid[index], value);
    }
}
