//! An open database: the tree behind its door, the ground it stands on, the threads that keep it, the catalog.

use crate::catalog::Catalog;
use crate::designs;
use crate::durability::{Durability, ImageMode};
use crate::error::{Error, Result};
use crate::keys::{Probe, Records};
use crate::options::Builder;
use crate::recovery::Recovery;
use crate::{batch, record};
use holm_medium::log::LogOptions;
use holm_medium::superblock::{Geometry, State, Superblock, open_pool, pool_path};
use holm_medium::vfs::{How, Vfs, VfsFile};
use holm_medium::{
    Area, Clock, Found, Ground, Image, Journaled, JournaledOptions, Keeper, Lay, Medium, MediumError, Pool, Quill, Stay,
};
use holm_search::Search;
use holm_tree::leaf::{Cut, Old};
use holm_tree::{Entry, Index, Newer, Root, Seal};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The kind of keys that the superblock names: byte strings with records.
const KEYS_RECORDS: u32 = 1;

/// One keyspace's tree.
pub(crate) struct Tree {
    pub(crate) name: String,
    pub(crate) root: Root,
}

impl Tree {
    pub(crate) fn new(name: &str, root: Root) -> Arc<Self> {
        Arc::new(Tree { name: name.into(), root })
    }

    /// Refuses a keyspace that has been dropped. A writer asks once it has checked in: dropping sets the mark and then
    /// waits for the epoch to end, so whoever it did not wait for sees the mark. A reader asks once it has copied what
    /// it tells: leaves that are given up may be another keyspace's by then.
    #[inline]
    pub(crate) fn alive(&self) -> Result<()> {
        if self.root.is_given_up() {
            return Err(Error::Dropped { keyspace: self.name.clone() });
        }
        Ok(())
    }

    /// Why a change of it was refused: that it has been dropped, if it has, or else what was said.
    fn explain(&self, error: MediumError) -> Error {
        self.alive().err().unwrap_or_else(|| error.into())
    }
}

/// An open database.
pub(crate) struct Engine {
    pub(crate) index: Box<dyn Index<Records>>,
    pub(crate) ground: Arc<dyn Ground>,
    pub(crate) catalog: Catalog,
    pub(crate) durability: Durability,
    pub(crate) recovery: Recovery,
    pub(crate) intents: batch::Intents,
    pub(crate) path: PathBuf,
    pub(crate) keys: Records,
    keeper: Mutex<Option<Keeper>>,
    lay: Lay,
    read_only: bool,
}

/// What came of an attempt to open.
enum Raised {
    Up(Arc<Engine>),
    /// What had been kept turned out to have lost writes; the database is marked, and is to be opened again.
    Distrusted,
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
fn options_of(builder: &Builder, newer: Newer) -> JournaledOptions {
    // Leaves take about a sixth of what small records take; an eighth of the records' space for tiny ones is 2^31
    // blocks at the default, which is all the numbers there are.
    let leaves = (builder.capacity).clamp(1 << 20, 1 << 40) as usize;
    JournaledOptions {
        create: builder.create,
        private: builder.image == ImageMode::Private,
        reserve: [leaves, builder.capacity.clamp(1 << 20, 1 << 43) as usize],
        heap: builder.heap,
        log: LogOptions { initial: 128 << 10, maximum: (builder.log_bytes / 2).max(1 << 20), direct: true },
        newer,
    }
}

impl Engine {
    pub(crate) fn open(path: &Path, builder: Builder) -> Result<Arc<Self>> {
        let design = designs::chosen(builder.designs, &builder.design)?;
        if !design.card.defers && builder.image == ImageMode::Shared {
            let what = format!("the design {:?} cannot defer: it needs ImageMode::Private", builder.design);
            return Err(Error::Unsupported { what });
        }
        let geometry = geometry_of(&design);
        match Self::raise(path, &builder, &geometry, &design)? {
            Raised::Up(engine) => Ok(engine),
            Raised::Distrusted => match Self::raise(path, &builder, &geometry, &design)? {
                Raised::Up(engine) => Ok(engine),
                Raised::Distrusted => unreachable!("a marked database is cut, not kept"),
            },
        }
    }

