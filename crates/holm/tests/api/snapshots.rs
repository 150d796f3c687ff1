//! Snapshots, as their documentation has them: one instant, unchanged for as long as they live, and nothing left
//! behind.

use crate::dropped_copies::Meddling;
use crate::tools::{Chance, Stop, assert_sound, folder, relaxed};
use holm::{Database, Durability, Error, Keyspace, Snapshot, SnapshotKeyspace};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

fn at(snapshot: &Snapshot, name: &str) -> SnapshotKeyspace {
    snapshot.keyspace(name).expect("it existed")
}

fn assert_same(space: &SnapshotKeyspace, map: &Map, chance: &mut Chance) {
    let pairs = space.iter().map(|pair| pair.expect("open")).map(|(key, value)| (key.to_vec(), value.to_vec()));
    assert!(pairs.eq(map.iter().map(|(key, value)| (key.clone(), value.clone()))), "forward");
    let pairs = space.iter().rev().map(|pair| pair.expect("open").0.to_vec());
    assert!(pairs.eq(map.keys().rev().cloned()), "backward");
    for _ in 0..20 {
        let key = key_of(chance);
        assert_eq!(space.get(&key).expect("open").as_deref(), map.get(&key).map(Vec::as_slice));
        let end = key_of(chance);
        let (low, high) = if key < end { (key, end) } else { (end, key) };
        let mut range = space.range(low.clone()..high.clone());
        let mut wanted = map.range(low..high);
        loop {
            let forward = chance.one_in(2);
            let got = if forward { range.next() } else { range.next_back() };
            let want = if forward { wanted.next() } else { wanted.next_back() };
            let got = got.transpose().expect("open").map(|(key, value)| (key.to_vec(), value.to_vec()));
            assert_eq!(got, want.map(|(key, value)| (key.clone(), value.clone())));
            if got.is_none() {
                break;
            }
        }
    }
}

fn key_of(chance: &mut Chance) -> Vec<u8> {
    // Some heads are equal, so records decide.
    let number = chance.below(1_500);
    if number.is_multiple_of(3) { format!("the same first bytes/{number}") } else { format!("key/{number}") }
        .into_bytes()
}

/// Writes of all kinds while up to four snapshots are open, each against a copy of the map at its instant. They close
/// in any order, and in the end nothing is kept.
#[test]
fn each_snapshot_stays_as_it_was() {
    for (design, seed) in [("buffered", 1), ("buffered", 2), ("holm", 3)] {
        let folder = folder();
        let db = Database::builder().design(design).durability(Durability::OnSync).open(folder.path()).expect("new");
        let space = db.keyspace("s").expect("a name");
        let (mut map, mut chance, mut open) = (Map::new(), Chance::new(seed), Vec::<(Snapshot, Map)>::new());
        for round in 0..300u64 {
            // In turns mostly inserts and mostly removals, so that leaves split and empty.
            let inserts = if round / 60 % 2 == 0 { 5 } else { 1 };
            for step in 0..chance.below(120) as u64 {
                let key = key_of(&mut chance);
                let value = (round << 20 | step).to_le_bytes().repeat(chance.below(5));
                match chance.below(7) {
                    choice if choice < inserts => {
                        space.insert(&key, &value).expect("room");
                        map.insert(key, value);
                    }
                    5 => {
                        let other = key_of(&mut chance);
                        let batch = db.batch().insert(&space, &key, &value).remove(&space, &other);
                        batch.commit().expect("room");
                        map.insert(key.clone(), value);
                        if key != other {
                            map.remove(&other);
                        } else {
                            map.remove(&key);
                        }
                    }
                    _ => assert_eq!(space.take(&key).expect("sound").is_some(), map.remove(&key).is_some()),
                }
            }
            if open.len() < 4 && chance.one_in(3) {
                open.push((db.snapshot().expect("open"), map.clone()));
            }
            if chance.one_in(4) {
                db.sync().expect("a disk");
            }
            if round % 10 == 0 {
                open.iter().for_each(|(snapshot, then)| assert_same(&at(snapshot, "s"), then, &mut chance));
            }
            if !open.is_empty() && chance.one_in(4) {
                let (snapshot, then) = open.swap_remove(chance.below(open.len()));
                assert_same(&at(&snapshot, "s"), &then, &mut chance);
            }
        }
        for (snapshot, then) in open {
            assert_same(&at(&snapshot, "s"), &then, &mut chance);
        }
        let stats = db.stats().snapshots;
        assert_eq!((stats.open, stats.memory_bytes, stats.record_bytes, stats.oldest_ns), (0, 0, 0, 0));
        assert_eq!(space.len().expect("sound"), map.len() as u64);
        assert_sound(&db);
    }
}

