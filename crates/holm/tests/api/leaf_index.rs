//! The leaf index of a closed database: opening reads it in place of the leaves, and believes nothing of it that does
//! not hold.

use crate::tools::{Chance, folder};
use holm::{DamagedPlace, Database, Error, Keyspace, KeyspaceOptions, Sweep};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn default(db: &Database) -> Keyspace {
    db.keyspace("default").expect("every database has it")
}

fn key(number: u32) -> Vec<u8> {
    // Long shared prefixes, short keys, and keys that end with zeros: every kind of separator.
    match number % 4 {
        0 => format!("a long prefix that many keys of a leaf share/{number:08}").into_bytes(),
        1 => number.to_be_bytes().to_vec(),
        2 => [&number.to_le_bytes()[..2], &[0; 3]].concat(),
        _ => format!("{number:x}").into_bytes(),
    }
}

/// Changes a database at random, and its model with it.
fn change(db: &Database, model: &mut Model, chance: &mut Chance, steps: u32) {
    let space = default(db);
    for _ in 0..steps {
        let key = key(chance.below(6000) as u32);
        if chance.below(5) < 2 {
            space.remove(&key).expect("a removal");
            model.remove(&key);
        } else {
            let length = chance.below(90);
            let value = chance.bytes(length);
            space.insert(&key, &value).expect("an insertion");
            model.insert(key, value);
        }
    }
}

