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

use holm_medium::{Epoch, EpochSpan, Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::buffered::recovery::beyond;
use holm_tree::leaf::buffered::replace::MERGE_UP_TO;
use holm_tree::leaf::buffered::tagged::{State, Tagged};
use holm_tree::leaf::buffered::versions::Versions;
use holm_tree::leaf::buffered::{ALL, Buffered, NoFingerprints, OverflowBlocks, Triple};
use holm_tree::leaf::{
    AlongLinks, BlockByte, BlockState, Full, Home, Latched, Leaf, LeafRef, Linked, Merge, MergeRequest, MergedInto,
    OneBlock, Pairs, PerEpoch, Prefetch, ReadContext, RecoveryPoint, Replaced, Split, SplitRequest, Versioned,
    WriteContext,
};
use holm_tree::pair::slots;
use link::{FIRST, Link, NONE};

type Block = Buffered<1, (Triple, NoFingerprints)>;
type Volatile = OverflowBlocks<1, NoFingerprints>;

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
        self.block.fingerprints.first_chunk().expect("three of four words")
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
    fn lead<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, next: u32) {
        let bits = Link { next, first: self.is_first() }.pack();
        self.links().put(handle, State { tag: handle.epoch(), bits });
        handle.defer(self.words());
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
    const SOURCE: &'static str = Block::SOURCE;
    const CAPACITY: usize = Block::CAPACITY;
    const NEEDS_LINE_ORDER: bool = Block::NEEDS_LINE_ORDER;
    const NUMBERS: u32 = NONE;
    type Volatile = Volatile;
    type Durability = PerEpoch;
    type Overflow = OneBlock;
    type Recovery = AlongLinks<Latched>;

    #[inline]
    fn get<K: Keys>(&self, context: ReadContext<'_, Volatile, K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.block.get(context, search_key)
    }

    fn block_pairs(&self, overflow: &Volatile, out: &mut Pairs) {
        self.block.block_pairs(overflow, out);
    }

    fn format<M: Medium>(&self, overflow: &Volatile, handle: &mut WriteHandle<'_, M>, home: Home) {
        self.begin(overflow, handle, 0, home, 0);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        // The slots of pairs that were handed on stay pinned for two epochs. Without room for the lowest key, no writer
        // could make room.
        let scarce = self.is_first() && self.free(context.handle.epoch()).count_ones() <= KEPT;
        if scarce && K::to_separator(search_key) != K::Separator::default() {
            return Err(Full);
        }
        self.block.insert(context, search_key, payload)
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        self.block.remove(context, search_key)
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        self.make_room(context, request)
    }

    /// Only the first leaf of a tree is found without a link. It is the first one to be released.
    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        if self.is_first() {
            self.links().put(handle, State { tag: handle.epoch(), bits: 0 });
            handle.defer(self.words());
        }
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        overflow: &Volatile,
        handle: &mut WriteHandle<'_, M>,
        recovery_point: RecoveryPoint,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        // The block does not name an origin or an heir.
        self.block.recover(own, overflow, handle, recovery_point, &|_| None)?;
        if let RecoveryPoint::At(recovery_epoch) = recovery_point {
            if let Some(tag) = self.links().beyond(recovery_epoch) {
                return Err(beyond::<Self>(BlockByte { block: own, byte: 24 }, "a link's tag", tag, recovery_epoch));
            }
            // As with bitmaps: the clock continues from the recovery point, and will reach the tag of a lost link
            // again.
            if self.links().scrub(handle, recovery_epoch) {
                handle.flush(self.words());
            }
        }
        let live = |link: Link| BlockState::Live { keyspace: self.block.home().keyspace, first: link.first };
        Ok(self.link().map_or(BlockState::Free, live))
    }
}

impl Prefetch for Chained {
    #[inline]
    fn prefetch_pairs<K: Keys>(&self, context: ReadContext<'_, Volatile, K>, search_key: K::SearchKey<'_>) {
        self.block.prefetch_pairs(context, search_key);
    }

