//! Circ-Tree's leaf: a sorted array without a fixed base, shifted on its shorter side (Wang et al., IEEE TC 71(2),
//! 2022). This is a reconstruction: only the paper's idea is public.
//!
//! Durable when an operation returns. As in FAST and FAIR, a pair in transit has the mark of its left neighbour and
//! does not count. Each operation has one commit word, and a line is flushed and fenced before the shift leaves it for
//! the next. At the end one store of the ring's word records the new base and count.
//!
//! ```text
//! bytes 0-7     next leaf 32 | base 8 | count 8 | zero 16: the ring's word
//!       8-15    keyspace 32 | LEAF, FIRST, ZERO | zero
//!       16-23   the payload of the key zero, while ZERO is set
//!       24-31   spare
//!       32-511  30 pairs {head, payload}; slot i lies in line (i + 2) / 4; those in use ascend from the base, around
//!       512-    what the guide inlays, if it does
//! ```
//!
//! **A mark of zero is a vacant slot**, and every slot outside the ring is vacant. So one slot is never used: otherwise
//! the two ends of the ring would meet, and recovery could not distinguish them. The key zero, whose mark says
//! "vacant", lies in the header. Payloads that are marks are not zero.
//!
//! **What a crash leaves.** Between two operations the ring's word is exact. Within an operation, the slots in use
//! begin at most one slot beside the base. They are without a gap, and at most one of them is in transit. So recovery
//! closes that slot, as a removal would, and writes the ring's word. A split changes link and count in that one word.
//! The split vacates the moved slots after that; recovery vacates those that the right leaf also has.
//!
//! Assumption about the medium: what persists of a line is a prefix of the stores to it.

use crate::guide::{Board, Guide, print_of};
use crate::row::{LINE_SLOTS, Row};
use holm_medium::{Medium, Pen, Result, Word, persistent};
use holm_tree::keys::{Keys, Role, Slot};
use holm_tree::leaf::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, MOST_PAIRS, Old, Pairs, Split, damaged};
use holm_tree::pair::{Pair, mark_and_mate};

/// The header's length, in slots.
const LEAD: usize = 2;

/// With at most this many slots, all lines of a block are prefetched together.
const FEW_SLOTS: usize = 30;

/// The block is a leaf.
const LEAF: u64 = 1 << 32;
/// The first leaf of its keyspace.
const FIRST: u64 = 1 << 33;
/// The key zero is present.
const ZERO: u64 = 1 << 34;

persistent! {
    /// Four words of header, the pairs, and the guide's inlaid data.
    #[repr(align(64))]
    pub struct Circ<const SLOTS: usize; G: Guide> {
        ring: Word,
        home: Word,
        zero: Word,
        spare: Word,
        pairs: [Pair; SLOTS],
        inlaid: G::Inlaid,
    }
}

/// The ring's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ring {
    next: u32,
    base: usize,
    count: usize,
}

impl Ring {
    fn of(bits: u64) -> Self {
        Ring { next: bits as u32, base: (bits >> 32) as u8 as usize, count: (bits >> 40) as u8 as usize }
    }
    fn bits(self) -> u64 {
        u64::from(self.next) | (self.base as u64) << 32 | (self.count as u64) << 40
    }
}

/// The place written last: its line must be flushed before a shift continues in another line.
type Course = Option<usize>;

impl<const SLOTS: usize, G: Guide> Circ<SLOTS, G> {
    /// One slot less than the block has.
    const MOST: usize = {
        assert!((SLOTS + LEAD).is_multiple_of(LINE_SLOTS) && SLOTS < 256 && SLOTS <= MOST_PAIRS);
        assert!(SLOTS <= G::MOST_SLOTS);
        SLOTS - 1
    };

    #[inline(always)]
    fn board<'a>(&'a self, beside: &'a G::Beside) -> Board<'a, G> {
        Board { inlaid: &self.inlaid, beside }
    }

    /// A racing reader may see any bits; a row never extends beyond the block's slots.
    #[inline(always)]
    fn ring(&self) -> Ring {
        let ring = Ring::of(self.ring.read());
        Ring { base: if ring.base < SLOTS { ring.base } else { 0 }, count: ring.count.min(Self::MOST), ..ring }
    }

