//! Damages whose outcome is known exactly.

use crate::ledger::Contents;
use crate::lives::{End, FILES, Life, file, segments};
use crate::strikes::Strike;
use crate::trial::repair;

fn first_life(end: End) -> Life {
    (1..).map(Life::live).find(|life| life.end == end).expect("some seed has it")
}

/// A repair of an undamaged database is a copy, whatever its state is.
#[test]
fn what_is_not_damaged_is_kept_whole() {
    for end in [End::Closed, End::Killed, End::Cut] {
        let life = first_life(end);
        let (report, saved) = repair(&life, &life.disk, false, "undamaged");
        assert!(saved == life.sound, "{end:?}: {report}");
        assert!(!report.has_losses(), "{end:?}: {report}");
    }
}

/// Each file alone may be missing. Without the leaves, records are kept as orphans; without the records, what is left
/// is what the log has.
#[test]
fn any_one_file_may_be_missing() {
    for end in [End::Closed, End::Killed] {
        let life = first_life(end);
        for file in FILES.into_iter().chain(segments(&life.disk).into_iter().skip(2)) {
            let damaged = Strike::Remove { file }.apply(&life);
            let (report, saved) = repair(&life, &damaged, false, file);
            assert!(report.losses.contains(&format!("{file} is missing")), "{file}: {report}");
            match file {
                "leaves" => assert!(report.orphans > 0, "{end:?}: {report}"),
                "records" => assert!(report.damaged_records > 0, "{end:?}: {report}"),
                _ => assert!(saved == life.sound, "{end:?}, {file}: {report}"),
            }
        }
    }
}

/// A log that has lost its last entries without a trace. The files have later states, and leaves without a state of the
/// log's end. A repair that believed the log would take those leaves for free.
#[test]
fn a_log_that_ends_before_the_leaves_is_not_believed() {
    let mut distrusted = 0;
    for mut life in (1..40).map(Life::live).filter(|life| life.end == End::Killed) {
        // Power was lost after everything had been written back.
        life.disk = life.disk.crash_keeping_all();
        for name in segments(&life.disk) {
            let len = life.disk.contents(&file(name)).map_or(0, |bytes| bytes.len());
            let kept = len.min(3 * 4096);
            assert!(life.disk.overwrite(&file(name), kept, &vec![0; len - kept]));
        }
        let (report, saved) = repair(&life, &life.disk, false, "a short log");
        if report.losses.iter().any(|loss| loss.contains("the log lacks its last entries")) {
            distrusted += 1;
            assert!(saved == life.sound, "{report}");
        }
    }
    assert!(distrusted > 3, "{distrusted} logs were too short");
}

/// Regression: after the death of a process, the log had an earlier record where the cut file had the last one of a key
/// in another keyspace, and the report did not count it as doubtful.
#[test]
fn what_an_older_log_has_for_a_record_that_is_cut_off_is_doubtful() {
    let life = Life::live(5405);
    assert_eq!(life.end, End::Killed);
    let damaged = Strike::Truncate { file: "records", len: 29_173 }.apply(&life);
    let (report, saved) = repair(&life, &damaged, false, "cut records");
    let foreign = saved.iter().filter(|(place, value)| !life.ledger.had(place, value)).count() as u64;
    assert!(foreign > 0 && foreign <= report.doubtful_records, "{foreign} pairs of other keyspaces: {report}");
}

/// The log has the leaf of a record that is damaged, with other pairs beside the damaged one. None of them takes its
/// place: the loss is counted, and each other key keeps the value that it had.
#[test]
fn a_damaged_record_is_lost_alone() {
    let mut lost = 0;
    for life in (1..12).map(Life::live).filter(|life| life.end == End::Killed) {
        let records = life.disk.contents(&file("records")).unwrap_or_default();
        // A value begins with a number that no other has.
        for (place, value) in life.sound.iter().filter(|(place, _)| place.0 != "tides").step_by(37) {
            let pair = [&place.1[..], &value[..]].concat();
            let at = records.windows(pair.len()).position(|bytes| bytes == pair).expect("a record");
            let damaged = Strike::Flip { file: "records", byte: at + place.1.len(), bit: 3 }.apply(&life);
            let (report, saved) = repair(&life, &damaged, false, "a damaged record");
            let others = |of: &Contents| of.iter().filter(|pair| pair.0 != place).count();
            assert_eq!(others(&saved), others(&life.sound), "{place:?}: {report}");
            for other in life.sound.iter().filter(|pair| pair.0 != place) {
                assert_eq!(saved.get(other.0), Some(other.1), "{place:?}: {report}");
            }
            let is_lost = !saved.contains_key(place);
            assert_eq!(report.damaged_records, u64::from(is_lost), "{place:?}: {report}");
            lost += u64::from(is_lost);
        }
    }
    assert!(lost > 3, "{lost} records were lost");
}

/// Leaves of an earlier session in blocks that are free: the later pair of each key stays.
#[test]
fn the_pair_of_the_latest_epoch_stays() {
    let mut superseded = 0;
    for life in (1..40).map(Life::live).filter(|life| life.end == End::Closed) {
        let [old, new] = [&life.yesterday, &life.disk].map(|disk| disk.contents(&file("leaves")).unwrap_or_default());
        let free = new.chunks(512).rposition(|block| block.iter().any(|byte| *byte != 0)).map_or(0, |last| last + 1);
        let old = &old[512..old.len().min(new.len() - free * 512)];
        let damaged = life.disk.kill();
        assert!(damaged.overwrite(&file("leaves"), free * 512, old));
        let (report, saved) = repair(&life, &damaged, false, "leaves of yesterday");
        superseded += report.superseded_records;
        for (place, value) in &life.sound {
            assert_eq!(saved.get(place), Some(value), "{place:?}: {report}");
        }
    }
    assert!(superseded > 500, "{superseded} pairs were there twice");
}
