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

use crate::guide::{Board, Guide, fingerprint_of};
use crate::row::{LINE_SLOTS, Row};
use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::{Keys, Role, Slot};
use holm_tree::leaf::{
    AlongLinks, BlockByte, BlockState, Full, Home, Leaf, Linked, MOST_PAIRS, Merge, OneBlock, Pairs, PerOperation,
    Prefetch, ReadContext, RecoveryPoint, Replaced, Split, SplitRequest, WriteContext, damaged,
};
use holm_tree::pair::{Pair, unique_and_other};

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
    fn board<'a>(&'a self, volatile: &'a G::Volatile) -> Board<'a, G> {
        Board { inlaid: &self.inlaid, volatile }
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
    fn zero<K: Keys>(&self, search_key: K::SearchKey<'_>) -> Option<Option<u64>> {
        let is = K::UNIQUE == Role::Head && K::head(search_key, 0) == 0;
        is.then(|| (self.home.read() & ZERO != 0).then(|| self.zero.read()))
    }

    /// The place before `place`, around the end.
    #[inline]
    fn before(place: usize) -> usize {
        place.checked_sub(1).unwrap_or(SLOTS - 1)
    }

    /// Notes that a shift reaches a place.
    fn enter<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, course: &mut Course, at: usize) {
        let line = |place: usize| (place + LEAD) / LINE_SLOTS;
        if let Some(last) = course.filter(|last| line(*last) != line(at)) {
            // Before this line gives up a pair that the last line took over: otherwise a crash keeps this line, loses
            // that one, and the pair.
            handle.persist(&self.pairs[last]);
        }
        *course = Some(at);
    }

    /// Copies a pair to the next place. The mark first: the copy is in transit before it differs from the old content.
    fn rise<M: Medium, K: Keys>(
        &self,
        board: Board<'_, G>,
        handle: &mut WriteHandle<'_, M>,
        row: Row<'_>,
        from: usize,
        to: usize,
    ) {
        handle.write(self.pairs[to].unique_word::<K>(), self.pairs[from].unique_word::<K>().read());
        handle.write(self.pairs[to].other_word::<K>(), self.pairs[from].other_word::<K>().read());
        G::moved(board, handle, row, from, to);
    }

    /// Copies a pair to the place before. The mark last: until then the place is vacant or in transit; afterwards the
    /// pair's old place is in transit.
    fn fall<M: Medium, K: Keys>(
        &self,
        board: Board<'_, G>,
        handle: &mut WriteHandle<'_, M>,
        row: Row<'_>,
        from: usize,
        to: usize,
    ) {
        handle.write(self.pairs[to].other_word::<K>(), self.pairs[from].other_word::<K>().read());
        handle.write(self.pairs[to].unique_word::<K>(), self.pairs[from].unique_word::<K>().read());
        G::moved(board, handle, row, from, to);
    }

    fn vacate<M: Medium, K: Keys>(
        &self,
        board: Board<'_, G>,
        handle: &mut WriteHandle<'_, M>,
        row: Row<'_>,
        at: usize,
    ) {
        handle.write(self.pairs[at].unique_word::<K>(), 0);
        G::vacated(board, handle, row, at);
    }

    fn set_ring<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, ring: Ring) {
        handle.write(&self.ring, ring.bits());
        // Before the operation is acknowledged, together with the last line of its shift: a crash may keep either one
        // without the other. The next operation may move the same end by one more, and recovery looks one slot beside
        // the base, no further.
        handle.persist(&self.ring);
    }

    /// Puts a pair at an index, and shifts the side with fewer pairs.
    fn open<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, G::Volatile, M, K>,
        ring: Ring,
        at: usize,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) {
        let (context, handle) = context.parts();
        let (board, row) = (self.board(context.volatile), self.row(ring));
        let mut course = None;
        let rising = ring.count - at <= at;
        let target = if rising {
            for from in (at..ring.count).rev() {
                self.enter(handle, &mut course, row.place(from + 1));
                self.rise::<M, K>(board, handle, row, row.place(from), row.place(from + 1));
            }
            let target = row.place(at);
            self.enter(handle, &mut course, target);
            if at < ring.count {
                // In transit, and from this store on the copy above it counts.
                handle.write(
                    self.pairs[target].unique_word::<K>(),
                    row.pair(row.place(at - 1)).unique_word::<K>().read(),
                );
            }
            target
        } else {
            for from in 0..at {
                let to = Self::before(row.place(from));
                self.enter(handle, &mut course, to);
                self.fall::<M, K>(board, handle, row, row.place(from), to);
            }
            let target = Self::before(row.place(at));
            self.enter(handle, &mut course, target);
            target
        };
        let (unique_word, other_word) = unique_and_other::<K>(Slot { head: K::head(search_key, 0), payload });
        handle.write(self.pairs[target].other_word::<K>(), other_word);
        // The commit word: the slot is no longer vacant or in transit.
        handle.write(self.pairs[target].unique_word::<K>(), unique_word);
        handle.flush(&self.pairs[target]);
        G::placed(board, handle, row, target, K::fingerprint(search_key));
        let base = if rising { ring.base } else { Self::before(ring.base) };
        self.set_ring(handle, Ring { base, count: ring.count + 1, ..ring });
    }

    /// Removes the pair at an index, and closes the gap from the shorter side.
    fn close<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, G::Volatile, M, K>, ring: Ring, at: usize) {
        let (context, handle) = context.parts();
        let (board, row) = (self.board(context.volatile), self.row(ring));
        let last = ring.count - 1;
        if at > last - at {
            let mut course = None;
            if at < last {
                self.enter(handle, &mut course, row.place(at));
                // The commit word: the slot is in transit.
                handle.write(
                    row.pair(row.place(at)).unique_word::<K>(),
                    row.pair(row.place(at - 1)).unique_word::<K>().read(),
                );
            }
            self.fall_in::<M, K>(board, handle, row, at, course);
            return self.set_ring(handle, Ring { count: last, ..ring });
        }
        let mut course = None;
        for to in (1..=at).rev() {
            self.enter(handle, &mut course, row.place(to));
            // The commit word is the first of these marks: it puts the removed pair in transit.
            self.rise::<M, K>(board, handle, row, row.place(to - 1), row.place(to));
        }
        self.enter(handle, &mut course, ring.base);
        // The commit word of the first pair's removal.
        self.vacate::<M, K>(board, handle, row, ring.base);
        handle.flush(&self.pairs[ring.base]);
        self.set_ring(handle, Ring { base: row.place(1), count: last, ..ring });
    }

    /// Shifts the pairs behind an index to the left. The pair at the index is in transit, or is the last and is
    /// removed.
    fn fall_in<M: Medium, K: Keys>(
        &self,
        board: Board<'_, G>,
        handle: &mut WriteHandle<'_, M>,
        row: Row<'_>,
        at: usize,
        mut course: Course,
    ) {
        let last = row.count() - 1;
        for to in at..last {
            self.enter(handle, &mut course, row.place(to));
            self.fall::<M, K>(board, handle, row, row.place(to + 1), row.place(to));
        }
        self.enter(handle, &mut course, row.place(last));
        // The commit word of the last pair's removal.
        self.vacate::<M, K>(board, handle, row, row.place(last));
        handle.flush(&self.pairs[row.place(last)]);
    }

    /// Finishes an interrupted split: vacates the slots behind the ring's count that the right leaf also has.
    fn truncate<M: Medium, K: Keys>(&self, handle: &mut WriteHandle<'_, M>, right: &Self) {
        let ring = self.ring();
        let row = self.row(ring);
        let mut course: Course = None;
        // The last index is the slot before the base: no split leaves a pair there.
        for place in (ring.count..SLOTS - 1).map(|index| row.place(index)) {
            let word = self.pairs[place].unique_word::<K>();
            let moved = word.read();
            if moved != 0 && right.pairs.iter().any(|pair| pair.unique_word::<K>().read() == moved) {
                if let Some(last) = course.filter(|last| row.line(*last) != row.line(place)) {
                    handle.flush(&self.pairs[last]);
                }
                handle.write(word, 0);
                course = Some(place);
            }
        }
        if let Some(last) = course {
            // The rebuild fences before any operation changes the right leaf.
            handle.flush(&self.pairs[last]);
        }
    }

    /// The slots in use, whatever the ring's word says: they begin at the base or one slot beside it.
    fn run<K: Keys>(&self) -> Ring {
        let ring = self.ring();
        let used = |place: usize| self.pairs[place].unique_word::<K>().read() != 0;
        let around = |place: usize| if place < SLOTS { place } else { place - SLOTS };
        let ends = [Self::before(ring.base), ring.base, around(ring.base + 1)];
        let Some(base) = ends.into_iter().find(|place| used(*place)) else { return Ring { count: 0, ..ring } };
        let count = (0..Self::MOST).take_while(|index| used(around(base + index))).count();
        Ring { base, count, ..ring }
    }
}

