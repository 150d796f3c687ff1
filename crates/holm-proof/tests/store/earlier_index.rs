//! Opening after a crash by the index of an earlier close or checkpoint: it finds what reading all leaves finds,
//! whichever of the indexes that the database ever had lies there.

use crate::history::{Contents, History, Mode, Session, contents};
use holm::{Database, Durability};
use holm_medium::superblock::{Superblock, open_superblock};
use holm_medium::vfs::How;
use holm_medium::{EarlierIndex, IndexedTree};
use holm_proof::disk::SimDisk;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

const INDEX: &str = "/d/index";

/// Databases for each mode. In the last one, a changed leaf lies between two that were neighbours.
const SEEDS: [u64; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 59];

/// Lives of a database.
const LIVES: usize = 9;

/// Keys are numbers below this.
const KEYS: u32 = 3000;

fn begun(mode: Mode, disk: &SimDisk, before: &Contents) -> Session {
    Session::begin(mode.open(disk).expect("sound"), mode, before.clone()).expect("sound")
}

/// A database with all keys that was closed, which left an index, and is open again.
fn begun_again(mode: Mode) -> (SimDisk, Session) {
    let disk = SimDisk::new();
    let mut session = begun(mode, &disk, &Contents::new());
    (0..KEYS).for_each(|number| session.step(vec![(number as usize % 2, key(number), Some(vec![1; 20]))]));
    let before = contents(&session.db, "before closing");
    session.db.clone().close().expect("no faults");
    drop(session);
    let session = begun(mode, &disk, &before);
    (disk, session)
}

/// Puts an index in place of the one that is there; a crash may have left none.
fn put_index(disk: &SimDisk, bytes: &[u8]) {
    let is_there = disk.truncate(Path::new(INDEX), bytes.len());
    assert!(!is_there || bytes.is_empty() || disk.overwrite(Path::new(INDEX), 0, bytes));
}

fn key(number: u32) -> Vec<u8> {
    match number % 3 {
        0 => format!("a front that keys share/{}/{number:05}", number / 600).into_bytes(),
        1 => number.to_be_bytes().to_vec(),
        _ => format!("{}/{number:05}", number / 100).into_bytes(),
    }
}

/// Changes keys of a few places, so that the leaves of the others stay as they are. Some are removed altogether: their
/// leaves merge, and later insertions split others.
fn change(session: &mut Session, random: &mut Pcg64Mcg, steps: u32) {
    for _ in 0..1 + steps / 60 {
        let thin = random.random_ratio(1, 3);
        // What lies between two leaves goes, whole leaves and parts of some.
        let (first, count) = match thin {
            true => (random.random_range(0..KEYS), random.random_range(100..1200)),
            false => (random.random_range(0..KEYS), 60),
        };
        for number in (first..KEYS).take(count) {
            let length = random.random_range(0..200);
            let value = (!thin).then(|| vec![number as u8; length]);
            session.step(vec![(number as usize % 2, key(number), value)]);
        }
        if random.random_ratio(1, 4) {
            session.sync();
        }
    }
    assert!(session.failed.is_none(), "{:?}", session.failed);
}

/// What an opening finds, and how many leaves it placed by the index, of all.
fn found(mode: Mode, disk: &SimDisk, context: &str) -> ((Contents, u64), [u64; 2]) {
    let db = mode.open(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    let (pairs, stats) = (contents(&db, context), db.stats());
    ((pairs, stats.space.record_bytes), [db.recovery().leaves_from_index, stats.space.leaves])
}

#[test]
fn any_index_of_the_past_finds_what_the_leaves_say() {
    let durabilities = [false, true].map(|private| Mode::new(private, Durability::OnSync));
    let mut placed = [0; 2];
    for (mode, seed) in durabilities.into_iter().flat_map(|mode| SEEDS.map(move |seed| (mode, seed))) {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let (mut disk, mut before, mut indexes) = (SimDisk::new(), Contents::new(), Vec::new());
        for life in 0..LIVES {
            let mut session = begun(mode, &disk, &before);
            let steps = if life == 0 { 60 * KEYS } else { random.random_range(0..400) };
            change(&mut session, &mut random, if life == 0 { steps / 60 } else { steps });
            let closes = life == 0 || random.random_ratio(1, 3);
            let history = if closes {
                let left = contents(&session.db, "before closing");
                session.db.clone().close().expect("no faults");
                indexes.push(disk.contents(Path::new(INDEX)).expect("closing writes one"));
                History::from(left)
            } else {
                session.history()
            };
            disk = match random.random_range(0..3) {
                0 => disk.crash_seeded(random.random()),
                1 => disk.crash_to_durable(),
                _ => disk.kill(),
            };
            if random.random_bool(0.5) {
                put_index(&disk, &indexes[random.random_range(0..indexes.len())]);
            }
            let (by_index, by_leaves) = (disk.kill(), disk.kill());
            put_index(&by_leaves, &[]);
            let context = format!("{mode:?}, seed {seed}, life {life}, closed: {closes}");
            let (with, counts) = found(mode, &by_index, &format!("{context}, by an index"));
            let (without, none) = found(mode, &by_leaves, &format!("{context}, by the leaves"));
            assert_eq!(none[0], 0, "{context}");
            history.expect(&with.0, &context);
            assert!(with == without, "{context}: the openings differ");
            if !closes {
                placed = [placed[0] + counts[0], placed[1] + counts[1]];
            }
            // The next life begins where one of the two ended, killed, or opens once more. An opening by the leaves
            // derives separators anew: then a leaf can lie between two that were neighbours.
            disk = match random.random_range(0..3) {
                0 => by_index.kill(),
                1 => by_leaves.kill(),
                _ => disk,
            };
            before = with.0;
        }
    }
    let [placed, all] = placed;
    assert!(placed > all / 4 && placed < all, "{placed} of {all} leaves were placed by an index");
}

/// Writes until `stop`: fills and empties ranges, so that leaves split, merge and are used again elsewhere.
fn write_beside(db: &Database, seed: u64, stop: &AtomicBool) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let space = db.keyspace(["north", "south"][seed as usize % 2]).expect("a name");
    while !stop.load(Relaxed) {
        let first = random.random_range(0..KEYS);
        let removes = random.random_ratio(1, 2);
        for number in first..(first + 400).min(KEYS) {
            let key = key(number);
            let done = match removes {
                true => space.remove(key),
                false => space.insert(key, vec![number as u8; random.random_range(0..100)]).map(|()| true),
            };
            done.expect("no faults");
        }
    }
}

