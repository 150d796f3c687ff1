//! Holm for C: the functions of `include/holm.h`, which says of each what it does, who may call it and who owns what
//! it gives. This crate checks what comes in, calls the store, and turns what comes back into codes.
//!
//! Every function is a door: what is NULL, too long, or of a size that means nothing is refused before anything is
//! read through it, and a panic behind the door becomes a code in front of it. What no door can check is the caller's
//! promise, and said in the header: that a pointer leads to as many bytes as its size says, that a handle has not been
//! closed, and that what is for one thread at a time is used so.

// Of each function the header says it, once, for those who call it.
#![allow(clippy::missing_safety_doc, reason = "include/holm.h says for each function what the caller promises")]

mod batch;
mod code;
mod database;
mod door;
mod iter;
mod keyspace;
mod options;
mod raw;
mod stats;
