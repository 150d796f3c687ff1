//! The three threads that keep a database on files: the ticker, the housekeeper for births and back-pressure, and the
//! checkpointer, which alone waits for data files.
//!
//! Writers make no system call on a put. Whatever fails in a thread here poisons the clock, so that nothing is
//! acknowledged afterwards, and marks the superblock, so that the next open trusts nothing that was not logged.

use super::open::{Opened, Tail};
use super::touched::Touched;
use super::{Bell, Housekeeping, Journaled, checkpoint, due, ticker};
use crate::epoch::Epoch;
use crate::error::{MediumError, Result};
use crate::loc::Area;
use crate::log::{Log, LogStart};
use crate::medium::Medium as _;
use crate::pool::Pool;
use crate::superblock::{ImageKind, State, Superblock, pool_path};
use crate::vfs::VfsFile;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How long a wait for a checkpoint, or for space, lasts before its reason is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(40);

/// How often the housekeeper looks at the frontiers even if nobody rings.
const WATCH: Duration = Duration::from_millis(10);

/// The most bytes that open epochs may be asked to write. With the largest value on top, and a share of 64 KiB for each
/// of thousands of threads, an epoch's record stays below the 4 GiB that it can be.
const MOST_DIRTY: u64 = 1 << 30;

/// When epochs end by themselves. Whoever waits for one is never kept until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Nanoseconds between ends; zero: only when somebody waits.
    interval: Option<Duration>,
}

impl Pace {
    /// An end at every interval.
    pub const fn every(interval: Duration) -> Self {
        Pace { interval: Some(interval) }
    }

    /// An end whenever somebody waits for one.
    pub const WHEN_ASKED: Pace = Pace { interval: None };

    pub(crate) fn interval(self) -> Option<Duration> {
        self.interval
    }
}

/// The log and the superblock, and which epochs they hold.
pub(super) struct Journal {
    pub(super) log: Log,
    pub(super) superblock: Superblock,
    pub(super) pool: Box<dyn VfsFile>,
    /// The epoch of the last record.
    pub(super) epoch: Epoch,
    /// The epoch of the last record of the half that a checkpoint is to make needless.
    pub(super) until: Epoch,
    /// Bytes of records in that half.
    pub(super) given_up: u64,
    /// Bytes of the pages that they touch.
    pub(super) to_write: u64,
    /// Pages that the records of the half being written touch.
    pub(super) touched: Touched,
}

impl Journal {
    /// Goes on in the other half; what the one before holds is the next checkpoint's.
    pub(super) fn switch(&mut self) -> Result<()> {
        let held = self.log.used_bytes();
        self.log.switch()?;
        (self.until, self.given_up, self.to_write) = (self.epoch, held, self.touched.take());
        Ok(())
    }
}

/// What the threads share.
pub(super) struct Shared {
    pool: Arc<Pool<Journaled>>,
    journal: Mutex<Journal>,
    checkpointed: Condvar,
    bell: Arc<Bell>,
    /// Asks for a checkpoint.
    asked: Bell,
    pace: Pace,
    defers: bool,
    stop: AtomicBool,
    /// The first failure of the session.
    failed: Mutex<Option<MediumError>>,
    /// Why the checkpoint under way could not be finished yet, though nothing is in doubt: want of space.
    postponed: Mutex<Option<MediumError>>,
}

impl Shared {
    pub(super) fn pool(&self) -> &Pool<Journaled> {
        &self.pool
    }

    pub(super) fn pace(&self) -> Pace {
        self.pace
    }

    pub(super) fn defers(&self) -> bool {
        self.defers
    }

    pub(super) fn house(&self) -> &Housekeeping {
        &self.pool.medium.house
    }

    pub(super) fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Asks for a checkpoint.
    pub(super) fn ask(&self) {
        self.asked.ring();
    }

    /// Until somebody asks for a checkpoint, or for so long.
    pub(super) fn wait_to_be_asked(&self, at_most: Duration) {
        self.asked.wait(at_most);
    }

