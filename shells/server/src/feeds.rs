//! Feeds of changes that clients follow by name, so that a client may come back on another connection.
//!
//! A feed holds what it has given until a reader acknowledges it, by the epoch of its next call. What it holds is
//! bounded: it gives nothing new while so much is not acknowledged, and the store ends a feed that falls behind.
//!
//! A connection may follow a feed: it is sent what comes, by the thread of `followers.rs`, as long as it acknowledges.

use crate::mail::ConnectionPlace;
use holm::{Changes, Database, Feed};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The bytes that the store keeps for a feed.
const MOST_BYTES: usize = 64 << 20;

/// The most feeds of a server.
const MOST_FEEDS: usize = 64;

/// A feed, and what it has given and nobody has acknowledged.
pub(crate) struct Followed {
    feed: Feed,
    given: VecDeque<Changes>,
    acknowledged: u64,
    follower: Option<Follower>,
}

/// A connection that is sent what comes.
#[derive(Clone, Copy)]
pub(crate) struct Follower {
    pub(crate) place: ConnectionPlace,
    /// The last epoch that it was sent.
    sent: u64,
}

/// The most epochs that a follower is sent and has not acknowledged.
const MOST_AHEAD: usize = 1_000;

impl Followed {
    /// Forgets the epochs up to one, and returns the next ones, at most `most`. Each is durable.
    pub(crate) fn read(&mut self, after: u64, most: usize) -> holm::Result<impl Iterator<Item = &Changes>> {
        self.acknowledge(after);
        while self.given.len() < most
            && let Some(changes) = self.feed.next(Duration::ZERO)?
        {
            self.given.push_back(changes);
        }
        Ok(self.given.iter().take(most))
    }

    /// Forgets the epochs up to one.
    pub(crate) fn acknowledge(&mut self, epoch: u64) {
        self.acknowledged = self.acknowledged.max(epoch);
        while self.given.pop_front_if(|changes| changes.epoch() <= epoch).is_some() {}
    }

    /// Lets a connection follow, from behind an epoch on. Returns the one that has followed so far.
    pub(crate) fn follow(&mut self, after: u64, place: ConnectionPlace) -> Option<ConnectionPlace> {
        self.acknowledge(after);
        let before = self.follower.replace(Follower { place, sent: after });
        before.map(|follower| follower.place).filter(|other| *other != place)
    }

    /// Ends the following of a connection.
    pub(crate) fn leave(&mut self, place: ConnectionPlace) -> bool {
        self.follower.take_if(|follower| follower.place == place).is_some()
    }

    pub(crate) fn follower(&self) -> Option<Follower> {
        self.follower
    }

    /// Returns the next epoch that the follower is to be sent; `None` while there is none, or while it has not
    /// acknowledged what it was sent.
    pub(crate) fn next_to_send(&mut self) -> holm::Result<Option<&Changes>> {
        let Some(sent) = self.follower.map(|follower| follower.sent) else { return Ok(None) };
        // The epochs are in order.
        let at = self.given.partition_point(|changes| changes.epoch() <= sent);
        if at >= MOST_AHEAD {
            return Ok(None);
        }
        if at == self.given.len()
            && let Some(changes) = self.feed.next(Duration::ZERO)?
        {
            self.given.push_back(changes);
        }
        let next = self.given.get(at);
        if let (Some(changes), Some(follower)) = (next, &mut self.follower) {
            follower.sent = changes.epoch();
        }
        Ok(next)
    }

    /// Returns the epoch that was acknowledged last.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
}

/// Locks a feed. A panic has left it as it was: each change of it is a single step.
pub(crate) fn lock(feed: &Mutex<Followed>) -> MutexGuard<'_, Followed> {
    feed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The feeds of a server, by name.
#[derive(Default)]
pub(crate) struct Feeds {
    by_name: Mutex<BTreeMap<Vec<u8>, Arc<Mutex<Followed>>>>,
    /// Wakes the thread that sends, once there is a follower.
    begun: Condvar,
}

/// Why there is no feed.
pub(crate) enum NoFeed {
    TooMany,
    Store(holm::Error),
}

impl Feeds {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Arc<Mutex<Followed>>>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the thread that sends that something is different.
    pub(crate) fn notify(&self) {
        drop(self.lock());
        self.begun.notify_all();
    }

    /// Waits for a follower or for the end, and returns the feeds that are followed.
    pub(crate) fn wait_for_followed(&self, is_over: impl Fn() -> bool) -> Vec<(Vec<u8>, Arc<Mutex<Followed>>)> {
        let mut feeds = self.lock();
        while !is_over() {
            let followed = |(_, feed): &(&Vec<u8>, &Arc<Mutex<Followed>>)| lock(feed).follower.is_some();
            let found: Vec<_> =
                feeds.iter().filter(followed).map(|(name, feed)| (name.clone(), feed.clone())).collect();
            if !found.is_empty() {
                return found;
            }
            feeds = self.begun.wait(feeds).unwrap_or_else(PoisonError::into_inner);
        }
        Vec::new()
    }

