//! Atomic operations on one key: each is one step to every thread, whatever happens to neighbouring keys.

use crate::tools::{self, Chance, assert_sound, folder};
use holm::{Database, Durability, Error, Keyspace, Update};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;

fn number(value: &[u8]) -> u64 {
    u64::from_le_bytes(value.try_into().expect("eight bytes"))
}

/// Every operation against a map, with values and keys of all lengths around a leaf's splits and merges.
#[test]
fn each_operation_is_what_its_name_says() {
    for design in ["buffered", "holm"] {
        let folder = folder();
        let db = Database::builder().design(design).open(folder.path()).expect("new");
        let space = db.keyspace("s").expect("a name");
        let (mut map, mut chance) = (BTreeMap::<Vec<u8>, Vec<u8>>::new(), Chance::new(7));
        for step in 0..40_000u64 {
            let key = format!("key/{}", chance.below(400)).into_bytes();
            let value = step.to_le_bytes().repeat(chance.below(9));
            let now = map.get(&key).cloned();
            let slice = |found: Option<holm::Slice>| found.map(Vec::from);
            // The second half mostly removes, so leaves empty and merge.
            match chance.below(if step < 20_000 { 8 } else { 14 }) {
                0 => {
                    assert_eq!(slice(space.swap(&key, &value).expect("room")), now);
                    map.insert(key, value);
                }
                1 => {
                    assert_eq!(slice(space.insert_if_absent(&key, &value).expect("room")), now);
                    map.entry(key).or_insert(value);
                }
                2 => {
                    let expected = if chance.below(2) == 0 { now.clone() } else { Some(b"another".to_vec()) };
                    let new = Some(value).filter(|_| chance.below(3) > 0);
                    let swapped = space.compare_and_swap(&key, expected.as_deref(), new.as_deref()).expect("room");
                    if expected == now {
                        assert_eq!(swapped, Ok(()));
                        match new {
                            Some(new) => drop(map.insert(key, new)),
                            None => drop(map.remove(&key)),
                        }
                    } else {
                        assert_eq!(swapped.map_err(|error| slice(error.current)), Err(now));
                    }
                }
                3 => {
                    let update = |found: Option<&[u8]>| {
                        assert_eq!(found, now.as_deref());
                        (step % 5 > 0).then(|| value.clone())
                    };
                    let after = (step % 5 > 0).then(|| value.clone());
                    if step.is_multiple_of(2) {
                        assert_eq!(slice(space.fetch_update(&key, update).expect("room")), now);
                    } else {
                        assert_eq!(slice(space.update_fetch(&key, update).expect("room")), after);
                    }
                    match after {
                        Some(after) => drop(map.insert(key, after)),
                        None => drop(map.remove(&key)),
                    }
                }
                4 => {
                    let found = space.get_or_insert_with(&key, || value.clone()).expect("room");
                    assert_eq!(*found, **map.entry(key).or_insert(value));
                }
                5 | 6 => {
                    space.insert(&key, &value).expect("room");
                    map.insert(key, value);
                }
                7 | 8 => assert_eq!(slice(space.take(&key).expect("sound")), map.remove(&key)),
                turn => {
                    let pair = |pair: (holm::Slice, holm::Slice)| (Vec::from(pair.0), Vec::from(pair.1));
                    let (popped, expected) = match turn % 2 {
                        0 => (space.pop_first(), map.pop_first()),
                        _ => (space.pop_last(), map.pop_last()),
                    };
                    assert_eq!(popped.expect("sound").map(pair), expected);
                }
            }
        }
        assert!(map.len() < 100, "the second half empties leaves");
        assert_eq!(space.len().expect("relaxed"), map.len() as u64);
        assert_sound(&db);
    }
}

/// Four threads count in keys of one leaf, while another thread splits and empties the leaves around them.
#[test]
fn no_increment_is_lost() {
    const EACH: i64 = 4_000;
    for design in ["buffered", "holm"] {
        let folder = folder();
        let db = Database::builder().design(design).open(folder.path()).expect("new");
        let space = db.keyspace("s").expect("a name");
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let counters: Vec<_> = (0..4)
                .map(|thread| {
                    let space = &space;
                    scope.spawn(move || {
                        for step in 0..EACH {
                            let after = space.increment(format!("k{}5", step % 3), 1 + thread % 2).expect("room");
                            assert!(after > step / 3, "each thread adds to each key in turn");
                        }
                    })
                })
                .collect();
            let neighbour = scope.spawn(|| {
                let mut turn = 0u64;
                while !done.load(SeqCst) {
                    for key in 0..60 {
                        let key = format!("k{}{}", key % 6, key / 6 * 7 + 6);
                        if turn.is_multiple_of(2) {
                            space.insert(&key, "x").expect("room");
                        } else {
                            space.remove(&key).expect("sound");
                        }
                    }
                    turn += 1;
                }
            });
            counters.into_iter().for_each(|counter| counter.join().expect("no panic"));
            done.store(true, SeqCst);
            neighbour.join().expect("no panic");
        });
        let sum: i64 = (0..3).map(|key| space.increment(format!("k{key}5"), 0).expect("room")).sum();
        assert_eq!(sum, EACH * (1 + 2 + 1 + 2));
        assert_sound(&db);
    }
}

