//! The change feed: what each epoch has changed, once it is durable.
//!
//! Writers do nothing for a feed. When an epoch `e` is durable, and before the next one can end, the group-commit
//! thread reads the leaf blocks that `e` has dirtied (`observer`). Each has its states at the ends of `e` and of
//! `e - 1`, and nothing that these name is reused before `e + 2`. Their difference is what `e` has changed
//! (`difference`). It goes to the queue of each feed (`queue`), and no reader of a feed holds that thread up.

mod changed_payload;
mod changes;
mod copies;
mod difference;
mod key_table;
mod names;
mod observer;
mod queue;
mod stats;
mod subscribers;

use crate::database::Database;
use crate::error::{Error, Result};
use crate::operation::Operation;
use crate::snapshot::Snapshot;
pub use changes::{Change, Changes};
pub(crate) use names::{NamedKeyspace, Names};
pub(crate) use observer::FeedObserver;
use queue::Queue;
pub use stats::FeedStats;
use std::sync::Arc;
use std::time::Duration;
pub(crate) use subscribers::Subscribers;

/// The changes of a database, epoch by epoch: [`Database::feed`].
///
/// A feed gives the net effect of every epoch after [`Feed::since`] exactly once, in order, and only once the epoch is
/// durable: no crash takes back what a feed has given. Epochs that change nothing are left out. Writers neither wait
/// for a feed nor do anything for it.
///
/// A feed keeps what its reader has not taken, up to its limit. A reader that is slower than that gets
/// [`Error::Lagged`], and begins anew with [`Database::snapshot_and_feed`].
///
/// A feed is `Send`, and ends when it is dropped. It is no handle: it does not keep the database open or locked. When
/// the last handle has closed the database, the feed gives what is left, and then [`Error::Closed`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use std::time::Duration;
/// let reefs = db.keyspace("reefs")?;
/// let mut feed = db.feed(64 << 20)?;
/// let reader = std::thread::spawn(move || {
///     let mut puts = 0;
///     loop {
///         match feed.next(Duration::from_secs(1)) {
///             Ok(Some(changes)) => puts += changes.put().count(),
///             Ok(None) => {} // nothing for a second
///             Err(holm::Error::Closed { .. }) => return puts,
///             Err(error) => panic!("{error}"),
///         }
///     }
/// });
/// reefs.insert("north", "coral")?;
/// drop((reefs, db)); // closes the database
/// assert_eq!(reader.join().unwrap(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Feed {
    queue: Arc<Queue>,
    subscribers: Arc<Subscribers>,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.subscribers.remove(&self.queue);
    }
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").field("since", &self.since()).finish_non_exhaustive()
    }
}

impl Feed {
    /// Returns the epoch up to which everything is behind the reader: it was there when the feed began, or
    /// [`Feed::next`] has returned it.
    pub fn since(&self) -> u64 {
        self.queue.given()
    }

    /// Takes the changes of the next epoch that has any. Waits for at most `timeout`, and returns `None` if there are
    /// none by then. In [`Buffered`](crate::Durability::Buffered), an epoch comes about one interval after its writes;
    /// in the other modes at the next [`sync`](Database::sync), and after 100 ms at the latest. When `sync` returns,
    /// feeds already have everything that it made durable. O(1) besides the wait.
    ///
    /// # Errors
    /// - [`Lagged`](Error::Lagged): the reader was too slow, and later changes are lost to this feed. Everything before
    ///   them has been returned.
    /// - [`Closed`](Error::Closed): the database was closed, and everything has been returned.
    /// - [`Poisoned`](Error::Poisoned): the database has failed. What the feed has not returned may be durable or not.
    /// - [`Corrupt`](Error::Corrupt): a change could not be read.
    ///
    /// Once `next` has returned an error, it returns the same error again.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # use std::time::Duration;
    /// let reefs = db.keyspace("reefs")?;
    /// db.sync()?;
    /// let mut feed = db.feed(1 << 20)?;
    /// while feed.next(Duration::ZERO)?.is_some() {} // the rest of the epoch in which the feed began
    /// reefs.insert("north", "coral")?;
    /// db.sync()?;
    /// let changes = feed.next(Duration::ZERO)?.expect("synced");
    /// assert_eq!(changes.put().next(), Some(("reefs", &b"north"[..], &b"coral"[..])));
    /// assert_eq!(feed.since(), changes.epoch());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next(&mut self, timeout: Duration) -> Result<Option<Changes>> {
        self.queue.next(timeout)
    }
}

