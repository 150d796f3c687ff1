//! Isolation of transactions: the checker against histories known to be good or bad, then the whole store against the
//! checker, by threads, by power cuts and by the death of the process.

#![forbid(unsafe_code)]

#[path = "isolation/checker.rs"]
mod checker;
#[path = "isolation/threads.rs"]
mod threads;
