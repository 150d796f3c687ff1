//! Damage at rest: flipped bits, truncated files, stale and foreign records, other versions. Each is reported or
//! survived, never taken for something else, and never a panic.

use crate::session::{Database, UUID, boundaries, dir, files, log_0, log_1, logged, options, read_back, record_of};
use crate::session::{made, make_dir, places, recovered, superblock};
use holm_medium::LAST_EPOCH;
use holm_medium::error::{MediumError, Result};
use holm_medium::log::{EpochRecord, Log, LogFiles, LogStart, replay, verify};
use holm_medium::superblock::{Geometry, Superblock, VERSION, reserve, superblock_path};
use holm_medium::vfs::{How, Vfs};
use holm_proof::disk::{Fault, Kind, SimDisk};

fn corrupt_at(outcome: &Result<impl Sized>) -> Option<(String, u64)> {
    match outcome {
        Err(MediumError::Corrupt { path, offset, found, expected, .. }) => {
            assert!(!found.is_empty() && !expected.is_empty());
            Some((path.to_string_lossy().into_owned(), *offset))
        }
        _ => None,
    }
}

#[test]
fn a_flip_in_any_record_but_the_last_is_damage() {
    let before = logged(4, true);
    let bounds = boundaries(4);
    for byte in (0..bounds[4] as usize).filter(|byte| byte % 4096 < 80 || byte % 13 == 0) {
        let disk = before.kill();
        disk.flip(&log_0(), byte, byte as u8);
        let outcome = read_back(&disk, files(2), LogStart::FIRST, 0);
        let hit = bounds.iter().rposition(|&bound| bound <= byte as u64).expect("the first bound is 0");
        match outcome {
            Ok(seen) if seen.last_epoch == Some(4) => {
                let body_end = bounds[hit] as usize + 64 + sum_of_runs(hit as u64 + 1);
                assert!(byte >= body_end, "byte {byte} of record {hit} is under its checksum");
            }
            Ok(seen) => {
                // There pass 1 becomes pass 0, and the record looks like one that an older pass left.
                let told = (byte as u64 != bounds[3] + 24).then_some(bounds[3]);
                assert_eq!((hit, seen.last_epoch, seen.torn), (3, Some(3), told), "byte {byte}");
            }
            outcome => {
                // Pass and sequence say whose record begins the page. It is missed where the last one ends.
                let missed = (24..40).contains(&(byte as i64 - bounds[2] as i64));
                let at = if missed { boundaries(2)[2] } else { bounds[hit] };
                assert_eq!(corrupt_at(&outcome), Some(("/d/log.0".into(), at)), "byte {byte}");
            }
        }
    }
}

fn sum_of_runs(epoch: u64) -> usize {
    crate::session::runs_of(epoch).iter().map(|(_, bytes)| 16 + bytes.len()).sum()
}

/// Two epochs in the first segment, two in the second, with an unfinished checkpoint between them.
fn across_segments() -> SimDisk {
    let disk = SimDisk::new();
    make_dir(&disk).expect("no faults");
    let mut log = Log::create(&disk, &dir(), UUID, options(true)).expect("no faults");
    for epoch in 1..=4 {
        if epoch == 3 {
            log.switch().expect("the other segment was never used");
        }
        log.append(&mut record_of(epoch)).expect("no faults");
    }
    disk
}

#[test]
fn the_log_continues_in_the_other_segment() {
    let disk = across_segments();
    let seen = read_back(&disk, files(2), LogStart::FIRST, 0).expect("nothing is damaged");
    assert_eq!((seen.last_epoch, seen.next.segment, seen.next.pass, seen.torn), (Some(4), 1, 2, None));
    let bounds = boundaries(2);
    for (segment, byte, at) in [(0, 0, 0), (0, bounds[1], bounds[1]), (1, 100, bounds[2])] {
        let disk = across_segments();
        disk.flip(&[log_0(), log_1()][segment], byte as usize, 3);
        let outcome = verify(&disk, files(2), LogStart::FIRST);
        assert_eq!(corrupt_at(&outcome), Some(("/d/log.0".into(), at)), "segment {segment}, byte {byte}");
    }
    let last = places(3..=4)[1];
    disk.flip(&log_1(), last as usize, 0);
    let seen = read_back(&disk, files(2), LogStart::FIRST, 0).expect("the last record is the tail");
    assert_eq!((seen.last_epoch, seen.torn), (Some(3), Some(last)));
}

