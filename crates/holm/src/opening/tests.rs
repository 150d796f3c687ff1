//! Each step of an open after the death of the process and after a power cut, with a commit under way.

use crate::commit::{Write, leave_undone};
use crate::expiry::Deadline;
use crate::{Database, Durability, Expiry, KeyspaceOptions, RecoveredFrom};
use holm_medium::MediumError;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

fn open(path: &Path) -> Database {
    // An epoch ends only when a caller waits for it.
    let durability = Durability::Buffered { interval: Duration::from_secs(3_600) };
    Database::builder().capacity(1 << 30).durability(durability).open(path).unwrap()
}

/// Drops a database without the mark of a clean close, as the death of its process leaves it.
fn die(db: Database) {
    db.engine.store.clock().poison(&MediumError::Poisoned { why: "the test ends the session".into() });
    db.close().unwrap_err();
}

/// Copies a folder: another identity of its files, so that an open cuts history as after a power cut.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn a_commit_is_completed_after_a_death_and_forgotten_after_a_power_cut() {
    [false, true].into_iter().for_each(completed_and_forgotten);
}

fn completed_and_forgotten(expires: bool) {
    let folder = tempfile::tempdir().unwrap();
    let (dead, cut) = (folder.path().join("dead"), folder.path().join("cut"));
    let db = open(&dead);
    let reefs = db.keyspace_with("reefs", &KeyspaceOptions::new().expires(expires)).unwrap();
    reefs.insert("north", "coral").unwrap();
    let sand = reefs.tree().format.stored(b"sand", Deadline::at(SystemTime::now() + Duration::from_secs(3_600)));
    db.sync().unwrap();
    let write = |key, value| Write { tree: reefs.tree(), key, value, seen: None };
    leave_undone(&db.engine, &[write(b"north", None), write(b"south", Some(sand))]);
    drop(reefs);
    die(db);
    copy(&dead, &cut);
    for (path, completed) in [(dead, true), (cut, false)] {
        let db = open(&path);
        assert_eq!(db.recovery().source == RecoveredFrom::PageCache, completed, "{:?}", db.recovery());
        let reefs = db.keyspace("reefs").unwrap();
        let found = ["north", "south"].map(|key| reefs.contains_key(key).unwrap());
        assert_eq!(found, [!completed, completed]);
        assert_eq!(reefs.get("south").unwrap().as_deref(), completed.then_some(&b"sand"[..]));
        assert!(!expires || !completed || matches!(reefs.expiry("south").unwrap(), Some(Expiry::At(_))));
        assert_eq!(db.check().unwrap().faults, Vec::<String>::new());
        drop(reefs);
        db.close().unwrap();
        // An intent that is still there would be refused.
        Database::open_read_only(&path).unwrap();
    }
}

/// Recovery takes space only behind the files' ends. Afterwards the space within them is used again.
#[test]
fn space_that_recovery_withheld_is_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    db.keyspace("reefs").unwrap().insert("north", "coral").unwrap();
    db.sync().unwrap();
    die(db);
    let len = fs::metadata(folder.path().join("records")).unwrap().len();
    let db = open(folder.path());
    assert_eq!(db.recovery().source, RecoveredFrom::PageCache);
    db.keyspace("reefs").unwrap().insert("south", "sand").unwrap();
    let frontier = db.engine.store.storage.space().record_frontier();
    assert!(frontier < len, "the record lies behind the file as it was: {frontier} of {len} bytes");
}
