//! The memory of one area: address space reserved once, never moved, made accessible from its start as the area grows.
//!
//! `unsafe` is allowed in this file: it owns memory of the heap by a pointer. A region gives access to words only.
//! Words are atomics, so any number of threads may read it during writes.

use crate::sys::{self, Advice, Reservation, Sharing, page_size};
use crate::word::Word;
use rustix::fd::BorrowedFd;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Bytes of a large page, and the alignment of every reservation.
pub const LARGE_PAGE: usize = 2 << 20;

/// Pages of a sample that tells how much of a region is in memory.
const SAMPLE: usize = 256;

/// What the memory of a region is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backing {
    /// The heap, all of it accessible from the start: tests, recordings, Miri.
    Heap,
    /// Anonymous pages; the region requests large ones.
    Anonymous,
    /// Extents of a file, shared with the page cache.
    File,
    /// Extents of a file, to read only. Stores there, for example to fill a gap between leaves, stay in this process.
    /// Memory beyond the end of the file is anonymous.
    FileReadOnly,
    /// Extents of a DAX file, synchronously mapped (`MAP_SYNC`): stores are durable once flushed.
    Dax,
}

/// Reserved address space, of which the first `len` bytes are accessible.
pub struct Region {
    base: NonNull<u64>,
    reserved: usize,
    len: AtomicUsize,
    /// Bytes of the file that are mapped; at least `len`, since pages are mapped and prefaulted before any thread may
    /// store there.
    mapped: AtomicUsize,
    backing: Backing,
    memory: Memory,
}

/// What a region owns.
enum Memory {
    /// The whole allocation. Not a box: moving a box claims that no other pointer leads into it.
    Heap(NonNull<[AtomicU64]>),
    Reserved(Reservation),
}

