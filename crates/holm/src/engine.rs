//! An open database: the tree behind its door, the ground it stands on, the threads that keep it, the catalog.

use crate::catalog::Catalog;
use crate::durability::Durability;
use crate::error::{Error, Result};
use crate::keys::{Probe, Records};
use crate::options::Builder;
use crate::slice::Slice;
use crate::{batch, record};
use holm_medium::log::LogOptions;
use holm_medium::superblock::{Geometry, State};
use holm_medium::{BLOCK, Clock, Ground, JournaledOptions, Keeper, Lay, MediumError, Pool, Recovery, Stay};
use holm_search::Search;
use holm_tree::leaf::{Cut, Old};
use holm_tree::{Index, Root, Seal, Slot, View, designs};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

/// The kind of keys that the superblock names: byte strings with records.
const KEYS_RECORDS: u32 = 1;

/// One keyspace's tree.
pub(crate) struct Tree {
    pub(crate) name: String,
    pub(crate) root: Root,
    pub(crate) dropped: AtomicBool,
}

impl Tree {
    pub(crate) fn new(name: &str, root: Root) -> Arc<Self> {
        Arc::new(Tree { name: name.into(), root, dropped: AtomicBool::new(false) })
    }

    /// Refuses a keyspace that has been dropped. A writer asks once it has checked in: dropping sets the mark and then
    /// waits for the epoch to end, so whoever it did not wait for sees the mark. A reader asks once it has copied what
    /// it tells: leaves that are given up may be another keyspace's by then.
    #[inline]
    pub(crate) fn alive(&self) -> Result<()> {
        if self.dropped.load(SeqCst) {
            return Err(Error::Dropped { keyspace: self.name.clone() });
        }
        Ok(())
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
    keeper: Mutex<Option<Keeper>>,
    closed: AtomicBool,
    lay: Lay,
    read_only: bool,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("path", &self.path).field("design", &self.index.design()).finish()
    }
}

/// Where the threads of a rebuild come from.
fn options_of(builder: &Builder, newer: fn(&[u64; 8], &[u64; 8]) -> bool) -> JournaledOptions {
    // Leaves take about a sixth of what small records take; an eighth of the records' space for tiny ones is 2^31
    // blocks at the default, which is all the numbers there are.
    let leaves = (builder.capacity).clamp(1 << 20, 1 << 40) as usize;
    JournaledOptions {
        create: builder.create,
        private: builder.memory,
        reserve: [leaves, builder.capacity.clamp(1 << 20, 1 << 43) as usize],
        heap: builder.heap,
        log: LogOptions { initial: 128 << 10, maximum: (builder.log_bytes / 2).max(1 << 20), direct: true },
        newer,
    }
}

impl Engine {
    pub(crate) fn open(path: &Path, builder: Builder) -> Result<Arc<Self>> {
        let newer = designs::newer(&builder.design)
            .ok_or_else(|| Error::Invalid { what: format!("there is no design named {:?}", builder.design) })?;
        let card = designs::CARDS.iter().find(|(name, _)| *name == builder.design).map(|(_, card)| *card);
        let defers = card.is_some_and(|card| card.defers);
        if !defers && !builder.memory {
            let what = format!("the design {:?} cannot defer: it needs the private image (memory)", builder.design);
            return Err(Error::Unsupported { what });
        }
        let geometry = Geometry { leaf_block: BLOCK as u32, design: builder.design.clone(), keys: KEYS_RECORDS };
        let opening = |error| Error::opening(path, builder.create, error);
        let opened = holm_medium::open(builder.vfs.clone(), path, &geometry, &options_of(&builder, newer));
        let opened = opened.map_err(opening)?;
        let (cut, recovery) = (cut_of(&opened), opened.recovery.clone());
        let (medium, remains) = opened.part();
        let active = recovery.epoch + 1;
        let quill = Arc::new(Pool::open(medium, active)?);
        let pool = quill.pool().clone();
        let search = Search::detect();
        let keys = Records { image: pool.medium_image(), search };
        let index = designs::open(&builder.design, quill.clone(), keys, search).expect("the name was looked up above");
        let rebuilt = index.rebuild(cut, active, builder.threads)?;
        // Epochs that leaves carry beyond the last record were lost to no crash: the process alone had died.
        let until = rebuilt.latest.max(recovery.epoch);
        pool.clock.restart(until + 1);
        let pending = batch::pending(&*quill, cut == Cut::Visible)?;
        let keeper = Keeper::start(pool, remains, until, builder.durability.pace(), defers);
        let keeper = keeper.map_err(opening)?;
        let engine = Engine {
            index,
            ground: quill,
            catalog: Catalog::default(),
            durability: builder.durability,
            recovery,
            intents: batch::Intents::default(),
            path: path.into(),
            keeper: Mutex::new(Some(keeper)),
            closed: AtomicBool::new(false),
            lay: if defers { Lay::Deferred } else { Lay::Flushed },
            read_only: false,
        };
        engine.read_catalog(rebuilt.roots)?;
        pending.iter().try_for_each(|intent| batch::redo(&engine, intent))?;
        log::info!("holm: {}: opened, {:?}", path.display(), engine.recovery);
        Ok(Arc::new(engine))
    }

