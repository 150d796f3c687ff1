//! `insert_many`: each pair is as if it were inserted alone, in order.

use crate::tools::{Chance, Stop, assert_sound, builder, folder, relaxed};
use holm::{Database, Durability, Error, Expiry, KeyspaceOptions, MAX_KEY};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

fn key(number: usize) -> Vec<u8> {
    match number % 3 {
        0 => format!("a long prefix that the keys of a leaf share/{number:06}").into_bytes(),
        1 => (number as u32).to_le_bytes().to_vec(),
        _ => format!("{number:x}").into_bytes(),
    }
}

#[test]
fn it_agrees_with_a_model_through_splits_and_repeated_keys() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("reefs").expect("a name");
    let (mut model, mut chance) = (BTreeMap::new(), Chance::new(11));
    for round in 0..60 {
        let count = chance.below(700);
        // Often the same key several times in a group: the last one counts.
        let among = if round % 3 == 0 { 40 } else { 8000 };
        let mut pair = || {
            let length = if chance.one_in(200) { 70_000 } else { chance.below(120) };
            (key(chance.below(among)), chance.bytes(length))
        };
        let mut pairs: Vec<_> = (0..count).map(|_| pair()).collect();
        if round % 4 == 1 {
            pairs.sort_unstable();
        }
        model.extend(pairs.iter().cloned());
        assert_eq!(space.insert_many(pairs).expect("room"), count as u64);
        for number in (0..200).map(|_| chance.below(8000)) {
            assert_eq!(space.remove(key(number)).expect("sound"), model.remove(&key(number)).is_some());
        }
    }
    let found: BTreeMap<_, _> =
        space.iter().map(|pair| pair.expect("sound")).map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
    assert_eq!(found, model);
    assert_eq!(space.len().expect("sound"), model.len() as u64);
    assert_sound(&db);
    assert_eq!(space.insert_many::<&str, &str>([]).expect("nothing"), 0);
}

#[test]
fn the_pairs_before_one_that_fails_are_stored_and_no_others() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("reefs").expect("a name");
    for at in [0, 1, 63, 64, 65, 300] {
        space.clear().expect("sound");
        let too_long = [7; MAX_KEY + 1];
        let keys = (0..400).map(|number| if number == at { too_long.to_vec() } else { key(number) });
        let refused = space.insert_many(keys.map(|key| (key, "depth")));
        assert!(matches!(refused, Err(Error::TooLarge { .. })), "{refused:?}");
        assert_eq!(space.len().expect("sound"), at as u64);
        assert!((0..at).all(|number| space.contains_key(key(number)).expect("sound")));
    }
    assert_sound(&db);
    db.drop_keyspace("reefs").expect("it is there");
    assert!(matches!(space.insert_many([("north", "1")]), Err(Error::Dropped { .. })));
    let others = db.keyspace("others").expect("a name");
    db.close().expect("closing");
    let (alone, many) = (others.insert("north", "1"), others.insert_many([("north", "1")]));
    assert_eq!(alone.expect_err("closed").to_string(), many.expect_err("closed").to_string());
}

/// The iterator is the caller's code: it may use the database, also the same keyspace, and it may panic.
#[test]
fn the_iterator_may_use_the_database_and_may_panic() {
    let folder = folder();
    let db = builder().durability(Durability::Strict).open(folder.path()).expect("a new one");
    let space = db.keyspace("reefs").expect("a name");
    let pairs = (0..150_usize).map(|number| {
        space.insert(key(number + 1000), "inner").expect("room");
        db.sync().expect("a disk");
        (key(number), space.len().expect("sound").to_le_bytes())
    });
    assert_eq!(space.insert_many(pairs).expect("room"), 150);
    assert_eq!(space.len().expect("sound"), 300);
    let panicking = (2000..2200_usize).map(|number| {
        assert_ne!(number, 2130, "as intended");
        (key(number), "x")
    });
    let died = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| space.insert_many(panicking)));
    assert!(died.is_err());
    // Whole groups of those before it.
    let stored = (2000..2200).filter(|number| space.contains_key(key(*number)).expect("sound")).count();
    assert!(stored <= 130 && (2000..2000 + stored).all(|number| space.contains_key(key(number)).expect("sound")));
    space.insert("after", "it").expect("nothing is left locked");
    assert_sound(&db);
}

/// In `Strict`, what was inserted is durable when the call returns: also by another handle, without a sync.
#[test]
fn strict_waits_once_at_the_end() {
    let folder = folder();
    let db = builder().durability(Durability::Strict).open(folder.path()).expect("a new one");
    let space = db.keyspace("reefs").expect("a name");
    let before = db.durable_epoch();
    space.insert_many((0..5000).map(|number| (key(number), "depth"))).expect("room");
    let stats = db.stats().epochs;
    assert!(stats.durable > before && stats.pending_bytes == 0, "{stats:?}");
    let refused = space.insert_many([(vec![1; 3], "stored"), (vec![0; MAX_KEY + 1], "refused")]);
    assert!(refused.is_err());
    assert_eq!(db.stats().epochs.pending_bytes, 0);
    assert!(db.durable_epoch() >= stats.durable);
}

#[test]
fn values_of_keyspaces_with_expiry_never_expire() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace_with("leases", &KeyspaceOptions::new().expires(true)).expect("a name");
    space.insert_for("0", "old", Duration::from_millis(1)).expect("room");
    space.insert_many((0..100).map(|number| (number.to_string(), "new"))).expect("room");
    assert!((0..100).all(|number| space.get(number.to_string()).expect("sound").as_deref() == Some(b"new")));
    assert_eq!(space.expiry("0").expect("sound"), Some(Expiry::Never));
}

/// Writers of single pairs, of groups and removers in the same leaves: each value is one that was stored under its key.
#[test]
fn groups_and_single_writers_share_the_leaves() {
    let folder = folder();
    let db: Database = relaxed(folder.path());
    let space = db.keyspace("reefs").expect("a name");
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Stop(&ended);
        scope.spawn(|| {
            let mut chance = Chance::new(5);
            while !ended.load(SeqCst) {
                let number = chance.below(3000);
                match chance.below(3) {
                    0 => drop(space.remove(key(number)).expect("sound")),
                    1 => space.insert(key(number), key(number)).expect("room"),
                    _ => {
                        let found = space.get(key(number)).expect("sound");
                        assert!(found.is_none_or(|value| *value == *key(number)));
                    }
                }
            }
        });
        let mut chance = Chance::new(6);
        for round in 0..120 {
            let mut numbers: Vec<_> = (0..200).map(|_| chance.below(3000)).collect();
            if round % 2 == 0 {
                numbers.sort_unstable_by_key(|number| key(*number));
            }
            space.insert_many(numbers.iter().map(|number| (key(*number), key(*number)))).expect("room");
        }
    });
    for pair in space.iter() {
        let (key, value) = pair.expect("sound");
        assert_eq!(key, value);
    }
    assert_sound(&db);
}
