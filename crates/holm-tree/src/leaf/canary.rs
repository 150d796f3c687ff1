//! A plain leaf with four known bugs, each behind a constant: what the proof must catch, and the simplest leaf of all.
//!
//! Unsorted pairs under a bitmap, leaves linked to the right; durable when an operation returns. It is built for the
//! proof alone, and is in no list that users see. The bugs are of classes that published indexes had; with none, every
//! scenario passes under every model of persistency.
//!
//! ```text
//! bytes 0-7     bitmap: bit s admits pair s; the commit word
//!       8-15    the next leaf's number
//!       16-23   0 for no leaf, else 1 + keyspace; bit 32: the first of its chain
//!       24-31   a second bitmap, of the third bug alone
//!       64-511  28 pairs {key, payload}
//! ```

use super::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, Old, Pairs, Split};
use crate::keys::{Keys, Slot};
use holm_medium::{Medium, Pen, Result, Word, persistent};
use std::cmp::Ordering;

const SLOTS: usize = 28;
const ALL: u64 = (1 << SLOTS) - 1;
const FIRST: u64 = 1 << 32;

/// A new pair's line is not flushed: as in FAST and FAIR's removal, P-HOT, P-CLHT.
const UNFLUSHED: usize = 1;
/// The bitmap is durable before the pair is written: as in Level Hashing.
const EARLY: usize = 2;
/// A change counts only if two words changed: as in WOART, CCEH, P-ART.
const TORN: usize = 3;
/// The old leaf is truncated before the link to the new one is durable: as in FAST and FAIR's root, P-Masstree.
const LOST: usize = 4;

/// Slots whose bits the third bug keeps in the second bitmap.
const HIGH: u64 = ALL & !((1 << (SLOTS / 2)) - 1);

persistent! {
    /// Two durable words.
    pub struct Pair {
        key: Word,
        payload: Word,
    }
}

persistent! {
    /// 512 bytes: a line of words about the leaf, and seven lines of pairs. `BUG` is 0 for none.
    #[repr(align(64))]
    pub struct Canary<const BUG: usize> {
        bitmap: Word,
        next: Word,
        home: Word,
        high: Word,
        unused: [Word; 4],
        pairs: [Pair; 28],
    }
}

impl<const BUG: usize> Canary<BUG> {
    fn bits(&self) -> u64 {
        if BUG == TORN {
            (self.bitmap.read() & !HIGH | self.high.read() & HIGH) & ALL
        } else {
            self.bitmap.read() & ALL
        }
    }

    fn slot(&self, index: usize) -> Slot {
        Slot { head: self.pairs[index].key.read(), payload: self.pairs[index].payload.read() }
    }

    fn used(&self) -> impl Iterator<Item = usize> {
        let bits = self.bits();
        (0..SLOTS).filter(move |index| bits >> index & 1 == 1)
    }

    fn find<K: Keys>(&self, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<usize> {
        self.used().find(|index| lens.keys.is(self.slot(*index), probe))
    }

    /// The commit word; for the third bug there are two of them.
    fn commit<M: Medium>(&self, pen: &mut Pen<'_, M>, bits: u64) {
        pen.write(&self.bitmap, bits);
        if BUG == TORN {
            pen.write(&self.high, bits);
        }
        pen.flush(&self.bitmap);
        // Before the operation returns: else a crash takes back what was acknowledged.
        pen.fence();
    }

    fn store<M: Medium>(&self, pen: &mut Pen<'_, M>, index: usize, key: u64, payload: u64) {
        pen.write(&self.pairs[index].key, key);
        pen.write(&self.pairs[index].payload, payload);
        if BUG != UNFLUSHED {
            pen.flush(&self.pairs[index]);
        }
        // Before the bitmap: else a crash keeps the bit and loses the pair that it admits.
        pen.fence();
    }

    /// Live slots in order of their keys.
    fn sorted<K: Keys>(&self, lens: Lens<'_, K>) -> Vec<(usize, Slot)> {
        let mut pairs: Vec<_> = self.used().map(|index| (index, self.slot(index))).collect();
        pairs.sort_unstable_by(|a, b| lens.keys.order(a.1, b.1));
        pairs
    }

    fn link<M: Medium>(&self, pen: &mut Pen<'_, M>, next: u32) {
        pen.write(&self.next, next.into());
        pen.flush(&self.next);
        // Before the truncation: else a crash finds the upper half in neither leaf.
        pen.fence();
    }

    fn set_home<M: Medium>(&self, pen: &mut Pen<'_, M>, home: Home) {
        pen.write(&self.home, (1 + u64::from(home.keyspace)) | if home.first { FIRST } else { 0 });
    }

    fn home(&self) -> Home {
        let word = self.home.read();
        Home { keyspace: (word as u32).wrapping_sub(1), skip: 0, first: word & FIRST != 0 }
    }
}

impl<const BUG: usize> Leaf for Canary<BUG> {
    const CARD: Card = Card {
        source: "none: four known bugs",
        defers: false,
        needs_line_order: false,
        needs_whole_keys: false,
        linked: true,
        keeps: true,
    };
    const CAPACITY: usize = SLOTS;
    type Beside = ();

