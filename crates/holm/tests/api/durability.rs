//! The durability table, row by row, as far as a living process can see it. A copy of the files plays the power cut:
//! recovery does not trust copies, so it opens them at the last log entry that was synced.

use crate::disks::Disk;
use crate::tools::{self, Chance, assert_sound, copy, folder, on_disk, relaxed};
use holm::{Database, Durability, ImageMode, Keyspace, RecoveredFrom};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn open(durability: Durability, path: &std::path::Path) -> (Database, Keyspace) {
    let db = tools::builder().durability(durability).open(path).expect("new");
    let space = db.keyspace("s").expect("a name");
    (db, space)
}

/// Opens what a power cut would leave.
fn after_a_cut(live: &std::path::Path) -> (tempfile::TempDir, Database) {
    let dead = folder();
    copy(live, &dead.path().join("dead"));
    let db = relaxed(&dead.path().join("dead"));
    assert!(matches!(db.recovery().source, RecoveredFrom::Log { .. }), "{:?}", db.recovery());
    assert_sound(&db);
    (dead, db)
}

#[test]
fn strict_returns_when_its_epoch_is_durable() {
    let folder = folder();
    let (db, space) = open(Durability::Strict, folder.path());
    for number in 0..40u32 {
        // The label is not less than the epoch that was active before.
        let before = db.stats().epochs.active;
        match number % 4 {
            0 => assert!(!space.remove("absent").expect("a disk")),
            1 => db.batch().insert(&space, number.to_be_bytes(), "").insert(&space, "a", "").commit().expect("a disk"),
            2 => assert!(space.remove((number - 1).to_be_bytes()).expect("a disk")),
            _ => space.insert(number.to_be_bytes(), "v").expect("a disk"),
        }
        assert!(db.stats().epochs.durable >= before, "{number}: {} < {before}", db.stats().epochs.durable);
    }
    let (_dead, dead) = after_a_cut(folder.path());
    let there = dead.keyspace("s").expect("a name");
    let held = |space: &Keyspace| space.iter().map(|pair| pair.expect("sound").0.to_vec()).collect::<Vec<_>>();
    assert_eq!(held(&there), held(&space));
    assert_eq!(there.len().expect("sound"), 11);
}

/// Operations that read and write one key, of which a pop returned before its epoch was durable without a complaint of
/// any test.
#[test]
fn strict_operations_on_one_key_return_when_their_epochs_are_durable() {
    type Call = fn(&Keyspace) -> holm::Result<()>;
    let calls: [(&str, Call); 11] = [
        ("insert_if_absent", |space| space.insert_if_absent("a", "1").map(drop)),
        ("get_or_insert_with", |space| space.get_or_insert_with("b", || b"2".to_vec()).map(drop)),
        ("compare_and_swap", |space| space.compare_and_swap("a", Some(b"1"), Some(b"3")).map(drop)),
        ("fetch_update", |space| space.fetch_update("a", |_| Some(b"4".to_vec())).map(drop)),
        ("update_fetch", |space| space.update_fetch("a", |_| Some(b"5".to_vec())).map(drop)),
        ("swap", |space| space.swap("a", "6").map(drop)),
        ("take", |space| space.take("a").map(drop)),
        ("increment", |space| space.increment("n", 7).map(drop)),
        ("remove", |space| space.remove("n").map(drop)),
        ("pop_first", |space| space.pop_first().map(drop)),
        ("pop_last", |space| space.pop_last().map(drop)),
    ];
    let folder = folder();
    let (db, space) = open(Durability::Strict, folder.path());
    ["x", "y", "z"].iter().for_each(|key| space.insert(key, "0").expect("room"));
    for (name, call) in calls {
        let before = db.stats().epochs.active;
        call(&space).expect("room");
        let durable = db.stats().epochs.durable;
        assert!(durable >= before, "{name}: {durable} is durable, and the call belongs to {before} or a later one");
    }
}

