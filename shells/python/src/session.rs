//! A database as one process has opened it, and the slots in which objects of Python hold handles of it.
//!
//! The store keeps a database locked until its last handle is dropped. Python keeps objects alive in ways that no
//! program controls, such as a traceback. So each handle lies in a slot, and closing the session empties all slots: the
//! database is then free, whatever objects there are.
//!
//! The child of a `fork` has no thread of the store, and shares its files with the parent. There every slot refuses,
//! and its handle is forgotten instead of dropped: a drop would close the parent's database.

use crate::failure::{Failure, detached};
use pyo3::prelude::*;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, Weak};

/// How many forks lie between the first process and this one.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// The sessions of this process. Locked only with the interpreter, which a fork holds as well.
static SESSIONS: Mutex<Vec<Weak<Session>>> = Mutex::new(Vec::new());

/// A panic of the store leaves a lock poisoned; what the lock guards is whole nevertheless.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open database.
#[derive(Clone)]
pub(crate) enum Opened {
    Writable(holm::Database),
    ReadOnly(holm::ReadOnlyDatabase),
}

/// A database as one process has opened it.
pub(crate) struct Session {
    /// The process, as `FORKS` counts them.
    process: u64,
    closed: AtomicBool,
    opened: RwLock<Option<Opened>>,
    slots: Mutex<Slots>,
}

/// The slots of a session that may hold handles.
#[derive(Default)]
struct Slots {
    all: Vec<Weak<dyn Empty>>,
    /// The number at which those of objects that are gone are left out.
    prune_at: usize,
}

trait Empty: Send + Sync {
    fn empty(&self);
}

impl Session {
    pub(crate) fn new(opened: Opened) -> Arc<Self> {
        let session = Arc::new(Session {
            process: FORKS.load(Ordering::Relaxed),
            closed: AtomicBool::new(false),
            opened: RwLock::new(Some(opened)),
            slots: Mutex::default(),
        });
        let mut sessions = lock(&SESSIONS);
        sessions.retain(|session| session.strong_count() > 0);
        sessions.push(Arc::downgrade(&session));
        session
    }

    fn is_of_this_process(&self) -> bool {
        self.process == FORKS.load(Ordering::Relaxed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Refuses if the database is closed, or another process's.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if !self.is_of_this_process() {
            return Err(Failure::Forked);
        }
        if self.is_closed() { Err(Failure::Closed("the database")) } else { Ok(()) }
    }

    /// Calls a step with the open database.
    pub(crate) fn with<R>(&self, step: impl FnOnce(&Opened) -> Result<R, Failure>) -> Result<R, Failure> {
        self.check()?;
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        let done = step(opened.as_ref().ok_or(Failure::Closed("the database"))?);
        self.blame_closing(done)
    }

    /// Returns a handle of the database, if it can be written.
    fn writable(&self) -> Result<holm::Database, Failure> {
        self.with(|opened| match opened {
            Opened::Writable(database) => Ok(database.clone()),
            Opened::ReadOnly(_) => Err(Failure::ReadOnly("a database that is open for reading")),
        })
    }

    /// Calls a step with a handle of the database, if it can be written. Nothing is locked meanwhile, so the step may
    /// go back to Python, and even close the database.
    pub(crate) fn write<R, E: Into<Failure>>(
        &self,
        step: impl FnOnce(&holm::Database) -> Result<R, E>,
    ) -> Result<R, Failure> {
        self.blame_closing(step(&self.writable()?))
    }

    /// A step that fails while another thread closes the database finds all kinds of errors.
    pub(crate) fn blame_closing<R, E: Into<Failure>>(&self, done: Result<R, E>) -> Result<R, Failure> {
        match done.map_err(E::into) {
            Err(Failure::Store(holm::Error::Poisoned { .. } | holm::Error::Closed { .. })) if self.is_closed() => {
                Err(Failure::Closed("the database"))
            }
            done => done,
        }
    }

