//! The public face of the store, held to what its documentation says. One program, for its parts share their tools.
//!
//! Each module is a promise: what a map would answer, limits, errors, traits, sizes, durability, threads. What a power
//! cut or a failing disk does is the proving ground's to find out.

#![forbid(unsafe_code)]

mod back_in_time;
mod batches;
mod children;
mod disks;
mod dropping;
mod durability;
mod emptied;
mod errors;
mod families;
mod full;
mod gaps;
mod growth;
mod handles;
mod histories;
mod limits;
mod model;
mod read_only;
mod sizes;
mod threads;
mod tools;
mod traits;
mod twin;
