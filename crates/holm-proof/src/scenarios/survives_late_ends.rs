//! Crashes while the end of each epoch takes as long as the next epoch: operations run while what a crash would leave
//! is two epochs old. So a crash may choose every version that a leaf keeps.

use super::{Verdict, all_owed};
use crate::crashes::{Bounds, Persistency};
use crate::explore::Plan;
use crate::fixture::lagging;
use crate::script::{change, merge, refresh, regrow, split};
use crate::subject::Subject;

/// Little is durable at most moments, so each moment has many images.
const FEW: Bounds = Bounds { exhaustive: 40, pairs: 4, random: 4 };

fn late(persistency: Persistency) -> Plan {
    Plan { end_epoch: lagging, bounds: FEW, ..Plan::suite(persistency) }
}

fn late_twice(persistency: Persistency) -> Plan {
    Plan { end_epoch: lagging, nested: 3, ..Plan::twice(persistency) }
}

/// Changes of one leaf and of several, and blocks that are reused as early as possible.
///
/// # Errors
/// The violation.
pub fn survives_late_ends(subject: &'static Subject) -> Verdict {
    if !subject.capabilities.per_epoch {
        return Ok("durable when an operation returns: epochs say only when what was given up is free".into());
    }
    let capacity = subject.capacity;
    let scripts = [change(), refresh(), split(capacity), merge(capacity), regrow(capacity)];
    Ok(all_owed(subject, &scripts, late)? + &all_owed(subject, &[change()], late_twice)?)
}
