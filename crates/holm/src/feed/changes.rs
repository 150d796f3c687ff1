//! The changes of one epoch.

use super::names::NamedKeyspace;
use crate::expiry::{Deadline, Expiry};
use crate::keyspace_options::KeyspaceOptions;
use std::fmt;
use std::sync::Arc;

/// The net effect of one epoch: what is different at its end from what was at its beginning.
///
/// Each key is there at most once, in no particular order. A key that was put several times has its last value. A key
/// that was put and removed within the epoch is not there. A batch or transaction is always whole in one epoch.
///
/// Applied in the order of [`Changes::iter`], as one batch or transaction, a replica that was at the end of the epoch
/// before is at the end of this one. All feeds share one copy: cloning is cheap.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use std::time::Duration;
/// let reefs = db.keyspace("reefs")?;
/// db.sync()?;
/// let mut feed = db.feed(1 << 20)?;
/// db.batch().insert(&reefs, "north", "coral").insert(&reefs, "south", "kelp").commit()?;
/// db.sync()?;
/// let mut keys = vec![];
/// while let Some(changes) = feed.next(Duration::ZERO)? {
///     keys.extend(changes.put().map(|(_, key, _)| key.to_vec()));
/// }
/// keys.sort();
/// assert!(keys.ends_with(&[b"north".to_vec(), b"south".to_vec()]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Changes(Arc<EpochChanges>);

/// One change of an epoch: see [`Changes::iter`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use holm::Change;
/// use std::time::Duration;
/// let reefs = db.keyspace("reefs")?;
/// db.sync()?;
/// let mut feed = db.feed(1 << 20)?;
/// while feed.next(Duration::ZERO)?.is_some() {} // the rest of the epoch in which the feed began
/// reefs.insert("north", "coral")?;
/// db.sync()?;
/// for change in feed.next(Duration::ZERO)?.expect("synced").iter() {
///     match change {
///         Change::Put { keyspace, key, .. } => assert_eq!((keyspace, key), ("reefs", &b"north"[..])),
///         other => panic!("{other:?}"),
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change<'a> {
    /// A keyspace is gone with all its pairs.
    Drop {
        /// Its name.
        keyspace: &'a str,
    },
    /// A keyspace is new, and empty but for what the other changes put into it.
    #[non_exhaustive]
    Create {
        /// Its name.
        keyspace: &'a str,
        /// What it was created with.
        options: KeyspaceOptions,
    },
    /// A key is gone.
    Remove {
        /// The keyspace.
        keyspace: &'a str,
        /// The key.
        key: &'a [u8],
    },
    /// A key is new, or has another value or the same value anew.
    #[non_exhaustive]
    Put {
        /// The keyspace.
        keyspace: &'a str,
        /// The key.
        key: &'a [u8],
        /// The value.
        value: &'a [u8],
        /// When the key expires. The feed also has keys that have expired meanwhile; a replica passes over them as the
        /// database does. What the sweeper removes comes as a removal.
        expiry: Expiry,
    },
}

/// A key, and its value if it was put.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Where the key starts in the bytes; the value follows it.
    pub(super) start: usize,
    pub(super) key: u32,
    /// Bytes between key and value that are not the value's.
    pub(super) prefix: u32,
    pub(super) value: u32,
    /// The index of the keyspace's name.
    pub(super) keyspace: u32,
}

/// What an epoch has changed, with all keys and values in one buffer.
#[derive(Default)]
pub(super) struct EpochChanges {
    pub(super) epoch: u64,
    pub(super) mark: Option<u64>,
    pub(super) names: Vec<Arc<str>>,
    pub(super) dropped: Vec<Arc<str>>,
    pub(super) created: Vec<NamedKeyspace>,
    pub(super) removed: Vec<Entry>,
    pub(super) put: Vec<Entry>,
    pub(super) bytes: Vec<u8>,
}

impl EpochChanges {
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0 && self.mark.is_none()
    }

    pub(super) fn len(&self) -> usize {
        self.dropped.len() + self.created.len() + self.removed.len() + self.put.len()
    }

    pub(super) fn key(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start..][..entry.key as usize]
    }

    fn value(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.start + (entry.key + entry.prefix) as usize..][..entry.value as usize]
    }

    fn expiry(&self, entry: &Entry) -> Expiry {
        let deadline = self.bytes[entry.start + entry.key as usize..][..entry.prefix as usize].first_chunk();
        deadline.map_or(Expiry::Never, |bytes| Deadline::from_bytes(*bytes).to_expiry())
    }

    fn name(&self, entry: &Entry) -> &str {
        &self.names[entry.keyspace as usize]
    }

    /// Bytes of memory, names apart.
    pub(super) fn memory(&self) -> u64 {
        let names = self.dropped.len() + self.created.len() + self.names.len();
        let entries = (self.removed.len() + self.put.len()) * size_of::<Entry>();
        (size_of::<Self>() + self.bytes.len() + entries + names * size_of::<NamedKeyspace>()) as u64
    }

    pub(super) fn share(mut self) -> Changes {
        self.bytes.shrink_to_fit();
        self.removed.shrink_to_fit();
        self.put.shrink_to_fit();
        Changes(Arc::new(self))
    }
}

impl Changes {
    /// Returns the epoch. Epochs rise from one call of [`Feed::next`](crate::Feed::next) to the next one; an epoch that
    /// changed nothing is left out.
    pub fn epoch(&self) -> u64 {
        self.0.epoch
    }

    /// Returns the number of changes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no key and no keyspace has changed: then only the mark has.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of memory that the changes occupy. They count against the limit of a feed that has not given
    /// them yet.
    pub fn memory_bytes(&self) -> u64 {
        self.0.memory()
    }

