//! A leaf: one way to keep pairs in a block of persistent lines. A file in this folder *is* a design.
//!
//! The trait has two contracts. **Readers race** with one writer: a reading method must end, and must not panic on any
//! bits. Its answer counts only after the caller has validated the latch. **Writers are alone**: the tree set holds the
//! latch and lends the write handle. A leaf knows nothing of latches, threads, parents, byte strings, media or tests.
//!
//! A design implements one of three legal combinations of recovery methods; [`Capabilities`] selects it:
//!
//! | | linked | replaced | versioned |
//! |---|---|---|---|
//! | capabilities | linked | neither linked nor durable per epoch | durable per epoch, not linked |
//! | leaves are found | along [`Leaf::next`] | each block says whether it is one | each block says so, by versions |
//! | [`Leaf::recover`] | required | required | required |
//! | [`Leaf::next`], [`Leaf::relink`] | required | no | no |
//! | [`Leaf::low`] | if its border is durable | no | no |
//! | [`Leaf::repair_link`] | each leaf with its right neighbour | neighbours whose keys overlap | not called |
//! | [`Leaf::scrub_leaf`] | not called | each leaf | if [`Leaf::BLOCKS`] > 1 |
//! | [`Leaf::attach_overflow`] | no | no | if [`Leaf::BLOCKS`] > 1 |
//! | [`Leaf::rebuild_volatile`] | if anything is volatile | if anything is volatile | if anything is volatile |
//! | [`Leaf::skip`] | 0 | any | any |
//!
//! A design that is linked and durable per epoch needs the methods of both columns.

pub mod buffered;

use crate::keys::{Keys, Role};
pub use crate::pairs::{MOST_PAIRS, Pairs};
use holm_medium::{Area, Epoch, Image, Loc, Medium, MediumError, Persistent, Result, WriteHandle};
use holm_search::Search;

/// What a design assumes and offers; reports print it beside every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The paper that reports name.
    pub source: &'static str,
    /// Durable at the end of the epoch, by versions. Other designs are durable when an operation returns.
    pub per_epoch: bool,
    /// Correct only where the stores to one line persist in order. The word model, which reorders them, skips the
    /// design.
    pub needs_line_order: bool,
    /// Slots must hold whole keys. Trees whose keys lie in records refuse the design, and so does the store.
    pub needs_whole_keys: bool,
    /// Recovery finds leaves by following [`Leaf::next`] from the first one. In other designs each block says whether
    /// it is a leaf.
    pub linked: bool,
    /// Stores the pairs that it is given. Only the blackhole does not.
    pub stores_pairs: bool,
}

impl Capabilities {
    /// Returns whether the design can store keys of this kind. Code that goes through all designs checks this first.
    pub fn supports<K: Keys>(self) -> bool {
        !self.needs_whole_keys || K::UNIQUE == Role::Head
    }
}

/// The read context that a leaf gets: what slots stand for, the vector kernels chosen when the tree was opened, and the
/// other blocks.
pub struct ReadContext<'a, K> {
    /// What slots stand for.
    pub keys: &'a K,
    /// How to search.
    pub search: Search,
    /// The blocks, for leaves of several blocks; `None` where the caller reads one block only.
    pub image: Option<&'a Image>,
}

impl<'a, K> ReadContext<'a, K> {
    /// Returns the block of a number.
    #[inline]
    pub fn block<L: Leaf>(self, number: u32) -> Option<&'a L> {
        self.image?.at(Loc::new(Area::Leaves, u64::from(number) * size_of::<L>() as u64))
    }
}

impl<K> Clone for ReadContext<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for ReadContext<'_, K> {}

/// The home of a leaf: its keyspace, and what the keys of its range share.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    /// The keyspace.
    pub keyspace: u32,
    /// Bytes that all keys of the range share and that heads leave out; 0 to 255.
    pub skip: u8,
    /// Whether this is the first leaf of its keyspace; in a linked design that leaf never moves.
    pub first: bool,
}

/// A replaced payload. The caller frees its record, so the leaf must never read through this payload again: see
/// [`Leaf::insert`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The payload.
    pub payload: u64,
    /// The payload was stored in this same epoch. No crash can bring it back, so its record may be freed at once.
    pub same_epoch: bool,
}

