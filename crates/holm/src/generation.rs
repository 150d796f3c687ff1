//! Generations: the instants that are kept readable, for snapshots and for transactions that read much.
//!
//! A generation is a number in the word that writers compare. Writers that come later keep what they change in memory,
//! and the records that give way are not reused: see `holm_tree`'s `pre_images.rs`.

use crate::engine::{Engine, LeafSource};
use crate::error::{Error, Result};
use crate::expiry::ReadView;
use crate::keys::{Records, SearchKey};
use crate::keyspace_tree::KeyspaceTree;
use crate::record::{Copied, NoRecord, Source};
use crate::store::{Store, WritableStore};
use holm_medium::sync::Instant;
use holm_medium::sync::atomic::{AtomicBool, Ordering};
use holm_medium::sync::{Mutex, MutexGuard};
use holm_medium::{Epoch, Floor, MediumError};
use holm_tree::{LeafCursor, LookupAt, Released, SeekTarget, TreeRoot, Wanted};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

/// The bytes that open generations may keep together, unless the caller chooses.
pub(crate) const DEFAULT_SNAPSHOT_BYTES: u64 = 1 << 30;

/// The open generations of a store.
pub(crate) struct Generations {
    /// By number.
    open: Mutex<BTreeMap<u64, Arc<Generation>>>,
    /// The most bytes that all of them keep.
    pub(crate) limit: u64,
    /// Held while one ends: what it keeps is not free at once.
    ending: Mutex<()>,
}

impl Generations {
    pub(crate) fn limited_to(limit: u64) -> Self {
        Generations { open: Mutex::default(), limit, ending: Mutex::default() }
    }

    /// Adds a generation that has begun. Its blocks were retained before any writer could know of it: the first writer
    /// that does may give a block up.
    fn add(&self, number: u64, blocks: Option<Floor>) -> Arc<Generation> {
        let (begun, ended) = (Instant::now(), AtomicBool::new(false));
        let generation = Arc::new(Generation { number, begun, ended, blocks: Mutex::new(blocks) });
        self.lock().insert(number, generation.clone());
        generation
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Generation>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of open generations, and the age of the oldest.
    pub(crate) fn ages(&self) -> (u64, Duration) {
        let open = self.lock();
        (open.len() as u64, open.values().next().map_or(Duration::ZERO, |oldest| oldest.begun.elapsed()))
    }
}

/// An open generation, as the store knows it.
struct Generation {
    number: u64,
    begun: Instant,
    /// Set before anything that it needs is freed.
    ended: AtomicBool,
    /// Retains the blocks whose records it may read, if blocks hold records.
    blocks: Mutex<Option<Floor>>,
}

impl WritableStore {
    /// Retains the blocks whose records a generation may read that begins later.
    fn retain_blocks(&self) -> Option<Floor> {
        let retention = self.storage.space().retention();
        (self.longest_in_leaf > 0).then(|| retention.retain(self.clock().active()))
    }

