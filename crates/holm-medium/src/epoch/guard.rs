//! An operation's time in its epoch, and a batch's hold on it.

use super::{Clock, Epoch, IDLE, ThreadSlot};
use crate::error::Result;
use crate::sync::RwLockReadGuard;
use crate::sync::atomic::Ordering;

/// The clock does not tick while this lives.
pub struct Hold<'a> {
    clock: &'a Clock,
    _kept: RwLockReadGuard<'a, ()>,
}

impl<'a> Hold<'a> {
    pub(super) fn new(clock: &'a Clock, kept: RwLockReadGuard<'a, ()>) -> Self {
        Hold { clock, _kept: kept }
    }

    /// Pins the epoch that is held, without waiting for the disk. Unpinned before the hold is released.
    ///
    /// # Errors
    /// [`crate::MediumError::Poisoned`].
    pub fn pin(&self) -> Result<Guard<'a>> {
        self.clock.refuse_if_ended()?;
        let slot = self.clock.slots.get().unwrap_or_else(|| self.clock.register_thread());
        let epoch = self.clock.announce(slot)?;
        Ok(Guard { clock: self.clock, slot, epoch, part: Part::OfBatch })
    }
}

/// What the operation is part of. A word: of a byte, seven more would be copied beside it, in two pieces that overlap,
/// and the second would wait for what the operation before has stored.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
enum Part {
    Alone,
    OfBatch,
}

/// An operation's time in its epoch; dropping it unpins. One at a time per thread.
pub struct Guard<'a> {
    clock: &'a Clock,
    slot: &'a ThreadSlot,
    epoch: Epoch,
    part: Part,
}

impl<'a> Guard<'a> {
    #[inline]
    pub(super) fn new(clock: &'a Clock, slot: &'a ThreadSlot, epoch: Epoch) -> Self {
        Guard { clock, slot, epoch, part: Part::Alone }
    }
}

impl Guard<'_> {
    /// The label of this operation.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Whether it is part of a [`Hold`], and must not fail half-way.
    pub fn is_held(&self) -> bool {
        self.part == Part::OfBatch
    }

    /// Whether the clock still shows this label: asked once all latches are held, and the linearization point of the
    /// operation. If not, release, [`Guard::repin`], start over.
    #[inline]
    pub fn valid(&self) -> bool {
        self.clock.active.load(Ordering::SeqCst) == self.epoch
    }

    /// Moves on to the active epoch. What was written under the old label stays part of the old epoch.
    ///
    /// # Errors
    /// `Poisoned`, if the clock was shut meanwhile.
    #[cold]
    pub fn repin(&mut self) -> Result<()> {
        self.epoch = self.clock.announce(self.slot)?;
        Ok(())
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: the one who advances the clock sees every store and mark of this operation.
        self.slot.epoch().store(IDLE, Ordering::Release);
    }
}