    /// Whether the threads are to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Bytes of leaves and records in use: what the log's size is measured against.
    pub(super) fn data_bytes(&self) -> u64 {
        let space = &self.pool.space;
        let blocks = u64::from(space.block_frontier()).saturating_sub(space.free_blocks());
        blocks * space.block_bytes() + space.record_bytes()
    }

    pub(super) fn checkpoint_done(&self) {
        *self.postponed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
        self.checkpointed.notify_all();
    }

    /// The checkpoint under way is to be gone on with when there is space.
    pub(super) fn postpone(&self, why: MediumError) {
        ::log::warn!("holm: {}: {why}; a checkpoint waits for space", self.pool.medium.dir.display());
        *self.postponed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(why);
        self.checkpointed.notify_all();
    }

    /// Why the checkpoint under way waits for space, if it does.
    pub(super) fn postponed(&self) -> Option<MediumError> {
        self.postponed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    pub(super) fn wait_for_checkpoint<'a>(&self, journal: MutexGuard<'a, Journal>) -> MutexGuard<'a, Journal> {
        let waited = self.checkpointed.wait_timeout(journal, LOOK_AGAIN);
        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0
    }

    pub(super) fn refuse_if_failed(&self) -> Result<()> {
        let failed = self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        failed.as_ref().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Nothing more is acknowledged, but nothing is in doubt: what the log holds is whole, and the image is as visible.
    pub(super) fn give_up(&self, error: &MediumError) {
        ::log::error!("holm: {}: {error}; the last epoch is not logged", self.pool.medium.dir.display());
        self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert_with(|| error.clone());
        self.pool.clock.poison(error);
    }

    /// Nothing more is acknowledged, and the next open is told.
    pub(super) fn fail(&self, error: &MediumError) {
        ::log::error!("holm: {}: {error}; nothing more is accepted", self.pool.medium.dir.display());
        self.failed.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get_or_insert_with(|| error.clone());
        self.pool.clock.poison(error);
        let path = pool_path(&self.pool.medium.dir);
        let mut journal = self.journal();
        let mut marked = journal.superblock.clone();
        marked.state = State::Poisoned;
        // If even this fails, the next open still syncs the files and compares image and log before it trusts them.
        if let Err(error) = marked.write(&*journal.pool, &path) {
            ::log::error!("holm: {}: marking the database: {error}", path.display());
        }
        journal.superblock = marked;
        drop(journal);
        self.checkpoint_done();
    }
}

/// Runs the threads of one database. Dropping it stops them after a last epoch, without a checkpoint; closing it leaves
/// the database clean.
pub struct Keeper {
    /// Nothing, for a database that is only looked at.
    shared: Option<Arc<Shared>>,
    /// Held for its lock.
    _looking: Option<Remains>,
    ticker: Option<JoinHandle<()>>,
    others: Vec<JoinHandle<()>>,
    closed: bool,
    /// The process that opened the database. A forked child has none of the threads, and may write nothing.
    process: u32,
}

/// What [`Opened`] leaves for the keeper once its medium has gone into a pool.
pub struct Remains {
    superblock: Superblock,
    file: Box<dyn VfsFile>,
    log: crate::log::LogOptions,
    next: crate::log::Position,
    clean: bool,
    /// The log, once the clean mark has been cleared.
    begun: Option<Log>,
}

impl Remains {
    /// Before the first store into a database that had been closed: clears the clean mark, durably. A clean mark over a
    /// changed image would be believed.
    ///
    /// # Errors
    /// The superblock's and the log's; if it is the log that cannot be opened, the mark is still there.
    pub fn begin(&mut self, medium: &Journaled) -> Result<()> {
        if self.clean && self.begun.is_none() {
            let (epoch, start) = (self.superblock.epoch, self.superblock.log_start);
            self.clear(medium, epoch, start)?;
        }
        Ok(())
    }

