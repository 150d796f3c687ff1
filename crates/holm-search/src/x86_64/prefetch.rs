//! The two prefetch instructions. Both exist on every x86-64 (`prefetchw` as nothing on some old ones), and neither
//! faults, whatever the address.

use std::arch::asm;
use std::arch::x86_64::{_MM_HINT_NTA, _MM_HINT_T0, _MM_HINT_T1, _MM_HINT_T2, _mm_prefetch};

/// Into all levels of the cache, to be read.
#[inline(always)]
pub(crate) fn read(at: *const u8) {
    // SAFETY: a hint, which dereferences nothing; SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

/// Into the second level and what lies beyond.
#[inline(always)]
pub(crate) fn read_second(at: *const u8) {
    // SAFETY: as above.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) };
}

/// Into the third level.
#[inline(always)]
pub(crate) fn read_third(at: *const u8) {
    // SAFETY: as above.
    unsafe { _mm_prefetch::<_MM_HINT_T2>(at.cast()) };
}

/// Near the core, past the levels beyond where the CPU can.
#[inline(always)]
pub(crate) fn read_once(at: *const u8) {
    // SAFETY: as above.
    unsafe { _mm_prefetch::<_MM_HINT_NTA>(at.cast()) };
}

/// Into all levels of the cache, owned. In `asm!`, for the intrinsic becomes a plain prefetch on builds for the oldest
/// x86-64, although nearly every CPU has the better one.
#[inline(always)]
pub(crate) fn write(at: *const u8) {
    // SAFETY: a hint, which dereferences nothing and changes no register.
    unsafe { asm!("prefetchw [{at}]", at = in(reg) at, options(readonly, nostack, preserves_flags)) };
}
