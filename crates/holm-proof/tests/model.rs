//! Everything at once against a model: transactions, snapshots, expiry, ranges, batches, atomic operations, keyspaces
//! that come and go, backups, ends of sessions. A program of bytes says what happens; `fuzz` runs the same programs.
//!
//! The model consists of ordered maps and of the states since the last sync. From them follows the answer of each
//! operation, which transactions must conflict and which must not, and what a loss of power may leave.
//!
//! `HOLM_MODEL=1000..2000` runs other seeds, and `HOLM_MODEL_STEPS` sets their length. `HOLM_MODEL_FILE` names a file
//! with one program, such as the fuzz target leaves.

#![forbid(unsafe_code)]

#[path = "model/mod.rs"]
mod program;

use program::{STEP_BYTES, run};
use rand::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};

/// The seeds of a usual test, and the number of their steps.
const SEEDS: Range<u64> = 0..30;
const STEPS: usize = 500;

/// Returns the bytes of a program by seed.
fn seeded(seed: u64, steps: usize) -> Vec<u8> {
    let mut program = vec![0; (steps + 1) * STEP_BYTES];
    Pcg64Mcg::seed_from_u64(seed).fill_bytes(&mut program);
    program
}

fn fails(program: &[u8]) -> bool {
    panic::catch_unwind(AssertUnwindSafe(|| run(program, false))).is_err()
}

/// Leaves out steps of a program that fails, as long as it still fails.
fn shrink(mut program: Vec<u8>) -> Vec<u8> {
    let mut count = program.len() / STEP_BYTES / 2;
    let mut tries = 3_000;
    while count > 0 {
        let mut end = program.len() / STEP_BYTES;
        while end > 1 && tries > 0 {
            let from = end.saturating_sub(count).max(1);
            let mut less = program.clone();
            less.drain(from * STEP_BYTES..end * STEP_BYTES);
            tries -= 1;
            if fails(&less) {
                program = less;
            }
            end = from;
        }
        count /= 2;
    }
    program
}

/// Runs the programs of some seeds. Of one that fails, prints a short form before it fails.
fn agree(seeds: Range<u64>, steps: usize) {
    for seed in seeds {
        let program = seeded(seed, steps);
        if fails(&program) {
            println!("seed {seed} of {steps} steps fails; the steps that are needed:");
            let hook = panic::take_hook();
            panic::set_hook(Box::new(|_| {}));
            let short = shrink(program);
            panic::set_hook(hook);
            println!("{short:?}");
            run(&short, true);
            panic!("seed {seed} of {steps} steps fails, and its short form does not");
        }
    }
}

fn number(name: &str) -> Option<usize> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn everything_agrees_with_the_model() {
    if let Some(path) = std::env::var_os("HOLM_MODEL_FILE") {
        return run(&std::fs::read(path).expect("a file with a program"), true);
    }
    let steps = number("HOLM_MODEL_STEPS").unwrap_or(STEPS);
    let seeds = std::env::var("HOLM_MODEL").ok().map_or(SEEDS, |text| {
        let ends = text.split_once("..").map(|(from, to)| from.parse().and_then(|from| Ok(from..to.parse()?)));
        ends.and_then(Result::ok).expect("HOLM_MODEL is a range of seeds")
    });
    agree(seeds, steps);
}
