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
//!       512-    what the guide inlays, if it does
//! ```
//!
//! The node's size and the guide of its searches are parameters: 63, 127 and 255 slots make 1, 2 and 4 KiB.
//!
//! **The mark** is the word of a slot that is unique within its leaf ([`Keys::UNIQUE`]). For keys that are words it is
//! the key, and payloads may be anything. For keys in records it is the payload, because heads may be equal. The paper
//! uses only the payload, so equal or zero values break it. The protocol is the same for both, with the roles of the
//! two words exchanged.
//!
//! **Which slots count.** Slot 0 counts if and only if `FRONT` is set: the paper's reserved pointer left of slot 0
//! would be a legal key here, and a bit in the same line costs no flush. A later slot whose mark equals that of a left
//! neighbour that counts is in transit. Otherwise a mark of zero ends the pairs. This loses no legal pair: payloads
//! that are marks are not zero, and the key zero can only lie in slot 0. If it lies there, a zero in slot 1 reads as
//! "in transit", and recovery looks in slot 2 for the zero that ends the pairs. That zero is there even if the key zero
//! is the only pair, see `close`.
//!
//! Readers use none of this. Their count of slots is volatile and lies beside the block, and they validate the leaf's
//! latch, so they do not need the paper's switch counter. Only [`Leaf::repair_link`] reads marks: it knows what slots
//! stand for, and `recover` does not. Assumption about the medium: what persists of a line is a prefix of the stores to
//! it.

mod node;

use crate::guide::{Board, Guide, print_of};
use crate::row::{LINE_SLOTS, Row};
use holm_medium::{Medium, Pen, Result, Word, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, MOST_PAIRS, Old, Pairs, Split, damaged};
use holm_tree::pair::{Pair, mark_and_mate};
use holm_tree::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::cmp::Ordering;

/// With at most this many slots, all lines of a block are prefetched together.
const FEW_SLOTS: usize = 31;

/// The header's length, in slots.
const LEAD: usize = 1;

/// The block is a leaf.
const LEAF: u64 = 1 << 32;
/// The first leaf of its keyspace.
const FIRST: u64 = 1 << 33;
/// Slot 0 counts.
const FRONT: u64 = 1 << 34;

persistent! {
    /// Two words of header, the pairs, and the guide's inlaid data.
    #[repr(align(64))]
    pub struct FastFair<const SLOTS: usize; G: Guide> {
        link: Word,
        home: Word,
        pairs: [Pair; SLOTS],
        inlaid: G::Inlaid,
    }
}

/// The volatile side of a leaf.
pub struct Beside<G: Guide> {
    /// The number of pairs.
    pub count: AtomicU32,
    /// The guide's volatile data.
    pub guide: G::Beside,
}

impl<G: Guide> Default for Beside<G> {
    fn default() -> Self {
        Beside { count: AtomicU32::new(0), guide: G::Beside::default() }
    }
}

/// Whether a slot is the first of its line. Slot 0 is not: the header is before it.
const fn starts_line(slot: usize) -> bool {
    (slot + LEAD).is_multiple_of(LINE_SLOTS)
}

/// What a crash may have left of the pairs: which slots count, and the end of the slots that count or are in transit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Survey {
    counts: [u64; MOST_PAIRS / 64],
    end: usize,
}

impl Survey {
    fn counts(self, slot: usize) -> bool {
        self.counts[slot / 64] >> (slot % 64) & 1 == 1
    }

    fn count(self) -> usize {
        self.counts.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// The first slot in transit.
    fn transit(self) -> Option<usize> {
        (0..self.end).find(|slot| !self.counts(*slot))
    }
}

impl<const SLOTS: usize, G: Guide> FastFair<SLOTS, G> {
    /// One slot less than the block has: a mark of zero stays behind the last pair.
    const MOST: usize = {
        assert!((SLOTS + LEAD).is_multiple_of(LINE_SLOTS) && SLOTS <= MOST_PAIRS && SLOTS <= G::MOST_SLOTS);
        SLOTS - 1
    };

    #[inline(always)]
    fn board<'a>(&'a self, beside: &'a Beside<G>) -> Board<'a, G> {
        Board { inlaid: &self.inlaid, beside: &beside.guide }
    }

    #[inline(always)]
    fn row(&self, count: usize) -> Row<'_> {
        Row::new(&self.pairs, LEAD, 0, count)
    }

    #[inline]
    fn mark<K: Keys>(&self, slot: usize) -> &Word {
        self.pairs[slot].mark::<K>()
    }

