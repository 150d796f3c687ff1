//! The interface between a store and a tree: object safe and coarse. This is the only dynamic dispatch on the path.
//!
//! A call through it costs five to nine nanoseconds, and consecutive operations no longer overlap. So the path crosses
//! it once per operation, once per group in `get_many`, and never between a leaf and its slots.

use crate::audit::{Audit, LeafAudit};
use crate::block_difference::ReadDifference;
use crate::commit::{CommitRequest, Committed};
use crate::conditional::{Conditional, Seen};
use crate::departure::Departure;
use crate::group::ManyPuts;
use crate::keys::Keys;
use crate::latch::{Latch, Version};
use crate::leaf::{Capabilities, Pairs, RecoveryPoint};
use crate::pre_images::Released;
use crate::put_record::PutRecord;
use crate::remove_range::RangeRemoval;
use crate::sharded_counter::ShardedCounter;
use crate::superseded::Superseded;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::wanted::Wanted;
use holm_medium::{EarlierIndex, Epoch, EpochSpan, Guard, LeafIndex, Logged, MediumError, Result};
use std::sync::OnceLock;

/// The top of one keyspace's tree.
pub struct TreeRoot {
    keyspace: u32,
    pub(crate) latch: Latch,
    /// The level in the upper half, the node number in the lower.
    pub(crate) top: AtomicU64,
    pub(crate) pairs: ShardedCounter,
    /// How often the levels above the leaves have been rebuilt.
    pub(crate) level_rebuilds: AtomicU64,
    dropped: AtomicBool,
    /// Whether it is dropped, or a leaf is damaged.
    given_up: AtomicBool,
    /// Whether retries are of no use: leaves are freed, or one is damaged.
    ended: AtomicBool,
    damage: OnceLock<MediumError>,
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
            given_up: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            damage: OnceLock::new(),
        }
    }

    /// Returns the root's keyspace.
    pub fn keyspace(&self) -> u32 {
        self.keyspace
    }

    /// Marks the tree as dropped. The caller then waits for the end of an epoch whose operations may have missed the
    /// mark.
    pub fn mark_dropped(&self) {
        self.dropped.store(true, Ordering::SeqCst);
        self.given_up.store(true, Ordering::SeqCst);
    }

    /// Returns whether the tree is marked as dropped.
    pub fn is_dropped(&self) -> bool {
        self.dropped.load(Ordering::SeqCst)
    }

    /// Returns whether the tree is marked as dropped, or has a leaf that was found damaged. A writer checks after it
    /// has pinned its epoch, and again after each repin. Otherwise the awaited epoch ends while that writer is still
    /// active, and it writes into blocks that are already reused. A reader checks once it has its answer.
    #[inline]
    pub fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::SeqCst)
    }

    /// States that the tree's leaves are freed from now on.
    pub(crate) fn mark_freed(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }

    /// Returns whether leaves of the tree may have been freed, or one was found damaged. A dropped tree can be read
    /// until then. A reader checks before each retry, and once it has its answer: what it finds may belong to other
    /// trees, in no order, or lack pairs.
    #[inline]
    pub fn is_freed(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// States that a leaf is damaged, which stays closed: the tree's operations end with this error from now on.
    pub(crate) fn mark_damaged(&self, damage: MediumError) {
        let _ = self.damage.set(damage);
        self.given_up.store(true, Ordering::SeqCst);
        self.ended.store(true, Ordering::SeqCst);
    }

    /// Returns the damage that a first look at one of the tree's leaves has found, if any.
    pub fn damage(&self) -> Option<&MediumError> {
        self.damage.get()
    }

    /// Refuses a tree with a damaged leaf: for loops that would wait for that leaf.
    pub(crate) fn check_sound(&self) -> Result<()> {
        self.damage().map_or(Ok(()), |damage| Err(damage.clone()))
    }

    /// Repins a writer's epoch, so that it continues under another label.
    pub(crate) fn repin(&self, guard: &mut Guard<'_>) -> Result<()> {
        guard.repin()?;
        self.refuse_given_up()
    }

    /// Refuses a tree that is dropped or has a damaged leaf.
    pub(crate) fn refuse_given_up(&self) -> Result<()> {
        let what = "writing to a tree that is given up";
        self.check_sound()?;
        if self.is_given_up() { Err(MediumError::Unsupported { what }) } else { Ok(()) }
    }

    /// Returns the number of pairs. O(threads that ever wrote to the tree); exact while no thread writes.
    pub fn pairs(&self) -> u64 {
        self.pairs.sum()
    }

    /// Returns how often the levels above the leaves have been rebuilt since the tree was made, in designs that do so.
    pub fn level_rebuilds(&self) -> u64 {
        self.level_rebuilds.load(Ordering::Relaxed)
    }
}

