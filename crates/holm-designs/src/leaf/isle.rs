//! Isle-Tree's leaf: seven lines of pairs, each sorted on its own and with a counter (Wang and Chattopadhyay, DATE
//! 2020).
//!
//! Durable when an operation returns. A change shifts pairs within one line and then stores that line's counter: it
//! flushes two lines, wherever the key lies. A lookup goes from line to line and *hops* to the next one when a key is
//! too great. Leaves split and merge by replacement, see `lineage`: fresh leaves are compact and sorted as a whole.
//!
//! ```text
//! bytes 0-23    lineage
//!       24-31   counters: byte l for line l, 0 to 4; byte 7 zero
//!       32-63   unused
//!       64-511  7 lines of 4 pairs {head, payload}; the pairs of a line are its first ones, ascending
//! ```
//!
//! **The mark** of a pair is the word that no two pairs of the leaf share ([`Keys::UNIQUE`]); a vacant slot has mark
//! zero. This loses no legal pair: a payload that is a mark is not zero. The key zero lies in the first slot of its
//! line, which counts if the counter says so. While a line is shifted, one mark is in two neighbouring slots, and *the
//! right one of the two counts*. The other word is written before the mark when a pair moves right, and after it when a
//! pair moves left. Assumption about the medium: what persists of a line is a prefix of the stores to it.

pub mod node;

use crate::lineage::Lineage;
use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::{Keys, Role, Slot};
use holm_tree::leaf::{
    BlockByte, BlockState, ByBlock, Full, Home, KeyRange, Leaf, MOST_PAIRS, Merge, MergeRequest, MergedInto, OneBlock,
    Pairs, PerOperation, Prefetch, ReadContext, RecoveryPoint, Replaced, Scrubbed, Split, SplitRequest, WriteContext,
    damaged,
};
use holm_tree::pair::{Pair, unique_and_other};
use holm_tree::pairs::reheaded;
use std::cmp::Ordering;

const LINES: usize = 7;
/// The number of pairs in a line.
const WIDTH: usize = 4;
const CAPACITY: usize = LINES * WIDTH;

/// Two neighbours merge if they hold at most this many pairs together: three quarters, so that the next few inserts do
/// not split the leaf again.
const MERGE_UP_TO: usize = CAPACITY * 3 / 4;

persistent! {
    /// 512 bytes: a line of header and seven lines of pairs.
    #[repr(align(64))]
    pub struct Isle {
        lineage: Lineage,
        counters: Word,
        unused: [Word; 4],
        lines: [[Pair; 4]; 7],
    }
}

const _: () = assert!(size_of::<Isle>() == 512 && CAPACITY <= MOST_PAIRS);

/// Where a pair lies: its line, and its slot there.
type LineSlot = (usize, usize);

/// A word of counters with one of them changed.
fn with_counter(counters: u64, line: usize, count: usize) -> u64 {
    counters & !(0xff << (line * 8)) | (count as u64) << (line * 8)
}

/// The counters of a word. Total over any bits: a racing reader may see any.
fn each(counters: u64) -> [usize; LINES] {
    std::array::from_fn(|line| ((counters >> (line * 8)) as usize & 0xff).min(WIDTH))
}

/// What a crash left of one line.
struct Survey {
    /// The number of slots in use.
    filled: usize,
    /// The left slot of two neighbours with equal marks.
    stale: Option<usize>,
}

impl Isle {
    fn counts(&self) -> [usize; LINES] {
        each(self.counters.read())
    }

    fn filled(&self) -> usize {
        self.counts().iter().sum()
    }

    /// The paper's search: reads a line, and continues in the next one at the first key that is too great.
    #[inline]
    fn find<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<(LineSlot, Slot)> {
        let skip = self.skip();
        let head = K::head(search_key, skip);
        for (line, count) in self.counts().into_iter().enumerate() {
            for (at, pair) in self.lines[line][..count].iter().enumerate() {
                let slot = pair.slot();
                match slot.head.cmp(&head).then_with(|| context.keys.compare(slot, skip, search_key)) {
                    Ordering::Less => {}
                    Ordering::Equal => return Some(((line, at), slot)),
                    Ordering::Greater => break,
                }
            }
        }
        None
    }

