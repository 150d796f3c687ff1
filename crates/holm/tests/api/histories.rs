//! Random histories, cut by a crash: the remaining state is that of one moment, no older than the last sync.

use crate::families::{self, Family};
use crate::tools::{Chance, assert_sound, copy, folder, relaxed};
use crate::twin::Map;
use holm::{Database, Keyspace, RecoveredFrom};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

/// Every moment of a history as one number: a hash of the pairs that are there, in any order.
struct History {
    map: Map,
    now: u64,
    moments: Vec<u64>,
}

fn mark(key: &[u8], value: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    (key, value).hash(&mut hasher);
    hasher.finish()
}

impl History {
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.now ^= mark(&key, &value);
        if let Some(old) = self.map.insert(key.clone(), value) {
            self.now ^= mark(&key, &old);
        }
    }

    fn take(&mut self, key: &[u8]) {
        if let Some(old) = self.map.remove(key) {
            self.now ^= mark(key, &old);
        }
    }

    /// Single changes, and batches that count as one change.
    fn go_on(&mut self, db: &Database, space: &Keyspace, family: Family, operations: usize, chance: &mut Chance) {
        for _ in 0..operations {
            let key = family.key(chance);
            let value = chance.next().to_le_bytes()[..chance.below(9)].to_vec();
            match chance.below(8) {
                0..4 => {
                    space.insert(&key, &value).expect("room");
                    self.put(key, value);
                }
                4..7 => {
                    space.remove(&key).expect("sound");
                    self.take(&key);
                }
                _ => {
                    let mut batch = db.batch();
                    for _ in 0..chance.below(20) {
                        let (key, other) = (family.key(chance), family.key(chance));
                        batch = batch.insert(space, &key, &value).remove(space, &other);
                        self.put(key, value.clone());
                        self.take(&other);
                    }
                    batch.commit().expect("room");
                }
            }
            self.moments.push(self.now);
        }
    }
}

fn contents(space: &Keyspace) -> u64 {
    space.iter().map(|pair| pair.expect("sound")).fold(0, |sum, (key, value)| sum ^ mark(&key, &value))
}

/// Cuts while no thread writes: the active epoch is lost, the one before may be.
fn cut(family: Family, seed: u64) {
    let mut chance = Chance::new(seed);
    let folder = folder();
    let live = folder.path().join("live");
    let mut history = History { map: Map::new(), now: 0, moments: vec![0] };
    for round in 0..2 {
        let db = relaxed(&live);
        let space = db.keyspace("s").expect("a name");
        for part in 0..3 {
            history.go_on(&db, &space, family, 300 + chance.below(500), &mut chance);
            let dead = folder.path().join(format!("dead {round} {part}"));
            copy(&live, &dead);
            let cut = relaxed(&dead);
            assert!(matches!(cut.recovery().source, RecoveredFrom::Log { .. }), "{:?}", cut.recovery());
            assert_sound(&cut);
            let left = contents(&cut.keyspace("s").expect("a name"));
            assert!(history.moments.contains(&left), "{family:?}, seed {seed}: no moment was like this");
            if chance.one_in(2) {
                db.sync().expect("a disk");
                // From here on, no older state is allowed.
                history.moments = vec![history.now];
            }
        }
        // Closing makes everything durable.
        history.moments = vec![history.now];
    }
}

#[test]
fn what_a_cut_leaves_was_there_at_some_moment() {
    for (seed, family) in families::ALL.into_iter().enumerate() {
        cut(family, seed as u64);
    }
}
