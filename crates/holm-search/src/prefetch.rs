//! Asking the CPU for a line before it is needed.
//!
//! A request is a hint: it never faults, reads nothing that the program can see, and so may race with any writer.
//! Where no instruction is known, the calls do nothing.

/// Bytes in a cache line.
const LINE_BYTES: usize = 64;

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

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::x86_64::prefetch::{read, write};

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
fn read(_: *const u8) {}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
fn write(_: *const u8) {}
