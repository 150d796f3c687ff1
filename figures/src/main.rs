//! Reproduces the figures of the papers: lists them, runs them, and writes a page of the results.
//!
//! Every figure is data. A study states what is measured, for which series, at which points. Its figures are views of
//! the study, each with the paper's claims. The code that runs a study, judges a claim and draws a figure is shared. A
//! new family is a file in `families/` and a line in `catalog.rs`.

#![forbid(unsafe_code)]

mod axes;
mod catalog;
mod claim;
mod families;
mod judge;
mod measured_tree;
mod order;
mod outcome;
mod plot;
mod read_model;
mod reads;
mod recorded;
mod report;
mod results;
mod rivals;
mod rounds;
mod run_facts;
mod samples;
mod sequence;
mod setting;
mod strings;
mod study;
mod threads;
mod traces;

use anyhow::Result;
use catalog::Given;
use clap::{Args, Parser};
use recorded::Recorded;
use std::path::PathBuf;
use std::sync::Arc;

/// Requests of a recorded trace, at scale 1.
const REQUESTS: u64 = 10_000_000;

/// Reproduces the figures of the papers.
#[derive(Parser)]
#[command(name = "figures", arg_required_else_help = true)]
enum Verb {
    /// Runs figures, or lists them.
    Run(Run),
    /// Writes a page of all results.
    Report {
        /// The folder with the results; the page is written there, too
        #[arg(long, default_value = "target/figures")]
        out: PathBuf,
        /// The output of `cargo xtask crash --table --json`, to include in the page; kept beside it for later pages
        #[arg(long)]
        crashes: Option<PathBuf>,
        /// Also writes every sample to this file, as comma-separated values with the names of the columns first
        #[arg(long)]
        csv: Option<PathBuf>,
    },
}

#[derive(Args)]
struct Run {
    /// Names of figures or prefixes of names, such as `SENT-F4a` or `ISLE`; `all` runs all that can run
    ids: Vec<String>,
    /// Prints figures with their states, all if none is named, and runs none
    #[arg(long)]
    list: bool,
    /// Factor for the paper's numbers of keys and operations
    #[arg(long, default_value_t = 0.1)]
    scale: f64,
    /// The maximum number of threads [default: as many as the machine has]
    #[arg(long)]
    threads: Option<usize>,
    /// Measured rounds, after one warm-up round
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Determines in which order each round measures its cells [default: another one for each run, which is printed]
    #[arg(long)]
    seed: Option<u64>,
    /// A recorded trace of a cache, in the public format of Twitter's traces, for the figures that use it; `-` reads
    /// standard input
    #[arg(long)]
    trace: Option<PathBuf>,
    /// The folder for the results, one file per figure
    #[arg(long, default_value = "target/figures")]
    out: PathBuf,
    /// Leaves out the figures that the folder has from a run of the same commit, scale, threads and rounds
    #[arg(long)]
    resume: bool,
}

fn main() -> Result<()> {
    match Verb::parse() {
        Verb::Run(run) if run.list || run.ids.is_empty() => {
            print!("{}", catalog::listed(&run.ids)?);
            Ok(())
        }
        Verb::Run(run) => {
            let given = Given { reads: reads::SEES, times: !reads::SEES, trace: run.trace.is_some() };
            let mut studies = catalog::chosen(&run.ids, given)?;
            let seed = run.seed.unwrap_or_else(sequence::fresh_seed);
            let mut setting = setting::Setting::new(run.scale, run.threads, run.rounds)?.with_seed(seed);
            let recorded = run.trace.map(|path| Recorded::read(&path, setting.count(REQUESTS)));
            setting.trace = recorded.transpose()?.map(Arc::new);
            let facts = run_facts::gather();
            if run.resume {
                results::without_those_in(&run.out, &mut studies, &setting, &facts)?;
            }
            rounds::run(&studies, &setting, &run.out, &facts)
        }
        Verb::Report { out, crashes, csv } => {
            let outcomes = report::write(&out, crashes.as_deref())?;
            csv.map_or(Ok(()), |path| samples::write(&path, &outcomes))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_well_formed() {
        use clap::CommandFactory;
        Verb::command().debug_assert();
    }
}
