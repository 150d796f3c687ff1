//! Feeds of changes that clients follow by name, so that a client may come back on another connection.
//!
//! A feed holds what it has given until a reader acknowledges it, by the epoch of its next call. What it holds is
//! bounded: it gives nothing new while so much is not acknowledged, and the store ends a feed that falls behind.

use holm::{Changes, Database, Feed};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
}

impl Followed {
    /// Forgets the epochs up to one, and returns the next ones, at most `most`. Each is durable.
    pub(crate) fn read(&mut self, after: u64, most: usize) -> holm::Result<impl Iterator<Item = &Changes>> {
        self.acknowledged = self.acknowledged.max(after);
        while self.given.pop_front_if(|changes| changes.epoch() <= after).is_some() {}
        while self.given.len() < most
            && let Some(changes) = self.feed.next(Duration::ZERO)?
        {
            self.given.push_back(changes);
        }
        Ok(self.given.iter().take(most))
    }

    /// Returns the epoch that was acknowledged last.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
}

/// The feeds of a server, by name.
#[derive(Default)]
pub(crate) struct Feeds(Mutex<BTreeMap<Vec<u8>, Arc<Mutex<Followed>>>>);

/// Why there is no feed.
pub(crate) enum NoFeed {
    TooMany,
    Store(holm::Error),
}

impl Feeds {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Arc<Mutex<Followed>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let followed = Arc::new(Mutex::new(Followed { feed, given: VecDeque::new(), acknowledged }));
        feeds.insert(name.to_vec(), followed.clone());
        Ok(followed)
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<Arc<Mutex<Followed>>> {
        self.lock().get(name).cloned()
    }

    pub(crate) fn close(&self, name: &[u8]) -> bool {
        self.lock().remove(name).is_some()
    }

    /// Returns the names, and the epoch that each was acknowledged up to.
    pub(crate) fn all(&self) -> Vec<(Vec<u8>, u64)> {
        let epoch = |feed: &Mutex<Followed>| feed.lock().unwrap_or_else(PoisonError::into_inner).acknowledged();
        self.lock().iter().map(|(name, feed)| (name.clone(), epoch(feed))).collect()
    }
}
