//! Transactions that read many leaves and go on at a snapshot of their own: what they see, when they conflict,
//! and that nothing is left of the snapshot.

use crate::hands::{Hands, put_until};
use crate::tools::{Chance, Stop, assert_sound, builder, folder, relaxed};
use holm::{Database, Durability, Error, Keyspace, KeyspaceOptions, Result, Slice, Sweep, Transaction};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;

/// More pairs than any leaf has.
const LEAF: u32 = 60;

fn key(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

/// Puts pairs in the order of their keys, which leaves full leaves behind.
fn fill(db: &Database, space: &Keyspace, count: u32) {
    for from in (0..count).step_by(1_000) {
        let keys = from..count.min(from + 1_000);
        let batch = keys.fold(db.batch(), |batch, number| batch.insert(space, key(number), 100i64.to_le_bytes()));
        batch.commit().expect("room");
    }
}

fn snapshots(db: &Database) -> u64 {
    db.stats().snapshots.open
}

/// Pairs of full leaves that are more than a transaction reads without a snapshot.
const ENOUGH: u32 = 2_000;

/// Reads `space` from its low end on, so far that the transaction has a snapshot.
fn cross(db: &Database, on: &Transaction, space: &Keyspace) {
    let before = snapshots(db);
    assert_eq!(on.range(space, ..key(ENOUGH)).expect("its database").count(), ENOUGH as usize);
    assert_eq!(snapshots(db), before + 1);
}

fn assert_conflict<T: std::fmt::Debug>(result: Result<T>) {
    assert!(matches!(result, Err(Error::Conflict)), "{result:?}");
}

fn number(value: &[u8]) -> i64 {
    i64::from_le_bytes(value.try_into().expect("eight bytes"))
}

/// Sums up all values, and returns their number, too.
fn sum(pairs: impl Iterator<Item = Result<(Slice, Slice)>>) -> Result<(usize, i64)> {
    pairs
        .map(|pair| pair.map(|(_, value)| number(&value)))
        .try_fold((0, 0), |(count, sum), value| Ok((count + 1, sum + value?)))
}

/// Two threads move amounts between 56,000 keys and never stop. Scans of two thousand leaves, and gets from each of
/// their leaves, see one instant, and transactions that only read commit.
#[test]
fn two_thousand_leaves_are_read_beside_writers_that_never_stop() {
    const KEYS: u32 = 56_000;
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    fill(&db, &space, KEYS);
    assert!(db.stats().space.leaves >= 2_000, "{:?}", db.stats().space);
    let (done, moved) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for seed in 0..2 {
            let (db, space, done, moved) = (&db, &space, &done, &moved);
            scope.spawn(move || {
                let mut chance = Chance::new(seed);
                while !done.load(SeqCst) {
                    let [from, to] = [(); 2].map(|()| key(chance.below(KEYS as usize) as u32));
                    let transfer = db.transact(|on| {
                        let [have, there] = [from, to].map(|key| on.get(space, key));
                        let (have, there) = (have?.as_deref().map_or(0, number), there?.as_deref().map_or(0, number));
                        on.insert(space, from, (have - 1).to_le_bytes())?;
                        // Of a key that it moves to itself nothing is left to tell.
                        on.insert(space, to, (if from == to { have } else { there + 1 }).to_le_bytes())
                    });
                    transfer.expect("it commits in the end");
                    moved.fetch_add(1, SeqCst);
                }
            });
        }
        let _stop = Stop(&done);
        while moved.load(SeqCst) == 0 {
            thread::yield_now();
        }
        for _ in 0..3 {
            let found = db.read(|at| sum(at.iter(&space)?)).expect("it commits");
            assert_eq!(found, (KEYS as usize, 100 * i64::from(KEYS)));
            let by_gets = db.read(|at| {
                let values = (0..KEYS).step_by(7).map(|number| at.get(&space, key(number)));
                values.map(|value| Ok(number(&value?.expect("it is there")))).sum::<Result<i64>>()
            });
            by_gets.expect("it commits");
        }
        let reversed = db.transact(|on| sum(on.iter(&space)?.rev())).expect("it commits");
        assert_eq!(reversed, (KEYS as usize, 100 * i64::from(KEYS)));
    });
    assert_eq!(snapshots(&db), 0);
}

