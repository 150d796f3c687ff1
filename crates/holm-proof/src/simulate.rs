//! A simulation of the whole store: `holm::Database` over a simulated disk, clock and scheduler, as FoundationDB and
//! TigerBeetle have it.
//!
//! A seed draws a [`Plan`]: threads that run transactions, batches, scans, snapshots, single calls, range removals,
//! drops of keyspaces, large values, compactions, marks, feeds, backups and their increments, and opens beside a
//! writer; the options of the database; faults and crashes, each before a step, in a commit, in the close or in the
//! opening after it.
//! [`run()`] executes the plan. The store's own threads (group commit, preallocation, checkpoints, sweeper) run under
//! the same scheduler, which may interrupt a thread at each access to a word, atomic, lock or file. Time passes with
//! the steps. A crash does not end the run: it takes the image that the death of the process or a loss of power leaves
//! there. After the run, each image is opened and compared. Recoveries crash, too, at any step: what is left then is
//! another image.
//!
//! What is expected: every history is strictly serializable ([`crate::cycles`]) and linearizable
//! ([`crate::history`]); what a crash leaves is closed under dependencies and has all that was promised; feeds and
//! backups agree; a mark never falls, and its effect is there with it; `Database::check` finds nothing leaked or
//! shared, and as many bytes as the statistics count; a closed database opens as it was, for readers and for a writer.
//!
//! The same plan gives the same schedule. [`shrink()`] makes a failing plan smaller. `cargo xtask simulate` runs seeds.
//!
//! Bugs were seeded in the store, one at a time, and seeds run from 1 on until one failed. Seeds with a star are those
//! of an earlier drawing of plans: they say how many seeds it took, and no longer which.
//!
//! | bug | caught by seed | as |
//! |---|---|---|
//! | a get does not validate its copy | 372 | calls of one key that no order explains |
//! | what is freed while space is withheld is reused | 545 | an image whose leaves lead to other keys |
//! | a commit forgets what it depends on | 4* | a cycle in the history |
//! | a checkpoint does not sync the data files | 64* | an image that cannot be opened |
//! | a half of the log is released before its checkpoint | 36* | a damaged log |
//! | the grace period is one epoch short | 4* | a record that is not the one that its leaf had |
//! | a commit sets no intent | 54* | a commit that is left in part |
//! | an epoch is published before its record is written | 2* | a commit that had to survive |
//! | lines of one epoch in eight are not marked | 5* | a feed that lacks a change |
//!
//! Not simulated: pages that are evicted and read again while a process lives, and the drawing of keys of any
//! length. Orders of memory weaker than sequential consistency are Miri's.

mod bulk;
mod closing;
mod compaction;
mod counts;
mod draw;
mod marks;
mod oracle;
mod plan;
mod readers;
mod run;
mod shrink;
mod solo;
mod stage;
mod threads;
mod turns;
mod world;

pub use counts::Counts;
pub use plan::{Crash, End, FaultAt, Plan, Profile, What, When};
pub use run::{Outcome, run};
pub use shrink::shrink;
