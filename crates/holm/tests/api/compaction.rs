//! A compaction, through the public interface: what it gives back to the file system, and that no caller can observe
//! anything else of it.

use crate::tools::{Chance, Stop, assert_sound, builder, folder, relaxed};
use holm::{CompactReport, Database, Durability, Error, Keyspace, KeyspaceOptions};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

const MIB: u64 = 1 << 20;

/// Bytes that the file `records` occupies on the disk, and its length.
fn records_file(path: &Path) -> (u64, u64) {
    let about = std::fs::metadata(path.join("records")).expect("it is there");
    (about.blocks() * 512, about.len())
}

fn key(number: u32) -> [u8; 8] {
    (u64::from(number) << 32 | u64::from(number.wrapping_mul(2_654_435_761))).to_be_bytes()
}

fn compact(db: &Database) -> CompactReport {
    db.compact().run(|_| ControlFlow::Continue(())).expect("a sound database")
}

/// The numbers below `count` in no order: leaves that follow each other lie anywhere.
fn in_no_order(count: u32) -> impl Iterator<Item = u32> + Clone {
    (0..count).map(move |number| number * 7_919 % count)
}

/// Puts a value of `len` bytes for each number, and removes all but each tenth.
fn thin_out(db: &Database, numbers: impl Iterator<Item = u32> + Clone, len: usize) -> Keyspace {
    let space = db.keyspace("reefs").expect("a name");
    numbers.clone().for_each(|number| space.insert(key(number), vec![number as u8; len]).expect("room"));
    db.sync().expect("a disk");
    for number in numbers.filter(|number| number % 10 != 3) {
        assert!(space.remove(key(number)).expect("sound"));
    }
    space
}

/// Puts `count` values of 200 bytes, and removes all but each tenth.
fn sparse(db: &Database, count: u32) -> BTreeMap<Vec<u8>, Vec<u8>> {
    thin_out(db, 0..count, 200);
    (0..count).filter(|number| number % 10 == 3).map(|number| (key(number).into(), vec![number as u8; 200])).collect()
}

pub(crate) fn contents(db: &Database) -> BTreeMap<Vec<u8>, Vec<u8>> {
    pairs(db.keyspace("reefs").expect("a name").iter())
}

fn pairs(iter: impl Iterator<Item = holm::Result<(holm::Slice, holm::Slice)>>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    iter.map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec())).expect("sound")).collect()
}

/// Leaves that remain lie between blocks that are free. Regression: the file `leaves` kept its length for ever, and in
/// the design `clustered` all records with it.
#[test]
fn leaves_move_forwards_and_the_close_cuts_their_file() {
    for (design, block) in [("buffered", 512), ("clustered", 4096)] {
        let folder = folder();
        let builder = Database::builder().design(design).durability(Durability::OnSync);
        let db = builder.open(folder.path()).expect("a new database");
        thin_out(&db, in_no_order(40_000), 200);
        // What the removals have freed is then no snapshot's.
        (0..3).for_each(|_| db.sync().expect("a disk"));
        let kept = contents(&db);
        let snapshot = db.snapshot().expect("a sound database");
        let before = db.stats().space;
        assert!(before.free_leaf_bytes > before.leaf_bytes, "{design}: {before:?}");
        let report = compact(&db);
        assert!(report.leaves_moved > 20, "{design}: {report:?}");
        assert_eq!(pairs(snapshot.keyspace("reefs").expect("it is there").iter()), kept, "{design}");
        drop(snapshot);
        // What the snapshot has kept is free now.
        let report = compact(&db);
        assert_eq!(compact(&db).leaves_moved, 0, "{design}: another one finds nothing to do after {report:?}");
        assert_eq!(contents(&db), kept);
        assert_sound(&db);
        let in_use = db.stats().space.leaf_bytes;
        db.close().expect("a sound close");
        let len = std::fs::metadata(folder.path().join("leaves")).expect("it is there").len();
        assert!(len <= in_use * 17 / 16 + 80 * block + MIB / 16, "{design}: {len} for {in_use}");
        let db = Database::open(folder.path()).expect("sound");
        assert_eq!(contents(&db), kept);
        assert_sound(&db);
    }
}

