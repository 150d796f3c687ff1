//! The epoch timer: threads that end the epochs of a storage whose medium flushes, at an interval and on request. This
//! is the background persister of BD+Tree (Du and Scott, HOPC'25, section 2), alone or with others that share the
//! lines.
//!
//! Operations flush nothing. The end of an epoch costs one flush per line that it wrote, one flush for the clock's
//! word, and two fences. Each further flusher that gets lines costs one more fence, since a fence completes only the
//! flushes of its own thread.
//!
//! When these threads end, by a failure or a panic, they poison the clock: waiters and writers get an error, and no
//! thread hangs. Slowness is no failure: a slow medium, or an operation that never unpins, is reported by
//! [`EpochTimer::phase`], and [`EpochTimer::sync_within`] bounds the wait for it.

use crate::epoch::{Clock, Epoch, LAST_EPOCH, Stuck};
use crate::error::{MediumError, Result};
use crate::pace::Pace;
use crate::storage_ops::StorageOps;
use crate::sync::Instant;
use crate::sync::mpsc::{Receiver, Sender, channel};
use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Mutex, MutexGuard};
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The number of lines from which waking another flusher pays.
const WORTH_SHARING: u64 = 64;

/// The first line of a run, and the number of lines.
type Run = (u64, u64);

/// What the ends of epochs have cost so far. Fields may be added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct TimerStats {
    /// Epochs that were ended.
    pub epochs: u64,
    /// Lines that were written back.
    pub lines: u64,
    /// The longest wait for the operations of an epoch.
    pub longest_wait: Duration,
    /// The longest write-back of the lines of an epoch, the clock's word included.
    pub longest_write: Duration,
}

/// What the epoch timer does at this moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Phase {
    /// It waits until the next end of an epoch is due.
    Idle,
    /// It waits for the operations of an epoch that it has ended.
    Waiting(Stuck),
    /// It waits for the medium to write back the lines of an epoch, for the given time so far.
    Writing(Epoch, Duration),
    /// It has stopped: nothing becomes durable any more.
    Stopped,
}

#[derive(Default)]
struct Progress {
    stats: TimerStats,
    writing: Option<(Epoch, Instant)>,
    stopped: bool,
}

/// A further thread that writes lines back whenever it is given some.
struct Flusher {
    given: Sender<Vec<Run>>,
    /// The end of the thread closes it.
    done: Receiver<()>,
    thread: JoinHandle<()>,
}

struct TimerThread {
    storage: Arc<dyn StorageOps>,
    pace: Pace,
    progress: Arc<Mutex<Progress>>,
    flushers: Vec<Flusher>,
    runs: Vec<Run>,
}

/// The threads of the epoch timer. Dropping it ends a last epoch, after which no operation can write, and joins them.
pub struct EpochTimer {
    storage: Arc<dyn StorageOps>,
    progress: Arc<Mutex<Progress>>,
    thread: Option<JoinHandle<()>>,
}

fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let thread = thread::Builder::new().name(name.into()).spawn(work);
    thread.map_err(|error| MediumError::io("starting a thread for", Path::new("(memory)"), error))
}

impl EpochTimer {
    /// Starts ending the epochs of a storage, with `flushers` threads that write lines back.
    ///
    /// # Errors
    /// `Io` if a thread cannot be started.
    pub fn start(storage: Arc<dyn StorageOps>, pace: Pace, flushers: NonZero<usize>) -> Result<EpochTimer> {
        let progress = Arc::new(Mutex::new(Progress::default()));
        let others = (1..flushers.get()).map(|_| Flusher::start(storage.clone())).collect::<Result<_>>()?;
        let (shared, started) = (storage.clone(), progress.clone());
        let thread = TimerThread { storage: shared, pace, progress: started, flushers: others, runs: Vec::new() };
        let thread = Some(spawn("holm-epochs", move || thread.run())?);
        Ok(EpochTimer { storage, progress, thread })
    }

    fn clock(&self) -> &Clock {
        self.storage.clock()
    }

    /// Waits until everything that had completed before this call is durable, and returns the epoch that is. That
    /// takes two ends of epochs at most, the one in progress and the next. Any number of callers share the same ends.
    ///
    /// # Errors
    /// `Poisoned` once the threads have failed.
    pub fn sync(&self) -> Result<Epoch> {
        let epoch = self.clock().active();
        self.clock().wait_durable(epoch).map(|()| epoch)
    }

    /// As [`EpochTimer::sync`], for at most the given time.
    ///
    /// # Errors
    /// As [`EpochTimer::sync`]; `Late`, with the reason.
    pub fn sync_within(&self, at_most: Duration) -> Result<Epoch> {
        let epoch = self.clock().active();
        self.clock().wait_durable_within(epoch, at_most).map(|()| epoch)
    }

