//! A condition variable. Shuttle's has no wait that ends with time, so such waits are kept here.
//!
//! Every wait may end without a notification, as std's may: [`Condvar::notify_one`] wakes all.

use super::mutex::MutexGuard;
use super::time::{Instant, sleep_until, wake};
use shuttle::current::me;
use std::sync::{LockResult, Mutex, PoisonError};
use std::time::Duration;

/// A condition variable.
#[derive(Default, Debug)]
pub struct Condvar {
    endless: Endless,
    /// The tasks that wait for a notification or for an instant; std's lock, which no step is taken under.
    timed: Mutex<Vec<usize>>,
}

/// Shuttle's has no default.
#[derive(Debug)]
struct Endless(shuttle::sync::Condvar);

impl Default for Endless {
    fn default() -> Self {
        Endless(shuttle::sync::Condvar::new())
    }
}

/// Whether a wait ended with its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time was over.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// Nobody waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits for a notification.
    ///
    /// # Errors
    /// If a thread panicked while it held the lock.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let MutexGuard { mutex, guard } = guard;
        mutex.guard(self.endless.0.wait(guard))
    }

    /// Waits for a notification, for at most the given time of the simulated clock.
    ///
    /// # Errors
    /// If a thread panicked while it held the lock.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        at_most: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let own = usize::from(me());
        let MutexGuard { mutex, guard } = guard;
        // Before the lock is released: a notification between the two would be lost.
        self.timed().push(own);
        let until = Instant::now() + at_most;
        drop(guard);
        let is_notified = || !self.timed().contains(&own);
        sleep_until(until, is_notified);
        let ended = WaitTimeoutResult(!is_notified());
        self.timed().retain(|task| *task != own);
        match mutex.lock() {
            Ok(guard) => Ok((guard, ended)),
            Err(poisoned) => Err(PoisonError::new((poisoned.into_inner(), ended))),
        }
    }

    /// Waits while a condition holds, for at most the given time of the simulated clock.
    ///
    /// # Errors
    /// If a thread panicked while it held the lock.
    pub fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        at_most: Duration,
        mut holds: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let until = Instant::now() + at_most;
        while holds(&mut guard) {
            let left = until - Instant::now();
            if left.is_zero() {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            guard = self.wait_timeout(guard, left)?.0;
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    /// Wakes a thread that waits, and the others too.
    pub fn notify_one(&self) {
        self.notify_all();
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        self.timed().drain(..).for_each(wake);
        self.endless.0.notify_all();
    }

    fn timed(&self) -> std::sync::MutexGuard<'_, Vec<usize>> {
        self.timed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
