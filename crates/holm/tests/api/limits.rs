//! Limits have typed errors, are exact, and are checked before anything changes.

use crate::tools::{self, assert_sound, folder, relaxed};
use holm::{Database, Error, Keyspace, KeyspaceOptions, MAX_KEY, MAX_VALUE, Result};
use std::time::{Duration, SystemTime};

#[track_caller]
fn assert_too_large<T>(result: Result<T>, found: u64, limit: u64) {
    match result.map(|_| "done") {
        Err(Error::TooLarge { found: told, limit: at, .. }) => assert_eq!((told, at), (found, limit)),
        other => panic!("{other:?}, expected TooLarge"),
    }
}

#[test]
fn keys_up_to_64_kib() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let mut longest = vec![b'k'; MAX_KEY];
    for last in 0..60 {
        longest[MAX_KEY - 1] = last;
        space.insert(&longest, [last]).expect("at the limit");
    }
    longest.push(0);
    let (found, limit) = (MAX_KEY as u64 + 1, MAX_KEY as u64);
    assert_too_large(space.insert(&longest, ""), found, limit);
    assert_too_large(db.batch().insert(&space, "fine", "").insert(&space, &longest, "").commit(), found, limit);
    assert_too_large(db.batch().remove(&space, &longest).commit(), found, limit);
    // No such long key exists, and a lookup is not an error.
    assert!(space.get(&longest).expect("absent").is_none());
    assert!(!space.contains_key(&longest).expect("absent"));
    assert!(!space.remove(&longest).expect("absent"));
    assert_eq!(space.range(&longest[..]..).count(), 0);
    assert_eq!(space.get_many(&[&longest[..], b"fine"]).expect("absent"), [None, None]);
    assert_eq!(space.len().expect("sound"), 60);
    drop(space);
    db.close().expect("a sound close");
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    assert_sound(&db);
    longest.truncate(MAX_KEY);
    assert_eq!(space.prefix(&longest[..MAX_KEY - 1]).next_back().expect("there").expect("sound").1.to_vec(), [59]);
    assert_eq!(space.get(&longest).expect("sound").as_deref(), Some(&[59][..]));
}

/// A keyspace of each kind.
fn keyspaces(db: &Database) -> [Keyspace; 2] {
    let options = [KeyspaceOptions::new(), KeyspaceOptions::new().expires(true)];
    ["plain", "expiring"].map(|name| db.keyspace_with(name, &options[usize::from(name == "expiring")]).expect("a name"))
}

/// The deadline of a value does not count.
#[test]
fn values_beyond_1_gib_are_refused() {
    let folder = folder();
    let db = relaxed(folder.path());
    // Untouched pages of zeros cost nothing.
    let large = vec![0; MAX_VALUE + 1];
    let (found, limit) = (MAX_VALUE as u64 + 1, MAX_VALUE as u64);
    let [plain, expiring] = keyspaces(&db);
    let (hour, then) = (Duration::from_secs(3_600), SystemTime::now());
    for space in [&plain, &expiring] {
        assert_too_large(space.insert("k", &large), found, limit);
        assert_too_large(space.swap("k", &large), found, limit);
        assert_too_large(db.begin().insert(space, "k", &large), found, limit);
    }
    assert_too_large(expiring.insert_for("k", &large, hour), found, limit);
    assert_too_large(expiring.insert_until("k", &large, then), found, limit);
    assert_too_large(db.begin().insert_for(&expiring, "k", &large, hour), found, limit);
    assert!(plain.is_empty().expect("sound") && expiring.len().expect("sound") == 0);
    assert_sound(&db);
}

/// A value of the greatest length cannot be stored cheaply: all of it goes into the files and the log. A unit test of
/// `record` has its length, with and without a deadline.
#[test]
#[ignore = "writes gigabytes"]
fn a_value_of_1_gib() {
    let folder = folder();
    let db = relaxed(folder.path());
    let large = vec![3; MAX_VALUE];
    let hour = Duration::from_secs(3_600);
    for space in keyspaces(&db) {
        space.insert("large", &large).expect("room");
        space.insert("small", "1").expect("room");
        db.sync().expect("one epoch's record holds it");
        if space.options().has_expiry() {
            assert!(space.expire_in("large", hour).expect("room"));
        }
        assert_eq!(space.get("large").expect("sound").expect("there").len(), MAX_VALUE);
        assert!(*space.last().expect("sound").expect("there").0 == *b"small");
    }
    let copy = folder.path().join("copy");
    db.backup(&copy).expect("a stream holds it");
    db.close().expect("a sound close");
    for path in [folder.path(), &copy] {
        let db = relaxed(path);
        assert_sound(&db);
        for space in keyspaces(&db) {
            assert!(*space.get("large").expect("sound").expect("there") == large[..], "{}", space.name());
        }
    }
}

