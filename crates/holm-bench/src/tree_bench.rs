//! A fresh tree of one design over plain memory, with keys and values of 8 bytes: the subject of measurements below the
//! store.

use holm_medium::{Area, Counts, EpochTimer, FIRST_EPOCH, Flush, Mapped, MappedOptions, Medium, Pace, StorageOps};
use holm_medium::{Guard, Result, Storage, Word, Writer};
use holm_search::Search;
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{Design, Index, LeafCursor, Rebuilt, SeekTarget, TreeRoot, TreeSet, Words};
use std::num::NonZero;
use std::sync::Arc;
use std::time::Duration;

/// Operations per epoch guard, if the design is durable without epochs.
const STAY: usize = 256;

/// Bytes of leaves per pair that exist before the first pair: enough for leaves that are half full, and for those that
/// splits have freed.
const BORN: u64 = 96;

/// The options of a measured tree.
#[derive(Clone, Copy, Debug)]
pub struct TreeSetup {
    /// Pairs that the tree will hold.
    pub pairs: u64,
    /// Nanoseconds added to each flushed line.
    pub flush_ns: u32,
    /// The interval between ends of epochs, if the design is durable per epoch.
    pub epoch: Duration,
    /// Whether lines are flushed at all.
    pub flush: bool,
    /// Counts the calls to the medium. The owner then ends epochs itself, because the counts must not depend on when an
    /// epoch happens to end.
    pub count: bool,
}

/// A measured tree.
pub struct TreeBench<D: Design> {
    tree_set: TreeSet<Mapped, D, Words>,
    root: TreeRoot,
    writer: Arc<Writer<Mapped>>,
    timer: Option<EpochTimer>,
}

impl<D: Design> std::fmt::Debug for TreeBench<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grove").field("design", &D::NAME).field("pairs", &self.root.pairs()).finish_non_exhaustive()
    }
}

