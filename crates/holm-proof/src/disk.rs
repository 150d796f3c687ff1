//! A disk in memory that loses, tears and refuses what real disks do.
//!
//! [`SimDisk`] implements the same trait as the operating system's files. Beside what a process reads back, it keeps
//! what is durable. A file's bytes become durable by a sync, or by a write past the page cache; names by a sync of
//! their directory. [`SimDisk::crash`] then returns any disk that a loss of power may leave, sector by sector. Every
//! call can be made to fail ([`SimDisk::fail`]). After a failed sync, the dirty data is undecided *and clean*, so a
//! second sync succeeds without writing it, as in kernels. [`SimDisk::flip`], [`SimDisk::overwrite`] and
//! [`SimDisk::truncate`] damage data at rest. There are no real descriptors, so a file of this disk cannot be mapped.
//!
//! Where a mapping is needed, heap memory replaces it, and the disk plays the kernel's part. [`SimDisk::write_back`]
//! copies pages of it into the page cache at any time; [`SimDisk::kill`] and closing copy all of them. The kernel's own
//! write-back may fail ([`SimDisk::fail_write_back`]), and another program may get the error. Such pages return to an
//! older version once the kernel reclaims their memory ([`SimDisk::evict`], [`SimDisk::evict_mapped`]).
//!
//! Space that was given back is a hole until it is allocated again. A loss of power makes a hole of it again, unless a
//! sync has covered the allocation. A store through a mapping into a hole is a failure of the test.
//!
//! Not simulated: permissions, holes of other kinds (a file occupies its length), renaming across directories.

mod attached_image;
pub mod content;
mod crash;
pub mod faults;
mod names;

pub use content::{SECTOR, Undecided};
pub use faults::{Calls, Fault, Kind};

use attached_image::AttachedImage;
use content::Content;
use faults::{Faults, Order};
use holm_medium::sync::{Quiet, quiet, sleep, step};
use holm_medium::vfs::{FORMAT_PAGE as PAGE, How, Identity, Vfs, VfsFile};
use holm_medium::{Area, Image};
use names::{Inode, Names};
use std::collections::BTreeMap;
use std::io;
use std::ops::{Deref, DerefMut};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A handle of a simulated disk; clones are handles of the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<Inode, Content>,
    names: Names,
    faults: Faults,
    locks: Vec<Lock>,
    attached_images: Vec<AttachedImage>,
    /// The number of times that the power has come back.
    boots: u128,
    /// The next number of a file or a handle.
    next: u64,
    refuse_direct: bool,
    /// What each call that concerns bytes takes.
    latency: Duration,
}

/// The locked state of a disk.
struct Locked<'a> {
    state: MutexGuard<'a, State>,
    _quiet: Quiet,
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

#[derive(Debug)]
struct Lock {
    inode: Inode,
    handle: u64,
    exclusive: bool,
}

impl Default for SimDisk {
    fn default() -> SimDisk {
        SimDisk::new()
    }
}

impl SimDisk {
    /// An empty disk with a root directory `/`.
    pub fn new() -> SimDisk {
        let mut state = State::default();
        state.names.make_root(Path::new("/"));
        SimDisk::of(state)
    }

    fn of(state: State) -> SimDisk {
        SimDisk { state: Arc::new(Mutex::new(state)) }
    }

