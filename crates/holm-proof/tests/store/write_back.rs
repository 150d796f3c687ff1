//! A process dies, and then the kernel fails to write its pages: they are clean in the page cache and not on the disk.
//! The kernel may have reported the failure to another program that has the files open. Nothing acknowledged is lost,
//! whatever the page cache still holds or has lost since.

use crate::history::{Contents, History, Mode, Session, contents, random_step};
use holm::{Durability, Error, RecoveredFrom};
use holm_medium::vfs::{How, Vfs};
use holm_proof::disk::{Fault, Kind, SimDisk};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use std::path::{Path, PathBuf};

const STRICT: Mode = Mode::new(false, Durability::Strict);
const ON_SYNC: Mode = Mode::new(false, Durability::OnSync);

fn file(name: &str) -> PathBuf {
    Path::new("/d").join(name)
}

fn data() -> [PathBuf; 2] {
    ["leaves", "records"].map(file)
}

/// A session that was killed: the disk, and the history.
fn killed(mode: Mode, seed: u64, steps: u32) -> (SimDisk, History) {
    let disk = SimDisk::new();
    let db = mode.open(&disk).expect("a sound disk");
    let mut session = Session::begin(db, mode, Contents::new()).expect("a sound disk");
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut serial = 0;
    for step in 0..steps {
        session.step(random_step(&mut random, &mut serial, false));
        if step == steps * 4 / 5 {
            session.sync();
        }
    }
    let history = session.history();
    (disk.kill(), history)
}

/// Another program that has a file open syncs it, and gets the error.
fn somebody_else_is_told(disk: &SimDisk, path: &Path) {
    let other = disk.open(path, How::WRITE).expect("it is there");
    assert!(other.sync_data().is_err() && other.sync_data().is_ok(), "told once");
}

/// Recovery keeps what only the page cache has, and makes it durable before it releases the log.
#[test]
fn pages_that_are_clean_and_on_no_disk_are_written_again() {
    let modes = Mode::over_designs(&[STRICT, ON_SYNC]);
    for (mode, seed) in modes.into_iter().flat_map(|mode| (0..4).map(move |seed| (mode, seed))) {
        for closes in [true, false] {
            let (disk, mut history) = killed(mode, seed, 150);
            history.floor = history.steps.len();
            for path in data() {
                assert!(disk.fail_write_back(&path));
                somebody_else_is_told(&disk, &path);
            }
            let context = format!("{mode:?} seed {seed} closes {closes}");
            let db = mode.open(&disk).expect("nothing fails now");
            assert_eq!(db.recovery().source, RecoveredFrom::PageCache, "{context}");
            history.expect(&contents(&db, &context), &context);
            if closes {
                db.close().expect("nothing fails now");
                data().iter().for_each(|path| assert!(disk.evict_all(path)));
                let db = mode.open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
                history.expect(&contents(&db, &context), &context);
            }
            let db = mode.open(&disk.crash_to_durable());
            let db = db.unwrap_or_else(|error| panic!("{context}, after a cut: {error}"));
            history.expect(&contents(&db, &context), &context);
        }
    }
}

/// The same if the image is not kept: what recovery restores reaches the disk, although the page cache already has it.
#[test]
fn what_recovery_restores_is_written_again() {
    for seed in 0..4 {
        let (disk, history) = killed(STRICT, seed, 150);
        for path in data() {
            assert!(disk.fail_write_back(&path));
        }
        // Recovery gets one of the errors, so it does not trust the image.
        somebody_else_is_told(&disk, &file("records"));
        let context = format!("seed {seed}");
        let db = STRICT.open(&disk).expect("nothing fails now");
        let RecoveredFrom::Log { reason: why, .. } = &db.recovery().source else {
            panic!("{context}: {:?}", db.recovery())
        };
        assert!(why.contains("could not be synced"), "{why}");
        history.expect(&contents(&db, &context), &context);
        let db = STRICT.open(&disk.crash_to_durable()).expect("a sound disk");
        history.expect(&contents(&db, &context), &context);
    }
}

/// The kernel reports a failed write-back once for each file: an open that gets both reports continues nevertheless.
#[test]
fn one_open_gets_the_failed_write_backs_of_both_files() {
    for mode in [STRICT, ON_SYNC] {
        for marked in [false, true] {
            let (disk, history) = killed(mode, 7, 100);
            if marked {
                mark(&disk);
            }
            data().iter().for_each(|path| assert!(disk.fail_write_back(path)));
            let context = format!("{mode:?} marked {marked}");
            let db = mode.open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert!(matches!(db.recovery().source, RecoveredFrom::Log { .. }), "{context}: {:?}", db.recovery());
            history.expect(&contents(&db, &context), &context);
            drop(db);
            let db = mode.open(&disk.crash_to_durable()).expect("a sound disk");
            history.expect(&contents(&db, &context), &context);
        }
    }
}