/// After the threshold, reads validate nothing: what was read may change, and the transaction reads on as of its
/// instant. One that only reads then commits.
#[test]
fn what_was_read_may_change_for_a_transaction_that_only_reads() {
    let folder = folder();
    let db = relaxed(folder.path());
    let [space, later] = ["s", "later"].map(|name| db.keyspace(name).expect("a name"));
    fill(&db, &space, 6_000);
    let transaction = db.begin();
    cross(&db, &transaction, &space);
    let next = ENOUGH;
    // Read before, not read yet, removed, split, and appeared.
    space.insert(key(0), "new").expect("room");
    space.insert(key(next + 500), "new").expect("room");
    assert!(space.remove(key(next + 1_000)).expect("sound"));
    (0..200u8).for_each(|end| space.insert([&key(next + 1_500)[..], &[end]].concat(), "new").expect("room"));
    later.insert("a", "new").expect("room");
    let rest = sum(transaction.range(&space, key(next)..).expect("its database")).expect("no conflict");
    assert_eq!(rest, ((6_000 - next) as usize, 100 * i64::from(6_000 - next)));
    assert_eq!(transaction.get(&space, key(0)).expect("no conflict").as_deref().map(number), Some(100));
    assert_eq!(transaction.first(&later).expect("no conflict"), None);
    assert_eq!(snapshots(&db), 1);
    transaction.commit().expect("it only reads");
    let stats = db.stats().snapshots;
    assert_eq!((stats.open, stats.memory_bytes, stats.record_bytes), (0, 0, 0));
    assert_sound(&db);
}

/// When a transaction takes its snapshot.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Threshold {
    AfterTheLook,
    BeforeTheLook,
    /// And the change comes in between.
    BeforeTheChange,
}

/// Returns whether a transaction with a snapshot conflicts that looks at something which is changed.
fn conflicts(
    (db, many): (&Database, &Keyspace),
    look: impl Fn(&Transaction),
    change: impl Fn(),
    threshold: Threshold,
) -> bool {
    let transaction = db.begin();
    if threshold != Threshold::AfterTheLook {
        cross(db, &transaction, many);
    }
    if threshold == Threshold::BeforeTheChange {
        change();
    }
    look(&transaction);
    if threshold == Threshold::AfterTheLook {
        cross(db, &transaction, many);
    }
    if threshold != Threshold::BeforeTheChange {
        change();
    }
    transaction.insert(many, "written", "1").expect("no conflict");
    match transaction.commit() {
        Ok(_) => false,
        Err(Error::Conflict) => true,
        Err(error) => panic!("{error}"),
    }
}

/// Changes of a key, of what lies beside it, and of something else.
const CHANGES: [&str; 9] = [
    "nothing",
    "another leaf",
    "the same value",
    "another value",
    "another value and back",
    "a neighbour",
    "a phantom",
    "a removal",
    "a split",
];

fn change(space: &Keyspace, of: u32, what: &str) {
    let put = |key: &[u8], value: &[u8]| space.insert(key, value).expect("room");
    match what {
        "nothing" => {}
        "another leaf" => put(&key(of + 8 * LEAF), b"new"),
        "the same value" => put(&key(of), &100i64.to_le_bytes()),
        "another value" => put(&key(of), b"new"),
        "another value and back" => [&b"new"[..], &100i64.to_le_bytes()].iter().for_each(|value| put(&key(of), value)),
        "a neighbour" => put(&key(of + 1), b"new"),
        "a phantom" => put(&[&key(of)[..], &[1]].concat(), b"new"),
        "a removal" => assert!(space.remove(key(of)).expect("sound")),
        "a split" => (0..99u8).for_each(|end| put(&[&key(of)[..], &[0, end]].concat(), b"new")),
        other => panic!("{other}"),
    }
}