    /// Makes a line's counter durable.
    fn count<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, line: usize, count: usize) {
        handle.write(&self.counters, with_counter(self.counters.read(), line, count));
        // Before the next change of the line: otherwise a crash leaves the line two pairs away from its counter.
        handle.persist(&self.counters);
    }

    /// Shifts the pairs behind a stale mark over it, and clears the last slot.
    fn close<M: Medium, K: Keys>(&self, handle: &mut WriteHandle<'_, M>, (line, stale): LineSlot, filled: usize) {
        let pairs = &self.lines[line];
        for at in stale..filled - 1 {
            handle.write(pairs[at].other_word::<K>(), pairs[at + 1].other_word::<K>().read());
            // From here on the next slot is the stale one.
            let unique = if at + 2 < filled { pairs[at + 2].unique_word::<K>().read() } else { 0 };
            handle.write(pairs[at + 1].unique_word::<K>(), unique);
        }
    }

    /// All pairs in order: repeatedly takes the least of the lines' first pairs. The paper does the same from the other
    /// end.
    fn sorted<K: Keys>(&self, context: ReadContext<'_, (), K>) -> Vec<Slot> {
        let counts = self.counts();
        let mut taken = [0; LINES];
        let mut pairs = Vec::with_capacity(CAPACITY);
        loop {
            let fronts = (0..LINES).filter(|line| taken[*line] < counts[*line]);
            let fronts = fronts.map(|line| (line, self.lines[line][taken[line]].slot()));
            match fronts.min_by(|a, b| context.keys.order(a.1, b.1)) {
                Some((line, slot)) => {
                    taken[line] += 1;
                    pairs.push(slot);
                }
                None => return pairs,
            }
        }
    }

    /// Fills a block with ordered pairs, and zeros behind them.
    fn fill<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, pairs: &[Slot]) {
        let counters = pairs.chunks(WIDTH).enumerate().fold(0, |all, (line, some)| with_counter(all, line, some.len()));
        handle.write(&self.counters, counters);
        let slots = pairs.iter().copied().chain(std::iter::repeat(Slot::default()));
        self.lines.as_flattened().iter().zip(slots).for_each(|(pair, slot)| pair.write(handle, slot));
    }

    /// A line as it is, and its counter when the line was last durable; `None` for what no crash leaves.
    fn survey<K: Keys>(&self, line: usize, count: usize) -> Option<Survey> {
        let uniques = self.lines[line].each_ref().map(|pair| pair.unique_word::<K>().read());
        let later = uniques[1..].iter().take_while(|unique| **unique != 0).count();
        let gap = uniques[1 + later..].iter().any(|unique| *unique != 0);
        // A line with only the key zero looks empty by its marks, a line whose first pair is not yet counted by its
        // counter.
        let filled = if later > 0 || uniques[0] != 0 || count > 0 { later + 1 } else { 0 };
        let mut twice = (1..filled).filter(|at| uniques[at - 1] == uniques[*at]).map(|at| at - 1);
        let (stale, more) = (twice.next(), twice.next());
        let near = filled.abs_diff(count) <= 1 && (stale.is_none() || filled >= count);
        (near && !gap && more.is_none()).then_some(Survey { filled, stale })
    }
}

impl Leaf for Isle {
    const SOURCE: &'static str = "Isle-Tree: Wang and Chattopadhyay, DATE 2020";
    const CAPACITY: usize = CAPACITY;
    const NEEDS_LINE_ORDER: bool = true;
    type Volatile = ();
    type Durability = PerOperation;
    type Overflow = OneBlock;
    type Recovery = ByBlock;

