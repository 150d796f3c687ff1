//! `schedules`, `miri` and `stores`: what is proved by other means than running it.
//!
//! The first two build the crates in another way, each in a target folder of its own, so that nothing is built twice
//! when one goes back and forth; the third reads what is built for release.

use anyhow::{Context, Result};

use crate::{cargo, root};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_reach_the_models() {
        let settings = Schedules { iterations: Some(5), seed: None };
        assert_eq!(settings.variables(), [("HOLM_ITERATIONS", "5".to_owned())]);
    }
}
