//! Entries: the place of one key in a map, occupied or vacant.

use crate::key::Key;
use crate::level::Selection;
use crate::presets::Fast;
use crate::tree::{NOWHERE, Tree};
use holm_search::with_vectors;
use std::fmt;

/// The place of a key in a map. [`crate::Map::entry`] returns it.
pub enum Entry<'a, K: Key, V, S: Selection = Fast> {
    /// The key is present.
    Occupied(OccupiedEntry<'a, K, V, S>),
    /// The key is absent.
    Vacant(VacantEntry<'a, K, V, S>),
}

/// The entry of a key that is present.
pub struct OccupiedEntry<'a, K: Key, V, S: Selection = Fast> {
    pub(crate) tree: &'a mut Tree<K, V, S>,
    pub(crate) key: K,
    pub(crate) place: (u32, usize),
}

/// The entry of a key that is absent.
pub struct VacantEntry<'a, K: Key, V, S: Selection = Fast> {
    pub(crate) tree: &'a mut Tree<K, V, S>,
    pub(crate) key: K,
    /// The leaf that the key belongs to: [`NOWHERE`] in a map that has no leaf yet.
    pub(crate) leaf: u32,
}

impl<'a, K: Key, V, S: Selection> Entry<'a, K, V, S> {
    /// Inserts `value` if the entry is vacant, and returns the entry's value.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// Inserts the result of `make` if the entry is vacant, and returns the entry's value.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => entry.insert(make()),
        }
    }

    /// Inserts the result of `make`, called with the key, if the entry is vacant. Returns the entry's value.
    pub fn or_insert_with_key(self, make: impl FnOnce(&K) -> V) -> &'a mut V {
        let key = *self.key();
        self.or_insert_with(|| make(&key))
    }

    /// Inserts the default of the value's type if the entry is vacant, and returns the entry's value.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Calls `change` with the value if the entry is occupied.
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let Self::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }

    /// Inserts a value or replaces the present one, and returns the occupied entry.
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'a, K, V, S> {
        match self {
            Self::Occupied(mut entry) => {
                entry.insert(value);
                entry
            }
            Self::Vacant(entry) => entry.insert_entry(value),
        }
    }

    /// Returns the key.
    pub fn key(&self) -> &K {
        match self {
            Self::Occupied(entry) => &entry.key,
            Self::Vacant(entry) => &entry.key,
        }
    }
}

impl<'a, K: Key, V, S: Selection> OccupiedEntry<'a, K, V, S> {
    /// Returns the key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Returns a reference to the value.
    pub fn get(&self) -> &V {
        self.tree.value(self.place)
    }

    /// Returns a mutable reference to the value.
    pub fn get_mut(&mut self) -> &mut V {
        self.tree.value_mut(self.place)
    }

    /// Returns a mutable reference to the value that lives as long as the borrow of the map.
    pub fn into_mut(self) -> &'a mut V {
        self.tree.value_mut(self.place)
    }

    /// Replaces the value, and returns the previous one.
    pub fn insert(&mut self, value: V) -> V {
        std::mem::replace(self.get_mut(), value)
    }

    /// Removes the pair, and returns it.
    pub fn remove_entry(self) -> (K, V) {
        (self.key, self.remove())
    }

    /// Removes the pair, and returns its value.
    pub fn remove(self) -> V {
        let ((leaf, slot), lane) = (self.place, self.key.lane());
        self.tree.remove_at(leaf, slot, lane)
    }
}

impl<'a, K: Key, V, S: Selection> VacantEntry<'a, K, V, S> {
    /// Returns the key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Returns the key, and gives up the entry.
    pub fn into_key(self) -> K {
        self.key
    }

    /// Inserts a value.
    pub fn insert(self, value: V) -> &'a mut V {
        self.insert_entry(value).into_mut()
    }

    /// Inserts a value, and returns the occupied entry.
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'a, K, V, S> {
        let (tree, lane) = (self.tree, self.key.lane());
        if self.leaf == NOWHERE {
            tree.plant();
        }
        let leaf = if self.leaf == NOWHERE { tree.head } else { self.leaf };
        let (leaf, slot, _) = with_vectors!(tree.vectors, x => tree.insert_fresh(x, leaf, lane, value));
        OccupiedEntry { tree, key: self.key, place: (leaf, slot) }
    }
}

impl<K: Key + fmt::Debug, V: fmt::Debug, S: Selection> fmt::Debug for Entry<'_, K, V, S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Occupied(entry) => out.debug_tuple("Entry").field(entry).finish(),
            Self::Vacant(entry) => out.debug_tuple("Entry").field(entry).finish(),
        }
    }
}

impl<K: Key + fmt::Debug, V: fmt::Debug, S: Selection> fmt::Debug for OccupiedEntry<'_, K, V, S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("OccupiedEntry").field("key", self.key()).field("value", self.get()).finish()
    }
}

impl<K: Key + fmt::Debug, V, S: Selection> fmt::Debug for VacantEntry<'_, K, V, S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("VacantEntry").field(self.key()).finish()
    }
}
