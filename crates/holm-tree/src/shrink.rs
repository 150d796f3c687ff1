//! Inner nodes that have lost children: two siblings become one node, and a top with one child gives way to that child.
//!
//! This applies to volatile nodes only: nothing here is durable, and recovery rebuilds it. The left node keeps its
//! number and takes the right one's children. The right one's number is free once its latch has a new version, so a
//! reader that came through the old parent restarts. Latches are tried, from the parent down.

use crate::descent::{Path, Step};
use crate::design::Design;
use crate::index::{SeekTarget, TreeRoot};
use crate::inner::{Inner, NodeContents, NodeHeader, Range, Route as _};
use crate::inner_levels::{InnerLevels, hold_all};
use crate::keys::Keys;
use crate::leaf::KeyRange;
use crate::locks::Locks;
use crate::merge::{Attempt, pairs_with};
use crate::slab::Slab;
use crate::sync::atomic::Ordering::Relaxed;
use holm_medium::{Guard, Medium, Writer};
use std::ops::RangeInclusive;

/// Returns whether a node has so few children that a merge is worth an attempt: a quarter of its room. A merged node
/// keeps a quarter of its room free. The halves of a split have twice as many children as this limit.
pub(crate) fn is_sparse<I: Inner>(node: &I) -> bool {
    node.len() < I::CHILDREN / 4
}

/// Returns whether two siblings fit well into one node.
fn fit<I: Inner>(left: &I, right: &I) -> bool {
    (is_sparse(left) || is_sparse(right)) && left.len() + right.len() + 2 <= I::CHILDREN * 3 / 4
}

/// A sparse node of a level on a search key's path, and what is needed to merge it.
pub struct NodeMerge<'s, 'k, M: Medium, D: Design, K: Keys> {
    pub(crate) inner: &'s InnerLevels<D>,
    pub(crate) writer: &'s Writer<M>,
    pub(crate) root: &'s TreeRoot,
    pub(crate) guard: &'s Guard<'s>,
    pub(crate) level: u32,
    pub(crate) search_key: K::SearchKey<'k>,
}

/// The children of a node at a position and at the next one.
struct Siblings<'p, 'a, D: Design, K: Keys> {
    parent: &'p Step<'a, D::Upper>,
    /// The parent's range.
    range: &'p Range<K>,
    position: usize,
}

impl<M: Medium, D: Design, K: Keys> NodeMerge<'_, '_, M, D, K> {
    /// Merges the node with a sibling, if one of the two is sparse. Returns the separator between the two. The top has
    /// no sibling: it gives way if it has one child.
    pub(crate) fn merge(&self) -> Attempt<K::Separator> {
        let path = self.inner.walk::<K>(self.root, &SeekTarget::Holding(self.search_key));
        let Some(path) = path else { return Attempt::Missed };
        let height = path.uppers.len() as u32 + 1;
        if self.level >= height {
            return if self.level == height { self.lower(&path) } else { Attempt::Apart };
        }
        let depth = (height - self.level - 1) as usize;
        let (parent, range) = (&path.uppers[depth], &path.ranges[depth]);
        if parent.node.is_empty() {
            return Attempt::Alone;
        }
        for position in pairs_with(parent.position, parent.node.len()) {
            let siblings = Siblings { parent, range, position };
            let merged = match self.level {
                1 => self.merge_siblings(&self.inner.leaf_parents, &siblings),
                _ => self.merge_siblings(&self.inner.uppers, &siblings),
            };
            if !matches!(merged, Attempt::Apart) {
                return merged;
            }
        }
        Attempt::Apart
    }