    pub(crate) fn open_read_only(path: &Path, builder: Builder) -> Result<Arc<Self>> {
        let newer = designs::newer(&builder.design).unwrap_or(|_, _| true);
        let geometry = Geometry { leaf_block: BLOCK as u32, design: builder.design.clone(), keys: KEYS_RECORDS };
        let opened = holm_medium::open_read_only(builder.vfs.clone(), path, &geometry, &options_of(&builder, newer));
        let opened = opened.map_err(|error| Error::opening(path, false, error))?;
        debug_assert_eq!(opened.superblock().state, State::Clean);
        let recovery = opened.recovery.clone();
        let (medium, remains) = opened.part();
        let quill = Arc::new(Pool::look(medium, recovery.epoch + 1)?);
        let search = Search::detect();
        let keys = Records { image: quill.pool().medium_image(), search };
        let index = designs::open(&builder.design, quill.clone(), keys, search).expect("the superblock names a design");
        let rebuilt = index.rebuild(Cut::Visible, recovery.epoch + 1, builder.threads)?;
        // The shared lock lives as long as the handle.
        let keeper = Keeper::looking(remains);
        let engine = Engine {
            index,
            ground: quill,
            catalog: Catalog::default(),
            durability: Durability::OnSync,
            recovery,
            intents: batch::Intents::default(),
            path: path.into(),
            keeper: Mutex::new(Some(keeper)),
            closed: AtomicBool::new(false),
            lay: Lay::Deferred,
            read_only: true,
        };
        engine.read_catalog(rebuilt.roots)?;
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
        let stay = self.clock().check_in()?;
        // After checking in: closing sets the mark and then ends the epoch, which waits for all who are in it. Whoever
        // it does not wait for sees the mark. A store later than that would change what the clean mark vouches for.
        if self.closed.load(SeqCst) {
            return Err(Error::Poisoned(MediumError::Poisoned { why: "the database was closed".into() }));
        }
        Ok(stay)
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
        match self.index.put(&tree.root, stay, Probe::new(key), payload, seal) {
            Ok(old) => {
                if let Some(old) = old {
                    self.free(stay, old);
                }
                Ok(())
            }
            Err(error) => {
                self.unlay(payload);
                Err(error.into())
            }
        }
    }

