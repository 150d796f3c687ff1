//! Arbitrary bytes as what a client sends: see `requests.rs` beside this folder.

#![no_main]

#[path = "../requests.rs"]
mod requests;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| requests::check(bytes));
