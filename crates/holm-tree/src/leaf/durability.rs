//! When a leaf's change is durable.

use super::{Leaf, Pairs, ReadBlock, ReadContext, Replaced, Split, SplitRequest, WriteContext};
use crate::block_difference::BlockDifference;
use crate::keys::{Keys, Slot};
use holm_medium::{Epoch, EpochSpan, Medium};

/// When a change is durable: [`PerOperation`] or [`PerEpoch`].
pub trait Durability<L: Leaf>: 'static {
    /// Whether a change is durable at the end of its epoch, and not when the operation returns.
    const PER_EPOCH: bool;
    /// As [`Versioned::COMMIT_ROOM`]; zero where an operation is durable by itself, because nothing then binds the
    /// changes of several leaves together.
    const COMMIT_ROOM: usize;
    /// As [`Versioned::REMOVES_SLOTS`].
    const REMOVES_SLOTS: bool;
    /// As [`Versioned::TELLS_CHANGES`].
    const TELLS_CHANGES: bool;
    /// As [`Versioned::READ_BLOCK`].
    const READ_BLOCK: Option<ReadBlock>;
    /// As [`Versioned::MOVES`].
    const MOVES: bool;

    /// As [`Versioned::changed_in`].
    fn changed_in(leaf: &L, epoch: Epoch, out: &mut BlockDifference) -> bool;
    /// As [`Versioned::stamp`].
    fn stamp<K: Keys>(leaf: &L, context: ReadContext<'_, L::Volatile, K>) -> Epoch;
    /// As [`Versioned::agrees`].
    fn agrees(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch) -> bool;
    /// As [`Versioned::live_at`].
    fn live_at(leaf: &L, epoch: Epoch, out: &mut Pairs) -> bool;
    /// As [`Versioned::changes_after`].
    fn changes_after(leaf: &L, epoch: Epoch) -> Option<EpochSpan>;
    /// As [`Versioned::gave_way_after`].
    fn gave_way_after(leaf: &L, epoch: Epoch) -> Option<GaveWay>;
    /// As [`Versioned::room`].
    fn room<K: Keys>(leaf: &L, context: ReadContext<'_, L::Volatile, K>, epoch: Epoch) -> usize;
    /// As [`Versioned::split_at`].
    fn split_at<M: Medium, K: Keys>(
        leaf: &L,
        context: &mut WriteContext<'_, '_, L::Volatile, M, K>,
        request: SplitRequest<'_, '_, L, K>,
        separator: &K::Separator,
    ) -> Split<K::Separator>;
    /// As [`Versioned::move_to`].
    fn move_to<M: Medium, K: Keys>(
        leaf: &L,
        context: &mut WriteContext<'_, '_, L::Volatile, M, K>,
        request: SplitRequest<'_, '_, L, K>,
    ) -> Split<K::Separator>;
    /// As [`Versioned::remove_slots`].
    fn remove_slots<M: Medium, K: Keys>(
        leaf: &L,
        context: &mut WriteContext<'_, '_, L::Volatile, M, K>,
        chosen: &mut dyn FnMut(Slot) -> bool,
        removed: &mut dyn FnMut(Replaced),
    );
    /// As [`Versioned::take_over`].
    fn take_over<M: Medium, K: Keys>(
        leaf: &L,
        context: &mut WriteContext<'_, '_, L::Volatile, M, K>,
        shared: usize,
    ) -> bool;
}

/// Durable when the operation returns. Such a leaf has no history: reads in strict mode wait for the active epoch, and
/// nothing in the leaf can be compared with the log.
pub struct PerOperation;

impl<L: Leaf> Durability<L> for PerOperation {
    const PER_EPOCH: bool = false;
    const COMMIT_ROOM: usize = 0;
    const REMOVES_SLOTS: bool = false;
    const TELLS_CHANGES: bool = false;
    const READ_BLOCK: Option<ReadBlock> = None;
    const MOVES: bool = false;

    fn changed_in(_: &L, _: Epoch, _: &mut BlockDifference) -> bool {
        false
    }

    #[inline]
    fn stamp<K: Keys>(_: &L, _: ReadContext<'_, L::Volatile, K>) -> Epoch {
        0
    }

    fn agrees(_: &[Option<[u64; 8]>], _: &[[u64; 8]], _: Epoch) -> bool {
        true
    }

    fn live_at(_: &L, _: Epoch, _: &mut Pairs) -> bool {
        false
    }

    fn changes_after(_: &L, _: Epoch) -> Option<EpochSpan> {
        None
    }

    fn gave_way_after(_: &L, _: Epoch) -> Option<GaveWay> {
        None
    }

    fn room<K: Keys>(_: &L, _: ReadContext<'_, L::Volatile, K>, _: Epoch) -> usize {
        0
    }

    fn split_at<M: Medium, K: Keys>(
        leaf: &L,
        context: &mut WriteContext<'_, '_, L::Volatile, M, K>,
        request: SplitRequest<'_, '_, L, K>,
        _: &K::Separator,
    ) -> Split<K::Separator> {
        leaf.split(context, request)
    }

    fn move_to<M: Medium, K: Keys>(
        _: &L,
        _: &mut WriteContext<'_, '_, L::Volatile, M, K>,
        request: SplitRequest<'_, '_, L, K>,
    ) -> Split<K::Separator> {
        Split::new(request.own, None)
    }

    fn remove_slots<M: Medium, K: Keys>(
        _: &L,
        _: &mut WriteContext<'_, '_, L::Volatile, M, K>,
        _: &mut dyn FnMut(Slot) -> bool,
        _: &mut dyn FnMut(Replaced),
    ) {
    }

    fn take_over<M: Medium, K: Keys>(_: &L, _: &mut WriteContext<'_, '_, L::Volatile, M, K>, _: usize) -> bool {
        false
    }
}

/// Durable at the end of the epoch.
pub struct PerEpoch;

/// A leaf that is durable per epoch, and keeps the states at the ends of the last epochs.
pub trait Versioned: Leaf {
    /// The number of puts of one epoch that a leaf takes at least, once splits have made room in it. Zero means that
    /// the design does not take part in commits of several leaves, and has neither [`Versioned::room`] nor
    /// [`Versioned::split_at`].
    const COMMIT_ROOM: usize = 0;
    /// Whether a block tells what an epoch has changed in it: [`Versioned::changed_in`]. A block that is free, or in no
    /// leaf, must then have no pairs in its states, and a pair that moves must keep its payload.
    const TELLS_CHANGES: bool = false;
    /// Reads a block from a copy of its words, for designs whose damaged databases can be repaired.
    const READ_BLOCK: Option<ReadBlock> = None;

    /// Adds to `out` what the block's states at the ends of `epoch` and of the epoch before do not have in common,
    /// while the epoch after `epoch` is active. Returns `false` if the block does not know one of them.
    fn changed_in(&self, epoch: Epoch, out: &mut BlockDifference) -> bool {
        let _ = (epoch, out);
        false
    }

    /// Whether the design removes many pairs of a leaf at once, and its empty leaves vanish without a store. It then
    /// has [`Versioned::remove_slots`] and [`Versioned::take_over`]. From other leaves, ranges are removed pair by
    /// pair.
    const REMOVES_SLOTS: bool = false;

    /// Returns how many puts of this epoch the leaf takes without a split, whatever their keys are and in whatever
    /// order removals come between them. The writer holds the latch.
    fn room<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>, epoch: Epoch) -> usize {
        let _ = (context, epoch);
        0
    }

    /// Splits the leaf at a given separator, which lies within its range and above its low end. Otherwise as
    /// [`Leaf::split`], without a pending pair. A leaf that cannot be split there stays as it is.
    fn split_at<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
        separator: &K::Separator,
    ) -> Split<K::Separator> {
        let _ = separator;
        self.split(context, request)
    }

    /// Whether the design has [`Versioned::move_to`].
    const MOVES: bool = false;

    /// Moves the leaf as it is to the first fresh block. Otherwise as [`Leaf::split`], without a pending pair.
    fn move_to<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let _ = context;
        Split::new(request.own, None)
    }

    /// Removes the pairs that `chosen` selects, by few commit words in key order, however many they are. Passes each
    /// to `removed`, whose caller frees it. `chosen` may follow a slot's payload.
    fn remove_slots<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        chosen: &mut dyn FnMut(Slot) -> bool,
        removed: &mut dyn FnMut(Replaced),
    ) {
        let _ = (context, chosen, removed);
    }

    /// Takes over the ranges of empty leaves on both sides, which are then given up without a store. All keys of the
    /// whole range share `shared` bytes. From now on the leaf has this epoch as its stamp: an answer about the ranges
    /// must be as late as the removals there. Returns false, and changes nothing, if the leaf's heads leave out more.
    fn take_over<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        shared: usize,
    ) -> bool {
        let _ = (context, shared);
        false
    }

    /// Returns the epoch of the leaf's last change.
    fn stamp<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>) -> Epoch;

    /// Returns whether a block that the death of a process left agrees with the log. `logged` has each line as it was
    /// last logged, if it was; `found` has all lines of the image. They agree if the state at the end of the last
    /// logged epoch is the same in both, as far as it was logged.
    fn agrees(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch) -> bool;

    /// Copies every pair of the block that was live at the end of the last logged epoch, and returns whether the design
    /// knows them. Slots that this epoch's state names are not overwritten before two more epochs have ended.
    fn live_at(&self, epoch: Epoch, out: &mut Pairs) -> bool;

    /// Considers the epochs after the last logged one. Returns the first that the block holds a state of, and the last
    /// in which it changed.
    fn changes_after(&self, epoch: Epoch) -> Option<EpochSpan>;

    /// Returns where the block's pairs are, if a split or merge after the last logged epoch has moved them. `None`
    /// also for designs whose blocks do not know it.
    fn gave_way_after(&self, epoch: Epoch) -> Option<GaveWay> {
        let _ = epoch;
        None
    }
}