    pub(crate) fn remove(&self, tree: &Tree, stay: &mut Stay<'_>, key: &[u8], seal: Seal) -> Result<bool> {
        let old = self.index.remove(&tree.root, stay, Probe::new(key), seal)?;
        if let Some(old) = old {
            self.free(stay, old);
        }
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
            self.clock().wait_durable(stamp)?;
        }
        Ok(())
    }

    pub(crate) fn get(&self, tree: &Tree, key: &[u8]) -> Result<Option<Slice>> {
        let probe = Probe::new(key);
        let image = self.ground.image();
        loop {
            let sighting = self.index.get(&tree.root, probe);
            let value = sighting.payload.map(|payload| record::copy_value(image, payload));
            match value {
                None => {
                    tree.alive()?;
                    self.admit(sighting.stamp)?;
                    return Ok(None);
                }
                // A record is freed only by changing its leaf: an unchanged leaf vouches for the copy.
                Some(Some(value)) if self.index.still(sighting.seen) => {
                    tree.alive()?;
                    self.admit(sighting.stamp)?;
                    return Ok(Some(value));
                }
                Some(_) => std::hint::spin_loop(),
            }
        }
    }

    /// Copies a view's records, or of large ones as many wanted ones as a copy may hold; `None` if the view no longer
    /// stands.
    pub(crate) fn copy_leaf(
        &self,
        view: View<Records>,
        end: End,
        wanted: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<Leafful>> {
        let total: usize = view.pairs.iter().map(|slot| record::extent(slot.payload).1 as usize).sum();
        if total <= LEAFFUL_WORDS {
            return self.copy_pairs(&view, &view.pairs, view.low.clone(), view.high.clone());
        }
        let image = self.ground.image();
        let keyed = view.pairs.iter().filter_map(|slot| Some((record::copy_key(image, slot.payload)?, *slot)));
        let mut keyed: Vec<_> = keyed.filter(|(key, _)| wanted(key)).collect();
        if end == End::Back {
            keyed.reverse();
        }
        let mut words = 0;
        let fits = keyed.iter().take_while(|(_, slot)| {
            words += record::extent(slot.payload).1 as usize;
            words <= LEAFFUL_WORDS
        });
        // One in any case, however large.
        let count = fits.count().max(1).min(keyed.len());
        let (mut low, mut high) = (view.low.clone(), view.high.clone());
        if count < keyed.len() {
            // The rest is the next leafful, or the one before.
            match end {
                End::Front => high = Some(keyed[count].0.clone()),
                End::Back => low = Some(keyed[count - 1].0.clone()),
            }
        }
        keyed.truncate(count);
        if end == End::Back {
            keyed.reverse();
        }
        let slots: Vec<_> = keyed.into_iter().map(|(_, slot)| slot).collect();
        self.copy_pairs(&view, &slots, low, high)
    }

    fn copy_pairs(
        &self,
        view: &View<Records>,
        slots: &[Slot],
        low: Option<Vec<u8>>,
        high: Option<Vec<u8>>,
    ) -> Result<Option<Leafful>> {
        let image = self.ground.image();
        let total = slots.iter().map(|slot| record::extent(slot.payload).1 as usize).sum();
        let mut words: Vec<u64> = Vec::with_capacity(total);
        let mut spans = Vec::with_capacity(slots.len());
        for slot in slots {
            let Some(record) = record::words(image, slot.payload) else { continue };
            let Some(header) = record::Header::read(record) else { continue };
            spans.push((words.len() * 8 + 8, header.key, header.value));
            words.extend(record.iter().map(holm_medium::Word::read));
        }
        if !self.index.still(view.seen) {
            return Ok(None);
        }
        self.admit(view.stamp)?;
        let words: Arc<[u64]> = words.into();
        let items = spans
            .into_iter()
            .map(|(at, key, value)| (Slice::new(words.clone(), at, key), Slice::new(words.clone(), at + key, value)));
        Ok(Some(Leafful { items: items.collect(), low, high }))
    }

    /// Refuses writers from here on, stops the threads and leaves a clean database; a second call does nothing.
    pub(crate) fn close(&self) -> Result<()> {
        self.closed.store(true, SeqCst);
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

/// The most words of one copy of several records: a leaf of large values is told in parts.
const LEAFFUL_WORDS: usize = 1 << 17;

/// Which end of a range a walk comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Front,
    Back,
}

/// A leaf's worth of records, or a part of it: what lies between `low` and `high`.
pub(crate) struct Leafful {
    pub(crate) items: Vec<(Slice, Slice)>,
    pub(crate) low: Option<Vec<u8>>,
    pub(crate) high: Option<Vec<u8>>,
}

fn cut_of(opened: &holm_medium::Opened) -> Cut {
    if opened.is_cut() { Cut::At(opened.recovery.epoch) } else { Cut::Visible }
}
