//! A leaf: one way to keep pairs in a block of persistent lines. A file in this folder *is* a design.
//!
//! [`Leaf`] is what every design implements. It has two contracts. **Readers race** with one writer: a reading method
//! must end, and must not panic on any bits. Its answer counts only after the caller has validated the latch. **Writers
//! are alone**: the tree set holds the latch and lends the write handle. A leaf knows nothing of latches, threads,
//! parents, byte strings, media or tests.
//!
//! What a design can do beyond that, it says by types, and each type asks for a trait:
//!
//! | question | answers | trait |
//! |---|---|---|
//! | when is a change durable? | [`PerOperation`] | |
//! | | [`PerEpoch`] | [`Versioned`] |
//! | how many blocks has a leaf? | [`OneBlock`] | |
//! | | [`SeveralBlocks`] | [`WithOverflow`] |
//! | how does recovery find leaves? | [`ByBlock`] | [`Scrubbed`] |
//! | | [`AlongLinks`] | [`Linked`] |
//! | | [`ByVersions`] | [`Versioned`] |
//! | | [`ByRange`] | [`Ranged`] |
//! | which lines does a reader ask for early? | | [`Prefetch`], all defaults |
//! | how do two leaves become one? | | [`Merge`], all defaults |

pub mod buffered;
mod context;
mod copied_block;
mod durability;
mod merge;
mod overflow;
mod prefetch;
mod recovery;
mod request;

use crate::keys::{Keys, Role};
pub use crate::pairs::{MOST_PAIRS, Pairs};
pub use crate::split::previous::{Latched, Unlatched};
pub use context::{KeyRange, ReadContext, WriteContext};
pub use copied_block::{CopiedBlock, CopiedSlot, ReadBlock};
pub use durability::{Durability, GaveWay, PerEpoch, PerOperation, Versioned};
use holm_medium::{Medium, Persistent, Result, WriteHandle};
pub use merge::Merge;
pub use overflow::{OneBlock, Overflow, SeveralBlocks, WithOverflow};
pub use prefetch::Prefetch;
pub(crate) use recovery::damaged_in;
pub use recovery::{
    AlongLinks, BlockByte, BlockState, ByBlock, ByRange, ByVersions, Linked, Ranged, Recovery, RecoveryPoint, Scrubbed,
    damaged,
};
pub use request::{Full, Home, LeafRef, MergeRequest, MergedInto, PendingPair, Replaced, RoomFor, Split, SplitRequest};

/// What a design assumes and offers; reports print it beside every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The paper that reports name.
    pub source: &'static str,
    /// Durable at the end of the epoch, by versions. Other designs are durable when an operation returns.
    pub per_epoch: bool,
    /// As [`Leaf::NEEDS_LINE_ORDER`].
    pub needs_line_order: bool,
    /// As [`Leaf::NEEDS_WHOLE_KEYS`]; also where durable nodes have room for no other keys.
    pub needs_whole_keys: bool,
    /// As [`Leaf::STORES_PAIRS`].
    pub stores_pairs: bool,
    /// Whether writes to several leaves can take effect at one instant: see [`Versioned::COMMIT_ROOM`].
    pub commits_leaves: bool,
    /// Whether closing writes an index of the leaves: those of a closed database need nothing but their place.
    pub indexed: bool,
    /// As [`Leaf::LONGEST_RECORD`].
    pub longest_record: usize,
    /// As [`Versioned::MOVES`].
    pub moves_leaves: bool,
}

impl Capabilities {
    /// Returns whether the design can store keys of this kind. Code that goes through all designs checks this first.
    pub fn supports<K: Keys>(self) -> bool {
        !self.needs_whole_keys || K::UNIQUE == Role::Head
    }
}

/// One way to keep pairs in a block of persistent lines.
pub trait Leaf: Persistent + Sized {
    /// The paper that reports name.
    const SOURCE: &'static str;
    /// The most pairs of a leaf.
    const CAPACITY: usize;
    /// Whether the design is correct only where the stores to one line persist in order. The word model, which reorders
    /// them, skips such a design.
    const NEEDS_LINE_ORDER: bool = false;
    /// Whether slots must hold whole keys. Trees whose keys lie in records refuse such a design, and so does the store.
    const NEEDS_WHOLE_KEYS: bool = false;
    /// Whether the design stores the pairs that it is given. Only the blackhole does not; it answers each insert as if
    /// the pair itself had been replaced.
    const STORES_PAIRS: bool = true;
    /// Block numbers are less than this, for designs that keep them in few bits.
    const NUMBERS: u32 = u32::MAX;
    /// The leaf's volatile side, in its descriptor. [`Leaf::recover`] clears it and [`Leaf::rebuild_volatile`] rebuilds
    /// it; it dies with the process.
    type Volatile: Default + Send + Sync + 'static;
    /// When a change is durable.
    type Durability: Durability<Self>;
    /// How many blocks a leaf has.
    type Overflow: Overflow<Self>;
    /// How recovery finds the leaves.
    type Recovery: Recovery<Self>;

