//! Backups of keyspaces with expiry: a copy has their options, all deadlines, and what has expired and is not swept.

use crate::hands::{Hands, put_until, time};
use crate::tools::{assert_sound, builder, folder};
use holm::{Database, Durability, Error, Expiry, Keyspace, KeyspaceOptions, Sweep};
use std::path::Path;
use std::thread;
use std::time::Duration;

fn expiring() -> KeyspaceOptions {
    KeyspaceOptions::new().expires(true)
}

fn open(path: &Path, hands: &Hands, sweep: Sweep) -> (Database, Keyspace) {
    let db = hands.move_time_of(builder().durability(Durability::OnSync).sweep(sweep)).open(path);
    let db = db.expect("a sound database");
    let space = db.keyspace_with("tides", &expiring()).expect("the same options");
    (db, space)
}

fn fill(space: &Keyspace, from: u32) {
    for number in from..from + 300 {
        let key = format!("{number:04}");
        match number % 3 {
            0 => space.insert(key, "never").expect("room"),
            1 => put_until(space, &key, "soon", 1_500),
            _ => put_until(space, &key, "later", 5_000),
        }
    }
}

/// Checks that two keyspaces have the same, at the time of their clock and later.
fn assert_same(one: &Keyspace, other: &Keyspace, hands: &Hands) {
    assert_eq!(one.len().expect("sound"), other.len().expect("sound"), "expired ones included");
    let now = hands.now();
    for millis in [now, 6_000] {
        hands.set(millis);
        let pairs = |space: &Keyspace| space.iter().map(|pair| pair.expect("sound")).collect::<Vec<_>>();
        assert_eq!(pairs(one), pairs(other));
        for (key, _) in pairs(one) {
            assert_eq!(one.expiry(&key).expect("sound"), other.expiry(&key).expect("sound"));
        }
    }
}

#[test]
fn a_copy_has_what_its_original_has() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(&folder.path().join("original"), &hands, Sweep::Manual);
    fill(&tides, 0);
    hands.set(2_000);
    let mut stream = Vec::new();
    db.backup_to(&mut stream).expect("room");
    let path = folder.path().join("copy");
    Database::restore(&mut &stream[..], &path).expect("room");
    let (copy, there) = open(&path, &hands, Sweep::Manual);
    assert_eq!(there.options(), expiring());
    assert_eq!(there.expiry("0002").expect("sound"), Some(Expiry::At(time(5_000))));
    assert_eq!((there.len().expect("sound"), there.iter().count()), (300, 200));
    assert_same(&tides, &there, &hands);
    assert_sound(&copy);
    db.backup(folder.path().join("folder")).expect("room");
    let (_copy, there) = open(&folder.path().join("folder"), &hands, Sweep::Manual);
    assert_same(&tides, &there, &hands);
}

/// Sweeps of the original reach the copy by increments. The copy's own sweeper leaves it alone until it is written.
#[test]
fn increments_remove_what_was_swept() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(&folder.path().join("original"), &hands, Sweep::Manual);
    fill(&tides, 0);
    fill(&tides, 1_000);
    let (mut whole, mut increment, mut last) = (Vec::new(), Vec::new(), Vec::new());
    let mut base = db.backup_to(&mut whole).expect("room").epoch;
    let path = folder.path().join("copy");
    Database::restore(&mut &whole[..], &path).expect("room");
    hands.set(2_000);
    let (copy, there) = open(&path, &hands, Sweep::Every(Duration::ZERO));
    while copy.stats().sweep.skipped_passes == 0 {
        thread::yield_now();
    }
    assert_eq!(db.sweep().expect("room"), 200);
    base = db.backup_since(base, &mut increment).expect("room").epoch;
    copy.apply(&mut &increment[..]).expect("an untouched copy");
    assert_eq!(there.len().expect("sound"), 400);
    // A keyspace that is dropped and created anew with other options is so in the copy.
    db.keyspace("reefs").and_then(|reefs| reefs.insert("north", "coral")).expect("room");
    fill(&tides, 2_000);
    drop(tides);
    assert!(db.drop_keyspace("tides").expect("it is there"));
    let tides = db.keyspace("tides").expect("a name");
    tides.insert("plain", "value").expect("room");
    db.backup_since(base, &mut last).expect("room");
    copy.apply(&mut &last[..]).expect("an untouched copy");
    assert!(matches!(there.get("0000"), Err(Error::Dropped { .. })));
    let plain = copy.keyspace("tides").expect("it is there");
    assert_eq!(plain.options(), KeyspaceOptions::new());
    assert_eq!(plain.get("plain").expect("sound").as_deref(), Some(&b"value"[..]));
    assert_eq!(copy.stats().sweep.records_removed, 0);
    // Once it is written, it is a database of its own.
    let own = copy.keyspace_with("own", &expiring()).expect("a name");
    put_until(&own, "key", "over", 1_500);
    while own.len().expect("sound") > 0 {
        thread::yield_now();
    }
    assert_sound(&copy);
}
