//! The three background threads of a database on files: group commit, preallocation with backpressure, and
//! checkpoints. Only the checkpoint thread waits for data files.
//!
//! A put makes no system call. A failure in one of these threads poisons the clock, so that nothing is acknowledged
//! afterwards. It also marks the superblock, so that the next open trusts nothing that was not logged.

use super::open::{Opened, Tail};
use super::touched::Touched;
use super::{JournalCounters, Journaled, Wakeup, close, due, group_commit};
use crate::epoch::Epoch;
use crate::error::{MediumError, Result};
use crate::loc::Area;
use crate::log::{Log, LogStart};
use crate::medium::Medium as _;
use crate::storage::Storage;
use crate::superblock::{ImageKind, State, Superblock, superblock_path};
use crate::vfs::VfsFile;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a wait for a checkpoint, or for space, lasts before its reason is checked again.
const RECHECK_INTERVAL: Duration = Duration::from_millis(40);

/// How often the preallocating thread checks the frontiers without a notification.
const PREALLOCATE_INTERVAL: Duration = Duration::from_millis(10);

/// The most bytes that open epochs may be asked to write. Together with the largest value, and 64 KiB for each of
/// thousands of threads, the record of an epoch stays below its limit of 4 GiB.
const MOST_DIRTY: u64 = 1 << 30;

/// How often epochs end without a request. A thread that waits for an epoch never waits for the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time between ends; `None`: only on request.
    interval: Option<Duration>,
}

impl Pace {
    /// An epoch ends at each interval.
    pub const fn every(interval: Duration) -> Self {
        Pace { interval: Some(interval) }
    }

    /// An epoch ends only when a thread waits for it.
    pub const WHEN_ASKED: Pace = Pace { interval: None };

    pub(crate) fn interval(self) -> Option<Duration> {
        self.interval
    }
}

/// The log and the superblock, and which epochs they hold.
pub(super) struct Journal {
    pub(super) log: Log,
    pub(super) superblock: Superblock,
    pub(super) superblock_file: Box<dyn VfsFile>,
    /// The epoch of the last record.
    pub(super) epoch: Epoch,
    /// The epoch of the last record of the half that the next checkpoint releases.
    pub(super) until: Epoch,
    /// Bytes of records in that half.
    pub(super) given_up: u64,
    /// Bytes of the pages that these records touch.
    pub(super) to_write: u64,
    /// Pages that the records of the half being written touch.
    pub(super) touched: Touched,
}

impl Journal {
    /// Switches to the other half; the next checkpoint covers what the previous half holds.
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
    journal: Mutex<Journal>,
    checkpointed: Condvar,
    wakeup: Arc<Wakeup>,
    /// Requests a checkpoint.
    checkpoint_request: Wakeup,
    pace: Pace,
    per_epoch: bool,
    stop: AtomicBool,
    /// The first failure of the session.
    failed: Mutex<Option<MediumError>>,
    /// Why the checkpoint in progress waits, although no data is in doubt: there is no space.
    postponed: Mutex<Option<MediumError>>,
}

impl Shared {
    pub(super) fn storage(&self) -> &Storage<Journaled> {
        &self.storage
    }

    pub(super) fn pace(&self) -> Pace {
        self.pace
    }

    pub(super) fn per_epoch(&self) -> bool {
        self.per_epoch
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
        *self.postponed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        self.checkpointed.notify_all();
    }

    /// Postpones the checkpoint in progress until there is space.
    pub(super) fn postpone(&self, why: MediumError) {
        ::log::warn!("holm: {}: {why}; a checkpoint waits for space", self.storage.medium.dir.display());
        *self.postponed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(why);
        self.checkpointed.notify_all();
    }

    /// Why the checkpoint in progress waits for space, if it does.
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
        self.storage.clock.poison(error);
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
        self.checkpoint_done();
    }
}

/// Runs the threads of one database. Dropping it stops them after a last epoch, without a checkpoint; closing it
/// leaves the database clean.
pub struct Background {
    /// `None` for a database that is opened to read only.
    shared: Option<Arc<Shared>>,
    /// Kept for its lock.
    _lock: Option<OpenedState>,
    group_commit: Option<JoinHandle<()>>,
    others: Vec<JoinHandle<()>>,
    closed: bool,
    /// The process that opened the database. A forked child has none of the threads, and must not write anything.
    process: u32,
}

/// What [`Opened`] leaves for the background threads once its medium is part of a storage.
pub struct OpenedState {
    superblock: Superblock,
    file: Box<dyn VfsFile>,
    log: crate::log::LogOptions,
    next: crate::log::Position,
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
        let log = Log::open(&*medium.vfs, &medium.dir, superblock.uuid, start, self.log)?;
        superblock.write(&*self.file, &superblock_path(&medium.dir))?;
        self.begun = Some(log);
        Ok(())
    }

    /// Classifies what lies behind the last record of the log, given the first and the last epoch after it in which
    /// leaves have changed.
    pub fn judge_tail(&self, tail: &Tail, changes: (Epoch, Epoch)) -> Tail {
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
        let clean = matches!(self.recovery.found, super::Found::Clean | super::Found::New);
        let Opened { superblock, superblock_file: file, log, next, .. } = self;
        (self.medium, OpenedState { superblock, file, log, next, clean, begun: None })
    }
}

