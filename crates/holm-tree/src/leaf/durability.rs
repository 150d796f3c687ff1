//! When a leaf's change is durable.

use super::{Leaf, Pairs, ReadContext};
use crate::keys::Keys;
use holm_medium::Epoch;

/// When a change is durable: [`PerOperation`] or [`PerEpoch`].
pub trait Durability<L: Leaf>: 'static {
    /// Whether a change is durable at the end of its epoch, and not when the operation returns.
    const PER_EPOCH: bool;

    /// As [`Versioned::stamp`].
    fn stamp<K: Keys>(leaf: &L, context: ReadContext<'_, L::Volatile, K>) -> Epoch;
    /// As [`Versioned::agrees`].
    fn agrees(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch) -> bool;
    /// As [`Versioned::live_at`].
    fn live_at(leaf: &L, epoch: Epoch, out: &mut Pairs) -> bool;
    /// As [`Versioned::changes_after`].
    fn changes_after(leaf: &L, epoch: Epoch) -> Option<(Epoch, Epoch)>;
}

/// Durable when the operation returns. Such a leaf has no history: reads in strict mode wait for the active epoch, and
/// nothing in the leaf can be compared with the log.
pub struct PerOperation;

impl<L: Leaf> Durability<L> for PerOperation {
    const PER_EPOCH: bool = false;

    #[inline]
    fn stamp<K: Keys>(_: &L, _: ReadContext<'_, L::Volatile, K>) -> Epoch {
        0
    }

    fn agrees(_: &[Option<[u64; 8]>], _: &[[u64; 8]], _: Epoch) -> bool {
        true
    }

    fn live_at(_: &L, _: Epoch, _: &mut Pairs) -> bool {
        false
    }

    fn changes_after(_: &L, _: Epoch) -> Option<(Epoch, Epoch)> {
        None
    }
}

/// Durable at the end of the epoch.
pub struct PerEpoch;

/// A leaf that is durable per epoch, and keeps the states at the ends of the last epochs.
pub trait Versioned: Leaf {
    /// Returns the epoch of the leaf's last change.
    fn stamp<K: Keys>(&self, context: ReadContext<'_, Self::Volatile, K>) -> Epoch;

    /// Returns whether a block that the death of a process left agrees with the log. `logged` has each line as it was
    /// last logged, if it was; `found` has all lines of the image. They agree if the state at the end of the last
    /// logged epoch is the same in both, as far as it was logged.
    fn agrees(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch) -> bool;

    /// Copies every pair of the block that was live at the end of the last logged epoch, and returns whether the design
    /// knows them. Slots that this epoch's state names are not overwritten before two more epochs have ended.
    fn live_at(&self, epoch: Epoch, out: &mut Pairs) -> bool;

    /// Considers the epochs after the last logged one. Returns the first that the block holds a state of, and the last
    /// in which it changed.
    fn changes_after(&self, epoch: Epoch) -> Option<(Epoch, Epoch)>;
}

impl<L: Versioned> Durability<L> for PerEpoch {
    const PER_EPOCH: bool = true;

    #[inline]
    fn stamp<K: Keys>(leaf: &L, context: ReadContext<'_, L::Volatile, K>) -> Epoch {
        leaf.stamp(context)
    }

    fn agrees(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch) -> bool {
        L::agrees(logged, found, epoch)
    }

    fn live_at(leaf: &L, epoch: Epoch, out: &mut Pairs) -> bool {
        leaf.live_at(epoch, out)
    }

    fn changes_after(leaf: &L, epoch: Epoch) -> Option<(Epoch, Epoch)> {
        leaf.changes_after(epoch)
    }
}