/// The version at which a leaf was read; the caller later validates that the leaf is unchanged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct LeafVersion {
    pub(crate) leaf: u32,
    /// The leaf parent whose lock array has the latch; zero where each leaf has a latch of its own.
    pub(crate) leaf_parent: u32,
    pub(crate) version: Version,
}

impl LeafVersion {
    /// Returns the number of the leaf.
    pub fn leaf(self) -> u32 {
        self.leaf
    }
}

/// The answer of a leaf, and the version at which the leaf gave it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lookup {
    /// The payload, if the key is present.
    pub payload: Option<u64>,
    /// The version at which the leaf was read.
    pub leaf_version: LeafVersion,
    /// The epoch of the leaf's last change. The answer survives a power cut once that epoch is durable.
    pub stamp: Epoch,
}

/// The answer of an open snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LookupAt {
    /// The answer, and the version at which the leaf has it.
    pub lookup: Lookup,
    /// Whether a pre-image gave the answer: the leaf has changed since the snapshot began.
    pub from_pre_image: bool,
}

/// Which leaf a descent looks for.
pub enum SeekTarget<'a, K: Keys> {
    /// The leaf whose range holds the search key.
    Holding(K::SearchKey<'a>),
    /// The leaf with the greatest keys below the search key.
    Below(K::SearchKey<'a>),
    /// The last leaf.
    Last,
}

/// The pairs of one leaf, all copied at one instant.
#[derive(Default)]
pub struct LeafCopy {
    /// The pairs, in key order.
    pub pairs: Pairs,
    /// Bytes that the pairs' heads leave out.
    pub skip: usize,
    /// The version at which they were copied.
    pub leaf_version: LeafVersion,
    /// The epoch of the leaf's last change, as in [`Lookup`].
    pub stamp: Epoch,
    /// As in [`LookupAt`].
    pub from_pre_image: bool,
}

/// A cursor: the copy of one leaf, and where the scan continues.
pub struct LeafCursor<K: Keys> {
    pub(crate) current: LeafCopy,
    /// Where a scan continues: at the end of the leaf's range or, backwards, at its start. `None` means that this was
    /// the last leaf.
    pub edge: Option<K::Separator>,
    /// The copy of the next leaf if it was read ahead, so that the scan can prefetch its records; without pairs
    /// otherwise.
    pub ahead: LeafCopy,
    /// Whether the previous call had already read this leaf ahead.
    pub was_ahead: bool,
    /// Where the next call goes on, if it does.
    pub(crate) departure: Departure<K>,
}

impl<K: Keys> Default for LeafCursor<K> {
    fn default() -> Self {
        LeafCursor {
            current: LeafCopy::default(),
            edge: None,
            ahead: LeafCopy::default(),
            was_ahead: false,
            departure: Departure::default(),
        }
    }
}

impl<K: Keys> LeafCursor<K> {
    /// Clears the copies and keeps their buffers. Required before the cursor reads another tree, whose leaves have the
    /// same numbers.
    pub fn reset(&mut self) {
        (self.current.leaf_version, self.ahead.leaf_version, self.edge) =
            (LeafVersion::default(), LeafVersion::default(), None);
        self.departure.leaf = None;
    }
}

impl<K: Keys> LeafCursor<K> {
    /// Forgets the epoch of the leaf's last change, for a reader that does not wait for it.
    pub fn forget_stamp(&mut self) {
        self.current.stamp = 0;
    }
}

impl<K: Keys> std::ops::Deref for LeafCursor<K> {
    type Target = LeafCopy;
    fn deref(&self) -> &LeafCopy {
        &self.current
    }
}

/// What a rebuild found.
#[derive(Default)]
pub struct Rebuilt {
    /// A root for each keyspace that has a leaf, in ascending order of keyspace.
    pub roots: Vec<TreeRoot>,
    /// The latest epoch of any leaf.
    pub latest: Epoch,
    /// The number of leaves in use.
    pub leaves: u64,
    /// Those of them whose keys were not read, because an index has them as they are.
    pub from_index: u64,
    /// The number of blocks that were looked at.
    pub blocks_read: u64,
    /// Bytes of all reachable records.
    pub record_bytes: u64,
    /// The first and the last epoch in which leaves had changed, among the epochs from the rebuild's own on; read
    /// before recovery scrubs anything. For designs that know.
    pub after: Option<EpochSpan>,
}

/// What is known of leaves before a rebuild reads them.
#[derive(Clone, Copy, Default)]
pub struct Evidence<'a> {
    /// What the log has, after the death of a process.
    pub logged: Option<&'a Logged>,
    /// The leaf index of an earlier moment. It says nothing of a leaf that has changed since.
    pub earlier: Option<&'a EarlierIndex>,
}

