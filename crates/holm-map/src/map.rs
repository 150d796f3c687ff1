//! The map and its operations on single pairs. Batches, bulk loading and the traits of the standard library have files
//! of their own.

use crate::entry::{Entry, OccupiedEntry, VacantEntry};
use crate::iter::{ExtractIf, Iter, IterMut, Keys, Range, RangeMut, Values, ValuesMut, Walk, ends};
use crate::key::Key;
use crate::leaf::Leaf;
use crate::level::Selection;
use crate::presets::Fast;
use crate::tree::{NOWHERE, Tree};
use holm_search::{LaneKernels, Vectors, with_vectors};
use std::iter::FusedIterator;
use std::ops::{RangeBounds, RangeFull};

/// An ordered map from numbers to values of any type, for one writing thread or many reading ones.
///
/// Its methods are those of `std::collections::BTreeMap`, with few differences: methods return keys by value, a range
/// whose start lies behind its end is empty, and values that borrow must outlive the map. A lookup, an insertion and a
/// removal each cost a descent of `O(log len)`. A scan sorts each leaf when it reaches it. A map without pairs takes no
/// memory. A map has at most 2^32 - 1 leaves.
///
/// ```
/// use holm_map::Map;
///
/// let mut depths: Map<u32, &str> = Map::new();
/// depths.insert(11, "reef");
/// depths.insert(200, "shelf");
/// *depths.entry(200).or_insert("?") = "slope";
/// assert_eq!(depths.get(&200), Some(&"slope"));
/// assert_eq!(depths.range(12..).next(), Some((200, &"slope")));
/// assert_eq!(depths.iter().rev().map(|(key, _)| key).collect::<Vec<_>>(), [200, 11]);
/// ```
pub struct Map<K: Key, V, S: Selection = Fast> {
    pub(crate) tree: Tree<K, V, S>,
}

impl<K: Key, V> Map<K, V> {
    /// Returns an empty map of the preset [`Fast`]. [`Map::selected`] returns one of another selection.
    pub fn new() -> Self {
        Self::selected()
    }
}

impl<K: Key, V, S: Selection> Map<K, V, S> {
    /// Returns an empty map that uses the fastest vector instructions of this CPU.
    pub fn selected() -> Self {
        Self::with_vectors(Vectors::detect())
    }

    /// Returns an empty map that uses the given vector instructions.
    pub fn with_vectors(vectors: Vectors) -> Self {
        Self { tree: Tree::new(vectors) }
    }

    /// Returns the vector instructions that searches use.
    pub fn vectors(&self) -> Vectors {
        self.tree.vectors
    }

    /// Returns the number of pairs, in O(1).
    pub fn len(&self) -> usize {
        self.tree.len
    }

    /// Returns whether the map has no pairs.
    pub fn is_empty(&self) -> bool {
        self.tree.len == 0
    }

    /// Returns the number of levels of inner nodes above the leaves.
    pub fn height(&self) -> usize {
        self.tree.height()
    }

    /// Returns the bytes of all areas, without memory that values own elsewhere. A large area counts the bytes in use,
    /// a small one the bytes that the allocator returned.
    pub fn memory_usage(&self) -> usize {
        size_of::<Self>() + self.tree.bytes()
    }

    /// Allocates the memory for `additional` pairs now. Without this call, the first write to each page pays for it.
    /// The amount is what random keys need, so the map may take more pairs without allocating, or fewer.
    pub fn reserve(&mut self, additional: usize) {
        // Leaves that were split and filled again are two thirds full.
        let leaves = additional.saturating_mul(3) / (S::Leaf::<K, V>::SLOTS * 2) + 1;
        self.tree.leaves.prepare(leaves, additional);
    }

    /// Returns a reference to the value of `key`.
    #[inline]
    pub fn get(&self, key: &K) -> Option<&V> {
        with_vectors!(self.tree.vectors, x => self.tree.get(x, key.lane()))
    }

