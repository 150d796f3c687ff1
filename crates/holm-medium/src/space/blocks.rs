//! Leaf blocks: of equal size and numbered, allocated from the free ones and then at the frontier.

use super::first_page::{FIRST, LARGE};
use super::life::Lives;
use super::released::REGION_BYTES;
use super::withheld::Withheld;
use crate::epoch::Epoch;
use crate::error::Result;
use crate::loc::Area;
use crate::medium::Medium;
use crate::retention::Retention;
use std::collections::VecDeque;
use std::sync::Arc;

/// Bytes of a leaf block, unless the design says otherwise; always the size of the header.
pub const BLOCK: u64 = 512;

/// Blocks that a compaction leaves free before its limit, beside a share of those in use: a move takes a few at once,
/// and what it leaves is free two epochs later.
const SPARE: u32 = 8;

/// The blocks of the leaf area. Number 0 is the header; if blocks are shorter than the header, it takes several.
pub(super) struct Blocks {
    /// Bytes of each block.
    pub(super) size: u64,
    pub(super) withheld: Option<Withheld>,
    pub(super) frontier: u32,
    free: Vec<u32>,
    /// Free blocks in the first large page, which are not used while there are others.
    cold_free: Vec<u32>,
    /// After a compaction: the number before which all leaves are to lie. It rises once the blocks before it are used
    /// up. Otherwise greater than any block.
    leaves_end: u32,
    /// Free blocks that are taken last, the first one at the back: without them, the close cuts the file there.
    behind: VecDeque<u32>,
    retired: VecDeque<(Epoch, u32)>,
    retention: Arc<Retention>,
    lives: Lives,
}

impl Blocks {
    /// No blocks but the header.
    pub(super) fn new(retention: Arc<Retention>) -> Self {
        Blocks {
            size: BLOCK,
            withheld: None,
            frontier: 1,
            free: Vec::new(),
            cold_free: Vec::new(),
            leaves_end: u32::MAX,
            behind: VecDeque::new(),
            retired: VecDeque::new(),
            retention,
            lives: Lives::default(),
        }
    }

    /// Sets the size of each block in bytes; none has been taken.
    pub(super) fn measure(&mut self, bytes: u64) {
        self.size = bytes;
        self.frontier = self.first();
        self.lives.found(self.frontier, &[]);
    }

    /// The first block after the header.
    pub(super) fn first(&self) -> u32 {
        BLOCK.div_ceil(self.size) as u32
    }

    pub(super) fn rebuilt(&mut self, frontier: u32, free: Vec<u32>) {
        if let Some(block) = free.iter().find(|block| **block >= frontier || **block < self.first()) {
            panic!("block {block} is free outside of {}..{frontier}", self.first());
        }
        self.frontier = frontier.max(self.first());
        if let Some(held) = self.withheld {
            let frontier = u64::from(self.frontier);
            self.frontier = held.upto.max(frontier) as u32;
            self.withheld = Some(Withheld { upto: self.frontier.into(), frontier });
        }
        // No withheld block is in use.
        let found = self.withheld.map_or(self.frontier, |held| held.frontier as u32);
        self.lives.found(found, &free);
        self.free = free;
        self.cold_free.clear();
        self.behind.clear();
        self.leaves_end = u32::MAX;
        // Recovery has found the blocks that were retired before either free or in use. Kept here as well, such a
        // block would be allocated twice.
        self.retired.clear();
    }

    pub(super) fn release(&mut self) {
        if let Some(held) = self.withheld.take() {
            let (upto, frontier) = (held.upto as u32, held.frontier as u32);
            if self.frontier == upto {
                self.frontier = frontier;
            } else {
                self.free.splice(0..0, (frontier..upto).rev());
            }
        }
    }

    /// A block for an operation labelled `label`.
    pub(super) fn take<M: Medium>(&mut self, medium: &M, label: Epoch) -> Result<u32> {
        let block = self.take_any(medium, label)?;
        debug_assert!(
            (self.first()..self.frontier).contains(&block),
            "block {block} is taken outside of {}..{}",
            self.first(),
            self.frontier
        );
        self.lives.taken(block, label);
        Ok(block)
    }

    fn take_any<M: Medium>(&mut self, medium: &M, label: Epoch) -> Result<u32> {
        self.reclaim_retired(label);
        if self.withheld.is_none()
            && let Some(block) = self.pop()
        {
            return Ok(block);
        }
        let block = self.frontier;
        let end = (u64::from(block) + 1) * self.size;
        if end > medium.image().area(Area::Leaves).len() as u64
            && let Err(error) = medium.grow(Area::Leaves, end)
        {
            // A block of the first large page is better than none; while space is withheld there are none.
            return self.cold_free.pop().ok_or(error);
        }
        self.frontier += 1;
        medium.reached(Area::Leaves, end);
        Ok(block)
    }