    #[inline]
    fn candidate_payload<K: Keys>(
        &self,
        context: ReadContext<'_, Volatile, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<u64> {
        self.block.candidate_payload(context, search_key)
    }
}

impl Merge for Chained {
    fn sparse<K: Keys>(&self, context: ReadContext<'_, Volatile, K>) -> bool {
        self.block.sparse(context)
    }

    fn merge<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        MergeRequest { right: LeafRef { leaf: right, .. }, .. }: MergeRequest<'_, Self, K::Separator>,
    ) -> MergedInto {
        let (context, handle) = context.parts();
        let (now, coming, free) = (self.block.now().bits, right.block.now().bits, self.free(handle.epoch()));
        let (comes, kept) = (coming.count_ones(), if self.is_first() { KEPT } else { 0 });
        if (now.count_ones() + comes) as usize > MERGE_UP_TO || comes + kept > free.count_ones() {
            return MergedInto::Neither;
        }
        let mut arrived = 0;
        for (to, from) in slots(free).zip(slots(coming)) {
            let (pair, slot) = (&self.block.pairs[to], right.block.slot(from));
            handle.write(&pair.payload, slot.payload);
            handle.write(&pair.head, slot.head);
            handle.defer(pair);
            arrived |= 1 << to;
        }
        context.volatile.add_moved(0, arrived);
        // After the pairs, and before the link: if the process dies in between, both leaves have the pairs.
        self.block.publish(handle, now | arrived);
        self.lead(handle, right.next());
        MergedInto::Left
    }
}

impl Versioned for Chained {
    /// The later epoch of pairs and link: the clock must continue beyond both.
    #[inline]
    fn stamp<K: Keys>(&self, context: ReadContext<'_, Volatile, K>) -> Epoch {
        self.block.stamp(context).max(self.links().now().tag)
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

    fn changes_after(&self, epoch: Epoch) -> Option<EpochSpan> {
        self.block.changed_after(epoch)
    }
}

impl Linked for Chained {
    fn next(&self) -> u32 {
        self.link().map_or(0, |link| link.next)
    }

    /// If the process died while a first leaf handed pairs on, or while a leaf took over its right neighbour, the right
    /// leaf's pairs are here as well. That was the leaf's last change, so it is undone or finished in the epoch of that
    /// change. In an epoch of its own it would be a fourth state: a power cut during this recovery could find more
    /// epochs than there are words.
    fn repair_link<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        right: Option<&Self>,
    ) {
        let (context, handle) = context.parts();
        let theirs = right.into_iter().flat_map(|right| slots(right.block.now().bits).map(|it| right.block.slot(it)));
        let Some(low) = theirs.min_by(|a, b| context.keys.order(*a, *b)) else { return };
        let now = self.block.now();
        let bits = self.among(|slot| context.keys.order(slot, low).is_lt());
        if bits != now.bits {
            self.block.versions.put(handle, State { tag: now.tag.max(self.links().now().tag), bits });
            handle.flush(&self.block.versions);
        }
    }

