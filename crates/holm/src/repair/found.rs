//! A leaf block that has pairs, as a repair lists them.

use holm_medium::Epoch;

/// A block with pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    /// The epoch of its state. Blocks are written in this order, so the pair of the latest epoch stays.
    pub(super) epoch: Epoch,
    /// The number of the block.
    pub(super) number: u64,
    /// The number of its keyspace.
    pub(super) keyspace: u32,
    /// Whether the log has a line of it.
    pub(super) is_logged: bool,
}
