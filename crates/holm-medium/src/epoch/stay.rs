//! An operation's time in its epoch, and a batch's hold on it.

use super::{Clock, Epoch, IDLE, Seat};
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

    /// Checks in to the epoch that is held, without waiting for the disk. Checked out before the hold is released.
    ///
    /// # Errors
    /// [`crate::MediumError::Poisoned`].
    pub fn check_in(&self) -> Result<Stay<'a>> {
        self.clock.refuse_if_ended()?;
        let seat = self.clock.seats.get().unwrap_or_else(|| self.clock.sit());
        let epoch = self.clock.announce(seat)?;
        Ok(Stay { clock: self.clock, seat, epoch, part: Part::OfBatch })
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

/// An operation's time in its epoch; dropping it checks out. One at a time per thread.
pub struct Stay<'a> {
    clock: &'a Clock,
    seat: &'a Seat,
    epoch: Epoch,
    part: Part,
}

impl<'a> Stay<'a> {
    #[inline]
    pub(super) fn new(clock: &'a Clock, seat: &'a Seat, epoch: Epoch) -> Self {
        Stay { clock, seat, epoch, part: Part::Alone }
    }
}

impl Stay<'_> {
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
    /// operation. If not, release, [`Stay::renew`], start over.
    #[inline]
    pub fn valid(&self) -> bool {
        self.clock.active.load(Ordering::SeqCst) == self.epoch
    }

    /// Moves on to the active epoch. What was written under the old label stays part of the old epoch.
    ///
    /// # Errors
    /// `Poisoned`, if the clock was shut meanwhile.
    #[cold]
    pub fn renew(&mut self) -> Result<()> {
        self.epoch = self.clock.announce(self.seat)?;
        Ok(())
    }
}

impl Drop for Stay<'_> {
    #[inline]
    fn drop(&mut self) {
        // Release: the one who raises the clock sees every store and mark of this operation.
        self.seat.epoch().store(IDLE, Ordering::Release);
    }
}
