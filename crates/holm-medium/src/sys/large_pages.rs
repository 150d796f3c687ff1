//! Large pages for memory that is allocated elsewhere.
//!
//! `unsafe` is allowed in this file: it gives advice about memory.

use super::advice::Advice;
use super::system;
use crate::region::LARGE_PAGE;
use rustix::mm;
use std::mem::MaybeUninit;

/// Requests large pages for memory that nothing has touched yet: the large pages that lie in it as a whole. Fewer
/// faults fill it then, and it takes fewer entries of the processor's address cache. A hint, without effect where the
/// kernel has no large pages.
///
/// ```
/// let mut numbers: Vec<u64> = Vec::with_capacity(1 << 20);
/// holm_medium::prefer_large_pages(numbers.spare_capacity_mut());
/// numbers.resize(1 << 20, 7);
/// ```
pub fn prefer_large_pages<T>(memory: &mut [MaybeUninit<T>]) {
    let Some(advice) = system::advice(Advice::LargePages).filter(|_| !cfg!(miri)) else { return };
    let range = memory.as_mut_ptr_range();
    let start = range.start.addr().next_multiple_of(LARGE_PAGE);
    let end = range.end.addr() / LARGE_PAGE * LARGE_PAGE;
    if start < end {
        let first = range.start.cast::<u8>().wrapping_add(start - range.start.addr());
        // SAFETY: pages that lie within memory that is borrowed exclusively, and the advice discards no contents.
        let _ = unsafe { mm::madvise(first.cast(), end - start, advice) };
    }
}
