//! The seam: a file system and its files, as the medium uses them.

#![forbid(unsafe_code)]

use crate::image::Image;
use crate::loc::Area;
use crate::sys;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a file is to be opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// For writing as well as reading.
    pub write: bool,
    /// Created empty if it does not exist. Needs `write`.
    pub create: bool,
    /// Bypasses the page cache, and a write is durable when it returns (`O_DIRECT | O_DSYNC`). Offsets, lengths and
    /// memory must then be aligned to [`super::FORMAT_PAGE`]. Where this is not supported, opening returns an error and
    /// the caller falls back.
    pub direct: bool,
}

impl How {
    /// For reading; the file must exist.
    pub const READ: How = How { write: false, create: false, direct: false };
    /// For reading and writing; the file must exist.
    pub const WRITE: How = How { write: true, create: false, direct: false };
    /// For reading and writing; created if the file does not exist.
    pub const CREATE: How = How { write: true, create: true, direct: false };
}

/// Identifies a file as far as the operating system can. A copy, a restored backup or another mount differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Number of the device (`st_dev`).
    pub device: u64,
    /// Number of the file on it (`st_ino`).
    pub inode: u64,
    /// When the file was created, in nanoseconds since 1970; 0 if unknown.
    pub birth_ns: u64,
    /// The magic number of the file system (`statfs`); 0 if unknown.
    pub file_system: u64,
    /// Whether that file system is known to keep a shared mapping through the death of a process: ext4, XFS, btrfs,
    /// F2FS or tmpfs.
    pub trusted: bool,
}

/// A file system, real or simulated.
pub trait Vfs: Send + Sync + 'static {
    /// Creates a directory, and succeeds if it exists. Its parent must exist.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Whether a file or directory has this name.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// The names in a directory, sorted. Names that are not UTF-8 are left out, since Holm creates none.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Opens a file.
    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn VfsFile>>;
    /// Renames a file within its directory, and replaces the file that has the new name. Durable after
    /// [`Vfs::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file. Durable after [`Vfs::sync_dir`].
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Renames a directory within its parent, and replaces an empty directory that has the new name. Durable after
    /// [`Vfs::sync_dir`] of the parent. No file in it is open.
    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Returns a path that leads to the same place whatever the working directory is by then.
    fn absolute(&self, path: &Path) -> PathBuf {
        path.into()
    }
    /// The id of the current boot of the machine whose page cache holds the files. `None` if it is unknown; callers
    /// must treat that as another boot.
    fn boot_id(&self) -> Option<[u8; 16]> {
        sys::boot_id()
    }
}

/// An open file. Dropping it closes it and releases its lock.
pub trait VfsFile: Send + Sync {
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the length is zero.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Reads at a byte offset; may be short, and returns 0 at the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Hints that `len` bytes from `offset` on will be read soon. This costs nothing but disk time.
    fn expect_reading(&self, offset: u64, len: u64) {
        let _ = (offset, len);
    }
    /// Writes at a byte offset; may be short. Extends the file if needed.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize>;
    /// Reserves space for `len` bytes from `offset` and extends the file to cover them; existing bytes stay. A full
    /// disk is found here, not at a later store. Where the file system cannot reserve, zeros are written beyond the
    /// old end.
    fn allocate(&self, offset: u64, len: u64) -> io::Result<()>;
    /// Like [`VfsFile::allocate`], within the file: holes get space, too. Nothing stores into the range meanwhile,
    /// because where the file system cannot reserve, zeros are written over the pages that read as zeros.
    fn fill_holes(&self, offset: u64, len: u64) -> io::Result<()> {
        self.allocate(offset, len)
    }
    /// Removes the contents and the space of `len` bytes from `offset` on: they read as zeros, and the length stays.
    /// A store through a mapping there may find no space, unless [`VfsFile::fill_holes`] comes before it. A loss of
    /// power before the next sync may bring the contents back.
    ///
    /// # Errors
    /// `Unsupported` where the file system cannot, or could not reserve the space again.
    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        let _ = (offset, len);
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Returns where the first data at or behind an offset begins, `offset` itself at the least; `None` if only a hole
    /// follows. What was stored through a shared mapping is data before any sync. Zeros may be data. Where the system
    /// does not know, everything may be data, and the answer is `offset`.
    fn next_data(&self, offset: u64) -> Option<u64> {
        Some(offset)
    }
    /// Cuts the file, or extends it with a hole.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes contents and length durable. **Never called again after it failed**: the kernel marks pages clean that it
    /// could not write, and the second call succeeds without them.
    fn sync_data(&self) -> io::Result<()>;
    /// Like [`VfsFile::sync_data`], for times and permissions too.
    fn sync_all(&self) -> io::Result<()>;
    /// Tries to lock the whole file, exclusively or shared, without waiting. `false`: another handle holds the lock.
    ///
    /// The process that locked the file unlocks it when it drops the file, even if a forked child still has a copy of
    /// the descriptor. If another process drops its copy, the lock stays.
    fn lock(&self, exclusive: bool) -> io::Result<bool>;
    /// The process that has locked this file, where the system reports it.
    fn lock_holder(&self) -> Option<u32> {
        None
    }
    /// The identity of this file.
    fn identity(&self) -> io::Result<Identity>;
    /// Bytes that the file occupies on the disk.
    fn disk_bytes(&self) -> io::Result<u64>;
    /// Size of the whole file system that the file is on, in bytes; `None` where it is unknown or unlimited.
    fn file_system_bytes(&self) -> Option<u64> {
        None
    }
    /// The descriptor to map. `None` for a simulated file.
    fn fd(&self) -> Option<BorrowedFd<'_>>;
    /// For a file without a descriptor: attaches the memory that acts as its shared mapping, so that a simulated
    /// kernel can write pages of it back at any time.
    fn attach_image(&self, _image: &Arc<Image>, _area: Area) {}
}
