//! The leaf index of a tree set: made at close, loaded at open, and the first look at each leaf that was loaded so.
//!
//! A loaded leaf's latch is closed, as if a writer held it. So the fast path of an operation is what it is without an
//! index, and the branch that meets a held latch leads here. The first look compares the block with its checksum and
//! opens the latch. A block that differs stays closed, and its tree answers with the damage from then on: an answer
//! from such a leaf could lack keys.
//!
//! A leaf that no thread has looked at is as it was when it was closed. The next close therefore does not read it: its
//! checksum is that of the loaded index, and what all such leaves contain is known as two sums, from which each first
//! look subtracts.

use crate::design::{DescriptorOf, Design, LocksOf};
use crate::index::{Rebuilt, TreeRoot};
use crate::inner::{Inner, Route as _};
use crate::keys::Keys;
use crate::latch::{Latch, Version};
use crate::leaf::{BlockByte, Leaf, Pairs, damaged};
use crate::load::LoadedChild;
use crate::locks::Locks as _;
use crate::rebuild::found_leaves;
use crate::slab::Slab;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::tree_set::TreeSet;
use holm_medium::{Area, IndexedTree, LeafIndex, Medium, MediumError, Result, sum_words};

/// What the index says of the leaves that were loaded by it.
pub(crate) struct Loaded {
    /// Their checksums, by number.
    sums: Box<[u32]>,
    /// The pairs of those that no thread has looked at, of all trees.
    unseen_pairs: AtomicU64,
    /// The bytes of their records.
    unseen_bytes: AtomicU64,
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Whether the design's closed leaves need nothing but their place.
    pub(crate) const INDEXED: bool = D::CAPABILITIES.indexed;

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
                let (pairs, bytes) = self.contents(leaf, descriptor, &mut Pairs::default());
                let loaded = self.loaded.get()?;
                loaded.unseen_pairs.fetch_sub(pairs, Relaxed);
                loaded.unseen_bytes.fetch_sub(bytes, Relaxed);
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
        let (found, expected) = (self.sum(number), self.loaded_sum(number));
        if found == expected && found.is_some() {
            return Ok(());
        }
        let hex = |sum: Option<u32>| sum.map_or("nothing".into(), |sum| format!("checksum {sum:08x}"));
        let expected = format!("{}, as when it was closed", hex(expected));
        let damage = damaged::<D::Leaf>(BlockByte::first_of(number), "a leaf", hex(found), expected);
        Err(damage.within(self.writer.storage().medium.folder()))
    }

    /// Returns the checksum that a leaf's block had when it was closed.
    pub(crate) fn loaded_sum(&self, number: u32) -> Option<u32> {
        self.loaded.get()?.sums.get(number as usize).copied()
    }

    /// Returns the number of a leaf's pairs, and the bytes of its records.
    fn contents(&self, leaf: &D::Leaf, descriptor: &DescriptorOf<D>, pairs: &mut Pairs) -> (u64, u64) {
        pairs.begin(D::Leaf::CAPACITY);
        self.leaf_pairs(leaf, &descriptor.volatile, pairs);
        let words = pairs.iter().filter_map(|slot| K::extent(slot.payload)).map(|(_, words)| u64::from(words));
        (pairs.len() as u64, words.sum::<u64>() * 8)
    }

    /// Returns the checksum of a leaf's block.
    pub(crate) fn sum(&self, number: u32) -> Option<u32> {
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
        let unseen_pairs = AtomicU64::new(all_pairs(index));
        let unseen_bytes = AtomicU64::new(index.records.live);
        self.loaded.set(Loaded { sums, unseen_pairs, unseen_bytes }).ok()?;
        let looked = index.trees.iter().filter(|tree| tree.keyspace == looked_at).flat_map(IndexedTree::leaves);
        let mut blocks_read = 0;
        for (_, leaf) in looked {
            blocks_read += 1;
            if !self.is_sound(looked_at, leaf.number) {
                return None;
            }
        }
        let roots = index.trees.iter().map(|tree| self.load_tree(tree)).collect::<Option<Vec<_>>>()?;
        let records = &index.records;
        storage.space.rebuilt(frontier, free, records.frontier, records.free.clone(), records.live);
        let leaves = in_use.len() as u64;
        let record_bytes = records.live;
        Some(Rebuilt { roots, latest: 0, leaves, from_index: leaves, blocks_read, record_bytes, after: None })
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
        let unseen = |loaded: &Loaded| (loaded.unseen_pairs.load(Relaxed), loaded.unseen_bytes.load(Relaxed));
        let (mut pairs, mut bytes) = self.loaded.get().map_or((0, 0), unseen);
        for root in roots {
            let (tree, seen) = self.index_tree(root)?;
            (pairs, bytes) = (pairs.wrapping_add(seen.0), bytes.wrapping_add(seen.1));
            index.trees.push(tree);
        }
        if pairs != all_pairs(&index) || roots.iter().any(|root| root.is_dropped()) {
            return self.look_at_rest().map(|()| None);
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
        let loaded = self.loaded.get().map_or(0, |loaded| loaded.sums.len()) as u32;
        let is_unseen = |number: &u32| self.descriptors.get(*number).is_some_and(Self::is_unseen);
        (0..loaded).filter(is_unseen).try_for_each(|number| self.compare_sum(number))
    }

    /// Returns whether a leaf was loaded and no thread has looked at it.
    fn is_unseen(descriptor: &DescriptorOf<D>) -> bool {
        LocksOf::<D>::own(&descriptor.latch).is_some_and(Latch::is_unseen)
    }

    /// Returns the index of one tree, and the pairs and the bytes of records of those leaves that a thread has looked
    /// at.
    fn index_tree(&self, root: &TreeRoot) -> Result<(IndexedTree, (u64, u64))> {
        let mut tree = IndexedTree::new(root.keyspace());
        tree.pairs = root.pairs();
        let (mut pairs, mut seen) = (Pairs::default(), (0, 0));
        let top = root.top.load(Relaxed);
        self.each_leaf(((top >> 32) as u32, top as u32), K::Separator::default(), &mut |low, number| {
            let (leaf, descriptor) = self.block(number)?;
            let sum = if Self::is_unseen(descriptor) {
                self.loaded_sum(number)
            } else {
                let contents = self.contents(leaf, descriptor, &mut pairs);
                seen = (seen.0 + contents.0, seen.1 + contents.1);
                self.sum(number)
            };
            let separator = if tree.is_empty() { Vec::new() } else { K::separator_bytes(&low) };
            tree.push(&separator, number, sum.ok_or_else(|| no_block::<D::Leaf>(number))?);
            Ok(())
        })?;
        Ok((tree, seen))
    }

    /// Passes on the leaves below a node, given as its level and number, with the separators at which they begin.
    fn each_leaf(
        &self,
        (level, number): (u32, u32),
        low: K::Separator,
        each: &mut dyn FnMut(K::Separator, u32) -> Result<()>,
    ) -> Result<()> {
        if level <= 1 {
            return self.children(&self.inner.leaf_parents, number, low).try_for_each(|(low, leaf)| each(low, leaf));
        }
        self.children(&self.inner.uppers, number, low)
            .try_for_each(|(low, child)| self.each_leaf((level - 1, child), low, each))
    }

    fn children<I: Inner>(
        &self,
        slab: &Slab<I>,
        number: u32,
        low: K::Separator,
    ) -> impl Iterator<Item = (K::Separator, u32)> {
        let node = slab.get(number);
        let child = move |node: &I, index: usize| {
            let separator = |before| node.separator::<K>(&self.inner.long_separators, before, K::search_key(&low));
            (index.checked_sub(1).map_or_else(|| low.clone(), separator), node.child(index))
        };
        node.into_iter()
            .flat_map(|node| (0..=node.len()).map(move |index| (node, index)))
            .map(move |(node, index)| child(node, index))
    }
}

/// The pairs of all trees. The loaded index of a wrong program may have any numbers: sums of them wrap, and then no
/// index is made.
fn all_pairs(index: &LeafIndex) -> u64 {
    index.trees.iter().fold(0, |sum, tree| sum.wrapping_add(tree.pairs))
}

fn no_block<L>(number: u32) -> MediumError {
    damaged::<L>(BlockByte::first_of(number), "a leaf's number", "no block of the image", "one of it")
}
