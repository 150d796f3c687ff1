//! Arbitrary bytes as a program of operations on a database: transactions, snapshots, expiry, ranges, batches, backups,
//! ends of sessions. Each answer must be that of the model, and a loss of power must leave one of its states.

#![no_main]

#[path = "../../../crates/holm-proof/tests/model/mod.rs"]
mod model;

use libfuzzer_sys::fuzz_target;

/// Longer programs take longer than they find more.
const MOST_BYTES: usize = 300 * model::STEP_BYTES;

fuzz_target!(|bytes: &[u8]| model::run(&bytes[..bytes.len().min(MOST_BYTES)], false));