    #[inline(always)]
    fn row(&self, ring: Ring) -> Row<'_> {
        Row::new(&self.pairs, LEAD, ring.base, ring.count)
    }

    /// For the key zero, its payload in the header, if it is present; `None` for any other search key.
    #[inline]
    fn zero<K: Keys>(&self, probe: K::Probe<'_>) -> Option<Option<u64>> {
        let is = K::UNIQUE == Role::Head && K::head(probe, 0) == 0;
        is.then(|| (self.home.read() & ZERO != 0).then(|| self.zero.read()))
    }

    /// The place before `place`, around the end.
    #[inline]
    fn before(place: usize) -> usize {
        place.checked_sub(1).unwrap_or(SLOTS - 1)
    }

    /// Notes that a shift reaches a place.
    fn enter<M: Medium>(&self, pen: &mut Pen<'_, M>, course: &mut Course, at: usize) {
        let line = |place: usize| (place + LEAD) / LINE_SLOTS;
        if let Some(last) = course.filter(|last| line(*last) != line(at)) {
            // Before this line gives up a pair that the last line took over: otherwise a crash keeps this line, loses
            // that one, and the pair.
            pen.persist(&self.pairs[last]);
        }
        *course = Some(at);
    }

    /// Copies a pair to the next place. The mark first: the copy is in transit before it differs from the old content.
    fn rise<M: Medium, K: Keys>(
        &self,
        board: Board<'_, G>,
        pen: &mut Pen<'_, M>,
        row: Row<'_>,
        (from, to): (usize, usize),
    ) {
        pen.write(self.pairs[to].mark::<K>(), self.pairs[from].mark::<K>().read());
        pen.write(self.pairs[to].mate::<K>(), self.pairs[from].mate::<K>().read());
        G::moved(board, pen, row, from, to);
    }

    /// Copies a pair to the place before. The mark last: until then the place is vacant or in transit; afterwards the
    /// pair's old place is in transit.
    fn fall<M: Medium, K: Keys>(
        &self,
        board: Board<'_, G>,
        pen: &mut Pen<'_, M>,
        row: Row<'_>,
        (from, to): (usize, usize),
    ) {
        pen.write(self.pairs[to].mate::<K>(), self.pairs[from].mate::<K>().read());
        pen.write(self.pairs[to].mark::<K>(), self.pairs[from].mark::<K>().read());
        G::moved(board, pen, row, from, to);
    }

    fn vacate<M: Medium, K: Keys>(&self, board: Board<'_, G>, pen: &mut Pen<'_, M>, row: Row<'_>, at: usize) {
        pen.write(self.pairs[at].mark::<K>(), 0);
        G::vacated(board, pen, row, at);
    }

    fn set_ring<M: Medium>(&self, pen: &mut Pen<'_, M>, ring: Ring) {
        pen.write(&self.ring, ring.bits());
        // Before the operation is acknowledged, together with the last line of its shift: a crash may keep either one
        // without the other. The next operation may move the same end by one more, and recovery looks one slot beside
        // the base, no further.
        pen.persist(&self.ring);
    }

    /// Puts a pair at an index, and shifts the side with fewer pairs.
    fn open<M: Medium, K: Keys>(
        &self,
        board: Board<'_, G>,
        pen: &mut Pen<'_, M>,
        (ring, at): (Ring, usize),
        (slot, print): (Slot, u8),
    ) {
        let row = self.row(ring);
        let mut course = None;
        let rising = ring.count - at <= at;
        let target = if rising {
            for from in (at..ring.count).rev() {
                self.enter(pen, &mut course, row.place(from + 1));
                self.rise::<M, K>(board, pen, row, (row.place(from), row.place(from + 1)));
            }
            let target = row.place(at);
            self.enter(pen, &mut course, target);
            if at < ring.count {
                // In transit, and from this store on the copy above it counts.
                pen.write(self.pairs[target].mark::<K>(), row.pair(row.place(at - 1)).mark::<K>().read());
            }
            target
        } else {
            for from in 0..at {
                let to = Self::before(row.place(from));
                self.enter(pen, &mut course, to);
                self.fall::<M, K>(board, pen, row, (row.place(from), to));
            }
            let target = Self::before(row.place(at));
            self.enter(pen, &mut course, target);
            target
        };
        let (mark_word, mate_word) = mark_and_mate::<K>(slot);
        pen.write(self.pairs[target].mate::<K>(), mate_word);
        // The commit word: the slot is no longer vacant or in transit.
        pen.write(self.pairs[target].mark::<K>(), mark_word);
        pen.flush(&self.pairs[target]);
        G::placed(board, pen, row, target, print);
        let base = if rising { ring.base } else { Self::before(ring.base) };
        self.set_ring(pen, Ring { base, count: ring.count + 1, ..ring });
    }

    /// Removes the pair at an index, and closes the gap from the shorter side.
    fn close<M: Medium, K: Keys>(&self, board: Board<'_, G>, pen: &mut Pen<'_, M>, ring: Ring, at: usize) {
        let row = self.row(ring);
        let last = ring.count - 1;
        if at > last - at {
            let mut course = None;
            if at < last {
                self.enter(pen, &mut course, row.place(at));
                // The commit word: the slot is in transit.
                pen.write(row.pair(row.place(at)).mark::<K>(), row.pair(row.place(at - 1)).mark::<K>().read());
            }
            self.fall_in::<M, K>(board, pen, row, at, course);
            return self.set_ring(pen, Ring { count: last, ..ring });
        }
        let mut course = None;
        for to in (1..=at).rev() {
            self.enter(pen, &mut course, row.place(to));
            // The commit word is the first of these marks: it puts the removed pair in transit.
            self.rise::<M, K>(board, pen, row, (row.place(to - 1), row.place(to)));
        }
        self.enter(pen, &mut course, ring.base);
        // The commit word of the first pair's removal.
        self.vacate::<M, K>(board, pen, row, ring.base);
        pen.flush(&self.pairs[ring.base]);
        self.set_ring(pen, Ring { base: row.place(1), count: last, ..ring });
    }

    /// Shifts the pairs behind an index to the left. The pair at the index is in transit, or is the last and is
    /// removed.
    fn fall_in<M: Medium, K: Keys>(
        &self,
        board: Board<'_, G>,
        pen: &mut Pen<'_, M>,
        row: Row<'_>,
        at: usize,
        mut course: Course,
    ) {
        let last = row.count() - 1;
        for to in at..last {
            self.enter(pen, &mut course, row.place(to));
            self.fall::<M, K>(board, pen, row, (row.place(to + 1), row.place(to)));
        }
        self.enter(pen, &mut course, row.place(last));
        // The commit word of the last pair's removal.
        self.vacate::<M, K>(board, pen, row, row.place(last));
        pen.flush(&self.pairs[row.place(last)]);
    }

    /// Finishes an interrupted split: vacates the slots behind the ring's count that the right leaf also has.
    fn truncate<M: Medium, K: Keys>(&self, pen: &mut Pen<'_, M>, right: &Self) {
        let ring = self.ring();
        let row = self.row(ring);
        let mut course: Course = None;
        // The last index is the slot before the base: no split leaves a pair there.
        for place in (ring.count..SLOTS - 1).map(|index| row.place(index)) {
            let word = self.pairs[place].mark::<K>();
            let moved = word.read();
            if moved != 0 && right.pairs.iter().any(|pair| pair.mark::<K>().read() == moved) {
                if let Some(last) = course.filter(|last| row.line(*last) != row.line(place)) {
                    pen.flush(&self.pairs[last]);
                }
                pen.write(word, 0);
                course = Some(place);
            }
        }
        if let Some(last) = course {
            // The rebuild fences before any operation changes the right leaf.
            pen.flush(&self.pairs[last]);
        }
    }

    /// The slots in use, whatever the ring's word says: they begin at the base or one slot beside it.
    fn run<K: Keys>(&self) -> Ring {
        let ring = self.ring();
        let used = |place: usize| self.pairs[place].mark::<K>().read() != 0;
        let around = |place: usize| if place < SLOTS { place } else { place - SLOTS };
        let ends = [Self::before(ring.base), ring.base, around(ring.base + 1)];
        let Some(base) = ends.into_iter().find(|place| used(*place)) else { return Ring { count: 0, ..ring } };
        let count = (0..Self::MOST).take_while(|index| used(around(base + index))).count();
        Ring { base, count, ..ring }
    }
}

