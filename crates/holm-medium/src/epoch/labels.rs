//! The clock proper: the active and the durable epoch, and the slots where operations announce themselves.

#![forbid(unsafe_code)]

use super::barrier::Barrier;
use super::boundary::{BeginSnapshot, Boundary};
use super::failure::Failure;
use super::instant::{Instant, MOST_SNAPSHOTS};
use super::label::{Epoch, LAST_EPOCH};
use super::stuck::{Stuck, WaitMonitor};
use crate::error::Result;
use crate::sync::atomic::{AtomicU64, Ordering, fence};
use crate::sync::{Mutex, MutexGuard, PerThread, RwLock, RwLockReadGuard, sleep, spin_loop, yield_now};
use crossbeam_utils::CachePadded;
use std::sync::atomic::AtomicU64 as Count;
use std::time::Duration;

const IDLE: u64 = 0;

/// The value of the active epoch while the writers are stopped.
const CLOSED: Epoch = 0;

/// The slot where a thread announces the epoch of its operation, and where it accumulates the bytes of small
/// operations.
#[derive(Default)]
pub(super) struct ThreadSlot(CachePadded<(AtomicU64, Count)>);

impl ThreadSlot {
    #[inline]
    fn epoch(&self) -> &AtomicU64 {
        &self.0.0
    }

    /// Written and read by the owner of the slot only.
    #[inline]
    pub(super) fn saved(&self) -> &Count {
        &self.0.1
    }

    /// The epoch of the operation that is announced here, if there is one.
    fn pinned(&self) -> Option<Epoch> {
        Some(self.epoch().load(Ordering::Relaxed)).filter(|epoch| *epoch != IDLE)
    }

    /// Checks in debug builds that this thread has no guard: a second one would let the epoch of the first end while
    /// its operation still writes.
    #[inline]
    #[track_caller]
    pub(super) fn expect_no_guard(&self) {
        debug_assert!(self.pinned().is_none(), "a thread pins twice: it has pinned {:?}", self.pinned());
    }

    /// Ends the operation that was announced here.
    #[inline]
    pub(super) fn clear(&self) {
        // Release: the thread that ends the epoch sees every store and mark of this operation.
        self.epoch().store(IDLE, Ordering::Release);
    }
}

/// Which epoch the operations of a storage belong to.
pub(super) struct Labels {
    /// An [`Instant`].
    active: CachePadded<AtomicU64>,
    /// The generation of the latest snapshot, of which `active` has the lower bits. It is stored first.
    generation: AtomicU64,
    /// How many snapshots the active epoch has had. Changed under the exclusive hold.
    snapshots: AtomicU64,
    /// The snapshot that is to begin with the next epoch.
    boundary: Mutex<Boundary>,
    /// The active epoch while `active` reads closed.
    resume: AtomicU64,
    durable: CachePadded<AtomicU64>,
    slots: PerThread<ThreadSlot>,
    /// Orders an announcement before the look at the clock, and the clock's advance before the look at the slots.
    barrier: Barrier,
    /// Batches hold it shared: the epoch must not change from their first operation to their last.
    hold: RwLock<()>,
    /// What the end of an epoch waits for.
    wait_monitor: WaitMonitor,
    failure: Failure,
}

impl Labels {
    /// The active epoch is `active`; every earlier one is durable.
    pub(super) fn new(active: Epoch) -> Self {
        Labels {
            active: CachePadded::new(AtomicU64::new(active)),
            generation: AtomicU64::new(0),
            snapshots: AtomicU64::new(0),
            boundary: Mutex::default(),
            resume: AtomicU64::new(active),
            durable: CachePadded::new(AtomicU64::new(active - 1)),
            slots: PerThread::new(),
            barrier: Barrier::detect(),
            hold: RwLock::new(()),
            wait_monitor: WaitMonitor::default(),
            failure: Failure::default(),
        }
    }

    /// Sets both epochs, before any operation. Returns whether the clock goes: it does not after the last epoch.
    pub(super) fn restart(&self, active: Epoch) -> bool {
        self.durable.store(active - 1, Ordering::SeqCst);
        let goes = active <= LAST_EPOCH;
        if !goes {
            self.resume.store(LAST_EPOCH, Ordering::SeqCst);
        }
        self.show(if goes { active } else { CLOSED });
        goes
    }

    /// Why nothing is acknowledged any more.
    #[inline]
    pub(super) fn failure(&self) -> &Failure {
        &self.failure
    }

