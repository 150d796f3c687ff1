//! Implementations of the standard library's traits.

use crate::iter::{IntoIter, Iter, IterMut, Walk};
use crate::key::Key;
use crate::level::Selection;
use crate::map::Map;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Index, RangeFull};

impl<K: Key, V, S: Selection> Default for Map<K, V, S> {
    fn default() -> Self {
        Self::selected()
    }
}

impl<K: Key + fmt::Debug, V: fmt::Debug, S: Selection> fmt::Debug for Map<K, V, S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_map().entries(self).finish()
    }
}

/// Compares maps by their pairs. Their selections may differ.
impl<K: Key, V: PartialEq, S: Selection, T: Selection> PartialEq<Map<K, V, T>> for Map<K, V, S> {
    fn eq(&self, other: &Map<K, V, T>) -> bool {
        self.len() == other.len() && self.iter().eq(other)
    }
}

impl<K: Key, V: Eq, S: Selection> Eq for Map<K, V, S> {}

impl<K: Key, V: PartialOrd, S: Selection, T: Selection> PartialOrd<Map<K, V, T>> for Map<K, V, S> {
    fn partial_cmp(&self, other: &Map<K, V, T>) -> Option<Ordering> {
        self.iter().partial_cmp(other)
    }
}

impl<K: Key, V: Ord, S: Selection> Ord for Map<K, V, S> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other)
    }
}

impl<K: Key + Hash, V: Hash, S: Selection> Hash for Map<K, V, S> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.len());
        self.iter().for_each(|pair| pair.hash(state));
    }
}

/// # Panics
/// Panics if the key is absent.
impl<K: Key, V, S: Selection> Index<&K> for Map<K, V, S> {
    type Output = V;

    fn index(&self, key: &K) -> &V {
        self.get(key).unwrap_or_else(|| panic!("no value for the key {key:?}"))
    }
}

impl<K: Key, V, S: Selection> Extend<(K, V)> for Map<K, V, S> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        self.insert_many(pairs);
    }
}

impl<'a, K: Key, V: Copy, S: Selection> Extend<(&'a K, &'a V)> for Map<K, V, S> {
    fn extend<I: IntoIterator<Item = (&'a K, &'a V)>>(&mut self, pairs: I) {
        self.insert_many(pairs.into_iter().map(|(key, value)| (*key, *value)));
    }
}

/// Extends a map with the pairs of another, whose keys come by value.
impl<'a, K: Key, V: Copy, S: Selection> Extend<(K, &'a V)> for Map<K, V, S> {
    fn extend<I: IntoIterator<Item = (K, &'a V)>>(&mut self, pairs: I) {
        self.insert_many(pairs.into_iter().map(|(key, value)| (key, *value)));
    }
}

/// If keys repeat, the last pair of each key remains.
impl<K: Key, V, S: Selection> FromIterator<(K, V)> for Map<K, V, S> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut pairs: Vec<(K, V)> = pairs.into_iter().collect();
        // The sort is stable: equal keys keep their order, and the last of them wins.
        pairs.sort_by_key(|(key, _)| *key);
        let mut map = Self::selected();
        let mut pairs = pairs.into_iter().peekable();
        let last = std::iter::from_fn(|| {
            let mut pair = pairs.next()?;
            while let Some(next) = pairs.next_if(|next| next.0 == pair.0) {
                pair = next;
            }
            Some(pair)
        });
        map.refill(last);
        map
    }
}

/// For [`crate::Fast`] alone, as [`Map::new`] is, so that no caller has to name a selection. Other selections use
/// `collect`.
impl<K: Key, V, const N: usize> From<[(K, V); N]> for Map<K, V> {
    fn from(pairs: [(K, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}

impl<K: Key, V, S: Selection> IntoIterator for Map<K, V, S> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V, S>;

    fn into_iter(self) -> Self::IntoIter {
        IntoIter { tree: self.tree, walk: Walk::new::<K>(&RangeFull) }
    }
}

impl<'a, K: Key, V, S: Selection> IntoIterator for &'a Map<K, V, S> {
    type Item = (K, &'a V);
    type IntoIter = Iter<'a, K, V, S>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K: Key, V, S: Selection> IntoIterator for &'a mut Map<K, V, S> {
    type Item = (K, &'a mut V);
    type IntoIter = IterMut<'a, K, V, S>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
