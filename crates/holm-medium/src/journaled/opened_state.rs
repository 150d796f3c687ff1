//! What opening leaves for the background threads, and the beginning of a session in the superblock.

#![forbid(unsafe_code)]

use super::data_files::Journaled;
use super::open::refuse_changed;
use super::opened::Opened;
use super::recovery::{Found, Tail};
use super::state::Journal;
use crate::epoch::{Epoch, EpochSpan};
use crate::error::{MediumError, Result};
use crate::log::{Log, LogOptions, LogStart, Position};
use crate::superblock::{ImageKind, State, Superblock, superblock_path};
use crate::vfs::VfsFile;
use std::path::Path;

/// What [`Opened`] leaves for the background threads once its medium is part of a storage.
pub struct OpenedState {
    superblock: Superblock,
    file: Box<dyn VfsFile>,
    log: LogOptions,
    next: Position,
    clean: bool,
    /// The log, once the clean mark has been cleared.
    begun: Option<Log>,
}

impl OpenedState {
    /// Clears the clean mark durably, before the first store into a database that had been closed. Otherwise a crash
    /// leaves a clean mark over a changed image, and recovery believes it.
    ///
    /// # Errors
    /// Those of the superblock and of the log; if the log cannot be opened, the mark is still there.
    pub fn clear_clean_mark(&mut self, medium: &Journaled) -> Result<()> {
        if self.clean && self.begun.is_none() {
            let (epoch, start) = (self.superblock.epoch, self.superblock.log_start);
            self.begin_session(medium, epoch, start)?;
        }
        Ok(())
    }

    /// After a loss of power: makes what recovery has scrubbed durable, before the first store. That store has the
    /// number of a lost epoch. If it reached the disk without the scrub, and power failed again, the leaves would show
    /// more epochs than can go without a record, and the log would pass for damaged.
    ///
    /// # Errors
    /// Those of the files.
    pub fn sync_scrubbed(&mut self, medium: &Journaled) -> Result<()> {
        if self.clean || medium.kind == ImageKind::Private {
            return Ok(());
        }
        medium.sync_data().inspect_err(|error| self.doubt(medium, error))
    }

    /// Compares the leaves of a clean database with their checksum, as opening does unless it has a leaf index. For an
    /// index that turned out to be of no use, before anything is stored. O(bytes of leaves).
    ///
    /// # Errors
    /// `Corrupt`; `Io`.
    pub fn verify_leaves(&self, medium: &Journaled) -> Result<()> {
        refuse_changed(&medium.dir, &self.superblock, &medium.files)
    }

    /// Begins the session, unless [`OpenedState::clear_clean_mark`] has already done so. First makes all that was found
    /// durable in the data files. `until` is the last epoch that is in the image.
    ///
    /// # Errors
    /// Those of the files; the database is then as it was.
    pub(super) fn begin(mut self, medium: &Journaled, until: Epoch) -> Result<Journal> {
        if !self.clean {
            // What recovery restored, kept and scrubbed becomes durable before the log that could restore it again is
            // released.
            if let Err(error) = medium.sync_recovered() {
                self.doubt(medium, &error);
                return Err(error);
            }
            let start = self.next.fresh_start();
            self.begin_session(medium, until, start)?;
        } else if self.begun.is_none() || self.superblock.epoch != until {
            let start = self.superblock.log_start;
            self.begin_session(medium, until, start)?;
        }
        let OpenedState { superblock, file, begun: Some(log), .. } = self else { unreachable!("the log was opened") };
        Ok(Journal::new(log, superblock, file.into(), until))
    }

    /// Opens the log, and writes to the superblock which boot and files this session uses, and the epoch and log
    /// position at which it begins.
    fn begin_session(&mut self, medium: &Journaled, epoch: Epoch, start: LogStart) -> Result<()> {
        let superblock = &mut self.superblock;
        superblock.state = State::Dirty;
        superblock.boot_generation += 1;
        superblock.boot_id = medium.vfs.boot_id();
        superblock.image = medium.kind;
        superblock.leaves_sum = 0;
        (superblock.epoch, superblock.log_start) = (epoch, start);
        [superblock.leaves, superblock.records] = medium.identities()?;
        // Before anything is written: without its log, a closed database stays closed.
        let log = Log::open(&*medium.vfs, superblock.log_files(&medium.dir), start, self.log)?;
        superblock.write(&*self.file, &superblock_path(&medium.dir))?;
        self.begun = Some(log);
        Ok(())
    }

    /// Keeps the lock, for a database that no thread writes.
    pub fn into_read_only_lock(self) -> ReadOnlyLock {
        ReadOnlyLock { _superblock_file: self.file }
    }

    /// Classifies what lies behind the last record of the log, given the first and the last epoch after it in which
    /// leaves have changed.
    pub fn judge_tail(&self, tail: &Tail, changes: EpochSpan) -> Tail {
        tail.judged(self.next, changes)
    }

    /// After a failed sync: marks the database if possible, since the kernel reports the failure once and marks the
    /// pages clean afterwards. The files of a private image are rewritten by every recovery.
    fn doubt(&mut self, medium: &Journaled, error: &MediumError) {
        let path = superblock_path(&medium.dir);
        if medium.kind == ImageKind::Private || self.superblock.state == State::Poisoned {
            return;
        }
        ::log::error!("holm: {}: {error}; what the process left is not kept", medium.dir.display());
        self.superblock.state = State::Poisoned;
        if let Err(error) = self.superblock.write(&*self.file, &path) {
            ::log::error!("holm: {}: marking the database: {error}", path.display());
        }
    }

    /// Marks the database durably: what the page cache kept is not what was stored. The next open cuts history at the
    /// last synced epoch.
    ///
    /// # Errors
    /// Those of the superblock file.
    pub fn mark_poisoned(mut self, dir: &Path) -> Result<()> {
        self.superblock.state = State::Poisoned;
        self.superblock.write(&*self.file, &superblock_path(dir))
    }
}

impl Opened {
    /// The medium, and the state that the background threads need.
    pub fn into_parts(self) -> (Journaled, OpenedState) {
        let clean = matches!(self.recovery.found, Found::Clean | Found::New);
        let Opened { superblock, superblock_file: file, log, next, .. } = self;
        (self.medium, OpenedState { superblock, file, log, next, clean, begun: None })
    }
}

/// The shared lock of a database that is opened to read only. Dropping it unlocks the database.
pub struct ReadOnlyLock {
    _superblock_file: Box<dyn VfsFile>,
}
