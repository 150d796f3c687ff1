//! An open database, as its handles share it: for reading and writing, or for reading only.

use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::expiry::ReadView;
use crate::feed::Subscribers;
use crate::increments::Increments;
use crate::intent::IntentSlots;
use crate::keys::Records;
use crate::keyspace_tree::KeyspaceTree;
pub(crate) use crate::leaf_source::LeafSource;
use crate::mark::CommittedMarks;
use crate::recovery::Recovery;
use crate::scrub_stats::ScrubCounters;
use crate::snapshot::{RecentSnapshot, Snapshot};
use crate::store::{Files, Store, WritableStore};
use crate::sweeper::{Sweeper, SweptDatabase};
use crate::sync_wakers::SyncWakers;
use crate::transaction::FallbackLock;
use holm_medium::sync::{Mutex, MutexGuard, thread};
use holm_medium::vfs::How;
use holm_medium::{Background, LeafIndex, MediumError, Meter, ReadOnlyLock, is_background_thread};
use holm_tree::{LeafCursor, SeekTarget, TreeRoot, Wanted};
use std::sync::Arc;

/// A database that is open for reading and writing.
pub(crate) struct Engine {
    /// Shared with the sweeper, which has ended before this is dropped, and with the session.
    pub(crate) store: Arc<WritableStore>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) recovery: Recovery,
    pub(crate) sweeper: Arc<Sweeper>,
    pub(crate) intents: IntentSlots,
    pub(crate) fallback_lock: FallbackLock,
    pub(crate) marks: CommittedMarks,
    pub(crate) recent_snapshot: RecentSnapshot,
    pub(crate) scrubs: ScrubCounters,
    /// Whether an incremental backup is being applied.
    pub(crate) increments: Arc<Increments>,
    /// The feeds; `None` if the design or the medium cannot tell what an epoch has changed.
    pub(crate) subscribers: Option<Arc<Subscribers>>,
    /// The tasks that await syncs.
    pub(crate) sync_wakers: SyncWakers,
    /// Dropped last: its drop shrinks and unlocks the files.
    pub(crate) session: Arc<Session>,
}

/// What makes the writes of an open database durable.
pub(crate) enum Session {
    /// Files, and the threads that work on them. The lock is held throughout a close.
    Files {
        /// Dropped first: its drop shrinks the files, which the meter keeps locked.
        background: Box<Mutex<Background>>,
        /// For statistics, which wait for no close.
        meter: Meter,
    },
    /// A medium that flushes. The caller ends the epochs, and there is nothing to close.
    Medium,
}

impl Session {
    pub(crate) fn files(background: Background) -> Self {
        Session::Files { meter: background.meter(), background: Box::new(Mutex::new(background)) }
    }

    /// Returns the threads; `None` over a medium without files.
    pub(crate) fn background(&self) -> Option<MutexGuard<'_, Background>> {
        match self {
            Session::Files { background, .. } => {
                Some(background.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
            }
            Session::Medium => None,
        }
    }

    /// Returns what measures the files; `None` over a medium without files.
    pub(crate) fn meter(&self) -> Option<&Meter> {
        match self {
            Session::Files { meter, .. } => Some(meter),
            Session::Medium => None,
        }
    }
}

/// Refuses a close in a thread of a database.
///
/// # Errors
/// `Invalid`.
pub(crate) fn refuse_background_thread() -> Result<()> {
    if is_background_thread() {
        let what = "found a thread of a database that closes one, expected another: it would await its own end";
        return Err(Error::Invalid { what: what.into() });
    }
    Ok(())
}

impl Engine {
    pub(crate) fn view(&self) -> View<'_> {
        View { store: &self.store, catalog: &self.catalog, recovery: &self.recovery }
    }

    /// Refuses writers from here on, stops the threads and marks the database as cleanly closed. A second call does
    /// nothing. The files stay locked until the engine is dropped, so remaining readers see no changes of another
    /// process.
    pub(crate) fn close(&self) -> Result<()> {
        refuse_background_thread()?;
        self.ending().close()
    }

    fn ending(&self) -> Ending {
        let (store, catalog) = (self.store.clone(), self.catalog.clone());
        Ending { store, catalog, sweeper: self.sweeper.clone(), session: self.session.clone() }
    }

    /// Refuses if the path of the folder leads elsewhere by now: to nothing, or to another database.
    pub(crate) fn refuse_moved(&self) -> Result<()> {
        Ok(self.session.meter().map_or(Ok(()), Meter::refuse_moved)?)
    }

    /// Lets checkpoints write an index of all trees, for an opening after a crash.
    pub(crate) fn index_at_checkpoints(&self) {
        if let Some(background) = self.session.background() {
            let (store, catalog) = (self.store.clone(), self.catalog.clone());
            background.index_by(Box::new(move || catalog.with_roots(|roots| store.index.earlier_index(roots))));
        }
    }

    /// Starts the sweeper if a key may expire.
    pub(crate) fn start_sweeper(&self) {
        if !self.catalog.expiring_trees().is_empty() {
            let (store, catalog, increments) = (self.store.clone(), self.catalog.clone(), self.increments.clone());
            self.sweeper.start(SweptDatabase { store, catalog, increments });
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let ending = self.ending();
        if !is_background_thread() {
            return ending.end();
        }
        // A task that awaits a sync may end where it is woken: its waker, or the task itself, had the last handle. This
        // thread cannot await its own end.
        let spawned = thread::Builder::new().name("holm-close".into()).spawn(move || ending.end());
        if let Err(error) = spawned {
            log::error!("holm: {}: closing: starting a thread: {error}", self.store.path.display());
            // The next opening finds what the death of a process leaves.
            std::mem::forget(self.session.clone());
        }
    }
}

