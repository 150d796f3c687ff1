//! An open database: its tree set, its storage, its background threads and its catalog.

use crate::batch;
use crate::catalog::Catalog;
use crate::designs;
use crate::durability::{Durability, ImageMode};
use crate::error::{Error, Result};
use crate::keys::Records;
use crate::options::Builder;
use crate::recovery::Recovery;
use holm_medium::log::LogOptions;
use holm_medium::superblock::{Geometry, State, Superblock, open_superblock, superblock_path};
use holm_medium::vfs::{How, Vfs, VfsFile};
use holm_medium::{
    Agrees, Area, Background, Clock, Found, Journaled, JournaledOptions, Medium, MediumError, Persistence, Storage,
    StorageOps, Writer,
};
use holm_search::Search;
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{Entry, Index, TreeRoot};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

/// The kind of keys in the superblock: byte strings with records.
const KEYS_RECORDS: u32 = 1;

/// The most bytes reserved where the caller chose no capacity.
const DEFAULT_CAPACITY: u64 = 1 << 40;

/// One keyspace's tree.
pub(crate) struct KeyspaceTree {
    pub(crate) name: String,
    pub(crate) root: TreeRoot,
}

impl KeyspaceTree {
    pub(crate) fn new(name: &str, root: TreeRoot) -> Arc<Self> {
        Arc::new(KeyspaceTree { name: name.into(), root })
    }

    /// Refuses a keyspace that was dropped. A writer checks after it has pinned its epoch. A drop sets the mark and
    /// then waits for the epoch to end, so each writer that the drop does not wait for sees the mark. A reader checks
    /// after it has copied its result: leaves of a dropped tree may belong to another keyspace by then.
    #[inline]
    pub(crate) fn check_not_dropped(&self) -> Result<()> {
        if self.root.is_dropped() {
            return Err(Error::Dropped { keyspace: self.name.clone() });
        }
        Ok(())
    }

    /// Explains why a change was refused: `Dropped` if the keyspace was dropped, else the given error.
    pub(crate) fn explain(&self, error: MediumError) -> Error {
        self.check_not_dropped().err().unwrap_or_else(|| error.into())
    }
}

/// An open database.
pub(crate) struct Engine {
    pub(crate) index: Box<dyn Index<Records>>,
    pub(crate) storage: Arc<dyn StorageOps>,
    pub(crate) catalog: Catalog,
    pub(crate) durability: Durability,
    pub(crate) recovery: Recovery,
    pub(crate) batches: batch::Turn,
    pub(crate) path: PathBuf,
    pub(crate) keys: Records,
    background: Mutex<Option<Background>>,
    pub(crate) persistence: Persistence,
    read_only: bool,
}

/// The result of one attempt to open.
enum OpenAttempt {
    Opened(Arc<Engine>),
    /// The page cache turned out to have lost writes. The superblock now says so, and the caller opens again.
    LostWrites(String),
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("path", &self.path).field("design", &self.index.design()).finish()
    }
}

/// The geometry that the superblock has for this design.
fn geometry_of(design: &Entry<Journaled, Records>) -> Geometry {
    Geometry { leaf_block: design.block_bytes, design: design.name.into(), keys: KEYS_RECORDS }
}

/// Translates a builder's options for the files and the log.
fn options_of(builder: &Builder, agrees: Agrees) -> JournaledOptions {
    // Leaves need about a sixth of the space of small records, and an eighth of the space of tiny ones. At the default
    // capacity that is 2^31 blocks, which is every block number.
    let capacity = builder.capacity.unwrap_or(DEFAULT_CAPACITY);
    let leaves = capacity.clamp(1 << 20, 1 << 40) as usize;
    JournaledOptions {
        create: builder.create,
        private: builder.image == ImageMode::Private,
        reserve: [leaves, capacity.clamp(1 << 20, 1 << 43) as usize],
        adaptive: builder.capacity.is_none(),
        heap: builder.heap,
        log: LogOptions { initial: 128 << 10, maximum: (builder.log_bytes / 2).max(1 << 20), direct: true },
        agrees,
    }
}

impl Engine {
    pub(crate) fn open(path: &Path, builder: Builder) -> Result<Arc<Self>> {
        let design = designs::chosen(builder.designs, &builder.design)?;
        if !design.capabilities.per_epoch && builder.image == ImageMode::Shared {
            let what =
                format!("the design {:?} cannot be durable per epoch: it needs ImageMode::Private", builder.design);
            return Err(Error::Unsupported { what });
        }
        let geometry = geometry_of(&design);
        match Self::try_open(path, &builder, &geometry, &design, None)? {
            OpenAttempt::Opened(engine) => Ok(engine),
            OpenAttempt::LostWrites(why) => match Self::try_open(path, &builder, &geometry, &design, Some(why))? {
                OpenAttempt::Opened(engine) => Ok(engine),
                OpenAttempt::LostWrites(_) => unreachable!("a marked database is cut, not kept"),
            },
        }
    }

