//! Where threads wait for the thread that ends epochs, and it for them.

#![forbid(unsafe_code)]

use super::commit_leader::{CommitLeader, Led};
use super::label::Epoch;
use super::labels::Labels;
use super::listeners::Listeners;
use crate::error::{MediumError, Result};
use crate::sync::Instant;
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::sync::{OnceLock, Weak};
use std::time::Duration;

/// A refusal is returned after this many failed attempts. The first may have begun before the caller freed space, and
/// so may a checkpoint that the second one reports: it runs in another thread.
const ATTEMPTS: u64 = 3;

/// What waiters ask of the thread that ends epochs, and what that thread reports to them.
#[derive(Default)]
pub(super) struct EpochRequests {
    /// The greatest epoch that a thread waits for.
    pub(super) wanted: Epoch,
    pub(super) stop: bool,
    /// Which thread may end the active epoch.
    turn: Turn,
    /// A leader has left something for the thread that ends epochs.
    left: bool,
    /// The thread that ends epochs waits for the leader.
    awaits_leader: bool,
    /// The thread that ends epochs has ended its last one, or has failed.
    pub(super) ended: bool,
    /// Why nothing can be written for now, and how often writing was found impossible.
    pub(super) refusal: Option<MediumError>,
    pub(super) refusals: u64,
}

/// Which thread ends epochs at this moment.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
enum Turn {
    /// None. The first that finds this takes the turn.
    #[default]
    Free,
    /// A thread that waits for the epoch.
    Leader,
    /// The thread whose task it is.
    Thread,
}

impl EpochRequests {
    /// Whether a thread that waits for the active epoch, which is `epoch`, may end it.
    fn may_lead(&self, labels: &Labels, epoch: Epoch) -> bool {
        let is_quiet = !self.stop && !self.left && !self.ended && self.refusal.is_none();
        let is_due = labels.active() == epoch && labels.durable() < epoch && labels.failure().poisoned().is_none();
        self.turn == Turn::Free && is_quiet && is_due
    }

    /// The error for a thread that began to wait after `refusals` refusals, once it is due.
    pub(super) fn refused(&self, refusals: u64) -> Result<()> {
        match &self.refusal {
            Some(error) if self.refusals >= refusals + ATTEMPTS => Err(error.clone()),
            _ => Ok(()),
        }
    }
}

/// A wait for an epoch in which no thread is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedEpoch {
    /// The epoch.
    pub epoch: Epoch,
    /// How often writing had been found impossible when the wait began.
    refusals: u64,
}

/// The requests of a clock, and the threads that wait for them.
#[derive(Default)]
pub(super) struct Requests {
    asked: Mutex<EpochRequests>,
    requested: Condvar,
    epoch_ended: Condvar,
    pub(super) listeners: Listeners,
    leader: OnceLock<Weak<dyn CommitLeader>>,
}

impl Requests {
    pub(super) fn lock(&self) -> MutexGuard<'_, EpochRequests> {
        self.asked.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Requests the end of an epoch now, without waiting for it.
    pub(super) fn want(&self, asked: &mut EpochRequests, epoch: Epoch) {
        asked.wanted = asked.wanted.max(epoch);
        self.requested.notify_all();
    }

    /// Waits for the end of an epoch, or for news about it.
    pub(super) fn wait<'a>(&'a self, asked: MutexGuard<'a, EpochRequests>) -> MutexGuard<'a, EpochRequests> {
        self.epoch_ended.wait(asked).unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Wakes all threads that wait for the end of an epoch, and has the listeners called. What they check was changed
    /// under the lock, or before [`Requests::pass_lock`].
    pub(super) fn wake(&self) {
        self.epoch_ended.notify_all();
        self.listeners.tell();
    }

    /// Requests the end of an epoch now. [`Requests::has_ended`] answers what became of it.
    pub(super) fn request(&self, labels: &Labels, epoch: Epoch) -> WantedEpoch {
        let mut asked = self.lock();
        if labels.durable() < epoch && asked.wanted < epoch {
            self.want(&mut asked, epoch);
        }
        WantedEpoch { epoch, refusals: asked.refusals }
    }

    /// Returns whether an epoch that was requested is durable by now.
    pub(super) fn has_ended(&self, labels: &Labels, wanted: WantedEpoch) -> Result<bool> {
        if labels.durable() >= wanted.epoch {
            return Ok(true);
        }
        let asked = self.lock();
        if labels.durable() >= wanted.epoch {
            return Ok(true);
        }
        self.check_news(labels, &asked, wanted).map(|()| false)
    }

    /// Returns why an epoch that is not durable yet will not become so, if that is known.
    fn check_news(&self, labels: &Labels, asked: &EpochRequests, wanted: WantedEpoch) -> Result<()> {
        if let Some(failure) = labels.failure().poisoned() {
            return Err(failure.clone());
        }
        asked.refused(wanted.refusals)?;
        if wanted.epoch <= labels.active() && !asked.ended {
            // A close makes all epochs durable that have begun.
            return Ok(());
        }
        labels.failure().refuse_if_ended()?;
        if asked.stop {
            return Err(MediumError::Poisoned { why: "the database was closed while waiting for an epoch".into() });
        }
        Ok(())
    }

    /// Takes the lock for a moment, so that no waiter can check before a change and sleep after it.
    pub(super) fn pass_lock(&self) {
        drop(self.lock());
    }

    /// Asks the thread that ends epochs to stop.
    pub(super) fn stop(&self) {
        self.lock().stop = true;
        self.requested.notify_all();
        self.wake();
    }

    /// Says that no further epoch ends.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.wake();
    }

