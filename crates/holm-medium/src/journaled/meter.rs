//! What a database has done and what it occupies, for who asks: also while its threads stop.

#![forbid(unsafe_code)]

use super::counters::JournalCounters;
use super::state::Shared;
use crate::error::{MediumError, Result};
use std::sync::Arc;

/// Measures one database. It waits for no thread that stops, for no epoch, and for no write. The files stay locked
/// until it is dropped.
pub struct Meter(pub(super) Arc<Shared>);

impl Meter {
    /// The counters since open.
    pub fn counters(&self) -> &JournalCounters {
        self.0.counters()
    }

    /// Refuses if the path of the folder leads elsewhere by now: to nothing, or to another database.
    ///
    /// # Errors
    /// `Io`, of kind `NotFound` if the folder was moved.
    pub fn refuse_moved(&self) -> Result<()> {
        let medium = &self.0.storage().medium;
        medium.refuse_moved().map_err(|error| MediumError::io("looking for the files of", &medium.dir, error))
    }

    /// Bytes on disk of all files, the log included. It waits for no lock that is held over a write to a file.
    ///
    /// # Errors
    /// `Io`.
    pub fn disk_bytes(&self) -> Result<u64> {
        let medium = &self.0.storage().medium;
        let io = |error| MediumError::io("measuring", &medium.dir, error);
        let superblock = self.0.superblock_file.disk_bytes().map_err(io)?;
        Ok(self.0.log_files.disk_bytes()? + superblock + medium.disk_bytes()?)
    }
}