    fn try_open(
        path: &Path,
        builder: &Builder,
        geometry: &Geometry,
        design: &Entry<Journaled, Records>,
        distrusted: Option<String>,
    ) -> Result<OpenAttempt> {
        let opening = |error| Error::opening(path, builder.create, error);
        let opened = holm_medium::open(builder.vfs.clone(), path, geometry, &options_of(builder, design.agrees));
        let mut opened = opened.map_err(opening)?;
        let (recovery_point, mut recovery, logged) =
            (recovery_point_of(&opened), opened.recovery.clone(), opened.logged.take());
        if let (Found::Cut { why }, Some(reason)) = (&mut recovery.found, distrusted) {
            *why = format!("the page cache has lost writes: {reason}");
        }
        let (medium, mut opened_state) = opened.into_parts();
        let active = recovery.epoch + 1;
        let writer = Arc::new(Storage::open(medium, active)?);
        let storage = writer.storage().clone();
        let search = Search::detect();
        let keys = Records { image: storage.medium_image(), search, tolerates_damage: false };
        let index = (design.open)(writer.clone(), keys.clone(), search);
        let per_epoch = design.capabilities.per_epoch;
        if recovery.found == Found::Kept {
            withhold_all(&storage);
        }
        let mut ready = || opened_state.clear_clean_mark(&storage.medium);
        let rebuilt = match index.rebuild_when(recovery_point, active, builder.threads, logged.as_ref(), &mut ready) {
            Err(error @ MediumError::Corrupt { .. }) if recovery.found == Found::Kept => {
                // The death of a process alone cannot leave this state: the page cache has lost writes.
                log::warn!("holm: {}: the tail is not kept: {error}", path.display());
                opened_state.mark_poisoned(path)?;
                return Ok(OpenAttempt::LostWrites(error.to_string()));
            }
            rebuilt => rebuilt.map_err(opening)?,
        };
        // This copy is as large as the log, and nothing needs it any more.
        drop(logged);
        if let Some(after) = rebuilt.after {
            recovery.tail = opened_state.judge_tail(&recovery.tail, after);
        }
        // Leaves may carry epochs beyond the last log entry. No crash lost these epochs: only the process died.
        let until = rebuilt.latest.max(recovery.epoch);
        let engine = Engine {
            index,
            storage: writer,
            catalog: Catalog::default(),
            durability: builder.durability,
            recovery: recovery.into(),
            batches: batch::Turn::default(),
            path: path.into(),
            keys,
            background: Mutex::new(None),
            persistence: if per_epoch { Persistence::PerEpoch } else { Persistence::PerOperation },
            read_only: false,
        };
        let visible = recovery_point == RecoveryPoint::Visible;
        let (until, orphans) = engine.complete_batches(rebuilt.roots, until, active, visible)?;
        let background = Background::start(storage.clone(), opened_state, until, builder.durability.pace(), per_epoch);
        let background = background.map_err(opening)?;
        *engine.background() = Some(background);
        storage.space.release();
        engine.tidy_catalog(&orphans).inspect_err(|_| {
            // The database lacks its default keyspace, so this path does not mark it as closed; the next open creates
            // it.
            drop(engine.background().take());
        })?;
        engine.recovery.damaged.iter().for_each(|damage| log::warn!("holm: {}: {damage}", path.display()));
        log::info!("holm: {}: opened, {:?}", path.display(), engine.recovery);
        Ok(OpenAttempt::Opened(Arc::new(engine)))
    }

    /// Reads the catalog, and completes the batches in which the process died. Epochs up to `latest` are in use, and
    /// `active` follows the last logged one. Returns the last epoch in use now, and the trees without a name.
    fn complete_batches(
        &self,
        roots: Vec<TreeRoot>,
        latest: u64,
        active: u64,
        visible: bool,
    ) -> Result<(u64, Vec<TreeRoot>)> {
        let (clock, mut until) = (self.clock(), latest);
        clock.restart(until + 1);
        let pending = batch::pending(&*self.storage, visible)?;
        if !pending.is_empty() {
            // Recovery applies the rest of the batch in the epoch in which the process died, as the process itself
            // would have. It does so before that epoch becomes durable. Otherwise a power cut between the two would
            // leave half a batch that no later open completes.
            until = until.max(active);
            clock.restart(until);
        }
        // No thread ends epochs yet and no caller has seen anything yet, so reads during open wait for no epoch.
        clock.publish(clock.active());
        let (orphans, _) = self.read_catalog(roots)?;
        pending.iter().try_for_each(|intent| batch::redo(self, intent))?;
        clock.restart(until + 1);
        Ok((until, orphans))
    }