    #[inline]
    fn mate<K: Keys>(&self, slot: usize) -> &Word {
        self.pairs[slot].mate::<K>()
    }

    #[inline]
    fn slot(&self, index: usize) -> Slot {
        self.pairs[index].slot()
    }

    /// A racing reader may see any count; it never exceeds the block's slots.
    #[inline]
    fn count(beside: &Beside<G>) -> usize {
        (beside.count.load(Relaxed) as usize).min(Self::MOST)
    }

    fn set_front<M: Medium>(&self, pen: &mut Pen<'_, M>, counts: bool) {
        let rest = self.home.read() & !FRONT;
        pen.write(&self.home, if counts { rest | FRONT } else { rest });
    }

    /// Puts a slot in transit: this one store removes the pair that it held. The mark left of it counts and stays.
    fn invalidate<M: Medium, K: Keys>(&self, pen: &mut Pen<'_, M>, at: usize) {
        match at.checked_sub(1) {
            Some(left) => pen.write(self.mark::<K>(at), self.mark::<K>(left).read()),
            None => self.set_front(pen, false),
        }
    }

    /// FAST: shifts the slots from `at` on to the right, and puts a pair there.
    fn open<M: Medium, K: Keys>(
        &self,
        board: Board<'_, G>,
        pen: &mut Pen<'_, M>,
        (count, at): (usize, usize),
        (slot, print): (Slot, u8),
    ) {
        let row = self.row(count);
        // Before slot `count` holds a pair: otherwise, after a crash, old pairs of a split would follow it as live
        // ones.
        pen.write(self.mark::<K>(count + 1), 0);
        if starts_line(count + 1) {
            pen.persist(&self.pairs[count + 1]);
        }
        for from in (at..count).rev() {
            // The mark first: the copy is in transit before it differs from the old content.
            pen.write(self.mark::<K>(from + 1), self.mark::<K>(from).read());
            pen.write(self.mate::<K>(from + 1), self.mate::<K>(from).read());
            G::moved(board, pen, row, from, from + 1);
            if starts_line(from + 1) {
                // Before the line below gives up the pair: otherwise a crash keeps that line, loses this one, and the
                // pair.
                pen.persist(&self.pairs[from + 1]);
            }
        }
        self.invalidate::<M, K>(pen, at);
        let (mark, mate) = mark_and_mate::<K>(slot);
        pen.write(self.mate::<K>(at), mate);
        // The commit word: the slot differs from its left neighbour and counts. In slot 0, the bit commits.
        pen.write(self.mark::<K>(at), mark);
        if at == 0 {
            self.set_front(pen, true);
        }
        // Before the insert is acknowledged: otherwise a crash loses it.
        pen.persist(&self.pairs[at]);
        G::placed(board, pen, row, at, print);
    }

    /// FAST: shifts the slots behind `at`, which is in transit, to the left; `end` is the number of slots including it.
    ///
    /// The last slot gets the mark zero, and the slot behind it already has that mark. So whenever a leaf shrinks to
    /// one pair, the marks of slots 1 and 2 are zero. `format` establishes this, a split leaves more than two pairs,
    /// and inserts preserve it.
    fn close<M: Medium, K: Keys>(&self, board: Board<'_, G>, pen: &mut Pen<'_, M>, at: usize, end: usize) {
        let row = self.row(end);
        for to in at..end {
            if to + 1 < end {
                // The mark last: until then the slot is in transit, and afterwards the next one is.
                pen.write(self.mate::<K>(to), self.mate::<K>(to + 1).read());
                pen.write(self.mark::<K>(to), self.mark::<K>(to + 1).read());
                if to == 0 {
                    self.set_front(pen, true);
                }
                G::moved(board, pen, row, to + 1, to);
            } else if to > 0 {
                pen.write(self.mark::<K>(to), 0);
            }
            if starts_line(to + 1) || to + 1 == end {
                // Before the next line gives up a pair that this one took over: otherwise a crash loses the pair. At
                // the end, before the removal is acknowledged.
                pen.persist(&self.pairs[to]);
            }
        }
        if let Some(last) = end.checked_sub(1) {
            G::vacated(board, pen, row, last);
        }
    }