/// The leaf has no room: the caller splits it, or makes room in another way, and retries. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// How two neighbouring leaves can become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Not now: together they hold too much for one leaf.
    Apart,
    /// The right leaf is empty, and a crash finds it free. The left one keeps its pairs in place and [takes
    /// over](Leaf::take_over) the range.
    KeepLeft,
    /// The same with the left leaf empty.
    KeepRight,
    /// The pairs move, by [`Leaf::absorb`] or [`Leaf::merge`], if the design has either.
    Move,
}

/// A block that no reader can reach yet, for a leaf to use.
pub struct Fresh<'a, L: Leaf> {
    /// Its number.
    pub number: u32,
    /// The block.
    pub leaf: &'a L,
    /// Its volatile side.
    pub volatile: &'a L::Volatile,
}

/// A request to make room in a full leaf.
pub struct SplitRequest<'a, L: Leaf, F> {
    /// The leaf's number.
    pub own: u32,
    /// Two fresh blocks.
    pub fresh: [Fresh<'a, L>; 2],
    /// Further fresh blocks, [`Leaf::SPARE`] in all.
    pub spare: &'a [Fresh<'a, L>],
    /// The leaf's range.
    pub range: (&'a F, Option<&'a F>),
    /// The previous leaf, latched too, for designs with [`Leaf::NEEDS_BEFORE`]; the first leaf has none.
    pub before: Option<&'a L>,
}

/// The leaves that a split has made.
#[derive(Clone, Debug)]
pub struct Split<F> {
    /// The number of the lower half: the leaf's own, or a fresh one.
    pub left: u32,
    /// The separator and the number of the upper half; `None` if all pairs fitted into `left`.
    pub right: Option<(F, u32)>,
}

/// The recovery point: which part of history recovery keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryPoint {
    /// Only the process died, so every store it made is there; or there was no crash at all.
    Visible,
    /// Power was lost. What carries this epoch's label or an earlier one is there in full; recovery hides the rest.
    At(Epoch),
}

/// What recovery found a block to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// The block is free.
    Free,
    /// The block is a leaf of a keyspace.
    Live {
        /// The keyspace.
        keyspace: u32,
        /// Whether it is the keyspace's first leaf, for linked designs.
        first: bool,
    },
    /// The block is an overflow block of the leaf that it names.
    Overflow {
        /// The keyspace.
        keyspace: u32,
        /// The number of the leaf. It counts as a leaf, whatever its own block is found to be.
        leaf: u32,
    },
}

/// An error for bits that no crash can have left; `place` is the block's number and a byte in it.
pub fn damaged<L>(
    place: (u32, u64),
    what: &'static str,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> MediumError {
    damaged_in(size_of::<L>(), place, what, found, expected)
}

/// The same for blocks of the given size in bytes.
pub(crate) fn damaged_in(
    block: usize,
    (number, byte): (u32, u64),
    what: &'static str,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> MediumError {
    let offset = u64::from(number) * block as u64 + byte;
    MediumError::Corrupt { path: "leaves".into(), offset, what, found: found.into(), expected: expected.into() }
}

/// One way to keep pairs in a block of persistent lines.
pub trait Leaf: Persistent + Sized {
    /// What the design assumes and offers.
    const CAPABILITIES: Capabilities;
    /// The most pairs of a leaf.
    const CAPACITY: usize;
    /// The most blocks of a leaf: its own, whose number is the leaf's, and its overflow blocks.
    const BLOCKS: usize = 1;
    /// How many fresh blocks beyond two a split may use; an even number.
    const SPARE: usize = 0;
    /// Whether making room in a leaf may change the previous leaf, which the tree set then latches as well.
    const NEEDS_BEFORE: bool = false;
    /// Block numbers are less than this, for designs that keep them in few bits.
    const NUMBERS: u32 = u32::MAX;
    /// The leaf's volatile side, in its descriptor. [`Leaf::recover`] clears it and [`Leaf::rebuild_volatile`] rebuilds
    /// it; it dies with the process.
    type Volatile: Default + Send + Sync + 'static;

