//! Small records share a page, which is written again with each of them.

use crate::session::{UUID, dir, files, log_0, make_dir, options, record_of};
use holm_medium::error::MediumError;
use holm_medium::log::{Log, LogStart, verify};
use holm_proof::disk::{Kind, SimDisk};

/// The epochs of the session that have small records, of 496 bytes each.
const SMALL: [u64; 8] = [1, 2, 4, 5, 7, 8, 10, 11];

/// A log of small records, each with the number of writes that it took, and where it ends.
fn small() -> (SimDisk, Log, Vec<(u64, u64)>) {
    let disk = SimDisk::new();
    make_dir(&disk).expect("no faults");
    let mut log = Log::create(&disk, &dir(), UUID, options(true)).expect("no faults");
    let mut ends = Vec::new();
    for epoch in SMALL {
        let before = disk.calls().of(Kind::Write);
        log.append(&mut record_of(epoch)).expect("no faults");
        ends.push((disk.calls().of(Kind::Write) - before, log.position().offset));
    }
    (disk, log, ends)
}

#[test]
fn a_page_takes_as_many_small_records_as_it_has_room_for() {
    let (disk, mut log, ends) = small();
    let expected: Vec<_> = (1..=8).map(|count| (1, count * 512)).collect();
    assert_eq!(ends, expected, "eight records of 512 bytes are a page, and each is one write");
    // One of two pages begins a page, and what follows it does not.
    log.append(&mut record_of(13)).expect("no faults");
    log.append(&mut record_of(15)).expect("no faults");
    let long = record_of(15).padded_len();
    assert_eq!(log.position().offset, 8192 + long);
    log.append(&mut record_of(16)).expect("no faults");
    assert_eq!(log.position().offset, 8192 + long + 512);
    let seen = verify(&disk, files(2), LogStart::FIRST).expect("nothing is damaged");
    assert_eq!((seen.records, seen.last_epoch, seen.torn), (11, Some(16), None));
    assert_eq!(seen.next.offset, log.position().offset);
}

/// What an older pass has left in the next page is not taken for the record.
#[test]
fn a_blank_record_is_missed_in_its_page_whatever_the_next_page_has() {
    let (disk, _, _) = small();
    assert!(disk.overwrite(&log_0(), 4096, &[0xa5; 4096]));
    assert!(disk.overwrite(&log_0(), 3 * 512, &[0; 512]));
    match verify(&disk, files(2), LogStart::FIRST) {
        Err(MediumError::Corrupt { offset, found, .. }) => assert_eq!((offset, &found[..]), (3 * 512, "zeros")),
        other => panic!("{other:?}"),
    }
}

/// Each line claims a long record, and none is whole: the search ends, and takes nothing for the tail.
#[test]
fn a_search_that_would_not_end_is_damage() {
    let (disk, mut log, _) = small();
    log.append(&mut record_of(13)).expect("no faults");
    let log_bytes = disk.contents(&log_0()).expect("it was made");
    let mut header: [u8; 64] = log_bytes[4096..4160].try_into().expect("64 bytes");
    header[48..52].copy_from_slice(&4000_u32.to_le_bytes());
    header[32..40].copy_from_slice(&100_u64.to_le_bytes());
    for line in 0..120_u32 {
        let (page, within) = (1 + line / 64, line % 64);
        header[52..56].copy_from_slice(&page.to_le_bytes());
        header[56..60].copy_from_slice(&(within << 26 | 3).to_le_bytes());
        assert!(disk.overwrite(&log_0(), 4096 + line as usize * 64, &header));
    }
    assert!(matches!(verify(&disk, files(2), LogStart::FIRST), Err(MediumError::Corrupt { .. })));
}

/// The page behind the damage begins no record. Whole ones lie in the same page, and a search that began at the next
/// one would take the damage for the tail.
#[test]
fn a_blank_record_before_whole_ones_of_its_page_is_damage() {
    for lost in 0..SMALL.len() - 1 {
        let (disk, _, _) = small();
        assert!(disk.overwrite(&log_0(), lost * 512, &[0; 512]));
        match verify(&disk, files(2), LogStart::FIRST) {
            Err(MediumError::Corrupt { offset, .. }) => assert_eq!(offset as usize, lost * 512),
            other => panic!("record {lost}: {other:?}"),
        }
    }
    let (disk, _, _) = small();
    assert!(disk.overwrite(&log_0(), 7 * 512, &[0; 512]));
    let seen = verify(&disk, files(2), LogStart::FIRST).expect("the last record is the tail");
    assert_eq!((seen.records, seen.torn), (7, None));
}