    /// Which slots count, by their marks.
    fn survey<K: Keys>(&self) -> Survey {
        let mut counts = [0; MOST_PAIRS / 64];
        counts[0] = u64::from(self.home.read() & FRONT != 0);
        let mut end = counts[0] as usize;
        let mut before = counts[0] == 1;
        let mut left = self.mark::<K>(0).read();
        for slot in 1..SLOTS {
            let mark = self.mark::<K>(slot).read();
            let transit = before && mark == left;
            if !transit && mark == 0 {
                break;
            }
            counts[slot / 64] |= u64::from(!transit) << (slot % 64);
            // The zero behind the key zero looks like a slot in transit. It is the end unless pairs follow.
            if mark != 0 {
                end = slot + 1;
            }
            (left, before) = (mark, !transit);
        }
        Survey { counts, end }
    }

    /// FAIR: moves the upper half of a full leaf's pairs to a fresh one.
    fn halve<M: Medium, K: Keys>(&self, beside: &Beside<G>, pen: &mut Pen<'_, M>, right: Fresh<'_, Self>) {
        let count = Self::count(beside);
        let middle = count / 2;
        let moved = (middle..count).map(|slot| self.slot(slot)).chain(std::iter::repeat(Slot::default()));
        for (pair, slot) in right.leaf.pairs.iter().zip(moved) {
            pen.write(&pair.head, slot.head);
            pen.write(&pair.payload, slot.payload);
        }
        pen.write(&right.leaf.home, self.home.read() & !FIRST);
        pen.write(&right.leaf.link, self.next().into());
        // Before the link: otherwise a crash keeps the link and loses the pairs to which it leads.
        pen.persist(&right.leaf.pairs);
        // The commit word: the upper half now belongs to the right leaf, whatever the left leaf still contains.
        pen.write(&self.link, right.number.into());
        // Before the truncation: otherwise a crash keeps the truncation, and loses the link with the upper half.
        pen.persist(&self.link);
        pen.write(self.mark::<K>(middle), 0);
        // Before the next change: recovery could not match the upper half with a right leaf that has changed since.
        pen.persist(&self.pairs[middle]);
        let (board, row) = (self.board(beside), self.row(count));
        let print = |index: usize| G::print(board, index + middle);
        G::derive(right.leaf.board(right.beside), pen, right.leaf.row(count - middle), print);
        (middle..count).for_each(|slot| G::vacated(board, pen, row, slot));
        right.beside.count.store((count - middle) as u32, Relaxed);
        beside.count.store(middle as u32, Relaxed);
    }

    /// FAIR, if a crash came between link and truncation: the right leaf is then exactly this leaf's pairs from some
    /// slot on. Any other overlap is damage, and the rebuild reports it.
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
            // The rebuild fences before any operation changes the right leaf. No crash leaves a slot of that leaf in
            // transit.
            pen.flush(&self.pairs[cut]);
        }
    }
}

impl<const SLOTS: usize, G: Guide> Leaf for FastFair<SLOTS, G> {
    const CARD: Card = Card {
        source: "FAST and FAIR: Hwang et al., FAST 2018",
        defers: false,
        needs_line_order: true,
        needs_whole_keys: false,
        linked: true,
        keeps: true,
    };
    const CAPACITY: usize = Self::MOST;
    type Beside = Beside<G>;

    #[inline]
    fn get<K: Keys>(&self, beside: &Beside<G>, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        let found = G::seek(self.board(beside), self.row(Self::count(beside)), lens, probe);
        found.map(|slot| self.pairs[slot].payload.read())
    }

    #[inline]
    fn glance<K: Keys>(&self, beside: &Beside<G>, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        let found = G::glance(self.board(beside), self.row(Self::count(beside)), lens, probe);
        found.map(|slot| self.pairs[slot].payload.read())
    }

    fn summon(&self) {
        if SLOTS <= FEW_SLOTS {
            return holm_search::prefetch_lines(self);
        }
        // A search stops early, or goes to one line directly: most prefetched lines of a long block would be wasted.
        holm_search::prefetch(self);
        holm_search::prefetch_lines(&self.inlaid);
    }

    fn aim<K: Keys>(&self, _: &Beside<G>, _: Lens<'_, K>, _: K::Probe<'_>) {
        self.summon();
    }

    fn live(&self, beside: &Beside<G>, out: &mut Pairs) {
        (0..Self::count(beside)).for_each(|slot| out.push(self.slot(slot)));
    }

    fn next(&self) -> u32 {
        self.link.read() as u32
    }

