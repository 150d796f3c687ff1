//! The trials that mutants must survive: seeds of the simulation, and tests. Each runs once without a mutant, and notes
//! how long it takes and which mutants it reaches. No other trial can catch a mutant.

use super::process::{Ended, run};
use super::scratch::{Built, Scratch};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant, UNIX_EPOCH};

/// The programs of one build, whose tests are trials.
struct Suite {
    /// For cargo.
    words: &'static [&'static str],
    /// Whether a scheduler runs the threads.
    shuttle: bool,
}

/// The simulation.
const SIMULATION: &[&str] = &["build", "--profile", "proof", "--package", "holm-proof", "--bin", "simulate"];

/// The programs of tests: of the crates themselves first.
const SUITES: &[Suite] = &[
    Suite {
        words: &["test", "--no-run", "--package", "holm-medium", "--package", "holm-tree", "--package", "holm"],
        shuttle: false,
    },
    Suite {
        words: &[
            "test",
            "--no-run",
            "--package",
            "holm-proof",
            "--test",
            "disk",
            "--test",
            "store",
            "--test",
            "linear",
            "--test",
            "isolation",
            "--test",
            "model",
            "--test",
            "damage",
            "--test",
            "explorer",
        ],
        shuttle: false,
    },
    Suite {
        words: &["test", "--no-run", "--package", "holm-medium", "--package", "holm-tree", "--test", "schedules"],
        shuttle: true,
    },
];

/// What the builds have in common: one design, and no word about the code that mutants make.
const FLAGS: &str = "--cap-lints allow";
const SHUTTLE: &str = "--cap-lints allow --cfg shuttle";

/// A trial that takes longer than this without a mutant is none.
const LONGEST: Duration = Duration::from_secs(20);

/// A program with arguments that fails if something is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) name: String,
    /// Whether it is a seed of the simulation.
    pub(crate) is_seed: bool,
    program: PathBuf,
    arguments: Vec<String>,
    current: PathBuf,
    /// How long it takes without a mutant.
    pub(crate) takes: Duration,
    /// The mutants that it reaches.
    pub(crate) reaches: BTreeSet<u32>,
}

impl Trial {
    /// Runs it with a mutant.
    pub(crate) fn with(&self, id: u32, temporary: &Path) -> Result<Ended> {
        let limit = Duration::from_secs(20) + self.takes * 10;
        self.run(&[("HOLM_MUTANT", id.to_string())], temporary, limit)
    }

    /// Runs it without a mutant, and notes what it reaches. False if it fails.
    fn measure(&mut self, temporary: &Path) -> Result<bool> {
        let notes = temporary.with_extension("reached");
        let _ = fs::remove_file(&notes);
        let started = Instant::now();
        let variables = [("HOLM_MUTANTS_REACHED", notes.display().to_string())];
        let ended = self.run(&variables, temporary, LONGEST)?;
        self.takes = started.elapsed();
        let reached = fs::read_to_string(&notes).unwrap_or_default();
        self.reaches = reached.lines().filter_map(|line| line.parse().ok()).collect();
        if ended != Ended::Well {
            println!("   left out, it takes long or fails without a mutant: {}: {ended:?}", self.name);
        }
        Ok(ended == Ended::Well)
    }

    fn run(&self, variables: &[(&str, String)], temporary: &Path, limit: Duration) -> Result<Ended> {
        run((&self.program, &self.arguments), &self.current, variables, temporary, limit)
    }
}

/// Builds everything, and returns all trials, measured. What was measured with the same mutants is read from `folder`.
pub(crate) fn trials(scratch: &mut Scratch, folder: &Path, seeds: u64, jobs: usize) -> Result<Vec<Trial>> {
    let mut all = build(scratch, folder, seeds)?;
    let keys: Vec<_> = scratch.mutants().map(|mutant| mutant.key.as_str()).collect();
    let print = format!("{:016x}", fingerprint(&keys.join("\n")));
    let path = folder.join("reached.jsonl");
    let known = fs::read_to_string(&path).unwrap_or_default();
    let known: BTreeMap<String, Value> = known
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| Some((line["trial"].as_str()?.to_owned(), line.clone())))
        .collect();
    let out = Mutex::new(File::options().create(true).append(true).open(&path)?);
    let measured = each(&mut all, jobs, |trial, job| {
        // A program that was built again has other tests, even if its mutants are the same.
        let built = fs::metadata(&trial.program)?.modified()?.duration_since(UNIX_EPOCH)?.as_millis();
        let print = format!("{print} {built}");
        if let Some(line) = known.get(&trial.name).filter(|line| line["of"] == print.as_str()) {
            trial.takes = Duration::from_millis(line["millis"].as_u64().unwrap_or(0));
            let ids = line["reaches"].as_array().into_iter().flatten();
            trial.reaches = ids.filter_map(|id| id.as_u64().map(|id| id as u32)).collect();
            return Ok(line["well"] == true);
        }
        let well = trial.measure(&folder.join(format!("temporary-{job}")))?;
        let (millis, reaches) = (trial.takes.as_millis() as u64, &trial.reaches);
        let line = json!({"of": print, "trial": trial.name, "well": well, "millis": millis, "reaches": reaches});
        writeln!(out.lock().expect("no job has panicked"), "{line}")?;
        Ok(well)
    })?;
    let well = all.into_iter().zip(measured).filter_map(|(trial, well)| well.then_some(trial));
    Ok(well.collect())
}

