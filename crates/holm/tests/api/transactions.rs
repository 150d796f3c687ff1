//! Transactions, as their documentation has them: all or nothing, one instant, conflicts where they are due and only
//! there, and nothing left behind.

use crate::tools::{Chance, Stop, assert_sound, folder, relaxed};
use holm::{Database, Durability, Error, Keyspace, Slice, Transaction};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

fn number(value: Option<Slice>) -> i64 {
    value.map_or(0, |value| i64::from_le_bytes(value[..].try_into().expect("eight bytes")))
}

fn pairs(of: impl Iterator<Item = holm::Result<(Slice, Slice)>>) -> Vec<(Vec<u8>, Vec<u8>)> {
    of.map(|pair| pair.expect("sound")).map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

/// Reads and writes of one thread against a map, with scans from both ends that meet, and half of them given up.
#[test]
fn one_transaction_after_the_other_follows_a_map() {
    for design in ["buffered", "holm"] {
        let folder = folder();
        let db = Database::builder().design(design).durability(Durability::OnSync).open(folder.path()).expect("new");
        let spaces = ["a", "b"].map(|name| db.keyspace(name).expect("a name"));
        let mut maps = [BTreeMap::<Vec<u8>, Vec<u8>>::new(), BTreeMap::new()];
        let mut chance = Chance::new(3);
        for round in 0..600u64 {
            let (transaction, mut own) = (db.begin(), maps.clone());
            let steps = if chance.one_in(20) { 400 } else { chance.below(12) };
            for step in 0..steps {
                let at = chance.below(2);
                let (space, map) = (&spaces[at], &mut own[at]);
                let key = format!("key/{}", chance.below(900)).into_bytes();
                match chance.below(8) {
                    0..3 => {
                        let value = (round << 20 | step as u64).to_le_bytes().repeat(chance.below(6));
                        transaction.insert(space, &key, &value).expect("small");
                        map.insert(key, value);
                    }
                    3 => {
                        transaction.remove(space, &key).expect("small");
                        map.remove(&key);
                    }
                    4 => {
                        let taken = transaction.take(space, &key).expect("alone");
                        assert_eq!(taken.as_deref(), map.remove(&key).as_deref());
                    }
                    5 => {
                        let found = transaction.get(space, &key).expect("alone");
                        assert_eq!(found.as_deref(), map.get(&key).map(Vec::as_slice));
                    }
                    6 => {
                        let first = transaction.first(space).expect("alone").map(|(key, _)| key.to_vec());
                        assert_eq!(first.as_ref(), map.keys().next());
                        let last = transaction.last(space).expect("alone").map(|(key, _)| key.to_vec());
                        assert_eq!(last.as_ref(), map.keys().next_back());
                    }
                    _ => {
                        let end = [&key[..], &[chance.below(256) as u8]].concat();
                        let mut range = transaction.range(space, key.clone()..end.clone()).expect("its own");
                        let mut wanted = map.range(key.clone()..end.clone());
                        loop {
                            let forward = chance.one_in(2);
                            let got = if forward { range.next() } else { range.next_back() };
                            let want = if forward { wanted.next() } else { wanted.next_back() };
                            let got =
                                got.transpose().expect("alone").map(|(key, value)| (key.to_vec(), value.to_vec()));
                            assert_eq!(got, want.map(|(key, value)| (key.clone(), value.clone())));
                            if got.is_none() {
                                break;
                            }
                        }
                    }
                }
            }
            if chance.one_in(3) {
                drop(transaction);
            } else {
                transaction.commit().expect("alone and in order, it never conflicts");
                maps = own;
            }
            if round % 50 == 0 {
                db.sync().expect("a disk");
                for (space, map) in spaces.iter().zip(&maps) {
                    let wanted: Vec<_> = map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
                    assert_eq!(pairs(space.iter()), wanted);
                    assert_eq!(space.len().expect("sound"), wanted.len() as u64);
                }
            }
        }
        assert_sound(&db);
    }
}

/// An iterator shows what the transaction writes while the iterator is in use, ahead of either end.
#[test]
fn a_scan_shows_what_is_written_meanwhile() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    (0..100u8).step_by(2).for_each(|key| space.insert([key], "stored").expect("room"));
    let transaction = db.begin();
    let mut scan = transaction.iter(&space).expect("its own");
    assert_eq!(*scan.next().expect("a pair").expect("sound").0, [0]);
    assert_eq!(*scan.next_back().expect("a pair").expect("sound").0, [98]);
    transaction.insert(&space, [1], "own").expect("small"); // ahead of the front
    transaction.insert(&space, [97], "own").expect("small"); // ahead of the back
    transaction.insert(&space, [0], "own").expect("small"); // behind
    transaction.insert(&space, [2], "changed").expect("small");
    transaction.remove(&space, [4]).expect("small");
    let next = scan.by_ref().take(3).map(|pair| pair.expect("sound")).collect::<Vec<_>>();
    assert_eq!(next.iter().map(|(key, _)| key[0]).collect::<Vec<_>>(), [1, 2, 6]);
    assert_eq!(&*next[1].1, b"changed");
    assert_eq!(*scan.next_back().expect("a pair").expect("sound").0, [97]);
    assert_eq!(scan.count(), 45);
}