/// What the end of an engine needs of it. The session is dropped last, as in the engine.
struct Ending {
    store: Arc<WritableStore>,
    catalog: Arc<Catalog>,
    sweeper: Arc<Sweeper>,
    session: Arc<Session>,
}

impl Ending {
    fn close(&self) -> Result<()> {
        self.sweeper.stop();
        if self.store.clock().knows_thread() || self.catalog.expiring_trees().is_empty() {
            self.note_time();
        } else {
            // The last handle may have been that of a thread-local value. Its thread exits and writes nothing more.
            thread::scope(|scope| drop(scope.spawn(|| self.note_time()).join()));
        }
        let make_index = || self.leaf_index();
        self.session.background().map_or(Ok(()), |mut background| background.close(&make_index)).map_err(Error::from)
    }

    /// Closes the database, unless that has been done.
    fn end(self) {
        self.sweeper.stop();
        let closed = self.session.background().is_none_or(|background| background.is_closed());
        if !closed && let Err(error) = self.close() {
            log::error!("holm: {}: closing: {error}", self.store.path.display());
        }
    }

    /// Makes the index of all trees, once no thread writes any more.
    fn leaf_index(&self) -> Result<Option<LeafIndex>, MediumError> {
        self.catalog.with_roots(|roots| self.store.index.leaf_index(roots))
    }

    /// Notes the latest time that anybody was given, so that the next open does not show expired keys again if the
    /// system's clock has been set back. Without the note it still shows none that a sweep may have removed.
    fn note_time(&self) {
        for tree in self.catalog.expiring_trees() {
            // A closed, full or poisoned database keeps the note that it has.
            let _ = self.catalog.note_sweep(&self.store, &tree, self.store.wall_clock.latest());
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self.store, f)
    }
}

/// A cleanly closed database that is open for reading. It has neither a writable store nor threads.
pub(crate) struct ReadOnlyEngine {
    pub(crate) store: Store,
    pub(crate) catalog: Catalog,
    pub(crate) recovery: Recovery,
    /// That the leaves have not the checksum that they had when they were closed: pairs may be missing or wrong.
    pub(crate) changed_leaves: Option<Error>,
    /// Kept for the shared lock on the superblock's file, which keeps writers out.
    pub(crate) _lock: ReadOnlyLock,
}

impl ReadOnlyEngine {
    pub(crate) fn view(&self) -> View<'_> {
        View { store: &self.store, catalog: &self.catalog, recovery: &self.recovery }
    }

    /// Returns the bytes that the database's files occupy. A file that cannot be opened counts 0.
    pub(crate) fn disk_bytes(&self) -> u64 {
        let Some(Files { vfs, .. }) = &self.store.files else { return 0 };
        let bytes = |name: String| vfs.open(&self.store.path.join(name), How::READ).ok()?.disk_bytes().ok();
        vfs.list(&self.store.path).into_iter().flatten().filter_map(bytes).sum()
    }
}

impl std::fmt::Debug for ReadOnlyEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.store, f)
    }
}

/// The parts that every open database has, borrowed.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) store: &'a Store,
    pub(crate) catalog: &'a Catalog,
    pub(crate) recovery: &'a Recovery,
}

/// What a scan reads from.
pub(crate) enum Reader {
    Writable(Arc<Engine>),
    ReadOnly(Arc<ReadOnlyEngine>),
    Snapshot(Snapshot),
}

impl Reader {
    pub(crate) fn store(&self) -> &Store {
        match self {
            Reader::Writable(engine) => &engine.store,
            Reader::ReadOnly(engine) => &engine.store,
            Reader::Snapshot(snapshot) => snapshot.store(),
        }
    }

    /// Returns what a scan that reads now sees of a keyspace's records.
    pub(crate) fn view(&self, tree: &KeyspaceTree) -> ReadView {
        match self {
            Reader::Snapshot(snapshot) => snapshot.view(tree),
            Reader::Writable(_) | Reader::ReadOnly(_) => tree.view(&self.store().wall_clock),
        }
    }

    /// Returns an error if what was read since cannot be believed: the snapshot has ended.
    pub(crate) fn check_not_ended(&self) -> Result<()> {
        match self {
            Reader::Snapshot(snapshot) => snapshot.check_not_ended(),
            Reader::Writable(_) | Reader::ReadOnly(_) => Ok(()),
        }
    }
}

impl LeafSource for Reader {
    fn store(&self) -> &Store {
        Reader::store(self)
    }

    fn copy_leaf(
        &self,
        root: &TreeRoot,
        target: SeekTarget<'_, Records>,
        wanted: Wanted<'_, Records>,
        cursor: &mut LeafCursor<Records>,
    ) {
        match self {
            Reader::Snapshot(snapshot) => {
                snapshot.generation().copy_leaf(root, target, wanted, cursor);
                // The snapshot itself has waited.
                cursor.forget_stamp();
            }
            Reader::Writable(_) | Reader::ReadOnly(_) => self.store().copy_leaf(root, target, wanted, cursor),
        }
    }

    #[inline]
    fn keeps_records(&self) -> bool {
        matches!(self, Reader::Snapshot(_))
    }

    #[inline]
    fn check(&self, tree: &KeyspaceTree) -> Result<()> {
        match self {
            Reader::Snapshot(snapshot) => snapshot.check(tree),
            Reader::Writable(_) | Reader::ReadOnly(_) => tree.check_not_dropped(),
        }
    }
}
