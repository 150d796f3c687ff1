//! What a store holds of a tree: object safe and coarse. The one dynamic door.
//!
//! A call through it costs five to nine nanoseconds and the overlap of consecutive operations, so it is crossed once
//! per operation, and once per group by `get_many`; never between a leaf and its slots.

use crate::audit::Audit;
use crate::keys::Keys;
use crate::latch::{Latch, Version};
use crate::leaf::{Capabilities, Pairs, RecoveryPoint, Replaced};
use crate::sharded_counter::ShardedCounter;
use crate::snapshot::Snapshot;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use holm_medium::{Epoch, Guard, Logged, MediumError, Result};

/// The top of one keyspace's tree.
pub struct TreeRoot {
    keyspace: u32,
    pub(crate) latch: Latch,
    /// Level in the upper half, node number in the lower.
    pub(crate) top: AtomicU64,
    pub(crate) pairs: ShardedCounter,
    /// How often the levels above the leaves have been made anew.
    pub(crate) level_rebuilds: AtomicU64,
    dropped: AtomicBool,
}

impl TreeRoot {
    pub(crate) fn new(keyspace: u32, level: u32, number: u32, pairs: u64) -> Self {
        TreeRoot {
            keyspace,
            latch: Latch::default(),
            top: AtomicU64::new(u64::from(level) << 32 | u64::from(number)),
            pairs: ShardedCounter::of(pairs),
            level_rebuilds: AtomicU64::new(0),
            dropped: AtomicBool::new(false),
        }
    }

    /// The keyspace it is the root of.
    pub fn keyspace(&self) -> u32 {
        self.keyspace
    }

    /// Says that the tree is going to be given up: before the wait for the epoch in which somebody may not know it yet.
    pub fn mark_dropped(&self) {
        self.dropped.store(true, Ordering::SeqCst);
    }

    /// Whether that was said. A writer asks once it has pinned an epoch, and again each time that it has repinned it:
    /// else the epoch that is waited for ends, and he is on his way still, into blocks that are somebody else's. A
    /// reader asks once it knows its answer, and wherever it would look again: what it finds may be of other trees, and
    /// in no order.
    #[inline]
    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::SeqCst)
    }

    /// For a writer who goes on under another label.
    pub(crate) fn repin(&self, guard: &mut Guard<'_>) -> Result<()> {
        guard.repin()?;
        let what = "writing to a tree that is given up";
        if self.is_dropped() { Err(MediumError::Unsupported { what }) } else { Ok(()) }
    }

    /// Pairs now. O(threads that ever wrote to it); exact while nobody writes.
    pub fn pairs(&self) -> u64 {
        self.pairs.sum()
    }

    /// How often the levels above the leaves have been made anew since they were first made, in designs that do so.
    pub fn level_rebuilds(&self) -> u64 {
        self.level_rebuilds.load(Ordering::Relaxed)
    }
}

/// When something was seen: enough to ask later whether it still stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeafVersion {
    pub(crate) leaf: u32,
    /// The leaf parent whose lock array the version is of; zero where leaves have latches of their own.
    pub(crate) leaf_parent: u32,
    pub(crate) version: Version,
}

impl LeafVersion {
    /// The number of the leaf that was looked at.
    pub fn leaf(self) -> u32 {
        self.leaf
    }
}

/// The answer of a leaf, and when it gave it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lookup {
    /// The payload, if the key is there.
    pub payload: Option<u64>,
    /// When it was seen.
    pub leaf_version: LeafVersion,
    /// The latest epoch in which the leaf had changed: what was seen survives once that epoch is durable.
    pub stamp: Epoch,
}

