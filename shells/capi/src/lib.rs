//! Holm for C: the functions of `include/holm.h`. The header states for each function its effect, the threads that may
//! call it, and the owner of its results. This crate checks arguments, calls the store, and turns results into codes.
//!
//! Every function has a wrapper. It rejects arguments that are NULL, too long, or of an invalid size before it reads
//! through them, and it turns a panic into a code. Three conditions cannot be checked, and the header makes the caller
//! responsible for them. A pointer points to as many bytes as its size says. A handle has not been closed. An object
//! for one thread at a time is used so.

// The header states the contract of each function, once, for its callers.
#![allow(clippy::missing_safety_doc, reason = "include/holm.h states the contract of each function")]

mod atomic;
mod backup;
mod batch;
mod changes;
mod code;
mod copy;
mod database;
mod door;
mod expire;
mod expiry;
mod feed;
mod growing;
mod iter;
mod keyspace;
mod list;
mod many;
mod mark;
mod number;
mod options;
mod range;
mod raw;
mod salvage;
mod scan;
mod snapshot;
mod stats;
mod stream;
mod transaction;
