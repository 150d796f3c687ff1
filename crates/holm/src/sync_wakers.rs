//! The tasks that await syncs: they are woken whenever an epoch has become durable, or never will.

use holm_medium::Clock;
use holm_medium::sync::Mutex;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock, PoisonError};
use std::task::Waker;

/// Wakers of tasks, each until the next news. Empty for a database that nobody awaits.
#[derive(Default)]
pub(crate) struct SyncWakers(OnceLock<Arc<Mutex<Vec<Waker>>>>);

impl SyncWakers {
    /// Lets a task be woken at the next news about epochs of this clock, which is always the same.
    pub(crate) fn add(&self, clock: &Clock, waker: &Waker) {
        let wakers = self.0.get_or_init(|| {
            let wakers: Arc<Mutex<Vec<Waker>>> = Arc::default();
            // The clock keeps what it calls, so that must not lead back to the clock.
            let waiting = wakers.clone();
            clock.on_news(move || {
                let woken = std::mem::take(&mut *waiting.lock().unwrap_or_else(PoisonError::into_inner));
                // Without the lock: a waker may run the task, which adds itself again. A panic of one is its program's
                // bug, and the others are woken all the same.
                woken.into_iter().for_each(|waker| drop(catch_unwind(AssertUnwindSafe(|| waker.wake()))));
            });
            wakers
        });
        let mut wakers = wakers.lock().unwrap_or_else(PoisonError::into_inner);
        if !wakers.iter().any(|other| other.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }
}
