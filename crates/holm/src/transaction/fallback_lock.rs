//! Progress under contention: a transaction that has conflicted often takes a lock, as hardware transactions do.
//!
//! The holder has the lock while it runs and commits. Other transactions wait for it before they commit, so only plain
//! writes can still disturb it. All of them wait for a bounded time, also those that want the lock themselves: the
//! holder runs its caller's code, which may itself wait for one of them.

use holm_medium::sync::Instant;
use holm_medium::sync::atomic::{AtomicUsize, Ordering};
use holm_medium::sync::{Mutex, MutexGuard};
use std::sync::TryLockError;
use std::time::Duration;

/// How long a commit waits for the holder, and a transaction for the lock.
const LONGEST_WAIT: Duration = Duration::from_millis(10);

/// Waits a moment before another look at the lock.
fn pause() {
    holm_medium::sync::sleep(Duration::from_micros(20));
}

/// The fallback lock of a database.
#[derive(Default)]
pub(crate) struct FallbackLock {
    /// The transactions that hold the lock or wait for it.
    waiting: AtomicUsize,
    lock: Mutex<()>,
}

/// While this lives, other transactions wait before they commit.
pub(crate) struct FallbackGuard<'a> {
    fallback_lock: &'a FallbackLock,
    _held: MutexGuard<'a, ()>,
}

impl FallbackLock {
    /// Waits for the holders before. `None` if that takes too long: the transaction then goes on without the lock.
    pub(super) fn lock(&self) -> Option<FallbackGuard<'_>> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let start = Instant::now();
        loop {
            match self.lock.try_lock() {
                Ok(held) => return Some(FallbackGuard { fallback_lock: self, _held: held }),
                // A panic in the holder's code leaves nothing behind.
                Err(TryLockError::Poisoned(poisoned)) => {
                    return Some(FallbackGuard { fallback_lock: self, _held: poisoned.into_inner() });
                }
                Err(TryLockError::WouldBlock) if start.elapsed() < LONGEST_WAIT => pause(),
                Err(TryLockError::WouldBlock) => {
                    self.waiting.fetch_sub(1, Ordering::Relaxed);
                    return None;
                }
            }
        }
    }

    /// Lets the holder commit first.
    #[inline]
    pub(super) fn wait_for_holder(&self) {
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
            pause();
        }
    }
}

impl Drop for FallbackGuard<'_> {
    fn drop(&mut self) {
        self.fallback_lock.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
