//! BD+Tree's leaf: unsorted pairs under bitmaps of three epochs (Du and Scott, HOPC'25 and PACMMOD 2:6), in one block
//! or in several.
//!
//! No operation flushes: lines are deferred to the end of their epoch. In each block, three words say which slots are
//! live now and which were at the ends of the two epochs before (`versions`). Fingerprints say which pairs are worth
//! comparing (`fingerprint_policy`). Both are parameters, and so is the number of blocks of a leaf.
//!
//! A leaf without a free slot gets another overflow block, or gives way to fresh leaves (`replace`). Each overflow
//! block names the first block; a running process finds the overflow blocks through DRAM (`overflow_blocks`). Each
//! block says itself whether it is a leaf. Where links say so, they take the place of the fingerprints (`chained`).
//!
//! ```text
//! bytes 0-23    three words of versions
//!       24-51   28 fingerprints of whole keys
//!       52-55   the number of the leaf's first block; in that one itself 0, or the second heir
//!       56-63   origin or first heir 32 | keyspace 24 | skip 8
//!       64-511  28 pairs {head, payload}
//! ```
//!
//! **Power loss** has an epoch as its recovery point: each block's state is then that of the end of this epoch
//! (`recovery`). Everything that one operation did to several blocks has one label.
//!
//! **The death of the process** keeps every store in program order (the `visible` model), so each operation must also
//! have one commit word. For insert, update and remove that is the word of versions or, for a pair stored in the same
//! epoch, the payload. For an update that moves a pair into another block, it is that block's word. For a split or
//! merge it is the store that empties the origin's word (see `replace`).

pub mod block;
mod copied;
mod fingerprint_policy;
mod heirs;
mod kept;
mod order;
mod overflow_blocks;
mod owner;
pub mod recovery;
pub mod replace;
mod room;
pub mod tagged;
mod vacate;
pub mod versions;

pub use fingerprint_policy::{FingerprintPolicy, Fingerprints, Line, NoFingerprints};
pub use order::{AsFound, Ascending, Order};
pub use overflow_blocks::OverflowBlocks;
pub use room::{Clustered, Room};
pub use tagged::State;
pub use versions::{Triple, Versions};

use super::{
    BlockState, ByVersions, Full, GaveWay, Home, Leaf, LeafRef, Merge, MergeRequest, MergedInto, Pairs, PerEpoch,
    Prefetch, ReadBlock, ReadContext, RecoveryPoint, Replaced, SeveralBlocks, Split, SplitRequest, Versioned,
    WithOverflow, WriteContext,
};
use crate::block_difference::BlockDifference;
use crate::keys::{Keys, Slot};
use crate::pair::Pair;
use crate::pair::slots;
use holm_medium::{Epoch, EpochSpan, Medium, Result, Word, WriteHandle, persistent};
use overflow_blocks::BlockIndex;
use replace::MERGE_UP_TO;

/// The pairs of a block.
pub const SLOTS: usize = 28;
/// A bit for each slot.
pub const ALL: u32 = (1 << SLOTS) - 1;

/// The parts of a leaf design.
pub trait Form: Send + Sync + 'static {
    /// How a block records which slots were live when.
    type Versions: Versions;
    /// Whether there are fingerprints, and where a search reads them.
    type FingerprintPolicy: FingerprintPolicy;
    /// The order of pairs in fresh blocks.
    type Order: Order;
    /// The block's room for records.
    type Room: Room;
}

impl<V: Versions, P: FingerprintPolicy> Form for (V, P) {
    type Versions = V;
    type FingerprintPolicy = P;
    type Order = Ascending;
    type Room = ();
}

impl<V: Versions, P: FingerprintPolicy, O: Order> Form for (V, P, O) {
    type Versions = V;
    type FingerprintPolicy = P;
    type Order = O;
    type Room = ();
}

