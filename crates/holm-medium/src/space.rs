//! Free space, known by reachability alone.
//!
//! Nothing about allocation is durable: at open, what the leaves refer to is in use and the rest is free. A crash can
//! thus orphan space but never leak it, and there is no protocol between allocator and tree. What is freed in epoch
//! `r` is reused only in an epoch `f >= r + 2`: no state that a crash can recover then refers to its old contents
//! (BD+Tree, reclamation rule). Leaf blocks are reused only as leaf blocks, and readers validate, so no reader pins
//! space.

mod blocks;
mod first_page;
mod free_map;
mod give_back;
mod heap;
mod life;
mod local;
mod record_run;
mod released;
mod runs;
mod withheld;

pub use blocks::BLOCK;
pub use give_back::RecordUse;
pub use record_run::RecordRun;

use crate::epoch::{Epoch, Guard};
use crate::error::Result;
use crate::leaf_index::RecordSpace;
use crate::loc::LINE;
use crate::medium::Medium;
use crate::retention::Retention;
use crate::sync::PerThread;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::sync::{Mutex, MutexGuard};
use blocks::Blocks;
use crossbeam_utils::CachePadded;
use heap::{BEGIN, Heap, LONG};
use local::{CLASSES, Own, ThreadCache};
use std::sync::Arc;
use withheld::Withheld;

/// Retired records that a thread reclaims when it has none of the size that it needs.
const RECLAIM_SOME: usize = 8;

/// The same before the area grows, and for each idle thread.
const RECLAIM_MORE: usize = 64;

/// A thread whose last retirement is this number of epochs ago is idle.
const IDLE: Epoch = 16;

/// Searches for space before the area grows.
const TURNS: usize = 4;

/// The free space of both areas.
pub struct Space {
    blocks: Mutex<Blocks>,
    heap: Mutex<Heap>,
    /// Each in lines of its own, since its thread writes to it with every record.
    own: PerThread<CachePadded<Own>>,
    retention: Arc<Retention>,
    /// Bytes of records that recovery found.
    found_bytes: AtomicU64,
    /// What is freed below this offset returns to the heap, and no thread keeps it: see [`Heap::returns_below`].
    warm: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Default for Space {
    fn default() -> Self {
        Self::new()
    }
}

impl Space {
    /// Everything is free.
    pub fn new() -> Self {
        let retention = Arc::new(Retention::default());
        Space {
            blocks: Mutex::new(Blocks::new(retention.clone())),
            heap: Mutex::new(Heap::new()),
            own: PerThread::new(),
            retention,
            found_bytes: AtomicU64::new(0),
            warm: AtomicU64::new(0),
        }
    }

    /// Sets the size of leaf blocks in bytes, before any is taken.
    ///
    /// # Panics
    /// If the size is no whole number of lines, or is shorter than the header and does not divide it.
    pub fn measure(&self, bytes: u64) {
        let fits = bytes >= BLOCK || BLOCK.is_multiple_of(bytes);
        assert!(fits && bytes.is_multiple_of(LINE), "{bytes} bytes are no leaf block");
        lock(&self.blocks).measure(bytes);
    }

    /// The number of the first leaf block: those before it are the header.
    pub fn first_block(&self) -> u32 {
        lock(&self.blocks).first()
    }

    /// Bytes of a leaf block.
    pub fn block_bytes(&self) -> u64 {
        lock(&self.blocks).size
    }

    /// Sets what recovery found: blocks below `frontier`, with the `free` ones among them; record bytes below
    /// `record_frontier`, with the free `runs` (offset, bytes) among them; bytes of live records. No other thread may
    /// use the space meanwhile.
    ///
    /// # Panics
    /// If something free lies beyond its frontier: it would be allocated twice.
    pub fn rebuilt(&self, frontier: u32, free: Vec<u32>, record_frontier: u64, runs: Vec<(u64, u64)>, live: u64) {
        lock(&self.blocks).rebuilt(frontier, free);
        let mut heap = lock(&self.heap);
        heap.rebuilt(record_frontier, runs);
        heap.note();
        self.warm.store(heap.returns_below(), Relaxed);
        for own in self.own.iter() {
            own.balance.store(0, Relaxed);
            own.lock().clear();
        }
        self.found_bytes.store(live, Relaxed);
    }

