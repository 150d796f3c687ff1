//! Threads on separate keys and on the same keys, with batches and scans beside them, and threads that exit.

use crate::families::Family;
use crate::tools::{self, Chance, Stop, assert_sound, folder, relaxed};
use crate::twin::{Map, walk};
use holm::{Database, Durability, Error, Keyspace, KeyspaceOptions, RecoveredFrom};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// Returns a key that only this thread changes.
fn own(thread: u8, family: Family, chance: &mut Chance) -> Vec<u8> {
    let mut key = family.key(chance);
    key.push(thread);
    key
}

/// Changes the thread's own keys, and knows at every moment what they hold.
fn work(db: &Database, space: &Keyspace, thread: u8, operations: usize) -> Map {
    let mut chance = Chance::new(u64::from(thread));
    let mut map = Map::new();
    for _ in 0..operations {
        let family = *chance.pick(&[Family::Letters, Family::Ties, Family::Paths, Family::High, Family::Numbers]);
        let key = own(thread, family, &mut chance);
        match chance.below(10) {
            0..5 => {
                let value = chance.next().to_le_bytes().repeat(chance.below(8));
                space.insert(&key, &value).expect("room");
                map.insert(key, value);
            }
            5 | 6 => assert_eq!(space.remove(&key).expect("sound"), map.remove(&key).is_some(), "{key:?}"),
            7 => {
                let other = own(thread, family, &mut chance);
                db.batch().remove(space, &other).insert(space, &key, "batch").commit().expect("room");
                map.remove(&other);
                map.insert(key, b"batch".to_vec());
            }
            8 => {
                let mut below = key.clone();
                below.truncate(chance.below(key.len() + 1));
                let walked = space.range(below..=key.clone()).rev().take(30).map(|pair| pair.expect("sound").0);
                let walked: Vec<_> = walked.collect();
                assert!(walked.is_sorted_by(|a, b| a > b), "{walked:?}");
            }
            _ => assert_eq!(space.get(&key).expect("sound").map(Vec::from), map.get(&key).cloned(), "{key:?}"),
        }
    }
    map
}

#[test]
fn four_threads_lose_nothing() {
    for (durability, operations) in [(Durability::OnSync, 12_000), (Durability::default(), 12_000)] {
        let folder = folder();
        let db = tools::builder().durability(durability).open(folder.path()).expect("new");
        let space = db.keyspace("s").expect("a name");
        let maps: Vec<Map> = thread::scope(|scope| {
            let workers = [0, 1, 2, 3].map(|thread| {
                let (db, space) = (&db, &space);
                scope.spawn(move || work(db, space, thread, operations))
            });
            workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
        });
        assert_sound(&db);
        let whole: Map = maps.into_iter().flatten().collect();
        let all: Vec<_> = whole.iter().collect();
        assert_eq!(space.len().expect("sound"), all.len() as u64);
        walk(space.iter(), &all, &mut Chance::new(1));
        drop(space);
        db.close().expect("a sound close");
        let db = relaxed(folder.path());
        assert_sound(&db);
        walk(db.keyspace("s").expect("a name").iter(), &all, &mut Chance::new(2));
    }
}

/// All threads change the same few keys. A value names its writer and its key. The counts of insertions and removals
/// that the threads got must add up to what is there.
#[test]
fn the_same_keys() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    thread::scope(|scope| {
        for thread in 0..4u8 {
            let (db, space) = (&db, &space);
            scope.spawn(move || {
                let mut chance = Chance::new(u64::from(thread));
                for _ in 0..15_000 {
                    let key = Family::Ties.key(&mut chance);
                    match chance.below(6) {
                        0..2 => space.insert(&key, [&key[..], &[thread]].concat()).expect("room"),
                        2 => assert!(space.remove(&key).is_ok()),
                        3 => db
                            .batch()
                            .remove(space, &key)
                            .insert(space, &key, [&key[..], &[9]].concat())
                            .commit()
                            .expect("room"),
                        4 => {
                            let keys = [key, Family::Ties.key(&mut chance)];
                            for (key, value) in keys.iter().zip(space.get_many(&keys).expect("sound")) {
                                assert!(value.is_none_or(|value| value.starts_with(key)));
                            }
                        }
                        _ => assert!(space.get(&key).expect("sound").is_none_or(|value| value[..key.len()] == key)),
                    }
                }
            });
        }
    });
    assert_sound(&db);
    let pairs: Vec<_> = space.iter().map(|pair| pair.expect("sound")).collect();
    assert_eq!(space.len().expect("sound"), pairs.len() as u64, "every removal and insertion was counted once");
    assert!(pairs.iter().all(|(key, value)| value[..key.len()] == key[..]));
}

