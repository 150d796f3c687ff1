//! LB+-Tree's leaf: 256 bytes, unsorted pairs under fingerprints, with as many inserts as possible within the header's
//! line (Liu, Chen, Wang, VLDB 2020).
//!
//! Durable when an operation returns. The header's word admits a pair in the header's line: one flush. An insert into
//! another line moves pairs of the header's line along, as many as that line has room for. So later inserts find room
//! in the header's line again. A split writes a new leaf and the link that is not in force. One store of the header's
//! word puts that link in force and removes the moved pairs.
//!
//! ```text
//! bytes 0-7     bitmap 14 | LEAF | OTHER, which link is in force | fingerprints of slots 0-5
//!       8-15    fingerprints of slots 6-13
//!       16-239  14 pairs {head, payload}; slot s lies in line (s + 1) / 4
//!       240-255 two links: number of the next leaf 32 | keyspace 24 | FIRST | zero 7
//! ```
//!
//! Assumption about the medium: what persists of a line is a prefix of the stores to it.

use crate::append::separator_below;
use holm_medium::{Medium, Result, Word, WriteHandle, atomics, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    AlongLinks, BlockByte, BlockState, Full, Home, Leaf, Linked, MOST_PAIRS, Merge, OneBlock, Pairs, PendingPair,
    PerOperation, Prefetch, ReadContext, RecoveryPoint, Replaced, Split, SplitRequest, WriteContext, damaged,
};
use holm_tree::pair::slots;
use holm_tree::pairs::{IndexedPair, upper_half};

const SLOTS: usize = 14;
const ALL: u32 = (1 << SLOTS) - 1;
/// Slots in the header's line.
const FRONT: usize = 3;

/// In the header's word: the block is a leaf. The paper has its lock in this place; here latches lie beside the block.
const LEAF: u64 = 1 << 14;
/// In the header's word: the second link is in force instead of the first.
const OTHER: u64 = 1 << 15;

/// In a link: the first leaf of its keyspace.
const FIRST: u64 = 1 << 56;
/// In a link: the next leaf's number.
const NUMBER: u64 = 0xffff_ffff;

persistent! {
    /// 256 bytes: a header of two words, fourteen pairs, and two links.
    #[repr(align(64))]
    pub struct LbTree {
        words: [Word; 30],
        links: [Word; 2],
    }
}

const _: () = assert!(size_of::<LbTree>() == 256 && SLOTS <= MOST_PAIRS);

/// The header's two words.
#[derive(Clone, Copy)]
struct Header([u64; 2]);

impl Header {
    fn bits(self) -> u32 {
        self.0[0] as u32 & ALL
    }

    /// Which link is in force.
    fn side(self) -> usize {
        usize::from(self.0[0] & OTHER != 0)
    }

    fn fingerprint(self, slot: usize) -> u8 {
        (self.0[(slot + 2) / 8] >> ((slot + 2) % 8 * 8)) as u8
    }

    /// The header with one more slot that counts.
    fn with_slot(mut self, slot: usize, fingerprint: u8) -> Self {
        let (word, shift) = ((slot + 2) / 8, (slot + 2) % 8 * 8);
        self.0[word] = self.0[word] & !(0xff << shift) | u64::from(fingerprint) << shift;
        self.0[0] |= 1 << slot;
        self
    }

    /// The header without these slots.
    fn without(mut self, bits: u32) -> Self {
        self.0[0] &= !u64::from(bits);
        self
    }
}

/// The line of a slot.
const fn line(slot: usize) -> usize {
    (slot + 1) / 4
}

impl LbTree {
    #[inline]
    fn header(&self) -> Header {
        Header([self.words[0].read(), self.words[1].read()])
    }

    #[inline]
    fn slot(&self, at: usize) -> Slot {
        Slot { head: self.words[2 + 2 * at].read(), payload: self.words[3 + 2 * at].read() }
    }

