//! The place of a key, occupied or vacant.

use crate::key::Key;
use crate::level::Selection;
use crate::presets::Fast;
use crate::tree::{NOWHERE, Tree};
use holm_search::with_vectors;
use std::fmt;

/// The place of a key; see [`crate::Map::entry`].
pub enum Entry<'a, K: Key, V, S: Selection = Fast> {
    /// The key is there.
    Occupied(OccupiedEntry<'a, K, V, S>),
    /// It is not.
    Vacant(VacantEntry<'a, K, V, S>),
}

/// The place of a key that is there.
pub struct OccupiedEntry<'a, K: Key, V, S: Selection = Fast> {
    pub(crate) tree: &'a mut Tree<K, V, S>,
    pub(crate) key: K,
    pub(crate) place: (u32, usize),
}

/// The place of a key that is not there.
pub struct VacantEntry<'a, K: Key, V, S: Selection = Fast> {
    pub(crate) tree: &'a mut Tree<K, V, S>,
    pub(crate) key: K,
    /// Where it belongs: [`NOWHERE`] in a map that has no leaf yet.
    pub(crate) leaf: u32,
}

impl<'a, K: Key, V, S: Selection> Entry<'a, K, V, S> {
    /// The value, which is `value` if there was none.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value, which is what `make` makes if there was none.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => entry.insert(make()),
        }
    }

    /// The value, which is what `make` makes of the key if there was none.
    pub fn or_insert_with_key(self, make: impl FnOnce(&K) -> V) -> &'a mut V {
        let key = *self.key();
        self.or_insert_with(|| make(&key))
    }

    /// The value, which is its type's default if there was none.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value, if there is one.
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let Self::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }

    /// Puts a value there, whatever there was, and says where it is.
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'a, K, V, S> {
        match self {
            Self::Occupied(mut entry) => {
                entry.insert(value);
                entry
            }
            Self::Vacant(entry) => entry.insert_entry(value),
        }
    }

    /// The key.
    pub fn key(&self) -> &K {
        match self {
            Self::Occupied(entry) => &entry.key,
            Self::Vacant(entry) => &entry.key,
        }
    }
}

impl<'a, K: Key, V, S: Selection> OccupiedEntry<'a, K, V, S> {
    /// The key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The value.
    pub fn get(&self) -> &V {
        self.tree.value(self.place)
    }

    /// The value, to be changed.
    pub fn get_mut(&mut self) -> &mut V {
        self.tree.value_mut(self.place)
    }

    /// The value, to be changed, for as long as the map was lent.
    pub fn into_mut(self) -> &'a mut V {
        self.tree.value_mut(self.place)
    }

    /// Replaces the value, and gives the one before.
    pub fn insert(&mut self, value: V) -> V {
        std::mem::replace(self.get_mut(), value)
    }

    /// Takes the pair out, and gives it.
    pub fn remove_entry(self) -> (K, V) {
        (self.key, self.remove())
    }

    /// Takes the pair out, and gives its value.
    pub fn remove(self) -> V {
        let ((leaf, slot), lane) = (self.place, self.key.lane());
        self.tree.remove_at(leaf, slot, lane)
    }
}

impl<'a, K: Key, V, S: Selection> VacantEntry<'a, K, V, S> {
    /// The key.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// The key, taken back.
    pub fn into_key(self) -> K {
        self.key
    }

    /// Puts a value there.
    pub fn insert(self, value: V) -> &'a mut V {
        self.insert_entry(value).into_mut()
    }

    /// Puts a value there, and says where it is.
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
