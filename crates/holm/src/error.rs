//! The error type of this crate.
//!
//! One enum serves every operation. The medium's error variants become variants of this enum, field by field. A user
//! can match on paths, offsets and kinds without another crate.

use holm_medium::MediumError;
use holm_medium::superblock::superblock_path;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The result of every operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed: what was found, and what was expected. An absent key is never an error.
///
/// Cloning is cheap: after a failed write or sync, every later call returns the same error. The enum, and each variant
/// that may grow, are `#[non_exhaustive]`: a `match` needs a wildcard arm, and such a pattern needs `..`.
///
/// | what to do | variants |
/// |---|---|
/// | begin the transaction anew | `Conflict` |
/// | take another snapshot | `Ended` |
/// | apply the backup that comes next, or restore a whole one | `WrongBase` |
/// | take a snapshot and a feed | `Lagged` |
/// | change the call | `NotFound`, `TooLarge`, `Invalid`, `Overflow`, `Unsupported`, `Geometry`, `Dropped` |
/// | read the table with the types it was written with | `Encoding` |
/// | open for writing | `ReadOnly` |
/// | make room, then call again | `NoSpace`; after `Capacity`, open with a larger one |
/// | close another handle | `Locked` |
/// | open the database anew | `Closed`, `Poisoned`, `NotClean`, `Io` |
/// | copy or restore the data | `Corrupt`, `Foreign`, `Version`, `OutOfEpochs` |
///
/// ```
/// use holm::{Database, Error};
/// use std::io::ErrorKind;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("not/there/sea.holm");
/// match Database::open(&path) {
///     Ok(_db) => println!("open"),
///     Err(Error::Locked { holder: Some(pid), .. }) => println!("process {pid} has it open"),
///     Err(Error::Corrupt { path, offset, .. }) => println!("restore {} (byte {offset})", path.display()),
///     Err(Error::Io { kind: ErrorKind::NotFound, path, .. }) => println!("make {} first", path.display()),
///     Err(error) => println!("{error}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The folder has no database, and [`Builder::create`](crate::Builder::create) is `false`.
    NotFound {
        /// The folder.
        path: PathBuf,
    },
    /// The operating system refused a call.
    #[non_exhaustive]
    Io {
        /// The operation, as a participle: `"opening"`.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The kind of `source`.
        kind: io::ErrorKind,
        /// The operating system's error; also [`source`](std::error::Error::source).
        source: Arc<io::Error>,
    },
    /// The disk or a quota is full, or a file has reached the process's limit on the size of files (`ulimit -f`).
    /// Existing data is unharmed and readable. Repeat the call once there is space. In
    /// [`Strict`](crate::Durability::Strict), the write may have been applied nevertheless, without being durable yet.
    #[non_exhaustive]
    NoSpace {
        /// The operation, as a participle: `"growing"`.
        operation: &'static str,
        /// The file that could not grow.
        path: PathBuf,
    },
    /// The database has reached the [capacity](crate::Builder::capacity) that it was opened with; the disk may have
    /// space. Nothing has changed, and existing pairs can be read and removed. Open the database with a larger
    /// capacity.
    #[non_exhaustive]
    Capacity {
        /// The file that may not grow.
        path: PathBuf,
        /// The size in bytes that the file would have needed.
        found: u64,
        /// The largest size in bytes that the capacity allows.
        limit: u64,
    },
    /// Bytes at rest differ from what was written.
    #[non_exhaustive]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// The offset of the damage from the start of the file, in bytes; 0 where only the file is known.
        offset: u64,
        /// The damaged item.
        what: &'static str,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// The folder or file was not made by Holm.
    #[non_exhaustive]
    Foreign {
        /// The folder or file.
        path: PathBuf,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// The database has another version of the format.
    #[non_exhaustive]
    Version {
        /// The version of the files.
        found: u32,
        /// The version that this crate reads and writes.
        expected: u32,
    },
    /// The database differs from what was asked for, for example in its [design](crate::Builder::design).
    #[non_exhaustive]
    Geometry {
        /// The property that differs.
        what: &'static str,
        /// Its value in the files.
        found: String,
        /// The value asked for.
        expected: String,
    },
    /// Another process, or another handle of this process, has the database open; the message names the process. Drop
    /// every handle there, those that outlived [`close`](crate::Database::close) included, then call again.
    #[non_exhaustive]
    Locked {
        /// The locked file.
        path: PathBuf,
        /// The id of the process that holds the lock, where the system reports it.
        holder: Option<u32>,
    },
    /// A write to something read-only: the folder or the file system forbids it.
    #[non_exhaustive]
    ReadOnly {
        /// The file or folder.
        path: PathBuf,
    },
    /// The database was not closed cleanly, and a read-only open must not repair it. Open it for writing once.
    #[non_exhaustive]
    NotClean {
        /// The folder.
        path: PathBuf,
    },
    /// A write or sync failed earlier, or the database was closed. The database accepts nothing more until it is opened
    /// anew.
    #[non_exhaustive]
    Poisoned {
        /// The earlier failure.
        reason: String,
    },
    /// No epoch number is left for a write. The database can be read and copied, not written.
    #[non_exhaustive]
    OutOfEpochs {
        /// The last epoch number.
        last: u64,
    },
    /// This platform, file system or design lacks a feature.
    Unsupported {
        /// The missing feature.
        what: String,
    },
    /// A key, value, batch or name exceeds a limit.
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size in bytes.
        found: u64,
        /// The largest size allowed, in bytes.
        limit: u64,
    },
    /// An argument is not valid.
    Invalid {
        /// What was found and what was expected.
        what: String,
    },
    /// A sum does not fit into a number: [`Keyspace::increment`](crate::Keyspace::increment). Nothing has changed.
    #[non_exhaustive]
    Overflow {
        /// The number that the key has.
        found: i64,
        /// What was to be added.
        by: i64,
    },
    /// A key or a value of a [typed table](crate::typed) does not have the table's type, or its codec cannot encode it.
    #[non_exhaustive]
    Encoding {
        /// The keyspace.
        keyspace: String,
        /// What was found and what was expected.
        what: String,
    },
    /// Another thread changed what a transaction had read. Nothing has been written, and the same transaction can be
    /// begun anew: [`Database::transact`](crate::Database::transact) does so, up to 1,000 times. An update of one key
    /// returns this, too, if the key had another value 1,000 times.
    Conflict,
    /// The snapshot has ended, because open snapshots kept more than
    /// [`Builder::snapshot_bytes`](crate::Builder::snapshot_bytes). A new one can be taken.
    Ended,
    /// An incremental backup does not continue the state that the database stands at.
    #[non_exhaustive]
    WrongBase {
        /// What the database is.
        found: String,
        /// What the backup needs.
        expected: String,
    },
    /// A feed has fallen behind: what its reader had not taken exceeded the limit of [`Database::feed`]. It has given
    /// everything up to an epoch, and gives nothing more. A new one is opened with
    /// [`Database::snapshot_and_feed`](crate::Database::snapshot_and_feed).
    ///
    /// [`Database::feed`]: crate::Database::feed
    #[non_exhaustive]
    Lagged {
        /// The last epoch of which the feed has given everything.
        epoch: u64,
    },
    /// The database was closed, and a feed has given everything.
    #[non_exhaustive]
    Closed {
        /// The last epoch.
        epoch: u64,
    },
    /// The keyspace of this handle has been dropped.
    Dropped {
        /// Its name.
        keyspace: String,
    },
}

