//! What the last open recovered, and from where.

use holm_medium::{Found, Tail};
use std::fmt;

/// What the last open recovered, and from where: [`Database::recovery`](crate::Database::recovery).
///
/// Its `Display` is one line for an operator.
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
    /// Where the contents come from.
    pub source: RecoveredFrom,
    /// The epoch of the last whole entry of the log, or of the last checkpoint. After [`RecoveredFrom::Log`], the
    /// contents are those of this epoch's end.
    pub epoch: u64,
    /// Entries of the log that were read; 0 after a clean shutdown.
    pub log_entries: u64,
    /// Bytes of data in these entries.
    pub log_bytes: u64,
    /// What lies behind the last whole entry of the log.
    pub log_tail: LogTail,
    /// Damage that costs no data, in words. A database that was opened for writing has repaired its superblock.
    pub damaged: Vec<String>,
}

/// Where the contents of an opened database come from: [`Recovery::source`].
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
    /// Nowhere: the open has created the database.
    #[default]
    Created,
    /// The data files of a database that was closed: nothing was to recover.
    CleanShutdown,
    /// The kernel's page cache: only the process had died, and every write that it had done is there.
    PageCache,
    /// The log, up to the last synced epoch: later writes, if there were any, are lost.
    #[non_exhaustive]
    Log {
        /// Why the page cache could not be trusted: a reboot, a copied file, a private image.
        reason: String,
    },
}

/// What lies behind the last whole entry of the log: [`Recovery::log_tail`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// use holm::LogTail;
///
/// if let LogTail::Damaged { file, offset, .. } = &db.recovery().log_tail {
///     eprintln!("{file} is damaged from byte {offset} on");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum LogTail {
    /// No part of an entry.
    #[default]
    Empty,
    /// An entry that is not whole. A crash leaves the entry that was being written in this state, and nothing of its
    /// epoch had been acknowledged as durable. Damage to the last entry looks the same.
    #[non_exhaustive]
    Torn {
        /// The file of the log.
        file: String,
        /// The start of the entry, in bytes.
        offset: u64,
        /// The entry's epoch, as its header says.
        epoch: u64,
    },
    /// Entries that were durable are damaged or missing: leaves hold changes of later epochs, each of which began only
    /// once an earlier one was durable.
    #[non_exhaustive]
    Damaged {
        /// The file of the log.
        file: String,
        /// The start of the first of these entries, in bytes.
        offset: u64,
        /// The first epoch that is missing.
        epoch: u64,
    },
}

impl From<Tail> for LogTail {
    fn from(tail: Tail) -> Self {
        match tail {
            Tail::Torn { file, offset, epoch } => LogTail::Torn { file, offset, epoch },
            Tail::Damaged { file, offset, epoch } => LogTail::Damaged { file, offset, epoch },
            _ => LogTail::Empty,
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
        Recovery { source, epoch, log_entries: records, log_bytes: bytes, log_tail: tail.into(), damaged }
    }
}

impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Recovery { source, epoch, log_entries, log_bytes, log_tail, damaged } = self;
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
        match log_tail {
            LogTail::Empty => {}
            LogTail::Torn { file, offset, epoch } => {
                let what = "is torn, or damaged if the session did not end there";
                write!(f, "; the entry of epoch {epoch} at byte {offset} of {file} {what}")?;
            }
            LogTail::Damaged { file, offset, epoch } => {
                write!(f, "; {file} is damaged from byte {offset} on: epoch {epoch} had been durable")?;
            }
        }
        damaged.iter().try_for_each(|damage| write!(f, "; {damage}"))
    }
}
