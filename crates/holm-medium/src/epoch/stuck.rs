//! What the end of an epoch waits for: a status on request, and warnings in the process's log.
//!
//! An operation that never unpins keeps its epoch, and all later ones, from becoming durable. Nothing is lost by that,
//! and other threads go on reading and writing. The operation is therefore not aborted, but it must not go unnoticed.

use super::label::Epoch;
use crate::sync::Instant;
use std::fmt;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// How long the end of an epoch waits before the first warning; each further warning waits twice as long.
const PATIENCE: Duration = Duration::from_secs(1);

/// The end of an epoch that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stuck {
    /// The epoch.
    pub epoch: Epoch,
    /// Operations that have pinned it; none while a batch holds the clock.
    pub operations: usize,
    /// The wait so far.
    pub waited: Duration,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stuck { epoch, operations, waited } = self;
        match operations {
            0 => write!(f, "a commit has held epoch {epoch} open for {waited:?}"),
            _ => write!(f, "{operations} operations have kept epoch {epoch} open for {waited:?}"),
        }
    }
}

struct Waiting {
    epoch: Epoch,
    since: Instant,
    /// When the next warning is due.
    patience: Duration,
}

/// What the end of an epoch waits for. The lock is std's even where schedules are explored: no thread holds it across
/// a step.
#[derive(Default)]
pub(super) struct WaitMonitor(Mutex<Option<Waiting>>);

/// The wait; dropping this ends it.
pub(super) struct Wait<'a>(&'a WaitMonitor);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

impl WaitMonitor {
    fn lock(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The end of an epoch begins to wait.
    pub(super) fn wait_for(&self, epoch: Epoch) -> Wait<'_> {
        *self.lock() = Some(Waiting { epoch, since: Instant::now(), patience: PATIENCE });
        Wait(self)
    }

    pub(super) fn now(&self) -> Option<(Epoch, Duration)> {
        self.lock().as_ref().map(|waiting| (waiting.epoch, waiting.since.elapsed()))
    }

    /// Writes a warning, if one is due.
    pub(super) fn complain(&self, stuck: impl FnOnce() -> Option<Stuck>) {
        let is_time = self.lock().as_mut().is_some_and(|waiting| {
            let is_time = waiting.since.elapsed() >= waiting.patience;
            waiting.patience *= 1 + u32::from(is_time);
            is_time
        });
        if let Some(stuck) = is_time.then(stuck).flatten() {
            ::log::warn!("holm: {stuck}; nothing written since is durable");
        }
    }
}
