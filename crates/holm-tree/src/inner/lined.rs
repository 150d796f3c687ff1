//! What begins with a line of the cache: kernels compare a line of heads at a time, and where lines of heads began
//! anywhere, each compare would read two.

use crate::sync::atomic::AtomicU64;
use std::ops::Deref;

/// At the beginning of a line.
#[repr(align(64))]
pub struct Lined<T>(pub T);

impl<T> Deref for Lined<T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// So many lines of heads, all of them the greatest.
pub fn lines_of_heads<const LINES: usize>() -> Lined<[[AtomicU64; 8]; LINES]> {
    Lined(std::array::from_fn(|_| std::array::from_fn(|_| AtomicU64::new(u64::MAX))))
}
