//! How the leaves of a design are found again after a crash.
//!
//! [`Leaf::recover`] brings each block to the recovery point by itself. What follows depends on the design, which names
//! one of four strategies:
//!
//! | | [`AlongLinks`] | [`ByBlock`] | [`ByVersions`] | [`ByRange`] |
//! |---|---|---|---|---|
//! | the design implements | [`Linked`] | [`Scrubbed`] | [`Versioned`](super::Versioned) | [`Ranged`] |
//! | leaves are found | along [`Linked::next`] | each block says so | by versions | by ranges |
//! | then | [`Linked::repair_link`] | [`Scrubbed::scrub_leaf`] | [`repair_blocks`][overflow] | [`Ranged::settle`] |
//! | a leaf without pairs | leaves the chain, by [`Linked::relink`] | is released | is free | stays |
//! | [`Leaf::skip`] | 0 | any | any | 0 |
//!
//! [overflow]: super::WithOverflow

use super::{Leaf, PerEpoch, ReadContext, WriteContext};
use crate::design::Design;
use crate::keys::Keys;
use crate::rebuild::plan::{BlockPlan, LinkPlan, Plan, VersionPlan};
use crate::rebuild::ranges::RangePlan;
use crate::split::previous::{Previous, Unlatched};
use crate::tree_set::TreeSet;
use holm_medium::{Epoch, Medium, MediumError, Result};
use std::marker::PhantomData;

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

/// A byte of a leaf block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockByte {
    /// The block's number.
    pub block: u32,
    /// The byte's offset in the block.
    pub byte: u64,
}

impl BlockByte {
    /// Returns the first byte of a block.
    pub fn first_of(block: u32) -> Self {
        BlockByte { block, byte: 0 }
    }
}

/// Returns an error for bits that no crash can have left.
pub fn damaged<L>(
    place: BlockByte,
    what: &'static str,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> MediumError {
    damaged_in(size_of::<L>(), place, what, found, expected)
}

/// The same for blocks of the given size in bytes.
pub(crate) fn damaged_in(
    block_bytes: usize,
    place: BlockByte,
    what: &'static str,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> MediumError {
    let offset = u64::from(place.block) * block_bytes as u64 + place.byte;
    MediumError::Corrupt { path: "leaves".into(), offset, what, found: found.into(), expected: expected.into() }
}

/// How recovery finds the leaves of a design: [`AlongLinks`], [`ByBlock`], [`ByVersions`] or [`ByRange`].
pub trait Recovery<L: Leaf>: 'static {
    /// What a split latches besides its own leaf.
    type Previous: Previous;
    /// Whether the leaves of a closed database need no recovery: a leaf index can take the place of reading them.
    const INDEXED: bool = false;

    /// Returns the steps of recovery for a tree set of this leaf.
    #[doc(hidden)]
    fn plan<'a, M: Medium, D: Design<Leaf = L>, K: Keys>(
        tree_set: &'a TreeSet<M, D, K>,
        epoch: Epoch,
    ) -> Box<dyn Plan<K> + 'a>;
}

/// Recovery follows the links from the first leaf of each keyspace. `P` says what a split latches.
pub struct AlongLinks<P = Unlatched>(PhantomData<P>);

/// Each block says whether it is a leaf.
pub struct ByBlock;

/// Each block says whether it is a leaf, by the versions that a crash left.
pub struct ByVersions;

/// Each block says whether it is a leaf and where its range starts. The range ends where the next leaf's starts.
pub struct ByRange;

/// A leaf that keeps where its range starts. A block that is found live and is not the latest with its start is no
/// leaf: it is in use while a leaf names it among its blocks, and is released otherwise.
pub trait Ranged: Leaf {
    /// Returns the lower end of the leaf's range.
    fn low<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>) -> Option<K::Separator>;

    /// Returns how many blocks with this start came before. The one with the most is the leaf.
    fn generation(&self) -> u32;

    /// Derives the volatile side of a leaf whose range ends before `high`, if it ends. `peer` has the volatile sides of
    /// other blocks, of which other threads may settle some.
    ///
    /// # Errors
    /// `Corrupt` for bits that no crash can have left.
    fn settle<'a, K: Keys>(
        &self,
        own: u32,
        context: ReadContext<'_, Self::Volatile, K>,
        high: Option<&K::Separator>,
        peer: &dyn Fn(u32) -> Option<&'a Self::Volatile>,
    ) -> Result<()>;
}

