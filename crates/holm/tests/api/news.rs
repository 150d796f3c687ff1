//! What a program does where it is called for news about syncs: anything that it may do elsewhere, except for closing
//! the database.

use crate::disks::Disk;
use crate::tools::{self, folder};
use holm::{Database, Durability, Keyspace};
use std::path::Path;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

/// A database on files, whose syncs take time.
fn open(durability: Durability, path: &Path) -> (Database, Keyspace) {
    let builder = tools::builder().vfs(Arc::new(Disk::default()), [0; 2]).durability(durability);
    let db = builder.open(path).expect("new");
    let space = db.keyspace("s").expect("a name");
    (db, space)
}

fn soon<T>(awaited: &Receiver<T>) -> T {
    awaited.recv_timeout(Duration::from_secs(60)).expect("no hang")
}

/// What a function for news owns for as long as the test needs it: the function would keep the database open.
type Lent<T> = Arc<Mutex<Option<T>>>;

fn lend<T>(owned: T) -> (Lent<T>, Lent<T>) {
    let lent = Arc::new(Mutex::new(Some(owned)));
    (lent.clone(), lent)
}

/// The function writes, and waits until that is durable. Called by the thread that makes it so, it stopped the database
/// for ever.
#[test]
fn a_function_writes_strictly() {
    let folder = folder();
    let (db, space) = open(Durability::Strict, folder.path());
    let (lent, owner) = lend(space.clone());
    let (written, writes) = channel();
    db.on_sync(move || {
        // Its own write is news too.
        if let Some(space) = lent.lock().expect("no panic").take() {
            written.send(space.insert("east", "sand")).expect("it is awaited");
        }
    });
    space.insert("north", "coral").expect("a disk");
    soon(&writes).expect("a disk");
    assert_eq!(space.get("east").expect("sound").as_deref(), Some(&b"sand"[..]));
    drop(owner);
    db.close().expect("a sound close");
}

/// A task that is run where it is woken, as small executors do.
struct OnTheSpot(Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>);

impl OnTheSpot {
    fn run(self: Arc<Self>) {
        let waker = Waker::from(self.clone());
        let mut task = self.0.lock().expect("no panic");
        let ended = task.as_mut().is_none_or(|task| task.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
        if ended {
            *task = None;
        }
    }
}

impl Wake for OnTheSpot {
    fn wake(self: Arc<Self>) {
        self.run();
    }
}

#[test]
fn a_task_that_is_run_where_it_is_woken_writes_strictly() {
    let folder = folder();
    let (db, space) = open(Durability::Strict, folder.path());
    for number in 0..20_u32 {
        let (sync, space, (done, ends)) = (db.begin_sync().expect("open"), space.clone(), channel());
        let task = async move {
            sync.await.expect("a disk");
            done.send(space.insert(number.to_be_bytes(), "sand")).expect("it is awaited");
        };
        Arc::new(OnTheSpot(Mutex::new(Some(Box::pin(task))))).run();
        soon(&ends).expect("a disk");
    }
    assert_eq!(space.len().expect("sound"), 20);
}

/// A snapshot that ended in the function waited for one that was beginning, which waited for the thread that called the
/// function.
#[test]
fn a_function_drops_a_snapshot_beside_one_that_begins_with_a_feed() {
    let folder = folder();
    let (db, space) = open(Durability::OnSync, folder.path());
    if db.feed(1 << 20).is_err() {
        // A design without epochs.
        return;
    }
    space.insert("north", "coral").expect("room");
    let (lent, owner) = lend(Vec::new());
    db.on_sync(move || drop(lent.lock().expect("no panic").take()));
    let (begun, begins): (Sender<()>, _) = channel();
    let beginner = db.clone();
    thread::spawn(move || {
        for _ in 0..200 {
            drop(beginner.snapshot_and_feed(1 << 20).expect("a disk"));
            begun.send(()).expect("it is awaited");
        }
    });
    for number in 0..200_u32 {
        *owner.lock().expect("no panic") = Some(vec![db.snapshot().expect("open")]);
        space.insert(number.to_be_bytes(), "sand").expect("room");
        soon(&begins);
    }
    owner.lock().expect("no panic").take();
}

/// The folder is asked for without a lock that a close holds: the function waited for the close, and the close for the
/// function.
#[test]
fn a_function_applies_a_backup_beside_a_close() {
    let folder = folder();
    let (db, space) = open(Durability::OnSync, folder.path());
    space.insert("north", "coral").expect("room");
    let mut stream = Vec::new();
    db.backup_to(&mut stream).expect("a whole backup");
    let (lent, owner) = lend(db.clone());
    let (bell, rung) = channel();
    db.on_sync(move || {
        let db = lent.lock().expect("no panic").clone();
        if let Some(db) = db {
            bell.send(()).unwrap_or_default();
            // A whole backup is no increment, and after a close nothing is applied.
            assert!(db.apply(&mut &stream[..]).is_err());
        }
    });
    space.insert("south", "sand").expect("room");
    let (done, closed) = channel();
    thread::spawn(move || done.send(db.close()));
    soon(&rung);
    soon(&closed).expect("a sound close");
    owner.lock().expect("no panic").take();
}

/// That was found once everything was copied.
#[test]
fn a_function_makes_no_backup_of_a_folder() {
    let folder = folder();
    let (db, space) = open(Durability::OnSync, &folder.path().join("db"));
    let (lent, owner) = lend(db.clone());
    let (made, makes) = channel();
    let copy = folder.path().join("copy");
    db.on_sync(move || {
        let db = lent.lock().expect("no panic").take();
        if let Some(db) = db {
            made.send(db.backup(&copy)).expect("it is awaited");
        }
    });
    space.insert("north", "coral").expect("room");
    db.sync().expect("a disk");
    let refused = soon(&makes);
    assert!(matches!(refused, Err(holm::Error::Invalid { .. })), "{refused:?}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    drop(owner);
    db.close().expect("a sound close");
}