#[test]
fn strict_keyspaces_and_reads() {
    let folder = folder();
    let (db, space) = open(Durability::Strict, folder.path());
    let before = db.stats().epochs.active;
    let other = db.keyspace("other").expect("a name");
    assert!(db.stats().epochs.durable >= before);
    space.insert("k", 0u64.to_be_bytes()).expect("a disk");
    std::thread::scope(|scope| {
        // Each value is the epoch that was active before it was put, so that its label is not less.
        let writer =
            scope.spawn(|| (0..50).try_for_each(|_| space.insert("k", db.stats().epochs.active.to_be_bytes())));
        // No power cut takes back what a read has returned: it is durable when the read returns.
        let mut turn = 0;
        while !writer.is_finished() {
            turn += 1;
            let value = match turn % 4 {
                0 => space.get("k").expect("sound"),
                1 => space.get_many(&["k"]).expect("sound").remove(0),
                2 => space.first().expect("sound").map(|pair| pair.1),
                _ => space.iter().next_back().map(|pair| pair.expect("sound").1),
            };
            let label = u64::from_be_bytes(value.expect("there").first_chunk().copied().expect("eight bytes"));
            assert!(db.stats().epochs.durable >= label, "{} < {label}", db.stats().epochs.durable);
        }
        writer.join().expect("no panic").expect("a disk");
    });
    let last = space.get("k").expect("sound").expect("there");
    let (_dead, dead) = after_a_cut(folder.path());
    assert_eq!(dead.keyspaces().expect("a catalog"), ["default", "other", "s"]);
    let value = dead.keyspace("s").and_then(|space| space.get("k")).expect("sound");
    assert_eq!(value.as_deref(), Some(&*last));
    assert!(other.is_empty().expect("sound"));
}

#[test]
fn strict_commits_of_many_threads_share_syncs() {
    let folder = folder();
    let (db, space) = open(Durability::Strict, folder.path());
    let before = db.stats().log.entries;
    std::thread::scope(|scope| {
        for thread in 0..16u32 {
            let space = &space;
            scope.spawn(move || {
                (0..40u32).for_each(|number| space.insert((number * 16 + thread).to_be_bytes(), "").expect("a disk"));
            });
        }
    });
    let records = db.stats().log.entries - before;
    assert_eq!(space.len().expect("sound"), 640);
    assert!(records >= 40, "{records} records: each thread waited forty times");
    assert!(records < 320, "{records} records for 640 commits of 16 threads");
}

/// Without any sync, an operation is durable once the epoch after its own has ended.
#[test]
fn buffered_becomes_durable_by_itself() {
    for durability in [Durability::default(), Durability::Buffered { interval: Duration::from_nanos(1) }] {
        let folder = folder();
        let (db, space) = open(durability, folder.path());
        for number in 0..20u32 {
            space.insert(number.to_be_bytes(), "v").expect("room");
            let label = db.stats().epochs.active;
            while db.stats().epochs.durable < label {
                std::thread::yield_now();
            }
            assert!(db.stats().epochs.active <= db.stats().epochs.durable + 2, "no more than two epochs are open");
        }
        let (_dead, dead) = after_a_cut(folder.path());
        assert_eq!(dead.keyspace("s").expect("a name").len().expect("sound"), 20);
    }
}

#[test]
fn sync_covers_all_that_was_completed_before() {
    for durability in [Durability::OnSync, Durability::default()] {
        let folder = folder();
        let (db, space) = open(durability, folder.path());
        let mut chance = Chance::new(5);
        for round in 0..4u32 {
            std::thread::scope(|scope| {
                for thread in 0..3u32 {
                    let space = &space;
                    scope.spawn(move || {
                        (0..500u32).for_each(|number| {
                            space.insert([round, thread, number].map(u32::to_be_bytes).concat(), "v").expect("room");
                        });
                    });
                }
            });
            let before = db.stats().epochs.active;
            db.sync().expect("a disk");
            assert!(db.stats().epochs.durable >= before);
            // Not covered, and perhaps lost.
            (0..chance.below(50)).for_each(|number| space.insert([number as u8], "late").expect("room"));
            let (_dead, dead) = after_a_cut(folder.path());
            let there = dead.keyspace("s").expect("a name");
            assert_eq!(
                there.iter().filter(|pair| pair.as_ref().expect("sound").0.len() == 12).count(),
                1500 * (round as usize + 1)
            );
        }
    }
}