/// Regression: splits beside a compaction took the blocks at the end of the file that leaves had just left. In an area
/// of some large pages, they also passed over the blocks of the first one, and no leaf found room any more.
#[test]
fn leaves_that_split_beside_a_compaction_leave_the_end_of_their_file_free() {
    for design in ["buffered", "clustered"] {
        let folder = folder();
        let builder = Database::builder().design(design).durability(Durability::OnSync);
        let db = builder.open(folder.path()).expect("a new database");
        let (space, others) = (thin_out(&db, in_no_order(30_000), 200), db.keyspace("tides").expect("a name"));
        let snapshot = db.snapshot().expect("a sound database");
        let mut added = 0;
        let mut add = || {
            added += 1;
            others.insert(key(added * 7_919 % 30_000), [1; 50]).expect("room");
        };
        let run = |add: &mut dyn FnMut()| {
            let watch = |_: &CompactReport| {
                add();
                ControlFlow::Continue(())
            };
            db.compact().run(watch).expect("a sound database")
        };
        let before = run(&mut add);
        // What the snapshot has kept becomes free later.
        drop(snapshot);
        let report = run(&mut add);
        assert!(before.leaves_moved + report.leaves_moved > 100, "{design}: {before:?}, {report:?}");
        (0..500).for_each(|_| add());
        let kept = [space.len(), others.len()].map(|len| len.expect("sound"));
        let in_use = db.stats().space.leaf_bytes;
        drop((space, others));
        db.close().expect("a sound close");
        let len = std::fs::metadata(folder.path().join("leaves")).expect("it is there").len();
        assert!(len <= in_use * 3 / 2 + MIB / 8, "{design}: {len} for {in_use}, {report:?}");
        let db = Database::open(folder.path()).expect("sound");
        let found = ["reefs", "tides"].map(|name| db.keyspace(name).and_then(|space| space.len()).expect("sound"));
        assert_eq!((kept[0], kept), (3000, found));
        assert_sound(&db);
    }
}

/// A compaction changes no pair, and a move of what a transaction has scanned is a change to it all the same.
#[test]
fn a_scan_of_what_a_compaction_moves_conflicts() {
    for design in ["buffered", "clustered"] {
        let folder = folder();
        let builder = Database::builder().design(design).durability(Durability::OnSync);
        let db = builder.open(folder.path()).expect("a new database");
        let space = thin_out(&db, in_no_order(20_000), 200);
        (0..3).for_each(|_| db.sync().expect("a disk"));
        let [scans, gets] = [db.begin(), db.begin()];
        // Fewer leaves than those after which a transaction reads at a snapshot.
        let scanned = scans.range(&space, ..=key(400)).expect("no conflict");
        assert_eq!(scanned.filter(Result::is_ok).count(), 40);
        assert_eq!(gets.get(&space, key(3)).expect("no conflict"), Some(vec![3; 200].into()));
        let report = compact(&db);
        assert!(report.records_moved + report.leaves_moved > 100, "{design}: {report:?}");
        for (transaction, conflicts) in [(scans, true), (gets, false)] {
            let done = transaction.insert(&space, "north", "coral").and_then(|()| transaction.commit());
            assert_eq!(matches!(done, Err(Error::Conflict)), conflicts, "{design}: {done:?}");
            assert!(conflicts || done.is_ok(), "{design}: {done:?}");
        }
    }
}

/// Regression: a pass in which writers had taken all blocks before its limit was the last one, and the leaves that had
/// not moved kept the file as long as it was.
#[test]
fn a_compaction_goes_on_once_writers_have_taken_the_blocks_before_its_limit() {
    let folder = folder();
    let builder = Database::builder().design("buffered").durability(Durability::OnSync);
    let db = builder.open(folder.path()).expect("a new database");
    let (space, others) = (thin_out(&db, in_no_order(40_000), 20), db.keyspace("tides").expect("a name"));
    // What the removals have freed is then free.
    (0..3).for_each(|_| db.sync().expect("a disk"));
    let mut added = 0;
    let watch = |report: &CompactReport| {
        if report.leaves_moved >= 10 && added == 0 {
            added = 2_000;
            in_no_order(added).for_each(|number| others.insert(key(number), [1; 20]).expect("room"));
        }
        ControlFlow::Continue(())
    };
    let report = db.compact().run(watch).expect("a sound database");
    assert!(added > 0 && report.leaves_moved > 100, "{report:?}");
    let in_use = db.stats().space.leaf_bytes;
    drop((space, others));
    db.close().expect("a sound close");
    let len = std::fs::metadata(folder.path().join("leaves")).expect("it is there").len();
    assert!(len <= in_use * 3 / 2 + MIB / 8, "{len} for {in_use}, {report:?}");
}

