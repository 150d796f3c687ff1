//! A plain leaf with known bugs, each behind a constant. The proof must catch the bugs, and the leaf is the simplest of
//! all.
//!
//! Unsorted pairs under a bitmap, leaves linked to the right; durable when an operation returns. The leaf exists only
//! for the proof and is in no list that users see. The bugs belong to classes that published indexes had. Without a
//! bug, every scenario passes under every model of persistency.
//!
//! ```text
//! bytes 0-7     bitmap: bit s admits pair s; the commit word
//!       8-15    the next leaf's number
//!       16-23   0 for no leaf, else 1 + keyspace; bit 32: the first of its chain
//!       24-31   a second bitmap, of one bug alone
//!       32-47   a count and a lock, of one bug and of two
//!       64-511  28 pairs {key, payload}
//! ```

use holm_medium::{Medium, Pen, Result, Word, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, Old, Pairs, Split};
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

/// A removal is not flushed: as in FAST and FAIR, whose condition was copied from the insert.
const UNFLUSHED_REMOVAL: usize = 5;
/// The wrong line is flushed: as in P-HOT (a temporary's) and P-CLHT (the wrong pointer's).
const MISAIMED: usize = 6;
/// The link is durable before the pairs of the leaf to which it leads: as in P-HOT, Level Hashing.
const HOLLOW: usize = 7;
/// A word of zero means "nothing": as in FAST and FAIR, whose values must not be null.
const ZERO: usize = 8;
/// Recovery does not finish a split: as in the artifacts of FAST and FAIR, LB+Tree, NBTree.
const UNMENDED: usize = 9;
/// Recovery finishes a split, but not durably: the class for which XFDetector looks.
const FLEETING: usize = 10;
/// A word of its own counts the next free slot: as in P-ART, which drops an insert after the crash.
const COUNTED: usize = 11;
/// A moving pair is in both places for a time: as in Level Hashing.
const TWICE: usize = 12;
/// A moving pair is in neither place for a time: as in Level Hashing.
const NOWHERE: usize = 13;
/// A lock among the durable words, which nothing releases after a crash: as in CCEH, LB+Tree.
const STUCK: usize = 14;
/// A leaf's release is not durable: as in P-Masstree, whose list of deletions is volatile.
const UNDEAD: usize = 15;
/// A fresh leaf can be found before it is durably empty: as in the constructor of FAST and FAIR.
const UNSWEPT: usize = 16;
/// Recovery reuses blocks before the chain durably passes over them: as in SSTree's reclamation.
const DANGLING: usize = 17;

/// A payload of zero means "no pair": as in FAST and FAIR, where a null pointer ends the array.
const NULL: usize = 18;
/// A pair whose payload equals that of the pair before it counts as in transit: as in FAST and FAIR.
const EQUAL: usize = 19;
/// The greatest key means "no more keys": as in programs that end their scans so.
const GREATEST: usize = 20;
/// The link to a new leaf is not flushed: as in P-BwTree, whose allocator's tail is not, and P-CLHT's chain.
const UNLINKED: usize = 21;
/// Pair and bitmap are flushed with one fence behind both: as in Montage's first advance of an epoch.
const UNFENCED: usize = 22;
/// A moving pair may be in two slots after a crash. Readers handle that and removals do not: as in FAST and FAIR, where
/// a removed key comes back.
const RESURRECTS: usize = 23;
/// Each run of recovery undoes an insert that had begun: as in systems that never crash recovery itself.
const ERODES: usize = 24;
/// The leaf counts one free slot more than there is: as in CCEH and PACTree, which fail at an untested size.
const BRIM: usize = 25;
/// A leaf that lost all its pairs accepts no more: as in uTree, whose removals lock each other out.
const BARREN: usize = 26;

/// The slots whose bits the torn bitmap keeps in its second word.
const HIGH: u64 = ALL & !((1 << (SLOTS / 2)) - 1);

persistent! {
    /// Two durable words.
    pub struct Pair {
        key: Word,
        payload: Word,
    }
}

