//! Leaves: the level that holds the pairs. Each kind of leaf has its own file; the trait is the interface to the tree.

use crate::key::Key;
use holm_search::LaneKernels;
use std::ptr::NonNull;

mod fingerprinted;
mod in_order;
mod paged;
mod pair_area;

pub use fingerprinted::{Fingerprinted, FingerprintedLevel};
pub use in_order::Slots;
pub use paged::{Order, Paged, PagedLevel, Sorted, Unsorted};

/// All leaves of a tree, addressed by number. Slots are valid until the leaf changes.
///
/// # Safety
/// `remove` returns each inserted pair exactly once, or the pair stays. Slots that `find` and `sorted` return are
/// occupied. The results of `find_many`, and of `value_at` for an occupied slot, point to values that stay until the
/// leaf changes.
pub unsafe trait Leaf<K: Key, V>: Sized {
    /// The slots of a leaf in order.
    type Slots: Slots;

    /// Pairs that a leaf has room for.
    const SLOTS: usize;
    /// A leaf with at most this number of pairs looks for a neighbour to merge with.
    const SPARSE: usize;
    /// A neighbour with at most this number of pairs takes some of a full leaf's pairs, which then need not split. If
    /// 0, no neighbour does.
    const SHARING: usize;

    /// Returns a set without leaves.
    fn new() -> Self;

    /// Bytes of all areas.
    fn bytes(&self) -> usize;

    /// Allocates the memory for `leaves` more leaves, and for `pairs` in them.
    fn prepare(&mut self, leaves: usize, pairs: usize);

    /// Creates an empty leaf.
    fn fresh(&mut self) -> u32;

    /// Frees `leaf`, which is empty, for reuse.
    fn retire(&mut self, leaf: u32);

    /// Returns the number of pairs in `leaf`.
    fn len(&self, leaf: u32) -> usize;

    /// Returns the slot of `key`.
    fn find<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> Option<usize>;

    /// Returns the key in an occupied slot.
    fn key(&self, leaf: u32, slot: usize) -> K::Lane;

    /// As [`Leaf::key`], of a slot that is known to be occupied.
    ///
    /// # Safety
    /// The slot is occupied.
    #[inline(always)]
    unsafe fn key_found(&self, leaf: u32, slot: usize) -> K::Lane {
        self.key(leaf, slot)
    }

    /// Returns the address of a slot's value.
    ///
    /// # Panics
    /// Panics if the slot is not occupied.
    fn value_at(&self, leaf: u32, slot: usize) -> NonNull<V>;

    /// Returns the address of the value in a slot that [`Leaf::find`] returned, if the leaf has not changed since.
    ///
    /// # Safety
    /// The slot is occupied.
    #[inline(always)]
    unsafe fn value_found(&self, leaf: u32, slot: usize) -> NonNull<V> {
        self.value_at(leaf, slot)
    }

    /// Inserts a pair whose key is not in `leaf`. The leaf has room. Returns the slot.
    fn insert<X: LaneKernels>(&mut self, x: X, leaf: u32, key: K::Lane, value: V) -> usize;

    /// As [`Leaf::insert`], into the last leaf of the tree, where ascending keys arrive.
    #[inline(always)]
    fn insert_at_end<X: LaneKernels>(&mut self, x: X, leaf: u32, key: K::Lane, value: V) -> usize {
        self.insert(x, leaf, key, value)
    }

    /// Removes a pair.
    ///
    /// # Panics
    /// Panics if the slot is not occupied.
    fn remove(&mut self, leaf: u32, slot: usize) -> V;

    /// Moves the upper part of a full leaf to a fresh one. Returns the greatest key that stayed, and the fresh leaf.
    /// Neither is empty.
    fn split<X: LaneKernels>(&mut self, x: X, leaf: u32) -> (K::Lane, u32);

    /// Moves the pairs of a full leaf that are nearest to a neighbour into it, until both hold equally many. The
    /// neighbour is the right one if `to_right`, else the left one. Returns the greatest key of the left one of the
    /// two. Returns `None` if nothing moved, which may happen if a caller of `insert_unique` broke its promise.
    fn share<X: LaneKernels>(&mut self, x: X, leaf: u32, neighbour: u32, to_right: bool) -> Option<K::Lane>;

    /// Moves all pairs of `right`, whose keys are greater than all in `left`, to `left`, which has room.
    fn merge(&mut self, left: u32, right: u32);

    /// Replaces the content of `out` by the occupied slots in ascending order of their keys.
    fn sorted<X: LaneKernels>(&self, x: X, leaf: u32, out: &mut Self::Slots);

    /// As [`Leaf::sorted`], if the leaf did not change since it was sorted last. Returns whether that is known.
    #[inline(always)]
    fn known_order(&self, leaf: u32, out: &mut Self::Slots) -> bool {
        let _ = (leaf, out);
        false
    }

    /// Returns the slot of `key` after other pairs of the leaf were removed. `slot` is where it was before.
    #[inline(always)]
    fn find_again<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane, slot: usize) -> Option<usize> {
        let _ = slot;
        self.find(x, leaf, key)
    }

    /// As [`Leaf::insert`], of a key that is greater than all others in `leaf`, while no other pair of the leaf was
    /// inserted or removed by another call.
    fn append(&mut self, leaf: u32, key: K::Lane, value: V) {
        self.insert(holm_search::Portable, leaf, key, value);
    }

    /// Returns as many leaves as `self` has, with the same numbers, and all empty.
    fn empty_copy(&self) -> Self;

    /// Fills `leaf`, which is empty, with clones of the pairs of the same leaf of `other`. If a clone panics, the leaf
    /// has some of them.
    fn copy_leaf(&mut self, other: &Self, leaf: u32)
    where
        V: Clone;

    /// Returns the number of leaves, and how many of those are free.
    fn counts(&self) -> (usize, usize);

    /// Returns the least or the greatest key, and its slot.
    fn end(&self, leaf: u32, least: bool) -> Option<(K::Lane, usize)>;

    /// Prefetches what a search for `key` most likely ends with, before anything of the leaf has been read.
    fn ask_early(&self, leaf: u32, key: K::Lane);

    /// Prefetches what [`Leaf::len`] and an insertion read.
    fn ask_count(&self, leaf: u32);

    /// Prefetches what [`Leaf::find_many`] reads first.
    fn ask(&self, leaf: u32, key: K::Lane);

    /// Returns the values of many keys, each in its own leaf. While one search waits for memory, the others prefetch.
    fn find_many<X: LaneKernels, const MANY: usize>(
        &self,
        x: X,
        leaves: &[u32; MANY],
        keys: &[K::Lane; MANY],
    ) -> [Option<NonNull<V>>; MANY];

    /// Prefetches the pair of `key` and the place where it would be written, for an insertion or a removal.
    fn ask_place<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane);

    /// Prefetches all pairs of `leaf`, for reading in order.
    fn ask_all(&self, leaf: u32);
}
