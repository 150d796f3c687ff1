//! Another program writes into the files of an open database, or exchanges those of one that is not open.

use crate::tools::{LONG, copy, relaxed};
use holm::{DamagedPlace, Database, Durability, Error};
use std::ops::ControlFlow;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Bytes of a leaf block of the design `buffered`, and where its fingerprints lie.
const BLOCK: usize = 512;
const FINGERPRINTS: std::ops::Range<usize> = 24..52;

/// No record is damaged, and all keys are in order: only a look at each key of a leaf tells that a get misses one.
#[test]
fn a_check_tells_of_a_key_that_cannot_be_got() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Database::builder().design("buffered").durability(Durability::OnSync).open(folder.path());
    let db = db.expect("a new database");
    db.keyspace("default").and_then(|space| space.insert("alone", "in its leaf")).expect("room");
    db.sync().expect("room");
    let leaves = folder.path().join("leaves");
    let bytes = std::fs::read(&leaves).expect("a file");
    let leaves = std::fs::OpenOptions::new().write(true).open(leaves).expect("a file");
    let mut told = Vec::new();
    for at in (BLOCK..bytes.len()).filter(|at| FINGERPRINTS.contains(&(at % BLOCK)) && bytes[*at] != 0) {
        leaves.write_all_at(&[bytes[at] ^ 1], at as u64).expect("a file");
        told.extend(db.check().expect("a check tells, it does not fail").faults);
        leaves.write_all_at(&bytes[at..=at], at as u64).expect("a file");
        assert_eq!(db.check().expect("a check").faults, Vec::<String>::new());
    }
    assert_eq!(told.len(), 2, "the catalog and the default keyspace have a pair each: {told:#?}");
    assert!(told.iter().all(|fault| fault.contains("is there and cannot be got")), "{told:#?}");
}

/// What a program has copied that leaves zeros out has holes. A store into one would end the process on a full disk.
#[test]
fn a_copy_with_holes_is_allocated_before_it_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, sparse] = ["sea.holm", "copy.holm"].map(|name| folder.path().join(name));
    let db = relaxed(&path);
    db.keyspace("reefs").and_then(|space| space.insert("zeros", vec![0; 4 << 20])).expect("room");
    db.close().expect("room");
    copy(&path, &sparse);
    let bytes = std::fs::read(path.join("records")).expect("a file");
    let file = std::fs::File::create(sparse.join("records")).expect("a file");
    file.set_len(bytes.len() as u64).expect("room");
    for (number, page) in bytes.chunks(4096).enumerate().filter(|(_, page)| page.iter().any(|byte| *byte != 0)) {
        file.write_all_at(page, number as u64 * 4096).expect("room");
    }
    let lacks = |about: std::fs::Metadata| about.blocks() * 512 + 1024 * 1024 < about.len();
    let lacks = |path: &Path| lacks(std::fs::metadata(path.join("records")).expect("a file"));
    if !lacks(&sparse) || lacks(&path) {
        return; // A file system without holes, or one that stores no zeros.
    }
    let db = relaxed(&sparse);
    assert!(!lacks(&sparse), "{:?}", file.metadata());
    let space = db.keyspace("reefs").expect("there");
    assert_eq!(space.get("zeros").expect("sound").map(|value| value.len()), Some(4 << 20));
}

/// The log of another database has the same names of segments and the same numbers of records.
#[test]
fn a_repair_takes_nothing_from_the_log_of_another_database() {
    let folder = tempfile::tempdir().expect("a folder");
    let [own, other, mixed, saved] = ["own", "other", "mixed", "saved"].map(|name| folder.path().join(name));
    let open: Vec<_> = [(&own, "own"), (&other, "other")]
        .map(|(path, value)| {
            let db = relaxed(path);
            let space = db.keyspace("reefs").expect("a name");
            (0..40_u8).for_each(|key| space.insert([key], value).expect("room"));
            db.sync().expect("room");
            (db, space)
        })
        .into();
    copy(&own, &mixed);
    std::fs::copy(other.join("log.0"), mixed.join("log.0")).expect("room");
    let report = Database::repair(&mixed, &saved).expect("a report");
    let saved = relaxed(&saved).keyspace("reefs").expect("a name");
    for pair in saved.iter() {
        assert_eq!(&pair.expect("sound").1[..], b"own", "{report}");
    }
    drop(open);
}

