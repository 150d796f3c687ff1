//! Borders whose splits copy nothing: leaves share the blocks that their pairs were in before a split.
//!
//! Durable when an operation returns. As in [`borders`](super::borders), a pair counts if and only if its key lies
//! within its leaf's range. So one block can be part of several leaves: each counts the keys of its own range. A split
//! is one fresh block, which names the blocks that the new leaf shares and has the new pair in the same line: one line
//! and one fence, no more than any insert. Only the first keys of a range are written, no ends: a range ends where the
//! next leaf's starts, and recovery sorts the starts.
//!
//! ```text
//! bytes 0-7     low: where the range starts
//!       8-15    LEAF | keyspace 24 | zero 32: the commit word of a split
//!       16-31   three bases, 32 bits each: blocks in which the leaf has pairs, too; generation 32
//!       32-511  30 pairs {key, value} in any order; slot i lies in line (i + 2) / 4
//! ```
//!
//! **A slot is empty** if its key word is zero. A block whose `low` is zero keeps its keys inverted, so that zero means
//! no key that it can hold: in the first leaf that is the greatest key, which needs a leaf of its own.
//!
//! **A block that other leaves use is frozen**: its pairs can change, but nothing new goes into it. Its leaf is
//! replaced by a fresh block with the same start and the next generation. Of several blocks with one start, the latest
//! is the leaf. A fourth block in which a new leaf would have pairs is not named: its pairs are copied, and it is
//! chosen as the one with the fewest. A block that no leaf names any more is free.
//!
//! Borders are keys, so slots must hold whole keys. Assumption about the medium: what persists of a line is a prefix of
//! the stores to it.

mod known;
mod split;

use crate::row::{LINE_SLOTS, flush_lines};
use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    BlockByte, BlockState, ByRange, Full, Home, Leaf, MOST_PAIRS, Merge, Overflow, Pairs, PerOperation, Prefetch,
    Ranged, ReadContext, RecoveryPoint, Replaced, Split, SplitRequest, WriteContext, damaged,
};
use holm_tree::pair::{Pair, slots};
use known::{Base, Known};

const SLOTS: usize = 30;
const ALL: u32 = (1 << SLOTS) - 1;

/// The slots in the header's line.
const NEAR: usize = 2;

/// The most blocks that a leaf shares, and the most blocks of a leaf.
const BASES: usize = 3;
const BLOCKS: usize = 1 + BASES;

/// The block is a leaf, or was one.
const LEAF: u64 = 1 << 63;
/// Where the keyspace lies in the state, and the number of possible keyspaces.
const KEYSPACE: u32 = 32;
const KEYSPACES: u64 = 1 << 24;

persistent! {
    /// 512 bytes: four words of header and 30 pairs.
    #[repr(align(64))]
    pub struct BordersShared {
        low: Word,
        state: Word,
        bases: [Word; 2],
        pairs: [Pair; 30],
    }
}

const _: () = assert!(size_of::<BordersShared>() == 512 && BordersShared::CAPACITY <= MOST_PAIRS);

/// Where a key was found: a block of the leaf, and the slot.
struct Found<'a> {
    block: &'a BordersShared,
    index: usize,
    at: usize,
    payload: u64,
}

impl BordersShared {
    #[inline]
    fn slot(&self, at: usize, inverted: bool) -> Slot {
        let (key, payload) = (self.pairs[at].head.read(), self.pairs[at].payload.read());
        Slot { head: if inverted { !key } else { key }, payload }
    }