#[test]
fn what_was_read_must_still_be_so() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    (0..200u8).for_each(|key| space.insert([key], [key]).expect("room"));
    let conflicts = |read: &dyn Fn(&Transaction), meanwhile: &dyn Fn()| {
        let transaction = db.begin();
        read(&transaction);
        meanwhile();
        transaction.insert(&space, "far/away", "1").expect("small");
        match transaction.commit() {
            Ok(_) => false,
            Err(Error::Conflict) => true,
            Err(error) => panic!("{error}"),
        }
    };
    let get = |key: u8| move |transaction: &Transaction, space: &Keyspace| drop(transaction.get(space, [key]));
    let get_five = |transaction: &Transaction| get(5)(transaction, &space);
    assert!(!conflicts(&get_five, &|| {}));
    assert!(conflicts(&get_five, &|| space.insert([5], "new").expect("room")));
    assert!(!conflicts(&get_five, &|| space.insert([6], "new").expect("room")), "a neighbour in the leaf");
    assert!(!conflicts(&get_five, &|| space.insert([5], "new").expect("room")), "the same value");
    assert!(conflicts(&get_five, &|| assert!(space.remove([5]).expect("sound"))));
    assert!(conflicts(&get_five, &|| space.insert([5], "again").expect("room")), "it was absent");
    let split = || (0..200u8).for_each(|key| space.insert([5, key], "new").expect("room"));
    assert!(!conflicts(&get_five, &split), "a split of its leaf");
    let scan = |transaction: &Transaction| {
        assert!(!pairs(transaction.range(&space, [9u8]..[12u8]).expect("its own")).is_empty())
    };
    assert!(!conflicts(&scan, &|| {}));
    assert!(conflicts(&scan, &|| space.insert([10], "new").expect("room")));
    assert!(conflicts(&scan, &|| space.insert([10, 1], "phantom").expect("room")));
    assert!(conflicts(&scan, &|| assert!(space.remove([11]).expect("sound"))));
    assert!(!conflicts(&scan, &|| space.insert([180], "new").expect("room")), "another leaf");
    let write = |transaction: &Transaction| transaction.insert(&space, [5], "blind").expect("small");
    assert!(!conflicts(&write, &|| space.insert([5], "other").expect("room")), "writes alone never conflict");
    assert_eq!(space.get([5]).expect("sound").as_deref(), Some(&b"blind"[..]));
    assert_sound(&db);
}

/// A read that a leaf answers which the transaction knows already was taken for a read of the leaf that it has met
/// last. That one was not validated: the transaction saw one key before a commit and the other after it.
#[test]
fn a_leaf_that_is_read_again_vouches_for_no_other() {
    let folder = folder();
    let db = relaxed(folder.path());
    let [north, south] = ["north", "south"].map(|name| db.keyspace(name).expect("a name"));
    for scans in [false, true] {
        db.batch()
            .insert(&north, "one", "old")
            .insert(&north, "two", "old")
            .insert(&south, "three", "old")
            .commit()
            .expect("room");
        let transaction = db.begin();
        transaction.get(&north, "one").expect("alone");
        transaction.get(&south, "three").expect("alone");
        db.batch().insert(&south, "three", "new").commit().expect("room");
        let two = match scans {
            false => transaction.get(&north, "two").map(drop),
            true => transaction.first(&north).map(drop),
        };
        assert!(matches!(two, Err(Error::Conflict)), "{two:?}");
    }
}

