//! Each step of an open after the death of the process and after a power cut, with a commit under way.

use super::request::Request;
use crate::commit::{Write, leave_undone};
use crate::expiry::{Deadline, StoredValue};
use crate::operation::Operation;
use crate::record;
use crate::{Database, Durability, Expiry, KeyspaceOptions, RecoveredFrom};
use holm_medium::MediumError;
use std::fs;
use std::path::Path;
use std::sync::Arc;
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

/// The completion of a commit that removes from a keyspace with expiry asks for the time. It asked the system's clock,
/// whatever clock the caller had chosen, and the time never goes back: keys expired that the caller's clock keeps.
#[test]
fn the_completion_of_a_commit_asks_the_clock_that_was_chosen() {
    let folder = tempfile::tempdir().unwrap();
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
    let open = || {
        let durability = Durability::Buffered { interval: Duration::from_secs(3_600) };
        let builder = Database::builder().capacity(1 << 30).durability(durability);
        builder.time_source(Arc::new(move || long_ago)).open(folder.path()).unwrap()
    };
    let db = open();
    let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).unwrap();
    ["north", "south", "east"].iter().for_each(|key| tides.insert_for(key, "high", Duration::from_secs(60)).unwrap());
    db.sync().unwrap();
    let removal = |key| Write { tree: tides.tree(), key, value: None, seen: None };
    leave_undone(&db.engine, &[removal(b"north"), removal(b"south")]);
    drop(tides);
    die(db);
    let db = open();
    assert_eq!(db.recovery().source, RecoveredFrom::PageCache);
    let tides = db.keyspace("tides").unwrap();
    assert_eq!(["north", "south", "east"].map(|key| tides.contains_key(key).unwrap()), [false, false, true]);
}

/// The page of the intents has gone back to a moment within a commit that has ended since. To do its writes once more
/// would take back what others have written after it, durably. A word that is never cleared looks the same.
#[test]
fn an_intent_that_has_gone_back_is_not_done_again() {
    let folder = tempfile::tempdir().unwrap();
    let [dead, saved] = ["dead", "saved"].map(|name| folder.path().join(name));
    let db = open(&dead);
    let reefs = db.keyspace("reefs").unwrap();
    let coral = reefs.tree().format.stored(b"coral", Deadline::NEVER);
    let write = |key| Write { tree: reefs.tree(), key, value: Some(coral), seen: None };
    leave_undone(&db.engine, &[write(b"north"), write(b"south")]);
    db.batch().insert(&reefs, "north", "sand").insert(&reefs, "south", "sand").commit().unwrap();
    db.sync().unwrap();
    drop(reefs);
    die(db);
    let report = Database::repair(&dead, &saved).unwrap();
    assert_eq!(report.completed_commits, 0, "{report:?}");
    for path in [saved, dead] {
        let db = open(&path);
        let reefs = db.keyspace("reefs").unwrap();
        for key in ["north", "south"] {
            assert_eq!(reefs.get(key).unwrap().as_deref(), Some(&b"sand"[..]), "{:?}", db.recovery());
        }
    }
}

/// A repair does the writes of a commit that the death of the process has interrupted. After a loss of power, the
/// intent may be of a commit that has ended.
#[test]
fn a_repair_completes_a_commit_that_a_death_has_interrupted() {
    let folder = tempfile::tempdir().unwrap();
    let [dead, saved, cut, kept] = ["dead", "saved", "cut", "kept"].map(|name| folder.path().join(name));
    let db = open(&dead);
    let reefs = db.keyspace("reefs").unwrap();
    reefs.insert("north", "coral").unwrap();
    db.sync().unwrap();
    let write = |key, value| Write { tree: reefs.tree(), key, value, seen: None };
    let sand = reefs.tree().format.stored(b"sand", Deadline::NEVER);
    leave_undone(&db.engine, &[write(b"north", None), write(b"south", Some(sand))]);
    drop(reefs);
    die(db);
    copy(&dead, &cut);
    let report = Database::repair(&dead, &saved).unwrap();
    assert_eq!((report.completed_commits, report.records), (1, 1), "{report:?}");
    let reefs = open(&saved).keyspace("reefs").unwrap();
    assert_eq!(reefs.get("south").unwrap().as_deref(), Some(&b"sand"[..]));
    assert!(!reefs.contains_key("north").unwrap());
    let report = Database::repair(&cut, &kept).unwrap();
    assert_eq!((report.completed_commits, report.records), (0, 1), "{report:?}");
    assert!(open(&kept).keyspace("reefs").unwrap().contains_key("north").unwrap());
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

/// The process dies between the removal of a name and the end of its tree.
#[test]
fn a_tree_that_has_lost_its_name_is_freed_by_the_next_open() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    let reefs = db.keyspace("reefs").unwrap();
    (0..2_000_u32).for_each(|number| reefs.insert(number.to_be_bytes(), "coral").unwrap());
    let mut operation = Operation::begin(&db.engine.store).unwrap();
    operation.remove(db.engine.catalog.own(), b"reefs").unwrap();
    drop((operation, reefs));
    die(db);
    let in_use = |db: &Database| {
        let space = db.engine.store.storage.space();
        u64::from(space.block_frontier()) - space.free_blocks()
    };
    let db = open(folder.path());
    assert_eq!(db.existing_keyspace("reefs").unwrap().map(|_| ()), None);
    db.close().unwrap();
    let db = open(folder.path());
    let left = in_use(&db);
    assert!(left < 20, "{left} blocks are in use without a name that leads to them");
}

