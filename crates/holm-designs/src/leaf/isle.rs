//! Isle-Tree's leaf: lines of pairs, each sorted on its own and with a counter (Wang and Chattopadhyay, DATE 2020).
//!
//! Durable when an operation returns. A change shifts pairs within one line and then stores that line's counter: it
//! flushes two lines, wherever the key lies. A lookup goes from line to line and *hops* to the next one when a key is
//! too great; or it compares all heads with vectors, as the last parameter says. Leaves split and merge by replacement,
//! see `lineage`: fresh leaves are compact and sorted as a whole.
//!
//! ```text
//! bytes 0-23    lineage
//!       24-63   counters: byte l for line l, 0 to 4; bytes of no line zero up to the end of a word, then unused
//!       64-     7 lines of 4 pairs {head, payload}, or 15, or 31; the pairs of a line are its first ones, ascending
//! ```
//!
//! **The mark** of a pair is the word that no two pairs of the leaf share ([`Keys::UNIQUE`]); a vacant slot has mark
//! zero. A payload that is a mark is not zero, and the key zero lies in the first slot of its line. **A line whose
//! counter is zero is empty, whatever its bytes are**: a fresh leaf flushes only the lines that it fills, and a counter
//! commits the first pair of its line. While a line is shifted, one mark is in two neighbouring slots, and *the right
//! one of the two counts*. The other word is written before the mark when a pair moves right, and after it when a pair
//! moves left. Assumption about the medium: what persists of a line is a prefix of the stores to it.

pub mod node;

use crate::heads::pairs_with_head;
use crate::lineage::Lineage;
use crate::look::{ONE_BY_ONE, VECTORS};
use holm_medium::{Medium, Result, Word, WriteHandle, persistent, words};
use holm_search::Search;
use holm_tree::keys::{Keys, Role, Slot};
use holm_tree::leaf::{
    BlockByte, BlockState, ByBlock, Full, Home, KeyRange, Leaf, MOST_PAIRS, Merge, MergeRequest, MergedInto, OneBlock,
    Pairs, PerOperation, Prefetch, ReadContext, RecoveryPoint, Replaced, Scrubbed, Split, SplitRequest, WriteContext,
    damaged,
};
use holm_tree::pair::{Pair, unique_and_other};
use holm_tree::pairs::reheaded;
use std::cmp::Ordering;

/// The number of pairs in a line.
const WIDTH: usize = 4;
/// The number of counters in a word.
const COUNTERS: usize = 8;
/// The number of lines that one call of a vector kernel compares.
const WINDOW: usize = 8;

persistent! {
    /// A line of header and lines of pairs: seven of them make 512 bytes, fifteen 1 KiB, 31 2 KiB.
    #[repr(align(64))]
    pub struct Isle<const LINES: usize, const LOOK: usize> {
        lineage: Lineage,
        counters: [Word; 5],
        lines: [[Pair; 4]; LINES],
    }
}

const _: () = assert!(size_of::<Isle<7, ONE_BY_ONE>>() == 512 && size_of::<Isle<31, ONE_BY_ONE>>() == 2048);

/// Where a pair lies: its line, and its slot there.
type LineSlot = (usize, usize);

/// A word of counters with that of a line changed.
fn with_counter(counters: u64, line: usize, count: usize) -> u64 {
    let shift = line % COUNTERS * 8;
    counters & !(0xff << shift) | (count as u64) << shift
}

/// What a crash left of one line.
struct Survey {
    /// The number of slots in use.
    filled: usize,
    /// The left slot of two neighbours with equal marks.
    stale: Option<usize>,
}

impl<const LINES: usize, const LOOK: usize> Isle<LINES, LOOK> {
    /// Two neighbours merge if they hold at most this many pairs together: three quarters, so that the next few inserts
    /// do not split the leaf again.
    const MERGE_UP_TO: usize = Self::CAPACITY * 3 / 4;

    /// The words of counters of all lines.
    fn counters(&self) -> &[Word] {
        &self.counters[..LINES.div_ceil(COUNTERS)]
    }

    /// Total over any bits: a racing reader may see any.
    fn counts(&self) -> [usize; LINES] {
        let words = self.counters.each_ref().map(Word::read);
        std::array::from_fn(|line| ((words[line / COUNTERS] >> (line % COUNTERS * 8)) as usize & 0xff).min(WIDTH))
    }

    fn filled(&self) -> usize {
        self.counts().iter().sum()
    }