persistent! {
    /// 512 bytes, a metadata line and seven lines of pairs; and room for records, if the form has any.
    #[repr(align(64))]
    pub struct Buffered<const BLOCKS: usize; F: Form> {
        /// Which slots were live at the end of which epoch.
        pub versions: F::Versions,
        /// Fingerprints, and the number of the leaf's first block.
        pub fingerprints: Line,
        /// The block's keyspace and shared prefix: see [`Buffered::home`].
        pub home: Word,
        /// The slots.
        pub pairs: [Pair; 28],
        /// Records of the leaf's own pairs: see `room`.
        pub room: F::Room,
    }
}

const _: () = assert!(size_of::<Buffered<1, (Triple, Fingerprints)>>() == 512);
const _: () = assert!(size_of::<Buffered<1, Clustered>>() == 4096);

/// The volatile side of a leaf.
pub type Volatile<const BLOCKS: usize, F> = OverflowBlocks<BLOCKS, <F as Form>::FingerprintPolicy>;

/// Returns the free slots that lie in lines with slots of this epoch, or all free slots if there are none: a pair that
/// joins such a line dirties no other one.
#[inline]
fn near(free: u32, young: u32) -> u32 {
    // A line has four slots, and the first of them is a multiple of four.
    let pairs = young | young >> 1;
    let lines = ((pairs | pairs >> 2) & 0x1111_1111) * 0xf;
    std::hint::select_unpredictable(free & lines != 0, free & lines, free)
}

/// Where a key was found.
struct KeyPlace<'a, B> {
    block: &'a B,
    /// The block's place in the leaf.
    place: BlockIndex,
    index: usize,
    payload: u64,
}

impl<const BLOCKS: usize, F: Form> Buffered<BLOCKS, F> {
    /// Returns where the search key is.
    #[inline]
    fn seek<'a, K: Keys>(
        &'a self,
        context: ReadContext<'a, Volatile<BLOCKS, F>, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<KeyPlace<'a, Self>> {
        // The first lines of the overflow blocks arrive while the search reads the first block.
        Self::overflow_blocks(context).for_each(|(_, block)| F::FingerprintPolicy::prefetch_header(block));
        let found = |(place, block): (BlockIndex, &'a Self)| {
            block.find(context, place, search_key).map(|(index, payload)| KeyPlace { block, place, index, payload })
        };
        found((0, self)).or_else(|| Self::overflow_blocks(context).find_map(found))
    }

    fn count<K: Keys>(&self, context: ReadContext<'_, Volatile<BLOCKS, F>, K>) -> usize {
        self.segments(context).map(|(_, block)| block.now().bits.count_ones() as usize).sum()
    }

    /// Marks the leaf as changed in this epoch, with its pairs as they are: a new version with the same slots. No crash
    /// can tell the difference, but an answer that waits for the leaf's epoch then waits for this one.
    fn touch<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, Volatile<BLOCKS, F>, M, K>) {
        let (context, handle) = context.parts();
        self.stamp_first(context.volatile, handle);
    }

    /// The same. The first block gets the epoch, whatever the others have: an empty overflow block is not found again
    /// by the next open, and what it says about the leaf's last change is lost.
    fn stamp_first<M: Medium>(&self, volatile: &Volatile<BLOCKS, F>, handle: &mut WriteHandle<'_, M>) {
        let State { tag, bits } = self.now();
        if tag != handle.epoch() {
            self.publish(handle, bits);
            self.copied(volatile, 0);
        }
    }

    /// Removes a slot from a block of this leaf. Detaches an overflow block that has lost its last pair, unless the
    /// other blocks are nearly full without it and would need it again at once.
    fn vacate<M: Medium, K: Keys>(
        &self,
        write: &mut WriteContext<'_, '_, Volatile<BLOCKS, F>, M, K>,
        found: &KeyPlace<'_, Self>,
    ) {
        let (context, handle) = write.parts();
        let bits = found.block.now().bits & !(1 << found.index);
        if found.place > 0 && bits == 0 {
            // Before the removal: if the process died in between, the leaf would have changed later than it says.
            self.stamp_first(context.volatile, handle);
        }
        found.block.publish(handle, bits);
        found.block.copied(context.volatile, found.place);
        if found.place > 0 && bits == 0 {
            self.detach_spare(write, found.place);
        }
    }

    /// Detaches an empty overflow block, unless the other blocks are nearly full without it.
    fn detach_spare<M: Medium, K: Keys>(
        &self,
        write: &mut WriteContext<'_, '_, Volatile<BLOCKS, F>, M, K>,
        place: BlockIndex,
    ) {
        let context = write.read;
        if self.count(context) + SLOTS / 4 <= (context.volatile.blocks() - 1) * SLOTS {
            context.volatile.detach(place);
            self.derive(context);
        }
    }

    /// Returns how this leaf and its right neighbour can become one: in which of them, or `Fresh` where the pairs must
    /// move. An empty leaf can be released without a store: it is empty at every recovery point that includes the
    /// removals before. A neighbour with a quarter of its room left takes over the range; a fuller one would soon be
    /// split again.
    fn fit<K: Keys>(&self, context: ReadContext<'_, Volatile<BLOCKS, F>, K>, right: LeafRef<'_, Self>) -> MergedInto {
        let roomy = |count| count <= Self::CAPACITY * 3 / 4;
        match (self.count(context), right.leaf.count(context.beside(right.volatile))) {
            (0, count) if roomy(count) => MergedInto::Right,
            (count, 0) if roomy(count) => MergedInto::Left,
            (own, other) if own + other <= MERGE_UP_TO => MergedInto::Fresh,
            _ => MergedInto::Neither,
        }
    }
}

