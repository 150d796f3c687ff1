//! `kill-loop`: kills a writing child at random moments, again and again, and judges what is left each time.
//!
//! `kill-loop --kills N --seed S [--dir FOLDER]`. With the shared image every step that had returned must be there, in
//! every durability; with the private one a prefix that holds all that was reported durable. The first fault ends the
//! run, says which, and leaves the folder as it was found.

#![forbid(unsafe_code)]

use holm_proof::death::Mode;
use holm_proof::death::ledger::Ledger;
use holm_proof::death::round::{CHILD, Round, child, judge};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// Kills after which a mode starts over in a fresh folder.
const LIFE: u64 = 12;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((first, rest)) if first == CHILD => child(rest),
        _ => kill_all(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn option(arguments: &[String], name: &str) -> Option<String> {
    let at = arguments.iter().position(|argument| argument == name)?;
    arguments.get(at + 1).cloned()
}

fn number(arguments: &[String], name: &str, otherwise: u64) -> Result<u64, String> {
    let Some(text) = option(arguments, name) else { return Ok(otherwise) };
    text.parse().map_err(|_| format!("{name} wants a number, not {text:?}"))
}

fn kill_all(arguments: &[String]) -> Result<(), String> {
    let kills = number(arguments, "--kills", 100)?;
    let seed = number(arguments, "--seed", 1)?;
    let root = option(arguments, "--dir").map_or_else(std::env::temp_dir, PathBuf::from);
    let root = root.join(format!("holm-kill-{}-{seed}", std::process::id()));
    std::fs::create_dir(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut done, mut steps) = (0, 0);
    for life in 0.. {
        let name = Mode::NAMES[(life + seed as usize) % Mode::NAMES.len()];
        let dir = root.join(format!("{life}-{name}"));
        let mut ledger = Ledger::default();
        for _ in 0..LIFE.min(kills - done) {
            kill_once(&dir, name, &mut ledger, &mut random)
                .map_err(|why| format!("seed {seed}, kill {done}, {name}, {}: {why}", dir.display()))?;
            done += 1;
        }
        steps += ledger.next.iter().map(|next| next - 1).sum::<u64>();
        std::fs::remove_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        if done >= kills {
            break;
        }
    }
    std::fs::remove_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    println!("{done} kills, {steps} steps survived, no fault");
    Ok(())
}

fn kill_once(dir: &Path, name: &str, ledger: &mut Ledger, random: &mut Pcg64Mcg) -> Result<(), String> {
    let mode = Mode::named(name).ok_or("no such mode")?;
    let told = |error: std::io::Error| error.to_string();
    let round = Round::start(dir, name, Some(ledger), false).map_err(told)?;
    // Most often while it writes; sometimes while it opens, recovers or makes the database.
    if random.random_ratio(3, 4) {
        round.wait_until_open();
    }
    thread::sleep(Duration::from_micros(random.random_range(0..40_000)));
    let reported = round.kill().map_err(told)?;
    if random.random_ratio(1, 3) {
        // A second child dies while it recovers what the first has left.
        let again = Round::start(dir, name, None, false).map_err(told)?;
        thread::sleep(Duration::from_micros(random.random_range(0..8_000)));
        again.kill().map_err(told)?;
    }
    judge(dir, mode, ledger, reported, false).map(drop)
}
