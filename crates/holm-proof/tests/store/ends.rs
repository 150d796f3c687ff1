//! Ends of sessions that once went wrong, each with its own story.

use crate::designs::DEFAULT;
use crate::history::{Change, History, Mode, Session, contents};
use holm::{Batch, Durability, Error, RecoveredFrom};
use holm_medium::vfs::{How, Vfs};
use holm_proof::disk::{Fault, Kind, SimDisk};
use std::path::{Path, PathBuf};
use std::time::Duration;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Epochs end only when a caller waits for it.
const RARELY: Mode = Mode::new(false, Durability::Buffered { interval: Duration::from_secs(3_600) });

fn file(name: &str) -> PathBuf {
    Path::new("/d").join(name)
}

fn put(key: u32, len: usize) -> Vec<Change> {
    vec![(0, key.to_be_bytes().to_vec(), Some(vec![key as u8; len]))]
}

fn on_sync(private: bool) -> Mode {
    Mode::new(private, Durability::OnSync)
}

fn begin(disk: &SimDisk, mode: Mode) -> Session {
    let db = mode.open(disk).expect("a sound disk");
    let before = contents(&db, "at the beginning");
    Session::begin(db, mode, before).expect("a sound disk")
}

fn reopened(disk: &SimDisk, mode: Mode, history: &History) -> RecoveredFrom {
    let db = mode.open(disk).expect("a sound disk");
    history.expect(&contents(&db, "afterwards"), "afterwards");
    db.recovery().source.clone()
}

/// Found by fuzzing. What recovery takes until it is durable came from behind the end of the files. So each death of
/// the process made them grow by an extent, and by an eighth once they were larger. In the end no open found space.
#[test]
fn files_do_not_grow_from_death_to_death() {
    for mode in Mode::over_designs(&[on_sync(false)]).into_iter().filter(|mode| !mode.private) {
        let mut disk = SimDisk::new();
        let mut session = begin(&disk, mode);
        (0..200).for_each(|key| session.step(put(key, 16)));
        session.sync();
        let len = |disk: &SimDisk, name| disk.contents(&file(name)).expect("it is there").len();
        let lens = |disk: &SimDisk| ["leaves", "records"].map(|name| len(disk, name));
        let before = lens(&disk);
        for round in 0..40 {
            let left = disk.kill();
            drop(session);
            disk = left;
            session = begin(&disk, mode);
            session.step(put(round, 16));
        }
        let after = lens(&disk);
        // Each death leaves two blocks that the next opening may not use yet, because no epoch is durable since.
        let most = before.map(|bytes| bytes * 2 + 96 * mode.block_bytes());
        assert!(after[0] <= most[0] && after[1] <= most[1], "{mode:?}: {after:?} after {before:?}");
    }
}

/// A leaf made by a split has no older states, but its pairs are old: their records must not be overwritten in the
/// epoch of the split.
#[test]
fn a_record_moved_by_a_split_is_not_overwritten_at_once() {
    // A leaf of one block is full with the first number, a leaf of two blocks with the second.
    for (mode, full) in
        Mode::over_designs(&[on_sync(false)]).into_iter().flat_map(|mode| [28, 56].map(|full| (mode, full)))
    {
        let disk = SimDisk::new();
        let mut session = begin(&disk, mode);
        (0..full).for_each(|key| session.step(put(key, 16)));
        // Closed in between: otherwise recovery would restore what is only in the log.
        session.db.clone().close().expect("a sound disk");
        drop(session);
        let mut session = begin(&disk, mode);
        session.step(put(100, 16));
        for key in 0..full {
            session.step(vec![(0, u32::to_be_bytes(key).to_vec(), None)]);
            session.step(put(200 + key, 16));
        }
        disk.write_back(1, 1);
        let history = session.history();
        reopened(&disk.crash_keeping_all(), mode, &history);
    }
}