persistent! {
    /// 512 bytes: a header line, and seven lines of pairs. `BUG` is 0 for none.
    #[repr(align(64))]
    pub struct Canary<const BUG: usize> {
        bitmap: Word,
        next: Word,
        home: Word,
        high: Word,
        count: Word,
        lock: Word,
        unused: [Word; 2],
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
        (0..SLOTS).filter(move |index| bits >> index & 1 == 1 && !self.overlooked(bits, *index))
    }

    /// Whether the bug hides a pair that is present.
    fn overlooked(&self, bits: u64, index: usize) -> bool {
        let slot = self.slot(index);
        match BUG {
            ZERO => slot.head == 0,
            NULL => slot.payload == 0,
            EQUAL => index > 0 && bits >> (index - 1) & 1 == 1 && self.slot(index - 1).payload == slot.payload,
            GREATEST => slot.head == u64::MAX,
            RESURRECTS => (0..index).any(|other| bits >> other & 1 == 1 && self.slot(other).head == slot.head),
            _ => false,
        }
    }

    fn find<K: Keys>(&self, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<usize> {
        self.used().find(|index| lens.keys.is(self.slot(*index), probe))
    }

    /// Stores the commit word; with the torn bitmap there are two.
    fn commit<M: Medium>(&self, pen: &mut Pen<'_, M>, bits: u64) {
        pen.write(&self.bitmap, bits);
        if BUG == TORN {
            pen.write(&self.high, bits);
        }
        pen.flush(&self.bitmap);
        // Before the operation returns: otherwise a crash undoes what was acknowledged.
        pen.fence();
    }

    /// The next slot according to the count, in the bug that trusts it.
    fn counted(&self) -> Option<usize> {
        Some(self.count.read() as usize).filter(|count| BUG == COUNTED && *count < SLOTS)
    }

    /// Whether the leaf had pairs before. A fresh block is empty, too.
    fn deserted(&self) -> bool {
        self.pairs[0].payload.read() != 0
    }

    fn store<M: Medium>(&self, pen: &mut Pen<'_, M>, index: usize, key: u64, payload: u64) {
        pen.write(&self.pairs[index].key, key);
        pen.write(&self.pairs[index].payload, payload);
        if BUG != UNFLUSHED {
            pen.flush(&self.pairs[if BUG == MISAIMED { 0 } else { index }]);
        }
        if BUG != UNFENCED {
            // Before the bitmap: otherwise a crash keeps the bit and loses the pair that it admits.
            pen.fence();
        }
    }

    /// The slots that count, in key order.
    fn sorted<K: Keys>(&self, lens: Lens<'_, K>) -> Vec<(usize, Slot)> {
        let mut pairs: Vec<_> = self.used().map(|index| (index, self.slot(index))).collect();
        pairs.sort_unstable_by(|a, b| lens.keys.order(a.1, b.1));
        pairs
    }

    fn link<M: Medium>(&self, pen: &mut Pen<'_, M>, next: u32) {
        pen.write(&self.next, next.into());
        if BUG != UNLINKED {
            pen.flush(&self.next);
        }
        // Before the truncation: otherwise a crash loses the link, and the upper half is in neither leaf.
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
        source: "none: known bugs",
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
        if BUG == UNSWEPT {
            self.set_home(pen, home);
            pen.persist(&self.home);
        }
        if BUG == COUNTED {
            pen.write(&self.count, 0);
        }
        if [STUCK, ERODES].contains(&BUG) {
            pen.write(&self.lock, 0);
        }
        pen.write(&self.bitmap, 0);
        pen.write(&self.high, 0);
        pen.write(&self.next, 0);
        // Before the block becomes a leaf: otherwise a crash leaves a leaf with the pairs of the block's last use.
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
        if let Some(index) = found.filter(|_| ![TORN, TWICE, NOWHERE, RESURRECTS].contains(&BUG)) {
            let old = self.slot(index).payload;
            pen.write(&self.pairs[index].payload, payload);
            pen.flush(&self.pairs[index].payload);
            // Before the operation returns: otherwise a crash brings the old payload back.
            pen.fence();
            return Ok(Some(Old { payload: old, young: false }));
        }
        let bits = self.bits();
        let free = !bits & if BUG == BRIM { ALL << 1 | 1 } else { ALL };
        if free == 0 || BUG == STUCK && self.lock.read() != 0 || BUG == BARREN && bits == 0 && self.deserted() {
            return Err(Full);
        }
        if BUG == STUCK {
            pen.write(&self.lock, 1);
        }
        if BUG == ERODES {
            pen.write(&self.lock, 1);
            pen.persist(&self.lock);
        }
        // A replaced pair moves to the other half, so that both words of a torn bitmap must change.
        let other = found.map_or(ALL, |index| if HIGH >> index & 1 == 1 { !HIGH } else { HIGH });
        let choice = if free & other == 0 { free } else { free & other };
        let index = self.counted().unwrap_or(choice.trailing_zeros() as usize);
        let old = found.map(|index| Old { payload: self.slot(index).payload, young: false });
        let gone = found.map_or(0, |index| 1 << index);
        let changed = bits & !gone | 1 << index;
        if BUG == EARLY {
            self.commit(pen, changed);
        }
        self.store(pen, index, K::head(probe, 0), payload);
        match BUG {
            TWICE | RESURRECTS => self.commit(pen, bits | 1 << index),
            NOWHERE => self.commit(pen, bits & !gone),
            _ => {}
        }
        if BUG != EARLY {
            self.commit(pen, changed);
        }
        if BUG == COUNTED {
            pen.write(&self.count, self.count.read() + 1);
            pen.persist(&self.count);
        }
        if BUG == STUCK {
            pen.write(&self.lock, 0);
        }
        if BUG == ERODES {
            pen.write(&self.lock, 0);
            pen.persist(&self.lock);
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
        let bits = self.bits() & !(1 << index);
        if BUG == UNFLUSHED_REMOVAL {
            pen.write(&self.bitmap, bits);
        } else {
            self.commit(pen, bits);
        }
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
        // Records are missing: this is damage, and no split can help.
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
        if BUG == COUNTED {
            pen.write(&right.leaf.count, upper.len() as u64);
        }
        if [STUCK, ERODES].contains(&BUG) {
            pen.write(&right.leaf.lock, 0);
        }
        pen.write(&right.leaf.next, self.next.read());
        right.leaf.set_home(pen, Home { first: false, ..self.home() });
        let lines = if BUG == HOLLOW { 0 } else { (upper.len() * size_of::<Pair>()).div_ceil(64) };
        pen.flush(&right.leaf.bitmap);
        right.leaf.pairs.chunks(4).take(lines).for_each(|line| pen.flush(&line[0]));
        // Before the link: otherwise a crash keeps the link and loses the pairs to which it leads.
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
        if BUG != UNDEAD {
            pen.persist(&self.home);
        }
    }

    fn recover<'a, M: Medium>(
        &'a self,
        _: u32,
        _: &(),
        pen: &mut Pen<'_, M>,
        _: Cut,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        if BUG == ERODES && self.lock.read() != 0 && self.bits() != 0 {
            self.commit(pen, self.bits() & !(1 << self.bits().ilog2()));
        }
        let Home { keyspace, first, .. } = self.home();
        Ok(if self.home.read() == 0 { Fate::Free } else { Fate::Live { keyspace, first } })
    }

    /// Finishes a split that was linked and not truncated: pairs that the right neighbour also has belong to it.
    fn mend<M: Medium, K: Keys>(&self, _: &(), lens: Lens<'_, K>, pen: &mut Pen<'_, M>, right: Option<&Self>) {
        let Some(low) = right.and_then(|right| right.sorted(lens).first().map(|(_, slot)| *slot)) else { return };
        let below = |index: &usize| lens.keys.order(self.slot(*index), low) == Ordering::Less;
        let bits = self.used().filter(below).fold(0, |bits, index| bits | 1 << index);
        match BUG {
            _ if bits == self.bits() => {}
            UNMENDED => {}
            FLEETING => pen.write(&self.bitmap, bits),
            _ => self.commit(pen, bits),
        }
    }

    fn relink<M: Medium, K: Keys>(&self, _: &(), _: Lens<'_, K>, pen: &mut Pen<'_, M>, next: u32) {
        pen.write(&self.next, next.into());
        if BUG != DANGLING {
            pen.flush(&self.next);
        }
    }
}
