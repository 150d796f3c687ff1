//! A leaf: one way to keep pairs in a block of persistent lines. A file in this folder *is* a design.
//!
//! Two contracts. **Readers race** with one writer: they must end and must not panic on any bits whatever; their
//! answers count only after the caller has validated the latch. **Writers are alone**: the tree set holds the latch and
//! lends the write handle. Leaves know nothing of latches, threads, parents, byte strings, media or tests.

pub mod buffered;

use crate::keys::{Keys, Role};
pub use crate::pairs::{MOST_PAIRS, Pairs};
use holm_medium::{Area, Epoch, Image, Loc, Medium, MediumError, Persistent, Result, WriteHandle};
use holm_search::Search;

/// What a design assumes and offers; printed beside every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The paper, for the report.
    pub source: &'static str,
    /// Durable at the end of the epoch, by versions; the rest are durable when an operation returns.
    pub per_epoch: bool,
    /// Correct only where the stores to one line persist in order; excused from the word model.
    pub needs_line_order: bool,
    /// Only for slots that hold whole keys; for keys that lie in records it is refused, and so by the store.
    pub needs_whole_keys: bool,
    /// Which blocks are leaves is known by following `next` from the first one; otherwise each block says so itself.
    pub linked: bool,
    /// Keeps what it is given. Only the blackhole does not.
    pub stores_pairs: bool,
}

impl Capabilities {
    /// Whether the design can keep such keys. Whoever goes through all designs with keys that lie in records asks this.
    pub fn supports<K: Keys>(self) -> bool {
        !self.needs_whole_keys || K::UNIQUE == Role::Head
    }
}

/// What a leaf looks through: what slots stand for, the vector kernels chosen when the tree was opened, and the other
/// blocks.
pub struct ReadContext<'a, K> {
    /// What slots stand for.
    pub keys: &'a K,
    /// How to search.
    pub search: Search,
    /// Where the blocks lie, for leaves of several; `None` where only those of one are looked at.
    pub image: Option<&'a Image>,
}

impl<'a, K> ReadContext<'a, K> {
    /// The block of a number.
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

/// Whose a leaf is, and what its range shares.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    /// The keyspace.
    pub keyspace: u32,
    /// Bytes that all keys of the range share and heads leave out; 0 to 255.
    pub skip: u8,
    /// The first leaf of its keyspace, which never moves in a linked design.
    pub first: bool,
}

/// A payload that has given way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// What it was.
    pub payload: u64,
    /// It was stored in this very epoch: no crash can bring it back, so its record may be freed at once.
    pub same_epoch: bool,
}

/// There is no room: split, or make place some other way, and come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// How two neighbouring leaves can become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Not now: they hold too much for one.
    Apart,
    /// The right leaf holds nothing, and a crash finds it free: the left one keeps its pairs where they are and
    /// [takes over](Leaf::take_over) the range.
    KeepLeft,
    /// The same with the left leaf empty.
    KeepRight,
    /// Pairs move, by [`Leaf::absorb`] or [`Leaf::merge`], if either can.
    Move,
}

/// A block that nobody can reach yet, for a leaf to use.
pub struct Fresh<'a, L: Leaf> {
    /// Its number.
    pub number: u32,
    /// The block.
    pub leaf: &'a L,
    /// Its volatile side.
    pub volatile: &'a L::Volatile,
}

/// What a full leaf, and whoever makes room in it, must be told.
pub struct SplitRequest<'a, L: Leaf, F> {
    /// The leaf's number.
    pub own: u32,
    /// Blocks to use.
    pub fresh: [Fresh<'a, L>; 2],
    /// More of them, [`Leaf::SPARE`] in all.
    pub spare: &'a [Fresh<'a, L>],
    /// The leaf's range.
    pub range: (&'a F, Option<&'a F>),
    /// The leaf before this one, latched too, for designs with [`Leaf::NEEDS_BEFORE`]; the first leaf has none.
    pub before: Option<&'a L>,
}

/// Where the halves of a split lie now.
#[derive(Clone, Debug)]
pub struct Split<F> {
    /// The number of the lower half: the leaf's own, or a fresh one.
    pub left: u32,
    /// The separator and the number of the upper half; `None` if all of it fitted into `left`.
    pub right: Option<(F, u32)>,
}

/// Where a crash cut history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryPoint {
    /// Only the process died: every store it made is there (or there was no crash at all).
    Visible,
    /// Power was lost: what was labelled with this epoch or an earlier one is there whole, the rest is not to be seen.
    At(Epoch),
}

/// What recovery found a block to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// Nothing: the block is free.
    Free,
    /// A leaf of a keyspace.
    Live {
        /// The keyspace.
        keyspace: u32,
        /// For linked designs: the first leaf of it.
        first: bool,
    },
    /// One of the blocks behind a leaf's first one, which it names.
    Overflow {
        /// The keyspace.
        keyspace: u32,
        /// The number of the leaf, which is one whatever its own block is found to be.
        leaf: u32,
    },
}

