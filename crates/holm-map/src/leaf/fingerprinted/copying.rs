//! Copies of leaves, for clones of maps, and pairs at the end of a leaf, for bulk loads. This is one of the files where
//! `unsafe` is allowed.

use super::{COUNT, Fingerprinted, FingerprintedLevel, Hash, Pair, VACANT, ones};
use crate::key::Key;
use holm_search::Portable;

impl<K: Key, V, C: FingerprintedLevel> Fingerprinted<K, V, C> {
    /// Fills `leaf`, which is empty, with clones of the pairs of the same leaf of `other`, in the same slots. If a
    /// clone panics, the leaf has the pairs before it.
    pub(super) fn copy_pairs(&mut self, other: &Self, leaf: u32)
    where
        V: Clone,
    {
        assert!(self.marks(leaf)[COUNT] == 0, "leaf {leaf} of a copy is not empty");
        let (marks, from, to) = (*other.marks(leaf), other.pair(leaf, 0), self.pair(leaf, 0));
        for slot in ones(other.mask(Portable, leaf)) {
            // SAFETY: the slot is occupied, so there is a pair, and no writer changes it while `other` is borrowed.
            let Pair { lane, value } = unsafe { from.add(slot).as_ref() };
            let pair = Pair { lane: *lane, value: value.clone() };
            // SAFETY: a slot of this leaf, which is vacant: the write overwrites nothing that would have to be dropped.
            unsafe { to.add(slot).write(pair) };
            let own = self.marks_mut(leaf);
            own[slot] = marks[slot];
            own[COUNT] += 1;
        }
    }

    /// Writes a pair whose key is greater than all others of a leaf. Pairs that arrive so lie in order.
    #[inline(always)]
    pub(super) fn push(&mut self, leaf: u32, key: K::Lane, value: V) {
        self.orders.forget(leaf);
        let marks = self.marks_mut(leaf);
        let slot = usize::from(marks[COUNT]);
        assert!(slot < Self::ROOM && marks[slot] == VACANT, "a pair for a leaf that does not end at its count");
        marks[slot] = Hash::of(key).fingerprint();
        marks[COUNT] += 1;
        // SAFETY: a slot of this leaf, inside the area. It was vacant, so the write overwrites nothing that would have
        // to be dropped.
        unsafe { self.pair_in(leaf, slot).write(Pair { lane: key, value }) };
    }

    /// Writes what a leaf without pairs consists of.
    pub(super) fn write_empty(&mut self, leaf: u32) {
        // SAFETY: inside the area, and only lines of a leaf that has no pairs are overwritten.
        unsafe { self.block(leaf).cast::<super::FingerprintLine>().write(super::FingerprintLine([0; 64])) };
        (0..Self::ROOM).for_each(|slot| self.vacate(leaf, slot));
    }

    /// Returns as many empty leaves as `other` has, with the same leaves free.
    pub(super) fn empty_like(other: &Self) -> Self {
        let mut leaves = Self::empty(other.strangers);
        let count = other.units.len() / Self::UNITS;
        leaves.units.grow_unwritten(other.units.len());
        leaves.orders.grow(count);
        (0..count).for_each(|leaf| leaves.write_empty(leaf as u32));
        leaves.free.clone_from(&other.free);
        leaves
    }
}
