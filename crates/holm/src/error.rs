//! What can go wrong, for whoever embeds Holm.

use holm_medium::MediumError;
use holm_medium::superblock::pool_path;
use std::fmt;
use std::path::{Path, PathBuf};

/// The result of every operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong: what was found, and what was expected. Absence is never an error.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// There is no database in this folder, and none was to be made.
    NotFound {
        /// The folder.
        path: PathBuf,
    },
    /// The operating system refused a call.
    Io(MediumError),
    /// The disk or a quota is full. What was there is unharmed and readable; the call may be repeated once there is
    /// room. In [`Strict`](crate::Durability::Strict) it may have been done all the same, and not be durable yet.
    NoSpace(MediumError),
    /// The database has reached the [capacity](crate::Builder::capacity) that it was opened with; the disk may have
    /// room. Nothing has changed, and what was there can be read and removed. Open it with a larger one.
    Capacity(MediumError),
    /// Bytes at rest are not what was written.
    Corrupt(MediumError),
    /// The folder or file is not one of Holm's.
    Foreign(MediumError),
    /// The database was written in another version of the format.
    Version(MediumError),
    /// The database is of another shape than asked for: another design, say.
    Geometry(MediumError),
    /// Another process, or another handle of this one, has the database open; the message names the process. Every
    /// handle has to be dropped there, those that have outlived `close` included.
    Locked(MediumError),
    /// A write was asked of something that may only be read.
    ReadOnly(MediumError),
    /// The database was not closed, and opening it to read alone must not repair it.
    NotClean(MediumError),
    /// A write or sync failed earlier: nothing more is accepted until the database is opened anew.
    Poisoned(MediumError),
    /// This platform, file system or design cannot do this.
    Unsupported {
        /// What cannot be done.
        what: String,
    },
    /// A key, value, batch or name is over a limit.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size in bytes.
        found: u64,
        /// The largest size allowed.
        limit: u64,
    },
    /// An argument that means nothing.
    Invalid {
        /// What was found and what was expected.
        what: String,
    },
    /// The keyspace of this handle has been dropped.
    Dropped {
        /// Its name.
        keyspace: String,
    },
}

impl Error {
    /// What opening met: a file that is not there is either the whole database, or damage to it.
    pub(crate) fn opening(dir: &Path, create: bool, error: MediumError) -> Self {
        match error {
            MediumError::Io { ref source, ref path, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                if path == dir && create {
                    // It was to be made, and the folder that it was to be made in is not there.
                    return Error::Io(error);
                }
                if path == dir || *path == pool_path(dir) {
                    return Error::NotFound { path: dir.into() };
                }
                let (what, found, expected) = ("a file of the database", "nothing".into(), "the file".into());
                Error::Corrupt(MediumError::Corrupt { path: path.clone(), offset: 0, what, found, expected })
            }
            other => other.into(),
        }
    }
}

impl From<MediumError> for Error {
    fn from(error: MediumError) -> Self {
        match error {
            MediumError::NoSpace { .. } => Error::NoSpace(error),
            MediumError::Capacity { .. } => Error::Capacity(error),
            MediumError::Corrupt { .. } => Error::Corrupt(error),
            MediumError::Foreign { .. } => Error::Foreign(error),
            MediumError::Version { .. } => Error::Version(error),
            MediumError::Geometry { .. } => Error::Geometry(error),
            MediumError::Locked { .. } => Error::Locked(error),
            MediumError::ReadOnly { .. } | MediumError::OutOfEpochs { .. } => Error::ReadOnly(error),
            MediumError::NotClean { .. } => Error::NotClean(error),
            MediumError::Poisoned { .. } => Error::Poisoned(error),
            MediumError::Unsupported { what } => Error::Unsupported { what: what.into() },
            MediumError::TooLarge { what, found, limit } => Error::TooLarge { what, found, limit },
            other => Error::Io(other),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotFound { path } => write!(f, "there is no database in {}", path.display()),
            Error::Unsupported { what } => write!(f, "not supported: {what}"),
            Error::TooLarge { what, found, limit } => write!(f, "{what} of {found} bytes exceeds the limit of {limit}"),
            Error::Invalid { what } => f.write_str(what),
            Error::Dropped { keyspace } => write!(f, "the keyspace {keyspace:?} has been dropped"),
            Error::Io(error)
            | Error::NoSpace(error)
            | Error::Capacity(error)
            | Error::Corrupt(error)
            | Error::Foreign(error)
            | Error::Version(error)
            | Error::Geometry(error)
            | Error::Locked(error)
            | Error::ReadOnly(error)
            | Error::NotClean(error)
            | Error::Poisoned(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io(error) => std::error::Error::source(error),
            _ => None,
        }
    }
}
