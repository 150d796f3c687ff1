//! Crashes in epochs whose numbers are at a limit: those of which a leaf may keep only the lower bits, and the last
//! ones that a label can represent.

use super::{Verdict, all};
use crate::crashes::Bounds;
use crate::explore::Plan;
use crate::fixture::lagging;
use crate::scenarios::owed;
use crate::script::{change, merge, refresh};
use crate::subject::Subject;
use holm_medium::{Epoch, LAST_EPOCH};

/// As many epochs as the longest script and the steps after a recovery may end, with two crashes.
const FEW: Epoch = 20;

/// The first epochs of the scripts: their lower 8 and 16 bits wrap around, and there are just enough epochs left.
const STARTS: [Epoch; 3] = [0x1fd, 0xa_ffff, LAST_EPOCH - FEW];

/// An error caused by a number shows in most images.
const SOME: Bounds = Bounds { exhaustive: 12, pairs: 2, random: 2 };

/// One leaf and two, with a second crash.
///
/// # Errors
/// The violation.
pub fn survives_every_epoch(subject: &'static Subject) -> Verdict {
    if !subject.capabilities.per_epoch {
        return Ok("durable when an operation returns: no epoch's number is kept".into());
    }
    let mut said = String::new();
    let scripts = [change(), refresh(), merge(subject.capacity)];
    for (first, persistency) in STARTS.into_iter().flat_map(|first| owed(subject).map(move |owed| (first, owed))) {
        let plan = Plan { first, end_epoch: lagging, bounds: SOME, nested: 2, ..Plan::twice(persistency) };
        said += &format!("{persistency}, from epoch {first}: {}\n", all(subject, &scripts, &plan)?);
    }
    Ok(said)
}