/// However fast the writers are, an epoch record is bounded by the limit, plus one operation, plus what each thread may
/// do uncounted. Without backpressure, an epoch of this mode contains everything that is written in a tenth of a
/// second.
#[test]
fn no_record_outgrows_the_gate() {
    const VALUE: u64 = 100 << 10;
    let folder = folder();
    let builder = tools::builder().durability(Durability::OnSync).log_bytes(2 << 20);
    let db = builder.open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let (db, space) = (&db, &space);
            scope.spawn(move || {
                for number in 0..60u8 {
                    space.insert([thread, number], vec![number; VALUE as usize]).expect("room");
                    // A batch larger than the limit gets an epoch of its own.
                    if (thread, number) == (0, 30) {
                        let batch = (0..8).fold(db.batch(), |b, n| b.insert(space, [9, n], vec![n; VALUE as usize]));
                        batch.commit().expect("room");
                    }
                }
            });
        }
    });
    db.sync().expect("a disk");
    let stats = db.stats();
    // Half of a half; a batch of eight values; the threads' allowances; headers and leaves.
    let limit = (512 << 10) + 8 * VALUE + 4 * (64 << 10);
    assert!(
        stats.log.largest_entry_bytes <= limit * 17 / 16,
        "{} bytes in one entry, {limit} allowed",
        stats.log.largest_entry_bytes
    );
    assert!(stats.epochs.throttled_writes > 0, "no write was throttled");
    assert_eq!(space.len().expect("sound"), 248);
}

#[test]
fn statistics_tell_what_a_power_cut_would_take() {
    let folder = folder();
    let (db, space) = open(Durability::OnSync, folder.path());
    // An epoch may end between the write and the look, but not each time.
    let pending = (0..1_000u32).find_map(|number| {
        space.insert(number.to_be_bytes(), [7; 1_000]).expect("room");
        Some(db.stats().epochs).filter(|epochs| epochs.pending_bytes > 1_000)
    });
    assert!(pending.expect("what was just written is not durable").pending_ns > 0);
    db.sync().expect("a disk");
    let epochs = db.stats().epochs;
    assert_eq!((epochs.pending_bytes, epochs.pending_ns), (0, 0));
}

/// The record of an epoch still counted as pending for a moment after the epoch was durable, and after `sync` had
/// returned.
#[test]
fn what_is_durable_is_not_pending() {
    let folder = folder();
    let (db, space) = open(Durability::OnSync, folder.path());
    db.sync().expect("a disk");
    space.insert("north", "coral").expect("room");
    let (epoch, (seen, looks)) = (db.stats().epochs.active, std::sync::mpsc::channel());
    let looker = Arc::new(Mutex::new(Some(db.clone())));
    let held = looker.clone();
    db.on_sync(move || {
        let db = held.lock().expect("no panic");
        // The thread that makes epochs durable calls this, right after that.
        if let Some(db) = db.as_ref().filter(|db| db.durable_epoch() >= epoch) {
            seen.send(db.stats().epochs.pending_bytes).unwrap_or_default();
        }
    });
    db.sync().expect("a disk");
    assert_eq!(looks.recv(), Ok(0));
    // The function would keep the database open.
    looker.lock().expect("no panic").take();
}

