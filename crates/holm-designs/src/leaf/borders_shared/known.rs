//! What DRAM knows of a leaf: which slots of its blocks count, a fingerprint of each, and who else uses the blocks.

use super::{ALL, BASES, BLOCKS};
use crate::slot_fingerprints::SlotFingerprints;
use holm_tree::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use holm_tree::sync::{Mutex, MutexGuard};
use std::sync::{Arc, PoisonError, Weak};

/// A share in a block. The last one to be given up frees the block.
type Share = Arc<()>;

/// The volatile side of a leaf. Block 0 is the leaf's own, the others are its bases.
#[derive(Default)]
pub struct Known {
    /// For each block, a bit for each slot that counts.
    counts: [AtomicU32; BLOCKS],
    /// The numbers of the bases; 0 is none, and there is none behind it. Of a leaf that has been replaced: those that
    /// it was the last to use.
    bases: [AtomicU32; BASES],
    /// A bit for each block that keeps its keys inverted.
    inverted: AtomicU32,
    /// The own block may be the base of another leaf.
    lent: AtomicBool,
    /// The own block has been written since it was zero.
    used: AtomicBool,
    fingerprints: [SlotFingerprints; BLOCKS],
    shares: Mutex<Shares>,
}

#[derive(Default)]
struct Shares {
    own: Option<Share>,
    bases: [Option<Share>; BASES],
    /// Recovery finds the share in this block here, in whatever order it settles the leaves.
    found: Weak<()>,
}

/// A base for a new leaf.
pub(super) struct Base {
    pub(super) number: u32,
    pub(super) inverted: bool,
    pub(super) share: Share,
}

impl Known {
    fn shares(&self) -> MutexGuard<'_, Shares> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(super) fn counts(&self, block: usize) -> u32 {
        self.counts[block].load(Relaxed)
    }

    #[inline]
    pub(super) fn base(&self, place: usize) -> u32 {
        self.bases[place].load(Relaxed)
    }

    #[inline]
    pub(super) fn is_inverted(&self, block: usize) -> bool {
        self.inverted.load(Relaxed) >> block & 1 == 1
    }

    #[inline]
    pub(super) fn fingerprints(&self, block: usize) -> &SlotFingerprints {
        &self.fingerprints[block]
    }

    /// The slots of the own block that a new pair may use. The writer holds the latch.
    pub(super) fn free(&self) -> u32 {
        let free = !self.counts(0) & ALL;
        if free == 0 || self.is_lent() { 0 } else { free }
    }

    /// Whether the own block is the base of another leaf. Only this leaf's writer can lend it, so `false` lasts.
    pub(super) fn is_lent(&self) -> bool {
        if !self.lent.load(Relaxed) {
            return false;
        }
        let lent = self.shares().own.as_ref().is_some_and(|own| Arc::strong_count(own) > 1);
        self.lent.store(lent, Relaxed);
        lent
    }

    /// Whether the own block may hold something, from now on.
    pub(super) fn use_block(&self) -> bool {
        self.used.swap(true, Relaxed)
    }

    pub(super) fn set_used(&self, used: bool) {
        self.used.store(used, Relaxed);
    }

    pub(super) fn set(&self, block: usize, slot: usize, fingerprint: u8) {
        self.fingerprints[block].set(slot, fingerprint);
        self.counts[block].store(self.counts(block) | 1 << slot, Relaxed);
    }

    pub(super) fn clear(&self, block: usize, slots: u32) {
        self.counts[block].store(self.counts(block) & !slots, Relaxed);
    }

    /// Forgets everything but whether the block was used.
    pub(super) fn reset(&self) {
        self.counts.iter().for_each(|counts| counts.store(0, Relaxed));
        self.bases.iter().for_each(|base| base.store(0, Relaxed));
        self.inverted.store(0, Relaxed);
        self.lent.store(false, Relaxed);
        *self.shares() = Shares::default();
    }

    /// Begins a leaf in a block that no other leaf uses.
    pub(super) fn begin(&self, inverted: bool, bases: Vec<Base>) {
        self.reset();
        self.enter(inverted, bases);
        self.shares().own = Some(Share::default());
    }

    /// Begins a leaf that recovery has found; other leaves may use its block.
    pub(super) fn begin_found(&self, inverted: bool, bases: Vec<Base>) {
        let own = self.find_share();
        self.enter(inverted, bases);
        self.shares().own = Some(own);
        self.lent.store(true, Relaxed);
    }

    fn enter(&self, inverted: bool, bases: Vec<Base>) {
        let (mut bits, mut shares) = (u32::from(inverted), self.shares());
        for (place, base) in bases.into_iter().enumerate() {
            bits |= u32::from(base.inverted) << (place + 1);
            self.bases[place].store(base.number, Relaxed);
            shares.bases[place] = Some(base.share);
        }
        self.inverted.store(bits, Relaxed);
    }

    /// A share in the block of a leaf that recovery has found, or in the base of one.
    pub(super) fn find_share(&self) -> Share {
        let mut shares = self.shares();
        shares.found.upgrade().unwrap_or_else(|| {
            let share = Share::default();
            shares.found = Arc::downgrade(&share);
            share
        })
    }

    /// One of the leaf's blocks as a base for a new leaf. `own` is the number of the own block.
    pub(super) fn lend(&self, own: u32, block: usize) -> Base {
        let shares = self.shares();
        let (number, share) = match block.checked_sub(1) {
            None => (own, &shares.own),
            Some(place) => (self.base(place), &shares.bases[place]),
        };
        let share = share.clone().expect("a leaf has a share in each of its blocks");
        if block == 0 {
            self.lent.store(true, Relaxed);
        }
        Base { number, inverted: self.is_inverted(block), share }
    }

    /// Ends a leaf that has been replaced. From then on, its bases are those that no other leaf uses.
    pub(super) fn end(&self) {
        self.counts.iter().for_each(|counts| counts.store(0, Relaxed));
        let mut shares = self.shares();
        shares.own = None;
        let mut last = [0; BASES];
        let mut places = last.iter_mut();
        for (share, number) in shares.bases.iter_mut().zip(&self.bases) {
            if share.take().and_then(Arc::into_inner).is_some()
                && let Some(place) = places.next()
            {
                *place = number.load(Relaxed);
            }
        }
        self.bases.iter().zip(last).for_each(|(base, number)| base.store(number, Relaxed));
    }

    /// Gives up the share in a block, and returns whether other leaves have one.
    pub(super) fn give_up(&self, block: usize) -> bool {
        let mut shares = self.shares();
        let share = match block.checked_sub(1) {
            None => shares.own.take(),
            Some(place) => shares.bases[place].take(),
        };
        share.and_then(Arc::into_inner).is_none()
    }
}
