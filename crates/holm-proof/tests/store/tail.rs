//! The end of the log: recovery reports an incomplete record there, and distinguishes records that were once complete
//! from those that never were.

use crate::history::{Contents, Mode, Session, contents};
use crate::write_back::mark;
use holm::{Database, Durability, Error, LogTail, RecoveredFrom};
use holm_medium::LAST_EPOCH;
use holm_proof::disk::{Fault, Kind, SimDisk};
use std::path::Path;

const MODE: Mode = Mode::new(false, Durability::OnSync);

/// A session over many leaves, in which each later epoch changes another leaf.
fn written(disk: &SimDisk) -> Session {
    let db = MODE.open(disk).expect("a sound disk");
    let mut session = Session::begin(db, MODE, Contents::new()).expect("a sound disk");
    let put = |key: u32, byte: u8, len| vec![(0, key.to_be_bytes().to_vec(), Some(vec![byte; len]))];
    (0..600).for_each(|key| session.step(put(key, 0, 50)));
    session.sync();
    for epoch in 1..6_u8 {
        // The last record begins a page.
        session.step(put(u32::from(epoch) * 100, epoch, if epoch < 5 { 50 } else { 5_000 }));
        session.sync();
    }
    session
}

/// Flips a bit in the body of each of the last `count` records, and returns where the last one begins.
fn damage(disk: &SimDisk, count: usize) -> u64 {
    let path = Path::new("/d/log.0");
    let log = disk.contents(path).expect("it is there");
    let begins = |at: &usize| log[*at..].starts_with(b"Holm");
    let records: Vec<_> = (0..log.len()).step_by(64).filter(begins).collect();
    assert!(records.len() > count);
    records.iter().rev().take(count).for_each(|at| assert!(disk.flip(path, at + 70, 3)));
    *records.last().expect("there are some") as u64
}

fn told(db: &Database) -> (LogTail, holm::Report) {
    (db.recovery().tail.clone(), db.check().expect("a check tells, it does not fail"))
}

#[test]
fn a_log_that_ends_as_it_should() {
    let disk = SimDisk::new();
    let session = written(&disk);
    for left in [disk.kill(), disk.crash_to_durable()] {
        let (tail, report) = told(&MODE.open(&left).expect("sound"));
        assert_eq!((tail, report.faults.len()), (LogTail::Empty, 0), "{}", report.recovery);
        assert!(!report.recovery.contains("torn"), "{}", report.recovery);
    }
    drop(session);
}

/// A crash leaves at most one incomplete record: this is reported, and is no fault. The page cache has everything.
#[test]
fn a_torn_end_is_reported() {
    let disk = SimDisk::new();
    let session = written(&disk);
    let last = session.db.stats().epochs.durable;
    for (kept, left) in [(true, disk.kill()), (false, disk.crash_to_durable())] {
        let begins = damage(&left, 1);
        assert!(begins.is_multiple_of(4096), "{begins}");
        let db = MODE.open(&left).expect("a torn end is no error");
        assert_eq!(db.recovery().source == RecoveredFrom::PageCache, kept, "{:?}", db.recovery());
        if kept {
            session.history().expect(&contents(&db, "torn"), "torn");
        }
        let (tail, report) = told(&db);
        let is_last = |epoch: &u64| *epoch <= last && epoch + 2 > last;
        let is_there = |file: &str, offset: u64| (file, offset) == ("log.0", begins);
        let is_told =
            matches!(&tail, LogTail::Torn { file, offset, epoch, .. } if is_there(file, *offset) && is_last(epoch));
        assert!(is_told, "{tail:?}");
        assert!(report.faults.is_empty() && report.recovery.contains("torn"), "{report:?}");
    }
}