    /// Runs before recovery, when only the process died. Until what recovery finds is durable, a loss of power may
    /// still cut history earlier, and what looks free may be in use at that cut. Allocation therefore takes only what
    /// lies beyond `blocks` blocks and `records` record bytes, which is all that was ever written. What is freed
    /// meanwhile is not taken either, even if its operation believes that no cut needs it: it knows only what this
    /// process has moved.
    ///
    /// # Panics
    /// If space is withheld already.
    pub fn withhold(&self, blocks: u32, records: u64) {
        let held = |upto: u64, frontier: u64| Some(Withheld { upto: upto.max(frontier), frontier });
        let mut own = lock(&self.blocks);
        assert!(own.withheld.is_none(), "{blocks} blocks are withheld before what was withheld earlier is released");
        own.withheld = held(blocks.into(), own.frontier.into());
        let mut heap = lock(&self.heap);
        heap.withheld = held(records.next_multiple_of(64), heap.frontier);
        self.warm.store(heap.returns_below(), Relaxed);
    }

    /// While space is withheld, and before recovery: withholds record bytes up to this offset, too. A record may end in
    /// zeros, and then what was written does not show where it ends.
    pub fn withhold_records(&self, upto: u64) {
        if let Some(held) = &mut lock(&self.heap).withheld {
            held.upto = held.upto.max(upto.next_multiple_of(64));
        }
    }

    /// Releases the withheld space: everything found is durable, and no cut lies before it.
    pub fn release(&self) {
        lock(&self.blocks).release();
        let mut heap = lock(&self.heap);
        heap.release();
        self.warm.store(heap.returns_below(), Relaxed);
    }

    /// A leaf block for a pinned operation. The operation takes it before it validates its label: otherwise an end of
    /// the epoch in between could release a block that was retired too late for this label.
    ///
    /// # Errors
    /// Those of the medium, if it cannot grow.
    pub fn take_block<M: Medium>(&self, medium: &M, guard: &Guard<'_>) -> Result<u32> {
        lock(&self.blocks).take(medium, guard.epoch())
    }

    /// A free leaf block below a number, for a pinned operation that moves a leaf there; `None` if there is none. The
    /// area never grows for it.
    pub fn take_block_below(&self, guard: &Guard<'_>, limit: u32) -> Option<u32> {
        lock(&self.blocks).take_below(guard.epoch(), limit)
    }

    /// Returns the number of the block from which on leaves are moved, so that all of them find room before it; `None`
    /// if there is too little to gain. O(n log n) in the free blocks. Frees the retired blocks whose grace period is
    /// over, given an epoch that is durable.
    pub fn leaf_compaction_limit(&self, durable: Epoch) -> Option<u32> {
        lock(&self.blocks).compaction_limit(durable + 1)
    }

    /// A leaf block while no other thread uses the space, free since `label`.
    ///
    /// # Errors
    /// Those of the medium, if it cannot grow.
    pub fn take_block_at<M: Medium>(&self, medium: &M, label: Epoch) -> Result<u32> {
        lock(&self.blocks).take(medium, label)
    }

    /// Returns a block that was taken and not used.
    ///
    /// # Panics
    /// If no block of that number was taken.
    pub fn return_block(&self, block: u32) {
        lock(&self.blocks).put_back(block);
    }

    /// Frees a block from epoch `epoch` on.
    ///
    /// # Panics
    /// As [`Space::return_block`].
    pub fn retire_block(&self, epoch: Epoch, block: u32) {
        lock(&self.blocks).retire(epoch, block);
    }

    /// One more than the greatest block number ever taken.
    pub fn block_frontier(&self) -> u32 {
        lock(&self.blocks).frontier
    }

    /// Where the blocks end that were ever taken, in bytes of the leaf area.
    pub fn block_end(&self) -> u64 {
        u64::from(self.block_frontier()) * self.block_bytes()
    }

    /// Blocks that hold no leaf now.
    pub fn free_blocks(&self) -> u64 {
        lock(&self.blocks).unused()
    }