/// What a transaction with a snapshot looks at, what happens before or after, and whether its commit conflicts then.
#[test]
fn a_commit_conflicts_exactly_if_what_it_has_read_has_changed() {
    let folder = folder();
    let db = relaxed(folder.path());
    let [many, space] = ["many", "s"].map(|name| db.keyspace(name).expect("a name"));
    fill(&db, &many, ENOUGH);
    let of = 10 * LEAF;
    let get = |on: &Transaction| drop(on.get(&space, key(of)).expect("no conflict"));
    let get_absent = |on: &Transaction| drop(on.get(&space, [&key(of)[..], &[1]].concat()).expect("no conflict"));
    let scan = |on: &Transaction| {
        let range = on.range(&space, key(of - LEAF)..key(of + LEAF)).expect("its own");
        assert!(range.collect::<Result<Vec<_>>>().expect("no conflict").len() >= 2 * LEAF as usize - 1);
    };
    // The changes that are conflicts with each look.
    type Look<'a> = (&'a str, &'a dyn Fn(&Transaction), &'a [&'a str]);
    let looks: [Look<'_>; 3] = [
        ("a get", &get, &["another value", "a removal"]),
        ("a get of an absent key", &get_absent, &["a phantom"]),
        ("a scan", &scan, &CHANGES[2..]),
    ];
    for (look_name, look, harmful) in looks {
        for what in CHANGES {
            for threshold in [Threshold::AfterTheLook, Threshold::BeforeTheLook, Threshold::BeforeTheChange] {
                space.clear().expect("sound");
                fill(&db, &space, 20 * LEAF);
                let conflicts = conflicts((&db, &many), look, || change(&space, of, what), threshold);
                assert_eq!(conflicts, harmful.contains(&what), "{look_name}, {what}: {threshold:?}");
            }
        }
    }
    assert_eq!(snapshots(&db), 0);
    assert_sound(&db);
}

/// The leaves around what was read lose their pairs: before the snapshot they merge, and afterwards they become empty.
/// A get conflicts if its own key goes, and a scan conflicts.
#[test]
fn leaves_that_merge_are_changes() {
    let folder = folder();
    let db = relaxed(folder.path());
    let [many, space] = ["many", "s"].map(|name| db.keyspace(name).expect("a name"));
    fill(&db, &many, ENOUGH);
    let read = 5 * LEAF;
    for (scans, keeps) in [(false, true), (false, false), (true, true)] {
        for merges in [true, false] {
            space.clear().expect("sound");
            fill(&db, &space, 20 * LEAF);
            let transaction = db.begin();
            let empty = || {
                let leaves = db.stats().space.leaves;
                let keys = (2 * LEAF..8 * LEAF).filter(|at| *at != read || !keeps);
                keys.for_each(|at| assert!(space.remove(key(at)).expect("sound")));
                assert_eq!(db.stats().space.leaves < leaves, merges);
            };
            if !merges {
                cross(&db, &transaction, &many);
            }
            match scans {
                true => assert_eq!(transaction.range(&space, key(read)..key(read + 1)).expect("its own").count(), 1),
                false => assert!(transaction.contains_key(&space, key(read)).expect("no conflict")),
            }
            empty();
            let begun = if merges { sum(transaction.iter(&many).expect("its own")).map(drop) } else { Ok(()) };
            let done = begun.and_then(|()| {
                transaction.insert(&many, "written", "1")?;
                transaction.commit().map(drop)
            });
            assert_eq!(matches!(done, Err(Error::Conflict)), scans || !keeps, "{scans} {keeps} {merges}: {done:?}");
            many.remove("written").expect("sound");
        }
    }
    assert_sound(&db);
}

/// Returns the greatest key up to which a transaction may read `space`, after one leaf of another keyspace, without a
/// snapshot: with the next leaf it has one.
fn edge(db: &Database, space: &Keyspace, other: &Keyspace) -> u32 {
    let has_snapshot = |upto: u32| {
        let transaction = db.begin();
        transaction.get(other, "a").expect("alone");
        assert_eq!(transaction.range(space, ..key(upto)).expect("its own").count(), upto as usize);
        snapshots(db) == 1
    };
    let (mut without, mut with) = (0, ENOUGH);
    while with - without > 1 {
        let middle = u32::midpoint(without, with);
        if has_snapshot(middle) { with = middle } else { without = middle }
    }
    without
}

/// What was read before the threshold and changes right before the read that begins the snapshot, which is the first to
/// notice: a get conflicts by value, and a scan by leaf.
#[test]
fn what_changes_before_the_snapshot_conflicts_there() {
    let folder = folder();
    let db = relaxed(folder.path());
    let [many, space] = ["many", "s"].map(|name| db.keyspace(name).expect("a name"));
    fill(&db, &many, ENOUGH);
    let edge = edge(&db, &many, &space);
    for (scans, value, conflicts) in [(false, "old", false), (false, "new", true), (true, "old", true)] {
        space.insert("a", "old").expect("room");
        let transaction = db.begin();
        if scans {
            assert!(transaction.first(&space).expect("no conflict").is_some());
        } else {
            assert!(transaction.contains_key(&space, "a").expect("no conflict"));
        }
        let read = transaction.range(&many, ..key(edge)).expect("its own").count();
        assert_eq!((read, snapshots(&db)), (edge as usize, 0));
        space.insert("a", value).expect("room");
        let next = transaction.get(&many, key(edge));
        assert_eq!((matches!(next, Err(Error::Conflict)), snapshots(&db) == 0), (conflicts, conflicts), "{next:?}");
        assert_eq!(transaction.commit().is_err(), conflicts);
    }
    assert_eq!(snapshots(&db), 0);
}

/// One thread, transactions of all lengths, and writes beside them to keys that they have not read: no conflict, and
/// each sees what it has written.
#[test]
fn long_transactions_see_their_own_writes_and_follow_a_map() {
    for design in ["buffered", "holm"] {
        let folder = folder();
        let db = Database::builder().design(design).durability(Durability::OnSync).open(folder.path()).expect("new");
        let [space, beside] = ["s", "beside"].map(|name| db.keyspace(name).expect("a name"));
        let (mut map, mut chance) = (BTreeMap::new(), Chance::new(7));
        fill(&db, &space, 8_000);
        map.extend((0..8_000).map(|number| (key(number).to_vec(), 100i64.to_le_bytes().to_vec())));
        for round in 0..12u64 {
            let (transaction, mut own) = (db.begin(), map.clone());
            for step in 0..300u64 {
                let at = key(chance.below(8_100) as u32);
                match chance.below(4) {
                    0 => {
                        let value = (round << 20 | step).to_le_bytes().to_vec();
                        transaction.insert(&space, at, &value).expect("small");
                        own.insert(at.to_vec(), value);
                    }
                    1 => assert_eq!(
                        transaction.take(&space, at).expect("alone").as_deref(),
                        own.remove(&at[..]).as_deref()
                    ),
                    2 => assert_eq!(
                        transaction.get(&space, at).expect("alone").as_deref(),
                        own.get(&at[..]).map(Vec::as_slice)
                    ),
                    _ => beside.insert(at, step.to_le_bytes()).expect("room"),
                }
            }
            assert_eq!(snapshots(&db), 1);
            let forward = chance.one_in(2);
            let pairs = transaction.iter(&space).expect("its own").map(|pair| pair.expect("alone"));
            let found: Vec<_> =
                if forward { pairs.collect() } else { pairs.rev().collect::<Vec<_>>().into_iter().rev().collect() };
            assert!(
                found
                    .iter()
                    .map(|(key, value)| (&key[..], &value[..]))
                    .eq(own.iter().map(|(key, value)| (&key[..], &value[..])))
            );
            if chance.one_in(4) {
                drop(transaction);
            } else {
                transaction.commit().expect("alone, it never conflicts");
                map = own;
            }
            assert_eq!(snapshots(&db), 0);
        }
        assert!(space.iter().map(|pair| pair.expect("sound").0.to_vec()).eq(map.into_keys()));
        assert_sound(&db);
    }
}

/// A transaction removes more leaves than the threshold, and nobody sees a part of it.
#[test]
fn a_long_range_is_removed_at_one_instant() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    fill(&db, &space, 8_000);
    let transaction = db.begin();
    assert_eq!(transaction.remove_range(&space, key(500)..key(7_500)).expect("alone"), 7_000);
    assert_eq!((transaction.iter(&space).expect("its own").count(), space.len().expect("sound")), (1_000, 8_000));
    transaction.commit().expect("alone");
    assert_eq!((space.iter().count(), snapshots(&db)), (1_000, 0));
    let transaction = db.begin();
    fill(&db, &space, 8_000);
    assert_eq!(transaction.remove_range(&space, ..key(7_500)).expect("alone"), 7_500);
    space.insert([&key(7_000)[..], b"phantom"].concat(), "").expect("room");
    assert_conflict(transaction.commit());
    assert_eq!((space.iter().count(), snapshots(&db)), (8_001, 0));
    assert_sound(&db);
}

