//! What the last open recovered, and from where.

use holm_medium::{Found, Tail};
use std::fmt;

/// What the last open recovered, and from where: [`Database::recovery`](crate::Database::recovery).
///
/// `Display` formats it as one line for an operator.
///
/// ```
/// use holm::{Database, RecoveredFrom};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sea.holm");
/// let db = Database::open(&path)?;
/// assert_eq!(db.recovery().source, RecoveredFrom::Created);
/// db.close()?;
/// let db = Database::open(&path)?;
/// match &db.recovery().source {
///     RecoveredFrom::Log { reason, .. } => println!("the tail may be missing: {reason}"),
///     _ => println!("nothing is missing: {}", db.recovery()),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Recovery {
    /// The source of the contents.
    pub source: RecoveredFrom,
    /// The epoch of the last complete entry of the log, or of the last checkpoint. After [`RecoveredFrom::Log`], the
    /// contents are those at the end of this epoch.
    pub epoch: u64,
    /// The number of log entries read; 0 after a clean shutdown.
    pub log_entries: u64,
    /// Bytes of data in these entries.
    pub log_bytes: u64,
    /// What follows the last complete entry of the log.
    pub tail: LogTail,
    /// Whether the open read the leaf index of a closed database in place of its leaves. Each leaf is then compared
    /// with its checksum when it is first read.
    pub from_index: bool,
    /// The number of leaves that the open placed by the leaf index. After [`from_index`](Recovery::from_index), these
    /// are all. After a crash, they are those that have not changed since the index of the last close or checkpoint:
    /// the open compared each with its checksum, and read the keys of the others alone.
    pub leaves_from_index: u64,
    /// The number of blocks of leaves that the open looked at. After [`from_index`](Recovery::from_index), these are
    /// the catalog's. Otherwise they are all that the file has, also free ones: what an open costs grows with them.
    pub blocks_read: u64,
    /// A description of each damage. An open for writing has repaired the superblock.
    pub damaged: Vec<String>,
    /// Whether pairs or keyspaces may be missing or wrong: of a database that is open to read only, the leaves have not
    /// the checksum that they had when it was closed, or the name of a keyspace is damaged.
    pub incomplete: bool,
}

/// The source of an opened database's contents: [`Recovery::source`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use holm::RecoveredFrom;
///
/// let complete = match db.recovery().source {
///     RecoveredFrom::Created | RecoveredFrom::CleanShutdown | RecoveredFrom::PageCache => true,
///     RecoveredFrom::Log { .. } => false, // complete in `Strict` alone
///     _ => false,
/// };
/// assert!(complete);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum RecoveredFrom {
    /// No source: the open created the database.
    #[default]
    Created,
    /// The data files of a cleanly closed database. There was nothing to recover.
    CleanShutdown,
    /// The kernel's page cache. Only the process died, and every write that it had done is present.
    PageCache,
    /// The log, up to the last synced epoch. Later writes, if there were any, are lost.
    #[non_exhaustive]
    Log {
        /// Why the page cache could not be trusted: a reboot, a copied file, a private image.
        reason: String,
    },
}

/// What follows the last complete entry of the log: [`Recovery::tail`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use holm::LogTail;
///
/// match &db.recovery().tail {
///     LogTail::Empty | LogTail::Torn { .. } => {} // as a crash leaves it
///     tail => eprintln!("durable data is lost: {tail}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum LogTail {
    /// No part of another entry.
    #[default]
    Empty,
    /// An incomplete entry. A crash leaves the entry that was being written in this state, and no write of its epoch
    /// had been acknowledged as durable. Damage to the last entry looks the same.
    #[non_exhaustive]
    Torn {
        /// The segment of the log: `log.0` or another one.
        file: String,
        /// Where the entry begins, in bytes.
        offset: u64,
        /// The entry's epoch.
        epoch: u64,
    },
    /// Entries that had been durable are damaged or missing. Leaves carry changes of epochs that begin only after an
    /// earlier epoch is durable, and the log lacks that earlier epoch.
    #[non_exhaustive]
    Damaged {
        /// The segment of the log: `log.0` or another one.
        file: String,
        /// Where the first of these entries began, in bytes.
        offset: u64,
        /// The first epoch that is missing.
        epoch: u64,
    },
}

impl From<Tail> for LogTail {
    fn from(tail: Tail) -> Self {
        match tail {
            Tail::Empty => LogTail::Empty,
            Tail::Torn { file, offset, epoch } => LogTail::Torn { file, offset, epoch },
            Tail::Damaged { file, offset, epoch } => LogTail::Damaged { file, offset, epoch },
        }
    }
}

impl fmt::Display for LogTail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogTail::Empty => f.write_str("the log ends with a whole entry"),
            LogTail::Torn { file, offset, epoch } => {
                write!(f, "the entry of epoch {epoch} at byte {offset} of {file} is torn, or damaged since")
            }
            LogTail::Damaged { file, offset, epoch } => {
                write!(f, "{file} is damaged from byte {offset} on: epoch {epoch} had been durable")
            }
        }
    }
}

impl From<holm_medium::Recovery> for Recovery {
    fn from(recovery: holm_medium::Recovery) -> Self {
        let source = match recovery.found {
            Found::New => RecoveredFrom::Created,
            Found::Clean => RecoveredFrom::CleanShutdown,
            Found::Kept => RecoveredFrom::PageCache,
            Found::Cut { why } => RecoveredFrom::Log { reason: why },
        };
        let holm_medium::Recovery { epoch, records, bytes, tail, damaged, .. } = recovery;
        Recovery {
            source,
            epoch,
            log_entries: records,
            log_bytes: bytes,
            tail: tail.into(),
            from_index: false,
            leaves_from_index: 0,
            blocks_read: 0,
            damaged,
            incomplete: false,
        }
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Recovery { source, epoch, log_entries, log_bytes, tail, damaged, .. } = self;
        let read = format_args!("{log_entries} log entries with {log_bytes} bytes");
        match source {
            RecoveredFrom::Created => f.write_str("a new database")?,
            RecoveredFrom::CleanShutdown => f.write_str("a clean shutdown: nothing to recover")?,
            RecoveredFrom::PageCache => {
                write!(
                    f,
                    "recovered from the page cache: the process had died, and nothing is lost ({read} verified)"
                )?;
            }
            RecoveredFrom::Log { reason } => {
                write!(f, "recovered from the log up to the last synced epoch, {epoch}: {reason} ({read} restored)")?;
            }
        }
        if *tail != LogTail::Empty {
            write!(f, "; {tail}")?;
        }
        damaged.iter().try_for_each(|damage| write!(f, "; {damage}"))
    }
}
