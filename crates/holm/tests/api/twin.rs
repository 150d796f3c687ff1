//! A database and the map that it should equal, changed together.

use crate::families::Family;
use crate::tools::{Chance, assert_sound, folder, relaxed};
use holm::{Database, Iter, Keyspace};
use std::collections::BTreeMap;
use std::ops::Bound;
use tempfile::TempDir;

pub(crate) type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// One keyspace of a database, and its expected contents.
pub(crate) struct Twin {
    pub(crate) folder: TempDir,
    /// The keyspace is a handle too: the database closes once both are dropped.
    open: Option<(Database, Keyspace)>,
    pub(crate) map: Map,
}

/// Returns bytes derived from the key, so that a value under a wrong key shows; large ones now and then.
pub(crate) fn value(key: &[u8], chance: &mut Chance) -> Vec<u8> {
    let len = match chance.below(200) {
        0 => 100_000,
        1..5 => 3000 + chance.below(3000),
        5..40 => 0,
        _ => chance.below(60),
    };
    let mut value = key.to_vec();
    value.extend(chance.next().to_le_bytes());
    value.resize(len, 7);
    value
}

impl Twin {
    pub(crate) fn new() -> Self {
        let folder = folder();
        let mut twin = Twin { folder, open: None, map: Map::new() };
        twin.open();
        twin
    }

    fn open(&mut self) {
        let db = relaxed(self.folder.path());
        let space = db.keyspace("twin").expect("a name");
        self.open = Some((db, space));
    }

    pub(crate) fn db(&self) -> &Database {
        &self.open.as_ref().expect("open").0
    }

    pub(crate) fn space(&self) -> &Keyspace {
        &self.open.as_ref().expect("open").1
    }

    /// Closes and reopens; every second time by dropping, and every second time without the index, so that the opening
    /// makes ranges of what the leaves have.
    pub(crate) fn reopen(&mut self, chance: &mut Chance) {
        // Leaves of two blocks have no index.
        let has_index = self.db().stats().design != "holm";
        let (db, space) = self.open.take().expect("open");
        drop(space);
        if chance.one_in(2) {
            db.close().expect("a sound close");
        } else {
            drop(db);
        }
        let by_index = chance.one_in(2) && has_index;
        if has_index && !by_index {
            std::fs::remove_file(self.folder.path().join("index")).expect("closing has written one");
        }
        self.open();
        assert_eq!(self.db().recovery().from_index, by_index, "how the opening finds the leaves");
    }

    /// Closes for good; the folder exists as long as the result is held.
    pub(crate) fn close(&mut self) -> TempDir {
        let (db, space) = self.open.take().expect("open");
        drop(space);
        db.close().expect("a sound close");
        std::mem::replace(&mut self.folder, folder())
    }

    pub(crate) fn insert(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.space().insert(&key, &value).expect("room");
        self.map.insert(key, value);
    }

    pub(crate) fn remove(&mut self, key: &[u8]) {
        assert_eq!(self.space().remove(key).expect("sound"), self.map.remove(key).is_some(), "remove {key:?}");
    }

    /// Makes random changes and queries.
    pub(crate) fn stir(&mut self, family: Family, operations: usize, chance: &mut Chance) {
        for _ in 0..operations {
            let key = family.key(chance);
            match chance.below(20) {
                0..10 => {
                    let value = value(&key, chance);
                    self.insert(key, value);
                }
                10..14 => self.remove(&key),
                14 | 15 => assert_eq!(self.got(&key), self.map.get(&key).cloned(), "get {key:?}"),
                16 => assert_eq!(self.space().contains_key(&key).expect("sound"), self.map.contains_key(&key)),
                17 => self.ask_many(family, chance),
                18 => self.walk_a_range(family, chance),
                _ => self.walk_a_prefix(key, chance),
            }
        }
    }

    pub(crate) fn got(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.space().get(key).expect("sound").map(Vec::from)
    }

    fn ask_many(&self, family: Family, chance: &mut Chance) {
        let count = chance.below(40);
        let keys: Vec<_> = (0..count).map(|_| family.key(chance)).collect();
        let found = self.space().get_many(&keys).expect("sound");
        assert_eq!(found.len(), keys.len());
        for (key, found) in keys.iter().zip(found) {
            assert_eq!(found.as_deref(), self.map.get(key).map(|value| &value[..]), "get_many {key:?}");
        }
    }

