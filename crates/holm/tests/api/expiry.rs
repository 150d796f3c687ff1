//! Expiry of keys: options, the atomic operations, the sweeper beside writers, crashes, and a clock that is set back.

use crate::children::Other;
use crate::disks::Disk;
use crate::hands::{Hands, put_until, time};
use crate::tools::{Stop, assert_sound, builder, copy, folder, relaxed};
use holm::{Builder, Database, Durability, Error, Expiry, Keyspace, KeyspaceOptions, RecoveredFrom, Sweep};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

fn expiring() -> KeyspaceOptions {
    KeyspaceOptions::new().expires(true)
}

fn manual(hands: &Hands) -> Builder {
    hands.move_time_of(builder().durability(Durability::OnSync).sweep(Sweep::Manual))
}

fn open(path: &Path, hands: &Hands) -> (Database, Keyspace) {
    let db = manual(hands).open(path).expect("a sound database");
    let space = db.keyspace_with("tides", &expiring()).expect("a name");
    (db, space)
}

fn text(value: Option<holm::Slice>) -> Option<String> {
    value.map(|value| String::from_utf8_lossy(&value).into_owned())
}

#[test]
fn options_are_chosen_once_and_kept() {
    let folder = folder();
    let db = relaxed(folder.path());
    let tides = db.keyspace_with("tides", &expiring()).expect("a name");
    assert_eq!(tides.options(), expiring());
    assert!(tides.options().has_expiry() && !KeyspaceOptions::new().has_expiry());
    assert_eq!(db.keyspace("tides").expect("it is there").options(), expiring());
    assert_eq!(db.keyspace("reefs").expect("a name").options(), KeyspaceOptions::new());
    for (name, other) in [("tides", KeyspaceOptions::new()), ("reefs", expiring()), ("default", expiring())] {
        let refused = db.keyspace_with(name, &other).map(drop);
        assert!(matches!(&refused, Err(Error::Invalid { what }) if what.contains(name)), "{refused:?}");
    }
    drop(tides);
    db.close().expect("a sound close");
    let db = relaxed(folder.path());
    assert_eq!(db.keyspace("tides").expect("it is there").options(), expiring());
    assert_eq!(db.keyspace("reefs").expect("it is there").options(), KeyspaceOptions::new());
    // A name that was dropped is a new keyspace.
    assert!(db.drop_keyspace("tides").expect("it is there"));
    assert_eq!(db.keyspace("tides").expect("a name").options(), KeyspaceOptions::new());
}

#[test]
fn a_keyspace_without_expiry_refuses_what_needs_it() {
    let folder = folder();
    let db = relaxed(folder.path());
    let reefs = db.keyspace("reefs").expect("a name");
    let (hour, at) = (Duration::from_secs(3_600), time(1));
    let invalid = |refused: Result<(), Error>| {
        assert!(matches!(&refused, Err(Error::Invalid { what }) if what.contains("reefs")), "{refused:?}");
    };
    invalid(reefs.insert_for("key", "value", hour));
    invalid(reefs.insert_until("key", "value", at));
    invalid(reefs.expiry("key").map(drop));
    invalid(reefs.persist("key").map(drop));
    invalid(reefs.expire_in("key", hour).map(drop));
    invalid(reefs.expire_at("key", at).map(drop));
    invalid(reefs.expired(at, 1).map(drop));
    invalid(db.batch().insert(&reefs, "other", "value").insert_for(&reefs, "key", "value", hour).commit());
    invalid(db.batch().insert_until(&reefs, "key", "value", at).commit());
    invalid(db.begin().insert_for(&reefs, "key", "value", hour));
    invalid(db.begin().insert_until(&reefs, "key", "value", at));
    invalid(db.begin().expire_in(&reefs, "key", hour).map(drop));
    invalid(db.begin().expire_at(&reefs, "key", at).map(drop));
    invalid(db.snapshot().expect("open").keyspace("reefs").expect("it is there").expiry("key").map(drop));
    assert!(reefs.is_empty().expect("sound"));
    assert_eq!(db.sweep().expect("nothing to do"), 0);
}