    /// Offset of the first record byte never used.
    pub fn record_frontier(&self) -> u64 {
        lock(&self.heap).frontier
    }

    /// Bytes of records taken and not retired. O(threads); exact while no thread writes.
    pub fn record_bytes(&self) -> u64 {
        let balance: i64 = self.own.iter().map(|own| own.balance.load(Relaxed)).sum();
        self.found_bytes.load(Relaxed).saturating_add_signed(balance)
    }

    /// What is in use of the record area, once [`Space::free_all_retired`] has run and while no thread writes. `None`
    /// if live and free bytes are not all of it: a record is still retired for a snapshot, or space is withheld.
    pub fn record_space(&self) -> Option<RecordSpace> {
        let (live, heap) = (self.record_bytes(), lock(&self.heap));
        let space = RecordSpace { frontier: heap.frontier, live, free: heap.free_runs() };
        let free: u64 = space.free.iter().map(|run| run.1).sum();
        (heap.withheld.is_none() && BEGIN + live + free == space.frontier).then_some(space)
    }

    /// The rule for reuse, with its floors.
    pub fn retention(&self) -> &Arc<Retention> {
        &self.retention
    }

    fn own(&self) -> &Own {
        self.own.get_or(|| CachePadded::new(Own::new()))
    }

    /// Takes `words` words of record space for an operation labelled `label`; returns the offset in the record area,
    /// in bytes.
    ///
    /// # Errors
    /// Those of the medium, if it cannot grow.
    pub fn take_record<M: Medium>(&self, medium: &M, label: Epoch, words: u32) -> Result<u64> {
        debug_assert!(words > 0, "a record of {words} words is taken; it has one at least");
        let own = self.own();
        let mut cache = own.lock();
        let taken = match cache.pop(words) {
            Some(offset) => offset,
            None => self.take_other(medium, &mut cache, label, words)?,
        };
        debug_assert!(
            taken >= BEGIN && taken.is_multiple_of(8),
            "a record is taken at byte {taken}: a word from {BEGIN} on is expected"
        );
        own.count(i64::from(words) * 8);
        Ok(taken)
    }

    /// Without a freed record of this size: reclaims some, then takes from the bump region or the heap.
    fn take_other<M: Medium>(&self, medium: &M, cache: &mut ThreadCache, label: Epoch, words: u32) -> Result<u64> {
        if self.reclaim_retired(cache, label, RECLAIM_SOME)
            && let Some(offset) = cache.pop(words)
        {
            return Ok(offset);
        }
        match cache.cut(u64::from(words) * 8) {
            Some(offset) => Ok(offset),
            None => self.refill(medium, cache, label, words),
        }
    }

    /// Frees the space of a record from epoch `epoch` on.
    pub fn retire_record(&self, epoch: Epoch, offset: u64, words: u32) {
        let own = self.own();
        own.count(-i64::from(words) * 8);
        let mut cache = own.lock();
        cache.retire(epoch, offset, words);
        // Here too, and not only when this thread takes: a thread that only removes would keep all of it.
        self.reclaim_retired(&mut cache, epoch, 1);
    }

    /// Frees at once the space of a record that was never published, or was stored and superseded within one epoch and
    /// is in no snapshot: no crash restores it.
    pub fn free_record(&self, offset: u64, words: u32) {
        let own = self.own();
        own.count(-i64::from(words) * 8);
        self.keep(&mut own.lock(), offset, words);
    }

    /// At close, once everything is durable: frees all retired records, and lowers the frontier to the end of the last
    /// live record.
    pub fn free_all_retired(&self) {
        for own in self.own.iter() {
            let mut cache = own.lock();
            while self.reclaim_retired(&mut cache, Epoch::MAX, RECLAIM_MORE) {}
            cache.give_all_back(&mut lock(&self.heap));
        }
        lock(&self.heap).lower();
        lock(&self.blocks).lower();
    }

    /// Reclaims up to `most` retired records that an operation labelled `label` may reuse; returns whether there was
    /// one.
    fn reclaim_retired(&self, cache: &mut ThreadCache, label: Epoch, most: usize) -> bool {
        for count in 0..most {
            let Some((offset, words)) = cache.pop_reclaimable(label) else { return count > 0 };
            self.keep(cache, offset, words);
        }
        true
    }

