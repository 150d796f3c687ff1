//! An array of one type that grows at its end. The tree has one area for each kind of data that it keeps.
//!
//! Small areas come from the allocator. Large ones are reserved address space, aligned to large pages and not zeroed
//! before use. When a large area outgrows its reservation, its pages are moved, not copied. An area knows how many
//! elements it has and nothing about their content: it drops none of them. This is one of the files where `unsafe` is
//! allowed.

use holm_search::LINE_BYTES;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The pages that a level's large areas ask the system for. This is a hint, and small areas ignore it: they come from
/// the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// The system decides.
    Usual,
    /// Small pages, even where the system would use large ones.
    Small,
    /// Large pages: 2 MiB on x86-64.
    Large,
}

/// Types whose elements are all written when an area grows, so that every element may be read.
pub trait Plain: Copy {}
impl Plain for i32 {}
impl Plain for i64 {}
impl Plain for i128 {}
impl Plain for u32 {}

/// An array that grows at its end.
pub(crate) struct Area<T> {
    base: NonNull<T>,
    len: usize,
    /// Elements that the memory has room for.
    capacity: usize,
    /// Whether the memory is a mapping of its own.
    mapped: bool,
    pages: Pages,
    elements: PhantomData<T>,
}

// SAFETY: an area owns its memory as a `Vec` does, and lends elements out only through `&self` and `&mut self`. The raw
// pointers that it returns are dereferenced under the borrows of the area's owner.
unsafe impl<T: Send> Send for Area<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Area<T> {}

impl<T> Area<T> {
    const ALIGN: usize = if align_of::<T>() > LINE_BYTES { align_of::<T>() } else { LINE_BYTES };

    /// Returns an area without elements and without memory.
    pub(crate) const fn new(pages: Pages) -> Self {
        const { assert!(size_of::<T>() > 0, "an area's elements have a size") };
        Self { base: NonNull::dangling(), len: 0, capacity: 0, mapped: false, pages, elements: PhantomData }
    }

    /// The number of elements.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes in use, and bytes held for growth that the allocator counts as allocated.
    pub(crate) fn bytes(&self) -> usize {
        let elements = if self.mapped { self.len } else { self.capacity };
        elements * size_of::<T>()
    }

    /// Returns the address of element `index`. It is valid until the area grows.
    #[inline(always)]
    pub(crate) fn at(&self, index: usize) -> NonNull<T> {
        assert!(index < self.len, "an element behind the area's end");
        // SAFETY: inside the memory, by the line above.
        unsafe { self.base.add(index) }
    }

    /// As [`Area::at`], of an element that is known to be inside.
    ///
    /// # Safety
    /// `index` is below the number of elements.
    #[inline(always)]
    pub(crate) unsafe fn at_found(&self, index: usize) -> NonNull<T> {
        debug_assert!(index < self.len);
        // SAFETY: inside the memory, by this function's contract.
        unsafe { self.base.add(index) }
    }

    /// Adds `count` elements that are not initialized.
    pub(crate) fn grow_unwritten(&mut self, count: usize) {
        let wanted = self.len.checked_add(count).unwrap_or_else(|| panic!("an area of more than all memory"));
        if wanted > self.capacity {
            self.reserve(wanted);
        }
        self.len = wanted;
    }

    /// Makes room for `count` more elements, and asks the system for the memory now instead of at the first write to
    /// each page. If the system refuses, the pages arrive at the first write, as usual.
    pub(crate) fn prepare(&mut self, count: usize) {
        let wanted = self.len.checked_add(count).unwrap_or_else(|| panic!("an area of more than all memory"));
        if wanted > self.capacity {
            self.reserve(wanted);
        }
        #[cfg(all(target_os = "linux", not(miri)))]
        if self.mapped {
            let (start, end) = (self.len * size_of::<T>(), wanted * size_of::<T>());
            mapping::populate(self.base.cast(), start, end.next_multiple_of(mapping::LARGE_PAGE));
        }
    }

