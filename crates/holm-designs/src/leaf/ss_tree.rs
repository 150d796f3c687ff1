//! SSTree's leaf: a list of subnodes, so that a full subnode is followed by another before anything is split (Hong, Hu,
//! Chen, Feng, Liu, ICCD 2024).
//!
//! Durable when an operation returns. A full head is *replaced* by a free subnode. Its first line gets the new pair,
//! the bitmap of all subnodes, the old head's fingerprints and the link to the old head. One store of its first word
//! makes it the head, and one flush makes that durable. DRAM beside the head keeps the metadata of the head's pairs. So
//! in a leaf with one subnode, a lookup of an absent key needs DRAM only. An update of a pair behind the head moves it
//! into the head (`compact`), and releases a subnode that becomes empty at the end of the list.
//!
//! The parameters are the largest number of subnodes per leaf, two to four, and how updates behave.
//!
//! Assumption about the medium: what persists of a line is a prefix of the stores to it.

mod compact;
mod growth;
mod recovery;
mod subnode;

use crate::slot_fingerprints::SlotFingerprints;
use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    BlockState, ByBlock, Full, Home, Leaf, MOST_PAIRS, Merge, Pairs, PerOperation, Prefetch, ReadContext,
    RecoveryPoint, Replaced, Scrubbed, SeveralBlocks, Split, SplitRequest, WithOverflow, WriteContext,
};
use holm_tree::pair::slots;
use holm_tree::sync::atomic::{AtomicU32, AtomicU64 as SeparatorEntry, Ordering::Relaxed, Ordering::Release};
use subnode::{SLOTS, bit, line, part, places, used};

/// Updates of pairs behind the head move them into the head, as in the paper.
pub const MOVING: usize = 0;
/// Updates change the pair in its place.
pub const STAYING: usize = 1;
/// As in the paper, with the paper's fences: a subnode is released before the link to it is durably gone. A known bug.
pub const HASTY: usize = 2;

persistent! {
    /// 256 bytes: a subnode, and with it the leaf whose head it is. See `subnode` for its words.
    #[repr(align(64))]
    pub struct SsTree<const SUBNODES: usize, const COURSE: usize> {
        words: [Word; 32],
    }
}

const _: () = assert!(size_of::<SsTree<2, MOVING>>() == 256);

/// In the bitmap's copy: the position of the head's region.
const HEAD: u32 = 60;
/// In the bitmap's copy: there are subnodes behind the head.
const MORE: u64 = 1 << 63;

/// The volatile side of a head.
#[derive(Default)]
pub struct Volatile {
    /// The bitmap, the head's region, and whether there are more subnodes.
    bitmap: SeparatorEntry,
    /// The head's.
    fingerprints: SlotFingerprints,
    /// The number of a subnode that has just been released.
    detached: AtomicU32,
}

impl Volatile {
    /// The bitmap's copy. The other methods of this volatile side refer to it.
    #[inline]
    fn known(&self) -> Known {
        Known(self.bitmap.load(Relaxed))
    }

    /// Records what is durable by now.
    fn know(&self, bitmap: u64, region: usize, more: bool) {
        let more = if more { MORE } else { 0 };
        self.bitmap.store(bitmap | (region as u64) << HEAD | more, Release);
    }
}

/// What DRAM knows of a leaf.
#[derive(Clone, Copy)]
struct Known(u64);

impl Known {
    fn bitmap(self) -> u64 {
        self.0 & ((1 << HEAD) - 1)
    }

    /// The head's region.
    fn region(self) -> usize {
        (self.0 >> HEAD) as usize & 3
    }

    fn more(self) -> bool {
        self.0 & MORE != 0
    }

    /// The slots of the head that count.
    fn own(self) -> u32 {
        part(self.0, self.region())
    }

    /// The slots of the head that are free.
    fn free(self) -> u32 {
        places(self.more()) & !self.own()
    }
}

/// Where a key was found: its subnode, the subnode before that, if any, and the slot.
struct FoundPair<'a, L> {
    node: &'a L,
    before: Option<&'a L>,
    region: usize,
    at: usize,
    payload: u64,
}

impl<const SUBNODES: usize, const COURSE: usize> SsTree<SUBNODES, COURSE> {
    /// The number of pairs in a full leaf.
    const MOST: usize = {
        assert!(SUBNODES >= 2 && SUBNODES <= 4, "four regions, and no point in a list of one");
        SUBNODES * SLOTS - (SUBNODES - 1)
    };

    /// Of these slots, the one with the search key.
    #[inline]
    fn among<K: Keys>(
        &self,
        bits: u32,
        context: ReadContext<'_, Volatile, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<(usize, u64)> {
        let pairs = slots(bits).map(|at| (at, self.slot(at)));
        pairs.into_iter().find(|(_, slot)| context.keys.is(*slot, search_key)).map(|(at, slot)| (at, slot.payload))
    }

