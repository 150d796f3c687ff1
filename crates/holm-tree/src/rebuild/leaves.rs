//! The leaf blocks of a tree set, by number, as the rebuild sees them.
//!
//! The rebuild runs once per open, so it needs no code of its own for each design: it works on this trait object and is
//! compiled once for each kind of keys. Only the loops that go through all blocks are here.

use crate::design::Design;
use crate::keys::{Keys, Slot};
use crate::leaf::{BlockState, Durability as _, GaveWay, Leaf, Overflow as _, Pairs, ReadContext, RecoveryPoint};
use crate::tree_set::{DurabilityOf, OverflowOf, TreeSet};
use holm_medium::{Epoch, EpochSpan, Image, Medium, Result};
use holm_search::Search;

/// A leaf in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LiveLeaf {
    /// Its number.
    pub number: u32,
    /// Its keyspace.
    pub keyspace: u32,
    /// Whether it is the keyspace's first leaf, for linked designs.
    pub first: bool,
}

/// What the rebuild reads of a leaf besides its pairs.
pub(crate) struct LeafRead {
    /// Bytes that heads leave out.
    pub(crate) skip: usize,
    /// The epoch of the last change.
    pub(crate) stamp: Epoch,
}

/// Blocks at the recovery point.
#[derive(Default)]
pub(crate) struct RecoveredBlocks {
    /// The blocks that are not free, and what each one is.
    pub(crate) blocks: Vec<(u32, BlockState)>,
    /// The latest epoch of any block.
    pub(crate) latest: Epoch,
}

/// The first and the last epoch, after the log's last one, in which a block changed.
pub(crate) type ChangedAfter = Option<EpochSpan>;

/// The leaf blocks of a tree set, by number.
pub(crate) trait Leaves<K: Keys>: Sync {
    /// Returns the bytes of a block.
    fn block_bytes(&self) -> usize;
    /// Returns the most blocks of a leaf.
    fn most_blocks(&self) -> usize;
    /// Returns the keys.
    fn keys(&self) -> &K;
    /// Returns the vector kernels.
    fn search(&self) -> Search;
    /// Returns the image.
    fn image(&self) -> &Image;
    /// Returns whether the image has a block of this number.
    fn exists(&self, number: u32) -> bool;
    /// Prefetches a block, if there is one.
    fn prefetch(&self, number: u32);

    /// Brings these blocks to the recovery point, durably. `before` runs for each block before anything of it changes.
    ///
    /// # Errors
    /// `Corrupt` for bits that no crash can have left, and the errors of `before`.
    fn recover(
        &self,
        numbers: &mut dyn Iterator<Item = u32>,
        recovery_point: RecoveryPoint,
        before: &mut dyn FnMut(u32, ChangedAfter) -> Result<()>,
    ) -> Result<RecoveredBlocks>;

    /// Attaches overflow blocks to the leaf that they name.
    ///
    /// # Errors
    /// `Corrupt` if no crash can have left the blocks so.
    fn attach(&self, number: u32, overflow_numbers: &[u32]) -> Result<()>;
    /// Returns the number of the block behind this one; 0 is none.
    fn block_behind(&self, number: u32) -> u32;
    /// Passes on the numbers of a leaf's blocks, its own first.
    fn each_block(&self, number: u32, each: &mut dyn FnMut(u32));

    /// Returns whether a block has this checksum, and no change after this epoch.
    fn is_unchanged(&self, number: u32, sum: u32, epoch: Epoch) -> bool;
    /// Rebuilds the volatile side of a leaf, and copies its pairs.
    ///
    /// # Errors
    /// If there is no such block.
    fn read(&self, number: u32, pairs: &mut Pairs) -> Result<LeafRead>;
    /// Returns whether a leaf whose volatile side is rebuilt finds a slot of its own by the key of the slot's record.
    fn finds(&self, number: u32, slot: Slot) -> bool;
    /// Copies the pairs of a block.
    fn block_pairs(&self, number: u32, pairs: &mut Pairs);
    /// Copies the pairs of a block that were live at the end of an epoch, and returns the bytes that heads leave out.
    fn live_at(&self, number: u32, epoch: Epoch, pairs: &mut Pairs) -> usize;

    /// Returns a leaf that a block names as having its pairs since a split or merge after an epoch, and that has not
    /// changed since.
    fn lost_heir(&self, number: u32, epoch: Epoch) -> Option<u32>;

    /// Writes these places and lengths to the files again.
    ///
    /// # Errors
    /// Those of the medium.
    fn write_again(&self, places: &[(u64, u64)]) -> Result<()>;
}

/// The leaf blocks of a design.
pub(crate) struct LeavesOf<'a, M: Medium, D: Design, K: Keys> {
    pub(crate) tree_set: &'a TreeSet<M, D, K>,
    /// The label of what recovery writes.
    pub(crate) epoch: Epoch,
    /// The number of blocks of the leaf area.
    pub(crate) blocks: u32,
}