    /// Closes the database and drops every handle of it. Waits for calls that use one now.
    pub(crate) fn close(&self) -> Result<(), Failure> {
        if !self.is_of_this_process() {
            return Err(Failure::Forked);
        }
        let slots = {
            let mut slots = lock(&self.slots);
            if self.closed.swap(true, Ordering::Relaxed) {
                return Ok(());
            }
            mem::take(&mut slots.all)
        };
        // First of all, for it wakes the feeds that wait.
        let done = match self.opened.read().unwrap_or_else(PoisonError::into_inner).as_ref() {
            Some(Opened::Writable(database)) => database.clone().close(),
            Some(Opened::ReadOnly(_)) | None => Ok(()),
        };
        slots.iter().filter_map(Weak::upgrade).for_each(|slot| slot.empty());
        drop(self.opened.write().unwrap_or_else(PoisonError::into_inner).take());
        Ok(done?)
    }

    fn register(&self, slot: Weak<dyn Empty>) -> Result<(), Failure> {
        let mut slots = lock(&self.slots);
        self.check()?;
        if slots.all.len() >= slots.prune_at {
            slots.all.retain(|slot| slot.strong_count() > 0);
            slots.prune_at = slots.all.len() * 2 + 64;
        }
        slots.all.push(slot);
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let opened = self.opened.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if !self.is_of_this_process() {
            mem::forget(opened);
        } else if opened.is_some() {
            let_go(opened);
        }
    }
}

/// Drops handles without the interpreter: the last one of a database writes and syncs files.
fn let_go<T: Send>(handle: T) {
    let mut handle = Some(handle);
    // During the interpreter's end nothing can be let go of.
    Python::try_attach(|py| py.detach(|| drop(handle.take())));
}

/// A place for a handle of a database.
pub(crate) struct Slot<T: Send + Sync + 'static> {
    pub(crate) session: Arc<Session>,
    /// What a message calls it when it is gone and the database is not.
    what: &'static str,
    held: RwLock<Option<T>>,
}

impl<T: Send + Sync + 'static> Slot<T> {
    pub(crate) fn new(session: &Arc<Session>, what: &'static str, held: T) -> Result<Arc<Self>, Failure> {
        let slot = Arc::new(Slot { session: session.clone(), what, held: RwLock::new(Some(held)) });
        let weak: Weak<Self> = Arc::downgrade(&slot);
        session.register(weak)?;
        Ok(slot)
    }

    /// Calls a step with the handle. The step must not wait for the interpreter: `close` waits for the step.
    #[inline]
    pub(crate) fn with<R>(&self, step: impl FnOnce(&T) -> Result<R, Failure>) -> Result<R, Failure> {
        self.session.check()?;
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let done = step(held.as_ref().ok_or_else(|| self.gone())?);
        drop(held);
        self.session.blame_closing(done)
    }

    fn gone(&self) -> Failure {
        Failure::Closed(if self.session.is_closed() { "the database" } else { self.what })
    }

    /// Takes the handle out.
    pub(crate) fn take(&self) -> Result<T, Failure> {
        self.session.check()?;
        self.held.write().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(|| self.gone())
    }
}

impl<T: Send + Sync + 'static> Empty for Slot<T> {
    fn empty(&self) {
        drop(self.held.write().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl<T: Send + Sync + 'static> Drop for Slot<T> {
    fn drop(&mut self) {
        if !self.session.is_of_this_process() {
            mem::forget(self.held.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}

/// Closes every database of this process that is still open: the interpreter ends.
#[pyfunction]
pub(crate) fn close_all(py: Python<'_>) -> PyResult<()> {
    let sessions: Vec<_> = lock(&SESSIONS).iter().filter_map(Weak::upgrade).collect();
    let mut first = Ok(());
    for session in sessions.iter().filter(|session| session.is_of_this_process()) {
        let closed = detached(py, || session.close());
        first = first.and(closed);
    }
    first
}

/// Notes that this process is the child of a fork.
#[pyfunction]
pub(crate) fn after_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}
