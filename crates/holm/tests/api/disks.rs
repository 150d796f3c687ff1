//! The operating system's files, with a log that can be made to fail or to wait and counts its measurements, with syncs
//! of the data that wait, or with descriptors that child processes inherit.

use holm_medium::vfs::{How, Identity, RealFs, Vfs, VfsFile};
use rustix::fd::BorrowedFd;
use rustix::io::{FdFlags, fcntl_setfd};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::ThreadId;

/// Where something was written, and what.
type Written = (u64, Vec<u8>);

/// The operating system's files, opened in another way.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    broken: Arc<AtomicBool>,
    full: Arc<AtomicBool>,
    measured: Arc<AtomicUsize>,
    held: Arc<Mutex<()>>,
    begun_writes: Arc<AtomicUsize>,
    log_writer: Arc<Mutex<Option<ThreadId>>>,
    panics: Arc<AtomicBool>,
    held_data: Arc<Mutex<()>>,
    begun_syncs: Arc<AtomicUsize>,
    superblocks: Arc<Mutex<Vec<Written>>>,
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

    /// Makes later writes and syncs of the log succeed again.
    pub(crate) fn mend_log(&self) {
        self.broken.store(false, SeqCst);
    }

    /// Keeps the log from growing, or lets it grow again.
    pub(crate) fn fill_log(&self, full: bool) {
        self.full.store(full, SeqCst);
    }

    /// Makes every sync of a data file wait while the result lives.
    pub(crate) fn hold_data(&self) -> MutexGuard<'_, ()> {
        self.held_data.lock().expect("no test panics with it")
    }

    /// What was written to the superblock since the last call, and where.
    pub(crate) fn take_superblocks(&self) -> Vec<Written> {
        std::mem::take(&mut self.superblocks.lock().expect("no test panics with it"))
    }

    /// How many syncs of data files have begun.
    pub(crate) fn begun_syncs(&self) -> usize {
        self.begun_syncs.load(SeqCst)
    }

    /// Makes every write of the log wait while the result lives.
    pub(crate) fn hold_log(&self) -> MutexGuard<'_, ()> {
        self.held.lock().expect("no test panics with it")
    }

    /// How many writes of the log have begun.
    pub(crate) fn begun_writes(&self) -> usize {
        self.begun_writes.load(SeqCst)
    }

    /// Which thread has written to the log last.
    pub(crate) fn log_writer(&self) -> Option<ThreadId> {
        *self.log_writer.lock().expect("no test panics with it")
    }

    /// Makes the next write of the log panic.
    pub(crate) fn panic_once(&self) {
        self.panics.store(true, SeqCst);
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
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        Ok(match &*name {
            "leaves" | "records" => Box::new(Observed { file, disk: self.clone(), role: Role::Data }),
            _ if name.starts_with("log.") => Box::new(Observed { file, disk: self.clone(), role: Role::Log }),
            // A creation gives it its name last.
            _ if name.starts_with("superblock") => {
                Box::new(Observed { file, disk: self.clone(), role: Role::Superblock })
            }
            _ => file,
        })
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

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Data,
    Superblock,
    Log,
}

struct Observed {
    file: Box<dyn VfsFile>,
    disk: Disk,
    role: Role,
}

impl Observed {
    fn refuse(&self) -> io::Result<()> {
        if self.role == Role::Log && self.disk.broken.load(SeqCst) {
            Err(io::Error::other("the test has broken the log"))
        } else {
            Ok(())
        }
    }
}

impl VfsFile for Observed {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        let _held = match self.role {
            Role::Data => None,
            Role::Superblock => {
                let mut all = self.disk.superblocks.lock().expect("no test panics with it");
                all.push((offset, buf.to_vec()));
                None
            }
            Role::Log => {
                self.refuse()?;
                assert!(!self.disk.panics.swap(false, SeqCst), "the test wants a panic");
                *self.disk.log_writer.lock().expect("no test panics with it") = Some(std::thread::current().id());
                self.disk.begun_writes.fetch_add(1, SeqCst);
                Some(self.disk.hold_log())
            }
        };
        self.file.write_at(buf, offset)
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        if self.role == Role::Log && self.disk.full.load(SeqCst) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.allocate(offset, len)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.refuse()?;
        if self.role != Role::Data {
            return self.file.sync_data();
        }
        self.disk.begun_syncs.fetch_add(1, SeqCst);
        let _held = self.disk.hold_data();
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
        self.disk.measured.fetch_add(usize::from(self.role == Role::Log), SeqCst);
        self.file.disk_bytes()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.file.fd()
    }
}