/// To read a get again forgets the leaves whose answers were renewed, and not those that a scan depends on.
#[test]
fn a_scan_still_counts_after_a_get_was_read_again() {
    let folder = folder();
    let db = relaxed(folder.path());
    let [scanned, got] = ["scanned", "got"].map(|name| db.keyspace(name).expect("a name"));
    [&scanned, &got].iter().for_each(|space| space.insert("a", "1").expect("room"));
    let transaction = db.begin();
    assert_eq!(transaction.iter(&scanned).expect("its own").count(), 1);
    assert_eq!(transaction.get(&got, "a").expect("alone").as_deref(), Some(&b"1"[..]));
    got.insert("b", "beside what was read").expect("room");
    assert_eq!(transaction.get(&got, "c").expect("the value of `a` is as it was"), None);
    scanned.insert("b", "2").expect("room");
    transaction.insert(&got, "c", "3").expect("small");
    assert!(matches!(transaction.commit(), Err(Error::Conflict)));
    assert_eq!(got.get("c").expect("sound"), None);
}

/// A commit latches leaves where their keys were read. Each write has its own read: in its own keyspace, and among
/// many reads.
#[test]
fn each_key_is_written_where_it_was_read() {
    let folder = folder();
    let db = relaxed(folder.path());
    let [north, south] = ["north", "south"].map(|name| db.keyspace(name).expect("a name"));
    (0..200u8).for_each(|key| north.insert([key], "old").expect("room"));
    let transaction = db.begin();
    transaction.get(&north, [5]).expect("alone");
    transaction.insert(&south, [5], "new").expect("small");
    transaction.commit().expect("alone");
    assert_eq!(pairs(south.iter()), [(vec![5], b"new".to_vec())]);
    assert_eq!(pairs(north.range([5]..[6])), [(vec![5], b"old".to_vec())]);
    let transaction = db.begin();
    (0..200u8).step_by(10).for_each(|key| drop(transaction.get(&north, [key]).expect("alone")));
    [150u8, 190].iter().for_each(|key| transaction.insert(&north, [*key], "new").expect("small"));
    transaction.commit().expect("alone");
    let new = pairs(north.iter()).into_iter().filter(|(_, value)| value == b"new").map(|(key, _)| key[0]);
    assert_eq!(new.collect::<Vec<_>>(), [150, 190]);
    assert_eq!(north.get([190]).expect("sound").as_deref(), Some(&b"new"[..]));
    assert_sound(&db);
}

/// Once it has conflicted, a transaction says so at every call, whatever the caller makes of the first error.
#[test]
fn a_transaction_that_has_conflicted_stays_so() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    (0..200u8).for_each(|key| space.insert([key], [key]).expect("room"));
    let transaction = db.begin();
    transaction.get(&space, [5]).expect("sound");
    space.insert([5], "new").expect("room");
    assert!(matches!(transaction.get(&space, [150]), Err(Error::Conflict)), "told before it can be believed");
    assert!(matches!(transaction.get(&space, [5]), Err(Error::Conflict)));
    assert!(matches!(transaction.insert(&space, "new", ""), Err(Error::Conflict)));
    assert!(matches!(transaction.remove(&space, [9]), Err(Error::Conflict)));
    assert!(matches!(transaction.first(&space), Err(Error::Conflict)));
    assert!(matches!(transaction.commit(), Err(Error::Conflict)));
    assert_eq!(space.len().expect("sound"), 200);
}

/// A scan that met a conflict returned it at every step, so a caller that counted pairs counted for ever.
#[test]
fn a_scan_ends_after_its_first_conflict() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    (0..200u8).for_each(|key| space.insert([key], [key]).expect("room"));
    for backward in [false, true] {
        let transaction = db.begin();
        let mut scan = transaction.iter(&space).expect("a handle");
        scan.next().expect("200 pairs").expect("sound");
        (0..200u8).step_by(5).for_each(|key| space.insert([key], [key]).expect("room"));
        let mut step = || if backward { scan.next_back() } else { scan.next() };
        let conflict = (0..200).find_map(|_| step()?.err());
        assert!(matches!(conflict, Some(Error::Conflict)), "{conflict:?}");
        assert!(step().is_none() && scan.next().is_none() && scan.next_back().is_none());
        let late = transaction.range(&space, [3]..).expect("a handle").take(9).collect::<Vec<_>>();
        assert!(matches!(late[..], [Err(Error::Conflict)]), "{late:?}");
    }
    let mut attempts = 0;
    let counted = db.transact(|transaction| {
        attempts += 1;
        transaction.get(&space, [7])?;
        if attempts == 1 {
            space.insert([7], "other")?;
        }
        // Whatever the closure makes of the error.
        Ok::<_, Error>(transaction.iter(&space)?.take(1_000).count())
    });
    assert_eq!((counted.expect("it commits"), attempts), (200, 2));
}

