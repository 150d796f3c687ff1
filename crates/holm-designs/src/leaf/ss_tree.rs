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

use holm_medium::{Medium, Pen, Result, Word, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, MOST_PAIRS, Old, Pairs, Room, Split};
use holm_tree::pair::slots;
use holm_tree::sync::atomic::{AtomicU32, AtomicU64 as Mark, Ordering::Relaxed, Ordering::Release};
use std::sync::atomic::AtomicU64;
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
pub struct Beside {
    /// The bitmap, the head's region, and whether there are more subnodes.
    bitmap: Mark,
    /// The head's fingerprints, in four words: as many as one vector comparison covers.
    prints: [AtomicU64; 4],
    /// The number of a subnode that has just been released.
    shed: AtomicU32,
}

impl Beside {
    /// The bitmap's copy. The other methods of this volatile side refer to it.
    #[inline]
    fn known(&self) -> Known {
        Known(self.bitmap.load(Relaxed))
    }

    fn print(&self, slot: usize) -> u8 {
        (self.prints[slot / 8].load(Relaxed) >> (slot % 8 * 8)) as u8
    }

    fn set_print(&self, slot: usize, print: u8) {
        let (word, shift) = (&self.prints[slot / 8], slot % 8 * 8);
        // Release, like the stores of a write handle: unlocking the latch afterwards publishes both in the same way.
        word.store(word.load(Relaxed) & !(0xff << shift) | u64::from(print) << shift, Release);
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
struct Place<'a, L> {
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
    fn among<K: Keys>(&self, bits: u32, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<(usize, u64)> {
        let pairs = slots(bits).map(|at| (at, self.slot(at)));
        pairs.into_iter().find(|(_, slot)| lens.keys.is(*slot, probe)).map(|(at, slot)| (at, slot.payload))
    }

    /// Searches the head by DRAM's metadata, and each further subnode by what the one before it keeps of it. Reads
    /// persistent memory only where a fingerprint matches, or if there is more than one subnode.
    #[inline]
    fn find<'a, K: Keys>(&'a self, beside: &Beside, lens: Lens<'a, K>, probe: K::Probe<'_>) -> Option<Place<'a, Self>> {
        let known = beside.known();
        let print = K::print(probe);
        let bits = lens.search.bytes_equal(&beside.prints, print) & known.own();
        if let Some((at, payload)) = self.among(bits, lens, probe) {
            return Some(Place { node: self, before: None, region: known.region(), at, payload });
        }
        if known.more() { self.find_behind(known, lens, probe) } else { None }
    }

    fn find_behind<'a, K: Keys>(
        &'a self,
        known: Known,
        lens: Lens<'a, K>,
        probe: K::Probe<'_>,
    ) -> Option<Place<'a, Self>> {
        let mut before = self;
        for _ in 1..SUBNODES {
            let number = before.next();
            if number == 0 {
                break;
            }
            let node: &Self = lens.block(number)?;
            let region = before.delegated_region();
            let bits = lens.search.bytes_equal(before.delegated(), K::print(probe)) & part(known.bitmap(), region);
            if let Some((at, payload)) = node.among(bits, lens, probe) {
                return Some(Place { node, before: Some(before), region, at, payload });
            }
            before = node;
        }
        None
    }

    /// Makes another bitmap durable: the commit word of most operations.
    fn commit<M: Medium>(&self, pen: &mut Pen<'_, M>, bitmap: u64) {
        pen.write(&self.words[1], bitmap);
        // Before the operation returns: otherwise a crash undoes it.
        pen.persist(&self.words[1]);
    }

    /// Stores another payload in the pair's place.
    fn replace<M: Medium>(&self, pen: &mut Pen<'_, M>, at: usize, payload: u64) {
        // The commit word.
        pen.write(&self.words[3 + 2 * at], payload);
        // Before the operation returns: otherwise a crash brings the old payload back.
        pen.persist(&self.words[3 + 2 * at]);
    }

    /// Puts a new pair into a free slot of the head.
    fn admit<M: Medium>(&self, beside: &Beside, pen: &mut Pen<'_, M>, at: usize, slot: Slot, print: u8) {
        let known = beside.known();
        self.store(pen, at, slot);
        if line(at) > 0 {
            // Before the bitmap: otherwise a crash keeps the bit and loses the pair. In the bitmap's own line the pair
            // persists first anyway.
            self.flush(pen, line(at));
            pen.fence();
        }
        let bitmap = known.bitmap() | bit(known.region(), at);
        self.commit(pen, bitmap);
        beside.set_print(at, print);
        beside.know(bitmap, known.region(), known.more());
    }

    /// Puts a new pair into a free slot behind the head, once the leaf has its largest number of subnodes.
    fn admit_behind<M: Medium, K: Keys>(
        &self,
        beside: &Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        slot: Slot,
        print: u8,
    ) -> std::result::Result<(), Full> {
        let known = beside.known();
        if 1 + self.followers(lens).count() < SUBNODES {
            return Err(Full);
        }
        let free = |node: &Self| places(node.next() != 0) & !part(known.bitmap(), node.region());
        let (before, node) = self.followers(lens).find(|(_, node)| free(node) != 0).ok_or(Full)?;
        let at = free(node).trailing_zeros() as usize;
        node.store(pen, at, slot);
        node.flush(pen, line(at));
        let is_head = std::ptr::eq(before, self);
        if !is_head {
            before.delegate(pen, at, print);
            before.flush(pen, 0);
        }
        // Before the bitmap: otherwise a crash keeps the bit and loses the pair, or the fingerprint by which searches
        // find it.
        pen.fence();
        if is_head {
            // In the bitmap's line, before it.
            before.delegate(pen, at, print);
        }
        let bitmap = known.bitmap() | bit(node.region(), at);
        self.commit(pen, bitmap);
        beside.know(bitmap, known.region(), true);
        Ok(())
    }
}