impl<M: Medium, D: Design, K: Keys> Leaves<K> for LeavesOf<'_, M, D, K> {
    fn block_bytes(&self) -> usize {
        size_of::<D::Leaf>()
    }

    fn most_blocks(&self) -> usize {
        OverflowOf::<D>::BLOCKS
    }

    fn keys(&self) -> &K {
        &self.tree_set.keys
    }

    fn search(&self) -> Search {
        self.tree_set.inner.search
    }

    fn image(&self) -> &Image {
        self.tree_set.writer.storage().medium.image()
    }

    fn exists(&self, number: u32) -> bool {
        self.tree_set.leaf(number).is_some()
    }

    fn prefetch(&self, number: u32) {
        self.tree_set.leaf(number).into_iter().for_each(holm_search::prefetch_lines);
    }

    fn recover(
        &self,
        numbers: &mut dyn Iterator<Item = u32>,
        recovery_point: RecoveryPoint,
        before: &mut dyn FnMut(u32, ChangedAfter) -> Result<()>,
    ) -> Result<RecoveredBlocks> {
        let mut recovered = RecoveredBlocks::default();
        let mut handle = self.tree_set.writer.begin_write_at(self.epoch);
        let peer = |number| self.tree_set.leaf(number).filter(|_| number < self.blocks);
        for number in numbers {
            let (leaf, descriptor) = self.tree_set.block(number)?;
            let volatile = &descriptor.volatile;
            // The log ends with the epoch before this one.
            before(number, DurabilityOf::<D>::changes_after(leaf, self.epoch - 1))?;
            let block_state = leaf.recover(number, volatile, &mut handle, recovery_point, &peer)?;
            // Only this block is read: its overflow block may not be at the recovery point yet.
            let alone = ReadContext { image: None, ..self.tree_set.context(volatile) };
            recovered.latest = recovered.latest.max(DurabilityOf::<D>::stamp(leaf, alone));
            if block_state != BlockState::Free {
                recovered.blocks.push((number, block_state));
            }
        }
        // One fence for all that recovery wrote. It defends against a second crash: until the fence, that crash finds
        // the same work to do.
        handle.fence();
        Ok(recovered)
    }

    fn attach(&self, number: u32, overflow_numbers: &[u32]) -> Result<()> {
        let (leaf, descriptor) = self.tree_set.block(number)?;
        OverflowOf::<D>::attach(leaf, number, self.tree_set.context(&descriptor.volatile), overflow_numbers)
    }

    fn block_behind(&self, number: u32) -> u32 {
        let found = self.tree_set.leaf(number).zip(self.tree_set.descriptors.get(number));
        found.map_or(0, |(leaf, descriptor)| {
            OverflowOf::<D>::block(leaf, self.tree_set.context(&descriptor.volatile), 1)
        })
    }

    fn each_block(&self, number: u32, each: &mut dyn FnMut(u32)) {
        self.tree_set.blocks_of(number).for_each(each);
    }

    fn is_unchanged(&self, number: u32, sum: u32, epoch: Epoch) -> bool {
        let Ok((leaf, descriptor)) = self.tree_set.block(number) else { return false };
        let stamp = DurabilityOf::<D>::stamp(leaf, self.tree_set.context(&descriptor.volatile));
        stamp <= epoch && self.tree_set.sum(number) == Some(sum)
    }

    fn read(&self, number: u32, pairs: &mut Pairs) -> Result<LeafRead> {
        let (leaf, descriptor) = self.tree_set.block(number)?;
        let context = self.tree_set.context(&descriptor.volatile);
        leaf.rebuild_volatile(context);
        pairs.clear();
        OverflowOf::<D>::pairs(leaf, context, pairs);
        Ok(LeafRead { skip: leaf.skip(), stamp: DurabilityOf::<D>::stamp(leaf, context) })
    }

    fn finds(&self, number: u32, slot: Slot) -> bool {
        let found = self.tree_set.leaf(number).zip(self.tree_set.descriptors.get(number));
        found.zip(self.tree_set.keys.key(slot)).is_some_and(|((leaf, descriptor), key)| {
            leaf.get(self.tree_set.context(&descriptor.volatile), K::search_key(&key)) == Some(slot.payload)
        })
    }

    fn block_pairs(&self, number: u32, pairs: &mut Pairs) {
        pairs.clear();
        if let Some((leaf, descriptor)) = self.tree_set.leaf(number).zip(self.tree_set.descriptors.get(number)) {
            leaf.block_pairs(&descriptor.volatile, pairs);
        }
    }

    fn live_at(&self, number: u32, epoch: Epoch, pairs: &mut Pairs) -> usize {
        pairs.clear();
        self.tree_set.leaf(number).map_or(0, |leaf| {
            DurabilityOf::<D>::live_at(leaf, epoch, pairs);
            leaf.skip()
        })
    }

    fn lost_heir(&self, number: u32, epoch: Epoch) -> Option<u32> {
        let GaveWay { in_epoch, heirs } = DurabilityOf::<D>::gave_way_after(self.tree_set.leaf(number)?, epoch)?;
        let changed = |heir: &u32| {
            let leaf = self.tree_set.leaf(*heir);
            leaf.is_some_and(|leaf| DurabilityOf::<D>::changes_after(leaf, in_epoch - 1).is_some())
        };
        heirs.into_iter().flatten().find(|heir| !changed(heir))
    }

    fn write_again(&self, places: &[(u64, u64)]) -> Result<()> {
        self.tree_set.writer.storage().medium.write_again(places)
    }
}
