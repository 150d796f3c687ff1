//! Bulk loading of sorted input: it fills leaf after leaf and searches for no key.

use crate::key::Key;
use crate::leaf::Leaf;
use crate::level::Selection;
use crate::map::Map;
use crate::tree::Tree;
use std::fmt;

/// The error of a bulk load whose keys do not ascend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAscending<K> {
    /// The previous key.
    pub before: K,
    /// The key after it, which is not greater.
    pub after: K,
}

impl<K: fmt::Debug> fmt::Display for NotAscending<K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "keys loaded in bulk must ascend, and after {:?} came {:?}", self.before, self.after)
    }
}

impl<K: fmt::Debug> std::error::Error for NotAscending<K> {}

impl<K: Key, V, S: Selection> Map<K, V, S> {
    /// Builds a map from pairs whose keys ascend, in O(len). All leaves are full. This takes the least memory, and the
    /// first insertions split leaves.
    ///
    /// # Errors
    /// Returns [`NotAscending`] at the first key that is not greater than the one before it. The pairs loaded so far
    /// are dropped.
    pub fn bulk_load(pairs: impl IntoIterator<Item = (K, V)>) -> Result<Self, NotAscending<K>> {
        let mut map = Self::selected();
        let mut pairs = pairs.into_iter();
        match map.tree.append_ascending(&mut pairs) {
            None => Ok(map),
            Some((before, (after, _))) => Err(NotAscending { before: K::of_lane(before), after }),
        }
    }

    /// Moves a map's pairs into an empty map in their order. Where the keys do not ascend, because a caller of
    /// `insert_unique` broke its promise, the new map has the same duplicates.
    pub(crate) fn refill(&mut self, mut pairs: impl Iterator<Item = (K, V)>) {
        if let Some((_, (key, value))) = self.tree.append_ascending(&mut pairs) {
            self.insert_unique(key, value);
            pairs.for_each(|(key, value)| self.insert_unique(key, value));
        }
    }
}

impl<K: Key, V, S: Selection> Tree<K, V, S> {
    /// Appends pairs to a tree without pairs while their keys ascend. Returns the first pair whose key does not, and
    /// the key before it.
    #[inline]
    fn append_ascending(&mut self, pairs: &mut impl Iterator<Item = (K, V)>) -> Option<(K::Lane, (K, V))> {
        let (key, value) = pairs.next()?;
        let (mut last, mut leaf) = (key.lane(), self.plant());
        self.append(leaf, last, value);
        let mut room = S::Leaf::<K, V>::SLOTS - 1;
        for (key, value) in pairs {
            let lane = key.lane();
            if lane <= last {
                return Some((last, (key, value)));
            }
            if room == 0 {
                self.append_leaf(last);
                (leaf, room) = (self.tail, S::Leaf::<K, V>::SLOTS);
            }
            self.append(leaf, lane, value);
            (last, room) = (lane, room - 1);
        }
        None
    }

    #[inline(always)]
    fn append(&mut self, leaf: u32, key: K::Lane, value: V) {
        self.leaves.append(leaf, key, value);
        self.len += 1;
    }
}
