//! The end of a command: an exit code, and for an error one line on standard error.
//!
//! A closed pipe is not an error: the reader has read enough. `output::whole` makes it one.
//!
//! Nothing here panics. `eprintln!` would panic if standard error is closed too.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Context;

/// The result of a command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Found, or done: exit code 0.
    Found,
    /// No such key or keyspace, or another value than `cas` expected: exit code 1.
    Absent,
    /// `check` or `scrub` found faults, or another command has shown or written what is left of a damaged database:
    /// exit code 2, as for errors.
    Faulty,
}

/// Returns the exit code of a command's result. Prints an error on standard error first.
pub(crate) fn code(done: anyhow::Result<Exit>) -> ExitCode {
    match done {
        Ok(Exit::Found) => ExitCode::SUCCESS,
        Ok(Exit::Absent) => ExitCode::from(1),
        Ok(Exit::Faulty) => ExitCode::from(2),
        Err(error) if reader_left(&error) => ExitCode::SUCCESS,
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    note(&chain(error));
    ExitCode::from(2)
}

/// Prints the help, the version, or what is wrong with the arguments, and returns the exit code.
pub(crate) fn of_arguments(answer: &clap::Error) -> ExitCode {
    let printed = answer.print().and_then(|()| io::stdout().flush()).context("writing the output");
    match printed {
        Err(error) if !reader_left(&error) => failed(&error),
        _ => ExitCode::from(if answer.use_stderr() { 2 } else { 0 }),
    }
}

/// Writes one line to standard error, whatever `text` holds. A failure to write is ignored, because there is no other
/// place to report it.
pub(crate) fn note(text: &str) {
    let line: String = text.chars().flat_map(printable).collect();
    let _ = writeln!(io::stderr(), "holm: {line}");
}

/// Returns whether the error comes from writing to a pipe that has no reader. This program itself uses `std::io` only
/// to write standard output, so the error kind cannot come from the database's files.
pub(crate) fn reader_left(error: &anyhow::Error) -> bool {
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe))
}

/// Returns the error and its sources, joined by colons. It omits a source whose text the parent already ends with.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// Escapes control characters, so that a name with a line feed neither breaks the line nor moves a terminal's cursor.
fn printable(character: char) -> impl Iterator<Item = char> {
    let escaped = character.is_control().then(|| character.escape_default());
    let plain = (!character.is_control()).then_some(character);
    escaped.into_iter().flatten().chain(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_told_once_each() {
        let missing = io::Error::new(io::ErrorKind::NotFound, "no such file");
        let error = Err::<(), _>(missing).context("opening x: no such file").context("loading").unwrap_err();
        assert_eq!(chain(&error), "loading: opening x: no such file");
    }

    #[test]
    fn a_closed_pipe_is_seen_under_its_contexts() {
        let left = io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(reader_left(&anyhow::Error::from(left).context("writing")));
        assert!(!reader_left(&anyhow::anyhow!("Broken pipe")));
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!("a\nb\u{1b}[2J".chars().flat_map(printable).collect::<String>(), "a\\nb\\u{1b}[2J");
    }
}
