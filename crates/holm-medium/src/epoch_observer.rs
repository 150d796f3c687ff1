//! What wants to know which lines an epoch has changed, once that epoch is durable.

#![forbid(unsafe_code)]

use crate::epoch::Epoch;
use crate::error::MediumError;

/// Learns of every epoch that becomes durable. The thread that ends epochs calls it, and waits for it.
pub trait EpochObserver: Send + Sync {
    /// Whether the observer wants to know of the epoch that has just become durable. One load.
    fn is_listening(&self) -> bool;

    /// An epoch has become durable; `lines` are the runs that it dirtied: location and length in bytes, in ascending
    /// order.
    ///
    /// Operations run in the next epoch meanwhile, and in no later one: no epoch ends before this returns. So nothing
    /// is reused that the state at the end of `epoch`, or at the end of the epoch before, refers to. Slots of leaves
    /// follow the same rule in designs that persist per epoch.
    fn epoch_durable(&self, epoch: Epoch, lines: &mut dyn Iterator<Item = (u64, u64)>);

    /// No further epoch becomes durable: the storage was closed, or `why` has stopped it. Epochs that ended without
    /// [`EpochObserver::epoch_durable`] may still survive in the latter case.
    fn ended(&self, why: Option<&MediumError>);
}