/// Regression: after a rebuild, the range of a leaf may end where its keys' prefix ends. That end has another prefix. A
/// scan of a snapshot compared heads with it, and lost all pairs of the leaf, once the leaf had changed.
#[test]
fn a_snapshot_of_a_reopened_database_is_scanned_whole() {
    let folder = folder();
    let keys = || (0..8u32).flat_map(|group| (0..200u32).map(move |member| format!("{group}/the same/{member:03}")));
    let in_the_middle = |key: &String| ("050".."150").contains(&&key[11..]);
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    // Splits within a group give leaves whose heads leave out its prefix.
    keys().step_by(2).chain(keys().skip(1).step_by(2)).for_each(|key| space.insert(key, "then").expect("room"));
    let snapshot = db.snapshot().expect("open");
    // Leaves at both ends of a group are emptied and do not merge, so the next opening does not find them.
    keys().filter(|key| !in_the_middle(key)).for_each(|key| assert!(space.remove(key).expect("sound")));
    drop((snapshot, space));
    db.close().expect("a sound close");
    let db = relaxed(folder.path());
    let (space, snapshot) = (db.keyspace("s").expect("a name"), db.snapshot().expect("open"));
    keys().filter(in_the_middle).for_each(|key| assert!(space.remove(key).expect("sound")));
    assert_eq!(at(&snapshot, "s").iter().count(), 800);
    assert_eq!(at(&snapshot, "s").iter().rev().count(), 800);
}

/// Space that snapshots have kept is used again: a database in which every value changes many times does not grow.
#[test]
fn what_snapshots_kept_is_used_again() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let write = |round: u8| (0..2_000u32).for_each(|key| space.insert(key.to_be_bytes(), [round; 100]).expect("room"));
    write(0);
    let records = || std::fs::metadata(folder.path().join("records")).expect("it is there").len();
    let mut most = 0;
    for round in 1..40 {
        // One is open at each time, and they overlap.
        let (one, two) = (db.snapshot().expect("open"), db.snapshot().expect("open"));
        write(round);
        drop(one);
        write(round);
        assert_eq!(*at(&two, "s").get(0u32.to_be_bytes()).expect("open").expect("a pair"), [round - 1; 100]);
        let kept = db.stats().snapshots;
        assert!(kept.record_bytes <= 2_000 * 120 && kept.record_bytes >= 2_000 * 100, "{kept:?}");
        drop(two);
        (0..3).for_each(|_| db.sync().expect("a disk"));
        if round == 10 {
            most = records();
        }
    }
    let now = db.stats().space;
    assert!(now.record_bytes < 2_000 * 130, "{now:?}");
    assert!(records() < most * 3 / 2, "{} bytes after {most}", records());
}

