//! Client-side caching: which connections may hold what keys have, and who hears that a key has changed.
//!
//! A connection that tracks is noted at each key *before* it reads the key, and a writer looks here *after* it has
//! written. So either the writer finds the connection, or the connection reads what was written. What a connection is
//! sent comes by mail, behind the replies of the wake-up in which it has read.
//!
//! While nobody tracks, commands note no changes: the flag lies beside that of events about keys, which each command
//! reads anyway. It is read without a fence, so the reply of CLIENT TRACKING waits until all have seen it.

use crate::clients::Client;
use crate::mail::Mail;
use crate::rereads::Rereads;
use crate::shared::Shared;
use holm_commands::Random;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What has changed: these keys, or all.
pub(crate) type Invalid = Option<Arc<[Vec<u8>]>>;

/// What a connection wants to know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wishes {
    /// The connection that hears of changes in its place; 0 for itself.
    pub(crate) redirect: u64,
    /// All keys that begin with its prefixes, read or not.
    pub(crate) is_broadcast: bool,
    /// Not what it changes itself.
    pub(crate) spares_own: bool,
}

/// A connection that tracks.
#[derive(Clone)]
pub(crate) struct Tracker {
    client: Arc<Client>,
    wishes: Wishes,
    prefixes: BTreeSet<Vec<u8>>,
}

/// Who has read a key, and where the key is among all.
struct Readers {
    place: usize,
    ids: Vec<u64>,
}

#[derive(Default)]
struct State {
    trackers: HashMap<u64, Tracker>,
    readers: HashMap<Arc<[u8]>, Readers>,
    /// The same keys, so that one can be chosen by chance.
    keys: Vec<Arc<[u8]>>,
    /// The readers of all keys.
    item_count: usize,
    /// The trackers of keys by their prefixes.
    prefixes: BTreeMap<Vec<u8>, BTreeSet<u64>>,
    random: Random,
    /// Connections that may begin to track in a transaction that they have not run yet.
    expected: BTreeSet<u64>,
}

/// All connections that track, and what they may hold.
pub(crate) struct Tracking {
    state: Mutex<State>,
    /// The most keys that are noted; 0 for any number.
    most: AtomicUsize,
}

/// The numbers of INFO.
pub(crate) struct TrackingCounts {
    pub(crate) clients: usize,
    pub(crate) keys: usize,
    pub(crate) items: usize,
    pub(crate) prefixes: usize,
}

impl State {
    /// Forgets a key, and returns who has read it.
    fn forget(&mut self, key: &[u8]) -> Vec<u64> {
        let Some(Readers { place, ids }) = self.readers.remove(key) else { return Vec::new() };
        self.keys.swap_remove(place);
        if let Some(moved) = self.keys.get(place)
            && let Some(readers) = self.readers.get_mut(moved)
        {
            readers.place = place;
        }
        self.item_count -= ids.len();
        ids
    }

    /// Notes that a connection reads a key. Returns whether it was not noted there before.
    fn note(&mut self, key: &[u8], id: u64) -> bool {
        if !self.readers.contains_key(key) {
            let key: Arc<[u8]> = key.into();
            self.readers.insert(key.clone(), Readers { place: self.keys.len(), ids: Vec::new() });
            self.keys.push(key);
        }
        let Some(Readers { ids, .. }) = self.readers.get_mut(key) else { return false };
        if ids.contains(&id) {
            return false;
        }
        if ids.len() >= 16 && ids.len().is_power_of_two() {
            // Those who have left are forgotten as others come.
            let before = ids.len();
            ids.retain(|id| self.trackers.contains_key(id));
            self.item_count -= before - ids.len();
        }
        ids.push(id);
        self.item_count += 1;
        true
    }

    /// Forgets keys by chance until as many are left as may be, and tells those who have read them.
    fn shrink(&mut self, most: usize, shared: &Shared) {
        while most > 0 && self.keys.len() > most {
            let index = self.random.below(self.keys.len() as u64) as usize;
            let key = self.keys[index].to_vec();
            self.tell_readers(&key, 0, None, shared);
        }
    }