    /// Removes all elements behind the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    #[cold]
    fn reserve(&mut self, wanted: usize) {
        let capacity = wanted.max(self.capacity * 2).max(LINE_BYTES.div_ceil(size_of::<T>()));
        let bytes = capacity.checked_mul(size_of::<T>()).filter(|bytes| *bytes <= isize::MAX as usize);
        let bytes = bytes.unwrap_or_else(|| panic!("an area of more than all memory"));
        let layout =
            Layout::from_size_align(bytes, Self::ALIGN).unwrap_or_else(|_| panic!("an area beyond all memory"));
        #[cfg(all(target_os = "linux", not(miri)))]
        if bytes >= mapping::WORTH_MAPPING && Self::ALIGN.max(size_of::<T>()) <= mapping::LARGE_PAGE {
            return self.map(bytes.next_multiple_of(mapping::LARGE_PAGE), layout);
        }
        // SAFETY: the layout's size is not zero, for neither is `wanted` nor the size of an element.
        let fresh = NonNull::new(unsafe { alloc(layout) }.cast()).unwrap_or_else(|| handle_alloc_error(layout));
        self.move_to(fresh, capacity);
    }

    /// Copies the elements to heap or mapped memory at `fresh`, and uses that memory from then on.
    fn move_to(&mut self, fresh: NonNull<T>, capacity: usize) {
        // SAFETY: both ends have room for `len` elements, and fresh memory overlaps nothing.
        unsafe { fresh.copy_from_nonoverlapping(self.base, self.len) };
        self.release();
        (self.base, self.capacity) = (fresh, capacity);
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn map(&mut self, bytes: usize, layout: Layout) {
        let fresh = mapping::reserve(bytes).unwrap_or_else(|| handle_alloc_error(layout));
        if self.mapped {
            let moved = mapping::replace(self.base.cast(), self.mapped_bytes(), fresh, bytes);
            moved.unwrap_or_else(|| handle_alloc_error(layout));
            (self.base, self.capacity) = (fresh.cast(), bytes / size_of::<T>());
        } else {
            self.move_to(fresh.cast(), bytes / size_of::<T>());
            self.mapped = true;
        }
        mapping::advise(self.base.cast(), bytes, self.pages);
    }

    /// Bytes of the mapping. The capacity is this number rounded down to whole elements.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn mapped_bytes(&self) -> usize {
        (self.capacity * size_of::<T>()).next_multiple_of(mapping::LARGE_PAGE)
    }

    /// Frees the memory.
    fn release(&mut self) {
        if self.capacity == 0 {
            return;
        }
        #[cfg(all(target_os = "linux", not(miri)))]
        if self.mapped {
            mapping::release(self.base.cast(), self.mapped_bytes());
            return;
        }
        let layout = Layout::array::<T>(self.capacity).and_then(|layout| layout.align_to(Self::ALIGN));
        // SAFETY: the memory was allocated with this layout, so the layout is valid.
        unsafe { dealloc(self.base.cast().as_ptr(), layout.unwrap_unchecked()) };
    }
}

impl<T: Plain> Area<T> {
    /// Adds `count` elements, all equal to `value`.
    pub(crate) fn grow(&mut self, count: usize, value: T) {
        let before = self.len;
        self.grow_unwritten(count);
        for index in before..self.len {
            // SAFETY: the memory belongs to this area, and an element of a plain type has nothing to drop.
            unsafe { self.at(index).write(value) };
        }
    }
}

impl<T: Plain> Clone for Area<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::new(self.pages);
        copy.grow_unwritten(self.len);
        // SAFETY: both have room for `len` elements of a plain type, and fresh memory overlaps nothing.
        unsafe { copy.base.copy_from_nonoverlapping(self.base, self.len) };
        copy
    }
}

impl<T: Plain> Deref for Area<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `len` elements of a plain type, all written when they were added (`grow_unwritten` is for other
        // types). Without elements the pointer dangles, which is allowed for an empty slice.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }
}

impl<T: Plain> DerefMut for Area<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.base.as_ptr(), self.len) }
    }
}

impl<T> Drop for Area<T> {
    fn drop(&mut self) {
        self.release();
    }
}

/// Anonymous memory straight from the operating system.
#[cfg(all(target_os = "linux", not(miri)))]
mod mapping {
    use super::Pages;
    use rustix::mm::{Advice, MapFlags, MremapFlags, ProtFlags, madvise, mmap_anonymous, mremap_fixed, munmap};
    use std::ptr::{NonNull, null_mut};

    pub(super) const LARGE_PAGE: usize = 2 << 20;
    /// From this size on, a mapping is cheaper than the copies that growth through the allocator would take.
    pub(super) const WORTH_MAPPING: usize = 2 * LARGE_PAGE;