/// Each key is there for exactly one of the threads that try to remove it.
#[test]
fn a_key_is_removed_once() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    (0..20_000u32).for_each(|number| space.insert(number.to_be_bytes(), "").expect("room"));
    let removed: u32 = thread::scope(|scope| {
        let takers = [0, 1, 2, 3].map(|_| {
            let space = &space;
            scope.spawn(move || {
                (0..20_000u32).filter(|number| space.remove(number.to_be_bytes()).expect("sound")).count() as u32
            })
        });
        takers.into_iter().map(|taker| taker.join().expect("no panic")).sum()
    });
    assert_eq!(removed, 20_000);
    assert!(space.is_empty().expect("sound") && space.first().expect("sound").is_none());
    assert_sound(&db);
}

/// A scan returns every untouched key once and in order, in either direction, whatever happens around it.
#[test]
fn walks_beside_writers_tell_every_untouched_key_once() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let mut untouched = BTreeMap::new();
    for number in 0..6000u32 {
        let key = [&(number / 7).to_be_bytes()[..], &[0; 9], &number.to_be_bytes(), b"!"].concat();
        space.insert(&key, number.to_le_bytes()).expect("room");
        untouched.insert(key, number.to_le_bytes());
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        for thread in 0..2u64 {
            let (space, stop) = (&space, &stop);
            scope.spawn(move || {
                let mut chance = Chance::new(thread);
                while !stop.load(SeqCst) {
                    // Bursts of insertions in one place, then their removal: splits and merges everywhere.
                    let place = chance.below(6000) as u32 / 7;
                    let keys =
                        (0..60u32).map(|at| [&place.to_be_bytes()[..], &[0; 9], &(at * 97).to_be_bytes()].concat());
                    let keys: Vec<_> = keys.collect();
                    keys.iter().for_each(|key| space.insert(key, key.repeat(20)).expect("room"));
                    keys.iter().for_each(|key| assert!(space.remove(key).is_ok()));
                }
            });
        }
        let mut chance = Chance::new(7);
        for _ in 0..60 {
            let mut iter = space.iter();
            let (mut front, mut back) = (Vec::new(), Vec::new());
            let lean = chance.below(11);
            loop {
                let backwards = chance.below(10) < lean;
                let Some(pair) = (if backwards { iter.next_back() } else { iter.next() }) else { break };
                if backwards { &mut back } else { &mut front }.push(pair.expect("sound"));
            }
            front.extend(back.into_iter().rev());
            assert!(front.is_sorted_by(|a, b| a.0 < b.0), "out of order, or twice");
            // A record is reused at once when its pair comes and goes within an epoch: no copy may mix two records.
            let passing = front.iter().filter(|(key, _)| key.len() == 17);
            passing.for_each(|(key, value)| assert!(**value == key.repeat(20), "{key:?} {value:?}"));
            let kept: Vec<_> = front.iter().filter(|(key, _)| key.ends_with(b"!") && key.len() == 18).collect();
            assert_eq!(kept.len(), untouched.len());
            for ((key, value), (wanted, number)) in kept.into_iter().zip(&untouched) {
                assert!(key[..] == wanted[..] && value[..] == number[..], "{key:?} {value:?}, expected {wanted:?}");
            }
        }
    });
    assert_sound(&db);
}

/// Closing waits for active writers, and every acknowledged write is found again.
#[test]
fn closing_beside_writers() {
    for round in 0..10 {
        let folder = folder();
        let db = tools::open(folder.path()).expect("new");
        let space = db.keyspace("s").expect("a name");
        let done: Vec<u32> = thread::scope(|scope| {
            let writers = [0u32, 1, 2].map(|thread| {
                let space = space.clone();
                scope.spawn(move || {
                    (0..u32::MAX)
                        .find(|number| space.insert([thread, *number].map(u32::to_be_bytes).concat(), "v").is_err())
                })
            });
            while space.len().expect("sound") < 300 * round {
                thread::yield_now();
            }
            db.close().expect("a sound close");
            writers.into_iter().map(|writer| writer.join().expect("no panic").expect("refused at last")).collect()
        });
        drop(space);
        let db = relaxed(folder.path());
        assert_eq!(db.recovery().source, RecoveredFrom::CleanShutdown);
        assert_sound(&db);
        let space = db.keyspace("s").expect("a name");
        assert_eq!(space.len().expect("sound"), done.iter().map(|count| u64::from(*count)).sum::<u64>());
    }
}