    fn raise(
        path: &Path,
        builder: &Builder,
        geometry: &Geometry,
        design: &Entry<Journaled, Records>,
    ) -> Result<Raised> {
        let opening = |error| Error::opening(path, builder.create, error);
        let opened = holm_medium::open(builder.vfs.clone(), path, geometry, &options_of(builder, design.newer));
        let mut opened = opened.map_err(opening)?;
        let (cut, recovery) = (cut_of(&opened), opened.recovery.clone());
        let doubted = std::mem::take(&mut opened.logged).into();
        let (medium, mut remains) = opened.part();
        let active = recovery.epoch + 1;
        let quill = Arc::new(Pool::open(medium, active)?);
        let pool = quill.pool().clone();
        let search = Search::detect();
        let keys = Records { image: pool.medium_image(), search, doubted, looking: false };
        let index = (design.open)(quill.clone(), keys.clone(), search);
        let defers = design.card.defers;
        if recovery.found == Found::Kept {
            let [blocks, records] = Area::ALL.map(|area| pool.medium_image().area(area).len() as u64);
            pool.space.withhold((blocks / pool.space.block_bytes()) as u32, records);
        }
        let mut ready = || remains.begin(&pool.medium);
        let rebuilt = match index.rebuild_when(cut, active, builder.threads, &mut ready) {
            Err(error @ MediumError::Corrupt { .. }) if recovery.found == Found::Kept => {
                // The death of a process alone leaves nothing like this: the page cache has lost writes.
                log::warn!("holm: {}: the tail is not kept: {error}", path.display());
                remains.distrust(path)?;
                return Ok(Raised::Distrusted);
            }
            rebuilt => rebuilt.map_err(opening)?,
        };
        // Epochs that leaves carry beyond the last record were lost to no crash: the process alone had died.
        let mut until = rebuilt.latest.max(recovery.epoch);
        let engine = Engine {
            index,
            ground: quill,
            catalog: Catalog::default(),
            durability: builder.durability,
            recovery: recovery.into(),
            intents: batch::Intents::default(),
            path: path.into(),
            keys,
            keeper: Mutex::new(None),
            lay: if defers { Lay::Deferred } else { Lay::Flushed },
            read_only: false,
        };
        pool.clock.restart(until + 1);
        let pending = batch::pending(&*engine.ground, cut == Cut::Visible)?;
        if !pending.is_empty() {
            // In the epoch in which the process died, as it would have gone on itself, and before that epoch is made
            // durable: a power cut between the two would find half a batch that nobody finishes.
            until = until.max(active);
            pool.clock.restart(until);
        }
        // Nobody ticks yet, and nobody is told anything yet: what is read while opening waits for no epoch.
        pool.clock.publish(pool.clock.active());
        let (orphans, _) = engine.read_catalog(rebuilt.roots)?;
        pending.iter().try_for_each(|intent| batch::redo(&engine, intent))?;
        pool.clock.restart(until + 1);
        let keeper = Keeper::start(pool.clone(), remains, until, builder.durability.pace(), defers);
        let keeper = keeper.map_err(opening)?;
        *engine.keeper.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(keeper);
        pool.space.release();
        engine.tidy_catalog(&orphans).inspect_err(|_| {
            // Not closed, for it has not what every database has: whoever opens it next will see to that.
            drop(engine.keeper.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take());
        })?;
        engine.recovery.damaged.iter().for_each(|damage| log::warn!("holm: {}: {damage}", path.display()));
        log::info!("holm: {}: opened, {:?}", path.display(), engine.recovery);
        Ok(Raised::Up(Arc::new(engine)))
    }