    /// Lets threads that wait end epochs themselves. Only the first call counts.
    pub(super) fn let_lead(&self, leader: Weak<dyn CommitLeader>) {
        let _ = self.leader.set(leader);
    }

    /// Has this thread, which waits for the active epoch, end it, if it may.
    fn lead<'a>(
        &'a self,
        labels: &Labels,
        epoch: Epoch,
        mut asked: MutexGuard<'a, EpochRequests>,
    ) -> MutexGuard<'a, EpochRequests> {
        if !asked.may_lead(labels, epoch) {
            return asked;
        }
        let Some(leader) = self.leader.get().and_then(Weak::upgrade) else { return asked };
        asked.turn = Turn::Leader;
        drop(asked);
        let led = leader.lead();
        asked = self.lock();
        asked.turn = Turn::Free;
        asked.left = led == Led::Left;
        if asked.left || asked.awaits_leader {
            self.requested.notify_all();
        }
        asked
    }

    /// For the thread that ends epochs: sleeps until a thread wants the active epoch durable, until a leader leaves
    /// something, until `deadline`, or until the clock is stopped; and while a leader ends an epoch. From then on no
    /// thread leads, until the next call. Returns whether the clock was stopped.
    pub(super) fn sleep(&self, labels: &Labels, deadline: Option<Instant>) -> bool {
        let mut asked = self.lock();
        asked.turn = Turn::Free;
        loop {
            let active = labels.active();
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            // The last epoch of all stays active when it is durable.
            let is_wanted = asked.wanted >= active && labels.durable() < active;
            let is_due = asked.stop || asked.left || is_wanted || left == Some(Duration::ZERO);
            asked.awaits_leader = is_due && asked.turn == Turn::Leader;
            if is_due && !asked.awaits_leader {
                (asked.turn, asked.left) = (Turn::Thread, false);
                return asked.stop;
            }
            asked = match left.filter(|_| !is_due) {
                Some(left) => {
                    self.requested.wait_timeout(asked, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0
                }
                None => self.requested.wait(asked).unwrap_or_else(|poisoned| poisoned.into_inner()),
            };
        }
    }

    /// Waits until an epoch is durable, and requests its end at once. `deadline` has the time itself, and the wait that
    /// the caller asked for.
    pub(super) fn wait_durable(
        &self,
        labels: &Labels,
        epoch: Epoch,
        deadline: Option<(Instant, Duration)>,
    ) -> Result<()> {
        if labels.durable() >= epoch {
            return Ok(());
        }
        let mut asked = self.lock();
        if deadline.is_none() {
            asked = self.lead(labels, epoch, asked);
        }
        let wanted = WantedEpoch { epoch, refusals: asked.refusals };
        loop {
            if labels.durable() >= epoch {
                return Ok(());
            }
            self.check_news(labels, &asked, wanted)?;
            if asked.wanted < epoch {
                self.want(&mut asked, epoch);
            }
            asked = match deadline.map(|(at, at_most)| (at.saturating_duration_since(Instant::now()), at_most)) {
                Some((Duration::ZERO, waited)) => {
                    let why = labels.stuck().map_or_else(|| "it is being written".into(), |stuck| stuck.to_string());
                    return Err(MediumError::Late { epoch, waited, why });
                }
                Some((left, _)) => {
                    self.epoch_ended.wait_timeout(asked, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0
                }
                None => self.wait(asked),
            };
        }
    }
}
