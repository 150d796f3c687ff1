//! Damages whose outcome is known exactly.

use crate::lives::{End, FILES, Life};
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
        for file in FILES {
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