/// Compares what openings of a disk find, by the index that is there and by the leaves. Returns how many leaves the
/// index placed, of all.
fn openings_agree(mode: Mode, disk: &SimDisk, context: &str) -> [u64; 2] {
    let (by_index, by_leaves) = (disk.kill(), disk.kill());
    put_index(&by_leaves, &[]);
    let (with, counts) = found(mode, &by_index, &format!("{context}, by an index"));
    let (without, none) = found(mode, &by_leaves, &format!("{context}, by the leaves"));
    assert!(with == without, "{context}: the openings differ");
    assert_eq!(none[0], 0, "{context}");
    counts
}

/// Checkpoints make an index while four threads write. A crash comes some writes later, at any moment.
#[test]
fn an_index_made_beside_writers_finds_what_the_leaves_say() {
    let mode = Mode::new(false, Durability::OnSync);
    let mut placed = 0;
    for seed in 0..6 {
        let (disk, stop) = (SimDisk::new(), AtomicBool::new(false));
        let db = mode.open(&disk).expect("a new database");
        let mut images = vec![];
        thread::scope(|scope| {
            let (db, stop) = (&db, &stop);
            (0..4).for_each(|writer| drop(scope.spawn(move || write_beside(db, seed * 4 + writer, stop))));
            let mut last = vec![];
            while images.len() < 4 {
                // The thread that writes the index makes one after some checkpoints.
                let index = disk.contents(Path::new(INDEX)).unwrap_or_default();
                if index != last {
                    images.push([disk.kill(), disk.crash_seeded(seed)]);
                    last = index;
                }
                db.sync().expect("no faults");
            }
            stop.store(true, Relaxed);
        });
        for (number, image) in images.iter().flatten().enumerate() {
            placed += openings_agree(mode, image, &format!("seed {seed}, image {number}"))[0];
        }
    }
    assert!(placed > 0, "no leaf was placed by an index");
}

/// The index of a disk whose database was not closed.
fn earlier_index(disk: &SimDisk) -> (EarlierIndex, Superblock) {
    let file = open_superblock(disk, Path::new("/d"), How::READ).expect("a database");
    let (superblock, _) = Superblock::read(&*file, Path::new("superblock")).expect("sound");
    let bytes = disk.contents(Path::new(INDEX)).expect("an index");
    (EarlierIndex::decode(&bytes, &superblock, 0).expect("an index of this database"), superblock)
}

/// An index made beside writers can have a leaf twice: its block was freed and used again elsewhere meanwhile.
#[test]
fn a_leaf_counts_where_an_index_has_it_last() {
    let mode = Mode::new(false, Durability::OnSync);
    let (disk, mut session) = begun_again(mode);
    session.step(vec![(0, b"changed".to_vec(), Some(vec![]))]);
    let crashed = disk.kill();
    let (index, superblock) = earlier_index(&crashed);
    let twice = |tree: &IndexedTree| {
        let leaves: Vec<_> = tree.leaves().collect();
        let mut copy = IndexedTree::new(tree.keyspace);
        for (at, (separator, leaf)) in leaves.iter().enumerate() {
            copy.push(separator, leaf.number, leaf.sum);
            // Behind each leaf one that comes later, where it never was.
            if let Some((_, later)) = leaves.get(at + 3) {
                copy.push(&[separator, &[0][..]].concat(), later.number, later.sum);
            }
        }
        copy
    };
    let trees = index.trees.iter().map(twice).collect();
    let length = crashed.contents(Path::new("/d/leaves")).expect("leaves").len() as u64;
    put_index(&crashed, &EarlierIndex { trees, ..index }.encode(&superblock, length));
    let [placed, all] = openings_agree(mode, &crashed, "each leaf twice");
    assert!(placed > all / 2, "{placed} of {all} leaves were placed by the index");
}

