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
//! two words exchanged. The published code's marks and flushes are a form of their own.
//!
//! **Which slots count.** Slot 0 counts if and only if `FRONT` is set: the paper's reserved pointer left of slot 0
//! would be a legal key here, and a bit in the same line costs no flush. A later slot whose mark equals that of a left
//! neighbour that counts is in transit. Otherwise a mark of zero ends the pairs. This loses no legal pair: payloads
//! that are marks are not zero, and the key zero can only lie in slot 0. If it lies there, a zero in slot 1 reads as
//! "in transit", and recovery looks in slot 2 for the zero that ends the pairs. That zero is there even if the key zero
//! is the only pair, see `close`.
//!
//! Readers use none of this. Their count of slots is volatile and lies beside the block, and they validate the leaf's
//! latch, so they do not need the paper's switch counter. Only [`Linked::repair_link`] reads marks: it knows what slots
//! stand for, and `recover` does not. Assumption about the medium: what persists of a line is a prefix of the stores to
//! it.

mod form;
mod node;
mod ordered;
mod published;

use self::form::{FRONT, Form, LEAD, starts_line};
use self::ordered::Ordered;
pub use self::published::Published;
use crate::guide::{Board, Guide, fingerprint_of};
use crate::row::{LINE_SLOTS, Row};
use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    AlongLinks, BlockByte, BlockState, Full, Home, Leaf, LeafRef, Linked, MOST_PAIRS, Merge, OneBlock, Pairs,
    PerOperation, Prefetch, ReadContext, RecoveryPoint, Replaced, Split, SplitRequest, WriteContext, damaged,
};
use holm_tree::pair::Pair;
use holm_tree::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::cmp::Ordering;

/// With at most this many slots, all lines of a block are prefetched together.
const FEW_SLOTS: usize = 31;

/// The block is a leaf.
const LEAF: u64 = 1 << 32;
/// The first leaf of its keyspace.
const FIRST: u64 = 1 << 33;

persistent! {
    /// Two words of header, the pairs, and the guide's inlaid data; in one form of the protocol.
    #[repr(align(64))]
    pub struct Shifting<const SLOTS: usize; F: Form> {
        link: Word,
        home: Word,
        pairs: [Pair; SLOTS],
        inlaid: <F::Guide as Guide>::Inlaid,
    }
}

/// The form that the designs have.
pub type FastFair<const SLOTS: usize, G> = Shifting<SLOTS, Ordered<G>>;

/// The volatile side of a leaf.
pub struct Volatile<G: Guide> {
    /// The number of pairs.
    pub count: AtomicU32,
    /// The guide's volatile data.
    pub guide: G::Volatile,
}

impl<G: Guide> Default for Volatile<G> {
    fn default() -> Self {
        Volatile { count: AtomicU32::new(0), guide: G::Volatile::default() }
    }
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

impl<const SLOTS: usize, F: Form> Shifting<SLOTS, F> {
    /// One slot less than the block has: a mark of zero stays behind the last pair.
    const MOST: usize = {
        assert!((SLOTS + LEAD).is_multiple_of(LINE_SLOTS) && SLOTS <= MOST_PAIRS && SLOTS <= F::Guide::MOST_SLOTS);
        SLOTS - 1
    };

    #[inline(always)]
    fn board<'a>(&'a self, volatile: &'a Volatile<F::Guide>) -> Board<'a, F::Guide> {
        Board { inlaid: &self.inlaid, volatile: &volatile.guide }
    }

    #[inline(always)]
    fn row(&self, count: usize) -> Row<'_> {
        Row::new(&self.pairs, LEAD, 0, count)
    }

    #[inline]
    fn unique_word<K: Keys>(&self, slot: usize) -> &Word {
        F::words::<K>(&self.pairs[slot]).0
    }

    #[inline]
    fn other_word<K: Keys>(&self, slot: usize) -> &Word {
        F::words::<K>(&self.pairs[slot]).1
    }

    #[inline]
    fn slot(&self, index: usize) -> Slot {
        self.pairs[index].slot()
    }

    /// A racing reader may see any count; it never exceeds the block's slots.
    #[inline]
    fn count(volatile: &Volatile<F::Guide>) -> usize {
        (volatile.count.load(Relaxed) as usize).min(Self::MOST)
    }

    /// Whether slot 0 counts.
    fn front(&self) -> bool {
        F::front(&self.home, &self.pairs[0])
    }

