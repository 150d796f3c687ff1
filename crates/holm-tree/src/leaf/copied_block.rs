//! A leaf block as a copy of its words: what a reader of files that cannot be opened learns from it.
//!
//! The words need not be of one instant, nor those that were written. So nothing here follows a payload, and the caller
//! believes a slot only where its record agrees.

use crate::keys::Slot;
use holm_medium::Epoch;

/// A slot of a copied block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopiedSlot {
    /// The slot's number.
    pub index: usize,
    /// Its two words.
    pub slot: Slot,
    /// Its fingerprint, if the design has them.
    pub fingerprint: Option<u8>,
    /// Whether an older state of the block names the slot, too.
    pub older: bool,
}

/// A state of a copied block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopiedBlock {
    /// The keyspace of its pairs.
    pub keyspace: u32,
    /// How many bytes its heads leave out.
    pub skip: usize,
    /// The epoch in which the state began; 0 if the block has none.
    pub epoch: Epoch,
    /// Whether all states of the block are later than the epoch asked for. A crash leaves no such block: only two
    /// epochs with changes can lack a log entry.
    pub is_beyond: bool,
    /// The slots that were live, in the order of their numbers. Empty: the block was free.
    pub slots: Vec<CopiedSlot>,
}

/// Reads the latest state that a block had at the end of an epoch or before, from a copy of its words. O(slots).
pub type ReadBlock = fn(words: &[u64], until: Epoch) -> CopiedBlock;
