//! The walk that all iterators share: two ends that approach each other, each with one leaf in sorted order.
//!
//! The keys that are not visited yet are those from `low` to `high`, inclusive. If only one end is used, it steps along
//! its leaf's order alone, up to a bound that it computed when it entered the leaf. `low` or `high` follows when the
//! leaf ends or the other end is used. Once both ends are used, each step moves `low` or `high`, so neither end needs
//! to know the other's leaf. An end holds its leaf's order and has prefetched the next leaf.

use crate::key::Key;
use crate::leaf::Leaf;
use crate::level::Selection;
use crate::tree::{NOWHERE, Tree};
use holm_search::Lane;
use std::ops::{Bound, RangeBounds};

/// Iterates over the places between two keys, from both ends.
#[derive(Clone)]
pub(crate) struct Walk<L> {
    /// The range that is not visited yet; `None` once the ends have met.
    left: Option<(L, L)>,
    front: End<L>,
    back: End<L>,
}

#[derive(Clone)]
struct End<L> {
    leaf: u32,
    /// The keys and slots of the leaf, visited ones included.
    order: Vec<(L, u32)>,
    /// For the front, the next index. For the back, one past it.
    at: usize,
    /// The index up to which the end steps without reading anything else.
    bound: usize,
}

/// Returns the least and the greatest lane within the bounds; `None` if the range is empty.
pub(crate) fn ends<K: Key>(bounds: &impl RangeBounds<K>) -> Option<(K::Lane, K::Lane)> {
    let low = match bounds.start_bound() {
        Bound::Unbounded => Some(K::Lane::LEAST),
        Bound::Included(key) => Some(key.lane()),
        Bound::Excluded(key) => key.lane().next(),
    };
    let high = match bounds.end_bound() {
        Bound::Unbounded => Some(K::Lane::GREATEST),
        Bound::Included(key) => Some(key.lane()),
        Bound::Excluded(key) => key.lane().previous(),
    };
    low.zip(high).filter(|(low, high)| low <= high)
}

/// A key and the place of its pair.
pub(crate) type Position<L> = (L, (u32, usize));

impl<L: Lane> Walk<L> {
    pub(crate) fn new<K: Key<Lane = L>>(bounds: &impl RangeBounds<K>) -> Self {
        let front = End { leaf: NOWHERE, order: Vec::new(), at: 0, bound: 0 };
        let back = End { bound: usize::MAX, ..front.clone() };
        Self { left: ends(bounds), front, back }
    }

    /// Returns the next place from the front.
    #[inline]
    pub(crate) fn next<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>) -> Option<Position<L>> {
        let front = &mut self.front;
        if front.at >= front.bound {
            return self.enter_front(tree);
        }
        let (lane, slot) = front.order[front.at];
        front.at += 1;
        Some((lane, (front.leaf, slot as usize)))
    }

    /// Returns the next place from the back.
    #[inline]
    pub(crate) fn next_back<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>) -> Option<Position<L>> {
        let back = &mut self.back;
        if back.at <= back.bound {
            return self.enter_back(tree);
        }
        back.at -= 1;
        let (lane, slot) = back.order[back.at];
        Some((lane, (back.leaf, slot as usize)))
    }

    /// As [`Walk::next`], when the order of the current leaf is not enough.
    #[inline(never)]
    fn enter_front<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>) -> Option<Position<L>> {
        self.narrow();
        let (low, high) = self.left?;
        while self.front.at == self.front.order.len() {
            if !self.front.advance(tree, low) {
                self.left = None;
                return None;
            }
        }
        let (lane, slot) = self.front.order[self.front.at];
        self.front.at += 1;
        let all = self.front.order.last().is_some_and(|pair| pair.0 <= high);
        let len = self.front.order.len();
        self.front.bound = if all { len } else { self.front.order.partition_point(|pair| pair.0 <= high) };
        self.narrow();
        (lane <= high).then_some((lane, (self.front.leaf, slot as usize)))
    }

    /// As [`Walk::next_back`], when the order of the current leaf is not enough.
    #[inline(never)]
    fn enter_back<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>) -> Option<Position<L>> {
        self.narrow();
        let (low, high) = self.left?;
        while self.back.at == 0 {
            if !self.back.retreat(tree, high) {
                self.left = None;
                return None;
            }
        }
        self.back.at -= 1;
        let (lane, slot) = self.back.order[self.back.at];
        let all = self.back.order.first().is_some_and(|pair| pair.0 >= low);
        self.back.bound = if all { 0 } else { self.back.order.partition_point(|pair| pair.0 < low) };
        self.narrow();
        (lane >= low).then_some((lane, (self.back.leaf, slot as usize)))
    }

    /// Moves `low` behind what the front has visited, and `high` before what the back has visited. If both ends are
    /// used, neither steps past these by itself afterwards.
    fn narrow(&mut self) {
        let Some((mut low, mut high)) = self.left else { return };
        let reached_front = self.front.at.checked_sub(1).and_then(|at| self.front.order.get(at));
        let reached_back = self.back.order.get(self.back.at);
        let (after, before) = (reached_front.map(|pair| pair.0.next()), reached_back.map(|pair| pair.0.previous()));
        if after == Some(None) || before == Some(None) {
            // One end has visited the greatest or the least possible key.
            self.left = None;
        } else {
            // The range never grows. If a caller of `insert_unique` broke its promise, a leaf may begin below the end
            // of the leaf before it. What one end has visited, the other must not visit again.
            low = after.flatten().map_or(low, |after| after.max(low));
            high = before.flatten().map_or(high, |before| before.min(high));
            self.left = Some((low, high)).filter(|(low, high)| low <= high);
        }
        if self.front.leaf != NOWHERE && self.back.leaf != NOWHERE {
            (self.front.bound, self.back.bound) = (0, usize::MAX);
        }
    }
}

