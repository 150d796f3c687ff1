//! NV-Tree's leaf: a log of records, in which the last record of a key decides (Yang, Wei, Chen, Wang, Yong, He, FAST
//! 2015).
//!
//! Durable when an operation returns. A record is appended, made durable, and then counted. A removal appends a record
//! that strikes another one out. An update appends such a record and the new pair, and counts both at once. A full leaf
//! is replaced: by one leaf if its pairs fill at most half of it, otherwise by two. See `lineage`.
//!
//! The parameters are the number of records, that of the words that count them, that of the words behind them, and
//! whether a search compares records one by one, as in the paper, or with vectors.
//!
//! ```text
//! bytes 0-23    lineage
//!       24-31   count 6 | bit r: record r strikes out; zero up to 64
//!       32-     30 records {head, payload}, or 58; of one that strikes out, the payload is the number of the other
//!
//! 2 KiB:
//!       24-47   three such words, each for a group of 58 records; the last one has nine
//!       48-     125 records
//! ```
//!
//! **A word counts the records of its group alone**, and what one operation appends lies in one group: so one store
//! commits it. If an update finds one record left in a group, it leaves that record out and begins the next group. The
//! last group with records is thus where the log ends.

use crate::heads::words_with_head;
use crate::lineage::Lineage;
use crate::look::{ONE_BY_ONE, VECTORS};
use holm_medium::{Medium, Result, Word, WriteHandle, persistent, words};
use holm_search::{LINE_WORDS, Search};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    BlockByte, BlockState, ByBlock, Full, Home, Leaf, LeafRef, MOST_PAIRS, Merge, OneBlock, Pairs, PerOperation,
    Prefetch, ReadContext, RecoveryPoint, Replaced, Scrubbed, Split, SplitRequest, WriteContext, damaged,
};
use holm_tree::pair::Pair;
use holm_tree::pairs::{arrange, reheaded};

/// The bits of the count in a word of the log.
const COUNT_BITS: u32 = 6;
/// The records that one word can count and mark.
const GROUP: usize = 64 - COUNT_BITS as usize;
/// The words that one call of a vector kernel compares.
const WINDOW: usize = 64;
/// The words before the log's own.
const LINEAGE: usize = size_of::<Lineage>() / 8;

persistent! {
    /// The header, and the records: 30 of them make 512 bytes.
    #[repr(align(64))]
    pub struct NvTree<const RECORDS: usize, const LOGS: usize, const UNUSED: usize, const LOOK: usize> {
        lineage: Lineage,
        log: [Word; LOGS],
        records: [Pair; RECORDS],
        unused: [Word; UNUSED],
    }
}

const _: () = assert!(size_of::<NvTree<30, 1, 0, ONE_BY_ONE>>() == 512);
const _: () = assert!(size_of::<NvTree<58, 1, 8, ONE_BY_ONE>>() == 1024);
const _: () = assert!(size_of::<NvTree<125, 3, 0, ONE_BY_ONE>>() == 2048);

/// The number of records of a group that count, and which of them strike others out.
#[derive(Clone, Copy)]
struct Log {
    count: usize,
    strikes: u64,
}

impl Log {
    fn pack(self) -> u64 {
        self.strikes << COUNT_BITS | self.count as u64
    }

    fn strikes(self, record: usize) -> bool {
        self.strikes >> record & 1 == 1
    }
}