/// The leaves have changes of more than two epochs without a complete record. The first of these epochs once had its
/// record: otherwise the last one could not have begun.
#[test]
fn records_that_were_once_complete_are_damage() {
    let disk = SimDisk::new();
    let session = written(&disk);
    let killed = disk.kill();
    damage(&killed, 4);
    let cut = killed.kill();
    mark(&cut);
    let db = MODE.open(&killed).expect("the page cache has it all");
    assert_eq!(db.recovery().source, RecoveredFrom::PageCache);
    session.history().expect(&contents(&db, "kept"), "kept");
    let (tail, report) = told(&db);
    assert!(matches!(tail, LogTail::Damaged { .. }), "{tail:?}");
    assert!(report.faults.is_empty() && report.recovery.contains("damaged"), "{report:?}");
    // Where recovery restores from the log, it loses what had been durable.
    match MODE.open(&cut) {
        Ok(db) => {
            let (tail, report) = told(&db);
            assert!(matches!(tail, LogTail::Damaged { .. }), "{tail:?}");
            assert!(report.faults.iter().any(|fault| fault.contains("log.0 is damaged")), "{report:?}");
        }
        Err(error) => assert!(matches!(error, Error::Corrupt { .. }), "{error}"),
    }
}

/// CRC32C, bit by bit, so that the format's own code does not check itself.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0x82F6_3B78 & 0_u32.wrapping_sub(crc & 1)))
    })
}

/// Gives the first record another epoch, and the checksum that belongs to it.
fn forge(disk: &SimDisk, epoch: u64) {
    let path = Path::new("/d/log.0");
    let log = disk.contents(path).expect("it is there");
    let body = u32::from_le_bytes(log[48..52].try_into().expect("four bytes")) as usize;
    let mut record = log[..64 + body].to_vec();
    record[40..48].copy_from_slice(&epoch.to_le_bytes());
    record[60..64].fill(0);
    let crc = crc32c(&record).to_le_bytes();
    record[60..64].copy_from_slice(&crc);
    assert!(disk.overwrite(path, 0, &record));
}

/// A record that counts in all else: of an epoch that the data files have, of one after the next record's, and of one
/// behind the last of all.
#[test]
fn a_record_of_an_epoch_that_cannot_be_is_refused() {
    let disk = SimDisk::new();
    let session = written(&disk);
    for epoch in [1, 1 << 35, LAST_EPOCH + 1, u64::MAX] {
        for left in [disk.kill(), disk.crash_to_durable()] {
            forge(&left, epoch);
            let opened = MODE.open(&left);
            let told = opened.as_ref().map(|db| db.recovery().clone()).map_err(ToString::to_string);
            assert!(matches!(opened, Err(Error::Corrupt { .. })), "{epoch}: {told:?}");
        }
    }
    drop(session);
}

/// Opens a database with a fault at one of its syncs. Returns whether there was such a sync.
fn open_with(disk: &SimDisk, sync: u64, fault: Fault) -> bool {
    let at = disk.calls().of(Kind::Sync) + sync;
    disk.fail(Kind::Sync, at, fault);
    drop(MODE.open(disk));
    disk.calls().of(Kind::Sync) > at
}

/// Each process dies in the opening, at the same sync: perhaps once it has written a superblock that is not durable.
/// The next process finds that in the page cache, and gives an empty keyspace a leaf in a later epoch. If the power
/// then fails, the older superblock is in force again, and must not find leaves of more epochs than can go without a
/// record.
#[test]
fn a_power_cut_after_deaths_in_openings_is_no_damage() {
    let disk = SimDisk::new();
    let mut session = written(&disk);
    session.step(vec![(0, b"later".to_vec(), Some(b"unsynced".to_vec()))]);
    let killed = disk.kill();
    for death in 0.. {
        let (mut left, mut is_met) = (killed.kill(), false);
        for _ in 0..6 {
            is_met = open_with(&left, death, Fault::Death);
            left = left.kill();
        }
        for sync in 0.. {
            let cut = left.kill();
            let goes_on = open_with(&cut, sync, Fault::PowerCut);
            let (tail, report) = told(&MODE.open(&cut.crash_to_durable()).expect("sound"));
            assert_eq!(report.faults, Vec::<String>::new(), "deaths at {death}, power at {sync}: {tail:?}");
            if !goes_on {
                break;
            }
        }
        if !is_met {
            assert!(death > 4, "an opening syncs: {death}");
            break;
        }
    }
}
