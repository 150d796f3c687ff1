//! The clock: which epoch each operation belongs to, and up to which epoch everything is durable.
//!
//! Buffered durability (Du and Scott, HOPC'25, section 2): an operation pins the active epoch `e`, and unpins it at
//! its end. When the clock advances, operations of `e` may finish while new ones start in `e + 1`. Once all of them
//! have unpinned and what they wrote is durable, `e` is durable too. The next advance waits for that. An operation
//! labelled `e` can therefore rely on every epoch up to `e - 2` being durable, and three versions suffice.
//!
//! *Lock, then validate*: a writer that holds all the latches it needs asks its [`Guard`] whether the clock still shows
//! its label. Readers cannot see a latched leaf. Labels therefore rise along the order of linearization, and what
//! survives a crash is a prefix of that order.
//!
//! Epochs are finite: after the last one there is no label, so the clock ends with it. All of it becomes durable, and
//! each later attempt to pin returns an error.

mod guard;

pub use guard::{Guard, Hold};

use crate::backpressure::{Backpressure, LEAF_LINES, LOT};
use crate::barrier::Barrier;
use crate::dirty::{Dirty, Marks};
use crate::error::{MediumError, Result};
use crate::stuck::{Stuck, WaitMonitor};
use crate::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};
use crate::sync::{Condvar, Mutex, MutexGuard, PerThread, RwLock, sleep, spin_loop, yield_now};
use crossbeam_utils::CachePadded;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64 as Count;
use std::time::{Duration, Instant};

/// A number that the clock shows. 36 bits of it fit the tag of a leaf: 10.9 years at 5 ms per epoch.
pub type Epoch = u64;

/// The greatest epoch: a greater one does not fit a tag.
pub const LAST_EPOCH: Epoch = (1 << 36) - 1;

/// The first epoch of a new storage: greater than 2, so that `epoch - 2` never wraps.
pub const FIRST_EPOCH: Epoch = 4;

const IDLE: u64 = 0;

/// The value of the active epoch while the writers are stopped.
const CLOSED: Epoch = 0;

/// The slot where a thread announces the epoch of its operation, and where it accumulates the bytes of small
/// operations.
#[derive(Default)]
struct ThreadSlot(CachePadded<(AtomicU64, Count)>);

impl ThreadSlot {
    fn epoch(&self) -> &AtomicU64 {
        &self.0.0
    }

    /// Written and read by the owner of the slot only.
    fn saved(&self) -> &Count {
        &self.0.1
    }
}

/// What waiters ask of the thread that ends epochs, and what that thread reports to them.
#[derive(Default)]
struct Requests {
    /// The greatest epoch that a thread waits for.
    wanted: Epoch,
    stop: bool,
    /// Why nothing can be written for now, and how often writing was found impossible.
    refusal: Option<MediumError>,
    refusals: u64,
}

/// The clock of a storage.
pub struct Clock {
    active: CachePadded<AtomicU64>,
    /// The active epoch while `active` reads closed.
    resume: AtomicU64,
    durable: CachePadded<AtomicU64>,
    slots: PerThread<ThreadSlot>,
    /// Orders an announcement before the look at the clock, and the clock's advance before the look at the slots.
    barrier: Barrier,
    dirty: [Dirty; 2],
    /// Batches hold it shared: the epoch must not change from their first operation to their last.
    hold: RwLock<()>,
    requests: Mutex<Requests>,
    requested: Condvar,
    epoch_ended: Condvar,
    /// No bit set: open. Each operation that writes reads it.
    gate: CachePadded<AtomicU8>,
    backpressure: Backpressure,
    throttled_writes: Count,
    /// What the end of an epoch waits for.
    wait_monitor: WaitMonitor,
    /// The first failure.
    poison: OnceLock<MediumError>,
    /// Why no operation may pin any more, although nothing has failed.
    closed: OnceLock<MediumError>,
}

const OPEN: u8 = 0;
/// Set until the lines of an epoch are taken.
const THROTTLED: u8 = 1;
/// Set until there is room for the log.
const FULL: u8 = 2;
/// Set for good.
const SHUT: u8 = 4;

/// A refusal is returned after this many failed attempts: the first may have begun before the caller freed space.
const ATTEMPTS: u64 = 2;

