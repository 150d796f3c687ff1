//! The errors of this crate.
//!
//! One enum for the whole crate. Each variant says where the error occurred, what was found and what was expected, so
//! that an operator can act on the message alone. Errors are cheap to clone: a failed medium returns the same error to
//! each thread that asks afterwards. The caller decides what to do about an error (stop, free space, recover).

#![forbid(unsafe_code)]

use crate::epoch::Epoch;
use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The result of any operation of a medium.
pub type Result<T> = std::result::Result<T, MediumError>;

/// An error of a medium.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MediumError {
    /// The operating system refused a call.
    Io {
        /// What was being done, as a participle: `"writing a log record"`.
        doing: &'static str,
        /// The file or directory concerned.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// The file system, or a quota on it, is full, or the file has reached the process's limit on the size of files.
    /// Nothing that was acknowledged is lost.
    NoSpace {
        /// What was being done.
        doing: &'static str,
        /// The file that could not grow.
        path: PathBuf,
    },
    /// An area has reached the capacity that the database was opened with. Opening it with a larger one resolves this.
    Capacity {
        /// The file that may not grow.
        path: PathBuf,
        /// Bytes that it would have needed.
        found: u64,
        /// The most bytes that it may have.
        limit: u64,
    },
    /// Another process, or another handle in this one, has the database open.
    Locked {
        /// The file that carries the lock.
        path: PathBuf,
        /// The process that holds the lock, where the system reports it.
        holder: Option<u32>,
    },
    /// The file does not belong to Holm.
    Foreign {
        /// The file.
        path: PathBuf,
        /// Its first bytes, in readable form.
        found: String,
        /// The bytes that a file of Holm begins with.
        expected: String,
    },
    /// The file was written in a format that this version cannot read.
    Version {
        /// The version in the file.
        found: u32,
        /// The version that this program reads and writes.
        supported: u32,
    },
    /// Bytes at rest are not what was written.
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// Where the damage is, in bytes from the file's beginning.
        offset: u64,
        /// What lies there.
        what: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// The file is sound but has another shape of database than the requested one.
    Geometry {
        /// Which property differs.
        what: &'static str,
        /// Its value in the file.
        found: String,
        /// Its requested value.
        expected: String,
    },
    /// A write to something that may only be read.
    ReadOnly {
        /// The file or directory.
        path: PathBuf,
    },
    /// An earlier failure left files and memory in doubt; only opening the database again clears this.
    Poisoned {
        /// The earlier failure.
        why: String,
    },
    /// The platform or the file system cannot do this.
    Unsupported {
        /// What cannot be done.
        what: &'static str,
    },
    /// The database was not closed cleanly, and a read-only open must not repair it.
    NotClean {
        /// The database.
        path: PathBuf,
    },
    /// Something exceeds a limit.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        found: u64,
        /// The largest size allowed.
        limit: u64,
    },
    /// The epoch log cannot take a record before a checkpoint releases a segment. The log itself is unharmed.
    LogFull {
        /// The segment that has no room.
        path: PathBuf,
        /// Bytes that the record needs.
        needed: u64,
        /// Bytes that are left under the stated maximum; 0 if the other segment may not be overwritten yet.
        left: u64,
    },
    /// No epoch is left to label a write with. Everything acknowledged is durable and can be read.
    OutOfEpochs {
        /// The last epoch.
        last: Epoch,
    },
    /// An epoch did not become durable in the time that its waiter allowed. It may still become durable.
    Late {
        /// The epoch.
        epoch: Epoch,
        /// How long the wait took.
        waited: Duration,
        /// What the end of the epoch itself waits for.
        why: String,
    },
    /// A thread that durability depends on has panicked.
    Died {
        /// The thread.
        thread: &'static str,
        /// The message of its panic.
        why: String,
    },
}

/// Whether there is no room: on the disk, in the quota, or below a limit on the size of files.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

impl MediumError {
    /// Wraps an error of the operating system: a full disk or quota, or the end of the allowed size of files,
    /// becomes [`MediumError::NoSpace`]. A path through something that is no folder becomes [`MediumError::Foreign`].
    pub fn io(doing: &'static str, path: &Path, source: io::Error) -> MediumError {
        match source.kind() {
            _ if is_full(&source) => MediumError::NoSpace { doing, path: path.to_path_buf() },
            io::ErrorKind::NotADirectory => MediumError::Foreign {
                path: path.to_path_buf(),
                found: "a file on the way there".into(),
                expected: "folders alone".into(),
            },
            _ => MediumError::Io { doing, path: path.to_path_buf(), source: Arc::new(source) },
        }
    }