/// Jobs go in at random places and come out at both ends: each once, whatever empty leaves lie in between.
#[test]
fn each_pair_is_popped_once() {
    const JOBS: u64 = 12_000;
    let folder = folder();
    let db = tools::builder().durability(Durability::OnSync).open(folder.path()).expect("new");
    let jobs = db.keyspace("jobs").expect("a name");
    let (left, popped) = (AtomicU64::new(JOBS), AtomicU64::new(0));
    thread::scope(|scope| {
        for half in 0..2 {
            let jobs = &jobs;
            scope.spawn(move || {
                for job in (half..JOBS).step_by(2) {
                    // Bursts at a place of their own, so that leaves fill and become empty in turn.
                    let place = (job / 64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                    jobs.insert([place.to_be_bytes(), job.to_be_bytes()].concat(), job.to_le_bytes()).expect("room");
                }
            });
        }
        for consumer in 0..2 {
            let (jobs, left, popped) = (&jobs, &left, &popped);
            scope.spawn(move || {
                while left.load(SeqCst) > 0 {
                    let pair = if consumer == 0 { jobs.pop_first() } else { jobs.pop_last() };
                    let Some((key, value)) = pair.expect("sound") else { continue };
                    assert_eq!(key[8..], number(&value).to_be_bytes(), "key and value belong together");
                    popped.fetch_add(number(&value), SeqCst);
                    left.fetch_sub(1, SeqCst);
                }
            });
        }
    });
    assert_eq!(popped.load(SeqCst), (0..JOBS).sum::<u64>());
    assert_eq!((jobs.pop_first().expect("sound"), jobs.len().expect("relaxed")), (None, 0));
    assert_sound(&db);
}

/// A pop passes over an empty leaf and finds a pair in the next one. Meanwhile a pair arrives in the empty leaf, and
/// only then the one that the pop has found. The pop must not return the later and greater of the two first.
#[test]
fn a_pop_sees_what_arrives_behind_it() {
    let folder = folder();
    let db = tools::builder().durability(Durability::OnSync).open(folder.path()).expect("new");
    for round in 0..40 {
        let queue = db.keyspace(&format!("queue {round}")).expect("a name");
        // Leaves that ascending keys fill stay full, and a full leaf does not take over the range of the empty one.
        (0..84).for_each(|filler| queue.insert(format!("m{filler:02}"), "filler").expect("room"));
        (0..29).for_each(|filler| assert!(queue.remove(format!("m{filler:02}")).expect("sound")));
        let (begun, ended, popped) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 1..=100 {
                    begun.store(turn, SeqCst);
                    queue.insert("a", "least").expect("room");
                    queue.insert("m28", "next").expect("room");
                    ended.store(turn, SeqCst);
                    while popped.load(SeqCst) < turn {
                        std::hint::spin_loop();
                    }
                }
            });
            let (mut turn, mut least) = (1, false);
            while turn <= 100 {
                if begun.load(SeqCst) < turn {
                    continue;
                }
                let both_are_in = ended.load(SeqCst) == turn;
                let (key, value) = queue.pop_first().expect("sound").expect("fillers at least");
                match &*key {
                    b"a" => least = true,
                    b"m28" => {
                        assert!(least, "round {round}, turn {turn}: the least pair had arrived before");
                        popped.store(turn, SeqCst);
                        (turn, least) = (turn + 1, false);
                    }
                    _ => {
                        assert!(!both_are_in, "round {round}, turn {turn}: {key:?} is not the least");
                        queue.insert(&key, &value).expect("room");
                    }
                }
            }
        });
    }
    assert_sound(&db);
}

/// A lock that is a key: what it guards is only changed by the thread that has set it.
#[test]
fn compare_and_swap_excludes() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let inside = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..3u8 {
            let (space, inside) = (&space, &inside);
            scope.spawn(move || {
                for _ in 0..500 {
                    while space.compare_and_swap("lock", None, Some(&[thread])).expect("room").is_err() {
                        thread::yield_now();
                    }
                    assert_eq!(inside.fetch_add(1, SeqCst), 0, "alone");
                    inside.fetch_sub(1, SeqCst);
                    let mine = space.compare_and_swap("lock", Some(&[thread]), None).expect("room");
                    assert_eq!(mine, Ok(()), "nobody else lets go");
                }
            });
        }
    });
    assert_eq!(space.take("lock").expect("sound"), None);
}