    /// A panic elsewhere while the lock was held leaves a usable disk. Where schedules are explored, another thread may
    /// run before this one has the lock, and none while it has it.
    fn state(&self) -> Locked<'_> {
        step();
        let quiet = quiet();
        Locked { state: self.state.lock().unwrap_or_else(PoisonError::into_inner), _quiet: quiet }
    }

    /// Makes every call that reads, writes or syncs bytes take this time, and syncs of many bytes a multiple of it.
    pub fn slow_down(&self, latency: Duration) {
        self.state().latency = latency;
    }

    /// Waits as long as a call takes.
    fn wait(&self) {
        let latency = self.state().latency;
        if !latency.is_zero() {
            sleep(latency);
        }
    }

    /// Sets a fault for one call: the `index`-th of its kind from the beginning, counted from 0.
    pub fn fail(&self, kind: Kind, index: u64, fault: Fault) {
        self.state().faults.orders.push(Order { kind, from: index, to: index + 1, fault });
    }

    /// Sets a fault for a call and for all calls of its kind after it.
    pub fn fail_from(&self, kind: Kind, index: u64, fault: Fault) {
        self.state().faults.orders.push(Order { kind, from: index, to: u64::MAX, fault });
    }

    /// Removes all faults.
    pub fn heal(&self) {
        self.state().faults.orders.clear();
    }

    /// Whether the disk refuses to open files past the page cache, as some file systems do.
    pub fn refuse_direct(&self, refuse: bool) {
        self.state().refuse_direct = refuse;
    }

    /// The number of calls so far.
    pub fn calls(&self) -> Calls {
        self.state().faults.calls
    }

    /// The files that have names.
    pub fn files(&self) -> Vec<PathBuf> {
        self.state().names.current.keys().cloned().collect()
    }

    /// A file's bytes as a process reads them. This counts no call.
    pub fn contents(&self, path: &Path) -> Option<Vec<u8>> {
        let state = self.state();
        let inode = state.names.current.get(path)?;
        state.files.get(inode).map(|content| content.current().to_vec())
    }

    /// Flips one bit at rest; returns whether there is such a byte.
    pub fn flip(&self, path: &Path, byte: usize, bit: u8) -> bool {
        self.damage(path, |bytes| bytes.get_mut(byte).map(|byte| *byte ^= 1 << (bit & 7)).is_some())
    }

    /// Replaces bytes at rest; returns whether they lie in the file.
    pub fn overwrite(&self, path: &Path, offset: usize, with: &[u8]) -> bool {
        self.damage(path, |bytes| {
            let place = bytes.get_mut(offset..offset + with.len());
            place.map(|place| place.copy_from_slice(with)).is_some()
        })
    }

    /// Truncates a file at rest, or extends it with zeros; returns whether there is such a file.
    pub fn truncate(&self, path: &Path, len: usize) -> bool {
        self.damage(path, |bytes| {
            bytes.resize(len, 0);
            true
        })
    }

    /// Damage is durable, and so is everything else in the file after it.
    fn damage(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        let mut state = self.state();
        let Some(&inode) = state.names.current.get(path) else { return false };
        let Some(content) = state.files.get_mut(&inode) else { return false };
        let mut bytes = content.current().to_vec();
        let done = change(&mut bytes);
        *content = Content::settled(bytes);
        done
    }
}

impl State {
    /// A call that concerns names and lengths.
    fn meta(&mut self) -> io::Result<()> {
        self.plain(Kind::Meta).map(drop)
    }

