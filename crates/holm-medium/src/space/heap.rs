//! Record space: what is free of it outside the caches of threads.

use super::first_page::{FIRST, LARGE};
use super::free_map::FreeMap;
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
    /// Whether the area is so large that free space in its first large page is reused last.
    large_area: bool,
}

impl Heap {
    /// Nothing is taken.
    pub(super) fn new() -> Self {
        Heap { withheld: None, frontier: BEGIN, free: FreeMap::new(), large_area: false }
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
        self.free = FreeMap::new();
        runs.into_iter().for_each(|(offset, bytes)| self.free(offset, bytes));
        self.large_area = false;
    }

    pub(super) fn release(&mut self) {
        if let Some(held) = self.withheld.take() {
            if self.frontier == held.upto {
                self.frontier = held.frontier;
            } else if held.frontier < held.upto {
                self.free(held.frontier, held.upto - held.frontier);
            }
        }
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

    /// Takes `bytes` bytes at the frontier.
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
        let offset = std::mem::replace(&mut self.frontier, end);
        medium.reached(Area::Records, end);
        Ok(offset)
    }

    /// Releases the free end: the frontier moves back to the last byte in use. O(bytes of it / 512).
    pub(super) fn lower(&mut self) {
        if self.withheld.is_none() {
            let free = self.free.run_before(self.frontier / 8);
            let end = self.frontier / 8 - free;
            if free > 0 {
                self.free.take(end, free);
                self.frontier = end * 8;
            }
        }
    }
}
