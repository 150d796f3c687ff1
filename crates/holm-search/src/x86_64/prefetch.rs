//! The two prefetch instructions. Both exist on every x86-64 (`prefetchw` is a no-op on some old ones), and neither
//! faults, whatever the address.

use std::arch::asm;
use std::arch::x86_64::{_MM_HINT_NTA, _MM_HINT_T0, _MM_HINT_T1, _MM_HINT_T2, _mm_prefetch};

/// Prefetches into all levels of the cache, for reading.
#[inline(always)]
pub(crate) fn read(at: *const u8) {
    // SAFETY: a hint, which dereferences nothing. SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) };
}

/// Prefetches into the second level and those beyond.
#[inline(always)]
pub(crate) fn read_second(at: *const u8) {
    // SAFETY: as above.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(at.cast()) };
}

/// Prefetches into the third level.
#[inline(always)]
pub(crate) fn read_third(at: *const u8) {
    // SAFETY: as above.
    unsafe { _mm_prefetch::<_MM_HINT_T2>(at.cast()) };
}

/// Prefetches near the core, past the other levels if the CPU supports it.
#[inline(always)]
pub(crate) fn read_once(at: *const u8) {
    // SAFETY: as above.
    unsafe { _mm_prefetch::<_MM_HINT_NTA>(at.cast()) };
}

/// Prefetches into all levels of the cache, with ownership. It uses `asm!`, because the intrinsic becomes a plain
/// prefetch in builds for the oldest x86-64, although nearly every CPU has `prefetchw`.
#[inline(always)]
pub(crate) fn write(at: *const u8) {
    // SAFETY: a hint, which dereferences nothing and changes no register.
    unsafe { asm!("prefetchw [{at}]", at = in(reg) at, options(readonly, nostack, preserves_flags)) };
}
