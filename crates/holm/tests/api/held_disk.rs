//! What a database answers while its disk answers nothing: the write of an epoch's record is held for as long as the
//! calls take. Beside a disk that fails slowly, a program must still be able to ask what is wrong.

use crate::disks::Disk;
use crate::tools::{self, folder};
use crate::waits::within_a_while;
use holm::{Database, Durability, Keyspace};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

/// A call and its name.
type Call = (&'static str, fn(&Database, &Keyspace));

/// A database, and its disk.
struct Held {
    db: Database,
    space: Keyspace,
    disk: Disk,
    _folder: tempfile::TempDir,
}

impl Held {
    fn new(durability: Durability) -> Self {
        let (folder, disk) = (folder(), Disk::default());
        let builder = tools::builder().vfs(Arc::new(disk.clone()), [0; 2]).durability(durability);
        let db = builder.open(folder.path()).expect("new");
        let space = db.keyspace("s").expect("a name");
        space.insert("k", "v").expect("room");
        db.sync().expect("a disk");
        Held { db, space, disk, _folder: folder }
    }

    /// Makes calls while a thread writes to the log, whose disk does not answer. Each call is named, and one that waits
    /// for the disk fails the test.
    fn call(&self, calls: &[Call]) {
        let (held, begun) = (self.disk.hold_log(), self.disk.begun_writes());
        let (db, space) = (self.db.clone(), self.space.clone());
        let writer = thread::spawn(move || space.insert("k", "w").and_then(|()| db.sync()));
        while self.disk.begun_writes() == begun {
            thread::yield_now();
        }
        let waiting = self.waiting(calls);
        let is_held = !writer.is_finished();
        drop(held);
        writer.join().expect("no panic").expect("a disk");
        assert!(waiting.is_empty(), "calls that wait for the disk: {waiting:?}");
        assert!(is_held, "the disk has answered");
    }

    /// Makes calls, and returns the names of those that go on for ever.
    fn waiting(&self, calls: &[Call]) -> Vec<&'static str> {
        let waits = |(_, call): &&Call| {
            let (db, space, call) = (self.db.clone(), self.space.clone(), *call);
            within_a_while(move || call(&db, &space)).is_none()
        };
        calls.iter().filter(waits).map(|(name, _)| *name).collect()
    }
}

/// Statistics measured the log under the lock that is held over the write of a record.
#[test]
fn what_says_how_a_database_is_never_waits_for_the_disk() {
    for durability in [Durability::Strict, Durability::default(), Durability::OnSync] {
        let held = Held::new(durability);
        held.call(&[
            ("stats", |db, _| assert!(db.stats().space.disk_bytes > 0)),
            ("durable_epoch", |db, _| assert!(db.durable_epoch() > 0)),
            ("durable_mark", |db, _| assert_eq!(db.durable_mark(), None)),
            ("recovery", |db, _| drop(db.recovery().to_string())),
            ("begin_sync", |db, _| assert!(!db.begin_sync().expect("open").is_done().expect("sound"))),
            ("name", |_, space| assert_eq!(space.name(), "s")),
            ("options", |_, space| assert!(!space.options().has_expiry())),
            ("begin", |db, space| {
                assert_eq!(db.begin().get(space, "k").expect("sound").as_deref(), Some(&b"w"[..]));
            }),
        ]);
    }
}

/// In `Strict`, these answers are durable, and wait for what they say.
#[test]
fn what_promises_no_durability_does_not_wait_for_the_disk() {
    for durability in [Durability::default(), Durability::OnSync] {
        let held = Held::new(durability);
        held.call(&[
            ("get", |_, space| assert!(space.get("k").expect("sound").is_some())),
            ("len", |_, space| assert_eq!(space.len().expect("sound"), 1)),
            ("iter", |_, space| assert_eq!(space.iter().count(), 1)),
            ("insert", |_, space| space.insert("l", "v").expect("room")),
            ("mark", |db, _| assert_eq!(db.mark().expect("sound"), None)),
            ("keyspaces", |db, _| assert_eq!(db.keyspaces().expect("a catalog"), ["default", "s"])),
            ("existing_keyspace", |db, _| {
                assert!(db.existing_keyspace("s").expect("a catalog").is_some());
            }),
            ("keyspace", |db, _| drop(db.keyspace("new").expect("room"))),
            ("snapshot", |db, _| drop(db.snapshot().expect("open"))),
            ("snapshot_within", |db, _| drop(db.snapshot_within(Default::default()).expect("open"))),
            ("transact", |db, space| db.transact(|on| on.insert(space, "m", "v")).expect("room")),
            ("check", |db, _| tools::assert_sound(db)),
            ("feed", |db, _| drop(db.feed(1 << 20))),
        ]);
    }
}

