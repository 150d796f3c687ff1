//! wB+-Tree's leaf: unsorted pairs under a bitmap, and an array of their slots in key order (Chen and Jin, VLDB 2015).
//!
//! Durable when an operation returns. A lookup is a binary search in the slot array, which has for each rank the pair's
//! slot. The array is longer than a word, so a bit of the bitmap says whether it counts. A change clears the bit,
//! writes pair and array, and admits both with one store. If the bit is clear after a crash, recovery rebuilds the
//! array from the pairs. A split is first written to a redo log.
//!
//! The parameters are the number of slots, and that of the words between roster and slots.
//!
//! ```text
//! bytes 0-15    roster: bit s of the bitmap admits slot s; bit 31: the slot array counts
//!       16-47   slot array: the number of pairs, then their slots in order, a byte each
//!       48-63   unused
//!       64-511  28 pairs {head, payload}
//!
//! with more than 31 slots:
//! bytes 0-15    roster: bit 31: the slot array counts
//!       16-31   bitmap of up to 128 slots
//!       32-63   unused
//!       64-     slot array, in a line or two; then 56 pairs, which make 1 KiB, or 116, which make 2 KiB
//! ```
//!
//! **A wide leaf**, whose bitmap is not in the roster, cannot admit a pair and its array in one store. Here bit 31
//! decides which of the two is right: where it is set, the array, and where it is clear, the bitmap. Both are durable
//! before the bit changes, and recovery derives the other one.
//!
//! In a log, the roster has the leaf's number, and the first pairs have the leaf's new roster, bitmap and slot array.

mod array;
mod node;

use crate::roster::Roster;
use array::{Array, words_of};
use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    AlongLinks, BlockState, Full, Home, Leaf, Linked, MOST_PAIRS, Merge, OneBlock, Pairs, PerOperation, Prefetch,
    ReadContext, RecoveryPoint, Replaced, Split, SplitRequest, WriteContext,
};
use holm_tree::pair::Pair;
use holm_tree::pairs::arrange;
use std::cmp::Ordering;

/// The slot array counts.
const VALID: u32 = 1 << 31;
/// The number of the first slots that bits of the roster can admit.
const NARROW: usize = 31;
/// The number of pairs in a line.
const WIDTH: usize = 4;
/// The number of the header's words that share the roster's line.
const BESIDE: usize = 6;

persistent! {
    /// A header, and pairs from a new line on: with 28 slots 512 bytes, with 56 1 KiB, with 116 2 KiB.
    #[repr(align(64))]
    pub struct WbTree<const SLOTS: usize, const HEADER: usize> {
        roster: Roster,
        header: [Word; HEADER],
        pairs: [Pair; SLOTS],
    }
}

const _: () = assert!(size_of::<WbTree<28, 6>>() == 512);
const _: () = assert!(size_of::<WbTree<56, 14>>() == 1024 && size_of::<WbTree<116, 22>>() == 2048);

/// The slots of a bitmap, the lowest first.
fn slots(bits: u128) -> impl Iterator<Item = usize> {
    let mut rest = bits;
    std::iter::from_fn(move || {
        let slot = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(slot)
    })
}

fn bitmap(slots: impl IntoIterator<Item = usize>) -> u128 {
    slots.into_iter().fold(0, |bits, slot| bits | 1 << slot)
}

impl<const SLOTS: usize, const HEADER: usize> WbTree<SLOTS, HEADER> {
    const ALL: u128 = (1 << SLOTS) - 1;
    /// The words of the bitmap, if the roster has none.
    const BITMAP: usize = if SLOTS > NARROW { SLOTS.div_ceil(64) } else { 0 };
    /// Where the slot array lies in the header: behind the roster, or in lines of its own.
    const ARRAY: usize = if SLOTS > NARROW { BESIDE } else { 0 };

    fn bitmap_words(&self) -> &[Word] {
        &self.header[..Self::BITMAP]
    }

