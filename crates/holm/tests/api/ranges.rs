//! Removals of ranges and of whole keyspaces, as their documentation has them.

use crate::families::{ALL, Family};
use crate::tools::{self, Chance, Stop, assert_sound, data_bytes, folder, relaxed};
use crate::twin::{Map, value};
use holm::{Database, Durability, Error, Keyspace, Snapshot};
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

fn bounds(family: Family, chance: &mut Chance) -> Bounds {
    let mut bound = || {
        let key = family.key(chance);
        match chance.below(8) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Excluded(key),
            _ => Bound::Included(key),
        }
    };
    (bound(), bound())
}

fn lies_in(key: &[u8], (low, high): &Bounds) -> bool {
    let above = match low {
        Bound::Included(low) => key >= &low[..],
        Bound::Excluded(low) => key > &low[..],
        Bound::Unbounded => true,
    };
    let below = match high {
        Bound::Included(high) => key <= &high[..],
        Bound::Excluded(high) => key < &high[..],
        Bound::Unbounded => true,
    };
    above && below
}

fn assert_equal(pairs: holm::Iter, map: &Map, what: &str) {
    let pairs = pairs.map(|pair| pair.expect("sound")).map(|(key, value)| (Vec::from(key), Vec::from(value)));
    assert!(pairs.eq(map.iter().map(|(key, value)| (key.clone(), value.clone()))), "{what}");
}

fn assert_same(snapshot: &Snapshot, map: &Map, what: &str) {
    let space = snapshot.keyspace("s").expect("it existed");
    assert_equal(space.iter(), map, what);
    for (key, value) in map {
        assert_eq!(space.get(key).expect("open").as_deref(), Some(&value[..]), "{what}: {key:?}");
    }
}

/// Inserts, range removals, clears and reopening, with snapshots open across them, for each kind of keys.
#[test]
fn ranges_are_removed_as_from_a_map() {
    for (seed, family) in ALL.into_iter().enumerate() {
        let folder = folder();
        let (mut map, mut chance) = (Map::new(), Chance::new(seed as u64));
        for session in 0..2 {
            let db = relaxed(folder.path());
            let space = db.keyspace("s").expect("a name");
            let mut open = Vec::<(Snapshot, Map)>::new();
            for round in 0..50 {
                let what = format!("{family:?}, session {session}, round {round}");
                for _ in 0..chance.below(300) {
                    let key = family.key(&mut chance);
                    let value = value(&key, &mut chance);
                    space.insert(&key, &value).expect("room");
                    map.insert(key, value);
                }
                if open.len() < 3 && chance.one_in(4) {
                    open.push((db.snapshot().expect("open"), map.clone()));
                }
                let range =
                    if chance.one_in(12) { (Bound::Unbounded, Bound::Unbounded) } else { bounds(family, &mut chance) };
                let before = map.len();
                map.retain(|key, _| !lies_in(key, &range));
                let removed = match &range {
                    (Bound::Unbounded, Bound::Unbounded) => space.clear(),
                    range => space.remove_range(range.clone()),
                };
                assert_eq!(removed.expect("sound"), (before - map.len()) as u64, "{what}: {range:?}");
                assert_equal(space.iter(), &map, &what);
                assert_eq!(space.len().expect("sound"), map.len() as u64, "{what}");
                if chance.one_in(5) {
                    db.sync().expect("a disk");
                }
                if !open.is_empty() && chance.one_in(3) {
                    let (snapshot, then) = open.swap_remove(chance.below(open.len()));
                    assert_same(&snapshot, &then, &what);
                }
            }
            open.iter().for_each(|(snapshot, then)| assert_same(snapshot, then, "at the end"));
            drop(open);
            let kept = db.stats().snapshots;
            assert_eq!((kept.open, kept.memory_bytes, kept.record_bytes), (0, 0, 0));
            assert_sound(&db);
            drop(space);
            if session == 0 {
                db.close().expect("a sound close");
            }
        }
        let db = relaxed(folder.path());
        assert_equal(db.keyspace("s").expect("a name").iter(), &map, "opened again");
        assert_sound(&db);
    }
}

