//! Leaves: the level that holds the pairs. A file per way to keep them; the trait is what the tree asks of each.

use crate::key::Key;
use holm_search::LaneKernels;
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

    /// What a first look at a leaf finds, when many are looked at by turns.
    type Trace: Copy + Default;

    /// No leaves.
    fn new() -> Self;

    /// Bytes of all areas.
    fn bytes(&self) -> usize;

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
    fn split(&mut self, leaf: u32) -> (K::Lane, u32);

    /// Moves all pairs of `right`, whose keys are above all of `left`'s, to `left`, which has room.
    fn merge(&mut self, left: u32, right: u32);

    /// The pairs' keys and slots in ascending order, in place of what `out` held.
    fn sorted(&self, leaf: u32, out: &mut Vec<(K::Lane, u32)>);

    /// The greatest key.
    fn greatest(&self, leaf: u32) -> Option<K::Lane>;

    /// Asks for what [`Leaf::trace`] looks at.
    fn ask(&self, leaf: u32);

    /// A first look for `key`.
    fn trace<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> Self::Trace;

    /// Asks for what the trace leads to.
    fn ask_traced(&self, leaf: u32, trace: Self::Trace);

    /// Asks for what that leads to, if it leads further.
    fn ask_value(&self, leaf: u32, trace: Self::Trace);

    /// Where the trace for `key` ends.
    fn follow(&self, leaf: u32, trace: Self::Trace, key: K::Lane) -> Option<usize>;

    /// Asks for where the next pair would be written.
    fn ask_room(&self, leaf: u32);

    /// Asks for all pairs of `leaf`, to be read in order.
    fn ask_all(&self, leaf: u32);
}