    /// The epoch in which operations start now.
    #[inline]
    pub(super) fn active(&self) -> Epoch {
        match self.now().epoch() {
            CLOSED => self.resume.load(Ordering::SeqCst),
            active => active,
        }
    }

    /// What the clock shows.
    #[inline]
    fn now(&self) -> Instant {
        Instant(self.active.load(Ordering::SeqCst))
    }

    /// Shows another epoch, under the exclusive hold or before any operation.
    fn show(&self, epoch: Epoch) {
        self.snapshots.store(0, Ordering::Relaxed);
        self.active.store(self.now().in_epoch(epoch).0, Ordering::SeqCst);
    }

    /// Whether the clock shows this instant still: neither has an epoch ended since, nor a snapshot begun.
    #[inline]
    pub(super) fn shows(&self, instant: Instant) -> bool {
        self.now() == instant
    }

    /// Whether the clock shows this epoch, and is not stopped.
    pub(super) fn shows_epoch(&self, epoch: Epoch) -> bool {
        self.now().epoch() == epoch
    }

    /// The generation of the latest snapshot that had begun at an instant; 0 before the first one.
    pub(super) fn generation_at(&self, instant: Instant) -> u64 {
        instant.generation(self.generation.load(Ordering::Acquire))
    }

    /// Begins a generation of snapshots: every operation that has validated its label belongs to it, and no operation
    /// that validates later. `begin` gets the generation before any operation can. Returns the generation and the
    /// active epoch; `None` if the epoch has had too many of them. No operation belongs to one that begins after the
    /// end of all.
    pub(super) fn begin_snapshot(&self, begin: impl FnOnce(u64)) -> Result<Option<(u64, Epoch)>> {
        let _hold = self.hold.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let snapshots = self.snapshots.load(Ordering::Relaxed);
        if snapshots >= MOST_SNAPSHOTS {
            self.failure.refuse_if_ended()?;
            return Ok(None);
        }
        self.snapshots.store(snapshots + 1, Ordering::Relaxed);
        let generation = self.generation.load(Ordering::Relaxed) + 1;
        begin(generation);
        // Before the word: a thread that sees the word also sees the generation that it abbreviates.
        self.generation.store(generation, Ordering::Release);
        let now = self.now();
        self.active.store(now.with_snapshot(generation).0, Ordering::SeqCst);
        // A reader of the snapshot looks at latches from here on: it sees those that were taken before it.
        fence(Ordering::SeqCst);
        Ok(Some((generation, self.active())))
    }

    /// Asks for a generation of snapshots that begins when the active epoch ends: all operations of that epoch belong
    /// to it, and none of the next. `begin` gets the generation then, before any operation can. No other request may
    /// pend. Other snapshots may begin before it.
    pub(super) fn request_snapshot(&self, begin: BeginSnapshot) -> Result<()> {
        let _hold = self.hold.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.failure.refuse_if_ended()?;
        *self.boundary() = Boundary::Requested(begin);
        Ok(())
    }

    /// Returns the requested generation and the epoch with whose end it has begun. If it has not begun yet, `None`;
    /// then `withdraw` ends the request, and the generation never begins.
    pub(super) fn requested_snapshot(&self, withdraw: bool) -> Option<(u64, Epoch)> {
        let _hold = self.hold.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let mut boundary = self.boundary();
        if let Boundary::Begun(generation, epoch) = *boundary {
            return Some((generation, epoch));
        }
        if withdraw {
            *boundary = Boundary::Unwanted;
        }
        None
    }