/// A block whose pairs a split or merge has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GaveWay {
    /// The epoch of the split or merge.
    pub in_epoch: Epoch,
    /// The first blocks of the leaves that have the pairs. They have changed in that epoch or later.
    pub heirs: [Option<u32>; 2],
}

impl<L: Versioned> Durability<L> for PerEpoch {
    const PER_EPOCH: bool = true;
    const COMMIT_ROOM: usize = L::COMMIT_ROOM;
    const REMOVES_SLOTS: bool = L::REMOVES_SLOTS;
    const TELLS_CHANGES: bool = L::TELLS_CHANGES;
    const READ_BLOCK: Option<ReadBlock> = L::READ_BLOCK;
    const MOVES: bool = L::MOVES;

    fn changed_in(leaf: &L, epoch: Epoch, out: &mut BlockDifference) -> bool {
        leaf.changed_in(epoch, out)
    }

    #[inline]
    fn stamp<K: Keys>(leaf: &L, context: ReadContext<'_, L::Volatile, K>) -> Epoch {
        leaf.stamp(context)
    }

    fn agrees(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch) -> bool {
        L::agrees(logged, found, epoch)
    }

    fn live_at(leaf: &L, epoch: Epoch, out: &mut Pairs) -> bool {
        leaf.live_at(epoch, out)
    }

