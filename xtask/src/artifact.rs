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

/// Figures of one scale, which run in one call for each of the two builds.
#[derive(Clone, Copy)]
struct Part {
    timed: &'static [&'static str],
    /// Not every family has figures that count reads, and the name of one without them is refused.
    counted: &'static [&'static str],
    scale: &'static str,
    rounds: &'static str,
}

const ALL: Part = Part { timed: &["all"], counted: &["all"], scale: "0.0001", rounds: "1" };

/// Two scales, because the figures about subnodes take as long as all others together at the papers' own.
const PAPERS: &[Part] = &[
    Part { timed: &["SENT", "ISLE", "BD", "MB", "SYN"], counted: &["SENT", "ISLE", "SYN"], scale: "1", rounds: "5" },
    Part { timed: &["SS"], counted: &["SS"], scale: "0.5", rounds: "5" },
];

impl Scale {
    fn parts(self) -> &'static [Part] {
        match self {
            Scale::Smoke => &[ALL],
            Scale::Day => &[Part { scale: "0.2", rounds: "5", ..ALL }],
            Scale::Paper => PAPERS,
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
            Step::Figures(part, reads) => {
                let what = if *reads { "figures that count reads" } else { "figures" };
                let (ids, Part { scale, rounds, .. }) = (part.ids(*reads).join(", "), part);
                format!("{what} of {ids}, at {scale} of the papers' numbers, {rounds} rounds")
            }
            Step::Crashes => "the table of crashes".into(),
            Step::Page => "the page".into(),
        }
    }
}

impl Part {
    fn ids(&self, reads: bool) -> &'static [&'static str] {
        if reads { self.counted } else { self.timed }
    }
}

/// Returns all steps, in their order.
fn steps(scale: Scale) -> Vec<Step> {
    let of = |reads| scale.parts().iter().map(move |part| Step::Figures(*part, reads));
    let (timed, counted) = (of(false), of(true));
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
                let samples = out.join("samples.csv");
                let paths = [("--out", &out), ("--crashes", &crashes), ("--csv", &samples)];
                let words = paths.iter().flat_map(|(name, path)| [(*name).to_owned(), path.display().to_string()]);
                figures("report", &words.collect::<Vec<_>>())?;
            }
        }
    }
    Ok(())
}

fn arguments(part: &Part, out: &Path, reads: bool) -> Vec<String> {
    let out = out.display().to_string();
    let options = ["--scale", part.scale, "--rounds", part.rounds, "--out", &out, "--resume"];
    let flag = reads.then_some("--reads");
    part.ids(reads).iter().copied().chain(options).chain(flag).map(String::from).collect()
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

    /// Figures that count reads ran at the scale of the first part alone: SSTree's at 1, where the page says 0.5.
    #[test]
    fn a_family_has_one_scale_in_both_builds() {
        let described = |reads: bool| {
            let steps = steps(Scale::Paper).into_iter();
            let of = steps.filter_map(move |step| match step {
                Step::Figures(part, other) if other == reads => Some(part),
                _ => None,
            });
            let named = of.flat_map(move |part| part.ids(reads).iter().map(move |id| (*id, part.scale)));
            named.collect::<Vec<_>>()
        };
        let (timed, counted) = (described(false), described(true));
        assert!(counted.contains(&("SS", "0.5")) && counted.contains(&("SENT", "1")), "{counted:?}");
        assert!(counted.iter().all(|family| timed.contains(family)), "{timed:?}, {counted:?}");
    }

    #[test]
    fn a_part_goes_on_where_it_ended() {
        let words = |reads| arguments(&PAPERS[1], Path::new("/reef"), reads).join(" ");
        assert_eq!(words(true), "SS --scale 0.5 --rounds 5 --out /reef --resume --reads");
        assert_eq!(words(false), "SS --scale 0.5 --rounds 5 --out /reef --resume");
    }
}