impl<const RECORDS: usize, const LOGS: usize, const UNUSED: usize, const LOOK: usize>
    NvTree<RECORDS, LOGS, UNUSED, LOOK>
{
    /// The words before the records.
    const HEADER: usize = LINEAGE + LOGS;

    /// The number of records of a group.
    const fn room_of(group: usize) -> usize {
        let rest = RECORDS - group * GROUP;
        if rest < GROUP { rest } else { GROUP }
    }

    /// A record's group, and its place there. Total over any bits.
    #[inline]
    fn place(record: u64) -> (usize, u32) {
        if LOGS == 1 {
            (0, (record % 64) as u32)
        } else {
            ((record / GROUP as u64) as usize % LOGS, (record % GROUP as u64) as u32)
        }
    }

    /// Total over any bits: a racing reader may see any.
    fn log(&self, group: usize) -> Log {
        let word = self.log[group].read();
        Log { count: (word as usize % (1 << COUNT_BITS)).min(Self::room_of(group)), strikes: word >> COUNT_BITS }
    }

    /// Where the log ends: the number of records that count or were left out.
    fn end(&self) -> usize {
        let last = (0..LOGS).rev().find(|group| *group == 0 || self.log(*group).count > 0).unwrap_or(0);
        last * GROUP + self.log(last).count
    }

    /// Where one or two records can be appended.
    fn room(&self, records: usize) -> Option<usize> {
        let end = self.end();
        let left = GROUP - end % GROUP;
        let from = if left < records && end + left < RECORDS { end + left } else { end };
        (from + records <= RECORDS).then_some(from)
    }

    /// The records that are pairs and are not struck out, from the last to the first: the paper's search order.
    fn standing(&self) -> impl Iterator<Item = (usize, Slot)> {
        let mut struck = [0u64; LOGS];
        let counted = (0..LOGS).rev().flat_map(move |group| {
            let log = self.log(group);
            (0..log.count).rev().map(move |at| (group, at, log.strikes(at)))
        });
        counted.filter_map(move |(group, at, strikes)| {
            let slot = self.records[group * GROUP + at].slot();
            if strikes {
                let (group, at) = Self::place(slot.payload);
                struck[group] |= 1 << at;
                return None;
            }
            (struck[group] >> at & 1 == 0).then_some((group * GROUP + at, slot))
        })
    }

    /// The same, of those with this head alone, which vectors find.
    #[inline]
    fn standing_with(&self, search: Search, head: u64) -> impl Iterator<Item = (usize, Slot)> {
        let mut struck = [0u64; LOGS];
        for group in 0..LOGS {
            let Log { count, strikes } = self.log(group);
            let mut rest = strikes & ((1u64 << count) - 1);
            while rest != 0 {
                let at = group * GROUP + rest.trailing_zeros() as usize;
                let (other, place) = Self::place(self.records[at].payload.read());
                struck[other] |= 1 << place;
                rest &= rest - 1;
            }
        }
        let used = Self::HEADER + 2 * self.end();
        let block = &words(self)[..used.next_multiple_of(LINE_WORDS)];
        let windows = block.chunks(WINDOW).enumerate().rev();
        windows.flat_map(move |(window, lines)| equal_heads(search, lines, head, window * WINDOW)).filter_map(
            move |word| {
                let at = word.checked_sub(Self::HEADER)? / 2;
                let (group, place) = Self::place(at as u64);
                let log = self.log(group);
                let stands = (place as usize) < log.count && (log.strikes | struck[group]) >> place & 1 == 0;
                stands.then(|| (at, self.records[at].slot()))
            },
        )
    }

    #[inline]
    fn find<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<(usize, Slot)> {
        let head = K::head(search_key, self.skip());
        if LOOK == VECTORS {
            return self.standing_with(context.search, head).find(|(_, slot)| context.keys.is(*slot, search_key));
        }
        self.standing().find(|(_, slot)| slot.head == head && context.keys.is(*slot, search_key))
    }

    /// Appends up to two records at a place with room for them: one that strikes out, and one that is a pair.
    fn append<M: Medium>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        from: usize,
        struck: Option<usize>,
        pair: Option<Slot>,
    ) {
        let (group, mut to) = (from / GROUP, from);
        let mut strikes = self.log(group).strikes;
        if let Some(struck) = struck {
            handle.write(&self.records[to].payload, struck as u64);
            strikes |= 1 << (to % GROUP);
            to += 1;
        }
        if let Some(pair) = pair {
            self.records[to].write(handle, pair);
            to += 1;
        }
        self.flush_records(handle, from, to);
        // Before the records count: otherwise a crash keeps the count, and recovery finds older contents as records.
        handle.fence();
        // The commit word.
        handle.write(&self.log[group], Log { count: to - group * GROUP, strikes }.pack());
        // Before the operation is acknowledged: otherwise a crash undoes it.
        handle.persist(&self.log[group]);
    }

    /// Flushes each line of these records once.
    fn flush_records<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, from: usize, to: usize) {
        let line = |at: usize| (Self::HEADER / 2 + at) / 4;
        let starts = (from..to).filter(|at| *at == from || line(*at) != line(*at - 1));
        starts.for_each(|at| handle.flush(&self.records[at]));
    }

    /// Fills a block with these pairs. The caller flushes.
    fn fill<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, pairs: &[Slot]) {
        for (group, word) in self.log.iter().enumerate() {
            let count = pairs.len().saturating_sub(group * GROUP).min(GROUP);
            handle.write(word, Log { count, strikes: 0 }.pack());
        }
        self.records.iter().zip(pairs).for_each(|(record, slot)| record.write(handle, *slot));
    }
}

/// The words of whole lines that equal a head, from the last to the first; the first of them has this number. Of a
/// pair, only the first word is one.
#[inline]
fn equal_heads(search: Search, lines: &[Word], head: u64, first: usize) -> impl Iterator<Item = usize> {
    let mut rest = words_with_head(search, lines, head);
    std::iter::from_fn(move || {
        let last = rest.checked_ilog2()?;
        rest ^= 1 << last;
        Some(first + last as usize)
    })
}