    fn changes_after(leaf: &L, epoch: Epoch) -> Option<EpochSpan> {
        leaf.changes_after(epoch)
    }

    fn gave_way_after(leaf: &L, epoch: Epoch) -> Option<GaveWay> {
        leaf.gave_way_after(epoch)
    }

    fn room<K: Keys>(leaf: &L, context: ReadContext<'_, L::Volatile, K>, epoch: Epoch) -> usize {
        leaf.room(context, epoch)
    }

    fn split_at<M: Medium, K: Keys>(
        leaf: &L,
        context: &mut WriteContext<'_, '_, L::Volatile, M, K>,
        request: SplitRequest<'_, '_, L, K>,
        separator: &K::Separator,
    ) -> Split<K::Separator> {
        leaf.split_at(context, request, separator)
    }

    fn move_to<M: Medium, K: Keys>(
        leaf: &L,
        context: &mut WriteContext<'_, '_, L::Volatile, M, K>,
        request: SplitRequest<'_, '_, L, K>,
    ) -> Split<K::Separator> {
        leaf.move_to(context, request)
    }

    fn remove_slots<M: Medium, K: Keys>(
        leaf: &L,
        context: &mut WriteContext<'_, '_, L::Volatile, M, K>,
        chosen: &mut dyn FnMut(Slot) -> bool,
        removed: &mut dyn FnMut(Replaced),
    ) {
        leaf.remove_slots(context, chosen, removed);
    }

    fn take_over<M: Medium, K: Keys>(
        leaf: &L,
        context: &mut WriteContext<'_, '_, L::Volatile, M, K>,
        shared: usize,
    ) -> bool {
        leaf.take_over(context, shared)
    }
}