fn fill(space: &Keyspace, count: u32, len: usize) {
    (0..count).for_each(|number| space.insert(number.to_be_bytes(), vec![7; len]).expect("room"));
}

/// What is cleared is used again: the files do not grow, and little of the tree is left.
#[test]
fn the_space_of_a_range_is_used_again() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let mut most = 0;
    for round in 0..6 {
        fill(&space, 20_000, 60);
        let full = db.stats().space;
        assert_eq!(space.remove_range(5u32.to_be_bytes()..19_990u32.to_be_bytes()).expect("sound"), 19_985);
        let left = db.stats().space;
        assert!(left.leaves <= 4 && full.leaves > 700, "{} leaves of {}", left.leaves, full.leaves);
        assert_eq!(space.clear().expect("sound"), 15);
        assert!(db.stats().space.record_bytes < 1_000, "{:?}", db.stats().space);
        (0..3).for_each(|_| db.sync().expect("a disk"));
        assert_sound(&db);
        let bytes = data_bytes(folder.path());
        if round < 2 {
            most = bytes;
        }
        assert!(bytes <= most, "{bytes} bytes in round {round}, {most} before");
    }
    drop(space);
    db.close().expect("a sound close");
    let db = relaxed(folder.path());
    assert!(db.keyspace("s").expect("a name").is_empty().expect("sound"));
    assert_sound(&db);
}

/// While a snapshot is open no leaf merges. Later removals give the empty leaves up, also single ones.
#[test]
fn leaves_that_a_snapshot_kept_are_given_up_later() {
    for by_range in [true, false] {
        let folder = folder();
        let db = relaxed(folder.path());
        let space = db.keyspace("s").expect("a name");
        fill(&space, 30_000, 20);
        let full = db.stats().space.leaves;
        let snapshot = db.snapshot().expect("open");
        assert_eq!(space.remove_range(100u32.to_be_bytes()..29_900u32.to_be_bytes()).expect("sound"), 29_800);
        // Leaves of several blocks have one block each now.
        assert!(db.stats().space.leaves >= full / 2, "nothing merges");
        assert_eq!(snapshot.keyspace("s").expect("it existed").iter().count(), 30_000);
        drop(snapshot);
        if by_range {
            space.remove_range(50u32.to_be_bytes()..60u32.to_be_bytes()).expect("sound");
        }
        for number in (0..100).chain(29_900..30_000u32) {
            space.remove(number.to_be_bytes()).expect("sound");
        }
        let left = db.stats().space.leaves;
        assert!(left <= 8, "{left} leaves of {full}");
        assert_sound(&db);
    }
}

/// After an opening, leaves may lie side by side of which each leaves out more bytes than their common range shares.
/// None of them can take that range over, so a fresh leaf does.
#[test]
fn emptied_leaves_of_other_prefixes_give_way_to_a_fresh_one() {
    // The neighbours take the range over, too, unless they are nearly full.
    (140..148).for_each(|end| empty_between(196 - end, end));
}

