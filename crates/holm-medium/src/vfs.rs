//! Files, as few calls as the medium needs.
//!
//! Every file operation of a plain-file database passes through [`Vfs`] and [`VfsFile`], so that a simulated disk can
//! stand in and lose, tear or refuse what real disks lose, tear and refuse. The traits promise nothing beyond what the
//! calls of the same names promise: transfers may be short and may be interrupted. The loops over that live here once,
//! in [`read_exact_at`] and [`write_all_at`], and nowhere else. What the bytes mean is left to the log, the superblock
//! and the image.

#![forbid(unsafe_code)]

use crate::image::Image;
use crate::loc::Area;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;

pub mod aligned;
pub mod real;

pub use aligned::AlignedBytes;
pub use real::{RealFs, boot_id};

/// The alignment of offsets, lengths and memory that direct transfers need, in bytes.
pub const PAGE: u64 = 4096;

/// Attempts without progress after which a transfer is given up.
const STALLED_ATTEMPTS: u32 = 1000;

/// The largest single write of [`zero_fill`], in bytes.
const ZERO_CHUNK: u64 = 1 << 20;

/// How a file is to be opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct How {
    /// For writing as well as reading.
    pub write: bool,
    /// Made empty if it is not there. Needs `write`.
    pub create: bool,
    /// Past the page cache, and durable when a write returns (`O_DIRECT | O_DSYNC`). Offsets, lengths and memory must
    /// then be aligned to [`PAGE`]. Refused with an error where it is not supported; the caller falls back.
    pub direct: bool,
}

impl How {
    /// To be read; it must be there.
    pub const READ: How = How { write: false, create: false, direct: false };
    /// To be read and written; it must be there.
    pub const WRITE: How = How { write: true, create: false, direct: false };
    /// To be read and written; made if it is not there.
    pub const CREATE: How = How { write: true, create: true, direct: false };
}

/// Which file this is, as far as the operating system can tell: what a copy, a restored backup or another mount lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// Number of the device (`st_dev`).
    pub device: u64,
    /// Number of the file on it (`st_ino`).
    pub inode: u64,
    /// When the file was made, in nanoseconds since 1970; 0 if unknown.
    pub birth_ns: u64,
    /// The file system's magic number (`statfs`); 0 if unknown.
    pub file_system: u64,
    /// Whether that file system is known to keep a shared mapping through the death of a process: ext4, XFS, btrfs,
    /// F2FS or tmpfs.
    pub trusted: bool,
}

/// A place where files are.
pub trait Vfs: Send + Sync + 'static {
    /// Makes a directory; well if it exists. Its parent must exist.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Whether a file or directory has this name.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// The names in a directory, sorted. Names that are not UTF-8 are left out: Holm never makes such.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Opens a file.
    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn VfsFile>>;
    /// Gives a file another name in the same directory, replacing what has that name. Durable after [`Vfs::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Takes a name away. Durable after [`Vfs::sync_dir`].
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// The name of this boot of the machine whose page cache stands before the files; `None` if it has none to tell,
    /// which is to be taken for another boot.
    fn boot_id(&self) -> Option<[u8; 16]> {
        boot_id()
    }
}

/// An open file. Closed, and its lock given back, when dropped.
pub trait VfsFile: Send + Sync {
    /// Length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the length is zero.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Reads at a byte offset; may be short, 0 at the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Says that `len` bytes from `offset` on will be read soon. A hint, which costs nothing but its disk time.
    fn expect_reading(&self, offset: u64, len: u64) {
        let _ = (offset, len);
    }
    /// Writes at a byte offset; may be short. Extends the file if need be.
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize>;
    /// Reserves space for `len` bytes from `offset` and extends the file to cover them; bytes already there stay. A
    /// full disk is found here, not at a later store. Where the file system cannot reserve, zeros are written beyond
    /// the old end.
    fn allocate(&self, offset: u64, len: u64) -> io::Result<()>;
    /// Cuts the file or extends it with a hole.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Makes contents and length durable. **Never called again after it failed**: the kernel marks pages clean that it
    /// could not write, and the second call succeeds without them.
    fn sync_data(&self) -> io::Result<()>;
    /// Like [`VfsFile::sync_data`], and times and permissions too.
    fn sync_all(&self) -> io::Result<()>;
    /// Tries to lock the whole file, exclusively or shared, without waiting. `false`: somebody else holds it.
    ///
    /// The process that locked it unlocks it when it drops the file, even if a forked child still has a copy of the
    /// descriptor. A copy that another process drops unlocks nothing.
    fn lock(&self, exclusive: bool) -> io::Result<bool>;
    /// The process that has locked this file, where the system tells.
    fn lock_holder(&self) -> Option<u32> {
        None
    }
    /// Which file this is.
    fn identity(&self) -> io::Result<Identity>;
    /// Bytes that the file occupies on the disk.
    fn disk_bytes(&self) -> io::Result<u64>;
    /// Size of the whole file system that the file is on, in bytes; `None` where it is unknown or unlimited.
    fn file_system_bytes(&self) -> Option<u64> {
        None
    }
    /// For mapping. `None`: no real file stands behind this one.
    fn fd(&self) -> Option<BorrowedFd<'_>>;
    /// Where there is no descriptor: tells the file which memory stands for its shared mapping, so that a simulated
    /// kernel can write pages of it back whenever it likes.
    fn attach_image(&self, _image: &Arc<Image>, _area: Area) {}
}

/// Fills `buf` from `offset`. The end of the file before that is [`io::ErrorKind::UnexpectedEof`].
pub fn read_exact_at(file: &dyn VfsFile, buf: &mut [u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    let mut stalled = 0;
    while done < buf.len() {
        match file.read_at(&mut buf[done..], offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => (done, stalled) = (done + read, 0),
            Err(error) => stalled = forgive(error, stalled)?,
        }
    }
    Ok(())
}

/// Writes all of `buf` at `offset`.
pub fn write_all_at(file: &dyn VfsFile, buf: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    let mut stalled = 0;
    while done < buf.len() {
        match file.write_at(&buf[done..], offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => (done, stalled) = (done + written, 0),
            Err(error) => stalled = forgive(error, stalled)?,
        }
    }
    Ok(())
}

/// Writes zeros over `from..to`, both multiples of [`PAGE`], from aligned memory. Not synced.
pub fn zero_fill(file: &dyn VfsFile, from: u64, to: u64) -> io::Result<()> {
    let zeros = AlignedBytes::zeroed(to.saturating_sub(from).min(ZERO_CHUNK) as usize);
    let mut at = from;
    while at < to {
        let count = (to - at).min(ZERO_CHUNK);
        write_all_at(file, &zeros.as_slice()[..count as usize], at)?;
        at += count;
    }
    Ok(())
}

/// The number of attempts without progress after `error`, or the error if it is not one to be tried again. Only the
/// transfer is tried again, never a sync.
fn forgive(error: io::Error, stalled: u32) -> io::Result<u32> {
    match error.kind() {
        io::ErrorKind::Interrupted if stalled < STALLED_ATTEMPTS => Ok(stalled + 1),
        io::ErrorKind::WouldBlock if stalled < STALLED_ATTEMPTS => {
            std::thread::yield_now();
            Ok(stalled + 1)
        }
        _ => Err(error),
    }
}
