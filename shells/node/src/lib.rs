//! The state machine of a cluster for C: the functions of `include/holm_node.h`, which states the contract of each.
//!
//! This crate turns pointers into slices and results into codes; what happens is in `holm-node`. Arguments that are
//! NULL are refused, and a panic becomes a code. Three conditions cannot be checked, and the header makes the caller
//! responsible for them: a pointer points to as many bytes as its size says, a handle has not been closed, and one
//! caller at a time applies or restores.
//!
//! A message is a result of its call, and not of the thread: a scheduler may move its caller between two calls.

// The header states the contract of each function, once, for its callers.
#![allow(clippy::missing_safety_doc, reason = "include/holm_node.h states the contract of each function")]

mod denied;
mod door;
mod front;
mod group;
mod node;
mod raw;
mod stream;
#[cfg(test)]
mod tests;
mod user;
