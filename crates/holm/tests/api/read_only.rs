//! Read-only opens of a closed database: a reader sees everything and changes nothing, and a database that was not
//! closed is refused.

use crate::disks::Disk;
use crate::files::{contents, rename_design};
use crate::tools::{copy, folder, relaxed};
use holm::{Database, Error};
use std::sync::Arc;

#[test]
fn everything_is_seen_and_nothing_changes() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    (0..3000u32).for_each(|number| space.insert(number.to_be_bytes(), number.to_le_bytes()).expect("room"));
    db.keyspace("empty").expect("a name");
    drop(space);
    db.close().expect("a sound close");
    let before = contents(folder.path());
    let (one, two) = (Database::open_read_only(folder.path()), Database::open_read_only(folder.path()));
    for looking in [one.expect("closed"), two.expect("at the same time")] {
        assert_eq!(looking.keyspaces().expect("a catalog"), ["default", "empty", "s"]);
        assert!(looking.existing_keyspace("empty").expect("a catalog").expect("made").is_empty().expect("sound"));
        assert!(
            looking.existing_keyspace("default").expect("a catalog").expect("always there").is_empty().expect("sound")
        );
        assert!(looking.existing_keyspace("none").expect("a catalog").is_none());
        let space = looking.existing_keyspace("s").expect("a catalog").expect("made");
        assert_eq!((space.name(), space.len().expect("sound")), ("s", 3000));
        assert_eq!(space.get(17u32.to_be_bytes()).expect("sound").as_deref(), Some(&17u32.to_le_bytes()[..]));
        assert!(!space.contains_key("x").expect("sound"));
        assert_eq!(space.iter().count(), 3000);
        assert_eq!(space.prefix([0, 0, 1]).rev().count(), 256);
        assert_eq!(space.range(10u32.to_be_bytes()..=20u32.to_be_bytes()).count(), 11);
        assert_eq!(looking.check().expect("a check").faults, Vec::<String>::new());
        let stats = looking.stats();
        assert_eq!(stats.records, 3000);
        assert!(stats.space.disk_bytes >= stats.space.leaf_bytes + stats.space.record_bytes, "{stats:?}");
    }
    assert_eq!(contents(folder.path()), before);
}

/// A database on another file system was measured with calls of the operating system, which does not have its files.
#[test]
fn files_are_measured_by_the_file_system_that_has_them() {
    let folder = folder();
    drop(relaxed(folder.path()));
    let disk = Disk::default();
    let looking = Database::builder().vfs(Arc::new(disk.clone()), [0; 2]).open_read_only(folder.path());
    let looking = looking.expect("closed");
    let before = disk.measured();
    let found = looking.stats().space.disk_bytes;
    assert_eq!(disk.measured() - before, 2, "both files of the log");
    let blocks = |name| std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(name).expect("a file"));
    let names = contents(folder.path()).into_keys().map(|name| folder.path().join(name));
    assert_eq!(found, names.map(|name| blocks(name) * 512).sum::<u64>());
}

#[test]
fn what_was_not_closed_is_refused() {
    let folder = folder();
    let (live, dead) = (folder.path().join("live"), folder.path().join("dead"));
    let db = relaxed(&live);
    db.keyspace("s").and_then(|space| space.insert("k", "v")).expect("room");
    db.sync().expect("a disk");
    copy(&live, &dead);
    assert!(matches!(Database::open_read_only(&live), Err(Error::Locked { .. })));
    match Database::open_read_only(&dead) {
        Err(error @ Error::NotClean { .. }) => assert!(error.to_string().contains("dead"), "{error}"),
        other => panic!("{other:?}"),
    }
    // Opened for writing once, and closed, it opens read-only like any other.
    drop(Database::open(&dead).expect("it recovers"));
    let looking = Database::open_read_only(&dead).expect("closed now");
    let space = looking.existing_keyspace("s").expect("a catalog").expect("synced");
    assert_eq!(space.get("k").expect("sound").as_deref(), Some(&b"v"[..]));
}

/// The superblock may name a design that only another program has.
#[test]
fn a_design_that_is_not_here() {
    let folder = folder();
    drop(relaxed(folder.path()));
    rename_design(folder.path(), b"seaweed\0");
    match Database::open_read_only(folder.path()) {
        Err(error @ Error::Geometry { .. }) => {
            let told = error.to_string();
            assert!(told.contains("seaweed") && told.contains("buffered") && told.contains(", holm"), "{told}");
            assert!(!told.contains("borders"), "not for byte strings: {told}");
        }
        other => panic!("{other:?}"),
    }
}

