//! Linearizability: the checker against histories known to be good or bad, then the buffered tree and
//! the atomic operations of a keyspace against the checker.

#![forbid(unsafe_code)]

#[path = "linear/atomic.rs"]
mod atomic;
#[path = "linear/buffered.rs"]
mod buffered;
#[path = "linear/checker.rs"]
mod checker;