impl<const BLOCKS: usize, F: Form> Leaf for Buffered<BLOCKS, F> {
    const SOURCE: &'static str = "BD+Tree: Du and Scott, HOPC 2025";
    const NEEDS_LINE_ORDER: bool = F::Versions::NEEDS_LINE_ORDER;
    const CAPACITY: usize = BLOCKS * SLOTS;
    type Volatile = Volatile<BLOCKS, F>;
    type Durability = PerEpoch;
    type Overflow = SeveralBlocks;
    type Recovery = ByVersions;
    const LONGEST_RECORD: usize = F::Room::LONGEST;

    #[inline]
    fn get<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.seek(context, search_key).map(|found| found.payload)
    }

    fn block_pairs(&self, _: &Self::Volatile, out: &mut Pairs) {
        slots(self.now().bits).for_each(|index| out.push(self.slot(index)));
    }

    fn skip(&self) -> usize {
        self.home().skip.into()
    }

    #[inline]
    fn insert<M: Medium, K: Keys>(
        &self,
        write: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        let (context, handle) = write.parts();
        let overflow = context.volatile;
        let (epoch, older) = (handle.epoch(), self.older(handle.epoch()));
        let older = |place: BlockIndex, block: &Self| if place == 0 { older } else { block.older(epoch) };
        let present = self.seek(context, search_key);
        if let Some(KeyPlace { block, place, index, payload: old }) = present
            && older(place, block) >> index & 1 == 0
        {
            // The pair was stored in this epoch, and no older state names it: the payload itself is the commit word.
            handle.write(&block.pairs[index].payload, payload);
            handle.defer(&block.pairs[index].payload);
            let young = !overflow.has_moved(place, index);
            overflow.stored(place, index);
            return Ok(Some(Replaced { payload: old, same_epoch: young }));
        }
        // The first block with room: a leaf that has lost pairs so fills its first blocks and detaches the others.
        let room = |(place, block): (BlockIndex, &'_ Self)| {
            let (now, older) = (block.now().bits, older(place, block));
            let free = !(now | older) & ALL;
            (free != 0).then(|| (place, now, near(free, now & !older).trailing_zeros() as usize))
        };
        let overflow_block = || Self::overflow_blocks(context).find_map(|follower| Some((room(follower)?, follower.1)));
        let ((place, now, index), block) =
            room((0, self)).map(|room| (room, self)).or_else(overflow_block).ok_or(Full)?;
        let pair = &block.pairs[index];
        handle.write(&pair.payload, payload);
        handle.write(&pair.head, K::head(search_key, self.skip()));
        // A pair lies in one line.
        handle.defer(&pair.payload);
        F::FingerprintPolicy::set(&block.fingerprints, handle, index, K::fingerprint(search_key));
        overflow.stored(place, index);
        let gone = present.as_ref().filter(|found| found.place == place).map_or(0, |found| 1 << found.index);
        // The commit word follows the pair and its fingerprint. If it came first, a process that dies in between would
        // leave a live slot with arbitrary bytes.
        block.publish(handle, now & !gone | 1 << index);
        block.copied(overflow, place);
        let Some(found) = present else { return Ok(None) };
        if found.place != place {
            // The old slot is vacated after the new one is published. The other way round, a process that dies in
            // between loses the key.
            self.vacate(write, &found);
        }
        Ok(Some(Replaced { payload: found.payload, same_epoch: false }))
    }

    fn lay<M: Medium, K: Keys>(
        &self,
        own: u32,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        record: &[u64],
    ) -> std::result::Result<Option<u64>, Full> {
        self.lay_record::<M, K>(own, context.handle, record)
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        write: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = write.parts();
        let found = self.seek(context, search_key)?;
        // Whether no crash can bring back what the slot holds.
        let young = found.block.older(handle.epoch()) >> found.index & 1 == 0
            && !context.volatile.has_moved(found.place, found.index);
        self.vacate(write, &found);
        Some(Replaced { payload: found.payload, same_epoch: young })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        self.make_room(context, request)
    }

    fn format<M: Medium>(&self, volatile: &Self::Volatile, handle: &mut WriteHandle<'_, M>, home: Home) {
        self.format_block(volatile, handle, home, 0);
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        self.publish(handle, 0);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        volatile: &Self::Volatile,
        handle: &mut WriteHandle<'_, M>,
        recovery_point: RecoveryPoint,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        volatile.begin();
        let block_state = self.bring_to(own, handle, recovery_point, peer)?;
        self.copied(volatile, 0);
        Ok(block_state)
    }

    fn rebuild_volatile<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>) {
        self.derive(context);
    }
}

