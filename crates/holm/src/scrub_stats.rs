//! What the scrubs of a session have read and found.

use holm_medium::sync::atomic::{AtomicU64, Ordering::Relaxed};
use holm_medium::sync::{Instant, Mutex};
use std::sync::PoisonError;

/// The [scrubs](crate::Database::scrub) of a database since it was opened: a part of [`Stats`](crate::Stats).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use std::ops::ControlFlow;
/// db.scrub().run(|_| ControlFlow::Continue(()))?;
/// let scrubs = db.stats().scrubs;
/// assert_eq!((scrubs.running, scrubs.completed, scrubs.damages), (0, 1, 0));
/// assert!(scrubs.bytes > 0 && scrubs.last_completed_ns.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ScrubStats {
    /// The number of scrubs that run now.
    pub running: u64,
    /// The number of scrubs that have read up to the end.
    pub completed: u64,
    /// Bytes that all scrubs have read.
    pub bytes: u64,
    /// The number of damages that all scrubs have found; one that two have found counts twice.
    pub damages: u64,
    /// How long ago a scrub has last read up to the end, in nanoseconds; `None` if none has.
    pub last_completed_ns: Option<u64>,
}

/// Counts the scrubs of a database.
#[derive(Default)]
pub(crate) struct ScrubCounters {
    running: AtomicU64,
    completed: AtomicU64,
    bytes: AtomicU64,
    damages: AtomicU64,
    last_completed: Mutex<Option<Instant>>,
}

impl ScrubCounters {
    /// Counts a scrub that runs for as long as the result lives.
    pub(crate) fn begin(&self) -> RunningScrub<'_> {
        self.running.fetch_add(1, Relaxed);
        RunningScrub { counters: self, bytes: 0, damages: 0 }
    }

    pub(crate) fn stats(&self) -> ScrubStats {
        let last = *self.last_completed.lock().unwrap_or_else(PoisonError::into_inner);
        ScrubStats {
            running: self.running.load(Relaxed),
            completed: self.completed.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
            damages: self.damages.load(Relaxed),
            last_completed_ns: last.map(|last| last.elapsed().as_nanos() as u64),
        }
    }
}

/// A scrub that runs, and what of its report was counted.
pub(crate) struct RunningScrub<'a> {
    counters: &'a ScrubCounters,
    bytes: u64,
    damages: u64,
}

impl RunningScrub<'_> {
    /// Counts what has come to the bytes and damages of the scrub, which are these by now.
    pub(crate) fn note(&mut self, bytes: u64, damages: u64) {
        self.counters.bytes.fetch_add(bytes - self.bytes, Relaxed);
        self.counters.damages.fetch_add(damages - self.damages, Relaxed);
        (self.bytes, self.damages) = (bytes, damages);
    }

    /// Counts a scrub that has read up to the end.
    pub(crate) fn complete(&self) {
        self.counters.completed.fetch_add(1, Relaxed);
        let now = Instant::now();
        *self.counters.last_completed.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    }
}

impl Drop for RunningScrub<'_> {
    fn drop(&mut self) {
        self.counters.running.fetch_sub(1, Relaxed);
    }
}