fn contents(db: &Database) -> Model {
    default(db).iter().map(|pair| pair.expect("sound")).map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

fn filled(path: &Path) -> Model {
    let (mut model, mut chance) = (Model::new(), Chance::new(7));
    let db = Database::open(path).expect("a new one");
    change(&db, &mut model, &mut chance, 20_000);
    db.close().expect("closing");
    model
}

fn sound(db: &Database) {
    let report = db.check().expect("a check");
    assert!(report.faults.is_empty(), "{:?}", report.faults);
}

/// Sessions that open by the index, and some that open without it, change a database and agree with a model. What one
/// kind of opening finds, the other finds: the same leaves, records and free space.
#[test]
fn sessions_that_open_by_the_index_agree_with_those_that_read_the_leaves() {
    let folder = folder();
    let path = folder.path().join("sea.holm");
    let (mut model, mut chance) = (Model::new(), Chance::new(3));
    for session in 0..24 {
        let without = session % 5 == 4;
        if without {
            std::fs::remove_file(path.join("index")).expect("closing has written one");
        }
        let db = Database::open(&path).expect("sound");
        assert_eq!(db.recovery().from_index, session > 0 && !without, "session {session}");
        if session % 3 == 0 {
            assert_eq!(contents(&db), model, "session {session}");
        }
        change(&db, &mut model, &mut chance, 1500);
        sound(&db);
        let used = db.stats();
        db.close().expect("closing");
        let by_index = Database::open(&path).expect("sound");
        let found = by_index.stats();
        assert_eq!(found.records, used.records, "session {session}");
        let leaves = found.space.leaves;
        assert_eq!(by_index.recovery().blocks_read, 1, "session {session}: of {leaves} leaves, the catalog's");
        by_index.close().expect("closing");
        let reader = Database::open_read_only(&path).expect("sound");
        let looked_at = (reader.recovery().from_index, reader.recovery().blocks_read >= leaves);
        assert_eq!(looked_at, (false, true), "session {session}: to read only, of {leaves} leaves");
        drop(reader);
        let aside = std::fs::read(path.join("index")).expect("there");
        std::fs::remove_file(path.join("index")).expect("there");
        let by_leaves = Database::open(&path).expect("sound");
        assert!(!by_leaves.recovery().from_index);
        assert!(by_leaves.recovery().blocks_read >= leaves, "session {session}: of {leaves} leaves");
        let read = by_leaves.stats();
        let numbers = |stats: &holm::Stats| (stats.records, stats.space.record_bytes);
        assert_eq!(numbers(&found), numbers(&read), "session {session}");
        by_leaves.close().expect("closing");
        let again = std::fs::read(path.join("index")).expect("there");
        assert!(!aside.is_empty() && !again.is_empty());
    }
    let db = Database::open(&path).expect("sound");
    assert_eq!(contents(&db), model);
}

/// An index that is damaged, torn, of an earlier session or of another database is not believed, and costs nothing.
#[test]
fn an_index_that_does_not_count_is_not_read() {
    let folder = folder();
    let (path, other) = (folder.path().join("sea.holm"), folder.path().join("other.holm"));
    let mut model = filled(&path);
    filled(&other);
    let index = path.join("index");
    let earlier = std::fs::read(&index).expect("closing has written one");
    let db = Database::open(&path).expect("sound");
    assert!(db.recovery().from_index);
    default(&db).insert("eel", "long").expect("an insertion");
    model.insert(b"eel".to_vec(), b"long".to_vec());
    db.close().expect("closing");
    let valid = std::fs::read(&index).expect("there");
    let flipped = |at: usize| {
        let mut bytes = valid.clone();
        bytes[at] ^= 4;
        bytes
    };
    let foreign = std::fs::read(other.join("index")).expect("there");
    let torn = valid[..valid.len() - 9].to_vec();
    for bytes in [earlier, foreign, torn, Vec::new(), flipped(3), flipped(90), flipped(valid.len() / 2)] {
        std::fs::write(&index, bytes).expect("writing");
        let db = Database::open(&path).expect("sound");
        assert!(!db.recovery().from_index);
        assert_eq!(contents(&db), model);
        sound(&db);
        db.close().expect("closing");
    }
}

/// The block of some leaf of the default keyspace that is in use.
fn a_leaf(path: &Path) -> usize {
    let leaves = std::fs::read(path.join("leaves")).expect("there");
    let in_use = |block: &[u8]| {
        let word = |at: usize| u64::from_le_bytes(block[8 * at..8 * at + 8].try_into().expect("eight"));
        let now = (0..3).map(word).max().expect("three");
        now & 0xfff_ffff != 0 && word(7) >> 32 & 0xff_ffff != 0
    };
    let used: Vec<usize> = (1..leaves.len() / 512).filter(|at| in_use(&leaves[512 * at..512 * at + 512])).collect();
    used[used.len() / 2]
}

/// Damages a leaf of a closed database, and returns the leaves as they were.
fn damage_a_leaf(path: &Path) -> Vec<u8> {
    let block = a_leaf(path);
    let sound = std::fs::read(path.join("leaves")).expect("there");
    let mut leaves = sound.clone();
    // A fingerprint: only a checksum can tell.
    leaves[512 * block + 24..512 * block + 52].iter_mut().for_each(|byte| *byte ^= 0x55);
    std::fs::write(path.join("leaves"), leaves).expect("writing");
    sound
}

/// A database, one leaf of which is damaged after it was closed.
fn damaged(folder: &Path) -> (PathBuf, Model, Vec<u8>) {
    let path = folder.join("sea.holm");
    let model = filled(&path);
    let sound = damage_a_leaf(&path);
    (path, model, sound)
}

fn is_corrupt<T: std::fmt::Debug>(result: Result<T, Error>) -> bool {
    let corrupt = matches!(result, Err(Error::Corrupt { .. }));
    assert!(corrupt, "{result:?}");
    corrupt
}

/// Opening no longer finds it. The first operation that reads the leaf does, and every later one of its keyspace: no
/// key is ever reported absent that is there.
#[test]
fn a_damaged_leaf_is_found_at_its_first_look() {
    let folder = folder();
    let (path, model, _) = damaged(folder.path());
    let db = Database::open(&path).expect("opening reads no leaf");
    assert!(db.recovery().from_index);
    let mut corrupt = 0;
    for (key, value) in &model {
        match default(&db).get(key) {
            Ok(found) => assert_eq!(found.as_deref(), Some(&value[..]), "before the damaged leaf is read"),
            error => corrupt += usize::from(is_corrupt(error)),
        }
    }
    assert!(corrupt > 0, "the damage is found");
    let (first, value) = model.first_key_value().expect("some");
    let space = default(&db);
    assert!(is_corrupt(space.get(first)) && is_corrupt(space.insert(first, value)) && is_corrupt(space.remove(first)));
    assert!(is_corrupt(space.iter().collect::<Result<Vec<_>, _>>()));
    let last = model.last_key_value().expect("some").0;
    assert!(is_corrupt(db.batch().insert(&space, first, "1").insert(&space, last, "2").commit()));
    // Other keyspaces work, and closing reports the damage.
    let others = db.keyspace("others").expect("another keyspace");
    others.insert("eel", "long").expect("an insertion");
    drop((space, others));
    assert!(is_corrupt(db.close()));
    // The next opening finds the damage, as one without an index does.
    assert!(is_corrupt(Database::open(&path).map(drop)));
    let db = Database::open_read_only(&path).expect("what can be read");
    assert!(!db.recovery().damaged.is_empty());
}

/// Writes, scans and range removals end with the damage, too, where they are the first to read the leaf.
#[test]
fn every_kind_of_first_look_finds_the_damage() {
    type Look = fn(&Database, &Model) -> bool;
    let looks: [Look; 7] = [
        |db, _| is_corrupt(default(db).iter().collect::<Result<Vec<_>, _>>()),
        |db, _| is_corrupt(default(db).iter().rev().collect::<Result<Vec<_>, _>>()),
        |db, model| is_corrupt(model.keys().try_for_each(|key| default(db).insert(key, "new"))),
        |db, model| is_corrupt(model.keys().try_for_each(|key| default(db).remove(key).map(drop))),
        |db, _| is_corrupt(default(db).clear()),
        |db, model| {
            let space = default(db);
            is_corrupt(model.keys().try_for_each(|key| {
                db.transact(|transaction| {
                    transaction.get(&space, key)?;
                    transaction.insert(&space, key, "new")
                })
            }))
        },
        |db, model| {
            let space = default(db);
            is_corrupt(model.keys().fold(db.batch(), |batch, key| batch.insert(&space, key, "new")).commit())
        },
    ];
    for (number, look) in looks.iter().enumerate() {
        let folder = folder();
        let (path, model, _) = damaged(folder.path());
        let db = Database::open(&path).expect("opening reads no leaf");
        assert!(look(&db, &model), "look {number}");
    }
}

/// A leaf that no operation has looked at: closing does not read it, and does not vouch for it. Later sessions find the
/// damage, with the index and without.
#[test]
fn closing_does_not_vouch_for_a_leaf_that_nobody_looked_at() {
    for without in [false, true] {
        let folder = folder();
        let (path, model, _) = damaged(folder.path());
        for session in 0..3_u32 {
            let db = Database::open(&path).expect("opening reads no leaf");
            assert!(db.recovery().from_index);
            let others = db.keyspace("others").expect("another keyspace");
            (0..100).for_each(|number| others.insert(key(100 * session + number), "new").expect("an insertion"));
            drop(others);
            db.close().expect("closing reads no leaf that nobody has looked at");
        }
        if without {
            std::fs::remove_file(path.join("index")).expect("there");
            assert!(is_corrupt(Database::open(&path).map(drop)));
        } else {
            let db = Database::open(&path).expect("opening reads no leaf");
            assert_eq!(db.keyspace("others").expect("a name").len().expect("sound"), 300);
            assert!(is_corrupt(model.keys().try_for_each(|key| default(&db).get(key).map(drop))));
        }
    }
}

/// A process with several databases learns which one is damaged. Regression: the path was that of the file in its
/// folder.
#[test]
fn the_error_of_a_damaged_leaf_names_its_file_with_the_folder() {
    let folder = folder();
    let (path, model, _) = damaged(folder.path());
    let db = Database::open(&path).expect("opening reads no leaf");
    let result = model.keys().try_for_each(|key| default(&db).get(key).map(drop));
    assert!(matches!(&result, Err(Error::Corrupt { path: found, .. }) if *found == path.join("leaves")), "{result:?}");
}

/// An online scrub and a check read every leaf. Regression: a scrub ended at the damage with an error, as if nothing
/// were behind it, and a check spoke of pairs that it had not found.
#[test]
fn a_scrub_and_a_check_find_the_damage_and_go_on() {
    let folder = folder();
    let (path, ..) = damaged(folder.path());
    let db = Database::open(&path).expect("opening reads no leaf");
    let others = db.keyspace("others").expect("another keyspace");
    (0..100).for_each(|number| others.insert(key(number), "new").expect("an insertion"));
    for _ in 0..2 {
        let report = db.scrub().run(|_| ControlFlow::Continue(())).expect("a damage is no error");
        assert_eq!((report.damage_count, report.cursor.is_none()), (1, true), "{report:?}");
        let damage = &report.damages[0];
        let is_of_its_leaf = damage.keyspace == "default" && damage.what.contains("checksum");
        assert!(is_of_its_leaf && matches!(damage.place, DamagedPlace::Leaf { .. }), "{damage:?}");
        assert!(report.records > 100, "{report:?}");
    }
    let stopped = db.scrub().run(|_| {
        assert_eq!(db.stats().scrubs.running, 1);
        ControlFlow::Break(())
    });
    let (read, scrubs) = (stopped.expect("a damage is no error").bytes, db.stats().scrubs);
    assert_eq!((scrubs.running, scrubs.completed, scrubs.damages), (0, 2, 2));
    assert!(read > 0 && scrubs.bytes > 2 * read && scrubs.last_completed_ns.is_some(), "{scrubs:?}");
    let report = db.check().expect("a damage is no error");
    assert!(report.faults.iter().any(|fault| fault.contains("checksum")), "{:?}", report.faults);
}

/// A keyspace with a damaged leaf can be dropped: its name is gone, the caller gets the damage, and the drops of other
/// keyspaces go on.
#[test]
fn a_damaged_keyspace_is_dropped_alone() {
    let folder = folder();
    let path = folder.path().join("sea.holm");
    let db = Database::open(&path).expect("a new one");
    for name in ["reefs", "others"] {
        let space = db.keyspace(name).expect("a keyspace");
        let count = if name == "reefs" { 5_000 } else { 10 };
        (0..count).for_each(|number| space.insert(key(number), "coral").expect("an insertion"));
    }
    db.close().expect("closing");
    damage_a_leaf(&path);
    let db = Database::open(&path).expect("opening reads no leaf");
    assert!(is_corrupt(db.drop_keyspace("reefs")));
    assert!(db.existing_keyspace("reefs").expect("the names are sound").is_none());
    assert!(!db.drop_keyspace("reefs").expect("it is gone"));
    assert!(db.drop_keyspace("others").expect("another keyspace is sound"));
    default(&db).insert("eel", "long").expect("so is this one");
    assert!(is_corrupt(db.close()));
}

/// Regression: the sweeper ended at a damaged leaf, and so did a sweep by hand. What had expired in later keyspaces was
/// not removed any more.
#[test]
fn a_damaged_keyspace_keeps_no_other_from_being_swept() {
    for sweep in [Sweep::Manual, Sweep::Every(Duration::ZERO)] {
        let folder = folder();
        let path = folder.path().join("sea.holm");
        let expires = KeyspaceOptions::new().expires(true);
        let db = Database::builder().sweep(Sweep::Manual).open(&path).expect("a new one");
        let [reefs, tides] = ["reefs", "tides"].map(|name| db.keyspace_with(name, &expires).expect("a keyspace"));
        (0..5_000).for_each(|number| reefs.insert(key(number), "coral").expect("an insertion"));
        drop((reefs, tides));
        db.close().expect("closing");
        damage_a_leaf(&path);
        let db = Database::builder().sweep(sweep).open(&path).expect("opening reads no leaf");
        let tides = db.keyspace("tides").expect("a keyspace");
        // The sweeper has met the damage by the second time.
        for _ in 0..2 {
            tides.insert_for("eel", "long", Duration::ZERO).expect("an insertion");
            assert!(sweep != Sweep::Manual || is_corrupt(db.sweep()));
            while tides.len().expect("sound") > 0 {
                assert!(sweep != Sweep::Manual, "the sweep has passed over the keyspace");
                std::thread::yield_now();
            }
        }
    }
}

/// Regression: a compaction ended at a damaged leaf, so that keyspaces behind it were never compacted, and no space was
/// given back.
#[test]
fn a_damaged_keyspace_keeps_no_other_from_being_compacted() {
    for in_key_order in [false, true] {
        let folder = folder();
        let path = folder.path().join("sea.holm");
        let db = Database::open(&path).expect("a new one");
        let [reefs, tides] = ["reefs", "tides"].map(|name| db.keyspace(name).expect("a keyspace"));
        (0..5_000).for_each(|number| reefs.insert(key(number), "coral").expect("an insertion"));
        drop((reefs, tides));
        db.close().expect("closing");
        damage_a_leaf(&path);
        let db = Database::open(&path).expect("opening reads no leaf");
        let tides = db.keyspace("tides").expect("a keyspace");
        let scattered = (0..60_000_u32).map(|number| number * 7_919 % 60_000);
        scattered.for_each(|number| tides.insert(number.to_be_bytes(), [7; 100]).expect("an insertion"));
        for number in (0..60_000_u32).filter(|number| number % 10 != 0) {
            assert!(tides.remove(number.to_be_bytes()).expect("sound"));
        }
        let compact = if in_key_order { db.compact().in_key_order() } else { db.compact() };
        let mut last = None;
        let run = compact.run(|report| {
            last = Some(*report);
            ControlFlow::Continue(())
        });
        assert!(is_corrupt(run));
        assert!(last.is_some_and(|report| report.records_moved > 1_000), "{last:?}");
        assert!(db.stats().space.released_bytes >= 2 << 20, "{:?}", db.stats().space);
    }
}