    /// Ends a generation, and frees what no other one needs. The caller holds [`Generations::ending`].
    fn end_generation(&self, generation: &Generation) {
        if self.generations.lock().remove(&generation.number).is_none() {
            return;
        }
        generation.ended.store(true, Ordering::SeqCst);
        for Released { payload, epoch } in self.index.close_snapshot(generation.number) {
            self.retire(epoch, payload);
        }
        generation.blocks.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// What all generations together keep, if that is more than the limit.
    fn exceeding_bytes(&self) -> Option<u64> {
        let (pre_images, records) = self.index.snapshot_bytes();
        Some(pre_images + records).filter(|bytes| *bytes > self.generations.limit)
    }

    /// Ends the oldest generations while all of them together keep more than the limit, unless another thread ends one:
    /// each would end another, where the end of the oldest is enough.
    pub(crate) fn limit_snapshots(&self) {
        if self.exceeding_bytes().is_none() {
            return;
        }
        let ending = match self.generations.ending.try_lock() {
            Ok(ending) => ending,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let mut exceeding = Vec::new();
        while let Some(bytes) = self.exceeding_bytes() {
            let oldest = self.generations.lock().values().next().cloned();
            let Some(oldest) = oldest else { break };
            exceeding.push(bytes);
            self.end_generation(&oldest);
        }
        // A program's logger may end a snapshot, too.
        drop(ending);
        for bytes in exceeding {
            log::warn!("holm: {}: open snapshots keep {bytes} bytes: the oldest ends", self.path.display());
        }
    }
}

/// A generation that its owner keeps open. Every reader asks for [`OpenGeneration::check_not_ended`] after it has
/// read.
pub(crate) struct OpenGeneration {
    engine: Arc<Engine>,
    generation: Arc<Generation>,
    /// The epoch in which it began.
    epoch: Epoch,
}

impl Drop for OpenGeneration {
    fn drop(&mut self) {
        let store = &self.engine.store;
        let _ending = store.generations.ending.lock().unwrap_or_else(PoisonError::into_inner);
        store.end_generation(&self.generation);
    }
}

/// What a key had in a generation.
pub(crate) struct FoundAt<T> {
    pub(crate) value: Option<T>,
    /// Where it was found.
    pub(crate) at: LookupAt,
}

impl OpenGeneration {
    /// Begins a generation. It has all that has taken effect by then, and nothing later. Also after a close, and after
    /// a failure.
    ///
    /// # Errors
    /// Those of an epoch's end, where it waits for one.
    pub(crate) fn begin(engine: &Arc<Engine>) -> Result<Self> {
        let store = &engine.store;
        let blocks = store.retain_blocks();
        let (number, epoch) = store.index.begin_snapshot()?;
        Ok(OpenGeneration { engine: engine.clone(), generation: store.generations.add(number, blocks), epoch })
    }

    /// The same at the end of an epoch, whose changes it has and no others.
    ///
    /// # Errors
    /// As [`OpenGeneration::begin`], and those of the epoch's end.
    pub(crate) fn begin_between_epochs(engine: &Arc<Engine>) -> Result<Self> {
        let store = &engine.store;
        let (blocks, added) = (store.retain_blocks(), Arc::new(OnceLock::new()));
        // In the thread that ends the epoch. From then on writers keep things for the generation, and it may be the one
        // that has to end.
        let begun = {
            let (generations, added) = (store.generations.clone(), added.clone());
            move |number| drop(added.set(generations.add(number, blocks)))
        };
        let ended = store.index.begin_snapshot_between_epochs(Box::new(begun));
        let open = added.get().map(|generation: &Arc<Generation>| OpenGeneration {
            engine: engine.clone(),
            generation: generation.clone(),
            epoch: ended.as_ref().map_or(0, |(_, epoch)| *epoch),
        });
        // After an error, the generation that has begun is dropped here.
        ended?;
        open.ok_or_else(|| Error::from(MediumError::Poisoned { why: "a snapshot did not begin".into() }))
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    pub(crate) fn store(&self) -> &Store {
        &self.engine.store
    }

    /// The epoch in which it began.
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(crate) fn age(&self) -> Duration {
        self.generation.begun.elapsed()
    }

    /// Refuses what was read if the generation has ended: records that it needed may belong to other keys by now.
    pub(crate) fn check_not_ended(&self) -> Result<()> {
        if self.generation.ended.load(Ordering::SeqCst) { Err(Error::Ended) } else { Ok(()) }
    }

    /// Reads what a key had. `check` refuses a keyspace whose leaves may belong to another one by now.
    ///
    /// # Errors
    /// `Ended`, and otherwise those of a get.
    pub(crate) fn get<T>(
        &self,
        (tree, key, view): (&KeyspaceTree, &[u8], ReadView),
        check: impl FnOnce() -> Result<()>,
        copy: impl Fn(Source<'_>, u64, ReadView) -> Copied<T>,
    ) -> Result<FoundAt<T>> {
        let store = self.store();
        let at = store.index.get_at(&tree.root, self.generation.number, SearchKey::new(key));
        let copy = |payload| copy(store.source(), payload, view).map_err(|NoRecord| payload);
        let copied = store.copied_if(check, None, || at.lookup.payload.map_or(Ok(None), copy));
        // First of all: the record of a generation that has ended may belong to another key by now.
        self.check_not_ended()?;
        let value = copied?.transpose().map_err(|payload| store.no_record(payload))?.flatten();
        Ok(FoundAt { value, at })
    }
}

impl LeafSource for OpenGeneration {
    fn store(&self) -> &Store {
        OpenGeneration::store(self)
    }

    fn copy_leaf(
        &self,
        root: &TreeRoot,
        target: SeekTarget<'_, Records>,
        _: Wanted<'_, Records>,
        cursor: &mut LeafCursor<Records>,
    ) {
        self.store().index.copy_leaf_at(root, self.generation.number, target, cursor);
    }

    fn keeps_records(&self) -> bool {
        true
    }
}