    fn merge_siblings<I: Inner>(&self, slab: &Slab<I>, siblings: &Siblings<'_, '_, D, K>) -> Attempt<K::Separator> {
        let Siblings { parent: step, range, position } = *siblings;
        let (inner, search_key) = (self.inner, self.search_key);
        let parent = step.node;
        let numbers = [parent.child(position), parent.child(position + 1)];
        let (Some(left), Some(right)) = (slab.get(numbers[0]), slab.get(numbers[1])) else { return Attempt::Missed };
        // A hint: nothing is latched yet.
        if !fit(left, right) {
            return Attempt::Apart;
        }
        let Some(parent_held) = parent.latch().try_lock(step.version) else { return Attempt::Missed };
        // Leaves whose latches lie in the right node have them in the left one from now on. No writer may hold them by
        // their old latch.
        let latches = [left.latch(), right.latch()].into_iter().chain(left.locks().all()).chain(right.locks().all());
        let held = hold_all(latches);
        let (Some(held), true) = (held, fit(left, right)) else {
            parent_held.unlock_unchanged();
            return Attempt::Missed;
        };
        let (low, high) = inner.range_of_two::<_, K>(parent, range, position, search_key);
        let separator = parent.separator::<K>(&inner.long_separators, position, search_key);
        let (mut separators, mut children) = left.unpack::<K>(&inner.long_separators, K::search_key(&low));
        let (more_separators, more_children) = right.unpack::<K>(&inner.long_separators, K::search_key(&separator));
        separators.push(separator.clone());
        separators.extend(more_separators);
        children.extend(more_children);
        let mut handle = self.writer.begin_write(self.guard);
        let first = range.low.is_none() && position == 0;
        let contents = NodeContents {
            header: NodeHeader { keyspace: self.root.keyspace(), level: self.level, first },
            range: KeyRange { low: &low, high: high.as_ref() },
            separators: &separators,
            children: &children,
        };
        left.fill::<M, K>(&mut inner.writing(&mut handle), contents);
        inner.long_separators.forget(parent.entry(position).long);
        parent.remove_child(&mut handle, position);
        drop(handle);
        drop(held);
        drop(parent_held);
        // Only now: the versions of the node and of its parent have changed.
        slab.give(numbers[1]);
        Attempt::Merged(separator)
    }

    /// Replaces a top by its only child; returns a key of the child's range.
    fn lower(&self, path: &Path<'_, D, K>) -> Attempt<K::Separator> {
        let root = self.root;
        let Some(top) = path.uppers.first().filter(|top| top.node.is_empty()) else { return Attempt::Apart };
        let Some(root_held) = root.latch.read().and_then(|version| root.latch.try_lock(version)) else {
            return Attempt::Missed;
        };
        let level = root.top.load(Relaxed) >> 32;
        let is_top = level == path.uppers.len() as u64 + 1 && root.top.load(Relaxed) as u32 == top.number;
        let Some(top_held) = Some(top.node).filter(|_| is_top).and_then(|node| node.latch().try_lock(top.version))
        else {
            root_held.unlock_unchanged();
            return Attempt::Missed;
        };
        root.top.store((level - 1) << 32 | u64::from(top.node.child(0)), Relaxed);
        drop(top_held);
        drop(root_held);
        self.inner.uppers.give(top.number);
        Attempt::Merged(K::to_separator(self.search_key))
    }
}

impl<D: Design> InnerLevels<D> {
    /// Returns the range of two neighbouring children of a node; the left one is at `position`.
    pub(crate) fn range_of_two<I: Inner, K: Keys>(
        &self,
        node: &I,
        range: &Range<K>,
        position: usize,
        search_key: K::SearchKey<'_>,
    ) -> (K::Separator, Option<K::Separator>) {
        self.range_of_run(node, range, position..=position + 1, search_key)
    }

    /// Returns the range of a run of neighbouring children of a node.
    pub(crate) fn range_of_run<I: Inner, K: Keys>(
        &self,
        node: &I,
        range: &Range<K>,
        run: RangeInclusive<usize>,
        search_key: K::SearchKey<'_>,
    ) -> (K::Separator, Option<K::Separator>) {
        let separator_at = |index: usize| node.separator::<K>(&self.long_separators, index, search_key);
        let (first, last) = (*run.start(), *run.end());
        let low = if first > 0 { separator_at(first - 1) } else { range.low.clone().unwrap_or_default() };
        let high = if last < node.len() { Some(separator_at(last)) } else { range.high.clone() };
        (low, high)
    }
}
