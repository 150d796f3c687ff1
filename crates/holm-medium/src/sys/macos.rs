//! macOS: what it has beyond any Unix. Only the compiler has checked this file.
//!
//! A sync needs nothing here: the standard library asks for `F_FULLFSYNC`, which empties the cache of the drive too.
//! APFS never overwrites a block in place, so `F_PREALLOCATE` would promise no space for later stores; growth writes
//! zeros, as on any Unix. No file system is trusted to keep its page cache after the death of a process, so recovery
//! restores from the log.
//!
//! `unsafe` is allowed in this file: it asks `sysctl`, for which no crate here has a call.

pub(super) use super::portable::{advice, durable_mapping};
pub(crate) use super::portable::{
    anonymous_file, direct_flags, fence_all_threads, file_system, is_in_memory, keeps_page_cache, lock_holder,
    mapping_of, next_data, punch, register_fences, reserve_space, start_write_back,
};
use rustix::fd::BorrowedFd;

/// Hints that part of a file will be read soon. If the kernel refuses, reading takes longer.
pub(crate) fn expect_reading(file: BorrowedFd<'_>, offset: u64, len: u64) {
    let _ = rustix::fs::fcntl_rdadvise(file, offset, len);
}

/// The kernel's id of the current boot; `None` if it cannot be read, which callers must treat as another boot.
pub fn boot_id() -> Option<[u8; 16]> {
    // A UUID as text, and a zero.
    let mut text = [0_u8; 64];
    let mut len = text.len();
    let name = c"kern.bootsessionuuid".as_ptr();
    // SAFETY: the name ends with a zero, `text` has `len` bytes that the kernel may fill, and nothing is set.
    let done = unsafe { libc::sysctlbyname(name, text.as_mut_ptr().cast(), &raw mut len, std::ptr::null_mut(), 0) };
    let text = text.get(..len).filter(|_| done == 0)?;
    let digits: String = text.iter().map(|byte| char::from(*byte)).filter(char::is_ascii_hexdigit).collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    (digits.len() == 32).then_some(number.to_be_bytes())
}