/// A disk that lies loses the last entries of the log, and keeps an index that was written after them. Recovery goes
/// back before that index: leaves that are still as it has them are taken back like all others.
#[test]
fn an_index_that_is_later_than_the_log_does_not_count() {
    let mode = Mode::new(false, Durability::OnSync);
    let (disk, mut session) = begun_again(mode);
    session.sync();
    let durable = contents(&session.db, "once it is synced");
    // The log never has these, and the files have them all.
    (0..KEYS).step_by(40).for_each(|number| session.step(vec![(number as usize % 2, key(number), None)]));
    let cut = disk.kill().crash_keeping_all();
    session.db.clone().close().expect("no faults");
    put_index(&cut, &disk.contents(Path::new(INDEX)).expect("closing writes one"));
    assert_eq!(openings_agree(mode, &cut, "a later index")[0], 0, "no leaf was placed by the index");
    let found = found(mode, &cut, "a later index").0.0;
    assert!(found == durable, "what no entry of the log has is taken back");
}

/// An index that is later than the last checkpoint has leaves whose records are in the log alone. A page of records
/// goes back: the leaf is what the index says, and only the log shows the loss. An opening that compared no such leaf
/// with the log believed it.
#[test]
fn a_leaf_of_the_logs_tail_is_compared_with_the_log() {
    let mode = Mode::new(false, Durability::OnSync);
    let (disk, mut session) = begun_again(mode);
    // In the midst of a run: recovery reads the keys of its ends in any case.
    (1000..1100).for_each(|number| session.step(vec![(number as usize % 2, key(number), Some(vec![7; 40]))]));
    session.sync();
    let durable = contents(&session.db, "once it is synced");
    let crashed = disk.kill();
    // A checkpoint that begins now would write this index, and the crash may come before its superblock.
    let later = crashed.kill();
    let db = mode.open(&later).expect("sound");
    let epoch = db.recovery().epoch;
    db.close().expect("no faults");
    let (index, _) = earlier_index(&later);
    let (_, superblock) = earlier_index(&crashed);
    assert!(superblock.epoch < epoch, "the log has changes that no checkpoint has");
    let length = crashed.contents(Path::new("/d/leaves")).expect("leaves").len() as u64;
    put_index(&crashed, &EarlierIndex { epoch, ..index }.encode(&superblock, length));
    let [placed, all] = openings_agree(mode, &crashed, "a later index");
    assert!(placed > 0 && placed < all, "{placed} of {all} leaves were placed by the index");
    let records = Path::new("/d/records");
    assert!(crashed.fail_write_back(records) && crashed.report_elsewhere(records) && crashed.evict_all(records));
    let found = found(mode, &crashed, "pages of records went back").0.0;
    assert!(found == durable, "what was synced is there");
}

/// Openings derive separators anew. Here a leaf `B` loses its first keys before the index is made, then a leaf gets
/// keys that lie behind the separator that the index has of `B`, and before the keys of `B`. Such a leaf divides a run
/// of leaves, too, and is none that overlaps it.
#[test]
fn a_leaf_between_a_separator_and_the_keys_behind_it_is_found() {
    let mode = Mode::new(false, Durability::OnSync);
    let key = |letter: char, number: u32| format!("{letter}{number:02}").into_bytes();
    let put = |letter, numbers: std::ops::Range<u32>| {
        numbers.map(move |number| vec![(0, key(letter, number), Some(vec![letter as u8; 20]))])
    };
    let disk = SimDisk::new();
    let mut session = begun(mode, &disk, &Contents::new());
    // In the order of keys, so that the first leaf stays full, and another one begins behind it.
    put('a', 0..28).chain(put('q', 0..2)).chain(put('t', 0..20)).for_each(|step| session.step(step));
    session.sync();
    (0..2).for_each(|number| session.step(vec![(0, key('q', number), None)]));
    let mut before = contents(&session.db, "before closing");
    session.db.clone().close().expect("no faults");
    drop(session);
    let index = disk.contents(Path::new(INDEX)).expect("closing writes one");
    let mut left = disk.kill();
    for removed in [None, Some('c')] {
        let mut session = begun(mode, &left, &before);
        match removed {
            // A leaf between the two.
            None => put('c', 0..1).for_each(|step| session.step(step)),
            // Its range ends where the keys of the last leaf begin.
            Some(letter) => {
                put('r', 0..1).for_each(|step| session.step(step));
                session.step(vec![(0, key(letter, 0), None)]);
            }
        }
        session.sync();
        before = contents(&session.db, "synced");
        let cut = session.history();
        for disk in [left.crash_to_durable(), left.kill()] {
            put_index(&disk, &index);
            let placed = openings_agree(mode, &disk, "by the index of the close")[0];
            assert!(placed >= 2, "{placed} leaves were placed by the index");
            cut.expect(&found(mode, &disk, "by the index").0.0, "by the index");
        }
        left = left.kill();
        put_index(&left, &index);
    }
}
