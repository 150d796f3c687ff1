//! What every design must guarantee: one property per file, each a function of the design and the name of a test.
//!
//! A scenario returns a description of what it tested, or of what is wrong. `for_each_scenario!` combines the scenarios
//! with a design, so a new file and a line below run for every design.

mod agrees_with_a_map;
mod flushes_what_it_writes;
mod never_panics_on_torn_bits;
mod readers_beside_a_writer;
mod removes_ranges;
mod survives_a_crash_in_recovery;
pub(crate) mod survives_creating_and_dropping_trees;
mod survives_every_crash;
mod survives_every_epoch;
mod survives_its_readers;
mod survives_late_ends;
mod survives_restructuring;
mod survives_reuse_of_what_recovery_freed;

pub use agrees_with_a_map::agrees_with_a_map;
pub use flushes_what_it_writes::flushes_what_it_writes;
pub use never_panics_on_torn_bits::never_panics_on_torn_bits;
pub use readers_beside_a_writer::readers_beside_a_writer;
pub use removes_ranges::removes_ranges;
pub use survives_a_crash_in_recovery::survives_a_crash_in_recovery;
pub use survives_creating_and_dropping_trees::survives_creating_and_dropping_trees;
pub use survives_every_crash::{
    survives_every_crash_by_line, survives_every_crash_by_word, survives_every_death_of_the_process,
};
pub use survives_every_epoch::survives_every_epoch;
pub use survives_its_readers::survives_its_readers;
pub use survives_late_ends::survives_late_ends;
pub use survives_restructuring::{
    survives_emptied_leaves, survives_merges, survives_refreshes, survives_reuse, survives_root_growth, survives_splits,
};
pub use survives_reuse_of_what_recovery_freed::survives_reuse_of_what_recovery_freed;
pub(crate) use survives_reuse_of_what_recovery_freed::thrice;

use crate::crashes::Persistency;
use crate::explore::{Plan, explore, panicked};
use crate::script::Script;
use crate::subject::Subject;
use crate::verdict::Report;
use std::panic::catch_unwind;

/// What was tested, or what is wrong.
pub type Verdict = Result<String, String>;

/// Calls a macro with a subject's path and the names of all scenarios.
#[macro_export]
macro_rules! for_each_scenario {
    ($then:path, $subject:path) => {
        $then! {
            $subject;
            agrees_with_a_map
            flushes_what_it_writes
            never_panics_on_torn_bits
            readers_beside_a_writer
            removes_ranges
            survives_a_crash_in_recovery
            survives_emptied_leaves
            survives_every_crash_by_line
            survives_every_crash_by_word
            survives_every_death_of_the_process
            survives_every_epoch
            survives_its_readers
            survives_late_ends
            survives_merges
            survives_creating_and_dropping_trees
            survives_refreshes
            survives_reuse
            survives_reuse_of_what_recovery_freed
            survives_root_growth
            survives_splits
        }
    };
}

/// A property of a design.
pub type Scenario = fn(&'static Subject) -> Verdict;

macro_rules! listed {
    ($subject:path; $($name:ident)*) => {
        /// All scenarios, by name.
        pub const ALL: &[(&str, Scenario)] = &[$((stringify!($name), $name)),*];
    };
}
for_each_scenario!(listed, every::design);

/// Runs a scenario; a panic is a violation too.
///
/// # Errors
/// The violation.
pub fn judged(scenario: Scenario, subject: &'static Subject) -> Verdict {
    catch_unwind(|| scenario(subject)).unwrap_or_else(|panic| Err(format!("{}: {}", subject.name, panicked(&*panic))))
}

/// The models of persistency that a design must survive, by its capabilities.
pub fn owed(subject: &'static Subject) -> impl Iterator<Item = Persistency> {
    Persistency::ALL.into_iter().filter(move |persistency| excuse(subject, *persistency).is_none())
}

/// Why a design need not survive a model.
pub fn excuse(subject: &'static Subject, persistency: Persistency) -> Option<&'static str> {
    (persistency == Persistency::Word && subject.capabilities.needs_line_order)
        .then_some("excused: the capabilities say that the stores to a line must persist in order")
}

/// Explores scripts under each model that a design owes.
fn all_owed(subject: &'static Subject, scripts: &[Script], plan: impl Fn(Persistency) -> Plan) -> Verdict {
    let mut said = String::new();
    for persistency in owed(subject) {
        said += &format!("{persistency}: {}\n", all(subject, scripts, &plan(persistency))?);
    }
    Ok(said)
}

fn all(subject: &'static Subject, scripts: &[Script], plan: &Plan) -> Result<Report, String> {
    let mut total = Report::default();
    for script in scripts {
        total += explore(subject, script, plan).map_err(|violation| violation.to_string())?;
    }
    Ok(total)
}