impl<const RECORDS: usize, const LOGS: usize, const UNUSED: usize, const LOOK: usize> Leaf
    for NvTree<RECORDS, LOGS, UNUSED, LOOK>
{
    const SOURCE: &'static str = "NV-Tree: Yang et al., FAST 2015";
    const CAPACITY: usize = {
        assert!(RECORDS.div_ceil(GROUP) == LOGS && RECORDS <= MOST_PAIRS && Self::HEADER % 2 == 0);
        RECORDS
    };
    type Volatile = ();
    type Durability = PerOperation;
    type Overflow = OneBlock;
    type Recovery = ByBlock;

    #[inline]
    fn get<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.find(context, search_key).map(|(_, slot)| slot.payload)
    }

    fn block_pairs(&self, _: &(), out: &mut Pairs) {
        self.standing().for_each(|(_, slot)| out.push(slot));
    }

    fn skip(&self) -> usize {
        self.lineage.home().skip.into()
    }

    fn format<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, home: Home) {
        self.fill(handle, &[]);
        // Before the block is a leaf: otherwise a crash leaves a leaf with the record count of the block's last use.
        handle.persist(&self.lineage);
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
        let found = self.find(context, search_key);
        let from = self.room(1 + usize::from(found.is_some())).ok_or(Full)?;
        let pair = Slot { head: K::head(search_key, self.skip()), payload };
        self.append(handle, from, found.map(|(at, _)| at), Some(pair));
        Ok(found.map(|(_, old)| Replaced { payload: old.payload, same_epoch: false }))
    }

    fn crowded(&self) -> bool {
        self.end() == RECORDS
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = context.parts();
        let (at, old) = self.find(context, search_key)?;
        let from = self.room(1).expect("room for one record more has been made");
        self.append(handle, from, Some(at), None);
        Some(Replaced { payload: old.payload, same_epoch: false })
    }

    /// Replaces the leaf: by one compact leaf if half of one is enough, otherwise by two.
    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        SplitRequest { own, fresh: [left, right], range, .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let (context, handle) = context.parts();
        let as_it_is = Split::new(own, None);
        if self.room(2).is_some() {
            // There is room by now, also for an update.
            return as_it_is;
        }
        let mut pairs: Vec<_> = self.standing().map(|(_, slot)| slot).collect();
        arrange(&mut pairs, |a, b| context.keys.order(*a, *b));
        let (home, middle) = (self.lineage.home(), pairs.len() / 2);
        let replace = |handle: &mut WriteHandle<'_, M>, fresh: LeafRef<'_, Self>, pairs: &[Slot], home: Home| {
            fresh.leaf.lineage.begin(handle, home, Some((own, &self.lineage)));
            fresh.leaf.fill(handle, &reheaded(context.keys, pairs, self.skip(), home.skip.into()));
            handle.flush(&fresh.leaf.lineage);
            // The header's line is flushed; it has the first records.
            fresh.leaf.flush_records(handle, (LINE_WORDS - Self::HEADER) / 2, pairs.len());
        };
        let mut split = Split::new(left.number, None);
        if pairs.len() <= RECORDS / 2 {
            replace(handle, left, &pairs, home);
        } else {
            let key = |at: usize| context.keys.key(pairs[at]);
            // There is no key if a record is missing, which only damage can cause: the tree set then reports a leaf
            // that stays full.
            let Some((last, first)) = key(middle - 1).zip(key(middle)) else { return as_it_is };
            let separator = K::shortest_separator(&last, &first);
            let at =
                |low: &K::Separator, high: Option<&K::Separator>| Home { skip: K::common(low, high) as u8, ..home };
            replace(handle, left, &pairs[..middle], at(range.low, Some(&separator)));
            replace(handle, right, &pairs[middle..], at(&separator, range.high));
            split.right = Some((separator, right.number));
        }
        // Before the old leaf ends: otherwise a crash loses both it and its pairs.
        handle.fence();
        self.lineage.end(handle);
        split
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
        for (group, word) in self.log.iter().map(Word::read).enumerate() {
            let log = self.log(group);
            // An update may have left one record out at the end of a group.
            let filled = log.count + 1 >= Self::room_of(group) || group * GROUP + log.count >= self.end();
            let sound = word == log.pack() && log.strikes >> log.count == 0 && filled;
            if block_state != BlockState::Free && !sound {
                let (found, expected) =
                    (format!("{word:#x}"), "as many records as there are, and marks of none beyond");
                let place = BlockByte { block: own, byte: 24 + 8 * group as u64 };
                return Err(damaged::<Self>(place, "a leaf's log", found, expected));
            }
        }
        Ok(block_state)
    }
}

impl<const RECORDS: usize, const LOGS: usize, const UNUSED: usize, const LOOK: usize> Prefetch
    for NvTree<RECORDS, LOGS, UNUSED, LOOK>
{
}

impl<const RECORDS: usize, const LOGS: usize, const UNUSED: usize, const LOOK: usize> Merge
    for NvTree<RECORDS, LOGS, UNUSED, LOOK>
{
}

impl<const RECORDS: usize, const LOGS: usize, const UNUSED: usize, const LOOK: usize> Scrubbed
    for NvTree<RECORDS, LOGS, UNUSED, LOOK>
{
    fn scrub_leaf<M: Medium, K: Keys>(
        &self,
        _: u32,
        context: &mut WriteContext<'_, '_, (), M, K>,
        placed: bool,
    ) -> Result<bool> {
        let (_, handle) = context.parts();
        let stays = placed || self.standing().next().is_some();
        if !stays {
            self.lineage.give_up(handle);
        }
        Ok(stays)
    }
}
