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
/// are occupied, and `value_at` of an occupied slot and `find_many` point to values that are there until the leaf
/// changes.
pub unsafe trait Leaf<K: Key, V>: Sized {
    /// Pairs that a leaf has room for.
    const SLOTS: usize;
    /// At so many pairs or fewer a leaf looks for a neighbour to join.
    const SPARSE: usize;
    /// A neighbour of at most so many pairs takes some of a full leaf's, which then need not be split; 0: none does.
    const SHARING: usize;

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

    /// Where the value of a slot is that [`Leaf::find`] said, if the leaf has not changed since.
    ///
    /// # Safety
    /// The slot is occupied.
    #[inline(always)]
    unsafe fn value_found(&self, leaf: u32, slot: usize) -> NonNull<V> {
        self.value_at(leaf, slot)
    }

    /// A pair whose key is not in `leaf`, which has room. Says where it is.
    fn insert<X: LaneKernels>(&mut self, x: X, leaf: u32, key: K::Lane, value: V) -> usize;

    /// As [`Leaf::insert`], into the last leaf of all: where keys that come in order arrive.
    #[inline(always)]
    fn insert_at_end<X: LaneKernels>(&mut self, x: X, leaf: u32, key: K::Lane, value: V) -> usize {
        self.insert(x, leaf, key, value)
    }

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

    /// Asks for what [`Leaf::find_many`] looks at first.
    fn ask(&self, leaf: u32, key: K::Lane);

    /// The values of many keys, each in a leaf of its own choice: while one waits for memory the others ask.
    fn find_many<X: LaneKernels, const MANY: usize>(
        &self,
        x: X,
        leaves: &[u32; MANY],
        keys: &[K::Lane; MANY],
    ) -> [Option<NonNull<V>>; MANY];

    /// Asks for the pair of `key`, and for where it would be written: what an insertion looks at, and a removal.
    fn ask_place<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane);

    /// Asks for all pairs of `leaf`, to be read in order.
    fn ask_all(&self, leaf: u32);
}

/// The keys and slots of a leaf in order, in place of what `out` held: of its lanes by slot, those that `which` names.
#[inline(always)]
fn put_in_order<X: LaneKernels, L: Lane>(x: X, lanes: &[L; MASK_LANES], which: u64, out: &mut Vec<(L, u32)>) {
    let count = which.count_ones() as usize;
    if which & which.wrapping_add(1) == 0 && lanes[..count].is_sorted() {
        out.clear();
        return out.extend(lanes[..count].iter().copied().zip(0..));
    }
    let (order, certain) = x.order(lanes, which);
    let order = order[..count].iter();
    out.clear();
    out.extend(order.map(|place| (lanes[usize::from(*place) % MASK_LANES], u32::from(*place))));
    if !certain {
        out.sort_unstable();
    }
}