pub(crate) fn mark(disk: &SimDisk) {
    use holm_medium::superblock::{State, Superblock, superblock_path};
    let path = superblock_path(Path::new("/d"));
    let superblock_file = disk.open(&path, How::WRITE).expect("it is there");
    let (mut superblock, _) = Superblock::read(&*superblock_file, &path).expect("it is sound");
    superblock.state = State::Poisoned;
    superblock.write(&*superblock_file, &path).expect("a sound disk");
}

/// Pages have already gone back to older versions: recovery detects it wherever the log has part of them, in leaves and
/// records alike, for each page separately.
#[test]
fn pages_that_have_gone_back_are_noticed() {
    for mode in Mode::over_designs(&[STRICT]) {
        notices_pages(mode);
    }
}

fn notices_pages(mode: Mode) {
    let (mut cut, mut kept) = (0, 0);
    for seed in 0..40 {
        let (disk, history) = killed(mode, seed, 120);
        let path = &data()[seed as usize % 2];
        assert!(disk.fail_write_back(path));
        somebody_else_is_told(&disk, path);
        assert!(disk.evict(path, seed, 3));
        let context = format!("seed {seed}");
        let db = mode.open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
        match db.recovery().source {
            RecoveredFrom::Log { .. } => cut += 1,
            _ => kept += 1,
        }
        history.expect(&contents(&db, &context), &context);
    }
    assert!(cut > 20, "{mode:?}: {cut} cut, {kept} kept");
}

/// Each block of many that were logged, gone back alone, while others differ from the log because they changed after
/// it.
#[test]
fn any_block_that_has_gone_back_is_noticed() {
    Mode::over_designs(&[ON_SYNC]).into_iter().for_each(notices_any_block);
}

fn notices_any_block(mode: Mode) {
    let disk = SimDisk::new();
    let db = mode.open(&disk).expect("a sound disk");
    let mut session = Session::begin(db, mode, Contents::new()).expect("a sound disk");
    let put = |key: u32, byte: u8| vec![(0, key.to_be_bytes().to_vec(), Some(vec![byte; 20]))];
    (0..200).for_each(|key| session.step(put(key, 0)));
    session.sync();
    let old = disk.kill().contents(&file("leaves")).expect("it is there");
    (0..200).for_each(|key| session.step(put(key, 1)));
    session.sync();
    let new = disk.kill().contents(&file("leaves")).expect("it is there");
    // In no log, and in the first of the leaves.
    (0..4).for_each(|key| session.step(put(key, 2)));
    let (history, killed) = (session.history(), disk.kill());
    let bytes = mode.block_bytes();
    let changed = |at: &usize| old[*at..][..bytes] != new[*at..][..bytes];
    let blocks: Vec<_> = (bytes.max(512)..old.len()).step_by(bytes).filter(changed).collect();
    assert!(blocks.len() > 6, "{blocks:?}");
    for at in blocks {
        let lost = killed.kill();
        assert!(lost.overwrite(&file("leaves"), at, &old[at..][..bytes]));
        let db = mode.open(&lost).unwrap_or_else(|error| panic!("block {}: {error}", at / bytes));
        assert!(matches!(db.recovery().source, RecoveredFrom::Log { .. }), "block {}: {:?}", at / bytes, db.recovery());
        history.expect(&contents(&db, "cut"), "cut");
    }
}

