//! The tests of crash consistency.
//!
//! A [`Recorded`] medium keeps every store, flush and fence of a run. [`Crashes`] derives the images that a crash may
//! leave. [`explore()`] opens each image, recovers it, compares it with the simple [`History`], and continues from it.
//! Designs do not write tests: every design runs the tests in [`scenarios`]. No shipped crate depends on this one.
#![forbid(unsafe_code)]

mod commits;
mod crashes;
pub mod cycles;
pub mod death;
pub mod disk;
mod each_crash;
mod explore;
pub mod file_table;
mod fixture;
pub mod history;
mod inspect;
pub mod lists;
mod model;
pub mod mutants;
mod ranges;
mod reader;
mod recorded;
pub mod scenarios;
#[cfg(all(test, shuttle))]
mod schedules;
pub mod script;
#[cfg(shuttle)]
pub mod simulate;
mod snapshot;
mod subject;
// The unit tests need no design, and would compile each of them once more; schedules are unit tests too, and are all
// that needs designs where a scheduler runs.
#[cfg(any(all(test, shuttle), not(any(test, shuttle))))]
pub mod subjects;
pub mod table;
mod threads;
mod trace;
mod turns;
mod verdict;

pub use commits::{CommitCrashes, IntentBug, crash_commits};
pub use crashes::{Bounds, Choice, Crashes, Extent, Persistency, Window};
pub use explore::{Plan, explore, trace};
pub use fixture::{EndEpoch, TreeFixture, advance, lagging};
pub use inspect::inspect;
pub use model::{Contents, History, Standing, Step};
pub use ranges::{RangeBug, crash_ranges};
pub use reader::Reader;
pub use recorded::{Recorded, Witness};
pub use script::Script;
pub use snapshot::Snapshot;
pub use subject::{Subject, Tree};
pub use trace::{Caller, Entry, Event, Mark, Order, Site, sites};
pub use turns::{TurnBug, Turns, turn_at_each_store};
pub use verdict::{Report, Violation};