/// What each operation finds of a key that has expired, and what becomes of the deadline of one that has not.
#[test]
fn atomic_operations_keep_a_deadline_and_pass_over_an_expired_key() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (_db, tides) = open(folder.path(), &hands);
    let expiry = |key: &str| tides.expiry(key).expect("sound");
    let kept = Some(Expiry::At(time(2_000)));
    let fresh = |key: &str| put_until(&tides, key, "1", 2_000);

    fresh("swapped if equal");
    tides.compare_and_swap("swapped if equal", Some(b"1"), Some(b"2")).expect("room").expect("equal");
    assert_eq!(expiry("swapped if equal"), kept);
    fresh("fetched");
    assert_eq!(text(tides.fetch_update("fetched", |_| Some(b"2".to_vec())).expect("room")), Some("1".into()));
    assert_eq!(expiry("fetched"), kept);
    fresh("updated");
    tides.update_fetch("updated", |_| Some(b"2".to_vec())).expect("room");
    assert_eq!(expiry("updated"), kept);
    tides.insert_until("counted", 5i64.to_le_bytes(), time(2_000)).expect("room");
    assert_eq!(tides.increment("counted", 1).expect("a number"), 6);
    assert_eq!(expiry("counted"), kept);
    fresh("there");
    assert_eq!(text(tides.insert_if_absent("there", "2").expect("sound")), Some("1".into()));
    assert_eq!(tides.get_or_insert_with("there", || b"2".to_vec()).expect("sound"), b"1"[..]);
    assert_eq!(expiry("there"), kept);
    // These clear it.
    fresh("swapped");
    assert_eq!(text(tides.swap("swapped", "2").expect("room")), Some("1".into()));
    fresh("inserted");
    tides.insert("inserted", "2").expect("room");
    fresh("persisted");
    assert!(tides.persist("persisted").expect("room") && !tides.persist("persisted").expect("sound"));
    for key in ["swapped", "inserted", "persisted"] {
        assert_eq!(expiry(key), Some(Expiry::Never), "{key}");
    }

    for key in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
        put_until(&tides, key, "old", 1_500);
    }
    hands.set(1_500);
    let refused = tides.compare_and_swap("a", Some(b"old"), Some(b"new")).expect("sound");
    assert_eq!(refused.expect_err("it is absent").current, None);
    tides.compare_and_swap("a", None, Some(b"new")).expect("room").expect("absent");
    assert_eq!(tides.fetch_update("b", |found| found.is_none().then(|| b"new".to_vec())).expect("room"), None);
    assert_eq!(text(tides.update_fetch("c", |_| Some(b"new".to_vec())).expect("room")), Some("new".into()));
    assert_eq!(tides.increment("d", 3).expect("an absent key counts as zero"), 3);
    assert_eq!(tides.insert_if_absent("e", "new").expect("room"), None);
    assert_eq!(tides.get_or_insert_with("f", || b"new".to_vec()).expect("room"), b"new"[..]);
    assert_eq!(tides.swap("g", "new").expect("room"), None);
    assert_eq!(tides.take("h").expect("sound"), None);
    assert!(!tides.persist("i").expect("sound"));
    assert!(!tides.remove("j").expect("sound"));
    for key in ["a", "b", "c", "d", "e", "f", "g"] {
        assert_eq!(expiry(key), Some(Expiry::Never), "{key}: the old deadline is gone with the old value");
    }
    assert_eq!([expiry("h"), expiry("i"), expiry("j")], [None; 3]);
    assert_eq!(tides.get("i").expect("sound"), None);
}

#[test]
fn pops_pass_over_expired_pairs() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, jobs) = open(folder.path(), &hands);
    for number in 0..200u32 {
        // The first leaves and the last ones have expired throughout.
        let deadline = if (90..110).contains(&number) { 5_000 } else { 1_500 };
        jobs.insert_until(number.to_be_bytes(), "job", time(deadline)).expect("room");
    }
    hands.set(2_000);
    let number = |pair: Option<(holm::Slice, holm::Slice)>| pair.map(|(key, _)| key[3]);
    assert_eq!(number(jobs.first().expect("sound")), Some(90));
    assert_eq!(number(jobs.last().expect("sound")), Some(109));
    assert_eq!(number(jobs.pop_first().expect("sound")), Some(90));
    assert_eq!(number(jobs.pop_last().expect("sound")), Some(109));
    assert_eq!(jobs.iter().limit(3).map(|pair| pair.expect("sound").0[3]).collect::<Vec<_>>(), [91, 92, 93]);
    assert_eq!(jobs.iter().rev().map(|pair| pair.expect("sound").0[3]).last(), Some(91));
    hands.set(6_000);
    assert_eq!(number(jobs.pop_first().expect("sound")), None);
    assert!(jobs.is_empty().expect("sound"));
    assert_eq!(jobs.len().expect("sound"), 198);
    assert_eq!(db.sweep().expect("room"), 198);
    assert_eq!(jobs.len().expect("sound"), 0);
    assert_sound(&db);
}