fn empty_between(start: u8, end: u8) {
    let folder = folder();
    let key = |group: u8, member: u8| vec![group, member, 7, 7];
    let keys =
        |step: usize| (0..8u8).flat_map(move |group| (0..200u8).step_by(step).map(move |member| (group, member)));
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    // Splits within a group give leaves whose heads leave out its byte.
    for (group, member) in keys(2).chain(keys(1)) {
        space.insert(key(group, member), [member]).expect("room");
    }
    let snapshot = db.snapshot().expect("open");
    // Leaves at both ends of a group are emptied and do not merge, so the next opening does not find them.
    for (group, member) in keys(1).filter(|(_, member)| !(start..end).contains(member)) {
        assert!(space.remove(key(group, member)).expect("sound"));
    }
    drop((snapshot, space));
    db.close().expect("a sound close");
    let mut map = Map::new();
    for session in 0..2 {
        let db = relaxed(folder.path());
        let space = db.keyspace("s").expect("a name");
        if session == 0 {
            let removed = space.remove_range(&[1][..]..&[7, 70][..]).expect("sound");
            assert_eq!(removed, 6 * u64::from(end - start) + u64::from(70 - start));
            map.extend((start..end).map(|at| (key(0, at), vec![at])).chain((70..end).map(|at| (key(7, at), vec![at]))));
            for (group, member) in keys(3) {
                space.insert(key(group, member), [member]).expect("room");
                map.insert(key(group, member), vec![member]);
            }
        }
        assert_equal(space.iter(), &map, "filled again");
        map.iter().for_each(|(key, value)| assert_eq!(space.get(key).expect("sound").as_deref(), Some(&value[..])));
        assert_sound(&db);
        drop(space);
        db.close().expect("a sound close");
    }
}

#[test]
fn a_queue_is_popped_without_a_tail_of_empty_leaves() {
    const RECORDS: u32 = 100_000;
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    for number in 0..RECORDS {
        space.insert(format!("queue/{number:08}"), number.to_le_bytes()).expect("room");
    }
    let full = db.stats().space.leaves;
    for number in 0..RECORDS {
        let (_, value) = space.pop_first().expect("sound").expect("a record");
        assert_eq!(*value, number.to_le_bytes());
        if number % 5_000 == 0 {
            let (leaves, left) = (db.stats().space.leaves, u64::from(RECORDS - number));
            assert!(leaves <= full * left / u64::from(RECORDS) + 6, "{leaves} leaves for {left} of {RECORDS} records");
        }
    }
    assert!(db.stats().space.leaves <= 3 && space.pop_first().expect("sound").is_none());
}

#[test]
fn a_removal_is_refused_with_a_type() {
    let folder = folder();
    let db = relaxed(folder.path());
    let (gone, stays) = (db.keyspace("gone").expect("a name"), db.keyspace("stays").expect("a name"));
    fill(&gone, 100, 0);
    fill(&stays, 100, 0);
    let transaction = db.begin();
    db.drop_keyspace("gone").expect("a disk");
    assert!(matches!(gone.clear(), Err(Error::Dropped { .. })));
    assert!(matches!(gone.remove_range("b".."a"), Err(Error::Dropped { .. })));
    assert!(matches!(transaction.remove_range::<&str>(&gone, ..), Err(Error::Dropped { .. })));
    let other = tools::folder();
    let other = relaxed(other.path());
    assert!(matches!(other.begin().remove_range::<&str>(&stays, ..), Err(Error::Invalid { .. })));
    let inverted = stays.remove_range([9u8]..[0u8]);
    assert_eq!(inverted.expect("an inverted range is empty"), 0);
    assert_eq!(stays.remove_range::<&str>((Bound::Excluded("x"), Bound::Excluded("x"))).expect("empty"), 0);
    db.close().expect("a sound close");
    assert!(matches!(stays.clear(), Err(Error::Poisoned { .. })));
    assert_eq!(stays.len().expect("still readable"), 100);
}

/// At its capacity a database can still be cleared, and then has room.
#[test]
fn a_full_database_can_be_cleared() {
    let folder = folder();
    let db = tools::builder().durability(Durability::OnSync).capacity(1 << 20).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    for len in [0, 3_000] {
        let full = (0u32..).find(|number| space.insert(number.to_be_bytes(), vec![1; len]).is_err()).expect("full");
        assert_eq!(space.remove_range(..100u32.to_be_bytes()).expect("sound"), 100);
        assert_eq!(space.clear().expect("sound"), u64::from(full) - 100);
        (0..3).for_each(|_| db.sync().expect("a disk"));
        let again = (0u32..).find(|number| space.insert(number.to_be_bytes(), vec![1; len]).is_err()).expect("full");
        assert!(again >= full * 9 / 10, "{again} records after {full}");
        space.clear().expect("sound");
        (0..3).for_each(|_| db.sync().expect("a disk"));
        assert_sound(&db);
    }
}

