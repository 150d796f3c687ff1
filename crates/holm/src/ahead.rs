//! Keys that are looked up before they are read: their cache misses overlap, and a transaction that reads them later
//! searches for none of them again.

use crate::error::Result;
use crate::keys::SearchKey;
use crate::keyspace::Keyspace;
use crate::keyspace_tree::KeyspaceTree;
use crate::store::Store;
use holm_tree::Lookup;
use std::fmt;
use std::sync::Arc;

/// Where many keys of a keyspace were, as [`Keyspace::look_ahead`] has found them. A hint: it has no values, and stays
/// right for reads however the keyspace changes.
pub struct Ahead {
    tree: Arc<KeyspaceTree>,
    /// The keys, one behind the other.
    keys: Vec<u8>,
    /// Where each ends, and where it was.
    places: Vec<(usize, Lookup)>,
}

impl Ahead {
    pub(crate) fn tree(&self) -> &Arc<KeyspaceTree> {
        &self.tree
    }

    /// Returns the number of keys, and their bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.places.len(), self.keys.len())
    }

    /// Iterates over the keys, and what the lookup of each has found.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], Lookup)> {
        let begins = std::iter::once(0).chain(self.places.iter().map(|(end, _)| *end));
        begins.zip(&self.places).map(|(begin, (end, lookup))| (&self.keys[begin..*end], *lookup))
    }
}

impl fmt::Debug for Ahead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ahead").field("keys", &self.places.len()).finish_non_exhaustive()
    }
}

impl Store {
    /// Looks many keys up, and copies nothing of what they lead to.
    fn look_ahead<K: AsRef<[u8]>>(&self, tree: &Arc<KeyspaceTree>, keys: &[K]) -> Result<Ahead> {
        tree.check_not_dropped()?;
        let search_keys: Vec<_> = keys.iter().map(|key| SearchKey::new(key.as_ref())).collect();
        let mut lookups = Vec::with_capacity(keys.len());
        self.index.get_many(&tree.root, &search_keys, &mut lookups);
        let mut bytes = Vec::with_capacity(keys.iter().map(|key| key.as_ref().len()).sum());
        let place = |(key, lookup): (&K, Lookup)| {
            bytes.extend_from_slice(key.as_ref());
            (bytes.len(), lookup)
        };
        let places = keys.iter().zip(lookups).map(place).collect();
        Ok(Ahead { tree: tree.clone(), keys: bytes, places })
    }
}

impl Keyspace {
    /// Brings the leaves and records of many keys into the processor's caches, and from the disk where they are not in
    /// memory, so that later calls find them there. Their misses overlap, those of later calls would not. A hint: it
    /// reads no value and promises nothing. [`Transaction::read_ahead`](crate::Transaction::read_ahead) takes it.
    /// O(k log n) for k keys.
    ///
    /// # Errors
    /// [`Dropped`](crate::Error::Dropped).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// reefs.look_ahead(&["north", "south"])?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn look_ahead<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Ahead> {
        self.store().look_ahead(self.tree(), keys)
    }
}
