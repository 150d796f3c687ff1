//! Free space, known by reachability alone.
//!
//! Nothing about allocation is durable: at open, whatever the leaves reach is used and the rest is free, so a crash
//! can orphan but never leak, and there is no protocol between allocator and tree. What is freed in epoch `r` is
//! reused only in an epoch `f >= r + 2`: at every cut that a crash may choose, its old contents are then out of the
//! picture (BD+Tree, reclamation rule). Leaf blocks are reused only as leaf blocks, and readers validate, so no reader
//! pins anything.

mod blocks;
mod heap;

use crate::epoch::{Epoch, Stay};
use crate::error::Result;
use crate::loc::LINE;
use crate::medium::Medium;
use crate::region::LARGE_PAGE;
use blocks::Blocks;
use crossbeam_utils::CachePadded;
use heap::Heap;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};
use thread_local::ThreadLocal;

/// Bytes of a leaf block, unless the design says otherwise; of the pool's own always.
pub const BLOCK: u64 = 512;

/// Records up to this many words are kept in free lists by exact size.
const CLASSES: usize = 512;

/// The first large page of an area. A small database is born in small pages, and they stay small: each of them faults
/// once after every checkpoint, as often as all large pages of a million records do together.
const FIRST: u64 = LARGE_PAGE as u64;

/// Once an area is so large, what becomes free in its first large page is left alone.
const LARGE: u64 = 4 * FIRST;

/// A thread keeps at most so many freed bytes to itself.
const NIB_KEEPS: u64 = 1 << 20;

/// While free space is withheld: where it ends, and where the frontier would be otherwise.
#[derive(Clone, Copy)]
struct Withheld {
    upto: u64,
    frontier: u64,
}

/// One thread's share of the record space, so that threads write to different lines and rarely meet at the heap's lock.
struct Nib {
    at: u64,
    end: u64,
    freed: Vec<Vec<u64>>,
    kept: u64,
    retired: VecDeque<(Epoch, u64, u32)>,
}

/// A thread's own part of the space.
struct Own {
    nib: Mutex<Nib>,
    /// Bytes of records that this thread has taken, less those it has retired. Written by it alone, and outside the
    /// lock: whoever adds them up must not wait for a thread that waits for the medium to grow.
    balance: AtomicI64,
}

impl Own {
    fn lock(&self) -> MutexGuard<'_, Nib> {
        lock(&self.nib)
    }

    fn count(&self, bytes: i64) {
        self.balance.store(self.balance.load(Relaxed) + bytes, Relaxed);
    }
}

/// The free space of both areas.
pub struct Space {
    blocks: Mutex<Blocks>,
    heap: Mutex<Heap>,
    /// Each in lines of its own, for its thread writes to it with every record.
    own: ThreadLocal<CachePadded<Own>>,
    /// Bytes of records that recovery found.
    found_bytes: AtomicU64,
    /// Where the first record lies whose space is used again: zero while the area is small.
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
    /// All free.
    pub fn new() -> Self {
        Space {
            blocks: Mutex::new(Blocks::new()),
            heap: Mutex::new(Heap::new()),
            own: ThreadLocal::new(),
            found_bytes: AtomicU64::new(0),
            warm: AtomicU64::new(0),
        }
    }

    /// Says how long leaf blocks are: before any is taken.
    ///
    /// # Panics
    /// If that is no whole number of lines, or does not divide the pool's own block and is shorter.
    pub fn measure(&self, bytes: u64) {
        let fits = bytes >= BLOCK || BLOCK.is_multiple_of(bytes);
        assert!(fits && bytes.is_multiple_of(LINE), "{bytes} bytes are no leaf block");
        lock(&self.blocks).measure(bytes);
    }

    /// The number of the first leaf block: those before it are the pool's own.
    pub fn first_block(&self) -> u32 {
        lock(&self.blocks).first()
    }

    /// Bytes of a leaf block.
    pub fn block_bytes(&self) -> u64 {
        lock(&self.blocks).size
    }

    /// Says what recovery found: blocks below `frontier` of which `free` are free; record bytes below `record_frontier`
    /// of which `runs` (offset, bytes) are free; bytes of live records. Nobody may be at work.
    pub fn rebuilt(&self, frontier: u32, free: Vec<u32>, record_frontier: u64, runs: Vec<(u64, u64)>, live: u64) {
        lock(&self.blocks).rebuilt(frontier, free);
        let mut heap = lock(&self.heap);
        heap.rebuilt(record_frontier, runs);
        self.warm.store(0, Relaxed);
        if heap.note() {
            self.warm.store(FIRST, Relaxed);
        }
        for own in self.own.iter() {
            own.balance.store(0, Relaxed);
            let mut nib = own.lock();
            (nib.at, nib.end, nib.kept) = (0, 0, 0);
            nib.freed.iter_mut().for_each(Vec::clear);
            nib.retired.clear();
        }
        self.found_bytes.store(live, Relaxed);
    }