    /// Tells those who have read a key that they must not hold it any more. An author that has read the key anew stays
    /// noted, and is sent it only if it has held what was there before.
    fn tell_readers(&mut self, key: &[u8], author: u64, gives_up: Option<bool>, shared: &Shared) {
        let ids = self.forget(key);
        let is_kept = |id: u64| id == author && gives_up == Some(false);
        let invalid: Arc<[Vec<u8>]> = [key.to_vec()].into();
        for tracker in ids.iter().filter(|id| !is_kept(**id)).filter_map(|id| self.trackers.get(id)) {
            if !tracker.wishes.is_broadcast {
                tracker.send(&Some(invalid.clone()), author, shared);
            }
        }
        if gives_up.is_some() && ids.contains(&author) {
            self.note(key, author);
        }
    }

    /// Tells those whose prefixes changed keys have.
    fn broadcast(&self, changed: &[Vec<u8>], author: u64, shared: &Shared) {
        for (prefix, ids) in &self.prefixes {
            let keys: BTreeSet<&Vec<u8>> = changed.iter().filter(|key| key.starts_with(prefix)).collect();
            if keys.is_empty() {
                continue;
            }
            let invalid: Arc<[Vec<u8>]> = keys.into_iter().cloned().collect();
            for tracker in ids.iter().filter_map(|id| self.trackers.get(id)) {
                tracker.send(&Some(invalid.clone()), author, shared);
            }
        }
    }

    fn remove(&mut self, id: u64) {
        let Some(tracker) = self.trackers.remove(&id) else { return };
        tracker.client.details().tracking = None;
        for prefix in &tracker.prefixes {
            if let Some(ids) = self.prefixes.get_mut(prefix) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.prefixes.remove(prefix);
                }
            }
        }
        if self.trackers.is_empty() {
            // Nobody is left who holds anything.
            (self.readers, self.keys, self.item_count) = Default::default();
        }
    }

    /// Adds a connection that tracks, with all its prefixes.
    fn add(&mut self, tracker: Tracker) {
        let id = tracker.client.place.id;
        for prefix in &tracker.prefixes {
            self.prefixes.entry(prefix.clone()).or_default().insert(id);
        }
        let Wishes { redirect, is_broadcast, .. } = tracker.wishes;
        tracker.client.details().tracking = Some(TrackingDetails { redirect, is_broadcast, is_broken: false });
        self.trackers.insert(id, tracker);
    }

    /// States whether commands note what changes. Under the lock, so that an end does not undo a beginning.
    fn note_changes(&self, shared: &Shared) {
        let are_noted = !self.trackers.is_empty() || !self.expected.is_empty();
        shared.databases().notifications().note_changes(are_noted);
    }
}

impl Tracker {
    /// Sends what has changed, unless the tracker has changed it and does not want to know.
    fn send(&self, invalid: &Invalid, author: u64, shared: &Shared) {
        let own = self.client.place;
        if self.wishes.spares_own && author == own.id {
            return;
        }
        let redirect = self.wishes.redirect;
        let is_redirected = redirect != 0;
        let place = if is_redirected { shared.clients.find(redirect).map(|client| client.place) } else { Some(own) };
        match place {
            Some(place) => {
                let invalid = invalid.clone();
                shared.mailbox(place).send(Mail::Invalid { to: place.id, invalid, is_redirected });
            }
            None => {
                if let Some(tracking) = &mut self.client.details().tracking {
                    tracking.is_broken = true;
                }
                shared.mailbox(own).send(Mail::BrokenRedirect { to: own.id, redirect });
            }
        }
    }
}