    fn keep(&self, cache: &mut ThreadCache, offset: u64, words: u32) {
        let cold_free = offset < self.warm.load(Relaxed);
        if cold_free || !cache.keep(offset, words) {
            let mut heap = lock(&self.heap);
            heap.free(offset, u64::from(words) * 8);
            if !cold_free && (words as usize) < CLASSES {
                cache.give_back(&mut heap);
            }
        }
    }

    /// Takes from the heap: the first fit, otherwise at the frontier.
    fn refill<M: Medium>(&self, medium: &M, cache: &mut ThreadCache, label: Epoch, words: u32) -> Result<u64> {
        let bytes = u64::from(words) * 8;
        for turn in 0..TURNS {
            let mut heap = lock(&self.heap);
            let share = share(&heap, bytes);
            if let Some(offset) = claim(&mut heap, cache, words, share) {
                return Ok(offset);
            }
            drop(heap);
            if turn + 1 == TURNS || !self.reclaim(cache, label) {
                break;
            }
        }
        let mut heap = lock(&self.heap);
        let share = share(&heap, bytes);
        if heap.take_back(medium, bytes)
            && let Some(offset) = claim(&mut heap, cache, words, share)
        {
            return Ok(offset);
        }
        let (offset, len) = self.extend(medium, &mut heap, bytes, share)?;
        if len > bytes {
            cache.go_on(&mut heap, offset + bytes, offset + len);
        }
        Ok(offset)
    }

    /// Takes `most` bytes at the end of the area. At the end of the medium `least` only; after that, space in the first
    /// large page is better than none.
    fn extend<M: Medium>(&self, medium: &M, heap: &mut Heap, least: u64, most: u64) -> Result<(u64, u64)> {
        let grown = heap.extend(medium, most).map(|offset| (offset, most));
        let grown = grown.or_else(|_| heap.extend(medium, least).map(|offset| (offset, least)));
        let taken = grown.or_else(|error| heap.claim_cold(least, most).ok_or(error))?;
        if heap.note() {
            self.warm.store(heap.returns_below(), Relaxed);
        }
        Ok(taken)
    }

    /// Before the area grows: reclaims more of this thread's retired records, and what idle threads keep. Returns
    /// whether there was anything.
    fn reclaim(&self, cache: &mut ThreadCache, label: Epoch) -> bool {
        let mut found = self.reclaim_retired(cache, label, RECLAIM_MORE);
        for own in self.own.iter() {
            // The lock fails for this thread's own cache, and for one in use.
            if let Some(mut idle) = own.try_lock()
                && idle.last_retired().is_some_and(|epoch| epoch + IDLE <= label)
            {
                found |= self.reclaim_retired(&mut idle, label, RECLAIM_MORE);
                idle.give_all_back(&mut lock(&self.heap));
            }
        }
        found
    }
}

/// Bytes that a thread takes at a time for records of `bytes` bytes. Small databases stay small: a sixteenth of the
/// area, between 2 and 256 KiB. A large record is taken alone.
fn share(heap: &Heap, bytes: u64) -> u64 {
    let share = (heap.frontier / 16).clamp(2 << 10, 256 << 10).next_multiple_of(64);
    if bytes * 4 > share || bytes >= CLASSES as u64 * 8 { bytes } else { share }
}

/// Takes a long free run as the next bump region, or several short ones in whole records; returns the first record.
fn claim(heap: &mut Heap, cache: &mut ThreadCache, words: u32, share: u64) -> Option<u64> {
    let bytes = u64::from(words) * 8;
    let mut first = None;
    let mut claimed = 0;
    while claimed < LONG * bytes
        && let Some((offset, len)) = heap.claim(bytes, share)
    {
        claimed += len;
        // The caller gets the first record of all.
        let rest = if first.is_none() { offset + bytes } else { offset };
        first.get_or_insert(offset);
        if share == bytes {
            break;
        }
        if len >= LONG * bytes {
            cache.go_on(heap, rest, offset + len);
        } else {
            cache.keep_run(rest, offset + len - rest, words);
        }
    }
    first
}

#[cfg(test)]
mod tests;
