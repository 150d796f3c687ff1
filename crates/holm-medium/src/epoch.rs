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
//!
//! Epochs run out: behind the last one there is no label, so its end is the clock's. All of it becomes durable, and
//! whoever checks in afterwards is told.

mod stay;

pub use stay::{Hold, Stay};

use crate::barrier::Barrier;
use crate::burden::{Burden, LEAF_LINES, LOT};
use crate::dirty::{Dirty, Marks};
use crate::error::{MediumError, Result};
use crate::stuck::{Stuck, Watch};
use crate::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};
use crate::sync::{Condvar, Mutex, MutexGuard, PerThread, RwLock, sleep, spin_loop, yield_now};
use crossbeam_utils::CachePadded;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64 as Count;
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

/// Where a thread announces the epoch of the operation it is in, and saves up what small ones dirty.
#[derive(Default)]
struct Seat(CachePadded<(AtomicU64, Count)>);

impl Seat {
    fn epoch(&self) -> &AtomicU64 {
        &self.0.0
    }

    /// Of this thread alone.
    fn saved(&self) -> &Count {
        &self.0.1
    }
}

/// What waiters and the one who ticks tell each other.
#[derive(Default)]
struct Bell {
    /// The greatest epoch that somebody waits for.
    wanted: Epoch,
    stop: bool,
    /// Why nothing more can be written for now, and how often that was found.
    refusal: Option<MediumError>,
    refusals: u64,
}

/// The clock of a pool.
pub struct Clock {
    active: CachePadded<AtomicU64>,
    /// The active epoch while `active` reads closed.
    resume: AtomicU64,
    durable: CachePadded<AtomicU64>,
    seats: PerThread<Seat>,
    /// Between an announcement and a look at the clock, and between the clock's raise and a look at the seats.
    barrier: Barrier,
    dirty: [Dirty; 2],
    /// Held shared by batches, which must not see a tick from their first operation to their last.
    hold: RwLock<()>,
    bell: Mutex<Bell>,
    rung: Condvar,
    ticked: Condvar,
    /// No bit: open. Looked at by every operation that writes.
    gate: CachePadded<AtomicU8>,
    burden: Burden,
    held_back: Count,
    /// Whom the end of an epoch waits for.
    watch: Watch,
    /// The first failure.
    poison: OnceLock<MediumError>,
    /// Why nobody may check in any more, though nothing has failed.
    closed: OnceLock<MediumError>,
}

const OPEN: u8 = 0;
/// Until an epoch's lines are taken.
const HELD_BACK: u8 = 1;
/// Until there is room for the log.
const FULL: u8 = 2;
/// For good.
const SHUT: u8 = 4;

/// A refusal is told after so many vain attempts: the first may have begun before the caller freed space.
const ATTEMPTS: u64 = 2;

impl Clock {
    /// A clock whose active epoch is `active`; everything before it is durable.
    pub fn new(active: Epoch, reserved: [usize; 2]) -> Self {
        let clock = Clock {
            active: CachePadded::new(AtomicU64::new(active)),
            resume: AtomicU64::new(active),
            durable: CachePadded::new(AtomicU64::new(active - 1)),
            seats: PerThread::new(),
            barrier: Barrier::detect(),
            dirty: [Dirty::new(reserved), Dirty::new(reserved)],
            hold: RwLock::new(()),
            bell: Mutex::default(),
            rung: Condvar::new(),
            ticked: Condvar::new(),
            gate: CachePadded::new(AtomicU8::new(OPEN)),
            burden: Burden::unlimited(),
            held_back: Count::new(0),
            watch: Watch::default(),
            poison: OnceLock::new(),
            closed: OnceLock::new(),
        };
        clock.restart(active);
        clock
    }

    /// At open, before any operation: the active epoch is `active`, everything before it is durable.
    pub fn restart(&self, active: Epoch) {
        self.durable.store(active - 1, Ordering::SeqCst);
        if active <= LAST_EPOCH {
            return self.active.store(active, Ordering::SeqCst);
        }
        // All epochs have ended: what is there can be read.
        self.resume.store(LAST_EPOCH, Ordering::SeqCst);
        self.active.store(CLOSED, Ordering::SeqCst);
        self.run_out();
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

    /// Checks in an operation that writes a leaf and little else. Waits only while the disk cannot keep up with what is
    /// written.
    ///
    /// # Errors
    /// As [`Clock::check_in_with`].
    #[inline]
    pub fn check_in(&self) -> Result<Stay<'_>> {
        self.check_in_with(0)
    }

