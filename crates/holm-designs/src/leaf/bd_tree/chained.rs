//! BD+Tree's leaf in a chain, as in the paper's recovery: recovery finds the leaves by following links from the first
//! one.
//!
//! A link belongs to a leaf's state at the end of an epoch, so it is kept as bitmaps are: as three tagged words, in the
//! place where other designs have fingerprints. A split flushes nothing and needs no fence. At every recovery point the
//! chain leads through the leaves of that point. Replacing a leaf needs one store to the leaf *before* it, which is
//! latched together with it. The first leaf has no leaf before it and is never replaced: it hands its pairs on to a
//! fresh leaf, and remains as the chain's start.
//!
//! ```text
//! bytes 24-47   three tagged links {epoch tag 36 | first leaf of its tree 1 | number of the next leaf 27}
//!       48-55   zero
//! ```
//!
//! In a link, zero means that the block is no leaf, and 27 ones that there is no next leaf. A block that no link leads
//! to does not exist, whatever it contains. So replacing a leaf needs no store to the old leaf: the store of the link
//! to its replacement commits.

mod link;
mod room;

use holm_medium::{Epoch, Medium, Pen, Result, Word, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::buffered::recovery::beyond;
use holm_tree::leaf::buffered::replace::MERGE_UP_TO;
use holm_tree::leaf::buffered::tagged::{State, Tagged};
use holm_tree::leaf::buffered::versions::Versions;
use holm_tree::leaf::buffered::{ALL, Buffered, Roll, Triple, Unprinted};
use holm_tree::leaf::{Card, Cut, Fate, Fresh, Full, Home, Leaf, Lens, Old, Pairs, Room, Split};
use holm_tree::pair::slots;
use link::{FIRST, Link, NONE};

type Block = Buffered<1, (Triple, Unprinted)>;
type Beside = Roll<1, Unprinted>;

/// If the first leaf has this many free slots or fewer, only the lowest key may take one: its versions need three at
/// most.
const KEPT: u32 = 3;

persistent! {
    /// A block with links in the place of fingerprints.
    pub struct Chained {
        block: Block,
    }
}

impl Chained {
    fn words(&self) -> &[Word; 3] {
        self.block.prints.first_chunk().expect("three of four words")
    }

    #[inline]
    fn links(&self) -> Tagged<'_> {
        Tagged(self.words())
    }

    #[inline]
    fn link(&self) -> Option<Link> {
        Link::unpack(self.links().now().bits)
    }

    #[inline]
    fn is_first(&self) -> bool {
        self.links().now().bits & FIRST != 0
    }

    /// Changes the link. The mutants that omit a step identify it by its caller.
    #[track_caller]
    fn lead<M: Medium>(&self, pen: &mut Pen<'_, M>, next: u32) {
        let bits = Link { next, first: self.is_first() }.pack();
        self.links().put(pen, State { tag: pen.epoch(), bits });
        pen.defer(self.words());
    }

    /// The slots that may be written.
    fn free(&self, epoch: Epoch) -> u32 {
        !(self.block.now().bits | self.block.older(epoch)) & ALL
    }

    /// Of the slots that count, those whose pairs `suits` accepts.
    fn among(&self, suits: impl Fn(Slot) -> bool) -> u32 {
        let suiting = slots(self.block.now().bits).filter(|index| suits(self.block.slot(*index)));
        suiting.fold(0, |bits, index| bits | 1 << index)
    }
}

impl Leaf for Chained {
    const CARD: Card = Card { linked: true, ..Block::CARD };
    const CAPACITY: usize = Block::CAPACITY;
    const NEEDS_BEFORE: bool = true;
    const NUMBERS: u32 = NONE;
    type Beside = Beside;

    #[inline]
    fn get<K: Keys>(&self, roll: &Beside, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        self.block.get(roll, lens, probe)
    }

    #[inline]
    fn aim<K: Keys>(&self, roll: &Beside, lens: Lens<'_, K>, probe: K::Probe<'_>) {
        self.block.aim(roll, lens, probe);
    }

    #[inline]
    fn glance<K: Keys>(&self, roll: &Beside, lens: Lens<'_, K>, probe: K::Probe<'_>) -> Option<u64> {
        self.block.glance(roll, lens, probe)
    }

    fn live(&self, roll: &Beside, out: &mut Pairs) {
        self.block.live(roll, out);
    }

    fn sparse<K: Keys>(&self, roll: &Beside, lens: Lens<'_, K>) -> bool {
        self.block.sparse(roll, lens)
    }

