//! The map: what a user of an ordered map expects, one pair at a time. Batches, bulk loading and the traits of the
//! standard library have files of their own.

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

/// An ordered map from numbers to any values, for one thread that writes or many that read.
///
/// Its methods are those of `std::collections::BTreeMap`, with few differences: keys are given out by value, a range
/// whose start is behind its end is empty, and values that borrow must outlive the map. Finding, inserting and removing
/// cost a descent of `O(log len)`; a scan puts each leaf in order when it comes to it. A map without pairs takes no
/// memory; up to 2^32 - 1 leaves fit.
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
    /// An empty map of the preset [`Fast`]; for another selection, [`Map::selected`].
    pub fn new() -> Self {
        Self::selected()
    }
}

impl<K: Key, V, S: Selection> Map<K, V, S> {
    /// An empty map, with the fastest vectors that this CPU has.
    pub fn selected() -> Self {
        Self::with_vectors(Vectors::detect())
    }

    /// An empty map with chosen vectors.
    pub fn with_vectors(vectors: Vectors) -> Self {
        Self { tree: Tree::new(vectors) }
    }

    /// The vectors with which nodes are compared.
    pub fn vectors(&self) -> Vectors {
        self.tree.vectors
    }

    /// Pairs.
    pub fn len(&self) -> usize {
        self.tree.len
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.tree.len == 0
    }

    /// Levels of inner nodes above the leaves.
    pub fn height(&self) -> usize {
        self.tree.height()
    }

    /// Bytes of all areas, without what values own elsewhere: of large areas what is in use, of small ones what the
    /// allocator gave.
    pub fn memory_usage(&self) -> usize {
        size_of::<Self>() + self.tree.bytes()
    }