/// A record that gives way is not overwritten in its grace period, whether a snapshot has retained it or not. Until
/// then a crash may go back to a state that has it, and the next open compares it with the log.
#[test]
fn a_record_is_not_overwritten_within_its_grace_period() {
    for mode in Mode::over_designs(&[on_sync(false)]).into_iter().filter(|mode| !mode.private) {
        for beside_snapshot in [false, true] {
            let disk = SimDisk::new();
            let mut session = begin(&disk, mode);
            let put_all = |session: &mut Session| (0..60).for_each(|key| session.step(put(key, 16)));
            put_all(&mut session);
            session.sync();
            let snapshot = beside_snapshot.then(|| session.db.snapshot().expect("sound"));
            put_all(&mut session);
            drop(snapshot);
            put_all(&mut session);
            let left = disk.kill();
            let mut history = session.history();
            history.floor = history.steps.len();
            drop(session);
            let found = reopened(&left, mode, &history);
            assert_eq!(found, RecoveredFrom::PageCache, "{mode:?}, beside a snapshot: {beside_snapshot}");
        }
    }
}

/// The last epoch's record may begin the other half of the log. Closing must then empty both halves.
#[test]
fn closing_when_the_log_has_just_changed_halves() {
    for mode in Mode::over_designs(&[on_sync(false), on_sync(true)]) {
        let disk = SimDisk::new();
        let mut session = begin(&disk, mode);
        (0..6).for_each(|key| session.step(put(key, 70_000)));
        session.sync();
        (10..20).for_each(|key| session.step(put(key, 70_000)));
        let mut history = session.history();
        session.db.clone().close().expect("a sound disk");
        drop(session);
        history.floor = history.steps.len();
        assert_eq!(reopened(&disk, mode, &history), RecoveredFrom::CleanShutdown, "{mode:?}");
        assert_eq!(reopened(&disk.crash_to_durable(), mode, &history), RecoveredFrom::CleanShutdown, "{mode:?}");
    }
}

/// Power fails at each call of closing, and once after the last of them. What was synced is present in any case, and
/// everything is present if closing has returned.
#[test]
fn power_lost_at_every_call_of_closing() {
    for mode in Mode::all() {
        // The private image's checkpoint writes each run of lines with a separate call.
        for call in (0..).step_by(if mode.private { 7 } else { 1 }) {
            let disk = SimDisk::new();
            let mut session = begin(&disk, mode);
            (0..40).for_each(|key| session.step(put(key, 30)));
            session.sync();
            (20..60).for_each(|key| session.step(put(key, 50)));
            disk.write_back(call, 2);
            disk.fail(Kind::Any, disk.calls().of(Kind::Any) + call, Fault::PowerCut);
            let closed = session.db.clone().close().is_ok();
            let mut history = session.history();
            drop(session);
            if closed {
                history.floor = history.steps.len();
            }
            for cut in [disk.crash_to_durable(), disk.crash_keeping_all(), disk.crash_seeded(call)] {
                let found = reopened(&cut, mode, &history);
                assert!(!closed || found == RecoveredFrom::CleanShutdown, "{mode:?}, call {call}: {found:?}");
            }
            if closed {
                break;
            }
        }
    }
}

/// Closing fails at each of its calls. Then it fails for every other handle, too, and the next opening finds all that
/// was synced, whatever the failed call has left.
#[test]
fn a_failure_of_closing_is_one_for_every_handle() {
    let mut failures = 0;
    for call in 0.. {
        let disk = SimDisk::new();
        let mut session = begin(&disk, on_sync(false));
        (0..40).for_each(|key| session.step(put(key, 30)));
        session.sync();
        (20..60).for_each(|key| session.step(put(key, 50)));
        let before = disk.calls().of(Kind::Any);
        disk.fail(Kind::Any, before + call, Fault::Eio);
        let closed = session.db.clone().close();
        let reached = disk.calls().of(Kind::Any) - before;
        let again = session.db.clone().close();
        assert_eq!(closed.is_ok(), again.is_ok(), "call {call}: {closed:?}, then {again:?}");
        failures += usize::from(closed.is_err());
        let history = session.history();
        drop(session);
        for left in [disk.kill(), disk.crash_to_durable(), disk.crash_seeded(call)] {
            let source = reopened(&left, on_sync(false), &history);
            let is_clean = source == RecoveredFrom::CleanShutdown;
            assert!(closed.is_ok() || !is_clean, "call {call}: {closed:?}, and then {source:?}");
        }
        if reached <= call {
            break;
        }
    }
    assert!(failures > 5, "{failures} calls failed");
}

