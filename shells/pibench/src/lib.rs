//! The designs under PiBench: a shared library that exports `create_tree`.
//!
//! Keys and values of eight bytes each are stored as in the papers, as the two words of a slot, over plain memory, a
//! tmpfs or persistent memory. Larger pairs, and everything in ordinary files, are stored by the store, over the same
//! media. The environment selects the design, the medium and the durability: see `settings.rs`.
//!
//! Keys of eight bytes are numbers in the machine's byte order, as PiBench generates and scans them. Keys of other
//! lengths are byte strings.

#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "C++ calls these functions")]
mod door;
mod mapped_storage;
mod settings;
mod store;
mod stripes;
mod tree;
mod words;
