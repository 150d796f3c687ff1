//! What an epoch has changed in a leaf block: the difference between the block's states at the ends of two consecutive
//! epochs.
//!
//! A payload that an epoch has moved, in a split or a merge, goes from one block and comes to another. The caller
//! compares the differences of all blocks that the epoch has changed.

use crate::design::{Design, LevelsOf};
use crate::inner::Placement;
use crate::leaf::Durability;
use crate::tree_set::DurabilityOf;
use holm_medium::{Area, Epoch, Image, Loc};

/// The difference between two states of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockDifference {
    /// The keyspace of the pairs, if there are any.
    pub keyspace: u32,
    /// Payloads of the later state that the earlier one does not have.
    pub came: Vec<u64>,
    /// Payloads of the earlier state that the later one does not have.
    pub went: Vec<u64>,
}

impl BlockDifference {
    /// Removes all payloads.
    pub fn clear(&mut self) {
        self.came.clear();
        self.went.clear();
    }
}

/// Reads the difference between the ends of an epoch and of the one before it from the block of a number. The caller
/// runs while the epoch after that is active, so that no slot of either state is reused. Returns `false` if the block
/// does not know one of the states. O(pairs of a block).
pub type ReadDifference = fn(image: &Image, block: u32, epoch: Epoch, out: &mut BlockDifference) -> bool;

/// Returns the reader of a design; `None` if its leaves do not tell, or if its blocks may be inner nodes. This is the
/// one boundary at which a feed learns so: a reader itself could not tell an inner node from a leaf.
pub(crate) fn reader<D: Design>() -> Option<ReadDifference> {
    let in_blocks = <LevelsOf<D> as Placement<D::Upper>>::IN_BLOCKS;
    (DurabilityOf::<D>::TELLS_CHANGES && !in_blocks).then_some(read::<D>)
}

fn read<D: Design>(image: &Image, block: u32, epoch: Epoch, out: &mut BlockDifference) -> bool {
    out.clear();
    let offset = u64::from(block) * size_of::<D::Leaf>() as u64;
    let leaf = image.at::<D::Leaf>(Loc::new(Area::Leaves, offset));
    leaf.is_some_and(|leaf| DurabilityOf::<D>::changed_in(leaf, epoch, out))
}
