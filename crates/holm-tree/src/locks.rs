//! Where the latches of leaves lie: each with its own leaf, or in an array that the node above has, as Isle-Tree's
//! paper has them.
//!
//! A leaf of a lock array has no latch of its own. Its lock is found by its number's hash, and so stays the same
//! wherever the leaf stands among its neighbours; several leaves share one. A reader notes the lock's version and then
//! asks whether the node above still stands, as elsewhere: from then on, whoever takes the leaf from under that node
//! has to change that version. So a split of the node takes all of its locks first; and a block that no node leads to
//! needs no latch, for nobody can come to it by a lock that still shows what it showed.

use crate::latch::Latch;

/// Where a node's children, which are leaves, have their latches.
pub trait Locks: Default + Send + Sync + 'static {
    /// Whether the node has them, and so must be asked where a latch is.
    const IN_NODE: bool = false;
    /// What a leaf has of its own for it, beside its block.
    type Own: Default + Send + Sync + 'static;

    /// The latch that a leaf has of its own, whichever node leads to it.
    fn own(own: &Self::Own) -> Option<&Latch>;
    /// The latch of the leaf of this number, which this node leads to.
    fn of<'a>(&'a self, own: &'a Self::Own, number: u32) -> &'a Latch;
    /// The node's own ones, of all its leaves.
    fn all(&self) -> &[Latch] {
        &[]
    }
}

/// Each leaf has its own.
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

/// So many in the node above.
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
    /// Numbers under one node follow one another, or rise in steps: multiplied, their upper bits spread either.
    #[inline]
    fn of<'a>(&'a self, (): &'a (), number: u32) -> &'a Latch {
        &self.0[((u64::from(number.wrapping_mul(0x9E37_79B9)) * LOCKS as u64) >> 32) as usize]
    }
    fn all(&self) -> &[Latch] {
        &self.0
    }
}