    /// Returns the payload of a key. Reads only live slots: [`Keys::is`] follows a slot's payload to its record, and
    /// the record of a dead slot may be freed.
    fn get<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>, search_key: K::SearchKey<'_>) -> Option<u64>;

    /// Copies every live pair of the block, in any order.
    fn block_pairs(&self, volatile: &Self::Volatile, out: &mut Pairs);

    /// Returns the number of bytes that heads leave out. It is zero in linked designs: a rebuild puts empty leaves
    /// between two leaves whose ranges their skips bound, and no chain would lead to those. The tree set gives linked
    /// designs no other value.
    fn skip(&self) -> usize {
        0
    }

    /// Puts a payload under a key and returns the payload that it replaces.
    ///
    /// The caller frees the replaced payload's record. A design that keeps dead slots must never pass one to
    /// [`Keys::is`], [`Keys::order`] or [`Keys::key`]: its record may be freed, or may belong to another key. A design
    /// that cannot avoid this needs whole keys in its slots and says so.
    ///
    /// # Errors
    /// [`Full`]: nothing has changed. The tree set then makes room and retries; it does not split a leaf that has room
    /// by then.
    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full>;

    /// The words of the longest record that the leaf's own block takes: see [`Leaf::lay`]. Zero means none.
    const LONGEST_RECORD: usize = 0;

    /// Writes a record into the block of this leaf, whose number is `own`, where no state of this epoch and of the two
    /// before it leads. Returns its payload, for an insert under the same latch; `None` if there is no room now, and
    /// [`Full`] if a split would make some. A crash before that insert leaves nothing to clean up.
    fn lay<M: Medium, K: Keys>(
        &self,
        own: u32,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        record: &[u64],
    ) -> std::result::Result<Option<u64>, Full> {
        let _ = (own, context, record);
        Ok(None)
    }

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
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced>;

    /// Makes room in a full leaf.
    ///
    /// The leaf always gets two fresh blocks. A split in place uses one; a replacement uses two. A block that the
    /// answer does not name, and that is not an overflow block of a named one, is free again, whatever the split used
    /// it for. If the request has a pair that found no room, the design may put it where that costs less than a
    /// separate insert, and only if the key is absent; it then says so in [`Split::put`].
    ///
    /// A split that replaces the leaf makes the fresh leaves durable *before* the origin ends. A design with a lineage
    /// flushes the lineage together with the fresh leaf's contents, before the origin gives way. Otherwise a crash
    /// between the two could find neither generation.
    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator>;

    /// Makes a fresh block an empty leaf; a crash from then on finds it as one.
    ///
    /// A leaf without origin (a new tree) must publish itself last. A design with a lineage flushes the lineage *after*
    /// everything else, because it alone makes the block a leaf: a crash in between must find no half-made leaf. A leaf
    /// that replaces another follows the other order: see [`Leaf::split`].
    fn format<M: Medium>(&self, volatile: &Self::Volatile, handle: &mut WriteHandle<'_, M>, home: Home);

    /// Releases the leaf with all its pairs, because its keyspace was dropped. The caller releases each block of a leaf
    /// of several blocks, the last one first.
    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>);

    /// After a crash: brings the block to the state of the recovery point, durably and idempotently, and clears its
    /// volatile side. Returns what the block is, independent of whether other blocks name it.
    ///
    /// `peer` finds other blocks. This method may read them, and may write to them where their own recovery writes
    /// nothing. They may be under recovery at the same time. A crash can leave a leaf without pairs; the table of
    /// [`recovery`](AlongLinks) says what becomes of it.
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

    /// Rebuilds the volatile side from the durable one, which is sound.
    fn rebuild_volatile<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>) {
        let _ = context;
    }
}