#[test]
fn records_of_an_older_pass_are_not_replayed() {
    let disk = SimDisk::new();
    let mut database = Database::create(&disk, true).expect("no faults");
    for round in 0..6_u64 {
        for _ in 0..=(6 - round) {
            database.put().expect("no faults");
        }
        database.checkpoint().expect("no faults");
        let start = database.superblock.log_start;
        let files = files(database.log.segments());
        let seen = read_back(&disk, files, start, database.acknowledged).expect("nothing is damaged");
        assert_eq!((seen.records, seen.torn), (0, None), "round {round}");
        database.put().expect("no faults");
        let seen = read_back(&disk, files, start, database.acknowledged - 1).expect("nothing is damaged");
        assert_eq!(seen.records, 1, "round {round}");
    }
}

#[test]
fn an_older_superblock_with_a_newer_log_is_damage() {
    let disk = SimDisk::new();
    let mut database = Database::create(&disk, true).expect("no faults");
    let old = database.superblock.log_start;
    for _ in 0..3 {
        database.put().expect("no faults");
        database.checkpoint().expect("no faults");
    }
    database.put().expect("no faults");
    assert!(corrupt_at(&verify(&disk, files(2), old)).is_some());
}

#[test]
fn another_databases_records_are_not_replayed() {
    let disk = logged(3, true);
    let seen = read_back(&disk, LogFiles { uuid: *b"another database", ..files(2) }, LogStart::FIRST, 0)
        .expect("nothing of this database is here");
    assert_eq!((seen.records, seen.torn), (0, Some(0)));
}

#[test]
fn a_record_in_the_wrong_place_is_none() {
    let (disk, bounds) = (logged(2, true), boundaries(2));
    let bytes = disk.contents(&log_0()).expect("it was made");
    // The second record alone, in the place of the first, as after a misdirected write or a bad copy.
    assert!(disk.overwrite(&log_0(), 0, &bytes[bounds[1] as usize..bounds[2] as usize]));
    let moved = LogStart { sequence: 2, ..LogStart::FIRST };
    assert_eq!(verify(&disk, files(2), moved).expect("it is the tail").records, 0);
    // And the whole segment in the place of the other.
    let disk = logged(2, true);
    assert!(disk.overwrite(&log_1(), 0, &bytes[..8192]));
    let outcome = verify(&disk, files(2), LogStart { segment: 1, ..LogStart::FIRST });
    assert_eq!(corrupt_at(&outcome), Some(("/d/log.1".into(), 0)), "the whole ones lie in the other segment");
}

#[test]
fn lost_and_misdirected_writes_before_the_last_are_damage() {
    for fault in [Fault::Lost, Fault::Misdirected(64)] {
        let disk = SimDisk::new();
        let mut database = Database::create(&disk, true).expect("no faults");
        database.put().expect("no faults");
        disk.fail(Kind::Write, disk.calls().of(Kind::Write), fault);
        database.put().expect("the disk lied");
        database.put().expect("no faults");
        let bounds = boundaries(1);
        let outcome = recovered(&disk.crash_to_durable());
        assert_eq!(corrupt_at(&outcome), Some(("/d/log.0".into(), bounds[1])), "{fault:?}");
    }
}

#[test]
fn a_log_truncated_anywhere_is_a_prefix_or_damage() {
    for segment in [log_0(), log_1()] {
        for len in (0..=20 << 10).step_by(512) {
            let disk = across_segments();
            disk.truncate(&segment, len);
            match read_back(&disk, files(2), LogStart::FIRST, 0) {
                Ok(seen) => assert!(segment == log_1() || len >= 4096, "{len} bytes cannot hold {:?}", seen.last_epoch),
                outcome => assert!(corrupt_at(&outcome).is_some(), "{len} bytes"),
            }
        }
    }
}

#[test]
fn lengths_in_a_record_are_not_trusted() {
    let disk = logged(1, true);
    disk.overwrite(&log_0(), 48, &u32::MAX.to_le_bytes());
    let seen = read_back(&disk, files(2), LogStart::FIRST, 0).expect("it is the tail");
    assert_eq!((seen.records, seen.torn), (0, Some(0)));
}

