//! The process's limit on the size of files (`RLIMIT_FSIZE`, `ulimit -f`).
//!
//! The kernel sends `SIGXFSZ` to a process that writes beyond it, which ends the process unless it ignores the signal.
//! An embedded engine changes no signal's disposition and ends no process for want of space. So the limit is asked
//! before a file grows, and answered as an error.

#![forbid(unsafe_code)]

use rustix::process::{Resource, getrlimit};
use std::io;

/// Checks that a file may have bytes up to `end`. One system call.
///
/// # Errors
/// `FileTooLarge`, as the kernel answers a process that ignores the signal.
pub(crate) fn expect_allowed_size(end: u64) -> io::Result<()> {
    match getrlimit(Resource::Fsize).current {
        Some(limit) if end > limit => Err(io::ErrorKind::FileTooLarge.into()),
        _ => Ok(()),
    }
}