    /// The paper's search: reads a line, and continues in the next one at the first key that is too great.
    #[inline]
    fn find<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<(LineSlot, Slot)> {
        let skip = self.skip();
        let head = K::head(search_key, skip);
        if LOOK == VECTORS {
            let found = self.equal_heads(context.search, head).map(|at| (at, self.lines[at.0][at.1].slot()));
            return found.into_iter().find(|(_, slot)| context.keys.is(*slot, search_key));
        }
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

    /// The pairs that count and have this head: all lines are compared with vectors, and none is hopped over.
    #[inline]
    fn equal_heads(&self, search: Search, head: u64) -> impl Iterator<Item = LineSlot> {
        let counts = self.counts();
        let windows = words(&self.lines).chunks(WINDOW * 2 * WIDTH).enumerate();
        windows.flat_map(move |(window, lines)| {
            let found = pairs_with_head(search, lines, head);
            let places = found.map(move |pair| (window * WINDOW + pair / WIDTH, pair % WIDTH));
            places.filter(move |(line, at)| *at < counts[*line])
        })
    }

    /// Makes a line's counter durable.
    fn count<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, line: usize, count: usize) {
        let word = &self.counters[line / COUNTERS];
        handle.write(word, with_counter(word.read(), line, count));
        // Before the next change of the line: otherwise a crash leaves the line two pairs away from its counter.
        handle.persist(word);
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
        let mut pairs = Vec::with_capacity(Self::CAPACITY);
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

    /// Writes the counters of as many pairs.
    fn set_counters<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, pairs: usize) {
        for (index, word) in self.counters().iter().enumerate() {
            let of_line = |line: usize| pairs.saturating_sub(line * WIDTH).min(WIDTH);
            let lines = index * COUNTERS..LINES.min((index + 1) * COUNTERS);
            handle.write(word, lines.fold(0, |counters, line| with_counter(counters, line, of_line(line))));
        }
    }

    /// Fills a fresh block with ordered pairs. Flushed, and not fenced; the lines without pairs are left as they are.
    fn fill<M: Medium, K: Keys>(&self, handle: &mut WriteHandle<'_, M>, pairs: &[Slot]) {
        self.set_counters(handle, pairs.len());
        handle.flush(&self.lineage);
        for (line, pairs) in self.lines.iter().zip(pairs.chunks(WIDTH)) {
            line.iter().zip(pairs).for_each(|(pair, slot)| pair.write(handle, *slot));
            line[pairs.len()..].iter().for_each(|vacant| vacate::<M, K>(handle, vacant));
            handle.flush(line);
        }
    }

    /// A line as it is, and its counter when the line was last durable; `None` for what no crash leaves.
    fn survey<K: Keys>(&self, line: usize, count: usize) -> Option<Survey> {
        if count == 0 {
            return Some(Survey { filled: 0, stale: None });
        }
        let uniques = self.lines[line].each_ref().map(|pair| pair.unique_word::<K>().read());
        let later = uniques[1..].iter().take_while(|unique| **unique != 0).count();
        let gap = uniques[1 + later..].iter().any(|unique| *unique != 0);
        // The first slot is in use, though its mark may be zero.
        let filled = later + 1;
        let mut twice = (1..filled).filter(|at| uniques[at - 1] == uniques[*at]).map(|at| at - 1);
        let (stale, more) = (twice.next(), twice.next());
        let near = filled.abs_diff(count) <= 1 && (stale.is_none() || filled >= count);
        (near && !gap && more.is_none()).then_some(Survey { filled, stale })
    }
}

/// Makes a slot vacant, if it is not. The caller flushes.
fn vacate<M: Medium, K: Keys>(handle: &mut WriteHandle<'_, M>, pair: &Pair) {
    let unique = pair.unique_word::<K>();
    if unique.read() != 0 {
        handle.write(unique, 0);
    }
}

