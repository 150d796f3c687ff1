//! A log of several segments: it moves on, is found again from any start, and has no more of them than it needs.

use crate::session::{Database, dir, files, logged, make_dir, read_back, record_of, segmented};
use holm_medium::error::MediumError;
use holm_medium::log::{
    EpochRecord, FIRST_SEGMENTS, Log, LogStart, MOST_SEGMENTS, is_segment_name, segment_path, verify,
};
use holm_proof::disk::{Fault, Kind, SimDisk};

/// A log of the most segments that the options allow, each aimed at four pages.
fn log_of_five(disk: &SimDisk) -> Log {
    make_dir(disk).expect("no faults");
    let uuid = files(0).uuid;
    let mut log = Log::create(disk, &dir(), uuid, segmented(true)).expect("no faults");
    log.aim_at(0);
    while log.segments() < 5 {
        let made = log.make_segment(disk, &dir()).expect("no faults");
        log.add(made);
    }
    log
}

/// Appends epochs until the log refuses one; returns the last.
fn fill(log: &mut Log, after: u64) -> u64 {
    for epoch in after + 1.. {
        match log.append(&mut record_of(epoch)) {
            Ok(()) => {}
            Err(error) => {
                assert!(error.is_log_full(), "{error}");
                return epoch - 1;
            }
        }
    }
    unreachable!("a log has an end")
}

#[test]
fn a_log_moves_on_to_free_segments_and_keeps_one_for_a_checkpoint() {
    let disk = SimDisk::new();
    let mut log = log_of_five(&disk);
    let last = fill(&mut log, 0);
    // Four of five; the last of them grows to its maximum.
    assert_eq!((log.position().segment, log.position().pass), (3, 4));
    let seen = read_back(&disk, files(5), LogStart::FIRST, 0).expect("nothing is damaged");
    assert_eq!((seen.last_epoch, seen.next), (Some(last), log.position()));
    // A checkpoint always finds a free one, and what it has left is not overwritten before it ends.
    let start = log.switch().expect("one was kept for it");
    assert_eq!((start.segment, log.awaits_release()), (4, true));
    let more = fill(&mut log, last);
    assert_eq!(log.position().segment, 4, "no other is free");
    assert!(log.switch().is_err_and(|error| error.is_log_full()));
    let seen = read_back(&disk, files(5), LogStart::FIRST, 0).expect("nothing is damaged");
    assert_eq!(seen.last_epoch, Some(more));
    assert_eq!(read_back(&disk, files(5), start, last).expect("nothing is damaged").records, more - last);
    // Then the lowest are used again.
    log.release();
    log.append(&mut record_of(more + 1)).expect("segments are free");
    assert_eq!(log.position().segment, 0);
    assert_eq!(read_back(&disk, files(5), start, last).expect("nothing is damaged").last_epoch, Some(more + 1));
}

/// A record that is larger than the size that is aimed at makes an empty segment grow.
#[test]
fn a_log_does_not_move_on_from_an_empty_segment() {
    let disk = SimDisk::new();
    let mut log = log_of_five(&disk);
    let mut large = EpochRecord::new();
    large.begin(1);
    large.push(0, &[7; 20 << 10]);
    log.append(&mut large).expect("room");
    assert_eq!((log.position().segment, log.position().pass), (LogStart::FIRST.segment, LogStart::FIRST.pass));
    assert_eq!(verify(&disk, files(5), LogStart::FIRST).expect("nothing is damaged").last_epoch, Some(1));
}

/// The log moves on to a segment that cannot grow for a large record, and then switches to another one. That the
/// segment between the two has no record must not hide those behind it.
#[test]
fn a_segment_that_gets_no_record_ends_no_log() {
    let large = || {
        let mut large = EpochRecord::new();
        large.begin(2);
        large.push(0, &[7; 20 << 10]);
        large
    };
    let disk = SimDisk::new();
    let mut log = log_of_five(&disk);
    log.append(&mut record_of(1)).expect("room");
    disk.fail_from(Kind::Allocate, 0, Fault::NoSpace);
    for _ in 0..2 {
        let refused = log.append(&mut large());
        assert!(refused.as_ref().is_err_and(MediumError::is_no_space), "{refused:?}");
        assert_eq!((log.position().segment, log.position().offset), (1, 0), "it has moved on");
    }
    disk.heal();
    let start = log.switch().expect("one was kept for it");
    log.append(&mut large()).expect("room");
    let found = |start| verify(&disk, files(5), start).map(|seen| seen.last_epoch);
    assert_eq!(found(LogStart::FIRST).expect("nothing is damaged"), Some(2), "no superblock names the new start");
    log.append(&mut record_of(3)).expect("room");
    assert_eq!(found(LogStart::FIRST).expect("nothing is damaged"), Some(3));
    assert_eq!(found(start).expect("nothing is damaged"), Some(3));
    // Once a superblock does, the same holds for a segment that gets no record after the start.
    log.release();
    let next = log.switch().expect("released");
    log.release();
    let last = log.switch().expect("released");
    log.append(&mut record_of(4)).expect("room");
    assert_eq!(found(next).expect("nothing is damaged"), Some(4));
    assert_eq!(found(last).expect("nothing is damaged"), Some(4));
}

