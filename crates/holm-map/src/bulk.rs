//! Bulk loading of sorted input: it fills leaf after leaf and searches for no key.

use crate::key::Key;
use crate::level::Selection;
use crate::map::Map;
use crate::tree::Tree;
use holm_search::Portable;
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
        let mut last: Option<K> = None;
        for (key, value) in pairs {
            if let Some(before) = last.filter(|last| *last >= key) {
                return Err(NotAscending { before, after: key });
            }
            last = Some(key);
            map.tree.append(key.lane(), value);
        }
        Ok(map)
    }

    /// Moves a map's pairs into an empty map in their order. Where the keys do not ascend, because a caller of
    /// `insert_unique` broke its promise, the new map has the same duplicates.
    pub(crate) fn refill(&mut self, pairs: impl Iterator<Item = (K, V)>) {
        let mut last: Option<K> = None;
        for (key, value) in pairs {
            if last.is_none_or(|last| last < key) {
                last = Some(key);
                self.tree.append(key.lane(), value);
            } else {
                self.insert_unique(key, value);
            }
        }
    }
}

impl<K: Key, V, S: Selection> Tree<K, V, S> {
    /// Appends a pair whose key is greater than all others.
    #[inline]
    pub(crate) fn append(&mut self, key: K::Lane, value: V) {
        if self.is_bare() {
            self.plant();
        }
        // Any kernels are correct here: unordered leaves use none, and sorted leaves find the end at once.
        self.insert_fresh(Portable, self.tail, key, value);
    }
}