/// The sum of all accounts is the same in every snapshot, and every scan of a snapshot finds the same pairs.
#[test]
fn a_snapshot_is_one_instant() {
    const ACCOUNTS: u64 = 500;
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("accounts").expect("a name");
    let amount = |value: &[u8]| i64::from_le_bytes(value[..8].try_into().expect("eight bytes"));
    for account in 0..ACCOUNTS {
        space.insert(account.to_be_bytes(), 100i64.to_le_bytes()).expect("room");
    }
    let (done, taken) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for seed in 0..2 {
            let (db, space, done, taken) = (&db, &space, &done, &taken);
            scope.spawn(move || {
                let _stop = Stop(done);
                let mut chance = Chance::new(seed);
                // On a busy machine a few snapshots take longer than all transfers.
                for round in (0..1_000_000).take_while(|round| *round < 4_000 || taken.load(SeqCst) <= 3) {
                    let [from, to] = [(); 2].map(|()| (chance.next() % ACCOUNTS).to_be_bytes());
                    if from == to {
                        continue;
                    }
                    // Values of many lengths, and in some rounds accounts that come and go, so leaves split.
                    let value = |sum: i64| [&sum.to_le_bytes()[..], &vec![7; (round % 9) * 8]].concat();
                    let moved = db.transact(|transaction| {
                        let [a, b] = [from, to].map(|account| transaction.get(space, account));
                        let [a, b] = [a?.expect("an account"), b?.expect("an account")].map(|value| amount(&value));
                        transaction.insert(space, from, value(a - 1))?;
                        transaction.insert(space, to, value(b + 1))
                    });
                    moved.expect("it commits in the end");
                    let extra = [&from[..], b"extra"].concat();
                    if round % 2 == 0 {
                        space.insert(&extra, 0i64.to_le_bytes()).expect("room");
                    } else {
                        space.remove(&extra).expect("sound");
                    }
                }
            });
        }
        let (db, done, taken) = (&db, &done, &taken);
        scope.spawn(move || {
            let mut older: Option<(Snapshot, Vec<_>)> = None;
            while !done.load(SeqCst) {
                let snapshot = db.snapshot().expect("open");
                let read = |snapshot: &Snapshot| -> Vec<_> {
                    at(snapshot, "accounts").iter().map(|pair| pair.expect("open")).collect()
                };
                let pairs = read(&snapshot);
                assert_eq!(pairs.iter().map(|(_, value)| amount(value)).sum::<i64>(), 100 * ACCOUNTS as i64);
                let backward: Vec<_> = at(&snapshot, "accounts").iter().rev().map(|pair| pair.expect("open")).collect();
                assert!(backward.iter().rev().eq(&pairs));
                for (key, value) in pairs.iter().step_by(17) {
                    assert_eq!(at(&snapshot, "accounts").get(key).expect("open").as_ref(), Some(value));
                }
                if let Some((older, pairs)) = &older {
                    assert_eq!(&read(older), pairs);
                }
                taken.fetch_add(1, SeqCst);
                older = Some((snapshot, pairs));
            }
        });
    });
    assert!(taken.load(SeqCst) > 3, "{taken:?}");
    assert_sound(&db);
}

/// A batch is in a snapshot completely or not at all, also one with as many writes as hold the epoch.
#[test]
fn batches_are_in_a_snapshot_whole() {
    let folder = folder();
    let db = Database::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _stop = Stop(&done);
            for round in 1..400u64 {
                let keys = if round % 2 == 0 { 20 } else { 300 };
                let batch = (0..keys)
                    .fold(db.batch(), |batch, key: u64| batch.insert(&space, key.to_be_bytes(), round.to_le_bytes()));
                batch.commit().expect("room");
            }
        });
        while !done.load(SeqCst) {
            let then = at(&db.snapshot().expect("open"), "s");
            let rounds: Vec<_> = then.iter().map(|pair| pair.expect("open").1).collect();
            assert!(rounds.windows(2).take(19).all(|two| two[0] == two[1]), "{rounds:?}");
            assert!(rounds.windows(2).skip(20).all(|two| two[0] == two[1]), "{rounds:?}");
        }
    });
    assert_sound(&db);
}

#[test]
fn the_oldest_ends_where_all_keep_too_much() {
    let folder = folder();
    let db =
        Database::builder().snapshot_bytes(150_000).durability(Durability::OnSync).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let write = |value: u8| (0..1_000u32).for_each(|key| space.insert(key.to_be_bytes(), [value; 50]).expect("room"));
    write(1);
    let one = db.snapshot().expect("open");
    let mut scan = at(&one, "s").iter();
    scan.next().expect("a pair").expect("open");
    write(2);
    let two = db.snapshot().expect("open");
    assert_eq!(db.stats().snapshots.open, 2);
    write(3);
    assert!(matches!(at(&one, "s").get(0u32.to_be_bytes()), Err(Error::Ended)));
    assert!(matches!(at(&one, "s").len(), Err(Error::Ended)));
    // What it had copied is lent; beyond that it ends, too.
    assert!(scan.by_ref().any(|pair| matches!(pair, Err(Error::Ended))));
    assert!(scan.next().is_none());
    assert!(at(&two, "s").iter().all(|pair| *pair.expect("open").1 == [2; 50]));
    assert_eq!(db.stats().snapshots.open, 1);
    drop((one, two));
    let kept = db.stats().snapshots;
    assert_eq!((kept.open, kept.memory_bytes, kept.record_bytes), (0, 0, 0));
    assert_sound(&db);
}

