//! A thread that waits for durability writes the log itself, and nobody meets a difference.

use crate::disks::Disk;
use crate::tools::{self, assert_sound, folder, relaxed};
use holm::{Database, Durability, Error, Keyspace};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

fn open(disk: &Disk, durability: Durability, path: &Path) -> (Database, Keyspace) {
    let builder = tools::builder().vfs(Arc::new(disk.clone()), [0; 2]);
    let db = builder.durability(durability).open(path).expect("new");
    let space = db.keyspace("s").expect("a name");
    (db, space)
}

/// Returns how many of a hundred durable writes this thread has written to the log itself. On a slow disk, the interval
/// of the group-commit thread may be over first.
fn written_here(disk: &Disk, mut write: impl FnMut(u32)) -> usize {
    let here = |number| {
        write(number);
        disk.log_writer() == Some(thread::current().id())
    };
    (0..100).map(here).filter(|is_here| *is_here).count()
}

/// It takes one switch of threads to wake another one, and one to be woken, each as long as much of a write.
#[test]
fn the_thread_that_waits_writes_the_log() {
    let (folder, disk) = (folder(), Disk::default());
    let (db, space) = open(&disk, Durability::OnSync, folder.path());
    let synced = |number: u32| {
        space.insert(number.to_be_bytes(), "coral").expect("room");
        db.sync().expect("a disk");
    };
    assert!(written_here(&disk, synced) > 0);
    let committed = |number: u32| {
        let transaction = db.begin();
        transaction.insert(&space, number.to_be_bytes(), "sand").expect("room");
        transaction.commit().expect("alone").wait_durable().expect("a disk");
    };
    assert!(written_here(&disk, committed) > 0);
}

#[test]
fn strict_writes_are_written_by_their_threads() {
    let (folder, disk) = (folder(), Disk::default());
    let (_db, space) = open(&disk, Durability::Strict, folder.path());
    let writes = disk.begun_writes();
    let write = |number: u32| space.insert(number.to_be_bytes(), "coral").expect("room");
    assert!(written_here(&disk, write) > 0);
    assert!(disk.begun_writes() >= writes + 100, "{writes} {}", disk.begun_writes());
}

/// The function waits for a lock that the caller of `sync` holds until it returns: called by that thread, it would
/// never get it.
#[test]
fn news_come_from_another_thread() {
    let (folder, disk) = (folder(), Disk::default());
    let (db, space) = open(&disk, Durability::OnSync, folder.path());
    let (bell, news) = std::sync::mpsc::channel();
    db.on_sync(move || bell.send(thread::current().id()).unwrap_or_default());
    for number in 0..100_u32 {
        space.insert(number.to_be_bytes(), "coral").expect("room");
        db.sync().expect("a disk");
        assert_ne!(news.recv().expect("news of each sync"), thread::current().id());
    }
}

/// A feed reads what an epoch has changed. That takes longer than its write, and no caller of `sync` is to do it.
#[test]
fn beside_a_feed_no_caller_writes_the_log() {
    let (folder, disk) = (folder(), Disk::default());
    let (db, space) = open(&disk, Durability::OnSync, folder.path());
    let Ok(mut feed) = db.feed(1 << 20) else {
        // A design without epochs has no feeds.
        return;
    };
    space.insert("north", "coral").expect("room");
    db.sync().expect("a disk");
    assert_ne!(disk.log_writer(), Some(thread::current().id()));
    assert!(feed.next(Duration::from_secs(10)).expect("in time").is_some());
}

/// Who waits gets the error, as everybody after it, and nothing hangs. What was durable before is there.
#[test]
fn a_panic_while_a_caller_writes_the_log_is_an_error() {
    let (folder, disk) = (folder(), Disk::default());
    let (db, space) = open(&disk, Durability::OnSync, folder.path());
    space.insert("north", "coral").expect("room");
    db.sync().expect("a disk");
    space.insert("south", "sand").expect("room");
    disk.panic_once();
    assert!(matches!(db.sync(), Err(Error::Poisoned { .. })));
    assert!(matches!(space.insert("west", "reef"), Err(Error::Poisoned { .. })));
    assert!(matches!(db.sync(), Err(Error::Poisoned { .. })));
    assert!(matches!(db.clone().close(), Err(Error::Poisoned { .. })));
    drop((space, db));
    let db = relaxed(folder.path());
    assert_sound(&db);
    let space = db.keyspace("s").expect("a name");
    assert_eq!(space.get("north").expect("sound").as_deref(), Some(&b"coral"[..]));
}

/// The caller's own write of the log fails: it gets that error, and not another one.
#[test]
fn a_caller_gets_the_error_of_its_own_write() {
    let (folder, disk) = (folder(), Disk::default());
    let (_db, space) = open(&disk, Durability::Strict, folder.path());
    space.insert("north", "coral").expect("room");
    disk.break_log();
    let refused = space.insert("south", "sand").expect_err("a broken log");
    assert!(refused.to_string().contains("the test has broken the log"), "{refused}");
}

/// Callers that wait at the same time: one writes, the others' changes follow, and none is left waiting.
#[test]
fn many_callers_all_get_durable() {
    let (folder, disk) = (folder(), Disk::default());
    let (db, space) = open(&disk, Durability::Strict, folder.path());
    thread::scope(|scope| {
        for writer in 0..4_u32 {
            let (db, space) = (&db, &space);
            scope.spawn(move || {
                for number in 0..200_u32 {
                    let before = db.stats().epochs.active;
                    space.insert((number * 4 + writer).to_be_bytes(), "coral").expect("room");
                    assert!(db.durable_epoch() >= before, "{number} of {writer} returned too early");
                }
            });
        }
    });
    assert_eq!(space.len().expect("sound"), 800);
}
