//! Marks: they rise, belong to what was committed with them, and survive with it.

use crate::children::{self, Other};
use crate::tools::{self, assert_sound, folder};
use holm::{Database, Durability, Error, Feed, Keyspace, KeyspaceOptions};
use std::path::Path;
use std::thread;
use std::time::Duration;

fn count(space: &Keyspace) -> Option<u64> {
    let value = space.get("count").expect("sound")?;
    Some(u64::from_le_bytes(value[..].try_into().expect("eight bytes")))
}

fn set(db: &Database, space: &Keyspace, mark: u64) -> holm::Result<()> {
    db.batch().insert(space, "count", mark.to_le_bytes()).set_mark(mark).commit()
}

/// Returns whether a feed has given a mark, and what it gives after the epoch of that mark.
fn given_after_a_mark(feed: &mut Feed, mark: u64) -> (bool, usize) {
    let (mut is_given, mut later) = (false, 0);
    while let Some(changes) = feed.next(Duration::ZERO).expect("the database is sound") {
        later += if is_given { changes.len() } else { 0 };
        is_given |= changes.mark() == Some(mark);
    }
    (is_given, later)
}

/// The mark came first, as it lies in the stream: a reader, and a follower of the copy's feed, had the mark of commands
/// whose effects were still missing.
#[test]
fn a_mark_comes_with_an_increment_and_not_before_its_effects() {
    let folder = folder();
    let db = tools::relaxed(&folder.path().join("sea.holm"));
    let space = db.keyspace("s").expect("a name");
    set(&db, &space, 3).expect("above");
    let copy = folder.path().join("copy.holm");
    let base = db.backup(&copy).expect("sound").epoch;
    // A keyspace that is dropped ends epochs while the increment is applied.
    db.drop_keyspace("s").expect("it exists");
    let space = db.keyspace_with("s", &KeyspaceOptions::new().expires(true)).expect("a name");
    set(&db, &space, 8).expect("above");
    let mut increment = Vec::new();
    db.backup_since(base, &mut increment).expect("sound");

    let copy = tools::relaxed(&copy);
    let mut feed = copy.feed(1 << 20).expect("its leaves have states of epochs");
    copy.apply(&mut &increment[..]).expect("the next one");
    copy.sync().expect("sound");
    assert_eq!(given_after_a_mark(&mut feed, 8), (true, 0));
    assert_eq!((copy.mark().expect("sound"), count(&copy.keyspace("s").expect("it exists"))), (Some(8), Some(8)));
}

/// Nothing sets a mark after the sync that makes one durable.
#[test]
fn a_mark_is_durable_after_a_sync() {
    let folder = folder();
    let db = tools::builder().durability(Durability::OnSync).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    for mark in [3, 8] {
        set(&db, &space, mark).expect("above");
        db.sync().expect("sound");
        assert_eq!(db.durable_mark(), Some(mark));
    }
}

#[test]
fn a_mark_rises_and_stays() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    assert_eq!((db.mark().expect("sound"), db.durable_mark()), (None, None));
    set(&db, &space, 0).expect("zero is a mark");
    set(&db, &space, 5).expect("gaps are allowed");
    for stale in [0, 4, 5] {
        let refused = set(&db, &space, stale);
        assert!(matches!(&refused, Err(Error::Invalid { what }) if what.contains("found 5")), "{refused:?}");
        assert!(matches!(db.begin().set_mark(stale), Err(Error::Invalid { .. })));
    }
    assert_eq!((count(&space), db.mark().expect("sound")), (Some(5), Some(5)), "nothing of a refused batch");
    let transaction = db.begin();
    transaction.set_mark(u64::MAX - 1).expect("above");
    transaction.set_mark(u64::MAX).expect("above its own");
    assert!(matches!(transaction.set_mark(u64::MAX), Err(Error::Invalid { .. })), "its own counts");
    transaction.commit().expect("alone");
    db.batch().commit().expect("an empty batch");
    drop(space);
    db.close().expect("sound");
    assert_eq!(Database::open_read_only(folder.path()).expect("closed").mark().expect("sound"), Some(u64::MAX));
    let db = tools::open(folder.path()).expect("closed");
    assert_eq!((db.mark().expect("sound"), db.durable_mark()), (Some(u64::MAX), Some(u64::MAX)));
    assert_eq!(db.keyspaces().expect("sound"), ["default", "s"], "a mark is no keyspace");
    assert_sound(&db);
}

#[test]
fn two_transactions_do_not_set_one_mark() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let [one, other] = [db.begin(), db.begin()];
    one.set_mark(7).expect("the first");
    other.set_mark(7).expect("nothing is committed yet");
    one.commit().expect("alone");
    assert!(matches!(other.commit(), Err(Error::Conflict)));
}

#[test]
fn a_snapshot_has_its_mark() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let none = db.snapshot().expect("sound");
    set(&db, &space, 1).expect("room");
    let one = db.snapshot().expect("sound");
    set(&db, &space, 2).expect("room");
    assert_eq!([&none, &one].map(|snapshot| snapshot.mark().expect("open")), [None, Some(1)]);
}