impl<const SLOTS: usize, G: Guide> Leaf for Circ<SLOTS, G> {
    const CARD: Card = Card {
        source: "Circ-Tree: Wang et al., IEEE TC 71(2), 2022",
        defers: false,
        needs_line_order: true,
        needs_whole_keys: false,
        linked: true,
        keeps: true,
    };
    /// The key zero has its place in the header and is not included.
    const CAPACITY: usize = Self::MOST;
    type Beside = G::Beside;

    #[inline]
    fn get<K: Keys>(&self, beside: &G::Beside, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        if let Some(zero) = self.zero::<K>(probe) {
            return zero;
        }
        let row = self.row(self.ring());
        G::seek(self.board(beside), row, lens, probe).map(|index| row.slot(index).payload)
    }

    #[inline]
    fn glance<K: Keys>(&self, beside: &G::Beside, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        let row = self.row(self.ring());
        G::glance(self.board(beside), row, lens, probe).map(|index| row.slot(index).payload)
    }

    fn summon(&self) {
        if SLOTS <= FEW_SLOTS {
            return holm_search::prefetch_lines(self);
        }
        // A search stops early, or goes to one line directly: most prefetched lines of a long block would be wasted.
        holm_search::prefetch(self);
        holm_search::prefetch_lines(&self.inlaid);
    }

