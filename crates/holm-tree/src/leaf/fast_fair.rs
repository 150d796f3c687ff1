//! FAST and FAIR: a sorted array, shifted word by word and never logged (Hwang, Kim, Won, Nam, FAST'18).
//!
//! Durable when an operation returns. A shift passes through states that are wrong but recognisable: a pair in transit
//! equals its left neighbour in the one word that no two pairs share, and does not count. Each operation has one commit
//! word, and a line is flushed and fenced before the shift leaves it for the next.
//!
//! ```text
//! bytes 0-7     next leaf 32 | zero 32
//!       8-15    keyspace 32 | LEAF, FIRST, FRONT | zero
//!       16-511  31 pairs {head, payload}, ascending; slot i lies in line (i + 1) / 4
//! ```
//!
//! **The mark** is the word of a slot that is unique within its leaf ([`Keys::UNIQUE`]): the key for words, whose
//! payloads may be anything, and the payload for keys with records, whose heads may be equal. The paper has only the
//! second, so equal or zero values break it. The protocol is the same for both, with the two words' parts exchanged.
//!
//! **Which slots count.** Slot 0 counts if and only if `FRONT` is set: the paper's reserved pointer left of slot 0
//! would be a legal key here, and a bit in the same line costs no flush. A later slot whose mark equals that of a left
//! neighbour that counts is in transit. Otherwise a mark of zero ends the pairs. No legal pair is lost: payloads that
//! are marks are not zero, and the key zero can only lie in slot 0. If it lies there, a zero in slot 1 reads as "in
//! transit" and the zero that ends the pairs is sought in slot 2; it is there even if the key zero is alone, see
//! `close`.
//!
//! Nothing of this is asked by readers: their count of slots is volatile, kept beside the block, and they validate the
//! forest's latch, so that the paper's switch counter is not needed either. Only [`Leaf::mend`] looks for marks: it,
//! and not `recover`, knows what slots stand for. Assumed of the medium: what persists of a line is a prefix of the
//! stores to it.

use super::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, MOST_PAIRS, Old, Pairs, Split};
use crate::keys::{Keys, Role, Slot};
use crate::pair::Pair;
use crate::sync::atomic::{AtomicU32, Ordering::Relaxed};
use holm_medium::{Medium, MediumError, Pen, Result, Word, persistent};
use std::cmp::Ordering;

const SLOTS: usize = 31;

/// One slot less than there are: a mark of zero stays behind the last pair.
const CAPACITY: usize = SLOTS - 1;

/// The block is a leaf.
const LEAF: u64 = 1 << 32;
/// The first leaf of its keyspace.
const FIRST: u64 = 1 << 33;
/// Slot 0 counts.
const FRONT: u64 = 1 << 34;

persistent! {
    /// 512 bytes: two words of header and 31 pairs.
    #[repr(align(64))]
    pub struct FastFair {
        link: Word,
        home: Word,
        pairs: [Pair; 31],
    }
}

const _: () = assert!(size_of::<FastFair>() == 512 && CAPACITY <= MOST_PAIRS);

/// Whether a slot is the first one of its line. Slot 0 is not: the header is.
const fn starts_line(slot: usize) -> bool {
    (slot + 1).is_multiple_of(4)
}

/// What a crash may have left of the pairs: which slots count, and the end of those that do or are in transit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Survey {
    counts: u32,
    end: usize,
}

impl Survey {
    fn counts(self, slot: usize) -> bool {
        self.counts >> slot & 1 == 1
    }

    /// The first slot in transit.
    fn transit(self) -> Option<usize> {
        (0..self.end).find(|slot| !self.counts(*slot))
    }
}

impl FastFair {
    /// The word that no other slot of the leaf has too.
    #[inline]
    fn mark<K: Keys>(&self, slot: usize) -> &Word {
        self.pairs[slot].mark::<K>()
    }

    /// The word beside the mark.
    #[inline]
    fn mate<K: Keys>(&self, slot: usize) -> &Word {
        self.pairs[slot].mate::<K>()
    }

    #[inline]
    fn slot(&self, index: usize) -> Slot {
        self.pairs[index].slot()
    }

    /// A racing reader may meet any count; the slots end where they end.
    #[inline]
    fn count(beside: &AtomicU32) -> usize {
        (beside.load(Relaxed) as usize).min(CAPACITY)
    }

