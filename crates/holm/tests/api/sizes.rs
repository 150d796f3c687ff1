//! Bytes on disk, all files counted: few for little data, near the data's own size, and reused.

use crate::tools::{self, Chance, assert_sound, data_bytes, data_on_disk, folder, on_disk, relaxed};
use holm::{Database, Durability, ImageMode, Keyspace};
use std::time::{Duration, Instant};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A key of 23 bytes whose value has 100.
fn key(number: u64) -> Vec<u8> {
    format!("user{:019}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 10_000_000_000_000_000_000).into_bytes()
}

fn fill(space: &Keyspace, numbers: std::ops::Range<u64>) {
    numbers.for_each(|number| space.insert(key(number), [number as u8; 100]).expect("room"));
}

#[test]
fn small_databases_are_small() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let told = db.stats().space.disk_bytes;
    assert!(on_disk(folder.path()) <= MIB, "new: {}", on_disk(folder.path()));
    assert!(told.abs_diff(on_disk(folder.path())) <= 64 * KIB, "{told} told, {} there", on_disk(folder.path()));
    db.close().expect("a sound close");
    assert!(on_disk(folder.path()) <= MIB, "closed: {}", on_disk(folder.path()));
    let db = tools::open(folder.path()).expect("closed");
    let space = db.keyspace("s").expect("a name");
    fill(&space, 0..1000);
    db.sync().expect("a disk");
    assert!(on_disk(folder.path()) <= 2 * MIB, "a thousand, open: {}", on_disk(folder.path()));
    drop(space);
    db.close().expect("a sound close");
    assert!(on_disk(folder.path()) <= 2 * MIB, "a thousand, closed: {}", on_disk(folder.path()));
    // Opening and closing adds nothing, however often.
    let before = on_disk(folder.path());
    (0..5).for_each(|_| tools::open(folder.path()).and_then(Database::close).expect("closed"));
    assert!(on_disk(folder.path()) <= before + 128 * KIB, "{before} before, {} after", on_disk(folder.path()));
}

#[test]
fn a_loaded_database_is_hardly_larger_than_its_data() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    fill(&space, 0..100_000);
    let raw = 100_000 * 123;
    let used = db.stats().space.leaf_bytes + db.stats().space.record_bytes;
    drop(space);
    db.close().expect("a sound close");
    let found = on_disk(folder.path());
    // Half as much again, and the blocks that splits released: they are reused two epochs later, and the disk decides
    // how many epochs a load takes.
    assert!(found <= raw * 5 / 3, "{found} bytes for {raw} ({used} in use)");
    assert!(used <= found, "{used} in use, {found} on the disk");
}

/// A server never closes its database: once writers rest, the log and the preallocated extents shrink to their idle
/// size.
#[test]
fn a_loaded_database_that_stays_open_gives_its_log_back() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let log = || on_disk(folder.path()) - data_on_disk(folder.path());
    fill(&space, 0..100_000);
    db.sync().expect("a disk");
    assert!(log() > 4 * MIB, "a load needs a log: {}", log());
    // Epochs without changes; the time limit is for a machine under load.
    let patience = Instant::now() + Duration::from_secs(60);
    while log() > MIB {
        db.sync().expect("a disk");
        assert!(Instant::now() < patience, "{} bytes of log with nobody writing", log());
    }
    let raw = 100_000 * 123;
    // Beside the above, the preallocated extents are whole large pages, a sixth of so little data.
    let found = on_disk(folder.path());
    assert!(found <= raw * 2, "{found} bytes for {raw}");
    let (checkpoints, before) = (db.stats().log.checkpoints, found);
    fill(&space, 0..10);
    db.sync().expect("a disk");
    assert!(on_disk(folder.path()) <= before + 128 * KIB && db.stats().log.checkpoints == checkpoints);
    assert_sound(&db);
}

#[test]
fn overwriting_uses_space_again() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    fill(&space, 0..10_000);
    db.sync().expect("a disk");
    let once = data_bytes(folder.path());
    for round in 0..50u8 {
        (0..10_000).for_each(|number| space.insert(key(number), [round; 100]).expect("room"));
        if round % 5 == 0 {
            db.sync().expect("a disk");
        }
    }
    db.sync().expect("a disk");
    assert_eq!(space.len().expect("sound"), 10_000);
    // The live version, those of two epochs that a crash may still choose, and preallocated extents.
    let now = data_bytes(folder.path());
    assert!(now <= once * 4, "{once} bytes written once, {now} overwritten fifty times");
    drop(space);
    db.close().expect("a sound close");
    assert!(on_disk(folder.path()) <= once * 3, "{once} bytes, {} closed", on_disk(folder.path()));
    assert_sound(&relaxed(folder.path()));
}

