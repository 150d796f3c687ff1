//! A simulation of the whole store: `holm::Database` over a simulated disk, clock and scheduler, as FoundationDB and
//! TigerBeetle have it.
//!
//! A seed draws a [`Plan`]: threads that run transactions, batches, scans, snapshots, single calls, range removals,
//! drops of keyspaces, large values, compactions, marks, feeds, backups and their increments, and opens beside a
//! writer; the options of the database; faults and crashes, each before a step, between two stores, in a commit, in the
//! close or in the opening after it.
//! [`run()`] executes the plan. The store's own threads (group commit, preallocation, checkpoints, sweeper) run under
//! the same scheduler, which may interrupt a thread at each access to a word, atomic, lock or file. Time passes with
//! the steps. A crash does not end the run: it takes the image that the death of the process or a loss of power leaves
//! there, or that of a process whose pages the kernel then cannot write and forgets. After the run, each image is
//! opened and compared. Recoveries crash, too, at any step: what is left then is another image.
//!
//! Where a call to the disk has failed, a minute passes before the end, so that another checkpoint is due; and if the
//! database is poisoned then, crashes meet it once more.
//!
//! What is expected: every history is strictly serializable ([`crate::cycles`]) and linearizable ([`crate::history`]);
//! what a crash leaves is closed under dependencies and has all that was promised; feeds and backups agree; the opening
//! of a poisoned database believes the log alone; a mark never falls, and its effect is there with it;
//! `Database::check` finds nothing leaked or shared, and as many bytes as the statistics count; a closed database opens
//! as it was, for readers and for a writer.
//!
//! The same plan gives the same schedule. [`shrink()`] makes a failing plan smaller. `cargo xtask simulate` runs seeds.
//!
//! Bugs were seeded in the store, one at a time, and seeds of the profile `all` run from 1 on until one failed.
//! `docs/mutants.md` lists the bugs that the simulation misses and a test catches. A seed plays another run once the
//! store takes other steps: these failed when the table was last repeated.
//!
//! | bug | caught by seed | as |
//! |---|---|---|
//! | what is freed while space is withheld is reused | 545 | an image whose leaves lead to other keys |
//! | a commit forgets what it depends on | 4 | a mark that fell |
//! | a checkpoint does not sync the data files | 7 | an image that cannot be opened |
//! | segments of the log are released before their checkpoint | 100 | an image that cannot be opened |
//! | the grace period is one epoch short | 26 | a feed whose copy is not the database |
//! | a commit sets no intent | 8 | a mark without what was committed with it |
//! | an epoch does not wait for its writers | 4 | an image that is no prefix |
//! | an epoch is published before its record is written | 2 | a feed that falls behind without a cause |
//! | lines of one epoch in eight are not marked | 1 | an image that cannot be opened |
//! | an increment does not look again | 5 | calls of one key that no order explains |
//! | a compare-and-swap compares presence alone | 3 | calls of one key that no order explains |
//! | a mark that does not rise is set | 11 | a mark that is lower than the one just set |
//! | a mark counts as durable one epoch early | 14 | a durable mark that an image lacks |
//! | an increment of a backup lacks the epoch after its base | 5 | an increment whose base is refused |
//! | a second opening does not ask for the lock | 2 | a writer beside readers |
//! | a reader opens what was not closed | 3 | a reader that is not refused |
//! | the time goes back with the system's clock | 40 | a key that has expired and is there |
//! | space is given back without its grace period | 76 | a record that is not the one that its leaf had |
//!
//! Not simulated: the drawing of keys of any length. Orders of memory weaker than sequential consistency are Miri's.

mod bulk;
mod closing;
mod compaction;
mod counts;
mod draw;
mod gone_back;
mod marks;
mod moving_leaves;
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
pub use plan::{Crash, Design, End, FaultAt, Plan, Profile, What, When};
pub use run::{Outcome, run};
pub use shrink::shrink;