/// Which leaf to look at.
pub enum SeekTarget<'a, K: Keys> {
    /// The one whose range holds the search key.
    Holding(K::SearchKey<'a>),
    /// The one that holds the greatest keys below the search key.
    Below(K::SearchKey<'a>),
    /// The last one.
    Last,
}

/// The pairs of one leaf, copied out whole at one instant.
#[derive(Default)]
pub struct LeafCopy {
    /// In order.
    pub pairs: Pairs,
    /// Bytes that the pairs' heads leave out.
    pub skip: usize,
    /// When they were seen.
    pub leaf_version: LeafVersion,
    /// As in [`Lookup`].
    pub stamp: Epoch,
}

/// One leaf, and where it lies.
pub struct LeafCursor<K: Keys> {
    pub(crate) current: LeafCopy,
    /// Where a scan goes on: the end of the leaf's range or, going backwards, its start; `None`: that was the last
    /// leaf.
    pub edge: Option<K::Separator>,
    /// The leaf that comes next, where it was looked at already: what to fetch meanwhile. Without pairs otherwise.
    pub ahead: LeafCopy,
    /// Whether this leaf was the one ahead, when the cursor before was taken.
    pub was_ahead: bool,
}

impl<K: Keys> Default for LeafCursor<K> {
    fn default() -> Self {
        LeafCursor { current: LeafCopy::default(), edge: None, ahead: LeafCopy::default(), was_ahead: false }
    }
}

impl<K: Keys> LeafCursor<K> {
    /// Forgets what was seen and keeps the room: before a cursor of another tree, whose leaves have the same numbers.
    pub fn reset(&mut self) {
        (self.current.leaf_version, self.ahead.leaf_version, self.edge) =
            (LeafVersion::default(), LeafVersion::default(), None);
    }
}

impl<K: Keys> std::ops::Deref for LeafCursor<K> {
    type Target = LeafCopy;
    fn deref(&self) -> &LeafCopy {
        &self.current
    }
}

/// A word to be stored under the leaf's latch, after the commit word: how far a batch has come.
pub type BatchProgress = Option<(u64, u64)>;

/// What a rebuild found.
#[derive(Default)]
pub struct Rebuilt {
    /// A root for each keyspace that has a leaf, in ascending order of keyspace.
    pub roots: Vec<TreeRoot>,
    /// The latest epoch that any leaf carries.
    pub latest: Epoch,
    /// Leaves that are in use.
    pub leaves: u64,
    /// Bytes of records that are reached.
    pub record_bytes: u64,
    /// Of the epochs from the one that the rebuild is of on, the first and the last in which leaves were found to have
    /// changed, before any recovery point, for designs that know.
    pub after: Option<(Epoch, Epoch)>,
}

/// An ordered tree from search keys to payloads, over some medium, of some design.
pub trait Index<K: Keys>: Send + Sync {
    /// The design's name.
    fn design(&self) -> &'static str;
    /// What it assumes and offers.
    fn capabilities(&self) -> Capabilities;

    /// The payload of a key. Never waits for a writer longer than one leaf's change.
    fn get(&self, root: &TreeRoot, search_key: K::SearchKey<'_>) -> Lookup;
    /// The same for many: their misses overlap.
    fn get_many(&self, root: &TreeRoot, search_keys: &[K::SearchKey<'_>], out: &mut Vec<Lookup>);
    /// Whether what was seen still stands: asked after following a payload.
    fn validate(&self, leaf_version: LeafVersion) -> bool;
    /// Puts a payload under a key, and tells what was there.
    ///
    /// # Errors
    /// `NoSpace` if a leaf had to be split and no block was to be had: nothing has changed. `Corrupt` for a leaf that
    /// stays full however often it is split.
    fn put(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        payload: u64,
        progress: BatchProgress,
    ) -> Result<Option<Replaced>>;
    /// Takes a key away, and tells what was there.
    ///
    /// # Errors
    /// As for [`Index::put`].
    fn remove(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        progress: BatchProgress,
    ) -> Result<Option<Replaced>>;
    /// Copies a leaf out into `cursor`, whose room is used again. Of a scan that wants `wanted` pairs, the leaves that
    /// come next are asked for while this one is copied.
    fn copy_leaf(&self, root: &TreeRoot, target: SeekTarget<'_, K>, wanted: usize, cursor: &mut LeafCursor<K>);

    /// Copies one leaf out.
    fn cursor_at(&self, root: &TreeRoot, target: SeekTarget<'_, K>) -> LeafCursor<K> {
        let mut cursor = LeafCursor::default();
        self.copy_leaf(root, target, 0, &mut cursor);
        cursor
    }

    /// Copies out every leaf of a range, from one separator up to another, as they were at one instant. Of what is
    /// copied `follow` may read whatever the payloads lead to: it is called before the copies are vouched for, and
    /// again each time that they were not, so only its last call counts. It writes to no tree: it may be called under
    /// latches.
    fn snapshot(
        &self,
        root: &TreeRoot,
        range: (&K::Separator, Option<&K::Separator>),
        follow: &mut dyn FnMut(&[LeafCopy]),
    ) -> Snapshot;

    /// Creates an empty tree.
    ///
    /// # Errors
    /// `NoSpace`.
    fn create_tree(&self, guard: &mut Guard<'_>, keyspace: u32) -> Result<TreeRoot>;
    /// Gives up every leaf of a tree that nobody uses any more; `freed` is told each payload.
    ///
    /// # Errors
    /// `Poisoned`.
    fn drop_tree(&self, root: &TreeRoot, guard: &mut Guard<'_>, freed: &mut dyn FnMut(u64)) -> Result<()>;

    /// At open: recovers every leaf to the recovery point, frees what is not reached, and rebuilds all that is
    /// volatile. Parallel over `threads`. Alone in the world.
    ///
    /// # Errors
    /// `Corrupt`, saying where and what; nothing volatile is to be used then.
    fn rebuild(&self, recovery_point: RecoveryPoint, epoch: Epoch, threads: usize) -> Result<Rebuilt> {
        self.rebuild_when(recovery_point, epoch, threads, None, &mut || Ok(()))
    }
    /// The same; `ready` is asked once everything found has been seen to be sound, before the first store into a
    /// database that had been closed. What the death of a process left is compared with what was `logged` up to the
    /// epoch before this one; what was not logged is written to the files again, and verified.
    ///
    /// # Errors
    /// As [`Index::rebuild`], and what `ready` returns; `Corrupt` where the image disagrees with the log.
    fn rebuild_when(
        &self,
        recovery_point: RecoveryPoint,
        epoch: Epoch,
        threads: usize,
        logged: Option<&Logged>,
        ready: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Rebuilt>;
    /// Checks every invariant of a tree that nobody writes to meanwhile.
    fn audit(&self, root: &TreeRoot) -> Audit;
}