/// A function for news that asks for statistics met the thread that closed the database, or that found the disk full,
/// and each waited for the other.
#[test]
fn a_function_for_news_asks_for_statistics_whoever_calls_it() {
    let (folder, disk) = (folder(), Disk::default());
    let builder = tools::builder().vfs(Arc::new(disk.clone()), [0; 2]).durability(Durability::OnSync);
    let db = builder.open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let held = Arc::new(Mutex::new(Some(db.clone())));
    let (seen, looks) = std::sync::mpsc::channel();
    let asker = held.clone();
    db.on_sync(move || {
        if let Some(db) = asker.lock().expect("no panic").as_ref() {
            seen.send(db.stats().space.disk_bytes).unwrap_or_default();
        }
    });
    let look = || looks.recv_timeout(Duration::from_secs(60)).expect("an answer");
    disk.fill_log(true);
    // More than a log that does not grow can take.
    space.insert("north", vec![7; 4 << 20]).expect("room");
    let (refusal, refused) = std::sync::mpsc::channel();
    let syncing = db.clone();
    std::thread::spawn(move || refusal.send(syncing.sync()));
    assert!(look() > 0);
    let refused = refused.recv_timeout(Duration::from_secs(60)).expect("an answer");
    assert!(matches!(refused, Err(holm::Error::NoSpace { .. })), "{refused:?}");
    disk.fill_log(false);
    db.sync().expect("room again");
    while looks.try_recv().is_ok() {}
    let (done, closed) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(db.close()));
    closed.recv_timeout(Duration::from_secs(60)).expect("an end").expect("a sound close");
    assert!(look() > 0);
    held.lock().expect("no panic").take();
}

/// Without a time promise, yet always a prefix: of single writes in order, no later one without the earlier ones.
#[test]
fn a_cut_leaves_a_prefix() {
    let folder = folder();
    let (db, space) = open(Durability::OnSync, folder.path());
    let synced = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let step = |number: u32| {
                space.insert(number.to_be_bytes(), "v").expect("room");
                if number >= 100 && number.is_multiple_of(2) {
                    assert!(space.remove((number - 100).to_be_bytes()).expect("sound"));
                }
            };
            step(0);
            // On a slow disk one sync can take longer than all steps. The next one begins after the first step.
            let enough = synced.load(SeqCst) + 2;
            (1..1_000_000).take_while(|number| *number < 30_000 || synced.load(SeqCst) < enough).for_each(step);
        });
        while !writer.is_finished() {
            db.sync().expect("a disk");
            synced.fetch_add(1, SeqCst);
        }
        writer.join().expect("no panic");
    });
    let (_dead, dead) = after_a_cut(folder.path());
    let there = dead.keyspace("s").expect("a name");
    let last = there.last().expect("sound").expect("synced at least once").0;
    let last = u32::from_be_bytes(last.first_chunk().copied().expect("four bytes"));
    let removed = |number: u32, upto: u32| number.is_multiple_of(2) && number + 100 <= upto;
    for number in 0..=last {
        // The removal that belongs to the last insertion may or may not have made it.
        if !(number.is_multiple_of(2) && number + 100 == last) {
            let found = there.contains_key(number.to_be_bytes()).expect("sound");
            assert_eq!(found, !removed(number, last), "{number} of {last}");
        }
    }
}

