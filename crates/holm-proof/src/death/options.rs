//! The command-line options that both programs share.

use super::Mode;
use super::ledger::THREADS;
use super::{transactions, writer};
use clap::{Args, Subcommand};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// The folder, and the random choices.
#[derive(Args, Debug)]
pub struct Options {
    /// The start of the generator: a failure's seed repeats its choices, though not the exact moments.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The folder in which to work; by default, that of temporary files.
    #[arg(long)]
    pub dir: Option<PathBuf>,
}

impl Options {
    /// Makes a folder for one run. It remains if a fault ends the run.
    ///
    /// # Errors
    /// A description, if it cannot be made.
    pub fn folder(&self, purpose: &str) -> Result<PathBuf, String> {
        let root = self.dir.clone().unwrap_or_else(std::env::temp_dir);
        let root = root.join(format!("holm-{purpose}-{}-{}", std::process::id(), self.seed));
        std::fs::create_dir(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        Ok(root)
    }
}

/// The task with which the program starts itself as a child.
#[derive(Subcommand, Debug)]
pub enum Task {
    /// Opens a database and continues to write, or only holds it open.
    #[command(hide = true)]
    Write {
        /// The database's folder.
        dir: PathBuf,
        /// The mode's name.
        mode: String,
        /// The next step of each thread; none to hold the database open.
        next: Vec<u64>,
    },
    /// Opens a database and runs transactions over lists.
    #[command(hide = true)]
    Transact {
        /// The database's folder.
        dir: PathBuf,
        /// The mode's name.
        mode: String,
        /// The number of the set of lists.
        set: u64,
    },
}

impl Task {
    /// The subcommand's name.
    pub const WRITE: &str = "write";

    /// The name of the other subcommand.
    pub const TRANSACT: &str = "transact";

    /// Executes the task until the process is ended or a call fails.
    ///
    /// # Errors
    /// A description.
    pub fn run(&self) -> Result<(), String> {
        let (Task::Write { dir, mode, .. } | Task::Transact { dir, mode, .. }) = self;
        let mode = Mode::named(mode).ok_or_else(|| format!("there is no mode {mode:?}"))?;
        let done = match self {
            Task::Transact { set, .. } => transactions::transact(dir, mode, *set),
            Task::Write { next, .. } if next.is_empty() => writer::hold(dir, mode),
            Task::Write { next, .. } => {
                let next = <[u64; THREADS]>::try_from(&next[..]);
                let next = next.map_err(|_| format!("a child wants {THREADS} numbers or none"))?;
                writer::write(dir, mode, next)
            }
        };
        done.map_err(|error| error.to_string())
    }
}

/// The exit of a program: silent, or with a message and code 1.
pub fn end(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // If nothing reads the message, the exit code is enough.
            let _ = writeln!(io::stderr(), "{why}");
            ExitCode::FAILURE
        }
    }
}