#[test]
fn a_record_of_another_pass_or_sequence_is_not_the_one_expected() {
    let disk = logged(1, true);
    for other in [LogStart { pass: 2, ..LogStart::FIRST }, LogStart { sequence: 5, ..LogStart::FIRST }] {
        let seen = verify(&disk, files(2), other).expect("it is the tail");
        assert_eq!(seen.records, 0, "{other:?}");
    }
}

#[test]
fn a_record_with_a_right_checksum_and_wrong_runs_is_damage() {
    // (offset, value): a location that is not a line's, more lines than there are, more runs than there are.
    for (field, value) in [(64, 1_u32), (72, 1000), (56, 9)] {
        let disk = logged(2, true);
        let end = 64 + sum_of_runs(1);
        let mut record = disk.contents(&log_0()).expect("it was made")[..end].to_vec();
        record[field..field + 4].copy_from_slice(&value.to_le_bytes());
        record[60..64].fill(0);
        let crc = crc32c(&record).to_le_bytes();
        record[60..64].copy_from_slice(&crc);
        disk.overwrite(&log_0(), 0, &record);
        let mut visits = 0;
        let outcome = replay(&disk, files(2), LogStart::FIRST, |_, _, _| {
            visits += 1;
            Ok(())
        });
        assert_eq!((corrupt_at(&outcome), visits), (Some(("/d/log.0".into(), 0)), 0), "field {field}");
    }
}

/// A record that counts in all else: of an epoch that has been, of the record's before, or behind the last one of all.
#[test]
fn a_record_of_an_epoch_that_cannot_be_is_damage() {
    for (epoch, expected) in [(0_u64, None), (1, None), (3, Some(3)), (1 << 35, Some(1 << 35)), (1 << 36, None)] {
        let disk = logged(2, true);
        let bounds = boundaries(2);
        let at = bounds[1] as usize;
        let mut record = disk.contents(&log_0()).expect("it was made")[at..at + 64 + sum_of_runs(2)].to_vec();
        record[40..48].copy_from_slice(&epoch.to_le_bytes());
        record[60..64].fill(0);
        let crc = crc32c(&record).to_le_bytes();
        record[60..64].copy_from_slice(&crc);
        disk.overwrite(&log_0(), at, &record);
        let mut greatest = 0;
        let outcome = replay(&disk, files(2), LogStart::FIRST, |epoch, _, _| {
            greatest = greatest.max(epoch);
            Ok(())
        });
        match expected {
            Some(_) => assert_eq!(outcome.expect("epochs may be left out").last_epoch, expected),
            None => assert_eq!((corrupt_at(&outcome), greatest), (Some(("/d/log.0".into(), bounds[1])), 1), "{epoch}"),
        }
    }
}

#[test]
fn a_visitors_error_ends_the_replay() {
    let disk = logged(2, true);
    let outcome = replay(&disk, files(2), LogStart::FIRST, |epoch, _, _| match epoch {
        1 => Ok(()),
        found => Err(MediumError::TooLarge { what: "an epoch", found, limit: 1 }),
    });
    assert!(matches!(outcome, Err(MediumError::TooLarge { found: 2, .. })));
}

/// Any amount that an epoch has written must fit: a record that is always refused would end the session.
#[test]
fn a_record_over_the_bound_gets_a_segment_to_itself() {
    let disk = logged(0, true);
    let mut log = Log::open(&disk, files(2), LogStart::FIRST, options(true)).expect("an unused log");
    log.append(&mut record_of(1)).expect("no faults");
    let mut huge = EpochRecord::new();
    huge.begin(2);
    huge.push(0, &vec![1; 200 << 10]);
    assert!(log.append(&mut huge).is_err_and(|error| error.is_log_full()), "not behind another");
    let start = log.switch().expect("the other segment was never used");
    log.append(&mut huge).expect("alone in its segment");
    assert!(log.append(&mut record_of(3)).is_err_and(|error| error.is_log_full()), "nor another behind it");
    let seen = replay(&disk, files(2), start, |_, _, _| Ok(())).expect("nothing is damaged");
    assert_eq!((seen.records, seen.bytes), (1, 200 << 10));
}