    /// The later epoch of pairs and link: the clock must continue beyond both.
    #[inline]
    fn stamp<K: Keys>(&self, roll: &Beside, lens: Lens<'_, K>) -> Epoch {
        self.block.stamp(roll, lens).max(self.links().now().tag)
    }

    /// The link at the end of the epoch is part of the state.
    fn agrees(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch) -> bool {
        let link = |line: &[u64; 8]| Tagged::ended_of(&[line[3], line[4], line[5]], epoch);
        let same = |line: &[u64; 8]| link(&found[0]).is_none_or(|found| link(line).is_none_or(|line| line == found));
        logged[0].as_ref().is_none_or(same) && Block::is_as_logged(logged, found, epoch, false)
    }

    fn live_at(&self, epoch: Epoch, out: &mut Pairs) -> bool {
        self.block.was_live(epoch, out)
    }

    fn changes_after(&self, epoch: Epoch) -> Option<(Epoch, Epoch)> {
        self.block.changed_after(epoch)
    }

    fn next(&self) -> u32 {
        self.link().map_or(0, |link| link.next)
    }

    fn format<M: Medium>(&self, roll: &Beside, pen: &mut Pen<'_, M>, home: Home) {
        self.begin(roll, pen, 0, home, 0);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        roll: &Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Old>, Full> {
        // The slots of pairs that were handed on stay pinned for two epochs. Without room for the lowest key, no writer
        // could make room.
        let scarce = self.is_first() && self.free(pen.epoch()).count_ones() <= KEPT;
        if scarce && K::fence(probe) != K::Fence::default() {
            return Err(Full);
        }
        self.block.insert(roll, lens, pen, probe, payload)
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        roll: &Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        probe: K::Probe<'_>,
    ) -> Option<Old> {
        self.block.remove(roll, lens, pen, probe)
    }

    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        roll: &Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        range: (&K::Fence, Option<&K::Fence>),
    ) -> Split<K::Fence> {
        self.make_room(roll, lens, pen, Room { own, fresh, spare: &[], range, before: None }, None)
    }

    fn split_and_put<M: Medium, K: Keys>(
        &self,
        roll: &Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        room: Room<'_, Self, K::Fence>,
        probe: K::Probe<'_>,
        _: u64,
    ) -> (Split<K::Fence>, bool) {
        (self.make_room(roll, lens, pen, room, Some(probe)), false)
    }

    fn absorb<M: Medium, K: Keys>(
        &self,
        roll: &Beside,
        (right, _): (&Self, &Beside),
        _: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
    ) -> bool {
        let (now, coming, free) = (self.block.now().bits, right.block.now().bits, self.free(pen.epoch()));
        let (comes, kept) = (coming.count_ones(), if self.is_first() { KEPT } else { 0 });
        if (now.count_ones() + comes) as usize > MERGE_UP_TO || comes + kept > free.count_ones() {
            return false;
        }
        let mut arrived = 0;
        for (to, from) in slots(free).zip(slots(coming)) {
            let (pair, slot) = (&self.block.pairs[to], right.block.slot(from));
            pen.write(&pair.payload, slot.payload);
            pen.write(&pair.head, slot.head);
            pen.defer(pair);
            arrived |= 1 << to;
        }
        roll.add_moved(0, arrived);
        // After the pairs, and before the link: if the process dies in between, both leaves have the pairs.
        self.block.publish(pen, now | arrived);
        self.lead(pen, right.next());
        true
    }

    /// Only the first leaf of a tree is found without a link. It is the first one to be released.
    fn abandon<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        if self.is_first() {
            self.links().put(pen, State { tag: pen.epoch(), bits: 0 });
            pen.defer(self.words());
        }
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        roll: &Beside,
        pen: &mut Pen<'_, M>,
        cut: Cut,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<Fate> {
        // The block does not name an origin or an heir.
        self.block.recover(own, roll, pen, cut, &|_| None)?;
        if let Cut::At(cut) = cut {
            if let Some(tag) = self.links().beyond(cut) {
                return Err(beyond::<Self>((own, 24), "a link's tag", tag, cut));
            }
            // As with bitmaps: the clock continues from the recovery point, and will reach the tag of a lost link
            // again.
            if self.links().scrub(pen, cut) {
                pen.flush(self.words());
            }
        }
        let live = |link: Link| Fate::Live { keyspace: self.block.home().keyspace, first: link.first };
        Ok(self.link().map_or(Fate::Free, live))
    }

