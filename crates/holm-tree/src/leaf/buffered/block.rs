//! One block by itself: its words, its pairs, and which blocks are behind it.

use super::prints::Prints;
use super::versions::{State, Versions};
use super::{ALL, Buffered, Form, Moved, SLOTS};
use crate::keys::{Keys, Slot};
use crate::leaf::{Home, Lens};
use crate::roster::slots;
use holm_medium::{Epoch, Medium, Pen, Word};

/// In the lower half of a home word: this block gives way to the leaf of that number, once that one is committed.
pub(super) const HEIR: u32 = 1 << 31;

/// A pair on its way into another block.
#[derive(Clone, Copy)]
pub(super) struct Moving {
    pub slot: Slot,
    pub print: Option<u8>,
    /// What its head leaves out as yet.
    pub skip: usize,
}

impl Moving {
    /// Whether it leads to a record of its own.
    pub fn is_own<K: Keys>(&self, lens: Lens<'_, K>) -> bool {
        lens.keys.is_own(self.slot, self.skip, self.print)
    }

    fn head<K: Keys>(&self, lens: Lens<'_, K>, home: Home) -> u64 {
        let same = self.skip == usize::from(home.skip);
        let changed = if same { None } else { lens.keys.rehead(self.slot, home.skip.into()) };
        changed.unwrap_or(self.slot.head)
    }
}

impl<const SEGMENTS: usize, F: Form> Buffered<SEGMENTS, F> {
    #[inline]
    pub(super) fn now(&self) -> State {
        self.versions.now()
    }

    /// Slots named by the states at the ends of the two epochs before.
    #[inline]
    pub(super) fn older(&self, epoch: Epoch) -> u32 {
        self.versions.pinned(epoch)
    }

    /// Other slots count from now on: the commit word of most operations.
    #[inline]
    pub(super) fn publish<M: Medium>(&self, pen: &mut Pen<'_, M>, bits: u32) {
        let tag = pen.epoch();
        self.versions.put(pen, State { tag, bits });
        pen.defer(&self.versions);
    }

    #[inline]
    pub(super) fn slot(&self, index: usize) -> Slot {
        self.pairs[index].slot()
    }

    /// The slots that may hold the probe's key.
    #[inline]
    pub(super) fn candidates<K: Keys>(&self, lens: Lens<'_, K>, probe: K::Probe<'_>) -> u32 {
        F::Prints::candidates(&self.prints, lens.search, K::print(probe)) & self.now().bits
    }

    /// The slot with the probe's key, and its payload.
    #[inline]
    pub(super) fn find<K: Keys>(&self, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<(usize, u64)> {
        let mut candidates = self.candidates(lens, probe);
        while candidates != 0 {
            let index = candidates.trailing_zeros() as usize;
            let slot = self.slot(index);
            // All of the record at once: its value is wanted next, and what the comparison waits for is its first line.
            lens.keys.prefetch(slot.payload);
            if lens.keys.is(slot, probe) {
                return Some((index, slot.payload));
            }
            candidates &= candidates - 1;
        }
        None
    }

    pub(super) fn set_home<M: Medium>(&self, pen: &mut Pen<'_, M>, home: Home, kin: u32) {
        pen.write(&self.home, u64::from(home.skip) << 56 | u64::from(home.keyspace) << 32 | u64::from(kin));
        pen.defer(&self.home);
    }

    pub(super) fn set_kin<M: Medium>(&self, pen: &mut Pen<'_, M>, kin: u32) {
        pen.write(&self.home, self.home.read() & !0xffff_ffff | u64::from(kin));
        pen.defer(&self.home);
    }

    /// Zero, or which leaf this one stems from, or to which it gives way.
    pub(super) fn kin(&self) -> u32 {
        self.home.read() as u32
    }

    pub(super) fn home(&self) -> Home {
        let word = self.home.read();
        Home { keyspace: (word >> 32) as u32 & 0xff_ffff, skip: (word >> 56) as u8, first: false }
    }

    /// Where the number of the block behind this one lies, above the last fingerprints.
    pub(super) fn link(&self) -> &Word {
        &self.prints[3]
    }

    /// The number of the block behind this one; 0 is none.
    #[inline]
    pub(super) fn next(&self) -> u32 {
        if SEGMENTS == 1 { 0 } else { (self.link().read() >> 32) as u32 }
    }

    pub(super) fn set_next<M: Medium>(&self, pen: &mut Pen<'_, M>, number: u32) {
        pen.write(self.link(), self.link().read() & 0xffff_ffff | u64::from(number) << 32);
        pen.defer(self.link());
    }

    /// The block behind this one.
    #[inline]
    pub(super) fn follower<'a, K: Keys>(&self, lens: Lens<'a, K>) -> Option<&'a Self> {
        lens.block(Some(self.next()).filter(|number| *number != 0)?)
    }

    /// This block and those behind it.
    #[inline]
    pub(super) fn segments<'a, K: Keys>(&'a self, lens: Lens<'a, K>) -> impl Iterator<Item = &'a Self> {
        let more = std::iter::successors(self.follower(lens), move |block| block.follower(lens));
        std::iter::once(self).chain(more.take(SEGMENTS - 1))
    }

    /// Its live pairs, in any order.
    pub(super) fn moving(&self) -> impl Iterator<Item = Moving> {
        let skip = self.home().skip.into();
        let print = |index| F::Prints::of(&self.prints, index);
        slots(self.now().bits).map(move |index| Moving { slot: self.slot(index), print: print(index), skip })
    }

    /// Fills a fresh block with pairs and publishes them, uncommitted: `kin` names the leaf it stems from.
    pub(super) fn settle<M: Medium, K: Keys>(
        &self,
        moved: &Moved,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        pairs: &[Moving],
        home: Home,
        kin: u32,
    ) {
        let mut prints = [0u64; 4];
        for (index, pair) in pairs.iter().enumerate() {
            let slot = &self.pairs[index];
            pen.write(&slot.head, pair.head(lens, home));
            pen.write(&slot.payload, pair.slot.payload);
            prints[index / 8] |= u64::from(pair.print.unwrap_or(0)) << (index % 8 * 8);
        }
        // With nothing behind it.
        for (word, value) in self.prints.iter().zip(prints) {
            pen.write(word, value);
        }
        pairs.chunks(4).zip(self.pairs.as_chunks::<4>().0).for_each(|(_, line)| pen.defer(line));
        let bits = ALL >> (SLOTS - pairs.len());
        moved.set(bits);
        // Before the bitmap: found live after the death of the process, a leaf must already name what it stems from.
        self.set_home(pen, home, kin);
        self.publish(pen, bits);
    }
}