impl<const BLOCKS: usize, F: Form> Versioned for Buffered<BLOCKS, F> {
    /// What [`Buffered::SPLIT_FROM`] leaves free in the first block: a leaf with fewer pairs is refreshed, and one with
    /// more is halved.
    const COMMIT_ROOM: usize = SLOTS - Self::SPLIT_FROM;
    const REMOVES_SLOTS: bool = true;
    const TELLS_CHANGES: bool = true;
    const READ_BLOCK: Option<ReadBlock> = if F::Versions::AT.is_some() { Some(Self::read_copy) } else { None };

    /// The first block alone: of the others, a removal may detach one with all its free slots.
    fn room<K: Keys>(&self, _: ReadContext<'_, Self::Volatile, K>, epoch: Epoch) -> usize {
        // A put takes one slot at most. A slot that an update or a removal vacates stays pinned by the state before.
        (!(self.now().bits | self.older(epoch)) & ALL).count_ones() as usize
    }

    fn split_at<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
        separator: &K::Separator,
    ) -> Split<K::Separator> {
        self.make_room_at(context, request, separator)
    }

    const MOVES: bool = BLOCKS == 1;

    fn move_to<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        self.move_whole(context, request)
    }

    fn remove_slots<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        chosen: &mut dyn FnMut(Slot) -> bool,
        removed: &mut dyn FnMut(Replaced),
    ) {
        self.vacate_slots(context, chosen, removed);
    }

    fn take_over<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        shared: usize,
    ) -> bool {
        let takes = self.skip() <= shared;
        if takes {
            self.touch(context);
        }
        takes
    }

    #[inline]
    fn stamp<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>) -> Epoch {
        let tag = |place: BlockIndex, block: &Self| {
            F::FingerprintPolicy::now(&block.versions, context.volatile.copy(place)).tag
        };
        let latest = tag(0, self);
        Self::overflow_blocks(context).fold(latest, |latest, (place, block)| latest.max(tag(place, block)))
    }

    fn agrees(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch) -> bool {
        Self::is_as_logged(logged, found, epoch, true)
    }

    fn changed_in(&self, epoch: Epoch, out: &mut BlockDifference) -> bool {
        self.difference_of(epoch, out)
    }

    fn live_at(&self, epoch: Epoch, out: &mut Pairs) -> bool {
        self.was_live(epoch, out)
    }

    fn changes_after(&self, epoch: Epoch) -> Option<EpochSpan> {
        self.changed_after(epoch)
    }

    fn gave_way_after(&self, epoch: Epoch) -> Option<GaveWay> {
        self.gave_way(epoch)
    }
}

