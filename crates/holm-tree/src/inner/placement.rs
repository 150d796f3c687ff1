//! Where nodes lie: in memory, or in blocks of their own.
//!
//! The choice has two sides. [`Placement`] is about one node: how it is found by its number, made and given back. What
//! it means for all levels of a tree is in [`crate::levels`].

use super::{FreshNode, Inner, NodeHeader, Route};
use crate::long_separators::LongSeparators;
use crate::slab::Slab;
use crate::wait::wait;
use holm_medium::{Image, Medium, MediumError, Result, Storage, WriteHandle};
use std::sync::Arc;

/// Takes a block for a durable node, and returns its number.
pub type TakeBlock<'a> = &'a mut dyn FnMut() -> Result<u32>;

/// Where nodes lie: [`InMemory`], [`RebuiltWhenFull`] or [`InBlocks`]. The defaults are those of nodes in memory.
pub trait Placement<I: Inner>: 'static {
    /// Whether nodes lie in blocks.
    const IN_BLOCKS: bool = false;

    /// Returns an unused number and its node. For a durable node, `take` gives the block and so the number.
    ///
    /// # Errors
    /// Those of `take`.
    fn fresh<'a, M: Medium>(
        slab: &'a Slab<I>,
        blocks: &NodeBlocks<'_, M>,
        take: TakeBlock<'_>,
    ) -> Result<FreshNode<'a, I>> {
        let _ = (blocks, take);
        let (number, node) = slab.take();
        Ok(FreshNode { number, node })
    }

    /// Gives back a number that was not used.
    fn unused<M: Medium>(slab: &Slab<I>, storage: &Storage<M>, number: u32) {
        let _ = storage;
        slab.give(number);
    }

    /// Passes on the durable nodes of a level, from its first one on.
    fn each_durable(slab: &Slab<I>, first: u32, each: &mut dyn FnMut(u32)) {
        let _ = (slab, first, each);
    }

    /// Releases a node of a dropped tree for reuse, if it lies in memory.
    fn release(slab: &Slab<I>, long_separators: &LongSeparators, number: u32) {
        if let Some(node) = slab.get(number) {
            // The new version makes every reader in the node restart.
            drop(wait(node.latch()));
            node.forget_long_separators(long_separators);
            slab.give(number);
        }
    }

    /// Ends a durable node, whose tree was dropped. The mutants that omit a step identify it by its caller.
    #[track_caller]
    fn end<M: Medium>(node: &I, handle: &mut WriteHandle<'_, M>) {
        let _ = (node, handle);
    }
}

/// Nodes lie in memory, and split when they are full.
pub struct InMemory;

/// Nodes lie in memory. When a leaf parent is full, the tree rebuilds all leaf parents and the one upper node above
/// them, and splits none.
pub struct RebuiltWhenFull;

/// Nodes are durable: they lie in blocks of the leaf area and have the blocks' numbers.
pub struct InBlocks;

/// The blocks in which durable nodes lie.
pub struct NodeBlocks<'a, M: Medium> {
    /// The storage.
    pub storage: &'a Storage<M>,
    /// The bytes of a block.
    pub bytes: usize,
}

/// A node that lies in a block.
pub trait DurableNode: Inner {
    /// Returns what a block says of itself if it is a node; `None` for every other block.
    fn header(image: &Image, offset: u64) -> Option<NodeHeader>;
    /// Attaches a node to its block, before any other use and always to the same one. Returns whether the block lies in
    /// the image.
    fn attach_block(&self, image: &Arc<Image>, offset: u64) -> bool;
    /// Returns the least key of the node's range.
    fn low(&self) -> u64;
    /// Returns the number of the next node of the level; 0 is none.
    fn next(&self) -> u32;
    /// After a crash: finishes or undoes what was in progress in the node, and between it and its right neighbour, and
    /// derives what is volatile. The repair is durable once the write handle has fenced.
    fn repair_link<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, right: Option<&Self>);
    /// Ends the node: its tree was dropped, or there was none. The caller names the site, so that a test can leave it
    /// out.
    #[track_caller]
    fn end<M: Medium>(&self, handle: &mut WriteHandle<'_, M>);
}

impl<M: Medium> NodeBlocks<'_, M> {
    /// Returns the node of a number; `None` if there is no such block.
    pub(crate) fn node<'a, I: DurableNode>(&self, slab: &'a Slab<I>, number: u32) -> Option<&'a I> {
        let node = slab.get_or_allocate(number)?;
        node.attach_block(self.storage.medium.image(), u64::from(number) * self.bytes as u64).then_some(node)
    }
}

impl<I: Inner> Placement<I> for InMemory {}

impl<I: Inner> Placement<I> for RebuiltWhenFull {}

impl<I: DurableNode> Placement<I> for InBlocks {
    const IN_BLOCKS: bool = true;

    fn fresh<'a, M: Medium>(
        slab: &'a Slab<I>,
        blocks: &NodeBlocks<'_, M>,
        take: TakeBlock<'_>,
    ) -> Result<FreshNode<'a, I>> {
        let number = take()?;
        let node = blocks.node(slab, number);
        node.map(|node| FreshNode { number, node }).ok_or(MediumError::TooLarge {
            what: "a node's number",
            found: number.into(),
            limit: u32::MAX.into(),
        })
    }

    fn unused<M: Medium>(_: &Slab<I>, storage: &Storage<M>, number: u32) {
        storage.space.return_block(number);
    }

    fn each_durable(slab: &Slab<I>, first: u32, each: &mut dyn FnMut(u32)) {
        let mut at = first;
        while let Some(node) = slab.get(at).filter(|_| at != 0) {
            each(at);
            at = node.next();
        }
    }

    fn release(_: &Slab<I>, _: &LongSeparators, _: u32) {}

    #[track_caller]
    fn end<M: Medium>(node: &I, handle: &mut WriteHandle<'_, M>) {
        node.end(handle);
    }
}
