//! The measured tree of one design. Everything here is compiled once for each design, so code that does not depend on
//! one belongs elsewhere.

use super::{MeasuredTree, Request, TreeSetup, What};
use holm_medium::{Area, Counts, EpochTimer, FIRST_EPOCH, Flush, Mapped, MappedOptions, Medium, Pace, StorageOps};
use holm_medium::{Guard, Result, Storage, Word, Writer};
use holm_search::Search;
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{Design, Index, LeafCursor, Rebuilt, SeekTarget, TreeRoot, TreeSet, Words};
use std::hint::black_box;
use std::num::NonZero;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Operations per epoch guard, if the design is durable without epochs.
const STAY: usize = 256;

/// Bytes of leaves per pair that exist before the first pair: enough for leaves that are half full, and for those that
/// splits have freed.
const LEAF_BYTES: u64 = 96;

/// A tree set with one tree.
pub(super) struct Tree<D: Design> {
    tree_set: TreeSet<Mapped, D, Words>,
    root: TreeRoot,
    writer: Arc<Writer<Mapped>>,
    timer: Option<EpochTimer>,
}

fn memory(setup: TreeSetup) -> Result<Arc<Writer<Mapped>>> {
    let flush = if setup.flush { Flush::detect() } else { Flush::Nothing };
    let options = MappedOptions { flush, latency: setup.latency, count: setup.count, ..MappedOptions::default() };
    let writer = Arc::new(Storage::open(Mapped::anonymous(options)?, FIRST_EPOCH)?);
    // Persistent memory exists before a tree does. The kernel's search for plain memory is not a cost of the tree.
    let (medium, bytes) = (&writer.storage().medium, setup.pairs * LEAF_BYTES);
    medium.grow(Area::Leaves, bytes)?;
    medium.image().area(Area::Leaves).populate(0, bytes as usize);
    Ok(writer)
}

impl<D: Design> Tree<D> {
    pub(super) fn new(setup: TreeSetup) -> Result<Self> {
        let writer = memory(setup)?;
        let tree_set = TreeSet::new(writer.clone(), Words, Search::detect());
        let root = tree_set.create_tree(&mut writer.clock().pin()?, 1)?;
        let ticks = D::CAPABILITIES.per_epoch && !setup.count;
        let start = || EpochTimer::start(writer.clone(), Pace::every(setup.epoch), NonZero::<usize>::MIN);
        let timer = ticks.then(start).transpose()?;
        Ok(Tree { tree_set, root, writer, timer })
    }

    /// Calls the work for each item while pinned.
    #[inline]
    fn pinned<T>(
        &self,
        mut items: impl Iterator<Item = T>,
        mut work: impl FnMut(&mut Guard<'_>, T) -> Result<()>,
    ) -> Result<()> {
        let clock = self.writer.clock();
        if D::CAPABILITIES.per_epoch {
            return items.try_for_each(|item| work(&mut clock.pin()?, item));
        }
        let mut items = items.peekable();
        while items.peek().is_some() {
            let mut guard = clock.pin()?;
            items.by_ref().take(STAY).try_for_each(|item| work(&mut guard, item))?;
        }
        Ok(())
    }

    /// Puts one payload. It is compiled once per design, because it is most of the code of a design.
    #[inline(never)]
    fn put_one(&self, guard: &mut Guard<'_>, key: u64, payload: u64) -> Result<()> {
        self.tree_set.put(&self.root, guard, key, payload).map(drop)
    }

    /// Removes one key. It is compiled once per design, too.
    #[inline(never)]
    fn remove_one(&self, guard: &mut Guard<'_>, key: u64) -> Result<()> {
        self.tree_set.remove(&self.root, guard, key).map(drop)
    }

    /// Returns the payload of a key.
    #[inline]
    fn get_one(&self, key: u64) -> Option<u64> {
        self.tree_set.get(&self.root, key).payload
    }

    /// Reads `count` pairs from the first key that is at least `low`, or as many as exist, into the buffers of the
    /// cursor.
    fn scan_one(&self, mut low: u64, count: usize, cursor: &mut LeafCursor<Words>) -> (usize, u64) {
        let (mut found, mut sum) = (0, 0u64);
        cursor.reset();
        while found < count {
            self.tree_set.copy_leaf(&self.root, SeekTarget::Holding(low), count - found, cursor);
            let from = cursor.pairs.partition_point(|slot| slot.head < low);
            for slot in cursor.pairs[from..].iter().take(count - found) {
                sum = sum.wrapping_add(slot.payload);
                found += 1;
            }
            match cursor.edge {
                Some(edge) if edge > low => low = edge,
                _ => break,
            }
        }
        (found, sum)
    }
}

impl<D: Design> MeasuredTree for Tree<D> {
    fn put(&self, keys: &[u64], mask: u64) -> Result<()> {
        self.pinned(keys.iter(), |guard, key| self.put_one(guard, *key, key ^ mask))
    }

