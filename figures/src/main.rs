//! The figures of the papers, run again here: which there are, running them, and a page of what came out.
//!
//! Every figure is data: a study says what is measured of which series at which places, and its figures are views of
//! that, each with what the paper claims. How a study is run, what becomes of a claim, and how it is drawn and told is
//! said once for all. A new family is a file in `families/` and a line in `catalog.rs`.

#![forbid(unsafe_code)]

mod catalog;
mod claim;
mod families;
mod garden;
mod grove;
mod outcome;
mod plot;
mod reads;
mod recorded;
mod report;
mod rounds;
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

/// The figures of the papers.
#[derive(Parser)]
#[command(name = "figures", arg_required_else_help = true)]
enum Verb {
    /// Runs figures, or lists them.
    Run(Run),
    /// Makes a page of all that has been run.
    Report {
        /// The folder with what was run; the page is written there, too
        #[arg(long, default_value = "target/figures")]
        out: PathBuf,
        /// What `cargo xtask crash --table --json` printed, to be part of the page
        #[arg(long)]
        crashes: Option<PathBuf>,
    },
}

#[derive(Args)]
struct Run {
    /// Their names or the beginnings of them, such as `SENT-F4a` or `ISLE`; `all` runs all that can be run
    ids: Vec<String>,
    /// Prints figures with their states, all where none is named, and runs none
    #[arg(long)]
    list: bool,
    /// Of the paper's numbers of keys and operations, this part
    #[arg(long, default_value_t = 0.1)]
    scale: f64,
    /// The most threads [default: as many as the machine has]
    #[arg(long)]
    threads: Option<usize>,
    /// Rounds that count, after one that warms up
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// A recorded trace of a cache, in the public format of Twitter's, for the figures of it; `-` reads standard input
    #[arg(long)]
    trace: Option<PathBuf>,
    /// Where a file for each figure is put
    #[arg(long, default_value = "target/figures")]
    out: PathBuf,
}

fn main() -> Result<()> {
    match Verb::parse() {
        Verb::Run(run) if run.list || run.ids.is_empty() => {
            print!("{}", catalog::listed(&run.ids)?);
            Ok(())
        }
        Verb::Run(run) => {
            let given = Given { reads: reads::SEES, times: !reads::SEES, trace: run.trace.is_some() };
            let studies = catalog::chosen(&run.ids, given)?;
            let mut setting = setting::Setting::new(run.scale, run.threads, run.rounds)?;
            let recorded = run.trace.map(|path| Recorded::read(&path, setting.count(REQUESTS)));
            setting.trace = recorded.transpose()?.map(Arc::new);
            rounds::run(&studies, &setting, &run.out)
        }
        Verb::Report { out, crashes } => report::write(&out, crashes.as_deref()),
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