/// User code never meets a state that never was: the sum is always the same, in transactions that commit and in those
/// that do not.
#[test]
fn every_transaction_sees_one_instant() {
    const ACCOUNTS: u64 = 64;
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("accounts").expect("a name");
    let filler = [7; 300];
    for account in 0..ACCOUNTS {
        space.insert(account.to_be_bytes(), 100i64.to_le_bytes()).expect("room");
        // The accounts lie in several leaves.
        (0..6u8).for_each(|at| space.insert([&account.to_be_bytes()[..], &[at]].concat(), filler).expect("room"));
    }
    let (done, seen, transfers) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for seed in 0..2 {
            let (db, space, done, seen, transfers) = (&db, &space, &done, &seen, &transfers);
            scope.spawn(move || {
                let _stop = Stop(done);
                let mut chance = Chance::new(seed);
                // On a busy machine the readers begin late.
                for _ in (0..1_000_000).take_while(|round| *round < 3_000 || seen.load(SeqCst) == 0) {
                    let [from, to] = [(); 2].map(|()| (chance.next() % ACCOUNTS).to_be_bytes());
                    let sum = chance.below(10) as i64;
                    let moved = db.transact(|transaction| {
                        let have = number(transaction.get(space, from)?);
                        if have < sum || from == to {
                            return Ok::<_, Error>(0);
                        }
                        let there = number(transaction.get(space, to)?);
                        transaction.insert(space, from, (have - sum).to_le_bytes())?;
                        transaction.insert(space, to, (there + sum).to_le_bytes())?;
                        Ok(1)
                    });
                    transfers.fetch_add(moved.expect("it commits in the end"), SeqCst);
                }
            });
        }
        for scans in [false, true] {
            let (db, space, done, seen) = (&db, &space, &done, &seen);
            scope.spawn(move || {
                while !done.load(SeqCst) {
                    // The sum is looked at inside, before anything is known about a conflict.
                    db.read(|at| {
                        let mut sum = 0;
                        if scans {
                            for pair in at.iter(space)? {
                                let (key, value) = pair?;
                                sum += if key.len() == 8 { number(Some(value)) } else { 0 };
                            }
                        } else {
                            for account in 0..ACCOUNTS {
                                sum += number(at.get(space, account.to_be_bytes())?);
                            }
                        }
                        assert_eq!(sum, 100 * ACCOUNTS as i64);
                        seen.fetch_add(1, SeqCst);
                        Ok::<_, Error>(())
                    })
                    .or_else(|error| if matches!(error, Error::Conflict) { Ok(()) } else { Err(error) })
                    .expect("sound");
                }
            });
        }
    });
    assert!(seen.load(SeqCst) > 0 && transfers.load(SeqCst) > 1_000, "{seen:?} sums, {transfers:?} transfers");
    assert_sound(&db);
}

/// A batch is seen whole by every reader, also by plain gets one after the other.
#[test]
fn a_batch_is_seen_whole() {
    let folder = folder();
    let db = relaxed(folder.path());
    let (one, two) = (db.keyspace("one").expect("a name"), db.keyspace("two").expect("a name"));
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _stop = Stop(&done);
            for round in 0..2_000u64 {
                let value = round.to_le_bytes();
                let batch = (0..40u8).fold(db.batch(), |batch, key| batch.insert(&one, [key], value));
                (0..40u8).fold(batch, |batch, key| batch.insert(&two, [key], value)).commit().expect("room");
            }
        });
        scope.spawn(|| {
            let read = |space: &Keyspace, key| number(space.get([key]).expect("sound"));
            while !done.load(SeqCst) {
                // Written first and read first: what is read later is of the same round or of a later one.
                let (first, last) = (read(&one, 0), read(&two, 39));
                assert!(first <= last, "{first} is seen before {last}");
                let (last, first) = (read(&two, 39), read(&one, 0));
                assert!(last <= first, "{last} is seen before {first}");
            }
        });
    });
    assert_sound(&db);
}

