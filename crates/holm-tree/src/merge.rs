//! Merges: a sparse leaf with a neighbour, and then the nodes above that have become sparse.
//!
//! A merge follows a removal and is an operation of its own under the removal's label. Two leaves merge only below one
//! leaf parent. A leaf that is alone there waits until its leaf parent merges with a sibling; then the leaves on both
//! sides of the seam are tried. Every latch is tried and none is awaited, the parent's first as in a split, so no two
//! threads wait for each other. A merge that misses a latch is retried a few times; after that, the next removal from
//! either leaf retries it.
//!
//! Hysteresis: a merged leaf is at most half full, or keeps a quarter of its room free where it takes over the range of
//! an empty one. Room for records is at most three quarters full after a merge. So filling and emptying a leaf in turn
//! does not split and merge it each time. An empty leaf between two full ones stays until one of them is sparse. Of a
//! run of leaves that removals have emptied, one leaf is left, or two where a leaf parent ends within the run.

use crate::descent::Path;
use crate::design::{Design, LevelsOf};
use crate::index::{SeekTarget, TreeRoot};
use crate::inner::{Inner, Route as _};
use crate::keys::Keys;
use crate::latch::LatchGuard;
use crate::leaf::{KeyRange, Merge, MergeRequest, MergedInto};
use crate::levels::Levels as _;
use crate::shrink::{NodeMerge, is_sparse};
use crate::split::{Child, FreshBlock};
use crate::tree_set::{LatchedLeaf, TreeSet};
use crate::wait::back_off;
use holm_medium::{Guard, Medium, WriteHandle};

/// How often a merge that misses a latch is retried.
const RETRIES: u32 = 4;

/// The most merges that one removal tries, so that other threads cannot keep it busy for ever.
const MOST_MERGES: usize = 64;

/// The result of an attempt to merge.
pub enum Attempt<T> {
    /// Two have become one.
    Merged(T),
    /// There is no neighbour below the same parent.
    Alone,
    /// Together the two hold too much for one.
    Apart,
    /// Another thread holds a latch, or has changed the path.
    Missed,
}

impl<T> Attempt<T> {
    /// Converts the result of a merge.
    fn map<U>(self, convert: impl FnOnce(T) -> U) -> Attempt<U> {
        match self {
            Attempt::Merged(merged) => Attempt::Merged(convert(merged)),
            Attempt::Alone => Attempt::Alone,
            Attempt::Apart => Attempt::Apart,
            Attempt::Missed => Attempt::Missed,
        }
    }
}

/// The blocks after a merge of two leaves.
struct LeafMerge {
    /// The leaves that are released.
    given_up: Vec<u32>,
    /// Whether the fresh block is the merged leaf.
    uses_fresh: bool,
    /// Whether the leaf parent is sparse now.
    sparse_parent: bool,
}

/// A leaf's position in a leaf parent, and its right neighbour: both latched, unless they share a latch.
struct Latched<'a, D: Design> {
    left: LatchedLeaf<'a, D>,
    right: Child<'a, D>,
    right_held: Option<LatchGuard<'a>>,
}

impl<D: Design> Latched<'_, D> {
    /// Releases the latches; nothing has been written.
    fn undo(self) {
        self.right_held.into_iter().for_each(LatchGuard::unlock_unchanged);
        self.left.held.unlock_unchanged();
    }
}

/// Retries an attempt that missed a latch.
pub(crate) fn retried<T>(mut attempt: impl FnMut() -> Attempt<T>) -> Attempt<T> {
    let mut turn = 0;
    loop {
        match attempt() {
            Attempt::Missed if turn < RETRIES => back_off(&mut turn),
            outcome => return outcome,
        }
    }
}

