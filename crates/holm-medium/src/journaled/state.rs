//! What the background threads of a database share: the storage, the journal, requests and failures.

#![forbid(unsafe_code)]

use super::commit_state::CommitState;
use super::counters::JournalCounters;
use super::data_files::Journaled;
use super::touched::Touched;
use super::wakeup::Wakeup;
use crate::epoch::Epoch;
use crate::epoch_observer::EpochObserver;
use crate::error::{MediumError, Result};
use crate::leaf_index::MakeEarlierIndex;
use crate::log::{Log, SegmentFiles};
use crate::pace::Pace;
use crate::storage::Storage;
use crate::superblock::{State, Superblock, superblock_path};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::vfs::VfsFile;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long a wait for a checkpoint, or for space, lasts before its reason is checked again.
const RECHECK_INTERVAL: Duration = Duration::from_millis(40);

/// The log and the superblock, and which epochs they hold.
pub(super) struct Journal {
    pub(super) log: Log,
    pub(super) superblock: Superblock,
    pub(super) superblock_file: Arc<dyn VfsFile>,
    /// The epoch of the last record.
    pub(super) epoch: Epoch,
    /// The epoch of the last record that the next checkpoint releases.
    pub(super) until: Epoch,
    /// Bytes of these records.
    pub(super) given_up: u64,
    /// Bytes of the pages that these records touch.
    pub(super) to_write: u64,
    /// Pages that later records touch.
    pub(super) touched: Touched,
    /// A segment could not be made for lack of space since the last checkpoint.
    pub(super) lacks_room_for_segments: bool,
}

impl Journal {
    /// The state at the start of a session, at the end of epoch `epoch`.
    pub(super) fn new(log: Log, superblock: Superblock, superblock_file: Arc<dyn VfsFile>, epoch: Epoch) -> Journal {
        let touched = Touched::default();
        Journal {
            log,
            superblock,
            superblock_file,
            epoch,
            until: epoch,
            given_up: 0,
            to_write: 0,
            touched,
            lacks_room_for_segments: false,
        }
    }

    /// Switches to a free segment; the next checkpoint covers what the log holds before it.
    pub(super) fn switch(&mut self) -> Result<()> {
        let held = self.log.used_bytes();
        self.log.switch()?;
        (self.until, self.given_up, self.to_write) = (self.epoch, held, self.touched.take());
        Ok(())
    }
}

/// The state that the threads share.
pub(super) struct Shared {
    storage: Arc<Storage<Journaled>>,
    commit_state: Mutex<CommitState>,
    journal: Mutex<Journal>,
    /// The files of the journal, for what measures them while its lock is held over a write.
    pub(super) log_files: Arc<SegmentFiles>,
    pub(super) superblock_file: Arc<dyn VfsFile>,
    checkpointed: Condvar,
    wakeup: Arc<Wakeup>,
    /// Requests a checkpoint.
    checkpoint_request: Wakeup,
    pace: Pace,
    per_epoch: bool,
    observer: Option<Arc<dyn EpochObserver>>,
    /// Makes a leaf index beside writers, once the database is open.
    pub(super) make_index: OnceLock<Box<MakeEarlierIndex>>,
    stop: AtomicBool,
    /// The process that opened the database. A forked child has none of the threads, and must not write anything.
    process: u32,
    /// The first failure of the session.
    failed: Mutex<Option<MediumError>>,
    /// Why the last checkpoint did not end, although no data is in doubt: there was no space.
    postponed: Mutex<Option<MediumError>>,
}

impl Shared {
    /// The state at the start of a session; `journal` has released all that it held before.
    pub(super) fn new(
        storage: Arc<Storage<Journaled>>,
        journal: Journal,
        pace: Pace,
        per_epoch: bool,
        observer: Option<Arc<dyn EpochObserver>>,
    ) -> Shared {
        let wakeup = storage.medium.wakeup().clone();
        Shared {
            storage,
            commit_state: Mutex::new(CommitState::new()),
            log_files: journal.log.files().clone(),
            superblock_file: journal.superblock_file.clone(),
            journal: Mutex::new(journal),
            checkpointed: Condvar::new(),
            wakeup,
            checkpoint_request: Wakeup::default(),
            pace,
            per_epoch,
            observer,
            make_index: OnceLock::new(),
            stop: AtomicBool::new(false),
            process: std::process::id(),
            failed: Mutex::new(None),
            postponed: Mutex::new(None),
        }
    }

