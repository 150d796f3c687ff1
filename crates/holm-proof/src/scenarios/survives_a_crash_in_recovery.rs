//! Two crashes: the second comes within the recovery, or in the epochs after it, whose numbers were in use before.
//!
//! What the first crash lost must not come back with the second. This includes pairs in which one crash is a loss of
//! power and the other the death of the process.

use super::{Verdict, all, all_owed};
use crate::crashes::Persistency;
use crate::explore::Plan;
use crate::mutants::every_trial;
use crate::script::{change, merge, overflow, random, split};
use crate::subject::Subject;

/// Two crashes.
///
/// # Errors
/// The violation.
pub fn survives_a_crash_in_recovery(subject: &'static Subject) -> Verdict {
    let capacity = subject.capacity;
    let scripts = [change(), split(capacity), overflow(capacity), merge(capacity), random(2, capacity)];
    let nested = if subject.has_many_images() && !every_trial() { 4 } else { 10 };
    let mut said = all_owed(subject, &scripts, |persistency| Plan { nested, ..Plan::twice(persistency) })?;
    for (first, later) in [(Persistency::Visible, Persistency::Line), (Persistency::Line, Persistency::Visible)] {
        let report = all(subject, &scripts, &Plan { nested, ..Plan::mixed(first, later) })?;
        said += &format!("{first}, then {later}: {report}\n");
    }
    Ok(said)
}
