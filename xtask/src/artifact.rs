//! `artifact`: everything that the page of the papers' figures is made of, in one command that can be interrupted.

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{figures, root};

/// How much to run.
#[derive(clap::Args)]
pub(crate) struct Artifact {
    /// The numbers of keys and operations, as a fraction of the papers' own.
    #[arg(long, value_enum, default_value = "day")]
    scale: Scale,
    /// The folder for the results and the page.
    #[arg(long, default_value = "target/artifact")]
    out: PathBuf,
}

/// The sizes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scale {
    /// The least numbers and one round, in minutes: shows that everything runs.
    Smoke,
    /// A fifth of the papers' numbers and five rounds, in hours.
    Day,
    /// The papers' own numbers, and half of those about subnodes: days, and 64 GiB of memory for all places.
    Paper,
}

/// Figures that run in one call: their names, the scale and the rounds.
type Part = (&'static [&'static str], &'static str, &'static str);

impl Scale {
    fn parts(self) -> &'static [Part] {
        match self {
            Scale::Smoke => &[(&["all"], "0.0001", "1")],
            Scale::Day => &[(&["all"], "0.2", "5")],
            Scale::Paper => &[(&["SENT", "ISLE", "BD", "MB", "SYN"], "1", "5"), (&["SS"], "0.5", "5")],
        }
    }
}

/// A step of the whole.
enum Step {
    /// Figures, in the build that counts reads or in the usual one.
    Figures(Part, bool),
    Crashes,
    Page,
}

impl Step {
    fn describe(&self) -> String {
        match self {
            Step::Figures((ids, scale, rounds), reads) => {
                let what = if *reads { "figures that count reads" } else { "figures" };
                format!("{what} of {}, at {scale} of the papers' numbers, {rounds} rounds", ids.join(", "))
            }
            Step::Crashes => "the table of crashes".into(),
            Step::Page => "the page".into(),
        }
    }
}

/// Returns all steps, in their order. Not every family has figures that count reads, so these are named as one.
fn steps(scale: Scale) -> Vec<Step> {
    let parts = scale.parts();
    let timed = parts.iter().map(|part| Step::Figures(*part, false));
    let counted = parts.first().map(|(_, scale, rounds)| Step::Figures((&["all"], scale, rounds), true));
    timed.chain(counted).chain([Step::Crashes, Step::Page]).collect()
}

/// Runs all steps. Figures that the folder has from the same commit and setting are not run again, and neither is the
/// table.
pub(crate) fn run(settings: &Artifact) -> Result<()> {
    let out = std::path::absolute(&settings.out)?;
    fs::create_dir_all(&out).with_context(|| format!("creating {}", out.display()))?;
    let crashes = out.join(format!("crashes-of-{}.txt", commit()?));
    let steps = steps(settings.scale);
    for (number, step) in steps.iter().enumerate() {
        println!("== step {} of {}: {}", number + 1, steps.len(), step.describe());
        match step {
            Step::Figures(part, reads) => figures("run", &arguments(part, &out, *reads))?,
            Step::Crashes if crashes.exists() => println!("it is there"),
            Step::Crashes => write_crashes(&crashes)?,
            Step::Page => {
                let paths = [("--out", &out), ("--crashes", &crashes)];
                let words = paths.iter().flat_map(|(name, path)| [(*name).to_owned(), path.display().to_string()]);
                figures("report", &words.collect::<Vec<_>>())?;
            }
        }
    }
    Ok(())
}

fn arguments((ids, scale, rounds): &Part, out: &Path, reads: bool) -> Vec<String> {
    let out = out.display().to_string();
    let options = ["--scale", *scale, "--rounds", *rounds, "--out", &out, "--resume"];
    let reads = reads.then_some("--reads");
    ids.iter().copied().chain(options).chain(reads).map(String::from).collect()
}

fn commit() -> Result<String> {
    let output =
        Command::new("git").current_dir(root()).args(["describe", "--always", "--dirty", "--abbrev=9"]).output();
    let output = output.context("git did not start")?;
    ensure!(output.status.success(), "git describe failed: {}", output.status);
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Writes the table of crashes, whole or not at all.
fn write_crashes(path: &Path) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let words = ["run", "--profile", "proof", "--package", "holm-proof", "--bin", "crash", "--"];
    let mut command = Command::new(cargo);
    command.current_dir(root()).args(words).args(["--table", "--json"]).stderr(Stdio::inherit());
    let output = command.output().context("cargo did not start")?;
    ensure!(output.status.success(), "the table of crashes failed: {}", output.status);
    let fresh = path.with_extension("new");
    fs::write(&fresh, output.stdout).and_then(|()| fs::rename(&fresh, path)).context("writing the table of crashes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_runs_all_families_and_ends_with_the_page() {
        for scale in [Scale::Smoke, Scale::Day, Scale::Paper] {
            let steps = steps(scale);
            assert!(matches!(steps[..], [.., Step::Crashes, Step::Page]), "{scale:?}");
            let timed = |step: &&Step| matches!(step, Step::Figures(_, false));
            let named: Vec<_> = steps.iter().filter(timed).map(Step::describe).collect();
            let all = named.join("\n");
            let families = ["SENT", "ISLE", "BD", "SS", "MB", "SYN"];
            assert!(all.contains("all") || families.iter().all(|family| all.contains(family)), "{scale:?}: {all}");
        }
    }

    #[test]
    fn a_part_goes_on_where_it_ended() {
        let words = arguments(&(&["SS"], "0.5", "5"), Path::new("/reef"), true).join(" ");
        assert_eq!(words, "SS --scale 0.5 --rounds 5 --out /reef --resume --reads");
    }
}
