//! Calls that wait, and calls that do not: reads within transactions and transactions that are given up, `sync` beside
//! a check, and keys that use the database themselves.

use crate::disks::Disk;
use crate::tools::{self, copy, folder, relaxed};
use holm::{Database, Durability, Error, Keyspace, RecoveredFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

/// A call that waits for what the test withholds would wait for ever: after this long, it counts as one.
const FOR_EVER: Duration = Duration::from_secs(30);

fn strict(disk: &Disk, path: &Path) -> (Database, Keyspace) {
    let builder = tools::builder().vfs(Arc::new(disk.clone()), [0; 2]);
    let db = builder.durability(Durability::Strict).open(path).expect("new");
    let space = db.keyspace("s").expect("a name");
    (db, space)
}

/// Runs calls in a thread of their own. Returns what they return, or `None` if they go on for ever.
pub(crate) fn within_a_while<T: Send + 'static>(calls: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, returned) = channel();
    thread::spawn(move || done.send(calls()));
    returned.recv_timeout(FOR_EVER).ok()
}

/// Reads a value that no record has yet in every way that a transaction has, and gives up transactions that have
/// written. Returns the value.
fn read_and_give_up(db: &Database, space: &Keyspace) -> Vec<u8> {
    let mut seen = None;
    while seen.as_deref() != Some(&b"new"[..]) {
        seen = db.begin().get(space, "k").expect("sound");
    }
    let given_up = db.begin();
    assert!(given_up.contains_key(space, "k").expect("sound"));
    assert_eq!(
        given_up.iter(space).expect("kept").map(|pair| pair.expect("sound").1.to_vec()).last(),
        seen.as_deref().map(<[u8]>::to_vec)
    );
    assert_eq!(given_up.first(space).expect("sound").map(|pair| pair.0.to_vec()), Some(b"k".to_vec()));
    given_up.insert(space, "given up", "x").expect("room");
    given_up.remove(space, "k").expect("room");
    drop(given_up);
    let ended = db.transact(|on| {
        on.insert(space, "given up", "x")?;
        assert_eq!(on.get(space, "k")?.as_deref(), Some(&b"new"[..]));
        Err::<(), _>(Error::Invalid { what: "given up".into() })
    });
    assert!(matches!(ended, Err(Error::Invalid { .. })), "{ended:?}");
    seen.expect("the loop has found it").to_vec()
}

/// The log takes no record until the test lets it. What the transactions have seen is then taken back by a power cut,
/// as `docs/durability.md` says of those that are given up.
#[test]
fn strict_reads_of_transactions_and_what_is_given_up_do_not_wait() {
    let (folder, dead, disk) = (folder(), folder(), Disk::default());
    let (db, space) = strict(&disk, folder.path());
    space.insert("k", "old").expect("room");
    let label = db.stats().epochs.active;
    let held = disk.hold_log();
    let writer = {
        let space = space.clone();
        thread::spawn(move || space.insert("k", "new"))
    };
    let (reader, of) = (db.clone(), space.clone());
    let seen = within_a_while(move || read_and_give_up(&reader, &of));
    let is_waiting = !writer.is_finished();
    copy(folder.path(), &dead.path().join("dead"));
    // One that commits waits, although it has only read.
    let (committer, of) = (db.clone(), space.clone());
    let commit = thread::spawn(move || {
        let read = committer.transact(|on| on.get(&of, "k"));
        (read.expect("sound").map(|value| value.to_vec()), committer.durable_epoch())
    });
    drop(held);
    assert_eq!(seen.as_deref(), Some(&b"new"[..]), "a read or an end of a transaction waits");
    assert!(is_waiting, "the value was durable");
    writer.join().expect("no panic").expect("a disk");
    let (value, durable) = commit.join().expect("no panic");
    assert!(durable >= label, "{durable} is durable, and the value is of {label} or a later epoch");
    assert_eq!(value.as_deref(), Some(&b"new"[..]));
    assert_eq!(space.len().expect("sound"), 1);
    let dead = relaxed(&dead.path().join("dead"));
    assert!(matches!(dead.recovery().source, RecoveredFrom::Log { .. }), "{}", dead.recovery());
    let value = dead.keyspace("s").and_then(|space| space.get("k")).expect("sound");
    assert_eq!(value.as_deref(), Some(&b"old"[..]));
}

