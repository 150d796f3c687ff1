//! What a backup has.

use super::format::{Header, Totals};

/// What a backup stream contains, or has contained.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// db.keyspace("reefs")?.insert("north", "coral")?;
/// let mut stream = Vec::new();
/// let info = db.backup_to(&mut stream)?;
/// assert_eq!((info.base, info.keyspaces, info.records, info.bytes), (0, 2, 1, stream.len() as u64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct BackupInfo {
    /// Identifies the database that the backup is of. Drawn when it was created.
    pub uuid: [u8; 16],
    /// The epoch of the backup that this one continues; 0 for a whole backup.
    pub base: u64,
    /// The epoch up to which the backup is complete. The next incremental backup begins there:
    /// [`Database::backup_since`](crate::Database::backup_since).
    pub epoch: u64,
    /// The number of keyspaces.
    pub keyspaces: u64,
    /// The number of pairs in the stream.
    pub records: u64,
    /// The number of pairs that are not in the stream, because the base has them.
    pub kept: u64,
    /// The length of the stream, in bytes.
    pub bytes: u64,
}

impl BackupInfo {
    pub(super) fn new(header: &Header, totals: &Totals, bytes: u64) -> Self {
        let (Header { uuid, base, epoch }, Totals { keyspaces, records, kept }) = (*header, *totals);
        BackupInfo { uuid, base, epoch, keyspaces, records, kept, bytes }
    }
}