    fn format<M: Medium>(&self, beside: &Beside<G>, pen: &mut Pen<'_, M>, home: Home) {
        pen.write(&self.link, 0);
        // Whichever word is the mark. Pairs in later lines are never reached past these zeros.
        for pair in &self.pairs[1..3] {
            pen.write(&pair.head, 0);
            pen.write(&pair.payload, 0);
        }
        // The commit word, last in its line: when recovery finds the block as a leaf, the leaf is empty.
        pen.write(&self.home, u64::from(home.keyspace) | LEAF | if home.first { FIRST } else { 0 });
        pen.persist(&self.home);
        beside.count.store(0, Relaxed);
        G::derive(self.board(beside), pen, self.row(0), |_| 0);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        beside: &Beside<G>,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        let count = Self::count(beside);
        let found = G::find(self.board(beside), self.row(count), lens, probe);
        if found.is_err() && count == Self::MOST {
            return Err(Full);
        }
        match found {
            Ok(at) => {
                self.row(count).check_mark::<K>(at, payload);
                let old = self.pairs[at].payload.read();
                // The commit word.
                pen.write(&self.pairs[at].payload, payload);
                pen.persist(&self.pairs[at]);
                Ok(Some(Old { payload: old, young: false }))
            }
            Err(at) => {
                self.row(count).check_mark::<K>(count, payload);
                let slot = Slot { head: K::head(probe, 0), payload };
                self.open::<M, K>(self.board(beside), pen, (count, at), (slot, K::print(probe)));
                beside.count.store(count as u32 + 1, Relaxed);
                Ok(None)
            }
        }
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        beside: &Beside<G>,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
    ) -> Option<Old> {
        let count = Self::count(beside);
        let at = G::seek(self.board(beside), self.row(count), lens, probe)?;
        let old = self.pairs[at].payload.read();
        // The commit word.
        self.invalidate::<M, K>(pen, at);
        self.close::<M, K>(self.board(beside), pen, at, count);
        beside.count.store(count as u32 - 1, Relaxed);
        Some(Old { payload: old, young: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        beside: &Beside<G>,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        _: (&K::Fence, Option<&K::Fence>),
    ) -> Split<K::Fence> {
        let count = Self::count(beside);
        let middle = count / 2;
        let key = |slot: usize| lens.keys.key(self.slot(slot));
        // There may be room by now. There is no key if a record is missing, which only damage can cause: the tree set
        // then reports a leaf that stays full.
        let ends = (count == Self::MOST).then(|| key(middle - 1).zip(key(middle))).flatten();
        let Some((last, first)) = ends else {
            return Split { left: own, right: None };
        };
        let [right, _] = fresh;
        let number = right.number;
        self.halve::<M, K>(beside, pen, right);
        Split { left: own, right: Some((K::separator(&last, &first), number)) }
    }

    fn abandon<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        pen.write(&self.home, 0);
        // Before the block is reused: otherwise recovery finds the first leaf of a dropped keyspace.
        pen.persist(&self.home);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &Beside<G>,
        _: &mut Pen<'_, M>,
        _: Cut,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        let (home, link) = (self.home.read(), self.link.read());
        if home == 0 {
            return Ok(Fate::Free);
        }
        if home & LEAF == 0 || home >= FRONT << 1 || link > u64::from(u32::MAX) {
            let expected = "a block's number; a keyspace with at most three marks, of which one says leaf";
            return Err(damaged::<Self>((own, 0), "a leaf's header", format!("{link:#x}, {home:#x}"), expected));
        }
        Ok(Fate::Live { keyspace: home as u32, first: home & FIRST != 0 })
    }

    fn mend<M: Medium, K: Keys>(
        &self,
        beside: &Beside<G>,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        right: Option<&Self>,
    ) {
        if let Some(right) = right {
            self.truncate(pen, lens, right);
        }
        // At most one slot is in transit after a crash, but the loop ends on any bits: each turn removes one slot.
        for _ in 0..SLOTS {
            let survey = self.survey::<K>();
            let Some(at) = survey.transit() else { break };
            // As a removal does: if a crash interrupts this, it leaves what an interrupted removal leaves.
            self.close::<M, K>(self.board(beside), pen, at, survey.end);
        }
        // Here, and not where the count is derived: signs in the block need a write handle.
        let row = self.row(self.survey::<K>().count());
        G::derive(self.board(beside), pen, row, |index| print_of(lens, row, index));
    }

    fn relink<M: Medium, K: Keys>(&self, _: &Beside<G>, _: Lens<'_, K>, pen: &mut Pen<'_, M>, next: u32) {
        pen.write(&self.link, next.into());
        pen.flush(&self.link);
    }

    fn rederive<K: Keys>(&self, beside: &Beside<G>, _: Lens<'_, K>) {
        beside.count.store(self.survey::<K>().count() as u32, Relaxed);
    }
}