#[test]
fn values_of_changing_length_use_space_again() {
    let folder = folder();
    // Epochs of a number of writes: those of a time are long on a busy machine, and hold what was replaced in them.
    let db = relaxed(folder.path());
    let space = db.keyspace("s").expect("a name");
    let mut chance = Chance::new(3);
    let mut once = 0;
    for round in 0..40 {
        for number in 0..4000u64 {
            let len = chance.below(300);
            space.insert(key(number), vec![1; len]).expect("room");
            if number % 500 == 499 {
                db.sync().expect("a disk");
            }
        }
        if round == 0 {
            once = data_bytes(folder.path());
        }
    }
    // The live version, those of two epochs that a crash may still choose, and preallocated extents.
    let now = data_bytes(folder.path());
    assert!(now <= once * 4, "{once} bytes after one round, {now} after forty");
}

#[test]
fn emptied_and_filled_with_other_keys() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let mut once = 0;
    for round in 0..6 {
        let numbers = round * 20_000..(round + 1) * 20_000;
        fill(&space, numbers.clone());
        if round == 0 {
            once = data_bytes(folder.path());
        }
        numbers.for_each(|number| assert!(space.remove(key(number)).expect("sound")));
        (0..3).for_each(|_| db.sync().expect("a disk"));
    }
    assert!(space.is_empty().expect("sound"));
    let now = data_bytes(folder.path());
    assert!(now <= once * 2, "{once} bytes filled once, {now} filled six times");
    let leaves = db.stats().space.leaves;
    assert!(leaves < 200, "{leaves} leaves in use for nothing");
    drop(space);
    db.close().expect("a sound close");
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    fill(&space, 500_000..520_000);
    drop(space);
    db.close().expect("a sound close");
    assert!(data_bytes(folder.path()) <= once * 2, "{once} bytes once, {} at last", data_bytes(folder.path()));
}

/// One thread puts and another removes: space that the second one frees must come back to the first.
#[test]
fn a_queue_between_two_threads_does_not_grow() {
    let folder = folder();
    let db = tools::open(folder.path()).expect("new");
    let space = db.keyspace("queue").expect("a name");
    let (send, receive) = std::sync::mpsc::sync_channel::<u64>(200);
    let mut early = 0;
    std::thread::scope(|scope| {
        let taker = space.clone();
        scope.spawn(move || {
            receive.iter().for_each(|number| assert!(taker.remove(number.to_be_bytes()).expect("sound")));
        });
        for number in 0..60_000u64 {
            space.insert(number.to_be_bytes(), [7; 500]).expect("room");
            send.send(number).expect("a taker");
            if number % 200 == 0 {
                db.sync().expect("a disk");
            }
            if number == 10_000 {
                early = data_bytes(folder.path());
            }
        }
        drop(send);
    });
    assert!(space.is_empty().expect("sound"));
    let now = data_bytes(folder.path());
    assert!(now <= early * 2 + MIB, "{early} bytes after a sixth, {now} in the end");
}

