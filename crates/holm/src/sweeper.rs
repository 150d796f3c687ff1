//! The thread that removes expired records, at an even pace.
//!
//! It shares the trees and the catalog with the engine, but not the engine itself, so it keeps no database open. The
//! engine stops it, and waits for its end, before it closes.

use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::increments::Increments;
use crate::store::{Store, WritableStore};
use crate::sweep::{Pass, SweepCounters, Swept};
use holm_medium::sync::Instant;
use holm_medium::sync::atomic::Ordering::Relaxed;
use holm_medium::sync::thread::{self, JoinHandle};
use holm_medium::sync::{Condvar, Mutex, MutexGuard};
use std::ops::ControlFlow;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How expired records are removed: [`Builder::sweep`](crate::Builder::sweep). Readers see no difference.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sea.holm");
/// use holm::{Database, Sweep};
/// use std::time::Duration;
/// let db = Database::builder().sweep(Sweep::Every(Duration::from_secs(3600))).open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sweep {
    /// A thread goes over all records of the keyspaces with expiry, and takes this time for a pass: down to a sixteenth
    /// of it while a tenth of the records have expired. It uses at most a fifth of one core, however short the time is.
    /// A database without such a keyspace has no such thread.
    Every(Duration),
    /// Only [`Database::sweep`](crate::Database::sweep) and the removal of keys make room. For replicas, which remove
    /// what their leader's [`Keyspace::expired`](crate::Keyspace::expired) names.
    Manual,
}

impl Default for Sweep {
    fn default() -> Self {
        Sweep::Every(Duration::from_secs(300))
    }
}

/// The shortest pause; the thread is ahead of its pace by as much before it pauses.
const LEAST_PAUSE: Duration = Duration::from_millis(10);

/// The thread pauses after this much work even if it is behind its pace: it uses at most a fifth of a core.
const MOST_WORK: Duration = Duration::from_micros(2_500);

/// No pass is longer: arithmetic with the longest of all durations would overflow.
const LONGEST_PASS: Duration = Duration::from_secs(365 * 86_400);

/// A pass is at most this many times as fast as was chosen, while much expires.
const MOST_SPEEDUP: u32 = 16;

/// A pass is shorter than the one before if at least one in this many records had expired.
const MUCH_EXPIRED: u64 = 10;

/// The sweeper of an engine.
pub(crate) struct Sweeper {
    sweep: Sweep,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Decides whether a database must be left alone.
pub(crate) type IsExempt = fn(&Store, &Catalog) -> Result<bool>;

/// What the thread shares of an engine.
pub(crate) struct SweptDatabase {
    pub(crate) store: Arc<WritableStore>,
    pub(crate) catalog: Arc<Catalog>,
    /// Whether an incremental backup is being applied.
    pub(crate) increments: Arc<Increments>,
}

impl SweptDatabase {
    /// Returns whether the sweeper must leave the database alone: it is a copy that an incremental backup will be
    /// applied to. That backup removes what the original has swept, and would refuse a copy that was changed.
    fn is_exempt(&self, is_exempt: IsExempt) -> Result<bool> {
        self.increments.outside(|| is_exempt(&self.store, &self.catalog)).unwrap_or(Ok(true))
    }
}

/// What the thread shares with its owner.
struct Shared {
    is_exempt: IsExempt,
    counters: SweepCounters,
    stopped: Mutex<bool>,
    wakes: Condvar,
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sweeper {
    pub(crate) fn new(sweep: Sweep, is_exempt: IsExempt) -> Self {
        let (counters, stopped, wakes) = (SweepCounters::default(), Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { is_exempt, counters, stopped, wakes });
        Sweeper { sweep, shared, thread: Mutex::default() }
    }

    pub(crate) fn counters(&self) -> &SweepCounters {
        &self.shared.counters
    }

    /// Starts the thread, unless it runs, was stopped, or is not wanted.
    pub(crate) fn start(&self, database: SweptDatabase) {
        let Sweep::Every(length) = self.sweep else { return };
        let length = length.min(LONGEST_PASS);
        let mut thread = lock(&self.thread);
        if thread.is_some() || *lock(&self.shared.stopped) {
            return;
        }
        let (shared, path) = (self.shared.clone(), database.store.path.clone());
        let run = move || shared.sweep_until_stopped(&database, length);
        match thread::Builder::new().name("holm-sweep".into()).spawn(run) {
            Ok(started) => *thread = Some(started),
            // Expired keys are absent all the same; only their space is not freed.
            Err(error) => log::error!("holm: {}: starting the sweeper: {error}", path.display()),
        }
    }

    /// Stops the thread for good, and waits for its end.
    pub(crate) fn stop(&self) {
        *lock(&self.shared.stopped) = true;
        self.shared.wakes.notify_all();
        // While the lock is held, so that a second caller waits as well.
        let mut thread = lock(&self.thread);
        if let Some(thread) = thread.take()
            && thread.join().is_err()
        {
            log::error!("holm: the sweeper has died");
        }
    }
}

impl Shared {
    /// Makes one pass after the other.
    fn sweep_until_stopped(&self, database: &SweptDatabase, longest: Duration) {
        let mut length = longest;
        loop {
            let swept = match self.pass(database, length) {
                Ok(ControlFlow::Continue(swept)) => swept,
                Ok(ControlFlow::Break(())) => return,
                Err(error @ (Error::NoSpace { .. } | Error::Capacity { .. } | Error::Corrupt { .. })) => {
                    // A merge found no space, or one keyspace is damaged: the next pass tries again.
                    log::debug!("holm: {}: a pass of the sweeper: {error}", database.store.path.display());
                    if self.pause(longest.max(LEAST_PAUSE)).is_break() {
                        return;
                    }
                    continue;
                }
                // The database accepts nothing more. The next writer gets the error.
                Err(error) => return log::debug!("holm: {}: sweeping ends: {error}", database.store.path.display()),
            };
            length = next_length(length, longest, swept);
        }
    }

