//! Prefetch instructions.
//!
//! A prefetch is a hint. It never faults and reads nothing that the program can see, so it may race with any writer. On
//! platforms without a known instruction, the calls do nothing.

use crate::LINE_BYTES;

/// The cache level to prefetch into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// No prefetch.
    None,
    /// All levels of the cache.
    T0,
    /// The second level and those beyond.
    T1,
    /// The third level.
    T2,
    /// Near the core, past the other levels.
    NonTemporal,
}

/// Prefetches the line that holds the first byte of `at`, for reading.
#[inline(always)]
pub fn prefetch<T: ?Sized>(at: &T) {
    read(std::ptr::from_ref(at).cast());
}

/// Prefetches the line that holds the first byte of `at`, for writing. No other core keeps a copy, so the following
/// store need not wait for ownership.
#[inline(always)]
pub fn prefetch_write<T: ?Sized>(at: &T) {
    write(std::ptr::from_ref(at).cast());
}

/// Prefetches every line that `at` touches, for reading. It takes one instruction per line. A CPU has about ten to
/// fifty requests in flight, so this is for objects of a few lines.
#[inline(always)]
pub fn prefetch_lines<T: ?Sized>(at: &T) {
    let (start, bytes) = (std::ptr::from_ref(at).cast::<u8>(), size_of_val(at));
    let mut offset = 0;
    while offset < bytes {
        read(start.wrapping_add(offset));
        offset += LINE_BYTES;
    }
    // An object that is not aligned to a line may touch one more line than its size suggests.
    if align_of_val(at) < LINE_BYTES && bytes > 1 {
        read(start.wrapping_add(bytes - 1));
    }
}

/// Prefetches the line that holds the byte at `at`, for reading. Any address is allowed.
#[inline(always)]
pub fn prefetch_address<T>(at: *const T) {
    read(at.cast());
}

/// Prefetches the line that holds the byte at `at`, as `hint` says. Any address is allowed.
#[inline(always)]
pub fn prefetch_address_as<T>(at: *const T, hint: Hint) {
    match hint {
        Hint::None => {}
        Hint::T0 => read(at.cast()),
        Hint::T1 => read_second(at.cast()),
        Hint::T2 => read_third(at.cast()),
        Hint::NonTemporal => read_once(at.cast()),
    }
}

/// Prefetches the line that holds the byte at `at`, for writing. Any address is allowed.
#[inline(always)]
pub fn prefetch_address_write<T>(at: *const T) {
    write(at.cast());
}

/// Prefetches every line of `at` as `hint` says. `at` should be aligned to a line; otherwise the last line may be
/// missed.
#[inline(always)]
pub fn prefetch_lines_as<T>(at: &[T], hint: Hint) {
    let (start, bytes) = (at.as_ptr().cast::<u8>(), size_of_val(at));
    let ask = match hint {
        Hint::None => return,
        Hint::T0 => read,
        Hint::T1 => read_second,
        Hint::T2 => read_third,
        Hint::NonTemporal => read_once,
    };
    let mut offset = 0;
    while offset < bytes {
        ask(start.wrapping_add(offset));
        offset += LINE_BYTES;
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::x86_64::prefetch::{read, read_once, read_second, read_third, write};

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
fn read(_: *const u8) {}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
fn write(_: *const u8) {}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
use {read as read_once, read as read_second, read as read_third};