/// A checkpoint counts the pages that were logged, not the files' sizes.
#[test]
fn write_back_counts_what_was_written() {
    let folder = folder();
    let open = || tools::builder().log_bytes(2 << 20).open(folder.path()).expect("sound");
    let db = open();
    fill(&db.keyspace("s").expect("a name"), 0..100_000);
    db.close().expect("a sound close");
    let db = open();
    let space = db.keyspace("s").expect("a name");
    while db.stats().log.checkpoints < 3 {
        space.insert(key(7), [7; 3000]).expect("room");
        db.sync().expect("a disk");
    }
    let stats = db.stats();
    let each = stats.log.write_back_bytes / stats.log.checkpoints;
    assert!((4 * KIB..=64 * KIB).contains(&each), "{each} bytes at a checkpoint, for one record");
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_mapped_is_told() {
    for image in [ImageMode::Shared, ImageMode::Private] {
        let folder = folder();
        let db = tools::builder().image(image).open(folder.path()).expect("new");
        fill(&db.keyspace("s").expect("a name"), 0..50_000);
        let stats = db.stats();
        let (resident, large) = (stats.memory.resident_bytes, stats.memory.huge_page_bytes);
        let used = stats.space.leaf_bytes + stats.space.record_bytes;
        assert!(resident >= used && resident <= used * 2 + 8 * MIB, "{resident} resident, {used} in use");
        assert!(large <= resident && large.is_multiple_of(2 * MIB), "{large} in large pages");
    }
}

/// Seven of the longest records that a leaf block takes fill its room. The last one ends where the block does, and no
/// other record is laid over it.
#[test]
fn the_room_of_a_leaf_block_is_used_to_its_end() {
    let folder = folder();
    let db = Database::builder().design("clustered").durability(Durability::OnSync).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    // With its header and the rest of its checksum, each has 512 bytes.
    (0..12_u8).for_each(|key| space.insert([key], [key; 501]).expect("room"));
    for key in 0..12_u8 {
        assert_eq!(space.get([key]).expect("sound").as_deref(), Some(&[key; 501][..]), "{key}");
    }
    assert_sound(&db);
}

/// A put for which the page has no room splits the leaf, so that records lie where their leaves are. Outside, each
/// would be one more read of a cold disk for a scan.
#[test]
fn records_of_one_size_lie_in_their_leaves() {
    let fill = |keys: &mut dyn Iterator<Item = u64>| {
        let folder = folder();
        let db =
            Database::builder().design("clustered").durability(Durability::OnSync).open(folder.path()).expect("new");
        let space = db.keyspace("s").expect("a name");
        // 26 of these fit into a page, whose leaf has 28 slots.
        keys.for_each(|key| space.insert(format!("{key:023}"), [7; 100]).expect("room"));
        assert_sound(&db);
        db.stats().space
    };
    let count = 20_000_u64;
    let random = fill(&mut (0..count).map(|key| key.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
    assert!(random.record_bytes < count * 136 / 100, "{} bytes outside of leaves", random.record_bytes);
    // Two thirds of a page on average, as after splits of any B+-tree.
    assert!((count / 20..count / 16).contains(&random.leaves), "{} leaves", random.leaves);
    let ordered = fill(&mut (0..count));
    assert!(ordered.record_bytes < count * 136 / 100, "{} bytes outside of leaves", ordered.record_bytes);
    assert!(ordered.leaves < count / 25, "{} leaves in order", ordered.leaves);
}

/// What a put asks of the capacity is the least: a record without room in its leaf lies outside where no leaf can be
/// split. Regression: overwrites were refused, of keys whose leaves had slots, beside a file `records` that was empty.
#[test]
fn a_record_lies_outside_its_leaf_where_no_leaf_is_left() {
    let folder = folder();
    let builder = Database::builder().design("clustered").durability(Durability::OnSync).capacity(MIB);
    let db = builder.open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    // Records of 256 bytes: a page has room for 14, and slots for 28.
    let insert = |key: u64, byte| space.insert(format!("{key:023}"), [byte; 224]);
    let count = (0..).find(|key| insert(*key, 1).is_err()).expect("the capacity has an end");
    db.sync().expect("a disk");
    let used = db.stats().space;
    assert!(used.free_leaf_bytes < 3 * 4096 && used.record_bytes < MIB / 4, "leaves have ended first: {used:?}");
    // One or two of each leaf but the last, which is full: they have slots, and no page to split into.
    let overwritten = || (0..count - 28).step_by(10);
    overwritten().for_each(|key| insert(key, 2).expect("the records have room"));
    let outside = db.stats().space.record_bytes - used.record_bytes;
    assert!(outside > (count - 28) / 10 * 200, "{outside} bytes of {count} records");
    let value = |key: u64| space.get(format!("{key:023}")).expect("sound");
    assert!(overwritten().all(|key| value(key).is_some_and(|value| value[..] == [2; 224])));
    assert_sound(&db);
}

/// A merged leaf is not split by the next put. Regression: one whose records filled its page was, in each round.
#[test]
fn a_leaf_with_records_is_not_merged_and_split_in_turn() {
    let folder = folder();
    let db = Database::builder().design("clustered").durability(Durability::OnSync).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let key = |number: u32| format!("{number:023}");
    // Fourteen of these fill a page.
    let value = [1; 224];
    (0..13).for_each(|number| space.insert(key(10 * number), value).expect("room"));
    (0..4).for_each(|_| db.sync().expect("a disk"));
    let before = db.stats().space;
    for _ in 0..100 {
        [115, 116].into_iter().for_each(|number| space.insert(key(number), value).expect("room"));
        [116, 115].into_iter().for_each(|number| assert!(space.remove(key(number)).expect("sound")));
    }
    let after = db.stats().space;
    let pages = |space: &holm::SpaceStats| (space.leaf_bytes + space.free_leaf_bytes) / 4096;
    // A split takes two pages, which are free again two epochs later; there is no epoch here.
    assert!(pages(&after) <= pages(&before) + 4, "{before:?}, {after:?}");
    assert_sound(&db);
}