/// Returns the key of a number. The map is one-to-one and scatters.
#[inline]
#[must_use]
pub fn word(number: u64) -> u64 {
    let mixed = |word: u64, shift: u32, factor: u64| (word ^ word >> shift).wrapping_mul(factor);
    let word = mixed(number.wrapping_add(0x9E37_79B9_7F4A_7C15), 30, 0xBF58_476D_1CE4_E5B9);
    let word = mixed(word, 27, 0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}

impl<D: Design> TreeBench<D> {
    /// Creates an empty tree, and a thread that ends its epochs if the options ask for it.
    ///
    /// # Errors
    /// The medium's error if there is not enough memory.
    pub fn new(setup: TreeSetup) -> Result<Self> {
        let flush = if setup.flush { Flush::detect() } else { Flush::Nothing };
        let options = MappedOptions { flush, flush_ns: setup.flush_ns, count: setup.count, ..MappedOptions::default() };
        let writer = Arc::new(Storage::open(Mapped::anonymous(options)?, FIRST_EPOCH)?);
        // Persistent memory exists before a tree does. The kernel's search for plain memory is not a cost of the tree.
        let (medium, bytes) = (&writer.storage().medium, setup.pairs * BORN);
        medium.grow(Area::Leaves, bytes)?;
        medium.image().area(Area::Leaves).populate(0, bytes as usize);
        let tree_set = TreeSet::new(writer.clone(), Words, Search::detect());
        let root = tree_set.create_tree(&mut writer.clock().pin()?, 1)?;
        let ticks = D::CAPABILITIES.per_epoch && !setup.count;
        let start = || EpochTimer::start(writer.clone(), Pace::every(setup.epoch), NonZero::<usize>::MIN);
        let timer = ticks.then(start).transpose()?;
        Ok(TreeBench { tree_set, root, writer, timer })
    }

    /// Calls the work for each item while pinned. If the design is durable per epoch, each operation pins its own
    /// epoch. If it is durable on return, the epoch only decides when freed memory is reused, so one guard serves many
    /// operations.
    ///
    /// # Errors
    /// The work's error, or the medium's failure.
    pub fn checked_in<T>(
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
    ///
    /// # Errors
    /// The medium's error if it cannot grow.
    #[inline(never)]
    pub fn put_one(&self, guard: &mut Guard<'_>, key: u64, payload: u64) -> Result<()> {
        self.tree_set.put(&self.root, guard, key, payload, None).map(drop)
    }

    /// Puts each payload under its key.
    ///
    /// # Errors
    /// As [`TreeBench::put_one`].
    pub fn put(&self, pairs: impl Iterator<Item = (u64, u64)>) -> Result<()> {
        self.checked_in(pairs, |guard, (key, payload)| self.put_one(guard, key, payload))
    }

    /// Removes each key.
    ///
    /// # Errors
    /// The medium's.
    pub fn remove(&self, keys: impl Iterator<Item = u64>) -> Result<()> {
        self.checked_in(keys, |guard, key| self.remove_one(guard, key))
    }

    /// Removes one key. It is compiled once per design, too.
    ///
    /// # Errors
    /// The medium's.
    #[inline(never)]
    pub fn remove_one(&self, guard: &mut Guard<'_>, key: u64) -> Result<()> {
        self.tree_set.remove(&self.root, guard, key, None).map(drop)
    }

    /// Returns the payload of a key.
    #[inline]
    pub fn get(&self, key: u64) -> Option<u64> {
        self.tree_set.get(&self.root, key).payload
    }

    /// Looks up the keys in groups of `together`.
    pub fn get_many(&self, keys: &[u64], together: usize) {
        let mut out = Vec::with_capacity(together);
        for keys in keys.chunks(together) {
            out.clear();
            self.tree_set.get_many(&self.root, keys, &mut out);
            std::hint::black_box(&out);
        }
    }

    /// Reads `count` pairs from the first key that is at least `low`, or as many as exist. Returns their number, and a
    /// number that depends on each pair. It reuses the buffers of the cursor.
    pub fn scan(&self, mut low: u64, count: usize, cursor: &mut LeafCursor<Words>) -> (usize, u64) {
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

    /// Returns the words of all leaves, and of `more` blocks that may be allocated next, for callers that observe which
    /// words are read.
    pub fn words(&self, more: u32) -> &[Word] {
        let (space, image) = (self.writer.space(), self.writer.storage().medium.image());
        let bytes = u64::from(space.block_frontier() + more) * space.block_bytes();
        let bytes = bytes.min(image.area(Area::Leaves).len() as u64);
        image.words(Area::Leaves.at(0), bytes as usize / size_of::<Word>()).unwrap_or_default()
    }

    /// Waits until everything is durable, if a thread ends epochs.
    ///
    /// # Errors
    /// The medium's.
    pub fn settle(&self) -> Result<()> {
        self.timer.as_ref().map_or(Ok(()), |timer| timer.sync().map(drop))
    }

    /// Ends an epoch, for callers that count.
    ///
    /// # Errors
    /// The medium's.
    pub fn end_epoch(&self) -> Result<()> {
        self.writer.end_epoch().map(drop)
    }

    /// Rebuilds all volatile state from the leaves, as a separate tree. No other thread uses this tree meanwhile.
    ///
    /// # Errors
    /// `Corrupt`, which would be a bug.
    pub fn rebuilt(&self, threads: usize) -> Result<Rebuilt> {
        let tree_set = TreeSet::<Mapped, D, Words>::new(self.writer.clone(), Words, Search::detect());
        tree_set.rebuild(RecoveryPoint::Visible, self.writer.clock().active(), threads)
    }

    /// Returns the number of pairs.
    pub fn pairs(&self) -> u64 {
        self.root.pairs()
    }

    /// Returns the calls to the medium so far, if it counts them.
    pub fn counts(&self) -> Counts {
        self.writer.storage().medium.counts()
    }

    /// Returns the first block that was never allocated. It moves when a leaf splits, unless there is a free block.
    pub fn frontier(&self) -> u32 {
        self.writer.space().block_frontier()
    }

    /// Returns the bytes of memory that the tree uses in addition to its leaves.
    pub fn volatile_bytes(&self) -> u64 {
        self.tree_set.volatile_bytes()
    }

    /// Returns the bytes of leaf blocks in use.
    pub fn leaf_bytes(&self) -> u64 {
        let space = self.writer.space();
        (u64::from(space.block_frontier()) - space.free_blocks()) * space.block_bytes()
    }
}