    /// Returns the mark of the database at the end of the epoch, if the epoch has changed it: the number that a
    /// replicated state machine stores together with its writes.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use std::time::Duration;
    /// db.sync()?;
    /// let mut feed = db.feed(1 << 20)?;
    /// while feed.next(Duration::ZERO)?.is_some() {} // the rest of the epoch in which the feed began
    /// db.batch().set_mark(7).commit()?;
    /// db.sync()?;
    /// assert_eq!(feed.next(Duration::ZERO)?.expect("synced").mark(), Some(7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mark(&self) -> Option<u64> {
        self.0.mark
    }

    /// Returns the names of the keyspaces that were dropped. Their pairs are not listed.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use std::time::Duration;
    /// db.keyspace("reefs")?;
    /// db.sync()?;
    /// let mut feed = db.feed(1 << 20)?;
    /// while feed.next(Duration::ZERO)?.is_some() {} // the rest of the epoch in which the feed began
    /// db.drop_keyspace("reefs")?;
    /// db.sync()?;
    /// assert_eq!(feed.next(Duration::ZERO)?.expect("synced").dropped().collect::<Vec<_>>(), ["reefs"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dropped(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.dropped.iter().map(|name| &**name)
    }

    /// Returns the names of the keyspaces that were created. A name that was also dropped belongs to another keyspace
    /// from here on.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use std::time::Duration;
    /// db.sync()?;
    /// let mut feed = db.feed(1 << 20)?;
    /// while feed.next(Duration::ZERO)?.is_some() {} // the rest of the epoch in which the feed began
    /// db.keyspace("reefs")?;
    /// db.sync()?;
    /// assert_eq!(feed.next(Duration::ZERO)?.expect("synced").created().collect::<Vec<_>>(), ["reefs"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn created(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.created.iter().map(|keyspace| &*keyspace.name)
    }

    /// Returns the keys that are gone, with their keyspaces.
    pub fn removed(&self) -> impl ExactSizeIterator<Item = (&str, &[u8])> {
        self.0.removed.iter().map(|entry| (self.0.name(entry), self.0.key(entry)))
    }

    /// Returns the keys that are new or have new values, with their keyspaces.
    pub fn put(&self) -> impl ExactSizeIterator<Item = (&str, &[u8], &[u8])> {
        self.0.put.iter().map(|entry| (self.0.name(entry), self.0.key(entry), self.0.value(entry)))
    }

    /// Returns all changes in the order in which a replica applies them: drops, creations, removals, puts.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let copy = holm::Database::open(folder.path().join("copy.holm"))?;
    /// use holm::Change;
    /// use std::time::Duration;
    ///
    /// let mut feed = db.feed(1 << 20)?;
    /// db.keyspace("reefs")?.insert("north", "coral")?;
    /// db.sync()?;
    /// while let Some(changes) = feed.next(Duration::ZERO)? {
    ///     let mut batch = copy.batch();
    ///     for change in changes.iter() {
    ///         batch = match change {
    ///             Change::Drop { keyspace } => { copy.drop_keyspace(keyspace)?; batch }
    ///             Change::Create { keyspace, options, .. } => { copy.keyspace_with(keyspace, &options)?; batch }
    ///             Change::Remove { keyspace, key } => batch.remove(&copy.keyspace(keyspace)?, key),
    ///             Change::Put { keyspace, key, value, .. } => batch.insert(&copy.keyspace(keyspace)?, key, value),
    ///             _ => batch,
    ///         };
    ///     }
    ///     batch.commit()?;
    /// }
    /// assert_eq!(copy.keyspace("reefs")?.get("north")?.as_deref(), Some(&b"coral"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = Change<'_>> {
        (0..self.len()).map_while(|index| self.get(index))
    }

    /// Returns one change, by its index in the order of [`Changes::iter`]; `None` from [`Changes::len`] on. O(1).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # use std::time::Duration;
    /// let mut feed = db.feed(1 << 20)?;
    /// db.keyspace("reefs")?;
    /// db.sync()?;
    /// let changes = feed.next(Duration::ZERO)?.expect("synced");
    /// let last = changes.get(changes.len() - 1);
    /// assert!(matches!(last, Some(holm::Change::Create { keyspace: "reefs", .. })));
    /// assert_eq!(changes.get(changes.len()), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, mut index: usize) -> Option<Change<'_>> {
        let EpochChanges { dropped, created, removed, put, .. } = &*self.0;
        if let Some(keyspace) = dropped.get(index) {
            return Some(Change::Drop { keyspace });
        }
        index -= dropped.len();
        if let Some(NamedKeyspace { name, options }) = created.get(index) {
            return Some(Change::Create { keyspace: name, options: *options });
        }
        index -= created.len();
        if let Some(entry) = removed.get(index) {
            return Some(Change::Remove { keyspace: self.0.name(entry), key: self.0.key(entry) });
        }
        let entry = put.get(index - removed.len())?;
        let (keyspace, expiry) = (self.0.name(entry), self.0.expiry(entry));
        Some(Change::Put { keyspace, key: self.0.key(entry), value: self.0.value(entry), expiry })
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (removed, put) = (self.0.removed.len(), self.0.put.len());
        let mut changes = f.debug_struct("Changes");
        changes.field("epoch", &self.0.epoch).field("dropped", &self.0.dropped).field("created", &self.0.created.len());
        changes.field("removed", &removed).field("put", &put).field("mark", &self.0.mark).finish_non_exhaustive()
    }
}