/// Change feeds.
impl Database {
    /// Opens a feed of the changes of all keyspaces, which keeps at most `bytes` bytes of what its reader has not
    /// taken. It begins with the whole epoch that is active now. O(keyspaces). Several epochs should fit: an epoch that
    /// does not fit into `bytes` alone makes the feed lag.
    ///
    /// While any feed is open, the group-commit thread reads what each epoch has changed, once for all feeds.
    ///
    /// A reader that needs the contents as well takes both together: see [`Database::snapshot_and_feed`].
    ///
    /// # Errors
    /// - [`Unsupported`](Error::Unsupported): the design's leaves do not say what an epoch has changed. All that ship
    ///   do.
    /// - [`Poisoned`](Error::Poisoned): the database was closed, or has failed.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let mut feed = db.feed(64 << 20)?;
    /// db.keyspace("reefs")?;
    /// db.sync()?;
    /// let changes = feed.next(std::time::Duration::ZERO)?.expect("synced");
    /// assert!(changes.created().any(|name| name == "reefs"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn feed(&self, bytes: usize) -> Result<Feed> {
        let engine = &self.engine;
        let subscribers = engine.subscribers.clone().ok_or_else(|| Error::Unsupported {
            what: format!(
                "a change feed of the design {:?}: it keeps no states of epochs",
                engine.store.index.design()
            ),
        })?;
        engine.catalog.with_trees(|_| {
            // The epoch cannot end before the feed is among those that want it.
            let operation = Operation::begin_held_to_read(&engine.store)?;
            let since = operation.epoch() - 1;
            let queue = Arc::new(Queue::new(since, engine.catalog.names_at_end_of(since), bytes as u64));
            subscribers.add(queue.clone());
            drop(operation);
            Ok(Feed { queue, subscribers })
        })
    }

    /// Takes a snapshot, and opens a feed that continues it: the snapshot is the database at the end of the epoch
    /// [`Feed::since`], and the feed gives every epoch after that. Copy the snapshot, then apply the changes, and the
    /// copy stands at the end of each epoch in turn. Nothing is missing and nothing comes twice. Ends the active epoch
    /// at once and waits until it is durable. Writers do not wait meanwhile, and neither do other snapshots or the
    /// creation of keyspaces; one call waits for another. A keyspace that is dropped after that epoch stays in the
    /// snapshot, and takes its space until the snapshot is dropped.
    ///
    /// A [`Database::snapshot`] is taken within an epoch and does not join a feed. It may have a pair that was put and
    /// removed within that epoch, and the feed tells neither.
    ///
    /// # Errors
    /// As [`Database::feed`] and [`Database::sync`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use std::collections::BTreeMap;
    /// use std::time::Duration;
    /// let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    ///
    /// let (snapshot, mut feed) = db.snapshot_and_feed(64 << 20)?;
    /// reefs.insert("south", "kelp")?;
    /// reefs.remove("north")?;
    /// db.sync()?;
    ///
    /// let then = snapshot.keyspace("reefs").expect("it existed");
    /// let mut copy = then.iter().map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())))
    ///     .collect::<Result<BTreeMap<_, _>, _>>()?;
    /// assert!(copy.contains_key(&b"north"[..]));
    /// while let Some(changes) = feed.next(Duration::ZERO)? {
    ///     changes.removed().for_each(|(_, key)| drop(copy.remove(key)));
    ///     changes.put().for_each(|(_, key, value)| drop(copy.insert(key.to_vec(), value.to_vec())));
    /// }
    /// assert_eq!(copy.into_iter().collect::<Vec<_>>(), [(b"south".to_vec(), b"kelp".to_vec())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot_and_feed(&self, bytes: usize) -> Result<(Snapshot, Feed)> {
        // One caller at a time: behind others, a feed would gather the changes of all their epochs.
        let names = self.engine.catalog.follow(&self.engine.store);
        // The feed first: the snapshot's epoch may end at once.
        let feed = self.feed(bytes)?;
        let snapshot = Snapshot::between_epochs(&self.engine, &names)?;
        feed.queue.skip_to(snapshot.epoch());
        Ok((snapshot, feed))
    }
}