    /// Returns a mutable reference to the value of `key`.
    #[inline]
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let place = self.tree.locate(key.lane())?;
        Some(self.tree.value_mut(place))
    }

    /// Returns the pair of `key`.
    #[inline]
    pub fn get_key_value(&self, key: &K) -> Option<(K, &V)> {
        self.get(key).map(|value| (*key, value))
    }

    /// Returns whether `key` is present.
    #[inline]
    pub fn contains_key(&self, key: &K) -> bool {
        self.tree.locate(key.lane()).is_some()
    }

    /// Inserts a pair. If the key is present, replaces its value and returns the previous one.
    #[inline]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        with_vectors!(self.tree.vectors, x => self.tree.insert(x, key.lane(), value))
    }

    /// Inserts a pair whose key the caller promises to be absent. The map does not check this.
    ///
    /// If the key was present, the map has two pairs of that key from then on. It stays memory-safe, and counts and
    /// drops both pairs. It is unspecified which of the two a lookup finds, and whether an iteration returns both.
    #[inline]
    pub fn insert_unique(&mut self, key: K, value: V) {
        with_vectors!(self.tree.vectors, x => self.tree.insert_unique(x, key.lane(), value));
    }

    /// Removes `key`, and returns its value.
    #[inline]
    pub fn remove(&mut self, key: &K) -> Option<V> {
        with_vectors!(self.tree.vectors, x => self.tree.remove(x, key.lane()))
    }

    /// Removes `key`, and returns its pair.
    pub fn remove_entry(&mut self, key: &K) -> Option<(K, V)> {
        self.remove(key).map(|value| (*key, value))
    }

    /// Returns the entry of `key`, which reads and changes the key's place with one search.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V, S> {
        match self.tree.place(key.lane()) {
            (leaf, Some(slot)) => Entry::Occupied(OccupiedEntry { tree: &mut self.tree, key, place: (leaf, slot) }),
            (leaf, None) => Entry::Vacant(VacantEntry { tree: &mut self.tree, key, leaf }),
        }
    }

    /// Returns the pair with the least key.
    pub fn first_key_value(&self) -> Option<(K, &V)> {
        self.tree.end(true).map(|(lane, place)| (K::of_lane(lane), self.tree.value(place)))
    }

    /// Returns the pair with the greatest key.
    pub fn last_key_value(&self) -> Option<(K, &V)> {
        self.tree.end(false).map(|(lane, place)| (K::of_lane(lane), self.tree.value(place)))
    }

    /// Removes the pair with the least key, and returns it.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        self.tree.pop(true)
    }

    /// Removes the pair with the greatest key, and returns it.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        self.tree.pop(false)
    }

    /// Iterates over the pairs whose keys lie in `bounds`, in key order.
    pub fn range(&self, bounds: impl RangeBounds<K>) -> Range<'_, K, V, S> {
        Range { tree: &self.tree, walk: Walk::new(&bounds) }
    }

    /// Iterates over the pairs whose keys lie in `bounds`, in key order, with mutable values.
    pub fn range_mut(&mut self, bounds: impl RangeBounds<K>) -> RangeMut<'_, K, V, S> {
        RangeMut::new(&mut self.tree, Walk::new(&bounds))
    }

    /// Iterates over all pairs in key order.
    pub fn iter(&self) -> Iter<'_, K, V, S> {
        Iter { range: self.range(..), left: self.len() }
    }

    /// Iterates over all pairs in key order, with mutable values.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V, S> {
        let left = self.len();
        IterMut { range: RangeMut::new(&mut self.tree, Walk::new::<K>(&RangeFull)), left }
    }

    /// Iterates over all keys in order.
    pub fn keys(&self) -> Keys<'_, K, V, S> {
        Keys(self.iter())
    }

    /// Iterates over all values in the order of their keys.
    pub fn values(&self) -> Values<'_, K, V, S> {
        Values(self.iter())
    }

    /// Iterates over all values in the order of their keys, mutably.
    pub fn values_mut(&mut self) -> ValuesMut<'_, K, V, S> {
        ValuesMut(self.iter_mut())
    }

    /// Returns the entry of the least key, to read, change or remove it.
    pub fn first_entry(&mut self) -> Option<OccupiedEntry<'_, K, V, S>> {
        self.end_entry(true)
    }

    /// Returns the entry of the greatest key, to read, change or remove it.
    pub fn last_entry(&mut self) -> Option<OccupiedEntry<'_, K, V, S>> {
        self.end_entry(false)
    }

    fn end_entry(&mut self, first: bool) -> Option<OccupiedEntry<'_, K, V, S>> {
        let (lane, place) = self.tree.end(first)?;
        Some(OccupiedEntry { tree: &mut self.tree, key: K::of_lane(lane), place })
    }

    /// Removes the pairs for which `keep` returns false. It is called in key order. If it panics, the pairs for which
    /// it has returned false are removed.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.extract_if(.., |key, value| !keep(key, value)).for_each(drop);
    }

    /// Removes the pairs in `bounds` for which `wanted` returns true, and returns them one by one, in key order. Pairs
    /// that the iterator does not reach stay in the map.
    pub fn extract_if<F: FnMut(&K, &mut V) -> bool>(
        &mut self,
        bounds: impl RangeBounds<K>,
        wanted: F,
    ) -> ExtractIf<'_, K, V, F, S> {
        ExtractIf::new(&mut self.tree, ends(&bounds), wanted)
    }

    /// Moves the pairs of `key` and above to a new map. The cost is proportional to their number: they are moved one by
    /// one into full leaves.
    pub fn split_off(&mut self, key: &K) -> Self {
        let mut upper = Self::with_vectors(self.vectors());
        upper.refill(self.extract_if(*key.., |_, _| true));
        upper
    }

    /// Moves all pairs of `other` to this map, and leaves `other` empty. If both maps have a key, the value from
    /// `other` remains.
    pub fn append<T: Selection>(&mut self, other: &mut Map<K, V, T>) {
        let bare = Map::with_vectors(other.vectors());
        self.insert_many(std::mem::replace(other, bare));
    }

    /// Moves all pairs into full leaves, in order, and frees the memory of the old leaves. Meanwhile both occupy
    /// memory.
    pub fn shrink_to_fit(&mut self) {
        let bare = Self::with_vectors(self.vectors());
        let spacious = std::mem::replace(self, bare);
        self.refill(spacious.into_iter());
    }

    /// Consumes the map and iterates over its keys in order.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + FusedIterator {
        self.into_iter().map(|(key, _)| key)
    }

    /// Consumes the map and iterates over its values in the order of their keys.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator + FusedIterator {
        self.into_iter().map(|(_, value)| value)
    }

    /// Removes all pairs and frees the memory.
    pub fn clear(&mut self) {
        let bare = Tree::new(self.tree.vectors);
        drop(std::mem::replace(&mut self.tree, bare));
    }
}

