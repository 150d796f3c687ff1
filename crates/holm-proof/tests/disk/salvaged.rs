//! The salvage of a log: every whole record, whatever is left around it, and nothing that is none.

use crate::session::{UUID, boundaries, dir, log_0, log_1, logged, runs_of};
use holm_medium::log::{BrokenRecord, SalvagedLog};
use holm_medium::vfs::{How, Vfs};
use holm_proof::disk::SimDisk;

fn salvaged(disk: &SimDisk) -> SalvagedLog {
    SalvagedLog::read(disk, &dir(), 2).expect("readable")
}

fn sequences(log: &SalvagedLog) -> Vec<u64> {
    log.records.iter().map(|record| record.sequence).collect()
}

#[test]
fn whole_records_are_found_around_a_broken_one() {
    let (disk, bounds) = (logged(4, true), boundaries(4));
    assert!(disk.flip(&log_0(), bounds[1] as usize + 100, 3));
    let log = salvaged(&disk);
    assert_eq!(sequences(&log), [1, 3, 4]);
    assert_eq!(log.broken, [BrokenRecord { uuid: UUID, pass: 1, sequence: 2 }]);
    for (record, epoch) in log.records.iter().zip([1, 3, 4]) {
        let (mut locations, mut bytes) = (Vec::new(), Vec::new());
        let filled = log.lines(record, |location, place| {
            locations.push(location);
            bytes.extend(log.line(place).expect("readable"));
        });
        assert!(filled.expect("readable"));
        let runs = runs_of(epoch);
        let starts = runs.iter().flat_map(|(at, run)| (*at..*at + run.len() as u64).step_by(64));
        assert_eq!(locations, starts.collect::<Vec<_>>(), "epoch {epoch}");
        assert_eq!(bytes, runs.iter().flat_map(|(_, run)| run.clone()).collect::<Vec<_>>(), "epoch {epoch}");
    }
}

#[test]
fn a_missing_segment_and_a_length_that_lies_are_no_errors() {
    let disk = logged(3, true);
    disk.remove(&log_1()).expect("it is there");
    assert!(disk.overwrite(&log_0(), 48, &u32::MAX.to_le_bytes()));
    let log = salvaged(&disk);
    assert_eq!((sequences(&log), log.broken.len(), &log.missing[..]), (vec![2, 3], 1, &["log.1".to_owned()][..]));
}

/// Each page claims the rest of the segment. A search without a bound would read half of the pages squared.
#[test]
fn pages_that_all_claim_long_records_are_read_a_bounded_number_of_times() {
    let disk = logged(1, true);
    let file = disk.open(&log_0(), How::WRITE).expect("it is there");
    let pages = 256_u32;
    file.set_len(u64::from(pages) * 4096).expect("no faults");
    let mut header = disk.contents(&log_0()).expect("it is there")[..64].to_vec();
    for page in 0..pages {
        header[48..52].copy_from_slice(&((pages - page) * 4096 - 64).to_le_bytes());
        header[52..56].copy_from_slice(&page.to_le_bytes());
        file.write_at(&header, u64::from(page) * 4096).expect("no faults");
    }
    let log = salvaged(&disk);
    assert_eq!((log.records.len(), log.broken.len()), (0, pages as usize));
    assert!(log.bytes_read() <= 5 * u64::from(pages) * 4096, "{} bytes", log.bytes_read());
}
