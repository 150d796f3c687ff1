//! Linux: prefaulting, preallocation, holes, early write-back, direct transfers, what `/proc` tells, and `membarrier`.
//!
//! `unsafe` is allowed in this file: it calls `sync_file_range` and `mincore`, for which no crate here has a call.

mod smaps;

use super::advice::Advice;
use super::mapping::Mapping;
use super::page::page_size;
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::fs::{MemfdFlags, OFlags, SeekFrom};
use rustix::io::Errno;
use rustix::mm::MapFlags;
use rustix::thread::{MembarrierCommand, membarrier};
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;

/// The kernel's advice.
pub(super) fn advice(advice: Advice) -> Option<rustix::mm::Advice> {
    Some(match advice {
        Advice::Random => rustix::mm::Advice::Random,
        Advice::NotInherited => rustix::mm::Advice::LinuxDontFork,
        Advice::LargePages => rustix::mm::Advice::LinuxHugepage,
        Advice::PopulateToWrite => rustix::mm::Advice::LinuxPopulateWrite,
        Advice::PopulateToRead => rustix::mm::Advice::LinuxPopulateRead,
        Advice::WillNeed => rustix::mm::Advice::WillNeed,
    })
}

/// The flags of a mapping whose flushed lines are durable.
pub(super) fn durable_mapping() -> Option<MapFlags> {
    Some(MapFlags::SHARED_VALIDATE | MapFlags::SYNC)
}

/// Starts the write-back of part of a file, without waiting for it and without any guarantee.
pub(crate) fn start_write_back(file: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WRITE;
    // SAFETY: a system call on a descriptor that is borrowed for the call; no memory is passed.
    let done = unsafe { libc::sync_file_range(file.as_raw_fd(), offset as i64, len as i64, flags) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Hints that part of a file will be read soon. If the kernel refuses, reading takes longer.
pub(crate) fn expect_reading(file: BorrowedFd<'_>, offset: u64, len: u64) {
    // A length of zero would mean the whole file.
    if let Some(len) = NonZeroU64::new(len) {
        let _ = rustix::fs::fadvise(file, offset, Some(len), rustix::fs::Advice::WillNeed);
    }
}

/// Reserves space for part of a file.
pub(crate) fn reserve_space(file: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), offset, len)?)
}

/// Removes the contents and the space of part of a file, and keeps its length: where the file system could reserve the
/// space again, which it shows by reserving what is there. ext4 cannot for files without extents.
pub(crate) fn punch(file: BorrowedFd<'_>, offset: u64, len: u64) -> io::Result<()> {
    if let Err(Errno::OPNOTSUPP) = rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, offset, len) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    Ok(rustix::fs::fallocate(file, flags, offset, len)?)
}

/// Magic numbers of the file systems that look into the page cache before they call preallocated space a hole: ext4,
/// XFS, tmpfs. btrfs and F2FS know of dirty pages alone: a page that could not be written back is clean there, although
/// a mapping still shows its words.
const SHOWS_STORES: [u64; 3] = [0xEF53, 0x5846_5342, 0x0102_1994];

/// Returns where the first data at or behind an offset begins; `None` if only a hole follows. Moves the position of the
/// descriptor, which no transfer uses.
pub(crate) fn next_data(file: BorrowedFd<'_>, offset: u64) -> Option<u64> {
    if !file_system(file).is_ok_and(|number| SHOWS_STORES.contains(&number)) {
        return Some(offset);
    }
    match rustix::fs::seek(file, SeekFrom::Data(offset)) {
        Ok(data) => Some(data),
        Err(Errno::NXIO) => None,
        // Whatever the reason is, reading shows what is there.
        Err(_) => Some(offset),
    }
}

/// A file without a name, in memory.
pub(crate) fn anonymous_file() -> io::Result<File> {
    Ok(rustix::fs::memfd_create("holm", MemfdFlags::CLOEXEC)?.into())
}

/// The flags with which a file is opened past the page cache, and with which a write is durable when it returns.
pub(crate) fn direct_flags() -> io::Result<i32> {
    Ok((OFlags::DIRECT | OFlags::DSYNC).bits() as i32)
}

/// The magic number of a file's file system.
pub(crate) fn file_system(file: BorrowedFd<'_>) -> io::Result<u64> {
    // The field is signed and of the platform's width; the magic numbers are 32 bits wide.
    Ok(rustix::fs::fstatfs(file)?.f_type as u64 & 0xFFFF_FFFF)
}

/// Magic numbers of the file systems whose shared mappings are known to outlive a process: ext4, XFS, btrfs, F2FS,
/// tmpfs. This is a list of what is allowed: for network and user-space file systems nothing is certain.
const TRUSTED: [u64; 5] = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x0102_1994];

