//! The clock of a storage, as operations, batches and the thread that ends epochs see it.

#![forbid(unsafe_code)]

use super::admission::Admission;
use super::backpressure::{LEAF_LINES, LOT};
use super::commit_leader::CommitLeader;
use super::dirty::LineSet;
use super::dirty_lines::DirtyLines;
use super::guard::{Guard, Hold};
use super::instant::Instant;
use super::label::{Epoch, LAST_EPOCH};
use super::labels::{Labels, ThreadSlot};
use super::requests::{Requests, WantedEpoch};
use super::stuck::Stuck;
use crate::error::{MediumError, Result};
use crate::loc::LINE;
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::{self, Mutex};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The clock of a storage.
pub struct Clock {
    labels: Labels,
    admission: Admission,
    requests: Requests,
    dirty: DirtyLines,
    /// Held while a snapshot is to begin with the next epoch.
    between_epochs: Mutex<()>,
}

/// Before the first operation, and for any thread.
impl Clock {
    /// A clock whose active epoch is `active`; every earlier epoch is durable.
    pub fn new(active: Epoch, reserved: [usize; 2]) -> Self {
        let clock = Clock {
            labels: Labels::new(active),
            admission: Admission::new(),
            requests: Requests::default(),
            dirty: DirtyLines::new(reserved),
            between_epochs: Mutex::default(),
        };
        clock.restart(active);
        clock
    }

    /// Restarts the clock at open, before any operation: the active epoch is `active`, every earlier one is durable.
    pub fn restart(&self, active: Epoch) {
        if !self.labels.restart(active) {
            // All epochs have ended: the data can be read only.
            self.run_out();
        }
    }

    /// Prepares for a leaf size at which two leaves share a mask of [`crate::MASK_BYTES`]. Call it before the first
    /// operation.
    pub fn share_masks(&self) {
        self.dirty.share_masks();
    }

    /// Sets how many bytes the open epochs may be asked to write before writers are throttled. The sum exceeds this by
    /// one operation at most, and by 64 KiB per thread.
    pub fn limit(&self, bytes: u64) {
        self.admission.limit(bytes);
    }

    /// The epoch in which operations start now.
    #[inline]
    pub fn active(&self) -> Epoch {
        self.labels.active()
    }

    /// The last durable epoch: everything labelled with it or with an earlier one survives any crash.
    #[inline]
    pub fn durable(&self) -> Epoch {
        self.labels.durable()
    }

    /// How often an operation was throttled at the limit.
    pub fn throttled_writes(&self) -> u64 {
        self.admission.throttled_writes()
    }

    /// Returns whether this thread has pinned an epoch before. A thread that exits may have forgotten that, and then
    /// cannot pin another one: that panics.
    pub fn knows_thread(&self) -> bool {
        self.labels.has_slot()
    }

    /// What the end of an epoch waits for at this moment, if it waits.
    pub fn stuck(&self) -> Option<Stuck> {
        self.labels.stuck()
    }
}