/// What a process leaves that dies after this many operations of a batch: all stores are visible, and the intent
/// leads to the whole batch. Epochs end only when a caller waits for it.
fn died_in_a_batch(mode: Mode, done: usize, batch: &[Change]) -> (SimDisk, History) {
    let disk = SimDisk::new();
    let mut session = begin(&disk, mode);
    (0..300).for_each(|key| session.step(put(key * 7, 30)));
    session.db.clone().close().expect("a sound disk");
    drop(session);
    // What the batch replaces is in no log any more: if its space is used too early, a cut loses it.
    let mut session = begin(&disk, mode);
    // The file is long enough for the intent.
    session.step(put(2_200, 400_000));
    session.step(vec![(0, 2_200_u32.to_be_bytes().to_vec(), None)]);
    session.sync();
    let north = session.db.keyspace("north").expect("it is there");
    for (_, key, value) in &batch[..done] {
        match value {
            Some(value) => north.insert(key, value).expect("a sound disk"),
            None => drop(north.remove(key).expect("a sound disk")),
        }
    }
    session.steps.push(batch.to_vec());
    let (killed, history) = (disk.kill(), session.history());
    let records = killed.contents(&file("records")).expect("it is there");
    // The records of all writes, and behind them the list that leads to them: docs/format.md.
    let record_words = |key: &[u8], value: &[u8]| (8 + key.len() + value.len() + 2).div_ceil(8);
    let value_of = |change: &Change| change.2.clone().unwrap_or_default();
    let of_records: usize = batch.iter().map(|change| record_words(&change.1, &value_of(change))).sum();
    let words = of_records + 1 + 2 * batch.len();
    let at = records.len() - (words * 8).next_multiple_of(64);
    // Two bytes of the checksum of the large record may lie there, too.
    let others = records[at..].iter().filter(|byte| !matches!(byte, 0 | 0x98)).count();
    assert!(others <= 2, "the intent would lie over something: {others} bytes");
    let (mut bytes, mut entries) = (Vec::new(), Vec::new());
    for change @ (_, key, value) in batch {
        let (offset, bytes_of_value) = (at + bytes.len(), value_of(change));
        let checksum = xxh3_64_with_seed(key, xxh3_64_with_seed(&bytes_of_value, key.len() as u64)) as u32;
        let header = key.len() as u64 | (bytes_of_value.len() as u64) << 17 | u64::from(checksum as u16) << 48;
        bytes.extend(header.to_le_bytes());
        bytes.extend(key);
        bytes.extend(&bytes_of_value);
        bytes.resize(offset - at + record_words(key, &bytes_of_value) * 8 - 2, 0);
        bytes.extend(((checksum >> 16) as u16).to_le_bytes());
        // The catalog is number 0, "default" 1, "north" 2.
        entries.extend((2 | u64::from(value.is_none()) << 24).to_le_bytes());
        let payload = (offset as u64 / 8) | ((record_words(key, &bytes_of_value) as u64) << 40);
        entries.extend(payload.to_le_bytes());
    }
    let list = at + bytes.len();
    bytes.extend((batch.len() as u64 | xxh3_64(&entries) >> 32 << 32).to_le_bytes());
    bytes.extend(entries);
    assert!(killed.overwrite(&file("records"), at, &bytes));
    assert!(killed.overwrite(&file("leaves"), 64, &(list as u64 | 1 << 46 | 1).to_le_bytes()));
    (killed, history)
}

/// A process dies in a batch, and the next one finishes it. Then power fails at any of its calls, or right after.
/// Neither must leave half of the batch.
#[test]
fn a_batch_finished_at_open_stays_whole() {
    // Values as long as those that they replace: a record that is freed too early is used by the next one.
    let batch: Vec<Change> = (0..600).map(|key| put(key, 30).remove(0)).chain([(0, vec![0; 4], None)]).collect();
    for rarely in Mode::over_designs(&[RARELY]) {
        finish_a_batch(rarely, &batch);
    }
}

/// Every design has the same intent. So the tests of designs other than the default stop at fewer operations.
fn finish_a_batch(rarely: Mode, batch: &[Change]) {
    let stops = if rarely.design == DEFAULT { &[0, 1, 7, 300, 600, 601][..] } else { &[7, 600] };
    for done in stops {
        let (killed, history) = died_in_a_batch(rarely, *done, batch);
        for durability in [Durability::OnSync, Durability::Strict] {
            let mode = Mode { durability, ..rarely };
            let whole = killed.kill();
            let opened = mode.open(&whole).expect("a sound disk");
            history.expect(&contents(&opened, "finished"), "finished");
            for cut in [whole.crash_to_durable(), whole.crash_keeping_all()] {
                reopened(&cut, mode, &history);
            }
            for call in (0..whole.calls().of(Kind::Any)).step_by(11) {
                let dying = killed.kill();
                dying.fail(Kind::Any, call, Fault::PowerCut);
                let opened = mode.open(&dying);
                dying.write_back(call, 2);
                reopened(&dying.crash_seeded(call), mode, &history);
                drop(opened);
            }
        }
    }
}