/// A scan copies long records of one leaf in parts. It could not read the key at which the next part begins, passed
/// over the rest of the leaf, and ended well. So did a backup.
#[test]
fn a_scan_and_a_backup_pass_over_no_record_that_is_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = relaxed(folder.path());
    let space = db.keyspace("reefs").expect("a name");
    let key = |number: u32| format!("reef {number:02}");
    (0..16).for_each(|number| space.insert(key(number), vec![7; 40 << 10]).expect("room"));
    let records = folder.path().join("records");
    let bytes = std::fs::read(&records).expect("a file");
    let records = std::fs::OpenOptions::new().write(true).open(records).expect("a file");
    for number in 0..16 {
        let at = bytes.windows(7).position(|window| window == key(number).as_bytes()).expect("it was stored") - 8;
        // A key longer than any.
        records.write_all_at(&[0xff; 3], at as u64).expect("a file");
        let is_found = |error: &Error| matches!(error, Error::Corrupt { offset, .. } if *offset == at as u64);
        let [forward, backward] = [space.iter().find_map(Result::err), space.iter().rev().find_map(Result::err)];
        assert!(forward.as_ref().is_some_and(is_found), "{number}: {forward:?}");
        assert!(backward.as_ref().is_some_and(is_found), "{number}: {backward:?}");
        let backup = db.backup_to(&mut Vec::new());
        assert!(backup.as_ref().err().is_some_and(is_found), "{number}: {backup:?}");
        records.write_all_at(&bytes[at..at + 3], at as u64).expect("a file");
        assert_eq!(space.iter().filter(Result::is_ok).count(), 16);
    }
}

/// A record whose length is damaged before its epoch is read: the feed ends with the record's place.
#[test]
fn a_feed_that_meets_damage_says_where() {
    for (design, file) in [("buffered", "records"), ("holm", "records"), ("clustered", "leaves")] {
        let folder = tempfile::tempdir().expect("a folder");
        let builder = Database::builder().design(design).durability(Durability::Buffered { interval: LONG });
        let db = builder.open(folder.path()).expect("a new database");
        let space = db.keyspace("reefs").expect("a name");
        let mut feed = db.feed(1 << 20).expect("a feed");
        space.insert("north", "coral coral coral").expect("room");
        let whole = folder.path().join(file);
        let bytes = std::fs::read(&whole).expect("a file");
        let at = bytes.windows(10).position(|window| window == b"northcoral").expect("it was stored");
        let file = std::fs::OpenOptions::new().write(true).open(&whole).expect("a file");
        let record = at as u64 - 8;
        file.write_all_at(&[0xff; 8], record).expect("a file");
        db.sync().expect("room");
        let told = loop {
            match feed.next(LONG) {
                Ok(Some(_)) => {}
                told => break told,
            }
        };
        let is_found = matches!(&told, Err(Error::Corrupt { path, offset, .. }) if *path == whole && *offset == record);
        assert!(is_found, "{design}: {told:?}");
    }
}

/// A stream has checksums of its own. Regression: a value that was damaged at rest became a sound one in it.
#[test]
fn a_backup_takes_no_value_that_is_damaged() {
    const VALUE: &[u8] = b"coral coral coral coral";
    for (design, file) in [("buffered", "records"), ("holm", "records"), ("clustered", "leaves")] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sea.holm");
        let db = Database::builder().design(design).open(&path).expect("a new database");
        let space = db.keyspace("reefs").expect("a name");
        ["east", "north", "west"].into_iter().for_each(|key| space.insert(key, VALUE).expect("room"));
        drop(space);
        db.close().expect("a sound close");
        let bytes = std::fs::read(path.join(file)).expect("a file");
        let at = bytes.windows(28).position(|window| window.ends_with(VALUE) && window.starts_with(b"north"));
        let (at, whole) = (at.expect("it was stored") + 8, path.join(file));
        let write = |byte| {
            let file = std::fs::OpenOptions::new().write(true).open(&whole).expect("a file");
            file.write_all_at(&[byte], at as u64).expect("a file");
        };
        let is_found = |result: Result<_, Error>| {
            let record = at as u64 - 16;
            matches!(&result, Err(Error::Corrupt { path, offset, .. }) if *path == whole && *offset == record)
        };
        let db = Database::builder().design(design).open(&path).expect("sound");
        // What is damaged before the first look at its leaf is damage of the leaf.
        assert!(db.keyspace("reefs").and_then(|space| space.get("north")).expect("sound").is_some());
        write(b'!');
        let backup = db.backup_to(&mut Vec::new());
        assert!(is_found(backup.clone()), "{design}: {backup:?}");
        assert!(is_found(db.backup_since(0, &mut Vec::new())), "{design}");
        let report = db.scrub().run(|_| ControlFlow::Continue(())).expect("a damage is no error");
        let place = report.damages[0].place;
        let DamagedPlace::Record { file: found, offset, .. } = place else { panic!("{design}: {place:?}") };
        assert_eq!((found, offset), (file, at as u64 - 16), "{design}");
        // A lookup and a scan compare keys alone.
        assert_eq!(
            db.keyspace("reefs").and_then(|space| space.get("north")).expect("there").map(|it| it[3]),
            Some(b'!')
        );
        write(bytes[at]);
        assert!(db.backup_to(&mut Vec::new()).is_ok(), "{design}");
        db.close().expect("a sound close");
    }
}
