//! How long a database is locked, what handles see after `close`, and what they return in strict mode.

use crate::children::Other;
use crate::disks::Disk;
use crate::tools::{self, assert_sound, data_bytes, folder, relaxed};
use holm::{Database, Durability, Error};
use std::path::Path;
use std::pin::Pin;
use std::process;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;

/// Returns a handle that has outlived the closing of its database.
fn closed_with_a_handle(path: &Path) -> holm::Keyspace {
    let db = relaxed(path);
    let space = db.keyspace("s").expect("a name");
    (0..2_000_u32).for_each(|number| space.insert(number.to_be_bytes(), "old").expect("room"));
    db.close().expect("a sound close");
    space
}

#[track_caller]
fn assert_reads_old(space: &holm::Keyspace) {
    for number in 0..2_000_u32 {
        assert_eq!(space.get(number.to_be_bytes()).expect("sound").as_deref(), Some(&b"old"[..]), "{number}");
    }
    assert_eq!(space.iter().map(|pair| pair.expect("sound").1).filter(|value| *value == b"old"[..]).count(), 2_000);
}

/// Regression: `close` released the lock and kept the mapping, so another process changed and cut the files under the
/// readers.
#[test]
fn a_handle_that_outlives_close_keeps_other_processes_out() {
    let folder = folder();
    let space = closed_with_a_handle(folder.path());
    let other = Other::start("rewrite", folder.path());
    assert!(other.said.contains(&format!("in use by process {}", process::id())), "{}", other.said);
    assert_reads_old(&space);
    let iter = space.iter();
    drop(space);
    other.finish();
    let other = Other::start("rewrite", folder.path());
    assert!(other.said.contains("in use"), "an iterator is a handle: {}", other.said);
    other.finish();
    assert_eq!(iter.rev().filter(Result::is_ok).count(), 2_000);
    let other = Other::start("rewrite", folder.path());
    assert_eq!(other.said, "rewritten");
    other.finish();
    let db = relaxed(folder.path());
    assert_eq!(db.keyspace("s").and_then(|space| space.get(7_u32.to_be_bytes())).expect("sound").as_deref(), None);
    assert_sound(&db);
}

#[test]
fn what_locks_a_database_is_named() {
    let folder = folder();
    let space = closed_with_a_handle(folder.path());
    for error in [
        tools::open(folder.path()).map(drop).expect_err("the handle lives"),
        Database::open_read_only(folder.path()).map(drop).expect_err("the handle lives"),
    ] {
        let told = error.to_string();
        assert!(matches!(error, Error::Locked { .. }), "{error:?}");
        assert!(told.contains("this process") && told.contains(&process::id().to_string()), "{told}");
        assert!(told.contains("drop every handle"), "{told}");
    }
    drop(space);
    let looking = Database::open_read_only(folder.path()).expect("let go");
    let told = tools::open(folder.path()).map(drop).expect_err("somebody looks").to_string();
    assert!(told.contains("this process"), "{told}");
    let space = looking.existing_keyspace("s").expect("a catalog").expect("made");
    drop(looking);
    assert!(matches!(tools::open(folder.path()), Err(Error::Locked { .. })), "a keyspace of it is a handle");
    assert!(space.contains_key(7_u32.to_be_bytes()).expect("sound"));
    drop(space);
    tools::open(folder.path()).expect("let go");
}

/// A load beyond the end of a mapped file faults, and a reader may be about to read a record that was freed before
/// `close`.
#[test]
fn files_are_not_cut_while_somebody_may_read_them() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    // Until an extent has just been added, most of which is unused.
    let mut before = data_bytes(folder.path());
    for number in 0_u32.. {
        space.insert(number.to_be_bytes(), [1; 200]).expect("room");
        let now = data_bytes(folder.path());
        if number > 8_000 && now > before {
            break;
        }
        before = now;
    }
    db.close().expect("a sound close");
    let closed = data_bytes(folder.path());
    assert!(closed > before, "cut from more than {before} bytes to {closed}");
    drop(space);
    assert!(data_bytes(folder.path()) < closed, "{closed} bytes were kept");
    assert_sound(&relaxed(folder.path()));
}

/// A forked child has the parent's open file, and with it the lock.
#[test]
fn a_child_with_a_copy_of_the_descriptors_keeps_no_lock() {
    let folder = folder();
    let db = tools::builder().vfs(Arc::new(Disk::inherited()), [0; 2]).open(folder.path()).expect("new");
    let child = Other::start("idle", folder.path());
    assert_eq!(child.said, "idle");
    assert!(matches!(tools::open(folder.path()), Err(Error::Locked { .. })));
    db.close().expect("a sound close");
    let db = tools::open(folder.path()).expect("closed, whatever children there are");
    // The end of the child does not release the lock.
    child.finish();
    assert!(matches!(tools::open(folder.path()), Err(Error::Locked { .. })));
    drop(db);
}