    /// What the ends of epochs have cost so far.
    pub fn stats(&self) -> TimerStats {
        lock(&self.progress).stats
    }

    /// What the timer does now.
    pub fn phase(&self) -> Phase {
        let (writing, stopped) = {
            let progress = lock(&self.progress);
            (progress.writing, progress.stopped)
        };
        match (writing, self.clock().stuck()) {
            _ if stopped => Phase::Stopped,
            (Some((epoch, since)), _) => Phase::Writing(epoch, since.elapsed()),
            (None, Some(stuck)) => Phase::Waiting(stuck),
            (None, None) => Phase::Idle,
        }
    }
}

impl Drop for EpochTimer {
    fn drop(&mut self) {
        self.clock().stop();
        // If the thread could not go on, it has poisoned the clock.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl TimerThread {
    fn run(mut self) {
        let ended = catch_unwind(AssertUnwindSafe(|| self.run_epochs()));
        let failed = ended.unwrap_or_else(|panic| Err(MediumError::died("the thread that ends epochs", &*panic)));
        if let Err(error) = failed {
            ::log::error!("holm: {error}; nothing more is accepted");
            self.storage.clock().poison(&error);
        }
        self.storage.clock().end_waits();
        lock(&self.progress).stopped = true;
        for Flusher { given, done, thread } in self.flushers {
            drop((given, done));
            let _ = thread.join();
        }
    }

    /// Runs until the clock is stopped, or has no more epochs, or something fails.
    fn run_epochs(&mut self) -> Result<()> {
        let storage = self.storage.clone();
        let clock = storage.clock();
        let mut last = Instant::now();
        loop {
            let stopped = clock.sleep(self.pace.interval().and_then(|interval| last.checked_add(interval)));
            last = Instant::now();
            if clock.poisoned().is_some() {
                return Ok(());
            }
            let ended = if stopped { clock.shut("it was closed") } else { clock.advance() };
            let waited = last.elapsed();
            let started = Instant::now();
            lock(&self.progress).writing = Some((ended, started));
            if clock.poisoned().is_some() {
                // The operation that failed was part of this epoch, which must therefore not become durable.
                return Ok(());
            }
            let lines = self.persist_epoch(ended)?;
            let mut progress = lock(&self.progress);
            let stats = &mut progress.stats;
            (stats.epochs, stats.lines) = (stats.epochs + 1, stats.lines + lines);
            stats.longest_wait = stats.longest_wait.max(waited);
            stats.longest_write = stats.longest_write.max(started.elapsed());
            progress.writing = None;
            if stopped || ended == LAST_EPOCH {
                return Ok(());
            }
        }
    }

    /// Writes the lines of an epoch back, with the other flushers if there are many, and publishes it as durable.
    /// Returns the number of lines.
    fn persist_epoch(&mut self, ended: Epoch) -> Result<u64> {
        self.runs.clear();
        self.storage.clock().drain(ended, |first, count| self.runs.push((first, count)));
        let lines: u64 = self.runs.iter().map(|run| run.1).sum();
        let sharers = self.flushers.len().min((lines / WORTH_SHARING).saturating_sub(1) as usize);
        let share = lines.div_ceil(sharers as u64 + 1);
        let sharers = &self.flushers[..sharers];
        for flusher in sharers {
            // A flusher that has died is detected below.
            let _ = flusher.given.send(cut_off(&mut self.runs, share));
        }
        self.storage.write_back(&self.runs);
        for flusher in sharers {
            // Before the clock's word, each flusher reports that its own fence is done: otherwise a crash keeps the
            // word and loses lines whose write-back another thread had only started.
            let done = flusher.done.recv();
            done.map_err(|_| MediumError::Died { thread: "a flusher", why: "it panicked with lines to write".into() })?;
        }
        self.storage.publish_epoch(ended)?;
        Ok(lines)
    }
}

/// Takes `lines` lines from the end.
fn cut_off(runs: &mut Vec<Run>, lines: u64) -> Vec<Run> {
    let (mut taken, mut missing) = (Vec::new(), lines);
    while missing > 0
        && let Some((first, count)) = runs.pop()
    {
        let rest = count.saturating_sub(missing);
        if rest > 0 {
            runs.push((first, rest));
        }
        taken.push((first + rest, count - rest));
        missing -= count - rest;
    }
    taken
}

impl Flusher {
    fn start(storage: Arc<dyn StorageOps>) -> Result<Flusher> {
        let ((given, work), (finished, done)) = (channel::<Vec<Run>>(), channel());
        let thread = spawn("holm-flusher", move || {
            for runs in work {
                storage.write_back(&runs);
                if finished.send(()).is_err() {
                    return;
                }
            }
        })?;
        Ok(Flusher { given, done, thread })
    }
}