    pub(super) fn storage(&self) -> &Storage<Journaled> {
        &self.storage
    }

    /// The state of commits, for the thread whose turn it is.
    pub(super) fn commit_state(&self) -> MutexGuard<'_, CommitState> {
        self.commit_state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether this process is a forked child of the one that opened the database.
    pub(super) fn is_forked(&self) -> bool {
        self.process != std::process::id()
    }

    pub(super) fn pace(&self) -> Pace {
        self.pace
    }

    pub(super) fn per_epoch(&self) -> bool {
        self.per_epoch
    }

    /// What wants to know of epochs that have become durable.
    pub(super) fn observer(&self) -> Option<&dyn EpochObserver> {
        self.observer.as_deref()
    }

    pub(super) fn counters(&self) -> &JournalCounters {
        &self.storage.medium.counters
    }

    pub(super) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Requests a checkpoint.
    pub(super) fn request_checkpoint(&self) {
        self.checkpoint_request.notify();
    }

    /// Waits for a request of a checkpoint, for at most the given time.
    pub(super) fn wait_for_request(&self, at_most: Duration) {
        self.checkpoint_request.wait(at_most);
    }

    /// Waits until a frontier nears the end of its file, for at most the given time.
    pub(super) fn wait_for_frontier(&self, at_most: Duration) {
        self.wakeup.wait(at_most);
    }

    /// Asks the threads that do not end epochs to stop.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.wakeup.notify();
        self.checkpoint_request.notify();
    }

    /// Whether the threads are to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Bytes of leaves and records in use: the size of the log is measured against this.
    pub(super) fn data_bytes(&self) -> u64 {
        let space = &self.storage.space;
        let blocks = u64::from(space.block_frontier()).saturating_sub(space.free_blocks());
        blocks * space.block_bytes() + space.record_bytes()
    }

    pub(super) fn checkpoint_done(&self) {
        self.forget_postponed();
        self.checkpointed.notify_all();
    }

    /// Postpones the checkpoint in progress until there is space.
    pub(super) fn postpone(&self, why: MediumError) {
        ::log::warn!("holm: {}: {why}; a checkpoint waits for space", self.storage.medium.dir.display());
        *self.postponed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(why);
        self.checkpointed.notify_all();
    }

    /// Forgets why the last checkpoint found no space: it is done, or the threads that wait have got the reason.
    pub(super) fn forget_postponed(&self) {
        *self.postponed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
    }

    /// Why the last checkpoint found no space, unless [`Shared::forget_postponed`] was called since.
    pub(super) fn postponed(&self) -> Option<MediumError> {
        self.postponed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    pub(super) fn wait_for_checkpoint<'a>(&self, journal: MutexGuard<'a, Journal>) -> MutexGuard<'a, Journal> {
        let waited = self.checkpointed.wait_timeout(journal, RECHECK_INTERVAL);
        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0
    }

    pub(super) fn refuse_if_failed(&self) -> Result<()> {
        let failed = self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        failed.as_ref().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Stops acknowledging, without doubt about the data: what the log holds is complete, and the image holds what
    /// readers see.
    pub(super) fn give_up(&self, error: &MediumError) {
        ::log::error!("holm: {}: {error}; the last epoch is not logged", self.storage.medium.dir.display());
        self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert_with(|| error.clone());
        self.storage.clock.poison(error);
    }

    /// Stops acknowledging, and marks the database for the next open.
    pub(super) fn fail(&self, error: &MediumError) {
        ::log::error!("holm: {}: {error}; nothing more is accepted", self.storage.medium.dir.display());
        self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert_with(|| error.clone());
        let path = superblock_path(&self.storage.medium.dir);
        let mut journal = self.journal();
        let mut marked = journal.superblock.clone();
        marked.state = State::Poisoned;
        // If even this fails, the next open still syncs the files and compares image and log before it trusts them.
        if let Err(error) = marked.write(&*journal.superblock_file, &path) {
            ::log::error!("holm: {}: marking the database: {error}", path.display());
        }
        journal.superblock = marked;
        drop(journal);
        // After the mark: a program may end at its first error.
        self.storage.clock.poison(error);
        self.checkpoint_done();
    }
}