/// Whether shared mappings on this file system are known to outlive a process.
pub(crate) fn keeps_page_cache(file_system: u64) -> bool {
    TRUSTED.contains(&file_system)
}

/// How often the list of locks is read for a holder that it does not show.
const LOOKS_AT_LOCKS: usize = 8;

/// The process that holds the lock of a file.
pub(crate) fn lock_holder(device: u64, inode: u64) -> Option<u32> {
    // The kernel gives the list in pieces: locks that go between two of them move others out of sight.
    (0..LOOKS_AT_LOCKS).find_map(|_| holder_of(&std::fs::read_to_string("/proc/locks").ok()?, device, inode))
}

/// The process that holds a lock of a file, from the text of `/proc/locks`:
///
/// ```text
/// 1: FLOCK  ADVISORY  WRITE 12315 fe:00:10027219 0 EOF
/// 1: -> FLOCK  ADVISORY  WRITE 12316 fe:00:10027219 0 EOF      waits for it
/// ```
///
/// For some file systems the device number there differs from that of `stat`. The inode then decides, if only one
/// process holds a lock of that number. A process of another namespace has the number 0, or a negative one.
fn holder_of(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let device = format!("{:02x}:{:02x}", rustix::fs::major(device), rustix::fs::minor(device));
    let mut others = Vec::new();
    for line in locks.lines() {
        let fields: Vec<_> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, process, place, ..] = fields[..] else { continue };
        let (Ok(process), Some((on, number))) = (process.parse::<u32>(), place.rsplit_once(':')) else { continue };
        if process == 0 || number != inode.to_string() {
            continue;
        }
        if on == device {
            return Some(process);
        }
        others.push(process);
    }
    others.dedup();
    others.pop().filter(|_| others.is_empty())
}

/// The kernel's id of the current boot; `None` if it cannot be read, which callers must treat as another boot.
pub fn boot_id() -> Option<[u8; 16]> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let digits: String = text.trim().chars().filter(|&c| c != '-').collect();
    let number = u128::from_str_radix(&digits, 16).ok()?;
    (digits.len() == 32).then_some(number.to_be_bytes())
}

/// How much of some ranges of addresses is resident; `None` if it cannot be read. Walks the page tables of the process.
pub(crate) fn mapping_of(ranges: &[Range<usize>]) -> Option<Mapping> {
    std::fs::read_to_string("/proc/self/smaps").ok().map(|text| smaps::sum(&text, ranges))
}

/// Returns whether the page at an address is in memory, mapped or not; `None` if nothing is mapped to the address.
pub(crate) fn is_in_memory(page: usize) -> Option<bool> {
    let mut state = 0_u8;
    // SAFETY: the kernel writes one byte for the one page, and reads nothing there.
    let done = unsafe { libc::mincore(std::ptr::without_provenance_mut(page), page_size(), &raw mut state) };
    (done == 0).then_some(state & 1 == 1)
}

/// Asks for [`fence_all_threads`]; returns whether it is granted.
pub(crate) fn register_fences() -> bool {
    membarrier(MembarrierCommand::RegisterPrivateExpedited).is_ok()
}

/// Makes all threads of this process pass a fence; returns whether they have.
pub(crate) fn fence_all_threads() -> bool {
    membarrier(MembarrierCommand::PrivateExpedited).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_found() {
        let locks = "1: FLOCK  ADVISORY  WRITE 11 fe:00:77 0 EOF\n2: POSIX  ADVISORY  READ 12 fe:00:78 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 13 fe:00:77 0 EOF\n3: FLOCK  ADVISORY  READ 14 00:1f:78 0 EOF\n";
        let device = rustix::fs::makedev(0xfe, 0);
        assert_eq!(holder_of(locks, device, 77), Some(11));
        assert_eq!(holder_of(locks, device, 78), Some(14), "another device's number, and the only one");
        assert_eq!(holder_of(locks, device, 7), None);
    }

    #[test]
    #[cfg(not(miri))]
    fn a_page_is_in_memory_once_it_is_written() {
        let page = page_size();
        let mut memory = vec![0_u8; 2048 * page];
        let middle = (memory.as_ptr().addr() + 1024 * page).next_multiple_of(page);
        assert_eq!(is_in_memory(middle), Some(false), "the system gives large zeroed memory when it is touched");
        memory.fill(1);
        assert_eq!(is_in_memory(std::hint::black_box(&memory).as_ptr().addr().next_multiple_of(page)), Some(true));
        assert_eq!(is_in_memory(middle), Some(true));
        assert_eq!(is_in_memory(0), None, "nothing is mapped there");
    }

    #[test]
    fn the_boot_has_one_name() {
        assert_eq!(boot_id(), boot_id());
    }
}
