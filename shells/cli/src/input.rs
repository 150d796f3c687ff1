//! Standard input, with an error if there is none.
//!
//! A program that starts with its standard input closed cannot see that: the runtime opens `/dev/null` in its place,
//! which reads as empty. An input that is not open for reading reads as empty as well. An empty value that overwrites a
//! good one looks like an intended one, so all three cases are errors here. An empty file or pipe is no error.
//!
//! A load may wait for its input for long, and then ends at ^C.

use std::io::{self, IsTerminal, Read, StdinLock};
use std::os::fd::AsFd;

use anyhow::{Context, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fstat, stat};
use rustix::io::Errno;

use crate::exit::note;
use crate::interrupt::Interrupt;

/// The longest time until ^C is seen.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Returns standard input, and prints a note if it is a terminal. `instead` tells the user what to do if there is no
/// input.
pub(crate) fn standard(what: &str, instead: &str) -> anyhow::Result<StdinLock<'static>> {
    let stdin = io::stdin();
    let access = fcntl_getfl(&stdin).context("reading standard input")? & OFlags::ACCMODE;
    if access == OFlags::WRONLY {
        bail!("cannot read {what}: standard input is not open for reading; {instead}");
    }
    if is_null(&stdin).context("reading standard input")? {
        bail!("cannot read {what}: standard input is closed or /dev/null; {instead}");
    }
    if stdin.is_terminal() {
        note(&format!("reading {what} from the terminal; end with Ctrl-D on a line of its own"));
    }
    Ok(stdin.lock())
}

/// Returns whether a file is `/dev/null`, which the runtime also opens in place of a standard one that is closed.
pub(crate) fn is_null(file: impl AsFd) -> io::Result<bool> {
    let about = fstat(file)?;
    Ok(stat("/dev/null").is_ok_and(|null| null.st_rdev == about.st_rdev && null.st_mode == about.st_mode))
}

/// An input that may have nothing to give for long: ^C ends the wait. What it reads is in no buffer of its own.
pub(crate) struct Interruptible<R> {
    input: R,
    interrupt: Interrupt,
}

impl<R: Read + AsFd> Interruptible<R> {
    pub(crate) fn new(input: R, interrupt: Interrupt) -> Self {
        Interruptible { input, interrupt }
    }
}

impl<R: Read + AsFd> Read for Interruptible<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.interrupt.is_there() {
            match poll(&mut [PollFd::new(&self.input, PollFlags::IN)], Some(&PATIENCE)) {
                Ok(0) | Err(Errno::INTR) => {}
                // The read itself says what is wrong with an input that cannot be polled.
                Ok(_) | Err(_) => return self.input.read(buffer),
            }
        }
        Err(io::Error::other("interrupted"))
    }
}
