//! Leaf blocks: all of one size, numbered, given out from what is free and then from the frontier.

use super::life::Lives;
use super::{BLOCK, FIRST, LARGE, Withheld};
use crate::epoch::Epoch;
use crate::error::Result;
use crate::loc::Area;
use crate::medium::Medium;
use crate::retention::Retention;
use std::collections::VecDeque;
use std::sync::Arc;

/// The leaf area's blocks; number 0 is the storage's own, or more of them where they are shorter than that.
pub(super) struct Blocks {
    /// Bytes of each.
    pub(super) size: u64,
    pub(super) withheld: Option<Withheld>,
    pub(super) frontier: u32,
    free: Vec<u32>,
    /// Free, in the first large page, and not to be used while there are others.
    cold_free: Vec<u32>,
    retired: VecDeque<(Epoch, u32)>,
    /// Of those that can be had without growing, so many are for those alone for whom they were set aside.
    reserved: u64,
    retention: Arc<Retention>,
    lives: Lives,
}

impl Blocks {
    /// None but the storage's own.
    pub(super) fn new(retention: Arc<Retention>) -> Self {
        Blocks {
            size: BLOCK,
            withheld: None,
            frontier: 1,
            free: Vec::new(),
            cold_free: Vec::new(),
            retired: VecDeque::new(),
            reserved: 0,
            retention,
            lives: Lives::default(),
        }
    }

    /// Each has so many bytes; none has been taken.
    pub(super) fn measure(&mut self, bytes: u64) {
        self.size = bytes;
        self.frontier = self.first();
        self.lives.found(self.frontier, &[]);
    }

    /// The first one that is not the storage's.
    pub(super) fn first(&self) -> u32 {
        BLOCK.div_ceil(self.size) as u32
    }

    pub(super) fn rebuilt(&mut self, frontier: u32, free: Vec<u32>) {
        self.frontier = frontier.max(self.first());
        if let Some(held) = self.withheld {
            let frontier = u64::from(self.frontier);
            self.frontier = held.upto.max(frontier) as u32;
            self.withheld = Some(Withheld { upto: self.frontier.into(), frontier });
        }
        // Of what is withheld no block is in use.
        let found = self.withheld.map_or(self.frontier, |held| held.frontier as u32);
        self.lives.found(found, &free);
        self.free = free;
        self.cold_free.clear();
        // What was retired before has been found free, or not found at all; known twice, it would be given out twice.
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

    /// A block for an operation labelled `label`, of those set aside too if they are the caller's.
    pub(super) fn take<M: Medium>(&mut self, medium: &M, label: Epoch, entitled: bool) -> Result<u32> {
        let block = self.take_any(medium, label, entitled)?;
        self.lives.taken(block, label);
        Ok(block)
    }

    fn take_any<M: Medium>(&mut self, medium: &M, label: Epoch, entitled: bool) -> Result<u32> {
        self.reclaim_retired(label);
        if !entitled && self.reserved > 0 {
            self.grow_to(medium, self.reserved + 1)?;
        }
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
            // Better cold than none; while space is withheld none is set aside as cold.
            return self.cold_free.pop().ok_or(error);
        }
        self.frontier += 1;
        medium.reached(Area::Leaves, end);
        Ok(block)
    }

    /// Sets so many more aside.
    pub(super) fn reserve<M: Medium>(&mut self, medium: &M, label: Epoch, count: u64) -> Result<()> {
        self.reclaim_retired(label);
        self.grow_to(medium, self.reserved + count)?;
        self.reserved += count;
        Ok(())
    }

    /// So many need not be kept aside any more.
    pub(super) fn release_reserved(&mut self, count: u64) {
        self.reserved -= count;
    }

    /// Lets the area grow until so many can be had without growing.
    fn grow_to<M: Medium>(&self, medium: &M, count: u64) -> Result<()> {
        let room = (medium.image().area(Area::Leaves).len() as u64 / self.size).saturating_sub(self.frontier.into());
        let free = if self.withheld.is_none() { (self.free.len() + self.cold_free.len()) as u64 } else { 0 };
        if room + free >= count {
            return Ok(());
        }
        medium.grow(Area::Leaves, (u64::from(self.frontier) + count - free) * self.size)
    }

    /// What was retired in an epoch that this label may forget is free.
    fn reclaim_retired(&mut self, label: Epoch) {
        while let Some(&(epoch, block)) = self.retired.front()
            && self.retention.may_reuse(epoch, label)
        {
            self.retired.pop_front();
            self.lives.reclaimed(block, label, &self.retention);
            self.free.push(block);
        }
    }

    /// A free block that is not to be left alone.
    fn pop(&mut self) -> Option<u32> {
        while let Some(block) = self.free.pop() {
            if u64::from(block) * self.size >= FIRST || u64::from(self.frontier) * self.size < LARGE {
                return Some(block);
            }
            self.cold_free.push(block);
        }
        None
    }

    pub(super) fn put_back(&mut self, block: u32) {
        self.lives.put_back(block);
        self.free.push(block);
    }

    pub(super) fn retire(&mut self, epoch: Epoch, block: u32) {
        self.lives.retired(block, epoch);
        self.retired.push_back((epoch, block));
    }

    /// How many hold no leaf.
    pub(super) fn unused(&self) -> u64 {
        (self.free.len() + self.cold_free.len() + self.retired.len()) as u64
    }
}