    /// Over a medium that flushes, is empty, and whose epochs its owner ends: no files, no log, nothing to recover.
    pub(crate) fn over<M: Medium>(
        quill: Arc<Quill<M>>,
        design: &Entry<M, Records>,
        durability: Durability,
    ) -> Result<Arc<Self>> {
        designs::suitable(design)?;
        let search = Search::detect();
        let image = quill.pool().medium_image();
        let keys = Records { image, search, doubted: Arc::default(), looking: false };
        let index = (design.open)(quill.clone(), keys.clone(), search);
        let epoch = quill.pool().clock.durable();
        let mut engine = Engine {
            index,
            ground: quill,
            catalog: Catalog::default(),
            // Nobody is told anything yet, and nothing is waited for.
            durability: Durability::OnSync,
            recovery: Recovery { epoch, ..Recovery::default() },
            intents: batch::Intents::default(),
            path: PathBuf::new(),
            keys,
            keeper: Mutex::new(None),
            lay: if design.card.defers { Lay::Deferred } else { Lay::Flushed },
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
            holm_medium::open_read_only(builder.vfs.clone(), path, &geometry, &options_of(&builder, design.newer));
        let opened = opened.map_err(opening)?;
        debug_assert_eq!(opened.superblock().state, State::Clean);
        let recovery = opened.recovery.clone();
        let (medium, remains) = opened.part();
        let quill = Arc::new(Pool::look(medium, recovery.epoch + 1)?);
        if batch::is_pending(&quill.pool().medium_image()) {
            // Whoever opens for writing does the rest of it; until then a part of it would be seen.
            return Err(MediumError::NotClean { path: path.into() }.into());
        }
        let search = Search::detect();
        let image = quill.pool().medium_image();
        let keys = Records { image, search, doubted: Arc::default(), looking: true };
        let index = (design.open)(quill.clone(), keys.clone(), search);
        let rebuilt = index.rebuild(Cut::Visible, recovery.epoch + 1, builder.threads)?;
        // The shared lock lives as long as the handle.
        let keeper = Keeper::looking(remains);
        let mut engine = Engine {
            index,
            ground: quill,
            catalog: Catalog::default(),
            durability: Durability::OnSync,
            recovery: recovery.into(),
            intents: batch::Intents::default(),
            path: path.into(),
            keys,
            keeper: Mutex::new(Some(keeper)),
            lay: Lay::Deferred,
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
        self.ground.clock()
    }

    pub(crate) fn with_keeper<T>(&self, look: impl FnOnce(Option<&Keeper>) -> T) -> T {
        look(self.keeper.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).as_ref())
    }

    /// Checks in, refusing where nothing may be written.
    pub(crate) fn check_in(&self) -> Result<Stay<'_>> {
        Ok(self.clock().check_in()?)
    }

    /// Checks in to write a record, refusing where nothing may be written. Waits while the disk cannot keep up.
    pub(crate) fn check_in_to_lay(&self, key: &[u8], value: &[u8]) -> Result<Stay<'_>> {
        Ok(self.clock().check_in_with((key.len() + value.len()) as u64)?)
    }

    /// Lays a record; its payload.
    pub(crate) fn lay(&self, stay: &Stay<'_>, key: &[u8], value: &[u8], buffer: &mut Vec<u64>) -> Result<u64> {
        record::encode(key, value, buffer);
        let offset = self.ground.lay(stay, buffer, self.lay)?;
        Ok(record::payload(offset, buffer.len()))
    }

    /// Frees the record of a payload that nobody was ever led to.
    pub(crate) fn unlay(&self, payload: u64) {
        let (offset, words) = record::extent(payload);
        self.ground.space().free_record(offset, words);
    }

    pub(crate) fn free(&self, stay: &Stay<'_>, old: Old) {
        let (offset, words) = record::extent(old.payload);
        if old.young {
            self.ground.space().free_record(offset, words);
        } else {
            self.ground.space().retire_record(stay.epoch(), offset, words);
        }
    }