impl<const SLOTS: usize, G: Guide> Leaf for Circ<SLOTS, G> {
    const SOURCE: &'static str = "Circ-Tree: Wang et al., IEEE TC 71(2), 2022";
    /// The key zero has its place in the header and is not included.
    const CAPACITY: usize = Self::MOST;
    const NEEDS_LINE_ORDER: bool = true;
    type Volatile = G::Volatile;
    type Durability = PerOperation;
    type Overflow = OneBlock;
    type Recovery = AlongLinks;

    #[inline]
    fn get<K: Keys>(&self, context: ReadContext<'_, G::Volatile, K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        if let Some(zero) = self.zero::<K>(search_key) {
            return zero;
        }
        let row = self.row(self.ring());
        G::seek(self.board(context.volatile), row, context, search_key).map(|index| row.slot(index).payload)
    }

    fn block_pairs(&self, _: &G::Volatile, out: &mut Pairs) {
        if self.home.read() & ZERO != 0 {
            out.push(Slot { head: 0, payload: self.zero.read() });
        }
        let row = self.row(self.ring());
        (0..row.count()).for_each(|index| out.push(row.slot(index)));
    }

    fn format<M: Medium>(&self, volatile: &G::Volatile, handle: &mut WriteHandle<'_, M>, home: Home) {
        let (first_line, rest) = self.pairs.split_at(LINE_SLOTS - LEAD);
        // Whichever word is the mark, all slots become vacant.
        for pair in rest {
            handle.write(&pair.head, 0);
            // Survivor (store): of words, the head is the mark; of records, the payload is.
            handle.write(&pair.payload, 0);
        }
        for line in rest.chunks(LINE_SLOTS) {
            handle.flush(&line[0]);
        }
        // Before the block is a leaf: otherwise a crash leaves a leaf with the block's old contents.
        handle.fence();
        for pair in first_line {
            handle.write(&pair.head, 0);
            // Survivor (store): as above.
            handle.write(&pair.payload, 0);
        }
        handle.write(&self.ring, 0);
        // The commit word, last in its line: when recovery finds the block as a leaf, the leaf is empty.
        handle.write(&self.home, u64::from(home.keyspace) | LEAF | if home.first { FIRST } else { 0 });
        // Survivor (flush, fence): no crash tells an empty tree from none, and the first put flushes this line and
        // fences.
        handle.persist(&self.home);
        G::derive(self.board(volatile), handle, self.row(Ring::of(0)), |_| 0);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, G::Volatile, M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        if let Some(zero) = self.zero::<K>(search_key) {
            // The commit word if the key is present.
            context.handle.write(&self.zero, payload);
            if zero.is_none() {
                // The commit word if it is absent, stored after the payload in the same line.
                context.handle.write(&self.home, self.home.read() | ZERO);
            }
            context.handle.persist(&self.home);
            return Ok(zero.map(|payload| Replaced { payload, same_epoch: false }));
        }
        let ring = self.ring();
        let row = self.row(ring);
        match G::find(self.board(context.read.volatile), row, context.read, search_key) {
            Ok(at) => {
                row.check_unique::<K>(at, payload);
                let pair = row.pair(row.place(at));
                let old = pair.payload.read();
                // The commit word.
                context.handle.write(&pair.payload, payload);
                context.handle.persist(pair);
                Ok(Some(Replaced { payload: old, same_epoch: false }))
            }
            Err(_) if ring.count == Self::MOST => Err(Full),
            Err(at) => {
                row.check_unique::<K>(ring.count, payload);
                self.open(context, ring, at, search_key, payload);
                Ok(None)
            }
        }
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, G::Volatile, M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        if let Some(zero) = self.zero::<K>(search_key) {
            let payload = zero?;
            // The commit word.
            context.handle.write(&self.home, self.home.read() & !ZERO);
            context.handle.persist(&self.home);
            return Some(Replaced { payload, same_epoch: false });
        }
        let ring = self.ring();
        let row = self.row(ring);
        let at = G::seek(self.board(context.read.volatile), row, context.read, search_key)?;
        let payload = row.slot(at).payload;
        self.close(context, ring, at);
        Some(Replaced { payload, same_epoch: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, G::Volatile, M, K>,
        SplitRequest { own, fresh: [right, _], .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let (context, handle) = context.parts();
        let ring = self.ring();
        let row = self.row(ring);
        let middle = ring.count / 2;
        let key = |index: usize| context.keys.key(row.slot(index));
        // There may be room by now. There is no key if a record is missing, which only damage can cause: the tree set
        // then reports a leaf that stays full.
        let ends = (ring.count == Self::MOST).then(|| key(middle - 1).zip(key(middle))).flatten();
        let Some((last, first)) = ends else {
            return Split::new(own, None);
        };
        let moved = (middle..ring.count).map(|index| row.slot(index)).chain(std::iter::repeat(Slot::default()));
        for (pair, slot) in right.leaf.pairs.iter().zip(moved) {
            handle.write(&pair.head, slot.head);
            handle.write(&pair.payload, slot.payload);
        }
        // The key zero is the least of all, so it stays left.
        handle.write(&right.leaf.home, self.home.read() & !(FIRST | ZERO));
        let half = Ring { next: ring.next, base: 0, count: ring.count - middle };
        handle.write(&right.leaf.ring, half.bits());
        // Before the link: otherwise a crash keeps the link and loses the pairs to which it leads.
        handle.persist(&right.leaf.pairs);
        // The commit word: the upper half now belongs to the right leaf, whatever the left leaf still contains.
        handle.write(&self.ring, Ring { next: right.number, count: middle, ..ring }.bits());
        // Before the upper half is vacated: otherwise a crash keeps that, and loses the link with the upper half.
        handle.persist(&self.ring);
        let board = self.board(context.volatile);
        let fingerprint = |index: usize| G::fingerprint(board, row.place(middle + index));
        G::derive(right.leaf.board(right.volatile), handle, right.leaf.row(half), fingerprint);
        for index in middle..ring.count {
            let place = row.place(index);
            self.vacate::<M, K>(board, handle, row, place);
            if index + 1 == ring.count || row.line(row.place(index + 1)) != row.line(place) {
                handle.flush(&self.pairs[place]);
            }
        }
        // Before the next change: recovery vacates here only what it finds in the right leaf, and a removal there would
        // hide a pair from it.
        handle.fence();
        Split::new(own, Some((K::shortest_separator(&last, &first), right.number)))
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.home, 0);
        // Before the block is reused: otherwise recovery finds the first leaf of a dropped keyspace.
        handle.persist(&self.home);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &G::Volatile,
        _: &mut WriteHandle<'_, M>,
        _: RecoveryPoint,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        let (home, ring) = (self.home.read(), self.ring.read());
        if home == 0 {
            return Ok(BlockState::Free);
        }
        if home & LEAF == 0 || home >= ZERO << 1 || self.ring().bits() != ring {
            let expected = "a block's number and a ring's base and count; a keyspace with at most three marks, of \
                            which one says leaf";
            return Err(damaged::<Self>(
                BlockByte::first_of(own),
                "a leaf's header",
                format!("{ring:#x}, {home:#x}"),
                expected,
            ));
        }
        Ok(BlockState::Live { keyspace: home as u32, first: home & FIRST != 0 })
    }
}

impl<const SLOTS: usize, G: Guide> Linked for Circ<SLOTS, G> {
    fn next(&self) -> u32 {
        self.ring().next
    }

    fn repair_link<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, G::Volatile, M, K>,
        right: Option<&Self>,
    ) {
        let (context, handle) = context.parts();
        if let Some(right) = right {
            self.truncate::<M, K>(handle, right);
        }
        let board = self.board(context.volatile);
        let mut run = self.run::<K>();
        // At most one slot is in transit after a crash, but the loop ends on any bits: each turn removes one slot.
        for _ in 0..SLOTS {
            let row = self.row(run);
            let word = |index: usize| row.pair(row.place(index)).unique_word::<K>().read();
            let Some(at) = (1..run.count).find(|index| word(*index) == word(index - 1)) else { break };
            // As a removal does: if a crash interrupts this, it leaves what an interrupted removal leaves.
            self.fall_in::<M, K>(board, handle, row, at, None);
            run.count -= 1;
        }
        if run != self.ring() {
            self.set_ring(handle, run);
        }
        // Signs in the block need a write handle.
        let row = self.row(run);
        G::derive(board, handle, row, |index| fingerprint_of(context, row, index));
    }

    fn relink<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, G::Volatile, M, K>, next: u32) {
        context.handle.write(&self.ring, Ring { next, ..self.ring() }.bits());
        context.handle.flush(&self.ring);
    }
}

impl<const SLOTS: usize, G: Guide> Prefetch for Circ<SLOTS, G> {
    fn prefetch_block(&self) {
        if SLOTS <= FEW_SLOTS {
            return holm_search::prefetch_lines(self);
        }
        // A search stops early, or goes to one line directly: most prefetched lines of a long block would be wasted.
        holm_search::prefetch(self);
        holm_search::prefetch_lines(&self.inlaid);
    }

    fn prefetch_pairs<K: Keys>(&self, _: ReadContext<'_, G::Volatile, K>, _: K::SearchKey<'_>) {
        self.prefetch_block();
    }

    #[inline]
    fn candidate_payload<K: Keys>(
        &self,
        context: ReadContext<'_, G::Volatile, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<u64> {
        let row = self.row(self.ring());
        G::candidate(self.board(context.volatile), row, context, search_key).map(|index| row.slot(index).payload)
    }
}

impl<const SLOTS: usize, G: Guide> Merge for Circ<SLOTS, G> {}