impl Background {
    /// Finishes opening, once leaves are recovered: makes all that was found durable in the data files and starts the
    /// threads. It also updates the superblock, unless [`OpenedState::clear_clean_mark`] has already done so. `until`
    /// is the last epoch that is in the image.
    ///
    /// # Errors
    /// Those of the files; the database is then as it was.
    pub fn start(
        storage: Arc<Storage<Journaled>>,
        mut opened_state: OpenedState,
        until: Epoch,
        pace: Pace,
        per_epoch: bool,
    ) -> Result<Background> {
        let medium = &storage.medium;
        if !opened_state.clean {
            // What recovery restored, kept and scrubbed becomes durable before the log that could restore it again is
            // released.
            if let Err(error) = medium.sync_recovered() {
                opened_state.doubt(medium, &error);
                return Err(error);
            }
            let start = opened_state.next.fresh_start();
            opened_state.begin_session(medium, until, start)?;
        } else if opened_state.begun.is_none() || opened_state.superblock.epoch != until {
            let start = opened_state.superblock.log_start;
            opened_state.begin_session(medium, until, start)?;
        }
        let OpenedState { superblock, file, begun: Some(log), .. } = opened_state else {
            unreachable!("the log was opened")
        };
        let space = &storage.space;
        medium.reached(Area::Leaves, u64::from(space.block_frontier()) * space.block_bytes());
        medium.reached(Area::Records, space.record_frontier());
        storage.clock.limit((log.maximum() / 2).min(MOST_DIRTY));
        let wakeup = medium.wakeup().clone();
        let journal = Journal {
            log,
            superblock,
            superblock_file: file,
            epoch: until,
            until,
            given_up: 0,
            to_write: 0,
            touched: Touched::default(),
        };
        let shared = Arc::new(Shared {
            storage,
            journal: Mutex::new(journal),
            checkpointed: Condvar::new(),
            wakeup,
            checkpoint_request: Wakeup::default(),
            pace,
            per_epoch,
            stop: AtomicBool::new(false),
            failed: Mutex::new(None),
            postponed: Mutex::new(None),
        });
        let spawn = |name: &'static str, work: fn(&Shared)| {
            let shared = shared.clone();
            let thread = thread::Builder::new().name(name.into()).spawn(move || {
                // No thread joins this one before the database is closed; threads that wait for it must get the error
                // before that.
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&shared))) {
                    shared.fail(&MediumError::died(name, &*panic));
                }
            });
            thread.map_err(|error| MediumError::io("starting a thread for", Path::new("the database"), error))
        };
        let group_commit = Some(spawn("holm-commit", group_commit::run)?);
        let others = vec![spawn("holm-prealloc", preallocate)?, spawn("holm-check", due::run)?];
        let process = std::process::id();
        Ok(Background { shared: Some(shared), _lock: None, group_commit, others, closed: false, process })
    }

    /// Keeps only the lock of a database that is opened to read only.
    pub fn read_only(opened_state: OpenedState) -> Background {
        let process = std::process::id();
        Background {
            shared: None,
            _lock: Some(opened_state),
            group_commit: None,
            others: Vec::new(),
            closed: false,
            process,
        }
    }

    /// The counters since open.
    pub fn counters(&self) -> Option<&JournalCounters> {
        self.shared.as_ref().map(|shared| shared.counters())
    }

    /// Bytes on disk of all files, the log included.
    ///
    /// # Errors
    /// `Io`.
    pub fn disk_bytes(&self) -> Result<u64> {
        let Some(shared) = &self.shared else { return Ok(0) };
        let journal = shared.journal();
        let io = |error| MediumError::io("measuring", &shared.storage.medium.dir, error);
        Ok(journal.log.disk_bytes()?
            + journal.superblock_file.disk_bytes().map_err(io)?
            + shared.storage.medium.disk_bytes()?)
    }

    fn stop_threads(&mut self) {
        let Some(shared) = &self.shared else { return };
        shared.storage.clock.stop();
        if let Some(thread) = self.group_commit.take() {
            let _ = thread.join();
        }
        shared.stop.store(true, Ordering::SeqCst);
        shared.wakeup.notify();
        shared.checkpoint_request.notify();
        for thread in self.others.drain(..) {
            let _ = thread.join();
        }
    }

    /// Ends the last epoch, brings everything into the data files, and writes the clean mark. Files keep their lock
    /// and their length until this is dropped: readers may still use the image. A second call does nothing.
    ///
    /// # Errors
    /// The first failure of the session, or of closing itself; a second call returns the same error.
    pub fn close(&mut self) -> Result<()> {
        if self.process != std::process::id() {
            return Ok(());
        }
        self.stop_threads();
        let Some(shared) = &self.shared else { return Ok(()) };
        shared.refuse_if_failed()?;
        if std::mem::replace(&mut self.closed, true) {
            return Ok(());
        }
        close::close(shared).inspect_err(|error| shared.fail(error))
    }

    /// Whether [`Background::close`] has been called, and nothing has failed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

impl Drop for Background {
    /// No thread reads the image any more: this releases unused preallocated space, and the lock.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // The parent keeps using its files, and its threads do not exist here to be joined.
            std::mem::forget((self.shared.take(), self.group_commit.take(), self.others.drain(..).collect::<Vec<_>>()));
            return;
        }
        self.stop_threads();
        if let Some(shared) = &self.shared {
            let (state, lengths) = {
                let journal = shared.journal();
                (journal.superblock.state, journal.superblock.lengths)
            };
            if state == State::Clean {
                shared.storage.medium.shrink(lengths);
            }
        }
    }
}

/// Preallocates ahead of the writers.
fn preallocate(shared: &Shared) {
    while !shared.is_stopped() {
        shared.wakeup.wait(PREALLOCATE_INTERVAL);
        let medium = &shared.storage.medium;
        if let Err(error) = medium.preallocate().and_then(|()| medium.write_behind()) {
            // Not fatal: the writer that needs the space gets the error, and existing data stays usable.
            ::log::warn!("holm: {}: {error}", shared.storage.medium.dir.display());
        }
    }
}