/// A transaction and a snapshot see one time, whatever the clock does meanwhile.
#[test]
fn transactions_and_snapshots_keep_their_time() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(folder.path(), &hands);
    put_until(&tides, "first", "1", 1_500);
    put_until(&tides, "second", "2", 1_500);
    let (transaction, snapshot) = (db.begin(), db.snapshot().expect("open"));
    assert!(transaction.contains_key(&tides, "first").expect("it is there"));
    hands.set(2_000);
    assert_eq!(tides.get("first").expect("sound"), None);
    assert!(transaction.contains_key(&tides, "second").expect("of the same time"));
    assert_eq!(transaction.iter(&tides).expect("ours").count(), 2);
    let then = snapshot.keyspace("tides").expect("it was there");
    assert_eq!(then.iter().count(), 2);
    assert_eq!(then.expiry("first").expect("kept"), Some(Expiry::At(time(1_500))));
    assert_eq!(db.sweep().expect("room"), 2);
    assert_eq!(then.iter().rev().count(), 2);
    assert_eq!(text(then.get("second").expect("kept")), Some("2".into()));
    let later = db.snapshot().expect("open");
    assert_eq!(later.keyspace("tides").expect("it is there").len().expect("sound"), 0);
}

/// Two keys have one deadline. A transaction that has seen the first never misses the second because it was swept.
#[test]
fn a_sweep_is_no_part_of_a_transactions_view() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(folder.path(), &hands);
    for number in 0..100u32 {
        // Many leaves lie between the two.
        tides.insert(number.to_be_bytes(), "").expect("room");
    }
    tides.insert_until(0u32.to_be_bytes(), "1", time(1_500)).expect("room");
    tides.insert_until(99u32.to_be_bytes(), "2", time(1_500)).expect("room");
    let (reading, writing) = (db.begin(), db.begin());
    assert!(reading.contains_key(&tides, 50u32.to_be_bytes()).expect("it is there"));
    assert!(writing.contains_key(&tides, 0u32.to_be_bytes()).expect("it is there"));
    writing.insert(&tides, "seen", "").expect("room");
    hands.set(2_000);
    assert_eq!(db.sweep().expect("room"), 2);
    let found = reading.contains_key(&tides, 99u32.to_be_bytes());
    assert!(matches!(found, Err(Error::Conflict)), "{found:?}");
    let committed = writing.commit().map(drop);
    assert!(matches!(committed, Err(Error::Conflict)), "{committed:?}");
    // Begun anew, it sees neither.
    let both = db.transact(|transaction| {
        let found = [0u32, 99].map(|number| transaction.contains_key(&tides, number.to_be_bytes()));
        Ok::<_, Error>([found[0].clone()?, found[1].clone()?])
    });
    assert_eq!(both.expect("alone"), [false, false]);
}

