//! The leaf designs of the literature and their variants, over the trees of `holm-tree`.
//!
//! A design is one line in `designs.rs`; a new leaf is one file in `leaf/` and that line. The store's own designs,
//! `buffered` and `holm`, come from `holm-tree`. This crate lists them with its own, so that every test, crash
//! exploration, benchmark and report row starts from one list. `holm-lab` compiles them for programs that measure, and
//! offers them to a store.
#![forbid(unsafe_code)]

mod append;
pub mod designs;
mod fingerprinted_pairs;
pub mod guide;
mod heads;
pub mod inner;
pub mod leaf;
mod lineage;
pub mod look;
mod roster;
mod row;
mod slot_fingerprints;
pub mod variants;