    /// Frees what was retired in an epoch that an operation with this label may reuse.
    fn reclaim_retired(&mut self, label: Epoch) {
        while let Some(&(epoch, block)) = self.retired.front()
            && self.retention.may_reuse_block(epoch, label)
        {
            self.retired.pop_front();
            self.lives.reclaimed(block, label);
            self.add_free(block);
        }
    }

    /// A free block outside the first large page, unless the area is small or a compaction makes it small.
    fn pop(&mut self) -> Option<u32> {
        loop {
            let block = match (self.free.pop(), self.behind.back()) {
                (Some(block), _) => block,
                (None, Some(&block)) => {
                    self.behind.pop_back();
                    self.leaves_end = self.leaves_end.max(block + 1);
                    block
                }
                (None, None) => {
                    self.leaves_end = u32::MAX;
                    return None;
                }
            };
            if !self.is_cold(block) || !self.is_large(self.frontier.min(self.leaves_end)) {
                return Some(block);
            }
            self.cold_free.push(block);
        }
    }

    /// Adds a block to the free ones.
    fn add_free(&mut self, block: u32) {
        if block < self.leaves_end {
            self.free.push(block);
        } else {
            self.behind.push_front(block);
        }
    }

    /// Whether a block lies in the first large page.
    fn is_cold(&self, block: u32) -> bool {
        u64::from(block) * self.size < FIRST
    }

    /// Whether an area of this number of blocks is a large one.
    fn is_large(&self, blocks: u32) -> bool {
        u64::from(blocks) * self.size >= LARGE
    }

    /// Returns the number below which all leaves find room, and from which on blocks would be free; `None` if that is
    /// too little to gain. From now on, the first free blocks are taken first, and those behind the number last, also
    /// those that become free later. O(n log n) in the free blocks.
    pub(super) fn compaction_limit(&mut self, label: Epoch) -> Option<u32> {
        if self.withheld.is_some() {
            return None;
        }
        self.reclaim_retired(label);
        self.free.append(&mut self.cold_free);
        self.free.extend(self.behind.drain(..));
        self.free.sort_unstable_by(|a, b| b.cmp(a));
        let end = |free: usize| {
            let in_use = self.frontier - self.first() - free as u32;
            self.first() + in_use + in_use / 16 + SPARE
        };
        let mut limit = end(self.free.len());
        if self.is_large(limit) {
            limit = end(self.free.iter().filter(|block| !self.is_cold(**block)).count());
        }
        self.leaves_end = limit;
        let behind = self.free.partition_point(|block| *block >= limit);
        self.behind.extend(self.free.drain(..behind));
        let gain = self.frontier.checked_sub(limit)?;
        let is_worth_it = u64::from(gain) * self.size >= REGION_BYTES || gain >= self.frontier / 4;
        is_worth_it.then_some(limit)
    }

    /// A free block below a number, for an operation labelled `label`; `None` if there is none. The area never grows
    /// for it.
    pub(super) fn take_below(&mut self, label: Epoch, limit: u32) -> Option<u32> {
        if self.withheld.is_some() {
            return None;
        }
        self.reclaim_retired(label);
        let found = loop {
            match self.free.pop() {
                Some(block) if block >= limit => self.behind.push_front(block),
                Some(block) if self.is_cold(block) && self.is_large(limit) => self.cold_free.push(block),
                found => break found,
            }
        };
        found.inspect(|block| self.lives.taken(*block, label))
    }

    /// Lowers the frontier to the end of the last block in use, while no thread writes.
    pub(super) fn lower(&mut self) {
        self.reclaim_retired(Epoch::MAX);
        if self.withheld.is_some() {
            return;
        }
        let mut free: Vec<u32> = self.free.iter().chain(&self.cold_free).chain(&self.behind).copied().collect();
        free.sort_unstable();
        while free.pop_if(|block| *block + 1 == self.frontier).is_some() {
            self.frontier -= 1;
        }
        let frontier = self.frontier;
        self.free.retain(|block| *block < frontier);
        self.cold_free.retain(|block| *block < frontier);
        self.behind.retain(|block| *block < frontier);
    }

    pub(super) fn put_back(&mut self, block: u32) {
        self.expect_allocated(block);
        self.lives.put_back(block);
        self.add_free(block);
    }

    pub(super) fn retire(&mut self, epoch: Epoch, block: u32) {
        self.expect_allocated(block);
        self.lives.retired(block, epoch);
        self.retired.push_back((epoch, block));
    }

    /// If the header were freed, a leaf would overwrite it; a block beyond the frontier would be allocated twice.
    fn expect_allocated(&self, block: u32) {
        let allocated = self.first()..self.frontier;
        assert!(allocated.contains(&block), "block {block} is freed outside of {allocated:?}");
    }

    /// The number of blocks that hold no leaf.
    pub(super) fn unused(&self) -> u64 {
        (self.free.len() + self.cold_free.len() + self.behind.len() + self.retired.len()) as u64
    }
}