/// What was written before a check becomes durable behind it: hardly an epoch ends while the check reads, however many
/// calls of `sync` ask for one.
#[test]
fn a_check_keeps_its_epoch_open() {
    const CHECKS: usize = 5;
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    space.insert_many((0..120_000_u32).map(|number| (number.to_be_bytes(), [7; 40]))).expect("room");
    let (is_over, syncs) = (AtomicBool::new(false), AtomicU32::new(0));
    let ended = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(SeqCst) {
                space.insert("k", "v").and_then(|()| db.sync()).expect("a disk");
                syncs.fetch_add(1, SeqCst);
            }
        });
        let check = |_| {
            // The other thread is at work.
            let before = syncs.load(SeqCst);
            while syncs.load(SeqCst) < before + 2 {
                thread::yield_now();
            }
            let before = db.durable_epoch();
            let report = db.check().expect("sound");
            (db.durable_epoch() - before, report.faults)
        };
        let ended: Vec<_> = (0..CHECKS).map(check).collect();
        is_over.store(true, SeqCst);
        ended
    });
    // The thread may be interrupted between a check and a look.
    let few = ended.iter().filter(|(ended, faults)| *ended <= 3 && faults.is_empty()).count();
    assert!(few > CHECKS / 2, "epochs became durable while checks read: {ended:?}");
}

/// A key that uses its database while it is asked for its bytes.
struct Using {
    db: Database,
    space: Keyspace,
    uses: Arc<AtomicU32>,
    bytes: &'static [u8],
}

impl AsRef<[u8]> for Using {
    fn as_ref(&self) -> &[u8] {
        let Using { db, space, .. } = self;
        self.uses.fetch_add(1, SeqCst);
        db.sync().expect("a disk");
        assert!(space.get("other").expect("sound").is_some());
        space.insert("other", "changed").expect("room");
        assert!(!space.remove("absent").expect("sound"));
        db.transact(|on| on.insert(space, "third", "value")).expect("alone");
        assert!(db.check().expect("sound").faults.is_empty());
        self.bytes
    }
}

/// A call that pins its epoch before it asks waits for itself: `sync` waits for the end of the epoch, and the epoch for
/// the call.
#[test]
fn a_key_may_use_its_database_while_it_is_removed() {
    for durability in [Durability::Strict, Durability::default(), Durability::OnSync] {
        let folder = folder();
        let db = tools::builder().durability(durability).open(folder.path()).expect("new");
        let space = db.keyspace("s").expect("a name");
        space.insert("other", "value").expect("room");
        let uses = Arc::new(AtomicU32::new(0));
        let using = |bytes| Using { db: db.clone(), space: space.clone(), uses: uses.clone(), bytes };
        let (keys, of) = ([(); 8].map(|()| using(b"key")), space.clone());
        let calls = move || {
            let [inserted, value, read, present, removed, again, swapped, taken] = keys;
            of.insert(inserted, value)?;
            assert_eq!(of.get(read)?.as_deref(), Some(&b"key"[..]));
            assert!(of.contains_key(present)?);
            assert!(of.remove(removed)?);
            assert!(!of.remove(again)?);
            assert!(of.swap(swapped, "value")?.is_none());
            of.take(taken).map(|taken| taken.map(|value| value.to_vec()))
        };
        let taken = within_a_while(calls).expect("a call waits for itself");
        assert_eq!(taken.expect("sound").as_deref(), Some(&b"value"[..]));
        assert!(uses.load(SeqCst) >= 8, "{uses:?}");
        assert_eq!(space.get("other").expect("sound").as_deref(), Some(&b"changed"[..]));
        assert_eq!(space.len().expect("sound"), 2);
    }
}