/// The first large page gives room, although it is never emptied. Regression: what was free in it did not count, and a
/// file of a few large pages was left as it was.
#[test]
fn a_file_of_a_few_large_pages_is_compacted() {
    let folder = folder();
    let db = relaxed(folder.path());
    // 4.4 MB in three large pages, of which a tenth remains.
    let kept = sparse(&db, 20_000);
    let report = compact(&db);
    assert!(report.passes > 0 && report.bytes_moved < MIB / 2, "{report:?}");
    assert_eq!(compact(&db).records_moved, 0, "a second one finds nothing to do");
    assert_eq!(contents(&db), kept);
    assert_sound(&db);
    db.close().expect("a sound close");
    let (_, len) = records_file(folder.path());
    assert!(len <= 2 * MIB, "{len}: {report:?}");
    assert_eq!(contents(&relaxed(folder.path())), kept);
}

#[test]
fn a_compaction_gives_back_what_lies_between_the_records_that_remain() {
    let folder = folder();
    let db = relaxed(folder.path());
    let kept = sparse(&db, 60_000);
    let before = db.stats().space;
    assert!(before.released_bytes == 0 && before.dead_bytes + before.free_bytes > 10 * MIB, "{before:?}");
    let (full, _) = records_file(folder.path());
    let report = compact(&db);
    let (left, len) = records_file(folder.path());
    let space = db.stats().space;
    // 1.4 MB are live in 14 MB; the first large page is never given back.
    assert!(space.released_bytes >= 8 * MIB && report.passes > 0, "{report:?}, {space:?}");
    assert!(report.bytes_moved < 2 * MIB && report.records_moved < 6_000, "{report:?}");
    // Apart from what the file system itself notes.
    assert!(left + space.released_bytes <= full + MIB / 8, "{left} of {len} left of {full}: {report:?}");
    assert!(space.released_bytes >= report.bytes_released, "{space:?}: {report:?}");
    // What shares a large page with records, and the first one, in which nothing is given back.
    assert!(space.fragmented_bytes <= 4 * MIB && space.record_bytes == before.record_bytes, "{space:?}");
    assert_eq!(contents(&db), kept);
    assert_sound(&db);
    // A second one finds nothing to do.
    assert_eq!(compact(&db).records_moved, 0);
    db.close().expect("a sound close");
    let (on_disk, len) = records_file(folder.path());
    assert!(len <= 4 * MIB && on_disk <= len + MIB / 8, "{on_disk} of {len}");
    let db = relaxed(folder.path());
    assert_eq!(contents(&db), kept);
    assert_sound(&db);
}

#[test]
fn a_closed_database_keeps_no_free_large_page() {
    let folder = folder();
    let db = relaxed(folder.path());
    let space = db.keyspace("reefs").expect("a name");
    (0..50_000).for_each(|number| space.insert(key(number), [number as u8; 200]).expect("room"));
    // The last records stay, so the file keeps its length.
    (0..49_000).for_each(|number| assert!(space.remove(key(number)).expect("sound")));
    let kept = contents(&db);
    // What readers of a closed database may still look at is not given back before the last handle is dropped.
    let snapshot = db.snapshot().expect("files");
    (49_500..50_000).for_each(|number| space.insert(key(number), [0; 200]).expect("room"));
    db.close().expect("a sound close");
    let reefs = snapshot.keyspace("reefs").expect("it is there");
    let seen: BTreeMap<_, _> =
        reefs.iter().map(|pair| pair.expect("sound")).map(|(k, v)| (k.to_vec(), v.to_vec())).collect();
    assert_eq!(seen, kept);
    drop((reefs, snapshot, space));
    let (on_disk, len) = records_file(folder.path());
    assert!(len > 8 * MIB && on_disk <= 6 * MIB, "{on_disk} of {len}");
    let db = relaxed(folder.path());
    assert_eq!(db.keyspace("reefs").expect("a name").len().expect("sound"), 1000);
    assert_sound(&db);
}

#[test]
fn what_was_given_back_is_used_again_before_the_file_grows() {
    let folder = folder();
    let db = relaxed(folder.path());
    sparse(&db, 60_000);
    compact(&db);
    let (_, len) = records_file(folder.path());
    let space = db.keyspace("reefs").expect("a name");
    for round in 0..2 {
        (0..50_000).for_each(|number| space.insert(key(number), [round; 200]).expect("room"));
        assert_sound(&db);
        // Once more after an opening, which finds whole large pages without a record.
        (0..50_000).for_each(|number| assert!(space.remove(key(number)).expect("sound")));
        // What is removed is free two epochs later.
        (0..2).for_each(|_| db.sync().expect("a disk"));
    }
    assert_eq!(records_file(folder.path()).1, len, "the file has not grown");
    space.insert("last", "one").expect("room");
    db.sync().expect("a disk");
    drop((space, db));
    let db = relaxed(folder.path());
    (0..50_000).for_each(|number| db.keyspace("reefs").and_then(|it| it.insert(key(number), [9; 200])).expect("room"));
    assert_sound(&db);
    assert!(records_file(folder.path()).1 <= len + 2 * MIB);
}