impl Clock {
    /// A clock whose active epoch is `active`; every earlier epoch is durable.
    pub fn new(active: Epoch, reserved: [usize; 2]) -> Self {
        let clock = Clock {
            active: CachePadded::new(AtomicU64::new(active)),
            resume: AtomicU64::new(active),
            durable: CachePadded::new(AtomicU64::new(active - 1)),
            slots: PerThread::new(),
            barrier: Barrier::detect(),
            dirty: [Dirty::new(reserved), Dirty::new(reserved)],
            hold: RwLock::new(()),
            requests: Mutex::default(),
            requested: Condvar::new(),
            epoch_ended: Condvar::new(),
            gate: CachePadded::new(AtomicU8::new(OPEN)),
            backpressure: Backpressure::unlimited(),
            throttled_writes: Count::new(0),
            wait_monitor: WaitMonitor::default(),
            poison: OnceLock::new(),
            closed: OnceLock::new(),
        };
        clock.restart(active);
        clock
    }

    /// Restarts the clock at open, before any operation: the active epoch is `active`, every earlier one is durable.
    pub fn restart(&self, active: Epoch) {
        self.durable.store(active - 1, Ordering::SeqCst);
        if active <= LAST_EPOCH {
            return self.active.store(active, Ordering::SeqCst);
        }
        // All epochs have ended: the data can be read only.
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

    /// The last durable epoch: everything labelled with it or with an earlier one survives any crash.
    #[inline]
    pub fn durable(&self) -> Epoch {
        self.durable.load(Ordering::Acquire)
    }

    /// Pins the active epoch for an operation that writes a leaf and little else. Waits only while the disk cannot
    /// keep up with writes.
    ///
    /// # Errors
    /// As [`Clock::pin_with_bytes`].
    #[inline]
    pub fn pin(&self) -> Result<Guard<'_>> {
        self.pin_with_bytes(0)
    }