    /// Reserves address space of whole large pages, aligned to them. It uses no memory until it is written to.
    pub(super) fn reserve(bytes: usize) -> Option<NonNull<u8>> {
        let span = bytes.checked_add(LARGE_PAGE)?;
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a new mapping at an address that the system chooses affects no other memory.
        let start = unsafe { mmap_anonymous(null_mut(), span, access, flags) }.ok()?.cast::<u8>();
        let skipped = start.align_offset(LARGE_PAGE);
        let base = start.wrapping_add(skipped);
        for (at, bytes) in [(start, skipped), (base.wrapping_add(bytes), LARGE_PAGE - skipped)] {
            if bytes > 0 {
                release(NonNull::new(at)?, bytes);
            }
        }
        NonNull::new(base)
    }

    /// Moves the pages of the mapping at `from`, of `bytes`, to the beginning of `to`, of `more` bytes. Both are
    /// aligned to large pages. The mapping at `from` is gone afterwards.
    ///
    /// The moved mapping grows while it moves and replaces all of `to`. If it covered only the beginning, the system
    /// would keep the two parts as two mappings, and Linux before 6.17 refuses to move two mappings in one call.
    pub(super) fn replace(from: NonNull<u8>, bytes: usize, to: NonNull<u8>, more: usize) -> Option<()> {
        // SAFETY: both are mappings of this process made by `reserve`, they span these sizes and do not overlap. The
        // caller gives up `from` and the content of `to`, which is empty.
        let moved =
            unsafe { mremap_fixed(from.as_ptr().cast(), bytes, more, MremapFlags::MAYMOVE, to.as_ptr().cast()) };
        moved.ok().map(drop)
    }

    /// Asks for pages of one kind. A refusal changes only the speed.
    pub(super) fn advise(base: NonNull<u8>, bytes: usize, pages: Pages) {
        let advice = match pages {
            Pages::Usual => return,
            Pages::Small => Advice::LinuxNoHugepage,
            Pages::Large => Advice::LinuxHugepage,
        };
        // SAFETY: advice about a mapping of ours that changes no content.
        let _: rustix::io::Result<()> = unsafe { madvise(base.as_ptr().cast(), bytes, advice) };
    }

    /// Brings the pages from `start` to `end`, in bytes from `base`, into memory.
    pub(super) fn populate(base: NonNull<u8>, start: usize, end: usize) {
        let start = start - start % LARGE_PAGE;
        // SAFETY: the pages lie inside a mapping of ours, and their content does not change.
        let _: rustix::io::Result<()> =
            unsafe { madvise(base.as_ptr().wrapping_add(start).cast(), end - start, Advice::LinuxPopulateWrite) };
    }

    pub(super) fn release(base: NonNull<u8>, bytes: usize) {
        // SAFETY: a mapping of ours, or a part of one, that is no longer in use.
        let released = unsafe { munmap(base.as_ptr().cast(), bytes) };
        debug_assert!(released.is_ok(), "a mapping of our own is released");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_stays_while_an_area_grows_and_moves() {
        let (steps, length) = if cfg!(miri) { (5, 1 << 6) } else { (40, 1 << 16) };
        let mut area = Area::new(Pages::Large);
        for step in 0..steps {
            area.grow(length, step);
        }
        for step in 0..steps {
            assert!(area[step as usize * length..][..length].iter().all(|value| *value == step));
        }
        assert_eq!(area.as_ptr() as usize % LINE_BYTES, 0);
        assert!(area.bytes() >= area.len() * 4);
        area.truncate(3);
        area.grow(1, 7);
        assert_eq!(area[..], [0, 0, 0, 7]);
    }

    /// Bug: an area was moved to the beginning of a larger mapping, and the remainder stayed a mapping of its own. The
    /// next growth moved both mappings at once. Older systems refuse that, and the program ended.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn an_area_that_was_moved_is_one_mapping() {
        let mut area = Area::new(Pages::Large);
        for length in [1 << 20, 1 << 20, 1 << 21, 1 << 22] {
            area.grow(length, 7);
            if !area.mapped {
                continue;
            }
            let (start, end) = (area.base.as_ptr() as usize, area.base.as_ptr() as usize + area.mapped_bytes());
            let text = std::fs::read_to_string("/proc/self/maps").unwrap();
            let spans = text.lines().filter_map(|line| line.split(' ').next()?.split_once('-'));
            let mut spans = spans.map(|span| (span.0, span.1)).map(|(from, to)| {
                let number = |text| usize::from_str_radix(text, 16).unwrap();
                number(from)..number(to)
            });
            assert!(spans.any(|span| span.start <= start && end <= span.end), "{start:x}-{end:x} in\n{text}");
        }
        assert!(area.mapped && area.iter().all(|element| *element == 7));
    }
}