impl Error {
    /// Converts an error of opening. A missing file means that there is no database, or that the database is damaged.
    pub(crate) fn opening(dir: &Path, create: bool, error: MediumError) -> Self {
        match error {
            MediumError::Io { ref source, ref path, .. } if source.kind() == io::ErrorKind::NotFound => {
                if path == dir && create {
                    // The folder was to be created, and its parent does not exist.
                    return error.into();
                }
                if path == dir || *path == superblock_path(dir) {
                    return Error::NotFound { path: dir.into() };
                }
                let (what, found, expected) = ("a file of the database", "nothing".into(), "the file".into());
                Error::Corrupt { path: path.clone(), offset: 0, what, found, expected }
            }
            other => other.into(),
        }
    }

    /// Completes the path of a damaged file that is named without its folder.
    pub(crate) fn within(mut self, folder: &Path) -> Self {
        if let Error::Corrupt { path, .. } = &mut self
            && path.parent() == Some(Path::new(""))
        {
            *path = folder.join(&path);
        }
        self
    }

    pub(crate) fn io(operation: &'static str, path: PathBuf, source: Arc<io::Error>) -> Self {
        Error::Io { operation, path, kind: source.kind(), source }
    }
}

#[doc(hidden)]
impl From<MediumError> for Error {
    fn from(error: MediumError) -> Self {
        match error {
            MediumError::Io { doing, path, source } => Error::io(doing, path, source),
            MediumError::NoSpace { doing, path } => Error::NoSpace { operation: doing, path },
            MediumError::Capacity { path, found, limit } => Error::Capacity { path, found, limit },
            MediumError::Corrupt { path, offset, what, found, expected } => {
                Error::Corrupt { path, offset, what, found, expected }
            }
            MediumError::Foreign { path, found, expected } => Error::Foreign { path, found, expected },
            MediumError::Version { found, supported } => Error::Version { found, expected: supported },
            MediumError::Geometry { what, found, expected } => Error::Geometry { what, found, expected },
            MediumError::Locked { path, holder } => Error::Locked { path, holder },
            MediumError::ReadOnly { path } => Error::ReadOnly { path },
            MediumError::OutOfEpochs { last } => Error::OutOfEpochs { last },
            MediumError::NotClean { path } => Error::NotClean { path },
            MediumError::Poisoned { why } => Error::Poisoned { reason: why },
            died @ MediumError::Died { .. } => Error::Poisoned { reason: died.to_string() },
            MediumError::Unsupported { what } => Error::Unsupported { what: what.into() },
            MediumError::TooLarge { what, found, limit } => Error::TooLarge { what, found, limit },
            MediumError::LogFull { ref path, .. } => {
                Error::io("appending to", path.clone(), Arc::new(io::Error::other(error)))
            }
            other => Error::io("waiting for", PathBuf::from("the log"), Arc::new(io::Error::other(other))),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotFound { path } => write!(f, "there is no database in {}", path.display()),
            Error::Io { operation, path, source, .. } => write!(f, "{operation} {}: {source}", path.display()),
            Error::NoSpace { operation, path } => {
                write!(f, "no space left (disk, quota, limit on file sizes) while {operation} {}", path.display())
            }
            Error::Capacity { path, found, limit } => {
                let path = path.display();
                write!(f, "{path} would need {found} bytes, and the database was opened with a capacity of {limit}")
            }
            Error::Corrupt { path, offset, what, found, expected } => {
                let path = path.display();
                write!(f, "{path} is damaged at byte {offset}: {what}: found {found}, expected {expected}")
            }
            Error::Foreign { path, found, expected } => {
                write!(f, "{} is not one of Holm's: found {found}, expected {expected}", path.display())
            }
            Error::Version { found, expected } => {
                write!(f, "the files have format version {found}, and this program expects version {expected}")
            }
            Error::Geometry { what, found, expected } => {
                write!(f, "the database has another {what}: found {found}, expected {expected}")
            }
            Error::Locked { path, holder } => MediumError::Locked { path: path.clone(), holder: *holder }.fmt(f),
            Error::ReadOnly { path } => write!(f, "{} may only be read", path.display()),
            Error::NotClean { path } => {
                write!(f, "{} was not closed cleanly; open it for writing once to recover it", path.display())
            }
            Error::Poisoned { reason } => {
                write!(f, "stopped after an earlier failure ({reason}); open the database anew to recover")
            }
            Error::OutOfEpochs { last } => {
                write!(f, "epoch {last} was the last number for a write; the database can be read and copied")
            }
            Error::Unsupported { what } => write!(f, "not supported: {what}"),
            Error::TooLarge { what, found, limit } => write!(f, "{what} of {found} bytes exceeds the limit of {limit}"),
            Error::Invalid { what } => f.write_str(what),
            Error::Overflow { found, by } => write!(f, "{found} + {by} does not fit into 64 bits"),
            Error::Encoding { keyspace, what } => write!(f, "keyspace {keyspace:?} has another type: {what}"),
            Error::Conflict => f.write_str("another thread changed what the transaction had read"),
            Error::Ended => f.write_str("the snapshot has ended: open snapshots kept more than their limit"),
            Error::WrongBase { found, expected } => {
                write!(f, "the backup does not continue this database: found {found}, expected {expected}")
            }
            Error::Lagged { epoch } => write!(f, "the feed has fallen behind after epoch {epoch}; open a new one"),
            Error::Closed { epoch } => write!(f, "the database was closed after epoch {epoch}"),
            Error::Dropped { keyspace } => write!(f, "the keyspace {keyspace:?} has been dropped"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn an_error_of_the_system_keeps_its_path_kind_and_source() {
        let refused = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = Error::from(MediumError::io("reading", Path::new("sea.holm/log.0"), refused));
        let Error::Io { operation, path, kind, .. } = &error else { panic!("{error:?}") };
        assert_eq!(
            (*operation, path.as_path(), *kind),
            ("reading", Path::new("sea.holm/log.0"), io::ErrorKind::PermissionDenied)
        );
        assert_eq!(error.source().map(ToString::to_string), Some("permission denied".into()));
        assert_eq!(error.clone().to_string(), "reading sea.holm/log.0: permission denied");
    }

    #[test]
    fn what_has_no_variant_is_the_source_of_one_that_has() {
        let full = MediumError::LogFull { path: "log.0".into(), needed: 9, left: 4 };
        let (told, error) = (full.to_string(), Error::from(full));
        assert!(matches!(&error, Error::Io { path, kind: io::ErrorKind::Other, .. } if path == Path::new("log.0")));
        assert_eq!(error.source().map(ToString::to_string), Some(told));
        let died = Error::from(MediumError::Died { thread: "the group-commit thread", why: "a bug".into() });
        assert!(
            matches!(&died, Error::Poisoned { reason } if reason.contains("the group-commit thread has died: a bug")),
            "{died}"
        );
    }

    #[test]
    fn a_lock_names_the_process_and_the_remedy() {
        let locked = |holder| Error::Locked { path: "sea.holm/superblock".into(), holder }.to_string();
        assert!(locked(Some(u32::MAX)).contains("by process 4294967295: close"));
        assert!(locked(Some(std::process::id())).contains("by this process"));
        assert!(locked(None).contains("another process or handle: drop"));
    }
}