#[test]
fn names_that_the_catalog_needs_are_refused() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    for name in ["\0", "\0m", "\0reefs"] {
        let refused = db.keyspace(name);
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
        assert!(db.existing_keyspace(name).expect("sound").is_none());
        assert!(!db.drop_keyspace(name).expect("sound"));
    }
    db.keyspace("m\0").expect("zeros behind the first byte are allowed");
}

/// Threads that each set the next mark: no mark is set twice, and the effects of each are there.
#[test]
fn marks_of_several_threads_rise() {
    const EACH: u64 = 300;
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let marked = db.transact(|transaction| {
                        let next = transaction
                            .get(&space, "count")?
                            .map_or(0, |count| u64::from_le_bytes(count[..].try_into().expect("eight bytes")) + 1);
                        transaction.insert(&space, "count", next.to_le_bytes())?;
                        transaction.set_mark(next)
                    });
                    marked.expect("begun anew after conflicts");
                }
            });
        }
    });
    assert_eq!((count(&space), db.mark().expect("sound")), (Some(3 * EACH - 1), Some(3 * EACH - 1)));
}

/// Batches of several threads that race for the same marks: each mark is set once, by the batch whose effect is there.
#[test]
fn one_batch_sets_a_mark() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let won: Vec<_> = thread::scope(|scope| {
        let racer = |thread: u64| {
            let (db, space) = (&db, &space);
            scope.spawn(move || -> Vec<u64> {
                let set = |mark: &u64| {
                    let batch = db.batch().insert(space, mark.to_be_bytes(), thread.to_be_bytes());
                    match batch.set_mark(*mark).commit() {
                        Err(Error::Invalid { .. }) => false,
                        done => done.map(|()| true).expect("room"),
                    }
                };
                (1..=500).filter(set).collect()
            })
        };
        let racers = [1, 2, 3].map(racer);
        racers.map(|racer| racer.join().expect("no panic")).into()
    });
    for (thread, marks) in (1u64..).zip(&won) {
        for mark in marks {
            assert_eq!(space.get(mark.to_be_bytes()).expect("sound").as_deref(), Some(&thread.to_be_bytes()[..]));
        }
    }
    assert_eq!(won.iter().map(Vec::len).sum::<usize>() as u64, space.len().expect("sound"));
}

/// A copy of the files is restored from the log alone, as after a power cut.
#[test]
fn a_durable_mark_survives_a_power_cut() {
    let (here, there) = (folder(), folder());
    let db = tools::builder().durability(Durability::OnSync).open(here.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    (1..=50).for_each(|mark| set(&db, &space, mark).expect("room"));
    db.sync().expect("a disk");
    (51..=90).for_each(|mark| set(&db, &space, mark).expect("room"));
    let durable = db.durable_mark().expect("synced");
    assert!((50..=90).contains(&durable), "{durable}");
    tools::copy(here.path(), there.path());
    let left = tools::open(there.path()).expect("a prefix");
    let mark = left.mark().expect("sound").expect("synced");
    assert!(mark >= durable, "found {mark}, and {durable} was durable");
    assert_eq!(count(&left.keyspace("s").expect("a name")), Some(mark));
}

/// The body of a child: batches with a count, each with the count as its mark.
pub(crate) fn mark_until_killed(path: &Path, say: &dyn Fn(&str)) {
    let db = tools::builder().durability(Durability::OnSync).open(path).expect("nobody else");
    let spaces = ["s", "t"].map(|name| db.keyspace(name).expect("a name"));
    children::begin("marking", say, move |begun| {
        for mark in 1..=u64::MAX {
            let count = mark.to_le_bytes();
            let batch = db.batch().insert(&spaces[0], "count", count).insert(&spaces[1], count, "");
            batch.set_mark(mark).commit().expect("room");
            if mark == 200 {
                begun();
            }
        }
    });
}

#[test]
fn a_killed_process_leaves_a_mark_with_its_effects() {
    let folder = folder();
    Other::start("mark", folder.path()).kill();
    let db = tools::open(folder.path()).expect("sound");
    let mark = db.mark().expect("sound").expect("some hundreds");
    let spaces = ["s", "t"].map(|name| db.keyspace(name).expect("a name"));
    assert_eq!((count(&spaces[0]), spaces[1].len().expect("sound")), (Some(mark), mark));
    assert_sound(&db);
}

/// A copy whose mark was raised is not what its last backup has made of it.
#[test]
fn a_copy_with_another_mark_has_no_backup_already() {
    let folder = tempfile::tempdir().unwrap();
    let db = Database::open(folder.path().join("sea.holm")).unwrap();
    db.batch().set_mark(3).commit().unwrap();
    let whole = db.backup(folder.path().join("copy.holm")).unwrap();
    db.batch().set_mark(4).commit().unwrap();
    let mut changes = Vec::new();
    db.backup_since(whole.epoch, &mut changes).unwrap();
    let copy = Database::open(folder.path().join("copy.holm")).unwrap();
    let info = copy.apply(&mut &changes[..]).unwrap();
    assert_eq!(copy.apply(&mut &changes[..]).unwrap(), info);
    copy.batch().set_mark(5).commit().unwrap();
    let refused = copy.apply(&mut &changes[..]);
    assert!(matches!(refused, Err(Error::WrongBase { .. })), "{refused:?}");
    assert_eq!(copy.mark().unwrap(), Some(5));
}
