//! One file's bytes on the simulated disk: as the page cache has them, and as the medium may have them.
//!
//! A sector (512 bytes) is written completely or not at all. Every write adds one version to each sector that it
//! touches. Until a sync, a loss of power may leave any of the versions, or what was durable before, for each sector
//! separately. The same is true of the length, so there may be length without data and data without length.

use super::faults::Fault;
use holm_medium::vfs::FORMAT_PAGE as PAGE;
use std::collections::{BTreeMap, BTreeSet};

/// The number of bytes that are written as a whole.
pub const SECTOR: usize = 512;

type Bytes = [u8; SECTOR];

/// A file's bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    current: Vec<u8>,
    /// In sectors; what lies behind `durable_len` is zero or missing.
    durable: Vec<u8>,
    durable_len: usize,
    sectors: BTreeMap<usize, Pending<Bytes>>,
    lengths: Pending<usize>,
    /// A write-back has failed, and no sync has reported it yet.
    unreported: bool,
    /// Pages whose space was given back, and that were not allocated again.
    holes: BTreeSet<usize>,
    /// The same as the last sync left them: until the next, a loss of power takes the space of these pages again.
    durable_holes: BTreeSet<usize>,
}

/// A sync in progress: the sectors that it makes durable, and how many versions each had when it began; and the same of
/// the length.
#[derive(Debug)]
pub(super) struct Sync {
    sectors: Vec<(usize, usize)>,
    lengths: usize,
}

impl Sync {
    /// In how many pieces of 32 KiB the disk writes it, and at least one.
    pub(super) fn pieces(&self) -> u32 {
        1 + (self.sectors.len() * SECTOR / (32 << 10)) as u32
    }
}

/// The versions of a sector or a length since it was last durable.
#[derive(Clone, Debug)]
pub(super) struct Pending<T> {
    pub(super) versions: Vec<T>,
    /// Whether a sync would still write it. False after a failed sync: the kernel marks it clean nevertheless.
    pub(super) dirty: bool,
}

impl<T> Default for Pending<T> {
    fn default() -> Pending<T> {
        Pending { versions: Vec::new(), dirty: false }
    }
}

impl<T> Pending<T> {
    fn add(&mut self, version: T) {
        self.versions.push(version);
        self.dirty = true;
    }
}

impl Content {
    pub(super) fn current(&self) -> &[u8] {
        &self.current
    }

    /// Writes to the page cache.
    pub(super) fn write(&mut self, offset: usize, bytes: &[u8]) {
        self.allocate(offset, offset + bytes.len());
        self.current[offset..offset + bytes.len()].copy_from_slice(bytes);
        self.remember(offset, offset + bytes.len());
    }