/// In each mode: a process that only drops its handles loses nothing that was removed, and nothing comes back.
#[test]
fn a_removed_range_stays_removed_in_each_mode() {
    let buffered = Durability::Buffered { interval: Duration::from_millis(1) };
    for durability in [Durability::Strict, buffered, Durability::OnSync] {
        let folder = folder();
        let open = |path: &Path| tools::builder().durability(durability).open(path).expect("sound");
        let db = open(folder.path());
        let space = db.keyspace("s").expect("a name");
        let mut batch = db.batch();
        for number in 0..5_000u32 {
            batch = batch.insert(&space, number.to_be_bytes(), "value");
        }
        batch.commit().expect("room");
        assert_eq!(space.remove_range(1_000u32.to_be_bytes()..4_000u32.to_be_bytes()).expect("sound"), 3_000);
        drop((space, db));
        let db = open(folder.path());
        let space = db.keyspace("s").expect("a name");
        assert_eq!((space.len().expect("sound"), space.clear().expect("sound")), (2_000, 2_000));
        assert_sound(&db);
    }
}

/// Threads insert into ranges of their own that lie between the ranges that another one removes, and one inserts into
/// those: what it inserts after a removal has returned stays until the next begins.
#[test]
fn writers_beside_a_range_removal_lose_nothing() {
    const WIDTH: u32 = 3_000;
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let key = |group: u32, number: u32| format!("the same first bytes/{group}/{number:08}");
    // Odd while a removal runs; an insert counts if no removal ran from before its begin until after its end.
    let turn = AtomicU64::new(0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for group in [0, 2] {
            let (space, done) = (&space, &done);
            scope.spawn(move || {
                for round in 0u32.. {
                    let number = round % WIDTH;
                    space.insert(key(group, number), round.to_le_bytes()).expect("room");
                    let found = space.get(key(group, number)).expect("sound");
                    assert_eq!(found.as_deref(), Some(&round.to_le_bytes()[..]), "in no range");
                    if done.load(SeqCst) && round > WIDTH {
                        return;
                    }
                }
            });
        }
        let (space, turn, done, db) = (&space, &turn, &done, &db);
        scope.spawn(move || {
            let mut chance = Chance::new(1);
            while !done.load(SeqCst) {
                let number = chance.below(WIDTH as usize) as u32;
                let before = turn.load(SeqCst);
                space.insert(key(1, number), before.to_le_bytes()).expect("room");
                let found = space.get(key(1, number)).expect("sound").is_some();
                if before % 2 == 0 && turn.load(SeqCst) == before {
                    assert!(found, "inserted after the removal had returned");
                }
            }
        });
        scope.spawn(move || {
            let _stop = Stop(done);
            for round in 0..150 {
                let snapshot = (round % 3 == 0).then(|| db.snapshot().expect("open"));
                turn.fetch_add(1, SeqCst);
                space.remove_range(key(1, 0)..key(1, WIDTH)).expect("sound");
                turn.fetch_add(1, SeqCst);
                drop(snapshot);
                for number in 0..400 {
                    space.insert(key(1, number * 7), "again").expect("room");
                }
                if round % 10 == 0 {
                    db.sync().expect("a disk");
                }
            }
        });
    });
    assert_eq!(space.prefix("the same first bytes/0/").count(), WIDTH as usize);
    assert_sound(&db);
}

