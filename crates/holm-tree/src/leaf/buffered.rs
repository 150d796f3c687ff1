//! BD+Tree's leaf: unsorted pairs under bitmaps of three epochs (Du and Scott, HOPC'25 and PACMMOD 2:6), in one block
//! or in several.
//!
//! Nothing is flushed by an operation; lines are deferred to the end of their epoch. Of each block three words say
//! which slots count now and which did at the ends of the two epochs before (`versions`), fingerprints which pairs are
//! worth a look (`prints`), and both are parameters, with the number of blocks a leaf may have. A leaf without a free
//! slot gets another block behind it or gives way to fresh ones (`replace`). Each block behind names the first one;
//! which there are, a running process knows from DRAM (`roll`). Which blocks are leaves each says itself; where links
//! say so, they lie in the place of the fingerprints (`chained`).
//!
//! ```text
//! bytes 0-23    three words of versions
//!       24-51   28 fingerprints of whole keys
//!       52-55   the number of the leaf's first block, 0 in that one itself
//!       56-63   origin or heir 32 | keyspace 24 | skip 8
//!       64-511  28 pairs {head, payload}
//! ```
//!
//! **Power loss** cuts at an epoch: the state of each block then is the one of the cut (`recovery`), and what one
//! operation did to several blocks has one label. **The death of the process** keeps every store in program order (the
//! `visible` model), so each operation must also be one commit word away from done: for insert, update and remove it is
//! the word of versions or, for a pair stored in this very epoch, the payload; for an update that goes into another
//! block, that block's word; for a split or merge it is the origin's word becoming empty (see `replace`).

pub mod block;
mod kept;
mod order;
mod owner;
mod prints;
pub mod recovery;
pub mod replace;
mod roll;
pub mod tagged;
pub mod versions;

pub use order::{AsFound, Ascending, Order};
pub use prints::{Fingerprints, Line, Prints, Unprinted};
pub use roll::Roll;
pub use tagged::State;
pub use versions::{Triple, Versions};

use super::{Card, Cut, Fate, Fresh, Full, Home, Join, Leaf, Lens, Old, Pairs, Room, Split};
use crate::keys::Keys;
use crate::pair::Pair;
use crate::pair::slots;
use holm_medium::{Epoch, Medium, Pen, Result, Word, persistent};
use replace::MERGE_UP_TO;
use roll::Place;

/// Pairs of a block.
pub const SLOTS: usize = 28;
/// A bit for each slot.
pub const ALL: u32 = (1 << SLOTS) - 1;

/// What a leaf is put together from.
pub trait Form: Send + Sync + 'static {
    /// How it says what counted when.
    type Versions: Versions;
    /// Whether it has fingerprints, and where a search looks for them.
    type Prints: Prints;
    /// How pairs come to lie in fresh blocks.
    type Order: Order;
}

impl<V: Versions, P: Prints> Form for (V, P) {
    type Versions = V;
    type Prints = P;
    type Order = Ascending;
}

impl<V: Versions, P: Prints, O: Order> Form for (V, P, O) {
    type Versions = V;
    type Prints = P;
    type Order = O;
}

persistent! {
    /// 512 bytes: a metadata line and seven lines of pairs.
    #[repr(align(64))]
    pub struct Buffered<const SEGMENTS: usize; F: Form> {
        /// Which slots counted at the end of which epoch.
        pub versions: F::Versions,
        /// Fingerprints, and the number of the leaf's first block.
        pub prints: Line,
        /// Whose leaf the block is: see [`Buffered::home`].
        pub home: Word,
        /// The slots.
        pub pairs: [Pair; 28],
    }
}

const _: () = assert!(size_of::<Buffered<1, (Triple, Fingerprints)>>() == 512);

/// Where a key was found.
struct Found<'a, B> {
    block: &'a B,
    /// The block's place in the leaf.
    place: Place,
    index: usize,
    payload: u64,
}

