//! The open feeds of a database.

use super::queue::{End, Queue};
use super::stats::FeedStats;
use holm_medium::Epoch;
use holm_medium::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use holm_medium::sync::{Mutex, MutexGuard};
use std::sync::{Arc, PoisonError};

/// The open feeds of a database, for the group-commit thread and for their readers. It keeps nothing of the database
/// open.
#[derive(Default)]
pub(crate) struct Subscribers {
    /// Whether there is a feed that wants changes.
    listening: AtomicBool,
    state: Mutex<State>,
    pub(super) counters: Counters,
}

#[derive(Default)]
struct State {
    queues: Vec<Arc<Queue>>,
    /// Set once no further epoch becomes durable.
    end: Option<End>,
}

/// What feeds have cost since the database was opened.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) epochs: AtomicU64,
    pub(super) changes: AtomicU64,
    pub(super) lagged: AtomicU64,
    pub(super) read_ns: AtomicU64,
}

impl Subscribers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an epoch must be read.
    pub(super) fn is_listening(&self) -> bool {
        // Relaxed: the thread that adds a queue has pinned the first epoch that the queue wants, and the end of that
        // epoch waits for the pin.
        self.listening.load(Relaxed)
    }

    /// Adds a queue. The caller has pinned the epoch with which it begins.
    pub(super) fn add(&self, queue: Arc<Queue>) {
        let mut state = self.lock();
        match &state.end {
            // The database failed after the caller had pinned its epoch.
            Some(end) => queue.end(end.clone()),
            None => {
                state.queues.push(queue);
                self.listening.store(true, Relaxed);
            }
        }
    }

    /// Removes a queue.
    pub(super) fn remove(&self, queue: &Arc<Queue>) {
        self.retain(|other| !Arc::ptr_eq(other, queue));
    }

    /// Removes the queues that have ended.
    pub(super) fn remove_ended(&self) {
        self.retain(|queue| queue.room(Epoch::MAX).is_some());
    }

    fn retain(&self, keep: impl FnMut(&Arc<Queue>) -> bool) {
        let mut state = self.lock();
        state.queues.retain(keep);
        self.listening.store(!state.queues.is_empty(), Relaxed);
    }

    /// Returns the queues that want the changes of an epoch.
    pub(super) fn wanting(&self, epoch: Epoch) -> Vec<Arc<Queue>> {
        self.lock().queues.iter().filter(|queue| queue.room(epoch).is_some()).cloned().collect()
    }

    /// Ends all queues: no further epoch becomes durable.
    pub(super) fn end(&self, end: &End) {
        let mut state = self.lock();
        state.end.get_or_insert_with(|| end.clone());
        state.queues.drain(..).for_each(|queue| queue.end(end.clone()));
        self.listening.store(false, Relaxed);
    }

    /// Returns the statistics of all feeds.
    pub(crate) fn stats(&self) -> FeedStats {
        let queues = self.lock().queues.clone();
        FeedStats {
            open: queues.len() as u64,
            epochs: self.counters.epochs.load(Relaxed),
            changes: self.counters.changes.load(Relaxed),
            bytes: queues.iter().map(|queue| queue.bytes()).sum(),
            lagged: self.counters.lagged.load(Relaxed),
            read_ns: self.counters.read_ns.load(Relaxed),
        }
    }
}