    /// Searches the head by DRAM's metadata, and each further subnode by what the one before it keeps of it. Reads
    /// persistent memory only where a fingerprint matches, or if there is more than one subnode.
    #[inline]
    fn find<'a, K: Keys>(
        &'a self,
        context: ReadContext<'a, Volatile, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<FoundPair<'a, Self>> {
        let known = context.volatile.known();
        let fingerprint = K::fingerprint(search_key);
        let bits = context.volatile.fingerprints.alike(context.search, fingerprint) & known.own();
        if let Some((at, payload)) = self.among(bits, context, search_key) {
            return Some(FoundPair { node: self, before: None, region: known.region(), at, payload });
        }
        if known.more() { self.find_in_overflow(known, context, search_key) } else { None }
    }

    fn find_in_overflow<'a, K: Keys>(
        &'a self,
        known: Known,
        context: ReadContext<'a, Volatile, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<FoundPair<'a, Self>> {
        let mut before = self;
        for _ in 1..SUBNODES {
            let number = before.next();
            if number == 0 {
                break;
            }
            let node: &Self = context.block(number)?;
            let region = before.delegated_region();
            let bits = context.search.bytes_equal(before.delegated(), K::fingerprint(search_key))
                & part(known.bitmap(), region);
            if let Some((at, payload)) = node.among(bits, context, search_key) {
                return Some(FoundPair { node, before: Some(before), region, at, payload });
            }
            before = node;
        }
        None
    }

    /// Makes another bitmap durable: the commit word of most operations.
    fn commit<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, bitmap: u64) {
        handle.write(&self.words[1], bitmap);
        // Before the operation returns: otherwise a crash undoes it.
        handle.persist(&self.words[1]);
    }

    /// Stores another payload in the pair's place.
    fn replace<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, at: usize, payload: u64) {
        // The commit word.
        handle.write(&self.words[3 + 2 * at], payload);
        // Before the operation returns: otherwise a crash brings the old payload back.
        handle.persist(&self.words[3 + 2 * at]);
    }

    /// Puts a new pair into a free slot of the head.
    fn insert_pair<M: Medium>(
        &self,
        volatile: &Volatile,
        handle: &mut WriteHandle<'_, M>,
        at: usize,
        slot: Slot,
        fingerprint: u8,
    ) {
        let known = volatile.known();
        self.store(handle, at, slot);
        if line(at) > 0 {
            // Before the bitmap: otherwise a crash keeps the bit and loses the pair. In the bitmap's own line the pair
            // persists first anyway.
            self.flush(handle, line(at));
            handle.fence();
        }
        let bitmap = known.bitmap() | bit(known.region(), at);
        self.commit(handle, bitmap);
        volatile.fingerprints.set(at, fingerprint);
        volatile.know(bitmap, known.region(), known.more());
    }

    /// Puts a new pair into a free slot behind the head, once the leaf has its largest number of subnodes.
    fn insert_in_overflow<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        slot: Slot,
        fingerprint: u8,
    ) -> std::result::Result<(), Full> {
        let (context, handle) = context.parts();
        let known = context.volatile.known();
        if 1 + self.followers(context).count() < SUBNODES {
            return Err(Full);
        }
        let free = |node: &Self| places(node.next() != 0) & !part(known.bitmap(), node.region());
        let (before, node) = self.followers(context).find(|(_, node)| free(node) != 0).ok_or(Full)?;
        let at = free(node).trailing_zeros() as usize;
        node.store(handle, at, slot);
        node.flush(handle, line(at));
        let is_head = std::ptr::eq(before, self);
        if !is_head {
            before.delegate(handle, at, fingerprint);
            before.flush(handle, 0);
        }
        // Before the bitmap: otherwise a crash keeps the bit and loses the pair, or the fingerprint by which searches
        // find it.
        handle.fence();
        if is_head {
            // In the bitmap's line, before it.
            before.delegate(handle, at, fingerprint);
        }
        let bitmap = known.bitmap() | bit(node.region(), at);
        self.commit(handle, bitmap);
        context.volatile.know(bitmap, known.region(), true);
        Ok(())
    }
}

impl<const SUBNODES: usize, const COURSE: usize> Leaf for SsTree<SUBNODES, COURSE> {
    const SOURCE: &'static str = "SSTree: Hong et al., ICCD 2024";
    const CAPACITY: usize = {
        assert!(Self::MOST <= MOST_PAIRS);
        Self::MOST
    };
    const NEEDS_LINE_ORDER: bool = true;
    type Volatile = Volatile;
    type Durability = PerOperation;
    type Overflow = SeveralBlocks;
    type Recovery = ByBlock;

    #[inline]
    fn get<K: Keys>(&self, context: ReadContext<'_, Volatile, K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.find(context, search_key).map(|place| place.payload)
    }

    fn block_pairs(&self, _: &Volatile, out: &mut Pairs) {
        slots(part(self.bitmap(), self.region())).for_each(|at| out.push(self.slot(at)));
    }