impl<const SEGMENTS: usize, F: Form> Buffered<SEGMENTS, F> {
    /// Where the probe's key is.
    #[inline]
    fn seek<'a, K: Keys>(
        &'a self,
        roll: &Roll<SEGMENTS, F::Prints>,
        lens: Lens<'a, K>,
        probe: K::Probe<'_>,
    ) -> Option<Found<'a, Self>> {
        // Their first lines arrive while the first block is looked through.
        Self::followers(roll, lens).for_each(|(_, block)| F::Prints::approach(block));
        let found = |(place, block): (Place, &'a Self)| {
            block.find(roll.copy(place), lens, probe).map(|(index, payload)| Found { block, place, index, payload })
        };
        found((0, self)).or_else(|| Self::followers(roll, lens).find_map(found))
    }

    fn count<K: Keys>(&self, roll: &Roll<SEGMENTS, F::Prints>, lens: Lens<'_, K>) -> usize {
        self.segments(roll, lens).map(|(_, block)| block.now().bits.count_ones() as usize).sum()
    }

    /// Has the leaf say that it has changed in this epoch, with its pairs as they are.
    fn touch<M: Medium, K: Keys>(&self, roll: &Roll<SEGMENTS, F::Prints>, lens: Lens<'_, K>, pen: &mut Pen<'_, M>) {
        if self.stamp(roll, lens) != pen.epoch() {
            self.publish(pen, self.now().bits);
            self.copied(roll, 0);
        }
    }

    /// Takes a slot away from a block of this leaf; gives a block behind up that has lost its last pair so, unless the
    /// others are nearly full without it and it would be wanted back at once.
    fn vacate<M: Medium, K: Keys>(
        &self,
        roll: &Roll<SEGMENTS, F::Prints>,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        found: &Found<'_, Self>,
    ) {
        let bits = found.block.now().bits & !(1 << found.index);
        found.block.publish(pen, bits);
        found.block.copied(roll, found.place);
        if found.place > 0 && bits == 0 && self.count(roll, lens) + SLOTS / 4 <= (roll.blocks() - 1) * SLOTS {
            roll.give_up(found.place);
            self.derive(roll, lens);
            // Else the leaf would forget with the block that it has changed in this epoch, and a reader tell of the
            // removal before it is durable.
            self.touch(roll, lens, pen);
        }
    }
}

impl<const SEGMENTS: usize, F: Form> Leaf for Buffered<SEGMENTS, F> {
    const CARD: Card = Card {
        source: "BD+Tree: Du and Scott, HOPC 2025",
        defers: true,
        needs_line_order: F::Versions::NEEDS_LINE_ORDER,
        needs_whole_keys: false,
        linked: false,
        keeps: true,
    };
    const CAPACITY: usize = SEGMENTS * SLOTS;
    const BLOCKS: usize = SEGMENTS;
    const SPARE: usize = 2 * SEGMENTS.div_ceil(2) - 2;
    type Beside = Roll<SEGMENTS, F::Prints>;

    #[inline]
    fn get<K: Keys>(&self, roll: &Roll<SEGMENTS, F::Prints>, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        self.seek(roll, lens, probe).map(|found| found.payload)
    }

    #[inline]
    fn summon(&self) {
        F::Prints::summon(self);
    }

    #[inline]
    fn approach(&self) {
        F::Prints::approach(self);
    }

    #[inline]
    fn aim<K: Keys>(&self, roll: &Roll<SEGMENTS, F::Prints>, lens: Lens<'_, K>, probe: K::Probe<'_>) {
        let candidates = self.candidates(roll.copy(0), lens, probe);
        if candidates != 0 {
            holm_search::prefetch(&self.pairs[candidates.trailing_zeros() as usize]);
        } else {
            Self::followers(roll, lens).for_each(|(_, block)| F::Prints::approach(block));
        }
    }

    #[inline]
    fn glance<K: Keys>(&self, roll: &Roll<SEGMENTS, F::Prints>, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        let candidates = self.candidates(roll.copy(0), lens, probe);
        (candidates != 0).then(|| self.pairs[candidates.trailing_zeros() as usize].payload.read())
    }