    /// Gets the memory for `additional` pairs now, where otherwise each page is paid for by the insertion that first
    /// writes to it: as many leaves as keys in no order would take. More may be inserted, and fewer.
    pub fn reserve(&mut self, additional: usize) {
        // Two thirds are how full leaves are that were split and filled again.
        let leaves = additional.saturating_mul(3) / (S::Leaf::<K, V>::SLOTS * 2) + 1;
        self.tree.leaves.prepare(leaves, additional);
    }

    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: &K) -> Option<&V> {
        with_vectors!(self.tree.vectors, x => self.tree.get(x, key.lane()))
    }

    /// The value of `key`, to be changed.
    #[inline]
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let place = self.tree.locate(key.lane())?;
        Some(self.tree.value_mut(place))
    }

    /// The pair of `key`.
    #[inline]
    pub fn get_key_value(&self, key: &K) -> Option<(K, &V)> {
        self.get(key).map(|value| (*key, value))
    }

    /// Whether `key` is there.
    #[inline]
    pub fn contains_key(&self, key: &K) -> bool {
        self.tree.locate(key.lane()).is_some()
    }

    /// Puts a pair in. If the key was there its value is replaced, and the one before is given back.
    #[inline]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        with_vectors!(self.tree.vectors, x => self.tree.insert(x, key.lane(), value))
    }

    /// Puts a pair in whose key is promised not to be there, which is not checked.
    ///
    /// If it was, the map has two pairs of that key from then on: it stays safe to use and counts and drops both, but
    /// which of the two is found, and whether an iteration comes by both, is not said.
    #[inline]
    pub fn insert_unique(&mut self, key: K, value: V) {
        with_vectors!(self.tree.vectors, x => self.tree.insert_unique(x, key.lane(), value));
    }

    /// Takes `key` out, and gives its value.
    #[inline]
    pub fn remove(&mut self, key: &K) -> Option<V> {
        with_vectors!(self.tree.vectors, x => self.tree.remove(x, key.lane()))
    }

    /// Takes `key` out, and gives its pair.
    pub fn remove_entry(&mut self, key: &K) -> Option<(K, V)> {
        self.remove(key).map(|value| (*key, value))
    }

    /// The place of `key`, to be looked at and filled with one search.
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V, S> {
        match self.tree.place(key.lane()) {
            (leaf, Some(slot)) => Entry::Occupied(OccupiedEntry { tree: &mut self.tree, key, place: (leaf, slot) }),
            (leaf, None) => Entry::Vacant(VacantEntry { tree: &mut self.tree, key, leaf }),
        }
    }

    /// The pair with the least key.
    pub fn first_key_value(&self) -> Option<(K, &V)> {
        self.tree.end(true).map(|(lane, place)| (K::of_lane(lane), self.tree.value(place)))
    }

    /// The pair with the greatest key.
    pub fn last_key_value(&self) -> Option<(K, &V)> {
        self.tree.end(false).map(|(lane, place)| (K::of_lane(lane), self.tree.value(place)))
    }

    /// Takes the pair with the least key out.
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        self.tree.pop(true)
    }

    /// Takes the pair with the greatest key out.
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        self.tree.pop(false)
    }

    /// The pairs whose keys are in `bounds`, in their order.
    pub fn range(&self, bounds: impl RangeBounds<K>) -> Range<'_, K, V, S> {
        Range { tree: &self.tree, walk: Walk::new(&bounds) }
    }

    /// The pairs whose keys are in `bounds`, in their order, with values to be changed.
    pub fn range_mut(&mut self, bounds: impl RangeBounds<K>) -> RangeMut<'_, K, V, S> {
        RangeMut::new(&mut self.tree, Walk::new(&bounds))
    }

    /// All pairs in the order of keys.
    pub fn iter(&self) -> Iter<'_, K, V, S> {
        Iter { range: self.range(..), left: self.len() }
    }

    /// All pairs in the order of keys, with values to be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V, S> {
        let left = self.len();
        IterMut { range: RangeMut::new(&mut self.tree, Walk::new::<K>(&RangeFull)), left }
    }

    /// All keys in order.
    pub fn keys(&self) -> Keys<'_, K, V, S> {
        Keys(self.iter())
    }

    /// All values in the order of their keys.
    pub fn values(&self) -> Values<'_, K, V, S> {
        Values(self.iter())
    }

    /// All values in the order of their keys, to be changed.
    pub fn values_mut(&mut self) -> ValuesMut<'_, K, V, S> {
        ValuesMut(self.iter_mut())
    }

    /// The entry of the least key, to be looked at, changed or taken out.
    pub fn first_entry(&mut self) -> Option<OccupiedEntry<'_, K, V, S>> {
        self.end_entry(true)
    }

    /// The entry of the greatest key, likewise.
    pub fn last_entry(&mut self) -> Option<OccupiedEntry<'_, K, V, S>> {
        self.end_entry(false)
    }

    fn end_entry(&mut self, first: bool) -> Option<OccupiedEntry<'_, K, V, S>> {
        let (lane, place) = self.tree.end(first)?;
        Some(OccupiedEntry { tree: &mut self.tree, key: K::of_lane(lane), place })
    }

    /// Takes out the pairs for which `keep` says no. It is asked in the order of keys. If it panics, what it has said
    /// no to is out.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.extract_if(.., |key, value| !keep(key, value)).for_each(drop);
    }

    /// Takes out the pairs in `bounds` that `wanted` says yes to, one by one as the iterator goes, in the order of
    /// keys. What the iterator does not come to stays in the map.
    pub fn extract_if<F: FnMut(&K, &mut V) -> bool>(
        &mut self,
        bounds: impl RangeBounds<K>,
        wanted: F,
    ) -> ExtractIf<'_, K, V, F, S> {
        ExtractIf::new(&mut self.tree, ends(&bounds), wanted)
    }

    /// Moves the pairs of `key` and above to a map of their own. Costs as much as there are of them, which are moved
    /// one by one to full leaves.
    pub fn split_off(&mut self, key: &K) -> Self {
        let mut upper = Self::with_vectors(self.vectors());
        upper.refill(self.extract_if(*key.., |_, _| true));
        upper
    }

    /// Moves all pairs of `other` to this map, and leaves `other` empty. Where both have a key, the other's value
    /// stays.
    pub fn append<T: Selection>(&mut self, other: &mut Map<K, V, T>) {
        let bare = Map::with_vectors(other.vectors());
        self.insert_many(std::mem::replace(other, bare));
    }

    /// Moves all pairs to full leaves, one behind the other, and gives the memory of the others back. Until that is
    /// done there is memory for both.
    pub fn shrink_to_fit(&mut self) {
        let bare = Self::with_vectors(self.vectors());
        let spacious = std::mem::replace(self, bare);
        self.refill(spacious.into_iter());
    }

    /// All keys in order, of a map that is no more.
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator + FusedIterator {
        self.into_iter().map(|(key, _)| key)
    }

    /// All values in the order of their keys, of a map that is no more.
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator + FusedIterator {
        self.into_iter().map(|(_, value)| value)
    }

    /// Takes out all pairs and gives the memory back.
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

    /// The leaf where `key` belongs, in a bare tree its first one.
    #[inline(always)]
    fn seek_or_plant<X: LaneKernels>(&mut self, x: X, key: K::Lane) -> u32 {
        match self.seek(x, key) {
            NOWHERE => self.plant(),
            leaf => leaf,
        }
    }

    /// Puts a pair into `leaf`, which is where it belongs. Says whether a leaf was split, and what was there.
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

    /// Where `lane` is in `leaf`, for those who are not in a hurry.
    #[inline(never)]
    pub(crate) fn look(&self, leaf: u32, lane: K::Lane) -> Option<usize> {
        with_vectors!(self.vectors, x => self.leaves.find(x, leaf, lane))
    }
}