/// A split or merge moves pairs to other leaves. Until an epoch has ended, a crash may bring the old leaves back, and
/// the records that they lead to must still be there.
#[test]
fn a_cut_finds_the_records_of_leaves_split_and_merged_since() {
    for thinned in [false, true] {
        let folder = folder();
        let (db, space) = open(Durability::OnSync, folder.path());
        let numbers = || (0..6000u32).step_by(4);
        numbers().for_each(|number| space.insert(number.to_be_bytes(), "before").expect("room"));
        drop(space);
        // Writes into the data files, so that no log restores what is overwritten in them.
        db.close().expect("a sound close");
        let (_db, space) = open(Durability::OnSync, folder.path());
        // Splits everywhere, or merges; then half of the moved pairs are removed and half overwritten.
        if thinned {
            numbers().filter(|number| number % 16 != 0).for_each(|number| {
                assert!(space.remove(number.to_be_bytes()).expect("sound"));
            });
        } else {
            numbers().for_each(|number| space.insert((number + 1).to_be_bytes(), "middle").expect("room"));
        }
        for number in numbers() {
            if number % 8 == 0 {
                assert!(space.remove(number.to_be_bytes()).is_ok());
            } else {
                space.insert(number.to_be_bytes(), "second").expect("room");
            }
            space.insert((number + 2).to_be_bytes(), "after!").expect("room");
        }
        let (_dead, dead) = after_a_cut(folder.path());
        let there = dead.keyspace("s").expect("a name");
        if there.get(4u32.to_be_bytes()).expect("sound").as_deref() == Some(b"before") {
            assert!(numbers().all(|number| there.contains_key(number.to_be_bytes()).expect("sound")));
        }
        for pair in there.iter() {
            let (key, value) = pair.expect("sound");
            let wanted: &[&[u8]] = match key[3] % 4 {
                0 => &[b"before", b"second"],
                1 => &[b"middle"],
                _ => &[b"after!"],
            };
            assert!(wanted.contains(&&*value), "{key:?} {value:?}");
        }
    }
}

/// Epochs without changes leave no log entry, and a crash after many of them is recovered like any other.
#[test]
fn a_cut_after_idle_epochs() {
    let folder = folder();
    let (db, space) = open(Durability::OnSync, folder.path());
    space.insert("k", "synced").expect("room");
    (0..9).for_each(|_| db.sync().expect("a disk"));
    let records = db.stats().log.entries;
    space.insert("k", "perhaps lost").expect("room");
    space.insert("l", "perhaps lost").expect("room");
    assert!(records < 9, "nine syncs, of which eight had nothing to record: {records}");
    let (_dead, dead) = after_a_cut(folder.path());
    let value = dead.keyspace("s").and_then(|space| space.get("k")).expect("sound").expect("synced");
    assert!(*value == *b"synced" || *value == *b"perhaps lost");
}

/// An entry larger than the log's limit is an entry like any other.
#[test]
fn large_epochs_survive_a_cut() {
    let folder = folder();
    let db = tools::builder().log_bytes(2 << 20).durability(Durability::Strict).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    for number in 0..5u8 {
        space.insert([number], vec![number; 5 << 20]).expect("a disk");
        space.insert([number, 1], "small").expect("a disk");
    }
    let (_dead, dead) = after_a_cut(folder.path());
    let there = dead.keyspace("s").expect("a name");
    assert_eq!(there.len().expect("sound"), 10);
    for number in 0..5u8 {
        assert!(there.get([number]).expect("sound").is_some_and(|value| value.iter().all(|byte| *byte == number)));
    }
    assert!(on_disk(folder.path()) < 80 << 20);
}

/// The private image keeps the same promises; the death of its process loses what a power cut would.
#[test]
fn a_private_image() {
    let folder = folder();
    let db = tools::builder().image(ImageMode::Private).open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    (0..3000u32).for_each(|number| space.insert(number.to_be_bytes(), "v").expect("room"));
    db.sync().expect("a disk");
    let (_dead, dead) = after_a_cut(folder.path());
    assert_eq!(dead.keyspace("s").expect("a name").len().expect("sound"), 3000);
    (0..1000u32).for_each(|number| assert!(space.remove(number.to_be_bytes()).expect("sound")));
    drop(space);
    db.close().expect("a sound close");
    for image in [ImageMode::Shared, ImageMode::Private, ImageMode::Shared] {
        let db = tools::builder().image(image).open(folder.path()).expect("closed");
        assert_eq!(db.recovery().source, RecoveredFrom::CleanShutdown);
        assert_sound(&db);
        let space = db.keyspace("s").expect("a name");
        assert_eq!(space.first().expect("sound").expect("there").0.to_vec(), 1000u32.to_be_bytes());
        let private = image == ImageMode::Private;
        space.insert([u8::from(private)], "more").expect("room");
        assert!(space.remove([u8::from(private)]).expect("sound"));
        drop(space);
        db.close().expect("a sound close");
    }
}

