//! Backups of keyspaces that are dropped while the backup is written: it has them, and their space is free afterwards.

use crate::backups::{Contents, assert_same, fill};
use crate::tools::{self, Stop, assert_sound, folder, relaxed};
use holm::{BackupInfo, Database, Error, Expiry, Keyspace, KeyspaceOptions, Transaction, verify_backup};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, SystemTime};

const COUNT: u32 = 8_000;
const VALUE: [u8; 100] = [7; 100];

/// A stream in memory, which does something else before it takes the bytes of one of its calls.
pub(crate) struct Meddling<F: FnOnce()> {
    bytes: Vec<u8>,
    calls: usize,
    meddle: Option<F>,
}

impl<F: FnOnce()> Meddling<F> {
    pub(crate) fn at(calls: usize, meddle: F) -> Self {
        Meddling { bytes: Vec::new(), calls, meddle: Some(meddle) }
    }
}

impl<F: FnOnce()> Write for Meddling<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.calls.checked_sub(1) {
            Some(calls) => self.calls = calls,
            None => self.meddle.take().into_iter().for_each(|meddle| meddle()),
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn restored(stream: &[u8]) -> Contents {
    let folder = folder();
    Database::restore(&mut &stream[..], folder.path()).expect("a whole backup");
    let db = relaxed(folder.path());
    assert_sound(&db);
    Contents::of(&db)
}

/// A database with three keyspaces that have something, one of them with expiry.
fn with_three(folder: &std::path::Path) -> Database {
    let db = relaxed(folder);
    fill(&db.keyspace("a").expect("a name"), 0..COUNT, &VALUE);
    fill(&db.keyspace("c").expect("a name"), 0..COUNT, &VALUE);
    let tides = db.keyspace_with("b", &KeyspaceOptions::new().expires(true)).expect("a name");
    let later = SystemTime::now() + Duration::from_secs(3_600);
    (0..COUNT).for_each(|number| tides.insert_until(number.to_be_bytes(), VALUE, later).expect("room"));
    db.sync().expect("a disk");
    db
}

/// Lets what was freed be reused, if anything was, and writes over it.
fn write_over(db: &Database) {
    for round in 0..4u8 {
        db.sync().expect("a disk");
        fill(&db.keyspace("other").expect("a name"), 0..COUNT / 2, &[round; 100]);
    }
}

/// The backup failed with `Dropped` where a keyspace was dropped while it was written.
#[test]
fn a_backup_has_what_is_dropped_meanwhile() {
    // Before the first pair, and in the midst of each keyspace.
    for calls in [0, 6, 14, 22] {
        let folder = folder();
        let db = with_three(folder.path());
        let (expected, handle) = (Contents::of(&db), db.keyspace("c").expect("it exists"));
        let mut stream = Meddling::at(calls, || {
            for name in ["a", "b", "c"] {
                assert!(db.drop_keyspace(name).expect("a disk"));
            }
            assert!(matches!(handle.get("key"), Err(Error::Dropped { .. })), "at once");
            assert!(matches!(handle.insert("key", ""), Err(Error::Dropped { .. })));
            assert_eq!(db.keyspaces().expect("sound"), ["default"]);
            fill(&db.keyspace("c").expect("a name"), 0..9, b"another keyspace");
            write_over(&db);
        });
        let info = db.backup_to(&mut stream).expect("the keyspaces stay for it");
        assert!(stream.meddle.is_none(), "fewer than {calls} calls");
        assert_eq!((info.keyspaces, info.records), (4, 3 * u64::from(COUNT)));
        assert_eq!(verify_backup(&mut &stream.bytes[..]).expect("sound"), info);
        assert_same(&restored(&stream.bytes), &expected);
        assert_sound(&db);
        let now = Contents::of(&db);
        drop(stream);
        drop(handle);
        db.close().expect("a sound close");
        let db = relaxed(folder.path());
        assert_sound(&db);
        assert_same(&Contents::of(&db), &now);
    }
}

/// The last of the backups that read a dropped keyspace frees it.
#[test]
fn a_dropped_keyspace_takes_no_space_after_its_backups() {
    let folder = folder();
    let db = with_three(folder.path());
    let [one, other] = [(); 2].map(|()| db.snapshot().expect("open"));
    let used = |db: &Database| {
        (0..3).for_each(|_| db.sync().expect("a disk"));
        (db.stats().space.record_bytes, db.stats().space.leaf_bytes)
    };
    let before = used(&db);
    let (mut inner, mut within) = (None, None);
    let mut stream = Meddling::at(9, || {
        let mut nested = Meddling::at(9, || {
            ["a", "b", "c"].iter().for_each(|name| assert!(db.drop_keyspace(name).expect("a disk")));
            within = Some(used(&db));
        });
        inner = Some(other.write_to(&mut nested).expect("kept"));
        // Another drop frees nothing that a backup still reads.
        db.keyspace("passing").expect("a name");
        db.drop_keyspace("passing").expect("a disk");
        assert!(used(&db).0 + 100 >= before.0, "the outer backup still reads it");
    });
    let info = one.write_to(&mut stream).expect("kept");
    assert!(within.is_some_and(|within| within.0 + 100 >= before.0));
    assert_eq!(inner.map(|info: BackupInfo| info.records), Some(info.records));
    let after = used(&db);
    assert!(after.0 * 10 < before.0 && after.1 * 4 < before.1, "{before:?}, then {after:?}");
    // What is gone can be read no more, by whatever snapshot.
    for snapshot in [&one, &other] {
        let mut stream = Vec::new();
        let refused = snapshot.write_to(&mut stream);
        assert!(matches!(refused, Err(Error::Dropped { .. })), "{refused:?}");
        assert!(stream.is_empty(), "a refused backup writes nothing");
    }
    drop((one, other));
    assert_sound(&db);
    let mut stream = Vec::new();
    db.backup_to(&mut stream).expect("room");
    assert_same(&restored(&stream), &Contents::of(&db));
}

/// Nobody is left to free it: the next open does.
#[test]
fn a_database_is_closed_while_a_backup_reads_what_was_dropped() {
    let folder = folder();
    let db = with_three(folder.path());
    let (expected, snapshot) = (Contents::of(&db), db.snapshot().expect("open"));
    let mut stream = Meddling::at(9, || {
        db.drop_keyspace("b").expect("a disk");
        db.close().expect("a sound close");
    });
    snapshot.write_to(&mut stream).expect("handles that outlive the close can read");
    assert_same(&restored(&stream.bytes), &expected);
    drop((snapshot, stream.bytes, stream.meddle));
    assert!(Database::open_read_only(folder.path()).expect("closed").check().expect("told").faults.is_empty());
    let db = relaxed(folder.path());
    assert_sound(&db);
    assert_eq!(db.keyspaces().expect("sound"), ["a", "c", "default"]);
    let records = u64::from(COUNT) * 2 + 3;
    assert!(db.stats().space.record_bytes < records * 150, "{:?}", db.stats().space);
}

/// Keyspaces come, are filled at one instant and go, beside backups in folders: each copy has all of a keyspace or
/// nothing.
#[test]
fn backups_beside_drops_are_of_one_instant() {
    let folder = folder();
    let db = tools::open(folder.path().join("db")).expect("new");
    fill(&db.keyspace("stays").expect("a name"), 0..2_000, &VALUE);
    let (stop, dropped) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        scope.spawn(|| {
            for round in 0u32.. {
                let space = db.keyspace(&format!("passing {}", round % 3)).expect("a name");
                let filled = (0..500u32).fold(db.batch(), |batch, key| batch.insert(&space, key.to_be_bytes(), VALUE));
                filled.commit().expect("room");
                db.drop_keyspace(&format!("passing {}", (round + 1) % 3)).expect("a disk");
                dropped.store(true, SeqCst);
                if stop.load(SeqCst) {
                    return;
                }
            }
        });
        for round in 0..6 {
            dropped.store(false, SeqCst);
            let path = folder.path().join(format!("copy {round}"));
            db.backup(&path).expect("whatever is dropped");
            let copy = relaxed(&path);
            for name in copy.keyspaces().expect("sound") {
                let pairs = copy.keyspace(&name).expect("it exists").len().expect("sound");
                assert!([0, 500, 2_000].contains(&pairs), "{pairs} pairs in {name}");
            }
            assert_sound(&copy);
        }
    });
    assert_sound(&db);
}