impl<L: Lane> End<L> {
    /// Enters the leaf that `low` belongs to, or the one after the last leaf.
    fn advance<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>, low: L) -> bool {
        let first = self.leaf == NOWHERE;
        if !self.enter(tree, low, |tree, leaf| tree.after(leaf)) {
            return false;
        }
        self.at = if first { self.order.partition_point(|(lane, _)| *lane < low) } else { 0 };
        true
    }

    /// Enters the leaf that `high` belongs to, or the one before the last leaf.
    fn retreat<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>, high: L) -> bool {
        let first = self.leaf == NOWHERE;
        if !self.enter(tree, high, |tree, leaf| tree.before(leaf)) {
            return false;
        }
        let len = self.order.len();
        self.at = if first { self.order.partition_point(|(lane, _)| *lane <= high) } else { len };
        true
    }

    /// Sorts the next leaf, and prefetches the one after it.
    fn enter<K: Key<Lane = L>, V, S: Selection>(
        &mut self,
        tree: &Tree<K, V, S>,
        key: L,
        next: impl Fn(&Tree<K, V, S>, u32) -> u32,
    ) -> bool {
        if tree.is_bare() {
            return false;
        }
        self.leaf = match self.leaf {
            NOWHERE => {
                let leaf = tree.home(key);
                tree.leaves.ask_all(leaf);
                leaf
            }
            leaf => match next(tree, leaf) {
                NOWHERE => return false,
                leaf => leaf,
            },
        };
        let coming = next(tree, self.leaf);
        if coming != NOWHERE {
            tree.leaves.ask_all(coming);
            tree.ask_links(coming);
        }
        tree.order(self.leaf, &mut self.order);
        true
    }
}

impl<K: Key, V, S: Selection> Tree<K, V, S> {
    /// Returns the first or the last place. Leaves at the ends may be empty after an [`crate::ExtractIf`] was leaked.
    pub(crate) fn end(&self, first: bool) -> Option<Position<K::Lane>> {
        let mut leaf = if first { self.head } else { self.tail };
        while leaf != NOWHERE {
            if let Some((lane, slot)) = self.leaves.end(leaf, first) {
                return Some((lane, (leaf, slot)));
            }
            leaf = if first { self.after(leaf) } else { self.before(leaf) };
        }
        None
    }

    /// Removes the first or the last pair.
    pub(crate) fn pop(&mut self, first: bool) -> Option<(K, V)> {
        let (lane, (leaf, slot)) = self.end(first)?;
        Some((K::of_lane(lane), self.remove_at(leaf, slot, lane)))
    }
}
