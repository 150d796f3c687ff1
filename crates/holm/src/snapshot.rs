//! Snapshots: the database as it was at one instant, for as long as a handle lives.
//!
//! A snapshot is an open generation, the keyspaces at its instant, and the time of the day then.

use crate::catalog::FollowedNames;
use crate::engine::{Engine, Reader};
use crate::error::Result;
use crate::expiry::{Deadline, Expiry, Millis, ReadView};
use crate::generation::OpenGeneration;
use crate::iter::Iter;
use crate::kept_keyspaces::KeptKeyspaces;
use crate::keyspace_options::KeyspaceOptions;
use crate::keyspace_tree::KeyspaceTree;
use crate::mark::{self, MARK};
use crate::record::{self, Copied, Source};
use crate::slice::Slice;
use crate::store::Store;
use holm_medium::sync::Mutex;
use std::ops::{Deref, RangeBounds};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

/// The database as it was at one instant: [`Database::snapshot`](crate::Database::snapshot).
///
/// A snapshot is owned, `Send + Sync`, cheap to clone, and has no lifetime. It can live for long; writers do not wait
/// for it. While it is open, the first change of each leaf copies the leaf's pairs, some 330 bytes for seventeen pairs,
/// and records that are replaced keep their space once. If all open snapshots together keep more than
/// [`Builder::snapshot_bytes`](crate::Builder::snapshot_bytes), the oldest ends, and its reads return
/// [`Error::Ended`](crate::Error::Ended). A keyspace that is dropped is gone for snapshots, too, except for a
/// [backup](Snapshot::write_to) that is being written, and for a snapshot of
/// [`Database::snapshot_and_feed`](crate::Database::snapshot_and_feed), whose feed says when it was dropped.
///
/// A snapshot keeps the database open, as other handles do. Dropping its last clone takes time in proportion to what
/// it lets go.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let reefs = db.keyspace("reefs")?;
/// reefs.insert("north", "coral")?;
/// let snapshot = db.snapshot()?;
/// reefs.insert("north", "sand")?;
/// reefs.insert("south", "kelp")?;
///
/// let then = snapshot.keyspace("reefs").expect("it existed");
/// assert_eq!(then.get("north")?.as_deref(), Some(&b"coral"[..]));
/// assert_eq!(then.iter().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Snapshot(Arc<SnapshotState>);

/// What the clones of a snapshot share.
struct SnapshotState {
    generation: OpenGeneration,
    /// The time of the snapshot, by which keys have expired.
    now: Millis,
    /// Let go of after the generation has ended.
    trees: Trees,
}

/// The keyspaces at a snapshot's instant, in the order of their names.
enum Trees {
    /// One that is dropped later is gone.
    Named(Vec<Arc<KeyspaceTree>>),
    /// One that is dropped later stays.
    Kept(KeptKeyspaces),
}

impl Deref for Trees {
    type Target = [Arc<KeyspaceTree>];

    fn deref(&self) -> &[Arc<KeyspaceTree>] {
        match self {
            Trees::Named(trees) => trees,
            Trees::Kept(trees) => trees,
        }
    }
}

/// A snapshot that this reference does not keep open.
#[derive(Default)]
pub(crate) struct RecentSnapshot(Mutex<Weak<SnapshotState>>);

impl RecentSnapshot {
    /// Returns the snapshot if it is open and not older than `age`; otherwise takes one. Of several callers at once,
    /// one takes a snapshot for all.
    pub(crate) fn within(&self, engine: &Arc<Engine>, age: Duration) -> Result<Snapshot> {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fit = |snapshot: &Snapshot| snapshot.check_not_ended().is_ok() && snapshot.0.generation.age() <= age;
        if let Some(snapshot) = recent.upgrade().map(Snapshot).filter(is_fit) {
            return Ok(snapshot);
        }
        let snapshot = Snapshot::of(engine)?;
        *recent = Arc::downgrade(&snapshot.0);
        Ok(snapshot)
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("epoch", &self.epoch()).finish_non_exhaustive()
    }
}

impl Snapshot {
    pub(crate) fn of(engine: &Arc<Engine>) -> Result<Self> {
        Ok(Snapshot::of_and(engine, |_| ())?.0)
    }

    /// Takes a snapshot, and calls `beside` with its keyspaces. None is created or dropped in between.
    pub(crate) fn of_and<T>(engine: &Arc<Engine>, beside: impl FnOnce(&[Arc<KeyspaceTree>]) -> T) -> Result<(Self, T)> {
        let take = |trees: Vec<_>| (beside(&trees), OpenGeneration::begin(engine), trees);
        let (beside, generation, trees) = engine.catalog.with_trees(take);
        engine.store.clock().refuse_if_ended()?;
        let snapshot = Snapshot::new(generation?, Trees::Named(trees));
        engine.store.wait_stable(snapshot.epoch())?;
        Ok((snapshot, beside))
    }