/// Increments continue a backup that has what was dropped meanwhile.
#[test]
fn an_increment_takes_away_what_the_backup_had() {
    let folder = folder();
    let db = with_three(&folder.path().join("db"));
    let mut stream = Meddling::at(9, || {
        db.drop_keyspace("c").expect("a disk");
        fill(&db.keyspace("d").expect("a name"), 0..9, &VALUE);
    });
    let base = db.backup_to(&mut stream).expect("kept").epoch;
    let copy = folder.path().join("copy");
    Database::restore(&mut &stream.bytes[..], &copy).expect("a whole backup");
    let copy = relaxed(&copy);
    assert!(copy.existing_keyspace("c").expect("sound").is_some());
    db.sync().expect("a disk");
    let mut increment = Meddling::at(2, || assert!(db.drop_keyspace("a").expect("a disk")));
    let expected = Contents::of(&db);
    let info = db.backup_since(base, &mut increment).expect("kept");
    assert!(info.kept > 0 && increment.meddle.is_none(), "{info:?}");
    copy.apply(&mut &increment.bytes[..]).expect("the next one");
    assert_same(&Contents::of(&copy), &expected);
    db.sync().expect("a disk");
    let mut last = Vec::new();
    db.backup_since(info.epoch, &mut last).expect("room");
    copy.apply(&mut &last[..]).expect("the next one");
    assert_same(&Contents::of(&copy), &Contents::of(&db));
    assert_eq!(copy.keyspaces().expect("sound"), ["b", "d", "default"]);
}

