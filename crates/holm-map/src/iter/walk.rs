//! The walk that all iterators share: two ends that approach each other, each with one leaf in sorted order.
//!
//! The keys that are not visited yet are those from `low` to `high`, inclusive. If only one end is used, it steps along
//! its leaf's order alone, up to a bound that it computed when it entered the leaf. `low` or `high` follows when the
//! leaf ends or the other end is used. Once both ends are used, each step moves `low` or `high`, so neither end needs
//! to know the other's leaf. An end holds its leaf's order and has prefetched the next leaf.

use crate::key::Key;
use crate::leaf::{Leaf, Slots};
use crate::level::Selection;
use crate::tree::{NOWHERE, Tree};
use holm_search::Lane;
use std::hint::select_unpredictable;
use std::ops::{Bound, RangeBounds};

/// The pairs of the leaf that an end is in, in order.
pub(crate) trait Order<K: Key, V, S: Selection>: Default {
    /// Takes the order of `leaf`.
    fn fill(&mut self, tree: &Tree<K, V, S>, leaf: u32);
    fn len(&self) -> usize;

    /// Returns the key and the slot at a position.
    ///
    /// # Safety
    /// `leaf` is that of the last `fill`, and `at` is below `len`. If the order reads the tree, the tree is that of the
    /// last `fill`, and no pair was inserted or removed since.
    unsafe fn pair(&self, tree: &Tree<K, V, S>, leaf: u32, at: usize) -> (K::Lane, usize);
}

/// The slots of a leaf that does not change while the walk exists. Keys are read from the leaf.
#[derive(Clone, Default)]
pub(crate) struct Slotwise<O>(O);

impl<K: Key, V, S: Selection> Order<K, V, S> for Slotwise<SlotsOf<K, V, S>> {
    #[inline(always)]
    fn fill(&mut self, tree: &Tree<K, V, S>, leaf: u32) {
        if !tree.leaves.known_order(leaf, &mut self.0) {
            tree.sort(leaf, &mut self.0);
        }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    unsafe fn pair(&self, tree: &Tree<K, V, S>, leaf: u32, at: usize) -> (K::Lane, usize) {
        let slot = self.0.slot(at);
        // SAFETY: by this function's contract `sorted` returned the slot, so it is occupied.
        (unsafe { tree.leaves.key_found(leaf, slot) }, slot)
    }
}

/// The keys and slots of a leaf when the walk reached it. The owner of the walk may remove pairs from the leaf.
impl<K: Key, V, S: Selection> Order<K, V, S> for Vec<(K::Lane, u32)> {
    fn fill(&mut self, tree: &Tree<K, V, S>, leaf: u32) {
        tree.order(leaf, self);
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.len()
    }

    #[inline(always)]
    unsafe fn pair(&self, _: &Tree<K, V, S>, _: u32, at: usize) -> (K::Lane, usize) {
        (self[at].0, self[at].1 as usize)
    }
}

/// The slots in order of a selection's leaf.
pub(crate) type SlotsOf<K, V, S> = <<S as Selection>::Leaf<K, V> as Leaf<K, V>>::Slots;

/// The walk of an iterator that borrows the map.
pub(crate) type Reading<K, V, S> = Walk<<K as Key>::Lane, Slotwise<SlotsOf<K, V, S>>>;

/// The walk of an iterator that removes pairs.
pub(crate) type Removing<K> = Walk<<K as Key>::Lane, Vec<(<K as Key>::Lane, u32)>>;

/// Iterates over the places between two keys, from both ends.
#[derive(Clone)]
pub(crate) struct Walk<L, O> {
    steps: Steps,
    /// The range that is not visited yet; `None` once the ends have met.
    left: Option<(L, L)>,
    front: End<O>,
    back: End<O>,
}

/// How far the ends are in their leaves. This is all that a step within a leaf changes: the compiler keeps it in
/// registers, because [`enter_front`] and [`enter_back`] take and return an end by value.
#[derive(Clone, Copy)]
struct Steps {
    /// The next position.
    front: usize,
    /// The position up to which the front steps without reading anything else.
    front_bound: usize,
    /// One past the next position.
    back: usize,
    /// The position down to which the back steps without reading anything else.
    back_bound: usize,
}

#[derive(Clone)]
struct End<O> {
    leaf: u32,
    /// The leaf's pairs, visited ones included.
    order: O,
    /// The leaf that was prefetched.
    asked: u32,
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

impl<L: Lane, O: Default> Walk<L, O> {
    #[inline]
    pub(crate) fn new<K: Key<Lane = L>>(bounds: &impl RangeBounds<K>) -> Self {
        let steps = Steps { front: 0, front_bound: 0, back: 0, back_bound: usize::MAX };
        Self { steps, left: ends(bounds), front: End::outside(), back: End::outside() }
    }