/// A closure may write to the database, also into the leaf that its own update needs, and may panic.
#[test]
fn closures_hold_nothing() {
    let folder = folder();
    let db = tools::builder().durability(Durability::Strict).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let mut calls = 0u32;
    let after = space.update_fetch("b", |value| {
        calls += 1;
        space.insert("a", calls.to_le_bytes()).expect("room");
        Some([value.unwrap_or(b""), b"b"].concat())
    });
    assert_eq!((after.expect("room").as_deref(), calls), (Some(&b"b"[..]), 1));
    let bytes = db.stats().space.record_bytes;
    let panicked = catch_unwind(AssertUnwindSafe(|| space.fetch_update("b", |_| panic!("by the caller"))));
    assert!(panicked.is_err());
    assert_eq!((db.stats().space.record_bytes, space.get("b").expect("sound").as_deref()), (bytes, Some(&b"b"[..])));
    db.sync().expect("no epoch is pinned by what panicked");
    // A closure that changes its own key is called again, with what it has written.
    let mut first = true;
    let after = space.update_fetch("b", |value| {
        if std::mem::take(&mut first) {
            space.insert("b", "changed").expect("room");
        }
        Some([value.expect("present"), b"!"].concat())
    });
    assert_eq!(after.expect("room").as_deref(), Some(&b"changed!"[..]));
}

/// Each call meets what the one before has written: without an end, these calls had none.
#[test]
fn a_closure_that_always_writes_its_own_key_gets_a_conflict() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let calls = std::cell::Cell::new(0_u32);
    let write = || {
        calls.set(calls.get() + 1);
        space.insert("a", calls.get().to_le_bytes()).expect("room");
    };
    let own = || b"own".to_vec();
    let fetched = space.fetch_update("a", |_| {
        write();
        Some(own())
    });
    let updated = space.update("a", |_| {
        write();
        (Update::Remove, ())
    });
    let (count, of_many) = space.update_many(&["b", "a", "c"], |index, _| {
        if index == 1 {
            write();
        }
        Some(Update::Put(own()))
    });
    let refused = [fetched.map(drop), updated, of_many];
    assert!(refused.iter().all(|refused| matches!(refused, Err(Error::Conflict))), "{refused:?}");
    assert_eq!((calls.get(), count), (3_000, 1));
    assert_eq!(space.get("a").expect("sound").as_deref(), Some(&3_000_u32.to_le_bytes()[..]));
    assert_eq!(space.get("b").expect("sound").as_deref(), Some(&b"own"[..]));
    assert_eq!(space.get("c").expect("sound"), None);
}

#[test]
fn what_is_refused_changes_nothing() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let (space, dropped) = (db.keyspace("s").expect("a name"), db.keyspace("d").expect("a name"));
    space.insert("text", "not a number").expect("room");
    space.insert("most", i64::MAX.to_le_bytes()).expect("room");
    assert!(matches!(space.increment("text", 1), Err(Error::Invalid { .. })));
    assert!(matches!(space.increment("most", 1), Err(Error::Overflow { found: i64::MAX, by: 1, .. })));
    assert_eq!(space.increment("most", -1).expect("room"), i64::MAX - 1);
    let long = vec![0; holm::MAX_KEY + 1];
    assert!(matches!(space.swap(&long, ""), Err(Error::TooLarge { .. })));
    assert!(matches!(space.take(&long), Err(Error::TooLarge { .. })));
    let too_long = vec![0; holm::MAX_VALUE + 1];
    assert!(matches!(space.compare_and_swap("text", None, Some(&too_long)), Ok(Err(_))), "not the expected value");
    assert!(matches!(space.swap("text", &too_long), Err(Error::TooLarge { .. })));
    db.drop_keyspace("d").expect("sound");
    let all = |space: &Keyspace| {
        [
            space.swap("a", "").map(drop),
            space.take("a").map(drop),
            space.insert_if_absent("a", "").map(drop),
            space.compare_and_swap("a", None, None).map(drop),
            space.increment("a", 1).map(drop),
            space.pop_first().map(drop),
            space.pop_last().map(drop),
        ]
    };
    for result in all(&dropped) {
        assert!(matches!(result, Err(Error::Dropped { .. })), "{result:?}");
    }
    db.close().expect("sound");
    // Reads go on after a close, so what changes nothing may still answer.
    assert!(matches!(space.swap("a", ""), Err(Error::Poisoned { .. })));
    assert!(matches!(space.take("text"), Err(Error::Poisoned { .. })));
    assert!(matches!(space.pop_first(), Err(Error::Poisoned { .. })));
    assert_eq!(space.take("absent").expect("nothing to change"), None);
}
