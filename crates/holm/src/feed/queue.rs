//! What one feed has not given yet, up to a limit.

use super::changes::Changes;
use super::names::Names;
use crate::error::{Error, Result};
use holm_medium::Epoch;
use holm_medium::sync::Instant;
use holm_medium::sync::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

/// Why a feed gives nothing after what it holds.
#[derive(Clone, Debug)]
pub(super) enum End {
    /// Its reader is too slow for its limit.
    Lagged,
    /// The database was closed.
    Closed,
    /// The database has failed.
    Failed(Error),
}

/// A queue of the changes of epochs. The group-commit thread puts them in and never waits for the reader.
pub(super) struct Queue {
    /// The most bytes of changes that it holds.
    limit: u64,
    state: Mutex<State>,
    news: Condvar,
}

struct State {
    changes: VecDeque<Changes>,
    bytes: u64,
    /// The last epoch whose changes are here or were given, or that had none.
    upto: Epoch,
    /// The last epoch that was given.
    given: Epoch,
    /// The keyspaces at the end of the epoch after which the feed begins.
    names: Option<Names>,
    end: Option<End>,
}

impl Queue {
    /// A queue that begins after an epoch, at whose end there were these keyspaces.
    pub(super) fn new(since: Epoch, names: Names, limit: u64) -> Self {
        let changes = VecDeque::new();
        let state = State { changes, bytes: 0, upto: since, given: since, names: Some(names), end: None };
        Queue { limit, state: Mutex::new(state), news: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of changes that are here.
    pub(super) fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// The bytes of changes that the queue still takes; `None` if it does not want those of this epoch.
    pub(super) fn room(&self, epoch: Epoch) -> Option<u64> {
        let state = self.lock();
        (state.end.is_none() && state.upto < epoch).then(|| self.limit - state.bytes)
    }

    /// The keyspaces before this epoch, if the queue begins with it.
    pub(super) fn take_names(&self, epoch: Epoch) -> Option<Names> {
        let mut state = self.lock();
        let begins = state.upto + 1 == epoch;
        state.names.take().filter(|_| begins)
    }

    /// Appends the changes of an epoch, if it had any. Returns whether they fit: if not, the feed has lagged.
    pub(super) fn offer(&self, epoch: Epoch, changes: Option<&Changes>) -> bool {
        let mut state = self.lock();
        let bytes = changes.map_or(0, Changes::memory_bytes);
        if state.bytes + bytes > self.limit {
            self.end_with(state, End::Lagged);
            return false;
        }
        state.changes.extend(changes.cloned());
        state.bytes += bytes;
        state.upto = epoch;
        state.names = None;
        if changes.is_some() {
            self.news.notify_all();
        }
        true
    }

    /// Nothing follows what is here.
    pub(super) fn end(&self, end: End) {
        self.end_with(self.lock(), end);
    }

    fn end_with(&self, mut state: MutexGuard<'_, State>, end: End) {
        state.end.get_or_insert(end);
        state.names = None;
        self.news.notify_all();
    }

    /// Forgets what is here of epochs up to this one.
    pub(super) fn skip_to(&self, epoch: Epoch) {
        let mut state = self.lock();
        while let Some(changes) = state.changes.pop_front_if(|changes| changes.epoch() <= epoch) {
            state.bytes -= changes.memory_bytes();
        }
        if state.upto < epoch {
            // Not the names at the end of this epoch.
            state.names = None;
        }
        state.given = epoch;
        state.upto = state.upto.max(epoch);
    }

    /// The epoch up to which everything was given.
    pub(super) fn given(&self) -> Epoch {
        self.lock().given
    }

    /// Takes the changes of the next epoch; `None` if there are none within the time.
    pub(super) fn next(&self, timeout: Duration) -> Result<Option<Changes>> {
        let deadline = Instant::now().checked_add(timeout);
        let mut state = self.lock();
        loop {
            if let Some(changes) = state.changes.pop_front() {
                state.bytes -= changes.memory_bytes();
                state.given = changes.epoch();
                return Ok(Some(changes));
            }
            // Epochs without changes count as given once all before them have been.
            state.given = state.upto;
            match &state.end {
                Some(End::Lagged) => return Err(Error::Lagged { epoch: state.given }),
                Some(End::Closed) => return Err(Error::Closed { epoch: state.given }),
                Some(End::Failed(error)) => return Err(error.clone()),
                None => {}
            }
            state = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return Ok(None),
                Some(left) => self.news.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.news.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}