/// A closure that spoils its own reads conflicts before it has a snapshot. After four conflicts it has one from its
/// first read on.
#[test]
fn a_read_that_conflicts_again_and_again_takes_a_snapshot() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    fill(&db, &space, 200);
    let mut attempts = 0i64;
    let both = db.read(|at| {
        attempts += 1;
        let first = at.get(&space, key(0))?.as_deref().map(number);
        space.insert(key(0), attempts.to_le_bytes())?;
        space.insert(key(199), attempts.to_le_bytes())?;
        Ok::<_, Error>((first, at.get(&space, key(199))?.as_deref().map(number)))
    });
    assert_eq!((both.expect("it commits"), attempts), ((Some(4), Some(4)), 5));
    assert_eq!(snapshots(&db), 0);
}

/// Snapshots that keep too much end, the oldest first: for a transaction that reads at one this is a conflict, and the
/// next attempt succeeds.
#[test]
fn a_snapshot_that_ends_is_a_conflict() {
    let folder = folder();
    let db = builder().durability(Durability::OnSync).snapshot_bytes(100 << 10).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    fill(&db, &space, 8_000);
    let overwrite = || (0..8_000).step_by(9).for_each(|at| space.insert(key(at), 100i64.to_le_bytes()).expect("room"));
    for scans in [false, true] {
        let transaction = db.begin();
        cross(&db, &transaction, &space);
        overwrite();
        assert_eq!(snapshots(&db), 0, "it has ended");
        let read =
            if scans { transaction.last(&space).map(drop) } else { transaction.get(&space, key(7_999)).map(drop) };
        assert_conflict(read);
        assert_conflict(transaction.get(&space, key(0)));
        assert_conflict(transaction.commit());
    }
    let mut attempts = 0;
    let found = db.read(|at| {
        attempts += 1;
        let in_the_middle = |at: usize| attempts == 1 && at == 4_000;
        sum(at.iter(&space)?.enumerate().map(|(at, pair)| {
            if in_the_middle(at) {
                overwrite();
            }
            pair
        }))
    });
    assert_eq!((found.expect("it commits"), attempts), ((8_000, 800_000), 2));
}