    fn walk_a_range(&self, family: Family, chance: &mut Chance) {
        let mut bound = || {
            let key = family.key(chance);
            match chance.below(3) {
                0 => Bound::Included(key),
                1 => Bound::Excluded(key),
                _ => Bound::Unbounded,
            }
        };
        let (low, high) = (bound(), bound());
        let inside = |key: &Vec<u8>| {
            (match &low {
                Bound::Included(low) => key >= low,
                Bound::Excluded(low) => key > low,
                Bound::Unbounded => true,
            }) && (match &high {
                Bound::Included(high) => key <= high,
                Bound::Excluded(high) => key < high,
                Bound::Unbounded => true,
            })
        };
        // A range that ends before it starts is empty; the map would panic on it.
        let expected: Vec<_> = self.map.iter().filter(|(key, _)| inside(key)).collect();
        walk(self.space().range((low.clone(), high.clone())), &expected, chance);
    }

    fn walk_a_prefix(&self, mut prefix: Vec<u8>, chance: &mut Chance) {
        prefix.truncate(chance.below(prefix.len() + 1));
        let expected: Vec<_> = self.map.iter().filter(|(key, _)| key.starts_with(&prefix)).collect();
        walk(self.space().prefix(&prefix), &expected, chance);
    }

    /// Checks that everything is equal, in both directions, and that the check finds nothing.
    #[track_caller]
    pub(crate) fn assert_equal(&self) {
        assert_sound(self.db());
        let all: Vec<_> = self.map.iter().collect();
        assert_eq!(self.space().len().expect("sound"), all.len() as u64, "len");
        assert_eq!(self.space().is_empty().expect("sound"), all.is_empty());
        let mut chance = Chance::new(all.len() as u64);
        for lean in [0, 1, 5, 10] {
            walk_leaning(self.space().iter(), &all, lean, &mut chance);
        }
        let owned = |pair: Option<(&Vec<u8>, &Vec<u8>)>| pair.map(|(key, value)| (key.clone(), value.clone()));
        let found = |pair: Option<(holm::Slice, holm::Slice)>| pair.map(|(key, value)| (key.to_vec(), value.to_vec()));
        assert_eq!(found(self.space().first().expect("sound")), owned(self.map.first_key_value()), "first");
        assert_eq!(found(self.space().last().expect("sound")), owned(self.map.last_key_value()), "last");
        let mut buffer = b"what was there before".to_vec();
        assert!(!self.space().get_into("a key that no family makes", &mut buffer).expect("sound") && buffer.is_empty());
        for (key, value) in &self.map {
            assert!(self.space().get_into(key, &mut buffer).expect("sound") && buffer == *value, "get into {key:?}");
            assert_eq!(self.space().get(key).expect("sound").as_deref(), Some(&value[..]), "get {key:?}");
        }
    }
}

/// Scans from both ends at random until they meet.
#[track_caller]
pub(crate) fn walk(iter: Iter, expected: &[(&Vec<u8>, &Vec<u8>)], chance: &mut Chance) {
    let lean = chance.below(11);
    walk_leaning(iter, expected, lean, chance);
}

/// `lean` of ten steps are at the back.
#[track_caller]
fn walk_leaning(mut iter: Iter, expected: &[(&Vec<u8>, &Vec<u8>)], lean: usize, chance: &mut Chance) {
    let told = format!("{iter:?}");
    let mut rest = expected.iter();
    let mut limit = usize::MAX;
    if chance.one_in(4) {
        limit = chance.below(expected.len() + 3);
        iter = iter.limit(limit);
    }
    loop {
        let backwards = chance.below(10) < lean;
        let wanted = if backwards { rest.next_back() } else { rest.next() };
        let wanted = wanted.filter(|_| limit > 0).map(|(key, value)| (&key[..], &value[..]));
        limit = limit.saturating_sub(1);
        // Lent and owned pairs may alternate within one scan.
        let (lent, kept) = match (chance.one_in(2), backwards) {
            (true, true) => (iter.next_back_ref().transpose().expect("sound"), None),
            (true, false) => (iter.next_ref().transpose().expect("sound"), None),
            (false, true) => (None, iter.next_back().transpose().expect("sound")),
            (false, false) => (None, iter.next().transpose().expect("sound")),
        };
        let found = lent.or(kept.as_ref().map(|(key, value)| (&key[..], &value[..])));
        assert_eq!(found, wanted, "backwards {backwards}, {told}");
        if found.is_none() {
            break;
        }
    }
    // An iterator that has ended stays ended.
    for _ in 0..2 {
        assert!(iter.next().is_none() && iter.next_back().is_none(), "fused, {told}");
    }
}