/// An ordered tree from search keys to payloads, over any medium and any design.
pub trait Index<K: Keys>: Send + Sync {
    /// Returns what reads the difference between two epochs from a block; `None` if the design cannot tell.
    fn block_difference(&self) -> Option<ReadDifference>;
    /// Returns the design's name.
    fn design(&self) -> &'static str;
    /// Returns the most pairs that a leaf can hold.
    fn leaf_slots(&self) -> usize;
    /// Returns what the design assumes and offers.
    fn capabilities(&self) -> Capabilities;

    /// Looks a key up. Waits at most for one leaf's change by a writer.
    fn get(&self, root: &TreeRoot, search_key: K::SearchKey<'_>) -> Lookup;
    /// Looks many keys up; their cache misses overlap.
    fn get_many(&self, root: &TreeRoot, search_keys: &[K::SearchKey<'_>], out: &mut Vec<Lookup>);
    /// Returns whether the leaf is unchanged. A reader validates after it has followed a payload.
    fn validate(&self, leaf_version: LeafVersion) -> bool;
    /// Calls `read` while no writer can change the leaf, and returns true; returns false, without a call, if it has
    /// changed since the version was read, or a writer has it. `read` uses no tree.
    fn hold(&self, leaf_version: LeafVersion, read: &mut dyn FnMut()) -> bool;
    /// Puts a payload under a key and returns the payload that it replaces.
    ///
    /// # Errors
    /// `NoSpace` if a leaf had to be split and no block was free: nothing has changed. `Corrupt` for a leaf that stays
    /// full however often it is split.
    fn put(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> Result<Option<Superseded>>;
    /// Returns the words of the longest record that [`Index::put_record`] takes; zero where records lie in the record
    /// area alone.
    fn longest_record(&self) -> usize;
    /// Writes a record into the block of the leaf that has its key, and puts it, if there is room. The record is not
    /// longer than [`Index::longest_record`].
    ///
    /// # Errors
    /// As for [`Index::put`].
    fn put_record(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
        record: &[u64],
    ) -> Result<PutRecord>;
    /// Moves the leaf that has a key to a free block below a number, as it is. Returns whether it did: not if the leaf
    /// is there already, or if no block is free there. No read or write can observe it.
    ///
    /// # Errors
    /// As for [`Index::put`].
    fn move_leaf(&self, root: &TreeRoot, guard: &mut Guard<'_>, key: K::SearchKey<'_>, limit: u32) -> Result<bool>;
    /// Puts many payloads, one after the other; their cache misses overlap. Each is as a put alone, under the guard's
    /// label at that time.
    ///
    /// # Errors
    /// As for [`Index::put`]: the puts for which `done` was called have taken effect, and no others.
    fn put_many(&self, root: &TreeRoot, guard: &mut Guard<'_>, puts: ManyPuts<'_, '_, K>) -> Result<()>;
    /// Removes a key and returns its payload.
    ///
    /// # Errors
    /// As for [`Index::put`].
    fn remove(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        search_key: K::SearchKey<'_>,
    ) -> Result<Option<Superseded>>;
    /// Puts a payload under a key if what the caller read is still so: the leaf that answered for the key, and the
    /// other leaves on which the answer depended. Takes effect at one instant.
    ///
    /// # Errors
    /// As for [`Index::put`].
    fn put_if_unchanged(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        seen: Seen<'_>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> Result<Conditional>;
    /// Removes a key under the same condition.
    ///
    /// # Errors
    /// As for [`Index::put`].
    fn remove_if_unchanged(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        seen: Seen<'_>,
        search_key: K::SearchKey<'_>,
    ) -> Result<Conditional>;
    /// Applies several writes at one instant, if every leaf that the caller names is as it was read: visible to all or
    /// to nobody, and under one label. O(n log m) for n writes and m pairs; readers of the written leaves wait
    /// meanwhile.
    ///
    /// # Errors
    /// As for [`Index::put`], and `Unsupported` if a tree is dropped, or if the design commits single leaves only
    /// ([`Capabilities::commits_leaves`]): nothing has changed. An error after [`CommitObserver::before_stores`] is
    /// damage, and leaves part of the writes.
    ///
    /// [`CommitObserver::before_stores`]: crate::CommitObserver::before_stores
    fn commit(&self, guard: &mut Guard<'_>, request: CommitRequest<'_, '_, K>) -> Result<Committed>;
    /// Removes a part of a range, from its low end on: the pairs of at most as many leaves as the request says, and of
    /// one leaf parent at most. Returns the key from which on the range is still there; `None` if nothing is left of
    /// it. Each leaf is changed at one instant and under a label of its own; labels rise. O(log m) for m pairs, and
    /// O(1) for each leaf.
    ///
    /// # Errors
    /// As for [`Index::put`]. Some leaves may have been changed; their payloads have been passed on.
    fn remove_range(
        &self,
        root: &TreeRoot,
        guard: &mut Guard<'_>,
        request: RangeRemoval<'_, '_, K>,
    ) -> Result<Option<K::Separator>>;
    /// Begins a snapshot of all trees, and returns its generation and the active epoch. The snapshot has every
    /// operation that took effect before, and no later one. O(1); when it waits, and its errors:
    /// [`Clock::begin_snapshot`](holm_medium::Clock::begin_snapshot).
    ///
    /// # Errors
    /// As [`Clock::begin_snapshot`](holm_medium::Clock::begin_snapshot).
    fn begin_snapshot(&self) -> Result<(u64, Epoch)>;
    /// As [`Index::begin_snapshot`], between two epochs: the snapshot has every operation of the epoch that is
    /// returned, and none of the next. Returns once that epoch is durable. Writers see the snapshot before: the thread
    /// that ends the epoch calls `begun` with the generation, in O(1) and without a wait. The caller closes each
    /// generation that has begun, also after an error.
    ///
    /// # Errors
    /// As [`Clock::begin_snapshot_between_epochs`](holm_medium::Clock::begin_snapshot_between_epochs).
    fn begin_snapshot_between_epochs(&self, begun: Box<dyn FnOnce(u64) + Send>) -> Result<(u64, Epoch)>;
    /// Closes a snapshot, and returns the payloads that no snapshot needs any more; the caller frees their records.
    /// Does nothing the second time. O(leaves changed and payloads retained while snapshots are open).
    fn close_snapshot(&self, generation: u64) -> Vec<Released>;
    /// Returns the bytes of memory that open snapshots use, and the bytes of records that they retain.
    fn snapshot_bytes(&self) -> (u64, u64);
    /// Looks a key up in an open snapshot. The record of a payload that the leaf no longer has is kept while the
    /// snapshot is open; the reader validates as after [`Index::get`] all the same.
    fn get_at(&self, root: &TreeRoot, generation: u64, search_key: K::SearchKey<'_>) -> LookupAt;
    /// Copies a leaf as it was for an open snapshot. Otherwise as [`Index::copy_leaf`].
    fn copy_leaf_at(&self, root: &TreeRoot, generation: u64, target: SeekTarget<'_, K>, cursor: &mut LeafCursor<K>);
    /// Copies a leaf into `cursor`, whose buffers are reused. While it is copied, the next leaves are prefetched, if
    /// what is wanted goes beyond it.
    fn copy_leaf(&self, root: &TreeRoot, target: SeekTarget<'_, K>, wanted: Wanted<'_, K>, cursor: &mut LeafCursor<K>);

    /// Copies one leaf into a new cursor.
    fn cursor_at(&self, root: &TreeRoot, target: SeekTarget<'_, K>) -> LeafCursor<K> {
        let mut cursor = LeafCursor::default();
        self.copy_leaf(root, target, Wanted::leaf(), &mut cursor);
        cursor
    }

    /// Creates an empty tree.
    ///
    /// # Errors
    /// `NoSpace`.
    fn create_tree(&self, guard: &mut Guard<'_>, keyspace: u32) -> Result<TreeRoot>;
    /// Frees every leaf of a tree that no writer uses any more, and passes each payload to `freed`.
    ///
    /// # Errors
    /// `Poisoned`.
    fn drop_tree(&self, root: &TreeRoot, guard: &mut Guard<'_>, freed: &mut dyn FnMut(u64)) -> Result<()>;

    /// At open: brings every leaf to the recovery point, frees unreachable space, and rebuilds all volatile state. Runs
    /// on `threads` threads. No other thread may use the trees.
    ///
    /// # Errors
    /// `Corrupt`, with the place and the fault; the volatile state is then unusable.
    fn rebuild(&self, recovery_point: RecoveryPoint, epoch: Epoch, threads: usize) -> Result<Rebuilt> {
        self.rebuild_when(recovery_point, epoch, threads, Evidence::default(), &mut || Ok(()))
    }
    /// The same with a callback and what else is known. `ready` runs once everything found is verified, before the
    /// first store into a database that had been closed. After the death of a process, the rebuild compares the image
    /// with what was logged up to the epoch before this one. What was not logged, it writes to the files again and
    /// verifies. Of leaves that are as an earlier index has them, it reads no key.
    ///
    /// # Errors
    /// As [`Index::rebuild`], and the errors of `ready`; `Corrupt` if the image disagrees with the log.
    fn rebuild_when(
        &self,
        recovery_point: RecoveryPoint,
        epoch: Epoch,
        threads: usize,
        evidence: Evidence<'_>,
        ready: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Rebuilt>;
    /// At a clean open: builds the volatile state from a leaf index, without reading a leaf. Each leaf is compared with
    /// its checksum when it is first looked at; those of the keyspace `looked_at` at once. `false` if this design or
    /// this index does not allow that: nothing has changed then, and the caller rebuilds from the leaves.
    ///
    /// O(leaves).
    fn load(&self, index: &LeafIndex, looked_at: u32) -> Option<Rebuilt>;
    /// At close, when no thread writes any more: makes the index of these trees. `None` if the design has none, or if
    /// the trees do not account for every block and every record: then the next open reads the leaves. Looks at each
    /// leaf that was not looked at before. O(bytes of leaves).
    ///
    /// # Errors
    /// `Corrupt` for a leaf that differs from its checksum.
    fn leaf_index(&self, roots: &[&TreeRoot]) -> Result<Option<LeafIndex>>;
    /// Makes an index of these trees beside writers, for an opening after a crash. `None` if the design has none, a
    /// tree is dropped, or writers change a leaf again and again. O(leaves); it latches nothing.
    fn earlier_index(&self, roots: &[&TreeRoot]) -> Option<EarlierIndex>;
    /// Checks every invariant of a tree. No thread may write to it meanwhile.
    fn audit(&self, root: &TreeRoot) -> Audit;
    /// Checks the leaf whose range holds a key. Threads may write meanwhile; then faults count only if the leaf's
    /// version is valid afterwards.
    fn audit_leaf(&self, root: &TreeRoot, low: &K::Separator) -> LeafAudit<K::Separator>;
    /// Appends the numbers of a leaf's blocks, its own first, in a design whose leaves may have several. No thread may
    /// write to the leaf meanwhile.
    fn blocks_of_several(&self, leaf: u32, out: &mut Vec<u32>);
}