/// For operations.
impl Clock {
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
        let slot = self.labels.slot();
        slot.expect_no_guard();
        let saved = slot.saved().load(Relaxed).saturating_add(bytes).saturating_add(LEAF_LINES);
        let instant = if saved >= LOT || !self.admission.is_open() {
            self.announce_counted(slot, saved)?
        } else {
            slot.saved().store(saved, Relaxed);
            self.labels.announce(slot)?
        };
        // The guard is made at one place. Two places would each return a copy, and copying waits for the stores just
        // made.
        Ok(Guard::new(&self.labels, slot, instant))
    }

    #[cold]
    fn announce_counted(&self, slot: &ThreadSlot, bytes: u64) -> Result<Instant> {
        self.admission.pass(bytes, &self.labels, &self.requests)?;
        slot.saved().store(0, Relaxed);
        let instant = self.labels.announce(slot).inspect_err(|_| self.admission.cancel(bytes))?;
        self.admission.assign(instant.epoch(), bytes);
        Ok(instant)
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
        self.admission.pass(bytes, &self.labels, &self.requests)?;
        let hold = Hold::new(&self.labels);
        self.admission.assign(self.active(), bytes);
        Ok(hold)
    }

    /// Keeps the active epoch from ending while the result lives, for operations that write nothing: the limit of what
    /// is not durable does not hold them up.
    pub fn hold_to_read(&self) -> Hold<'_> {
        Hold::new(&self.labels)
    }

    /// Marks lines as written in an epoch, which the caller has pinned.
    #[inline]
    pub fn mark(&self, epoch: Epoch, marks: impl IntoIterator<Item = LineSet>) {
        marks.into_iter().for_each(|marks| self.dirty.mark(epoch, marks));
    }

    /// Waits until an epoch is durable, and requests its end at once; ends it in this thread, if no other thread is at
    /// it and [`Clock::let_waiters_lead`] was called.
    ///
    /// # Errors
    /// [`MediumError::Poisoned`] if the medium failed meanwhile, or was closed before the epoch began. The error that
    /// was passed to [`Clock::refuse`], if that keeps the epoch from becoming durable: it may still become so.
    pub fn wait_durable(&self, epoch: Epoch) -> Result<()> {
        self.requests.wait_durable(&self.labels, epoch, None)
    }

    /// As [`Clock::wait_durable`], for at most the given time.
    ///
    /// # Errors
    /// As [`Clock::wait_durable`]; [`MediumError::Late`], which names what this has waited for.
    pub fn wait_durable_within(&self, epoch: Epoch, at_most: Duration) -> Result<()> {
        let deadline = sync::Instant::now().checked_add(at_most).map(|until| (until, at_most));
        self.requests.wait_durable(&self.labels, epoch, deadline)
    }

    /// Requests that an epoch becomes durable, and waits for nothing.
    pub fn request_durable(&self, epoch: Epoch) -> WantedEpoch {
        self.requests.request(&self.labels, epoch)
    }

    /// Returns whether a requested epoch is durable.
    ///
    /// # Errors
    /// As [`Clock::wait_durable`].
    pub fn is_durable(&self, wanted: WantedEpoch) -> Result<bool> {
        self.requests.has_ended(&self.labels, wanted)
    }

    /// Lets a function be called, for as long as the clock lives, whenever [`Clock::is_durable`] may answer anew, by
    /// the thread that is in [`Clock::call_listeners`].
    pub fn on_news(&self, listener: impl Fn() + Send + Sync + 'static) {
        self.requests.listeners.add(Arc::new(listener));
    }

    /// Calls the functions of [`Clock::on_news`] for all news, until [`Clock::end_news`].
    pub fn call_listeners(&self) {
        self.requests.listeners.call();
    }

    /// Says that no news comes any more.
    pub fn end_news(&self) {
        self.requests.listeners.end();
    }

    /// Requests the end of the active epoch now, without waiting for it.
    pub fn request_tick(&self) {
        self.requests.want(&mut self.requests.lock(), self.active());
    }

    /// Begins a generation of snapshots. Every operation that has validated its label by then belongs to the
    /// generation, and no operation that validates later; such an operation sees [`Guard::has_snapshots`]. `begin` gets
    /// the generation before any operation can see it. Returns the generation and the active epoch. O(1); waits for
    /// operations that hold the clock. Also after the end of all: operations that have pinned an epoch may still go on.
    ///
    /// # Errors
    /// Those of [`Clock::wait_durable`], where it waits.
    pub fn begin_snapshot(&self, mut begin: impl FnMut(u64)) -> Result<(u64, Epoch)> {
        loop {
            if let Some(begun) = self.labels.begin_snapshot(&mut begin)? {
                return Ok(begun);
            }
            // After millions of snapshots, the next epoch must begin first.
            self.wait_durable(self.active())?;
        }
    }

    /// As [`Clock::begin_snapshot`], at the end of an epoch: every operation of that epoch belongs to the generation,
    /// and no operation of the next. The thread that ends the epoch calls `begin`. Returns the generation and the
    /// epoch, once the epoch is durable; requests its end at once. One call waits for another, and no other caller
    /// waits for one: snapshots that begin within the epoch come before it.
    ///
    /// # Errors
    /// As [`Clock::wait_durable`]; [`MediumError::OutOfEpochs`] in the last epoch. The generation has begun if `begin`
    /// has been called, and belongs to nobody; otherwise it never begins.
    pub fn begin_snapshot_between_epochs(&self, begin: impl FnOnce(u64) + Send + 'static) -> Result<(u64, Epoch)> {
        let _one = self.between_epochs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.labels.request_snapshot(Box::new(begin))?;
        loop {
            // Its own epoch, once that has ended: a later one may fail.
            let epoch = self.labels.requested_snapshot(false).map_or_else(|| self.active(), |(_, epoch)| epoch);
            let waited = self.wait_durable(epoch).and_then(|()| self.labels.failure().refuse_if_ended());
            let begun = self.labels.requested_snapshot(waited.is_err());
            waited?;
            if let Some(begun) = begun {
                return Ok(begun);
            }
        }
    }

    /// Says that no snapshot is open any more, unless `is_open` finds one, while none can begin.
    pub fn end_snapshots(&self, is_open: impl FnOnce() -> bool) {
        self.labels.end_snapshots(is_open);
    }

    /// Runs `look` while no operation that writes is in progress: it waits for those that have begun, and others wait
    /// for it.
    pub fn paused<T>(&self, look: impl FnOnce() -> T) -> T {
        let shut = self.admission.is_shut();
        self.paused_until(|active, goes| (look(), (goes && !shut).then_some(active)))
    }
}