    #[inline]
    fn get<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.find(context, search_key).map(|(_, slot)| slot.payload)
    }

    fn block_pairs(&self, _: &(), out: &mut Pairs) {
        for (line, count) in self.counts().into_iter().enumerate() {
            self.lines[line][..count].iter().for_each(|pair| out.push(pair.slot()));
        }
    }

    fn skip(&self) -> usize {
        self.lineage.home().skip.into()
    }

    fn format<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, home: Home) {
        self.fill(handle, &[]);
        self.lineage.begin(handle, home, None);
        // Before any pair is put here: otherwise a crash leaves, beside that pair, the pairs of the block's last use.
        // Until then a leaf without pairs is a free block, in whichever order its lines persist.
        // Survivor (fence): the thread that puts the first pair fences, but only for itself.
        handle.persist(self);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        let (context, handle) = context.parts();
        assert!(K::UNIQUE == Role::Head || payload != 0, "a payload of zero leads to no record");
        if let Some(((line, at), old)) = self.find(context, search_key) {
            let word = &self.lines[line][at].payload;
            // The commit word.
            handle.write(word, payload);
            // Before the update is acknowledged: otherwise a crash brings the old payload back.
            handle.persist(word);
            return Ok(Some(Replaced { payload: old.payload, same_epoch: false }));
        }
        let counts = self.counts();
        let line = counts.iter().position(|count| *count < WIDTH).ok_or(Full)?;
        let (pairs, count, skip) = (&self.lines[line], counts[line], self.skip());
        let mut at = count;
        while at > 0 && context.keys.compare(pairs[at - 1].slot(), skip, search_key).is_gt() {
            // The mark last: until then the slot is vacant or has its old pair.
            handle.write(pairs[at].other_word::<K>(), pairs[at - 1].other_word::<K>().read());
            handle.write(pairs[at].unique_word::<K>(), pairs[at - 1].unique_word::<K>().read());
            at -= 1;
        }
        let (unique, other) = unique_and_other::<K>(Slot { head: K::head(search_key, skip), payload });
        handle.write(pairs[at].other_word::<K>(), other);
        // The commit word: no mark is in two slots any more. For the key zero in an empty line, the counter commits.
        handle.write(pairs[at].unique_word::<K>(), unique);
        handle.persist(pairs);
        self.count(handle, line, count + 1);
        Ok(None)
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = context.parts();
        let ((line, at), old) = self.find(context, search_key)?;
        let (pairs, count) = (&self.lines[line], self.counts()[line]);
        let alone = count == 1;
        if alone {
            // The commit word, which here comes first: otherwise the cleared slot would be taken for the key zero.
            self.count(handle, line, 0);
        }
        let next = if at + 1 < count { pairs[at + 1].unique_word::<K>().read() } else { 0 };
        // The commit word if the line has other pairs: the removed pair's slot is stale, or vacant.
        handle.write(pairs[at].unique_word::<K>(), next);
        if at + 1 < count {
            self.close::<M, K>(handle, (line, at), count);
        }
        // Before the removal is acknowledged: otherwise a crash leaves one pair more than the counter says, and
        // recovery counts it.
        handle.persist(pairs);
        if !alone {
            self.count(handle, line, count - 1);
        }
        Some(Replaced { payload: old.payload, same_epoch: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        SplitRequest { own, fresh, range, .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let (context, handle) = context.parts();
        let pairs = self.sorted(context);
        let middle = CAPACITY / 2;
        let key = |slot: usize| context.keys.key(pairs[slot]);
        // There may be room by now. There is no key if a record is missing, which only damage can cause: the tree set
        // then reports a leaf that stays full.
        let ends = (pairs.len() == CAPACITY).then(|| key(middle - 1).zip(key(middle))).flatten();
        let Some((last, first)) = ends else { return Split::new(own, None) };
        let separator = K::shortest_separator(&last, &first);
        let home = self.lineage.home();
        let ranges = [KeyRange { high: Some(&separator), ..range }, KeyRange { low: &separator, ..range }];
        for ((fresh, half), range) in fresh.iter().zip(pairs.chunks(middle)).zip(ranges) {
            let home = Home { skip: K::common(range.low, range.high) as u8, ..home };
            fresh.leaf.lineage.begin(handle, home, Some((own, &self.lineage)));
            fresh.leaf.fill(handle, &reheaded(context.keys, half, self.skip(), home.skip.into()));
            handle.flush(fresh.leaf);
        }
        // Before the old leaf ends: otherwise a crash loses both it and its pairs.
        handle.fence();
        self.lineage.end(handle);
        let [left, right] = fresh;
        Split::new(left.number, Some((separator, right.number)))
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        self.lineage.end(handle);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &(),
        handle: &mut WriteHandle<'_, M>,
        _: RecoveryPoint,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        let counters = self.counters.read();
        let block_state = self.lineage.resolve(handle, |number| peer(number).map(|leaf| &leaf.lineage));
        let sound = each(counters).into_iter().enumerate().fold(0, |all, (line, count)| with_counter(all, line, count));
        if block_state != BlockState::Free && counters != sound {
            let (found, expected) = (format!("{counters:#018x}"), "seven counters of 0 to 4, and zero");
            return Err(damaged::<Self>(BlockByte { block: own, byte: 24 }, "a leaf's line", found, expected));
        }
        Ok(block_state)
    }
}

impl Scrubbed for Isle {
    fn scrub_leaf<M: Medium, K: Keys>(
        &self,
        own: u32,
        context: &mut WriteContext<'_, '_, (), M, K>,
        placed: bool,
    ) -> Result<bool> {
        let handle = &mut *context.handle;
        let mut counters = self.counters.read();
        if counters == 0 && !placed {
            // Its lines may contain anything.
            self.lineage.give_up(handle);
            return Ok(false);
        }
        for (line, count) in self.counts().into_iter().enumerate() {
            let Some(Survey { filled, stale }) = self.survey::<K>(line, count) else {
                let uniques = self.lines[line].each_ref().map(|pair| pair.unique_word::<K>().read());
                let found = format!("{count} pairs counted, marks {uniques:x?}");
                return Err(damaged::<Self>(
                    BlockByte { block: own, byte: 64 * (1 + line as u64) },
                    "a leaf's line",
                    found,
                    "what one change of a sorted line passes through",
                ));
            };
            if let Some(stale) = stale {
                // This undoes an insert or completes a removal: either way, one pair less than there are filled slots.
                // Not flushed: if a crash loses it, the next recovery closes the line again, by the old counter or by
                // the new one.
                self.close::<M, K>(handle, (line, stale), filled);
            }
            counters = with_counter(counters, line, filled - usize::from(stale.is_some()));
        }
        if counters != self.counters.read() {
            handle.write(&self.counters, counters);
            handle.flush(&self.counters);
        }
        // A leaf that only now became empty still is a leaf; the next recovery releases it.
        Ok(true)
    }
}

impl Prefetch for Isle {}

impl Merge for Isle {
    fn sparse<K: Keys>(&self, _: ReadContext<'_, (), K>) -> bool {
        self.filled() < CAPACITY / 2
    }

    fn merge<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        MergeRequest { own, right, fresh, range, .. }: MergeRequest<'_, Self, K::Separator>,
    ) -> MergedInto {
        let (context, handle) = context.parts();
        let Some(fresh) = fresh.filter(|_| self.filled() + right.leaf.filled() <= MERGE_UP_TO) else {
            return MergedInto::Neither;
        };
        let home = Home { skip: K::common(range.low, range.high) as u8, ..self.lineage.home() };
        let of = |leaf: &Self| reheaded(context.keys, &leaf.sorted(context), leaf.skip(), home.skip.into());
        let pairs = [of(self), of(right.leaf)].concat();
        // An empty leaf is free after any crash, so it needs no commit. For the same reason it cannot commit for
        // another leaf.
        let empty = self.filled() == 0;
        let (origin, commits) = if empty { (right.number, right.leaf) } else { (own, self) };
        fresh.leaf.lineage.begin(handle, home, Some((origin, &commits.lineage)));
        fresh.leaf.fill(handle, &pairs);
        handle.flush(fresh.leaf);
        if !empty {
            right.leaf.lineage.tie(handle, own, &self.lineage);
            handle.flush(&right.leaf.lineage);
        }
        // Before the committing leaf ends: otherwise a crash leaves the right leaf beside the one that replaces it, or
        // neither.
        handle.fence();
        commits.lineage.end(handle);
        MergedInto::Fresh
    }
}