    /// Stores a pair into a slot that does not count, the key last: the key makes the pair count, and the value must be
    /// there before it.
    fn store<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, at: usize, pair: Slot, inverted: bool) {
        handle.write(&self.pairs[at].payload, pair.payload);
        handle.write(&self.pairs[at].head, if inverted { !pair.head } else { pair.head });
    }

    /// Flushes the lines of these slots, each once.
    fn flush<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, changed: u32) {
        flush_lines(handle, &self.pairs, LINE_SLOTS - NEAR, changed);
    }

    /// A block of the leaf: its own, or a base. `None` if there is none, or if a reader races with a writer.
    #[inline]
    fn block_at<'a, K: Keys>(&'a self, context: ReadContext<'a, Known, K>, index: usize) -> Option<&'a Self> {
        match index.checked_sub(1) {
            None => Some(self),
            Some(place) => Some(context.volatile.base(place)).filter(|at| *at != 0).and_then(|at| context.block(at)),
        }
    }

    /// The slots of a block of the leaf whose fingerprint equals the search key's.
    #[inline]
    fn candidates<K: Keys>(context: ReadContext<'_, Known, K>, index: usize, search_key: K::SearchKey<'_>) -> u32 {
        let (known, counts) = (context.volatile, context.volatile.counts(index));
        if counts == 0 {
            return 0;
        }
        known.fingerprints(index).alike(context.search, K::fingerprint(search_key)) & counts
    }

    #[inline]
    fn find<'a, K: Keys>(
        &'a self,
        context: ReadContext<'a, Known, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Found<'a>> {
        for index in 0..BLOCKS {
            let candidates = Self::candidates(context, index, search_key);
            if candidates == 0 {
                continue;
            }
            let block = self.block_at(context, index)?;
            for at in slots(candidates) {
                let slot = block.slot(at, context.volatile.is_inverted(index));
                if context.keys.is(slot, search_key) {
                    return Some(Found { block, index, at, payload: slot.payload });
                }
            }
        }
        None
    }

    /// Whether a key has no place although slots are free: the greatest key, in the first leaf.
    #[inline]
    fn shuns(&self, key: u64) -> bool {
        key == u64::MAX && self.low.read() == 0
    }

    fn base_number(&self, place: usize) -> u32 {
        (self.bases[place / 2].read() >> (place % 2 * 32)) as u32
    }

    fn generation_word(&self) -> u32 {
        (self.bases[1].read() >> 32) as u32
    }

    /// Finds out which slots of all blocks count in a leaf whose range ends before `high`, if it ends.
    fn count<K: Keys>(&self, context: ReadContext<'_, Known, K>, high: Option<u64>) {
        let (known, low) = (context.volatile, self.low.read());
        for index in 0..BLOCKS {
            known.clear(index, ALL);
            let Some(block) = self.block_at(context, index) else { continue };
            let inverted = known.is_inverted(index);
            for at in 0..SLOTS {
                let slot = block.slot(at, inverted);
                let is_empty = slot.head == if inverted { u64::MAX } else { 0 };
                let is_within = low <= slot.head && high.is_none_or(|high| slot.head < high);
                if let Some(key) = context.keys.key(slot).filter(|_| is_within && !is_empty) {
                    known.set(index, at, K::fingerprint(K::search_key(&key)));
                }
            }
        }
    }
}

impl Leaf for BordersShared {
    const SOURCE: &'static str = "none: our own";
    const CAPACITY: usize = 62;
    const NEEDS_LINE_ORDER: bool = true;
    const NEEDS_WHOLE_KEYS: bool = true;
    type Volatile = Known;
    type Durability = PerOperation;
    type Overflow = SharedBlocks;
    type Recovery = ByRange;

    #[inline]
    fn get<K: Keys>(&self, context: ReadContext<'_, Known, K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.find(context, search_key).map(|found| found.payload)
    }

    fn block_pairs(&self, known: &Known, out: &mut Pairs) {
        slots(known.counts(0)).for_each(|at| out.push(self.slot(at, known.is_inverted(0))));
    }

    fn format<M: Medium>(&self, known: &Known, handle: &mut WriteHandle<'_, M>, home: Home) {
        assert!(home.first, "where another leaf starts, only a split can say");
        assert!(u64::from(home.keyspace) < KEYSPACES, "keyspaces are numbered below 2^24");
        if known.use_block() {
            self.pairs.iter().for_each(|pair| handle.write(&pair.head, 0));
            self.flush(handle, ALL & !0b11);
            // Before the block is a leaf: otherwise a crash leaves a leaf with the pairs of the block's last use.
            handle.fence();
            handle.write(&self.low, 0);
            self.bases.iter().for_each(|word| handle.write(word, 0));
        }
        // The commit word, last in its line.
        handle.write(&self.state, LEAF | u64::from(home.keyspace) << KEYSPACE);
        // Survivor (flush, fence): no crash tells an empty tree from none, and the first pair goes into this line.
        handle.persist(&self.state);
        known.begin(true, vec![]);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        let (context, handle) = context.parts();
        let known = context.volatile;
        if let Some(Found { block, at, payload: old, .. }) = self.find(context, search_key) {
            // The commit word.
            handle.write(&block.pairs[at].payload, payload);
            // Before the new value is acknowledged or seen: otherwise a crash brings the old value back.
            handle.persist(&block.pairs[at]);
            return Ok(Some(Replaced { payload: old, same_epoch: false }));
        }
        let (free, head) = (known.free(), K::head(search_key, 0));
        if free == 0 || self.shuns(head) {
            return Err(Full);
        }
        let at = free.trailing_zeros() as usize;
        // The commit word is the key.
        self.store(handle, at, Slot { head, payload }, known.is_inverted(0));
        // Before the pair is acknowledged or seen: otherwise a crash loses it.
        handle.persist(&self.pairs[at]);
        known.set(0, at, K::fingerprint(search_key));
        Ok(None)
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = context.parts();
        let Found { block, index, at, payload } = self.find(context, search_key)?;
        // The commit word.
        handle.write(&block.pairs[at].head, 0);
        // Before the removal is acknowledged or seen: otherwise a crash brings the pair back.
        handle.persist(&block.pairs[at]);
        context.volatile.clear(index, 1 << at);
        Some(Replaced { payload, same_epoch: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        self.make_room(context, request)
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.state, 0);
        // Before the block is reused: otherwise recovery finds a leaf of a dropped keyspace.
        handle.persist(&self.state);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        known: &Known,
        _: &mut WriteHandle<'_, M>,
        _: RecoveryPoint,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        known.reset();
        let (low, state) = (self.low.read(), self.state.read());
        if state == 0 {
            let header = low | self.bases.iter().fold(0, |bits, word| bits | word.read());
            let noise = |pair: &Pair| pair.head.read() | pair.payload.read() != 0;
            known.set_used(header != 0 || self.pairs.iter().any(noise));
            return Ok(BlockState::Free);
        }
        known.set_used(true);
        let keyspace = (state & !LEAF) >> KEYSPACE;
        let is_base = |place| match self.base_number(place) {
            0 => (place + 1..BASES).all(|behind| self.base_number(behind) == 0),
            base => base != own && peer(base).is_some(),
        };
        if state & LEAF == 0 || keyspace >= KEYSPACES || state as u32 != 0 || !(0..BASES).all(is_base) {
            let found = format!("{state:#x}, {:#x}, {:#x}", self.bases[0].read(), self.bases[1].read());
            let expected = "a keyspace below 2^24, the mark of a leaf, and up to three other blocks";
            return Err(damaged::<Self>(BlockByte::first_of(own), "a leaf's header", found, expected));
        }
        Ok(BlockState::Live { keyspace: keyspace as u32, first: low == 0 })
    }
}

impl Ranged for BordersShared {
    fn low<K: Keys>(&self, context: ReadContext<'_, Known, K>) -> Option<K::Separator> {
        context.keys.key(Slot { head: self.low.read(), payload: 0 })
    }