    /// Lets slot 0 count, or not.
    fn set_front<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, counts: bool) {
        F::set_front(handle, &self.home, &self.pairs[0], counts);
    }

    /// Puts a slot in transit: this one store removes the pair that it held. The mark left of it counts and stays.
    fn invalidate<M: Medium, K: Keys>(&self, handle: &mut WriteHandle<'_, M>, at: usize) {
        match at.checked_sub(1) {
            Some(left) => handle.write(self.unique_word::<K>(at), self.unique_word::<K>(left).read()),
            None => self.set_front(handle, false),
        }
    }

    /// FAST: shifts the slots from `at` on to the right, and puts a pair there.
    fn open<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<F::Guide>, M, K>,
        at: usize,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) {
        let (context, handle) = context.parts();
        let (board, count) = (self.board(context.volatile), Self::count(context.volatile));
        let row = self.row(count);
        // Before slot `count` holds a pair: otherwise, after a crash, old pairs of a split would follow it as live
        // ones.
        handle.write(self.unique_word::<K>(count + 1), 0);
        if F::FLUSHES_END && starts_line(count + 1) {
            handle.persist(&self.pairs[count + 1]);
        }
        for from in (at..count).rev() {
            // The mark first: the copy is in transit before it differs from the old content.
            handle.write(self.unique_word::<K>(from + 1), self.unique_word::<K>(from).read());
            handle.write(self.other_word::<K>(from + 1), self.other_word::<K>(from).read());
            F::Guide::moved(board, handle, row, from, from + 1);
            if starts_line(from + 1) {
                // Before the line below gives up the pair: otherwise a crash keeps that line, loses this one, and the
                // pair.
                handle.persist(&self.pairs[from + 1]);
            }
        }
        self.invalidate::<M, K>(handle, at);
        let head = K::head(search_key, 0);
        let (unique, other) = F::values::<K>(Slot { head, payload });
        handle.write(self.other_word::<K>(at), other);
        // The commit word: the slot differs from its left neighbour and counts. In slot 0, the bit commits.
        handle.write(self.unique_word::<K>(at), unique);
        if at == 0 {
            self.set_front(handle, true);
        }
        // Before the insert is acknowledged: otherwise a crash loses it.
        handle.persist(&self.pairs[at]);
        F::Guide::placed(board, handle, row, at, K::fingerprint(search_key));
    }

    /// FAST: shifts the slots behind `at`, which is in transit, to the left; `end` is the number of slots including it.
    ///
    /// The last slot gets the mark zero, and the slot behind it already has that mark. So whenever a leaf shrinks to
    /// one pair, the marks of slots 1 and 2 are zero. `format` establishes this, a split leaves more than two pairs,
    /// and inserts preserve it.
    fn close<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<F::Guide>, M, K>,
        at: usize,
        end: usize,
    ) {
        let (context, handle) = context.parts();
        let (board, row) = (self.board(context.volatile), self.row(end));
        for to in at..end {
            if to + 1 < end {
                // The mark last: until then the slot is in transit, and afterwards the next one is.
                handle.write(self.other_word::<K>(to), self.other_word::<K>(to + 1).read());
                handle.write(self.unique_word::<K>(to), self.unique_word::<K>(to + 1).read());
                if to == 0 {
                    self.set_front(handle, true);
                }
                F::Guide::moved(board, handle, row, to + 1, to);
            } else if to > 0 || F::FRONT_BY_MARK {
                handle.write(self.unique_word::<K>(to), 0);
            }
            if F::flushes(to, end) {
                // Before the next line gives up a pair that this one took over: otherwise a crash loses the pair. At
                // the end, before the removal is acknowledged.
                handle.persist(&self.pairs[to]);
            }
        }
        if let Some(last) = end.checked_sub(1) {
            F::Guide::vacated(board, handle, row, last);
        }
    }

    /// Which slots count, by their marks.
    fn survey<K: Keys>(&self) -> Survey {
        let mut counts = [0; MOST_PAIRS / 64];
        counts[0] = u64::from(self.front());
        let mut end = counts[0] as usize;
        let mut before = counts[0] == 1;
        let mut left = self.unique_word::<K>(0).read();
        for slot in 1..SLOTS {
            let unique = self.unique_word::<K>(slot).read();
            let transit = before && unique == left;
            if !transit && unique == 0 {
                break;
            }
            counts[slot / 64] |= u64::from(!transit) << (slot % 64);
            // The zero behind the key zero looks like a slot in transit. It is the end unless pairs follow.
            if unique != 0 {
                end = slot + 1;
            }
            (left, before) = (unique, !transit);
        }
        Survey { counts, end }
    }

    /// FAIR: moves the upper half of a full leaf's pairs to a fresh one.
    fn halve<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<F::Guide>, M, K>,
        right: LeafRef<'_, Self>,
    ) {
        let (ReadContext { volatile, .. }, handle) = context.parts();
        let count = Self::count(volatile);
        let middle = count / 2;
        let moved = (middle..count).map(|slot| self.slot(slot)).chain(std::iter::repeat(Slot::default()));
        for (pair, slot) in right.leaf.pairs.iter().zip(moved) {
            handle.write(&pair.head, slot.head);
            handle.write(&pair.payload, slot.payload);
        }
        handle.write(&right.leaf.home, self.home.read() & !FIRST);
        handle.write(&right.leaf.link, self.next().into());
        // Before the link: otherwise a crash keeps the link and loses the pairs to which it leads.
        handle.persist(&right.leaf.pairs);
        // The commit word: the upper half now belongs to the right leaf, whatever the left leaf still contains.
        handle.write(&self.link, right.number.into());
        // Before the truncation: otherwise a crash keeps the truncation, and loses the link with the upper half.
        handle.persist(&self.link);
        handle.write(self.unique_word::<K>(middle), 0);
        // Before the next change: recovery could not match the upper half with a right leaf that has changed since.
        handle.persist(&self.pairs[middle]);
        let (board, row) = (self.board(volatile), self.row(count));
        let fingerprint = |index: usize| F::Guide::fingerprint(board, index + middle);
        F::Guide::derive(right.leaf.board(right.volatile), handle, right.leaf.row(count - middle), fingerprint);
        (middle..count).for_each(|slot| F::Guide::vacated(board, handle, row, slot));
        right.volatile.count.store((count - middle) as u32, Relaxed);
        volatile.count.store(middle as u32, Relaxed);
    }

    /// FAIR, if a crash came between link and truncation: the right leaf is then exactly this leaf's pairs from some
    /// slot on. Any other overlap is damage, and the rebuild reports it.
    fn truncate<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, Volatile<F::Guide>, M, K>, right: &Self) {
        let (context, handle) = context.parts();
        let counting = |leaf: &Self| {
            let survey = leaf.survey::<K>();
            (0..survey.end).filter(move |slot| survey.counts(*slot))
        };
        let Some(lowest) = counting(right).next().map(|slot| right.slot(slot)) else { return };
        let at_or_above = |slot: &usize| context.keys.order(self.slot(*slot), lowest) != Ordering::Less;
        let Some(cut) = counting(self).find(at_or_above).filter(|cut| *cut > 0) else { return };
        let moved = counting(self).filter(|slot| *slot >= cut).map(|slot| self.slot(slot));
        if moved.eq(counting(right).map(|slot| right.slot(slot))) {
            handle.write(self.unique_word::<K>(cut), 0);
            // The rebuild fences before any operation changes the right leaf. No crash leaves a slot of that leaf in
            // transit.
            handle.flush(&self.pairs[cut]);
        }
    }
}

