//! Standard input, with an error if there is none.
//!
//! A program that starts with its standard input closed cannot see that: the runtime opens `/dev/null` in its place,
//! which reads as empty. An input that is not open for reading reads as empty as well. An empty value that overwrites a
//! good one looks like an intended one, so all three cases are errors here. An empty file or pipe is no error.

use std::io::{self, IsTerminal, StdinLock};

use anyhow::{Context, bail};
use rustix::fs::{OFlags, fcntl_getfl, fstat, stat};

use crate::exit::note;

/// Returns standard input, and prints a note if it is a terminal. `instead` tells the user what to do if there is no
/// input.
pub(crate) fn standard(what: &str, instead: &str) -> anyhow::Result<StdinLock<'static>> {
    let stdin = io::stdin();
    let access = fcntl_getfl(&stdin).context("reading standard input")? & OFlags::ACCMODE;
    if access == OFlags::WRONLY {
        bail!("cannot read {what}: standard input is not open for reading; {instead}");
    }
    let about = fstat(&stdin).context("reading standard input")?;
    if stat("/dev/null").is_ok_and(|null| null.st_rdev == about.st_rdev && null.st_mode == about.st_mode) {
        bail!("cannot read {what}: standard input is closed or /dev/null; {instead}");
    }
    if stdin.is_terminal() {
        note(&format!("reading {what} from the terminal; end with Ctrl-D on a line of its own"));
    }
    Ok(stdin.lock())
}