    fn new(generation: OpenGeneration, trees: Trees) -> Self {
        // After the generation has begun: whatever a sweep has removed by then had expired by this time.
        let now = generation.store().wall_clock.now();
        Snapshot(Arc::new(SnapshotState { generation, now, trees }))
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        self.generation().engine()
    }

    /// The keyspaces at its instant, in the order of their names.
    pub(crate) fn trees(&self) -> &[Arc<KeyspaceTree>] {
        &self.0.trees
    }

    /// Takes a snapshot at the end of an epoch, once that is durable: it has everything of [`Snapshot::epoch`] and
    /// nothing of the next epoch. Keyspaces are created and dropped meanwhile: it holds no lock that these need. The
    /// names are followed since before the epoch can end: a keyspace that is dropped in the next one is there at the
    /// end of this one. It keeps its keyspaces.
    pub(crate) fn between_epochs(engine: &Arc<Engine>, names: &FollowedNames<'_>) -> Result<Self> {
        let generation = OpenGeneration::begin_between_epochs(engine)?;
        let kept = KeptKeyspaces::of_kept(engine, names.at_end_of(generation.epoch()));
        Ok(Snapshot::new(generation, Trees::Kept(kept)))
    }

    /// Refuses a keyspace whose leaves may belong to another one by now, or that has a damaged leaf.
    pub(crate) fn check(&self, tree: &KeyspaceTree) -> Result<()> {
        match self.0.trees {
            Trees::Named(_) => tree.check_not_dropped(),
            Trees::Kept(_) => tree.check_sound(),
        }
    }

    pub(crate) fn generation(&self) -> &OpenGeneration {
        &self.0.generation
    }

    pub(crate) fn store(&self) -> &Store {
        self.generation().store()
    }

    /// Returns what the snapshot sees of a keyspace's records.
    pub(crate) fn view(&self, tree: &KeyspaceTree) -> ReadView {
        tree.format.view(|| self.0.now)
    }

    pub(crate) fn check_not_ended(&self) -> Result<()> {
        self.generation().check_not_ended()
    }

    /// Returns the epoch in which the snapshot was taken. Everything in it is durable once this epoch is. The snapshot
    /// has a part of this epoch; one of [`Database::snapshot_and_feed`](crate::Database::snapshot_and_feed) has all of
    /// it.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let snapshot = db.snapshot()?;
    /// db.sync()?;
    /// assert!(db.stats().epochs.durable >= snapshot.epoch());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn epoch(&self) -> u64 {
        self.generation().epoch()
    }

    /// Returns the mark as it was: see [`Database::mark`](crate::Database::mark).
    ///
    /// # Errors
    /// [`Ended`](crate::Error::Ended), and otherwise as [`Keyspace::get`](crate::Keyspace::get).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// db.batch().set_mark(7).commit()?;
    /// let snapshot = db.snapshot()?;
    /// db.batch().set_mark(8).commit()?;
    /// assert_eq!((snapshot.mark()?, db.mark()?), (Some(7), Some(8)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mark(&self) -> Result<Option<u64>> {
        let value = self.get(self.engine().catalog.own(), MARK, record::copy_value)?;
        value.map(|value| mark::decode(self.store(), &value)).transpose()
    }

    fn get<T>(
        &self,
        tree: &KeyspaceTree,
        key: &[u8],
        copy: impl Fn(Source<'_>, u64, ReadView) -> Copied<T>,
    ) -> Result<Option<T>> {
        Ok(self.generation().get((tree, key, self.view(tree)), || self.check(tree), copy)?.value)
    }

    /// Returns a keyspace as it was; `None` if it did not exist.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let snapshot = db.snapshot()?;
    /// db.keyspace("reefs")?.insert("north", "coral")?;
    /// assert!(snapshot.keyspace("reefs").is_none() && snapshot.keyspace("default").is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keyspace(&self, name: &str) -> Option<SnapshotKeyspace> {
        let tree = self.0.trees.iter().find(|tree| tree.name == name)?.clone();
        Some(SnapshotKeyspace { snapshot: self.clone(), tree })
    }

    /// Returns the names of the keyspaces as they were, in ascending order.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let snapshot = db.snapshot()?;
    /// db.keyspace("reefs")?;
    /// assert_eq!(snapshot.keyspaces(), ["default"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keyspaces(&self) -> Vec<String> {
        self.0.trees.iter().map(|tree| tree.name.clone()).collect()
    }
}

/// A keyspace of a [`Snapshot`]: cheap to clone, `Send + Sync`, and it keeps the snapshot open.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let depths = db.keyspace("depths")?;
/// (0..100u32).try_for_each(|depth| depths.insert(depth.to_be_bytes(), ""))?;
/// let then = db.snapshot()?.keyspace("depths").expect("it exists");
/// (0..50u32).try_for_each(|depth| depths.remove(depth.to_be_bytes()).map(drop))?;
/// assert_eq!((then.len()?, depths.len()?), (100, 50));
/// assert_eq!(then.range(..10u32.to_be_bytes()).rev().count(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SnapshotKeyspace {
    snapshot: Snapshot,
    tree: Arc<KeyspaceTree>,
}