    /// Like [`MediumError::io`], for an attempt to open or create something for writing. A refusal of permission, or a
    /// file system mounted read-only, becomes [`MediumError::ReadOnly`].
    pub fn opening_to_write(doing: &'static str, path: &Path, source: io::Error) -> MediumError {
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                MediumError::ReadOnly { path: path.to_path_buf() }
            }
            _ => MediumError::io(doing, path, source),
        }
    }

    /// Wraps an error of opening a file; for writing, as [`MediumError::opening_to_write`].
    pub fn opening(path: &Path, to_write: bool, source: io::Error) -> MediumError {
        match to_write {
            true => MediumError::opening_to_write("opening", path, source),
            false => MediumError::io("opening", path, source),
        }
    }

    /// Completes the path of a damaged file that is named without its folder, as by code that knows areas alone.
    pub fn within(mut self, folder: Option<&Path>) -> MediumError {
        if let (MediumError::Corrupt { path, .. }, Some(folder)) = (&mut self, folder)
            && path.parent() == Some(Path::new(""))
        {
            *path = folder.join(&path);
        }
        self
    }

    /// The error for a thread that panicked.
    pub fn died(thread: &'static str, panic: &(dyn Any + Send)) -> MediumError {
        let words = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        MediumError::Died { thread, why: words.unwrap_or("a panic without words").into() }
    }

    /// Whether the cause is a lack of space, so that the same call may succeed once there is some.
    pub fn is_no_space(&self) -> bool {
        matches!(self, MediumError::NoSpace { .. })
    }

    /// Whether a checkpoint resolves the error.
    pub fn is_log_full(&self) -> bool {
        matches!(self, MediumError::LogFull { .. })
    }
}

impl fmt::Display for MediumError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MediumError::Io { doing, path, source } => write!(f, "{doing} {}: {source}", path.display()),
            MediumError::NoSpace { doing, path } => {
                write!(f, "no space left (disk, quota, limit on file sizes) while {doing} {}", path.display())
            }
            MediumError::Capacity { path, found, limit } => {
                let path = path.display();
                write!(f, "{path} would need {found} bytes, and the database was opened with a capacity of {limit}")
            }
            MediumError::Locked { path, holder } => locked(f, path, *holder),
            MediumError::Foreign { path, found, expected } => {
                write!(f, "{} is not one of Holm's: found {found}, expected {expected}", path.display())
            }
            MediumError::Version { found, supported } => {
                write!(f, "the files are of format version {found}, this program supports version {supported}")
            }
            MediumError::Corrupt { path, offset, what, found, expected } => {
                write!(f, "{} is damaged at byte {offset}: {what}: found {found}, expected {expected}", path.display())
            }
            MediumError::Geometry { what, found, expected } => {
                write!(f, "the database has another {what}: found {found}, expected {expected}")
            }
            MediumError::ReadOnly { path } => write!(f, "{} may only be read", path.display()),
            MediumError::Poisoned { why } => {
                write!(f, "stopped after an earlier failure ({why}); open the database anew to recover")
            }
            MediumError::Unsupported { what } => write!(f, "not supported here: {what}"),
            MediumError::NotClean { path } => {
                write!(f, "{} was not closed cleanly; open it for writing once to recover it", path.display())
            }
            MediumError::TooLarge { what, found, limit } => write!(f, "{what} of {found} exceeds the limit of {limit}"),
            MediumError::LogFull { path, needed, left } => {
                write!(f, "{} has {left} bytes left for a record of {needed}; a checkpoint is needed", path.display())
            }
            MediumError::OutOfEpochs { last } => {
                write!(f, "epoch {last} was the last that a label can name: what is there can be read and copied")
            }
            MediumError::Late { epoch, waited, why } => {
                write!(f, "epoch {epoch} is not durable after {waited:?}: {why}")
            }
            MediumError::Died { thread, why } => write!(f, "{thread} has died: {why}"),
        }
    }
}

/// Writes which process has the database open, and what to do about it.
fn locked(f: &mut fmt::Formatter<'_>, path: &Path, holder: Option<u32>) -> fmt::Result {
    let path = path.display();
    match holder {
        Some(id) if id == std::process::id() => write!(
            f,
            "{path} is in use by this process ({id}): drop every handle to the database, its keyspaces, iterators and \
             batches included; calling close alone keeps it locked"
        ),
        Some(id) => write!(
            f,
            "{path} is in use by process {id}: close the database there, or end that process; once it is closed, any \
             number of processes may open it read-only"
        ),
        None => write!(
            f,
            "{path} is in use by another process or handle: drop every handle to the database, or close it in the \
             other process; once it is closed, any number of processes may open it read-only"
        ),
    }
}

impl Error for MediumError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            MediumError::Io { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_the_operating_system_become_kinds_of_ours() {
        let path = Path::new("p");
        for full in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge] {
            assert!(MediumError::io("growing", path, full.into()).is_no_space());
        }
        let through = MediumError::io("looking for", path, io::ErrorKind::NotADirectory.into());
        assert!(matches!(through, MediumError::Foreign { .. }));
        for refused in [io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem] {
            let error = MediumError::opening_to_write("opening", path, refused.into());
            assert!(matches!(error, MediumError::ReadOnly { .. }));
            assert!(matches!(MediumError::io("reading", path, refused.into()), MediumError::Io { .. }));
        }
    }

    #[test]
    fn the_source_is_chained_and_the_type_travels() {
        fn travels<T: Error + Send + Sync + Clone + 'static>() {}
        travels::<MediumError>();
        let error = MediumError::io("reading", Path::new("p"), io::Error::other("loose cable"));
        assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("loose cable"));
        assert_eq!(error.clone().to_string(), "reading p: loose cable");
    }
}
