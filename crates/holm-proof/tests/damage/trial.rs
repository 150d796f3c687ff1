//! One damage: what an open makes of it, and what a repair saves.

use crate::ledger::{Contents, Prefix};
use crate::lives::{End, Life, builder, contents};
use crate::outcomes::{Opening, Outcomes};
use crate::strikes::Strike;
use holm::{Error, Repair, RepairReport};
use holm_proof::disk::SimDisk;

/// The pairs of a leaf of several blocks.
pub(crate) const LEAF: u64 = 56;

/// Bytes of a deadline, before a value of a keyspace that has lost its name.
const DEADLINE: usize = 8;

/// Runs one damage, and counts its outcome.
pub(crate) fn run(life: &Life, strike: &Strike, orphans: bool, context: &str, outcomes: &mut Outcomes) {
    let damaged = strike.apply(life);
    let opening = open(life, strike, &damaged, context);
    let (report, saved) = repair(life, &damaged, orphans, context);
    let shown = saved.keys().filter(|(space, _)| space != "lost-records").count() as u64;
    let hidden = report.records.checked_sub(shown).expect("no pair that was not counted");
    assert!(hidden <= foreign(life, strike, &report), "{context}: {shown} records are there: {report}");
    judge_truth(life, strike, (&report, &saved), context);
    let [lost, older] = losses(life, &saved);
    let limit = most_lost(life, strike);
    assert!(
        limit.is_none_or(|limit| lost + older <= limit),
        "{context}: {lost} pairs lost and {older} older, of {}: {report}",
        life.sound.len()
    );
    let row = format!("{:?}, {}, {}", life.end, strike.file(), strike.kind());
    outcomes.count(&row, opening, [life.sound.len() as u64, lost, older]);
}

fn is_typed(error: &Error) -> bool {
    matches!(
        error,
        Error::Corrupt { .. }
            | Error::Foreign { .. }
            | Error::Version { .. }
            | Error::Geometry { .. }
            | Error::NotClean { .. }
            | Error::Capacity { .. }
            | Error::NotFound { .. }
            | Error::OutOfEpochs { .. }
            | Error::Io { .. }
    )
}

fn open(life: &Life, strike: &Strike, damaged: &SimDisk, context: &str) -> Opening {
    let disk = damaged.kill();
    let db = match builder(&disk, life.design).create(false).open("/d") {
        Ok(db) => db,
        Err(error) => {
            assert!(is_typed(&error), "{context}: {error:?}");
            return Opening::Refused;
        }
    };
    let (found, faults) = contents(&db);
    if !faults.is_empty() {
        return Opening::Unsound;
    }
    // A killed database whose page cache shows damage is restored from the log.
    if found == life.sound || (life.end != End::Closed && life.ledger.prefix(&found) == Some(Prefix::Kept)) {
        return Opening::Right;
    }
    // A record at the place of an earlier one of its key, with its own checksum, is what a replay can leave.
    let is_open = life.end != End::Closed;
    assert!(is_open || strike.is_replay(), "{context}: a wrong answer, and sound: {}", difference(&life.sound, &found));
    Opening::Undetected
}

fn difference(expected: &Contents, found: &Contents) -> String {
    let missing = expected.iter().filter(|(place, value)| found.get(*place) != Some(value)).count();
    let more = found.iter().filter(|(place, value)| expected.get(*place) != Some(value)).count();
    format!("{missing} of {} pairs are not there, {more} others are", expected.len())
}

/// Repairs, and returns what the new database has.
pub(crate) fn repair(life: &Life, damaged: &SimDisk, orphans: bool, context: &str) -> (RepairReport, Contents) {
    let disk = damaged.kill();
    let before: Vec<_> = disk.files().into_iter().map(|path| (disk.contents(&path), path)).collect();
    let options = builder(&disk, life.design);
    let report = Repair::of("/d").orphans(orphans).options(options.clone()).write_to("/saved");
    let report = report.unwrap_or_else(|error| panic!("{context}: the repair failed: {error}"));
    for (bytes, path) in before {
        assert!(disk.contents(&path) == bytes, "{context}: {} has changed", path.display());
    }
    let db = options.create(false).open("/saved").unwrap_or_else(|error| panic!("{context}: saved, and {error}"));
    let (saved, faults) = contents(&db);
    assert!(faults.is_empty(), "{context}: saved, and unsound: {faults:?}");
    (report, saved)
}

/// Every pair was once written, under its key and in its keyspace, as far as the keyspace is known.
fn judge_truth(life: &Life, strike: &Strike, (report, saved): (&RepairReport, &Contents), context: &str) {
    let mut moved = 0;
    for (place, value) in saved {
        let (space, key) = place;
        let shortened = value.get(DEADLINE..).unwrap_or_default();
        let anywhere = life.ledger.had_anywhere(key, value) || life.ledger.had_anywhere(key, shortened);
        if space == "lost-records" {
            // The name of a keyspace, or the key of a removal.
            assert!(anywhere || value.is_empty() || value.len() <= 13, "{context}: an orphan that never was: {key:?}");
        } else if space.starts_with("lost-") {
            assert!(anywhere, "{context}: {space} has a pair that never was: {key:?}");
        } else if !life.ledger.had(place, value) {
            assert!(anywhere, "{context}: {space} has a pair that never was: {key:?}");
            moved += 1;
        }
    }
    assert!(moved <= foreign(life, strike, report), "{context}: {moved} pairs are in another keyspace");
}

/// Returns how many pairs may be those of the same key in another keyspace: a record has none, and the number in a leaf
/// has no checksum. In a keyspace with expiry, such a value can begin with a deadline that is over.
fn foreign(life: &Life, strike: &Strike, report: &RepairReport) -> u64 {
    match strike.file() {
        "leaves" => 8 * LEAF,
        // At the place of an earlier record, with the same key and a checksum.
        "records" if strike.is_replay() => 8 * LEAF,
        // Last entries that are gone without a trace: space that they reused was free at the end of what is left.
        file if file.starts_with("log.") && life.end == End::Cut => report.doubtful_records.max(LEAF),
        _ => report.doubtful_records,
    }
}

/// Returns how many pairs of the sound contents are nowhere, and how many have an earlier value.
fn losses(life: &Life, saved: &Contents) -> [u64; 2] {
    let (mut lost, mut older) = (0, 0);
    let strays: std::collections::BTreeSet<(&[u8], &[u8])> = saved
        .iter()
        .filter(|((space, _), _)| space.starts_with("lost-"))
        .flat_map(|((_, key), value)| [(&key[..], &value[..]), (&key[..], value.get(DEADLINE..).unwrap_or_default())])
        .collect();
    for (place, value) in &life.sound {
        match saved.get(place) {
            Some(found) if found == value => {}
            _ if strays.contains(&(&place.1[..], &value[..])) => {}
            Some(_) => older += 1,
            None => lost += 1,
        }
    }
    [lost, older]
}

/// The most pairs that a repair may lose to a damage, where there is such a number.
fn most_lost(life: &Life, strike: &Strike) -> Option<u64> {
    let is_one_bit = matches!(strike, Strike::Flip { .. });
    match (strike.file(), life.end) {
        // Either slot has all that the superblock says, and without both the newest states are believed.
        ("superblock", End::Closed) => Some(0),
        ("superblock", End::Killed | End::Cut) if is_one_bit => Some(0),
        // The files of a closed database, and those that a dead process has left, have everything.
        (file, End::Closed | End::Killed) if file.starts_with("log.") => Some(0),
        ("leaves", _) if is_one_bit => Some(LEAF),
        ("records", _) if is_one_bit => Some(1),
        _ => None,
    }
}