    fn put_timed(&self, keys: &[u64], mask: u64, each: &mut dyn FnMut(Duration)) -> Result<()> {
        self.pinned(keys.iter(), |guard, key| {
            let began = Instant::now();
            let done = self.put_one(guard, *key, key ^ mask);
            each(began.elapsed());
            done
        })
    }

    fn remove(&self, keys: &[u64]) -> Result<()> {
        self.pinned(keys.iter(), |guard, key| self.remove_one(guard, *key))
    }

    fn get(&self, keys: &[u64]) -> u64 {
        keys.iter().fold(0, |sum: u64, key| sum.wrapping_add(self.get_one(*key).unwrap_or_default()))
    }

    fn get_dependent(&self, keys: &[u64], mask: u64) {
        // In a sound tree this stays zero, which neither the compiler nor the processor knows.
        let mut wrong = 0;
        for key in keys {
            wrong = self.get_one(key ^ wrong).map_or(0, |payload| payload ^ mask ^ key);
        }
        black_box(wrong);
    }

    fn get_many(&self, keys: &[u64], together: usize) {
        let mut out = Vec::with_capacity(together);
        for keys in keys.chunks(together) {
            out.clear();
            self.tree_set.get_many(&self.root, keys, &mut out);
            black_box(&out);
        }
    }

    fn scan(&self, keys: &[u64], count: usize) -> (usize, u64) {
        let mut cursor = LeafCursor::default();
        keys.iter().fold((0, 0u64), |(found, sum), key| {
            let (more, of_these) = self.scan_one(*key, count, &mut cursor);
            (found + more, sum.wrapping_add(of_these))
        })
    }

    fn mix(&self, keys: &[u64]) -> Result<()> {
        // A lookup alone needs no epoch guard.
        self.pinned(keys.chunks(2).enumerate(), |guard, (index, keys)| {
            self.put_one(guard, keys[0], index as u64)?;
            black_box(keys.get(1).map_or(0, |key| self.get_one(*key).unwrap_or_default()));
            Ok(())
        })
    }

    fn replay(&self, requests: &[Request]) -> Result<()> {
        self.pinned(requests.iter(), |guard, request| match request.what {
            What::Get => {
                black_box(self.get_one(request.key));
                Ok(())
            }
            What::Put => self.put_one(guard, request.key, !request.key),
            What::Remove => self.remove_one(guard, request.key),
        })
    }

    fn settle(&self) -> Result<()> {
        self.timer.as_ref().map_or(Ok(()), |timer| timer.sync().map(drop))
    }

    fn end_epoch(&self) -> Result<()> {
        self.writer.end_epoch().map(drop)
    }

    fn rebuilt(&self, threads: usize) -> Result<Rebuilt> {
        let tree_set = TreeSet::<Mapped, D, Words>::new(self.writer.clone(), Words, Search::detect());
        tree_set.rebuild(RecoveryPoint::Visible, self.writer.clock().active(), threads)
    }

    fn pairs(&self) -> u64 {
        self.root.pairs()
    }

    fn counts(&self) -> Counts {
        self.writer.storage().medium.counts()
    }

    fn frontier(&self) -> u32 {
        self.writer.space().block_frontier()
    }

    fn volatile_bytes(&self) -> u64 {
        self.tree_set.volatile_bytes()
    }

    fn leaf_bytes(&self) -> u64 {
        let space = self.writer.space();
        (u64::from(space.block_frontier()) - space.free_blocks()) * space.block_bytes()
    }

    fn words(&self, more: u32) -> &[Word] {
        let (space, image) = (self.writer.space(), self.writer.storage().medium.image());
        let bytes = u64::from(space.block_frontier() + more) * space.block_bytes();
        let bytes = bytes.min(image.area(Area::Leaves).len() as u64);
        image.words(Area::Leaves.at(0), bytes as usize / size_of::<Word>()).unwrap_or_default()
    }
}
