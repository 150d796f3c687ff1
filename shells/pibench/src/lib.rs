//! The designs under PiBench: a shared library that exports `create_tree`.
//!
//! Keys of eight bytes with values of eight are kept as the papers keep them, two words of a slot, over plain memory, a
//! tmpfs or persistent memory; what is larger, and whatever is to rest in ordinary files, is kept by the store, over
//! the same media. Which design, where, and how durable is said by the environment: see `settings.rs`.
//!
//! Keys of eight bytes are numbers in the machine's order, as PiBench makes them and scans them; keys of other lengths
//! are byte strings.

#![deny(unsafe_code)]

mod bed;
#[allow(unsafe_code, reason = "a room for it: C++ calls here")]
mod door;
mod settings;
mod store;
mod stripes;
mod tree;
mod words;
