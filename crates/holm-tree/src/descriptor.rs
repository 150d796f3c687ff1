//! The leaf descriptor: the volatile side of a leaf. It is found by the leaf's number, as the leaf's block is.
//!
//! Latches lie in a dense array of their own, not among the durable bytes. Measured against a latch in the block, this
//! costs nothing at a million pairs, and up to a tenth of a get at sixteen million. In exchange, the file contains no
//! volatile byte, a reader never dirties a page, and an image opens without a latch to reset.

use crate::leaf::Leaf;

/// The latch and the volatile side of a leaf.
pub struct LeafDescriptor<L: Leaf, O> {
    /// Guards the block and the volatile side, unless the node above has the latches.
    pub latch: O,
    /// What the design keeps outside the block.
    pub volatile: L::Volatile,
}

impl<L: Leaf, O: Default> Default for LeafDescriptor<L, O> {
    fn default() -> Self {
        LeafDescriptor { latch: O::default(), volatile: L::Volatile::default() }
    }
}
