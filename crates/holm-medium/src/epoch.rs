//! The clock: which epoch operations belong to, and up to which epoch everything is durable.
//!
//! Buffered durability (Du and Scott, HOPC'25, section 2): operations check in to the active epoch `e`, and out again.
//! When the clock is raised, those of `e` may finish while new ones start in `e + 1`; once all are out and what they
//! wrote is durable, `e` is durable too. The next raise waits for that, so an operation labelled `e` can rely on every
//! epoch up to `e - 2` being durable: three versions suffice.
//!
//! *Lock, then validate*: a writer that has latched all it needs asks its [`Stay`] whether the clock still shows its
//! label. Readers cannot see a latched leaf, so labels rise along the order of linearization, and what survives a crash
//! is a prefix of that order.

use crate::dirty::Dirty;
use crate::error::{MediumError, Result};
use crate::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};
use crate::sync::{Condvar, Mutex, MutexGuard, PerThread, RwLock, RwLockReadGuard, sleep, spin_loop, yield_now};
use crossbeam_utils::CachePadded;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A tick of the clock; 36 bits of it fit a leaf's tag: 10.9 years at 5 ms.
pub type Epoch = u64;

/// The greatest epoch: what is beyond cannot be written into a tag.
pub const LAST_EPOCH: Epoch = (1 << 36) - 1;

/// The first epoch of a new pool: greater than 2, so that "two epochs ago" never wraps.
pub const FIRST_EPOCH: Epoch = 4;

const IDLE: u64 = 0;

/// What the active epoch reads while the writers are stopped.
const CLOSED: Epoch = 0;

/// Where a thread announces the epoch of the operation it is in.
#[derive(Default)]
struct Seat(CachePadded<AtomicU64>);

/// What waiters and the one who ticks tell each other.
#[derive(Default)]
struct Bell {
    /// The greatest epoch that somebody waits for.
    wanted: Epoch,
    stop: bool,
}

/// The clock of a pool.
pub struct Clock {
    active: CachePadded<AtomicU64>,
    /// The active epoch while `active` reads closed.
    resume: AtomicU64,
    durable: CachePadded<AtomicU64>,
    seats: PerThread<Seat>,
    dirty: [Dirty; 2],
    /// Held shared by batches, which must not see a tick from their first operation to their last.
    hold: RwLock<()>,
    bell: Mutex<Bell>,
    rung: Condvar,
    ticked: Condvar,
    /// Open, held back, or shut for good; looked at by every operation that writes.
    gate: CachePadded<AtomicU8>,
    poison: OnceLock<MediumError>,
}

const OPEN: u8 = 0;
const HELD_BACK: u8 = 1;
const SHUT: u8 = 2;

impl Clock {
    /// A clock whose active epoch is `active`; everything before it is durable.
    pub fn new(active: Epoch, reserved: [usize; 2]) -> Self {
        Clock {
            active: CachePadded::new(AtomicU64::new(active)),
            resume: AtomicU64::new(active),
            durable: CachePadded::new(AtomicU64::new(active - 1)),
            seats: PerThread::new(),
            dirty: [Dirty::new(reserved), Dirty::new(reserved)],
            hold: RwLock::new(()),
            bell: Mutex::default(),
            rung: Condvar::new(),
            ticked: Condvar::new(),
            gate: CachePadded::new(AtomicU8::new(OPEN)),
            poison: OnceLock::new(),
        }
    }

    /// At open, before any operation: the active epoch is `active`, everything before it is durable.
    pub fn restart(&self, active: Epoch) {
        self.active.store(active, Ordering::SeqCst);
        self.durable.store(active - 1, Ordering::SeqCst);
    }

    /// The epoch in which operations start now.
    #[inline]
    pub fn active(&self) -> Epoch {
        match self.active.load(Ordering::SeqCst) {
            CLOSED => self.resume.load(Ordering::SeqCst),
            active => active,
        }
    }

    /// Everything labelled with this epoch or an earlier one survives any crash.
    #[inline]
    pub fn durable(&self) -> Epoch {
        self.durable.load(Ordering::Acquire)
    }