    /// Opens the log, and notes by whom and on what the database is used, from which epoch and place in the log on.
    fn clear(&mut self, medium: &Journaled, epoch: Epoch, start: LogStart) -> Result<()> {
        let superblock = &mut self.superblock;
        superblock.state = State::Dirty;
        superblock.boot_generation += 1;
        superblock.boot_id = medium.vfs.boot_id();
        superblock.image = medium.kind;
        superblock.leaves_sum = 0;
        (superblock.epoch, superblock.log_start) = (epoch, start);
        [superblock.leaves, superblock.records] = medium.identities()?;
        // Before anything is written: without its log a closed database stays closed.
        let log = Log::open(&*medium.vfs, &medium.dir, superblock.uuid, start, self.log)?;
        superblock.write(&*self.file, &pool_path(&medium.dir))?;
        self.begun = Some(log);
        Ok(())
    }

    /// What lies behind the log's last record, judged by the first and the last epoch behind it in which leaves were
    /// found to have changed.
    pub fn judge_tail(&self, tail: &Tail, changes: (Epoch, Epoch)) -> Tail {
        tail.judged(self.next, changes)
    }

    /// After a sync that failed: marks the database if it can, for the kernel reports that once and calls the pages
    /// clean thereafter. A private image's files are written anew by every recovery.
    fn doubt(&mut self, medium: &Journaled, error: &MediumError) {
        let path = pool_path(&medium.dir);
        if medium.kind == ImageKind::Private || self.superblock.state == State::Poisoned {
            return;
        }
        ::log::error!("holm: {}: {error}; what the process left is not kept", medium.dir.display());
        self.superblock.state = State::Poisoned;
        if let Err(error) = self.superblock.write(&*self.file, &path) {
            ::log::error!("holm: {}: marking the database: {error}", path.display());
        }
    }

    /// Marks the database, durably: what the page cache kept is not what was stored. The next open cuts history at the
    /// last synced epoch.
    ///
    /// # Errors
    /// The superblock file's.
    pub fn distrust(mut self, dir: &Path) -> Result<()> {
        self.superblock.state = State::Poisoned;
        self.superblock.write(&*self.file, &pool_path(dir))
    }
}

impl Opened {
    /// The medium, and what the keeper will want.
    pub fn part(self) -> (Journaled, Remains) {
        let clean = matches!(self.recovery.found, super::Found::Clean | super::Found::New);
        let Opened { superblock, pool: file, log, next, .. } = self;
        (self.medium, Remains { superblock, file, log, next, clean, begun: None })
    }
}