impl<const SUBNODES: usize, const COURSE: usize> Leaf for SsTree<SUBNODES, COURSE> {
    const CARD: Card = Card {
        source: "SSTree: Hong et al., ICCD 2024",
        defers: false,
        needs_line_order: true,
        needs_whole_keys: false,
        linked: false,
        keeps: true,
    };
    const CAPACITY: usize = {
        assert!(Self::MOST <= MOST_PAIRS);
        Self::MOST
    };
    const BLOCKS: usize = SUBNODES;
    type Beside = Beside;

    #[inline]
    fn get<K: Keys>(&self, beside: &Beside, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        self.find(beside, lens, probe).map(|place| place.payload)
    }

    /// Does nothing: DRAM says first which line is needed, if any.
    fn summon(&self) {}

    fn approach(&self) {}

    #[inline]
    fn aim<K: Keys>(&self, beside: &Beside, lens: Lens<'_, K>, probe: K::Probe<'_>) {
        let known = beside.known();
        match slots(lens.search.bytes_equal(&beside.prints, K::print(probe)) & known.own()).next() {
            Some(at) => holm_search::prefetch(&self.words[2 + 2 * at]),
            None if known.more() => holm_search::prefetch(self),
            None => {}
        }
    }

    #[inline]
    fn glance<K: Keys>(&self, beside: &Beside, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        let bits = lens.search.bytes_equal(&beside.prints, K::print(probe)) & beside.known().own();
        slots(bits).next().map(|at| self.slot(at).payload)
    }

    fn live(&self, _: &Beside, out: &mut Pairs) {
        slots(part(self.bitmap(), self.region())).for_each(|at| out.push(self.slot(at)));
    }

    fn gather<K: Keys>(&self, beside: &Beside, lens: Lens<'_, K>, out: &mut Pairs) {
        let known = beside.known();
        slots(known.own()).for_each(|at| out.push(self.slot(at)));
        if known.more() {
            for (_, node) in self.followers(lens) {
                slots(part(known.bitmap(), node.region())).for_each(|at| out.push(node.slot(at)));
            }
        }
    }

    fn behind<K: Keys>(&self, beside: &Beside, lens: Lens<'_, K>, place: usize) -> u32 {
        let next = self.next();
        match lens.block::<Self>(next).filter(|_| next != 0 && place > 1) {
            Some(node) => node.behind(beside, lens, place - 1),
            None if place > 1 => 0,
            None => next,
        }
    }

    fn shed(&self, beside: &Beside) -> u32 {
        let number = beside.shed.load(Relaxed);
        if number != 0 {
            beside.shed.store(0, Relaxed);
        }
        number
    }

    fn format<M: Medium>(&self, beside: &Beside, pen: &mut Pen<'_, M>, home: Home) {
        pen.write(&self.words[1], 0);
        // The commit word, last in its line: when recovery finds the block as a leaf, the leaf is empty.
        pen.write(&self.words[0], used(home.keyspace, 0, 0));
        // Before the first pair: otherwise a crash keeps the pair in a block that is no leaf.
        pen.persist(&self.words[0]);
        beside.know(0, 0, false);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        beside: &Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        if let Some(place) = self.find(beside, lens, probe) {
            let old = Old { payload: place.payload, young: false };
            let free = beside.known().free();
            if COURSE != STAYING && place.before.is_some() && free != 0 {
                self.draw_in(beside, pen, &place, payload);
            } else {
                place.node.replace(pen, place.at, payload);
            }
            return Ok(Some(old));
        }
        let (slot, print) = (Slot { head: K::head(probe, 0), payload }, K::print(probe));
        match slots(beside.known().free()).next() {
            Some(at) => self.admit(beside, pen, at, slot, print),
            None => self.admit_behind(beside, lens, pen, slot, print)?,
        }
        Ok(None)
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        beside: &Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
    ) -> Option<Old> {
        let place = self.find(beside, lens, probe)?;
        self.drop_from(beside, pen, &place);
        Some(Old { payload: place.payload, young: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        beside: &Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        _: (&K::Fence, Option<&K::Fence>),
    ) -> Split<K::Fence> {
        self.grow(own, beside, lens, pen, &fresh, None).0
    }

    fn split_and_put<M: Medium, K: Keys>(
        &self,
        beside: &Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        room: Room<'_, Self, K::Fence>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> (Split<K::Fence>, bool) {
        self.grow(room.own, beside, lens, pen, &room.fresh, Some((probe, payload)))
    }

    fn abandon<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        self.untag(pen);
        // Before the preceding subnode is released, and before the block is reused: otherwise recovery finds a separate
        // list in a dropped keyspace.
        pen.persist(&self.words[0]);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &Beside,
        _: &mut Pen<'_, M>,
        _: Cut,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        self.fate(own)
    }

    fn normalise<M: Medium, K: Keys>(
        &self,
        own: u32,
        _: &Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        _: bool,
    ) -> Result<bool> {
        self.mend_list(own, lens, pen)
    }

    fn mend<M: Medium, K: Keys>(&self, _: &Beside, lens: Lens<'_, K>, pen: &mut Pen<'_, M>, right: Option<&Self>) {
        if let Some(right) = right {
            self.cut_off(lens, pen, right);
        }
    }

    fn rederive<K: Keys>(&self, beside: &Beside, lens: Lens<'_, K>) {
        self.derive(beside, lens);
    }
}