    /// A write that the disk acknowledges and forgets: reads return it from the cache, and a loss of power removes it.
    pub(super) fn write_and_lose(&mut self, offset: usize, bytes: &[u8]) {
        self.extend_to(offset + bytes.len());
        self.current[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    pub(super) fn extend_to(&mut self, len: usize) {
        if len > self.current.len() {
            self.current.resize(len, 0);
            self.lengths.add(len);
        }
    }

    pub(super) fn set_len(&mut self, len: usize) {
        let old = self.current.len();
        self.extend_to(len);
        if len < old {
            // If the file grows again, the tail reads as zeros once the truncation is durable, and as any version until
            // then.
            self.current[len..].fill(0);
            self.remember(len, old);
            self.current.truncate(len);
            self.lengths.add(len);
        }
    }

    /// Removes the contents of a range: it reads as zeros from now on, and as any version after a loss of power before
    /// the next sync.
    pub(super) fn punch(&mut self, from: usize, to: usize) {
        let to = to.min(self.current.len());
        if from < to {
            self.current[from..to].fill(0);
            self.remember(from, to);
            self.holes.extend(from.div_ceil(PAGE as usize)..to / PAGE as usize);
        }
    }

    /// Allocates the space of a range.
    pub(super) fn allocate(&mut self, from: usize, to: usize) {
        self.extend_to(to);
        self.holes.retain(|page| !(from / PAGE as usize..to.div_ceil(PAGE as usize)).contains(page));
    }

    /// Bytes on the disk.
    pub(super) fn allocated_bytes(&self) -> u64 {
        let holes = self.holes.iter().filter(|page| (*page + 1) * PAGE as usize <= self.current.len()).count() as u64;
        self.current.len().next_multiple_of(SECTOR) as u64 - holes * PAGE
    }

    /// Whether a store to a page through a mapping would have to find space: a fault if the disk is full.
    pub(super) fn is_hole(&self, page: u64) -> bool {
        self.holes.contains(&(page as usize))
    }

    fn remember(&mut self, from: usize, to: usize) {
        for sector in from / SECTOR..to.div_ceil(SECTOR) {
            let bytes = sector_of(&self.current, sector);
            self.sectors.entry(sector).or_default().add(bytes);
        }
    }

    /// What a sync that begins now makes durable: all that is dirty. This excludes what an earlier failed sync marked
    /// clean, and what is written while the sync is in progress.
    pub(super) fn begin_sync(&self) -> Sync {
        let dirty = self.sectors.iter().filter(|(_, pending)| pending.dirty);
        Sync {
            sectors: dirty.map(|(sector, pending)| (*sector, pending.versions.len())).collect(),
            lengths: if self.lengths.dirty { self.lengths.versions.len() } else { 0 },
        }
    }

    /// Makes half of the sectors of a sync durable.
    pub(super) fn sync_half(&mut self, sync: &mut Sync) {
        let rest = sync.sectors.split_off(sync.sectors.len() / 2);
        self.settle(std::mem::replace(&mut sync.sectors, rest));
    }

    /// Makes the rest of a sync durable. The file may have grown meanwhile.
    pub(super) fn end_sync(&mut self, sync: Sync, fault: Option<Fault>) {
        if let Some(Fault::Grown(bytes)) = fault {
            self.extend_to(self.current.len() + bytes);
        }
        self.settle(sync.sectors);
        self.durable_holes.clone_from(&self.holes);
        let versions = self.lengths.versions.len();
        if let Some(len) = sync.lengths.checked_sub(1).and_then(|last| self.lengths.versions.get(last)).copied() {
            let later = self.lengths.versions.split_off(sync.lengths.min(versions));
            self.settle_len(len);
            self.lengths = Pending { dirty: !later.is_empty(), versions: later };
        }
    }

    /// Makes sectors durable in the version with this number; later ones stay undecided.
    fn settle(&mut self, sectors: Vec<(usize, usize)>) {
        for (sector, count) in sectors {
            let Some(pending) = self.sectors.get_mut(&sector) else { continue };
            // Something else has made the sector durable meanwhile.
            let Some(version) = pending.versions.get(count - 1).copied() else { continue };
            put_sector(&mut self.durable, sector, &version);
            pending.versions.drain(..count);
            if pending.versions.is_empty() {
                self.sectors.remove(&sector);
            }
        }
    }

    /// Makes the dirty sectors of a range of bytes durable, and the length.
    pub(super) fn sync_range(&mut self, from: usize, to: usize) {
        if self.lengths.dirty {
            self.settle_len(self.current.len());
        }
        let touched: Vec<usize> = self.sectors.range(from / SECTOR..to.div_ceil(SECTOR)).map(|(&at, _)| at).collect();
        for sector in touched {
            if self.sectors[&sector].dirty {
                put_sector(&mut self.durable, sector, &sector_of(&self.current, sector));
                self.sectors.remove(&sector);
            }
        }
    }

    fn settle_len(&mut self, len: usize) {
        let end = len.div_ceil(SECTOR);
        if len < self.durable_len {
            self.durable.truncate(len);
            self.sectors.retain(|&sector, _| sector < end);
        }
        self.durable_len = len;
        self.lengths = Pending::default();
    }

    /// Reads return the bytes from the cache, but no sync will ever write them.
    pub(super) fn fail_sync(&mut self) {
        self.sectors.values_mut().for_each(|sector| sector.dirty = false);
        self.lengths.dirty = false;
    }

    /// The kernel's own write-back of everything dirty fails, and the next sync reports it to its caller. The length
    /// does not depend on pages.
    pub(super) fn fail_write_back(&mut self) {
        for sector in self.sectors.values_mut() {
            self.unreported |= sector.dirty;
            sector.dirty = false;
        }
    }

    /// Returns whether a write-back has failed that was not reported; it counts as reported now.
    pub(super) fn report(&mut self) -> bool {
        std::mem::take(&mut self.unreported)
    }

    /// The kernel reclaims memory: it drops the clean pages that `drops` selects, and reads them from the disk again.
    /// For pages whose write-back has failed, `choose` picks the state, which is then durable.
    pub(super) fn evict(
        &mut self,
        drops: &mut dyn FnMut(u64) -> bool,
        choose: &mut dyn FnMut(Undecided, usize) -> usize,
    ) {
        let undecided: Vec<usize> = self.sectors.keys().copied().collect();
        let per_page = PAGE as usize / SECTOR;
        for page in undecided.chunk_by(|a, b| a / per_page == b / per_page) {
            let clean = page.iter().all(|sector| !self.sectors[sector].dirty);
            if !clean || !drops((page[0] / per_page) as u64) {
                continue;
            }
            for sector in page {
                let pending = self.sectors.remove(sector).unwrap_or_default();
                if let Some(version) = choose_of(Undecided::Sector(*sector as u64), &pending, choose) {
                    put_sector(&mut self.durable, *sector, version);
                }
                let bytes = sector_of(&self.durable, *sector);
                let begin = (sector * SECTOR).min(self.current.len());
                let end = (begin + SECTOR).min(self.current.len());
                self.current[begin..end].copy_from_slice(&bytes[..end - begin]);
            }
        }
    }

    /// A loss of power: `choose` gets each undecided thing and the number of its possible states, and picks one (0: as
    /// last durable). Pages that may have no space have none, if they read as zeros.
    pub(super) fn crash(&self, choose: &mut dyn FnMut(Undecided, usize) -> usize) -> Content {
        let len = match choose_of(Undecided::Length, &self.lengths, choose) {
            Some(&len) => len,
            None => self.durable_len,
        };
        let mut bytes = self.durable.clone();
        for (&sector, pending) in &self.sectors {
            if let Some(version) = choose_of(Undecided::Sector(sector as u64), pending, choose) {
                put_sector(&mut bytes, sector, version);
            }
        }
        bytes.resize(len, 0);
        let is_zero = |page: &usize| {
            let bytes = bytes.get(page * PAGE as usize..(page + 1) * PAGE as usize);
            bytes.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
        };
        let holes: BTreeSet<usize> = self.holes.union(&self.durable_holes).copied().filter(is_zero).collect();
        Content { durable_holes: holes.clone(), holes, ..Content::settled(bytes) }
    }

    /// A file whose bytes are durable.
    pub(super) fn settled(bytes: Vec<u8>) -> Content {
        Content { durable_len: bytes.len(), durable: bytes.clone(), current: bytes, ..Content::default() }
    }
}

/// What a loss of power may decide either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecided {
    /// The contents of a sector, counted from the file's beginning.
    Sector(u64),
    /// A file's length.
    Length,
    /// Whether a name was created, changed or removed.
    Name,
}

fn choose_of<'a, T>(
    what: Undecided,
    pending: &'a Pending<T>,
    choose: &mut dyn FnMut(Undecided, usize) -> usize,
) -> Option<&'a T> {
    if pending.versions.is_empty() {
        return None;
    }
    let states = pending.versions.len() + 1;
    (choose(what, states) % states).checked_sub(1).map(|at| &pending.versions[at])
}

fn sector_of(bytes: &[u8], sector: usize) -> Bytes {
    std::array::from_fn(|i| bytes.get(sector * SECTOR + i).copied().unwrap_or(0))
}

fn put_sector(bytes: &mut Vec<u8>, sector: usize, version: &Bytes) {
    let begin = sector * SECTOR;
    if bytes.len() < begin + SECTOR {
        bytes.resize(begin + SECTOR, 0);
    }
    bytes[begin..begin + SECTOR].copy_from_slice(version);
}