/// The kernel has lost the page with the list of a batch, and nothing that the log has. The intent then leads to no
/// list, and recovery goes back to the last record.
#[test]
fn a_batch_whose_list_has_gone_back_is_not_finished() {
    let batch: Vec<Change> = (0..60).map(|key| put(key, 30).remove(0)).collect();
    for done in [0, 30, 60] {
        let (killed, history) = died_in_a_batch(RARELY, done, &batch);
        let word = killed.contents(&file("leaves")).expect("it is there")[64..72].to_vec();
        let list = u64::from_le_bytes(word.try_into().expect("eight bytes")) & ((1 << 46) - 2);
        assert!(killed.overwrite(&file("records"), list as usize, &[0; 64]));
        let RecoveredFrom::Log { reason, .. } = reopened(&killed, RARELY, &history) else {
            panic!("{done} writes were done")
        };
        assert!(reason.contains("the intent of a commit"), "{reason}");
    }
}

/// The page with the intent of a batch is in the page cache alone, and no sync writes it: its write-back has failed. An
/// opening writes it again before all else. So another one completes the batch, although the page is lost after that
/// and the process dies at any call before it has completed the batch itself.
#[test]
fn an_intent_that_no_sync_writes_is_written_again() {
    let batch: Vec<Change> = (0..60).map(|key| put(key, 30).remove(0)).collect();
    let (killed, mut history) = died_in_a_batch(RARELY, 0, &batch);
    history.floor = history.steps.len();
    let word = killed.contents(&file("leaves")).expect("it is there")[64..72].to_vec();
    assert!(killed.overwrite(&file("leaves"), 64, &[0; 8]));
    let leaves = killed.open(&file("leaves"), How::WRITE).expect("it is there");
    assert_eq!(leaves.write_at(&word, 64).expect("a sound disk"), 8);
    assert!(killed.fail_write_back(&file("leaves")) && killed.report_elsewhere(&file("leaves")));
    let (mut deaths, mut syncs) = (0, 0);
    for call in 0.. {
        let dying = killed.kill();
        dying.fail(Kind::Any, call, Fault::Death);
        let opened = RARELY.open(&dying);
        // The slots of the superblock are synced first, and then both data files.
        if syncs == 4 {
            let left = dying.kill();
            assert!(left.evict_all(&file("leaves")));
            assert_eq!(reopened(&left, RARELY, &history), RecoveredFrom::PageCache, "call {call}");
            deaths += 1;
        }
        syncs = dying.calls().of(Kind::Sync);
        if syncs > 4 || opened.is_ok() {
            break;
        }
    }
    assert!(deaths > 0, "no call between the syncs of the files and the next one");
}

/// A recovery withholds what was ever written until it is durable. After that, all of it can be used again: there is no
/// room for as much once more.
#[test]
fn what_a_recovery_withholds_is_used_again() {
    let large = |from: u32| (0..100).map(|key| put(from + key, 100_000)).collect::<Vec<_>>();
    let small = |from: u32| (0..36).map(|part| run_of(from + part * 1_000, 1_000)).collect::<Vec<_>>();
    for mode in Mode::over_designs(&[on_sync(false)]) {
        // The records take more than half of their space, or the leaves.
        for steps in [[large(0), large(0)], [small(0), small(1 << 20)]] {
            let disk = SimDisk::new();
            let mut session = begin(&disk, mode);
            let [before, after] = steps;
            before.iter().for_each(|step| session.step(step.clone()));
            session.sync();
            let left = disk.kill();
            let mut session = begin(&left, mode);
            let removed = |step: &Vec<Change>| step.iter().map(|(space, key, _)| (*space, key.clone(), None)).collect();
            before.iter().for_each(|step| session.step(removed(step)));
            (0..3).for_each(|_| session.sync());
            after.into_iter().for_each(|step| session.step(step));
            assert!(session.failed.is_none(), "{mode:?}: {:?}", session.failed);
        }
    }
}