    /// Returns the next place from the front.
    ///
    /// # Safety
    /// The tree is the same in all calls. If the order reads it, no pair was inserted or removed since the first call.
    #[inline]
    pub(crate) unsafe fn next<K: Key<Lane = L>, V, S: Selection>(&mut self, tree: &Tree<K, V, S>) -> Option<Position<L>>
    where
        O: Order<K, V, S>,
    {
        if self.steps.front >= self.steps.front_bound {
            let reached = self.back.reached(tree, self.steps.back);
            let front = std::mem::replace(&mut self.front, End::outside());
            let entered = enter_front(tree, self.left, front, self.steps, reached);
            (self.left, self.front, self.steps) = (entered.left, entered.end, entered.steps);
            return entered.found;
        }
        // SAFETY: the bound is at most the length of the order, and the caller vouches for the tree.
        let (lane, slot) = unsafe { self.front.order.pair(tree, self.front.leaf, self.steps.front) };
        self.steps.front += 1;
        Some((lane, (self.front.leaf, slot)))
    }

    /// Returns the next place from the back.
    ///
    /// # Safety
    /// As for [`Walk::next`].
    #[inline]
    pub(crate) unsafe fn next_back<K: Key<Lane = L>, V, S: Selection>(
        &mut self,
        tree: &Tree<K, V, S>,
    ) -> Option<Position<L>>
    where
        O: Order<K, V, S>,
    {
        if self.steps.back <= self.steps.back_bound {
            let reached = self.steps.front.checked_sub(1).and_then(|at| self.front.reached(tree, at));
            let back = std::mem::replace(&mut self.back, End::outside());
            let entered = enter_back(tree, self.left, back, self.steps, reached);
            (self.left, self.back, self.steps) = (entered.left, entered.end, entered.steps);
            return entered.found;
        }
        self.steps.back -= 1;
        // SAFETY: as above.
        let (lane, slot) = unsafe { self.back.order.pair(tree, self.back.leaf, self.steps.back) };
        Some((lane, (self.back.leaf, slot)))
    }
}

/// What a step beyond the order of a leaf returns.
struct Entered<L, O> {
    left: Option<(L, L)>,
    end: End<O>,
    steps: Steps,
    found: Option<Position<L>>,
}

/// As [`Walk::next`], when the order of the front's leaf is not enough. `reached` is the key that the back has visited
/// last, if the back was used.
#[inline(never)]
fn enter_front<K: Key, V, S: Selection, O: Order<K, V, S>>(
    tree: &Tree<K, V, S>,
    left: Option<(K::Lane, K::Lane)>,
    mut end: End<O>,
    mut steps: Steps,
    reached: Option<K::Lane>,
) -> Entered<K::Lane, O> {
    let visited = steps.front.checked_sub(1).and_then(|at| end.reached(tree, at));
    let mut left = narrowed(left, visited, reached);
    let found = loop {
        let Some((low, high)) = left else { break None };
        if steps.front == end.order.len() {
            match end.advance(tree, low) {
                Some(at) => steps.front = at,
                None => left = None,
            }
            continue;
        }
        let ((lane, slot), len) = (end.pair(tree, steps.front), end.order.len());
        steps.front += 1;
        let all = end.pair(tree, len - 1).0 <= high;
        steps.front_bound = if all { len } else { end.count(tree, |other| other <= high) };
        left = narrowed(left, Some(lane), None);
        break (lane <= high).then_some((lane, (end.leaf, slot)));
    };
    if reached.is_some() {
        (steps.front_bound, steps.back_bound) = (0, usize::MAX);
    }
    Entered { left, end, steps, found }
}

/// As [`Walk::next_back`], when the order of the back's leaf is not enough. `reached` is the key that the front has
/// visited last, if the front was used.
#[inline(never)]
fn enter_back<K: Key, V, S: Selection, O: Order<K, V, S>>(
    tree: &Tree<K, V, S>,
    left: Option<(K::Lane, K::Lane)>,
    mut end: End<O>,
    mut steps: Steps,
    reached: Option<K::Lane>,
) -> Entered<K::Lane, O> {
    let visited = end.reached(tree, steps.back);
    let mut left = narrowed(left, reached, visited);
    let found = loop {
        let Some((low, high)) = left else { break None };
        if steps.back == 0 {
            match end.retreat(tree, high) {
                Some(at) => steps.back = at,
                None => left = None,
            }
            continue;
        }
        steps.back -= 1;
        let (lane, slot) = end.pair(tree, steps.back);
        let all = end.pair(tree, 0).0 >= low;
        steps.back_bound = if all { 0 } else { end.count(tree, |other| other < low) };
        left = narrowed(left, None, Some(lane));
        break (lane >= low).then_some((lane, (end.leaf, slot)));
    };
    if reached.is_some() {
        (steps.front_bound, steps.back_bound) = (0, usize::MAX);
    }
    Entered { left, end, steps, found }
}

/// Returns the part of a range behind the key that the front has visited last, and before the one that the back has.
///
/// The range never grows. If a caller of `insert_unique` broke its promise, a leaf may begin below the end of the leaf
/// before it. What one end has visited, the other must not visit again.
fn narrowed<L: Lane>(left: Option<(L, L)>, front: Option<L>, back: Option<L>) -> Option<(L, L)> {
    let (mut low, mut high) = left?;
    if let Some(front) = front {
        low = front.next()?.max(low);
    }
    if let Some(back) = back {
        high = back.previous()?.min(high);
    }
    (low <= high).then_some((low, high))
}

impl<O> End<O> {
    /// Returns an end that is in no leaf yet.
    #[inline(always)]
    fn outside() -> Self
    where
        O: Default,
    {
        Self { leaf: NOWHERE, order: O::default(), asked: NOWHERE }
    }