/// The time of a transaction is that of its first look. A sweep before its snapshot has removed what it should see, and
/// is a conflict, also if the read that begins the snapshot is the first to notice. A later sweep is none.
#[test]
fn a_sweep_after_the_snapshot_takes_nothing_from_it() {
    let folder = folder();
    let hands = Hands::at(1_000);
    let db = hands.move_time_of(builder().durability(Durability::OnSync).sweep(Sweep::Manual));
    let db = db.open(folder.path()).expect("new");
    let many = db.keyspace("many").expect("a name");
    let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).expect("a name");
    fill(&db, &many, ENOUGH);
    let edge = edge(&db, &many, &tides);
    for sweeps_before in [false, true] {
        let now = hands.now();
        // In one leaf; the sweep does not change what the transaction has got.
        put_until(&tides, "north", "high", now + 1_000);
        put_until(&tides, "south", "high", now + 10);
        let transaction = db.begin();
        assert!(transaction.contains_key(&tides, "north").expect("no conflict"));
        assert_eq!(transaction.range(&many, ..key(edge)).expect("its own").count(), edge as usize);
        let sweep = || {
            hands.advance(20);
            db.sweep().expect("sound");
            assert_eq!(tides.len().expect("sound"), 1);
        };
        if sweeps_before {
            sweep();
            assert_conflict(transaction.get(&many, key(edge)));
        } else {
            transaction.get(&many, key(edge)).expect("no conflict");
            assert_eq!(snapshots(&db), 1);
            sweep();
            assert!(transaction.contains_key(&tides, "south").expect("no conflict"), "it had not expired at its time");
            assert_eq!(transaction.iter(&tides).expect("its own").count(), 2);
            transaction.commit().expect("it only reads");
        }
    }
}