/// For statistics.
impl Clock {
    /// Returns the bytes of the lines that the open epochs have dirtied, and that no record has yet.
    pub fn dirty_bytes(&self) -> u64 {
        self.dirty.line_count() * LINE
    }
}

/// For the thread that ends epochs, and for those that control it.
impl Clock {
    /// For the thread that ends epochs: sleeps until a thread wants the active epoch durable, until `deadline`, or
    /// until the clock is stopped. Returns whether it was stopped.
    pub fn sleep(&self, deadline: Option<sync::Instant>) -> bool {
        self.requests.sleep(&self.labels, deadline)
    }

    /// Ends the active epoch: new operations belong to the next, and this returns when all operations of the ended one
    /// have unpinned. Only one thread may do so at a time, and only after the previous epoch has been published as
    /// durable. After the last epoch there is no next one: no operation is admitted, and waiting ones get an error
    /// when it is published.
    pub fn advance(&self) -> Epoch {
        if self.active() >= LAST_EPOCH {
            return self.advance_stopped(|_| {});
        }
        self.labels.advance(|why| self.poison(&MediumError::Poisoned { why: why.into() }))
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
        self.end(MediumError::Poisoned { why: why.into() });
        self.requests.pass_lock();
        self.requests.wake();
        self.paused_until(|ended, _| (ended, None))
    }

    /// `work` gets the epoch, and whether the clock advances: it does not beyond its last epoch.
    fn paused_until<T>(&self, work: impl FnOnce(Epoch, bool) -> (T, Option<Epoch>)) -> T {
        self.labels.paused_until(|why| self.poison(&MediumError::Poisoned { why: why.into() }), work)
    }

    /// Lets threads that wait for an epoch end it themselves. Only the first call counts.
    pub fn let_waiters_lead(&self, leader: Weak<dyn CommitLeader>) {
        self.requests.let_lead(leader);
    }