    /// Returns the key at a position of the order, if the order has it.
    #[inline(always)]
    fn reached<K: Key, V, S: Selection>(&self, tree: &Tree<K, V, S>, at: usize) -> Option<K::Lane>
    where
        O: Order<K, V, S>,
    {
        (at < self.order.len()).then(|| self.pair(tree, at).0)
    }

    /// Returns the key and the slot at a position of the order.
    #[inline(always)]
    fn pair<K: Key, V, S: Selection>(&self, tree: &Tree<K, V, S>, at: usize) -> (K::Lane, usize)
    where
        O: Order<K, V, S>,
    {
        assert!(at < self.order.len(), "a position behind the order");
        // SAFETY: in the order, and the callers of `next` and `next_back` vouch for the tree.
        unsafe { self.order.pair(tree, self.leaf, at) }
    }

    /// Returns how many pairs, from the first on, have keys for which `before` holds. It holds for none behind them. No
    /// branch depends on a key.
    #[inline(always)]
    fn count<K: Key, V, S: Selection>(&self, tree: &Tree<K, V, S>, before: impl Fn(K::Lane) -> bool) -> usize
    where
        O: Order<K, V, S>,
    {
        let (mut first, mut len) = (0, self.order.len());
        if len == 0 {
            return 0;
        }
        while len > 1 {
            let middle = first + len / 2;
            first = select_unpredictable(before(self.pair(tree, middle - 1).0), middle, first);
            len -= len / 2;
        }
        first + usize::from(before(self.pair(tree, first).0))
    }

    /// Enters the leaf that `low` belongs to, or the one after the last leaf. Returns the position where the front
    /// begins.
    fn advance<K: Key, V, S: Selection>(&mut self, tree: &Tree<K, V, S>, low: K::Lane) -> Option<usize>
    where
        O: Order<K, V, S>,
    {
        let first = self.enter(tree, low, |tree, leaf| tree.after(leaf))?;
        let at = if first { self.count(tree, |lane| lane < low) } else { 0 };
        if !first || self.order.len() - at < S::Leaf::<K, V>::SLOTS / 2 {
            self.ask(tree, tree.after(self.leaf));
        }
        Some(at)
    }

    /// Enters the leaf that `high` belongs to, or the one before the last leaf. Returns one past the position where the
    /// back begins.
    fn retreat<K: Key, V, S: Selection>(&mut self, tree: &Tree<K, V, S>, high: K::Lane) -> Option<usize>
    where
        O: Order<K, V, S>,
    {
        let first = self.enter(tree, high, |tree, leaf| tree.before(leaf))?;
        let at = if first { self.count(tree, |lane| lane <= high) } else { self.order.len() };
        if !first || at < S::Leaf::<K, V>::SLOTS / 2 {
            self.ask(tree, tree.before(self.leaf));
        }
        Some(at)
    }

    /// Prefetches the leaf that comes next. In its first leaf, an end does so only if that ends soon: a short scan does
    /// not reach another leaf.
    #[inline(always)]
    fn ask<K: Key, V, S: Selection>(&mut self, tree: &Tree<K, V, S>, coming: u32) {
        if coming != NOWHERE {
            tree.leaves.ask_all(coming);
            tree.ask_links(coming);
            self.asked = coming;
        }
    }

    /// Takes the order of the leaf of `key` if the end is in none yet, otherwise of the leaf that comes next. Returns
    /// whether it is the first one, `None` if there is no such leaf.
    #[inline(always)]
    fn enter<K: Key, V, S: Selection>(
        &mut self,
        tree: &Tree<K, V, S>,
        key: K::Lane,
        next: impl Fn(&Tree<K, V, S>, u32) -> u32,
    ) -> Option<bool>
    where
        O: Order<K, V, S>,
    {
        let first = self.leaf == NOWHERE;
        let leaf = if first { tree.home(key) } else { next(tree, self.leaf) };
        if leaf == NOWHERE {
            return None;
        }
        self.leaf = leaf;
        if leaf != self.asked {
            tree.leaves.ask_all(leaf);
        }
        self.order.fill(tree, leaf);
        Some(first)
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