/// Returns the left position of each pair of neighbours that a child belongs to, first the pair with its right
/// neighbour.
pub(crate) fn pairs_with(position: usize, len: usize) -> impl Iterator<Item = usize> {
    let [right, left] = [Some(position).filter(|position| *position < len), position.checked_sub(1)];
    [right, left].into_iter().flatten().filter(move |left| *left < len)
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Merges the search key's leaf with a neighbour and then the nodes above, where they are sparse. The merge is
    /// tried without waiting, and its failure is not an error: the removal before it is complete.
    pub(crate) fn merge(&self, root: &TreeRoot, guard: &Guard<'_>, search_key: K::SearchKey<'_>) {
        // Two leaves have two chains of pre-images. If a snapshot begins from here on, the label is no longer valid.
        if guard.has_snapshots() {
            return self.postponed.note(root.keyspace(), K::to_separator(search_key));
        }
        self.catch_up(root, guard);
        self.merge_now(root, guard, search_key);
    }

    /// The same, where no snapshot is open.
    pub(crate) fn merge_now(&self, root: &TreeRoot, guard: &Guard<'_>, search_key: K::SearchKey<'_>) {
        match self.merge_leaf(root, guard, search_key) {
            Attempt::Merged(true) | Attempt::Alone => {}
            Attempt::Merged(false) | Attempt::Apart | Attempt::Missed => return,
        }
        let mut pending = vec![(1, K::to_separator(search_key))];
        for _ in 0..MOST_MERGES {
            let Some((level, key)) = pending.pop() else { return };
            let search_key = K::search_key(&key);
            if level == 0 {
                if let Attempt::Merged(true) = self.merge_leaf(root, guard, search_key) {
                    pending.push((1, key));
                }
                continue;
            }
            let (inner, writer) = (&self.inner, &*self.writer);
            let node = NodeMerge::<M, D, K> { inner, writer, root, guard, level, search_key };
            match retried(|| LevelsOf::<D>::merge_node(&node)) {
                Attempt::Merged(seam) => {
                    pending.extend([(level + 1, key.clone()), (level, key), (level - 1, seam)]);
                }
                Attempt::Alone => pending.push((level + 1, key)),
                Attempt::Apart | Attempt::Missed => {}
            }
        }
    }

    /// Merges the search key's leaf with its right or left neighbour. Returns whether the leaf parent is sparse
    /// afterwards.
    fn merge_leaf(&self, root: &TreeRoot, guard: &Guard<'_>, search_key: K::SearchKey<'_>) -> Attempt<bool> {
        retried(|| {
            let Some(path) = self.inner.walk::<K>(root, &SeekTarget::Holding(search_key)) else {
                return Attempt::Missed;
            };
            if path.leaf_parent.node.is_empty() {
                return if path.uppers.is_empty() { Attempt::Apart } else { Attempt::Alone };
            }
            let mut pairs = pairs_with(path.leaf_parent.position, path.leaf_parent.node.len());
            let merged = pairs.find_map(|left| match self.try_merge(root, guard, &path, left, search_key) {
                Attempt::Apart => None,
                other => Some(other),
            });
            merged.unwrap_or(Attempt::Apart)
        })
    }

    /// Merges the leaf at a position of the path's leaf parent with its right neighbour.
    fn try_merge(
        &self,
        root: &TreeRoot,
        guard: &Guard<'_>,
        path: &Path<'_, D, K>,
        position: usize,
        search_key: K::SearchKey<'_>,
    ) -> Attempt<bool> {
        let Some((left, right)) = self.child(path, position).zip(self.child(path, position + 1)) else {
            return Attempt::Missed;
        };
        // A hint: most leaves fail this check before any latch is taken or any reader is disturbed.
        if !left.leaf.may_merge(self.context(&left.descriptor.volatile), right.leaf_ref()) {
            return Attempt::Apart;
        }
        // Allocate before the label is validated: an epoch end in between could release a block that is too young for
        // this label.
        let fresh_block = self.fresh_block(guard).ok();
        let merged = self.merge_latched(root, guard, path, position, search_key, fresh_block.as_ref());
        let uses_fresh = matches!(&merged, Attempt::Merged(merged) if merged.uses_fresh);
        fresh_block.into_iter().filter(|_| !uses_fresh).for_each(|fresh_block| self.unused(fresh_block));
        merged.map(|LeafMerge { given_up, sparse_parent, .. }| {
            let blocks = given_up.into_iter().flat_map(|number| self.blocks_of(number));
            blocks.for_each(|number| self.writer.storage().space.retire_block(guard.epoch(), number));
            sparse_parent
        })
    }

    /// The same with the latches of the leaf parent and of both leaves held. Only `Merged` changes anything.
    fn merge_latched(
        &self,
        root: &TreeRoot,
        guard: &Guard<'_>,
        path: &Path<'_, D, K>,
        position: usize,
        search_key: K::SearchKey<'_>,
        fresh_block: Option<&FreshBlock<'_, D>>,
    ) -> Attempt<LeafMerge> {
        let leaf_parent = path.leaf_parent.node;
        let Some(leaf_parent_guard) = leaf_parent.latch().try_lock(path.leaf_parent.version) else {
            return Attempt::Missed;
        };
        debug_assert!(
            position < leaf_parent.len(),
            "the latch is held at the path's version, so the neighbour is there"
        );
        let Some(two) = self.latch_two(root, path, position) else {
            leaf_parent_guard.unlock_unchanged();
            return Attempt::Missed;
        };
        let (low, high) =
            self.inner.range_of_two::<_, K>(leaf_parent, &path.ranges[path.uppers.len()], position, search_key);
        debug_assert!(high.as_ref().is_none_or(|high| low < *high), "the two have a range");
        debug_assert!(two.left.number != two.right.number, "neighbours are two leaves");
        let range = KeyRange { low: &low, high: high.as_ref() };
        let mut handle = self.writer.begin_write(guard);
        // The label is validated while the latches are held. So every change of either leaf has this label or an
        // earlier one, and no recovery point includes the merge without the removals before it.
        let joined = if guard.valid() { self.join(&two, &mut handle, fresh_block, range) } else { None };
        let Some((child, given_up)) = joined else {
            drop(handle);
            two.undo();
            leaf_parent_guard.unlock_unchanged();
            return Attempt::Apart;
        };
        self.inner.long_separators.forget(leaf_parent.entry(position).long);
        leaf_parent.remove_child(&mut handle, position);
        if child != two.left.number {
            leaf_parent.set_child(&mut handle, position, child);
        }
        let uses_fresh = fresh_block.is_some_and(|fresh_block| fresh_block.number == child);
        Attempt::Merged(LeafMerge { given_up, uses_fresh, sparse_parent: is_sparse(leaf_parent) })
    }

    /// Returns the leaf at a position of the path's leaf parent, whose latch is held, and its right neighbour.
    fn latch_two<'a>(&'a self, root: &TreeRoot, path: &Path<'a, D, K>, position: usize) -> Option<Latched<'a, D>> {
        let left = self.take_at(root, path, position)?;
        let right = self.child(path, position + 1);
        let shared = right.as_ref().is_some_and(|right| left.held.holds(right.latch));
        let right_held = right
            .as_ref()
            .filter(|_| !shared)
            .and_then(|right| right.latch.try_lock(self.read_latch(root, right.number, right.latch)?));
        match right {
            Some(right) if shared || right_held.is_some() => Some(Latched { left, right, right_held }),
            _ => {
                left.held.unlock_unchanged();
                None
            }
        }
    }

    /// Makes one leaf of two. `range` is their common range. Returns the leaf's number, and the numbers of the released
    /// leaves.
    fn join(
        &self,
        Latched { left, right, .. }: &Latched<'_, D>,
        handle: &mut WriteHandle<'_, M>,
        fresh_block: Option<&FreshBlock<'_, D>>,
        range: KeyRange<'_, K::Separator>,
    ) -> Option<(u32, Vec<u32>)> {
        let own = left.number;
        let fresh = fresh_block.map(FreshBlock::leaf_ref);
        // A leaf that stays in place has heads that leave out what its own range shares; the wider range must share it
        // too.
        let shared = K::common(range.low, range.high);
        let request = MergeRequest { own, right: right.leaf_ref(), fresh, range, shared };
        match left.leaf.merge(&mut self.writing(&left.descriptor.volatile, handle), request) {
            MergedInto::Neither => None,
            MergedInto::Left => Some((own, vec![right.number])),
            MergedInto::Right => Some((right.number, vec![own])),
            MergedInto::Fresh => {
                debug_assert!(fresh.is_some(), "the leaves have moved into a block that does not exist");
                fresh.map(|fresh| (fresh.number, vec![own, right.number]))
            }
        }
    }
}