    /// The link changes in the latest epoch of all leaves that are passed over, which is no later than any epoch that a
    /// crash has kept. A recovery point before that epoch may find pairs in those leaves; from that epoch on there are
    /// none.
    fn relink<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, Volatile, M, K>, next: u32) {
        let (context, handle) = context.parts();
        let behind = |leaf: &Self| Some(leaf.next()).filter(|number| *number != 0 && *number != next);
        let passed = std::iter::successors(Some(self), |leaf| context.block::<Self>(behind(leaf)?)).skip(1);
        let latest = |leaf: &Self| leaf.block.now().tag.max(leaf.links().now().tag);
        let own = self.links().now().tag;
        let tag = passed.map(latest).fold(own, Epoch::max);
        let bits = Link { next, first: self.is_first() }.pack();
        self.links().put(handle, State { tag, bits });
        handle.flush(self.words());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holm_medium::{Area, FIRST_EPOCH, Flush, Image, Loc, Mapped, MappedOptions, Storage, Writer};
    use holm_search::Search;
    use holm_tree::keys::Words;
    use holm_tree::leaf::KeyRange;
    use std::sync::Arc;

    const HEAD: Home = Home { keyspace: 5, skip: 0, first: true };

    fn storage() -> (Writer<Mapped>, Arc<Image>) {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let writer = Storage::open(Mapped::heap(8 * 512, 64, options), FIRST_EPOCH).expect("memory");
        let image = writer.storage().medium_image();
        (writer, image)
    }

    fn block(image: &Image, number: u64) -> &Chained {
        image.at(Loc::new(Area::Leaves, number * 512)).expect("as many blocks")
    }

    fn recovered(writer: &Writer<Mapped>, leaf: &Chained, recovery_point: RecoveryPoint) -> Result<BlockState> {
        leaf.recover(1, &Volatile::default(), &mut writer.begin_write_at(FIRST_EPOCH + 9), recovery_point, &|_| None)
    }

    /// The first line of a block. A crash keeps or loses each of its words separately.
    fn line(leaf: &Chained) -> [&Word; 8] {
        let versions = leaf.block.versions.words();
        let (fingerprints, home) = (&leaf.block.fingerprints, &leaf.block.home);
        [
            &versions[0],
            &versions[1],
            &versions[2],
            &fingerprints[0],
            &fingerprints[1],
            &fingerprints[2],
            &fingerprints[3],
            home,
        ]
    }

    /// A first leaf is released, and two epochs later its block is a leaf of another tree. A crash then loses this
    /// reuse except for some words. No combination of words brings the old tree back, or gives the new one a wrong end.
    #[test]
    fn a_dropped_tree_does_not_come_back_after_a_lost_reuse() {
        for (first, keep) in [false, true].into_iter().flat_map(|first| (0..256).map(move |keep| (first, keep))) {
            let (writer, image) = storage();
            let (leaf, overflow) = (block(&image, 1), Volatile::default());
            let read = ReadContext { image: Some(&*image), ..context(&overflow) };
            leaf.format(&overflow, &mut writer.begin_write_at(FIRST_EPOCH), HEAD);
            let handle = &mut writer.begin_write_at(FIRST_EPOCH);
            leaf.insert(&mut WriteContext { read, handle }, 7, 7).expect("room");
            leaf.lead(&mut writer.begin_write_at(FIRST_EPOCH + 1), 3);
            leaf.release(&mut writer.begin_write_at(FIRST_EPOCH + 2));
            let old = line(leaf).map(Word::read);
            leaf.begin(
                &overflow,
                &mut writer.begin_write_at(FIRST_EPOCH + 4),
                0,
                Home { keyspace: 6, first, ..HEAD },
                2,
            );
            let mut handle = writer.begin_write_at(FIRST_EPOCH + 4);
            for (at, word) in line(leaf).into_iter().enumerate().filter(|(at, _)| keep >> at & 1 == 0) {
                handle.write(word, old[at]);
            }
            for recovery_epoch in [FIRST_EPOCH + 2, FIRST_EPOCH + 3] {
                assert_eq!(
                    recovered(&writer, leaf, RecoveryPoint::At(recovery_epoch)).expect("no damage"),
                    BlockState::Free,
                    "{keep:#b}"
                );
            }
        }
    }

    /// At each recovery point that a crash may choose, a leaf leads where it led at the end of that epoch.
    #[test]
    fn a_link_is_that_of_the_recovery_point() {
        let changes = [(0, 2), (1, 3), (1, 4), (2, 5)];
        for (recovery_epoch, next) in [(0, 2), (1, 4), (2, 5)] {
            let (writer, image) = storage();
            let leaf = block(&image, 1);
            leaf.format(&Volatile::default(), &mut writer.begin_write_at(FIRST_EPOCH), HEAD);
            changes.iter().for_each(|(epoch, next)| leaf.lead(&mut writer.begin_write_at(FIRST_EPOCH + epoch), *next));
            assert_eq!(leaf.stamp(context(&Volatile::default())), FIRST_EPOCH + 2);
            let live = BlockState::Live { keyspace: 5, first: true };
            assert_eq!(
                recovered(&writer, leaf, RecoveryPoint::At(FIRST_EPOCH + recovery_epoch)).expect("no damage"),
                live
            );
            assert_eq!(
                (leaf.next(), recovered(&writer, leaf, RecoveryPoint::Visible).expect("no damage")),
                (next, live)
            );
        }
    }

    fn context(volatile: &Volatile) -> ReadContext<'_, Volatile, Words> {
        ReadContext { volatile, keys: &Words, search: Search::portable(), image: None }
    }

    /// Pairs that a merge moved here are in a state of another leaf, which a crash may choose: their replaced records
    /// must not be freed at once. What the block held before pins nothing.
    #[test]
    fn merged_pairs_count_as_old_and_find_all_slots() {
        let (writer, image) = storage();
        let (leaf, fresh) = (block(&image, 1), block(&image, 2));
        let rolls = <[Volatile; 2]>::default();
        for at in 0..3 {
            let mut handle = writer.begin_write_at(FIRST_EPOCH + at);
            fresh.begin(&rolls[1], &mut handle, ALL, Home { keyspace: 9, ..HEAD }, 3);
            fresh.lead(&mut handle, 4);
        }
        fresh.release(&mut writer.begin_write_at(FIRST_EPOCH + 3));
        assert_eq!(fresh.stamp(context(&rolls[1])), FIRST_EPOCH + 3, "the clock goes on behind it");
        let mut handle = writer.begin_write_at(FIRST_EPOCH + 5);
        leaf.format(&rolls[0], &mut handle, HEAD);
        let [left, right] = [0, 1].map(|at| context(&rolls[at]));
        for key in 1..=6 {
            assert_eq!(leaf.insert(&mut WriteContext { read: left, handle: &mut handle }, key, key), Ok(None));
        }
        let pairs: Vec<_> = leaf.block.moving_pairs().collect();
        let new = LeafRef { number: 2, leaf: fresh, volatile: &rolls[1] };
        Chained::fill(new, &Words, &mut handle, &pairs, Home { first: false, ..HEAD }, 0);
        leaf.block.publish(&mut handle, 0);
        assert_eq!(fresh.free(FIRST_EPOCH + 5).count_ones(), 22);
        let removed = |payload| Some(Replaced { payload, same_epoch: false });
        assert_eq!(fresh.remove(&mut WriteContext { read: right, handle: &mut handle }, 1), removed(1));
        let mut write = WriteContext { read: left, handle: &mut handle };
        let range = KeyRange { low: &0, high: None };
        let request = MergeRequest { own: 1, right: new, fresh: None, range, shared: 0 };
        assert_eq!(leaf.merge(&mut write, request), MergedInto::Left);
        assert_eq!(leaf.remove(&mut write, 2), removed(2));
        assert_eq!((leaf.next(), leaf.block.now().bits.count_ones()), (0, 4));
    }

    #[test]
    fn tags_that_no_crash_can_leave_are_damage() {
        let (writer, image) = storage();
        let leaf = block(&image, 1);
        leaf.format(&Volatile::default(), &mut writer.begin_write_at(FIRST_EPOCH), HEAD);
        for (epoch, next) in [(3, 2), (4, 3), (5, 4)] {
            leaf.lead(&mut writer.begin_write_at(FIRST_EPOCH + epoch), next);
        }
        let beyond = recovered(&writer, leaf, RecoveryPoint::At(FIRST_EPOCH + 2))
            .expect_err("three epochs beyond the recovery point");
        assert!(beyond.to_string().contains("a link's tag"), "{beyond}");
    }
}