#[test]
fn the_log_keeps_its_bounds() {
    let disk = logged(0, true);
    let mut log = Log::open(&disk, files(2), LogStart::FIRST, options(true)).expect("an unused log");
    let mut epoch = 0;
    let error = loop {
        match log.append(&mut record_of(epoch + 1)) {
            Ok(()) => epoch += 1,
            Err(error) => break error,
        }
    };
    assert!(error.is_log_full() && !log.is_poisoned());
    assert_eq!((log.capacity(), log.used_bytes() <= log.total() / 2), (64 << 10, true));
    log.switch().expect("the other segment was never used");
    log.append(&mut record_of(epoch + 1)).expect("there is room in the other segment");
    assert!(log.switch().is_err_and(|error| error.is_log_full()), "the first segment is still needed");
    log.trim(8 << 10).expect("no faults");
    assert_eq!(log.files().disk_bytes().ok(), Some(80 << 10), "and not cut");
    log.release();
    log.trim(8 << 10).expect("no faults");
    assert_eq!(log.files().disk_bytes().ok(), Some(24 << 10));
    let seen = read_back(&disk, files(2), log.start(), epoch).expect("nothing is damaged");
    assert_eq!(seen.last_epoch, Some(epoch + 1));
    let reopened = Log::open(&disk, files(2), log.start(), options(true));
    assert!(matches!(reopened, Err(MediumError::NotClean { .. })), "a used segment is not written over");
}

fn with_two_states() -> (SimDisk, Superblock) {
    let disk = SimDisk::new();
    make_dir(&disk).expect("no faults");
    let mut block = superblock();
    let superblock_file = made(&disk, &mut block).expect("no faults");
    block.epoch = 77;
    block.write(&*superblock_file, &superblock_path(&dir())).expect("no faults");
    (disk, block)
}

fn read_noting(disk: &SimDisk) -> Result<(Superblock, Option<String>)> {
    let path = superblock_path(&dir());
    let file = disk.open(&path, How::READ).map_err(|e| MediumError::io("opening", &path, e))?;
    Superblock::read(&*file, &path)
}

fn read(disk: &SimDisk) -> Result<Superblock> {
    read_noting(disk).map(|(block, _)| block)
}

#[test]
fn the_superblock_round_trips() {
    let (disk, block) = with_two_states();
    assert_eq!(read_noting(&disk).expect("nothing is damaged"), (block.clone(), None));
    assert!(block.geometry.expect(&block.geometry).is_ok());
    let other = Geometry { design: "FastFair".into(), ..block.geometry.clone() };
    assert!(matches!(other.expect(&block.geometry), Err(MediumError::Geometry { what: "design", .. })));
    assert!(reserve(&disk, &dir()).expect("no faults").is_none(), "never made over another");
    let mut long = superblock();
    long.geometry.design = "x".repeat(33);
    let empty = SimDisk::new();
    make_dir(&empty).expect("no faults");
    assert!(matches!(made(&empty, &mut long), Err(MediumError::TooLarge { .. })));
}

#[test]
fn a_flip_at_any_byte_of_a_superblock_is_survived_by_the_other() {
    let (before, block) = with_two_states();
    for byte in 0..8192_usize {
        let bits = if byte % 4096 < 280 { 0..8 } else { 5..6 };
        for bit in bits {
            let disk = before.kill();
            assert!(disk.flip(&superblock_path(&dir()), byte, bit));
            let (left, damage) = read_noting(&disk).expect("the other slot is whole");
            let expected = Superblock { sequence: left.sequence, ..block.clone() };
            assert_eq!(left, expected, "byte {byte}, bit {bit}: an older state is in force");
            let slot = format!("slot {} of the superblock", byte / 4096);
            assert!(damage.is_some_and(|damage| damage.contains(&slot)), "byte {byte}, bit {bit}");
        }
    }
}

/// A state that was written to one slot alone is in force. The mark of that failure began with the same slot.
#[test]
fn what_is_written_after_a_failure_does_not_begin_with_the_slot_in_force() {
    let (disk, mut block) = with_two_states();
    let path = superblock_path(&dir());
    let file = disk.open(&path, How::WRITE).expect("it was made");
    let next = Superblock { epoch: 78, ..block.clone() };
    // The sync of the first slot is done, that of the second one is not.
    disk.fail(Kind::Sync, disk.calls().of(Kind::Sync) + 1, Fault::Eio);
    assert!(block.replace(next, &*file, &path).is_err());
    let left = read(&disk.crash_to_durable()).expect("the first slot is whole");
    assert_eq!((left.epoch, left.sequence), (78, block.sequence), "the next write is to the other slot");
    assert_eq!(block.epoch, 77);
}

