//! Leaves of one block, and leaves of several.

use super::{BlockByte, Leaf, Pairs, ReadContext, WriteContext, damaged};
use crate::keys::Keys;
use holm_medium::{Medium, Result};

/// How many blocks a leaf has: [`OneBlock`], [`SeveralBlocks`], or what a design says itself. A leaf's number is that
/// of its first block; the others are its overflow blocks.
pub trait Overflow<L: Leaf>: 'static {
    /// The most blocks of a leaf.
    const BLOCKS: usize;
    /// How many fresh blocks beyond two a split may use; an even number.
    const SPARE: usize;

    /// Copies every live pair of the leaf, in any order.
    fn pairs<K: Keys>(leaf: &L, context: ReadContext<'_, L::Volatile, K>, out: &mut Pairs);
    /// As [`WithOverflow::overflow_block`].
    fn block<K: Keys>(leaf: &L, context: ReadContext<'_, L::Volatile, K>, place: usize) -> u32;
    /// Returns whether other leaves still use this block, when its tree is dropped and this leaf gives the block up: at
    /// place 0 its own, else that of [`Overflow::block`]. Called once for each; the last leaf is answered `false`.
    #[inline]
    fn keeps(leaf: &L, volatile: &L::Volatile, place: usize) -> bool {
        let _ = (leaf, volatile, place);
        false
    }
    /// As [`WithOverflow::take_detached`].
    fn take_detached(leaf: &L, volatile: &L::Volatile) -> u32;
    /// As [`WithOverflow::attach_overflow`].
    ///
    /// # Errors
    /// As there.
    fn attach<K: Keys>(leaf: &L, own: u32, context: ReadContext<'_, L::Volatile, K>, numbers: &[u32]) -> Result<()>;
    /// As [`WithOverflow::repair_blocks`].
    fn repair<M: Medium, K: Keys>(leaf: &L, context: &mut WriteContext<'_, '_, L::Volatile, M, K>);
}

/// A leaf of one block.
pub struct OneBlock;

impl<L: Leaf> Overflow<L> for OneBlock {
    const BLOCKS: usize = 1;
    const SPARE: usize = 0;

    #[inline]
    fn pairs<K: Keys>(leaf: &L, context: ReadContext<'_, L::Volatile, K>, out: &mut Pairs) {
        leaf.block_pairs(context.volatile, out);
    }

    #[inline]
    fn block<K: Keys>(_: &L, _: ReadContext<'_, L::Volatile, K>, _: usize) -> u32 {
        0
    }

    #[inline]
    fn take_detached(_: &L, _: &L::Volatile) -> u32 {
        0
    }

    fn attach<K: Keys>(_: &L, own: u32, _: ReadContext<'_, L::Volatile, K>, numbers: &[u32]) -> Result<()> {
        no_overflow::<L>(own, numbers)
    }

    fn repair<M: Medium, K: Keys>(_: &L, _: &mut WriteContext<'_, '_, L::Volatile, M, K>) {}
}

/// A leaf of several blocks.
pub struct SeveralBlocks;

/// A leaf whose pairs may lie in several blocks.
pub trait WithOverflow: Leaf {
    /// The most blocks of a leaf: its own, whose number is the leaf's, and its overflow blocks.
    const BLOCKS: usize;
    /// As [`Overflow::SPARE`].
    const SPARE: usize = 0;

    /// Copies every live pair of the leaf, in any order: those of its block and of its overflow blocks.
    fn leaf_pairs<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>, out: &mut Pairs);

    /// Returns the number of the overflow block at a place, from 1 on; 0 where there is none.
    fn overflow_block<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>, place: usize) -> u32;

    /// Returns the number of a block that the last insert or removal has detached from the leaf, as durably as that
    /// operation; 0 is none. The writer that holds the latch calls this once after each operation.
    fn take_detached(&self, volatile: &Self::Volatile) -> u32;

    /// After a crash, once all blocks are at the recovery point: attaches the overflow blocks that name this leaf. Only
    /// this leaf learns of them; its own block may be empty. A design whose blocks lead from one to the next keeps the
    /// default: no block of it names a leaf.
    ///
    /// # Errors
    /// `Corrupt` if no crash can have left the blocks so.
    fn attach_overflow<K: Keys>(
        &self,
        own: u32,
        context: ReadContext<'_, Self::Volatile, K>,
        numbers: &[u32],
    ) -> Result<()> {
        let _ = context;
        no_overflow::<Self>(own, numbers)
    }

    /// After a crash, once the overflow blocks are attached: removes, idempotently, what an operation on several blocks
    /// left half done. The rebuild calls this for designs that it recovers by versions. The write handle fences once
    /// all leaves are done.
    fn repair_blocks<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, Self::Volatile, M, K>) {
        let _ = context;
    }
}

fn no_overflow<L>(own: u32, numbers: &[u32]) -> Result<()> {
    Err(damaged::<L>(BlockByte::first_of(own), "blocks behind a leaf's own", format!("{numbers:?}"), "none"))
}

impl<L: WithOverflow> Overflow<L> for SeveralBlocks {
    const BLOCKS: usize = L::BLOCKS;
    const SPARE: usize = L::SPARE;

    #[inline]
    fn pairs<K: Keys>(leaf: &L, context: ReadContext<'_, L::Volatile, K>, out: &mut Pairs) {
        leaf.leaf_pairs(context, out);
    }

    #[inline]
    fn block<K: Keys>(leaf: &L, context: ReadContext<'_, L::Volatile, K>, place: usize) -> u32 {
        leaf.overflow_block(context, place)
    }

    #[inline]
    fn take_detached(leaf: &L, volatile: &L::Volatile) -> u32 {
        leaf.take_detached(volatile)
    }

    fn attach<K: Keys>(leaf: &L, own: u32, context: ReadContext<'_, L::Volatile, K>, numbers: &[u32]) -> Result<()> {
        leaf.attach_overflow(own, context, numbers)
    }

    fn repair<M: Medium, K: Keys>(leaf: &L, context: &mut WriteContext<'_, '_, L::Volatile, M, K>) {
        leaf.repair_blocks(context);
    }
}
