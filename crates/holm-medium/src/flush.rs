//! How a line leaves the cache: which flush instruction this CPU has, and the fence that waits for it.
//!
//! Stable Rust has no intrinsic for `clwb` or `clflushopt`; the folder has a few lines of assembly for each.

mod instruction;
#[cfg(any(miri, not(target_arch = "x86_64")))]
mod portable;
#[cfg(all(not(miri), target_arch = "x86_64"))]
mod x86_64;

#[cfg(any(miri, not(target_arch = "x86_64")))]
use portable as machine;
#[cfg(all(not(miri), target_arch = "x86_64"))]
use x86_64 as machine;

use crate::word::Word;

pub use instruction::Flush;

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