#[test]
fn a_lost_or_damaged_segment_is_no_tail() {
    let disk = SimDisk::new();
    let mut log = log_of_five(&disk);
    fill(&mut log, 0);
    let found = |disk: &SimDisk| verify(disk, files(5), LogStart::FIRST);
    let is_damage = |disk: &SimDisk| matches!(found(disk), Err(MediumError::Corrupt { .. }));
    for segment in 0..3 {
        // Its first record, and all that it held.
        let damaged = disk.kill();
        assert!(damaged.flip(&segment_path(&dir(), segment), 100, 3));
        assert!(is_damage(&damaged), "segment {segment}");
        let blank = disk.kill();
        let len = blank.contents(&segment_path(&dir(), segment)).expect("it is there").len();
        assert!(blank.overwrite(&segment_path(&dir(), segment), 0, &vec![0; len]));
        assert!(is_damage(&blank), "segment {segment}");
    }
    assert!(!is_damage(&disk));
    // A file that the superblock counts and that is gone.
    let missing = verify(&disk, files(6), LogStart::FIRST);
    assert!(matches!(missing, Err(MediumError::Io { .. })), "{missing:?}");
    let outside = verify(&disk, files(5), LogStart { segment: 5, ..LogStart::FIRST });
    assert!(matches!(outside, Err(MediumError::Corrupt { .. })), "{outside:?}");
}

#[test]
fn segments_that_are_not_used_any_more_are_cut() {
    let disk = SimDisk::new();
    let mut log = log_of_five(&disk);
    let mut last = fill(&mut log, 0);
    let full = log.files().disk_bytes().expect("no faults");
    for _ in 0..2 {
        log.switch().expect("one is kept for it");
        last += 1;
        log.append(&mut record_of(last)).expect("there is room");
        log.release();
        log.trim_unused().expect("no faults");
    }
    let kept = log.files().disk_bytes().expect("no faults");
    assert!(kept == full, "the last but one cycle had used all: {kept} of {full} bytes");
    log.switch().expect("released");
    log.release();
    log.trim_unused().expect("no faults");
    let kept = log.files().disk_bytes().expect("no faults");
    assert!(kept < full, "{kept} of {full} bytes");
}

#[test]
fn a_segment_is_counted_before_it_has_a_record() {
    let disk = SimDisk::new();
    let mut database = Database::create(&disk, true).expect("no faults");
    assert_eq!(database.superblock.log_segments, FIRST_SEGMENTS);
    (0..9).for_each(|_| database.put().expect("no faults"));
    assert!(database.superblock.log_segments > FIRST_SEGMENTS);
    assert_eq!(database.superblock.log_segments, database.log.segments());
    drop(database);
    let database = Database::open(&disk, true).expect("nothing is damaged");
    assert_eq!(database.acknowledged, 9);
}

/// A log of two segments is as it was before there were more: nothing moves on.
#[test]
fn a_log_of_two_segments_stays_in_one() {
    let disk = logged(4, true);
    let seen = verify(&disk, files(2), LogStart::FIRST).expect("nothing is damaged");
    assert_eq!((seen.next.segment, seen.next.pass), (0, 1));
}

#[test]
fn names_of_segments() {
    assert!(is_segment_name("log.0") && is_segment_name(&format!("log.{}", MOST_SEGMENTS - 1)));
    for name in [&format!("log.{MOST_SEGMENTS}"), "log.01", "log.", "log", "log.-1", "log.0.txt"] {
        assert!(!is_segment_name(name), "{name}");
    }
}