    /// The slots whose head is the probe's, from where to where: the paper's scan.
    #[inline]
    fn ties<K: Keys>(&self, count: usize, probe: K::Probe<'_>) -> (usize, usize) {
        let head = K::head(probe, 0);
        let pairs = &self.pairs[..count];
        let low = pairs.iter().position(|pair| pair.head.read() >= head).unwrap_or(count);
        let same = pairs[low..].iter().take_while(|pair| pair.head.read() == head).count();
        (low, low + same)
    }

    /// The slot of a key, or else the slot where it would go.
    #[inline]
    fn find<K: Keys>(&self, count: usize, lens: Lens<'_, K>, probe: K::Probe<'_>) -> std::result::Result<usize, usize> {
        let (mut low, mut high) = self.ties::<K>(count, probe);
        while low < high {
            let middle = low.midpoint(high);
            match lens.keys.compare(self.slot(middle), 0, probe) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    fn set_front<M: Medium>(&self, pen: &mut Pen<'_, M>, counts: bool) {
        let rest = self.home.read() & !FRONT;
        pen.write(&self.home, if counts { rest | FRONT } else { rest });
    }

    /// Puts a slot in transit: by that one store the pair it held is gone. The mark left of it counts and stays.
    fn invalidate<M: Medium, K: Keys>(&self, pen: &mut Pen<'_, M>, at: usize) {
        match at.checked_sub(1) {
            Some(left) => pen.write(self.mark::<K>(at), self.mark::<K>(left).read()),
            None => self.set_front(pen, false),
        }
    }

    /// FAST: shifts the slots from `at` on to the right, and puts a pair there.
    fn open<M: Medium, K: Keys>(&self, pen: &mut Pen<'_, M>, count: usize, at: usize, slot: Slot) {
        // Before slot `count` holds a pair: what a split left behind would follow it as pairs after a crash.
        pen.write(self.mark::<K>(count + 1), 0);
        if starts_line(count + 1) {
            pen.persist(&self.pairs[count + 1]);
        }
        for from in (at..count).rev() {
            // The mark first: the copy is in transit before it differs from what was there.
            pen.write(self.mark::<K>(from + 1), self.mark::<K>(from).read());
            pen.write(self.mate::<K>(from + 1), self.mate::<K>(from).read());
            if starts_line(from + 1) {
                // Before the line below gives the pair up: else a crash keeps that line, loses this one, and the pair.
                pen.persist(&self.pairs[from + 1]);
            }
        }
        self.invalidate::<M, K>(pen, at);
        let (mark, mate) = match K::UNIQUE {
            Role::Head => (slot.head, slot.payload),
            Role::Payload => (slot.payload, slot.head),
        };
        pen.write(self.mate::<K>(at), mate);
        // The commit word: the slot differs from its left neighbour and counts. In slot 0, the bit does it.
        pen.write(self.mark::<K>(at), mark);
        if at == 0 {
            self.set_front(pen, true);
        }
        // Before the insert is acknowledged.
        pen.persist(&self.pairs[at]);
    }

    /// FAST: shifts the slots behind `at`, which is in transit, to the left; `end` is the number of slots with it.
    ///
    /// The last slot gets the mark zero, and the one behind it has that already: so whenever a leaf shrinks to one
    /// pair, slots 1 and 2 both end it. `format` starts with as much, a split leaves more pairs than two, inserts keep
    /// it.
    fn close<M: Medium, K: Keys>(&self, pen: &mut Pen<'_, M>, at: usize, end: usize) {
        for to in at..end {
            if to + 1 < end {
                // The mark last: until then the slot is in transit, and from then on the next one is.
                pen.write(self.mate::<K>(to), self.mate::<K>(to + 1).read());
                pen.write(self.mark::<K>(to), self.mark::<K>(to + 1).read());
                if to == 0 {
                    self.set_front(pen, true);
                }
            } else if to > 0 {
                pen.write(self.mark::<K>(to), 0);
            }
            if starts_line(to + 1) || to + 1 == end {
                // Before the next line gives a pair up that this one took over; at the end, before the removal is
                // acknowledged.
                pen.persist(&self.pairs[to]);
            }
        }
    }

    /// Which slots count, by their marks.
    fn survey<K: Keys>(&self) -> Survey {
        let mut counts = u32::from(self.home.read() & FRONT != 0);
        let mut end = counts as usize;
        let mut left = self.mark::<K>(0).read();
        for slot in 1..SLOTS {
            let mark = self.mark::<K>(slot).read();
            let transit = counts >> (slot - 1) & 1 == 1 && mark == left;
            if !transit && mark == 0 {
                break;
            }
            counts |= u32::from(!transit) << slot;
            // The zero behind the key zero looks like a slot in transit; unless pairs follow, it is the end.
            if mark != 0 {
                end = slot + 1;
            }
            left = mark;
        }
        Survey { counts, end }
    }

    /// FAIR, where a crash came between link and truncation: the right leaf is exactly what this one has from some slot
    /// on. Anything else that overlaps is damage and left for the rebuild to report.
    fn truncate<M: Medium, K: Keys>(&self, pen: &mut Pen<'_, M>, lens: Lens<'_, K>, right: &Self) {
        let counting = |leaf: &Self| {
            let survey = leaf.survey::<K>();
            (0..survey.end).filter(move |slot| survey.counts(*slot))
        };
        let Some(lowest) = counting(right).next().map(|slot| right.slot(slot)) else { return };
        let at_or_above = |slot: &usize| lens.keys.order(self.slot(*slot), lowest) != Ordering::Less;
        let Some(cut) = counting(self).find(at_or_above).filter(|cut| *cut > 0) else { return };
        let moved = counting(self).filter(|slot| *slot >= cut).map(|slot| self.slot(slot));
        if moved.eq(counting(right).map(|slot| right.slot(slot))) {
            pen.write(self.mark::<K>(cut), 0);
            // The rebuild fences before anybody changes the right leaf, which no crash has left in transit.
            pen.flush(&self.pairs[cut]);
        }
    }

    /// Payloads that are marks must be unique and not zero: a shift would lose a pair that no crash has touched.
    fn check_mark<K: Keys>(&self, count: usize, at: usize, payload: u64) {
        if K::UNIQUE == Role::Payload {
            assert!(payload != 0, "a payload of zero leads to no record");
            let differs = |slot: usize| self.pairs[slot].payload.read() != payload;
            debug_assert!((0..count).all(|slot| slot == at || differs(slot)), "a payload twice in one leaf");
        }
    }
}

impl Leaf for FastFair {
    const CARD: Card = Card {
        source: "FAST and FAIR: Hwang et al., FAST 2018",
        defers: false,
        needs_line_order: true,
        needs_whole_keys: false,
        linked: true,
        keeps: true,
    };
    const CAPACITY: usize = CAPACITY;
    /// The number of pairs.
    type Beside = AtomicU32;

    #[inline]
    fn get<K: Keys>(&self, beside: &AtomicU32, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        let found = self.find(Self::count(beside), lens, probe);
        found.ok().map(|slot| self.pairs[slot].payload.read())
    }

    #[inline]
    fn glance<K: Keys>(&self, beside: &AtomicU32, _: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        let (low, high) = self.ties::<K>(Self::count(beside), probe);
        (low < high).then(|| self.pairs[low.midpoint(high)].payload.read())
    }

    fn live(&self, beside: &AtomicU32, out: &mut Pairs) {
        (0..Self::count(beside)).for_each(|slot| out.push(self.slot(slot)));
    }

    fn next(&self) -> u32 {
        self.link.read() as u32
    }

    fn format<M: Medium>(&self, beside: &AtomicU32, pen: &mut Pen<'_, M>, home: Home) {
        pen.write(&self.link, 0);
        // Whichever word is the mark; what lies in later lines is never reached over these.
        for pair in &self.pairs[1..3] {
            pen.write(&pair.head, 0);
            pen.write(&pair.payload, 0);
        }
        // The commit word, last in its line: found as a leaf, the block is an empty one.
        pen.write(&self.home, u64::from(home.keyspace) | LEAF | if home.first { FIRST } else { 0 });
        pen.persist(&self.home);
        beside.store(0, Relaxed);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        beside: &AtomicU32,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        let count = Self::count(beside);
        let found = self.find(count, lens, probe);
        if found.is_err() && count == CAPACITY {
            return Err(Full);
        }
        match found {
            Ok(at) => {
                self.check_mark::<K>(count, at, payload);
                let old = self.pairs[at].payload.read();
                // The commit word.
                pen.write(&self.pairs[at].payload, payload);
                pen.persist(&self.pairs[at]);
                Ok(Some(Old { payload: old, young: false }))
            }
            Err(at) => {
                self.check_mark::<K>(count, count, payload);
                self.open::<M, K>(pen, count, at, Slot { head: K::head(probe, 0), payload });
                beside.store(count as u32 + 1, Relaxed);
                Ok(None)
            }
        }
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        beside: &AtomicU32,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
    ) -> Option<Old> {
        let count = Self::count(beside);
        let at = self.find(count, lens, probe).ok()?;
        let old = self.pairs[at].payload.read();
        // The commit word.
        self.invalidate::<M, K>(pen, at);
        self.close::<M, K>(pen, at, count);
        beside.store(count as u32 - 1, Relaxed);
        Some(Old { payload: old, young: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        beside: &AtomicU32,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        _: (&K::Fence, Option<&K::Fence>),
    ) -> Split<K::Fence> {
        let count = Self::count(beside);
        let middle = count / 2;
        let key = |slot: usize| lens.keys.key(self.slot(slot));
        // There may be room by now. No key where a record is gone, which only damage could bring about: the forest
        // reports a leaf that stays full.
        let ends = (count == CAPACITY).then(|| key(middle - 1).zip(key(middle))).flatten();
        let Some((last, first)) = ends else {
            return Split { left: own, right: None };
        };
        let [right, _] = fresh;
        let moved = (middle..count).map(|slot| self.slot(slot)).chain(std::iter::repeat(Slot::default()));
        for (pair, slot) in right.leaf.pairs.iter().zip(moved) {
            pen.write(&pair.head, slot.head);
            pen.write(&pair.payload, slot.payload);
        }
        pen.write(&right.leaf.home, self.home.read() & !FIRST);
        pen.write(&right.leaf.link, self.next().into());
        // Before the link: else a crash keeps the link and finds noise behind it.
        pen.persist(right.leaf);
        // The commit word: the upper half now belongs to the right leaf, wherever else it stands.
        pen.write(&self.link, right.number.into());
        // Before the truncation: else a crash keeps that, loses the link, and the upper half.
        pen.persist(&self.link);
        pen.write(self.mark::<K>(middle), 0);
        // Before the next change: to a right leaf that has changed since, recovery could not match the upper half.
        pen.persist(&self.pairs[middle]);
        right.beside.store((count - middle) as u32, Relaxed);
        beside.store(middle as u32, Relaxed);
        Split { left: own, right: Some((K::separator(&last, &first), right.number)) }
    }

    fn abandon<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        pen.write(&self.home, 0);
        // Before the block is used again: else a crash finds the first leaf of a keyspace that has been dropped.
        pen.persist(&self.home);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &AtomicU32,
        _: &mut Pen<'_, M>,
        _: Cut,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        let (home, link) = (self.home.read(), self.link.read());
        if home == 0 {
            return Ok(Fate::Free);
        }
        if home & LEAF == 0 || home >= FRONT << 1 || link > u64::from(u32::MAX) {
            let offset = u64::from(own) * size_of::<Self>() as u64;
            let found = format!("{link:#x}, {home:#x}");
            let expected = "a block's number; a keyspace with at most three marks, of which one says leaf".into();
            return Err(MediumError::Corrupt {
                path: "leaves".into(),
                offset,
                what: "a leaf's header",
                found,
                expected,
            });
        }
        Ok(Fate::Live { keyspace: home as u32, first: home & FIRST != 0 })
    }

    fn mend<M: Medium, K: Keys>(&self, _: &AtomicU32, lens: Lens<'_, K>, pen: &mut Pen<'_, M>, right: Option<&Self>) {
        if let Some(right) = right {
            self.truncate(pen, lens, right);
        }
        // One slot at most is in transit after a crash, but the loop ends on any bits: each turn takes one away.
        for _ in 0..SLOTS {
            let survey = self.survey::<K>();
            let Some(at) = survey.transit() else { break };
            // As a removal would: interrupted again, it leaves what a removal leaves.
            self.close::<M, K>(pen, at, survey.end);
        }
    }

    fn relink<M: Medium>(&self, _: &AtomicU32, pen: &mut Pen<'_, M>, next: u32) {
        pen.write(&self.link, next.into());
        pen.flush(&self.link);
    }

    fn rederive<K: Keys>(&self, beside: &AtomicU32, _: Lens<'_, K>) {
        beside.store(self.survey::<K>().counts.count_ones(), Relaxed);
    }
}