/// Regression: each open reserved 2 TiB of address space, and the 64th was refused.
#[test]
fn one_process_opens_a_hundred_databases() {
    let folder = folder();
    let open = |number: usize| {
        let db = relaxed(&folder.path().join(number.to_string()));
        db.keyspace("s").and_then(|space| space.insert("k", number.to_string())).expect("room");
        db
    };
    let all: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..10)
            .map(|part| scope.spawn(move || (part * 10..part * 10 + 10).map(open).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(all.len(), 100);
    for (number, db) in all.iter().enumerate() {
        let value = db.keyspace("s").and_then(|space| space.get("k")).expect("sound");
        assert_eq!(value.as_deref(), Some(number.to_string().as_bytes()));
    }
}

/// In a process of its own: the other tests of this one need address space at the same time.
#[test]
fn a_capacity_that_no_process_has_is_named() {
    let folder = folder();
    let other = Other::start("fill address space", folder.path());
    assert!(other.said.contains("capacity") && other.said.contains("address space"), "{}", other.said);
    other.finish();
}

/// The body of that process.
pub(crate) fn fill_address_space(path: &Path, say: &dyn Fn(&str)) {
    // There is address space for one database, and not for forty.
    let open = |number: usize| tools::builder().capacity(4 << 40).open(path.join(number.to_string()));
    let mut all = Vec::new();
    let refused = (0..40).find_map(|number| open(number).map(|db| all.push(db)).err()).expect("160 TiB");
    say(&refused.to_string());
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: holm::Result<T>) {
    assert!(matches!(result, Err(Error::Poisoned { .. })), "{result:?}");
}

/// Returns a strict database whose log has failed.
fn broken(path: &Path) -> (Database, holm::Keyspace) {
    let disk = Disk::default();
    let builder = tools::builder().vfs(Arc::new(disk.clone()), [0; 2]);
    let db = builder.durability(Durability::Strict).open(path).expect("new");
    let space = db.keyspace("s").expect("a name");
    space.insert("k", "v").expect("room");
    disk.break_log();
    (db, space)
}

/// The name is in memory, and would be missing after a power cut.
#[test]
fn strict_tells_no_name_that_is_not_durable() {
    let folder = folder();
    let (db, space) = broken(folder.path());
    refused(db.keyspace("made"));
    refused(db.existing_keyspace("made"));
    refused(db.keyspace("made"));
    refused(db.keyspaces());
    assert_eq!(space.get("k").expect("durable").as_deref(), Some(&b"v"[..]));
}

#[test]
fn strict_tells_no_removal_that_is_not_durable() {
    let folder = folder();
    let (db, _space) = broken(folder.path());
    refused(db.drop_keyspace("s"));
    refused(db.existing_keyspace("s"));
    refused(db.keyspaces());
    refused(db.drop_keyspace("s"));
}

#[test]
fn strict_counts_nothing_that_is_not_durable() {
    let folder = folder();
    let (_db, space) = broken(folder.path());
    assert_eq!(space.len().expect("durable"), 1);
    refused(space.insert("l", "v"));
    refused(space.len());
    refused(space.is_empty());
    refused(space.contains_key("l"));
    refused(space.first());
}

/// A call that changes nothing has read something, and a read is as durable as the mode promises.
#[test]
fn strict_decides_by_nothing_that_is_not_durable() {
    let folder = folder();
    let (db, space) = broken(folder.path());
    assert_eq!(space.fetch_update("absent", |_| None::<Vec<u8>>).expect("durable"), None);
    refused(space.insert("l", "v"));
    refused(space.fetch_update("absent", |_| None::<Vec<u8>>));
    let read = db.begin();
    assert_eq!(read.get(&space, "l").expect("it is there").as_deref(), Some(&b"v"[..]));
    refused(read.commit());
}

#[test]
fn strict_finds_no_emptiness_that_is_not_durable() {
    let folder = folder();
    let (_db, space) = broken(folder.path());
    refused(space.remove("k"));
    refused(space.pop_first());
}

/// A task of a runtime that has ended: its waker is the last to have it, and what it owns goes with it.
struct Task(Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        // Until no other reference is left.
        while Arc::strong_count(&self) > 1 {
            thread::yield_now();
        }
    }
}

/// Regression: the waker of a task that awaited a sync dropped the last handle on the thread that ends epochs. That
/// thread tried to join itself, and the database was not closed.
#[test]
fn a_waker_may_drop_the_last_handle() {
    let folder = folder();
    let db = relaxed(folder.path());
    db.keyspace("s").and_then(|space| space.insert("north", "coral")).expect("room");
    loop {
        let sync = db.begin_sync().expect("open");
        let task = Arc::new(Task(Mutex::new(Box::pin(async move { sync.await.expect("a sync") }))));
        let waker = Waker::from(task.clone());
        if task.0.lock().expect("sound").as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            break;
        }
    }
    drop(db);
    let db = loop {
        match tools::open(folder.path()) {
            Err(Error::Locked { .. }) => thread::yield_now(),
            opened => break opened.expect("a sound database"),
        }
    };
    assert_eq!(db.recovery().source, holm::RecoveredFrom::CleanShutdown);
    assert_eq!(db.keyspace("s").and_then(|space| space.get("north")).expect("sound").as_deref(), Some(&b"coral"[..]));
}

/// A thread of the database calls what is to be called for news. It cannot close the database: it would await itself.
#[test]
fn a_function_that_is_called_for_news_closes_no_database() {
    let folder = folder();
    let db = relaxed(folder.path());
    let (sender, receiver) = std::sync::mpsc::channel();
    let handle = Mutex::new(Some(db.clone()));
    db.on_sync(move || {
        let taken = handle.lock().expect("sound").take();
        taken.into_iter().for_each(|db| sender.send(db.close()).expect("it is awaited"));
    });
    db.keyspace("s").and_then(|space| space.insert("north", "coral")).expect("room");
    let refused = receiver.recv().expect("a call").expect_err("a thread of the database");
    assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
    db.keyspace("s").and_then(|space| space.insert("south", "sand")).expect("it is open");
    db.close().expect("a sound close");
}
