//! The plain memory under a measured tree, and the thread that ends its epochs.

use super::TreeSetup;
use holm_medium::{Area, Counts, EpochTimer, FIRST_EPOCH, Flush, Mapped, MappedOptions, Medium, Pace, StorageOps};
use holm_medium::{Guard, Result, Storage, Writer};
use std::num::NonZero;
use std::sync::Arc;

/// Operations per epoch guard, if what they write is durable without epochs.
const STAY: usize = 256;

/// Bytes of leaves per pair that exist before the first pair: enough for leaves that are half full, and for those that
/// splits have freed.
const LEAF_BYTES: u64 = 96;

/// Memory that acts as persistent memory, with the price that the setup states.
pub struct Memory {
    writer: Arc<Writer<Mapped>>,
    timer: Option<EpochTimer>,
}

impl Memory {
    /// Creates memory for the pairs of the setup, all of it present. `per_epoch` states that changes become durable
    /// when an epoch ends; then a thread ends epochs, unless the setup counts.
    ///
    /// # Errors
    /// The medium's error if there is not enough memory, and `Io` if the thread cannot be started.
    pub fn new(setup: TreeSetup, per_epoch: bool) -> Result<Self> {
        let flush = if setup.flush { Flush::detect() } else { Flush::Nothing };
        let options = MappedOptions { flush, latency: setup.latency, count: setup.count, ..MappedOptions::default() };
        let writer = Arc::new(Storage::open(Mapped::anonymous(options)?, FIRST_EPOCH)?);
        // Persistent memory exists before a tree does. The kernel's search for plain memory is not a cost of the tree.
        let (medium, bytes) = (&writer.storage().medium, setup.pairs * LEAF_BYTES);
        medium.grow(Area::Leaves, bytes)?;
        medium.image().area(Area::Leaves).populate(0, bytes as usize);
        let start = || EpochTimer::start(writer.clone(), Pace::every(setup.epoch), NonZero::<usize>::MIN);
        let timer = (per_epoch && !setup.count).then(start).transpose()?;
        Ok(Memory { writer, timer })
    }

    /// Returns what writes into the memory.
    pub fn writer(&self) -> &Arc<Writer<Mapped>> {
        &self.writer
    }

    /// Calls the work for each item while an epoch is pinned: one for each item if changes are durable per epoch.
    /// Otherwise the epoch only decides when freed memory is reused, so one guard serves many items.
    ///
    /// # Errors
    /// Those of the work, and `Poisoned` once the epochs have ended.
    #[inline]
    pub fn pinned<T>(
        &self,
        per_epoch: bool,
        mut items: impl Iterator<Item = T>,
        mut work: impl FnMut(&mut Guard<'_>, T) -> Result<()>,
    ) -> Result<()> {
        let clock = self.writer.clock();
        if per_epoch {
            return items.try_for_each(|item| work(&mut clock.pin()?, item));
        }
        let mut items = items.peekable();
        while items.peek().is_some() {
            let mut guard = clock.pin()?;
            items.by_ref().take(STAY).try_for_each(|item| work(&mut guard, item))?;
        }
        Ok(())
    }

    /// Waits until everything is durable, if a thread ends epochs.
    ///
    /// # Errors
    /// `Poisoned` once the epochs have ended.
    pub fn settle(&self) -> Result<()> {
        self.timer.as_ref().map_or(Ok(()), |timer| timer.sync().map(drop))
    }

    /// Returns the calls to the medium so far, if the setup counts them.
    pub fn counts(&self) -> Counts {
        self.writer.storage().medium.counts()
    }
}