/// Calls `work` with each trial, on several threads, and returns the answers in order.
fn each(all: &mut [Trial], jobs: usize, work: impl Fn(&mut Trial, usize) -> Result<bool> + Sync) -> Result<Vec<bool>> {
    let (next, total) = (AtomicUsize::new(0), all.len());
    let cells: Vec<_> = all.iter_mut().map(|trial| Mutex::new((trial, Ok(false)))).collect();
    std::thread::scope(|scope| {
        for job in 0..jobs {
            let (next, cells, work) = (&next, &cells, &work);
            scope.spawn(move || {
                loop {
                    let at = next.fetch_add(1, SeqCst);
                    let Some(cell) = cells.get(at) else { return };
                    let (trial, answer) = &mut *cell.lock().expect("no job has panicked");
                    *answer = work(trial, job);
                    if at % 100 == 99 {
                        println!("   {} of {total} trials measured", at + 1);
                    }
                }
            });
        }
    });
    cells.into_iter().map(|cell| cell.into_inner().expect("no job has panicked").1).collect()
}

/// FNV: what was measured belongs to one numbering of mutants.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}

/// Builds the simulation and the tests: all of them, until no mutant is dropped any more.
fn build(scratch: &mut Scratch, folder: &Path, seeds: u64) -> Result<Vec<Trial>> {
    let targets = [false, true].map(|shuttle| folder.join(if shuttle { "shuttle" } else { "plain" }));
    let targets = targets.map(|target| target.display().to_string());
    loop {
        let before = scratch.mutants().count();
        let variables = |shuttle: bool| {
            [
                ("CARGO_TARGET_DIR", targets[usize::from(shuttle)].as_str()),
                ("RUSTFLAGS", if shuttle { SHUTTLE } else { FLAGS }),
                ("HOLM_DESIGN", "buffered"),
                ("CARGO_INCREMENTAL", "0"),
                ("CARGO_PROFILE_PROOF_OPT_LEVEL", "2"),
                ("CARGO_PROFILE_PROOF_DEBUG", "none"),
            ]
        };
        let simulation = scratch.build(SIMULATION, &variables(true), folder)?;
        let simulation = simulation.into_iter().find(|built| built.name == "simulate").context("no simulation")?;
        let mut all: Vec<_> = (1..=seeds).map(|seed| of_seed(&simulation, scratch, seed)).collect();
        for suite in SUITES {
            let built = scratch.build(suite.words, &variables(suite.shuttle), folder)?;
            for program in built.iter().filter(|program| program.path.display().to_string().contains("/deps/")) {
                all.extend(tests(program, scratch, suite)?);
            }
        }
        if scratch.mutants().count() == before {
            return Ok(all);
        }
    }
}

fn of_seed(simulation: &Built, scratch: &Scratch, seed: u64) -> Trial {
    let seed = seed.to_string();
    let words = ["--first", &seed, "--count", "1", "--threads", "1", "--failures", "1", "--no-shrink"];
    Trial {
        name: format!("simulate {seed}"),
        is_seed: true,
        program: simulation.path.clone(),
        arguments: words.map(str::to_owned).to_vec(),
        current: scratch.package("holm-proof"),
        takes: Duration::ZERO,
        reaches: BTreeSet::new(),
    }
}

/// The tests of a program.
fn tests(program: &Built, scratch: &Scratch, suite: &Suite) -> Result<Vec<Trial>> {
    let current = scratch.package(&program.package);
    let mut command = std::process::Command::new(&program.path);
    let listed = command.args(["--list", "--format", "terse"]).current_dir(&current).output()?;
    if !listed.status.success() {
        bail!("{} does not list its tests", program.path.display());
    }
    let listed = String::from_utf8_lossy(&listed.stdout);
    let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
    let kind = if suite.shuttle { " under the scheduler" } else { "" };
    let trial = |name: &str| Trial {
        name: format!("{} {}{kind}: {name}", program.package, program.name),
        is_seed: false,
        program: program.path.clone(),
        arguments: ["--exact", name, "--test-threads", "1"].map(str::to_owned).to_vec(),
        current: current.clone(),
        takes: Duration::ZERO,
        reaches: BTreeSet::new(),
    };
    Ok(names.map(trial).collect())
}