/// The sweeper looks at a key that has expired, and another thread stores a value under it, in any way that there is:
/// the value stays.
#[test]
fn a_sweep_never_removes_a_value_put_again() {
    const KEYS: u32 = 40;
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(folder.path(), &hands);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Stop(&done);
        let sweeps = [0, 1].map(|_| {
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    db.sweep().expect("room");
                }
            })
        });
        for round in 0..16_000u32 {
            let key = (round % KEYS).to_be_bytes();
            // It has expired when it is written, and the sweepers run for it.
            tides.insert_until(key, "over", time(1)).expect("room");
            assert_eq!(tides.get(key).expect("sound"), None);
            let value = round.to_be_bytes();
            let way = round / KEYS % 8;
            let put = match way {
                0 => tides.insert(key, value),
                1 => tides.insert_for(key, value, Duration::from_secs(60)),
                2 => tides.swap(key, value).map(|before| assert_eq!(before, None)),
                3 => tides.insert_if_absent(key, value).map(|present| assert_eq!(present, None)),
                4 => tides.compare_and_swap(key, None, Some(&value)).map(|swapped| swapped.expect("absent")),
                5 => tides.update_fetch(key, |_| Some(value.to_vec())).map(drop),
                6 => db.batch().insert(&tides, key, value).remove(&tides, "other").commit(),
                _ => db.transact(|transaction| match transaction.contains_key(&tides, key)? {
                    true => panic!("it has expired"),
                    false => transaction.insert(&tides, key, value),
                }),
            };
            put.expect("room");
            let found = tides.get(key).expect("sound");
            assert_eq!(found.as_deref(), Some(&value[..]), "round {round}: a value put in way {way} is lost");
        }
        done.store(true, SeqCst);
        for sweep in sweeps {
            sweep.join().expect("no panic");
        }
    });
    assert_eq!(tides.len().expect("sound"), u64::from(KEYS));
    assert_eq!(tides.iter().count(), KEYS as usize);
    assert_sound(&db);
}

/// The thread in the background sweeps by itself, also in keyspaces that are created later.
#[test]
fn the_sweeper_sweeps() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let every = hands.move_time_of(builder().durability(Durability::OnSync).sweep(Sweep::Every(Duration::ZERO)));
    let db = every.clone().open(folder.path()).expect("a new database");
    assert_eq!(db.stats().sweep.passes, 0, "no keyspace with expiry, and no thread");
    let fill = |space: &Keyspace| {
        (0..1_000u32).for_each(|number| space.insert_until(number.to_be_bytes(), "x", time(1_500)).expect("room"));
        space.insert("stays", "x").expect("room");
    };
    let swept = |space: &Keyspace| {
        while space.len().expect("sound") > 1 {
            thread::yield_now();
        }
        assert!(space.contains_key("stays").expect("sound"));
    };
    let first = db.keyspace_with("first", &expiring()).expect("a name");
    fill(&first);
    hands.set(2_000);
    swept(&first);
    let second = db.keyspace_with("second", &expiring()).expect("a name");
    fill(&second);
    swept(&second);
    while db.stats().sweep.last_pass_ns == 0 {
        thread::yield_now();
    }
    let stats = db.stats().sweep;
    assert!(stats.records_read >= 2_000 && stats.records_removed == 2_000 && stats.passes > 1, "{stats:?}");
    assert!(stats.last_pass_ns >= stats.last_pass_work_ns);
    assert!(db.drop_keyspace("second").expect("it is there"));
    drop((first, second));
    db.close().expect("a sound close");
    // At the next open it begins by itself.
    hands.set(1_000);
    let db = every.open(folder.path()).expect("closed");
    let first = db.keyspace("first").expect("it is there");
    fill(&first);
    swept(&first);
    assert_sound(&db);
}

/// The sweeper keeps no database open: neither while it sleeps for an hour, nor while it works.
#[test]
fn the_last_handle_closes_beside_the_sweeper() {
    let folder = folder();
    let lengths = [Duration::from_secs(3_600), Duration::MAX, Duration::ZERO];
    for (round, length) in lengths.into_iter().cycle().take(30).enumerate() {
        let builder = builder().durability(Durability::OnSync).sweep(Sweep::Every(length));
        let db = builder.open(folder.path()).expect("the handles before are dropped");
        let tides = db.keyspace_with("tides", &expiring()).expect("a name");
        for number in 0..100u32 {
            tides.insert_for(number.to_be_bytes(), "x", Duration::ZERO).expect("room");
        }
        if round % 2 == 0 {
            drop(db);
            drop(tides);
        } else {
            db.close().expect("a sound close");
            // The keyspace still reads, and holds the lock.
            assert_eq!(tides.get(1u32.to_be_bytes()).expect("it still reads"), None);
            assert!(matches!(tides.insert("key", "value"), Err(Error::Poisoned { .. })));
        }
    }
}