    /// Which slots the bitmap admits.
    fn bits(&self) -> u128 {
        if Self::BITMAP == 0 {
            return u128::from(self.roster.bits()) & Self::ALL;
        }
        let words = self.bitmap_words().iter().rev();
        words.fold(0, |bits, word| bits << 64 | u128::from(word.read())) & Self::ALL
    }

    fn array_counts(&self) -> bool {
        self.roster.bits() & VALID != 0
    }

    /// Which slots count, also before the leaf is repaired.
    fn admitted(&self) -> u128 {
        if Self::BITMAP > 0 && self.array_counts() { bitmap(self.array().slots()) } else { self.bits() }
    }

    fn array_words(&self) -> &[Word] {
        &self.header[Self::ARRAY..Self::ARRAY + words_of(SLOTS)]
    }

    fn array(&self) -> Array<SLOTS, HEADER> {
        Array::from_words(self.array_words().iter().map(Word::read))
    }

    /// One byte of the slot array.
    #[inline]
    fn array_byte(&self, at: usize) -> usize {
        (self.array_words()[at / 8].read() >> (at % 8 * 8)) as usize & 0xff
    }

    #[inline]
    fn len(&self) -> usize {
        self.array_byte(0).min(SLOTS)
    }

    /// The pair of a rank. Total over any bits.
    #[inline]
    fn ranked(&self, rank: usize) -> &Pair {
        &self.pairs[self.array_byte(1 + rank) % SLOTS]
    }

    /// Writes the array; the caller flushes.
    #[track_caller]
    fn set_array<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, array: Array<SLOTS, HEADER>) {
        for (word, value) in self.array_words().iter().zip(array.words()) {
            handle.write(word, value);
        }
    }

    /// Flushes the lines of an array of that many slots.
    #[track_caller]
    fn flush_array<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, len: usize) {
        for word in self.array_words().iter().take(words_of(len)).step_by(8) {
            handle.flush(word);
        }
    }

    /// Writes the bitmap of a wide leaf, where it differs; the caller flushes.
    #[track_caller]
    fn set_bitmap<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, bits: u128) {
        for (index, word) in self.bitmap_words().iter().enumerate() {
            let value = (bits >> (64 * index)) as u64;
            if word.read() != value {
                handle.write(word, value);
            }
        }
    }

    /// The bits of the roster, for a bitmap and an array that counts.
    fn roster_bits(bits: u128) -> u32 {
        VALID | if Self::BITMAP == 0 { bits as u32 } else { 0 }
    }

    /// Flushes roster and array.
    #[track_caller]
    fn flush_header<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, len: usize) {
        handle.flush(&self.roster);
        if Self::ARRAY > 0 {
            self.flush_array(handle, len);
        }
    }

    /// The rank of a key, or the rank that it would have.
    #[inline]
    fn find<K: Keys>(
        &self,
        context: ReadContext<'_, (), K>,
        search_key: K::SearchKey<'_>,
    ) -> std::result::Result<usize, usize> {
        let head = K::head(search_key, 0);
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            let slot = self.ranked(middle).slot();
            match slot.head.cmp(&head).then_with(|| context.keys.compare(slot, 0, search_key)) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// Makes the slot array not count until the next commit.
    fn invalidate<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        // Before the array changes: otherwise a crash leaves an array that counts and names pairs that do not.
        self.roster.commit(handle, self.roster.bits() & !VALID);
    }

    /// Admits these slots and the array, durably.
    #[track_caller]
    fn admit<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, bits: u128) {
        // In a wide leaf, in the roster's line: after a crash, either the array counts, which has the change, or the
        // bitmap, which has it or not.
        self.set_bitmap(handle, bits);
        // The commit word.
        self.roster.commit(handle, Self::roster_bits(bits));
    }

    /// Fills an unreachable block with these slots of this leaf, in order, and links it where this leaf is linked.
    /// Flushed, and not fenced.
    fn copy_to<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, right: &Self, upper: &[usize]) {
        let bits = bitmap(0..upper.len());
        right.roster.follow(handle, &self.roster, Self::roster_bits(bits));
        right.set_bitmap(handle, bits);
        right.set_array(handle, Array::new(0..upper.len()));
        right.flush_header(handle, upper.len());
        right.pairs.iter().zip(upper).for_each(|(pair, at)| pair.write(handle, self.pairs[*at].slot()));
        let lines = right.pairs.chunks(WIDTH).take(upper.len().div_ceil(WIDTH));
        lines.for_each(|line| handle.flush(&line[0]));
    }

    /// The words of a log: the leaf's new roster, bitmap, and slot array of half as many slots.
    fn record(&self) -> impl Iterator<Item = &Word> {
        let words = self.pairs.iter().flat_map(|pair| [&pair.head, &pair.payload]);
        words.take(2 + Self::BITMAP + words_of(SLOTS / 2))
    }

    /// Copies roster, bitmap and slot array from a log.
    fn apply<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, mut record: impl Iterator<Item = u64>) {
        let mut word = || record.next().unwrap_or_default();
        self.roster.set(handle, word() as u32);
        self.roster.link(handle, word() as u32);
        self.bitmap_words().iter().for_each(|to| handle.write(to, word()));
        self.set_array(handle, Array::from_words(record));
        self.flush_header(handle, SLOTS / 2);
        // Before the log ends: otherwise a crash leaves some of these words old, and no log from which to redo them.
        handle.fence();
    }
}

