//! Change feeds: what each epoch has changed, once it is durable.

use crate::bytes::give;
use crate::database::Database;
use crate::expiry::{timeout, to_seconds};
use crate::failure::{Failure, detached};
use crate::refusal::refuses_pickling;
use crate::session::{Slot, lock};
use crate::snapshot::Snapshot;
use holm::Change;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a feed waits before it lets Python handle signals, and `close` close the database.
const SLICE: Duration = Duration::from_millis(50);

/// The changes from a moment on. `holm.Feed` extends it.
#[pyclass(frozen, subclass, module = "holm._holm")]
pub(crate) struct Feed {
    slot: Arc<Slot<Mutex<holm::Feed>>>,
}

/// What one epoch has changed. `holm.Changes` has the changes themselves.
#[pyclass(frozen, module = "holm._holm")]
pub(crate) struct Changes(holm::Changes);

#[pymethods]
impl Feed {
    /// Begins a feed of a database that holds at most `bytes` of changes that were not taken. Of a feed, it is another
    /// object.
    #[new]
    fn new(py: Python<'_>, of: &Bound<'_, PyAny>, bytes: usize) -> PyResult<Self> {
        if let Ok(feed) = of.cast::<Feed>() {
            return Ok(Feed { slot: feed.get().slot.clone() });
        }
        let database = of.cast::<Database>()?.get();
        let slot = detached(py, || {
            let feed = database.session.write(|database| database.feed(bytes))?;
            Slot::new(&database.session, "the feed", Mutex::new(feed))
        })?;
        Ok(Feed { slot })
    }

    /// The epoch after which the feed begins.
    #[getter]
    fn since(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || self.slot.with(|feed| Ok(lock(feed).since())))
    }

    /// Returns the changes of the next epoch that is durable, or `None` after `timeout` seconds without one. Without a
    /// timeout it waits.
    #[pyo3(signature = (timeout = None))]
    #[pyo3(name = "_next")]
    fn next_raw(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Changes>> {
        let until = self::timeout(timeout)?.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            let left = until.map_or(SLICE, |until| until.saturating_duration_since(Instant::now()));
            let slice = left.min(SLICE);
            let next = detached(py, || self.slot.with(|feed| Ok(lock(feed).next(slice)?)))?;
            if let Some(changes) = next {
                return Ok(Some(Changes(changes)));
            }
            py.check_signals()?;
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(None);
            }
        }
    }

    /// Ends the feed. A second call does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || match self.slot.take() {
            Ok(_) | Err(Failure::Closed(_)) => Ok(()),
            Err(failure) => Err(failure),
        })
    }
}

refuses_pickling!(Feed, "a feed");

#[pymethods]
impl Database {
    /// Takes a snapshot and the feed that continues it.
    #[pyo3(name = "_snapshot_and_feed")]
    fn snapshot_and_feed_raw(&self, py: Python<'_>, bytes: usize) -> PyResult<(Snapshot, Feed)> {
        detached(py, || {
            let (snapshot, feed) = self.session.write(|database| database.snapshot_and_feed(bytes))?;
            let snapshot = Snapshot::of(Slot::new(&self.session, "the snapshot", snapshot)?);
            Ok((snapshot, Feed { slot: Slot::new(&self.session, "the feed", Mutex::new(feed))? }))
        })
    }
}

#[pymethods]
impl Changes {
    /// The epoch.
    #[getter]
    fn epoch(&self) -> u64 {
        self.0.epoch()
    }

    /// The mark at the end of the epoch, if the epoch has changed it.
    #[getter]
    fn mark(&self) -> Option<u64> {
        self.0.mark()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// All changes as tuples, in the order in which a replica applies them: the kind, and the fields of the change.
    fn tuples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let changes = PyList::empty(py);
        for change in self.0.iter() {
            match change {
                Change::Drop { keyspace } => changes.append(("drop", keyspace))?,
                Change::Create { keyspace, options, .. } => {
                    changes.append(("create", keyspace, options.has_expiry()))?
                }
                Change::Remove { keyspace, key } => changes.append(("remove", keyspace, give(py, key)))?,
                Change::Put { keyspace, key, value, expiry, .. } => {
                    changes.append(("put", keyspace, give(py, key), give(py, value), to_seconds(expiry)))?;
                }
                _ => {}
            }
        }
        Ok(changes)
    }
}
