//! The three background threads of a database on files: group commit, preallocation with backpressure, and
//! checkpoints. Only the checkpoint thread waits for data files.
//!
//! A put makes no system call. A failure in one of these threads poisons the clock, so that nothing is acknowledged
//! afterwards. It also marks the superblock, so that the next open trusts nothing that was not logged.

use super::close::{MakeIndex, close};
use super::data_files::Journaled;
use super::meter::Meter;
use super::opened_state::OpenedState;
use super::state::Shared;
use super::{due, group_commit, preallocate};
use crate::epoch::{CommitLeader, Epoch};
use crate::epoch_observer::EpochObserver;
use crate::error::{MediumError, Result};
use crate::leaf_index::MakeEarlierIndex;
use crate::loc::Area;
use crate::medium::Medium as _;
use crate::pace::Pace;
use crate::storage::Storage;
use crate::superblock::State;
use crate::sync::thread::{self, JoinHandle};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// The most bytes that open epochs may be asked to write. Together with the largest value, and 64 KiB for each of
/// thousands of threads, the record of an epoch stays below its limit of 4 GiB.
const MOST_DIRTY: u64 = 1 << 30;

/// Runs the threads of one database. Dropping it stops them after a last epoch, without a checkpoint; closing it
/// leaves the database clean.
pub struct Background {
    shared: Arc<Shared>,
    group_commit: Option<JoinHandle<()>>,
    others: Vec<JoinHandle<()>>,
    closed: bool,
}

crate::sync::thread_local! {
    static IS_BACKGROUND: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the calling thread is a background thread of some database. Such a thread runs code of callers who
/// await news about epochs. There it cannot await the end of a database: it would await its own.
pub fn is_background_thread() -> bool {
    IS_BACKGROUND.try_with(Cell::get).unwrap_or(false)
}

impl Background {
    /// Finishes opening, once leaves are recovered: makes all that was found durable in the data files and starts the
    /// threads. It also updates the superblock, unless [`OpenedState::clear_clean_mark`] has already done so. `until`
    /// is the last epoch that is in the image. `observer` learns of each epoch that becomes durable.
    ///
    /// # Errors
    /// Those of the files; the database is then as it was.
    pub fn start(
        storage: Arc<Storage<Journaled>>,
        opened_state: OpenedState,
        until: Epoch,
        pace: Pace,
        per_epoch: bool,
        observer: Option<Arc<dyn EpochObserver>>,
    ) -> Result<Background> {
        let medium = &storage.medium;
        let journal = opened_state.begin(medium, until)?;
        let space = &storage.space;
        medium.reached(Area::Leaves, space.block_end());
        medium.reached(Area::Records, space.record_frontier());
        storage.clock.limit((journal.log.total() / 4).min(MOST_DIRTY));
        let shared = Arc::new(Shared::new(storage, journal, pace, per_epoch, observer));
        let leader: Arc<dyn CommitLeader> = shared.clone();
        shared.storage().clock.let_waiters_lead(Arc::downgrade(&leader));
        let mut background = Background { shared, group_commit: None, others: Vec::new(), closed: false };
        // If a thread cannot be started, dropping this stops the others: they would keep the database locked.
        background.group_commit = Some(background.spawn("holm-commit", group_commit::run)?);
        background.others.push(background.spawn("holm-prealloc", preallocate::run)?);
        background.others.push(background.spawn("holm-check", due::run)?);
        background.others.push(background.spawn("holm-news", |shared| shared.storage().clock.call_listeners())?);
        Ok(background)
    }

    fn spawn(&self, name: &'static str, work: fn(&Shared)) -> Result<JoinHandle<()>> {
        let shared = self.shared.clone();
        let thread = thread::Builder::new().name(name.into()).spawn(move || {
            IS_BACKGROUND.with(|is_background| is_background.set(true));
            // No thread joins this one before the database is closed; threads that wait for it must get the error
            // before that.
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(&shared))) {
                shared.fail(&MediumError::died(name, &*panic));
            }
        });
        thread.map_err(|error| MediumError::io("starting a thread for", Path::new("the database"), error))
    }

    /// From now on, checkpoints write a leaf index for openings after a crash. Only the first call counts.
    pub fn index_by(&self, make_index: Box<MakeEarlierIndex>) {
        // A second function would make the same index.
        let _ = self.shared.make_index.set(make_index);
    }

    /// Returns what measures the database, also while this is closed.
    pub fn meter(&self) -> Meter {
        Meter(self.shared.clone())
    }

    fn stop_threads(&mut self) {
        self.shared.storage().clock.stop();
        if let Some(thread) = self.group_commit.take() {
            let _ = thread.join();
        }
        self.shared.stop();
        self.shared.storage().clock.end_news();
        for thread in self.others.drain(..) {
            let _ = thread.join();
        }
    }

    /// Ends the last epoch, brings everything into the data files, and writes the leaf index and the clean mark. Files
    /// keep their lock and their length until this is dropped: readers may still use the image. A second call does
    /// nothing.
    ///
    /// # Errors
    /// The first failure of the session, or of closing itself; a second call returns the same error. If the index
    /// cannot be made because a leaf is damaged, everything is in the data files, and the next open finds the damage.
    pub fn close(&mut self, make_index: MakeIndex<'_>) -> Result<()> {
        if self.shared.is_forked() {
            return Ok(());
        }
        self.stop_threads();
        self.shared.refuse_if_failed()?;
        if std::mem::replace(&mut self.closed, true) {
            return Ok(());
        }
        let damaged = close(&self.shared, make_index).inspect_err(|error| self.shared.fail(error))?;
        // Not a failure of this session. A mark of one would lead the next open to the log, past the damage.
        damaged.map_or(Ok(()), Err)
    }

    /// Whether [`Background::close`] has been called, and nothing has failed.
    pub fn is_closed(&self) -> bool {
        self.closed
    }
}

impl Drop for Background {
    /// No thread reads the image any more: this gives all whole large pages that are free back to the file system, and
    /// releases unused preallocated space and the lock.
    fn drop(&mut self) {
        if self.shared.is_forked() {
            // The parent keeps using its files, and its threads do not exist here to be joined. The state that is
            // forgotten here is never dropped, and so never unlocks a file.
            std::mem::forget((
                self.shared.clone(),
                self.group_commit.take(),
                self.others.drain(..).collect::<Vec<_>>(),
            ));
            return;
        }
        self.stop_threads();
        let (state, lengths) = {
            let journal = self.shared.journal();
            (journal.superblock.state, journal.superblock.lengths)
        };
        if state == State::Clean {
            let storage = self.shared.storage();
            // The log is empty, so no recovery restores anything there; and nobody takes space any more.
            if let Err(error) = storage.space.give_back(&storage.medium, 0) {
                ::log::warn!("holm: {error}");
            }
            storage.medium.shrink(lengths);
        }
    }
}