/// Handles that outlive a close read on, however many leaves, and at a snapshot as before: to validate all leaves after
/// each read took minutes for a hundred thousand.
#[test]
fn a_closed_database_is_read_at_a_snapshot() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    fill(&db, &space, 6_000);
    let before = db.begin();
    cross(&db, &before, &space);
    db.clone().close().expect("a disk");
    assert_eq!(sum(before.iter(&space).expect("its own")).expect("open"), (6_000, 600_000));
    before.commit().expect("it only reads");
    let after = db.begin();
    cross(&db, &after, &space);
    after.commit().expect("it only reads");
    assert_eq!(snapshots(&db), 0);
    assert_eq!(db.read(|at| sum(at.iter(&space)?)).expect("it commits"), (6_000, 600_000));
    assert!(matches!(db.snapshot(), Err(Error::Poisoned { .. })));
}

/// In strict mode what was read at a snapshot is durable once the commit returns. The receipt names the latest epoch of
/// it, and not one after the snapshot.
#[test]
fn a_long_transaction_that_only_reads_waits_for_what_it_has_read() {
    let folder = folder();
    let db = builder().durability(Durability::Strict).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    fill(&db, &space, 6_000);
    let last = key(5_999);
    for scans in [false, true] {
        space.insert(last, 100i64.to_le_bytes()).expect("room");
        let alone = db.begin();
        alone.get(&space, last).expect("no conflict");
        let stored_in = alone.commit().expect("it only reads").epoch();
        for changes in [false, true] {
            let transaction = db.begin();
            cross(&db, &transaction, &space);
            if changes {
                // The second one is in an epoch after that of the snapshot.
                ["new", "newer"].iter().for_each(|value| space.insert(last, value).expect("room"));
            }
            match scans {
                true => drop(transaction.last(&space).expect("no conflict")),
                false => drop(transaction.get(&space, last).expect("no conflict")),
            }
            let receipt = transaction.commit().expect("it only reads");
            assert!(stored_in <= receipt.epoch() && receipt.epoch() <= db.stats().epochs.durable);
            assert!(changes || receipt.epoch() == stored_in);
            if changes {
                let after = db.begin();
                after.get(&space, last).expect("no conflict");
                assert!(receipt.epoch() < after.commit().expect("it only reads").epoch());
            }
        }
    }
}
