//! The operating system's files, with a log that can be made to fail or to wait and counts its measurements, or with
//! descriptors that child processes inherit.

use holm_medium::vfs::{How, Identity, RealFs, Vfs, VfsFile};
use rustix::fd::BorrowedFd;
use rustix::io::{FdFlags, fcntl_setfd};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};

/// The operating system's files, opened in another way.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    broken: Arc<AtomicBool>,
    measured: Arc<AtomicUsize>,
    held: Arc<Mutex<()>>,
    begun_writes: Arc<AtomicUsize>,
    inherited: bool,
}

impl Disk {
    /// Every process that this one starts gets a copy of each descriptor, as after a fork.
    pub(crate) fn inherited() -> Self {
        Disk { inherited: true, ..Disk::default() }
    }

    /// Makes every later write and sync of the log fail.
    pub(crate) fn break_log(&self) {
        self.broken.store(true, SeqCst);
    }

    /// Makes every write of the log wait while the result lives.
    pub(crate) fn hold_log(&self) -> MutexGuard<'_, ()> {
        self.held.lock().expect("no test panics with it")
    }

    /// How many writes of the log have begun.
    pub(crate) fn begun_writes(&self) -> usize {
        self.begun_writes.load(SeqCst)
    }

    /// How often a file of the log has been asked for its bytes on disk.
    pub(crate) fn measured(&self) -> usize {
        self.measured.load(SeqCst)
    }
}

impl Vfs for Disk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        RealFs.create_dir(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        RealFs.exists(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        RealFs.list(dir)
    }

    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn VfsFile>> {
        let file = RealFs.open(path, how)?;
        if let Some(fd) = file.fd().filter(|_| self.inherited) {
            fcntl_setfd(fd, FdFlags::empty())?;
        }
        let is_log = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("log."));
        Ok(if is_log { Box::new(Log { file, disk: self.clone() }) } else { file })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealFs.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealFs.remove(path)
    }

    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealFs.rename_dir(from, to)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        RealFs.remove_dir(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        RealFs.sync_dir(dir)
    }
}

struct Log {
    file: Box<dyn VfsFile>,
    disk: Disk,
}

impl Log {
    fn refuse(&self) -> io::Result<()> {
        if self.disk.broken.load(SeqCst) { Err(io::Error::other("the test has broken the log")) } else { Ok(()) }
    }
}

impl VfsFile for Log {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        self.refuse()?;
        self.disk.begun_writes.fetch_add(1, SeqCst);
        let _held = self.disk.hold_log();
        self.file.write_at(buf, offset)
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        self.file.allocate(offset, len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.refuse()?;
        self.file.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.refuse()?;
        self.file.sync_all()
    }

    fn lock(&self, exclusive: bool) -> io::Result<bool> {
        self.file.lock(exclusive)
    }

    fn identity(&self) -> io::Result<Identity> {
        self.file.identity()
    }

    fn disk_bytes(&self) -> io::Result<u64> {
        self.disk.measured.fetch_add(1, SeqCst);
        self.file.disk_bytes()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.fd()
    }
}