    fn get<K: Keys>(&self, _: &(), lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        self.find(lens, probe).map(|index| self.slot(index).payload)
    }

    fn live(&self, _: &(), out: &mut Pairs) {
        self.used().for_each(|index| out.push(self.slot(index)));
    }

    fn next(&self) -> u32 {
        self.next.read() as u32
    }

    fn format<M: Medium>(&self, _: &(), pen: &mut Pen<'_, M>, home: Home) {
        pen.write(&self.bitmap, 0);
        pen.write(&self.high, 0);
        pen.write(&self.next, 0);
        // Before the block is found to be a leaf: else a crash finds in it what its last owner left.
        pen.persist(&self.bitmap);
        self.set_home(pen, home);
        pen.persist(&self.home);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        let found = self.find(lens, probe);
        if let Some(index) = found.filter(|_| BUG != TORN) {
            let old = self.slot(index).payload;
            pen.write(&self.pairs[index].payload, payload);
            pen.flush(&self.pairs[index].payload);
            // Before the operation returns: else a crash brings the old payload back.
            pen.fence();
            return Ok(Some(Old { payload: old, young: false }));
        }
        let bits = self.bits();
        let free = !bits & ALL;
        if free == 0 {
            return Err(Full);
        }
        // The third bug replaces a pair in the other half, so that both bitmaps must change.
        let other = found.map_or(ALL, |index| if HIGH >> index & 1 == 1 { !HIGH } else { HIGH });
        let choice = if free & other == 0 { free } else { free & other };
        let index = choice.trailing_zeros() as usize;
        let old = found.map(|index| Old { payload: self.slot(index).payload, young: false });
        let changed = bits & !found.map_or(0, |index| 1 << index) | 1 << index;
        if BUG == EARLY {
            self.commit(pen, changed);
            self.store(pen, index, K::head(probe, 0), payload);
        } else {
            self.store(pen, index, K::head(probe, 0), payload);
            self.commit(pen, changed);
        }
        Ok(old)
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
    ) -> Option<Old> {
        let index = self.find(lens, probe)?;
        let payload = self.slot(index).payload;
        self.commit(pen, self.bits() & !(1 << index));
        Some(Old { payload, young: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        _: (&K::Fence, Option<&K::Fence>),
    ) -> Split<K::Fence> {
        let pairs = self.sorted(lens);
        let middle = pairs.len() / 2;
        let (lower, upper) = pairs.split_at(middle);
        let ends = lower.last().zip(upper.first());
        let fences = ends.and_then(|(last, first)| lens.keys.key(last.1).zip(lens.keys.key(first.1)));
        // Records that lead nowhere: damage, and no split can help.
        let Some((last, first)) = fences else { return Split { left: own, right: None } };
        let [right, _] = fresh;
        for (pair, (_, slot)) in right.leaf.pairs.iter().zip(upper) {
            pen.write(&pair.key, slot.head);
            pen.write(&pair.payload, slot.payload);
        }
        let filled = (1 << upper.len()) - 1;
        pen.write(&right.leaf.bitmap, filled);
        if BUG == TORN {
            pen.write(&right.leaf.high, filled);
        }
        pen.write(&right.leaf.next, self.next.read());
        right.leaf.set_home(pen, Home { first: false, ..self.home() });
        let lines = (upper.len() * size_of::<Pair>()).div_ceil(64);
        pen.flush(&right.leaf.bitmap);
        right.leaf.pairs.chunks(4).take(lines).for_each(|line| pen.flush(&line[0]));
        // Before the link: else a crash finds a link to a leaf of noise.
        pen.fence();
        let truncated = lower.iter().fold(0, |bits, (index, _)| bits | 1 << index);
        if BUG == LOST {
            self.commit(pen, truncated);
            self.link(pen, right.number);
        } else {
            self.link(pen, right.number);
            self.commit(pen, truncated);
        }
        Split { left: own, right: Some((K::separator(&last, &first), right.number)) }
    }

    fn abandon<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        pen.write(&self.home, 0);
        pen.persist(&self.home);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        _: u32,
        _: &(),
        _: &mut Pen<'_, M>,
        _: Cut,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        let Home { keyspace, first, .. } = self.home();
        Ok(if self.home.read() == 0 { Fate::Free } else { Fate::Live { keyspace, first } })
    }

    /// A split that was linked and not truncated: what the right neighbour holds too is its own.
    fn mend<M: Medium, K: Keys>(&self, _: &(), lens: Lens<'_, K>, pen: &mut Pen<'_, M>, right: Option<&Self>) {
        let Some(low) = right.and_then(|right| right.sorted(lens).first().map(|(_, slot)| *slot)) else { return };
        let below = |index: &usize| lens.keys.order(self.slot(*index), low) == Ordering::Less;
        let bits = self.used().filter(below).fold(0, |bits, index| bits | 1 << index);
        if bits != self.bits() {
            self.commit(pen, bits);
        }
    }

    fn relink<M: Medium>(&self, _: &(), pen: &mut Pen<'_, M>, next: u32) {
        pen.write(&self.next, next.into());
        pen.flush(&self.next);
    }
}
