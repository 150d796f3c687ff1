//! What the operating system offers beyond the standard library: address space, prefaulting, preallocation, write-back,
//! direct transfers, identity and boot id, barriers between threads.
//!
//! Each system has a file of functions with the same names: `linux.rs`, `macos.rs`, and `portable.rs` for every other
//! Unix. Everything else in the workspace compiles for all of them. What a system lacks is `None`, nothing, or the
//! error `Unsupported`, and the caller has a slower way. Linux is what Holm is tested and measured on. The other files
//! are checked by the compiler alone.
//!
//! | | Linux | macOS | other Unix |
//! |---|---|---|---|
//! | sync of a file | `fdatasync` | `F_FULLFSYNC`, by the standard library | `fdatasync` |
//! | space before it is mapped | `fallocate` | zeros written | zeros written |
//! | space given back | `fallocate` | none | none |
//! | holes of a file | `lseek`, three file systems | read as zeros | read as zeros |
//! | direct transfers | `O_DIRECT`, `O_DSYNC` | the page cache, and a sync | the page cache, and a sync |
//! | prefaulting, large pages | `madvise` | none: the writer's fault | none: the writer's fault |
//! | early write-back | `sync_file_range` | the kernel's own | the kernel's own |
//! | fence in all threads | `membarrier` | fences on both sides | fences on both sides |
//! | files without a name | `memfd_create` | a temporary file, unlinked | a temporary file, unlinked |
//! | limit on file sizes | `getrlimit` | `getrlimit` | `getrlimit` |
//! | coarse time of day | `CLOCK_REALTIME_COARSE` | `CLOCK_REALTIME` | `CLOCK_REALTIME` |
//! | boot id | `/proc` | `sysctl` | unknown: a crash is assumed |
//! | page cache kept after a death | five file systems | not relied on | not relied on |
//!
//! `unsafe` is allowed in this folder: it maps memory, and calls the system where no crate has the call.

mod advice;
mod file_size;
mod large_pages;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod mapping;
mod page;
#[cfg(not(target_os = "linux"))]
mod portable;
mod reservation;
mod wall_clock;
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(target_os = "macos")]
use macos as system;
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
use portable as system;

pub(crate) use advice::Advice;
pub(crate) use file_size::expect_allowed_size;
pub use large_pages::prefer_large_pages;
pub use mapping::Mapping;
pub(crate) use page::page_size;
pub(crate) use reservation::{Reservation, Sharing};
pub use system::boot_id;
pub(crate) use system::{
    anonymous_file, direct_flags, expect_reading, fence_all_threads, file_system, is_in_memory, keeps_page_cache,
    lock_holder, mapping_of, next_data, punch, register_fences, reserve_space, start_write_back,
};
pub use wall_clock::wall_clock_millis;
