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

    /// Tells the first connection that waits for each key that there are elements. What that connection leaves is
    /// offered to the next one once it has answered, so that elements go out in the order of arrival on any worker.
    pub(crate) fn wake(&self, keys: &[Signal], mailboxes: &[Mailbox]) {
        if keys.is_empty() || self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        let by_key = self.lock();
        for key in keys {
            if let Some(place) = by_key.get(key).and_then(VecDeque::front) {
                offer(key, *place, mailboxes);
            }
        }
    }

    /// Tells the connection that waits behind another one, which could not use the elements.
    pub(crate) fn pass_on(&self, key: &Signal, place: ConnectionPlace, mailboxes: &[Mailbox]) {
        let by_key = self.lock();
        let mut behind = by_key.get(key).into_iter().flatten().skip_while(|other| **other != place).skip(1);
        if let Some(next) = behind.next() {
            offer(key, *next, mailboxes);
        }
    }

    /// Tells the first of each key: keys may have appeared anywhere.
    pub(crate) fn wake_all(&self, mailboxes: &[Mailbox]) {
        for (key, places) in self.lock().iter() {
            places.front().iter().for_each(|place| offer(key, **place, mailboxes));
        }
    }
}

fn offer(key: &Signal, place: ConnectionPlace, mailboxes: &[Mailbox]) {
    mailboxes[place.worker].send(Mail::TryAgain { id: place.id, key: key.clone() });
}
