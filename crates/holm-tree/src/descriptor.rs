//! The volatile side of a leaf, found by the leaf's number as its block is.
//!
//! Latches lie in a dense array of their own and not among the durable bytes. Measured against a latch in the block,
//! that costs nothing at a million pairs and up to a tenth of a get at sixteen; in exchange no volatile byte is ever
//! in the file, a reader never dirties a page, and an image opens without a latch to reset.

use crate::leaf::Leaf;

/// Latch and volatile side of a leaf.
pub struct LeafDescriptor<L: Leaf, O> {
    /// Guards block and volatile side, unless the node above has the latches.
    pub latch: O,
    /// What the design keeps out of the block.
    pub volatile: L::Volatile,
}

impl<L: Leaf, O: Default> Default for LeafDescriptor<L, O> {
    fn default() -> Self {
        LeafDescriptor { latch: O::default(), volatile: L::Volatile::default() }
    }
}