/// Something that no crash can have left in a block, given by its number and a byte within it.
pub fn damaged<L>(
    place: (u32, u64),
    what: &'static str,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> MediumError {
    damaged_in(size_of::<L>(), place, what, found, expected)
}

/// The same in blocks of so many bytes.
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
    /// The most pairs a leaf holds.
    const CAPACITY: usize;
    /// The most blocks a leaf consists of: its own, whose number is the leaf's, and those behind it.
    const BLOCKS: usize = 1;
    /// How many more than two fresh blocks a split may use; an even number.
    const SPARE: usize = 0;
    /// Whether making room in a leaf may have to change the one before it, which is then latched with it.
    const NEEDS_BEFORE: bool = false;
    /// Numbers of blocks are less than this, for designs that keep them in few bits.
    const NUMBERS: u32 = u32::MAX;
    /// The leaf's volatile side, kept in its leaf descriptor: rebuilt by [`Leaf::recover`], gone with the process.
    type Volatile: Default + Send + Sync + 'static;

    /// The payload of a key.
    fn get<K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<u64>;

    /// Asks the CPU for the lines of the block that one operation by itself will read, nothing of it having been read
    /// yet. Of all of them, unless the design knows better.
    #[inline]
    fn prefetch_block(&self) {
        holm_search::prefetch_lines(self);
    }

    /// Asks the CPU for the first line of the block: what [`Leaf::prefetch_pairs`] reads.
    fn prefetch_header(&self) {
        holm_search::prefetch(self);
    }

    /// Asks the CPU for the lines of the block that [`Leaf::get`] will read, having read the first one. Of all of them,
    /// unless the design knows better.
    fn prefetch_pairs<K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        search_key: K::SearchKey<'_>,
    ) {
        let _ = (volatile, context, search_key);
        holm_search::prefetch_lines(self);
    }

    /// A payload that [`Leaf::get`] will probably have to look at, found without looking at any record.
    fn candidate_payload<K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<u64> {
        let _ = (volatile, context, search_key);
        None
    }

    /// Every live pair of the block, in any order.
    fn block_pairs(&self, volatile: &Self::Volatile, out: &mut Pairs);

    /// Every live pair of the leaf, in any order: those of its block, and of the blocks behind it.
    fn leaf_pairs<K: Keys>(&self, volatile: &Self::Volatile, context: ReadContext<'_, K>, out: &mut Pairs) {
        let _ = context;
        self.block_pairs(volatile, out);
    }

    /// The number of the block at a place behind the leaf's own, from 1 on; 0 where there is none, and beyond that.
    fn overflow_block<K: Keys>(&self, volatile: &Self::Volatile, context: ReadContext<'_, K>, place: usize) -> u32 {
        let _ = (volatile, context, place);
        0
    }

    /// The number of a block of the leaf that the insert or removal just done has given up, as durably as that; 0 is
    /// none. Asked once after each, by who holds the leaf.
    fn take_detached(&self, volatile: &Self::Volatile) -> u32 {
        let _ = volatile;
        0
    }

    /// Whether so few pairs are left that a merge is worth an attempt.
    fn sparse<K: Keys>(&self, volatile: &Self::Volatile, context: ReadContext<'_, K>) -> bool {
        let _ = (volatile, context);
        false
    }

    /// Bytes that heads leave out. Zero in linked designs: a rebuild puts empty leaves between two whose ranges are
    /// bounded by what they leave out, and no chain would lead to those.
    fn skip(&self) -> usize {
        0
    }

    /// The latest epoch in which the leaf changed, for designs that know.
    fn stamp<K: Keys>(&self, volatile: &Self::Volatile, context: ReadContext<'_, K>) -> Epoch {
        let _ = (volatile, context);
        0
    }

    /// Of a block as the death of a process left it: each line as it was last logged, if it was, and all lines as they
    /// were found. Whether the state at the end of the last logged epoch is the same in both, as far as it was logged.
    /// Designs that are not durable per epoch cannot tell, and say yes.
    fn agrees(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch) -> bool {
        let _ = (logged, found, epoch);
        true
    }

    /// Every pair of the block that was live at the end of the last logged epoch, for designs that know; tells whether
    /// it knows. Pairs that this epoch's state names are not written over before two more have ended.
    fn live_at(&self, epoch: Epoch, out: &mut Pairs) -> bool {
        let _ = (epoch, out);
        false
    }

    /// Of the epochs after the last logged one, the first that the block holds a state of and the last in which it
    /// changed, for designs that know.
    fn changes_after(&self, epoch: Epoch) -> Option<(Epoch, Epoch)> {
        let _ = epoch;
        None
    }

    /// The number of the next leaf, for linked designs; 0 is none.
    fn next(&self) -> u32 {
        0
    }

    /// Where the leaf's range starts, for linked designs that keep that durably: after a rebuild it is where it was.
    fn low<K: Keys>(&self, context: ReadContext<'_, K>) -> Option<K::Separator> {
        let _ = context;
        None
    }

    /// Makes a fresh block an empty leaf that a crash finds as such.
    fn format<M: Medium>(&self, volatile: &Self::Volatile, handle: &mut WriteHandle<'_, M>, home: Home);

    /// Puts a payload under a key, replacing what was there.
    ///
    /// # Errors
    /// [`Full`]: nothing has changed.
    fn insert<M: Medium, K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full>;

    /// Whether not even a key that is there could be taken away before room is made: for designs that append.
    fn crowded(&self) -> bool {
        false
    }

    /// Takes a key away. The leaf is not [`Leaf::crowded`].
    fn remove<M: Medium, K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced>;

    /// Makes room in a full leaf whose range is `low..high` and whose number is `own`: in place with one fresh block,
    /// or by replacement with two. Blocks not named in the answer, nor behind one that is, are free again, whatever
    /// they were used for.
    fn split<M: Medium, K: Keys>(
        &self,
        own: u32,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        fresh: [Fresh<'_, Self>; 2],
        range: (&K::Separator, Option<&K::Separator>),
    ) -> Split<K::Separator>;

    /// Makes room as [`Leaf::split`] does, for a pair that found none; tells whether the pair was put as well. A design
    /// does so where that costs less than an insert of its own, and only if its key is not there.
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

    /// How this leaf and its right neighbour can become one. Asked without a latch first, where the answer is a hint,
    /// and again under both latches. Refuses two that would soon be split again.
    fn join<K: Keys>(
        &self,
        volatile: &Self::Volatile,
        right: (&Self, &Self::Volatile),
        context: ReadContext<'_, K>,
    ) -> Join {
        let _ = (volatile, right, context);
        Join::Move
    }

    /// Takes over the range of an empty neighbour, as [`Leaf::join`] has said: [`Leaf::stamp`] tells of this epoch from
    /// now on, so that an answer about that range is as late as the removals there.
    fn take_over<M: Medium, K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
    ) {
        let _ = (volatile, context, handle);
    }

    /// Takes the pairs of the right neighbour over and passes over it, if the design can and they fit well; tells
    /// whether it did. The right leaf is given up then, and this one has both ranges.
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

    /// Moves the pairs of this leaf and of its right neighbour (`own`: the numbers of both, and what is beside them)
    /// into `fresh`, if the design can and they fit well; tells whether it did. Both are given up then.
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

    /// Gives the leaf up, pairs and all: its keyspace has been dropped. Of a leaf of several blocks, each is given up,
    /// the last one first.
    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>);

    /// After a crash: brings the block to the state of the recovery point, durably and idempotently, forgets what was
    /// beside it, and says what it is, which does not depend on whether others name it. Other blocks may be looked at
    /// through `peer`, and written to where their own recovery writes nothing; they may be under recovery themselves at
    /// the same time.
    ///
    /// # Errors
    /// `Corrupt`, for bits that no crash can have left there.
    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        volatile: &Self::Volatile,
        handle: &mut WriteHandle<'_, M>,
        recovery_point: RecoveryPoint,
        peer: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState>;

    /// After a crash, once all blocks are at the recovery point: these are behind this one, each of which names it.
    /// They are told to it alone, which may hold nothing itself.
    ///
    /// # Errors
    /// `Corrupt`, where no crash can have left them so.
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

    /// For designs that are not linked and not durable per epoch, or whose leaves are of several blocks: of a block
    /// that `recover` or another block has said to be a leaf, once all that `recover` wrote anywhere is durable, and
    /// what slots stand for can be asked. Takes away, idempotently, what a crash left half done within the leaf, and
    /// gives up one that holds nothing, unless it is `placed`: a durable node leads to it. Tells whether it still is
    /// one. Touches no other leaf. The write handle fences once all leaves are done.
    ///
    /// # Errors
    /// `Corrupt`, for bits that no crash can have left there.
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

    /// For linked designs, once the chain is known, and for others where keys of two neighbours overlap: finishes or
    /// undoes what was under way between a leaf and its right neighbour, and derives what depends on that one. The
    /// write handle fences once all are mended; what must be durable before that, `repair_link` fences itself.
    fn repair_link<M: Medium, K: Keys>(
        &self,
        volatile: &Self::Volatile,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        right: Option<&Self>,
    ) {
        let _ = (volatile, context, handle, right);
    }

    /// For linked designs, while a rebuild is alone in the world: makes `next` the right neighbour, durably. The leaves
    /// that are passed over so hold nothing, and are free once the write handle has fenced.
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

    /// Derives the volatile side anew, the durable one being sound.
    fn rebuild_volatile<K: Keys>(&self, volatile: &Self::Volatile, context: ReadContext<'_, K>) {
        let _ = (volatile, context);
    }
}
