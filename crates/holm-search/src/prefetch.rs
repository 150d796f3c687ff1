//! Asking the CPU for a line before it is needed.
//!
//! A request is a hint: it never faults, reads nothing that the program can see, and so may race with any writer.
//! Where no instruction is known, the calls do nothing.

use crate::LINE_BYTES;

/// How near the lines are to be brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Nothing is asked for.
    None,
    /// Into all levels of the cache.
    T0,
    /// Into the second level and those beyond.
    T1,
    /// Into the third level.
    T2,
    /// Near the core, past the other levels.
    NonTemporal,
}

/// Asks for the line that holds the first byte of `at`, to be read.
#[inline(always)]
pub fn prefetch<T: ?Sized>(at: &T) {
    read(std::ptr::from_ref(at).cast());
}

/// Asks for the line that holds the first byte of `at`, to be written: no other core keeps it, so that the store which
/// follows need not wait for that.
#[inline(always)]
pub fn prefetch_write<T: ?Sized>(at: &T) {
    write(std::ptr::from_ref(at).cast());
}

/// Asks for every line that `at` touches, to be read. One instruction a line; a CPU has about ten to fifty requests
/// under way at a time, so this is for objects of some lines.
#[inline(always)]
pub fn prefetch_lines<T: ?Sized>(at: &T) {
    let (start, bytes) = (std::ptr::from_ref(at).cast::<u8>(), size_of_val(at));
    let mut offset = 0;
    while offset < bytes {
        read(start.wrapping_add(offset));
        offset += LINE_BYTES;
    }
    // An object that does not begin with a line may reach into one more than its steps do.
    if align_of_val(at) < LINE_BYTES && bytes > 1 {
        read(start.wrapping_add(bytes - 1));
    }
}

/// Asks for the line that holds the byte at `at`, to be read. Any address will do.
#[inline(always)]
pub fn prefetch_address<T>(at: *const T) {
    read(at.cast());
}

/// Asks for the line that holds the byte at `at`, as `hint` says. Any address will do.
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

/// Asks for the line that holds the byte at `at`, to be written. Any address will do.
#[inline(always)]
pub fn prefetch_address_write<T>(at: *const T) {
    write(at.cast());
}

/// Asks for every line of `at` as `hint` says; `at` begins with a line, or a line more than its steps may be missed.
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
