//! The clock: which epoch each operation belongs to, and up to which epoch everything is durable.
//!
//! Buffered durability (Du and Scott, HOPC'25, section 2): an operation pins the active epoch `e`, and unpins it at
//! its end. When the clock advances, operations of `e` may finish while new ones start in `e + 1`. Once all of them
//! have unpinned and what they wrote is durable, `e` is durable too. The next advance waits for that. An operation
//! labelled `e` can therefore rely on every epoch up to `e - 2` being durable, and three versions suffice.
//!
//! *Lock, then validate*: a writer that holds all the latches it needs asks its [`Guard`] whether the clock still shows
//! its label. Readers cannot see a latched leaf. Labels therefore rise along the order of linearization, and what
//! survives a crash is a prefix of that order.
//!
//! Epochs are finite: after the last one there is no label, so the clock ends with it. All of it becomes durable, and
//! each later attempt to pin returns an error.
//!
//! `clock.rs` puts four parts together. `labels.rs` is the clock proper: the active and the durable epoch, the latest
//! snapshot (`instant.rs`, `boundary.rs`), and the slots where operations announce themselves (`guard.rs`,
//! `barrier.rs`, `stuck.rs`). `admission.rs` decides which operations may write now (`backpressure.rs`). `requests.rs`
//! is where threads wait for the thread that ends epochs, and it for them; `commit_leader.rs` lets them end one
//! themselves, and `listeners.rs` calls what is to be called for news. `dirty_lines.rs` knows what the open epochs have
//! written (`dirty.rs`). `failure.rs` is why nothing is acknowledged any more.

#![forbid(unsafe_code)]

mod admission;
mod backpressure;
mod barrier;
mod boundary;
mod clock;
mod commit_leader;
mod dirty;
mod dirty_lines;
mod failure;
mod guard;
mod instant;
mod label;
mod labels;
mod listeners;
mod requests;
mod stuck;

pub use clock::Clock;
pub use commit_leader::{CommitLeader, Led};
pub use dirty::{LineSet, MASK_BYTES};
pub use guard::{Guard, Hold};
pub use label::{Epoch, EpochSpan, FIRST_EPOCH, LAST_EPOCH};
pub use requests::WantedEpoch;
pub use stuck::Stuck;
