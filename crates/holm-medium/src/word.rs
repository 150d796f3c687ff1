//! Eight durable bytes, and eight bytes that only look durable.
//!
//! Anyone may read a word at any time; only a write handle may change one. There is no way to change a word in here
//! that is visible outside this crate, so "readers have nothing in their hands to write with" is a matter of types.

use crate::sync::step;
use std::sync::atomic::{AtomicU64, Ordering};

/// Eight durable bytes: the unit of failure atomicity, of observation, and of Rust atomicity.
///
/// Reads are relaxed: a reader that races must validate a latch before it believes what it read.
#[repr(transparent)]
pub struct Word(AtomicU64);

/// Eight bytes that live among durable ones but mean nothing after a crash.
#[repr(transparent)]
pub struct Scratch(AtomicU64);

impl Word {
    /// The word as the cache holds it now.
    #[inline]
    pub fn read(&self) -> u64 {
        step();
        #[cfg(feature = "observed")]
        crate::observed::read(&self.0);
        self.0.load(Ordering::Relaxed)
    }

    /// Release, because FAST-style shifting relies on the program order of eight-byte stores: the compiler merges and
    /// reorders plain and relaxed ones, a run of release stores stays as written, and on x86 each is a plain `mov`.
    #[inline]
    pub(crate) fn set(&self, value: u64) {
        step();
        #[cfg(feature = "observed")]
        crate::observed::wrote(&self.0);
        self.0.store(value, Ordering::Release);
    }

    /// Into memory that nobody can reach yet: any order will do.
    #[inline]
    pub(crate) fn fill(&self, value: u64) {
        #[cfg(feature = "observed")]
        crate::observed::wrote(&self.0);
        self.0.store(value, Ordering::Relaxed);
    }
}

impl Scratch {
    /// The word as the cache holds it now.
    #[inline]
    pub fn read(&self) -> u64 {
        step();
        #[cfg(feature = "observed")]
        crate::observed::read(&self.0);
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, value: u64) {
        step();
        #[cfg(feature = "observed")]
        crate::observed::wrote(&self.0);
        self.0.store(value, Ordering::Release);
    }
}

/// Words as the atomics that vector kernels read. The kernels cannot write through them: they take shared slices and
/// live in a crate whose only use of an atomic is a load.
#[inline]
pub fn atomics(words: &[Word]) -> &[AtomicU64] {
    // A kernel's loads are not seen one by one; who asks for the atomics is taken to read them all.
    #[cfg(feature = "observed")]
    words.iter().for_each(|word| crate::observed::read(&word.0));
    crate::persistent::as_atomics(words)
}

/// Scratch words as the atomics that vector kernels read.
#[inline]
pub fn scratch_atomics(words: &[Scratch]) -> &[AtomicU64] {
    crate::persistent::scratch_as_atomics(words)
}
