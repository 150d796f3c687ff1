//! `mutants`: bugs that a program makes, and whether the tests find them.
//!
//! `mutants leaves` leaves out each store, flush and fence of the designs; `holm-proof` does it while they run.
//! `mutants store` changes the source of the store, the medium and the tree: see [`Operator`]. All of its mutants are
//! in one build, of a copy of the workspace: each is a choice at run time, by a number in the environment. Without
//! that, each mutant would take a build of its own. The trials are seeds of the simulation and the tests, one by one.
//! Each is run once to learn which mutants it reaches, and then mutants run under the trials that reach them.
//! `docs/mutants.md` has the results.

mod bug;
mod bugs_of_trees;
mod hunt;
mod names;
mod operator;
mod points;
mod process;
mod results;
mod rewrite;
mod scratch;
mod seeded;
mod trials;

use crate::{proofs, root};
use anyhow::{Context, Result};
use operator::Operator;
use points::Point;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use results::Results;
use scratch::Scratch;
use std::path::PathBuf;
use std::sync::Mutex;

/// The kinds of mutants.
#[derive(clap::Subcommand)]
pub(crate) enum Mutants {
    /// Leaves each store, flush and fence of the designs out in turn, under every trial, also those that a design
    /// declares as survivors; the tests use most trials and believe the declarations.
    Leaves,
    /// Changes the store, the medium and the tree: calls left out, comparisons, constants. One build has all mutants;
    /// each runs under the seeds of the simulation and the tests that reach it.
    Store(Settings),
}

/// Which mutants of the store run, and for how long.
#[derive(clap::Args)]
pub(crate) struct Settings {
    /// Only mutants of files whose paths contain this.
    #[arg(long)]
    file: Option<String>,
    /// Only mutants of these operators.
    #[arg(long, value_delimiter = ',')]
    operator: Vec<Operator>,
    /// Only the mutants with these numbers, which `--list` shows.
    #[arg(long, value_delimiter = ',')]
    number: Vec<u32>,
    /// Only this number of them, drawn.
    #[arg(long)]
    sample: Option<usize>,
    /// The seed of the drawing.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seconds of simulation, and of tests, for each mutant.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// The first seeds of the simulation: each is a trial.
    #[arg(long, default_value_t = 300)]
    seeds: u64,
    /// Trials that run at once.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Lists the mutants, and runs nothing.
    #[arg(long)]
    list: bool,
    /// Prints what is known already, and runs nothing.
    #[arg(long)]
    table: bool,
    /// Runs those again that were not caught before.
    #[arg(long)]
    again: bool,
}

/// A change of one place.
pub(crate) struct Mutant {
    /// Its number in the build.
    pub(crate) id: u32,
    /// What it is, whatever its number: file, operator, code, and which of several equal ones.
    pub(crate) key: String,
    /// From the root of the workspace.
    pub(crate) file: String,
    pub(crate) point: Point,
}

/// Runs the verb.
pub(crate) fn run(verb: &Mutants) -> Result<()> {
    match verb {
        Mutants::Leaves => proofs::mutants(),
        Mutants::Store(settings) => settings.run(),
    }
}

impl Settings {
    fn is_meant(&self, mutant: &Mutant) -> bool {
        let has_file = self.file.as_ref().is_none_or(|part| mutant.file.contains(part.as_str()));
        let has_operator = self.operator.is_empty() || self.operator.contains(&mutant.point.operator);
        has_file && has_operator && (self.number.is_empty() || self.number.contains(&mutant.id))
    }

    /// The mutants that the settings mean, in their order.
    fn meant<'a>(&self, scratch: &'a Scratch) -> Vec<&'a Mutant> {
        let mut meant: Vec<_> = scratch.mutants().filter(|mutant| self.is_meant(mutant)).collect();
        if let Some(sample) = self.sample {
            meant.shuffle(&mut Pcg64Mcg::seed_from_u64(self.seed));
            meant.truncate(sample);
            meant.sort_by_key(|mutant| mutant.id);
        }
        meant
    }

    fn run(&self) -> Result<()> {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
        let folder = std::path::absolute(target.join("mutants"))?;
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let mut scratch = Scratch::new(root(), &folder)?;
        let results = Results::open(&folder.join("results.jsonl"))?;
        if self.list {
            for mutant in self.meant(&scratch) {
                let Point { operator, line, before, after, .. } = &mutant.point;
                println!("{} {}:{line} {} `{before}` => `{after}`", mutant.id, mutant.file, operator.name());
            }
            return Ok(());
        }
        if !self.table {
            let trials = trials::trials(&mut scratch, &folder, self.seeds, self.jobs)?;
            let todo: Vec<_> =
                self.meant(&scratch).into_iter().filter(|mutant| self.is_owed(&results, mutant)).collect();
            println!("== {} mutants, {} trials", todo.len(), trials.len());
            self.hunt(&todo, &trials, &results, &folder)?;
        }
        Results::open(&folder.join("results.jsonl"))?.print(self.meant(&scratch).into_iter());
        Ok(())
    }

    /// Whether a mutant is to be run.
    fn is_owed(&self, results: &Results, mutant: &Mutant) -> bool {
        results.fate(mutant).is_none_or(|fate| self.again && fate != "caught")
    }

    fn hunt(
        &self,
        todo: &[&Mutant],
        trials: &[trials::Trial],
        results: &Results,
        folder: &std::path::Path,
    ) -> Result<()> {
        let next = Mutex::new(todo.iter());
        let take = || next.lock().expect("no job has panicked").next().copied();
        let work = |job: usize| -> Result<()> {
            let temporary = folder.join(format!("temporary-{job}"));
            while let Some(mutant) = take() {
                results.add(mutant, &hunt::fate(mutant, trials, self.seconds, &temporary)?)?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let jobs: Vec<_> = (0..self.jobs).map(|job| scope.spawn(move || work(job))).collect();
            jobs.into_iter().try_for_each(|job| job.join().expect("no job panics"))
        })
    }
}