    /// Creates an empty database over a medium that flushes. It has no files, no log and no recovery; the caller ends
    /// the epochs.
    pub(crate) fn over<M: Medium>(
        writer: Arc<Writer<M>>,
        design: &Entry<M, Records>,
        durability: Durability,
    ) -> Result<Arc<Self>> {
        designs::suitable(design)?;
        let search = Search::detect();
        let image = writer.storage().medium_image();
        let keys = Records { image, search, tolerates_damage: false };
        let index = (design.open)(writer.clone(), keys.clone(), search);
        let epoch = writer.storage().clock.durable();
        let mut engine = Engine {
            index,
            storage: writer,
            catalog: Catalog::default(),
            // No caller sees results of this engine yet, so operations wait for nothing.
            durability: Durability::OnSync,
            recovery: Recovery { epoch, ..Recovery::default() },
            batches: batch::Turn::default(),
            path: PathBuf::new(),
            keys,
            background: Mutex::new(None),
            persistence: if design.capabilities.per_epoch { Persistence::PerEpoch } else { Persistence::PerOperation },
            read_only: false,
        };
        engine.read_catalog(Vec::new())?;
        engine.tidy_catalog(&[])?;
        engine.durability = durability;
        Ok(Arc::new(engine))
    }

    pub(crate) fn open_read_only(path: &Path, builder: Builder) -> Result<Arc<Self>> {
        let opening = |error| Error::opening(path, false, error);
        // A read-only open need not name the design. The first lock is held until the second is taken, so no writer
        // comes between.
        let (design, _pool) = design_of(&*builder.vfs, path).map_err(opening)?;
        let design = designs::found(builder.designs, &design)?;
        let geometry = geometry_of(&design);
        let opened =
            holm_medium::open_read_only(builder.vfs.clone(), path, &geometry, &options_of(&builder, design.agrees));
        let opened = opened.map_err(opening)?;
        debug_assert_eq!(opened.superblock().state, State::Clean);
        let recovery = opened.recovery.clone();
        let (medium, opened_state) = opened.into_parts();
        let writer = Arc::new(Storage::open_read_only(medium, recovery.epoch + 1)?);
        if batch::is_pending(&writer.storage().medium_image()) {
            // Only an open for writing applies the rest of the batch; until then a reader would see a part of it.
            return Err(MediumError::NotClean { path: path.into() }.into());
        }
        let search = Search::detect();
        let image = writer.storage().medium_image();
        let keys = Records { image, search, tolerates_damage: true };
        let index = (design.open)(writer.clone(), keys.clone(), search);
        let rebuilt = index.rebuild(RecoveryPoint::Visible, recovery.epoch + 1, builder.threads)?;
        // The shared lock lives as long as this handle.
        let background = Background::read_only(opened_state);
        let mut engine = Engine {
            index,
            storage: writer,
            catalog: Catalog::default(),
            durability: Durability::OnSync,
            recovery: recovery.into(),
            batches: batch::Turn::default(),
            path: path.into(),
            keys,
            background: Mutex::new(Some(background)),
            persistence: Persistence::PerEpoch,
            read_only: true,
        };
        let (_, damaged) = engine.read_catalog(rebuilt.roots)?;
        engine.recovery.damaged.extend(damaged);
        Ok(Arc::new(engine))
    }

    /// Returns whether this handle refuses all writes.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.storage.clock()
    }

    fn background(&self) -> MutexGuard<'_, Option<Background>> {
        self.background.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(crate) fn with_background<T>(&self, look: impl FnOnce(Option<&Background>) -> T) -> T {
        look(self.background().as_ref())
    }

    /// Refuses writers from here on, stops the threads and marks the database as cleanly closed. A second call does
    /// nothing. The files stay locked until the engine is dropped, so remaining readers see no changes of another
    /// process.
    pub(crate) fn close(&self) -> Result<()> {
        self.background().as_mut().map_or(Ok(()), Background::close).map_err(Error::from)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let closed = self.with_background(|background| background.is_none_or(Background::is_closed));
        if !closed && let Err(error) = self.close() {
            log::error!("holm: {}: closing: {error}", self.path.display());
        }
    }
}

/// Returns the design that a database was created with, and its superblock's file under a shared lock.
fn design_of(vfs: &dyn Vfs, path: &Path) -> Result<(String, Box<dyn VfsFile>), MediumError> {
    let superblock_file = open_superblock(vfs, path, How::READ)?;
    let (superblock, _) = Superblock::read(&*superblock_file, &superblock_path(path))?;
    Ok((superblock.geometry.design, superblock_file))
}

/// Until what is found is durable, a cut may still go back behind it: nothing that the files have is free.
fn withhold_all(storage: &Storage<Journaled>) {
    let [blocks, records] = Area::ALL.map(|area| storage.medium_image().area(area).len() as u64);
    storage.space.withhold((blocks / storage.space.block_bytes()) as u32, records);
}

fn recovery_point_of(opened: &holm_medium::Opened) -> RecoveryPoint {
    if opened.is_cut() { RecoveryPoint::At(opened.recovery.epoch) } else { RecoveryPoint::Visible }
}
