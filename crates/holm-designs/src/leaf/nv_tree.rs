//! NV-Tree's leaf: a log of records, in which the last record of a key decides (Yang, Wei, Chen, Wang, Yong, He, FAST
//! 2015).
//!
//! Durable when an operation returns. A record is appended, made durable, and then counted. A removal appends a record
//! that strikes another one out. An update appends such a record and the new pair, and counts both at once. A full leaf
//! is replaced: by one leaf if its pairs fill at most half of it, otherwise by two. See `lineage`.
//!
//! The parameters are the number of records, and that of the words behind them.
//!
//! ```text
//! bytes 0-23    lineage
//!       24-31   count 6 | bit r: record r strikes out; zero up to 64
//!       32-     30 records {head, payload}, or 58; of one that strikes out, the payload is the number of the other
//! ```

use crate::lineage::Lineage;
use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    BlockByte, BlockState, ByBlock, Full, Home, Leaf, LeafRef, MOST_PAIRS, Merge, OneBlock, Pairs, PerOperation,
    Prefetch, ReadContext, RecoveryPoint, Replaced, Scrubbed, Split, SplitRequest, WriteContext, damaged,
};
use holm_tree::pair::Pair;
use holm_tree::pairs::{arrange, reheaded};

/// The bits of the count in the log's word.
const COUNT_BITS: u32 = 6;

persistent! {
    /// Half a line of header, and the records: 30 of them make 512 bytes.
    #[repr(align(64))]
    pub struct NvTree<const RECORDS: usize, const UNUSED: usize> {
        lineage: Lineage,
        log: Word,
        records: [Pair; RECORDS],
        unused: [Word; UNUSED],
    }
}

const _: () = assert!(size_of::<NvTree<30, 0>>() == 512 && size_of::<NvTree<58, 8>>() == 1024);

/// The number of records that count, and which of them strike others out.
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

impl<const RECORDS: usize, const UNUSED: usize> NvTree<RECORDS, UNUSED> {
    /// Total over any bits: a racing reader may see any.
    fn log(&self) -> Log {
        let word = self.log.read();
        Log { count: (word as usize % (1 << COUNT_BITS)).min(RECORDS), strikes: word >> COUNT_BITS }
    }

    /// The records that are pairs and are not struck out, from the last to the first: the paper's search order.
    fn standing(&self) -> impl Iterator<Item = (usize, Slot)> {
        let log = self.log();
        let mut struck = 0u64;
        (0..log.count).rev().filter_map(move |at| {
            let slot = self.records[at].slot();
            if log.strikes(at) {
                struck |= 1 << (slot.payload % 64);
                return None;
            }
            (struck >> at & 1 == 0).then_some((at, slot))
        })
    }

    #[inline]
    fn find<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<(usize, Slot)> {
        let head = K::head(search_key, self.skip());
        self.standing().find(|(_, slot)| slot.head == head && context.keys.is(*slot, search_key))
    }

    /// Appends up to two records: one that strikes out, and one that is a pair.
    fn append<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, struck: Option<usize>, pair: Option<Slot>) {
        let Log { mut count, mut strikes } = self.log();
        let from = count;
        if let Some(struck) = struck {
            handle.write(&self.records[count].payload, struck as u64);
            strikes |= 1 << count;
            count += 1;
        }
        if let Some(pair) = pair {
            self.records[count].write(handle, pair);
            count += 1;
        }
        self.flush_records(handle, from, count);
        // Before the records count: otherwise a crash keeps the count, and recovery finds older contents as records.
        handle.fence();
        // The commit word.
        handle.write(&self.log, Log { count, strikes }.pack());
        // Before the operation is acknowledged: otherwise a crash undoes it.
        handle.persist(&self.log);
    }

    /// Flushes each line of these records once.
    fn flush_records<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, from: usize, to: usize) {
        // The header's line has two records; each line behind it has four.
        let line = |at: usize| (at + 2) / 4;
        let starts = (from..to).filter(|at| *at == from || line(*at) != line(*at - 1));
        starts.for_each(|at| handle.flush(&self.records[at]));
    }

    /// Fills a block with these pairs. The caller flushes.
    fn fill<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, pairs: &[Slot]) {
        handle.write(&self.log, Log { count: pairs.len(), strikes: 0 }.pack());
        self.records.iter().zip(pairs).for_each(|(record, slot)| record.write(handle, *slot));
    }
}

impl<const RECORDS: usize, const UNUSED: usize> Leaf for NvTree<RECORDS, UNUSED> {
    const SOURCE: &'static str = "NV-Tree: Yang et al., FAST 2015";
    const CAPACITY: usize = {
        assert!(RECORDS + COUNT_BITS as usize <= 64 && RECORDS <= MOST_PAIRS);
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
        handle.persist(&self.log);
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
        let needs = 1 + usize::from(found.is_some());
        if self.log().count + needs > RECORDS {
            return Err(Full);
        }
        let pair = Slot { head: K::head(search_key, self.skip()), payload };
        self.append(handle, found.map(|(at, _)| at), Some(pair));
        Ok(found.map(|(_, old)| Replaced { payload: old.payload, same_epoch: false }))
    }

    fn crowded(&self) -> bool {
        self.log().count == RECORDS
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = context.parts();
        let (at, old) = self.find(context, search_key)?;
        assert!(!self.crowded(), "room for one record more has been made");
        self.append(handle, Some(at), None);
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
        if self.log().count + 2 <= RECORDS {
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
            fresh.leaf.flush_records(handle, 2, pairs.len());
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
        let Log { count, strikes } = self.log();
        let word = self.log.read();
        if block_state != BlockState::Free && (word != self.log().pack() || strikes >> count != 0) {
            let (found, expected) = (format!("{word:#x}"), "as many records as there are, and marks of none beyond");
            return Err(damaged::<Self>(BlockByte { block: own, byte: 24 }, "a leaf's log", found, expected));
        }
        Ok(block_state)
    }
}

impl<const RECORDS: usize, const UNUSED: usize> Prefetch for NvTree<RECORDS, UNUSED> {}

impl<const RECORDS: usize, const UNUSED: usize> Merge for NvTree<RECORDS, UNUSED> {}

impl<const RECORDS: usize, const UNUSED: usize> Scrubbed for NvTree<RECORDS, UNUSED> {
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