/// The snapshot of a backup ends beside it, because snapshots keep too much: so does the backup, and nothing that was
/// written later is in it.
#[test]
fn a_backup_whose_snapshot_ends_is_none() {
    for since_base in [false, true] {
        let folder = folder();
        let builder = Database::builder().snapshot_bytes(150_000).durability(Durability::OnSync);
        let db = builder.open(folder.path()).expect("new");
        let space = db.keyspace("s").expect("a name");
        let write =
            |value: u8| (0..2_000u32).for_each(|key| space.insert(key.to_be_bytes(), [value; 50]).expect("room"));
        write(1);
        let base = db.backup_to(&mut std::io::sink()).expect("a sink").epoch;
        // In the first leaf, and large: the stream takes bytes before the backup comes to the second leaf.
        space.insert(0u32.to_be_bytes(), vec![9; 300_000]).expect("room");
        db.sync().expect("a disk");
        let mut later = Vec::new();
        let mut out = Meddling::at(1, || {
            for value in 2..5 {
                later.push(db.snapshot().expect("open"));
                write(value);
            }
        });
        let result = if since_base { db.backup_since(base, &mut out) } else { db.backup_to(&mut out) };
        assert!(matches!(result, Err(Error::Ended)), "since the base: {since_base}: {result:?}");
    }
}

#[test]
fn keyspaces_are_those_of_its_instant() {
    let folder = folder();
    let db = relaxed(folder.path());
    let (stays, goes) = (db.keyspace("stays").expect("a name"), db.keyspace("goes").expect("a name"));
    stays.insert("a", "1").expect("room");
    goes.insert("a", "1").expect("room");
    let snapshot = db.snapshot().expect("open");
    let late = db.keyspace("late").expect("a name");
    late.insert("a", "1").expect("room");
    stays.remove("a").expect("sound");
    assert_eq!(snapshot.keyspaces(), ["default", "goes", "stays"]);
    assert!(snapshot.keyspace("late").is_none());
    assert!(db.drop_keyspace("goes").expect("a disk"));
    // The same name again is another keyspace.
    let again = db.keyspace("goes").expect("a name");
    (0..1_000u32).for_each(|key| again.insert(key.to_be_bytes(), "new").expect("room"));
    let gone = at(&snapshot, "goes");
    assert!(matches!(gone.get("a"), Err(Error::Dropped { .. })));
    assert!(matches!(gone.iter().next(), Some(Err(Error::Dropped { .. }))));
    assert_eq!(at(&snapshot, "stays").first().expect("open").map(|(key, _)| key.to_vec()), Some(b"a".to_vec()));
    assert!(!at(&snapshot, "stays").is_empty().expect("open"));
    assert_eq!(at(&snapshot, "stays").last().expect("open").map(|(_, value)| value.to_vec()), Some(b"1".to_vec()));
    assert_eq!(at(&snapshot, "stays").prefix("a").count(), 1);
    drop((snapshot, gone));
    assert_sound(&db);
}

/// A snapshot keeps the database open, and reads after close; afterwards another process may have the folder.
#[test]
fn a_snapshot_outlives_the_handle() {
    let folder = folder();
    let db = Database::builder().durability(Durability::Strict).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    space.insert("a", "1").expect("room");
    let snapshot = db.snapshot().expect("open");
    assert!(db.stats().epochs.durable >= snapshot.epoch(), "strict: what it shows is durable");
    let (then, other) = (at(&snapshot, "s"), db.clone());
    drop((db, space, snapshot));
    assert!(matches!(Database::open(folder.path()), Err(Error::Locked { .. })));
    thread::spawn(move || assert_eq!(then.get("a").expect("open").as_deref(), Some(&b"1"[..])))
        .join()
        .expect("no panic");
    let late = other.snapshot().expect("open");
    other.clone().close().expect("a disk");
    assert!(at(&late, "s").contains_key("a").expect("open"));
    assert!(matches!(other.snapshot(), Err(Error::Poisoned { .. })));
    drop((other, late));
    assert!(Database::open(folder.path()).is_ok());
}