    /// A call that either succeeds or fails. Returns the fault of one that succeeds.
    fn plain(&mut self, kind: Kind) -> io::Result<Option<Fault>> {
        match self.faults.meet(kind)? {
            Some(fault @ (Fault::Eio | Fault::NoSpace | Fault::PowerCut | Fault::Death)) => {
                Err(fault.error().unwrap_or_else(gone))
            }
            fault => Ok(fault),
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.names.directories().contains(path)
    }
}

impl Vfs for SimDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.meta()?;
        if !path.parent().is_some_and(|parent| state.is_directory(parent)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        if state.names.current.contains_key(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.names.make_dir(path);
        Ok(())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let mut state = self.state();
        state.meta()?;
        Ok(state.is_directory(path) || state.names.current.contains_key(path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut state = self.state();
        state.meta()?;
        if !state.is_directory(dir) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let all = state.names.current.keys().chain(state.names.directories());
        let mut names: Vec<String> = all
            .filter(|path| path.parent() == Some(dir))
            .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
            .collect();
        names.sort();
        Ok(names)
    }

    fn open(&self, path: &Path, how: How) -> io::Result<Box<dyn VfsFile>> {
        let mut state = self.state();
        state.meta()?;
        if how.direct && state.refuse_direct {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let inode = match state.names.current.get(path) {
            Some(&inode) => inode,
            None if how.create && how.write && path.parent().is_some_and(|dir| state.is_directory(dir)) => {
                let inode = state.number();
                state.files.insert(inode, Content::default());
                state.names.make(path, inode);
                inode
            }
            None => return Err(io::ErrorKind::NotFound.into()),
        };
        let handle = state.number();
        Ok(Box::new(SimFile { disk: self.clone(), inode, handle, how }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.meta()?;
        if from.parent() != to.parent() {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        if state.names.rename(from, to) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.meta()?;
        if state.names.remove(path) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn rename_dir(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.meta()?;
        if from.parent() != to.parent() {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        if !state.names.is_empty_dir(to) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        if state.names.rename_dir(from, to) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.meta()?;
        if !state.names.is_empty_dir(path) {
            return Err(io::ErrorKind::DirectoryNotEmpty.into());
        }
        if state.names.remove_dir(path) { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.state();
        let done = state.plain(Kind::Sync).map(drop);
        match &done {
            Ok(()) => state.names.sync(dir),
            Err(_) if !state.faults.off => state.names.fail_sync(dir),
            Err(_) => {}
        }
        done
    }

    fn boot_id(&self) -> Option<[u8; 16]> {
        Some((self.state().boots + 1).to_be_bytes())
    }
}

/// An open file of a simulated disk.
#[derive(Debug)]
struct SimFile {
    disk: SimDisk,
    inode: Inode,
    handle: u64,
    how: How,
}

impl SimFile {
    fn content<'a>(&self, state: &'a mut State) -> io::Result<&'a mut Content> {
        state.files.get_mut(&self.inode).ok_or_else(gone)
    }

    /// As the kernel does for a file opened past the page cache.
    fn refuse_misaligned(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        let aligned = [offset, buf.len() as u64, buf.as_ptr().addr() as u64].iter().all(|n| n.is_multiple_of(PAGE));
        if self.how.direct && !aligned { Err(io::ErrorKind::InvalidInput.into()) } else { Ok(()) }
    }

    fn refuse_if_read_only(&self) -> io::Result<()> {
        if self.how.write { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }

    fn shorten(&self, len: usize, most: usize) -> usize {
        let least = if self.how.direct { PAGE as usize } else { 1 };
        len.min((most / least * least).max(least))
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.wait();
        let mut state = self.disk.state();
        let mut done = state.plain(Kind::Sync);
        let mut sync = self.content(&mut state)?.begin_sync();
        if done.is_ok() {
            // One half first: the power may go, and other threads write and grow the file, in the middle of a sync.
            self.content(&mut state)?.sync_half(&mut sync);
            let latency = state.latency * sync.pieces();
            drop(state);
            sleep(latency);
            state = self.disk.state();
            if state.faults.off {
                done = Err(io::Error::other("the power went in this call"));
            }
        }
        let off = state.faults.off;
        let content = self.content(&mut state)?;
        match &done {
            Ok(fault) => content.end_sync(sync, *fault),
            Err(_) if !off => content.fail_sync(),
            Err(_) => {}
        }
        if done.is_ok() && content.report() {
            return Err(io::Error::other("EIO of an earlier write-back"));
        }
        done.map(drop)
    }
}

impl VfsFile for SimFile {
    fn len(&self) -> io::Result<u64> {
        let mut state = self.disk.state();
        state.meta()?;
        Ok(self.content(&mut state)?.current().len() as u64)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.refuse_misaligned(buf, offset)?;
        self.disk.wait();
        let mut state = self.disk.state();
        let fault = state.faults.meet(Kind::Read)?;
        if let Some(error) = fault.and_then(Fault::error) {
            return Err(error);
        }
        let bytes = self.content(&mut state)?.current();
        let rest = bytes.get(offset as usize..).unwrap_or(&[]);
        let mut len = rest.len().min(buf.len());
        if let Some(Fault::Short(most)) = fault {
            len = self.shorten(len, most);
        }
        buf[..len].copy_from_slice(&rest[..len]);
        Ok(len)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<usize> {
        self.refuse_if_read_only()?;
        self.refuse_misaligned(buf, offset)?;
        self.disk.wait();
        let mut state = self.disk.state();
        let direct = self.how.direct;
        let fault = state.faults.meet(if direct { Kind::Direct } else { Kind::Write })?;
        state.refuse_stores_to_holes(self.inode, offset as usize, buf.len());
        let content = self.content(&mut state)?;
        let at = offset as usize;
        let mut len = buf.len();
        match fault {
            Some(Fault::Interrupted | Fault::WouldBlock | Fault::Panic | Fault::Death) => {}
            Some(Fault::Eio | Fault::NoSpace) => content.write(at, &buf[..len / SECTOR / 2 * SECTOR]),
            Some(Fault::PowerCut) => content.write(at, buf),
            Some(Fault::TornAt(bytes)) => {
                let torn = &buf[..bytes.min(len)];
                content.write(at, torn);
                content.sync_range(at, at + torn.len());
            }
            Some(Fault::Lost) => content.write_and_lose(at, buf),
            Some(Fault::Misdirected(sectors)) => {
                let astray = at.saturating_add_signed(sectors as isize * SECTOR as isize);
                content.write(astray, buf);
                content.sync_range(astray, astray + len);
            }
            Some(Fault::Short(_) | Fault::Grown(_)) | None => {
                if let Some(Fault::Short(most)) = fault {
                    len = self.shorten(len, most);
                }
                content.write(at, &buf[..len]);
                if direct {
                    // The sectors reach the medium one by one: the power may go in between.
                    drop(state);
                    state = self.disk.state();
                    if state.faults.off {
                        return Err(io::Error::other("the power went in this call"));
                    }
                    self.content(&mut state)?.sync_range(at, at + len);
                }
            }
        }
        match fault.and_then(Fault::error) {
            Some(error) => Err(error),
            None => Ok(len),
        }
    }

    fn allocate(&self, offset: u64, len: u64) -> io::Result<()> {
        self.refuse_if_read_only()?;
        let mut state = self.disk.state();
        state.plain(Kind::Allocate)?;
        self.content(&mut state)?.allocate(offset as usize, (offset + len) as usize);
        Ok(())
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        self.refuse_if_read_only()?;
        let mut state = self.disk.state();
        state.meta()?;
        state.punch_images(self.inode, offset, len);
        self.content(&mut state)?.punch(offset as usize, (offset + len) as usize);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.refuse_if_read_only()?;
        let mut state = self.disk.state();
        state.meta()?;
        self.content(&mut state)?.set_len(len as usize);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync()
    }

    fn lock(&self, exclusive: bool) -> io::Result<bool> {
        let mut state = self.disk.state();
        state.meta()?;
        let mut others = state.locks.iter().filter(|lock| lock.inode == self.inode && lock.handle != self.handle);
        if others.any(|lock| exclusive || lock.exclusive) {
            return Ok(false);
        }
        state.locks.retain(|lock| lock.handle != self.handle);
        state.locks.push(Lock { inode: self.inode, handle: self.handle, exclusive });
        Ok(true)
    }

    fn identity(&self) -> io::Result<Identity> {
        let birth_ns = self.inode * 1_000_000;
        Ok(Identity { device: 1, inode: self.inode, birth_ns, file_system: 0x0D15_C000, trusted: true })
    }

    fn disk_bytes(&self) -> io::Result<u64> {
        Ok(self.content(&mut self.disk.state())?.allocated_bytes())
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn attach_image(&self, image: &Arc<Image>, area: Area) {
        if !self.how.write {
            // What a reader stores into its memory stays there.
            return;
        }
        let attached = AttachedImage { inode: self.inode, handle: self.handle, image: image.clone(), area };
        self.disk.state().attached_images.push(attached);
    }
}

impl Drop for SimFile {
    fn drop(&mut self) {
        let mut state = self.disk.state();
        state.locks.retain(|lock| lock.handle != self.handle);
        state.unmap(self.handle);
    }
}

fn gone() -> io::Error {
    io::Error::other("the file is gone with its disk")
}
