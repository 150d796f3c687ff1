//! Reads of many keys in one step of a transaction: the same answers as gets, of the same instant.

use crate::tools::{Chance, folder, relaxed};
use holm::{Error, KeyspaceOptions};
use std::collections::BTreeMap;
use std::time::Duration;

/// Gets of keys that were read ahead, in their order and in others, of some twice, with writes of the transaction and
/// of others in between. What is written between the lookup and the read is seen.
#[test]
fn gets_after_it_follow_a_map() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("reefs").expect("a name");
    let mut map = BTreeMap::new();
    let mut chance = Chance::new(11);
    for round in 0..400_u32 {
        // Some transactions read more than 64 leaves, and go on at a snapshot.
        let count = if chance.one_in(20) { 2_500 } else { chance.below(70) };
        let keys: Vec<_> = (0..count).map(|_| format!("key/{}", chance.below(4_000))).collect();
        let ahead = space.look_ahead(&keys).expect("it is there");
        for key in keys.iter().take(3) {
            space.insert(key, round.to_le_bytes()).expect("room");
            map.insert(key.clone(), round.to_le_bytes().to_vec());
        }
        let transaction = db.begin();
        transaction.read_ahead(&space, &ahead).expect("alone");
        for key in &keys {
            if chance.one_in(4) {
                continue;
            }
            let found = transaction.get(&space, key).expect("alone");
            assert_eq!(found.as_deref(), map.get(key).map(Vec::as_slice), "{key} in round {round}");
            if chance.one_in(2) {
                let value = [key.as_bytes(), &round.to_le_bytes()].concat();
                transaction.insert(&space, key, &value).expect("small");
                map.insert(key.clone(), value);
            }
        }
        transaction.commit().expect("alone");
    }
    assert_eq!(space.len().expect("sound"), map.len() as u64);
}

/// A change of a key that was read ahead conflicts, also if the transaction has not asked for it. A change of a
/// neighbour in its leaf does not.
#[test]
fn what_was_read_ahead_must_stay() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("reefs").expect("a name");
    let keys: Vec<_> = (0..40).map(|key| format!("key/{key:02}")).collect();
    for key in &keys {
        space.insert(key, "coral").expect("room");
    }
    for (changed, conflicts) in [("key/07", true), ("key/39", true), ("key/07/a neighbour", false)] {
        let ahead = space.look_ahead(&keys).expect("it is there");
        let transaction = db.begin();
        transaction.read_ahead(&space, &ahead).expect("alone");
        space.insert(changed, "sand").expect("room");
        transaction.insert(&space, "sum", "1").expect("small");
        assert_eq!(matches!(transaction.commit(), Err(Error::Conflict)), conflicts, "{changed}");
    }
}

#[test]
fn it_refuses_lookups_of_another_keyspace_and_shows_nothing_that_has_expired() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("reefs").expect("a name");
    let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).expect("a name");
    tides.insert_for("north", "high", Duration::ZERO).expect("room");
    tides.insert("south", "low").expect("room");
    let ahead = tides.look_ahead(&["north", "south"]).expect("it is there");
    let transaction = db.begin();
    assert!(matches!(transaction.read_ahead(&space, &ahead), Err(Error::Invalid { .. })));
    transaction.read_ahead(&tides, &ahead).expect("alone");
    assert_eq!(transaction.get(&tides, "north").expect("alone"), None);
    assert_eq!(transaction.get(&tides, "south").expect("alone").as_deref(), Some(&b"low"[..]));
}
