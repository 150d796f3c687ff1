//! Record space: what is free of it outside the caches of threads.

use super::first_page::{FIRST, LARGE};
use super::free_map::FreeMap;
use super::released::{REGION_BYTES, Released, whole_regions};
use super::withheld::Withheld;
use crate::error::Result;
use crate::loc::Area;
use crate::medium::Medium;

/// A free run with room for this number of records becomes a bump region. Of shorter runs a thread takes several at a
/// time, cut into records.
pub(super) const LONG: u64 = 8;

/// Offset 0 stays unused: a null location is no record.
pub(super) const BEGIN: u64 = 64;

/// Record space: a frontier, and what is free below it, in bytes.
pub(super) struct Heap {
    pub(super) withheld: Option<Withheld>,
    pub(super) frontier: u64,
    free: FreeMap,
    released: Released,
    /// Whether the area is so large that free space in its first large page is reused last.
    large_area: bool,
}

impl Heap {
    /// Nothing is taken.
    pub(super) fn new() -> Self {
        Heap { withheld: None, frontier: BEGIN, free: FreeMap::new(), released: Released::default(), large_area: false }
    }

    pub(super) fn rebuilt(&mut self, frontier: u64, runs: Vec<(u64, u64)>) {
        if let Some((offset, bytes)) = runs.iter().find(|(offset, bytes)| offset + bytes > frontier) {
            panic!("{bytes} bytes at {offset} are free beyond the frontier of records, {frontier}");
        }
        self.frontier = frontier.max(BEGIN);
        if let Some(held) = self.withheld {
            let frontier = self.frontier;
            self.frontier = held.upto.max(frontier);
            self.withheld = Some(Withheld { upto: self.frontier, frontier });
        }
        (self.free, self.released) = (FreeMap::new(), Released::default());
        for (offset, bytes) in runs {
            let whole = whole_regions(offset, bytes);
            if whole.is_empty() {
                self.free(offset, bytes);
                continue;
            }
            self.free(offset, whole.start * REGION_BYTES - offset);
            self.free(whole.end * REGION_BYTES, offset + bytes - whole.end * REGION_BYTES);
            whole.for_each(|region| self.released.add(region));
        }
        self.large_area = false;
    }

    pub(super) fn release(&mut self) {
        if let Some(held) = self.withheld.take() {
            if self.frontier == held.upto {
                self.frontier = held.frontier;
            } else if held.frontier < held.upto {
                self.free_allocated(held.frontier, held.upto);
            }
        }
    }

    /// An open has found that the file has holes: what lies behind the last record in whole regions, up to `len` bytes,
    /// counts as given back, too. [`Heap::extend`] allocates it.
    pub(super) fn release_end(&mut self, len: u64) {
        let frontier = self.withheld.map_or(self.frontier, |held| held.frontier);
        whole_regions(frontier, len.saturating_sub(frontier)).for_each(|region| self.released.add(region));
    }

    /// Frees what lies between two offsets and was not given back.
    fn free_allocated(&mut self, offset: u64, end: u64) {
        let mut at = offset;
        for region in self.released.within(whole_regions(offset, end - offset)) {
            self.free(at, region * REGION_BYTES - at);
            at = (region + 1) * REGION_BYTES;
        }
        self.free(at, end - at);
    }

    /// Once the area is large: free space in its first large page, now and later, is hidden from the normal search.
    /// Returns whether that begins with this call.
    pub(super) fn note(&mut self) -> bool {
        if self.frontier < LARGE || self.large_area {
            return false;
        }
        self.large_area = true;
        self.free.hide();
        true
    }

    /// What is freed below this offset returns to the heap at once: everything while space is withheld; what lies in
    /// the first large page, whose space is reused last, once the area is large; otherwise nothing.
    pub(super) fn returns_below(&self) -> u64 {
        match (self.withheld, self.large_area) {
            (Some(_), _) => u64::MAX,
            (None, true) => FIRST,
            (None, false) => 0,
        }
    }

    /// Frees these bytes.
    pub(super) fn free(&mut self, offset: u64, bytes: u64) {
        self.free.free(offset / 8, bytes / 8);
    }

    /// Takes the first free run of at least `least` bytes: up to `most` bytes of a long run, and of a short one a
    /// whole number of pieces of `least` bytes, so that the rest stays where it can join.
    pub(super) fn claim(&mut self, least: u64, most: u64) -> Option<(u64, u64)> {
        if self.withheld.is_some() {
            return None;
        }
        let found = self.free.find(least / 8)?;
        Some(self.claim_at(found, least, most))
    }

    /// The same in the first large page, when there is nothing else.
    pub(super) fn claim_cold(&mut self, least: u64, most: u64) -> Option<(u64, u64)> {
        if self.withheld.is_some() || !self.large_area {
            return None;
        }
        let found = self.free.find_hidden(least / 8)?;
        // A run may continue beyond the page.
        let most = most.min(FIRST - found * 8);
        Some(self.claim_at(found, least, most))
    }

    fn claim_at(&mut self, word: u64, least: u64, most: u64) -> (u64, u64) {
        debug_assert!(0 < least && least <= most, "a run of {least} to {most} bytes is claimed");
        let run = self.free.run_at(word, most / 8) * 8;
        let bytes = if run >= LONG * least { run } else { run / least * least };
        debug_assert!(least <= bytes, "{bytes} bytes at word {word} were found for {least}");
        self.free.take(word, bytes / 8);
        (word * 8, bytes)
    }

