//! The walk that all iterators share: two ends that approach each other, each with a leaf put in order.
//!
//! What was not reached yet is everything from `low` to `high`, ends included. As long as only one end is used it steps
//! along its leaf's order alone, up to a bound that it found when it came to the leaf; `low` or `high` follow when the
//! leaf is done, or the other end is used. Once both are, each step moves them: so the ends need not know of each
//! other's leaf. An end holds its leaf's order, and has asked for the leaf after it.

use crate::key::Key;
use crate::leaf::Leaf;
use crate::level::Selection;
use crate::tree::{NOWHERE, Tree};
use holm_search::Lane;
use std::ops::{Bound, RangeBounds};

/// The places between two keys, from both ends.
#[derive(Clone)]
pub(crate) struct Walk<L> {
    /// What was not reached yet: nothing, once the two have met.
    left: Option<(L, L)>,
    front: End<L>,
    back: End<L>,
}

#[derive(Clone)]
struct End<L> {
    leaf: u32,
    /// Keys and slots of the leaf, those that were reached included.
    order: Vec<(L, u32)>,
    /// At the front, the next one; at the back, one past it.
    at: usize,
    /// Up to where the end steps without looking at anything else.
    bound: usize,
}

/// The least and the greatest lane within bounds, if there are any.
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

/// A key and where its pair is.
pub(crate) type Place<L> = (L, (u32, usize));

impl<L: Lane> Walk<L> {
    pub(crate) fn new<K: Key<Lane = L>>(bounds: &impl RangeBounds<K>) -> Self {
        let front = End { leaf: NOWHERE, order: Vec::new(), at: 0, bound: 0 };
        let back = End { bound: usize::MAX, ..front.clone() };
        Self { left: ends(bounds), front, back }
    }

    /// The next place from the front.
    #[inline]
    pub(crate) fn next<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>) -> Option<Place<L>> {
        let front = &mut self.front;
        if front.at >= front.bound {
            return self.enter_front(tree);
        }
        let (lane, slot) = front.order[front.at];
        front.at += 1;
        Some((lane, (front.leaf, slot as usize)))
    }

    /// The next place from the back.
    #[inline]
    pub(crate) fn next_back<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>) -> Option<Place<L>> {
        let back = &mut self.back;
        if back.at <= back.bound {
            return self.enter_back(tree);
        }
        back.at -= 1;
        let (lane, slot) = back.order[back.at];
        Some((lane, (back.leaf, slot as usize)))
    }

    /// As [`Walk::next`], where more is to be looked at than the order of a leaf.
    #[inline(never)]
    fn enter_front<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>) -> Option<Place<L>> {
        self.settle();
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
        self.settle();
        (lane <= high).then_some((lane, (self.front.leaf, slot as usize)))
    }

    /// As [`Walk::next_back`], likewise.
    #[inline(never)]
    fn enter_back<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>) -> Option<Place<L>> {
        self.settle();
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
        self.settle();
        (lane >= low).then_some((lane, (self.back.leaf, slot as usize)))
    }

    /// Moves `low` behind what the front has reached, and `high` before what the back has; and if both ends are used,
    /// they step no further by themselves.
    fn settle(&mut self) {
        let Some((mut low, mut high)) = self.left else { return };
        let reached_front = self.front.at.checked_sub(1).and_then(|at| self.front.order.get(at));
        let reached_back = self.back.order.get(self.back.at);
        let (after, before) = (reached_front.map(|pair| pair.0.next()), reached_back.map(|pair| pair.0.previous()));
        if after == Some(None) || before == Some(None) {
            // One has reached the last of all keys there can be.
            self.left = None;
        } else {
            // Never further apart than they were: after a broken promise of uniqueness a leaf may begin below the end
            // of the one before, and what one end has reached the other must not reach again.
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
    /// Takes up the leaf in which `low` belongs, or the one after the last.
    fn advance<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>, low: L) -> bool {
        let first = self.leaf == NOWHERE;
        if !self.enter(tree, low, |tree, leaf| tree.after(leaf)) {
            return false;
        }
        self.at = if first { self.order.partition_point(|(lane, _)| *lane < low) } else { 0 };
        true
    }

    /// Takes up the leaf in which `high` belongs, or the one before the last.
    fn retreat<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>, high: L) -> bool {
        let first = self.leaf == NOWHERE;
        if !self.enter(tree, high, |tree, leaf| tree.before(leaf)) {
            return false;
        }
        let len = self.order.len();
        self.at = if first { self.order.partition_point(|(lane, _)| *lane <= high) } else { len };
        true
    }

    /// Puts the next leaf in order, and asks for the one after it.
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
    /// The first place, or the last. Leaves at the end may be empty: where an [`crate::ExtractIf`] was forgotten.
    pub(crate) fn end(&self, first: bool) -> Option<Place<K::Lane>> {
        let mut leaf = if first { self.head } else { self.tail };
        while leaf != NOWHERE {
            if let Some((lane, slot)) = self.leaves.end(leaf, first) {
                return Some((lane, (leaf, slot)));
            }
            leaf = if first { self.after(leaf) } else { self.before(leaf) };
        }
        None
    }

    /// Takes the first pair out, or the last.
    pub(crate) fn pop(&mut self, first: bool) -> Option<(K, V)> {
        let (lane, (leaf, slot)) = self.end(first)?;
        Some((K::of_lane(lane), self.remove_at(leaf, slot, lane)))
    }
}