    fn live(&self, _: &Roll<SEGMENTS, F::Prints>, out: &mut Pairs) {
        slots(self.now().bits).for_each(|index| out.push(self.slot(index)));
    }

    fn gather<K: Keys>(&self, roll: &Roll<SEGMENTS, F::Prints>, lens: Lens<'_, K>, out: &mut Pairs) {
        self.segments(roll, lens).for_each(|(_, block)| block.live(roll, out));
    }

    fn behind<K: Keys>(&self, roll: &Roll<SEGMENTS, F::Prints>, _: Lens<'_, K>, place: usize) -> u32 {
        roll.number(place)
    }

    fn shed(&self, roll: &Roll<SEGMENTS, F::Prints>) -> u32 {
        if SEGMENTS == 1 { 0 } else { roll.shed() }
    }

    fn sparse<K: Keys>(&self, roll: &Roll<SEGMENTS, F::Prints>, lens: Lens<'_, K>) -> bool {
        self.count(roll, lens) < MERGE_UP_TO / 2
    }

    fn skip(&self) -> usize {
        self.home().skip.into()
    }

    #[inline]
    fn stamp<K: Keys>(&self, roll: &Roll<SEGMENTS, F::Prints>, lens: Lens<'_, K>) -> Epoch {
        let tag = |place: Place, block: &Self| F::Prints::now(&block.versions, roll.copy(place)).tag;
        let latest = tag(0, self);
        Self::followers(roll, lens).fold(latest, |latest, (place, block)| latest.max(tag(place, block)))
    }

    fn agrees(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch) -> bool {
        Self::is_as_logged(logged, found, epoch, true)
    }

    fn live_at(&self, epoch: Epoch, out: &mut Pairs) -> bool {
        self.was_live(epoch, out)
    }

    fn changes_after(&self, epoch: Epoch) -> Option<(Epoch, Epoch)> {
        self.changed_after(epoch)
    }

    fn format<M: Medium>(&self, roll: &Roll<SEGMENTS, F::Prints>, pen: &mut Pen<'_, M>, home: Home) {
        self.blank(roll, pen, home, 0);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        roll: &Roll<SEGMENTS, F::Prints>,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        let (epoch, older) = (pen.epoch(), self.older(pen.epoch()));
        let older = |place: Place, block: &Self| if place == 0 { older } else { block.older(epoch) };
        let present = self.seek(roll, lens, probe);
        if let Some(Found { block, place, index, payload: old }) = present
            && older(place, block) >> index & 1 == 0
        {
            // Stored in this epoch and named by no older state: the payload itself is the commit word.
            pen.write(&block.pairs[index].payload, payload);
            pen.defer(&block.pairs[index].payload);
            let young = !roll.has_moved(place, index);
            roll.stored(place, index);
            return Ok(Some(Old { payload: old, young }));
        }
        // The first one that has room: so a leaf that has lost pairs draws in what is left, and gives blocks up.
        let room = |(place, block): (Place, &'_ Self)| {
            let now = block.now().bits;
            let free = !(now | older(place, block)) & ALL;
            (free != 0).then(|| (place, now, free.trailing_zeros() as usize))
        };
        let behind = || Self::followers(roll, lens).find_map(|follower| Some((room(follower)?, follower.1)));
        let ((place, now, index), block) = room((0, self)).map(|room| (room, self)).or_else(behind).ok_or(Full)?;
        let pair = &block.pairs[index];
        pen.write(&pair.payload, payload);
        pen.write(&pair.head, K::head(probe, self.skip()));
        // A pair lies in one line.
        pen.defer(&pair.payload);
        F::Prints::set(&block.prints, pen, index, K::print(probe));
        roll.stored(place, index);
        let gone = present.as_ref().filter(|found| found.place == place).map_or(0, |found| 1 << found.index);
        // After the pair and its fingerprint: published first, a process that dies in between shows a pair of noise.
        block.publish(pen, now & !gone | 1 << index);
        block.copied(roll, place);
        let Some(found) = present else { return Ok(None) };
        if found.place != place {
            // After the new one: else a process that dies in between loses the key.
            self.vacate(roll, lens, pen, &found);
        }
        Ok(Some(Old { payload: found.payload, young: false }))
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        roll: &Roll<SEGMENTS, F::Prints>,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
    ) -> Option<Old> {
        let found = self.seek(roll, lens, probe)?;
        // Whether no crash can bring back what the slot holds.
        let young = found.block.older(pen.epoch()) >> found.index & 1 == 0 && !roll.has_moved(found.place, found.index);
        self.vacate(roll, lens, pen, &found);
        Some(Old { payload: found.payload, young })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        roll: &Roll<SEGMENTS, F::Prints>,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        range: (&K::Fence, Option<&K::Fence>),
    ) -> Split<K::Fence> {
        self.make_room(roll, lens, pen, Room { own, fresh, spare: &[], range, before: None }, None)
    }

