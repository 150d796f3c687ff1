//! `kill-loop`: kills a writing child process at random moments, again and again, and checks what is left each time.
//!
//! With the shared image, every step that had returned must be present, in every durability. With the private image, a
//! prefix must be present that includes everything that was reported durable. With `--transactions`, the child runs
//! transactions; those that are left must be whole, and with each must be left all that it depends on. The first fault
//! ends the run, prints what it is, and leaves the folder as it was found.

#![forbid(unsafe_code)]

use clap::Parser;
use holm_proof::death::Mode;
use holm_proof::death::ledger::Ledger;
use holm_proof::death::little_memory::LittleMemory;
use holm_proof::death::options::{Options, Task, end};
use holm_proof::death::preload::Preload;
use holm_proof::death::round::{End, Round, judge};
use holm_proof::death::transactions::{self, TransactionRound};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

/// The number of kills after which a mode starts again in a fresh folder.
const LIFE: u64 = 12;

/// Kills a writer, again and again, and checks what each has left.
#[derive(Parser)]
struct Arguments {
    /// The number of kills.
    #[arg(long, default_value_t = 100)]
    kills: u64,
    /// Kills a child that runs transactions.
    #[arg(long, conflicts_with = "mebibytes")]
    transactions: bool,
    #[command(flatten)]
    preload: Preload,
    #[command(flatten)]
    memory: LittleMemory,
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    task: Option<Task>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    end(match &arguments.task {
        Some(task) => task.run(),
        None => kill_all(&arguments),
    })
}

fn kill_all(arguments: &Arguments) -> Result<(), String> {
    let &Arguments { kills, transactions, preload, memory, ref options, .. } = arguments;
    let _limited = memory.enter()?;
    let seed = options.seed;
    let root = options.folder("kill")?;
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let (mut done, mut steps) = (0, 0);
    for life in 0.. {
        let name = &*memory.mode_name(life + seed);
        let dir = root.join(format!("{life}-{name}"));
        let mut ledger = Ledger::default();
        ledger.preload = preload;
        preload.load(&dir, Mode::named(name).ok_or("no such mode")?)?;
        for _ in 0..LIFE.min(kills - done) {
            let killed = match transactions {
                true => kill_transactions(&dir, name, done, &mut random).map(|committed| steps += committed),
                false => kill_once(&dir, name, &mut ledger, &mut random),
            };
            killed.map_err(|why| format!("seed {seed}, kill {done}, {name}, {}: {why}", dir.display()))?;
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
    // Most kills come while the child writes; some while it opens, recovers or creates the database.
    if random.random_ratio(3, 4) {
        round.wait_until_open();
    }
    thread::sleep(Duration::from_micros(random.random_range(0..40_000 + opening(ledger.preload))));
    let reported = round.kill().map_err(told)?;
    kill_again(dir, name, ledger.preload, random)?;
    judge(dir, mode, ledger, reported, End::Kill).map(drop)
}

/// Microseconds that an opening takes for each mebibyte, about.
fn opening(preload: Preload) -> u64 {
    preload.mebibytes * 300
}

/// Now and then kills a second child, while it recovers what the first has left.
fn kill_again(dir: &Path, name: &str, preload: Preload, random: &mut Pcg64Mcg) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    if random.random_ratio(1, 3) {
        let again = Round::start(dir, name, None, false).map_err(told)?;
        thread::sleep(Duration::from_micros(random.random_range(0..8_000 + opening(preload))));
        again.kill().map_err(told)?;
    }
    Ok(())
}

/// The same for a child that runs transactions. Returns how many it had committed.
fn kill_transactions(dir: &Path, name: &str, set: u64, random: &mut Pcg64Mcg) -> Result<u64, String> {
    let mode = Mode::named(name).ok_or("no such mode")?;
    let told = |error: std::io::Error| error.to_string();
    let round = TransactionRound::start(dir, name, set).map_err(told)?;
    if random.random_ratio(7, 8) {
        round.wait_until_open();
    }
    thread::sleep(Duration::from_micros(random.random_range(0..40_000)));
    let reported = round.kill().map_err(told)?;
    kill_again(dir, name, Preload::default(), random)?;
    transactions::judge(dir, mode, set, &reported, End::Kill)
}