    /// Makes a pass of some length. `Break` means that the sweeper was stopped.
    fn pass(&self, database: &SweptDatabase, length: Duration) -> Result<ControlFlow<(), Swept>> {
        let SweptDatabase { store, catalog, increments } = database;
        let turn = increments.turn();
        if database.is_exempt(self.is_exempt)? {
            self.counters.skipped.fetch_add(1, Relaxed);
            let pause = self.pause(length.max(LEAST_PAUSE));
            return Ok(pause.map_continue(|()| Swept::default()));
        }
        let total = catalog.expiring_trees().iter().map(|tree| tree.root.pairs()).sum();
        let mut pace = Pace::new(length, total);
        // A backup that begins to be applied from here on makes a copy of the database.
        let is_no_copy = || increments.turn() == turn;
        let swept =
            Pass::new(store, catalog, &self.counters).while_it_may(&is_no_copy).run(|read| match pace.pause(read) {
                Some(pause) => self.paused(&mut pace, pause),
                None => ControlFlow::Continue(()),
            })?;
        let rest = length.saturating_sub(pace.begun.elapsed()).max(LEAST_PAUSE);
        let paused = self.paused(&mut pace, rest);
        self.counters.last_pass_ns.store(pace.begun.elapsed().as_nanos() as u64, Relaxed);
        self.counters.last_pass_work_ns.store(pace.worked.as_nanos() as u64, Relaxed);
        Ok(if paused.is_break() { ControlFlow::Break(()) } else { ControlFlow::Continue(swept) })
    }

    fn paused(&self, pace: &mut Pace, pause: Duration) -> ControlFlow<()> {
        pace.worked += pace.since.elapsed();
        let stopped = self.pause(pause);
        pace.since = Instant::now();
        stopped
    }