// SAFETY: the memory is reached only as atomics, `len` is an atomic, and the callers' allocation locks serialise
// mapping calls (two overlapping mappings of the same file range would be idempotent all the same).
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// Zeroed heap memory of a fixed size.
    pub fn heap(bytes: usize) -> Self {
        let words = bytes.div_ceil(8) + 8;
        let heap: Box<[AtomicU64]> = (0..words).map(|_| AtomicU64::new(0)).collect();
        let heap = NonNull::from(Box::leak(heap));
        let first = heap.cast::<AtomicU64>();
        // SAFETY: the allocation has eight words more than requested, so the next start of a line lies inside, and the
        // requested bytes fit behind it.
        let base = unsafe { first.add(first.align_offset(64)) }.cast();
        let (len, mapped) = (AtomicUsize::new(bytes & !7), AtomicUsize::new(0));
        Region { base, reserved: bytes, len, mapped, backing: Backing::Heap, memory: Memory::Heap(heap) }
    }

    /// Zeroed heap memory of which nothing is accessible until [`Region::grow`]: it stands for a file that cannot be
    /// mapped.
    pub fn heap_to_grow(bytes: usize) -> Self {
        let mut region = Region::heap(bytes);
        *region.len.get_mut() = 0;
        region
    }

    /// Reserves address space; nothing is accessible until [`Region::grow`].
    ///
    /// # Errors
    /// Those of the kernel, if there is not enough address space.
    pub fn reserve(bytes: usize, backing: Backing) -> io::Result<Self> {
        let reserved = bytes.next_multiple_of(LARGE_PAGE);
        let reservation = Reservation::new(reserved, LARGE_PAGE, backing == Backing::Anonymous)?;
        if backing == Backing::Anonymous {
            reservation.advise(0, reserved, Advice::LargePages);
        }
        let (base, memory) = (reservation.base().cast(), Memory::Reserved(reservation));
        let (len, mapped) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Ok(Region { base, reserved, len, mapped, backing, memory })
    }

    /// Reserves `most` bytes of address space, halved until the rest of the process has as much address space left.
    /// Down to `least` bytes; a reservation of that size need not leave anything.
    ///
    /// # Errors
    /// Those of the kernel, if there is no address space for `least` bytes.
    pub fn reserve_up_to(most: usize, least: usize, backing: Backing) -> io::Result<Self> {
        let mut bytes = most;
        while bytes > least {
            if let (Ok(region), Ok(_)) = (Region::reserve(bytes, backing), Region::reserve(bytes, backing)) {
                return Ok(region);
            }
            bytes = (bytes / 2).max(least);
        }
        Region::reserve(bytes, backing)
    }

    /// Maps the file up to `len` bytes and leaves [`Region::len`] as it is. What lies beyond that length can then be
    /// prefaulted before any thread may store there. `file` must already have `len` bytes: a page past its end is a
    /// fault, not an error.
    ///
    /// # Errors
    /// [`io::ErrorKind::OutOfMemory`] past the reservation; those of the kernel.
    pub fn open_up(&self, len: usize, file: Option<BorrowedFd<'_>>) -> io::Result<()> {
        if len > self.reserved {
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, "the reserved address space is used up"));
        }
        let Memory::Reserved(reservation) = &self.memory else { return Ok(()) };
        let (from, end) = (self.mapped.load(Ordering::Acquire), len.next_multiple_of(page_size()));
        if end <= from {
            return Ok(());
        }
        match (self.backing, file) {
            (Backing::File | Backing::FileReadOnly | Backing::Dax, Some(file)) => {
                self.map(reservation, from, end, file)?;
            }
            (Backing::FileReadOnly, None) => reservation.map_memory(from, end)?,
            _ => return Ok(()),
        }
        self.mapped.store(end, Ordering::Release);
        Ok(())
    }

    /// Makes the first `len` bytes accessible; what was accessible stays where it is. Otherwise as
    /// [`Region::open_up`].
    ///
    /// # Errors
    /// As [`Region::open_up`].
    pub fn grow(&self, len: usize, file: Option<BorrowedFd<'_>>) -> io::Result<()> {
        self.open_up(len, file)?;
        self.len.fetch_max(len, Ordering::Release);
        Ok(())
    }

    fn map(&self, reservation: &Reservation, from: usize, end: usize, file: BorrowedFd<'_>) -> io::Result<()> {
        let sharing = match self.backing {
            Backing::FileReadOnly => Sharing::Private,
            Backing::Dax => Sharing::Durable,
            _ => Sharing::Shared,
        };
        reservation.map_file(from..end, file, from as u64, sharing)?;
        // Without this every fault on a file larger than memory reads 8 MiB ahead, which stops almost all progress.
        reservation.advise(from, end - from, Advice::Random);
        if self.backing == Backing::File {
            // A forked child must not copy the page tables of the image.
            reservation.advise(from, end - from, Advice::NotInherited);
        }
        Ok(())
    }

    fn advise(&self, offset: usize, len: usize, advice: Advice) {
        if let Memory::Reserved(reservation) = &self.memory {
            reservation.advise(offset, len, advice);
        }
    }

    /// Faults the pages in, writable, ahead of the writers. A first touch costs a page table walk, an allocation and
    /// perhaps a wait for the file system, which a put should not pay. Errors are not reported: the fault of a writer
    /// then makes the pages, which is slower and equally correct.
    pub fn populate(&self, offset: usize, len: usize) {
        self.advise(offset, len, Advice::PopulateToWrite);
    }

    /// The same for reading: warms the page tables and the page cache.
    pub fn warm(&self, offset: usize, len: usize) {
        self.advise(offset, len, Advice::PopulateToRead);
    }

    /// Begins to read pages of the file that are not in memory, and does not wait for them: a later access finds them
    /// there, or waits for what is left.
    pub fn announce(&self, offset: usize, len: usize) {
        if matches!(self.backing, Backing::File | Backing::FileReadOnly) {
            self.advise(offset, len, Advice::WillNeed);
        }
    }

    /// Prefaults pages of the file through a second window, aligned to 2 MiB, that requests large pages. This mapping
    /// never gets large pages by itself, since it is advised for random access. A kernel without large folios gives
    /// small pages.
    pub fn prefault_large(&self, offset: usize, len: usize, file: BorrowedFd<'_>) -> io::Result<()> {
        let window = Reservation::new(len.next_multiple_of(LARGE_PAGE), LARGE_PAGE, false)?;
        window.map_file(0..len, file, offset as u64, Sharing::Shared)?;
        window.advise(0, len, Advice::LargePages);
        window.advise(0, len, Advice::PopulateToWrite);
        Ok(())
    }

    /// Bytes accessible now.
    #[inline]
    pub fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// Whether nothing is accessible yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of address space, the most that this region can ever hold.
    pub fn reserved(&self) -> usize {
        self.reserved
    }

    /// The addresses of what is accessible; `None` for heap memory, which belongs to the allocator.
    pub(crate) fn addresses(&self) -> Option<std::ops::Range<usize>> {
        let start = self.base.as_ptr() as usize;
        (self.backing != Backing::Heap).then_some(start..start + self.len())
    }

    /// Whether most of the first `bytes` bytes are in memory, so that reading them does not wait for the disk: three of
    /// four pages of a sample. So is what the kernel does not report. A system call for each page of the sample.
    pub(crate) fn is_mostly_in_memory(&self, bytes: usize) -> bool {
        let Some(addresses) = self.addresses() else { return true };
        let page = page_size();
        let pages = bytes.min(addresses.len()) / page;
        let sample = pages.min(SAMPLE);
        // A page of each of as many parts.
        let is_in_memory = |index: &usize| {
            let address = addresses.start + index * pages / sample * page;
            sys::is_in_memory(address).unwrap_or(true)
        };
        is_most((0..sample).filter(is_in_memory).count(), sample)
    }

    /// The kind of memory.
    pub fn backing(&self) -> Backing {
        self.backing
    }

    /// The first word. Valid for [`Region::len`] bytes.
    #[inline]
    pub(crate) fn base(&self) -> *const Word {
        self.base.as_ptr().cast()
    }

    /// Offset of an address, if it lies in the reservation.
    #[inline]
    pub(crate) fn offset_of(&self, address: usize) -> Option<u64> {
        let offset = address.wrapping_sub(self.base.as_ptr() as usize);
        (offset < self.reserved).then_some(offset as u64)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        if let Memory::Heap(heap) = self.memory {
            // SAFETY: the pointer came from a box, and nothing else frees it; any reference into it borrows from this
            // region.
            drop(unsafe { Box::from_raw(heap.as_ptr()) });
        }
    }
}

/// Whether a count is three quarters of all, or more.
fn is_most(count: usize, all: usize) -> bool {
    4 * count >= 3 * all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three for each four, rounded up, was more than all where there are one, two or five: a database of so few pages
    /// got no index at its checkpoints.
    #[test]
    fn all_pages_are_most_of_any_number() {
        assert!((0..=SAMPLE).all(|all| is_most(all, all)));
        assert_eq!(
            [is_most(0, 1), is_most(1, 2), is_most(2, 3), is_most(3, 4), is_most(191, 256)],
            [false, false, false, true, false]
        );
    }
}