    /// Taken under the exclusive hold only, and so never awaited.
    fn boundary(&self) -> MutexGuard<'_, Boundary> {
        self.boundary.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Shows the epoch after `ended`, under the exclusive hold, and begins the snapshot that was requested.
    fn show_next(&self, ended: Epoch) {
        let mut boundary = self.boundary();
        let Some(begin) = boundary.take_request() else { return self.show(ended + 1) };
        let generation = self.generation.load(Ordering::Relaxed) + 1;
        begin(generation);
        *boundary = Boundary::Begun(generation, ended);
        self.snapshots.store(1, Ordering::Relaxed);
        self.generation.store(generation, Ordering::Release);
        // One store for both: an operation that validated before belongs to the epoch and to the snapshot, and one that
        // validates later to neither. The orders are those of `begin_snapshot`.
        self.active.store(self.now().in_epoch(ended + 1).with_snapshot(generation).0, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Says that no snapshot is open any more, unless one is by now. None begins while `is_open` looks.
    pub(super) fn end_snapshots(&self, is_open: impl FnOnce() -> bool) {
        let _hold = self.hold.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        if is_open() {
            return;
        }
        self.active.store(self.now().without_snapshots().0, Ordering::SeqCst);
    }

    /// The last durable epoch.
    #[inline]
    pub(super) fn durable(&self) -> Epoch {
        self.durable.load(Ordering::Acquire)
    }

    /// Sets the last durable epoch.
    pub(super) fn set_durable(&self, ended: Epoch) {
        assert!(self.durable() <= ended, "epoch {ended} is published after {}", self.durable());
        assert!(ended <= self.active(), "epoch {ended} is published while {} is active", self.active());
        self.durable.store(ended, Ordering::Release);
    }

    /// Whether this thread has a slot.
    pub(super) fn has_slot(&self) -> bool {
        self.slots.get().is_some()
    }

    /// The slot of this thread.
    #[inline]
    pub(super) fn slot(&self) -> &ThreadSlot {
        self.slots.get().unwrap_or_else(|| self.register_thread())
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

    /// Announces an operation in a slot, and returns the instant whose epoch is its label.
    pub(super) fn announce(&self, slot: &ThreadSlot) -> Result<Instant> {
        loop {
            let now = self.now();
            let epoch = now.epoch();
            if epoch == CLOSED {
                slot.epoch().store(IDLE, Ordering::SeqCst);
                self.failure.refuse_if_ended()?;
                yield_now();
                continue;
            }
            // Either the thread that advances the clock sees this slot in use, or this thread sees that the clock has
            // advanced, and announces again. A weaker order could let an epoch's end miss an operation that writes.
            // Release, because a repinned guard has stores and marks of the previous epoch, which this store ends.
            slot.epoch().store(epoch, Ordering::Release);
            self.barrier.light();
            if self.shows(now) {
                return Ok(now);
            }
        }
    }

    /// Keeps the epoch from ending while the result lives.
    pub(super) fn hold(&self) -> RwLockReadGuard<'_, ()> {
        self.hold.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Ends the active epoch, which is not the last one of all, while operations start in the next. `refused` is called
    /// before a panic, if the system refuses to order the threads.
    pub(super) fn advance(&self, refused: impl FnOnce(&'static str)) -> Epoch {
        let ended = self.active();
        // Otherwise operations of three epochs would be open to a crash, and leaves keep versions for two.
        assert!(self.durable() + 1 == ended, "epoch {ended} is ended while {} is the last durable one", self.durable());
        let _waiting = self.wait_monitor.wait_for(ended);
        let hold = self.hold.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.show_next(ended);
        drop(hold);
        self.wait_for_slots(ended, refused);
        ended
    }

    /// Runs `work` while no operation is pinned. `work` gets the epoch, and whether the clock goes. The clock then
    /// shows the epoch that `work` returns, or stays stopped. `refused` as for [`Labels::advance`].
    pub(super) fn paused_until<T>(
        &self,
        refused: impl FnOnce(&'static str),
        work: impl FnOnce(Epoch, bool) -> (T, Option<Epoch>),
    ) -> T {
        let _waiting = self.wait_monitor.wait_for(self.active());
        let hold = self.hold.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (active, goes) = (self.active(), !self.shows_epoch(CLOSED));
        self.resume.store(active, Ordering::SeqCst);
        self.show(CLOSED);
        self.wait_for_slots(LAST_EPOCH, refused);
        let (done, next) = work(active, goes);
        if let Some(next) = next {
            self.show(next);
        }
        drop(hold);
        done
    }

    fn wait_for_slots(&self, ended: Epoch, refused: impl FnOnce(&'static str)) {
        // After the clock has advanced and before the slots are listed: see `announce` and `register_thread`.
        self.barrier.heavy(refused);
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

    /// What the end of an epoch waits for at this moment, if it waits.
    pub(super) fn stuck(&self) -> Option<Stuck> {
        let (epoch, waited) = self.wait_monitor.now()?;
        let inside = |slot: &&ThreadSlot| (IDLE + 1..=epoch).contains(&slot.epoch().load(Ordering::Relaxed));
        Some(Stuck { epoch, operations: self.slots.iter().filter(inside).count(), waited })
    }
}