#[test]
fn after_a_close_nothing_is_swept() {
    let folder = folder();
    let db = relaxed(folder.path());
    let tides = db.keyspace_with("tides", &expiring()).expect("a name");
    let other = db.clone();
    db.close().expect("a sound close");
    assert!(matches!(other.sweep(), Err(Error::Poisoned { .. })));
    assert!(matches!(tides.persist("absent"), Ok(false)));
    assert!(matches!(other.keyspace_with("new", &expiring()), Err(Error::Poisoned { .. })));
    assert!(other.drop_keyspace("tides").is_err());
}

/// A failing disk poisons the database. The sweeper ends, and everybody else gets the error.
#[test]
fn a_poisoned_database_is_swept_no_more() {
    let folder = folder();
    let disk = Disk::default();
    let broken = builder().sweep(Sweep::Every(Duration::ZERO)).vfs(Arc::new(disk.clone()), [0; 2]);
    let db = broken.durability(Durability::Strict).open(folder.path()).expect("a new database");
    let tides = db.keyspace_with("tides", &expiring()).expect("a name");
    tides.insert_for("key", "value", Duration::ZERO).expect("room");
    disk.break_log();
    while tides.insert_for("key", "value", Duration::ZERO).is_ok() {}
    assert!(matches!(db.sweep(), Err(Error::Poisoned { .. })));
    drop(tides);
    drop(db);
    assert!(builder().open(folder.path()).is_ok());
}

#[test]
fn a_dropped_keyspace_says_so() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(folder.path(), &hands);
    put_until(&tides, "key", "value", 1);
    let own = db.begin();
    own.insert_for(&tides, "key", "value", Duration::from_secs(9)).expect("small");
    assert!(db.drop_keyspace("tides").expect("it is there"));
    let dropped = |refused: Result<(), Error>| assert!(matches!(refused, Err(Error::Dropped { .. })), "{refused:?}");
    dropped(tides.insert_for("key", "value", Duration::ZERO));
    dropped(tides.expiry("key").map(drop));
    dropped(tides.persist("key").map(drop));
    dropped(tides.expired(time(2_000), 1).map(drop));
    dropped(own.expiry(&tides, "key").map(drop));
    assert_eq!(db.sweep().expect("nothing to do"), 0);
}

/// An open with a clock that was set back begins with the time of the close.
#[test]
fn time_does_not_go_back_over_a_close() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(folder.path(), &hands);
    put_until(&tides, "key", "value", 1_500);
    assert!(!tides.is_empty().expect("sound"));
    hands.set(2_000);
    assert_eq!(tides.get("key").expect("sound"), None);
    assert!(tides.is_empty().expect("sound"), "what has expired is not there");
    hands.set(1_000);
    assert_eq!(tides.get("key").expect("sound"), None, "while it is open");
    drop(tides);
    db.close().expect("a sound close");
    let (_db, tides) = open(folder.path(), &hands);
    assert_eq!(tides.get("key").expect("sound"), None, "after a close");
    assert_eq!(tides.len().expect("sound"), 1);
}

/// Two keys have one deadline, and a sweep has removed one of them when the power fails. The clock is set back. The
/// other key must not come back: the cut that has the removal has its time.
#[test]
fn time_does_not_go_back_over_a_power_cut_that_keeps_a_removal() {
    let folder = folder();
    let (live, cut) = (folder.path().join("live"), folder.path().join("cut"));
    let hands = Hands::at(1_000);
    let (db, tides) = open(&live, &hands);
    for number in 0..200u32 {
        tides.insert_until(number.to_be_bytes(), "x", time(1_500)).expect("room");
    }
    db.sync().expect("a disk");
    hands.set(2_000);
    assert_eq!(db.sweep().expect("room"), 200);
    // Stored after the sweep, so a prefix that has them has the sweep.
    put_until(&tides, "last", "x", 1_500);
    tides.insert("never", "x").expect("room");
    db.sync().expect("a disk");
    copy(&live, &cut);
    hands.set(1_000);
    let (db, tides) = open(&cut, &hands);
    assert!(matches!(db.recovery().source, RecoveredFrom::Log { .. }), "{:?}", db.recovery());
    assert_eq!(tides.iter().map(|pair| pair.expect("sound").0.to_vec()).collect::<Vec<_>>(), [b"never"]);
    assert_eq!(tides.len().expect("sound"), 2);
    assert_sound(&db);
}

