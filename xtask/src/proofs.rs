//! `schedules`, `miri`, `fuzz` and `stores`: what is proved by other means than running it.
//!
//! The first three build the crates in another way, each in a target folder of its own, so that nothing is built twice
//! when one goes back and forth; the last reads what is built for release.

use anyhow::{Context, Result};

use crate::{cargo, from_here, root};

/// What Miri interprets: the portable kernels, the clock, and the tree over heap memory.
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

/// How many schedules, and which.
#[derive(clap::Args, Default)]
pub(crate) struct Schedules {
    /// Schedules of each kind for each model; each model has its own modest number otherwise.
    #[arg(long)]
    iterations: Option<u64>,
    /// Where the generators start: a failure's own seed repeats it.
    #[arg(long)]
    seed: Option<u64>,
}

/// What is fed any bytes, and for how long.
#[derive(clap::Args)]
pub(crate) struct Fuzz {
    /// What takes them: as operations, or as damage to files.
    #[arg(value_parser = ["map", "files"])]
    what: String,
    /// How long to look for bytes that take another way.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Where the generator starts; what was found before is kept and is gone on from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Feeds it this file alone: how a failure is repeated.
    #[arg(long)]
    input: Option<String>,
}

impl Schedules {
    fn variables(&self) -> Vec<(&'static str, String)> {
        let settings = [("HOLM_ITERATIONS", self.iterations), ("HOLM_SEED", self.seed)];
        settings.into_iter().filter_map(|(name, value)| Some((name, value?.to_string()))).collect()
    }
}

/// The folder that cargo would build in, and in it one of our own.
fn target(folder: &str) -> Result<String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    target.join(folder).into_os_string().into_string().ok().context("the target folder's path is not UTF-8")
}

/// Explores schedules of latch, clock, slab and tree; then of threads whose tree is crashed, which are tests within
/// their crate, so that its programs need not be built.
pub(crate) fn schedules(settings: &Schedules) -> Result<()> {
    let target = target("schedules")?;
    let settings = settings.variables();
    let mut variables = vec![("RUSTFLAGS", "--cfg shuttle"), ("CARGO_TARGET_DIR", target.as_str())];
    variables.extend(settings.iter().map(|(name, value)| (*name, value.as_str())));
    let packages = ["--package", "holm-medium", "--package", "holm-tree"];
    cargo(&[&["test", "--test", "schedules"], &packages[..]].concat(), &variables)?;
    cargo(&["test", "--lib", "--package", "holm-proof", "schedules::"], &variables)
}

/// Reads the machine code of what is built for release: is any store to a durable word not of eight bytes?
pub(crate) fn stores() -> Result<()> {
    cargo(&["test", "--package", "xtask", "--test", "stores", "--", "--include-ignored"], &[])
}

/// Interprets the portable tests; `seeds` schedules and choices of weak memory each.
pub(crate) fn miri(seeds: u64) -> Result<()> {
    let target = target("interpreted")?;
    let flags = if seeds > 1 { format!("-Zmiri-many-seeds=0..{seeds}") } else { String::new() };
    // A stable cargo would hand its own compiler down; the nightly one is to find its own.
    let variables = [("RUSTUP_TOOLCHAIN", "nightly"), ("CARGO_TARGET_DIR", &target), ("MIRIFLAGS", &flags)];
    INTERPRETED.iter().try_for_each(|tests| cargo(&[&["miri", "test"], *tests].concat(), &variables))
}

/// Makes every branch tell that it was taken, and what was compared on the way there. Both are passes of LLVM, which a
/// stable compiler runs too.
const TRACED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                      -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                      -Cllvm-args=-sanitizer-coverage-trace-compares";

/// Feeds a program any bytes, and keeps those that led it somewhere new.
pub(crate) fn fuzz(settings: &Fuzz) -> Result<()> {
    let target = target("fuzzed")?;
    let corpus = format!("{target}/corpus-{}/", settings.what);
    std::fs::create_dir_all(&corpus).with_context(|| corpus.clone())?;
    let program = format!("fuzz-{}", settings.what);
    // For the machine by its name: cargo would build its own programs with the same flags else, and nobody is there to
    // take what their branches tell.
    let host = host()?;
    let cargo_words = ["run", "--profile", "fuzz", "--target", &host, "--package", "holm-fuzz", "--bin", &program];
    let features: &[&str] = if settings.what == "files" { &["--features", "files", "--"] } else { &["--"] };
    let time = format!("-max_total_time={}", settings.seconds);
    let seed = format!("-seed={}", settings.seed);
    let artifacts = format!("-artifact_prefix={target}/failed-{}-", settings.what);
    let input = settings.input.as_ref().map(|input| from_here(std::slice::from_ref(input))).transpose()?;
    let rest = match &input {
        Some(input) => input.iter().map(String::as_str).collect(),
        // A hang is a failure: nothing here takes a second.
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

/// What the compiler calls this machine.
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
