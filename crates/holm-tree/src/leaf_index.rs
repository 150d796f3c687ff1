//! The leaf index of a tree set: made at close, loaded at open, and the first look at each leaf that was loaded so.
//!
//! A loaded leaf's latch is closed, as if a writer held it. So the fast path of an operation is what it is without an
//! index, and the branch that meets a held latch leads here. The first look compares the block with its checksum and
//! opens the latch. A block that differs stays closed, and its tree answers with the damage from then on: an answer
//! from such a leaf could lack keys.

use crate::design::{Design, LevelsOf, LocksOf};
use crate::index::{Rebuilt, TreeRoot};
use crate::inner::{Inner, Placement, Route as _};
use crate::keys::Keys;
use crate::latch::{Latch, Version};
use crate::leaf::{BlockByte, Leaf, Overflow as _, Pairs, Recovery, damaged};
use crate::load::LoadedChild;
use crate::locks::Locks as _;
use crate::rebuild::found_leaves;
use crate::slab::Slab;
use crate::sync::atomic::Ordering::Relaxed;
use crate::tree_set::{OverflowOf, TreeSet};
use holm_medium::{Area, IndexedTree, LeafIndex, Medium, MediumError, Result, sum_words};

/// The checksums of loaded leaves, by number.
pub(crate) type Sums = Box<[u32]>;

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Whether the design's closed leaves need nothing but their place.
    const INDEXED: bool = <D::Leaf as Leaf>::Recovery::INDEXED
        && OverflowOf::<D>::BLOCKS == 1
        && !LocksOf::<D>::IN_NODE
        && !<LevelsOf<D> as Placement<D::Upper>>::IN_BLOCKS;

    /// Returns the version of a leaf's latch, unless a writer holds it. Looks at the leaf if no thread has.
    #[inline(always)]
    pub(crate) fn read_latch(&self, root: &TreeRoot, number: u32, latch: &Latch) -> Option<Version> {
        match latch.read() {
            None => self.first_look(root, number, latch),
            version => version,
        }
    }

    /// Looks at a leaf for the first time; `None` if a writer holds the latch, another thread looks, or the leaf is
    /// damaged.
    #[cold]
    #[inline(never)]
    fn first_look(&self, root: &TreeRoot, number: u32, latch: &Latch) -> Option<Version> {
        let look = latch.begin_look()?;
        match self.compare_sum(number) {
            Ok(()) => {
                let (leaf, descriptor) = self.leaf(number).zip(self.descriptors.get(number))?;
                leaf.rebuild_volatile(self.context(&descriptor.volatile));
                Some(look.open())
            }
            Err(damage) => {
                root.mark_damaged(damage);
                None
            }
        }
    }

    /// Compares a loaded leaf, which has not changed since, with its checksum.
    fn compare_sum(&self, number: u32) -> Result<()> {
        self.check_sum(number, self.sum(number))
    }

    /// The same for a checksum that is known.
    fn check_sum(&self, number: u32, found: Option<u32>) -> Result<()> {
        let expected = self.sums.get().and_then(|sums| sums.get(number as usize));
        if found.as_ref() == expected && found.is_some() {
            return Ok(());
        }
        let hex = |sum: Option<u32>| sum.map_or("nothing".into(), |sum| format!("checksum {sum:08x}"));
        let expected = format!("{}, as when it was closed", hex(expected.copied()));
        Err(damaged::<D::Leaf>(BlockByte::first_of(number), "a leaf", hex(found), expected))
    }

    /// Returns the checksum of a leaf's block.
    fn sum(&self, number: u32) -> Option<u32> {
        let bytes = size_of::<D::Leaf>();
        let image = self.writer.storage().medium.image();
        let words = image.words(Area::Leaves.at(u64::from(number) * bytes as u64), bytes / 8)?;
        Some(sum_words(words))
    }

    /// See [`crate::Index::load`].
    pub(crate) fn load_index(&self, index: &LeafIndex, looked_at: u32) -> Option<Rebuilt> {
        let storage = self.writer.storage();
        let in_use: Vec<u32> = index.numbers().collect();
        let (frontier, free) = found_leaves::free(storage.space.first_block(), &in_use);
        let mut sums = vec![0; frontier as usize].into_boxed_slice();
        if !Self::INDEXED || index.trees.is_empty() || self.leaf(frontier - 1).is_none() || frontier > D::Leaf::NUMBERS
        {
            return None;
        }
        index.trees.iter().flat_map(IndexedTree::leaves).for_each(|(_, leaf)| sums[leaf.number as usize] = leaf.sum);
        self.sums.set(sums).ok()?;
        let looked = index.trees.iter().filter(|tree| tree.keyspace == looked_at).flat_map(IndexedTree::leaves);
        if looked.into_iter().any(|(_, leaf)| !self.is_sound(looked_at, leaf.number)) {
            return None;
        }
        let roots = index.trees.iter().map(|tree| self.load_tree(tree)).collect::<Option<Vec<_>>>()?;
        let records = &index.records;
        storage.space.rebuilt(frontier, free, records.frontier, records.free.clone(), records.live);
        Some(Rebuilt { roots, latest: 0, leaves: in_use.len() as u64, record_bytes: records.live, after: None })
    }

    /// Returns whether a leaf and its records are what was written.
    fn is_sound(&self, keyspace: u32, number: u32) -> bool {
        let Some((leaf, descriptor)) = self.block(number).ok().filter(|_| self.compare_sum(number).is_ok()) else {
            return false;
        };
        let mut pairs = Pairs::default();
        self.leaf_pairs(leaf, &descriptor.volatile, &mut pairs);
        pairs.iter().all(|slot| self.keys.sound(keyspace, *slot, leaf.skip()))
    }

    fn load_tree(&self, tree: &IndexedTree) -> Option<TreeRoot> {
        for (_, leaf) in tree.leaves() {
            let descriptor = self.descriptors.get_or_allocate(leaf.number)?;
            LocksOf::<D>::own(&descriptor.latch)?.close_unseen();
        }
        // The lowest key of all has no bytes.
        let low = |bytes: &[u8]| if bytes.is_empty() { K::Separator::default() } else { K::from_long(bytes) };
        let leaves = tree.leaves().map(|(bytes, leaf)| LoadedChild { low: low(bytes), number: leaf.number });
        // Volatile nodes: no label is stored anywhere.
        let mut handle = self.writer.begin_write_at(0);
        let (level, top) = self.inner.load::<M, K>(&mut handle, tree.keyspace, leaves);
        Some(TreeRoot::new(tree.keyspace, level, top, tree.pairs))
    }

    /// See [`crate::Index::leaf_index`].
    pub(crate) fn make_index(&self, roots: &[&TreeRoot]) -> Result<Option<LeafIndex>> {
        if let Some(damage) = roots.iter().find_map(|root| root.damage()) {
            return Err(damage.clone());
        }
        if !Self::INDEXED {
            return self.look_at_rest().map(|()| None);
        }
        let space = &self.writer.storage().space;
        let mut index = LeafIndex::default();
        let mut bytes = 0;
        for root in roots {
            let (tree, record_bytes) = self.index_tree(root)?;
            bytes += record_bytes;
            let counted = tree.pairs == root.pairs() && !root.is_dropped();
            if !counted {
                return self.look_at_rest().map(|()| None);
            }
            index.trees.push(tree);
        }
        index.trees.sort_unstable_by_key(|tree| tree.keyspace);
        // Only if every block and every record is accounted for. A tree without a name, or a record that only a
        // snapshot had, is found by the next open from the leaves.
        let blocks = index.numbers().count() as u64 + space.free_blocks();
        let whole = blocks + u64::from(space.first_block()) == u64::from(space.block_frontier());
        let records = space.record_space().filter(|records| whole && records.live == bytes);
        match records {
            Some(records) => Ok(Some(LeafIndex { records, ..index })),
            None => self.look_at_rest().map(|()| None),
        }
    }

    /// Compares the leaves that no thread has looked at, also those of trees without a name, where no index is made.
    fn look_at_rest(&self) -> Result<()> {
        let loaded = self.sums.get().map_or(0, |sums| sums.len()) as u32;
        let is_unseen = |number: &u32| {
            let descriptor = self.descriptors.get(*number);
            descriptor.and_then(|it| LocksOf::<D>::own(&it.latch)).is_some_and(Latch::is_unseen)
        };
        (0..loaded).filter(is_unseen).try_for_each(|number| self.compare_sum(number))
    }

    /// Returns the index of one tree, and the bytes of its records.
    fn index_tree(&self, root: &TreeRoot) -> Result<(IndexedTree, u64)> {
        let mut leaves = Vec::new();
        let top = root.top.load(Relaxed);
        self.collect(((top >> 32) as u32, top as u32), K::Separator::default(), &mut leaves);
        let mut tree = IndexedTree::new(root.keyspace());
        let (mut pairs, mut bytes) = (Pairs::default(), 0);
        for (low, number) in leaves {
            let (leaf, descriptor) = self.block(number)?;
            let is_unseen = LocksOf::<D>::own(&descriptor.latch).is_some_and(Latch::is_unseen);
            let sum = self.sum(number).ok_or_else(|| no_block::<D::Leaf>(number))?;
            if is_unseen {
                self.check_sum(number, Some(sum))?;
            }
            pairs.clear();
            self.leaf_pairs(leaf, &descriptor.volatile, &mut pairs);
            tree.pairs += pairs.len() as u64;
            bytes += pairs.iter().filter_map(|slot| K::extent(slot.payload)).map(|it| u64::from(it.1) * 8).sum::<u64>();
            let separator = if tree.is_empty() { Vec::new() } else { K::separator_bytes(&low) };
            tree.push(&separator, number, sum);
        }
        Ok((tree, bytes))
    }

    /// Collects the leaves below a node, given as its level and number, with the separators at which they begin.
    fn collect(&self, (level, number): (u32, u32), low: K::Separator, out: &mut Vec<(K::Separator, u32)>) {
        if level <= 1 {
            return out.extend(self.children(&self.inner.leaf_parents, number, low));
        }
        for (low, child) in self.children(&self.inner.uppers, number, low) {
            self.collect((level - 1, child), low, out);
        }
    }

    fn children<I: Inner>(&self, slab: &Slab<I>, number: u32, low: K::Separator) -> Vec<(K::Separator, u32)> {
        let Some(node) = slab.get(number) else { return Vec::new() };
        let separator = |index| node.separator::<K>(&self.inner.long_separators, index, K::search_key(&low));
        let separators: Vec<_> = (0..node.len()).map(separator).collect();
        let children = (0..=node.len()).map(|index| node.child(index));
        std::iter::once(low.clone()).chain(separators).zip(children).collect()
    }
}

fn no_block<L>(number: u32) -> MediumError {
    damaged::<L>(BlockByte::first_of(number), "a leaf's number", "no block of the image", "one of it")
}