    fn split_and_put<M: Medium, K: Keys>(
        &self,
        roll: &Roll<SEGMENTS, F::Prints>,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        room: Room<'_, Self, K::Fence>,
        probe: K::Probe<'_>,
        _: u64,
    ) -> (Split<K::Fence>, bool) {
        (self.make_room(roll, lens, pen, room, Some(probe)), false)
    }

    /// An empty leaf needs no store to be given up: it is empty at every cut that includes the removals before. A
    /// neighbour with a quarter of its room left takes over the range; a fuller one would soon be split again.
    fn join<K: Keys>(
        &self,
        roll: &Roll<SEGMENTS, F::Prints>,
        (right, theirs): (&Self, &Roll<SEGMENTS, F::Prints>),
        lens: Lens<'_, K>,
    ) -> Join {
        let roomy = |count| count <= Self::CAPACITY * 3 / 4;
        match (self.count(roll, lens), right.count(theirs, lens)) {
            (0, count) if roomy(count) => Join::KeepRight,
            (count, 0) if roomy(count) => Join::KeepLeft,
            (own, other) if own + other <= MERGE_UP_TO => Join::Move,
            _ => Join::Apart,
        }
    }

    /// Its version, with the same slots: no crash can tell, but an answer that waits for the leaf's epoch does wait.
    fn take_over<M: Medium, K: Keys>(&self, roll: &Roll<SEGMENTS, F::Prints>, lens: Lens<'_, K>, pen: &mut Pen<'_, M>) {
        self.touch(roll, lens, pen);
    }

    fn merge<M: Medium, K: Keys>(
        &self,
        own: [(u32, &Roll<SEGMENTS, F::Prints>); 2],
        right: &Self,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: Fresh<'_, Self>,
        range: (&K::Fence, Option<&K::Fence>),
    ) -> bool {
        self.unite(own, right, lens, pen, &fresh, range)
    }

    fn abandon<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        self.publish(pen, 0);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        roll: &Roll<SEGMENTS, F::Prints>,
        pen: &mut Pen<'_, M>,
        cut: Cut,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        roll.begin();
        let fate = self.bring_to(own, pen, cut, peer)?;
        self.copied(roll, 0);
        Ok(fate)
    }

    fn enlist<K: Keys>(
        &self,
        own: u32,
        roll: &Roll<SEGMENTS, F::Prints>,
        lens: Lens<'_, K>,
        behind: &[u32],
    ) -> Result<()> {
        self.call(own, roll, lens, behind)
    }

    fn normalise<M: Medium, K: Keys>(
        &self,
        _: u32,
        roll: &Roll<SEGMENTS, F::Prints>,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        _: bool,
    ) -> Result<bool> {
        self.mend_leaf(roll, lens, pen);
        Ok(true)
    }

    fn rederive<K: Keys>(&self, roll: &Roll<SEGMENTS, F::Prints>, lens: Lens<'_, K>) {
        self.derive(roll, lens);
    }
}