impl<const LINES: usize, const LOOK: usize> Leaf for Isle<LINES, LOOK> {
    const SOURCE: &'static str = "Isle-Tree: Wang and Chattopadhyay, DATE 2020";
    const CAPACITY: usize = {
        assert!(LINES <= 5 * COUNTERS && LINES * WIDTH <= MOST_PAIRS);
        LINES * WIDTH
    };
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
        self.set_counters(handle, 0);
        // After the counters, in their line: a crash that keeps the lineage keeps no pair of the block's last use.
        self.lineage.begin(handle, home, None);
        // Before the first pair: otherwise a crash keeps the pair in a block that is no leaf.
        // Survivor (flush, fence): no crash tells an empty tree from none, and the first put flushes this line and
        // fences.
        handle.persist(&self.lineage);
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
        if count == 0 {
            // A crash before the next change of the line must leave one pair there. Its bytes may be anything.
            pairs[1..].iter().for_each(|vacant| vacate::<M, K>(handle, vacant));
        }
        let (unique, other) = unique_and_other::<K>(Slot { head: K::head(search_key, skip), payload });
        handle.write(pairs[at].other_word::<K>(), other);
        // The commit word: no mark is in two slots any more. In an empty line, the counter commits.
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
        if count == 1 {
            // The commit word.
            self.count(handle, line, 0);
            return Some(Replaced { payload: old.payload, same_epoch: false });
        }
        let next = if at + 1 < count { pairs[at + 1].unique_word::<K>().read() } else { 0 };
        // The commit word: the removed pair's slot is stale, or vacant.
        handle.write(pairs[at].unique_word::<K>(), next);
        if at + 1 < count {
            self.close::<M, K>(handle, (line, at), count);
        }
        // Before the removal is acknowledged: otherwise a crash leaves one pair more than the counter says, and
        // recovery counts it.
        // Survivor (fence): the counter is fenced before the removal returns, too. The paper fences both.
        handle.persist(pairs);
        self.count(handle, line, count - 1);
        Some(Replaced { payload: old.payload, same_epoch: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        SplitRequest { own, fresh, range, .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let (context, handle) = context.parts();
        let pairs = self.sorted(context);
        let middle = Self::CAPACITY / 2;
        let key = |slot: usize| context.keys.key(pairs[slot]);
        // There may be room by now. There is no key if a record is missing, which only damage can cause: the tree set
        // then reports a leaf that stays full.
        let ends = (pairs.len() == Self::CAPACITY).then(|| key(middle - 1).zip(key(middle))).flatten();
        let Some((last, first)) = ends else { return Split::new(own, None) };
        let separator = K::shortest_separator(&last, &first);
        let home = self.lineage.home();
        let ranges = [KeyRange { high: Some(&separator), ..range }, KeyRange { low: &separator, ..range }];
        for ((fresh, half), range) in fresh.iter().zip(pairs.chunks(middle)).zip(ranges) {
            let home = Home { skip: K::common(range.low, range.high) as u8, ..home };
            fresh.leaf.lineage.begin(handle, home, Some((own, &self.lineage)));
            fresh.leaf.fill::<M, K>(handle, &reheaded(context.keys, half, self.skip(), home.skip.into()));
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
        let block_state = self.lineage.resolve(handle, |number| peer(number).map(|leaf| &leaf.lineage));
        let counts = self.counts();
        for (index, word) in self.counters().iter().enumerate() {
            let lines = counts.iter().enumerate().skip(index * COUNTERS).take(COUNTERS);
            let sound = lines.fold(0, |counters, (line, count)| with_counter(counters, line, *count));
            if block_state != BlockState::Free && word.read() != sound {
                let (found, expected) = (format!("{:#018x}", word.read()), "a counter of 0 to 4 per line, and zero");
                let place = BlockByte { block: own, byte: 24 + 8 * index as u64 };
                return Err(damaged::<Self>(place, "a leaf's line", found, expected));
            }
        }
        Ok(block_state)
    }
}

impl<const LINES: usize, const LOOK: usize> Scrubbed for Isle<LINES, LOOK> {
    fn scrub_leaf<M: Medium, K: Keys>(
        &self,
        own: u32,
        context: &mut WriteContext<'_, '_, (), M, K>,
        placed: bool,
    ) -> Result<bool> {
        let handle = &mut *context.handle;
        if self.filled() == 0 && !placed {
            // Its lines may contain anything.
            self.lineage.give_up(handle);
            return Ok(false);
        }
        let mut counters = self.counters.each_ref().map(Word::read);
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
            counters[line / COUNTERS] =
                with_counter(counters[line / COUNTERS], line, filled - usize::from(stale.is_some()));
        }
        let stale = self.counters().iter().zip(counters).filter(|(word, sound)| word.read() != *sound);
        if stale.map(|(word, sound)| handle.write(word, sound)).count() > 0 {
            handle.flush(&self.lineage);
        }
        // A leaf that only now became empty still is a leaf; the next recovery releases it.
        Ok(true)
    }
}

impl<const LINES: usize, const LOOK: usize> Prefetch for Isle<LINES, LOOK> {}

impl<const LINES: usize, const LOOK: usize> Merge for Isle<LINES, LOOK> {
    fn sparse<K: Keys>(&self, _: ReadContext<'_, (), K>) -> bool {
        self.filled() < Self::CAPACITY / 2
    }

    fn merge<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        MergeRequest { own, right, fresh, range, .. }: MergeRequest<'_, Self, K::Separator>,
    ) -> MergedInto {
        let (context, handle) = context.parts();
        let Some(fresh) = fresh.filter(|_| self.filled() + right.leaf.filled() <= Self::MERGE_UP_TO) else {
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
        fresh.leaf.fill::<M, K>(handle, &pairs);
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
