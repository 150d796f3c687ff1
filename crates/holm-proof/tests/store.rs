//! The whole store on files. However a session ends, what is found afterwards is a prefix of what was done, no shorter
//! than what was guaranteed, and the database works.
//!
//! On a simulated disk: the loss of power at any call, with sectors torn, lost and written early, and every fault at
//! every call. On real files: the death of the process, a shut-down file system, and damage by hand.

#![forbid(unsafe_code)]

#[path = "store/compaction.rs"]
mod compaction;
#[path = "store/damage.rs"]
mod damage;
#[path = "store/designs.rs"]
mod designs;
#[path = "store/each_call.rs"]
mod each_call;
#[path = "store/earlier_index.rs"]
mod earlier_index;
#[path = "store/ends.rs"]
mod ends;
#[path = "store/eviction.rs"]
mod eviction;
#[path = "store/faults.rs"]
mod faults;
#[path = "store/feeds.rs"]
mod feeds;
#[path = "store/file_table.rs"]
mod file_table;
#[path = "store/full.rs"]
mod full;
#[path = "store/history.rs"]
mod history;
#[path = "store/hostile.rs"]
mod hostile;
#[path = "store/increments.rs"]
mod increments;
#[path = "store/index.rs"]
mod index;
#[path = "store/lengths.rs"]
mod lengths;
#[path = "store/loss.rs"]
mod loss;
#[path = "store/power.rs"]
mod power;
#[path = "store/real.rs"]
mod real;
#[path = "store/restorations.rs"]
mod restorations;
#[path = "store/sweeps.rs"]
mod sweeps;
#[path = "store/tail.rs"]
mod tail;
#[path = "store/unsynced_close.rs"]
mod unsynced_close;
#[path = "store/write_back.rs"]
mod write_back;