/// The epochs of a dead process are in the leaves. If one of them were used again, a cut in its midst would keep what
/// the cut takes back.
#[test]
fn an_epoch_that_a_dead_process_has_used_is_not_used_again() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    db.sync().unwrap();
    let used = db.engine.store.clock().active();
    db.keyspace("reefs").unwrap().insert("north", "coral").unwrap();
    die(db);
    let builder = Database::builder().capacity(1 << 30);
    let request = Request::to_write(folder.path(), &builder).unwrap();
    let Ok(rebuilt) = request.open().unwrap().rebuild().unwrap() else { panic!("nothing is lost") };
    assert!(rebuilt.active <= used, "the log has nothing of epoch {used}: {} follows it", rebuilt.active);
    assert_eq!(rebuilt.latest, used);
}

/// Found by the simulation. An opening gave each empty keyspace a leaf in an epoch of its own, before anything that it
/// had found was durable. A power cut in that opening left changes of three epochs behind the log's last one, and the
/// next opening reported a damaged log.
#[test]
fn what_an_opening_creates_belongs_to_the_epoch_of_the_death() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    drop(db.keyspace("reefs").unwrap());
    db.sync().unwrap();
    let used = db.engine.store.clock().active();
    db.keyspace("depths").unwrap().insert("north", "coral").unwrap();
    die(db);
    let builder = Database::builder().capacity(1 << 30);
    let request = Request::to_write(folder.path(), &builder).unwrap();
    let Ok(rebuilt) = request.open().unwrap().rebuild().unwrap() else { panic!("nothing is lost") };
    let named = rebuilt.resume_clock().unwrap().read_catalog().unwrap();
    assert_eq!(named.store.clock().active(), used);
    let completed = named.complete_commits().unwrap();
    assert_eq!(completed.latest, used, "the epoch ends with what was found");
}

/// Returns a key whose record, with this many zero bytes as its value, ends in a word of zeros: one in 65,536 does.
fn key_of_a_record_that_ends_in_zeros(zeros: &[u8]) -> Vec<u8> {
    let mut words = Vec::new();
    let ends_in_zeros = |key: &Vec<u8>| {
        record::encode(key, StoredValue::verbatim(zeros), &mut words);
        words.last() == Some(&0)
    };
    (0..1 << 24).map(|number: u32| number.to_be_bytes().to_vec()).find(ends_in_zeros).unwrap()
}

/// Leaves a keyspace whose last record in the file ends in zeros, and free space before it.
fn ends_in_zeros(path: &Path, key: &[u8], zeros: &[u8]) {
    let db = open(path);
    let reefs = db.keyspace("reefs").unwrap();
    reefs.insert("before", [7; 4096]).unwrap();
    reefs.insert(key, zeros).unwrap();
    reefs.remove("before").unwrap();
    drop(reefs);
    db.close().unwrap();
}

/// The last record of the file ended in zeros, and recovery took these for space that was never written. Its own first
/// record lay there. Then the power failed, and a record of the last durable state was damaged.
#[test]
fn recovery_spares_a_record_that_ends_in_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let [dead, cut] = ["dead", "cut"].map(|name| folder.path().join(name));
    let zeros = [0; 3_000];
    let key = key_of_a_record_that_ends_in_zeros(&zeros);
    ends_in_zeros(&dead, &key, &zeros);
    let db = open(&dead);
    let reefs = db.keyspace("reefs").unwrap();
    // Of an epoch that is in no log: after the death, no leaf leads to the record any more.
    reefs.insert(&key, "coral").unwrap();
    let sand = reefs.tree().format.stored(b"sand", Deadline::NEVER);
    let write = |key| Write { tree: reefs.tree(), key, value: Some(sand), seen: None };
    leave_undone(&db.engine, &[write(b"north"), write(b"south")]);
    drop(reefs);
    die(db);
    let builder = Database::builder().capacity(1 << 30);
    let request = Request::to_write(&dead, &builder).unwrap();
    let Ok(rebuilt) = request.open().unwrap().rebuild().unwrap() else { panic!("nothing is lost") };
    let completed = rebuilt.resume_clock().unwrap().read_catalog().unwrap().complete_commits().unwrap();
    copy(&dead, &cut);
    drop(completed);
    let db = open(&cut);
    assert_eq!(db.keyspace("reefs").unwrap().get(&key).unwrap().as_deref(), Some(&zeros[..]));
    assert_eq!(db.check().unwrap().faults, Vec::<String>::new());
}

/// The same with a record of the commit under way: the process dies once more, before that commit is completed.
#[test]
fn recovery_spares_an_intended_record_that_ends_in_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let zeros = [0; 3_000];
    let key = key_of_a_record_that_ends_in_zeros(&zeros);
    let db = open(path);
    let reefs = db.keyspace("reefs").unwrap();
    // The first one leaves a record's space, which the list of the intent takes.
    (0..2).for_each(|_| reefs.insert("north", [7; 24]).unwrap());
    let write = |key, value| Write { tree: reefs.tree(), key, value: Some(value), seen: None };
    let stored = |value| reefs.tree().format.stored(value, Deadline::NEVER);
    leave_undone(&db.engine, &[write(b"\0", stored(b"sand")), write(&key, stored(&zeros))]);
    drop(reefs);
    die(db);
    let builder = Database::builder().capacity(1 << 30);
    for _ in 0..2 {
        let request = Request::to_write(path, &builder).unwrap();
        let Ok(rebuilt) = request.open().unwrap().rebuild().unwrap() else { panic!("nothing is lost") };
        let named = rebuilt.resume_clock().unwrap().read_catalog().unwrap();
        // As far as the completion of the commit has come.
        let operation = Operation::begin(&named.store).unwrap();
        operation.write_record(b"\0", StoredValue::verbatim(b"sand"), &mut Vec::new()).unwrap();
    }
    let db = open(path);
    assert_eq!(db.keyspace("reefs").unwrap().get(&key).unwrap().as_deref(), Some(&zeros[..]));
}