impl Tracking {
    pub(crate) fn new(most: usize) -> Self {
        Tracking { state: Mutex::default(), most: AtomicUsize::new(most) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a connection track, or track otherwise. Prefixes are added to those that it has.
    pub(crate) fn begin(&self, client: &Arc<Client>, wishes: Wishes, prefixes: &[&[u8]], shared: &Shared) {
        let mut state = self.lock();
        let known = state.trackers.remove(&client.place.id).map(|tracker| tracker.prefixes).unwrap_or_default();
        let prefixes = known.into_iter().chain(prefixes.iter().map(|prefix| prefix.to_vec())).collect();
        state.add(Tracker { client: client.clone(), wishes, prefixes });
        state.note_changes(shared);
    }

    /// States whether a connection may begin to track in a transaction that it has not run yet: what changes meanwhile
    /// is noted as if it did.
    pub(crate) fn expect(&self, id: u64, is_expected: bool, shared: &Shared) {
        let mut state = self.lock();
        if is_expected {
            state.expected.insert(id)
        } else {
            state.expected.remove(&id)
        };
        state.note_changes(shared);
    }

    /// Returns what a connection asks for.
    pub(crate) fn tracker(&self, id: u64) -> Option<Tracker> {
        self.lock().trackers.get(&id).cloned()
    }

    /// Lets a connection track as before. What it holds by then may have been forgotten, so it is sent nil.
    pub(crate) fn restore(&self, id: u64, before: Option<Tracker>, shared: &Shared) {
        let mut state = self.lock();
        state.remove(id);
        if let Some(tracker) = before {
            tracker.send(&None, 0, shared);
            state.add(tracker);
        }
        state.note_changes(shared);
    }

    /// Lets a connection track no more.
    pub(crate) fn end(&self, id: u64, shared: &Shared) {
        let mut state = self.lock();
        state.remove(id);
        state.note_changes(shared);
    }

    /// Notes that a connection is about to read keys.
    pub(crate) fn note(&self, id: u64, keys: &[&[u8]], shared: &Shared) {
        let mut state = self.lock();
        for key in keys {
            state.note(key, id);
        }
        state.shrink(self.most.load(Ordering::Relaxed), shared);
    }

    /// As [`Tracking::note`], for reads within a transaction.
    pub(crate) fn note_within(&self, id: u64, keys: &[&[u8]], rereads: &mut Rereads, shared: &Shared) {
        let mut state = self.lock();
        keys.iter().for_each(|key| rereads.read(key, state.note(key, id)));
        state.shrink(self.most.load(Ordering::Relaxed), shared);
    }

    /// Tells those concerned that keys have changed.
    pub(crate) fn invalidate(&self, changed: &[Vec<u8>], author: u64, rereads: &Rereads, shared: &Shared) {
        if changed.is_empty() {
            return;
        }
        let mut state = self.lock();
        let mut seen = HashSet::new();
        for key in changed {
            // An author that stays noted at a key is sent it once. Others are not noted there any more.
            if rereads.is_empty() || seen.insert(key) {
                state.tell_readers(key, author, rereads.gives_up(key), shared);
            }
        }
        state.broadcast(changed, author, shared);
    }

    /// Tells all connections that track that a database is empty.
    pub(crate) fn flush(&self, shared: &Shared) {
        let mut state = self.lock();
        (state.readers, state.keys, state.item_count) = Default::default();
        // Nobody is spared: no author has this number.
        state.trackers.values().for_each(|tracker| tracker.send(&None, 0, shared));
    }

    /// Returns the prefixes of a connection, and whether it is spared what it changes itself.
    pub(crate) fn of_client(&self, id: u64) -> (Vec<Vec<u8>>, bool) {
        let state = self.lock();
        let tracker = state.trackers.get(&id);
        tracker.map_or_else(Default::default, |tracker| {
            (tracker.prefixes.iter().cloned().collect(), tracker.wishes.spares_own)
        })
    }

    pub(crate) fn counts(&self) -> TrackingCounts {
        let state = self.lock();
        TrackingCounts {
            clients: state.trackers.len(),
            keys: state.keys.len(),
            items: state.item_count,
            prefixes: state.prefixes.len(),
        }
    }

    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    pub(crate) fn set_most(&self, most: usize, shared: &Shared) {
        self.most.store(most, Ordering::Relaxed);
        self.lock().shrink(most, shared);
    }
}

/// What CLIENT LIST shows of a connection that tracks.
#[derive(Clone, Debug)]
pub(crate) struct TrackingDetails {
    pub(crate) redirect: u64,
    pub(crate) is_broadcast: bool,
    /// The connection that hears of changes in its place has left.
    pub(crate) is_broken: bool,
}
