//! The two data files and their image: how they grow, how they are written and synced.

#![forbid(unsafe_code)]

use super::counters::JournalCounters;
use super::reserve::Reserve;
use super::touched::Touched;
use super::wakeup::Wakeup;
use crate::error::{MediumError, Result};
use crate::image::Image;
use crate::loc::{Area, LINE};
use crate::medium::Medium;
use crate::region::{Backing, LARGE_PAGE};
use crate::superblock::ImageKind;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::sys;
use crate::vfs::{FORMAT_PAGE, How, Identity, Vfs, VfsFile, read_exact_at, write_all_at};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A leaf area beyond this size grows in small pages: one dirty line of a large page writes 2 MiB, and leaves are
/// written at random. This is about the leaves of three million records.
const LARGE_LEAVES: u64 = 64 << 20;

/// Bytes behind the frontier of the records in which threads still fill the space that they have taken.
const STILL_FILLED: u64 = 4 << 20;

/// The most bytes of one write.
const MOST_AT_ONCE: u64 = 1 << 20;

/// Lines of a run that are asked for before it is copied.
const PREFETCHED: u64 = 4;

/// Bytes of the smallest extent: a small database stays small.
pub(super) const SMALL_EXTENT: u64 = 64 << 10;

/// Two data files and their image.
pub struct Journaled {
    pub(crate) vfs: Arc<dyn Vfs>,
    pub(crate) dir: PathBuf,
    pub(crate) image: Arc<Image>,
    pub(crate) files: [Box<dyn VfsFile>; 2],
    pub(crate) kind: ImageKind,
    pub(crate) counters: Arc<JournalCounters>,
    /// Serialises growth; guards the length of each file.
    growth: Mutex<[u64; 2]>,
    /// The most bytes that each area may have.
    limits: [u64; 2],
    /// How far each area is in use: preallocation runs ahead of this.
    used: [AtomicU64; 2],
    /// How far the write-back of records has been started.
    behind: AtomicU64,
    wakeup: Arc<Wakeup>,
}

pub(crate) fn area_path(dir: &Path, area: Area) -> PathBuf {
    dir.join(match area {
        Area::Leaves => "leaves",
        Area::Records => "records",
    })
}

impl Journaled {
    pub(crate) fn new(
        vfs: Arc<dyn Vfs>,
        dir: &Path,
        image: Arc<Image>,
        files: [Box<dyn VfsFile>; 2],
        kind: ImageKind,
        limits: [Reserve; 2],
    ) -> Result<Self> {
        let mut lens = [0; 2];
        for (len, (file, area)) in lens.iter_mut().zip(files.iter().zip(Area::ALL)) {
            *len = file.len().map_err(|error| MediumError::io("measuring", &area_path(dir, area), error))?;
            if kind == ImageKind::Shared && file.fd().is_none() {
                file.attach_image(&image, area);
            }
        }
        Ok(Journaled {
            dir: vfs.absolute(dir),
            vfs,
            image,
            files,
            kind,
            counters: Arc::default(),
            growth: Mutex::new(lens),
            limits: limits.map(|limit| (limit.most() as u64).next_multiple_of(FORMAT_PAGE)),
            used: [AtomicU64::new(0), AtomicU64::new(0)],
            behind: AtomicU64::new(lens[Area::Records as usize]),
            wakeup: Arc::default(),
        })
    }

    pub(super) fn wakeup(&self) -> &Arc<Wakeup> {
        &self.wakeup
    }

    /// The counters since open.
    pub fn counters(&self) -> &Arc<JournalCounters> {
        &self.counters
    }

    /// Bytes that the data files occupy on the disk.
    ///
    /// # Errors
    /// `Io`.
    pub fn disk_bytes(&self) -> Result<u64> {
        let mut sum = 0;
        for (file, area) in self.files.iter().zip(Area::ALL) {
            let io = |error| MediumError::io("measuring", &area_path(&self.dir, area), error);
            sum += file.disk_bytes().map_err(io)?;
        }
        Ok(sum)
    }