    /// Writes both words of a slot that does not count yet.
    fn store<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, at: usize, slot: Slot) {
        handle.write(&self.words[2 + 2 * at], slot.head);
        handle.write(&self.words[3 + 2 * at], slot.payload);
    }

    /// Makes the header durable; its word with the bitmap is the commit word.
    fn commit<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, header: Header) {
        if header.0[1] != self.words[1].read() {
            // First in its line: a crash that keeps the bitmap keeps the fingerprints.
            handle.write(&self.words[1], header.0[1]);
        }
        handle.write(&self.words[0], header.0[0]);
        // Before the operation returns: otherwise a crash undoes it.
        handle.persist(&self.words[0]);
    }

    /// The slots whose fingerprint equals the search key's.
    #[inline]
    fn candidates<K: Keys>(
        &self,
        context: ReadContext<'_, (), K>,
        search_key: K::SearchKey<'_>,
    ) -> impl Iterator<Item = usize> {
        let front: &[_; 4] = atomics(&self.words[..4]).try_into().expect("four words");
        let bits = self.words[0].read() as u32 & ALL;
        slots(context.search.bytes_equal(front, K::fingerprint(search_key)) >> 2 & bits)
    }

    #[inline]
    fn find<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<(usize, u64)> {
        let pairs = self.candidates(context, search_key).map(|at| (at, self.slot(at)));
        pairs.into_iter().find(|(_, slot)| context.keys.is(*slot, search_key)).map(|(at, slot)| (at, slot.payload))
    }

    /// Puts a pair into the first free slot. If that slot lies in a line behind the header's, the header line's pairs
    /// move along as far as there is room: the paper's entry moving.
    fn insert_pair<M: Medium>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        slot: Slot,
        fingerprint: u8,
    ) -> std::result::Result<(), Full> {
        let old = self.header();
        let free = !old.bits() & ALL;
        let at = slots(free).next().ok_or(Full)?;
        self.store(handle, at, slot);
        let mut new = old.with_slot(at, fingerprint);
        if at >= FRONT {
            let behind = slots(free).filter(|to| *to > at && line(*to) == line(at));
            for (to, from) in behind.zip(0..FRONT) {
                self.store(handle, to, self.slot(from));
                new = new.with_slot(to, old.fingerprint(from)).without(1 << from);
            }
            // Before the bitmap: otherwise a crash keeps the bits and loses the pairs that they admit.
            handle.persist(&self.words[2 + 2 * at]);
        }
        // The commit word: it admits the new pair, and leaves the moved pairs in one place only.
        self.commit(handle, new);
        Ok(())
    }

    /// A link to a leaf with the same home.
    fn link(&self, number: u32) -> u64 {
        self.links[self.header().side()].read() & !NUMBER | u64::from(number)
    }

    /// Fills an unreachable block: the last slots first, so that the header's line stays free. Flushed, and not fenced.
    fn begin<M: Medium>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        links: [u64; 2],
        coming: impl Iterator<Item = (Slot, u8)>,
    ) {
        let mut header = Header([LEAF, 0]);
        let mut least = SLOTS;
        for ((slot, fingerprint), at) in coming.zip((0..SLOTS).rev()) {
            self.store(handle, at, slot);
            header = header.with_slot(at, fingerprint);
            least = at;
        }
        self.links.iter().zip(links).for_each(|(link, value)| handle.write(link, value));
        self.words.iter().zip(header.0).for_each(|(word, value)| handle.write(word, value));
        (line(least).max(1)..3).for_each(|line| handle.flush(&self.words[line * 8]));
        handle.flush(&self.links);
        handle.flush(&self.words[0]);
    }
}

impl Leaf for LbTree {
    const SOURCE: &'static str = "LB+-Tree: Liu, Chen, Wang, VLDB 2020";
    const CAPACITY: usize = SLOTS;
    const NEEDS_LINE_ORDER: bool = true;
    type Volatile = ();
    type Durability = PerOperation;
    type Overflow = OneBlock;
    type Recovery = AlongLinks;

