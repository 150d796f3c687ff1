//! Address space reserved once and never moved, into which files and memory are mapped.
//!
//! `unsafe` is allowed in this file: it maps memory.

use super::advice::Advice;
use super::page::page_size;
use super::system;
use rustix::fd::BorrowedFd;
use rustix::mm::{self, MapFlags, ProtFlags};
use std::ffi::c_void;
use std::io;
use std::ops::Range;
use std::ptr::NonNull;

/// Who sees the stores to a mapping of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sharing {
    /// Everybody who maps or reads the file.
    Shared,
    /// This process alone.
    Private,
    /// As `Shared`, and a flushed line is durable (`MAP_SYNC`).
    Durable,
}

/// A range of addresses that belongs to this value.
pub(crate) struct Reservation {
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a range of addresses; what lies there is reached through `base` by the owner's own `unsafe`, and the kernel
// serialises mapping calls.
unsafe impl Send for Reservation {}
// SAFETY: as above.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Reserves `bytes` bytes, aligned to `alignment`; both are multiples of the page. With `accessible` they are
    /// zeroed memory, and otherwise nothing may touch them before something is mapped there.
    ///
    /// # Errors
    /// Those of the kernel, if there is not enough address space.
    pub(crate) fn new(bytes: usize, alignment: usize, accessible: bool) -> io::Result<Self> {
        let page = page_size();
        assert!(
            alignment.is_multiple_of(page) && bytes.is_multiple_of(page),
            "{bytes} bytes at {alignment} are no whole number of pages of {page}"
        );
        let protection = if accessible { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::empty() };
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice touches no memory of ours.
        let start = unsafe { mm::mmap_anonymous(std::ptr::null_mut(), bytes + alignment, protection, flags)? };
        let head = start.addr().next_multiple_of(alignment) - start.addr();
        if head > 0 {
            // SAFETY: these bytes are the front of the mapping just made and nothing refers to them.
            unsafe { mm::munmap(start, head)? };
        }
        let aligned = start.wrapping_byte_add(head);
        if alignment > head {
            // SAFETY: as above, the back of it.
            unsafe { mm::munmap(aligned.wrapping_byte_add(bytes), alignment - head)? };
        }
        let base = NonNull::new(aligned.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Reservation { base, bytes })
    }

    /// The first byte.
    pub(crate) fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Maps a range of bytes of the reservation to those of `file` from `offset` on; all are multiples of the page.
    /// The file must have these bytes as long as they are touched: a page past its end is a fault, not an error.
    ///
    /// # Errors
    /// Those of the kernel. [`io::ErrorKind::Unsupported`] for a mapping that this system does not have.
    pub(crate) fn map_file(
        &self,
        range: Range<usize>,
        file: BorrowedFd<'_>,
        offset: u64,
        sharing: Sharing,
    ) -> io::Result<()> {
        let Range { start: from, end } = range;
        self.expect_pages(from, end);
        let flags = match sharing {
            Sharing::Shared => MapFlags::SHARED,
            Sharing::Private => MapFlags::PRIVATE | MapFlags::NORESERVE,
            Sharing::Durable => system::durable_mapping().ok_or(io::ErrorKind::Unsupported)?,
        };
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the range lies in our own reservation. References to it are to atomics, for which other contents are
        // no other memory.
        unsafe { mm::mmap(self.address(from), end - from, protection, flags | MapFlags::FIXED, file, offset)? };
        Ok(())
    }

    /// Maps zeroed memory of this process to the bytes `from..end`; both are multiples of the page.
    ///
    /// # Errors
    /// Those of the kernel.
    pub(crate) fn map_memory(&self, from: usize, end: usize) -> io::Result<()> {
        self.expect_pages(from, end);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: as for a file.
        unsafe { mm::mmap_anonymous(self.address(from), end - from, protection, flags)? };
        Ok(())
    }

    /// Gives advice for `len` bytes from `offset` on, widened to whole pages. Errors are not reported: an old kernel
    /// may refuse, which costs time and nothing else.
    pub(crate) fn advise(&self, offset: usize, len: usize, advice: Advice) {
        let Some(advice) = system::advice(advice) else { return };
        let from = offset / page_size() * page_size();
        assert!(offset + len <= self.bytes, "advice for {offset} + {len} bytes of {} reserved ones", self.bytes);
        // SAFETY: the range lies in our own reservation, and no advice of this kind discards contents.
        let _ = unsafe { mm::madvise(self.address(from), offset + len - from, advice) };
    }

    fn address(&self, offset: usize) -> *mut c_void {
        self.base.as_ptr().wrapping_add(offset).cast()
    }

    /// A range beyond the reservation would replace memory of somebody else.
    fn expect_pages(&self, from: usize, end: usize) {
        let page = page_size();
        assert!(
            from < end && end <= self.bytes && from.is_multiple_of(page) && end.is_multiple_of(page),
            "{from}..{end} are no whole pages of {page} bytes in {} reserved ones",
            self.bytes
        );
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the whole range is ours; a reference into it borrows from the owner of this value.
        let _ = unsafe { mm::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_is_aligned() {
        for _ in 0..8 {
            let reservation = Reservation::new(page_size(), 2 << 20, true).expect("address space");
            assert!(reservation.base().addr().get().is_multiple_of(2 << 20));
            reservation.advise(1, 10, Advice::PopulateToWrite);
        }
    }

    #[test]
    #[should_panic(expected = "are no whole pages")]
    fn a_mapping_beyond_the_reservation_is_refused() {
        let reservation = Reservation::new(page_size(), page_size(), false).expect("address space");
        let _ = reservation.map_memory(0, 2 * page_size());
    }

    #[test]
    #[should_panic(expected = "are no whole pages")]
    fn a_mapping_of_half_a_page_is_refused() {
        let reservation = Reservation::new(2 * page_size(), page_size(), false).expect("address space");
        let _ = reservation.map_memory(page_size() / 2, page_size());
    }
}
