//! The epoch guard of an operation, and the hold of a batch on its epoch.

#![forbid(unsafe_code)]

use super::instant::Instant;
use super::label::Epoch;
use super::labels::{Labels, ThreadSlot};
use crate::error::Result;
use crate::sync::RwLockReadGuard;

/// While this lives, the epoch does not end.
pub struct Hold<'a> {
    labels: &'a Labels,
    _kept: RwLockReadGuard<'a, ()>,
}

impl<'a> Hold<'a> {
    pub(super) fn new(labels: &'a Labels) -> Self {
        Hold { labels, _kept: labels.hold() }
    }

    /// Pins the held epoch, without waiting for the disk. The guard is dropped before the hold is released.
    ///
    /// # Errors
    /// [`crate::MediumError::Poisoned`].
    pub fn pin(&self) -> Result<Guard<'a>> {
        self.labels.failure().refuse_if_ended()?;
        let slot = self.labels.slot();
        slot.expect_no_guard();
        let instant = self.labels.announce(slot)?;
        Ok(Guard { labels: self.labels, slot, instant })
    }
}

/// The epoch guard of an operation; dropping it unpins. A thread has at most one at a time.
pub struct Guard<'a> {
    labels: &'a Labels,
    slot: &'a ThreadSlot,
    /// The label, and which snapshots had begun.
    instant: Instant,
}

impl<'a> Guard<'a> {
    #[inline]
    pub(super) fn new(labels: &'a Labels, slot: &'a ThreadSlot, instant: Instant) -> Self {
        Guard { labels, slot, instant }
    }
}

impl<'a> Guard<'a> {
    /// Repins to the active epoch, which does not end while the result lives. For an operation that has lost several
    /// labels while it took its latches. The caller holds no latch.
    ///
    /// # Errors
    /// As [`Guard::repin`].
    #[cold]
    pub fn repin_held(&mut self) -> Result<Hold<'a>> {
        // The end of an epoch waits for this operation, and the hold for the end.
        self.slot.clear();
        let hold = Hold::new(self.labels);
        self.repin()?;
        Ok(hold)
    }
}

impl Guard<'_> {
    /// The label of this operation.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        self.instant.epoch()
    }

    /// Whether a snapshot was open when this operation got its label. The operation then keeps what the snapshot needs
    /// before it changes a leaf.
    #[inline]
    pub fn has_snapshots(&self) -> bool {
        self.instant.has_snapshots()
    }

    /// The generation of the latest snapshot that had begun when this operation got its label. The operation does not
    /// belong to that snapshot.
    #[cold]
    pub fn generation(&self) -> u64 {
        self.labels.generation_at(self.instant)
    }

    /// Whether the clock still shows this label, and no snapshot has begun since. An operation asks once it holds all
    /// latches, and this is its linearization point. If the label is stale, the operation releases its latches, calls
    /// [`Guard::repin`] and starts over.
    #[inline]
    pub fn valid(&self) -> bool {
        self.labels.shows(self.instant)
    }

    /// Repins to the active epoch. What was written under the old label stays part of the old epoch.
    ///
    /// # Errors
    /// `Poisoned` if the clock was shut meanwhile.
    #[cold]
    pub fn repin(&mut self) -> Result<()> {
        self.instant = self.labels.announce(self.slot)?;
        Ok(())
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.slot.clear();
    }
}