    /// Waits for some time, or until the sweeper is stopped; `Break` means the latter.
    fn pause(&self, pause: Duration) -> ControlFlow<()> {
        let stopped = lock(&self.stopped);
        let waited = self.wakes.wait_timeout_while(stopped, pause, |stopped| !*stopped);
        let (stopped, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// How fast a pass goes.
struct Pace {
    begun: Instant,
    length: Duration,
    /// The records to read.
    total: u64,
    /// Since when the thread works.
    since: Instant,
    /// The time that it has worked before.
    worked: Duration,
}

impl Pace {
    fn new(length: Duration, total: u64) -> Self {
        let now = Instant::now();
        Pace { begun: now, length, total, since: now, worked: Duration::ZERO }
    }

    /// Returns how long to pause after some records were read.
    fn pause(&self, read: u64) -> Option<Duration> {
        let progress = Progress { read, elapsed: self.begun.elapsed(), working: self.since.elapsed() };
        due_pause(self.length, self.total, progress)
    }
}

/// How far a pass is.
#[derive(Clone, Copy)]
struct Progress {
    /// The records that it has read.
    read: u64,
    /// The time since it began.
    elapsed: Duration,
    /// The time since it last paused.
    working: Duration,
}

/// Returns how long a pass over `total` records pauses.
fn due_pause(length: Duration, total: u64, progress: Progress) -> Option<Duration> {
    let Progress { read, elapsed, working } = progress;
    let share = read.min(total) as f64 / total.max(1) as f64;
    let ahead = length.mul_f64(share).saturating_sub(elapsed);
    match ahead >= LEAST_PAUSE {
        true => Some(ahead),
        false if working >= MOST_WORK => Some((working * 4).max(ahead)),
        false => None,
    }
}

/// Returns the length of the pass after one that has swept this much.
fn next_length(length: Duration, longest: Duration, swept: Swept) -> Duration {
    let much = swept.removed > 0 && swept.removed.saturating_mul(MUCH_EXPIRED) >= swept.read;
    if much { (length / 2).max(longest / MOST_SPEEDUP) } else { length.saturating_mul(2).min(longest) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, KeyspaceOptions};

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_pass_is_shorter_while_much_expires() {
        let after = |length, read, removed| next_length(length, MINUTE, Swept { read, removed });
        assert_eq!(after(MINUTE, 100, 10), MINUTE / 2);
        assert_eq!(after(MINUTE, 100, 9), MINUTE);
        assert_eq!(after(MINUTE / 16, 100, 100), MINUTE / 16, "and no shorter than that");
        assert_eq!(after(MINUTE / 4, 100, 0), MINUTE / 2);
        assert_eq!(after(MINUTE, 0, 0), MINUTE);
    }

    fn due(length: Duration, total: u64, read: u64, elapsed: Duration, working: Duration) -> Option<Duration> {
        due_pause(length, total, Progress { read, elapsed, working })
    }

    #[test]
    fn a_pass_waits_where_it_is_ahead() {
        let at = |read, seconds| due(MINUTE, 600, read, Duration::from_secs(seconds), Duration::ZERO);
        assert_eq!(at(100, 0), Some(Duration::from_secs(10)));
        assert_eq!(at(100, 10), None);
        assert_eq!(at(100, 30), None, "behind: it goes on");
        assert_eq!(at(1_000, 0), Some(MINUTE), "more records than there were at its beginning");
        assert_eq!(due(MINUTE, 0, 0, Duration::ZERO, Duration::ZERO), None);
    }

    #[test]
    fn a_pass_uses_a_fifth_of_a_core_at_most() {
        let working = Duration::from_millis(3);
        assert_eq!(due(MINUTE, 600, 0, MINUTE, working), Some(Duration::from_millis(12)));
        assert_eq!(due(Duration::ZERO, 600, 300, MINUTE, working), Some(Duration::from_millis(12)));
    }

    /// The thread has ended, and has let go of the trees, when the last handle is gone.
    #[test]
    fn the_thread_ends_with_the_engine() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::builder().sweep(Sweep::Every(Duration::MAX)).open(folder.path()).unwrap();
        let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).unwrap();
        assert!(lock(&db.engine.sweeper.thread).is_some());
        let store = Arc::downgrade(&db.engine.store);
        drop((db, tides));
        assert!(store.upgrade().is_none(), "the sweeper still has the store");
    }

    /// A second thread would outlive the close, because one handle is kept.
    #[test]
    fn one_thread_sweeps_until_it_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::builder().sweep(Sweep::Every(Duration::MAX)).open(folder.path()).unwrap();
        let (sweeper, expires) = (&db.engine.sweeper, KeyspaceOptions::new().expires(true));
        db.keyspace_with("tides", &expires).unwrap();
        let owners = Arc::strong_count(&sweeper.shared);
        db.keyspace_with("winds", &expires).unwrap();
        assert_eq!(Arc::strong_count(&sweeper.shared), owners);
        sweeper.stop();
        db.keyspace_with("moons", &expires).unwrap();
        assert!(lock(&sweeper.thread).is_none());
    }
}