    /// Before recovery, where only the process died: until what is found is durable, a loss of power may still cut
    /// earlier, and what looks free may be in use at that cut. So nothing is taken but what lies beyond so many blocks
    /// and record bytes: all that the files have.
    pub fn withhold(&self, blocks: u32, records: u64) {
        let held = |upto: u64, frontier: u64| Some(Withheld { upto: upto.max(frontier), frontier });
        let mut own = lock(&self.blocks);
        own.withheld = held(blocks.into(), own.frontier.into());
        let mut heap = lock(&self.heap);
        heap.withheld = held(records.next_multiple_of(64), heap.frontier);
    }

    /// What was withheld may be used: everything found is durable, and no cut goes back behind it.
    pub fn release(&self) {
        lock(&self.blocks).release();
        lock(&self.heap).release();
    }

    /// A leaf block for the operation that stays. Taken before its label is validated: a tick in between could
    /// otherwise release a block that was retired too late for this label. Whoever holds the clock may have those that
    /// are set aside.
    ///
    /// # Errors
    /// The medium's, where it cannot grow.
    pub fn take_block<M: Medium>(&self, medium: &M, stay: &Stay<'_>) -> Result<u32> {
        lock(&self.blocks).take(medium, stay.epoch(), stay.is_held())
    }

    /// A leaf block while nobody else is at work, free since `label`.
    ///
    /// # Errors
    /// The medium's, where it cannot grow.
    pub fn take_block_at<M: Medium>(&self, medium: &M, label: Epoch) -> Result<u32> {
        lock(&self.blocks).take(medium, label, false)
    }

    /// Sees that so many leaf blocks can be had without growing, and keeps them, until [`Space::let_go`], for those who
    /// hold the clock: operations that must not fail half-way.
    ///
    /// # Errors
    /// The medium's, where it cannot grow: nothing is set aside.
    pub fn set_aside<M: Medium>(&self, medium: &M, label: Epoch, blocks: u64) -> Result<()> {
        lock(&self.blocks).set_aside(medium, label, blocks)
    }

    /// Gives up what [`Space::set_aside`] has kept.
    pub fn let_go(&self, blocks: u64) {
        lock(&self.blocks).let_go(blocks);
    }

    /// Gives back a block that was taken and not used.
    pub fn return_block(&self, block: u32) {
        lock(&self.blocks).put_back(block);
    }

    /// Frees a block from epoch `epoch` on.
    pub fn retire_block(&self, epoch: Epoch, block: u32) {
        lock(&self.blocks).retire(epoch, block);
    }

    /// One more than the greatest block number ever taken.
    pub fn block_frontier(&self) -> u32 {
        lock(&self.blocks).frontier
    }

    /// Blocks that hold no leaf now.
    pub fn free_blocks(&self) -> u64 {
        lock(&self.blocks).unused()
    }

    /// Offset of the first record byte never used.
    pub fn record_frontier(&self) -> u64 {
        lock(&self.heap).frontier
    }

    /// Bytes of records taken and not retired. O(threads); exact while nobody writes.
    pub fn record_bytes(&self) -> u64 {
        let balance: i64 = self.own.iter().map(|own| own.balance.load(Relaxed)).sum();
        self.found_bytes.load(Relaxed).saturating_add_signed(balance)
    }

    fn own(&self) -> &Own {
        self.own.get_or(|| {
            let freed = vec![Vec::new(); CLASSES];
            let nib = Nib { at: 0, end: 0, freed, kept: 0, retired: VecDeque::new() };
            CachePadded::new(Own { nib: Mutex::new(nib), balance: AtomicI64::new(0) })
        })
    }

    /// `words` words of record space for an operation labelled `label`; gives the offset in the record area.
    ///
    /// # Errors
    /// The medium's, where it cannot grow.
    pub fn take_record<M: Medium>(&self, medium: &M, label: Epoch, words: u32) -> Result<u64> {
        let bytes = u64::from(words) * 8;
        let own = self.own();
        let mut nib = own.lock();
        self.ripen(&mut nib, label);
        let class = words as usize;
        let taken = if let Some(offset) = nib.freed.get_mut(class).and_then(Vec::pop) {
            nib.kept -= bytes;
            offset
        } else if nib.end - nib.at >= bytes {
            nib.at += bytes;
            nib.at - bytes
        } else {
            self.refill(medium, &mut nib, words)?
        };
        own.count(bytes as i64);
        Ok(taken)
    }

    /// Frees a record's space from epoch `epoch` on.
    pub fn retire_record(&self, epoch: Epoch, offset: u64, words: u32) {
        let own = self.own();
        own.count(-i64::from(words) * 8);
        let mut nib = own.lock();
        nib.retired.push_back((epoch, offset, words));
        // Here too, and not only when this thread takes: one that does nothing but remove would keep all of it.
        self.ripen(&mut nib, epoch);
    }

