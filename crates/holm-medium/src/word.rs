//! [`Word`], eight durable bytes, and [`Scratch`], eight bytes that lie among durable ones without being durable.
//!
//! Any thread may read a word at any time. Only a write handle changes one: no function that changes a word is visible
//! outside this crate. The type system thus ensures that readers cannot write.

use crate::sync::{step, step_before_store};
use std::sync::atomic::{AtomicU64, Ordering};

/// Eight durable bytes: the unit of failure atomicity, of observation, and of Rust atomicity.
///
/// Reads are relaxed: a reader that races with a writer must validate a latch before it uses what it read.
#[repr(transparent)]
pub struct Word(AtomicU64);

/// Eight bytes that lie among durable ones but mean nothing after a crash.
#[repr(transparent)]
pub struct Scratch(AtomicU64);

impl Word {
    /// The value that the cache holds now.
    #[inline]
    pub fn read(&self) -> u64 {
        step();
        #[cfg(feature = "observed")]
        crate::observed::read(&self.0);
        self.0.load(Ordering::Relaxed)
    }

    /// A release store, because shifting as in FAST relies on the program order of eight-byte stores. The compiler
    /// merges and reorders plain and relaxed stores. It keeps a run of release stores as written, and on x86 each is a
    /// plain `mov`.
    #[inline]
    pub(crate) fn set(&self, value: u64) {
        step_before_store();
        #[cfg(feature = "observed")]
        crate::observed::wrote(&self.0);
        self.0.store(value, Ordering::Release);
    }

    /// Stores into memory that no other thread can reach yet: any order is correct.
    #[inline]
    pub(crate) fn fill(&self, value: u64) {
        #[cfg(feature = "observed")]
        crate::observed::wrote(&self.0);
        self.0.store(value, Ordering::Relaxed);
    }
}

impl Scratch {
    /// The value that the cache holds now.
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
