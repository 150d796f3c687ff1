//! What any Unix offers: what Linux has beyond it is absent, and the callers take their slower ways.

#![forbid(unsafe_code)]
#![cfg_attr(target_os = "macos", allow(dead_code, reason = "macOS has some of it itself"))]

use super::advice::Advice;
use super::mapping::Mapping;
use rustix::fd::BorrowedFd;
use rustix::mm::MapFlags;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The kernel's advice; `None` if it has none of this kind.
pub(super) fn advice(advice: Advice) -> Option<rustix::mm::Advice> {
    match advice {
        Advice::Random => Some(rustix::mm::Advice::Random),
        Advice::WillNeed => Some(rustix::mm::Advice::WillNeed),
        Advice::NotInherited | Advice::LargePages | Advice::PopulateToWrite | Advice::PopulateToRead => None,
    }
}

/// The flags of a mapping whose flushed lines are durable.
pub(super) fn durable_mapping() -> Option<MapFlags> {
    None
}

/// Starts the write-back of part of a file. Here the kernel does so when it likes.
pub(crate) fn start_write_back(_file: BorrowedFd<'_>, _offset: u64, _len: u64) -> io::Result<()> {
    Ok(())
}

/// Hints that part of a file will be read soon.
pub(crate) fn expect_reading(_file: BorrowedFd<'_>, _offset: u64, _len: u64) {}

/// Reserves space for part of a file. Here the caller writes zeros.
pub(crate) fn reserve_space(_file: BorrowedFd<'_>, _offset: u64, _len: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Removes the contents and the space of part of a file. Here they stay.
pub(crate) fn punch(_file: BorrowedFd<'_>, _offset: u64, _len: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns where the first data at or behind an offset begins. Here everything may be data.
pub(crate) fn next_data(_file: BorrowedFd<'_>, offset: u64) -> Option<u64> {
    Some(offset)
}

/// A file without a name: one for temporary files, which has lost it.
pub(crate) fn anonymous_file() -> io::Result<File> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    loop {
        let name = format!("holm-{}-{}.file", std::process::id(), MADE.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => return std::fs::remove_file(&path).map(|()| file),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// The flags with which a file is opened past the page cache.
pub(crate) fn direct_flags() -> io::Result<i32> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The number of a file's file system; 0: unknown.
pub(crate) fn file_system(_file: BorrowedFd<'_>) -> io::Result<u64> {
    Ok(0)
}

/// Whether shared mappings on this file system are known to outlive a process.
pub(crate) fn keeps_page_cache(_file_system: u64) -> bool {
    false
}

/// The process that holds the lock of a file.
pub(crate) fn lock_holder(_device: u64, _inode: u64) -> Option<u32> {
    None
}

/// The id of the current boot; `None` if it is unknown, which callers must treat as another boot.
pub fn boot_id() -> Option<[u8; 16]> {
    None
}

/// How much of some ranges of addresses is resident.
pub(crate) fn mapping_of(_ranges: &[Range<usize>]) -> Option<Mapping> {
    None
}

/// Returns whether the page at an address is in memory.
pub(crate) fn is_in_memory(_page: usize) -> Option<bool> {
    None
}

/// Asks for [`fence_all_threads`]; returns whether it is granted.
pub(crate) fn register_fences() -> bool {
    false
}

/// Makes all threads of this process pass a fence; returns whether they have.
pub(crate) fn fence_all_threads() -> bool {
    false
}
