//! The walk that all iterators share: two ends that approach each other, each with a leaf put in order.
//!
//! What was not reached yet is everything from `low` to `high`, ends included, and both are moved with every step: so
//! the ends need not know of each other's leaf. An end holds its leaf's order, and has asked for the leaf after it.

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
}

/// A key and where its pair is.
pub(crate) type Place<L> = (L, (u32, usize));

impl<L: Lane> Walk<L> {
    pub(crate) fn new<K: Key<Lane = L>>(bounds: &impl RangeBounds<K>) -> Self {
        let low = match bounds.start_bound() {
            Bound::Unbounded => Some(L::LEAST),
            Bound::Included(key) => Some(key.lane()),
            Bound::Excluded(key) => key.lane().next(),
        };
        let high = match bounds.end_bound() {
            Bound::Unbounded => Some(L::GREATEST),
            Bound::Included(key) => Some(key.lane()),
            Bound::Excluded(key) => key.lane().previous(),
        };
        let end = End { leaf: NOWHERE, order: Vec::new(), at: 0 };
        Self { left: low.zip(high).filter(|(low, high)| low <= high), front: end.clone(), back: end }
    }

    /// The next place from the front.
    #[inline]
    pub(crate) fn next<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>) -> Option<Place<L>> {
        let (low, high) = self.left?;
        while self.front.at == self.front.order.len() {
            if !self.front.advance(tree, low) {
                self.left = None;
                return None;
            }
        }
        let (lane, slot) = self.front.order[self.front.at];
        self.front.at += 1;
        // Never lower than it was: after a broken promise of uniqueness a leaf may begin below the end of the one
        // before, and what one end has reached the other must not reach again.
        self.left = lane.next().map(|next| (next.max(low), high)).filter(|(low, high)| low <= high);
        (lane <= high).then_some((lane, (self.front.leaf, slot as usize)))
    }

    /// The next place from the back.
    #[inline]
    pub(crate) fn next_back<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>) -> Option<Place<L>> {
        let (low, high) = self.left?;
        while self.back.at == 0 {
            if !self.back.retreat(tree, high) {
                self.left = None;
                return None;
            }
        }
        self.back.at -= 1;
        let (lane, slot) = self.back.order[self.back.at];
        self.left = lane.previous().map(|before| (low, before.min(high))).filter(|(low, high)| low <= high);
        (lane >= low).then_some((lane, (self.back.leaf, slot as usize)))
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
        }
        tree.order(self.leaf, &mut self.order);
        true
    }
}

impl<K: Key, V, S: Selection> Tree<K, V, S> {
    /// The first place, or the last.
    pub(crate) fn end(&self, first: bool) -> Option<Place<K::Lane>> {
        let leaf = if first { self.head } else { self.tail };
        if leaf == NOWHERE {
            return None;
        }
        let (lane, slot) = self.leaves.end(leaf, first)?;
        Some((lane, (leaf, slot)))
    }

    /// Takes the first pair out, or the last.
    pub(crate) fn pop(&mut self, first: bool) -> Option<(K, V)> {
        let (lane, (leaf, slot)) = self.end(first)?;
        Some((K::of_lane(lane), self.remove_at(leaf, slot, lane)))
    }
}