/// Records that come and go within an epoch are reused at once by another key. Every read that copies one meanwhile
/// must notice, whichever method it uses.
#[test]
fn no_copy_mixes_two_records() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Stop(&stop);
        for thread in 0..2u64 {
            let (space, stop) = (&space, &stop);
            scope.spawn(move || {
                let mut chance = Chance::new(thread);
                while !stop.load(SeqCst) {
                    let key = [chance.below(12) as u8];
                    space.insert(key, key.repeat(40_000)).expect("room");
                    assert!(space.remove([chance.below(12) as u8]).is_ok());
                }
            });
        }
        let whole =
            |key: &[u8], value: &[u8]| assert!(value.len() == 40_000 && value.iter().all(|byte| *byte == key[0]));
        let keys: Vec<_> = (0..12u8).map(|byte| [byte]).collect();
        for turn in 0..900 {
            match turn % 3 {
                0 => space.iter().for_each(|pair| pair.map(|(key, value)| whole(&key, &value)).expect("sound")),
                1 => {
                    let found = space.get_many(&keys).expect("sound");
                    keys.iter().zip(found).for_each(|(key, value)| value.iter().for_each(|value| whole(key, value)));
                }
                _ => {
                    let key = keys[turn % 12];
                    space.get(key).expect("sound").iter().for_each(|value| whole(&key, value));
                }
            }
        }
    });
    assert_sound(&db);
}

/// Regression: the last handle to a database with keys that expire was that of a thread-local value. The close noted
/// the time in the catalog, for which the thread had nothing left: a panic, which ended the process.
#[test]
fn a_thread_that_exits_drops_the_last_handle() {
    thread_local!(static LATE: RefCell<Option<Database>> = const { RefCell::new(None) });
    let folder = folder();
    let path = folder.path().to_owned();
    let exits = thread::spawn(move || {
        // Made before what the store keeps for the thread, and so dropped after it.
        LATE.with(|_| ());
        let db = relaxed(&path);
        let space = db.keyspace_with("s", &KeyspaceOptions::new().expires(true)).expect("a name");
        space.insert("a", "1").expect("room");
        LATE.with(|late| late.replace(Some(db.clone())));
        space.contains_key("a").expect("sound")
    });
    assert!(exits.join().expect("no panic"));
    assert_eq!(relaxed(folder.path()).recovery().source, RecoveredFrom::CleanShutdown);
}

/// Where a thread-local value reads in its destructor, the list of the thread's transactions may be gone already: that
/// was a panic, which ends the process there.
#[test]
fn a_thread_that_exits_reads() {
    struct Late(RefCell<Option<(Database, Keyspace, Sender<bool>)>>);
    impl Drop for Late {
        fn drop(&mut self) {
            let Some((db, space, tell)) = self.0.take() else { return };
            let read = catch_unwind(AssertUnwindSafe(|| db.read(|at| Ok::<_, Error>(at.iter(&space)?.count()))));
            let written = catch_unwind(AssertUnwindSafe(|| db.transact(|transaction| transaction.get(&space, "a"))));
            let is_sound = matches!(read, Ok(Ok(1))) && matches!(written, Ok(Ok(Some(_))));
            tell.send(is_sound && space.iter().count() == 1).expect("it listens");
        }
    }
    thread_local!(static LATE: Late = const { Late(RefCell::new(None)) });
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    space.insert("a", "1").expect("room");
    let (tell, told) = channel();
    let exits = thread::scope(|scope| {
        let exits = scope.spawn(|| {
            // Made before the list, and so dropped after it.
            LATE.with(|late| late.0.replace(Some((db.clone(), space.clone(), tell))));
            db.read(|at| at.get(&space, "a"))
        });
        exits.join()
    });
    assert!(exits.expect("no panic").expect("sound").is_some());
    assert!(told.recv().expect("the thread has exited"));
}