#[test]
fn flips_in_both_superblocks_are_reported() {
    let (before, _) = with_two_states();
    for byte in 0..300 {
        let disk = before.kill();
        disk.flip(&superblock_path(&dir()), byte, 2);
        disk.flip(&superblock_path(&dir()), byte + 4096, 2);
        match read(&disk) {
            Err(MediumError::Foreign { found, expected, .. }) => assert!(byte < 8 && found != expected),
            Err(MediumError::Corrupt { found, expected, .. }) => assert!(byte >= 8 && found != expected),
            other => panic!("byte {byte}: {other:?}"),
        }
    }
}

/// CRC32C, bit by bit, so that the format's own code does not check itself.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0x82F6_3B78 & 0_u32.wrapping_sub(crc & 1)))
    })
}

#[test]
fn another_version_is_reported_whatever_the_rest_is() {
    for (slot, version) in [(0, VERSION + 1), (4096, 900), (0, 0)] {
        let (disk, _) = with_two_states();
        let mut preamble = [&b"HolmPool"[..], &version.to_le_bytes()].concat();
        preamble.extend(crc32c(&preamble).to_le_bytes());
        disk.overwrite(&superblock_path(&dir()), slot, &preamble);
        disk.overwrite(&superblock_path(&dir()), slot + 16, &[0xEE; 3000]);
        match read(&disk) {
            Err(MediumError::Version { found, supported }) => assert_eq!((found, supported), (version, VERSION)),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_valid_superblock_with_another_meaning_is_reported() {
    // (offset, value): lines of 128 bytes, no leaf block, state 9, image 9, segment 2.
    for (field, value) in [(20, 128_u32), (48, 0), (56, 9), (60, 9), (160, 2)] {
        let (disk, block) = with_two_states();
        let slot = (block.sequence & 1) as usize * 4096;
        let mut page = disk.contents(&superblock_path(&dir())).expect("it was made")[slot..slot + 4096].to_vec();
        page[field..field + 4].copy_from_slice(&value.to_le_bytes());
        page[16..20].fill(0);
        let crc = crc32c(&page).to_le_bytes();
        page[16..20].copy_from_slice(&crc);
        disk.overwrite(&superblock_path(&dir()), slot, &page);
        match read(&disk) {
            Err(MediumError::Geometry { found, .. }) => assert_eq!((field, found), (20, value.to_string())),
            Err(MediumError::Corrupt { found, .. }) => assert_eq!(found, value.to_string()),
            other => panic!("field {field}: {other:?}"),
        }
    }
}

/// A database that has used up its epochs can still be read.
#[test]
fn the_last_epoch_is_one_and_the_next_is_none() {
    for (epoch, is_one) in [(LAST_EPOCH, true), (LAST_EPOCH + 1, false)] {
        let (disk, mut block) = with_two_states();
        let path = superblock_path(&dir());
        block.epoch = epoch;
        block.write(&*disk.open(&path, How::WRITE).expect("no faults"), &path).expect("no faults");
        match read(&disk) {
            Ok(found) => assert!(is_one && found.epoch == epoch),
            Err(MediumError::Corrupt { found, .. }) => assert!(!is_one && found == epoch.to_string()),
            other => panic!("epoch {epoch}: {other:?}"),
        }
    }
}

#[test]
fn a_truncated_or_foreign_superblock_file_is_reported() {
    for len in (0..8192).step_by(512) {
        let (disk, _) = with_two_states();
        disk.truncate(&superblock_path(&dir()), len);
        assert!(corrupt_at(&read(&disk)).is_some(), "{len} bytes");
    }
    let (disk, block) = with_two_states();
    disk.truncate(&superblock_path(&dir()), 20_000);
    assert_eq!(read(&disk).expect("zeros behind the slots are nothing"), block);
    for (text, len) in [("SQLite format 3", 8192), ("%PDF-1.7", 8192), ("MZ but short.", 100), ("", 8192)] {
        let disk = SimDisk::new();
        make_dir(&disk).expect("no faults");
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(len, 0);
        let file = disk.open(&superblock_path(&dir()), How::CREATE).expect("no faults");
        file.write_at(&bytes, 0).expect("no faults");
        assert!(matches!(read(&disk), Err(MediumError::Foreign { .. })), "{text}");
    }
}