    /// If the process died while a first leaf handed pairs on, or while a leaf took over its right neighbour, the right
    /// leaf's pairs are here as well. That was the leaf's last change, so it is undone or finished in the epoch of that
    /// change. In an epoch of its own it would be a fourth state: a power cut during this recovery could find more
    /// epochs than there are words.
    fn mend<M: Medium, K: Keys>(&self, _: &Beside, lens: Lens<'_, K>, pen: &mut Pen<'_, M>, right: Option<&Self>) {
        let theirs = right.into_iter().flat_map(|right| slots(right.block.now().bits).map(|it| right.block.slot(it)));
        let Some(low) = theirs.min_by(|a, b| lens.keys.order(*a, *b)) else { return };
        let now = self.block.now();
        let bits = self.among(|slot| lens.keys.order(slot, low).is_lt());
        if bits != now.bits {
            self.block.versions.put(pen, State { tag: now.tag.max(self.links().now().tag), bits });
            pen.flush(&self.block.versions);
        }
    }

    /// The link changes in the latest epoch of all leaves that are passed over, which is no later than any epoch that a
    /// crash has kept. A recovery point before that epoch may find pairs in those leaves; from that epoch on there are
    /// none.
    fn relink<M: Medium, K: Keys>(&self, _: &Beside, lens: Lens<'_, K>, pen: &mut Pen<'_, M>, next: u32) {
        let behind = |leaf: &Self| Some(leaf.next()).filter(|number| *number != 0 && *number != next);
        let passed = std::iter::successors(Some(self), |leaf| lens.block::<Self>(behind(leaf)?)).skip(1);
        let latest = |leaf: &Self| leaf.block.now().tag.max(leaf.links().now().tag);
        let own = self.links().now().tag;
        let tag = passed.map(latest).fold(own, Epoch::max);
        let bits = Link { next, first: self.is_first() }.pack();
        self.links().put(pen, State { tag, bits });
        pen.flush(self.words());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holm_medium::{Area, FIRST_EPOCH, Flush, Image, Loc, Mapped, MappedOptions, Pool, Quill};
    use holm_search::Search;
    use holm_tree::keys::Words;
    use std::sync::Arc;

    const HEAD: Home = Home { keyspace: 5, skip: 0, first: true };

    fn pool() -> (Quill<Mapped>, Arc<Image>) {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let quill = Pool::open(Mapped::heap(8 * 512, 64, options), FIRST_EPOCH).expect("memory");
        let image = quill.pool().medium_image();
        (quill, image)
    }

    fn block(image: &Image, number: u64) -> &Chained {
        image.at(Loc::new(Area::Leaves, number * 512)).expect("as many blocks")
    }

    fn recovered(quill: &Quill<Mapped>, leaf: &Chained, cut: Cut) -> Result<Fate> {
        leaf.recover(1, &Beside::default(), &mut quill.cut_at(FIRST_EPOCH + 9), cut, &|_| None)
    }

    /// The first line of a block. A crash keeps or loses each of its words separately.
    fn line(leaf: &Chained) -> [&Word; 8] {
        let versions = leaf.block.versions.words();
        let (prints, home) = (&leaf.block.prints, &leaf.block.home);
        [&versions[0], &versions[1], &versions[2], &prints[0], &prints[1], &prints[2], &prints[3], home]
    }

    /// A first leaf is released, and two epochs later its block is a leaf of another tree. A crash then loses this
    /// reuse except for some words. No combination of words brings the old tree back, or gives the new one a wrong end.
    #[test]
    fn a_dropped_tree_does_not_come_back_after_a_lost_reuse() {
        for (first, keep) in [false, true].into_iter().flat_map(|first| (0..256).map(move |keep| (first, keep))) {
            let (quill, image) = pool();
            let (leaf, roll) = (block(&image, 1), Beside::default());
            let lens = Lens { keys: &Words, search: Search::portable(), image: Some(&*image) };
            leaf.format(&roll, &mut quill.cut_at(FIRST_EPOCH), HEAD);
            leaf.insert(&roll, lens, &mut quill.cut_at(FIRST_EPOCH), 7, 7).expect("room");
            leaf.lead(&mut quill.cut_at(FIRST_EPOCH + 1), 3);
            leaf.abandon(&mut quill.cut_at(FIRST_EPOCH + 2));
            let old = line(leaf).map(Word::read);
            leaf.begin(&roll, &mut quill.cut_at(FIRST_EPOCH + 4), 0, Home { keyspace: 6, first, ..HEAD }, 2);
            let mut pen = quill.cut_at(FIRST_EPOCH + 4);
            for (at, word) in line(leaf).into_iter().enumerate().filter(|(at, _)| keep >> at & 1 == 0) {
                pen.write(word, old[at]);
            }
            for cut in [FIRST_EPOCH + 2, FIRST_EPOCH + 3] {
                assert_eq!(recovered(&quill, leaf, Cut::At(cut)).expect("no damage"), Fate::Free, "{keep:#b}");
            }
        }
    }

    /// At each recovery point that a crash may choose, a leaf leads where it led at the end of that epoch.
    #[test]
    fn a_link_is_that_of_the_recovery_point() {
        let changes = [(0, 2), (1, 3), (1, 4), (2, 5)];
        for (cut, next) in [(0, 2), (1, 4), (2, 5)] {
            let (quill, image) = pool();
            let leaf = block(&image, 1);
            leaf.format(&Beside::default(), &mut quill.cut_at(FIRST_EPOCH), HEAD);
            changes.iter().for_each(|(epoch, next)| leaf.lead(&mut quill.cut_at(FIRST_EPOCH + epoch), *next));
            assert_eq!(leaf.stamp(&Beside::default(), lens()), FIRST_EPOCH + 2);
            let live = Fate::Live { keyspace: 5, first: true };
            assert_eq!(recovered(&quill, leaf, Cut::At(FIRST_EPOCH + cut)).expect("no damage"), live);
            assert_eq!((leaf.next(), recovered(&quill, leaf, Cut::Visible).expect("no damage")), (next, live));
        }
    }

    fn lens<'a>() -> Lens<'a, Words> {
        Lens { keys: &Words, search: Search::portable(), image: None }
    }

    /// Pairs that a merge moved here are in a state of another leaf, which a crash may choose: their replaced records
    /// must not be freed at once. What the block held before pins nothing.
    #[test]
    fn merged_pairs_count_as_old_and_find_all_slots() {
        let (quill, image) = pool();
        let (leaf, fresh) = (block(&image, 1), block(&image, 2));
        let rolls = <[Beside; 2]>::default();
        for at in 0..3 {
            let mut pen = quill.cut_at(FIRST_EPOCH + at);
            fresh.begin(&rolls[1], &mut pen, ALL, Home { keyspace: 9, ..HEAD }, 3);
            fresh.lead(&mut pen, 4);
        }
        fresh.abandon(&mut quill.cut_at(FIRST_EPOCH + 3));
        assert_eq!(fresh.stamp(&rolls[1], lens()), FIRST_EPOCH + 3, "the clock goes on behind it");
        let mut pen = quill.cut_at(FIRST_EPOCH + 5);
        leaf.format(&rolls[0], &mut pen, HEAD);
        for key in 1..=6 {
            assert_eq!(leaf.insert(&rolls[0], lens(), &mut pen, key, key), Ok(None));
        }
        let pairs: Vec<_> = leaf.block.moving().collect();
        let right = Fresh { number: 2, leaf: fresh, beside: &rolls[1] };
        Chained::fill(&right, lens(), &mut pen, &pairs, Home { first: false, ..HEAD }, 0);
        leaf.block.publish(&mut pen, 0);
        assert_eq!(fresh.free(FIRST_EPOCH + 5).count_ones(), 22);
        assert_eq!(fresh.remove(&rolls[1], lens(), &mut pen, 1), Some(Old { payload: 1, young: false }));
        assert!(leaf.absorb(&rolls[0], (fresh, &rolls[1]), lens(), &mut pen));
        assert_eq!(leaf.remove(&rolls[0], lens(), &mut pen, 2), Some(Old { payload: 2, young: false }));
        assert_eq!((leaf.next(), leaf.block.now().bits.count_ones()), (0, 4));
    }

    #[test]
    fn tags_that_no_crash_can_leave_are_damage() {
        let (quill, image) = pool();
        let leaf = block(&image, 1);
        leaf.format(&Beside::default(), &mut quill.cut_at(FIRST_EPOCH), HEAD);
        for (epoch, next) in [(3, 2), (4, 3), (5, 4)] {
            leaf.lead(&mut quill.cut_at(FIRST_EPOCH + epoch), next);
        }
        let beyond = recovered(&quill, leaf, Cut::At(FIRST_EPOCH + 2)).expect_err("three epochs beyond the cut");
        assert!(beyond.to_string().contains("a link's tag"), "{beyond}");
    }
}