/// Within a transaction a removal is atomic, its own reads see it, and keys that appear in the range are a conflict.
#[test]
fn a_transaction_removes_all_of_a_range_or_nothing() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let range = || 100u32.to_be_bytes()..900u32.to_be_bytes();
    fill(&space, 1_000, 8);
    let transaction = db.begin();
    transaction.insert(&space, 500u32.to_be_bytes(), "own").expect("room");
    transaction.insert(&space, [0, 0, 1, 0xff, 0], "own and new").expect("room");
    assert_eq!(transaction.remove_range(&space, range()).expect("sound"), 801);
    assert_eq!(transaction.get(&space, 500u32.to_be_bytes()).expect("sound"), None);
    assert_eq!(transaction.range(&space, range()).expect("sound").count(), 0);
    assert_eq!(transaction.iter(&space).expect("sound").count(), 200);
    transaction.insert(&space, 600u32.to_be_bytes(), "later").expect("room");
    assert_eq!(space.len().expect("sound"), 1_000, "nobody else sees it");
    transaction.commit().expect("alone");
    assert_eq!(space.len().expect("sound"), 201);
    assert_eq!(space.get(600u32.to_be_bytes()).expect("sound").as_deref(), Some(&b"later"[..]));

    let transaction = db.begin();
    assert_eq!(transaction.remove_range(&space, range()).expect("sound"), 1);
    space.insert(300u32.to_be_bytes(), "a phantom").expect("room");
    assert!(matches!(transaction.commit(), Err(Error::Conflict)));
    assert!(space.contains_key(600u32.to_be_bytes()).expect("sound"), "nothing was done");
    // Dropped, it has done nothing.
    assert_eq!(db.begin().remove_range(&space, range()).expect("sound"), 2);
    assert_eq!(space.len().expect("sound"), 202);
    assert_sound(&db);
}

/// A range whose removals do not fit in a transaction is refused, and the transaction has the writes that it had.
#[test]
fn a_range_too_large_for_a_transaction_is_refused() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let key = |number: u32| [&number.to_be_bytes()[..], &[7; 60_000]].concat();
    (0..1_200).for_each(|number| space.insert(key(number), "").expect("room"));
    let transaction = db.begin();
    transaction.insert(&space, "own", "write").expect("room");
    let refused = transaction.remove_range::<&[u8]>(&space, ..);
    assert!(matches!(refused, Err(Error::TooLarge { limit: 67_108_864, .. })), "{refused:?}");
    assert_eq!(transaction.iter(&space).expect("sound").count(), 1_201, "none of the removals was noted");
    transaction.commit().expect("alone");
    assert_eq!(space.len().expect("sound"), 1_201);
    // Not atomic, and without a limit.
    assert_eq!(space.clear().expect("sound"), 1_201);
}

/// A removal of a range counted its removals before what they replace was gone. So it was refused half-way, and the
/// first removals stayed in the transaction.
#[test]
fn a_range_whose_own_writes_are_large_is_removed() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    (0..40u8).for_each(|key| space.insert([key], "").expect("room"));
    let transaction = db.begin();
    transaction.insert(&space, [200], vec![0; (64 << 20) - 1_000]).expect("it fits");
    assert_eq!(transaction.remove_range::<&[u8]>(&space, ..).expect("it fits, too"), 41);
    assert_eq!(transaction.iter(&space).expect("sound").count(), 0);
    // What the large value took is free again.
    transaction.insert(&space, "a", vec![0; 40 << 20]).expect("it fits");
    transaction.commit().expect("alone");
    assert_eq!(space.len().expect("sound"), 1);
}

/// Every keyspace but the cleared one stays as it was.
#[test]
fn other_keyspaces_stay() {
    let folder = folder();
    let db: Database = relaxed(folder.path());
    let spaces = ["a", "b", "c"].map(|name| db.keyspace(name).expect("a name"));
    for number in 0..3_000u32 {
        spaces.iter().for_each(|space| space.insert(number.to_be_bytes(), space.name()).expect("room"));
    }
    assert_eq!(spaces[1].clear().expect("sound"), 3_000);
    for space in [&spaces[0], &spaces[2]] {
        let own = space.iter().filter(|pair| pair.as_ref().is_ok_and(|(_, value)| **value == *space.name().as_bytes()));
        assert_eq!(own.count(), 3_000);
    }
    assert_sound(&db);
}
