//! Arbitrary bytes as operations on a map of every selection. Each must behave as the standard library's map.

#![no_main]

#[path = "../../../crates/holm-map/tests/suite/operations.rs"]
mod operations;
#[path = "../../../crates/holm-map/tests/suite/mod.rs"]
mod suite;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| operations::run(&operations::decoded(bytes)));
