//! Cache-line alignment. Kernels compare a line of heads at a time; unaligned, each compare would read two lines.

use crate::sync::atomic::AtomicU64;
use std::ops::Deref;

/// Begins at a cache line.
#[repr(align(64))]
pub struct Lined<T>(pub T);

impl<T> Deref for Lined<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Returns `LINES` lines of heads, each head the greatest.
pub fn lines_of_heads<const LINES: usize>() -> Lined<[[AtomicU64; 8]; LINES]> {
    Lined(std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(u64::MAX))))
}