/// Without a compaction: what is free in whole large pages goes back after a checkpoint, less what a load that comes
/// and goes uses again.
#[test]
fn emptied_large_pages_go_back_by_themselves() {
    let folder = folder();
    let db = builder().log_bytes(1 << 20).open(folder.path()).expect("a sound database");
    let space = db.keyspace("reefs").expect("a name");
    (0..600_u32).for_each(|number| space.insert(key(number), vec![7; 100_000]).expect("room"));
    space.insert("last", [1; 5000]).expect("room");
    (0..600).for_each(|number| assert!(space.remove(key(number)).expect("sound")));
    let begun = Instant::now();
    // Each put takes some of what others have retired.
    while db.stats().space.released_bytes < 30 * MIB {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", db.stats().space);
        space.insert("busy", vec![7; 50_000]).expect("room");
        db.sync().expect("a disk");
    }
    let (on_disk, len) = records_file(folder.path());
    assert!(on_disk + 30 * MIB <= len, "{on_disk} of {len}");
    assert_sound(&db);
    // An opening does not allocate it again, and the last record keeps the file as long as it is.
    drop(space);
    db.close().expect("a sound close");
    let db = relaxed(folder.path());
    let (on_disk, len) = records_file(folder.path());
    assert!(on_disk + 25 * MIB <= len, "{on_disk} of {len}");
    assert!(db.stats().space.released_bytes >= 30 * MIB, "{:?}", db.stats().space);
    let space = db.keyspace("reefs").expect("a name");
    (0..400_u32).for_each(|number| space.insert(key(number), vec![8; 100_000]).expect("room"));
    assert_eq!(space.get("last").expect("sound").as_deref(), Some(&[1; 5000][..]));
    assert_sound(&db);
}

#[test]
fn a_compaction_is_not_seen_by_readers_writers_and_snapshots() {
    let folder = folder();
    let db = relaxed(folder.path());
    let kept = sparse(&db, 40_000);
    // The writer may have taken all room before the records that lie last, and gives some of it up later.
    is_not_seen(
        &db,
        kept,
        |chance| key(chance.below(40_000) as u32).to_vec(),
        || {
            let (begun, mut moved) = (Instant::now(), 0);
            while moved <= 100 {
                assert!(begun.elapsed() < Duration::from_secs(60), "{moved} moved");
                moved += compact(&db).records_moved;
            }
        },
    );
}

/// Runs compactions beside a writer that draws keys, and beside readers of a snapshot. Each sees what it would without.
pub(crate) fn is_not_seen(
    db: &Database,
    mut kept: BTreeMap<Vec<u8>, Vec<u8>>,
    draw: impl Fn(&mut Chance) -> Vec<u8> + Sync,
    compactions: impl FnOnce(),
) {
    let snapshot = db.snapshot().expect("sound");
    let stop = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let (space, mut chance, mut written) = (db.keyspace("reefs").expect("a name"), Chance::new(3), vec![]);
            while !stop.load(SeqCst) {
                let key = draw(&mut chance);
                let value = (!chance.one_in(3)).then(|| chance.bytes(150));
                match &value {
                    Some(value) => space.insert(&key, value).expect("room"),
                    None => drop(space.remove(&key).expect("sound")),
                }
                assert_eq!(space.get(&key).expect("sound").map(|value| value.to_vec()), value);
                written.push((key, value));
            }
            written
        });
        let _stop = Stop(&stop);
        let reader = scope.spawn(|| {
            while !stop.load(SeqCst) {
                let seen = snapshot.keyspace("reefs").expect("it has it").iter();
                assert!(seen.map(|pair| pair.expect("sound").0.to_vec()).eq(kept.keys().cloned()));
            }
        });
        compactions();
        stop.store(true, SeqCst);
        reader.join().expect("no failure");
        writer.join().expect("no failure")
    });
    drop(snapshot);
    for (key, value) in written {
        match value {
            Some(value) => drop(kept.insert(key, value)),
            None => drop(kept.remove(&key)),
        }
    }
    assert_eq!(contents(db), kept);
    assert_sound(db);
}

/// Division by it would make a pause without end.
#[test]
fn a_rate_of_zero_is_no_limit() {
    let folder = folder();
    let db = relaxed(folder.path());
    let limits = |rate: u64| format!("{:?}", db.compact().rate(rate));
    assert!(limits(0).contains("rate: None") && limits(1).contains("rate: Some(1)"), "{}", limits(0));
}