    /// Refuses if the path of the folder leads elsewhere by now: the folder was moved, and another database may have
    /// its place. A file that is made by its path would lie there, and replace one of that database.
    ///
    /// # Errors
    /// Of kind `NotFound` if the path leads to nothing or to another database.
    pub(super) fn refuse_moved(&self) -> io::Result<()> {
        let there = self.vfs.open(&area_path(&self.dir, Area::Leaves), How::READ)?.identity()?;
        if there != self.files[Area::Leaves as usize].identity()? {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the folder was moved, and another one is at its path",
            ));
        }
        Ok(())
    }

    /// The length after the next extent: a small extent, or as much as is preallocated ahead. Whole large pages once
    /// the area has one.
    fn next_len(old: u64, least: u64) -> u64 {
        let len = least.max(old + Self::lookahead(old).max(SMALL_EXTENT));
        let unit = if len > LARGE_PAGE as u64 { LARGE_PAGE as u64 } else { SMALL_EXTENT };
        len.next_multiple_of(unit)
    }

    /// Makes `least` bytes of an area accessible, on disk first: a full disk is found here, as an error, and never as
    /// a fault.
    pub(crate) fn grow_to(&self, area: Area, least: u64) -> Result<()> {
        if self.image.area(area).backing() == Backing::FileReadOnly {
            // Opened to read only: what a rebuild adds stays in memory.
            let grown = self.image.area(area).grow((least as usize).next_multiple_of(sys::page_size()), None);
            return grown.map_err(|error| MediumError::io("growing", &area_path(&self.dir, area), error));
        }
        let mut lens = self.growth.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let old = self.image.area(area).len() as u64;
        if old >= least {
            return Ok(());
        }
        let path = area_path(&self.dir, area);
        let io = |error| MediumError::io("growing", &path, error);
        let region = self.image.area(area);
        // The limit is the exact capacity, not the rounded size of the reserved address space.
        let limit = self.limits[area as usize].min(region.reserved() as u64);
        let len = Self::next_len(old, least).min(limit);
        if len < least {
            return Err(MediumError::Capacity { path, found: least, limit });
        }
        let file = &self.files[area as usize];
        if lens[area as usize] < len {
            file.allocate(old.min(lens[area as usize]), len - old.min(lens[area as usize])).map_err(io)?;
            lens[area as usize] = len;
            self.counters.bytes_grown.fetch_add(len - old, Relaxed);
        }
        let fd = file.fd();
        if self.kind == ImageKind::Shared
            && let Some(fd) = fd
        {
            let large = area == Area::Records || len <= LARGE_LEAVES;
            let from = old.next_multiple_of(LARGE_PAGE as u64);
            let upto = len / LARGE_PAGE as u64 * LARGE_PAGE as u64;
            if large && from < upto {
                // If the kernel refuses, the pages are prefaulted as small ones below; that costs time and nothing
                // else.
                let _ = region.prefault_large(from as usize, (upto - from) as usize, fd);
            }
            region.open_up(len as usize, Some(fd)).map_err(io)?;
        }
        region.populate(old as usize, (len - old) as usize);
        region.grow(len as usize, fd).map_err(io)
    }

    /// Preallocates ahead of the frontiers; the preallocating thread calls it.
    pub(crate) fn preallocate(&self) -> Result<()> {
        for area in Area::ALL {
            let used = self.used[area as usize].load(Relaxed);
            let len = self.image.area(area).len() as u64;
            if used > 0 && len - used.min(len) < Self::lookahead(used) {
                self.grow_to(area, used + Self::lookahead(used))?;
            }
        }
        Ok(())
    }

    /// Starts the write-back of records that the frontier has passed: their pages are full, and will be written
    /// anyway. The next open has to wait for whatever is dirty when a process dies.
    pub(crate) fn write_behind(&self) -> Result<()> {
        let (file, used) = (&self.files[Area::Records as usize], self.used[Area::Records as usize].load(Relaxed));
        let Some(fd) = file.fd().filter(|_| self.kind == ImageKind::Shared) else { return Ok(()) };
        let upto = used.saturating_sub(STILL_FILLED) / LARGE_PAGE as u64 * LARGE_PAGE as u64;
        let from = self.behind.fetch_max(upto, Relaxed);
        if from < upto {
            let io = |error| MediumError::io("writing back", &area_path(&self.dir, Area::Records), error);
            sys::start_write_back(fd, from, upto - from).map_err(io)?;
        }
        Ok(())
    }

    /// How much is preallocated: what writers use while an extent is made, and no more, since it is unused once they
    /// stop. An eighth of a small area; 2 MiB; a 32nd of a large one, up to 16 MiB.
    fn lookahead(used: u64) -> u64 {
        let most = (used / 32).clamp(LARGE_PAGE as u64, 16 << 20);
        (used / 8).clamp(SMALL_EXTENT / 2, most)
    }

    /// Releases what was preallocated and never used. Call it once closed, when no thread stores or reads any more: a
    /// load beyond the end of a mapped file is a fault. It never cuts below the length in the superblock, since a
    /// shorter file counts as damaged. If it fails, or the process dies before, the next open does it.
    pub(crate) fn shrink(&self, lengths: [u64; 2]) {
        for ((file, area), keep) in self.files.iter().zip(Area::ALL).zip(lengths) {
            let cut = file.len().and_then(|len| if len > keep { file.set_len(keep) } else { Ok(()) });
            if let Err(error) = cut {
                ::log::warn!("holm: {}: shrinking: {error}", area_path(&self.dir, area).display());
            }
        }
    }

    /// Copies lines of the image as they are now.
    pub(crate) fn copy_lines(&self, line: u64, out: &mut [u8]) {
        if let Some(words) = self.image.words(line * LINE, out.len() / 8) {
            for (bytes, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(words) {
                *bytes = word.read().to_le_bytes();
            }
        }
    }

    /// Prefetches the first of these lines. Of more lines, the processor guesses the rest.
    pub(crate) fn prefetch_lines(&self, line: u64, count: u64) {
        let lines = self.image.words(line * LINE, (count.min(PREFETCHED) * LINE / 8) as usize);
        lines.into_iter().for_each(holm_search::prefetch_lines);
    }

    /// Brings the bytes of the image into the data files and syncs them. The kernel already has the bytes of a shared
    /// mapping; a simulated file receives them here.
    ///
    /// Both files are synced even if the first sync fails: the kernel reports a failure of each once, and a report
    /// that is not collected here would reach the next open.
    pub(crate) fn sync_data(&self) -> Result<()> {
        let each = self.files.iter().zip(Area::ALL).map(|(file, area)| {
            let told = self.kind == ImageKind::Shared && file.fd().is_none();
            let written = if told { self.write_pages(&**file, area) } else { Ok(()) };
            let synced = file.sync_data();
            written.and(synced).map_err(|error| MediumError::io("syncing", &area_path(&self.dir, area), error))
        });
        // Collected first, so that both are done.
        each.collect::<Vec<_>>().into_iter().collect()
    }

    /// After recovery: makes all that was restored and scrubbed durable in the data files. Of a private image every
    /// byte is written, since nothing records which bytes the log had.
    pub(crate) fn sync_recovered(&self) -> Result<()> {
        if self.kind == ImageKind::Private {
            for (file, area) in self.files.iter().zip(Area::ALL) {
                let io = |error| MediumError::io("writing", &area_path(&self.dir, area), error);
                self.write_pages(&**file, area).map_err(io)?;
            }
        }
        self.sync_data()
    }

    /// The lengths of the files, in bytes.
    pub(crate) fn lengths(&self) -> Result<[u64; 2]> {
        let mut both = [0; 2];
        for (len, (file, area)) in both.iter_mut().zip(self.files.iter().zip(Area::ALL)) {
            *len = file.len().map_err(|error| MediumError::io("measuring", &area_path(&self.dir, area), error))?;
        }
        Ok(both)
    }

    /// The identities of the files.
    pub(crate) fn identities(&self) -> Result<[Identity; 2]> {
        let mut both = [Identity::default(); 2];
        for (identity, (file, area)) in both.iter_mut().zip(self.files.iter().zip(Area::ALL)) {
            let io = |error| MediumError::io("asking about", &area_path(&self.dir, area), error);
            *identity = file.identity().map_err(io)?;
        }
        Ok(both)
    }

    /// For files that cannot be mapped: writes the pages that differ. Pages beyond the end of the file are dropped, as
    /// they would be with a mapping.
    fn write_pages(&self, file: &dyn VfsFile, area: Area) -> io::Result<()> {
        let len = file.len()?.min(self.image.area(area).len() as u64);
        let mut old = vec![0u8; FORMAT_PAGE as usize];
        let mut new = vec![0u8; FORMAT_PAGE as usize];
        for offset in (0..len / FORMAT_PAGE * FORMAT_PAGE).step_by(FORMAT_PAGE as usize) {
            self.copy_lines(area.at(offset) / LINE, &mut new);
            read_exact_at(file, &mut old, offset)?;
            if old != new {
                write_all_at(file, &new, offset)?;
            }
        }
        Ok(())
    }

    /// Writes pages of the image to their files, unchanged, so that the next sync must write them: the kernel marks a
    /// page clean whose write-back has failed. Not by a store through the mapping, where a lack of space is a fault
    /// instead of an error.
    pub(super) fn rewrite(&self, pages: &Touched) -> Result<()> {
        let mut buffer = Vec::new();
        for (file, area) in self.files.iter().zip(Area::ALL) {
            let io = |error| MediumError::io("writing again", &area_path(&self.dir, area), error);
            let len = file.len().map_err(io)?.min(self.image.area(area).len() as u64);
            for (mut at, bytes) in pages.runs(area) {
                let end = (at + bytes).min(len);
                while at < end {
                    buffer.resize((end - at).min(MOST_AT_ONCE) as usize, 0);
                    self.copy_lines(area.at(at) / LINE, &mut buffer);
                    write_all_at(&**file, &buffer, at).map_err(io)?;
                    at += buffer.len() as u64;
                }
            }
        }
        Ok(())
    }
    /// Whether the image is memory of the kernel's page cache, which outlives the process.
    pub fn outlives_the_process(&self) -> bool {
        self.kind == ImageKind::Shared
    }
}