    /// Takes the runs of lines that an ended epoch dirtied.
    ///
    /// # Panics
    /// If operations can still pin the epoch.
    pub fn drain(&self, ended: Epoch, visit: impl FnMut(u64, u64)) {
        // A mark that an operation sets behind the drain would belong to no record.
        assert!(!self.labels.shows_epoch(ended), "epoch {ended} is drained before it has ended");
        self.dirty.drain(ended, visit);
        self.admission.release(ended, &self.requests);
    }

    /// Publishes an ended epoch as durable and wakes its waiters. The record that makes it durable must be on the
    /// medium *before*: if it were published first, a crash could undo what a waiter has acknowledged.
    ///
    /// # Panics
    /// If the epoch has not begun, or a later one was published.
    pub fn publish(&self, ended: Epoch) {
        let asked = self.requests.lock();
        self.labels.set_durable(ended);
        if ended >= LAST_EPOCH {
            self.run_out();
        }
        drop(asked);
        self.requests.wake();
    }

    /// Reports that nothing can be written for now, for want of space. A thread that is about to write, or that waits
    /// for an epoch, gets this error after two reports during its wait. Nothing is lost, and [`Clock::accept`] ends
    /// the state.
    pub fn refuse(&self, why: &MediumError) {
        self.admission.refuse(why, &self.requests);
    }

    /// Reports that writing is possible again.
    pub fn accept(&self) {
        self.admission.accept(&self.requests);
    }

