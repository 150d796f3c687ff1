//! Linearizability: the checker against histories known to be good or bad, then the buffered tree against the checker.

#![forbid(unsafe_code)]

#[path = "linear/buffered.rs"]
mod buffered;
#[path = "linear/checker.rs"]
mod checker;
