//! How far records reach: replay reads enough to find the intact records behind damage, and no more.

use crate::session::{UUID, dir, files, log_0, make_dir, record_of};
use holm_medium::error::MediumError;
use holm_medium::log::{EpochRecord, Log, LogOptions, LogStart, SalvagedLog, verify};
use holm_proof::disk::{Kind, SimDisk};

/// More than the reach of a new pass.
const LARGE: usize = 17 << 20;

fn large(epoch: u64) -> EpochRecord {
    let mut epoch_record = EpochRecord::new();
    epoch_record.begin(epoch);
    epoch_record.push_with(0, LARGE, |room| room.fill(epoch as u8));
    epoch_record
}

fn new_log(disk: &SimDisk) -> Log {
    make_dir(disk).expect("no faults");
    let options = LogOptions { initial: 16 << 10, total: 256 << 20, segments: 2, direct: true };
    Log::create(disk, &dir(), UUID, options).expect("no faults")
}

#[test]
fn damage_before_records_of_any_size_is_no_tail() {
    let disk = SimDisk::new();
    let mut log = new_log(&disk);
    // Where each append began: a large one begins with the record that states its size.
    let mut begun = Vec::new();
    for mut epoch_record in [record_of(1), large(2), large(3), record_of(4)] {
        begun.push(log.position().offset as usize);
        log.append(&mut epoch_record).expect("no faults");
    }
    let seen = verify(&disk, files(2), LogStart::FIRST).expect("nothing is damaged");
    assert_eq!((seen.records, seen.last_epoch), (4, Some(4)));
    assert_eq!(seen.next, log.position(), "what says how far is a record too");
    // That one is of no epoch: a repair looks for records of epochs after the checkpoint.
    let salvaged = SalvagedLog::read(&disk, &dir(), 2).expect("readable").records;
    let mut epochs: Vec<_> = salvaged.iter().map(|record| record.epoch).filter(|epoch| *epoch > 0).collect();
    epochs.sort_unstable();
    assert_eq!(epochs, [1, 2, 3, 4]);
    let last = begun[3];
    for byte in begun.into_iter().flat_map(|at| [at, at + 4096]).filter(|at| *at < last) {
        let disk = disk.kill();
        assert!(disk.flip(&log_0(), byte + 40, 3));
        let outcome = verify(&disk, files(2), LogStart::FIRST);
        assert!(matches!(outcome, Err(MediumError::Corrupt { .. })), "byte {byte}: {outcome:?}");
    }
    assert!(disk.flip(&log_0(), last + 40, 3));
    assert_eq!(verify(&disk, files(2), LogStart::FIRST).expect("the tail").last_epoch, Some(3));
}

#[test]
fn what_older_passes_left_far_behind_is_not_read() {
    let disk = SimDisk::new();
    let mut log = new_log(&disk);
    for pass in 0..2 {
        (0..2).for_each(|epoch| log.append(&mut large(pass * 2 + epoch)).expect("no faults"));
        log.switch().expect("the other segment was released");
        log.release();
    }
    log.append(&mut record_of(9)).expect("no faults");
    let (start, before) = (log.start(), disk.calls().of(Kind::Read));
    let seen = verify(&disk, files(2), start).expect("nothing is damaged");
    assert_eq!(seen.last_epoch, Some(9));
    let read = disk.calls().of(Kind::Read) - before;
    // One mebibyte per read: sixteen for each segment, which has thirty-four and more.
    assert!((32..40).contains(&read), "{read} reads");
}
