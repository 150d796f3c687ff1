//! What a database answers while its disk answers nothing: the write of an epoch's record is held for as long as the
//! calls take. Beside a disk that fails slowly, a program must still be able to ask what is wrong.

use crate::disks::Disk;
use crate::tools::{self, folder};
use crate::waits::within_a_while;
use holm::{Database, Durability, Keyspace};
use std::sync::Arc;
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
        let waits = |(_, call): &&Call| {
            let (db, space, call) = (self.db.clone(), self.space.clone(), *call);
            within_a_while(move || call(&db, &space)).is_none()
        };
        let waiting: Vec<_> = calls.iter().filter(waits).map(|(name, _)| name).collect();
        let is_held = !writer.is_finished();
        drop(held);
        writer.join().expect("no panic").expect("a disk");
        assert!(waiting.is_empty(), "calls that wait for the disk: {waiting:?}");
        assert!(is_held, "the disk has answered");
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
