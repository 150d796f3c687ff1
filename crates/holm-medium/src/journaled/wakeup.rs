//! A wakeup: how one thread ends the sleep of another before its time.

#![forbid(unsafe_code)]

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// A flag and its condvar: wakes a background thread.
#[derive(Default)]
pub(super) struct Wakeup {
    notified: Mutex<bool>,
    condvar: Condvar,
}

impl Wakeup {
    pub(super) fn notify(&self) {
        *self.lock() = true;
        self.condvar.notify_all();
    }

    /// Sleeps until a thread notifies, or for at most the given time.
    pub(super) fn wait(&self, at_most: Duration) {
        let mut notified = self.lock();
        if !*notified {
            notified = self.condvar.wait_timeout(notified, at_most).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        *notified = false;
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.notified.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