    /// Returns the payload of a key. Reads only live slots: [`Keys::is`] follows a slot's payload to its record, and
    /// the record of a dead slot may be freed.
    fn get<K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<u64>;

    /// Prefetches the lines of the block that a single operation reads, before any of them has been read. The default
    /// prefetches all lines.
    ///
    /// The four prefetch methods are optional: `prefetch_block` for single operations; for batched gets
    /// [`Leaf::prefetch_header`], [`Leaf::prefetch_pairs`] and [`Leaf::candidate_payload`], in this order. Implement
    /// them when a measurement shows waits.
    #[inline]
    fn prefetch_block(&self) {
        holm_search::prefetch_lines(self);
    }

    /// Prefetches the first line of the block, which [`Leaf::prefetch_pairs`] reads.
    fn prefetch_header(&self) {
        holm_search::prefetch(self);
    }

    /// Prefetches the lines that [`Leaf::get`] will read; the first line has arrived. The default prefetches all lines.
    fn prefetch_pairs<K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        search_key: K::SearchKey<'_>,
    ) {
        let _ = (volatile, context, search_key);
        holm_search::prefetch_lines(self);
    }

    /// Returns a payload that [`Leaf::get`] will probably compare, found without reading any record. The caller
    /// prefetches its record.
    fn candidate_payload<K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<u64> {
        let _ = (volatile, context, search_key);
        None
    }

    /// Copies every live pair of the block, in any order.
    fn block_pairs(&self, volatile: &Self::Volatile, out: &mut Pairs);

    /// Copies every live pair of the leaf, in any order: those of its block and of its overflow blocks.
    fn leaf_pairs<K: Keys>(&self, volatile: &Self::Volatile, context: ReadContext<'_, K>, out: &mut Pairs) {
        let _ = context;
        self.block_pairs(volatile, out);
    }

    /// Returns the number of the overflow block at a place, from 1 on; 0 where there is none.
    fn overflow_block<K: Keys>(&self, volatile: &Self::Volatile, context: ReadContext<'_, K>, place: usize) -> u32 {
        let _ = (volatile, context, place);
        0
    }

    /// Returns the number of a block that the last insert or removal has detached from the leaf, as durably as that
    /// operation; 0 is none. The writer that holds the latch calls this once after each operation.
    fn take_detached(&self, volatile: &Self::Volatile) -> u32 {
        let _ = volatile;
        0
    }

    /// Returns whether so few pairs remain that a merge is worth an attempt.
    fn sparse<K: Keys>(&self, volatile: &Self::Volatile, context: ReadContext<'_, K>) -> bool {
        let _ = (volatile, context);
        false
    }

    /// Returns the number of bytes that heads leave out. It must be zero in linked designs. A rebuild puts empty leaves
    /// between two leaves whose ranges their skips bound, and no chain would lead to those. The tree set gives linked
    /// designs no other value.
    fn skip(&self) -> usize {
        0
    }

    /// Returns the epoch of the leaf's last change. A design that is durable per operation keeps the default, 0: reads
    /// in strict mode then wait for the active epoch.
    fn stamp<K: Keys>(&self, volatile: &Self::Volatile, context: ReadContext<'_, K>) -> Epoch {
        let _ = (volatile, context);
        0
    }

    /// Returns whether a block that the death of a process left agrees with the log. `logged` has each line as it was
    /// last logged, if it was; `found` has all lines of the image. They agree if the state at the end of the last
    /// logged epoch is the same in both, as far as it was logged. A design that is not durable per epoch cannot tell,
    /// and returns `true`.
    fn agrees(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch) -> bool {
        let _ = (logged, found, epoch);
        true
    }

    /// Copies every pair of the block that was live at the end of the last logged epoch, and returns whether the design
    /// knows them. Slots that this epoch's state names are not overwritten before two more epochs have ended.
    fn live_at(&self, epoch: Epoch, out: &mut Pairs) -> bool {
        let _ = (epoch, out);
        false
    }

    /// Considers the epochs after the last logged one, for designs that know. Returns the first that the block holds a
    /// state of, and the last in which it changed.
    fn changes_after(&self, epoch: Epoch) -> Option<(Epoch, Epoch)> {
        let _ = epoch;
        None
    }

    /// Returns the number of the next leaf, for linked designs; 0 is none.
    fn next(&self) -> u32 {
        0
    }

    /// Returns the lower end of the leaf's range, for linked designs that keep it durably; the rebuild leaves it where
    /// it was.
    fn low<K: Keys>(&self, context: ReadContext<'_, K>) -> Option<K::Separator> {
        let _ = context;
        None
    }

    /// Makes a fresh block an empty leaf; a crash from then on finds it as one.
    ///
    /// A leaf without origin (a new tree) must publish itself last. A design with a lineage flushes the lineage *after*
    /// everything else, because it alone makes the block a leaf: a crash in between must find no half-made leaf. A leaf
    /// that replaces another follows the other order: see [`Leaf::split`].
    fn format<M: Medium>(&self, volatile: &Self::Volatile, handle: &mut WriteHandle<'_, M>, home: Home);

    /// Puts a payload under a key and returns the payload that it replaces.
    ///
    /// The caller frees the replaced payload's record. A design that keeps dead slots must never pass one to
    /// [`Keys::is`], [`Keys::order`] or [`Keys::key`]: its record may be freed, or may belong to another key. A design
    /// that cannot avoid this needs whole keys in its slots and says so in its [`Capabilities`].
    ///
    /// # Errors
    /// [`Full`]: nothing has changed. The tree set then makes room and retries; it does not split a leaf that has room
    /// by then.
    fn insert<M: Medium, K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full>;

    /// Returns whether the leaf must make room before even a present key can be removed. A design in which a removal
    /// takes a slot (one that appends) must implement this. With the default `false`, the removal in a full leaf would
    /// write past its end.
    fn crowded(&self) -> bool {
        false
    }

    /// Removes a key and returns its payload, which the caller frees: see [`Leaf::insert`]. The leaf is not
    /// [`Leaf::crowded`]. A leaf that loses its last pair stays in the tree: it has a range, and inserts can fill it.
    fn remove<M: Medium, K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced>;

    /// Makes room in a full leaf whose range is `range` and whose number is `own`.
    ///
    /// The leaf always gets two fresh blocks. A split in place uses one; a replacement uses two. A block that the
    /// answer does not name, and that is not an overflow block of a named one, is free again, whatever the split used
    /// it for.
    ///
    /// A split that replaces the leaf makes the fresh leaves durable *before* the origin ends. A design with a lineage
    /// flushes the lineage together with the fresh leaf's contents, before the origin gives way. Otherwise a crash
    /// between the two could find neither generation.
    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        range: (&K::Separator, Option<&K::Separator>),
    ) -> Split<K::Separator>;

    /// Makes room as [`Leaf::split`] does, for a pair that found no room, and returns whether it has also put the pair.
    /// A design puts the pair where that costs less than a separate insert, and only if the key is absent.
    fn split_and_put<M: Medium, K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        request: SplitRequest<'_, Self, K::Separator>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> (Split<K::Separator>, bool) {
        let _ = (search_key, payload);
        (self.split(request.own, volatile, context, handle, request.fresh, request.range), false)
    }

    /// Returns how this leaf and its right neighbour can become one. The caller asks first without a latch, where the
    /// answer is a hint, and again under both latches. A design refuses two leaves that would soon be split again.
    fn join<K: Keys>(
        &self,
        volatile: &Self::Volatile,
        right: (&Self, &Self::Volatile),
        context: ReadContext<'_, K>,
    ) -> Join {
        let _ = (volatile, right, context);
        Join::Move
    }

    /// Takes over the range of an empty neighbour, as [`Leaf::join`] has answered. From now on [`Leaf::stamp`] returns
    /// this epoch: an answer about that range must be as late as the removals there.
    fn take_over<M: Medium, K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
    ) {
        let _ = (volatile, context, handle);
    }

    /// Moves the right neighbour's pairs into this leaf and unlinks the neighbour, if the design can do so and the
    /// pairs fit well; returns whether it did. The right leaf is then released, and this one has both ranges.
    fn absorb<M: Medium, K: Keys>(
        &self,
        volatile: &Self::Volatile,
        right: (&Self, &Self::Volatile),
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
    ) -> bool {
        let _ = (volatile, right, context, handle);
        false
    }

    /// Moves the pairs of this leaf and of its right neighbour into `fresh`, if the design can do so and they fit well;
    /// returns whether it did. `own` has the number and the volatile side of each. Both leaves are then released.
    fn merge<M: Medium, K: Keys>(
        &self,
        own: [(u32, &Self::Volatile); 2],
        right: &Self,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        fresh: Fresh<'_, Self>,
        range: (&K::Separator, Option<&K::Separator>),
    ) -> bool {
        let _ = (own, right, context, handle, fresh, range);
        false
    }

    /// Releases the leaf with all its pairs, because its keyspace was dropped. The caller releases each block of a leaf
    /// of several blocks, the last one first.
    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>);

    /// After a crash: brings the block to the state of the recovery point, durably and idempotently, and clears its
    /// volatile side. Returns what the block is, independent of whether other blocks name it.
    ///
    /// `peer` finds other blocks. This method may read them, and may write to them where their own recovery writes
    /// nothing. They may be under recovery at the same time. A crash can leave a leaf without pairs, and each
    /// combination must decide about it. A linked design keeps it: the rebuild removes it from the chain with
    /// [`Leaf::relink`], unless it is a keyspace's first. A replaced design releases it in [`Leaf::scrub_leaf`]. In a
    /// versioned design an empty block is free.
    ///
    /// # Errors
    /// `Corrupt` for bits that no crash can have left.
    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        volatile: &Self::Volatile,
        handle: &mut WriteHandle<'_, M>,
        recovery_point: RecoveryPoint,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState>;

    /// After a crash, once all blocks are at the recovery point: attaches the overflow blocks that name this leaf. Only
    /// this leaf learns of them; its own block may be empty.
    ///
    /// # Errors
    /// `Corrupt` if no crash can have left the blocks so.
    fn attach_overflow<K: Keys>(
        &self,
        own: u32,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        overflow_numbers: &[u32],
    ) -> Result<()> {
        let _ = (volatile, context);
        Err(damaged::<Self>((own, 0), "blocks behind a leaf's own", format!("{overflow_numbers:?}"), "none"))
    }

    /// Scrubs a leaf after a crash. The rebuild calls this for designs that are neither linked nor durable per epoch,
    /// and for leaves of several blocks.
    ///
    /// The block is one that `recover`, or another block, has found to be a leaf. Everything that `recover` wrote
    /// anywhere is durable by then, and `context` can resolve slots. The method removes, idempotently, what a crash
    /// left half done within the leaf. It releases an empty leaf and returns `false`, unless the leaf is `placed`: a
    /// durable inner node leads to it. An empty leaf that is kept otherwise has no parent, and its block leaks until
    /// the next open.
    ///
    /// The method touches no other leaf. The write handle fences once all leaves are done.
    ///
    /// # Errors
    /// `Corrupt` for bits that no crash can have left.
    fn scrub_leaf<M: Medium, K: Keys>(
        &self,
        own: u32,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        placed: bool,
    ) -> Result<bool> {
        let _ = (own, volatile, context, handle, placed);
        Ok(true)
    }

    /// Repairs what was in progress between a leaf and its right neighbour: finishes or undoes it, and derives what
    /// depends on the neighbour. The rebuild calls this for linked designs once the chain is known, and for replaced
    /// designs where keys of two neighbours overlap. The write handle fences once all leaves are repaired; what must be
    /// durable earlier, the method fences itself.
    fn repair_link<M: Medium, K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        right: Option<&Self>,
    ) {
        let _ = (volatile, context, handle, right);
    }

    /// For linked designs: makes `next` the right neighbour, durably. Only the rebuild calls this, with no other thread
    /// in the tree. The leaves that the link then passes over are empty, and are free once the write handle has fenced.
    fn relink<M: Medium, K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        next: u32,
    ) {
        let _ = (volatile, context, handle, next);
        assert!(
            !Self::CAPABILITIES.linked,
            "leaves passed over would be given out while the chain still leads to them"
        );
    }

    /// Rebuilds the volatile side from the durable one, which is sound.
    fn rebuild_volatile<K: Keys>(&self, volatile: &Self::Volatile, context: ReadContext<'_, K>) {
        let _ = (volatile, context);
    }
}
