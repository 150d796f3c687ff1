//! The file operations that the medium needs.
//!
//! Each file operation of a database on files passes through [`Vfs`] and [`VfsFile`]. A simulated disk can therefore
//! take their place, and lose, tear or refuse what real disks lose, tear and refuse. The traits guarantee only what
//! the system calls of the same names guarantee: transfers may be short and may be interrupted. [`read_exact_at`] and
//! [`write_all_at`] have the only loops that handle this. The log, the superblock and the image define what the bytes
//! mean.

#![forbid(unsafe_code)]

mod aligned;
mod file_system;
mod memory;
mod real;
mod temporary;
mod transfer;

pub use crate::sys::boot_id;
pub use aligned::{AlignedBytes, FORMAT_PAGE};
pub use file_system::{How, Identity, Vfs, VfsFile};
pub use memory::MemoryFs;
pub use real::RealFs;
pub use temporary::TemporaryFs;
pub use transfer::{read_exact_at, write_all_at, zero_fill};