/// What waited for the last epoch of a session, in `Strict` reads too, got `Poisoned` as soon as another thread closed
/// the database, although the close made the epoch durable.
#[test]
fn a_close_makes_durable_what_waits_for_the_last_epoch() {
    let (folder, disk) = (folder(), Disk::default());
    let builder = tools::builder().vfs(Arc::new(disk.clone()), [0; 2]).durability(Durability::Strict);
    let db = builder.open(folder.path()).expect("new");
    let space = db.keyspace("s").expect("a name");
    let (held, writes) = (disk.hold_log(), disk.begun_writes());
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| space.insert("north", "coral"));
        while disk.begun_writes() == writes {
            std::thread::yield_now();
        }
        // From here on, nothing but the close brings news: the log waits.
        let (bell, news) = std::sync::mpsc::channel();
        db.on_sync(move || bell.send(()).unwrap_or_default());
        let sync = db.begin_sync().expect("open");
        let closer = scope.spawn(|| db.clone().close());
        news.recv().expect("the close stops the clock");
        let early = sync.is_done();
        drop(held);
        assert!(matches!(early, Ok(false)), "{early:?}");
        writer.join().expect("no panic").expect("the close makes it durable");
        closer.join().expect("no panic").expect("a disk");
        assert!(sync.is_done().expect("closed"));
    });
    assert_eq!(space.get("north").expect("still reads").as_deref(), Some(&b"coral"[..]));
}

/// A checkpoint is in the sync of the data files while the log fails once, and the mark of the failure is written. The
/// superblock of the checkpoint took the mark's place. Whatever the process wrote there since the failure, the next
/// session believes the log alone.
#[test]
fn a_checkpoint_does_not_take_the_mark_of_a_failure_away() {
    let (folder, disk) = (folder(), Disk::default());
    let path = folder.path().join("live");
    let builder = tools::builder().vfs(Arc::new(disk.clone()), [0; 2]).log_bytes(2 << 20);
    let db = builder.durability(Durability::OnSync).open(&path).expect("new");
    let space = db.keyspace("s").expect("a name");
    let (held, syncs) = (disk.hold_data(), disk.begun_syncs());
    // Beyond the log's 2 MiB, so a checkpoint is due. With many more, this thread would fill all segments, and wait for
    // the checkpoint.
    for number in 0..600_u32 {
        space.insert((number % 50).to_be_bytes(), vec![7; 5_000]).expect("room");
    }
    while disk.begun_syncs() == syncs {
        std::thread::yield_now();
    }
    disk.take_superblocks();
    disk.break_log();
    // The growth of the log may have failed already.
    drop(space.insert("north", "coral"));
    assert!(db.sync().is_err(), "the log is broken");
    disk.mend_log();
    drop(held);
    // The last handle waits for the thread of the checkpoints.
    drop((space, db));
    let written = disk.take_superblocks();
    // The log may have got segments before it was broken.
    let mut is_marked = false;
    for (number, (offset, bytes)) in written.iter().enumerate() {
        let dead = folder.path().join(number.to_string());
        copy(&path, &dead);
        // Both slots say the same.
        for slot in [*offset, (*offset + bytes.len() as u64) % (2 * bytes.len() as u64)] {
            let file = std::fs::File::options().write(true).open(dead.join("superblock")).expect("there");
            std::os::unix::fs::FileExt::write_all_at(&file, bytes, slot).expect("room");
        }
        let db = relaxed(&dead);
        let RecoveredFrom::Log { reason, .. } = &db.recovery().source else { panic!("{:?}", db.recovery()) };
        assert!(!is_marked || reason.contains("met an error"), "write {number} of {}: {reason}", written.len());
        is_marked |= reason.contains("met an error");
        assert_sound(&db);
    }
    assert!(is_marked, "{} writes", written.len());
}