/// Damage in a closed database without an index: an open for writing fails, a read-only open shows what remains, and a
/// check reports it.
#[test]
fn damage_is_told_and_what_is_left_can_be_read() {
    let whole = folder();
    let db = relaxed(whole.path());
    let space = db.keyspace("s").expect("a name");
    (0..3000u32).for_each(|number| space.insert(number.to_be_bytes(), number.to_le_bytes()).expect("room"));
    drop(space);
    db.close().expect("a sound close");
    let flip = |name: &str, at: usize| {
        let (path, copied) = (folder(), name.to_owned());
        copy(whole.path(), path.path());
        let file = path.path().join(copied);
        let mut bytes = std::fs::read(&file).expect("a file");
        bytes[at] ^= 16;
        std::fs::write(&file, bytes).expect("a disk");
        path
    };
    // A keyspace's number, in a leaf's seventh word; the word of a free slot; a fingerprint.
    for at in [512 * 40 + 60, 512 * 40 + 64, 512 * 41 + 30] {
        let damaged = flip("leaves", at);
        // With the index, only the first look at the leaf finds it: see `leaf_index`.
        std::fs::remove_file(damaged.path().join("index")).expect("closing has written one");
        let opened = Database::open(damaged.path()).map(drop);
        assert!(matches!(opened, Err(Error::Corrupt { .. })), "byte {at}: {opened:?}");
        let looking = Database::open_read_only(damaged.path()).expect("most of it is there");
        let faults = looking.check().expect("a check").faults;
        assert!(faults.iter().any(|fault| fault.contains("the leaves' checksum")), "byte {at}: {faults:?}");
        let left = looking.existing_keyspace("s").expect("a catalog").expect("made");
        assert!(left.iter().filter(|pair| pair.is_ok()).count() > 2_900);
    }
    // Either slot of the superblock: nothing is lost, a check reports it, and an open for writing repairs it.
    for at in [18, 4096 + 18] {
        let damaged = flip("superblock", at);
        let looked = |faults: usize| {
            let looking = Database::open_read_only(damaged.path()).expect("the other slot is whole");
            assert_eq!(looking.check().expect("a check").faults.len(), faults, "byte {at}");
            assert_eq!(looking.existing_keyspace("s").expect("a catalog").expect("made").len().expect("sound"), 3000);
        };
        looked(1);
        let db = Database::open(damaged.path()).expect("the other slot is whole");
        assert!(db.check().expect("a check").recovery.contains("of the superblock is damaged"));
        db.close().expect("a sound close");
        looked(0);
    }
    // A half of the log, although a closed database needs neither.
    let damaged = flip("log.1", 0);
    std::fs::remove_file(damaged.path().join("log.1")).expect("it is there");
    let looking = Database::open_read_only(damaged.path()).expect("nothing in it is needed");
    assert_eq!(looking.check().expect("a check").faults.len(), 1);
    drop(looking);
    assert!(matches!(Database::open(damaged.path()), Err(Error::Corrupt { .. })));
    // Without the superblock, the folder is neither an absent database nor a new one.
    std::fs::remove_file(damaged.path().join("superblock")).expect("it is there");
    let one = Database::open_read_only(damaged.path()).map(drop);
    let two = Database::open(damaged.path()).map(drop);
    let three = Database::builder().create(false).open(damaged.path()).map(drop);
    assert!(
        [&one, &two, &three].iter().all(|opened| matches!(opened, Err(Error::Corrupt { .. }))),
        "{one:?} {two:?} {three:?}"
    );
    // A folder where a file should be.
    let damaged = flip("records", 100);
    std::fs::remove_file(damaged.path().join("records")).expect("it is there");
    std::fs::create_dir(damaged.path().join("records")).expect("a disk");
    let error = Database::open(damaged.path()).expect_err("no file").to_string();
    assert!(error.contains("not a regular file"), "{error}");
}

