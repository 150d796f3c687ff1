//! What both programs read from their command lines.

use super::Mode;
use super::ledger::THREADS;
use super::writer;
use clap::{Args, Subcommand};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Where, and which random choices.
#[derive(Args, Debug)]
pub struct Options {
    /// Where the generator starts: a failure's own seed repeats its choices, though not the moments.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The folder in which to work; that of temporary files otherwise.
    #[arg(long)]
    pub dir: Option<PathBuf>,
}

impl Options {
    /// Makes a folder for one run. It is left behind when a fault ends the run.
    ///
    /// # Errors
    /// In words, if it cannot be made.
    pub fn folder(&self, purpose: &str) -> Result<PathBuf, String> {
        let root = self.dir.clone().unwrap_or_else(std::env::temp_dir);
        let root = root.join(format!("holm-{purpose}-{}-{}", std::process::id(), self.seed));
        std::fs::create_dir(&root).map_err(|error| format!("{}: {error}", root.display()))?;
        Ok(root)
    }
}

/// What the program calls itself with, to be ended.
#[derive(Subcommand, Debug)]
pub enum Task {
    /// Opens a database and writes on, or only holds it.
    #[command(hide = true)]
    Write {
        /// The database.
        dir: PathBuf,
        /// The mode's name.
        mode: String,
        /// The next step of each thread; none: to hold.
        next: Vec<u64>,
    },
}

impl Task {
    /// The subcommand's name.
    pub const WRITE: &str = "write";

    /// Does what it says, until the process is ended or a call fails.
    ///
    /// # Errors
    /// In words.
    pub fn run(&self) -> Result<(), String> {
        let Task::Write { dir, mode, next } = self;
        let mode = Mode::named(mode).ok_or_else(|| format!("there is no mode {mode:?}"))?;
        let done = match next[..] {
            [] => writer::hold(Path::new(dir), mode),
            _ => {
                let next = <[u64; THREADS]>::try_from(&next[..]);
                let next = next.map_err(|_| format!("a child wants {THREADS} numbers or none"))?;
                writer::write(Path::new(dir), mode, next)
            }
        };
        done.map_err(|error| error.to_string())
    }
}

/// The end of a program: silent, or with words and 1.
pub fn end(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Where nobody reads, the code is all there is to say.
            let _ = writeln!(io::stderr(), "{why}");
            ExitCode::FAILURE
        }
    }
}
