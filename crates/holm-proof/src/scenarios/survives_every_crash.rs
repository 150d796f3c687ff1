//! After a crash anywhere, under one model of persistency, the tree holds what was guaranteed, and works.

use super::{Verdict, all, excuse};
use crate::crashes::Persistency;
use crate::explore::Plan;
use crate::script::{change, random};
use crate::subject::Subject;

fn survives(subject: &'static Subject, persistency: Persistency) -> Verdict {
    if let Some(excuse) = excuse(subject, persistency) {
        return Ok(excuse.into());
    }
    let scripts: Vec<_> = [change()].into_iter().chain((0..6).map(|seed| random(seed, subject.capacity))).collect();
    all(subject, &scripts, &Plan::suite(persistency)).map(|report| report.to_string())
}

/// Power is lost, and of each line a prefix of its stores persists.
///
/// # Errors
/// The violation.
pub fn survives_every_crash_by_line(subject: &'static Subject) -> Verdict {
    survives(subject, Persistency::Line)
}

/// Power is lost, and each word has any of its values.
///
/// # Errors
/// The violation.
pub fn survives_every_crash_by_word(subject: &'static Subject) -> Verdict {
    survives(subject, Persistency::Word)
}

/// Only the process dies, and every store is present: a design that is durable per epoch must then lose nothing.
///
/// # Errors
/// The violation.
pub fn survives_every_death_of_the_process(subject: &'static Subject) -> Verdict {
    survives(subject, Persistency::Visible)
}