/// Every thread goes on, though all of them want the same key, and one needs long for each attempt.
#[test]
fn contention_ends() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    thread::scope(|scope| {
        for thread in 0..6u64 {
            let (db, space) = (&db, &space);
            scope.spawn(move || {
                for _ in 0..if thread == 0 { 20 } else { 300 } {
                    let added = db.transact(|transaction| {
                        let sum = number(transaction.get(space, "sum")?);
                        if thread == 0 {
                            (0..300).for_each(|_| thread::yield_now());
                        }
                        transaction.insert(space, "sum", (sum + 1).to_le_bytes())
                    });
                    added.expect("it commits in the end");
                }
            });
        }
    });
    assert_eq!(number(space.get("sum").expect("sound")), 20 + 5 * 300);
}

/// The transaction that held the fallback lock waited for a thread whose own transaction waited for the lock, for ever.
#[test]
fn the_holder_of_the_fallback_lock_may_wait_for_another_transaction() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    // Its own plain writes make the transaction conflict, so often that it takes the lock; then it calls `last`.
    let conflicts_before = |key: &str, last: &dyn Fn()| {
        let mut attempts = 0u32;
        db.transact(|transaction| {
            transaction.get(&space, key)?;
            attempts += 1;
            if attempts < 11 {
                space.insert(key, attempts.to_le_bytes())?;
            } else {
                last();
            }
            transaction.insert(&space, key, "done")
        })
    };
    thread::scope(|scope| {
        let (ask, asked) = channel::<()>();
        let (tell, told) = channel();
        let conflicts_before = &conflicts_before;
        scope.spawn(move || {
            asked.recv().expect("the holder asks");
            // Fails only if the holder has given up.
            let _ = tell.send(conflicts_before("b", &|| ()));
        });
        let held = conflicts_before("a", &|| {
            ask.send(()).expect("it listens");
            let heard = told.recv_timeout(Duration::from_secs(60));
            heard.expect("it does not wait for the lock for ever").expect("it commits in the end");
        });
        held.expect("it commits in the end");
    });
    for key in ["a", "b"] {
        assert_eq!(space.get(key).expect("sound").as_deref(), Some(&b"done"[..]));
    }
}

#[test]
fn what_fails_leaves_nothing() {
    let (near, far) = (folder(), folder());
    let (db, other) = (relaxed(near.path()), relaxed(far.path()));
    let (space, strange) = (db.keyspace("s").expect("a name"), other.keyspace("s").expect("a name"));
    #[derive(Debug)]
    enum Mine {
        No,
        Holm(Error),
    }
    impl From<Error> for Mine {
        fn from(error: Error) -> Self {
            Mine::Holm(error)
        }
    }
    let refused = db.transact(|transaction| {
        transaction.insert(&space, "a", "1")?;
        Err::<(), _>(Mine::No)
    });
    assert!(matches!(refused, Err(Mine::No)));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        db.transact(|transaction| -> Result<(), Error> {
            transaction.insert(&space, "a", "1")?;
            panic!("the caller's own");
        })
    }));
    assert!(panicked.is_err());
    let nested = db.transact(|transaction| {
        transaction.insert(&space, "a", "1")?;
        db.transact(|inner| inner.insert(&space, "b", "2").map_err(Mine::Holm))
    });
    assert!(matches!(nested, Err(Mine::Holm(Error::Invalid { ref what })) if what.contains("within")), "{nested:?}");
    let nested = db.read(|_| db.transact(|_| Ok::<_, Error>(())));
    assert!(matches!(nested, Err(Error::Invalid { .. })));
    db.transact(|transaction| {
        assert!(matches!(transaction.insert(&strange, "a", ""), Err(Error::Invalid { .. })));
        assert!(matches!(transaction.get(&strange, "a"), Err(Error::Invalid { .. })));
        assert!(matches!(transaction.iter(&strange), Err(Error::Invalid { .. })));
        // Of another database: that is no nesting.
        other.transact(|inner| inner.insert(&strange, "a", "1"))
    })
    .expect("the transaction itself is sound");
    assert_eq!((space.len().expect("sound"), strange.len().expect("sound")), (0, 1));
    let mine = db.begin();
    mine.insert(&space, "never", "committed").expect("small");
    drop(mine);
    assert!(space.is_empty().expect("sound"));
    assert_sound(&db);
}

