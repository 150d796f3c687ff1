//! What feeds have done so far.

/// Change feeds: a part of [`Stats`](crate::Stats).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let feed = db.feed(1 << 20)?;
/// db.keyspace("reefs")?.insert("north", "coral")?;
/// db.sync()?;
/// let feeds = db.stats().feeds;
/// assert!(feeds.open == 1 && feeds.epochs >= 1 && feeds.changes >= 2 && feeds.bytes > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FeedStats {
    /// The number of feeds that want changes.
    pub open: u64,
    /// The number of epochs with changes that were read for feeds.
    pub epochs: u64,
    /// The number of changes in them.
    pub changes: u64,
    /// Bytes of changes that wait for the readers of feeds; what several feeds keep counts for each of them.
    pub bytes: u64,
    /// The number of feeds that fell behind.
    pub lagged: u64,
    /// The time that the group-commit thread has spent on feeds, in nanoseconds.
    pub read_ns: u64,
}
