//! `schedules`, `simulate`, `histories`, `damage`, `miri`, `fuzz` and `stores`: checks that need a special build, read
//! the release build, or repeat a test with other numbers.
//!
//! Special builds have a target folder of their own, so that switching between them rebuilds nothing.

use anyhow::{Context, Result};

use crate::{cargo, from_here, root};

/// The crates that Miri interprets: the portable kernels, the clock, and the tree over heap memory.
const INTERPRETED: &[&[&str]] = &[
    &["--package", "holm-search", "--test", "racing"],
    &["--package", "holm-search", "--test", "levels"],
    &["--package", "holm-search", "--test", "lanes"],
    &["--package", "holm-map", "--lib"],
    &["--package", "holm-map", "--test", "drops"],
    &["--package", "holm-medium", "--test", "interpreted"],
    &["--package", "holm-tree", "--lib"],
    &["--package", "holm-tree", "--test", "interpreted"],
];

/// The number and kind of schedules.
#[derive(clap::Args, Default)]
pub(crate) struct Schedules {
    /// Schedules of each kind for each model; without it, each model has its own moderate number.
    #[arg(long)]
    iterations: Option<u64>,
    /// The first seed of the generators: a failure's own seed repeats it.
    #[arg(long)]
    seed: Option<u64>,
}

