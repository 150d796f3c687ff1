//! Where the latches of leaves lie: in each leaf's descriptor, or in an array in the node above, as in Isle-Tree's
//! paper.
//!
//! A leaf of a lock array has no latch of its own. The hash of its number selects its lock, which so stays the same
//! wherever the leaf stands among its neighbours; several leaves share a lock. A reader notes the lock's version and
//! then validates the node above, as elsewhere. From then on, every writer that takes the leaf through that node
//! changes that version. So a split of the node takes all of its locks first. A block that no node leads to needs no
//! latch: no reader can validate it by a lock whose version is unchanged.

use crate::latch::Latch;

/// Where a node's leaves have their latches.
pub trait Locks: Default + Send + Sync + 'static {
    /// Whether the node has the latches, so that finding a latch needs the node.
    const IN_NODE: bool = false;
    /// The part of it in a leaf's descriptor.
    type Own: Default + Send + Sync + 'static;

    /// Returns the leaf's own latch, which does not depend on the node above.
    fn own(own: &Self::Own) -> Option<&Latch>;
    /// Returns the latch of the leaf `number`, a child of this node.
    fn of<'a>(&'a self, own: &'a Self::Own, number: u32) -> &'a Latch;
    /// Returns what a leaf's version keeps of the node above, to find the latch again: the number of a node that has
    /// the latches, and zero where the leaf has its own.
    #[inline(always)]
    fn node_of_latch(node: u32) -> u32 {
        if Self::IN_NODE { node } else { 0 }
    }
    /// Returns the latches in the node, for all its leaves.
    fn all(&self) -> &[Latch] {
        &[]
    }
}

/// Each leaf has its own latch.
#[derive(Default, Debug)]
pub struct PerLeaf;

impl Locks for PerLeaf {
    type Own = Latch;

    #[inline]
    fn own(own: &Latch) -> Option<&Latch> {
        Some(own)
    }
    #[inline]
    fn of<'a>(&'a self, own: &'a Latch, _: u32) -> &'a Latch {
        own
    }
}

/// `LOCKS` latches in the node above.
#[derive(Debug)]
pub struct LockArray<const LOCKS: usize>([Latch; LOCKS]);

impl<const LOCKS: usize> Default for LockArray<LOCKS> {
    fn default() -> Self {
        LockArray(std::array::from_fn(|_| Latch::default()))
    }
}

impl<const LOCKS: usize> Locks for LockArray<LOCKS> {
    const IN_NODE: bool = true;
    type Own = ();

    #[inline]
    fn own((): &()) -> Option<&Latch> {
        None
    }
    /// Numbers below one node are consecutive, or rise in steps. Multiplication spreads the upper bits in either case.
    #[inline]
    fn of<'a>(&'a self, (): &'a (), number: u32) -> &'a Latch {
        &self.0[((u64::from(number.wrapping_mul(0x9E37_79B9)) * LOCKS as u64) >> 32) as usize]
    }
    fn all(&self) -> &[Latch] {
        &self.0
    }
}