/// Leaves split after the last record of the log, and pairs that are durable move to fresh blocks. The kernel loses the
/// page of a fresh block, and keeps those of the emptied one: the log has the emptied block as it was, and of the fresh
/// one nothing. Recovery notices each, also where a fresh leaf has split again.
#[test]
fn a_fresh_leaf_that_was_lost_is_noticed() {
    let disk = SimDisk::new();
    let db = ON_SYNC.open(&disk).expect("a sound disk");
    let mut session = Session::begin(db, ON_SYNC, Contents::new()).expect("a sound disk");
    let put = |key: u32| vec![(0, key.to_be_bytes().to_vec(), Some(key.to_be_bytes().to_vec()))];
    (0..400).for_each(|key| session.step(put(key * 64)));
    session.sync();
    let before = disk.kill().contents(&file("leaves")).expect("it is there");
    // In no log: every leaf splits, some of them twice; others lose pairs and merge.
    (0..1500).for_each(|key| session.step(put(key * 7 + 1)));
    (0..120).for_each(|key| session.step(vec![(0, (key * 64 + 12_800_u32).to_be_bytes().to_vec(), None)]));
    let (history, killed) = (session.history(), disk.kill());
    let after = killed.contents(&file("leaves")).expect("it is there");
    let old = |at: usize| before.get(at..at + 512).unwrap_or(&[0; 512]);
    let (mut noticed, mut harmless) = (0, 0);
    for at in (512..after.len()).step_by(512).filter(|at| old(*at) != &after[*at..][..512]) {
        let lost = killed.kill();
        assert!(lost.overwrite(&file("leaves"), at, old(at)));
        let context = format!("block {}", at / 512);
        let db = ON_SYNC.open(&lost).unwrap_or_else(|error| panic!("{context}: {error}"));
        if matches!(db.recovery().source, RecoveredFrom::Log { .. }) {
            noticed += 1;
            history.expect(&contents(&db, &context), &context);
        } else {
            // A leaf that got all its pairs after the last record: what is left is no prefix, and has what was synced.
            harmless += 1;
            let found = db.keyspace("north").expect("sound");
            for key in (0..400_u32).map(|key| key * 64).filter(|key| !(12_800..20_480).contains(key)) {
                assert!(found.get(key.to_be_bytes()).expect("sound").is_some(), "{context}: key {key}");
            }
        }
    }
    assert!(noticed > 40, "{noticed} lost leaves were noticed, {harmless} had nothing that was durable");
    let db = ON_SYNC.open(&killed).expect("nothing is lost");
    assert!(matches!(db.recovery().source, RecoveredFrom::PageCache), "{:?}", db.recovery());
}

/// A sync that fails during an open is recorded permanently: the next open does not trust the page cache either, even
/// though the kernel has no further error to report. A sync that fails at the end of an open is recorded as well.
#[test]
fn a_sync_that_fails_during_an_open_is_recorded() {
    let (left, history) = killed(STRICT, 3, 60);
    assert_eq!(left.calls().of(Kind::Sync), 0);
    let first = left.calls().of(Kind::Sync);
    // The syncs of both slots of the superblock. No data is in doubt: the next opening writes them again.
    for fails in [0, 1] {
        let disk = left.kill();
        disk.fail(Kind::Sync, first + fails, Fault::Eio);
        let error = STRICT.open(&disk).map(drop).expect_err("a sync has failed");
        assert!(matches!(error, Error::Io { .. }), "sync {fails}: {error}");
        disk.heal();
        let db = STRICT.open(&disk.kill()).expect("nothing is lost");
        assert!(matches!(db.recovery().source, RecoveredFrom::PageCache), "sync {fails}: {:?}", db.recovery());
        history.expect(&contents(&db, "afterwards"), "afterwards");
    }
    // The syncs of the files before they are compared, of the mark in both slots, and of the files once everything is
    // restored. Without a mark, the last two come at once.
    for (fails, also) in [(2, Some(6)), (3, Some(6)), (4, None), (5, None)] {
        let disk = left.kill();
        for sync in [Some(fails), also].into_iter().flatten() {
            disk.fail(Kind::Sync, first + sync, Fault::Eio);
        }
        let context = format!("sync {fails} fails, and {also:?}");
        let error = STRICT.open(&disk).map(drop).expect_err("a sync has failed");
        assert!(matches!(error, Error::Io { .. }), "{context}: {error}");
        disk.heal();
        let db = STRICT.open(&disk.kill()).unwrap_or_else(|error| panic!("{context}: {error}"));
        let RecoveredFrom::Log { reason: why, .. } = &db.recovery().source else {
            panic!("{context}: {:?}", db.recovery())
        };
        assert!(why.contains("marked"), "{context}: {why}");
        history.expect(&contents(&db, &context), &context);
    }
}

/// A session that has met a failure reports it to the next open, with the process killed or not.
#[test]
fn a_failure_is_told_to_the_next_session() {
    for kind in [Kind::Direct, Kind::Sync] {
        let disk = SimDisk::new();
        disk.refuse_direct(kind == Kind::Sync);
        let db = STRICT.open(&disk).expect("a sound disk");
        let mut session = Session::begin(db, STRICT, Contents::new()).expect("a sound disk");
        (0..20_u32).for_each(|key| session.step(vec![(0, key.to_be_bytes().to_vec(), Some(vec![1; 40]))]));
        disk.fail(kind, disk.calls().of(kind), Fault::Eio);
        session.step(vec![(0, b"last".to_vec(), Some(b"one".to_vec()))]);
        assert!(session.failed.is_some(), "{kind:?}");
        // The mark is there by then: a program may end at its first error.
        let killed = disk.kill();
        assert!(session.db.clone().close().is_err());
        let db = STRICT.open(&killed).expect("a cut is no error");
        let RecoveredFrom::Log { reason: why, .. } = &db.recovery().source else {
            panic!("{kind:?}: {:?}", db.recovery())
        };
        assert!(why.contains("marked"), "{kind:?}: {why}");
        session.history().expect(&contents(&db, "marked"), "marked");
    }
}
