//! The measured tree of one design. Everything here is compiled once for each design, so code that does not depend on
//! one belongs elsewhere.

use super::{MeasuredTree, Memory, Request, TreeSetup, What};
use holm_medium::{Area, Counts, Guard, Mapped, Medium, Result, StorageOps, Word};
use holm_search::Search;
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{Design, Index, LeafCursor, SeekTarget, TreeRoot, TreeSet, Wanted, Words};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A tree set with one tree.
pub(super) struct Tree<D: Design> {
    tree_set: TreeSet<Mapped, D, Words>,
    root: TreeRoot,
    memory: Memory,
}

impl<D: Design> Tree<D> {
    pub(super) fn new(setup: TreeSetup) -> Result<Self> {
        let memory = Memory::new(setup, D::CAPABILITIES.per_epoch)?;
        let tree_set = TreeSet::new(memory.writer().clone(), Words, Search::detect());
        let root = tree_set.create_tree(&mut memory.writer().clock().pin()?, 1)?;
        Ok(Tree { tree_set, root, memory })
    }

    /// Calls the work for each item while pinned.
    #[inline]
    fn pinned<T>(
        &self,
        items: impl Iterator<Item = T>,
        work: impl FnMut(&mut Guard<'_>, T) -> Result<()>,
    ) -> Result<()> {
        self.memory.pinned(D::CAPABILITIES.per_epoch, items, work)
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
            self.tree_set.copy_leaf(&self.root, SeekTarget::Holding(low), Wanted::pairs(count - found), cursor);
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
        self.memory.settle()
    }

    fn end_epoch(&self) -> Result<()> {
        self.memory.writer().end_epoch().map(drop)
    }

    fn rebuild(&self, threads: usize, rebuilt: &mut dyn FnMut(u64)) -> Result<()> {
        let tree_set = TreeSet::<Mapped, D, Words>::new(self.memory.writer().clone(), Words, Search::detect());
        let found = tree_set.rebuild(RecoveryPoint::Visible, self.memory.writer().clock().active(), threads)?;
        rebuilt(found.roots.iter().map(TreeRoot::pairs).sum());
        Ok(())
    }

    fn pairs(&self) -> u64 {
        self.root.pairs()
    }

    fn counts(&self) -> Counts {
        self.memory.counts()
    }

    fn frontier(&self) -> u32 {
        self.memory.writer().space().block_frontier()
    }

    fn volatile_bytes(&self) -> u64 {
        self.tree_set.volatile_bytes()
    }

    fn leaf_bytes(&self) -> u64 {
        let space = self.memory.writer().space();
        (u64::from(space.block_frontier()) - space.free_blocks()) * space.block_bytes()
    }

    fn words(&self, more: u32) -> &[Word] {
        let (space, image) = (self.memory.writer().space(), self.memory.writer().storage().medium.image());
        let bytes = u64::from(space.block_frontier() + more) * space.block_bytes();
        let bytes = bytes.min(image.area(Area::Leaves).len() as u64);
        image.words(Area::Leaves.at(0), bytes as usize / size_of::<Word>()).unwrap_or_default()
    }
}