    /// Takes exactly `bytes` bytes of the first free run that has them, if they end below `limit`.
    pub(super) fn claim_below(&mut self, bytes: u64, limit: u64) -> Option<u64> {
        if self.withheld.is_some() {
            return None;
        }
        let word = self.free.find(bytes / 8).filter(|word| word * 8 + bytes <= limit)?;
        self.free.take(word, bytes / 8);
        Some(word * 8)
    }

    /// Allocates the first regions that were given back and have room for `bytes` bytes, and frees them. Returns
    /// whether there were any, and the disk had room.
    pub(super) fn take_back<M: Medium>(&mut self, medium: &M, bytes: u64) -> bool {
        if self.withheld.is_some() {
            return false;
        }
        let count = bytes.div_ceil(REGION_BYTES);
        let Some(first) = self.released.take_first(count, self.frontier / REGION_BYTES) else { return false };
        let taken = medium.take_back(Area::Records, first * REGION_BYTES, count * REGION_BYTES);
        match taken {
            Ok(()) => self.free(first * REGION_BYTES, count * REGION_BYTES),
            Err(_) => (first..first + count).for_each(|region| self.released.add(region)),
        }
        taken.is_ok()
    }

    /// Takes up to `most` adjacent regions that are free as a whole, the last ones, so that at least `keep` bytes of
    /// such regions stay. Returns the first of them and their number; the caller gives them back to the file system.
    pub(super) fn take_whole(&mut self, keep: u64, most: u64) -> Option<(u64, u64)> {
        if self.withheld.is_some() {
            return None;
        }
        let whole = self.free.free_by_region().enumerate().skip(1).filter(|(_, free)| free * 8 == REGION_BYTES);
        let whole: Vec<_> = whole.map(|(region, _)| region as u64).collect();
        let surplus = (whole.len() as u64).saturating_sub(keep.div_ceil(REGION_BYTES)).min(most);
        let last = whole.last().filter(|_| surplus > 0)?;
        let adjacent = whole.iter().rev().enumerate().take_while(|(back, region)| **region + *back as u64 == *last);
        let count = (adjacent.count() as u64).min(surplus);
        let first = last + 1 - count;
        (first..first + count).for_each(|region| self.free.take_region(region as usize));
        Some((first, count))
    }

    /// What [`Heap::take_whole`] has taken was given back, or stays free because the file system does not take it.
    pub(super) fn put_whole(&mut self, (first, count): (u64, u64), released: bool) {
        match released {
            true => (first..first + count).for_each(|region| self.released.add(region)),
            false => self.free(first * REGION_BYTES, count * REGION_BYTES),
        }
    }

    /// The free bytes of each region but the first, up to the frontier; `None` of a region that was given back.
    pub(super) fn regions(&self) -> Vec<Option<u64>> {
        let count = self.frontier.div_ceil(REGION_BYTES) as usize;
        let mut regions: Vec<_> = self.free.free_by_region().map(|free| Some(free * 8)).collect();
        regions.resize(count.max(1), Some(0));
        self.released.within(0..count as u64).into_iter().for_each(|region| regions[region as usize] = None);
        regions.remove(0);
        regions
    }

    /// The free bytes of the first region.
    pub(super) fn free_in_first_region(&self) -> u64 {
        self.free.free_by_region().next().unwrap_or(0) * 8
    }

    /// The free bytes of the first region for records that move: none once the area is large, which uses them last.
    pub(super) fn room_in_first_region(&self) -> u64 {
        if self.large_area { 0 } else { self.free_in_first_region() }
    }

    /// The regions that were given back, in order, also those behind the frontier.
    pub(super) fn released_regions(&self) -> Vec<u64> {
        self.released.all()
    }

    /// Bytes below the frontier that were given back to the file system.
    pub(super) fn released_bytes(&self) -> u64 {
        self.released.within(0..self.frontier / REGION_BYTES).len() as u64 * REGION_BYTES
    }

    /// The free runs below the frontier in ascending order: offset and bytes.
    pub(super) fn free_runs(&self) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        self.free.each_run(&mut |word, words| runs.push((word * 8, words * 8)));
        runs
    }

    /// Takes `bytes` bytes at the frontier. Allocates the regions there that were given back.
    pub(super) fn extend<M: Medium>(&mut self, medium: &M, bytes: u64) -> Result<u64> {
        debug_assert!(bytes > 0 && bytes.is_multiple_of(8), "the frontier moves by {bytes} bytes, not by words");
        let end = self.frontier + bytes;
        if end > medium.image().area(Area::Records).len() as u64 {
            medium.grow(Area::Records, end)?;
        }
        debug_assert!(
            end <= medium.image().area(Area::Records).len() as u64,
            "the medium has grown to {} bytes of records: {end} are expected",
            medium.image().area(Area::Records).len()
        );
        for region in self.released.within(self.frontier / REGION_BYTES..end.div_ceil(REGION_BYTES)) {
            medium.take_back(Area::Records, region * REGION_BYTES, REGION_BYTES)?;
            self.released.remove(region);
        }
        let offset = std::mem::replace(&mut self.frontier, end);
        medium.reached(Area::Records, end);
        Ok(offset)
    }

    /// Releases the free end: the frontier moves back to the last byte in use. O(bytes of it / 512). What was given
    /// back below it counts as free again: nothing may be taken from now on.
    pub(super) fn lower(&mut self) {
        if self.withheld.is_none() {
            let released = self.released.within(0..self.frontier / REGION_BYTES);
            self.released = Released::default();
            released.into_iter().for_each(|region| self.free(region * REGION_BYTES, REGION_BYTES));
            let free = self.free.run_before(self.frontier / 8);
            let end = self.frontier / 8 - free;
            if free > 0 {
                self.free.take(end, free);
                self.frontier = end * 8;
            }
        }
    }
}
