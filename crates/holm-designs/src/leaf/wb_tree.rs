//! wB+-Tree's leaf: unsorted pairs under a bitmap, and an array of their slots in key order (Chen and Jin, VLDB 2015).
//!
//! Durable when an operation returns. A lookup is a binary search in the slot array, which has for each rank the pair's
//! slot. The array is longer than a word, so a bit of the bitmap says whether it counts. A change clears the bit,
//! writes pair and array, and admits both with one store. If the bit is clear after a crash, recovery rebuilds the
//! array from the pairs. A split is first written to a redo log.
//!
//! ```text
//! bytes 0-15    roster: bit s of the bitmap admits slot s; bit 31: the slot array counts
//!       16-47   slot array: the number of pairs, then their slots in order, a byte each
//!       48-63   unused
//!       64-511  28 pairs {head, payload}
//! ```
//!
//! In a log, the roster has the leaf's number, and the first line of pairs has the leaf's new roster and slot array.

use crate::roster::Roster;
use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    AlongLinks, BlockState, Full, Home, Leaf, Linked, MOST_PAIRS, Merge, OneBlock, Pairs, PerOperation, Prefetch,
    ReadContext, RecoveryPoint, Replaced, Split, SplitRequest, WriteContext,
};
use holm_tree::pair::Pair;
use holm_tree::pair::slots;
use holm_tree::pairs::arrange;
use std::cmp::Ordering;

const SLOTS: usize = 28;
const ALL: u32 = (1 << SLOTS) - 1;
/// The slot array counts.
const VALID: u32 = 1 << 31;

persistent! {
    /// 512 bytes: a header line, and seven lines of pairs.
    #[repr(align(64))]
    pub struct WbTree {
        roster: Roster,
        array: [Word; 4],
        unused: [Word; 2],
        pairs: [Pair; 28],
    }
}

const _: () = assert!(size_of::<WbTree>() == 512 && SLOTS <= MOST_PAIRS);

/// Slots in key order.
#[derive(Clone, Copy)]
struct Array {
    bytes: [u8; 32],
}

impl Array {
    fn new(order: impl Iterator<Item = usize>) -> Self {
        let mut array = Array { bytes: [0; 32] };
        order.take(SLOTS).for_each(|slot| array.insert(array.len(), slot));
        array
    }

    fn from_words(words: [u64; 4]) -> Self {
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(words.iter().flat_map(|word| word.to_le_bytes())).for_each(|(to, from)| *to = from);
        Array { bytes }
    }

    fn words(self) -> [u64; 4] {
        let bytes = |word: usize| std::array::from_fn(|at| self.bytes[word * 8 + at]);
        std::array::from_fn(|word| u64::from_le_bytes(bytes(word)))
    }

    /// Total over any bits: a racing reader may see any.
    fn len(self) -> usize {
        usize::from(self.bytes[0]).min(SLOTS)
    }

    fn slot(self, rank: usize) -> usize {
        usize::from(self.bytes[1 + rank]) % SLOTS
    }

    fn insert(&mut self, rank: usize, slot: usize) {
        let end = 1 + self.len();
        self.bytes.copy_within(1 + rank..end, 2 + rank);
        self.bytes[1 + rank] = slot as u8;
        self.bytes[0] = end as u8;
    }

    fn remove(&mut self, rank: usize) {
        let end = 1 + self.len();
        self.bytes.copy_within(2 + rank..end, 1 + rank);
        self.bytes[0] = end as u8 - 2;
    }
}

impl WbTree {
    fn bits(&self) -> u32 {
        self.roster.bits() & ALL
    }

    fn array(&self) -> Array {
        Array::from_words(self.array.each_ref().map(Word::read))
    }

    fn set_array<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, array: Array) {
        self.array.iter().zip(array.words()).for_each(|(word, value)| handle.write(word, value));
    }

    /// The rank of a key, or the rank that it would have.
    #[inline]
    fn find<K: Keys>(
        &self,
        context: ReadContext<'_, (), K>,
        search_key: K::SearchKey<'_>,
    ) -> std::result::Result<usize, usize> {
        let (head, array) = (K::head(search_key, 0), self.array());
        let (mut low, mut high) = (0, array.len());
        while low < high {
            let middle = low.midpoint(high);
            let slot = self.pairs[array.slot(middle)].slot();
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
        self.roster.commit(handle, self.bits());
    }

    /// The words of a log: the leaf's new roster and slot array, in the first line of pairs.
    fn record(&self) -> [&Word; 6] {
        let [first, second, third, ..] = &self.pairs;
        [&first.head, &first.payload, &second.head, &second.payload, &third.head, &third.payload]
    }

    /// Copies bits, next leaf and slot array from a log.
    fn apply<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, record: [u64; 6]) {
        let [bits, next, array @ ..] = record;
        self.roster.set(handle, bits as u32);
        self.roster.link(handle, next as u32);
        self.set_array(handle, Array::from_words(array));
        // Before the log ends: otherwise a crash leaves some of these words old, and no log from which to redo them.
        handle.persist(&self.array);
    }
}

