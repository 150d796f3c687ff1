//! The two prefetch instructions. Both exist on every x86-64 (`prefetchw` as nothing on some old ones), and neither
//! faults, whatever the address.

use std::arch::asm;
use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

/// Into all levels of the cache, to be read.
#[inline(always)]
pub(crate) fn read(at: *const u8) {
    // SAFETY: a hint, which dereferences nothing; SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

/// Into all levels of the cache, owned. In `asm!`, for the intrinsic becomes a plain prefetch on builds for the oldest
/// x86-64, although nearly every CPU has the better one.
#[inline(always)]
pub(crate) fn write(at: *const u8) {
    // SAFETY: a hint, which dereferences nothing and changes no register.
    unsafe { asm!("prefetchw [{at}]", at = in(reg) at, options(readonly, nostack, preserves_flags)) };
}
