//! Connections that wait until a key has elements.

use crate::mail::{ConnectionPlace, Mail, Mailbox};
use holm_commands::Signal;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

type ByKey = HashMap<Signal, VecDeque<ConnectionPlace>>;

/// Who waits for which key, in the order of arrival.
#[derive(Default)]
pub(crate) struct Waiting {
    by_key: Mutex<ByKey>,
    /// The number of entries, so that writers need no lock while nobody waits.
    count: AtomicUsize,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, ByKey> {
        self.by_key.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a connection waits. It looks once more after that, so that it misses no elements.
    pub(crate) fn register(&self, keys: &[Signal], place: ConnectionPlace) {
        let mut by_key = self.lock();
        for key in keys {
            by_key.entry(key.clone()).or_default().push_back(place);
        }
        self.count.fetch_add(keys.len(), Ordering::SeqCst);
    }

    /// Forgets that a connection waits.
    pub(crate) fn forget(&self, keys: &[Signal], place: ConnectionPlace) {
        let mut by_key = self.lock();
        for key in keys {
            if let Some(places) = by_key.get_mut(key) {
                let before = places.len();
                places.retain(|other| *other != place);
                self.count.fetch_sub(before - places.len(), Ordering::SeqCst);
                if places.is_empty() {
                    by_key.remove(key);
                }
            }
        }
    }

    /// Tells those who wait for keys that they have elements.
    pub(crate) fn wake(&self, keys: &[Signal], mailboxes: &[Mailbox]) {
        if keys.is_empty() || self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let by_key = self.lock();
        for place in keys.iter().filter_map(|key| by_key.get(key)).flatten() {
            mailboxes[place.worker].send(Mail::TryAgain { id: place.id });
        }
    }

    /// Tells everybody: keys may have appeared anywhere.
    pub(crate) fn wake_all(&self, mailboxes: &[Mailbox]) {
        for place in self.lock().values().flatten() {
            mailboxes[place.worker].send(Mail::TryAgain { id: place.id });
        }
    }
}