#[test]
fn limits_are_told_and_leave_the_transaction_usable() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let transaction = db.begin();
    let long = vec![0; holm::MAX_KEY + 1];
    assert!(matches!(transaction.insert(&space, &long, ""), Err(Error::TooLarge { what: "a key", .. })));
    let half = vec![0; 40 << 20];
    transaction.insert(&space, "half", &half).expect("it fits");
    let refused = transaction.insert(&space, "other", &half);
    assert!(matches!(refused, Err(Error::TooLarge { what: "a transaction", limit, .. }) if limit == 64 << 20));
    transaction.insert(&space, "half", "small").expect("it replaces the large one");
    transaction.insert(&space, "other", &half).expect("now it fits");
    transaction.commit().expect("room");
    assert_eq!((space.len().expect("sound"), space.get("half").expect("sound").as_deref()), (2, Some(&b"small"[..])));
}

/// Use after a drop of the keyspace, and after close.
#[test]
fn handles_that_are_gone() {
    let folder = folder();
    let db = relaxed(folder.path());
    let (space, other) = (db.keyspace("s").expect("a name"), db.keyspace("t").expect("a name"));
    space.insert("a", "1").expect("room");
    let (reads, writes, both) = (db.begin(), db.begin(), db.begin());
    reads.get(&space, "a").expect("sound");
    writes.insert(&space, "b", "2").expect("small");
    both.insert(&other, "b", "2").expect("small");
    both.insert(&space, "b", "2").expect("small");
    assert!(db.drop_keyspace("s").expect("a disk"));
    assert!(matches!(reads.get(&space, "a"), Err(Error::Dropped { .. })));
    assert!(matches!(reads.iter(&space).expect("a handle").next(), Some(Err(Error::Dropped { .. }))));
    assert!(matches!(writes.get(&space, "b"), Err(Error::Dropped { .. })), "a write of its own");
    assert!(matches!(writes.commit(), Err(Error::Dropped { .. })));
    assert!(matches!(both.commit(), Err(Error::Dropped { .. })));
    assert!(other.is_empty().expect("sound"));
    let late = db.begin();
    late.insert(&other, "a", "1").expect("small");
    db.close().expect("a disk");
    assert!(matches!(late.commit(), Err(Error::Poisoned { .. })));
}

/// What a receipt says: the commit and all that it depends on are durable once its epoch is.
#[test]
fn a_receipt_waits_for_durability() {
    let folder = folder();
    let (live, dead) = (folder.path().join("live"), folder.path().join("dead"));
    let durability = Durability::Buffered { interval: Duration::from_secs(3_600) };
    let db = Database::builder().durability(durability).open(&live).expect("new");
    let space = db.keyspace("s").expect("a name");
    space.insert("before", "1").expect("room");
    let transaction = db.begin();
    transaction.get(&space, "before").expect("sound");
    transaction.insert(&space, "a", "1").expect("small");
    transaction.insert(&space, "z", "1").expect("small");
    let receipt = transaction.commit().expect("alone");
    receipt.wait_durable().expect("a disk");
    let reads = db.begin();
    reads.get(&space, "a").expect("sound");
    assert!(reads.commit().expect("alone").epoch() >= receipt.epoch());
    crate::tools::copy(&live, &dead);
    let space = relaxed(&dead).keyspace("s").expect("a name");
    assert_eq!(space.len().expect("sound"), 3);
}

/// A transaction moves between threads; strict mode waits at the end and not in between.
#[test]
fn a_transaction_moves_to_another_thread() {
    let folder = folder();
    let db = Database::builder().durability(Durability::Strict).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let transaction = db.begin();
    transaction.insert(&space, "a", "1").expect("small");
    let at = space.clone();
    let receipt = thread::spawn(move || {
        transaction.get(&at, "b").expect("sound");
        transaction.insert(&at, "b", "2").expect("small");
        transaction.commit().expect("alone")
    });
    let receipt = receipt.join().expect("no panic");
    assert!(db.stats().epochs.durable >= receipt.epoch());
    assert_eq!(space.len().expect("sound"), 2);
}