/// A leaf with a durable link to the next one.
pub trait Linked: Leaf {
    /// Returns the number of the next leaf; 0 is none.
    fn next(&self) -> u32;

    /// Returns the lower end of the leaf's range, if the design keeps it durably; the rebuild leaves it where it was.
    fn low<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>) -> Option<K::Separator> {
        let _ = context;
        None
    }

    /// Repairs what was in progress between a leaf and its right neighbour: finishes or undoes it, and derives what
    /// depends on the neighbour. The rebuild calls this for each leaf once the chain is known. The write handle fences
    /// once all leaves are repaired; what must be durable earlier, the method fences itself.
    fn repair_link<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        right: Option<&Self>,
    ) {
        let _ = (context, right);
    }

    /// Makes `next` the right neighbour, durably. Only the rebuild calls this, with no other thread in the tree. The
    /// leaves that the link then passes over are empty, and are free once the write handle has fenced.
    fn relink<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, Self::Volatile, M, K>, next: u32);
}

/// A leaf that says itself whether it is one, and is durable when an operation returns.
pub trait Scrubbed: Leaf {
    /// Scrubs the leaf after a crash.
    ///
    /// The block is one that [`Leaf::recover`], or another block, has found to be a leaf. Everything that `recover`
    /// wrote anywhere is durable by then, and the context can resolve slots. The method removes, idempotently, what a
    /// crash left half done within the leaf. It releases an empty leaf and returns `false`, unless the leaf is
    /// `placed`: a durable inner node leads to it. An empty leaf that is kept otherwise has no parent, and its block
    /// leaks until the next open.
    ///
    /// The method touches no other leaf. The write handle fences once all leaves are done.
    ///
    /// # Errors
    /// `Corrupt` for bits that no crash can have left.
    fn scrub_leaf<M: Medium, K: Keys>(
        &self,
        own: u32,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        placed: bool,
    ) -> Result<bool> {
        let _ = (own, context, placed);
        Ok(true)
    }

    /// Repairs a leaf that reaches into the range of its right neighbour. A split may leave it so, in designs where a
    /// leaf does not name its origin. The write handle fences once all leaves are repaired.
    fn repair_overlap<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Self::Volatile, M, K>,
        right: &Self,
    ) {
        let _ = (context, right);
    }
}

impl<L: Linked, P: Previous> Recovery<L> for AlongLinks<P> {
    type Previous = P;

    fn plan<'a, M: Medium, D: Design<Leaf = L>, K: Keys>(
        tree_set: &'a TreeSet<M, D, K>,
        epoch: Epoch,
    ) -> Box<dyn Plan<K> + 'a> {
        Box::new(LinkPlan { tree_set, epoch })
    }
}

impl<L: Scrubbed> Recovery<L> for ByBlock {
    type Previous = Unlatched;

    fn plan<'a, M: Medium, D: Design<Leaf = L>, K: Keys>(
        tree_set: &'a TreeSet<M, D, K>,
        epoch: Epoch,
    ) -> Box<dyn Plan<K> + 'a> {
        Box::new(BlockPlan { tree_set, epoch })
    }
}

impl<L: Leaf<Durability = PerEpoch>> Recovery<L> for ByVersions {
    type Previous = Unlatched;
    const INDEXED: bool = true;

    fn plan<'a, M: Medium, D: Design<Leaf = L>, K: Keys>(
        tree_set: &'a TreeSet<M, D, K>,
        epoch: Epoch,
    ) -> Box<dyn Plan<K> + 'a> {
        Box::new(VersionPlan { tree_set, epoch })
    }
}

impl<L: Ranged> Recovery<L> for ByRange {
    type Previous = Unlatched;

    fn plan<'a, M: Medium, D: Design<Leaf = L>, K: Keys>(
        tree_set: &'a TreeSet<M, D, K>,
        epoch: Epoch,
    ) -> Box<dyn Plan<K> + 'a> {
        Box::new(RangePlan { tree_set, epoch })
    }
}