    /// Frees space that no cut can see any more or yet: a record that was never published, or one created and replaced
    /// in the same epoch.
    pub fn free_record(&self, offset: u64, words: u32) {
        let own = self.own();
        own.count(-i64::from(words) * 8);
        self.keep(&mut own.lock(), offset, words);
    }

    fn ripen(&self, nib: &mut Nib, label: Epoch) {
        while let Some(&(epoch, offset, words)) = nib.retired.front()
            && epoch + 2 <= label
        {
            nib.retired.pop_front();
            self.keep(nib, offset, words);
        }
    }

    fn keep(&self, nib: &mut Nib, offset: u64, words: u32) {
        let bytes = u64::from(words) * 8;
        if offset < self.warm.load(Relaxed) {
            lock(&self.heap).cold.push((offset, bytes));
            return;
        }
        if (words as usize) < CLASSES && nib.kept + bytes <= NIB_KEEPS {
            nib.freed[words as usize].push(offset);
            nib.kept += bytes;
            return;
        }
        let mut heap = lock(&self.heap);
        if (words as usize) < CLASSES {
            heap.freed[words as usize].push(offset);
        } else {
            heap.large.push((offset, bytes));
        }
    }

    /// From the heap: what was freed in this size, else a piece of a free run or of the frontier.
    fn refill<M: Medium>(&self, medium: &M, nib: &mut Nib, words: u32) -> Result<u64> {
        let bytes = u64::from(words) * 8;
        let mut heap = lock(&self.heap);
        if let Some(freed) = heap.freed.get_mut(words as usize)
            && !freed.is_empty()
        {
            let from = freed.len().saturating_sub(64);
            let offset = freed.pop().unwrap_or_default();
            for offset in freed.drain(from.min(freed.len())..) {
                nib.freed[words as usize].push(offset);
                nib.kept += bytes;
            }
            return Ok(offset);
        }
        if let Some(index) = heap.large.iter().position(|&(_, free)| free >= bytes) {
            let (offset, free) = heap.large.swap_remove(index);
            if free > bytes {
                heap.large.push((offset + bytes, free - bytes));
            }
            return Ok(offset);
        }
        // Small databases stay small: a thread takes a sixteenth of what is there, between 2 and 256 KiB.
        let share = (heap.frontier / 16).clamp(2 << 10, 256 << 10).next_multiple_of(64);
        let share = if bytes * 4 > share { bytes } else { share };
        let (offset, len) = match heap.carve(medium, bytes, share) {
            Err(_) if !heap.cold.is_empty() && heap.withheld.is_none() => {
                let cold = std::mem::take(&mut heap.cold);
                heap.large.extend(cold);
                drop(heap);
                return self.refill(medium, nib, words);
            }
            carved => carved?,
        };
        if heap.note() {
            self.warm.store(FIRST, Relaxed);
        }
        if share == bytes {
            return Ok(offset);
        }
        // What is left of the old piece is at most one record long and is found again when the database is next opened.
        (nib.at, nib.end) = (offset + bytes, offset + len);
        Ok(offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapped::{Mapped, MappedOptions};

    #[test]
    fn a_large_area_leaves_its_first_large_page_alone_while_it_can_grow() {
        let reserve = [2 * LARGE as usize, 2 * LARGE as usize];
        let medium = Mapped::anonymous(MappedOptions { reserve, ..Default::default() }).expect("address space");
        let space = Space::new();
        let blocks: Vec<_> = (0..LARGE / BLOCK).map(|_| space.take_block_at(&medium, 9).expect("room")).collect();
        blocks.iter().for_each(|block| space.return_block(*block));
        let free = space.free_blocks();
        let again: Vec<_> = std::iter::from_fn(|| space.take_block_at(&medium, 9).ok()).collect();
        let first_cold = again.iter().position(|block| u64::from(*block) * BLOCK < FIRST).expect("the last resort");
        assert_eq!(again.len() as u64, 2 * LARGE / BLOCK - 1, "every block but the pool's own is given out once");
        assert_eq!((again.len() - first_cold) as u64, FIRST / BLOCK - 1, "the first page last");
        assert_eq!((free, space.free_blocks()), (blocks.len() as u64, 0));

        let records: Vec<_> = (0..LARGE / 4096).map(|_| space.take_record(&medium, 9, 512).expect("room")).collect();
        assert!(records.iter().any(|offset| *offset < FIRST), "while it is small all of it is used");
        records.iter().for_each(|offset| space.free_record(*offset, 512));
        let again: Vec<_> = std::iter::from_fn(|| space.take_record(&medium, 9, 512).ok()).collect();
        let first_cold = again.iter().position(|offset| *offset < FIRST).expect("the last resort");
        assert!(again[first_cold..].iter().all(|offset| *offset < FIRST) && again.len() - first_cold > 400);
        let mut sorted = again.clone();
        sorted.sort_unstable();
        assert!(sorted.windows(2).all(|pair| pair[0] + 4096 <= pair[1]), "nothing is given out twice");
    }
}