impl Keeper {
    /// Finishes opening, once leaves are recovered: makes all that was found durable in the data files, says so in the
    /// superblock, unless [`Remains::begin`] has said all there is to say, and starts the threads. `until`: the last
    /// epoch that is in the image.
    ///
    /// # Errors
    /// The files'; the database is then as it was.
    pub fn start(
        pool: Arc<Pool<Journaled>>,
        mut remains: Remains,
        until: Epoch,
        pace: Pace,
        defers: bool,
    ) -> Result<Keeper> {
        let medium = &pool.medium;
        if !remains.clean {
            // What recovery restored, kept and scrubbed, before the log that could restore it again is given up.
            if let Err(error) = medium.sync_recovered() {
                remains.doubt(medium, &error);
                return Err(error);
            }
            let start = remains.next.fresh_start();
            remains.clear(medium, until, start)?;
        } else if remains.begun.is_none() || remains.superblock.epoch != until {
            let start = remains.superblock.log_start;
            remains.clear(medium, until, start)?;
        }
        let Remains { superblock, file, begun: Some(log), .. } = remains else { unreachable!("the log was opened") };
        let space = &pool.space;
        medium.reached(Area::Leaves, u64::from(space.block_frontier()) * space.block_bytes());
        medium.reached(Area::Records, space.record_frontier());
        pool.clock.limit((log.maximum() / 2).min(MOST_DIRTY));
        let bell = medium.bell().clone();
        let journal = Journal {
            log,
            superblock,
            pool: file,
            epoch: until,
            until,
            given_up: 0,
            to_write: 0,
            touched: Touched::default(),
        };
        let shared = Arc::new(Shared {
            pool,
            journal: Mutex::new(journal),
            checkpointed: Condvar::new(),
            bell,
            asked: Bell::default(),
            pace,
            defers,
            stop: AtomicBool::new(false),
            failed: Mutex::new(None),
            postponed: Mutex::new(None),
        });
        let spawn = |name: &'static str, work: fn(&Shared)| {
            let shared = shared.clone();
            let thread = thread::Builder::new().name(name.into()).spawn(move || {
                // Nobody looks at how it ends before the database is closed; who waits for it must be told before.
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&shared))) {
                    shared.fail(&MediumError::died(name, &*panic));
                }
            });
            thread.map_err(|error| MediumError::io("starting a thread for", Path::new("the database"), error))
        };
        let ticker = Some(spawn("holm-ticker", ticker::run)?);
        let others = vec![spawn("holm-house", keep_house)?, spawn("holm-check", due::run)?];
        let process = std::process::id();
        Ok(Keeper { shared: Some(shared), _looking: None, ticker, others, closed: false, process })
    }

    /// Keeps nothing but the lock of a database that is only looked at.
    pub fn looking(remains: Remains) -> Keeper {
        let process = std::process::id();
        Keeper { shared: None, _looking: Some(remains), ticker: None, others: Vec::new(), closed: false, process }
    }

    /// What keeping house has cost so far.
    pub fn housekeeping(&self) -> Option<&Housekeeping> {
        self.shared.as_ref().map(|shared| shared.house())
    }

    /// Bytes on disk of all files, the log included.
    ///
    /// # Errors
    /// `Io`.
    pub fn disk_bytes(&self) -> Result<u64> {
        let Some(shared) = &self.shared else { return Ok(0) };
        let journal = shared.journal();
        let io = |error| MediumError::io("measuring", &shared.pool.medium.dir, error);
        Ok(journal.log.disk_bytes()? + journal.pool.disk_bytes().map_err(io)? + shared.pool.medium.disk_bytes()?)
    }

    fn stop_threads(&mut self) {
        let Some(shared) = &self.shared else { return };
        shared.pool.clock.stop();
        if let Some(thread) = self.ticker.take() {
            let _ = thread.join();
        }
        shared.stop.store(true, Ordering::SeqCst);
        shared.bell.ring();
        shared.asked.ring();
        for thread in self.others.drain(..) {
            let _ = thread.join();
        }
    }

    /// Ends the last epoch, brings everything into the data files, and leaves the clean mark. Files keep their lock,
    /// and their length, until the keeper is dropped: readers may still look at the image. A second call does nothing.
    ///
    /// # Errors
    /// The first failure of the session, or of closing itself; of a second call the same.
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
        checkpoint::take(shared, State::Clean).inspect_err(|error| shared.fail(error))
    }

    /// Whether [`Keeper::close`] has been called, and nothing has failed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

impl Drop for Keeper {
    /// Nobody reads the image any more: what was preallocated and never used is given back, and the lock with it.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // The parent goes on with its files, and its threads are not here to be joined.
            std::mem::forget((self.shared.take(), self.ticker.take(), self.others.drain(..).collect::<Vec<_>>()));
            return;
        }
        self.stop_threads();
        if let Some(shared) = &self.shared {
            let (state, lengths) = {
                let journal = shared.journal();
                (journal.superblock.state, journal.superblock.lengths)
            };
            if state == State::Clean {
                shared.pool.medium.shrink(lengths);
            }
        }
    }
}

/// Births ahead of the writers.
fn keep_house(shared: &Shared) {
    while !shared.is_stopped() {
        shared.bell.wait(WATCH);
        let medium = &shared.pool.medium;
        if let Err(error) = medium.grow_ahead().and_then(|()| medium.write_behind()) {
            // Not fatal: the writer who needs the room gets the error, and what is there stays usable.
            ::log::warn!("holm: {}: {error}", shared.pool.medium.dir.display());
        }
    }
}