/// The number of histories.
#[derive(clap::Args)]
pub(crate) struct Histories {
    /// Histories of each kind.
    #[arg(long, default_value_t = 100_000)]
    count: u64,
    /// The first seed of the generators: a failure's own seed repeats it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The number of damages.
#[derive(clap::Args)]
pub(crate) struct Damage {
    /// Damages, 24 to each database.
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// The seed of the first database: a failure's own seed repeats it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The target and the duration of fuzzing.
#[derive(clap::Args)]
pub(crate) struct Fuzz {
    /// What the bytes are: operations on a map or on a database, damage to files, or requests to the server.
    #[arg(value_parser = ["map", "files", "store", "requests"])]
    what: String,
    /// How many seconds to search for bytes that take new branches.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The seed of the generator; earlier inputs are kept, and the search continues from them.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Runs this input file alone, to repeat a failure.
    #[arg(long)]
    input: Option<String>,
}

impl Schedules {
    fn variables(&self) -> Vec<(&'static str, String)> {
        let settings = [("HOLM_ITERATIONS", self.iterations), ("HOLM_SEED", self.seed)];
        settings.into_iter().filter_map(|(name, value)| Some((name, value?.to_string()))).collect()
    }
}

/// Returns a folder of its own inside cargo's target folder.
fn target(folder: &str) -> Result<String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    target.join(folder).into_os_string().into_string().ok().context("the target folder's path is not UTF-8")
}

/// Explores schedules of latch, clock, slab and tree. Then it explores threads whose tree crashes; these are tests
/// inside their crate, so that its programs need not be built.
pub(crate) fn schedules(settings: &Schedules) -> Result<()> {
    let target = target("schedules")?;
    let settings = settings.variables();
    let mut variables = vec![("RUSTFLAGS", "--cfg shuttle"), ("CARGO_TARGET_DIR", target.as_str())];
    variables.extend(settings.iter().map(|(name, value)| (*name, value.as_str())));
    let packages = ["--package", "holm-medium", "--package", "holm-tree"];
    cargo(&[&["test", "--test", "schedules"], &packages[..]].concat(), &variables)?;
    cargo(&["test", "--lib", "--package", "holm-proof", "schedules::"], &variables)
}

/// Runs the simulation of the store, optimised and with every assertion.
pub(crate) fn simulate(arguments: &[String]) -> Result<()> {
    let target = target("schedules")?;
    let variables = [("RUSTFLAGS", "--cfg shuttle"), ("CARGO_TARGET_DIR", target.as_str())];
    let words = ["run", "--profile", "proof", "--package", "holm-proof", "--bin", "simulate", "--"];
    cargo(&words.into_iter().chain(arguments.iter().map(String::as_str)).collect::<Vec<_>>(), &variables)
}

/// Checks many histories of transactions: of schedules over a small tree, which are crashed, and of threads over a
/// database.
pub(crate) fn histories(settings: &Histories) -> Result<()> {
    let target = target("schedules")?;
    // Half of the schedules are of each kind.
    let (each, count, seed) =
        (settings.count.div_ceil(2).to_string(), settings.count.to_string(), settings.seed.to_string());
    let variables = [
        ("RUSTFLAGS", "--cfg shuttle"),
        ("CARGO_TARGET_DIR", target.as_str()),
        ("HOLM_ITERATIONS", each.as_str()),
        ("HOLM_SEED", seed.as_str()),
    ];
    let shows = ["--", "--nocapture"];
    cargo(&[&["test", "--lib", "--package", "holm-proof", "schedules::histories::"], &shows[..]].concat(), &variables)?;
    let variables = [("HOLM_HISTORIES", count.as_str()), ("HOLM_SEED", seed.as_str())];
    cargo(&[&["test", "--package", "holm-proof", "--test", "isolation", "short_"], &shows[..]].concat(), &variables)
}

/// Damages databases at rest, opens them and repairs them.
pub(crate) fn damage(settings: &Damage) -> Result<()> {
    let (count, seed) = (settings.count.to_string(), settings.seed.to_string());
    let variables = [("HOLM_DAMAGES", count.as_str()), ("HOLM_SEED", seed.as_str())];
    cargo(&["test", "--package", "holm-proof", "--test", "damage", "no_damage_", "--", "--nocapture"], &variables)
}

/// Reads the machine code of the release build, and checks that every store to a durable word has eight bytes.
pub(crate) fn stores() -> Result<()> {
    cargo(&["test", "--package", "xtask", "--test", "stores", "--", "--include-ignored"], &[])
}

/// Hunts mutants with every trial.
pub(crate) fn mutants() -> Result<()> {
    cargo(&["test", "--package", "holm-proof", "--test", "explorer", "mutants::"], &[("HOLM_EVERY_TRIAL", "1")])
}

/// Interprets the portable tests, with `seeds` schedules and weak-memory choices each.
pub(crate) fn miri(seeds: u64) -> Result<()> {
    let target = target("interpreted")?;
    let flags = if seeds > 1 { format!("-Zmiri-many-seeds=0..{seeds}") } else { String::new() };
    // A stable cargo would pass on its own compiler; the nightly one must find its own.
    let variables = [("RUSTUP_TOOLCHAIN", "nightly"), ("CARGO_TARGET_DIR", &target), ("MIRIFLAGS", &flags)];
    INTERPRETED.iter().try_for_each(|tests| cargo(&[&["miri", "test"], *tests].concat(), &variables))
}

/// Makes every branch report that it was taken, and which values were compared. Both are passes of LLVM, which a stable
/// compiler runs too.
const TRACED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                      -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                      -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Runs a program on generated bytes, and keeps those that reach new branches.
pub(crate) fn fuzz(settings: &Fuzz) -> Result<()> {
    let target = target("fuzzed")?;
    let corpus = format!("{target}/corpus-{}/", settings.what);
    std::fs::create_dir_all(&corpus).with_context(|| corpus.clone())?;
    let program = format!("fuzz-{}", settings.what);
    // The target is named explicitly. Otherwise cargo would build its build scripts with the same flags, and they have
    // no runtime that receives the reports of branches.
    let host = host()?;
    let cargo_words = ["run", "--profile", "fuzz", "--target", &host, "--package", "holm-fuzz", "--bin", &program];
    let features: &[&str] = match &settings.what[..] {
        "map" => &["--"],
        "requests" => &["--features", "requests", "--"],
        _ => &["--features", "files", "--"],
    };
    let time = format!("-max_total_time={}", settings.seconds);
    let seed = format!("-seed={}", settings.seed);
    let artifacts = format!("-artifact_prefix={target}/failed-{}-", settings.what);
    let input = settings.input.as_ref().map(|input| from_here(std::slice::from_ref(input))).transpose()?;
    let rest = match &input {
        Some(input) => input.iter().map(String::as_str).collect(),
        // A hang is a failure: no input takes a second.
        None => vec![
            &time,
            &seed,
            "-max_len=3000",
            "-len_control=0",
            "-timeout=20",
            "-print_final_stats=1",
            &artifacts,
            &corpus,
        ],
    };
    cargo(&[&cargo_words, features, &rest[..]].concat(), &[("RUSTFLAGS", TRACED), ("CARGO_TARGET_DIR", &target)])
}

/// Returns the compiler's name of this machine.
fn host() -> Result<String> {
    let told = std::process::Command::new("rustc").arg("-vV").output().context("rustc did not start")?;
    let told = String::from_utf8_lossy(&told.stdout);
    told.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned).context("rustc names no host")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_reach_the_models() {
        let settings = Schedules { iterations: Some(5), seed: None };
        assert_eq!(settings.variables(), [("HOLM_ITERATIONS", "5".to_owned())]);
    }
}
