//! Databases and backups of each version of the format, which later programs must open: see `docs/format.md`.
//!
//! The folder of a version has files of text, in which a line is an offset and the bytes there, without those that are
//! zero. `cargo test -p holm-proof --test formats -- --ignored` writes those of the present version again. That is
//! right until the version is released.

#![forbid(unsafe_code)]

#[path = "formats/text.rs"]
mod text;

use holm::{Database, Durability, KeyspaceOptions, LogTail, RecoveredFrom, verify_backup};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The deadline of what expires: in the year 2096.
const LATE: Duration = Duration::from_secs(4_000_000_000);

/// A value of more than a page.
fn large() -> Vec<u8> {
    let mut value = vec![0; 9_000];
    value[8_999] = 7;
    value
}

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formats/1").join(name)
}

fn open(folder: &Path) -> Database {
    Database::builder().durability(Durability::OnSync).open(folder).unwrap_or_else(|error| panic!("{error}"))
}

fn key(number: u32) -> String {
    format!("reef/{}/{number:05}", ["north", "south"][number as usize % 2])
}

/// What a database has at two times: splits, merges, a large value, deadlines, a mark, a keyspace that is gone, empty
/// keys and values, and what an epoch that was not synced has added.
fn first(db: &Database) {
    let reefs = db.keyspace("reefs").expect("a name");
    (0..150).for_each(|number| reefs.insert(key(number), number.to_string()).expect("room"));
    (0..150).filter(|number| number % 3 == 0).for_each(|number| assert!(reefs.remove(key(number)).expect("sound")));
    reefs.insert("", "the empty key").expect("room");
    reefs.insert("nothing", "").expect("room");
    reefs.insert("large", large()).expect("room");
    let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).expect("a name");
    tides.insert_until("late", "1", SystemTime::UNIX_EPOCH + LATE).expect("room");
    tides.insert("never", "2").expect("room");
    db.keyspace("gone").expect("a name").insert("a", "b").expect("room");
    assert!(db.drop_keyspace("gone").expect("a disk"));
    db.batch().insert(&reefs, "batch/1", "1").insert(&tides, "batch/2", "2").set_mark(7).commit().expect("room");
    db.sync().expect("a disk");
}

fn second(db: &Database) {
    let reefs = db.keyspace("reefs").expect("a name");
    (200..230).for_each(|number| reefs.insert(key(number), "later").expect("room"));
    reefs.insert(key(1), "changed").expect("room");
    db.sync().expect("a disk");
}

fn expect_contents(db: &Database, is_second: bool) {
    let (reefs, tides) = (db.keyspace("reefs").expect("kept"), db.keyspace("tides").expect("kept"));
    assert_eq!(db.keyspaces().expect("sound"), ["default", "reefs", "tides"]);
    let mut expected: Vec<(String, Vec<u8>)> = (0..150)
        .filter(|number| number % 3 != 0)
        .map(|number| {
            (key(number), if is_second && number == 1 { "changed".into() } else { number.to_string() }.into())
        })
        .chain((200..230).filter(|_| is_second).map(|number| (key(number), "later".into())))
        .chain(
            [("", "the empty key"), ("nothing", ""), ("batch/1", "1")].map(|(key, value)| (key.into(), value.into())),
        )
        .chain([("large".into(), large())])
        .collect();
    expected.sort();
    let found = reefs.iter().map(|pair| pair.expect("sound")).map(|(key, value)| (key.to_vec(), value.to_vec()));
    assert!(found.eq(expected.into_iter().map(|(key, value)| (key.into_bytes(), value))), "another content");
    assert_eq!(tides.len().expect("sound"), 3);
    assert!(tides.options().has_expiry());
    let late = tides.expiry("late").expect("sound");
    assert!(format!("{late:?}").contains("4000000000"), "{late:?}");
    assert_eq!(db.mark().expect("sound"), Some(7));
    let report = db.check().expect("sound");
    assert!(report.faults.is_empty(), "{:?}", report.faults);
}

/// A database that works: it takes writes, and closes.
fn expect_at_work(db: Database, folder: &Path) {
    let reefs = db.keyspace("reefs").expect("kept");
    (1_000..1_200).for_each(|number| reefs.insert(key(number), "new").expect("room"));
    let len = reefs.len().expect("sound");
    db.close().expect("a disk");
    drop(reefs);
    assert_eq!(open(folder).keyspace("reefs").expect("kept").len().expect("sound"), len);
}

#[test]
fn a_closed_database_of_each_version_opens() {
    let folder = tempfile::tempdir().expect("a folder");
    text::unpack(&kept("closed.txt"), folder.path());
    let reader = Database::open_read_only(folder.path()).expect("a closed database");
    let reefs = reader.existing_keyspace("reefs").expect("sound").expect("kept");
    assert_eq!(reefs.get(key(1)).expect("sound").as_deref(), Some(&b"1"[..]));
    drop((reefs, reader));
    let db = open(folder.path());
    assert!(matches!(db.recovery().source, RecoveredFrom::CleanShutdown), "{}", db.recovery());
    assert!(db.recovery().from_index, "{}", db.recovery());
    expect_contents(&db, false);
    expect_at_work(db, folder.path());
}

/// The files of a database that was open, as a loss of power could leave them: leaves and records of the first time,
/// and a log that has the second.
#[test]
fn a_database_of_each_version_recovers_from_its_log() {
    let folder = tempfile::tempdir().expect("a folder");
    text::unpack(&kept("cut.txt"), folder.path());
    let db = open(folder.path());
    assert!(matches!(db.recovery().source, RecoveredFrom::Log { .. }), "{}", db.recovery());
    assert!(matches!(db.recovery().tail, LogTail::Empty), "{}", db.recovery());
    expect_contents(&db, true);
    expect_at_work(db, folder.path());
}

#[test]
fn a_backup_of_each_version_is_restored_and_applied() {
    let folder = tempfile::tempdir().expect("a folder");
    let [whole, since] = ["whole.txt", "since.txt"].map(|name| text::unpack_one(&kept(name)));
    let info = verify_backup(&mut &since[..]).expect("sound");
    assert_eq!(Database::restore(&mut &whole[..], folder.path()).expect("sound").epoch, info.base);
    let db = open(folder.path());
    expect_contents(&db, false);
    db.apply(&mut &since[..]).expect("of this base");
    expect_contents(&db, true);
    expect_at_work(db, folder.path());
}

/// Writes the files of the present version.
#[test]
#[ignore = "changes what is kept"]
fn keep() {
    let folder = tempfile::tempdir().expect("a folder");
    let (live, cut) = (folder.path().join("live"), folder.path().join("cut"));
    let db = open(&live);
    first(&db);
    let mut whole = Vec::new();
    let base = db.backup_to(&mut whole).expect("a buffer").epoch;
    db.close().expect("a disk");
    text::pack(&live, &kept("closed.txt"));
    let db = open(&live);
    fs::create_dir(&cut).expect("a folder");
    for name in ["leaves", "records"] {
        fs::copy(live.join(name), cut.join(name)).expect("a disk");
    }
    second(&db);
    for name in ["log.0", "log.1", "superblock"] {
        fs::copy(live.join(name), cut.join(name)).expect("a disk");
    }
    let mut since = Vec::new();
    db.backup_since(base, &mut since).expect("a buffer");
    text::pack(&cut, &kept("cut.txt"));
    text::pack_one(&whole, &kept("whole.txt"));
    text::pack_one(&since, &kept("since.txt"));
}