    /// Whether the thread that ends epochs has been asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.requests.lock().stop
    }

    /// Asks the thread that ends epochs to stop.
    pub fn stop(&self) {
        self.requests.stop();
    }

    /// For the thread that ends epochs, when it ends: threads that wait for an epoch which is not durable by now get
    /// the error.
    pub fn end_waits(&self) {
        self.requests.end();
    }

    /// Records a failed write or sync: nothing is acknowledged afterwards.
    pub fn poison(&self, why: &MediumError) {
        self.labels.failure().poison(why);
        self.admission.shut();
        self.requests.pass_lock();
        self.requests.wake();
    }

    /// Refuses what a storage does that still writes.
    ///
    /// # Errors
    /// [`MediumError::Poisoned`] after a failure or a close; [`MediumError::OutOfEpochs`].
    pub fn refuse_if_ended(&self) -> Result<()> {
        self.labels.failure().refuse_if_ended()
    }

    /// The failure that stopped this storage, if any.
    pub fn poisoned(&self) -> Option<&MediumError> {
        self.labels.failure().poisoned()
    }

    /// Sets the error for operations that would write after the last epoch.
    fn run_out(&self) {
        self.end(MediumError::OutOfEpochs { last: LAST_EPOCH });
    }

    fn end(&self, why: MediumError) {
        self.labels.failure().close(why);
        self.admission.shut();
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::epoch::FIRST_EPOCH;

    fn clock() -> Clock {
        Clock::new(FIRST_EPOCH, [1 << 14, 1 << 14])
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "a thread pins twice: it has pinned Some(4)")]
    fn two_guards_of_one_thread_are_refused() {
        let clock = clock();
        let _guard = clock.pin();
        let _ = clock.pin();
    }

    #[test]
    #[should_panic(expected = "epoch 5 is ended while 3 is the last durable one")]
    fn an_end_before_the_last_one_is_durable_is_refused() {
        let clock = clock();
        clock.advance();
        clock.advance();
    }

    #[test]
    #[should_panic(expected = "epoch 4 is drained before it has ended")]
    fn a_drain_of_the_active_epoch_is_refused() {
        clock().drain(FIRST_EPOCH, |_, _| {});
    }

    /// Threads that waited for the last epoch of a session got an error as soon as the close began, although the close
    /// made the epoch durable.
    #[test]
    fn an_epoch_that_the_close_makes_durable_is_waited_for() {
        let clock = clock();
        let (wanted, later) = (clock.request_durable(FIRST_EPOCH), clock.request_durable(FIRST_EPOCH + 1));
        clock.stop();
        assert!(!clock.is_durable(wanted).unwrap());
        let ended = clock.shut("it was closed");
        assert!(!clock.is_durable(wanted).unwrap());
        assert!(clock.is_durable(later).is_err(), "it never begins");
        clock.publish(ended);
        clock.end_waits();
        assert!(clock.is_durable(wanted).unwrap());
        clock.wait_durable(FIRST_EPOCH).unwrap();
    }

    /// The thread that ends epochs can end without the last one, for want of space.
    #[test]
    fn nobody_waits_for_an_epoch_that_is_given_up() {
        let clock = clock();
        let wanted = clock.request_durable(FIRST_EPOCH);
        clock.stop();
        clock.shut("it was closed");
        clock.end_waits();
        assert!(clock.is_durable(wanted).is_err());
        assert!(clock.wait_durable(FIRST_EPOCH).is_err());
    }

    #[test]
    #[should_panic(expected = "epoch 5 is published while 4 is active")]
    fn an_epoch_to_come_is_not_published() {
        clock().publish(FIRST_EPOCH + 1);
    }

    #[test]
    #[should_panic(expected = "epoch 2 is published after 3")]
    fn the_durable_epoch_does_not_go_back() {
        clock().publish(FIRST_EPOCH - 2);
    }

    /// The end of the last snapshot and the beginning of the next one may cross: operations go on seeing the latter.
    #[test]
    fn an_open_snapshot_outlives_the_end_of_another() {
        let clock = clock();
        clock.begin_snapshot(|_| ()).unwrap();
        for is_open in [true, false] {
            clock.end_snapshots(|| is_open);
            assert_eq!(clock.pin().unwrap().has_snapshots(), is_open);
        }
    }

    /// A snapshot that begins while another one waits for the end of the epoch comes before it, and does not wait.
    #[test]
    fn a_snapshot_begins_before_one_that_begins_with_the_next_epoch() {
        let clock = clock();
        let (said, begun) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let between =
                scope.spawn(|| clock.begin_snapshot_between_epochs(move |generation| said.send(generation).unwrap()));
            // It asks for the end of the epoch.
            assert!(!clock.sleep(None));
            assert_eq!(clock.begin_snapshot(|_| ()).unwrap(), (1, FIRST_EPOCH));
            assert!(begun.try_recv().is_err());
            let ended = clock.advance();
            assert_eq!(begun.try_recv(), Ok(2));
            assert_eq!(clock.begin_snapshot(|_| ()).unwrap(), (3, FIRST_EPOCH + 1));
            clock.publish(ended);
            assert_eq!(between.join().unwrap().unwrap(), (2, FIRST_EPOCH));
        });
    }

    /// One that is withdrawn never begins: nobody would end it.
    #[test]
    fn a_snapshot_that_is_withdrawn_does_not_begin_with_a_later_epoch() {
        let clock = clock();
        let (said, begun) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let between =
                scope.spawn(|| clock.begin_snapshot_between_epochs(move |generation| said.send(generation).unwrap()));
            assert!(!clock.sleep(None));
            clock.poison(&MediumError::Poisoned { why: "a test".into() });
            assert!(between.join().unwrap().is_err());
        });
        clock.advance();
        assert!(begun.try_recv().is_err());
        assert_eq!(clock.begin_snapshot(|_| ()).unwrap().0, 1);
    }

    /// Operations that have pinned an epoch may still change what a reader of a closed storage looks at.
    #[test]
    fn a_snapshot_begins_after_the_end_of_all() {
        let clock = clock();
        let ended = clock.shut("it was closed");
        clock.publish(ended);
        let begun = [0; 2].map(|_| clock.begin_snapshot(|_| ()).unwrap());
        assert_eq!((begun[1].0, begun[1].1), (begun[0].0 + 1, ended));
        assert!(clock.pin().is_err() && clock.refuse_if_ended().is_err());
    }
}