    /// Pins the active epoch for an operation that writes `bytes` bytes besides a leaf.
    ///
    /// # Errors
    /// [`MediumError::Poisoned`] after a failed write or sync: nothing more may be acknowledged. The error that was
    /// passed to [`Clock::refuse`], while that lasts.
    #[inline]
    pub fn pin_with_bytes(&self, bytes: u64) -> Result<Guard<'_>> {
        let slot = self.slots.get().unwrap_or_else(|| self.register_thread());
        let saved = slot.saved().load(Ordering::Relaxed).saturating_add(bytes).saturating_add(LEAF_LINES);
        let epoch = if saved >= LOT || self.gate.load(Ordering::Relaxed) != OPEN {
            self.announce_counted(slot, saved)?
        } else {
            slot.saved().store(saved, Ordering::Relaxed);
            self.announce(slot)?
        };
        // The guard is made at one place. Two places would each return a copy, and copying waits for the stores just
        // made.
        Ok(Guard::new(self, slot, epoch))
    }

    #[cold]
    fn announce_counted(&self, slot: &ThreadSlot, bytes: u64) -> Result<Epoch> {
        self.pass_gate(bytes)?;
        slot.saved().store(0, Ordering::Relaxed);
        let epoch = self.announce(slot).inspect_err(|_| self.backpressure.cancel(bytes))?;
        self.backpressure.assign(epoch, bytes);
        Ok(epoch)
    }

    /// Sets how many bytes the open epochs may be asked to write before writers are throttled. The sum exceeds this by
    /// one operation at most, and by 64 KiB per thread.
    pub fn limit(&self, bytes: u64) {
        self.backpressure.limit(bytes);
    }

    /// How often an operation was throttled at the limit.
    pub fn throttled_writes(&self) -> u64 {
        self.throttled_writes.load(Ordering::Relaxed)
    }

    /// A slot for a thread that has none yet.
    #[cold]
    fn register_thread(&self) -> &ThreadSlot {
        let slot = self.slots.get_or_default();
        // Pairs with the fence of `wait_for_slots`: either the thread that advances the clock finds this slot, or this
        // thread sees that the clock has advanced. The slot's own stores do not order the list that contains it:
        // without the fence, an epoch's end could miss the first operation of a thread.
        fence(Ordering::SeqCst);
        slot
    }

    /// Counts bytes that are about to be written, once the gate and the limit allow it.
    fn pass_gate(&self, bytes: u64) -> Result<()> {
        if self.gate.load(Ordering::Relaxed) == OPEN && self.backpressure.try_reserve(bytes) {
            return Ok(());
        }
        let mut requests = self.lock_requests();
        let refusals = requests.refusals;
        let mut held = false;
        loop {
            self.refused(&requests, refusals)?;
            let full = self.gate.load(Ordering::Relaxed) & FULL != 0;
            if requests.stop || (!full && self.backpressure.try_reserve(bytes)) {
                return Ok(());
            }
            if !full {
                // Set under the lock under which it is cleared: the thread that takes the lines next sees it and wakes
                // this one.
                self.gate.fetch_or(THROTTLED, Ordering::Relaxed);
                self.throttled_writes.fetch_add(u64::from(!held), Ordering::Relaxed);
                held = true;
                requests.wanted = requests.wanted.max(self.active());
                self.requested.notify_all();
            }
            requests = self.epoch_ended.wait(requests).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// The error for a thread that began to wait after `refusals` refusals, once it is due.
    fn refused(&self, requests: &Requests, refusals: u64) -> Result<()> {
        self.refuse_if_ended()?;
        match &requests.refusal {
            Some(error) if requests.refusals >= refusals + ATTEMPTS => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Reports that nothing can be written for now, for want of space. A thread that is about to write, or that waits
    /// for an epoch, gets this error after two reports during its wait. Nothing is lost, and [`Clock::accept`] ends
    /// the state.
    pub fn refuse(&self, why: &MediumError) {
        let mut requests = self.lock_requests();
        requests.refusal = Some(why.clone());
        requests.refusals += 1;
        self.gate.fetch_or(FULL, Ordering::Relaxed);
        drop(requests);
        self.epoch_ended.notify_all();
    }

    /// Reports that writing is possible again.
    pub fn accept(&self) {
        if self.gate.load(Ordering::Relaxed) & FULL != 0 {
            let mut requests = self.lock_requests();
            requests.refusal = None;
            self.gate.fetch_and(!FULL, Ordering::Relaxed);
            drop(requests);
            self.epoch_ended.notify_all();
        }
    }

    fn announce(&self, slot: &ThreadSlot) -> Result<Epoch> {
        loop {
            let epoch = self.active.load(Ordering::SeqCst);
            if epoch == CLOSED {
                slot.epoch().store(IDLE, Ordering::SeqCst);
                self.refuse_if_ended()?;
                yield_now();
                continue;
            }
            // Either the thread that advances the clock sees this slot in use, or this thread sees that the clock has
            // advanced, and announces again. A weaker order could let an epoch's end miss an operation that writes.
            // Release, because a repinned guard has stores and marks of the previous epoch, which this store ends.
            slot.epoch().store(epoch, Ordering::Release);
            self.barrier.light();
            if self.active.load(Ordering::SeqCst) == epoch {
                return Ok(epoch);
            }
        }
    }

    /// Keeps the epoch from ending while the result lives: a batch belongs to one epoch, and is therefore all or
    /// nothing. The batch has `operations` operations and writes `bytes` bytes besides leaves. Waits, as
    /// [`Clock::pin_with_bytes`] does, *before* it holds the clock: only the end of an epoch readmits writers, and that
    /// end waits for all holds.
    ///
    /// # Errors
    /// As [`Clock::pin_with_bytes`].
    pub fn hold(&self, bytes: u64, operations: u64) -> Result<Hold<'_>> {
        let bytes = bytes.saturating_add(operations.saturating_mul(LEAF_LINES));
        self.pass_gate(bytes)?;
        let kept = self.hold.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.backpressure.assign(self.active(), bytes);
        Ok(Hold::new(self, kept))
    }

    /// Marks lines as written in an epoch, which the caller has pinned.
    #[inline]
    pub fn mark(&self, epoch: Epoch, marks: impl IntoIterator<Item = Marks>) {
        marks.into_iter().for_each(|marks| self.dirty[(epoch & 1) as usize].mark(marks));
    }

    /// Prepares for a leaf size at which two leaves share a mask of [`crate::MASK_BYTES`]. Call it before the first
    /// operation.
    pub fn share_masks(&self) {
        self.dirty.iter().for_each(Dirty::share_masks);
    }

    /// Ends the active epoch: new operations belong to the next, and this returns when all operations of the ended one
    /// have unpinned. Only one thread may do so at a time, and only after the previous epoch has been published as
    /// durable. After the last epoch there is no next one: no operation is admitted, and waiting ones get an error
    /// when it is published.
    pub fn advance(&self) -> Epoch {
        let ended = self.active();
        if ended >= LAST_EPOCH {
            return self.advance_stopped(|_| {});
        }
        debug_assert!(self.durable() + 1 == ended, "an epoch is ended before the last one is durable");
        let _waiting = self.wait_monitor.wait_for(ended);
        let hold = self.hold.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.active.store(ended + 1, Ordering::SeqCst);
        drop(hold);
        self.wait_for_slots(ended);
        ended
    }

    /// Ends the active epoch with the writers stopped: `copy` runs while no operation is pinned. For designs without
    /// versions.
    pub fn advance_stopped(&self, copy: impl FnOnce(Epoch)) -> Epoch {
        self.paused_until(|ended, _| {
            copy(ended);
            (ended, Some(ended + 1).filter(|next| *next <= LAST_EPOCH))
        })
    }

    /// Ends the active epoch for good: no operation pins any more, and when this returns none is pinned.
    pub fn shut(&self, why: &str) -> Epoch {
        let _ = self.closed.set(MediumError::Poisoned { why: why.into() });
        self.gate.fetch_or(SHUT, Ordering::SeqCst);
        drop(self.lock_requests());
        self.epoch_ended.notify_all();
        self.paused_until(|ended, _| (ended, None))
    }

    /// Sets the error for operations that would write after the last epoch.
    fn run_out(&self) {
        let _ = self.closed.set(MediumError::OutOfEpochs { last: LAST_EPOCH });
        self.gate.fetch_or(SHUT, Ordering::SeqCst);
    }

    /// What the end of an epoch waits for at this moment, if it waits.
    pub fn stuck(&self) -> Option<Stuck> {
        let (epoch, waited) = self.wait_monitor.now()?;
        let inside = |slot: &&ThreadSlot| (IDLE + 1..=epoch).contains(&slot.epoch().load(Ordering::Relaxed));
        Some(Stuck { epoch, operations: self.slots.iter().filter(inside).count(), waited })
    }

    /// `work` gets the epoch, and whether the clock advances: it does not beyond its last epoch.
    fn paused_until<T>(&self, work: impl FnOnce(Epoch, bool) -> (T, Option<Epoch>)) -> T {
        let _waiting = self.wait_monitor.wait_for(self.active());
        let hold = self.hold.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (active, goes) = (self.active(), self.active.load(Ordering::SeqCst) != CLOSED);
        self.resume.store(active, Ordering::SeqCst);
        self.active.store(CLOSED, Ordering::SeqCst);
        self.wait_for_slots(LAST_EPOCH);
        let (done, next) = work(active, goes);
        if let Some(next) = next {
            self.active.store(next, Ordering::SeqCst);
        }
        drop(hold);
        done
    }

    /// Runs `look` while no operation that writes is in progress: it waits for those that have begun, and others wait
    /// for it.
    pub fn paused<T>(&self, look: impl FnOnce() -> T) -> T {
        let shut = self.gate.load(Ordering::SeqCst) & SHUT != 0;
        self.paused_until(|active, goes| (look(), (goes && !shut).then_some(active)))
    }

    fn wait_for_slots(&self, ended: Epoch) {
        // After the clock has advanced and before the slots are listed: see `announce` and `register_thread`.
        self.barrier.heavy(|why| self.poison(&MediumError::Poisoned { why: why.into() }));
        for slot in self.slots.iter() {
            let mut turns = 0;
            loop {
                let announced = slot.epoch().load(Ordering::SeqCst);
                if announced == IDLE || announced > ended {
                    break;
                }
                // A writer that the scheduler has suspended needs this core more than this thread does.
                turns += 1;
                if turns < 64 {
                    spin_loop();
                } else {
                    sleep(Duration::from_micros(50));
                    self.wait_monitor.complain(|| self.stuck());
                }
            }
        }
    }

    /// Takes the runs of lines that an ended epoch dirtied.
    pub fn drain(&self, ended: Epoch, visit: impl FnMut(u64, u64)) {
        self.dirty[(ended & 1) as usize].drain(visit);
        self.backpressure.release(ended);
        let requests = self.lock_requests();
        if self.gate.fetch_and(!THROTTLED, Ordering::Relaxed) & THROTTLED != 0 {
            drop(requests);
            self.epoch_ended.notify_all();
        }
    }

    /// Publishes an ended epoch as durable and wakes its waiters. The record that makes it durable must be on the
    /// medium *before*: if it were published first, a crash could undo what a waiter has acknowledged.
    pub fn publish(&self, ended: Epoch) {
        let requests = self.lock_requests();
        self.durable.store(ended, Ordering::Release);
        if ended >= LAST_EPOCH {
            self.run_out();
        }
        drop(requests);
        self.epoch_ended.notify_all();
    }

    /// Waits until an epoch is durable, and requests its end at once.
    ///
    /// # Errors
    /// [`MediumError::Poisoned`] if the medium failed meanwhile. The error that was passed to [`Clock::refuse`], if
    /// that keeps the epoch from becoming durable: it may still become so.
    pub fn wait_durable(&self, epoch: Epoch) -> Result<()> {
        self.wait_until(epoch, None)
    }

    /// As [`Clock::wait_durable`], for at most the given time.
    ///
    /// # Errors
    /// As [`Clock::wait_durable`]; [`MediumError::Late`], which names what this has waited for.
    pub fn wait_durable_within(&self, epoch: Epoch, at_most: Duration) -> Result<()> {
        self.wait_until(epoch, Instant::now().checked_add(at_most).map(|until| (until, at_most)))
    }

    fn wait_until(&self, epoch: Epoch, deadline: Option<(Instant, Duration)>) -> Result<()> {
        if self.durable() >= epoch {
            return Ok(());
        }
        let mut requests = self.lock_requests();
        let refusals = requests.refusals;
        loop {
            if self.durable() >= epoch {
                return Ok(());
            }
            self.refused(&requests, refusals)?;
            if requests.stop {
                return Err(MediumError::Poisoned { why: "the database was closed while waiting for an epoch".into() });
            }
            if requests.wanted < epoch {
                requests.wanted = epoch;
                self.requested.notify_all();
            }
            requests = match deadline.map(|(at, at_most)| (at.saturating_duration_since(Instant::now()), at_most)) {
                Some((Duration::ZERO, waited)) => {
                    let why = self.stuck().map_or_else(|| "it is being written".into(), |stuck| stuck.to_string());
                    return Err(MediumError::Late { epoch, waited, why });
                }
                Some((left, _)) => {
                    self.epoch_ended.wait_timeout(requests, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0
                }
                None => self.epoch_ended.wait(requests).unwrap_or_else(|poisoned| poisoned.into_inner()),
            };
        }
    }

    /// For the thread that ends epochs: sleeps until a thread wants the active epoch durable, until `deadline`, or
    /// until the clock is stopped. Returns whether it was stopped.
    pub fn sleep(&self, deadline: Option<Instant>) -> bool {
        let mut requests = self.lock_requests();
        loop {
            let active = self.active();
            // The last epoch of all stays active when it is durable.
            if requests.stop || requests.wanted >= active && self.durable() < active {
                return requests.stop;
            }
            requests = match deadline.map(|at| at.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return false,
                Some(left) => {
                    self.requested.wait_timeout(requests, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0
                }
                None => self.requested.wait(requests).unwrap_or_else(|poisoned| poisoned.into_inner()),
            };
        }
    }

    /// Requests the end of the active epoch now, without waiting for it.
    pub fn request_tick(&self) {
        let mut requests = self.lock_requests();
        requests.wanted = requests.wanted.max(self.active());
        self.requested.notify_all();
    }

    /// Whether the thread that ends epochs has been asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.lock_requests().stop
    }

    /// Asks the thread that ends epochs to stop.
    pub fn stop(&self) {
        self.lock_requests().stop = true;
        self.requested.notify_all();
        self.epoch_ended.notify_all();
    }

    /// Records a failed write or sync: nothing is acknowledged afterwards.
    pub fn poison(&self, why: &MediumError) {
        let _ = self.poison.set(MediumError::Poisoned { why: why.to_string() });
        self.gate.fetch_or(SHUT, Ordering::SeqCst);
        // Takes the lock, so that no waiter can check before this and sleep after it.
        drop(self.lock_requests());
        self.epoch_ended.notify_all();
    }

    /// The failure that stopped this storage, if any.
    pub fn poisoned(&self) -> Option<&MediumError> {
        self.poison.get()
    }

    fn refuse_if_ended(&self) -> Result<()> {
        self.poison.get().or_else(|| self.closed.get()).map_or(Ok(()), |error| Err(error.clone()))
    }

    fn lock_requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
