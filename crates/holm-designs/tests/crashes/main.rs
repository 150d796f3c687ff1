//! Every crash of every operation on one leaf, for each leaf that is durable when an operation returns.
//!
//! This is a program of its own because it must not link `holm-lab`. That crate is compiled without optimisation, and
//! the compiler would take functions of the standard library and of the medium from there. The tests here would then
//! take seven times as long.

mod fills;
mod isle;
mod names;
mod operations;
mod recorded;
mod shifting;
mod ss_tree;
mod stage;
mod strict;
mod variants;
mod wide;

/// Scatters numbers.
fn mixed(i: u64) -> u64 {
    i.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ i.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 29
}