impl<const SLOTS: usize, const HEADER: usize> Leaf for WbTree<SLOTS, HEADER> {
    const SOURCE: &'static str = "wB+-Tree: Chen and Jin, VLDB 2015";
    const CAPACITY: usize = {
        assert!(SLOTS <= MOST_PAIRS && Self::BITMAP <= BESIDE && Self::ARRAY + words_of(SLOTS) <= HEADER);
        SLOTS
    };
    type Volatile = ();
    type Durability = PerOperation;
    type Overflow = OneBlock;
    type Recovery = AlongLinks;

    #[inline]
    fn get<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        let rank = self.find(context, search_key).ok()?;
        Some(self.ranked(rank).payload.read())
    }

    fn block_pairs(&self, _: &(), out: &mut Pairs) {
        slots(self.admitted()).for_each(|at| out.push(self.pairs[at].slot()));
    }

    fn format<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, home: Home) {
        // Survivor (store): needed in a block that is used again; trees of trials begin in fresh ones, which are zero.
        self.set_array(handle, Array::new(std::iter::empty()));
        self.set_bitmap(handle, 0);
        self.roster.link(handle, 0);
        self.flush_header(handle, 0);
        // Before the block is a leaf: otherwise a crash leaves a leaf with the link and the slot array of the block's
        // last use.
        handle.fence();
        self.roster.begin(handle, home, VALID);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        let (context, handle) = context.parts();
        let (mut array, bits) = (self.array(), self.bits());
        let rank = match self.find(context, search_key) {
            Ok(rank) => {
                let word = &self.pairs[array.slot(rank)].payload;
                let old = word.read();
                // The commit word.
                handle.write(word, payload);
                // Before the update is acknowledged: otherwise a crash brings the old payload back.
                handle.persist(word);
                return Ok(Some(Replaced { payload: old, same_epoch: false }));
            }
            Err(rank) => rank,
        };
        let at = slots(!bits & Self::ALL).next().ok_or(Full)?;
        self.invalidate(handle);
        self.pairs[at].write(handle, Slot { head: K::head(search_key, 0), payload });
        handle.flush(&self.pairs[at]);
        array.insert(rank, at);
        self.set_array(handle, array);
        self.flush_array(handle, array.len());
        // Before the bitmap: otherwise a crash keeps the bits and loses the pair or the array that they admit.
        handle.fence();
        self.admit(handle, bits | 1 << at);
        Ok(None)
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = context.parts();
        let rank = self.find(context, search_key).ok()?;
        let mut array = self.array();
        let at = array.slot(rank);
        let payload = self.pairs[at].payload.read();
        self.invalidate(handle);
        array.remove(rank);
        self.set_array(handle, array);
        self.flush_array(handle, array.len());
        // Before the bitmap: otherwise a crash keeps the array's bit and an older array.
        handle.fence();
        self.admit(handle, self.bits() & !(1 << at));
        Some(Replaced { payload, same_epoch: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        SplitRequest { own, fresh: [right, log], .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let (context, handle) = context.parts();
        let order: Vec<_> = self.array().slots().collect();
        let (lower, upper) = order.split_at(order.len() / 2);
        let key = |at: &usize| context.keys.key(self.pairs[*at].slot());
        let ends = lower.last().zip(upper.first()).filter(|_| order.len() == SLOTS);
        // There may be room by now. There is no key if a record is missing, which only damage can cause: the tree set
        // then reports a leaf that stays full.
        let Some((last, first)) = ends.and_then(|(a, b)| key(a).zip(key(b))) else {
            return Split::new(own, None);
        };
        self.copy_to(handle, right.leaf, upper);
        let bits = bitmap(lower.iter().copied());
        let array = Array::<SLOTS, HEADER>::new(lower.iter().copied());
        let roster = [u64::from(Self::roster_bits(bits)), right.number.into()];
        let bitmap = [bits as u64, (bits >> 64) as u64].into_iter().take(Self::BITMAP);
        let record: Vec<_> = roster.into_iter().chain(bitmap).chain(array.words()).collect();
        log.leaf.record().zip(&record).for_each(|(word, value)| handle.write(word, *value));
        log.leaf.record().step_by(2 * WIDTH).for_each(|word| handle.flush(word));
        // Before the log counts: otherwise a crash keeps the log and loses words of it, or of the right half.
        handle.fence();
        // The commit word.
        log.leaf.roster.log(handle, own);
        self.apply(handle, record.into_iter());
        log.leaf.roster.end(handle);
        Split::new(own, Some((K::shortest_separator(&last, &first), right.number)))
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        self.roster.end(handle);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &(),
        handle: &mut WriteHandle<'_, M>,
        _: RecoveryPoint,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        let Some(number) = self.roster.logged() else { return self.roster.block_state::<Self>(own) };
        let leaf = Roster::subject(own, number, peer, |leaf| &leaf.roster)?;
        leaf.apply(handle, self.record().map(Word::read));
        self.roster.end(handle);
        Ok(BlockState::Free)
    }
}

impl<const SLOTS: usize, const HEADER: usize> Prefetch for WbTree<SLOTS, HEADER> {}

impl<const SLOTS: usize, const HEADER: usize> Merge for WbTree<SLOTS, HEADER> {}

impl<const SLOTS: usize, const HEADER: usize> Linked for WbTree<SLOTS, HEADER> {
    fn next(&self) -> u32 {
        self.roster.next()
    }

    /// Rebuilds a slot array that does not count; trusts one that counts.
    fn repair_link<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, (), M, K>, _: Option<&Self>) {
        let (context, handle) = context.parts();
        if self.array_counts() {
            let admitted = self.admitted();
            if admitted != self.bits() {
                self.set_bitmap(handle, admitted);
                // Before the array does not count any more, in the same line: otherwise a crash leaves the bitmap of
                // another time.
                handle.persist(&self.roster);
            }
            return;
        }
        let bits = self.bits();
        let mut order: Vec<_> = slots(bits).map(|at| (self.pairs[at].slot(), at)).collect();
        arrange(&mut order, |a, b| context.keys.order(a.0, b.0));
        self.set_array(handle, Array::new(order.iter().map(|(_, at)| *at)));
        self.flush_array(handle, order.len());
        // Before the array counts, as in an insert.
        handle.fence();
        self.admit(handle, bits);
    }

    fn relink<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, (), M, K>, next: u32) {
        let (_, handle) = context.parts();
        self.roster.link(handle, next);
        handle.flush(&self.roster);
    }
}
