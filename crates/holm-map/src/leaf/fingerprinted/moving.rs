//! Pairs that move from one leaf to another, when a leaf is split, shares or is joined: which of them, and where they
//! go. Whoever moves comes home if there is room, and so does who stayed where others went: what is not at home is
//! waited for twice. One of the rooms where `unsafe` may stand.

use super::{COUNT, Fingerprinted, FingerprintedLevel, Hash, VACANT, ones};
use crate::key::Key;
use holm_search::LaneKernels;

impl<K: Key, V, C: FingerprintedLevel> Fingerprinted<K, V, C> {
    /// The slots of a full leaf whose keys rank at `rank` or above, as bits, and the greatest key of the others. Of
    /// equal keys, which a broken promise of uniqueness leaves, all are above or none is.
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

    /// Moves pairs from occupied slots of one leaf to another that has room for them. Then there is room in the first
    /// leaf, too, and some of those that stayed find it at home.
    pub(super) fn carry<X: LaneKernels>(&mut self, x: X, from: u32, slots: u64, to: u32) {
        let (occupied, mut vacant) = (self.mask(x, from), Self::ALL & !self.mask(x, to));
        let count = slots.count_ones();
        assert!(from != to && slots & !occupied == 0, "slots of leaf {from} are vacant");
        assert!(count <= vacant.count_ones(), "a pair for a full leaf");
        for slot in ones(slots) {
            self.relocate((from, slot), to, &mut vacant, Hash::of(self.lane(from, slot)));
        }
        self.marks_mut(from)[COUNT] -= count as u8;
        self.marks_mut(to)[COUNT] += count as u8;
        let mut vacant = Self::ALL & !occupied | slots;
        // Without a branch, for nobody can foresee which those are.
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

    /// The slots in the line of a key's home, as bits.
    #[inline(always)]
    fn line(hash: Hash) -> u64 {
        ((1 << Self::NEAR) - 1) << Self::home_of(hash) & Self::ALL
    }

    /// Moves the pair in an occupied slot, of this hash, to one of the `vacant` slots of `to`. The counts are the
    /// caller's.
    #[inline(always)]
    fn relocate(&mut self, (from, slot): (u32, usize), to: u32, vacant: &mut u64, hash: Hash) {
        let room = Self::room(*vacant, hash);
        *vacant &= !(1 << room);
        assert!(self.marks(from)[slot] != VACANT && self.marks(to)[room] == VACANT, "from a pair to where none is");
        // SAFETY: by the line above there is a pair, which is read once, for its slot is vacant from here on, and where
        // it goes nothing is overwritten that would have to be dropped.
        unsafe { self.pair(to, room).write(self.pair(from, slot).read()) };
        self.marks_mut(from)[slot] = VACANT;
        self.vacate(from, slot);
        self.marks_mut(to)[room] = hash.fingerprint();
    }
}