/// An open for writing that fails before it begins leaves a closed database closed.
#[test]
fn a_writer_refused_changes_nothing() {
    let folder = folder();
    let db = relaxed(folder.path());
    db.keyspace("s").and_then(|space| space.insert("k", "v")).expect("room");
    db.close().expect("a sound close");
    let log = std::fs::read(folder.path().join("log.0")).expect("it is there");
    std::fs::remove_file(folder.path().join("log.0")).expect("it is there");
    let before = contents(folder.path());
    assert!(matches!(Database::open(folder.path()), Err(Error::Corrupt { .. })));
    assert_eq!(contents(folder.path()), before);
    Database::open_read_only(folder.path()).expect("still closed");
    std::fs::write(folder.path().join("log.0"), log).expect("a disk");
    drop(Database::open(folder.path()).expect("whole again"));
    // A block after the last one would be a leaf.
    let mut leaves = std::fs::read(folder.path().join("leaves")).expect("it is there");
    leaves.extend_from_within(1024..1536);
    std::fs::write(folder.path().join("leaves"), leaves).expect("a disk");
    let looking = Database::open_read_only(folder.path()).expect("what was there is");
    assert_eq!(looking.existing_keyspace("s").expect("a catalog").expect("made").len().expect("sound"), 1);
    drop(looking);
    let db = Database::open(folder.path()).expect("it is cut off");
    assert_eq!(db.existing_keyspace("s").expect("a catalog").expect("made").len().expect("sound"), 1);
    assert_eq!(db.check().expect("a check").faults, Vec::<String>::new());
}

/// A damaged name must not lose its keyspace: an open for writing fails and changes nothing, and a read-only open shows
/// the other keyspaces.
#[test]
fn a_damaged_name_gives_nothing_away() {
    let folder = folder();
    let db = relaxed(folder.path());
    for name in ["aa", "bb", "cc", "dd"] {
        db.keyspace(name).and_then(|space| space.insert("k", name)).expect("room");
    }
    db.close().expect("a sound close");
    let before = contents(folder.path());
    let whole = before["records"].clone();
    let at = whole.windows(3).position(|bytes| bytes == b"bb\x03").expect("the name and its number");
    // A name that is not text, a duplicate name, another number, a duplicate number.
    for (byte, bit) in [(0, 0x80), (0, 3), (2, 0x40), (2, 1)] {
        let mut damaged = whole.clone();
        damaged[at + byte] ^= bit;
        std::fs::write(folder.path().join("records"), &damaged).expect("a disk");
        let opened = Database::open(folder.path()).map(drop);
        assert!(matches!(opened, Err(Error::Corrupt { .. })), "byte {byte}: {opened:?}");
        let looking = Database::open_read_only(folder.path()).expect("the others are there");
        assert_eq!(looking.keyspaces().expect("a catalog"), ["aa", "cc", "dd", "default"]);
        assert!(!looking.check().expect("a check").faults.is_empty());
        drop(looking);
        std::fs::write(folder.path().join("records"), &whole).expect("a disk");
        assert!(contents(folder.path()) == before, "byte {byte}: a refused writer has changed something");
    }
    assert_eq!(Database::open(folder.path()).expect("mended").keyspaces().expect("a catalog").len(), 5);
}

/// Splits derive separators and heads from keys; they must not derive them from a damaged key.
#[test]
fn a_damaged_key_does_not_spread() {
    let folder = folder();
    let db = relaxed(folder.path());
    let key = |number: u32| format!("{number:05}");
    let space = db.keyspace("default").expect("always there");
    (0..28).for_each(|number| space.insert(key(number * 7), "v").expect("room"));
    drop(space);
    db.close().expect("a sound close");
    let mut records = std::fs::read(folder.path().join("records")).expect("it is there");
    let at = records.windows(5).position(|bytes| bytes == b"00098").expect("the middle one");
    records[at] ^= 16;
    std::fs::write(folder.path().join("records"), records).expect("a disk");
    let db = relaxed(folder.path());
    let space = db.keyspace("default").expect("always there");
    assert!(matches!(space.insert(key(89), "new"), Err(Error::Corrupt { .. })));
    drop(space);
    db.close().expect("a sound close");
    let db = relaxed(folder.path());
    let space = db.keyspace("default").expect("always there");
    assert_eq!((space.len().expect("sound"), space.get(key(91)).expect("sound").as_deref()), (28, Some(&b"v"[..])));
}

/// A reader asks when keys expire only where keys can.
#[test]
fn keys_of_a_keyspace_without_expiry_have_none() {
    let folder = folder();
    let db = relaxed(folder.path());
    db.keyspace("s").expect("a name").insert("a", "1").expect("room");
    db.close().expect("a sound close");
    let reader = Database::open_read_only(folder.path()).expect("closed");
    let space = reader.existing_keyspace("s").expect("a catalog").expect("made");
    let asked = space.expiry("a");
    assert!(matches!(asked, Err(Error::Invalid { .. })), "{asked:?}");
}