/// A value with a deadline keeps it, and one whose deadline is over stays absent.
#[test]
fn deadlines_move_with_their_values() {
    let folder = folder();
    let db = relaxed(folder.path());
    let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).expect("a name");
    let day = Duration::from_secs(86_400);
    (0..60_000).for_each(|number| tides.insert_for(key(number), [1; 100], day).expect("room"));
    (0..60_000).filter(|number| number % 20 != 0).for_each(|number| {
        assert!(tides.remove(key(number)).expect("sound"));
    });
    let before: Vec<_> = (0..60_000).step_by(20).map(|number| tides.expiry(key(number)).expect("sound")).collect();
    assert!(compact(&db).records_moved > 1_000);
    let after: Vec<_> = (0..60_000).step_by(20).map(|number| tides.expiry(key(number)).expect("sound")).collect();
    assert_eq!(before, after);
    assert_sound(&db);
}

#[test]
fn a_watcher_ends_a_compaction_and_a_rate_slows_it() {
    let folder = folder();
    let db = relaxed(folder.path());
    sparse(&db, 60_000);
    let mut leaves = 0;
    let report = db.compact().rate(1 << 30).run(|_| {
        leaves += 1;
        if leaves == 40 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let report = report.expect("sound");
    assert_eq!((leaves, report.passes), (40, 1));
    assert!(compact(&db).records_moved > 0, "the next one goes on");
}

/// It slept for as long as the rate asked for, here for days.
#[test]
fn a_watcher_ends_a_compaction_that_sleeps() {
    let folder = folder();
    let db = relaxed(folder.path());
    sparse(&db, 60_000);
    let mut without_a_move = 0;
    let mut moved = 0;
    let report = db.compact().rate(1).run(|report| {
        without_a_move = if report.records_moved > moved { 0 } else { without_a_move + 1 };
        moved = report.records_moved;
        if moved > 0 && without_a_move == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let report = report.expect("sound");
    assert!((1..60).contains(&report.records_moved), "the records of one leaf: {report:?}");
}

/// What names the keyspaces lay behind everything else, and kept the file as long as it was. No feed reports that it
/// has moved.
#[test]
fn the_catalog_moves_too() {
    let folder = folder();
    let db = relaxed(folder.path());
    sparse(&db, 60_000);
    let names: Vec<_> = (0..40).map(|number| format!("tide {number} {}", "n".repeat(200))).collect();
    names.iter().for_each(|name| drop(db.keyspace(name).expect("a name")));
    db.batch().set_mark(7).commit().expect("the first");
    db.drop_keyspace("reefs").expect("it is there");
    db.sync().expect("a disk");
    let mut feed = db.feed(1 << 20).ok();
    let report = compact(&db);
    assert!(report.records_moved > 40, "{report:?}");
    while let Some(changes) = feed.as_mut().and_then(|feed| feed.next(Duration::ZERO).expect("room")) {
        // A feed may begin with the rest of the epoch in which it began.
        let is_told = changes.created().any(|name| name.starts_with("tide")) || changes.mark().is_some();
        assert!(!is_told, "{changes:?}");
    }
    assert_eq!(db.mark().expect("sound"), Some(7));
    assert_sound(&db);
    drop(feed);
    db.close().expect("a sound close");
    let (_, len) = records_file(folder.path());
    assert!(len <= 4 * MIB, "{len}");
    let db = relaxed(folder.path());
    assert!(names.iter().all(|name| db.keyspaces().expect("sound").contains(name)));
    assert_eq!(db.mark().expect("sound"), Some(7));
}

/// A move is a write, and the next increment would be refused after one.
#[test]
fn a_copy_for_incremental_backups_is_left_alone() {
    let folder = folder();
    let db = relaxed(&folder.path().join("one"));
    db.keyspace("reefs").and_then(|space| space.insert("north", "coral")).expect("room");
    let mut stream = Vec::new();
    db.backup_to(&mut stream).expect("a whole backup");
    Database::restore(&mut &stream[..], folder.path().join("two")).expect("a sound stream");
    let copy = relaxed(&folder.path().join("two"));
    let refused = copy.compact().run(|_| ControlFlow::Continue(()));
    assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    copy.keyspace("reefs").and_then(|space| space.insert("south", "sand")).expect("room");
    assert_eq!(compact(&copy).records_moved, 0);
}

#[test]
fn a_closed_database_is_not_compacted() {
    let folder = folder();
    let db = relaxed(folder.path());
    let compaction = db.compact();
    db.clone().close().expect("a sound close");
    let refused = compaction.run(|_| ControlFlow::Continue(()));
    assert!(matches!(refused, Err(Error::Poisoned { .. })), "{refused:?}");
}