    /// Checks an operation in. Waits only while the disk cannot keep up with what is written.
    ///
    /// # Errors
    /// [`MediumError::Poisoned`] after a failed write or sync: nothing more may be acknowledged.
    #[inline]
    pub fn check_in(&self) -> Result<Stay<'_>> {
        if self.gate.load(Ordering::Relaxed) != OPEN {
            self.wait_at_gate()?;
        }
        let seat = self.seats.get().unwrap_or_else(|| self.sit());
        let epoch = self.announce(seat)?;
        Ok(Stay { clock: self, seat, epoch })
    }

    /// A seat for a thread that has none yet.
    #[cold]
    fn sit(&self) -> &Seat {
        let seat = self.seats.get_or_default();
        // Against the fence of `wait_for_seats`: either whoever raises the clock meets this seat, or this thread sees
        // the clock raised. The seat's own stores don't order the list that it is found in, and a cut could miss the
        // first operation of a thread.
        fence(Ordering::SeqCst);
        seat
    }

    #[cold]
    fn wait_at_gate(&self) -> Result<()> {
        let mut bell = self.lock_bell();
        loop {
            if let Some(error) = self.poison.get() {
                return Err(error.clone());
            }
            if bell.stop || self.gate.load(Ordering::Relaxed) == OPEN {
                return Ok(());
            }
            bell = self.ticked.wait(bell).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// Back-pressure: whoever would begin to write waits, until it is let go again.
    pub fn hold_back(&self, held: bool) {
        let (from, to) = if held { (OPEN, HELD_BACK) } else { (HELD_BACK, OPEN) };
        let bell = self.lock_bell();
        let _ = self.gate.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
        drop(bell);
        self.ticked.notify_all();
    }

    /// About how many bytes the open epochs have dirtied: whole blocks are counted.
    pub fn dirty_bytes(&self) -> u64 {
        self.dirty.iter().map(Dirty::bytes).sum()
    }

    fn announce(&self, seat: &Seat) -> Result<Epoch> {
        loop {
            let epoch = self.active.load(Ordering::SeqCst);
            if epoch == CLOSED {
                seat.0.store(IDLE, Ordering::SeqCst);
                self.wait_at_gate()?;
                yield_now();
                continue;
            }
            // Sequentially consistent on both sides: whoever raises the clock either sees this seat taken, or this
            // thread sees the clock raised and announces again. With less, a cut could miss an operation that writes.
            seat.0.store(epoch, Ordering::SeqCst);
            if self.active.load(Ordering::SeqCst) == epoch {
                return Ok(epoch);
            }
        }
    }

    /// Keeps the clock from ticking while the guard lives: a batch is all of one epoch, hence all or nothing. Waits,
    /// as [`Clock::check_in`] does, *before* it holds: what lets writers go on again is an epoch's end, which waits
    /// for all who hold.
    ///
    /// # Errors
    /// As [`Clock::check_in`].
    pub fn hold(&self) -> Result<Hold<'_>> {
        if self.gate.load(Ordering::Relaxed) != OPEN {
            self.wait_at_gate()?;
        }
        Ok(Hold { clock: self, _kept: self.hold.read().unwrap_or_else(|poisoned| poisoned.into_inner()) })
    }

    /// Marks a run of lines as written in an epoch; the caller has checked in to it.
    #[inline]
    pub fn mark(&self, epoch: Epoch, first: u64, count: u64) {
        self.dirty[(epoch & 1) as usize].mark(first, count);
    }

    /// Ends the active epoch: new operations belong to the next, and this returns when all of the ended one are out.
    /// Only one thread may do so at a time, and only after the epoch before has been published as durable.
    pub fn raise(&self) -> Epoch {
        let ended = self.active();
        assert!(ended < LAST_EPOCH, "the clock has run out of epochs");
        debug_assert!(self.durable() + 1 == ended, "an epoch is raised before the last one is durable");
        let hold = self.hold.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.active.store(ended + 1, Ordering::SeqCst);
        drop(hold);
        self.wait_for_seats(ended);
        ended
    }

    /// Ends the active epoch with the writers stopped: `copy` runs when none is in. For designs without versions.
    pub fn raise_stopped(&self, copy: impl FnOnce(Epoch)) -> Epoch {
        self.paused_until(|ended| {
            copy(ended);
            (ended, Some(ended + 1))
        })
    }

    /// Ends the active epoch for good: nobody checks in any more, and when this returns nobody is in.
    pub fn shut(&self, why: &str) -> Epoch {
        let _ = self.poison.set(MediumError::Poisoned { why: why.into() });
        self.gate.store(SHUT, Ordering::SeqCst);
        drop(self.lock_bell());
        self.ticked.notify_all();
        self.paused_until(|ended| (ended, None))
    }

    fn paused_until<T>(&self, work: impl FnOnce(Epoch) -> (T, Option<Epoch>)) -> T {
        let hold = self.hold.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let active = self.active();
        self.resume.store(active, Ordering::SeqCst);
        self.active.store(CLOSED, Ordering::SeqCst);
        self.wait_for_seats(LAST_EPOCH);
        let (done, next) = work(active);
        if let Some(next) = next {
            self.active.store(next, Ordering::SeqCst);
        }
        drop(hold);
        done
    }

    /// Runs `look` while no operation that writes is under way: those that have begun are waited for, others wait.
    pub fn paused<T>(&self, look: impl FnOnce() -> T) -> T {
        let shut = self.gate.load(Ordering::SeqCst) == SHUT;
        self.paused_until(|active| (look(), (!shut).then_some(active)))
    }

    fn wait_for_seats(&self, ended: Epoch) {
        // After the clock has been raised and before the seats are listed; see `sit`.
        fence(Ordering::SeqCst);
        for seat in self.seats.iter() {
            let mut turns = 0;
            loop {
                let announced = seat.0.load(Ordering::SeqCst);
                if announced == IDLE || announced > ended {
                    break;
                }
                // A writer that the scheduler has put aside needs this core more than we do.
                turns += 1;
                if turns < 64 {
                    spin_loop();
                } else {
                    sleep(Duration::from_micros(50));
                }
            }
        }
    }

    /// Takes the runs of lines that an ended epoch dirtied.
    pub fn drain(&self, ended: Epoch, visit: impl FnMut(u64, u64)) {
        self.dirty[(ended & 1) as usize].drain(visit);
    }

    /// Declares an ended epoch durable and wakes whoever waits for it. The record that makes it so must be on the
    /// medium *before*: published first, a crash could take back what a waiter has acknowledged.
    pub fn publish(&self, ended: Epoch) {
        let bell = self.lock_bell();
        self.durable.store(ended, Ordering::Release);
        drop(bell);
        self.ticked.notify_all();
    }

    /// Waits until an epoch is durable, asking for a tick at once.
    ///
    /// # Errors
    /// [`MediumError::Poisoned`] if the medium failed meanwhile.
    pub fn wait_durable(&self, epoch: Epoch) -> Result<()> {
        if self.durable() >= epoch {
            return Ok(());
        }
        let mut bell = self.lock_bell();
        loop {
            if self.durable() >= epoch {
                return Ok(());
            }
            if let Some(error) = self.poison.get() {
                return Err(error.clone());
            }
            if bell.stop {
                return Err(MediumError::Poisoned { why: "the database was closed while waiting for an epoch".into() });
            }
            if bell.wanted < epoch {
                bell.wanted = epoch;
                self.rung.notify_all();
            }
            bell = self.ticked.wait(bell).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// For the one who ticks: sleeps until somebody wants the active epoch durable, until `deadline`, or until the
    /// clock is stopped. Tells whether it was stopped.
    pub fn sleep(&self, deadline: Option<Instant>) -> bool {
        let mut bell = self.lock_bell();
        loop {
            if bell.stop || bell.wanted >= self.active() {
                return bell.stop;
            }
            bell = match deadline.map(|at| at.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return false,
                Some(left) => self.rung.wait_timeout(bell, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0,
                None => self.rung.wait(bell).unwrap_or_else(|poisoned| poisoned.into_inner()),
            };
        }
    }

    /// Asks the one who ticks for a tick now, without waiting for it.
    pub fn nudge(&self) {
        let mut bell = self.lock_bell();
        bell.wanted = bell.wanted.max(self.active());
        self.rung.notify_all();
    }

    /// Tells the one who ticks to leave.
    pub fn stop(&self) {
        self.lock_bell().stop = true;
        self.rung.notify_all();
        self.ticked.notify_all();
    }

    /// After a failed write or sync nothing more is acknowledged.
    pub fn poison(&self, why: &MediumError) {
        let _ = self.poison.set(MediumError::Poisoned { why: why.to_string() });
        self.gate.store(SHUT, Ordering::SeqCst);
        // Through the bell, so that no waiter can check before and sleep after.
        drop(self.lock_bell());
        self.ticked.notify_all();
    }

    /// The failure that stopped this pool, if one did.
    pub fn poisoned(&self) -> Option<&MediumError> {
        self.poison.get()
    }

    fn lock_bell(&self) -> MutexGuard<'_, Bell> {
        self.bell.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The clock does not tick while this lives.
pub struct Hold<'a> {
    clock: &'a Clock,
    _kept: RwLockReadGuard<'a, ()>,
}

impl Hold<'_> {
    /// Checks in to the epoch that is held, without waiting for the disk.
    ///
    /// # Errors
    /// [`MediumError::Poisoned`].
    pub fn check_in(&self) -> Result<Stay<'_>> {
        if let Some(error) = self.clock.poison.get() {
            return Err(error.clone());
        }
        let seat = self.clock.seats.get().unwrap_or_else(|| self.clock.sit());
        let epoch = self.clock.announce(seat)?;
        Ok(Stay { clock: self.clock, seat, epoch })
    }
}

/// An operation's time in its epoch; dropping it checks out. One at a time per thread.
pub struct Stay<'a> {
    clock: &'a Clock,
    seat: &'a Seat,
    epoch: Epoch,
}

impl Stay<'_> {
    /// The label of this operation.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        self.epoch
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
        self.seat.0.store(IDLE, Ordering::Release);
    }
}
