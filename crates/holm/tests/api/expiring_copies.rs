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

/// An increment stopped half-way for lack of room. The copy stood at no backup, so its own sweeper removed pairs that
/// the increment keeps, and the next increment was refused.
#[test]
fn a_half_applied_increment_is_not_swept() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(&folder.path().join("original"), &hands, Sweep::Manual);
    fill(&tides, 0);
    // What is of the epochs before the backup's is kept by the next ones.
    db.sync().expect("a sound disk");
    let (mut whole, mut increment, mut last) = (Vec::new(), Vec::new(), Vec::new());
    let mut base = db.backup_to(&mut whole).expect("room").epoch;
    let path = folder.path().join("copy");
    Database::restore(&mut &whole[..], &path).expect("room");
    hands.set(2_000);
    // What comes first is more than the copy has room for; leaves with expired pairs lie behind it.
    (0..8).for_each(|number| tides.insert(format!("!{number}"), vec![7; 300 << 10]).expect("room"));
    db.sync().expect("a sound disk");
    base = db.backup_since(base, &mut increment).expect("room").epoch;

    let sweep = || builder().durability(Durability::OnSync).sweep(Sweep::Every(Duration::ZERO));
    let copy = hands.move_time_of(sweep()).capacity(1 << 20).open(&path).expect("room for the base");
    let refused = copy.apply(&mut &increment[..]);
    assert!(matches!(refused, Err(Error::Capacity { .. })), "{refused:?}");
    let looks = || copy.stats().sweep.passes + copy.stats().sweep.skipped_passes;
    let before = looks();
    while looks() < before + 2 {
        thread::yield_now();
    }
    copy.close().expect("a sound disk");
    let report = Database::repair(&path, folder.path().join("repaired")).expect("room");
    assert!(report.losses.iter().any(|loss| loss.contains("increment")), "{report:?}");
    let (copy, there) = open(&path, &hands, Sweep::Every(Duration::ZERO));
    assert_eq!(there.len().expect("sound"), tides.len().expect("sound"), "expired ones included");
    tides.insert("0000", "changed").expect("room");
    db.backup_since(base, &mut last).expect("room");
    copy.apply(&mut &last[..]).expect("an untouched copy");
    assert_same(&tides, &there, &hands);
}

/// A pass of the sweeper was under way over keys that went meanwhile. It went on in the backup that took their place,
/// and the next increment was refused.
#[test]
fn a_pass_that_is_under_way_leaves_a_backup_alone() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(&folder.path().join("original"), &hands, Sweep::Manual);
    (0..5).for_each(|part| fill(&tides, part * 1_000));
    db.sync().expect("a sound disk");
    let (mut whole, mut last) = (Vec::new(), Vec::new());
    let base = db.backup_to(&mut whole).expect("room").epoch;
    let path = folder.path().join("copy");
    let (copy, there) = open(&path, &hands, Sweep::Manual);
    (0..5).for_each(|part| fill(&there, part * 1_000));
    drop(there);
    copy.close().expect("a sound disk");
    hands.set(2_000);
    let (copy, there) = open(&path, &hands, Sweep::Every(Duration::from_secs(1)));
    while copy.stats().sweep.records_read == 0 {
        thread::yield_now();
    }
    there.clear().expect("sound");
    copy.apply(&mut &whole[..]).expect("an empty database");
    while copy.stats().sweep.passes == 0 {
        thread::yield_now();
    }
    assert_eq!(there.len().expect("sound"), 1_500);
    tides.insert("0000", "changed").expect("room");
    db.backup_since(base, &mut last).expect("room");
    copy.apply(&mut &last[..]).expect("an untouched copy");
    assert_same(&tides, &there, &hands);
}