impl<const BLOCKS: usize, F: Form> WithOverflow for Buffered<BLOCKS, F> {
    const BLOCKS: usize = BLOCKS;
    const SPARE: usize = 2 * BLOCKS.div_ceil(2) - 2;

    fn leaf_pairs<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>, out: &mut Pairs) {
        self.segments(context).for_each(|(_, block)| block.block_pairs(context.volatile, out));
    }

    fn overflow_block<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>, place: usize) -> u32 {
        context.volatile.number(place)
    }

    fn take_detached(&self, volatile: &Self::Volatile) -> u32 {
        if BLOCKS == 1 { 0 } else { volatile.take_detached() }
    }

    fn attach_overflow<K: Keys>(
        &self,
        own: u32,
        context: ReadContext<'_, Self::Volatile, K>,
        numbers: &[u32],
    ) -> Result<()> {
        self.attach_blocks(own, context, numbers)
    }

    fn repair_blocks<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, Self::Volatile, M, K>) {
        self.repair_leaf(context);
    }
}

impl<const BLOCKS: usize, F: Form> Prefetch for Buffered<BLOCKS, F> {
    #[inline]
    fn prefetch_block(&self) {
        if F::Room::WORDS > 0 {
            // The records are asked for one by one.
            holm_search::prefetch(self);
            return holm_search::prefetch_lines(&self.pairs);
        }
        F::FingerprintPolicy::prefetch_block(self);
    }

    #[inline]
    fn prefetch_header(&self) {
        F::FingerprintPolicy::prefetch_header(self);
    }

    #[inline]
    fn prefetch_pairs<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>, search_key: K::SearchKey<'_>) {
        let candidates = self.candidates(context.volatile.copy(0), context.search, K::fingerprint(search_key));
        if candidates != 0 {
            holm_search::prefetch(&self.pairs[candidates.trailing_zeros() as usize]);
        } else {
            Self::overflow_blocks(context).for_each(|(_, block)| F::FingerprintPolicy::prefetch_header(block));
        }
    }

    #[inline]
    fn candidate<K: Keys>(
        &self,
        context: ReadContext<'_, Self::Volatile, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Slot> {
        let candidates = self.candidates(context.volatile.copy(0), context.search, K::fingerprint(search_key));
        (candidates != 0).then(|| self.slot(candidates.trailing_zeros() as usize))
    }
}

impl<const BLOCKS: usize, F: Form> Merge for Buffered<BLOCKS, F> {
    fn sparse<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>) -> bool {
        self.count(context) < MERGE_UP_TO / 2
    }

    fn may_merge<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>, right: LeafRef<'_, Self>) -> bool {
        self.fit(context, right) != MergedInto::Neither
    }

    fn merge<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        request: MergeRequest<'_, Self, K::Separator>,
    ) -> MergedInto {
        let right = request.right;
        match self.fit(context.read, right) {
            MergedInto::Neither => MergedInto::Neither,
            MergedInto::Left if self.skip() <= request.shared => {
                self.touch(context);
                MergedInto::Left
            }
            MergedInto::Right if right.leaf.skip() <= request.shared => {
                let read = context.read.beside(right.volatile);
                right.leaf.touch(&mut WriteContext { read, handle: context.handle });
                MergedInto::Right
            }
            _ => self.unite(context, request),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_slot_in_a_line_of_this_epoch_comes_first() {
        // Slot 9 is of this epoch: slots 8 to 11 share its line.
        assert_eq!(near(0b1101_0000_0001, 1 << 9), 0b1101_0000_0000);
        assert_eq!(near(0b1, 1 << 9), 0b1, "no room there");
        assert_eq!(near(ALL, 0), ALL, "no line is dirty");
        for young in 0..SLOTS {
            let line = 0xf << (young / 4 * 4);
            assert_eq!(near(ALL, 1 << young), line & ALL, "slot {young}");
        }
    }
}
