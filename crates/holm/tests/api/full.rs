//! A database that has reached its capacity: writes fail with a named error, nothing is harmed, and it is usable again
//! once there is room.

use crate::tools::{self, assert_sound, folder, leaves_have_records};
use holm::{Database, Durability, Error, Keyspace};
use std::path::Path;

const CAPACITY: u64 = 1 << 20;

fn open(path: &Path) -> (Database, Keyspace) {
    let db = tools::builder().durability(Durability::OnSync).capacity(CAPACITY).open(path).expect("sound");
    let space = db.keyspace("s").expect("a name");
    (db, space)
}

/// The error names the capacity, and differs from the error of a full disk.
fn assert_names_the_capacity(error: &Error) {
    let Error::Capacity { found, limit, .. } = error else { panic!("{error:?}") };
    assert!(*limit == CAPACITY && found > limit && error.to_string().contains("capacity of 1048576"), "{error}");
}

/// Puts values until there is no room; returns how many fitted.
fn fill(space: &Keyspace, len: usize) -> u32 {
    for number in 0u32.. {
        match space.insert(number.to_be_bytes(), vec![number as u8; len]) {
            Ok(()) => {}
            Err(error) => {
                assert_names_the_capacity(&error);
                return number;
            }
        }
    }
    unreachable!("numbers do not end before a megabyte does")
}

#[test]
fn full_of_records_and_empty_again() {
    let folder = folder();
    for len in [10_000, 300, 100_000] {
        let (db, space) = open(folder.path());
        let count = fill(&space, len);
        assert!(u64::from(count) * len as u64 > 500_000, "{count} records of {len} bytes");
        assert_eq!(space.len().expect("sound"), u64::from(count), "what was refused is not there");
        let over =
            db.batch().insert(&space, "a", vec![0; len]).insert(&space, "b", vec![0; 1 << 21]).remove(&space, [0; 4]);
        assert_names_the_capacity(&over.commit().expect_err("too much"));
        assert!(
            !space.contains_key("a").expect("sound") && space.contains_key([0; 4]).expect("sound"),
            "nothing was done"
        );
        assert_sound(&db);
        (0..count).for_each(|number| assert!(space.remove(number.to_be_bytes()).expect("sound")));
        (0..3).for_each(|_| db.sync().expect("a disk"));
        let again = fill(&space, len);
        assert!(again >= count / 2, "{again} records of {len} bytes after {count}");
        (0..again).for_each(|number| assert!(space.remove(number.to_be_bytes()).expect("sound")));
        assert_sound(&db);
        drop(space);
        db.close().expect("a sound close");
    }
    // The next open may choose a larger capacity.
    let db = tools::open(folder.path()).expect("closed");
    let space = db.keyspace("s").expect("a name");
    space.insert("large", vec![1; 4 << 20]).expect("room");
    assert_sound(&db);
}

/// Tiny records fill the leaf area before the record area.
#[test]
fn full_of_leaves() {
    let folder = folder();
    let (db, space) = open(folder.path());
    let count = fill(&space, 0);
    // Blocks that a split released are free two epochs later, and no epoch need have ended meanwhile.
    let least = if leaves_have_records() { 1_000 } else { 10_000 };
    assert!(count > least, "{count}");
    assert_eq!(space.len().expect("sound"), u64::from(count), "what was refused is not there");
    db.sync().expect("nothing is poisoned");
    assert_sound(&db);
    (0..count).step_by(2).for_each(|number| assert!(space.remove(number.to_be_bytes()).expect("sound")));
    (0..3).for_each(|_| db.sync().expect("a disk"));
    space.insert("more", "").expect("room was made");
    drop(space);
    db.close().expect("a sound close");
    let (db, space) = open(folder.path());
    assert_eq!(space.len().expect("sound"), u64::from(count / 2 + 1));
    assert_sound(&db);
}

/// The blocks of leaves, and of durable inner nodes, once what was freed may be used again.
fn blocks_in_use(db: &Database) -> u64 {
    (0..3).for_each(|_| db.sync().expect("a disk"));
    db.stats().space.leaves
}

/// A keyspace whose name does not fit any more: nothing of it is left, and its number is not another's.
#[test]
fn full_before_a_name() {
    if leaves_have_records() {
        // The catalog's own leaf has room for the name.
        return;
    }
    let folder = folder();
    let (db, space) = open(folder.path());
    let (small, name) = (db.keyspace("small").expect("room"), "n".repeat(200));
    fill(&space, 10_000);
    let count = fill(&small, 100);
    let blocks = blocks_in_use(&db);
    for _ in 0..3 {
        assert_names_the_capacity(&db.keyspace(&name).expect_err("no room for the name"));
        assert!(!db.keyspaces().expect("sound").contains(&name));
    }
    assert!(!db.drop_keyspace(&name).expect("nothing to drop"));
    assert_eq!(blocks_in_use(&db), blocks, "no block is left of what was refused");
    (0..count).for_each(|number| assert!(small.remove(number.to_be_bytes()).expect("sound")));
    (0..3).for_each(|_| db.sync().expect("a disk"));
    let named = db.keyspace(&name).expect("room");
    named.insert("key", "value").expect("room");
    assert_sound(&db);
    drop((space, small, named));
    db.close().expect("a sound close");
    let (db, _) = open(folder.path());
    let named = db.keyspace(&name).expect("a name");
    assert_eq!(named.get("key").expect("sound").as_deref(), Some(&b"value"[..]));
    assert_sound(&db);
}