    fn format<M: Medium>(&self, volatile: &Volatile, handle: &mut WriteHandle<'_, M>, home: Home) {
        handle.write(&self.words[1], 0);
        // The commit word, last in its line: when recovery finds the block as a leaf, the leaf is empty.
        handle.write(&self.words[0], used(home.keyspace, 0, 0));
        // Before the first pair: otherwise a crash keeps the pair in a block that is no leaf.
        // Survivor (flush, fence): no crash tells an empty tree from none, and the first put flushes this line and
        // fences.
        handle.persist(&self.words[0]);
        volatile.know(0, 0, false);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        let volatile = context.read.volatile;
        if let Some(place) = self.find(context.read, search_key) {
            let old = Replaced { payload: place.payload, same_epoch: false };
            let free = volatile.known().free();
            if COURSE != STAYING && place.before.is_some() && free != 0 {
                self.draw_in(volatile, context.handle, &place, payload);
            } else {
                place.node.replace(context.handle, place.at, payload);
            }
            return Ok(Some(old));
        }
        let (slot, fingerprint) = (Slot { head: K::head(search_key, 0), payload }, K::fingerprint(search_key));
        match slots(volatile.known().free()).next() {
            Some(at) => self.insert_pair(volatile, context.handle, at, slot, fingerprint),
            None => self.insert_in_overflow(context, slot, fingerprint)?,
        }
        Ok(None)
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = context.parts();
        let place = self.find(context, search_key)?;
        self.drop_from(context.volatile, handle, &place);
        Some(Replaced { payload: place.payload, same_epoch: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        self.grow(context, &request)
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        self.untag(handle);
        // Before the preceding subnode is released, and before the block is reused: otherwise recovery finds a separate
        // list in a dropped keyspace.
        handle.persist(&self.words[0]);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &Volatile,
        _: &mut WriteHandle<'_, M>,
        _: RecoveryPoint,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        self.block_state(own)
    }

    fn rebuild_volatile<K: Keys>(&self, context: ReadContext<'_, Volatile, K>) {
        self.derive(context);
    }
}

impl<const SUBNODES: usize, const COURSE: usize> Prefetch for SsTree<SUBNODES, COURSE> {
    /// Does nothing: DRAM says first which line is needed, if any.
    fn prefetch_block(&self) {}

    fn prefetch_header(&self) {}

    #[inline]
    fn prefetch_pairs<K: Keys>(&self, context: ReadContext<'_, Volatile, K>, search_key: K::SearchKey<'_>) {
        let known = context.volatile.known();
        let candidates = context.volatile.fingerprints.alike(context.search, K::fingerprint(search_key));
        match slots(candidates & known.own()).next() {
            Some(at) => holm_search::prefetch(&self.words[2 + 2 * at]),
            None if known.more() => holm_search::prefetch(self),
            None => {}
        }
    }

    #[inline]
    fn candidate_payload<K: Keys>(
        &self,
        context: ReadContext<'_, Volatile, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<u64> {
        let candidates = context.volatile.fingerprints.alike(context.search, K::fingerprint(search_key));
        slots(candidates & context.volatile.known().own()).next().map(|at| self.slot(at).payload)
    }
}

impl<const SUBNODES: usize, const COURSE: usize> Merge for SsTree<SUBNODES, COURSE> {}

impl<const SUBNODES: usize, const COURSE: usize> WithOverflow for SsTree<SUBNODES, COURSE> {
    const BLOCKS: usize = SUBNODES;

    fn leaf_pairs<K: Keys>(&self, context: ReadContext<'_, Volatile, K>, out: &mut Pairs) {
        let known = context.volatile.known();
        slots(known.own()).for_each(|at| out.push(self.slot(at)));
        if known.more() {
            for (_, node) in self.followers(context) {
                slots(part(known.bitmap(), node.region())).for_each(|at| out.push(node.slot(at)));
            }
        }
    }

    fn overflow_block<K: Keys>(&self, context: ReadContext<'_, Volatile, K>, place: usize) -> u32 {
        let next = self.next();
        match context.block::<Self>(next).filter(|_| next != 0 && place > 1) {
            Some(node) => node.overflow_block(context, place - 1),
            None if place > 1 => 0,
            None => next,
        }
    }

    fn take_detached(&self, volatile: &Volatile) -> u32 {
        let number = volatile.detached.load(Relaxed);
        if number != 0 {
            volatile.detached.store(0, Relaxed);
        }
        number
    }
}

impl<const SUBNODES: usize, const COURSE: usize> Scrubbed for SsTree<SUBNODES, COURSE> {
    fn scrub_leaf<M: Medium, K: Keys>(
        &self,
        own: u32,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        _: bool,
    ) -> Result<bool> {
        self.repair_list(own, context)
    }

    fn repair_overlap<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, Volatile, M, K>, right: &Self) {
        self.cut_off(context, right);
    }
}
