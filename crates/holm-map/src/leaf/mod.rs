//! Leaves: the level that holds the pairs. A file per way to keep them; the trait is what the tree asks of each.

use crate::key::Key;
use holm_search::{Lane, LaneKernels, MASK_LANES};
use std::ptr::NonNull;

mod fingerprinted;
mod paged;
mod pair_area;

pub use fingerprinted::{Fingerprinted, FingerprintedLevel};
pub use paged::{Order, Paged, PagedLevel, Sorted, Unsorted};

/// All leaves of a tree, by number. Slots are valid until the leaf changes.
///
/// # Safety
/// Each pair that was inserted is given back exactly once, by `remove`, or stays; slots that `find` and `sorted` say
/// are occupied, and `value_at` of an occupied slot points to a value that is there until the leaf changes.
pub unsafe trait Leaf<K: Key, V>: Sized {
    /// Pairs that a leaf has room for.
    const SLOTS: usize;
    /// At so many pairs or fewer a leaf looks for a neighbour to join.
    const SPARSE: usize;
    /// A neighbour of at most so many pairs takes some of a full leaf's, which then need not be split; 0: none does.
    const SHARING: usize;

    /// What looks at a leaf have found, when many are looked at by turns.
    type Trace: Copy + Default;

    /// No leaves.
    fn new() -> Self;

    /// Bytes of all areas.
    fn bytes(&self) -> usize;

    /// Gets the memory for `leaves` more, and for `pairs` in them.
    fn prepare(&mut self, leaves: usize, pairs: usize);

    /// An empty leaf.
    fn fresh(&mut self) -> u32;

    /// `leaf`, which is empty, will be given out again.
    fn retire(&mut self, leaf: u32);

    /// Pairs in `leaf`.
    fn len(&self, leaf: u32) -> usize;

    /// Where `key` is.
    fn find<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> Option<usize>;

    /// The key in an occupied slot.
    fn key(&self, leaf: u32, slot: usize) -> K::Lane;

    /// Where the value of a slot is.
    ///
    /// # Panics
    /// If the slot is not occupied.
    fn value_at(&self, leaf: u32, slot: usize) -> NonNull<V>;

    /// A pair whose key is not in `leaf`, which has room. Says where it is.
    fn insert<X: LaneKernels>(&mut self, x: X, leaf: u32, key: K::Lane, value: V) -> usize;

    /// Takes a pair out.
    ///
    /// # Panics
    /// If the slot is not occupied.
    fn remove(&mut self, leaf: u32, slot: usize) -> V;

    /// Moves the upper part of a full leaf to a fresh one; says the greatest key that stayed, and the fresh leaf.
    /// Neither is empty.
    fn split<X: LaneKernels>(&mut self, x: X, leaf: u32) -> (K::Lane, u32);

    /// Moves pairs of a full leaf to a neighbour, `to_right` or left of it, until both hold as many: those that are
    /// nearest to it. Says the greatest key of whichever is on the left then, or nothing if nothing was moved, which
    /// may be where a promise of uniqueness was broken.
    fn share<X: LaneKernels>(&mut self, x: X, leaf: u32, neighbour: u32, to_right: bool) -> Option<K::Lane>;

    /// Moves all pairs of `right`, whose keys are above all of `left`'s, to `left`, which has room.
    fn merge(&mut self, left: u32, right: u32);

    /// The pairs' keys and slots in ascending order, in place of what `out` held.
    fn sorted<X: LaneKernels>(&self, x: X, leaf: u32, out: &mut Vec<(K::Lane, u32)>);

    /// The least key or the greatest, and its slot.
    fn end(&self, leaf: u32, least: bool) -> Option<(K::Lane, usize)>;

    /// An occupied slot.
    fn any(&self, leaf: u32) -> Option<usize>;

    /// Asks for what a search for `key` will most likely end with, before anything of the leaf has been seen.
    fn ask_early(&self, leaf: u32, key: K::Lane);

    /// Asks for what [`Leaf::len`] looks at, and whoever inserts.
    fn ask_count(&self, leaf: u32);

    /// Asks for what [`Leaf::trace`] looks at.
    fn ask(&self, leaf: u32, key: K::Lane);

    /// A first look for `key`.
    fn trace<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> Self::Trace;

    /// Asks for what the trace leads to.
    fn ask_traced(&self, leaf: u32, trace: Self::Trace);

    /// A second look, where the first one leads; asks for what that leads to, if it leads further.
    fn trace_on<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane, trace: Self::Trace) -> Self::Trace;

    /// The value at which the trace for `key` ends, if the leaf has not changed since.
    ///
    /// # Panics
    /// If the leaf has changed, perhaps.
    fn follow(&self, leaf: u32, trace: Self::Trace, key: K::Lane) -> Option<NonNull<V>>;

    /// Asks for where a pair of `key` would be written.
    fn ask_room<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane);

    /// Asks for all pairs of `leaf`, to be read in order.
    fn ask_all(&self, leaf: u32);
}

/// The keys and slots of a leaf, about to be put in order: of keys that one mask covers all are ranked at once, without
/// a branch that depends on them.
struct Unordered<L> {
    lanes: [L; MASK_LANES],
    slots: [u32; MASK_LANES],
    count: usize,
}

impl<L: Lane> Unordered<L> {
    fn new() -> Self {
        Self { lanes: [L::GREATEST; MASK_LANES], slots: [0; MASK_LANES], count: 0 }
    }

    /// One more, of at most [`MASK_LANES`].
    #[inline(always)]
    fn push(&mut self, lane: L, slot: usize) {
        (self.lanes[self.count], self.slots[self.count]) = (lane, slot as u32);
        self.count += 1;
    }

    /// All of them in order, in place of what `out` held.
    #[inline(always)]
    fn put_in_order<X: LaneKernels>(&self, x: X, out: &mut Vec<(L, u32)>) {
        let pairs = self.lanes.iter().copied().zip(self.slots).take(self.count);
        let ranks = x.ranks(&self.lanes, self.count);
        out.resize(self.count, (L::GREATEST, 0));
        let mut placed = 0_u64;
        for (pair, rank) in pairs.clone().zip(ranks) {
            out[usize::from(rank)] = pair;
            placed |= 1 << (rank % MASK_LANES as u8);
        }
        // Equal keys, of a broken promise of uniqueness, share a rank.
        if placed.count_ones() as usize != self.count {
            out.clear();
            out.extend(pairs);
            out.sort_unstable();
        }
    }
}