impl Leaf for WbTree {
    const SOURCE: &'static str = "wB+-Tree: Chen and Jin, VLDB 2015";
    const CAPACITY: usize = SLOTS;
    type Volatile = ();
    type Durability = PerOperation;
    type Overflow = OneBlock;
    type Recovery = AlongLinks;

    #[inline]
    fn get<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        let rank = self.find(context, search_key).ok()?;
        Some(self.pairs[self.array().slot(rank)].payload.read())
    }

    fn block_pairs(&self, _: &(), out: &mut Pairs) {
        slots(self.bits()).for_each(|at| out.push(self.pairs[at].slot()));
    }

    fn format<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, home: Home) {
        self.set_array(handle, Array::new(std::iter::empty()));
        self.roster.link(handle, 0);
        // Before the block is a leaf: otherwise a crash leaves a leaf with the link and the slot array of the block's
        // last use.
        handle.persist(&self.roster);
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
        let at = slots(!bits & ALL).next().ok_or(Full)?;
        self.invalidate(handle);
        self.pairs[at].write(handle, Slot { head: K::head(search_key, 0), payload });
        handle.flush(&self.pairs[at]);
        array.insert(rank, at);
        self.set_array(handle, array);
        handle.flush(&self.array);
        // Before the bitmap: otherwise a crash keeps the bits and loses the pair or the array that they admit.
        handle.fence();
        // The commit word.
        self.roster.commit(handle, bits | 1 << at | VALID);
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
        // Before the bitmap: otherwise a crash keeps the array's bit and an older array.
        handle.persist(&self.array);
        // The commit word.
        self.roster.commit(handle, self.bits() & !(1 << at) | VALID);
        Some(Replaced { payload, same_epoch: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        SplitRequest { own, fresh: [right, log], .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let (context, handle) = context.parts();
        let array = self.array();
        let order: Vec<_> = (0..array.len()).map(|rank| array.slot(rank)).collect();
        let (lower, upper) = order.split_at(order.len() / 2);
        let key = |at: &usize| context.keys.key(self.pairs[*at].slot());
        let ends = lower.last().zip(upper.first()).filter(|_| order.len() == SLOTS);
        // There may be room by now. There is no key if a record is missing, which only damage can cause: the tree set
        // then reports a leaf that stays full.
        let Some((last, first)) = ends.and_then(|(a, b)| key(a).zip(key(b))) else {
            return Split::new(own, None);
        };
        right.leaf.roster.follow(handle, &self.roster, VALID | ((1 << upper.len()) - 1));
        right.leaf.set_array(handle, Array::new(0..upper.len()));
        handle.flush(&right.leaf.roster);
        right.leaf.pairs.iter().zip(upper).for_each(|(pair, at)| pair.write(handle, self.pairs[*at].slot()));
        right.leaf.pairs.chunks(4).take(upper.len().div_ceil(4)).for_each(|line| handle.flush(&line[0]));
        let bits = lower.iter().fold(VALID, |bits, at| bits | 1 << at);
        let [first_word, second, third, fourth] = Array::new(lower.iter().copied()).words();
        let record = [bits.into(), right.number.into(), first_word, second, third, fourth];
        log.leaf.record().into_iter().zip(record).for_each(|(word, value)| handle.write(word, value));
        handle.flush(log.leaf.record()[0]);
        // Before the log counts: otherwise a crash keeps the log and loses words of it, or of the right half.
        handle.fence();
        // The commit word.
        log.leaf.roster.log(handle, own);
        self.apply(handle, record);
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

impl Prefetch for WbTree {}

impl Merge for WbTree {}

impl Linked for WbTree {
    fn next(&self) -> u32 {
        self.roster.next()
    }

    /// Rebuilds a slot array that does not count; trusts one that counts.
    fn repair_link<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, (), M, K>, _: Option<&Self>) {
        let (context, handle) = context.parts();
        if self.roster.bits() & VALID != 0 {
            return;
        }
        let bits = self.bits();
        let mut order: Vec<_> = slots(bits).map(|at| (self.pairs[at].slot(), at)).collect();
        arrange(&mut order, |a, b| context.keys.order(a.0, b.0));
        self.set_array(handle, Array::new(order.into_iter().map(|(_, at)| at)));
        // Before the array counts, as in an insert.
        handle.persist(&self.array);
        self.roster.commit(handle, bits | VALID);
    }

    fn relink<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, (), M, K>, next: u32) {
        let (_, handle) = context.parts();
        self.roster.link(handle, next);
        handle.flush(&self.roster);
    }
}