/// An epoch larger than the log's limit must not end the session.
#[test]
fn an_epoch_larger_than_the_log() {
    let folder = folder();
    let builder = || tools::builder().log_bytes(2 << 20);
    let db = builder().open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    for number in 0..6u8 {
        space.insert([number], vec![number; 3 << 20]).expect("room");
    }
    db.sync().expect("the log grows for a record that needs it");
    let batch = (0..20u8).fold(db.batch(), |batch, number| batch.insert(&space, [b'b', number], vec![number; 1 << 20]));
    batch.commit().expect("under the limit of a batch");
    db.sync().expect("as before");
    assert_sound(&db);
    drop(space);
    db.close().expect("a sound close");
    let log = ["log.0", "log.1"].map(|half| std::fs::metadata(folder.path().join(half)).expect("there").len());
    assert!(log.iter().sum::<u64>() <= 4 << 20, "and shrinks again: {log:?}");
    let db = builder().open(folder.path()).expect("closed");
    assert_eq!(db.keyspace("s").expect("a name").len().expect("sound"), 26);
    assert_sound(&db);
}

#[test]
fn batches_up_to_64_mib() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let limit = 64 << 20;
    // A byte of key, and the bytes that each operation counts in addition.
    let half = vec![1; limit / 2 - 65];
    let over = db.batch().insert(&space, "a", &half).insert(&space, "b", &half).insert(&space, "c", "");
    assert_eq!(over.len(), 3);
    assert_too_large(over.commit(), limit as u64 + 65, limit as u64);
    assert!(space.is_empty().expect("sound"));
    db.batch().insert(&space, "a", &half).insert(&space, "b", &half).commit().expect("at the limit");
    assert_eq!(space.len().expect("sound"), 2);
    assert_eq!(space.get("b").expect("sound").map(|value| value.len()), Some(limit / 2 - 65));
    // Only removals of keys of one byte, each of which may dirty another leaf.
    let many = (limit / 65) as u64 + 1;
    let removals = (0..many).fold(db.batch(), |batch, _| batch.remove(&space, "a"));
    assert_too_large(removals.commit(), many * 65, limit as u64);
    assert!(space.contains_key("a").expect("sound"), "nothing was done");
    assert_sound(&db);
}

#[test]
fn names_of_keyspaces() {
    let folder = folder();
    let db = relaxed(folder.path());
    assert_eq!(db.keyspaces().expect("a catalog"), ["default"]);
    let longest = "n".repeat(255);
    for bad in ["", &"n".repeat(256)] {
        assert!(matches!(db.keyspace(bad), Err(Error::Invalid { what }) if what.contains("1 to 255")), "{bad}");
        assert!(db.existing_keyspace(bad).expect("absent").is_none());
        assert!(!db.drop_keyspace(bad).expect("absent"));
    }
    for good in ["a", "a\0", "\u{fc}", "a b/c", &longest] {
        let space = db.keyspace(good).expect("a name");
        assert_eq!(space.name(), good);
        space.insert("of", good).expect("room");
    }
    let mut names = vec!["default", "a", "a\0", "\u{fc}", "a b/c", &longest];
    names.sort_unstable();
    assert_eq!(db.keyspaces().expect("a catalog"), names);
    db.close().expect("a sound close");
    let db = relaxed(folder.path());
    assert_eq!(db.keyspaces().expect("a catalog"), names);
    for name in names.into_iter().filter(|name| *name != "default") {
        let space = db.existing_keyspace(name).expect("a catalog").expect("made before");
        assert_eq!(space.get("of").expect("sound").as_deref(), Some(name.as_bytes()));
    }
}