impl std::fmt::Debug for SnapshotKeyspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SnapshotKeyspace").field("name", &self.tree.name).finish_non_exhaustive()
    }
}

/// Reads. An iterator's items are errors where [`SnapshotKeyspace::get`] returns one.
impl SnapshotKeyspace {
    /// Returns the keyspace's name.
    pub fn name(&self) -> &str {
        &self.tree.name
    }

    /// Returns the options that the keyspace was created with.
    pub fn options(&self) -> KeyspaceOptions {
        self.tree.options
    }

    /// Returns when a key expires, as [`Keyspace::expiry`](crate::Keyspace::expiry).
    ///
    /// # Errors
    /// As [`SnapshotKeyspace::get`]; [`Invalid`](crate::Error::Invalid) in a keyspace without expiry.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// use holm::{Expiry, KeyspaceOptions};
    /// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    /// tides.insert("north", "high")?;
    /// let then = db.snapshot()?.keyspace("tides").expect("it exists");
    /// tides.remove("north")?;
    /// assert_eq!(then.expiry("north")?, Some(Expiry::Never));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expiry(&self, key: impl AsRef<[u8]>) -> Result<Option<Expiry>> {
        self.tree.check_expires()?;
        Ok(self.snapshot.get(&self.tree, key.as_ref(), record::copy_deadline)?.map(Deadline::to_expiry))
    }

    /// Returns the value that a key had, or `None` if it was absent. O(log n).
    ///
    /// # Errors
    /// [`Ended`](crate::Error::Ended): the snapshot has ended. [`Dropped`](crate::Error::Dropped): the keyspace was
    /// dropped, and the snapshot does not keep it. Otherwise as [`Keyspace::get`](crate::Keyspace::get).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let then = db.snapshot()?.keyspace("reefs").expect("it exists");
    /// reefs.insert("north", "sand")?;
    /// assert_eq!(then.get("north")?.as_deref(), Some(&b"coral"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        self.snapshot.get(&self.tree, key.as_ref(), record::copy_value)
    }

    /// Returns whether a key was present.
    ///
    /// # Errors
    /// As [`SnapshotKeyspace::get`].
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.get(key)?.is_some())
    }

    fn reader(&self) -> Reader {
        Reader::Snapshot(self.snapshot.clone())
    }

    /// Iterates over the pairs of a range as they were, from either end.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// ["east", "north", "south"].iter().try_for_each(|name| reefs.insert(name, "coral"))?;
    /// let then = db.snapshot()?.keyspace("reefs").expect("it exists");
    /// reefs.clear()?;
    /// let (greatest, _) = then.range("f".."t").next_back().expect("two")?;
    /// assert_eq!(&*greatest, b"south");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Iter {
        Iter::new(self.reader(), self.tree.clone(), range)
    }

    /// Iterates over all pairs as they were.
    pub fn iter(&self) -> Iter {
        self.range::<&[u8]>(..)
    }

    /// Iterates over the pairs whose keys begin with a prefix, as they were.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// ["north/1", "north/2", "south/1"].iter().try_for_each(|name| reefs.insert(name, "coral"))?;
    /// assert_eq!(db.snapshot()?.keyspace("reefs").expect("it exists").prefix("north/").count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Iter {
        Iter::with_prefix(self.reader(), self.tree.clone(), prefix.as_ref())
    }

    /// Returns the pair that had the least key; `None` if the keyspace was empty.
    ///
    /// # Errors
    /// As [`SnapshotKeyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// ["north", "east"].iter().try_for_each(|name| reefs.insert(name, "coral"))?;
    /// let then = db.snapshot()?.keyspace("reefs").expect("it exists");
    /// reefs.pop_first()?;
    /// assert_eq!(then.first()?.map(|(key, _)| key.to_vec()), Some(b"east".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn first(&self) -> Result<Option<(Slice, Slice)>> {
        self.iter().limit(1).next().transpose()
    }

    /// Returns the pair that had the greatest key; `None` if the keyspace was empty.
    ///
    /// # Errors
    /// As [`SnapshotKeyspace::get`].
    pub fn last(&self) -> Result<Option<(Slice, Slice)>> {
        self.iter().limit(1).next_back().transpose()
    }

    /// Counts the pairs. Exact, and O(n).
    ///
    /// # Errors
    /// As [`SnapshotKeyspace::get`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let then = db.snapshot()?.keyspace("reefs").expect("it exists");
    /// reefs.insert("south", "kelp")?;
    /// assert_eq!((then.len()?, reefs.len()?), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> Result<u64> {
        self.iter().count_pairs()
    }

    /// Returns whether the keyspace was empty.
    ///
    /// # Errors
    /// As [`SnapshotKeyspace::get`].
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.first()?.is_none())
    }
}