    /// Puts a laid record under its key and frees what was there.
    pub(crate) fn put(&self, tree: &Tree, stay: &mut Stay<'_>, key: &[u8], payload: u64, seal: Seal) -> Result<()> {
        let old = self.index.put(&tree.root, stay, Probe::new(key), payload, seal);
        let old = old.inspect_err(|_| self.unlay(payload)).map_err(|error| tree.explain(error))?;
        old.into_iter().for_each(|old| self.free(stay, old));
        Ok(())
    }

    pub(crate) fn remove(&self, tree: &Tree, stay: &mut Stay<'_>, key: &[u8], seal: Seal) -> Result<bool> {
        let old = self.index.remove(&tree.root, stay, Probe::new(key), seal);
        let old = old.map_err(|error| tree.explain(error))?;
        old.into_iter().for_each(|old| self.free(stay, old));
        Ok(old.is_some())
    }

    /// What the mode asks for before an operation of a label may be acknowledged.
    #[inline]
    pub(crate) fn acknowledge(&self, label: u64) -> Result<()> {
        if self.durability == Durability::Strict {
            self.clock().wait_durable(label)?;
        }
        Ok(())
    }

    /// What the mode asks for before something seen may be told: nothing that a power cut could take back. A leaf that
    /// changed in the active epoch is waited for; one that did not is not.
    #[inline]
    pub(crate) fn admit(&self, stamp: u64) -> Result<()> {
        if self.durability == Durability::Strict && !self.read_only {
            // A design that knows no epochs cannot say when a leaf changed last: it may have been just now.
            let stamp = if self.lay == Lay::Flushed { self.clock().active() } else { stamp };
            self.clock().wait_durable(stamp)?;
        }
        Ok(())
    }

    /// Looks a key up and has its record copied by `copy`, which may be asked again: what it copied before counts for
    /// nothing then.
    #[inline]
    pub(crate) fn get<T>(
        &self,
        tree: &Tree,
        key: &[u8],
        mut copy: impl FnMut(&Image, u64) -> Option<T>,
    ) -> Result<Option<T>> {
        let probe = Probe::new(key);
        let image = self.ground.image();
        loop {
            let sighting = self.index.get(&tree.root, probe);
            let value = sighting.payload.map(|payload| copy(image, payload));
            match value {
                None => {
                    tree.alive()?;
                    self.admit(sighting.stamp)?;
                    return Ok(None);
                }
                // A record is freed only by changing its leaf: an unchanged leaf vouches for the copy.
                Some(value) if self.index.still(sighting.seen) => {
                    tree.alive()?;
                    let value = value.ok_or_else(|| self.no_record(sighting.payload.unwrap_or_default()))?;
                    self.admit(sighting.stamp)?;
                    return Ok(Some(value));
                }
                // What is looked at again may be another keyspace's, and change for ever.
                Some(_) => tree.alive()?,
            }
        }
    }

    /// A leaf that has not changed leads to something that is no record: no race, but damage.
    #[cold]
    pub(crate) fn no_record(&self, payload: u64) -> Error {
        let (offset, words) = record::extent(payload);
        Error::Corrupt {
            path: self.path.join("records"),
            offset,
            what: "a record",
            found: "lengths that do not fit".into(),
            expected: format!("a key and a value in {words} words"),
        }
    }

    /// Refuses writers from here on, stops the threads and leaves a clean database; a second call does nothing.
    pub(crate) fn close(&self) -> Result<()> {
        let keeper = self.keeper.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        keeper.map_or(Ok(()), Keeper::close).map_err(Error::from)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            log::error!("holm: {}: closing: {error}", self.path.display());
        }
    }
}

/// The design that a database was made with, and its superblock's file under a shared lock.
fn design_of(vfs: &dyn Vfs, path: &Path) -> Result<(String, Box<dyn VfsFile>), MediumError> {
    let pool = open_pool(vfs, path, How::READ)?;
    let (superblock, _) = Superblock::read(&*pool, &pool_path(path))?;
    Ok((superblock.geometry.design, pool))
}

fn cut_of(opened: &holm_medium::Opened) -> Cut {
    if opened.is_cut() { Cut::At(opened.recovery.epoch) } else { Cut::Visible }
}
