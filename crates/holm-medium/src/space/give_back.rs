//! Record space that goes back to the file system, and what a compaction asks of space.

use super::heap::Heap;
use super::released::REGION_BYTES;
use super::{RECLAIM_MORE, Space, lock};
use crate::epoch::Epoch;
use crate::error::Result;
use crate::loc::Area;
use crate::medium::Medium;

/// Regions that are given back by one call: a call waits for the file system.
const MOST_AT_ONCE: u64 = 16;

/// The share of the area that stays allocated although it is free, and the bounds of that in bytes: what a load that
/// comes and goes uses again costs no call.
const KEPT_SHARE: u64 = 8;
const LEAST_KEPT: u64 = 16 << 20;
const MOST_KEPT: u64 = 256 << 20;

/// How record space is used, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordUse {
    /// From the beginning of the area to the first byte never used.
    pub used: u64,
    /// Free, and taken before the area grows.
    pub free: u64,
    /// The part of `free` that lies in large pages of which other bytes are in use.
    pub fragmented: u64,
    /// Given back to the file system, or found free in whole large pages by an open; a part of `used` and not of
    /// `free`.
    pub released: u64,
}

impl Space {
    /// How record space is used. O(area / 2 MiB).
    pub fn record_use(&self) -> RecordUse {
        let heap = lock(&self.heap);
        let regions = heap.regions();
        let free: u64 = regions.iter().flatten().sum();
        let whole = regions.iter().filter(|free| **free == Some(REGION_BYTES)).count() as u64 * REGION_BYTES;
        let free = free + heap.free_in_first_region();
        RecordUse { used: heap.frontier, free, fragmented: free - whole, released: heap.released_bytes() }
    }

    /// Gives regions that are free as a whole back to the file system, the last ones first, until `keep` bytes of them
    /// are left. Returns the bytes given back.
    ///
    /// # Errors
    /// Those of the medium. What was not given back stays free.
    pub fn give_back<M: Medium>(&self, medium: &M, keep: u64) -> Result<u64> {
        let mut bytes = 0;
        loop {
            let Some(regions) = lock(&self.heap).take_whole(keep, MOST_AT_ONCE) else { return Ok(bytes) };
            let (offset, len) = (regions.0 * REGION_BYTES, regions.1 * REGION_BYTES);
            // Outside of the lock: nobody else finds the regions meanwhile.
            let given = medium.give_back(Area::Records, offset, len);
            lock(&self.heap).put_whole(regions, matches!(given, Ok(true)));
            if !given? {
                return Ok(bytes);
            }
            bytes += len;
        }
    }

    /// The same, and keeps what a load that comes and goes will probably use again.
    ///
    /// # Errors
    /// As [`Space::give_back`].
    pub fn give_surplus_back<M: Medium>(&self, medium: &M) -> Result<u64> {
        let keep = (self.record_frontier() / KEPT_SHARE).clamp(LEAST_KEPT, MOST_KEPT);
        self.give_back(medium, keep)
    }

    /// Frees the retired records of every thread whose grace period is over, given an epoch that is durable: a thread
    /// that writes no more would keep them. Holds each thread up for a few records at a time, and pins no epoch, so
    /// that the thread of the checkpoints may call it.
    pub fn reclaim_of_all(&self, durable: Epoch) {
        // An operation that began now would have this label, or a later one.
        let label = durable + 1;
        for own in self.own.iter() {
            // A thread that is in a call reclaims its own.
            while own
                .try_lock()
                .is_some_and(|mut cache| self.reclaim_retired(&mut cache, label, RECLAIM_MORE) && cache.has_retired())
            {
            }
        }
    }

    /// The same, and returns to the heap what threads keep for their next records.
    pub fn settle(&self, durable: Epoch) {
        self.reclaim_of_all(durable);
        for own in self.own.iter() {
            if let Some(mut cache) = own.try_lock() {
                cache.give_all_back(&mut lock(&self.heap));
            }
        }
    }

    /// Takes `words` words of free record space that end below an offset, for an operation that moves a record there;
    /// `None` if there are none. Never grows the area.
    pub fn take_record_below(&self, words: u32, limit: u64) -> Option<u64> {
        let bytes = u64::from(words) * 8;
        let offset = lock(&self.heap).claim_below(bytes, limit)?;
        self.own().count(bytes as i64);
        Some(offset)
    }

    /// An open has found that the file has holes, and `len` bytes: what lies behind the last record in whole large
    /// pages counts as given back.
    pub fn release_end(&self, len: u64) {
        lock(&self.heap).release_end(len);
    }

    /// The large pages that were given back, or that an open has found free, by their numbers, in order.
    pub fn released_pages(&self) -> Vec<u64> {
        lock(&self.heap).released_regions()
    }

    /// Returns the offset from which on records are moved, so that all of them find room below it and the area ends
    /// there; `None` if there is no such offset, or too little to gain. O(area / 2 MiB).
    pub fn compaction_limit(&self) -> Option<u64> {
        limit_of(&lock(&self.heap))
    }
}

/// Free space is never used completely: of ten bytes that are free in pieces, nine count. The first region gives room
/// while the area is small, and is never emptied. Of what is given back, a quarter or a whole region was free before: a
/// pass moves the rest.
fn limit_of(heap: &Heap) -> Option<u64> {
    let regions = heap.regions();
    let mut below = heap.room_in_first_region() + regions.iter().flatten().sum::<u64>();
    let (mut above, mut behind) = (0, 0);
    let (mut limit, mut gain, mut least_gain) = (None, 0, 0);
    for (before, free) in regions.iter().enumerate().rev() {
        let Some(free) = *free else { continue };
        let region = before as u64 + 1;
        let bytes = heap.frontier.min((region + 1) * REGION_BYTES) - region * REGION_BYTES;
        below -= free;
        above += bytes.saturating_sub(free);
        if above * 10 > below * 9 {
            break;
        }
        gain += free;
        behind += bytes;
        least_gain = REGION_BYTES.min(behind / 4);
        limit = Some(region * REGION_BYTES);
    }
    limit.filter(|_| gain >= least_gain)
}
