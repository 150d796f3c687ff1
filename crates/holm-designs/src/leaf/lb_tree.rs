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

use holm_medium::{Medium, Pen, Result, Word, atomics, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, MOST_PAIRS, Old, Pairs, Room, Split, damaged};
use holm_tree::pair::slots;
use holm_tree::pairs::upper_half;

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

    fn print(self, slot: usize) -> u8 {
        (self.0[(slot + 2) / 8] >> ((slot + 2) % 8 * 8)) as u8
    }

    /// The header with one more slot that counts.
    fn admit(mut self, slot: usize, print: u8) -> Self {
        let (word, shift) = ((slot + 2) / 8, (slot + 2) % 8 * 8);
        self.0[word] = self.0[word] & !(0xff << shift) | u64::from(print) << shift;
        self.0[0] |= 1 << slot;
        self
    }

    /// The header without these slots.
    fn dismiss(mut self, bits: u32) -> Self {
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
    fn store<M: Medium>(&self, pen: &mut Pen<'_, M>, at: usize, slot: Slot) {
        pen.write(&self.words[2 + 2 * at], slot.head);
        pen.write(&self.words[3 + 2 * at], slot.payload);
    }

    /// Makes the header durable; its word with the bitmap is the commit word.
    fn commit<M: Medium>(&self, pen: &mut Pen<'_, M>, header: Header) {
        if header.0[1] != self.words[1].read() {
            // First in its line: a crash that keeps the bitmap keeps the fingerprints.
            pen.write(&self.words[1], header.0[1]);
        }
        pen.write(&self.words[0], header.0[0]);
        // Before the operation returns: otherwise a crash undoes it.
        pen.persist(&self.words[0]);
    }

    /// The slots whose fingerprint equals the search key's.
    #[inline]
    fn candidates<K: Keys>(&self, lens: Lens<'_, K>, probe: K::Probe<'_>) -> impl Iterator<Item = usize> {
        let front: &[_; 4] = atomics(&self.words[..4]).try_into().expect("four words");
        let bits = self.words[0].read() as u32 & ALL;
        slots(lens.search.bytes_equal(front, K::print(probe)) >> 2 & bits)
    }

    #[inline]
    fn find<K: Keys>(&self, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<(usize, u64)> {
        let pairs = self.candidates(lens, probe).map(|at| (at, self.slot(at)));
        pairs.into_iter().find(|(_, slot)| lens.keys.is(*slot, probe)).map(|(at, slot)| (at, slot.payload))
    }

    /// Puts a pair into the first free slot. If that slot lies in a line behind the header's, the header line's pairs
    /// move along as far as there is room: the paper's entry moving.
    fn admit<M: Medium>(&self, pen: &mut Pen<'_, M>, slot: Slot, print: u8) -> std::result::Result<(), Full> {
        let old = self.header();
        let free = !old.bits() & ALL;
        let at = slots(free).next().ok_or(Full)?;
        self.store(pen, at, slot);
        let mut new = old.admit(at, print);
        if at >= FRONT {
            let behind = slots(free).filter(|to| *to > at && line(*to) == line(at));
            for (to, from) in behind.zip(0..FRONT) {
                self.store(pen, to, self.slot(from));
                new = new.admit(to, old.print(from)).dismiss(1 << from);
            }
            // Before the bitmap: otherwise a crash keeps the bits and loses the pairs that they admit.
            pen.persist(&self.words[2 + 2 * at]);
        }
        // The commit word: it admits the new pair, and leaves the moved pairs in one place only.
        self.commit(pen, new);
        Ok(())
    }

    /// A link to a leaf with the same home.
    fn link(&self, number: u32) -> u64 {
        self.links[self.header().side()].read() & !NUMBER | u64::from(number)
    }

    /// Moves the upper half of a full leaf to a fresh one, with the pending pair if it belongs there.
    fn part<M: Medium, K: Keys>(
        &self,
        own: u32,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        right: &Fresh<'_, Self>,
        pending: Option<(K::Probe<'_>, u64)>,
    ) -> (Split<K::Fence>, bool) {
        let header = self.header();
        let pairs = slots(header.bits()).map(|at| (self.slot(at), at));
        let Some((separator, upper)) = upper_half(lens.keys, pairs, SLOTS) else {
            return (Split { left: own, right: None }, false);
        };
        let rides =
            |(probe, _): &(K::Probe<'_>, u64)| K::fence(*probe) >= separator && self.find(lens, *probe).is_none();
        let rider = pending.filter(rides).map(|(probe, payload)| {
            let slot = Slot { head: K::head(probe, 0), payload };
            (slot, K::print(probe))
        });
        let coming = upper.iter().map(|(slot, at)| (*slot, header.print(*at))).chain(rider);
        right.leaf.begin(pen, [self.link(self.next()) & !FIRST, self.link(0) & !FIRST], coming);
        pen.write(&self.links[1 - header.side()], self.link(right.number));
        pen.flush(&self.links);
        // Before the link is in force: otherwise a crash leaves a link that leads elsewhere, or to lost pairs.
        pen.fence();
        let moved = upper.iter().fold(0, |bits, (_, at)| bits | 1 << at);
        let Header([word, prints]) = header.dismiss(moved);
        // The commit word: the other link is in force, and the moved pairs no longer count here.
        self.commit(pen, Header([word ^ OTHER, prints]));
        (Split { left: own, right: Some((separator, right.number)) }, rider.is_some())
    }

    /// Fills an unreachable block: the last slots first, so that the header's line stays free. Flushed, and not fenced.
    fn begin<M: Medium>(&self, pen: &mut Pen<'_, M>, links: [u64; 2], coming: impl Iterator<Item = (Slot, u8)>) {
        let mut header = Header([LEAF, 0]);
        let mut least = SLOTS;
        for ((slot, print), at) in coming.zip((0..SLOTS).rev()) {
            self.store(pen, at, slot);
            header = header.admit(at, print);
            least = at;
        }
        self.links.iter().zip(links).for_each(|(link, value)| pen.write(link, value));
        self.words.iter().zip(header.0).for_each(|(word, value)| pen.write(word, value));
        (line(least).max(1)..3).for_each(|line| pen.flush(&self.words[line * 8]));
        pen.flush(&self.links);
        pen.flush(&self.words[0]);
    }
}

impl Leaf for LbTree {
    const CARD: Card = Card {
        source: "LB+-Tree: Liu, Chen, Wang, VLDB 2020",
        defers: false,
        needs_line_order: true,
        needs_whole_keys: false,
        linked: true,
        keeps: true,
    };
    const CAPACITY: usize = SLOTS;
    type Beside = ();

    #[inline]
    fn get<K: Keys>(&self, _: &(), lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        self.find(lens, probe).map(|(_, payload)| payload)
    }

    #[inline]
    fn aim<K: Keys>(&self, _: &(), lens: Lens<'_, K>, probe: K::Probe<'_>) {
        if let Some(at) = self.candidates(lens, probe).next() {
            holm_search::prefetch(&self.words[2 + 2 * at]);
        }
    }

    #[inline]
    fn glance<K: Keys>(&self, _: &(), lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        self.candidates(lens, probe).next().map(|at| self.slot(at).payload)
    }

    fn live(&self, _: &(), out: &mut Pairs) {
        slots(self.header().bits()).for_each(|at| out.push(self.slot(at)));
    }

    fn next(&self) -> u32 {
        self.links[self.header().side()].read() as u32
    }

    fn format<M: Medium>(&self, _: &(), pen: &mut Pen<'_, M>, home: Home) {
        pen.write(&self.words[0], 0);
        // Before the links: otherwise a crash leaves the first leaf of a keyspace with the pairs of the block's last
        // use.
        pen.persist(&self.words[0]);
        let first = if home.first { FIRST } else { 0 };
        let link = u64::from(home.keyspace & 0xff_ffff) << 32 | first;
        self.links.iter().for_each(|it| pen.write(it, link));
        // Before the block is a leaf: otherwise a crash leaves a leaf with the links of the block's last use.
        pen.persist(&self.links);
        // The commit word: when recovery finds the block as a leaf, the leaf is empty.
        pen.write(&self.words[0], LEAF);
        // Before the first pair: otherwise a crash keeps the pair in a block that is no leaf.
        pen.persist(&self.words[0]);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        let Some((at, old)) = self.find(lens, probe) else {
            self.admit(pen, Slot { head: K::head(probe, 0), payload }, K::print(probe))?;
            return Ok(None);
        };
        // The commit word.
        pen.write(&self.words[3 + 2 * at], payload);
        // Before the operation returns: otherwise a crash brings the old payload back.
        pen.persist(&self.words[3 + 2 * at]);
        Ok(Some(Old { payload: old, young: false }))
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
    ) -> Option<Old> {
        let (at, payload) = self.find(lens, probe)?;
        // The commit word.
        self.commit(pen, self.header().dismiss(1 << at));
        Some(Old { payload, young: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        _: (&K::Fence, Option<&K::Fence>),
    ) -> Split<K::Fence> {
        self.part(own, lens, pen, &fresh[0], None).0
    }

    fn split_and_put<M: Medium, K: Keys>(
        &self,
        _: &(),
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        room: Room<'_, Self, K::Fence>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> (Split<K::Fence>, bool) {
        self.part(room.own, lens, pen, &room.fresh[0], Some((probe, payload)))
    }

    fn abandon<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        pen.write(&self.words[0], 0);
        // Before the block is reused: otherwise recovery finds the first leaf of a dropped keyspace.
        pen.persist(&self.words[0]);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        _: &(),
        _: &mut Pen<'_, M>,
        _: Cut,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        let header = self.header();
        let (word, link) = (header.0[0], self.links[header.side()].read());
        if word == 0 {
            return Ok(Fate::Free);
        }
        if word & LEAF == 0 || link >= FIRST << 1 {
            let expected = "a bitmap with the mark of a leaf; a block's number and a keyspace with at most one mark";
            return Err(damaged::<Self>((own, 0), "a leaf's header", format!("{word:#x}, {link:#x}"), expected));
        }
        Ok(Fate::Live { keyspace: (link >> 32) as u32 & 0xff_ffff, first: link & FIRST != 0 })
    }

    fn relink<M: Medium, K: Keys>(&self, _: &(), _: Lens<'_, K>, pen: &mut Pen<'_, M>, next: u32) {
        let link = &self.links[self.header().side()];
        pen.write(link, self.link(next));
        pen.flush(link);
    }
}