    #[inline]
    fn get<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.find(context, search_key).map(|(_, payload)| payload)
    }

    fn block_pairs(&self, _: &(), out: &mut Pairs) {
        slots(self.header().bits()).for_each(|at| out.push(self.slot(at)));
    }

    fn format<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, home: Home) {
        // Survivor (store): a released block has a header of zero. A block that a rebuild passed over has not.
        handle.write(&self.words[0], 0);
        // Before the links: otherwise a crash leaves the first leaf of a keyspace with the pairs of the block's last
        // use.
        // Survivor (flush, fence): as above.
        handle.persist(&self.words[0]);
        let first = if home.first { FIRST } else { 0 };
        let link = u64::from(home.keyspace & 0xff_ffff) << 32 | first;
        self.links.iter().for_each(|it| handle.write(it, link));
        // Before the block is a leaf: otherwise a crash leaves a leaf with the links of the block's last use.
        // Survivor (fence): the link in force is what it was, in every block that a script uses again.
        handle.persist(&self.links);
        // The commit word: when recovery finds the block as a leaf, the leaf is empty.
        // Survivor (store): no crash tells an empty tree from none, and the first put writes this word again, flushes
        // it and fences.
        handle.write(&self.words[0], LEAF);
        // Before the first pair: otherwise a crash keeps the pair in a block that is no leaf.
        // Survivor (flush, fence): as above.
        handle.persist(&self.words[0]);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        let (context, handle) = context.parts();
        let Some((at, old)) = self.find(context, search_key) else {
            self.insert_pair(handle, Slot { head: K::head(search_key, 0), payload }, K::fingerprint(search_key))?;
            return Ok(None);
        };
        // The commit word.
        handle.write(&self.words[3 + 2 * at], payload);
        // Before the operation returns: otherwise a crash brings the old payload back.
        handle.persist(&self.words[3 + 2 * at]);
        Ok(Some(Replaced { payload: old, same_epoch: false }))
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = context.parts();
        let (at, payload) = self.find(context, search_key)?;
        // The commit word.
        self.commit(handle, self.header().without(1 << at));
        Some(Replaced { payload, same_epoch: false })
    }

    /// Moves the upper half of a full leaf to a fresh one, with the pending pair if it belongs there. A pair above all
    /// of the last leaf goes to the fresh leaf alone.
    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        SplitRequest { own, fresh: [right, _], range, room_for, .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let (context, handle) = context.parts();
        let header = self.header();
        let pairs = || slots(header.bits()).map(|at| IndexedPair { slot: self.slot(at), at });
        let pending = room_for.pair().filter(|_| header.bits() == ALL);
        let divided = match separator_below(context.keys, range, pending, pairs().map(|pair| pair.slot)) {
            Some(separator) => Some((separator, vec![])),
            None => upper_half(context.keys, pairs(), SLOTS),
        };
        let Some((separator, upper)) = divided else {
            return Split::new(own, None);
        };
        let rides = |pair: &PendingPair<'_, K>| {
            K::to_separator(pair.search_key) >= separator && self.find(context, pair.search_key).is_none()
        };
        let rider = pending.filter(rides).map(|PendingPair { search_key, payload }| {
            let slot = Slot { head: K::head(search_key, 0), payload };
            (slot, K::fingerprint(search_key))
        });
        let coming = upper.iter().map(|pair| (pair.slot, header.fingerprint(pair.at))).chain(rider);
        right.leaf.begin(handle, [self.link(self.next()) & !FIRST, self.link(0) & !FIRST], coming);
        handle.write(&self.links[1 - header.side()], self.link(right.number));
        handle.flush(&self.links);
        // Before the link is in force: otherwise a crash leaves a link that leads elsewhere, or to lost pairs.
        handle.fence();
        let moved = upper.iter().fold(0, |bits, pair| bits | 1 << pair.at);
        let Header([word, fingerprints]) = header.without(moved);
        // The commit word: the other link is in force, and the moved pairs no longer count here.
        self.commit(handle, Header([word ^ OTHER, fingerprints]));
        Split { left: own, right: Some((separator, right.number)), put: rider.is_some() }
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.words[0], 0);
        // Before the block is reused: otherwise recovery finds the first leaf of a dropped keyspace.
        handle.persist(&self.words[0]);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &(),
        _: &mut WriteHandle<'_, M>,
        _: RecoveryPoint,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        let header = self.header();
        let (word, link) = (header.0[0], self.links[header.side()].read());
        if word == 0 {
            return Ok(BlockState::Free);
        }
        if word & LEAF == 0 || link >= FIRST << 1 {
            let expected = "a bitmap with the mark of a leaf; a block's number and a keyspace with at most one mark";
            return Err(damaged::<Self>(
                BlockByte::first_of(own),
                "a leaf's header",
                format!("{word:#x}, {link:#x}"),
                expected,
            ));
        }
        Ok(BlockState::Live { keyspace: (link >> 32) as u32 & 0xff_ffff, first: link & FIRST != 0 })
    }
}

impl Prefetch for LbTree {
    #[inline]
    fn prefetch_pairs<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) {
        if let Some(at) = self.candidates(context, search_key).next() {
            holm_search::prefetch(&self.words[2 + 2 * at]);
        }
    }

    #[inline]
    fn candidate_payload<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.candidates(context, search_key).next().map(|at| self.slot(at).payload)
    }
}

impl Merge for LbTree {}

impl Linked for LbTree {
    fn next(&self) -> u32 {
        self.links[self.header().side()].read() as u32
    }

    fn relink<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, (), M, K>, next: u32) {
        let (_, handle) = context.parts();
        let link = &self.links[self.header().side()];
        handle.write(link, self.link(next));
        handle.flush(link);
    }
}