impl<K: Key, V, S: Selection> Tree<K, V, S> {
    #[inline(always)]
    fn insert<X: LaneKernels>(&mut self, x: X, key: K::Lane, value: V) -> Option<V> {
        let leaf = self.seek_or_plant(x, key);
        self.insert_into(x, leaf, key, value).1
    }

    /// Returns the leaf that `key` belongs to. In a tree without leaves it creates the first one.
    #[inline(always)]
    fn seek_or_plant<X: LaneKernels>(&mut self, x: X, key: K::Lane) -> u32 {
        match self.seek(x, key) {
            NOWHERE => self.plant(),
            leaf => leaf,
        }
    }

    /// Inserts a pair into `leaf`, which is the leaf of its key. Returns whether a leaf was split, and the previous
    /// value.
    #[inline(always)]
    pub(crate) fn insert_into<X: LaneKernels>(&mut self, x: X, leaf: u32, key: K::Lane, value: V) -> (bool, Option<V>) {
        if let Some(slot) = self.find_in(x, leaf, key) {
            return (false, Some(std::mem::replace(self.value_mut((leaf, slot)), value)));
        }
        (self.insert_fresh(x, leaf, key, value).2, None)
    }

    #[inline(always)]
    fn insert_unique<X: LaneKernels>(&mut self, x: X, key: K::Lane, value: V) {
        let leaf = self.seek_or_plant(x, key);
        self.leaves.ask_early(leaf, key);
        self.insert_fresh(x, leaf, key, value);
    }

    #[inline(always)]
    fn remove<X: LaneKernels>(&mut self, x: X, key: K::Lane) -> Option<V> {
        let (leaf, slot) = self.find(x, key)?;
        Some(self.remove_at(leaf, slot, key))
    }

    /// Returns the slot of `lane` in `leaf`, which was `slot` before other pairs were removed from the leaf.
    pub(crate) fn look_again(&self, leaf: u32, lane: K::Lane, slot: usize) -> Option<usize> {
        with_vectors!(self.vectors, x => self.leaves.find_again(x, leaf, lane, slot))
    }
}
