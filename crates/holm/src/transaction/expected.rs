//! Where keys were that a transaction is going to write without reading them: its commit takes their leaves without a
//! descent, if they are as they were.

use crate::ahead::Ahead;
use crate::keyspace_tree::KeyspaceTree;
use holm_tree::LeafVersion;
use std::ops::Range;
use std::sync::Arc;

/// Keys of one keyspace, and the leaf of each.
#[derive(Default)]
pub(super) struct Expected {
    tree: Option<Arc<KeyspaceTree>>,
    keys: Vec<u8>,
    /// Where each key lies, and its leaf, in the order of keys.
    places: Vec<(Range<usize>, LeafVersion)>,
}

impl Expected {
    /// Replaces what was expected.
    pub(super) fn set(&mut self, ahead: &Ahead) {
        let Expected { tree, keys, places } = self;
        *tree = Some(ahead.tree().clone());
        let (count, bytes) = ahead.size();
        keys.clear();
        keys.reserve(bytes);
        places.clear();
        places.reserve(count);
        for (key, lookup) in ahead.iter() {
            let begin = keys.len();
            keys.extend_from_slice(key);
            places.push((begin..keys.len(), lookup.leaf_version));
        }
        // Number 0 is no leaf: a lookup in a dropped tree names it.
        places.retain(|(_, leaf)| leaf.leaf() != 0);
        places.sort_unstable_by(|(one, _), (other, _)| keys[one.clone()].cmp(&keys[other.clone()]));
    }

    /// Returns the leaf that a lookup has found for a key.
    pub(super) fn leaf_of(&self, tree: &KeyspaceTree, key: &[u8]) -> Option<LeafVersion> {
        self.tree.as_ref().filter(|own| std::ptr::eq(&***own, tree))?;
        let at = self.places.binary_search_by(|(place, _)| self.keys[place.clone()].cmp(key)).ok()?;
        Some(self.places[at].1)
    }
}

#[cfg(test)]
mod tests {
    use crate::Database;

    /// The leaves of keys that are expected are found without a descent: the commit takes them at their versions.
    #[test]
    fn what_is_expected_is_found_by_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path().join("sea.holm")).unwrap();
        let reefs = db.keyspace("reefs").unwrap();
        (0..1_000u32).for_each(|number| reefs.insert(number.to_be_bytes(), "before").unwrap());
        let keys: Vec<_> = [900u32, 7, 500].map(u32::to_be_bytes).to_vec();
        let ahead = reefs.look_ahead(&keys).unwrap();
        let mut expected = super::Expected::default();
        expected.set(&ahead);
        for (key, lookup) in ahead.iter() {
            assert_eq!(expected.leaf_of(reefs.tree(), key), Some(lookup.leaf_version));
        }
        assert_eq!(expected.leaf_of(reefs.tree(), &8u32.to_be_bytes()), None);
        assert_eq!(expected.leaf_of(db.keyspace("other").unwrap().tree(), &keys[0]), None);
    }
}
