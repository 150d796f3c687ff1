//! The cache of record space of one thread: threads write to different lines and rarely contend for the heap's lock.
//!
//! ```text
//! take     a freed record of this size -> reclaimed ones -> the bump region -> the heap -> the frontier
//! retire   -> retired, in the order of epochs -> (grace period) -> freed, by size -> the heap
//! ```
//!
//! Each record retired releases one older record from its grace period. A thread that replaces records by others of
//! the same size thus reuses what it freed, and takes no shared lock. Records that it has freed in other sizes return
//! to the heap, where they join their neighbours, as soon as they exceed [`ThreadCache::keeps`] bytes.

use super::heap::Heap;
use crate::epoch::Epoch;
use crate::retention::may_reuse;
use crate::sync::atomic::{AtomicI64, Ordering::Relaxed};
use crate::sync::{Mutex, MutexGuard};
use std::collections::VecDeque;

/// Records of fewer words are kept by exact size.
pub(super) const CLASSES: usize = 512;

/// Records that return to the heap at a time: few, since one put pays for all of them.
const BATCH: usize = 16;

/// A thread keeps freed records of up to this share of the area, within these bounds in bytes.
const SHARE: u64 = 64;
const LEAST: u64 = 4 << 10;
const MOST: u64 = 256 << 10;

/// The cache of one thread.
pub(super) struct ThreadCache {
    /// The bump region.
    at: u64,
    end: u64,
    freed: Vec<Vec<u64>>,
    /// Bytes in `freed`, and the most that there may be.
    kept: u64,
    keeps: u64,
    /// The class whose records return to the heap next.
    hand: usize,
    retired: VecDeque<(Epoch, u64, u32)>,
}

/// What one thread owns of the space.
pub(super) struct Own {
    cache: Mutex<ThreadCache>,
    /// Bytes of records that this thread has taken, less those it has retired. Only this thread writes it, and outside
    /// the lock: a reader of the sum must not wait for a thread that waits for the medium to grow.
    pub(super) balance: AtomicI64,
}

impl Own {
    pub(super) fn new() -> Self {
        Own { cache: Mutex::new(ThreadCache::new()), balance: AtomicI64::new(0) }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ThreadCache> {
        self.cache.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The cache, unless its thread is using it.
    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, ThreadCache>> {
        self.cache.try_lock().ok()
    }

    pub(super) fn count(&self, bytes: i64) {
        self.balance.store(self.balance.load(Relaxed) + bytes, Relaxed);
    }
}

impl ThreadCache {
    fn new() -> Self {
        let freed = vec![Vec::new(); CLASSES];
        ThreadCache { at: 0, end: 0, freed, kept: 0, keeps: LEAST, hand: 0, retired: VecDeque::new() }
    }

    /// Empties the cache.
    pub(super) fn clear(&mut self) {
        (self.at, self.end, self.kept) = (0, 0, 0);
        self.freed.iter_mut().for_each(Vec::clear);
        self.retired.clear();
    }

    /// Takes a freed record of exactly this size.
    pub(super) fn pop(&mut self, words: u32) -> Option<u64> {
        let offset = self.freed.get_mut(words as usize)?.pop()?;
        self.kept -= u64::from(words) * 8;
        Some(offset)
    }

    /// Takes `bytes` bytes of the bump region.
    pub(super) fn cut(&mut self, bytes: u64) -> Option<u64> {
        let offset = self.at;
        (self.end - offset >= bytes).then(|| self.at += bytes).map(|()| offset)
    }

    /// Replaces the bump region; the rest of the old one returns to the heap.
    pub(super) fn go_on(&mut self, heap: &mut Heap, at: u64, end: u64) {
        debug_assert!(at <= end, "a bump region from {at} to {end}");
        if self.at < self.end {
            heap.free(self.at, self.end - self.at);
        }
        (self.at, self.end) = (at, end);
        self.keeps = (heap.frontier / SHARE).clamp(LEAST, MOST);
    }

    /// Keeps a freed record, unless that exceeds the limit; returns whether it did.
    pub(super) fn keep(&mut self, offset: u64, words: u32) -> bool {
        let bytes = u64::from(words) * 8;
        if (words as usize) < CLASSES && self.kept + bytes <= self.keeps {
            self.freed[words as usize].push(offset);
            self.kept += bytes;
            return true;
        }
        false
    }

    /// Keeps a run as records of this size, whatever the limit.
    pub(super) fn keep_run(&mut self, offset: u64, bytes: u64, words: u32) {
        let each = u64::from(words) * 8;
        debug_assert!(bytes.is_multiple_of(each), "a run of {bytes} bytes is no whole number of records of {each}");
        self.freed[words as usize].extend((offset..offset + bytes).step_by(each as usize));
        self.kept += bytes;
    }

    /// Returns a batch of freed records to the heap, one size after another, the oldest of each first.
    pub(super) fn give_back(&mut self, heap: &mut Heap) {
        let mut left = BATCH;
        for _ in 0..CLASSES {
            let freed = &mut self.freed[self.hand];
            let some = left.min(freed.len());
            let bytes = self.hand as u64 * 8;
            freed.drain(..some).for_each(|offset| heap.free(offset, bytes));
            self.kept -= some as u64 * bytes;
            left -= some;
            if left == 0 {
                return;
            }
            self.hand = (self.hand + 1) % CLASSES;
        }
    }

    /// Returns everything but retired records to the heap.
    pub(super) fn give_all_back(&mut self, heap: &mut Heap) {
        self.go_on(heap, 0, 0);
        while self.kept > 0 {
            self.give_back(heap);
        }
    }

    /// Retires a record in epoch `epoch`.
    pub(super) fn retire(&mut self, epoch: Epoch, offset: u64, words: u32) {
        self.retired.push_back((epoch, offset, words));
    }

    /// Whether any record waits for the end of its grace period.
    pub(super) fn has_retired(&self) -> bool {
        !self.retired.is_empty()
    }

    /// The epoch of the last retired record.
    pub(super) fn last_retired(&self) -> Option<Epoch> {
        self.retired.back().map(|(epoch, ..)| *epoch)
    }

    /// Takes the oldest retired record, if an operation labelled `label` may reuse its space.
    pub(super) fn pop_reclaimable(&mut self, label: Epoch) -> Option<(u64, u32)> {
        let &(epoch, offset, words) = self.retired.front()?;
        if !may_reuse(epoch, label) {
            return None;
        }
        self.retired.pop_front();
        Some((offset, words))
    }
}
