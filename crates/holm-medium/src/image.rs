//! The cache's view of everything durable: two regions of words, and the checked conversion of a location to a
//! reference.
//!
//! `unsafe` is allowed in this file: `at` turns an offset into a reference, after it has checked bounds and alignment,
//! for types that consist of words only.

use crate::loc::{Area, LINE, Loc, parts};
use crate::paging::{self, Paging};
use crate::persistent::Persistent;
use crate::region::Region;
use crate::sys::{self, Mapping};
use crate::word::{Scratch, Word};

/// Leaf blocks and records, whatever makes them durable.
pub struct Image {
    areas: [Region; 2],
    paging: Paging,
}

impl Image {
    /// An image of the memory of two areas.
    pub fn new(leaves: Region, records: Region) -> Self {
        Image { areas: [leaves, records], paging: Paging::default() }
    }

    /// Zeroed heap memory of fixed sizes, in bytes.
    pub fn heap(leaves: usize, records: usize) -> Self {
        Image::new(Region::heap(leaves), Region::heap(records))
    }

    /// The memory of an area.
    #[inline]
    pub fn area(&self, area: Area) -> &Region {
        &self.areas[area as usize]
    }

    /// Whether reads of this image wait for the disk.
    #[inline]
    pub fn paging(&self) -> &Paging {
        &self.paging
    }

    /// Begins to read `bytes` bytes from a location on, as far as they lie in the image, and waits for nothing. Only
    /// worth its system call where reads wait: [`Image::paging`]. Does nothing for memory that has no file.
    pub fn announce(&self, loc: u64, bytes: u64) {
        let (area, offset) = parts(loc);
        let region = self.area(area);
        let bytes = bytes.min((region.len() as u64).saturating_sub(offset));
        if bytes > 0 {
            paging::announced();
            region.announce(offset as usize, bytes as usize);
        }
    }

    /// How much of both areas is resident, and how much of that is in large pages. Zero for memory on the heap, `None`
    /// where the kernel does not report it. Walks the page tables of the process.
    pub fn mapping(&self) -> Option<Mapping> {
        let ranges: Vec<_> = self.areas.iter().filter_map(Region::addresses).collect();
        if ranges.is_empty() { None } else { sys::mapping_of(&ranges) }
    }

    /// The `T` at a location; `None` where none can lie. A reader that raced restarts on `None`, and recovery reports
    /// corruption. O(1).
    #[inline]
    pub fn at<T: Persistent>(&self, loc: Loc<T>) -> Option<&T> {
        let (area, offset) = parts(loc.bits());
        let region = self.area(area);
        let end = offset + size_of::<T>() as u64;
        if end > region.len() as u64 || !offset.is_multiple_of(align_of::<T>() as u64) {
            return None;
        }
        // SAFETY: in bounds and aligned (the base is aligned to a line); `T: Persistent` is made of atomic words, for
        // which any bits are valid and concurrent stores are no race. The region outlives `self`'s borrow.
        Some(unsafe { &*region.base().cast::<u8>().add(offset as usize).cast::<T>() })
    }

    /// The `count` words from a location on; `None` where they do not fit.
    #[inline]
    pub fn words(&self, loc: u64, count: usize) -> Option<&[Word]> {
        let (area, offset) = parts(loc);
        let region = self.area(area);
        if !offset.is_multiple_of(8) || (region.len() as u64).saturating_sub(offset) / 8 < count as u64 {
            return None;
        }
        // SAFETY: in bounds and aligned, and words are atomics.
        Some(unsafe { std::slice::from_raw_parts(region.base().add(offset as usize / 8), count) })
    }

    /// The location of a word of this image.
    ///
    /// # Panics
    /// If the word belongs to another image: this is a bug of the caller that would flush the wrong line.
    #[inline]
    pub fn locate(&self, word: &Word) -> u64 {
        self.locate_address(std::ptr::from_ref(word) as usize)
    }

    /// The location of a scratch word of this image.
    #[inline]
    pub fn locate_scratch(&self, word: &Scratch) -> u64 {
        self.locate_address(std::ptr::from_ref(word) as usize)
    }

    /// The location of the first byte of a value in this image.
    #[inline]
    pub fn locate_any<T: Persistent>(&self, what: &T) -> u64 {
        self.locate_address(std::ptr::from_ref(what) as usize)
    }

    #[inline]
    fn locate_address(&self, address: usize) -> u64 {
        if let Some(offset) = self.areas[0].offset_of(address) {
            return Area::Leaves.at(offset);
        }
        let offset = self.areas[1].offset_of(address).expect("the word lies in this image");
        Area::Records.at(offset)
    }

    /// The first line and the number of lines that a value touches.
    #[inline]
    pub fn lines_of<T: Persistent>(&self, what: &T) -> (u64, u64) {
        let first = self.locate_any(what);
        if size_of::<T>() <= align_of::<T>().min(LINE as usize) {
            // Known at compile time for a word, which is how most operations mark a line.
            return (first / LINE, 1);
        }
        let last = first + (size_of::<T>() as u64).max(1) - 1;
        (first / LINE, last / LINE - first / LINE + 1)
    }
}