    /// Checks in an operation that writes so many bytes beside a leaf.
    ///
    /// # Errors
    /// [`MediumError::Poisoned`] after a failed write or sync: nothing more may be acknowledged. What
    /// [`Clock::refuse`] was told, while that lasts.
    #[inline]
    pub fn check_in_with(&self, bytes: u64) -> Result<Stay<'_>> {
        let seat = self.seats.get().unwrap_or_else(|| self.sit());
        let saved = seat.saved().load(Ordering::Relaxed).saturating_add(bytes).saturating_add(LEAF_LINES);
        let epoch = if saved >= LOT || self.gate.load(Ordering::Relaxed) != OPEN {
            self.announce_counted(seat, saved)?
        } else {
            seat.saved().store(saved, Ordering::Relaxed);
            self.announce(seat)?
        };
        // Made at one place: what two of them gave would be copied, and the copy wait for its own stores.
        Ok(Stay::new(self, seat, epoch))
    }

    #[cold]
    fn announce_counted(&self, seat: &Seat, bytes: u64) -> Result<Epoch> {
        self.enter(bytes)?;
        seat.saved().store(0, Ordering::Relaxed);
        let epoch = self.announce(seat).inspect_err(|_| self.burden.take_back(bytes))?;
        self.burden.label(epoch, bytes);
        Ok(epoch)
    }

    /// The most bytes that the open epochs may be asked to write before writers are held back. Exceeded by one
    /// operation at most, and by 64 KiB of each thread.
    pub fn limit(&self, bytes: u64) {
        self.burden.limit(bytes);
    }

    /// Times that somebody was held back at the limit.
    pub fn held_back(&self) -> u64 {
        self.held_back.load(Ordering::Relaxed)
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

    /// Counts what is going to be written, once it may be.
    fn enter(&self, bytes: u64) -> Result<()> {
        if self.gate.load(Ordering::Relaxed) == OPEN && self.burden.take_on(bytes) {
            return Ok(());
        }
        let mut bell = self.lock_bell();
        let refusals = bell.refusals;
        let mut held = false;
        loop {
            self.refused(&bell, refusals)?;
            let full = self.gate.load(Ordering::Relaxed) & FULL != 0;
            if bell.stop || (!full && self.burden.take_on(bytes)) {
                return Ok(());
            }
            if !full {
                // Set under the bell, as it is cleared: whoever takes the lines next sees it and wakes us.
                self.gate.fetch_or(HELD_BACK, Ordering::Relaxed);
                self.held_back.fetch_add(u64::from(!held), Ordering::Relaxed);
                held = true;
                bell.wanted = bell.wanted.max(self.active());
                self.rung.notify_all();
            }
            bell = self.ticked.wait(bell).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// The error for whoever began to wait when there had been so many refusals, if it is time to be told.
    fn refused(&self, bell: &Bell, refusals: u64) -> Result<()> {
        self.refuse_if_ended()?;
        match &bell.refusal {
            Some(error) if bell.refusals >= refusals + ATTEMPTS => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Nothing can be written for now, for want of space: whoever would begin to write, or waits for an epoch, is told
    /// why when this has been said twice while he waited. Nothing is lost, and [`Clock::accept`] ends it.
    pub fn refuse(&self, why: &MediumError) {
        let mut bell = self.lock_bell();
        bell.refusal = Some(why.clone());
        bell.refusals += 1;
        self.gate.fetch_or(FULL, Ordering::Relaxed);
        drop(bell);
        self.ticked.notify_all();
    }

    /// Things can be written again.
    pub fn accept(&self) {
        if self.gate.load(Ordering::Relaxed) & FULL != 0 {
            let mut bell = self.lock_bell();
            bell.refusal = None;
            self.gate.fetch_and(!FULL, Ordering::Relaxed);
            drop(bell);
            self.ticked.notify_all();
        }
    }

    fn announce(&self, seat: &Seat) -> Result<Epoch> {
        loop {
            let epoch = self.active.load(Ordering::SeqCst);
            if epoch == CLOSED {
                seat.epoch().store(IDLE, Ordering::SeqCst);
                self.refuse_if_ended()?;
                yield_now();
                continue;
            }
            // Either whoever raises the clock sees this seat taken, or this thread sees the clock raised and announces
            // again. With less, a cut could miss an operation that writes. Release, for a stay that is renewed has
            // stores and marks of the epoch before, which this ends.
            seat.epoch().store(epoch, Ordering::Release);
            self.barrier.light();
            if self.active.load(Ordering::SeqCst) == epoch {
                return Ok(epoch);
            }
        }
    }

    /// Keeps the clock from ticking while the guard lives: a batch, of so many operations that write so many bytes
    /// beside leaves, is all of one epoch, hence all or nothing. Waits, as [`Clock::check_in_with`] does, *before* it
    /// holds: what lets writers go on again is an epoch's end, which waits for all who hold.
    ///
    /// # Errors
    /// As [`Clock::check_in_with`].
    pub fn hold(&self, bytes: u64, operations: u64) -> Result<Hold<'_>> {
        let bytes = bytes.saturating_add(operations.saturating_mul(LEAF_LINES));
        self.enter(bytes)?;
        let kept = self.hold.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.burden.label(self.active(), bytes);
        Ok(Hold::new(self, kept))
    }

    /// Marks lines as written in an epoch; the caller has checked in to it.
    #[inline]
    pub fn mark(&self, epoch: Epoch, marks: impl IntoIterator<Item = Marks>) {
        marks.into_iter().for_each(|marks| self.dirty[(epoch & 1) as usize].mark(marks));
    }

    /// Leaves are of a size at which two share a mask of [`crate::MASK_BYTES`]: known before the first operation.
    pub fn share_masks(&self) {
        self.dirty.iter().for_each(Dirty::share_masks);
    }

    /// Ends the active epoch: new operations belong to the next, and this returns when all of the ended one are out.
    /// Only one thread may do so at a time, and only after the epoch before has been published as durable. Behind the
    /// last epoch of all there is none: nobody is let in, and told why when that one is published.
    pub fn raise(&self) -> Epoch {
        let ended = self.active();
        if ended >= LAST_EPOCH {
            return self.raise_stopped(|_| {});
        }
        debug_assert!(self.durable() + 1 == ended, "an epoch is raised before the last one is durable");
        let _waiting = self.watch.wait_for(ended);
        let hold = self.hold.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.active.store(ended + 1, Ordering::SeqCst);
        drop(hold);
        self.wait_for_seats(ended);
        ended
    }

    /// Ends the active epoch with the writers stopped: `copy` runs when none is in. For designs without versions.
    pub fn raise_stopped(&self, copy: impl FnOnce(Epoch)) -> Epoch {
        self.paused_until(|ended, _| {
            copy(ended);
            (ended, Some(ended + 1).filter(|next| *next <= LAST_EPOCH))
        })
    }

    /// Ends the active epoch for good: nobody checks in any more, and when this returns nobody is in.
    pub fn shut(&self, why: &str) -> Epoch {
        let _ = self.closed.set(MediumError::Poisoned { why: why.into() });
        self.gate.fetch_or(SHUT, Ordering::SeqCst);
        drop(self.lock_bell());
        self.ticked.notify_all();
        self.paused_until(|ended, _| (ended, None))
    }

    /// What is to be said to whoever would write behind the last epoch.
    fn run_out(&self) {
        let _ = self.closed.set(MediumError::OutOfEpochs { last: LAST_EPOCH });
        self.gate.fetch_or(SHUT, Ordering::SeqCst);
    }

    /// Whom the end of an epoch waits for at this moment, if it does.
    pub fn stuck(&self) -> Option<Stuck> {
        let (epoch, waited) = self.watch.now()?;
        let inside = |seat: &&Seat| (IDLE + 1..=epoch).contains(&seat.epoch().load(Ordering::Relaxed));
        Some(Stuck { epoch, operations: self.seats.iter().filter(inside).count(), waited })
    }

    /// `work` is told the epoch, and whether the clock goes: behind its last epoch it stands.
    fn paused_until<T>(&self, work: impl FnOnce(Epoch, bool) -> (T, Option<Epoch>)) -> T {
        let _waiting = self.watch.wait_for(self.active());
        let hold = self.hold.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (active, goes) = (self.active(), self.active.load(Ordering::SeqCst) != CLOSED);
        self.resume.store(active, Ordering::SeqCst);
        self.active.store(CLOSED, Ordering::SeqCst);
        self.wait_for_seats(LAST_EPOCH);
        let (done, next) = work(active, goes);
        if let Some(next) = next {
            self.active.store(next, Ordering::SeqCst);
        }
        drop(hold);
        done
    }

    /// Runs `look` while no operation that writes is under way: those that have begun are waited for, others wait.
    pub fn paused<T>(&self, look: impl FnOnce() -> T) -> T {
        let shut = self.gate.load(Ordering::SeqCst) & SHUT != 0;
        self.paused_until(|active, goes| (look(), (goes && !shut).then_some(active)))
    }

    fn wait_for_seats(&self, ended: Epoch) {
        // After the clock has been raised and before the seats are listed: see `announce`, and `sit`.
        self.barrier.heavy(|why| self.poison(&MediumError::Poisoned { why: why.into() }));
        for seat in self.seats.iter() {
            let mut turns = 0;
            loop {
                let announced = seat.epoch().load(Ordering::SeqCst);
                if announced == IDLE || announced > ended {
                    break;
                }
                // A writer that the scheduler has put aside needs this core more than we do.
                turns += 1;
                if turns < 64 {
                    spin_loop();
                } else {
                    sleep(Duration::from_micros(50));
                    self.watch.complain(|| self.stuck());
                }
            }
        }
    }

    /// Takes the runs of lines that an ended epoch dirtied.
    pub fn drain(&self, ended: Epoch, visit: impl FnMut(u64, u64)) {
        self.dirty[(ended & 1) as usize].drain(visit);
        self.burden.relieve(ended);
        let bell = self.lock_bell();
        if self.gate.fetch_and(!HELD_BACK, Ordering::Relaxed) & HELD_BACK != 0 {
            drop(bell);
            self.ticked.notify_all();
        }
    }

    /// Declares an ended epoch durable and wakes whoever waits for it. The record that makes it so must be on the
    /// medium *before*: published first, a crash could take back what a waiter has acknowledged.
    pub fn publish(&self, ended: Epoch) {
        let bell = self.lock_bell();
        self.durable.store(ended, Ordering::Release);
        if ended >= LAST_EPOCH {
            self.run_out();
        }
        drop(bell);
        self.ticked.notify_all();
    }

    /// Waits until an epoch is durable, asking for a tick at once.
    ///
    /// # Errors
    /// [`MediumError::Poisoned`] if the medium failed meanwhile. What [`Clock::refuse`] was told, if that is what keeps
    /// the epoch from becoming durable: it may become so yet.
    pub fn wait_durable(&self, epoch: Epoch) -> Result<()> {
        self.wait_until(epoch, None)
    }

    /// The same, for so long at the most.
    ///
    /// # Errors
    /// As [`Clock::wait_durable`]; [`MediumError::Late`], which says what it has waited for.
    pub fn wait_durable_within(&self, epoch: Epoch, at_most: Duration) -> Result<()> {
        self.wait_until(epoch, Instant::now().checked_add(at_most).map(|until| (until, at_most)))
    }

    fn wait_until(&self, epoch: Epoch, deadline: Option<(Instant, Duration)>) -> Result<()> {
        if self.durable() >= epoch {
            return Ok(());
        }
        let mut bell = self.lock_bell();
        let refusals = bell.refusals;
        loop {
            if self.durable() >= epoch {
                return Ok(());
            }
            self.refused(&bell, refusals)?;
            if bell.stop {
                return Err(MediumError::Poisoned { why: "the database was closed while waiting for an epoch".into() });
            }
            if bell.wanted < epoch {
                bell.wanted = epoch;
                self.rung.notify_all();
            }
            bell = match deadline.map(|(at, at_most)| (at.saturating_duration_since(Instant::now()), at_most)) {
                Some((Duration::ZERO, waited)) => {
                    let why = self.stuck().map_or_else(|| "it is being written".into(), |stuck| stuck.to_string());
                    return Err(MediumError::Late { epoch, waited, why });
                }
                Some((left, _)) => {
                    self.ticked.wait_timeout(bell, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0
                }
                None => self.ticked.wait(bell).unwrap_or_else(|poisoned| poisoned.into_inner()),
            };
        }
    }

    /// For the one who ticks: sleeps until somebody wants the active epoch durable, until `deadline`, or until the
    /// clock is stopped. Tells whether it was stopped.
    pub fn sleep(&self, deadline: Option<Instant>) -> bool {
        let mut bell = self.lock_bell();
        loop {
            let active = self.active();
            // The last epoch of all stays active when it is durable.
            if bell.stop || bell.wanted >= active && self.durable() < active {
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

    /// Whether the one who ticks has been told to leave.
    pub fn is_stopped(&self) -> bool {
        self.lock_bell().stop
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
        self.gate.fetch_or(SHUT, Ordering::SeqCst);
        // Through the bell, so that no waiter can check before and sleep after.
        drop(self.lock_bell());
        self.ticked.notify_all();
    }

    /// The failure that stopped this pool, if one did.
    pub fn poisoned(&self) -> Option<&MediumError> {
        self.poison.get()
    }

    fn refuse_if_ended(&self) -> Result<()> {
        self.poison.get().or_else(|| self.closed.get()).map_or(Ok(()), |error| Err(error.clone()))
    }

    fn lock_bell(&self) -> MutexGuard<'_, Bell> {
        self.bell.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
