//! BD+Tree's leaf: unsorted pairs under bitmaps of three epochs (Du and Scott, HOPC'25 and PACMMOD 2:6), in one block
//! or in several.
//!
//! Nothing is flushed by an operation; lines are deferred to the end of their epoch. Of each block three words say
//! which slots count now and which did at the ends of the two epochs before (`versions`), fingerprints which pairs are
//! worth a look (`prints`), and both are parameters, with the number of blocks a leaf may have. A leaf without a free
//! slot gets another block behind it or gives way to fresh ones (`replace`).
//!
//! ```text
//! bytes 0-23    three words of versions
//!       24-51   28 fingerprints of whole keys
//!       52-55   the number of the block behind this one
//!       56-63   origin or heir 32 | keyspace 24 | skip 8
//!       64-511  28 pairs {head, payload}
//! ```
//!
//! **Power loss** cuts at an epoch: the state of each block then is the one of the cut (`recovery`), and what one
//! operation did to several blocks has one label. **The death of the process** keeps every store in program order (the
//! `visible` model), so each operation must also be one commit word away from done: for insert, update and remove it is
//! the word of versions or, for a pair stored in this very epoch, the payload; for an update that goes into a block
//! behind, that block's word; for a split or merge it is the origin's word becoming empty (see `replace`).

mod block;
#[cfg(feature = "canary")]
mod forgetful;
mod literal;
mod prints;
mod recovery;
mod replace;
mod versions;

#[cfg(feature = "canary")]
pub use forgetful::Forgetful;
pub use literal::Literal;
pub use prints::{Fingerprints, Prints, Unprinted};
pub use versions::{State, Triple, Versions};

use super::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, Old, Pairs, Room, Split};
use crate::keys::Keys;
use crate::pair::Pair;
use crate::roster::slots;
use crate::sync::atomic::{AtomicU32, Ordering::Relaxed};
use holm_medium::{Epoch, Medium, Pen, Result, Word, persistent};
use replace::MERGE_UP_TO;

/// Pairs of a block.
const SLOTS: usize = 28;
const ALL: u32 = (1 << SLOTS) - 1;

/// What a leaf is put together from.
pub trait Form: Send + Sync + 'static {
    /// How it says what counted when.
    type Versions: Versions;
    /// Whether it has fingerprints.
    type Prints: Prints;
}

impl<V: Versions, P: Prints> Form for (V, P) {
    type Versions = V;
    type Prints = P;
}

persistent! {
    /// 512 bytes: a metadata line and seven lines of pairs.
    #[repr(align(64))]
    pub struct Buffered<const SEGMENTS: usize; F: Form> {
        versions: F::Versions,
        prints: prints::Line,
        home: Word,
        pairs: [Pair; 28],
    }
}

const _: () = assert!(size_of::<Buffered<1, (Triple, Fingerprints)>>() == 512);

/// Slots of a leaf's first block whose pairs came from another leaf by a split or merge and were not stored here since.
///
/// The states of the leaf they came from may still be chosen by a crash, and this leaf's own say nothing of them: taken
/// for pairs of this very epoch, their records would be used again while a cut could bring them back. Volatile, for
/// after a crash every pair is of an epoch before the active one. To blocks behind the first nothing is moved.
#[derive(Default)]
pub struct Moved(AtomicU32);

impl Moved {
    fn contains(&self, index: usize) -> bool {
        self.0.load(Relaxed) >> index & 1 == 1
    }
    fn set(&self, bits: u32) {
        self.0.store(bits, Relaxed);
    }
    fn forget(&self, index: usize) {
        self.set(self.0.load(Relaxed) & !(1 << index));
    }
}

