//! Pairs that move from one leaf to another when a leaf splits, shares or is merged: which ones move, and to which
//! slots. A pair moves to its home line if that has room. Pairs that stay move home if room appears there, because a
//! search waits twice for a pair that is not at home. This is one of the files where `unsafe` is allowed.

use super::{COUNT, Fingerprinted, FingerprintedLevel, Hash, VACANT, ones};
use crate::key::Key;
use holm_search::LaneKernels;

impl<K: Key, V, C: FingerprintedLevel> Fingerprinted<K, V, C> {
    /// Returns the slots of a full leaf whose keys have at least rank `rank`, as bits, and the greatest key of the
    /// others. Equal keys, which a broken promise of `insert_unique` leaves, are all above or all below.
    #[inline(always)]
    pub(super) fn part<X: LaneKernels>(&self, x: X, leaf: u32, rank: usize) -> (u64, Option<K::Lane>) {
        let lanes = self.lanes(leaf);
        let (order, certain) = x.order(&lanes, Self::ALL);
        if certain && rank > 0 && lanes[usize::from(order[rank - 1])] < lanes[usize::from(order[rank])] {
            let above = order[rank..Self::ROOM].iter().fold(0, |above, slot| above | 1 << (slot % 64));
            return (above, Some(lanes[usize::from(order[rank - 1])]));
        }
        let ranks = x.ranks(&lanes, Self::ROOM);
        let above = (0..Self::ROOM).fold(0, |above, slot| above | u64::from(usize::from(ranks[slot]) >= rank) << slot);
        (above, ones(Self::ALL & !above).map(|slot| lanes[slot]).max())
    }

    /// Moves pairs from occupied slots of one leaf to another that has room for them. Then the first leaf has room too,
    /// and some of its remaining pairs move home.
    pub(super) fn carry<X: LaneKernels>(&mut self, x: X, from: u32, slots: u64, to: u32) {
        let (occupied, mut vacant) = (self.mask(x, from), Self::ALL & !self.mask(x, to));
        let count = slots.count_ones();
        assert!(from != to && slots & !occupied == 0, "slots of leaf {from} are vacant");
        assert!(count <= vacant.count_ones(), "a pair for a full leaf");
        self.orders.forget(from);
        self.orders.forget(to);
        for slot in ones(slots) {
            self.relocate((from, slot), to, &mut vacant, Hash::of(self.lane(from, slot)));
        }
        self.marks_mut(from)[COUNT] -= count as u8;
        self.marks_mut(to)[COUNT] += count as u8;
        let mut vacant = Self::ALL & !occupied | slots;
        // Without a branch, because it would be unpredictable.
        let homeward = ones(occupied & !slots).fold(0, |homeward, slot| {
            let line = Self::line(Hash::of(self.lane(from, slot)));
            homeward | u64::from((line >> slot & 1 == 0) & (line & vacant != 0)) << slot
        });
        for slot in ones(homeward) {
            let hash = Hash::of(self.lane(from, slot));
            self.relocate((from, slot), from, &mut vacant, hash);
            vacant |= 1 << slot;
        }
    }

    /// Returns the slots in the home line of a key, as bits.
    #[inline(always)]
    fn line(hash: Hash) -> u64 {
        ((1 << Self::NEAR) - 1) << Self::home_of(hash) & Self::ALL
    }

    /// Moves the pair in an occupied slot, with this hash, to one of the `vacant` slots of `to`. The caller updates the
    /// counts.
    #[inline(always)]
    fn relocate(&mut self, (from, slot): (u32, usize), to: u32, vacant: &mut u64, hash: Hash) {
        let room = Self::room(*vacant, hash);
        *vacant &= !(1 << room);
        assert!(self.marks(from)[slot] != VACANT && self.marks(to)[room] == VACANT, "from a pair to where none is");
        // SAFETY: by the line above there is a pair. It is read once, because its slot is vacant from here on, and the
        // write overwrites nothing that would have to be dropped.
        unsafe { self.pair(to, room).write(self.pair(from, slot).read()) };
        self.marks_mut(from)[slot] = VACANT;
        self.vacate(from, slot);
        self.marks_mut(to)[room] = hash.fingerprint();
    }
}
