//! An open database: the tree behind its door, the storage under it, the threads that keep it, the catalog.

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
use std::sync::{Arc, Mutex};

/// The kind of keys that the superblock names: byte strings with records.
const KEYS_RECORDS: u32 = 1;

/// The most that is reserved where no capacity was chosen.
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

    /// Refuses a keyspace that has been dropped. A writer asks once it has pinned an epoch: dropping sets the mark and
    /// then waits for the epoch to end, so whoever it did not wait for sees the mark. A reader asks once it has copied
    /// what it tells: leaves that are given up may be another keyspace's by then.
    #[inline]
    pub(crate) fn check_not_dropped(&self) -> Result<()> {
        if self.root.is_dropped() {
            return Err(Error::Dropped { keyspace: self.name.clone() });
        }
        Ok(())
    }

    /// Why a change of it was refused: that it has been dropped, if it has, or else what was said.
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

/// What came of an attempt to open.
enum OpenAttempt {
    Opened(Arc<Engine>),
    /// What had been kept turned out to have lost writes; the database is marked, and is to be opened again.
    LostWrites(String),
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("path", &self.path).field("design", &self.index.design()).finish()
    }
}

/// What the superblock says of a database of this design.
fn geometry_of(design: &Entry<Journaled, Records>) -> Geometry {
    Geometry { leaf_block: design.block_bytes, design: design.name.into(), keys: KEYS_RECORDS }
}

/// What a builder's options mean for the files and the log.
fn options_of(builder: &Builder, agrees: Agrees) -> JournaledOptions {
    // Leaves take about a sixth of what small records take; an eighth of the records' space for tiny ones is 2^31
    // blocks at the default, which is all the numbers there are.
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
                // The death of a process alone leaves nothing like this: the page cache has lost writes.
                log::warn!("holm: {}: the tail is not kept: {error}", path.display());
                opened_state.mark_poisoned(path)?;
                return Ok(OpenAttempt::LostWrites(error.to_string()));
            }
            rebuilt => rebuilt.map_err(opening)?,
        };
        // As large as the log, and of no more use.
        drop(logged);
        if let Some(after) = rebuilt.after {
            recovery.tail = opened_state.judge_tail(&recovery.tail, after);
        }
        // Epochs that leaves carry beyond the last record were lost to no crash: the process alone had died.
        let mut until = rebuilt.latest.max(recovery.epoch);
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
        storage.clock.restart(until + 1);
        let pending = batch::pending(&*engine.storage, recovery_point == RecoveryPoint::Visible)?;
        if !pending.is_empty() {
            // In the epoch in which the process died, as it would have gone on itself, and before that epoch is made
            // durable: a power cut between the two would find half a batch that nobody finishes.
            until = until.max(active);
            storage.clock.restart(until);
        }
        // Nobody ticks yet, and nobody is told anything yet: what is read while opening waits for no epoch.
        storage.clock.publish(storage.clock.active());
        let (orphans, _) = engine.read_catalog(rebuilt.roots)?;
        pending.iter().try_for_each(|intent| batch::redo(&engine, intent))?;
        storage.clock.restart(until + 1);
        let background = Background::start(storage.clone(), opened_state, until, builder.durability.pace(), per_epoch);
        let background = background.map_err(opening)?;
        *engine.background.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(background);
        storage.space.release();
        engine.tidy_catalog(&orphans).inspect_err(|_| {
            // Not closed, for it has not what every database has: whoever opens it next will see to that.
            drop(engine.background.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take());
        })?;
        engine.recovery.damaged.iter().for_each(|damage| log::warn!("holm: {}: {damage}", path.display()));
        log::info!("holm: {}: opened, {:?}", path.display(), engine.recovery);
        Ok(OpenAttempt::Opened(Arc::new(engine)))
    }

    /// Over a medium that flushes, is empty, and whose epochs its owner ends: no files, no log, nothing to recover.
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
            // Nobody is told anything yet, and nothing is waited for.
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
        // Whoever only looks need not know the design. The lock is held until the second one is: no writer between.
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
            // Whoever opens for writing does the rest of it; until then a part of it would be seen.
            return Err(MediumError::NotClean { path: path.into() }.into());
        }
        let search = Search::detect();
        let image = writer.storage().medium_image();
        let keys = Records { image, search, tolerates_damage: true };
        let index = (design.open)(writer.clone(), keys.clone(), search);
        let rebuilt = index.rebuild(RecoveryPoint::Visible, recovery.epoch + 1, builder.threads)?;
        // The shared lock lives as long as the handle.
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

    /// Whether nothing may be written through this handle.
    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only
    }

    pub(crate) fn clock(&self) -> &Clock {
        self.storage.clock()
    }

    pub(crate) fn with_background<T>(&self, look: impl FnOnce(Option<&Background>) -> T) -> T {
        look(self.background.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).as_ref())
    }

    /// Refuses writers from here on, stops the threads and leaves a clean database; a second call does nothing. The
    /// files stay locked until the engine is dropped: whoever still reads sees nobody else's changes.
    pub(crate) fn close(&self) -> Result<()> {
        let mut background = self.background.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        background.as_mut().map_or(Ok(()), Background::close).map_err(Error::from)
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

/// The design that a database was made with, and its superblock's file under a shared lock.
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
