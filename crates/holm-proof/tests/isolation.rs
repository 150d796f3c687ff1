//! Isolation of transactions: the checker against histories known to be good or bad, then the whole store against the
//! checker, by threads and by power cuts. `store/real.rs` kills processes that run transactions.

#![forbid(unsafe_code)]

#[path = "isolation/checker.rs"]
mod checker;
#[path = "isolation/cuts.rs"]
mod cuts;
#[path = "isolation/threads.rs"]
mod threads;
