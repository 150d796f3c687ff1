//! What the threads of a run share: the database, what they note of it, and which errors are no surprise.

use super::bulk::Puts;
use super::compaction::Change;
use super::marks::Marks;
use super::plan::{Plan, What};
use super::solo::Step;
use super::stage::{FOLDER, Stage};
use crate::cycles::Transaction;
use crate::disk::SimDisk;
use crate::history::Call;
use crate::lists::Board;
use holm::{Builder, Database, Error, ImageMode, Result, Sweep};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The smallest log that there is.
const LOG_BYTES: u64 = 2 << 20;

/// Options of the database of a run.
pub(super) fn builder(plan: &Plan, stage: &Arc<Stage>, disk: &SimDisk) -> Builder {
    let image = if plan.private { ImageMode::Private } else { ImageMode::Shared };
    let stage = stage.clone();
    Database::builder()
        .design(plan.design.0)
        .durability(plan.durability)
        .image(image)
        .log_bytes(LOG_BYTES)
        .sweep(Sweep::Every(Duration::from_millis(40)))
        .time_source(Arc::new(move || stage.wall_clock()))
        .vfs(Arc::new(disk.clone()), plan.heap)
}

/// Opens the database of a run.
pub(super) fn open(plan: &Plan, stage: &Arc<Stage>, disk: &SimDisk) -> Result<Database> {
    builder(plan, stage, disk).open(FOLDER)
}

/// Opens what a crash has left. Until that is durable, nothing that was ever written is free, so an opening may need
/// more than the capacity of the run: then it is given twice as much, and must lose nothing.
pub(super) fn open_left(plan: &Plan, stage: &Arc<Stage>, disk: &SimDisk) -> Result<Database> {
    match open(plan, stage, disk) {
        Err(Error::Capacity { .. }) if plan.is_small() => {
            stage.count("openings with more capacity", 1);
            let twice = Plan { heap: plan.heap.map(|bytes| 2 * bytes), ..plan.clone() };
            open(&twice, stage, disk)
        }
        opened => opened,
    }
}

/// What the threads have noted. All locks are std's: no thread is interrupted while it holds one.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) transactions: Mutex<Vec<Transaction>>,
    pub(super) calls: Mutex<Vec<Call>>,
    pub(super) solo: Mutex<Vec<Step>>,
    /// The generations of the keyspace that is dropped: the number of each, when its creation began, and when its drop
    /// had returned.
    pub(super) generations: Mutex<Vec<(u64, u64, Option<u64>)>>,
    /// A whole backup, and increments, each of which has the one before as its base.
    pub(super) backups: Mutex<Vec<Backup>>,
    pub(super) marks: Mutex<Marks>,
    pub(super) bulk: Mutex<Puts>,
    pub(super) hollow: Mutex<Vec<Change>>,
    pub(super) shoal: Mutex<Vec<Change>>,
}

/// A backup.
pub(super) struct Backup {
    /// The instant before it.
    pub(super) before: u64,
    pub(super) epoch: u64,
    pub(super) stream: Vec<u8>,
}

/// The database of a run, and what the threads note.
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) stage: Arc<Stage>,
    pub(super) disk: SimDisk,
    pub(super) db: Database,
    pub(super) board: Board,
    pub(super) notes: Notes,
    /// What had returned before this instant was durable when a call of `sync` returned.
    pub(super) synced: Arc<AtomicU64>,
    /// Whether a thread has met an error after which the database may be dead.
    pub(super) failed: AtomicBool,
    /// The threads that still write.
    pub(super) writers: AtomicU64,
}

/// Takes a lock of std.
pub(super) fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// The present instant of the history.
    pub(super) fn now(&self) -> u64 {
        self.board.now()
    }

    /// Makes all durable that has returned.
    pub(super) fn sync(&self) -> Result<()> {
        let before = self.now();
        self.db.sync()?;
        self.synced.fetch_max(before, SeqCst);
        self.stage.count("syncs", 1);
        Ok(())
    }

    /// Notes an error of a call, which then may have taken effect or not.
    ///
    /// # Panics
    /// If the plan gives no reason for it.
    pub(super) fn refused(&self, error: &Error) {
        let reason = match error {
            Error::NoSpace { .. } => self.plan.faults.iter().any(|fault| fault.what == What::Full),
            Error::Capacity { .. } => self.plan.is_small(),
            Error::Io { .. } | Error::Poisoned { .. } => self.plan.is_failing(),
            _ => false,
        };
        assert!(reason, "an error without a reason: {error}");
        if !matches!(error, Error::NoSpace { .. } | Error::Capacity { .. }) {
            self.failed.store(true, SeqCst);
        }
        self.stage.count("refused calls", 1);
    }
}
