//! Inner nodes that have lost children: two siblings become one node, and a top with one child gives way to that child.
//!
//! This applies to volatile nodes only: nothing here is durable, and recovery rebuilds it. The left node keeps its
//! number and takes the right one's children. The right one's number is free once its latch has a new version, so a
//! reader that came through the old parent restarts. Latches are tried, from the parent down.

use crate::design::Design;
use crate::index::{SeekTarget, TreeRoot};
use crate::inner::{Inner, NodeHeader, Range};
use crate::inner_levels::{InnerLevels, Path, Step, hold_all};
use crate::keys::Keys;
use crate::locks::Locks;
use crate::merge::{Attempt, pairs_with};
use crate::slab::Slab;
use crate::sync::atomic::Ordering::Relaxed;
use holm_medium::{Guard, Medium, Writer};

/// Returns whether a node has so few children that a merge is worth an attempt: a quarter of its room. A merged node
/// keeps a quarter of its room free. The halves of a split have twice as many children as this limit.
pub(crate) fn is_sparse<I: Inner>(node: &I) -> bool {
    node.len() < I::CHILDREN / 4
}

/// Returns whether two siblings fit well into one node.
fn fit<I: Inner>(left: &I, right: &I) -> bool {
    (is_sparse(left) || is_sparse(right)) && left.len() + right.len() + 2 <= I::CHILDREN * 3 / 4
}

impl<D: Design> InnerLevels<D> {
    /// Merges the node of a level on the search key's path with a sibling, if one of the two is sparse. Returns the
    /// separator between the two. The top has no sibling: it gives way if it has one child.
    pub(crate) fn merge_node<M: Medium, K: Keys>(
        &self,
        writer: &Writer<M>,
        root: &TreeRoot,
        guard: &Guard<'_>,
        level: u32,
        search_key: K::SearchKey<'_>,
    ) -> Attempt<K::Separator> {
        if D::LeafParent::DURABLE || D::Upper::DURABLE || D::Upper::REBUILT_WHEN_FULL {
            return Attempt::Apart;
        }
        let Some(path) = self.walk::<K>(root, &SeekTarget::Holding(search_key)) else { return Attempt::Missed };
        let height = path.uppers.len() as u32 + 1;
        if level >= height {
            return if level == height { self.lower(root, &path, search_key) } else { Attempt::Apart };
        }
        let depth = (height - level - 1) as usize;
        let (parent, range) = (&path.uppers[depth], &path.ranges[depth]);
        if parent.node.is_empty() {
            return Attempt::Alone;
        }
        for left in pairs_with(parent.position, parent.node.len()) {
            let place = (parent, range, left);
            let merged = match level {
                1 => {
                    self.merge_siblings::<_, M, K>(writer, guard, &self.leaf_parents, place, (root, level), search_key)
                }
                _ => self.merge_siblings::<_, M, K>(writer, guard, &self.uppers, place, (root, level), search_key),
            };
            if !matches!(merged, Attempt::Apart) {
                return merged;
            }
        }
        Attempt::Apart
    }

    /// Merges the children of a node at a position and at the next one.
    fn merge_siblings<I: Inner, M: Medium, K: Keys>(
        &self,
        writer: &Writer<M>,
        guard: &Guard<'_>,
        slab: &Slab<I>,
        (step, range, position): (&Step<'_, D::Upper>, &Range<K>, usize),
        (root, level): (&TreeRoot, u32),
        search_key: K::SearchKey<'_>,
    ) -> Attempt<K::Separator> {
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
        let (low, high) = self.range_of_two::<_, K>(parent, range, position, search_key);
        let separator = parent.separator::<K>(&self.long_separators, position, search_key);
        let (mut separators, mut children) = left.unpack::<K>(&self.long_separators, K::search_key(&low));
        let (more_separators, more_children) = right.unpack::<K>(&self.long_separators, K::search_key(&separator));
        separators.push(separator.clone());
        separators.extend(more_separators);
        children.extend(more_children);
        let mut handle = writer.begin_write(guard);
        let node_header = NodeHeader { keyspace: root.keyspace(), level, first: range.0.is_none() && position == 0 };
        left.fill::<M, K>(
            &mut handle,
            &self.long_separators,
            node_header,
            (&low, high.as_ref()),
            &separators,
            &children,
        );
        self.long_separators.forget(parent.entry(position).long);
        parent.remove_child(&mut handle, position);
        drop(handle);
        drop(held);
        drop(parent_held);
        // Only now: the versions of the node and of its parent have changed.
        slab.give(numbers[1]);
        Attempt::Merged(separator)
    }

    /// Replaces a top by its only child; returns a key of the child's range.
    fn lower<K: Keys>(
        &self,
        root: &TreeRoot,
        path: &Path<'_, D, K>,
        search_key: K::SearchKey<'_>,
    ) -> Attempt<K::Separator> {
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
        self.uppers.give(top.number);
        Attempt::Merged(K::to_separator(search_key))
    }

    /// Returns the range of two neighbouring children of a node; the left one is at `position`.
    pub(crate) fn range_of_two<I: Inner, K: Keys>(
        &self,
        node: &I,
        range: &Range<K>,
        position: usize,
        search_key: K::SearchKey<'_>,
    ) -> (K::Separator, Option<K::Separator>) {
        let separator_at = |index: usize| node.separator::<K>(&self.long_separators, index, search_key);
        let low = if position > 0 { separator_at(position - 1) } else { range.0.clone().unwrap_or_default() };
        let high = if position + 1 < node.len() { Some(separator_at(position + 1)) } else { range.1.clone() };
        (low, high)
    }
}
