//! The files of the operating system.
//!
//! A thin layer over the standard library, and over what the library lacks (`sys.rs`). It guarantees what the kernel
//! guarantees and no more: it retries and caches nothing.

#![forbid(unsafe_code)]

use super::aligned::{AlignedBytes, FORMAT_PAGE};
use super::file_system::{How, Identity, Vfs, VfsFile};
use super::transfer::{read_exact_at, write_all_at, zero_fill};
use crate::sys;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::UNIX_EPOCH;

/// Files of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFs;

impl Vfs for RealFs {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        match std::fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
            other => other,
        }
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir)? {
            names.extend(entry?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }

    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn VfsFile>> {
        // A folder would open and fail later, as damage; a pipe would wait for its other end.
        if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
        }
        let mut options = OpenOptions::new();
        options.read(true).write(how.write).create(how.create).truncate(false);
        if how.direct {
            options.custom_flags(sys::direct_flags()?);
        }
        Ok(Box::new(RealFile::new(options.open(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_dir(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        // There is none if the working directory is gone; then a relative path leads nowhere.
        std::path::absolute(path).unwrap_or_else(|_| path.into())
    }
}

/// A file of the operating system.
#[derive(Debug)]
pub(super) struct RealFile {
    file: File,
    /// The process that locked the file through this handle; 0: none.
    locked_by: AtomicU32,
}

impl RealFile {
    pub(super) fn new(file: File) -> Self {
        RealFile { file, locked_by: AtomicU32::new(0) }
    }
}

impl Drop for RealFile {
    fn drop(&mut self) {
        // The lock belongs to the open file description, which a forked child shares. Closing only this descriptor
        // leaves the file locked as long as the child lives. The child's copy must not unlock its parent's file.
        if *self.locked_by.get_mut() == process::id() {
            let _ = self.file.unlock();
        }
    }
}

impl VfsFile for RealFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(&self.file, buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        sys::expect_allowed_size(offset.saturating_add(buf.len() as u64))?;
        FileExt::write_at(&self.file, buf, offset)
    }

    fn expect_reading(&self, offset: u64, len: u64) {
        sys::expect_reading(self.file.as_fd(), offset, len);
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        sys::expect_allowed_size(offset.saturating_add(len))?;
        match sys::reserve_space(self.file.as_fd(), offset, len) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => write_zeros_beyond_the_end(self, offset + len),
            other => other,
        }
    }

    fn fill_holes(&self, offset: u64, len: u64) -> io::Result<()> {
        match sys::reserve_space(self.file.as_fd(), offset, len) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => write_zeros_over_zeros(self, offset, len),
            other => other,
        }
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        sys::punch(self.file.as_fd(), offset, len)
    }

    fn next_data(&self, offset: u64) -> Option<u64> {
        sys::next_data(self.file.as_fd(), offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        sys::expect_allowed_size(len)?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn lock(&self, exclusive: bool) -> io::Result<bool> {
        let outcome = if exclusive { self.file.try_lock() } else { self.file.try_lock_shared() };
        match outcome {
            Ok(()) => {
                self.locked_by.store(process::id(), Relaxed);
                Ok(true)
            }
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn lock_holder(&self) -> Option<u32> {
        let about = self.file.metadata().ok()?;
        sys::lock_holder(about.dev(), about.ino())
    }

    fn identity(&self) -> io::Result<Identity> {
        let metadata = self.file.metadata()?;
        // A file system that keeps no time of creation is no error: the other numbers still distinguish files.
        let birth = metadata.created().ok().and_then(|birth| birth.duration_since(UNIX_EPOCH).ok());
        let file_system = sys::file_system(self.file.as_fd())?;
        Ok(Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            birth_ns: birth.map_or(0, |since| since.as_nanos() as u64),
            file_system,
            trusted: sys::keeps_page_cache(file_system),
        })
    }

    fn disk_bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.blocks() * 512)
    }

    fn file_system_bytes(&self) -> Option<u64> {
        let about = rustix::fs::fstatvfs(&self.file).ok()?;
        about.f_blocks.checked_mul(about.f_frsize).filter(|bytes| *bytes > 0)
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.file.as_fd())
    }
}

/// Leaves existing bytes of the file alone, since other threads may write them through a mapping.
fn write_zeros_beyond_the_end(file: &RealFile, end: u64) -> io::Result<()> {
    let old = file.len()?;
    let whole_pages = old.next_multiple_of(FORMAT_PAGE).min(end);
    if whole_pages > old {
        FileExt::write_all_at(&file.file, &vec![0; (whole_pages - old) as usize], old)?;
    }
    let last_page = (end - end % FORMAT_PAGE).max(whole_pages);
    zero_fill(file, whole_pages, last_page)?;
    if end > last_page {
        FileExt::write_all_at(&file.file, &vec![0; (end - last_page) as usize], last_page)?;
    }
    Ok(())
}

/// A page that reads as zeros may be a hole; any other has space.
fn write_zeros_over_zeros(file: &RealFile, offset: u64, len: u64) -> io::Result<()> {
    let end = (offset + len).min(file.len()?);
    let mut page = AlignedBytes::zeroed(FORMAT_PAGE as usize);
    let mut at = offset - offset % FORMAT_PAGE;
    while at < end {
        let part = &mut page.as_mut_slice()[..FORMAT_PAGE.min(end - at) as usize];
        read_exact_at(file, part, at)?;
        if part.iter().all(|byte| *byte == 0) {
            write_all_at(file, part, at)?;
        }
        at += FORMAT_PAGE;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of one test, removed when dropped.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let path = std::env::temp_dir().join(format!("holm-real-{}-{name}", process::id()));
            RealFs.create_dir(&path).expect("a directory for the test");
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn names_and_bytes() -> io::Result<()> {
        let dir = Scratch::new("names");
        let (one, two) = (dir.0.join("one"), dir.0.join("two"));
        assert!(RealFs.open(&one, How::WRITE).is_err());
        let file = RealFs.open(&one, How::CREATE)?;
        write_all_at(&*file, b"abcdef", 2)?;
        let mut back = [0; 8];
        read_exact_at(&*file, &mut back, 0)?;
        assert_eq!(&back, b"\0\0abcdef");
        assert_eq!(read_exact_at(&*file, &mut back, 1).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        RealFs.create_dir(&dir.0)?;
        assert!(RealFs.create_dir(&one).is_err(), "a file is no directory");
        RealFs.rename(&one, &two)?;
        RealFs.sync_dir(&dir.0)?;
        assert_eq!(RealFs.list(&dir.0)?, ["two"]);
        assert!(!RealFs.exists(&one)? && RealFs.exists(&two)?);
        RealFs.remove(&two)?;
        assert_eq!(RealFs.list(&dir.0)?.len(), 0);
        Ok(())
    }

    #[test]
    fn allocation_keeps_what_is_there() -> io::Result<()> {
        let dir = Scratch::new("allocate");
        let file = RealFs.open(&dir.0.join("f"), How::CREATE)?;
        write_all_at(&*file, &[7; 5000], 0)?;
        file.allocate(0, 20_000)?;
        let plain = RealFile::new(File::options().read(true).write(true).open(dir.0.join("f"))?);
        write_zeros_beyond_the_end(&plain, 30_001)?;
        let mut back = vec![1; 30_001];
        read_exact_at(&*file, &mut back, 0)?;
        assert_eq!((&back[..5000], file.len()?), (&[7; 5000][..], 30_001));
        assert!(back[5000..].iter().all(|&byte| byte == 0));
        assert!(file.disk_bytes()? >= 30_001);
        Ok(())
    }

    /// As on file systems that make holes and reserve no space, such as ext4 of files without extents.
    #[test]
    fn holes_get_space_by_writes_and_the_rest_stays() -> io::Result<()> {
        let dir = Scratch::new("holes");
        let file = RealFile::new(File::options().read(true).write(true).create_new(true).open(dir.0.join("f"))?);
        file.set_len(20_001)?;
        write_all_at(&file, &[7; 4], 8190)?;
        write_zeros_over_zeros(&file, 100, 12_000)?;
        let part = file.disk_bytes()?;
        assert!((12_288..20_001).contains(&part), "three of five pages, in {part} bytes");
        write_zeros_over_zeros(&file, 0, 40_000)?;
        let mut back = vec![1; 20_001];
        read_exact_at(&file, &mut back, 0)?;
        assert_eq!((&back[8190..8194], back.iter().map(|byte| u64::from(*byte)).sum()), (&[7; 4][..], 28_u64));
        assert_eq!(file.len()?, 20_001, "not longer");
        assert!(file.disk_bytes()? >= 20_001, "no hole is left");
        Ok(())
    }

    /// A part of a sector more would hide as much of a hole.
    #[test]
    fn the_bytes_on_the_disk_are_whole_sectors() -> io::Result<()> {
        let dir = Scratch::new("sectors");
        let file = RealFs.open(&dir.0.join("f"), How::CREATE)?;
        write_all_at(&*file, &[7; 5000], 0)?;
        file.allocate(0, 20_480)?;
        assert_eq!(file.disk_bytes()? % 512, 0);
        Ok(())
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_system_without_a_size_tells_none() -> io::Result<()> {
        let (own, made) = (RealFs.open(Path::new("/proc/self/stat"), How::READ)?, Scratch::new("size"));
        assert_eq!(own.file_system_bytes(), None);
        let file = RealFs.open(&made.0.join("f"), How::CREATE)?;
        assert!(file.file_system_bytes().is_none_or(|bytes| bytes > 0));
        Ok(())
    }

    #[test]
    fn a_lock_excludes_another_handle_and_ends_with_its_own() -> io::Result<()> {
        let dir = Scratch::new("lock");
        let open = || RealFs.open(&dir.0.join("f"), How::CREATE);
        let first = open()?;
        assert!(first.lock(true)?);
        assert!(!open()?.lock(true)? && !open()?.lock(false)?);
        drop(first);
        let (one, two) = (open()?, open()?);
        assert!(one.lock(false)? && two.lock(false)?);
        assert!(!open()?.lock(true)?);
        Ok(())
    }

    #[test]
    fn a_copy_of_the_descriptor_keeps_no_lock_and_ends_none_of_another_process() -> io::Result<()> {
        let dir = Scratch::new("copies");
        let path = dir.0.join("f");
        let open = || RealFs.open(&path, How::CREATE);
        let options = || File::options().create(true).truncate(false).write(true).read(true).open(&path);
        let parents = RealFile::new(options()?);
        // The state after a fork: one open file description, and the process id that the parent stored.
        let childs = RealFile { file: parents.file.try_clone()?, locked_by: AtomicU32::new(process::id() + 1) };
        assert!(parents.lock(true)?);
        drop(childs);
        assert!(!open()?.lock(true)?, "the child's copy has ended the lock");
        let _copy = parents.file.try_clone()?;
        drop(parents);
        assert!(open()?.lock(true)?, "the child's copy keeps the lock");
        Ok(())
    }

    #[test]
    fn the_holder_of_a_lock_is_found() -> io::Result<()> {
        let dir = Scratch::new("holder");
        let open = || RealFs.open(&dir.0.join("f"), How::CREATE);
        let (held, other) = (open()?, open()?);
        assert_eq!(other.lock_holder(), None);
        assert!(held.lock(true)?);
        if std::fs::read_to_string("/proc/locks").is_ok() {
            assert_eq!(other.lock_holder(), Some(process::id()));
        }
        Ok(())
    }

    #[test]
    fn a_copy_is_another_file() -> io::Result<()> {
        let dir = Scratch::new("identity");
        let (one, two) = (RealFs.open(&dir.0.join("1"), How::CREATE)?, RealFs.open(&dir.0.join("2"), How::CREATE)?);
        assert_eq!(one.identity()?, RealFs.open(&dir.0.join("1"), How::READ)?.identity()?);
        assert_ne!(one.identity()?, two.identity()?);
        Ok(())
    }

    #[test]
    fn direct_writes_are_seen_by_buffered_reads() -> io::Result<()> {
        let dir = Scratch::new("direct");
        let path = dir.0.join("f");
        zero_fill(&*RealFs.open(&path, How::CREATE)?, 0, 3 * FORMAT_PAGE)?;
        // Some file systems refuse; then there is nothing to test.
        let Ok(file) = RealFs.open(&path, How { direct: true, ..How::WRITE }) else { return Ok(()) };
        let mut page = AlignedBytes::zeroed(FORMAT_PAGE as usize);
        page.as_mut_slice().fill(9);
        write_all_at(&*file, page.as_slice(), FORMAT_PAGE)?;
        let mut back = vec![0; 3 * FORMAT_PAGE as usize];
        read_exact_at(&*RealFs.open(&path, How::READ)?, &mut back, 0)?;
        assert!(back.chunks(FORMAT_PAGE as usize).map(|chunk| chunk[77]).eq([0, 9, 0]));
        Ok(())
    }
}