impl<const SEGMENTS: usize, F: Form> Buffered<SEGMENTS, F> {
    /// The block with the probe's key, the slot, and the payload.
    #[inline]
    fn seek<'a, K: Keys>(&'a self, lens: Lens<'a, K>, probe: K::Probe<'_>) -> Option<(&'a Self, usize, u64)> {
        let found = |block: &'a Self| block.find(lens, probe).map(|(index, payload)| (block, index, payload));
        found(self).or_else(|| self.segments(lens).skip(1).find_map(found))
    }

    /// Whether no crash can bring back what a slot of a block of this leaf holds.
    fn is_young(&self, block: &Self, index: usize, older: u32, moved: &Moved) -> bool {
        older >> index & 1 == 0 && !(self.is(block) && moved.contains(index))
    }

    fn is(&self, block: &Self) -> bool {
        SEGMENTS == 1 || std::ptr::eq(self, block)
    }

    fn count<K: Keys>(&self, lens: Lens<'_, K>) -> usize {
        self.segments(lens).map(|block| block.now().bits.count_ones() as usize).sum()
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
    type Beside = Moved;

    #[inline]
    fn get<K: Keys>(&self, _: &Moved, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        self.seek(lens, probe).map(|(.., payload)| payload)
    }

    #[inline]
    fn aim<K: Keys>(&self, _: &Moved, lens: Lens<'_, K>, probe: K::Probe<'_>) {
        let candidates = self.candidates(lens, probe);
        if candidates != 0 {
            holm_search::prefetch(&self.pairs[candidates.trailing_zeros() as usize]);
        }
    }

    #[inline]
    fn glance<K: Keys>(&self, _: &Moved, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        let candidates = self.candidates(lens, probe);
        (candidates != 0).then(|| self.pairs[candidates.trailing_zeros() as usize].payload.read())
    }

    fn live(&self, _: &Moved, out: &mut Pairs) {
        slots(self.now().bits).for_each(|index| out.push(self.slot(index)));
    }

    fn gather<K: Keys>(&self, beside: &Moved, lens: Lens<'_, K>, out: &mut Pairs) {
        self.segments(lens).for_each(|block| block.live(beside, out));
    }

    fn behind(&self) -> u32 {
        self.next()
    }

    fn sparse<K: Keys>(&self, _: &Moved, lens: Lens<'_, K>) -> bool {
        self.count(lens) < MERGE_UP_TO / 2
    }

    fn skip(&self) -> usize {
        self.home().skip.into()
    }

    #[inline]
    fn stamp<K: Keys>(&self, lens: Lens<'_, K>) -> Epoch {
        self.segments(lens).map(|block| block.now().tag).max().unwrap_or(0)
    }

    fn newer(logged: &[u64; 8], found: &[u64; 8]) -> bool {
        let latest = |line: &[u64; 8]| F::Versions::latest(&[line[0], line[1], line[2]]);
        latest(found) >= latest(logged)
    }

    fn format<M: Medium>(&self, moved: &Moved, pen: &mut Pen<'_, M>, home: Home) {
        moved.set(0);
        if self.next() != 0 {
            self.set_next(pen, 0);
        }
        self.set_home(pen, home, 0);
        self.publish(pen, 0);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        moved: &Moved,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        let present = self.seek(lens, probe);
        let mut block = present.map_or(self, |(block, ..)| block);
        let mut older = block.older(pen.epoch());
        if let Some((block, index, old)) = present
            && older >> index & 1 == 0
        {
            // Stored in this epoch and named by no older state: the payload itself is the commit word.
            pen.write(&block.pairs[index].payload, payload);
            pen.defer(&block.pairs[index]);
            let young = self.is_young(block, index, older, moved);
            if self.is(block) {
                moved.forget(index);
            }
            return Ok(Some(Old { payload: old, young }));
        }
        // Never into a block before the key's own: of two copies that the death of the process leaves, the one behind
        // is the later one.
        let (now, index) = loop {
            let now = block.now().bits;
            let free = !(now | older) & ALL;
            if free != 0 {
                break (now, free.trailing_zeros() as usize);
            }
            block = block.follower(lens).ok_or(Full)?;
            older = block.older(pen.epoch());
        };
        let pair = &block.pairs[index];
        pen.write(&pair.payload, payload);
        pen.write(&pair.head, K::head(probe, self.skip()));
        pen.defer(pair);
        F::Prints::set(&block.prints, pen, index, K::print(probe));
        if self.is(block) {
            moved.forget(index);
        }
        let gone = present.filter(|(before, ..)| std::ptr::eq(*before, block)).map_or(0, |(_, index, _)| 1 << index);
        // After the pair and its fingerprint: published first, a process that dies in between shows a pair of noise.
        block.publish(pen, now & !gone | 1 << index);
        let Some((before, at, old)) = present else { return Ok(None) };
        if !std::ptr::eq(before, block) {
            // After the new one: else a process that dies in between loses the key.
            before.publish(pen, before.now().bits & !(1 << at));
        }
        Ok(Some(Old { payload: old, young: false }))
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        moved: &Moved,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
    ) -> Option<Old> {
        let (block, index, payload) = self.seek(lens, probe)?;
        let young = self.is_young(block, index, block.older(pen.epoch()), moved);
        block.publish(pen, block.now().bits & !(1 << index));
        Some(Old { payload, young })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        _: &Moved,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        range: (&K::Fence, Option<&K::Fence>),
    ) -> Split<K::Fence> {
        self.make_room(lens, pen, Room { own, fresh, range }, None)
    }

    fn split_and_put<M: Medium, K: Keys>(
        &self,
        _: &Moved,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        room: Room<'_, Self, K::Fence>,
        probe: K::Probe<'_>,
        _: u64,
    ) -> (Split<K::Fence>, bool) {
        (self.make_room(lens, pen, room, Some(probe)), false)
    }

    fn merge<M: Medium, K: Keys>(
        &self,
        own: [u32; 2],
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
        _: &Moved,
        pen: &mut Pen<'_, M>,
        cut: Cut,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        self.bring_to(own, pen, cut, peer)
    }

    fn normalise<M: Medium, K: Keys>(
        &self,
        _: u32,
        _: &Moved,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        _: bool,
    ) -> Result<bool> {
        self.mend_list(lens, pen);
        Ok(true)
    }
}