    fn generation(&self) -> u32 {
        self.generation_word()
    }

    fn settle<'a, K: Keys>(
        &self,
        own: u32,
        context: ReadContext<'_, Known, K>,
        high: Option<&K::Separator>,
        peer: &dyn Fn(u32) -> Option<&'a Known>,
    ) -> Result<()> {
        let mut bases = Vec::with_capacity(BASES);
        for number in (0..BASES).map(|place| self.base_number(place)).take_while(|number| *number != 0) {
            let Some((block, known)) = context.block::<Self>(number).zip(peer(number)) else {
                let (found, expected) = (number.to_string(), "a block of the image");
                return Err(damaged::<Self>(BlockByte::first_of(own), "the base of a leaf", found, expected));
            };
            known.set_used(true);
            bases.push(Base { number, inverted: block.low.read() == 0, share: known.find_share() });
        }
        context.volatile.begin_found(self.low.read() == 0, bases);
        self.count(context, high.map(|high| K::head(K::search_key(high), 0)));
        Ok(())
    }
}

/// Blocks that several leaves use.
pub struct SharedBlocks;

impl Overflow<BordersShared> for SharedBlocks {
    const BLOCKS: usize = BLOCKS;
    const SPARE: usize = 0;

    fn pairs<K: Keys>(leaf: &BordersShared, context: ReadContext<'_, Known, K>, out: &mut Pairs) {
        for index in 0..BLOCKS {
            let Some(block) = leaf.block_at(context, index) else { continue };
            let inverted = context.volatile.is_inverted(index);
            slots(context.volatile.counts(index)).for_each(|at| out.push(block.slot(at, inverted)));
        }
    }

    #[inline]
    fn block<K: Keys>(_: &BordersShared, context: ReadContext<'_, Known, K>, place: usize) -> u32 {
        place.checked_sub(1).filter(|place| *place < BASES).map_or(0, |place| context.volatile.base(place))
    }

    fn keeps(_: &BordersShared, known: &Known, place: usize) -> bool {
        known.give_up(place)
    }

    #[inline]
    fn take_detached(_: &BordersShared, _: &Known) -> u32 {
        0
    }

    /// No block names a leaf.
    fn attach<K: Keys>(_: &BordersShared, own: u32, _: ReadContext<'_, Known, K>, numbers: &[u32]) -> Result<()> {
        let (found, place) = (format!("{numbers:?}"), BlockByte::first_of(own));
        Err(damaged::<BordersShared>(place, "blocks behind a leaf's own", found, "none"))
    }

    fn repair<M: Medium, K: Keys>(_: &BordersShared, _: &mut WriteContext<'_, '_, Known, M, K>) {}
}

impl Prefetch for BordersShared {
    /// Does nothing: DRAM says first which line is needed, if any.
    fn prefetch_block(&self) {}

    fn prefetch_header(&self) {}

    #[inline]
    fn prefetch_pairs<K: Keys>(&self, context: ReadContext<'_, Known, K>, search_key: K::SearchKey<'_>) {
        for index in 0..BLOCKS {
            let candidates = Self::candidates(context, index, search_key);
            if let Some((at, block)) = slots(candidates).next().zip(self.block_at(context, index)) {
                return holm_search::prefetch(&block.pairs[at]);
            }
        }
    }
}

impl Merge for BordersShared {}