impl Medium for Journaled {
    const PER_EPOCH: bool = true;

    #[inline]
    fn image(&self) -> &Arc<Image> {
        &self.image
    }

    fn folder(&self) -> Option<&Path> {
        Some(&self.dir)
    }

    fn flush(&self, _: u64) {}

    fn fence(&self) {}

    fn grow(&self, area: Area, len: u64) -> Result<()> {
        self.counters.grow_stalls.fetch_add(1, Relaxed);
        self.grow_to(area, len)
    }

    fn write_again(&self, places: &[(u64, u64)]) -> Result<()> {
        let mut pages = Touched::default();
        for (loc, bytes) in places {
            // A place outside the image is damage, which other checks report.
            if self.image.words(*loc, (*bytes / 8) as usize).is_some() {
                pages.mark(*loc, *bytes);
            }
        }
        self.rewrite(&pages)
    }

    fn give_back(&self, area: Area, offset: u64, bytes: u64) -> Result<bool> {
        if self.kind == ImageKind::Private {
            // The image is memory of this process, and the next checkpoint would write the file again.
            return Ok(false);
        }
        match self.files[area as usize].punch(offset, bytes) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(false),
            Err(error) => Err(MediumError::io("giving back space of", &area_path(&self.dir, area), error)),
        }
    }

    fn take_back(&self, area: Area, offset: u64, bytes: u64) -> Result<()> {
        self.allocate(area, offset, bytes)?;
        let (region, from, bytes) = (self.image.area(area), offset as usize, bytes as usize);
        if self.kind == ImageKind::Shared
            && let Some(fd) = self.files[area as usize].fd()
        {
            // If the kernel refuses, the pages are small ones.
            let _ = region.prefault_large(from, bytes, fd);
        }
        region.populate(from, bytes);
        Ok(())
    }

    #[inline]
    fn reached(&self, area: Area, used: u64) {
        let before = self.used[area as usize].fetch_max(used, Relaxed);
        let len = self.image.area(area).len() as u64;
        let short = |used: u64| len - used.min(len) < Self::lookahead(used);
        if used > before && short(used) && !short(before) {
            self.wakeup.notify();
        }
    }
}