/// A sweep that a power cut takes back was invisible, and is done again.
#[test]
fn a_lost_sweep_is_done_again() {
    let folder = folder();
    let (live, cut) = (folder.path().join("live"), folder.path().join("cut"));
    let hands = Hands::at(1_000);
    let (db, tides) = open(&live, &hands);
    for number in 0..500u32 {
        tides.insert_until(number.to_be_bytes(), "x", time(1_500 + u64::from(number % 2) * 1_000)).expect("room");
    }
    db.sync().expect("a disk");
    copy(&live, &cut);
    hands.set(2_000);
    assert_eq!(db.sweep().expect("room"), 250);
    let (db, tides) = open(&cut, &hands);
    assert_eq!((tides.len().expect("sound"), tides.iter().count()), (500, 250));
    assert_eq!(db.sweep().expect("room"), 250);
    assert_eq!((tides.len().expect("sound"), tides.iter().count()), (250, 250));
    assert_sound(&db);
}

/// The part of a process that is killed while its sweeper works.
pub(crate) fn sweep_until_killed(path: &Path, say: &dyn Fn(&str)) {
    let hands = Hands::at(1_000);
    let every = builder().durability(Durability::OnSync).sweep(Sweep::Every(Duration::ZERO));
    let db = hands.move_time_of(every).open(path).expect("nobody else");
    let tides = db.keyspace_with("tides", &expiring()).expect("a name");
    for number in 0..20_000u32 {
        // Of forty, one stays for ever, and one for longer than the others.
        let key = number.to_be_bytes();
        match number % 40 {
            0 => tides.insert(key, "x").expect("room"),
            1 => tides.insert_until(key, "x", time(8_000)).expect("room"),
            _ => tides.insert_until(key, "x", time(1_500)).expect("room"),
        }
    }
    hands.set(5_000);
    while db.stats().sweep.records_removed == 0 {
        thread::yield_now();
    }
    say("sweeping");
}

/// A process dies while its sweeper works: the next open has every deadline, and sweeps what is left.
#[test]
fn what_a_killed_process_swept_is_gone_and_the_rest_is_over() {
    let folder = folder();
    let other = Other::start("expire", folder.path());
    assert_eq!(other.said, "sweeping");
    other.kill();
    let hands = Hands::at(1_000);
    let (db, tides) = open(folder.path(), &hands);
    if db.recovery().source != RecoveredFrom::PageCache {
        println!("skipped: this file system's page cache is not trusted ({:?})", db.recovery());
        return;
    }
    // The child's clock stood at 5,000; this one is behind, and a sweep had begun.
    assert_eq!(tides.iter().count(), 1_000);
    let left = tides.len().expect("sound") - 1_000;
    assert_eq!(db.sweep().expect("room"), left);
    hands.set(9_000);
    assert_eq!(tides.iter().count(), 500);
    assert_sound(&db);
}

/// A leaf of large values is copied in parts, from either end.
#[test]
fn large_values_have_deadlines_too() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let (db, tides) = open(folder.path(), &hands);
    for number in 0..30u32 {
        let deadline = if number % 3 == 0 { 1_500 } else { 5_000 };
        tides.insert_until(number.to_be_bytes(), vec![number as u8; 300_000], time(deadline)).expect("room");
    }
    hands.set(2_000);
    let mut pairs = tides.iter();
    let (mut count, mut backwards) = (0, false);
    while let Some(pair) = if backwards { pairs.next_back_ref() } else { pairs.next_ref() } {
        let (key, value) = pair.expect("sound");
        assert!(value.len() == 300_000 && value.iter().all(|byte| *byte == key[3]) && key[3] % 3 != 0);
        (count, backwards) = (count + 1, !backwards);
    }
    assert_eq!(count, 20);
    assert_eq!(tides.get(1u32.to_be_bytes()).expect("sound").map(|value| value.len()), Some(300_000));
    assert_eq!(db.sweep().expect("room"), 10);
    assert_sound(&db);
}
