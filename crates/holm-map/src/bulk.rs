//! Loading what is in order already: leaves are filled one after the other, and no key is searched for.

use crate::key::Key;
use crate::level::Selection;
use crate::map::Map;
use crate::tree::Tree;
use holm_search::Portable;
use std::fmt;

/// Keys that were to be loaded in bulk did not ascend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAscending<K> {
    /// A key that came.
    pub before: K,
    /// The key that came next, which is not above it.
    pub after: K,
}

impl<K: fmt::Debug> fmt::Display for NotAscending<K> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "keys loaded in bulk must ascend, and after {:?} came {:?}", self.before, self.after)
    }
}

impl<K: fmt::Debug> std::error::Error for NotAscending<K> {}

impl<K: Key, V, S: Selection> Map<K, V, S> {
    /// A map of pairs whose keys ascend. Its leaves are full, which takes the least memory and makes the first
    /// insertions split them.
    ///
    /// # Errors
    /// [`NotAscending`] at the first key that is not above the one before; what was loaded is dropped.
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

    /// Puts a map's pairs into an empty one, in their order. Where they do not ascend, for a promise of uniqueness was
    /// broken, it stays broken.
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
    /// Puts a pair in whose key is above all others.
    #[inline]
    pub(crate) fn append(&mut self, key: K::Lane, value: V) {
        if self.is_bare() {
            self.plant();
        }
        // Any kernels will do, for leaves without an order ask none, and others find the end at once.
        self.insert_fresh(Portable, self.tail, key, value);
    }
}