    /// Returns the feed of a name, which begins now if there was none.
    pub(crate) fn open(&self, name: &[u8], db: &Database) -> Result<Arc<Mutex<Followed>>, NoFeed> {
        let mut feeds = self.lock();
        if let Some(feed) = feeds.get(name) {
            return Ok(feed.clone());
        }
        if feeds.len() >= MOST_FEEDS {
            return Err(NoFeed::TooMany);
        }
        let feed = db.feed(MOST_BYTES).map_err(NoFeed::Store)?;
        let acknowledged = feed.since();
        let followed = Arc::new(Mutex::new(Followed { feed, given: VecDeque::new(), acknowledged, follower: None }));
        feeds.insert(name.to_vec(), followed.clone());
        Ok(followed)
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<Arc<Mutex<Followed>>> {
        self.lock().get(name).cloned()
    }

    /// Ends a feed, and returns it.
    pub(crate) fn close(&self, name: &[u8]) -> Option<Arc<Mutex<Followed>>> {
        self.lock().remove(name)
    }

    /// Returns the names, and the epoch that each was acknowledged up to.
    pub(crate) fn all(&self) -> Vec<(Vec<u8>, u64)> {
        let epoch = |feed: &Mutex<Followed>| lock(feed).acknowledged();
        self.lock().iter().map(|(name, feed)| (name.clone(), epoch(feed))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Followed, MOST_AHEAD};
    use crate::mail::ConnectionPlace;
    use holm::{Database, Error, Keyspace};
    use std::collections::VecDeque;

    const PLACE: ConnectionPlace = ConnectionPlace { worker: 0, id: 1 };

    fn feed(db: &Database, bytes: usize) -> Followed {
        let feed = db.feed(bytes).unwrap();
        let acknowledged = feed.since();
        Followed { feed, given: VecDeque::new(), acknowledged, follower: None }
    }

    /// Changes something in this many epochs, each of which is durable then.
    fn pass(db: &Database, keyspace: &Keyspace, epochs: usize, bytes: usize) {
        for number in 0..epochs {
            keyspace.insert("key", [&number.to_be_bytes()[..], &vec![0; bytes]].concat()).unwrap();
            db.sync().unwrap();
        }
    }

    /// Takes what the follower is to be sent.
    fn sent(followed: &mut Followed) -> holm::Result<Vec<u64>> {
        let mut epochs = Vec::new();
        while let Some(changes) = followed.next_to_send()? {
            epochs.push(changes.epoch());
        }
        Ok(epochs)
    }

    #[test]
    fn a_follower_is_at_most_a_thousand_epochs_ahead_of_what_it_has_acknowledged() {
        let db = Database::builder().in_memory().unwrap();
        let keyspace = db.keyspace("reefs").unwrap();
        let mut followed = feed(&db, 16 << 20);
        followed.follow(followed.acknowledged(), PLACE);
        pass(&db, &keyspace, MOST_AHEAD + 300, 0);
        let first = sent(&mut followed).unwrap();
        assert_eq!(first.len(), MOST_AHEAD);
        assert!(sent(&mut followed).unwrap().is_empty());
        // What it has taken note of makes room for as much.
        followed.acknowledge(first[99]);
        let second = sent(&mut followed).unwrap();
        assert_eq!(second.len(), 100);
        assert!(second[0] > first[MOST_AHEAD - 1] && second.is_sorted());
        // After a lost connection, it goes on behind what it knows, and what it was sent and did not know comes again.
        followed.follow(first[499], PLACE);
        let again = sent(&mut followed).unwrap();
        assert_eq!(again[..500], first[500..]);
        assert_eq!(again[500..600], second[..]);
        assert_eq!(again.len(), 800, "all that is left");
        followed.acknowledge(again[799]);
        pass(&db, &keyspace, 1, 0);
        assert_eq!(sent(&mut followed).unwrap().len(), 1);
    }

    #[test]
    fn a_follower_that_lags_behind_the_window_gets_an_error_and_begins_anew() {
        let db = Database::builder().in_memory().unwrap();
        let keyspace = db.keyspace("reefs").unwrap();
        let mut followed = feed(&db, 64 << 10);
        followed.follow(followed.acknowledged(), PLACE);
        for _ in 0..MOST_AHEAD / 100 {
            pass(&db, &keyspace, 100, 0);
            assert_eq!(sent(&mut followed).unwrap().len(), 100);
        }
        // The window is full, so the store keeps what comes, up to its limit of bytes.
        pass(&db, &keyspace, 20, 16 << 10);
        assert!(sent(&mut followed).unwrap().is_empty());
        let known = followed.given.back().unwrap().epoch();
        followed.acknowledge(known);
        let ended = loop {
            match followed.next_to_send() {
                Ok(changes) => assert!(changes.is_some(), "the feed has ended"),
                Err(error) => break error,
            }
        };
        assert!(matches!(ended, Error::Lagged { epoch, .. } if epoch >= known), "{ended}");
        let mut followed = feed(&db, 64 << 10);
        followed.follow(followed.acknowledged(), PLACE);
        pass(&db, &keyspace, 3, 0);
        assert_eq!(sent(&mut followed).unwrap().len(), 3);
    }
}