impl<const SLOTS: usize, F: Form> Leaf for Shifting<SLOTS, F> {
    const SOURCE: &'static str = "FAST and FAIR: Hwang et al., FAST 2018";
    const CAPACITY: usize = Self::MOST;
    const NEEDS_LINE_ORDER: bool = true;
    type Volatile = Volatile<F::Guide>;
    type Durability = PerOperation;
    type Overflow = OneBlock;
    type Recovery = AlongLinks;

    #[inline]
    fn get<K: Keys>(
        &self,
        context: ReadContext<'_, Volatile<F::Guide>, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<u64> {
        let row = self.row(Self::count(context.volatile));
        let found = F::Guide::seek(self.board(context.volatile), row, context, search_key);
        found.map(|slot| self.pairs[slot].payload.read())
    }

    fn block_pairs(&self, volatile: &Volatile<F::Guide>, out: &mut Pairs) {
        (0..Self::count(volatile)).for_each(|slot| out.push(self.slot(slot)));
    }

    fn format<M: Medium>(&self, volatile: &Volatile<F::Guide>, handle: &mut WriteHandle<'_, M>, home: Home) {
        handle.write(&self.link, 0);
        // Whichever word is the mark. Pairs in later lines are never reached past these zeros.
        for pair in &self.pairs[usize::from(!F::FRONT_BY_MARK)..3] {
            handle.write(&pair.head, 0);
            // Survivor (store): of words, the head is the mark; of records, the payload is.
            handle.write(&pair.payload, 0);
        }
        // The commit word, last in its line: when recovery finds the block as a leaf, the leaf is empty.
        // Survivor (store): no crash tells an empty tree from none, and the first put writes this word again, flushes
        // it and fences.
        handle.write(&self.home, u64::from(home.keyspace) | LEAF | if home.first { FIRST } else { 0 });
        // Survivor (flush, fence): as above.
        handle.persist(&self.home);
        volatile.count.store(0, Relaxed);
        F::Guide::derive(self.board(volatile), handle, self.row(0), |_| 0);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<F::Guide>, M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        let volatile = context.read.volatile;
        let count = Self::count(volatile);
        let found = F::Guide::find(self.board(volatile), self.row(count), context.read, search_key);
        if found.is_err() && count == Self::MOST {
            return Err(Full);
        }
        match found {
            Ok(at) => {
                self.row(count).check_unique::<K>(at, payload);
                let old = self.pairs[at].payload.read();
                // The commit word.
                context.handle.write(&self.pairs[at].payload, payload);
                context.handle.persist(&self.pairs[at]);
                Ok(Some(Replaced { payload: old, same_epoch: false }))
            }
            Err(at) => {
                self.row(count).check_unique::<K>(count, payload);
                self.open(context, at, search_key, payload);
                volatile.count.store(count as u32 + 1, Relaxed);
                Ok(None)
            }
        }
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<F::Guide>, M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let volatile = context.read.volatile;
        let count = Self::count(volatile);
        let at = F::Guide::seek(self.board(volatile), self.row(count), context.read, search_key)?;
        let old = self.pairs[at].payload.read();
        // The commit word.
        self.invalidate::<M, K>(context.handle, at);
        self.close(context, at, count);
        volatile.count.store(count as u32 - 1, Relaxed);
        Some(Replaced { payload: old, same_epoch: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<F::Guide>, M, K>,
        SplitRequest { own, fresh: [right, _], .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let count = Self::count(context.read.volatile);
        let middle = count / 2;
        let key = |slot: usize| context.read.keys.key(self.slot(slot));
        // There may be room by now. There is no key if a record is missing, which only damage can cause: the tree set
        // then reports a leaf that stays full.
        let ends = (count == Self::MOST).then(|| key(middle - 1).zip(key(middle))).flatten();
        let Some((last, first)) = ends else {
            return Split::new(own, None);
        };
        self.halve(context, right);
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
        _: &Volatile<F::Guide>,
        _: &mut WriteHandle<'_, M>,
        _: RecoveryPoint,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        let (home, link) = (self.home.read(), self.link.read());
        if home == 0 {
            return Ok(BlockState::Free);
        }
        if home & LEAF == 0 || home >= FRONT << 1 || link > u64::from(u32::MAX) {
            let expected = "a block's number; a keyspace with at most three marks, of which one says leaf";
            return Err(damaged::<Self>(
                BlockByte::first_of(own),
                "a leaf's header",
                format!("{link:#x}, {home:#x}"),
                expected,
            ));
        }
        Ok(BlockState::Live { keyspace: home as u32, first: home & FIRST != 0 })
    }

    fn rebuild_volatile<K: Keys>(&self, context: ReadContext<'_, Volatile<F::Guide>, K>) {
        context.volatile.count.store(self.survey::<K>().count() as u32, Relaxed);
    }
}

impl<const SLOTS: usize, F: Form> Linked for Shifting<SLOTS, F> {
    fn next(&self) -> u32 {
        self.link.read() as u32
    }

    fn repair_link<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<F::Guide>, M, K>,
        right: Option<&Self>,
    ) {
        if let Some(right) = right {
            self.truncate(context, right);
        }
        // At most one slot is in transit after a crash, but the loop ends on any bits: each turn removes one slot.
        for _ in 0..SLOTS {
            let survey = self.survey::<K>();
            let Some(at) = survey.transit() else { break };
            // As a removal does: if a crash interrupts this, it leaves what an interrupted removal leaves.
            self.close(context, at, survey.end);
        }
        // Here, and not where the count is derived: signs in the block need a write handle.
        let (context, handle) = context.parts();
        let row = self.row(self.survey::<K>().count());
        F::Guide::derive(self.board(context.volatile), handle, row, |index| fingerprint_of(context, row, index));
    }

    fn relink<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, Volatile<F::Guide>, M, K>, next: u32) {
        context.handle.write(&self.link, next.into());
        context.handle.flush(&self.link);
    }
}

impl<const SLOTS: usize, F: Form> Prefetch for Shifting<SLOTS, F> {
    fn prefetch_block(&self) {
        if SLOTS <= FEW_SLOTS {
            return holm_search::prefetch_lines(self);
        }
        // A search stops early, or goes to one line directly: most prefetched lines of a long block would be wasted.
        holm_search::prefetch(self);
        holm_search::prefetch_lines(&self.inlaid);
    }

    fn prefetch_pairs<K: Keys>(&self, _: ReadContext<'_, Volatile<F::Guide>, K>, _: K::SearchKey<'_>) {
        self.prefetch_block();
    }

    #[inline]
    fn candidate_payload<K: Keys>(
        &self,
        context: ReadContext<'_, Volatile<F::Guide>, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<u64> {
        let row = self.row(Self::count(context.volatile));
        let found = F::Guide::candidate(self.board(context.volatile), row, context, search_key);
        found.map(|slot| self.pairs[slot].payload.read())
    }
}

impl<const SLOTS: usize, F: Form> Merge for Shifting<SLOTS, F> {}
