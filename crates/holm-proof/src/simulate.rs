//! A simulation of the whole store: `holm::Database` over a simulated disk, clock and scheduler, as FoundationDB and
//! TigerBeetle have it.
//!
//! A seed draws a [`Plan`]: threads that run transactions, batches, scans, snapshots, single calls, range removals,
//! drops of keyspaces, feeds and backups; the options of the database; faults and crashes, each before a step. [`run()`]
//! executes the plan. The store's own threads (group commit, preallocation, checkpoints, sweeper) run under the same
//! scheduler, which may interrupt a thread at each access to a word, atomic, lock or file. Time passes with the steps.
//! A crash does not end the run: it takes the image that the death of the process or a loss of power leaves there.
//! After the run, each image is opened, perhaps with a second crash in the recovery, and compared.
//!
//! What is expected: every history is strictly serializable ([`crate::cycles`]) and linearizable
//! ([`crate::history`]); what a crash leaves is closed under dependencies and has all that was promised; feeds and
//! backups agree; `Database::check` finds nothing leaked or shared; a closed database opens as it was.
//!
//! The same plan gives the same schedule. [`shrink()`] makes a failing plan smaller. `cargo xtask simulate` runs seeds.

mod counts;
mod oracle;
mod plan;
mod run;
mod shrink;
mod solo;
mod stage;
mod threads;
mod turns;
mod world;

pub use counts::Counts;
pub use plan::{Crash, End, FaultAt, Plan, Profile, What};
pub use run::{Outcome, run};
pub use shrink::shrink;
