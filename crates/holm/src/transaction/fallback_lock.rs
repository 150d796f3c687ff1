//! Progress under contention: a transaction that has conflicted often goes alone.
//!
//! The oldest such transaction holds the turnstile while it runs and commits. Other transactions wait for it before
//! they commit, so only plain writes can still disturb it. They wait for a bounded time: the holder runs its caller's
//! code, which may itself wait for one of them.

use holm_medium::sync::Instant;
use holm_medium::sync::atomic::{AtomicUsize, Ordering};
use holm_medium::sync::{Mutex, MutexGuard};
use std::sync::{PoisonError, TryLockError};
use std::time::Duration;

/// How long a commit waits for the transaction that goes alone.
const LONGEST_WAIT: Duration = Duration::from_millis(10);

/// The turnstile of a database.
#[derive(Default)]
pub(crate) struct Turnstile {
    /// The transactions that hold the lock or wait for it.
    waiting: AtomicUsize,
    lock: Mutex<()>,
}

/// While this lives, other transactions wait before they commit.
pub(crate) struct Alone<'a> {
    turnstile: &'a Turnstile,
    _held: MutexGuard<'a, ()>,
}

impl Turnstile {
    /// Waits for the transactions that went before.
    pub(super) fn go_alone(&self) -> Alone<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // A panic in the holder's code leaves nothing behind.
        Alone { turnstile: self, _held: self.lock.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Lets a transaction that goes alone commit first.
    #[inline]
    pub(super) fn pass(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        let start = Instant::now();
        while self.waiting.load(Ordering::Relaxed) > 0
            && matches!(self.lock.try_lock(), Err(TryLockError::WouldBlock))
            && start.elapsed() < LONGEST_WAIT
        {
            holm_medium::sync::sleep(Duration::from_micros(20));
        }
    }
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.turnstile.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
