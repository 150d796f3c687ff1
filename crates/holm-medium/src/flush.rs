//! How a line leaves the cache: which flush instruction this CPU has, and the fence that waits for it.
//!
//! Stable Rust has no intrinsic for `clwb` or `clflushopt`; the folder has a few lines of assembly for each.

#[cfg(any(miri, not(target_arch = "x86_64")))]
mod portable;
#[cfg(all(not(miri), target_arch = "x86_64"))]
mod x86_64;

#[cfg(any(miri, not(target_arch = "x86_64")))]
use portable as machine;
#[cfg(all(not(miri), target_arch = "x86_64"))]
use x86_64 as machine;

use crate::word::Word;

/// The instruction that starts the write-back of a line. An enum rather than a type parameter: a predicted branch
/// beside a flush of a hundred nanoseconds costs nothing, and one `Mapped` covers all instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flush {
    /// Keeps the line in the cache where the CPU can.
    Clwb,
    /// Evicts the line.
    Clflushopt,
    /// Evicts the line; the oldest instruction.
    Clflush,
    /// Cleans the line to the point of persistence (`dc cvap`, ARM).
    DcCvap,
    /// Nothing: the caches themselves are persistent (eADR, battery), or nothing needs to be.
    Nothing,
}

impl Flush {
    /// The best instruction of this CPU.
    pub fn detect() -> Self {
        machine::detect()
    }

    /// Starts the write-back of the line that holds a word.
    #[inline]
    pub fn line(self, word: &Word) {
        machine::flush(self, std::ptr::from_ref(word).cast());
    }

    /// Waits for this thread's write-backs.
    #[inline]
    pub fn fence(self) {
        if self != Flush::Nothing {
            machine::fence();
        }
    }
}

/// Spins for `ns` nanoseconds, without `pause`, whose granularity would show at 50 ns.
#[inline]
pub(crate) fn spin(ns: u32) {
    machine::spin(ns);
}