/// A backup keeps the leaves of a dropped keyspace as they were. A transaction that had read them went on, and saw what
/// was written after the drop beside what was gone by then.
#[test]
fn a_transaction_sees_no_keyspace_beside_what_followed_its_drop() {
    for scans in [false, true] {
        let folder = folder();
        let db = relaxed(folder.path());
        let [gone, other] = ["gone", "other"].map(|name| db.keyspace(name).expect("a name"));
        gone.insert("a", "1").expect("room");
        let begin = || {
            let transaction = db.begin();
            let found = match scans {
                true => transaction.iter(&gone).expect("a handle").count(),
                false => usize::from(transaction.contains_key(&gone, "a").expect("sound")),
            };
            assert_eq!(found, 1);
            transaction
        };
        let (reads, writes) = (begin(), begin());
        let stream = &mut Meddling::at(0, || {
            assert!(db.drop_keyspace("gone").expect("a disk"));
            other.insert("b", "2").expect("room");
            let read = reads.get(&other, "b");
            assert!(matches!(read, Err(Error::Conflict)), "scans: {scans}: {read:?}");
            writes.insert(&other, "c", "3").expect("small");
            let written = writes.commit().map(drop);
            assert!(matches!(written, Err(Error::Conflict)), "scans: {scans}: {written:?}");
        });
        db.backup_to(stream).expect("a buffer");
        assert_eq!(other.len().expect("sound"), 1);
    }
}

/// The same for a transaction that has read many leaves and goes on at a snapshot of its own: also where its first read
/// after the drop is the one that begins the snapshot.
#[test]
fn a_snapshot_of_a_transaction_does_not_hide_a_drop() {
    let folder = folder();
    let db = relaxed(folder.path());
    let [gone, other] = ["gone", "other"].map(|name| db.keyspace(name).expect("a name"));
    gone.insert("a", "1").expect("room");
    (0..4_000u32).for_each(|key| other.insert(key.to_be_bytes(), "1").expect("room"));
    // One leaf for each read.
    let begin = |leaves: u32| {
        let transaction = db.begin();
        assert!(transaction.contains_key(&gone, "a").expect("sound"));
        (0..leaves)
            .for_each(|leaf| assert!(transaction.get(&other, (leaf * 40).to_be_bytes()).expect("sound").is_some()));
        transaction
    };
    let transactions: Vec<_> = (50..80).map(begin).collect();
    let stream = &mut Meddling::at(0, || {
        assert!(db.drop_keyspace("gone").expect("a disk"));
        other.insert("b", "2").expect("room");
        for (transaction, leaves) in transactions.iter().zip(50..) {
            // Where the snapshot was there before the drop, the read is of the time before it.
            let read = transaction.get(&other, "b");
            assert!(matches!(read, Err(Error::Conflict) | Ok(None)), "after {leaves} leaves: {read:?}");
        }
        let conflicts = transactions.iter().filter(|it| it.get(&other, "b").is_err()).count();
        assert!((1..30).contains(&conflicts), "{conflicts} had no snapshot by then");
    });
    db.backup_to(stream).expect("a buffer");
}

/// A transaction that has gone on at a snapshot depends on a keyspace that it has read only since then: by a deadline,
/// or by a scan. A backup keeps the leaves of that keyspace as they are, so their versions say nothing of its drop.
#[test]
fn a_commit_depends_on_a_keyspace_that_it_has_read_at_a_snapshot_alone() {
    let deadline: fn(&Transaction, &Keyspace) =
        |transaction, gone| assert_eq!(transaction.expiry(gone, "a").expect("sound"), Some(Expiry::Never));
    let scan: fn(&Transaction, &Keyspace) = |transaction, gone| {
        let pairs = transaction.range::<&[u8]>(gone, ..).expect("sound");
        assert_eq!(pairs.count(), 1, "it is there at the snapshot");
    };
    for read in [deadline, scan] {
        let folder = folder();
        let db = relaxed(folder.path());
        let gone = db.keyspace_with("gone", &KeyspaceOptions::new().expires(true)).expect("a name");
        let other = db.keyspace("other").expect("a name");
        gone.insert("a", "1").expect("room");
        (0..4_000_u32).for_each(|key| other.insert(key.to_be_bytes(), "1").expect("room"));
        let transaction = db.begin();
        // One leaf for each read, and more of them than a transaction notes without a snapshot.
        (0..90_u32).for_each(|leaf| {
            assert!(transaction.get(&other, (leaf * 40).to_be_bytes()).expect("sound").is_some());
        });
        let stream = &mut Meddling::at(0, || {
            read(&transaction, &gone);
            assert!(db.drop_keyspace("gone").expect("a disk"));
            transaction.insert(&other, "b", "2").expect("room");
            let committed = transaction.commit();
            assert!(matches!(committed, Err(Error::Conflict | Error::Dropped { .. })), "{committed:?}");
        });
        db.backup_to(stream).expect("a buffer");
    }
}
