//! Crashed anywhere, under one model of persistency, the tree holds what was promised, and works.

use super::{Verdict, all, excuse};
use crate::crashes::Persistency;
use crate::explore::Plan;
use crate::grove::capacity;
use crate::script::{change, random};
use holm_tree::Design;

fn survives<D: Design>(persistency: Persistency) -> Verdict {
    if let Some(excuse) = excuse::<D>(persistency) {
        return Ok(excuse.into());
    }
    let scripts: Vec<_> = [change()].into_iter().chain((0..6).map(|seed| random(seed, capacity::<D>()))).collect();
    all::<D>(&scripts, &Plan::suite(persistency)).map(|report| report.to_string())
}

/// Power is lost, and of each line a prefix of its stores is there.
///
/// # Errors
/// The violation.
pub fn survives_every_crash_by_line<D: Design>() -> Verdict {
    survives::<D>(Persistency::Line)
}

/// Power is lost, and each word has any of its values.
///
/// # Errors
/// The violation.
pub fn survives_every_crash_by_word<D: Design>() -> Verdict {
    survives::<D>(Persistency::Word)
}

/// Only the process dies, and every store is there: a design that defers must be strict then.
///
/// # Errors
/// The violation.
pub fn survives_every_death_of_the_process<D: Design>() -> Verdict {
    survives::<D>(Persistency::Visible)
}