/// A snapshot that begins with a feed waits for the end of two epochs. It held the catalog's lock meanwhile, and the
/// number of the snapshot, which later ones waited for.
#[test]
fn nothing_waits_for_a_snapshot_that_begins_with_a_feed() {
    for durability in [Durability::default(), Durability::OnSync] {
        let held = Held::new(durability);
        if held.db.feed(1 << 20).is_err() {
            // A design without epochs.
            return;
        }
        let beginner = held.db.clone();
        let (begin, begins) = channel();
        let begun = thread::spawn(move || {
            let () = begins.recv().expect("the test goes on");
            beginner.snapshot_and_feed(1 << 20).map(|(snapshot, feed)| (snapshot.keyspaces(), feed))
        });
        let lock = held.disk.hold_log();
        let before = held.disk.begun_writes();
        held.space.insert("k", "w").expect("room");
        let _sync = held.db.begin_sync().expect("open");
        while held.disk.begun_writes() == before {
            thread::yield_now();
        }
        begin.send(()).expect("it waits");
        while held.db.stats().feeds.open == 0 {
            thread::yield_now();
        }
        let waiting = held.waiting(&[
            ("keyspaces", |db, _| assert_eq!(db.keyspaces().expect("a catalog"), ["default", "s"])),
            ("insert", |_, space| space.insert("l", "v").expect("room")),
            ("keyspace", |db, _| drop(db.keyspace("new").expect("room"))),
            ("snapshot", |db, _| {
                let snapshot = db.snapshot().expect("open");
                db.keyspace("new").and_then(|space| space.insert("k", "v")).expect("room");
                assert!(snapshot.keyspace("new").expect("made").is_empty().expect("sound"));
            }),
            ("snapshot_within", |db, _| drop(db.snapshot_within(Default::default()).expect("open"))),
            ("feed", |db, _| drop(db.feed(1 << 20).expect("open"))),
        ]);
        let is_waiting = !begun.is_finished();
        drop(lock);
        let (names, _feed) = begun.join().expect("no panic").expect("a disk");
        assert!(waiting.is_empty(), "calls that wait for the disk: {waiting:?}");
        assert!(is_waiting, "the disk has answered");
        assert_eq!(names, ["default", "new", "s"], "they were there at the end of its epoch");
        tools::assert_sound(&held.db);
    }
}

/// The generation has begun with the end of an epoch for which the log had no room. Nothing but the call knew of it, so
/// what writers kept for it stayed in use.
#[test]
fn a_snapshot_with_a_feed_that_a_full_disk_refuses_ends() {
    let held = Held::new(Durability::OnSync);
    if held.db.feed(1 << 20).is_err() {
        // A design without epochs.
        return;
    }
    held.disk.fill_log(true);
    // More than a log that does not grow can take.
    held.space.insert("k", vec![7; 4 << 20]).expect("room");
    let refused = held.db.snapshot_and_feed(1 << 20).map(|(snapshot, _)| snapshot.epoch());
    assert!(matches!(refused, Err(holm::Error::NoSpace { .. })), "{refused:?}");
    let stats = held.db.stats();
    assert_eq!((stats.snapshots.open, stats.feeds.open), (0, 0));
    held.disk.fill_log(false);
    held.db.sync().expect("room");
    let (snapshot, feed) = held.db.snapshot_and_feed(1 << 20).expect("room");
    assert_eq!((snapshot.epoch(), held.db.stats().snapshots.open), (feed.since(), 1));
    tools::assert_sound(&held.db);
}