/// A batch of small values.
fn run_of(from: u32, count: u32) -> Vec<Change> {
    (from..from + count).map(|key| put(key, 8).remove(0)).collect()
}

/// If there is no room to finish the batch, the database does not open; once there is room, it is complete.
#[test]
fn a_batch_that_cannot_be_finished_is_not_visible() {
    let batch: Vec<Change> = (0..6_000).map(|key| put(key, 8).remove(0)).collect();
    for rarely in Mode::over_designs(&[RARELY]) {
        let (killed, history) = died_in_a_batch(rarely, 40, &batch);
        let mode = Mode { durability: Durability::OnSync, ..rarely };
        killed.fail_from(Kind::Allocate, killed.calls().of(Kind::Allocate), Fault::NoSpace);
        for _ in 0..2 {
            let refused = mode.open(&killed).map(drop);
            assert!(matches!(refused, Err(Error::NoSpace { .. })), "{refused:?}");
        }
        killed.heal();
        reopened(&killed, mode, &history);
    }
}

/// A full disk is detected before any part of a batch is executed, whichever growth fails.
#[test]
fn a_batch_on_a_full_disk_is_done_or_refused() {
    for mode in Mode::over_designs(&[RARELY]) {
        let refused: u32 = (0..8).map(|growths| batches_on_a_full_disk(mode, growths)).sum();
        assert!(refused > 0, "{mode:?}: no batch was refused");
    }
}

/// Returns how many batches were refused, after that many growths.
fn batches_on_a_full_disk(mode: Mode, growths: u64) -> u32 {
    let mut refused = 0;
    let disk = SimDisk::new();
    let mut session = begin(&disk, mode);
    (0..100).for_each(|key| session.step(put(key * 7, 30)));
    session.sync();
    let north = session.db.keyspace("north").expect("it is there");
    disk.fail_from(Kind::Allocate, disk.calls().of(Kind::Allocate) + growths, Fault::NoSpace);
    for round in 0..9 {
        // Long values make the records grow, and keys that are far apart the leaves.
        let changes: Vec<Change> =
            (0..200).map(|key| put((round * 200 + key) * 7, if key % 8 == 0 { 9_000 } else { 8 }).remove(0)).collect();
        let insert = |batch: Batch, (_, key, value): &Change| batch.insert(&north, key, value.as_ref().expect("put"));
        match changes.iter().fold(session.db.batch(), insert).commit() {
            Ok(()) => session.steps.push(changes),
            Err(Error::NoSpace { .. }) => refused += 1,
            Err(error) => panic!("growth {growths}: {error}"),
        }
    }
    disk.heal();
    session.sync();
    assert!(session.failed.is_none(), "{growths}: {:?}", session.failed);
    let history = session.history();
    reopened(&disk.crash_to_durable(), mode, &history);
    session.db.clone().close().expect("nothing is poisoned");
    drop((session, north));
    assert_eq!(reopened(&disk, mode, &history), RecoveredFrom::CleanShutdown);
    refused
}

/// Blocks that were emptied in the last epoch of a session are free at once in the next one. They still kept their
/// slots for the state before, as if a crash could choose it. A leaf was replaced by one such block after the other,
/// until a put failed: the leaf was "full however often it is split".
#[test]
fn blocks_that_were_emptied_last_have_room() {
    let durability = Durability::OnSync;
    for mode in Mode::over_designs(&[Mode::new(false, durability), Mode::new(true, durability)]) {
        for killed in [false, true] {
            let disk = SimDisk::new();
            let db = mode.open(&disk).expect("a sound disk");
            let space = db.keyspace("north").expect("a name");
            let fill = |space: &holm::Keyspace| (0..3_000_u32).try_for_each(|key| space.insert(key.to_be_bytes(), ""));
            fill(&space).expect("room");
            db.sync().expect("a sound disk");
            space.clear().expect("room");
            if killed {
                db.sync().expect("a sound disk");
            }
            let disk = if killed { disk.kill() } else { disk };
            drop(space);
            db.close().expect("a sound disk");
            let db = mode.open(&disk).expect("a sound disk");
            fill(&db.keyspace("north").expect("a name")).unwrap_or_else(|error| panic!("{mode:?}: {error}"));
            assert_eq!(contents(&db, "filled again").len(), 3_000);
        }
    }
}