/// Many short ones beside a long one, under writers: none sees another's changes, and nothing piles up.
#[test]
fn many_short_snapshots_beside_a_long_one() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let write = |space: &Keyspace, round: u32| {
        (0..300u32).for_each(|key| space.insert(key.to_be_bytes(), round.to_le_bytes()).expect("room"));
    };
    write(&space, 0);
    let long = db.snapshot().expect("open");
    let mut kept = Vec::new();
    for round in 1..200u32 {
        let short = db.snapshot().expect("open");
        write(&space, round);
        assert!(at(&short, "s").iter().all(|pair| *pair.expect("open").1 == (round - 1).to_le_bytes()));
        drop(short);
        let stats = db.stats().snapshots;
        kept.push(stats.memory_bytes + stats.record_bytes);
    }
    assert!(kept[198] <= kept[1] * 2, "{kept:?}");
    assert!(at(&long, "s").iter().all(|pair| *pair.expect("open").1 == 0u32.to_le_bytes()));
    assert!(db.stats().snapshots.oldest_ns < Duration::from_secs(600).as_nanos() as u64);
}

/// Regression: a snapshot that waited for a check kept a lock for which a new keyspace waited, and the check waited for
/// the new keyspace. Each thread only needs to end.
#[test]
fn snapshots_beside_checks_and_new_keyspaces() {
    let folder = folder();
    let db = relaxed(folder.path());
    thread::scope(|scope| {
        let db = &db;
        scope.spawn(move || (0..2_000).for_each(|_| drop(db.snapshot().expect("open"))));
        scope.spawn(move || (0..400).for_each(|_| assert_eq!(db.check().expect("sound").faults, Vec::<String>::new())));
        scope.spawn(move || {
            for round in 0..400 {
                let name = format!("keyspace {round}");
                db.keyspace(&name).expect("room").insert("a", "1").expect("room");
                if round % 3 == 0 {
                    assert!(db.drop_keyspace(&name).expect("a disk"));
                }
            }
        });
    });
    assert_sound(&db);
}

/// Each of the writers that found too much kept ended a snapshot, although the end of the oldest was enough.
#[test]
fn writers_that_find_too_much_kept_end_one_snapshot_together() {
    const LIMIT: u64 = 400_000;
    let folder = folder();
    let builder = Database::builder().snapshot_bytes(LIMIT).durability(Durability::OnSync);
    let db = builder.open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let write = |key: u32| space.insert(key.to_be_bytes(), [1; 1_000]).expect("room");
    (0..1_000).for_each(write);
    for _ in 0..10 {
        let old = db.snapshot().expect("open");
        let kept = || db.stats().snapshots;
        let is_enough = || kept().memory_bytes + kept().record_bytes > LIMIT - 15_000;
        let written =
            (0..).inspect(|key| write(*key)).find(|key| key % 8 == 0 && is_enough()).expect("it is enough soon");
        let young = [(); 4].map(|()| db.snapshot().expect("open"));
        thread::scope(|scope| {
            for thread in 1..=16 {
                scope.spawn(move || write(written + thread));
            }
        });
        assert!(matches!(at(&old, "s").get([0; 4]), Err(Error::Ended)));
        young.iter().for_each(|snapshot| assert!(at(snapshot, "s").get([0; 4]).expect("open").is_some()));
    }
}

#[test]
fn recent_snapshots_are_shared_while_they_are_held_and_young() {
    let folder = folder();
    let db = Database::builder().snapshot_bytes(1 << 20).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let within = |age| db.snapshot_within(age).expect("open");
    let hour = Duration::from_secs(3_600);
    let one = within(hour);
    let others: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| within(hour))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(db.stats().snapshots.open, 1);
    space.insert("key", "value").expect("room");
    assert!(at(&within(hour), "s").is_empty().expect("open"), "the same instant");
    assert!(!at(&within(Duration::ZERO), "s").is_empty().expect("open"), "a new one");
    drop((one, others));
    assert_eq!(db.stats().snapshots.open, 0, "nothing but handles keeps a snapshot open");
    // One that has ended is not shared.
    space.insert("key", vec![0; 2 << 20]).expect("room");
    let ended = within(hour);
    space.remove("key").expect("sound");
    let fresh = within(hour);
    assert!(matches!(at(&ended, "s").get("key"), Err(Error::Ended)));
    assert!(at(&fresh, "s").is_empty().expect("open"));
}