    fn aim<K: Keys>(&self, _: &G::Beside, _: Lens<'_, K>, _: K::Probe<'_>) {
        self.summon();
    }

    fn live(&self, _: &G::Beside, out: &mut Pairs) {
        if self.home.read() & ZERO != 0 {
            out.push(Slot { head: 0, payload: self.zero.read() });
        }
        let row = self.row(self.ring());
        (0..row.count()).for_each(|index| out.push(row.slot(index)));
    }

    fn next(&self) -> u32 {
        self.ring().next
    }

    fn format<M: Medium>(&self, beside: &G::Beside, pen: &mut Pen<'_, M>, home: Home) {
        let (first_line, rest) = self.pairs.split_at(LINE_SLOTS - LEAD);
        // Whichever word is the mark, all slots become vacant.
        for pair in rest {
            pen.write(&pair.head, 0);
            pen.write(&pair.payload, 0);
        }
        for line in rest.chunks(LINE_SLOTS) {
            pen.flush(&line[0]);
        }
        // Before the block is a leaf: otherwise a crash leaves a leaf with the block's old contents.
        pen.fence();
        for pair in first_line {
            pen.write(&pair.head, 0);
            pen.write(&pair.payload, 0);
        }
        pen.write(&self.ring, 0);
        // The commit word, last in its line: when recovery finds the block as a leaf, the leaf is empty.
        pen.write(&self.home, u64::from(home.keyspace) | LEAF | if home.first { FIRST } else { 0 });
        pen.persist(&self.home);
        G::derive(self.board(beside), pen, self.row(Ring::of(0)), |_| 0);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        beside: &G::Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        if let Some(zero) = self.zero::<K>(probe) {
            // The commit word if the key is present.
            pen.write(&self.zero, payload);
            if zero.is_none() {
                // The commit word if it is absent, stored after the payload in the same line.
                pen.write(&self.home, self.home.read() | ZERO);
            }
            pen.persist(&self.home);
            return Ok(zero.map(|payload| Old { payload, young: false }));
        }
        let ring = self.ring();
        let row = self.row(ring);
        match G::find(self.board(beside), row, lens, probe) {
            Ok(at) => {
                row.check_mark::<K>(at, payload);
                let pair = row.pair(row.place(at));
                let old = pair.payload.read();
                // The commit word.
                pen.write(&pair.payload, payload);
                pen.persist(pair);
                Ok(Some(Old { payload: old, young: false }))
            }
            Err(_) if ring.count == Self::MOST => Err(Full),
            Err(at) => {
                row.check_mark::<K>(ring.count, payload);
                let slot = Slot { head: K::head(probe, 0), payload };
                self.open::<M, K>(self.board(beside), pen, (ring, at), (slot, K::print(probe)));
                Ok(None)
            }
        }
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        beside: &G::Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
    ) -> Option<Old> {
        if let Some(zero) = self.zero::<K>(probe) {
            let payload = zero?;
            // The commit word.
            pen.write(&self.home, self.home.read() & !ZERO);
            pen.persist(&self.home);
            return Some(Old { payload, young: false });
        }
        let ring = self.ring();
        let row = self.row(ring);
        let at = G::seek(self.board(beside), row, lens, probe)?;
        let payload = row.slot(at).payload;
        self.close::<M, K>(self.board(beside), pen, ring, at);
        Some(Old { payload, young: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        beside: &G::Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        _: (&K::Fence, Option<&K::Fence>),
    ) -> Split<K::Fence> {
        let ring = self.ring();
        let row = self.row(ring);
        let middle = ring.count / 2;
        let key = |index: usize| lens.keys.key(row.slot(index));
        // There may be room by now. There is no key if a record is missing, which only damage can cause: the tree set
        // then reports a leaf that stays full.
        let ends = (ring.count == Self::MOST).then(|| key(middle - 1).zip(key(middle))).flatten();
        let Some((last, first)) = ends else {
            return Split { left: own, right: None };
        };
        let [right, _] = fresh;
        let moved = (middle..ring.count).map(|index| row.slot(index)).chain(std::iter::repeat(Slot::default()));
        for (pair, slot) in right.leaf.pairs.iter().zip(moved) {
            pen.write(&pair.head, slot.head);
            pen.write(&pair.payload, slot.payload);
        }
        // The key zero is the least of all, so it stays left.
        pen.write(&right.leaf.home, self.home.read() & !(FIRST | ZERO));
        let half = Ring { next: ring.next, base: 0, count: ring.count - middle };
        pen.write(&right.leaf.ring, half.bits());
        // Before the link: otherwise a crash keeps the link and loses the pairs to which it leads.
        pen.persist(&right.leaf.pairs);
        // The commit word: the upper half now belongs to the right leaf, whatever the left leaf still contains.
        pen.write(&self.ring, Ring { next: right.number, count: middle, ..ring }.bits());
        // Before the upper half is vacated: otherwise a crash keeps that, and loses the link with the upper half.
        pen.persist(&self.ring);
        let board = self.board(beside);
        let print = |index: usize| G::print(board, row.place(middle + index));
        G::derive(right.leaf.board(right.beside), pen, right.leaf.row(half), print);
        for index in middle..ring.count {
            let place = row.place(index);
            self.vacate::<M, K>(board, pen, row, place);
            if index + 1 == ring.count || row.line(row.place(index + 1)) != row.line(place) {
                pen.flush(&self.pairs[place]);
            }
        }
        // Before the next change: recovery vacates here only what it finds in the right leaf, and a removal there would
        // hide a pair from it.
        pen.fence();
        Split { left: own, right: Some((K::separator(&last, &first), right.number)) }
    }

    fn abandon<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        pen.write(&self.home, 0);
        // Before the block is reused: otherwise recovery finds the first leaf of a dropped keyspace.
        pen.persist(&self.home);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &G::Beside,
        _: &mut Pen<'_, M>,
        _: Cut,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        let (home, ring) = (self.home.read(), self.ring.read());
        if home == 0 {
            return Ok(Fate::Free);
        }
        if home & LEAF == 0 || home >= ZERO << 1 || self.ring().bits() != ring {
            let expected = "a block's number and a ring's base and count; a keyspace with at most three marks, of \
                            which one says leaf";
            return Err(damaged::<Self>((own, 0), "a leaf's header", format!("{ring:#x}, {home:#x}"), expected));
        }
        Ok(Fate::Live { keyspace: home as u32, first: home & FIRST != 0 })
    }

    fn mend<M: Medium, K: Keys>(
        &self,
        beside: &G::Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        right: Option<&Self>,
    ) {
        if let Some(right) = right {
            self.truncate::<M, K>(pen, right);
        }
        let board = self.board(beside);
        let mut run = self.run::<K>();
        // At most one slot is in transit after a crash, but the loop ends on any bits: each turn removes one slot.
        for _ in 0..SLOTS {
            let row = self.row(run);
            let word = |index: usize| row.pair(row.place(index)).mark::<K>().read();
            let Some(at) = (1..run.count).find(|index| word(*index) == word(index - 1)) else { break };
            // As a removal does: if a crash interrupts this, it leaves what an interrupted removal leaves.
            self.fall_in::<M, K>(board, pen, row, at, None);
            run.count -= 1;
        }
        if run != self.ring() {
            self.set_ring(pen, run);
        }
        // Signs in the block need a write handle.
        let row = self.row(run);
        G::derive(board, pen, row, |index| print_of(lens, row, index));
    }

    fn relink<M: Medium, K: Keys>(&self, _: &G::Beside, _: Lens<'_, K>, pen: &mut Pen<'_, M>, next: u32) {
        pen.write(&self.ring, Ring { next, ..self.ring() }.bits());
        pen.flush(&self.ring);
    }
}
