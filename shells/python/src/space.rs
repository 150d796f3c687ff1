//! Keyspaces: reads, and writes of one key. The file holds what a mapping of Python is made of.

use crate::bytes::{Bytes, give};
use crate::cursor::{Cursor, Kind, Scan, Source};
use crate::database::Database;
use crate::expiry::{When, to_seconds, when};
use crate::failure::{Failure, detached};
use crate::handle::{Bounds, Handle};
use crate::range::{Pair, Range, as_slice, bounds_of};
use crate::refusal::refuses_pickling;
use crate::session::Slot;
use crate::snapshot::Snapshot;
use holm::KeyspaceOptions;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cell::Cell;
use std::sync::Arc;

/// A keyspace of an open database or of a snapshot. `holm.Keyspace` extends it.
#[pyclass(frozen, subclass, module = "holm._holm")]
pub(crate) struct Space {
    pub(crate) name: String,
    pub(crate) slot: Arc<Slot<Handle>>,
}

/// The most bytes that a thread keeps for its next read.
const MOST_KEPT: usize = 1 << 16;

thread_local! {
    /// The buffer that values are copied into before Python has its own copy.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Space {
    pub(crate) fn source(&self) -> Source {
        Source::Keyspace(self.slot.clone())
    }

    /// Calls a step with the keyspace, which can be written, and without the interpreter.
    pub(crate) fn write<R: Send>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&holm::Keyspace) -> holm::Result<R> + Send,
    ) -> PyResult<R> {
        detached(py, || self.slot.with(|handle| Ok(step(handle.live()?)?)))
    }

    #[inline]
    fn find<'py>(&self, py: Python<'py>, key: &Bytes<'_>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let (key, mut buffer) = (key.as_ref(), BUFFER.take());
        let found = detached(py, || self.slot.with(|handle| Ok(handle.get_into(key, &mut buffer)?)));
        let value = found.map(|found| found.then(|| give(py, &buffer)));
        if buffer.capacity() <= MOST_KEPT {
            BUFFER.set(buffer);
        }
        value
    }

    fn whole(&self, kind: Kind) -> Range {
        Range::new(self.source(), Bounds::default(), kind)
    }
}

#[pymethods]
impl Space {
    /// Opens a keyspace of a database or snapshot. `create` creates it where it is absent, and `expires` says whether
    /// its keys may expire.
    #[new]
    #[pyo3(signature = (of, name, create = true, expires = None))]
    fn new(py: Python<'_>, of: &Bound<'_, PyAny>, name: String, create: bool, expires: Option<bool>) -> PyResult<Self> {
        let slot = if let Ok(database) = of.cast::<Database>() {
            let database = database.get();
            detached(py, || database.keyspace(&name, create, expires))?
        } else if let Ok(snapshot) = of.cast::<Snapshot>() {
            let snapshot = snapshot.get();
            detached(py, || snapshot.keyspace(&name))?
        } else {
            return Err(PyTypeError::new_err("a keyspace is of a holm.Database or of a holm.Snapshot"));
        };
        let slot = slot.ok_or_else(|| PyKeyError::new_err(name.clone()))?;
        Ok(Space { name, slot })
    }

    /// The keyspace's name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// Whether keys of the keyspace may expire.
    #[getter]
    fn expires(&self) -> PyResult<bool> {
        Ok(self.slot.with(|handle| Ok(handle.has_expiry()))?)
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(slice) = as_slice(key) {
            let range = Range::new(self.source(), bounds_of(slice)?, Kind::Items);
            return Ok(Bound::new(py, range)?.into_any());
        }
        let found = self.find(py, &key.extract()?)?;
        Ok(found.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))?.into_any())
    }

    fn __setitem__(&self, py: Python<'_>, key: Bytes<'_>, value: Bytes<'_>) -> PyResult<()> {
        let (key, value) = (key.as_ref(), value.as_ref());
        self.write(py, |keyspace| keyspace.insert(key, value))
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(slice) = as_slice(key) {
            let bounds = bounds_of(slice)?;
            return self.write(py, |keyspace| keyspace.remove_range::<&[u8]>(bounds.as_range()).map(drop));
        }
        if self.remove(py, key.extract()?)? { Ok(()) } else { Err(PyKeyError::new_err(key.clone().unbind())) }
    }

    fn __contains__(&self, py: Python<'_>, key: Bytes<'_>) -> PyResult<bool> {
        let key = key.as_ref();
        detached(py, || self.slot.with(|handle| Ok(handle.contains_key(key)?)))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let len = detached(py, || self.slot.with(|handle| Ok(handle.len()?)))?;
        Ok(len as usize)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        detached(py, || {
            self.slot.with(|handle| Ok(handle.range(&Bounds::default()).limit(1).next().transpose()?.is_some()))
        })
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Py<Cursor>> {
        self.slot.session.check()?;
        Py::new(py, Cursor::new(Scan::new(self.source(), Bounds::default(), false, None), Kind::Keys))
    }

    fn __reversed__(&self, py: Python<'_>) -> PyResult<Py<Cursor>> {
        self.slot.session.check()?;
        Py::new(py, Cursor::new(Scan::new(self.source(), Bounds::default(), true, None), Kind::Keys))
    }

    /// The value of a key, or `default`.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: Bytes<'py>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.find(py, &key)?.map(Bound::into_any).or(default))
    }

    /// Stores a value under a key, as `keyspace[key] = value` does. In a keyspace whose keys may expire, `ttl` (seconds
    /// or a timedelta) or `until` (a datetime or seconds since 1970) says when the key does; without them it stays.
    #[pyo3(signature = (key, value, *, ttl = None, until = None))]
    fn put(
        &self,
        py: Python<'_>,
        key: Bytes<'_>,
        value: Bytes<'_>,
        ttl: Option<&Bound<'_, PyAny>>,
        until: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (key, value, when) = (key.as_ref(), value.as_ref(), when(ttl, until)?);
        self.write(py, |keyspace| match when {
            None => keyspace.insert(key, value),
            Some(When::In(lifetime)) => keyspace.insert_for(key, value, lifetime),
            Some(When::At(time)) => keyspace.insert_until(key, value, time),
        })
    }

    /// Removes a key and returns whether it was present.
    fn remove(&self, py: Python<'_>, key: Bytes<'_>) -> PyResult<bool> {
        let key = key.as_ref();
        self.write(py, |keyspace| keyspace.remove(key))
    }

    /// The pair with the least key, or `None`.
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Pair<'py>>> {
        self.whole(Kind::Items).first(py)
    }

    /// The pair with the greatest key, or `None`.
    fn last<'py>(&self, py: Python<'py>) -> PyResult<Option<Pair<'py>>> {
        self.whole(Kind::Items).last(py)
    }

    /// The pairs from `start` up to and without `stop`; `None` is an open end.
    #[pyo3(signature = (start = None, stop = None, *, reverse = false, limit = None))]
    fn range(&self, start: Option<Bytes<'_>>, stop: Option<Bytes<'_>>, reverse: bool, limit: Option<usize>) -> Range {
        Range::new(self.source(), Bounds::between(start, stop), Kind::Items).with(reverse, limit)
    }

    /// The pairs whose keys begin with a prefix.
    #[pyo3(signature = (prefix, *, reverse = false, limit = None))]
    fn prefix(&self, prefix: Bytes<'_>, reverse: bool, limit: Option<usize>) -> Range {
        Range::new(self.source(), Bounds::of_prefix(prefix.as_ref()), Kind::Items).with(reverse, limit)
    }

    /// Removes all pairs, leaf after leaf.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, |keyspace| keyspace.clear().map(drop))
    }

    /// When a key expires, in seconds since 1970, or `None` for never. Absent keys are a `KeyError`.
    #[pyo3(name = "_expiry_seconds")]
    fn expiry_seconds(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
        let bytes: Bytes<'_> = key.extract()?;
        let bytes = bytes.as_ref();
        let expiry = detached(py, || self.slot.with(|handle| Ok(handle.expiry(bytes)?)))?;
        Ok(to_seconds(expiry.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))?))
    }

    /// Changes when a key expires and keeps its value; returns whether the key is present.
    #[pyo3(signature = (key, *, ttl = None, until = None))]
    fn expire(
        &self,
        py: Python<'_>,
        key: Bytes<'_>,
        ttl: Option<&Bound<'_, PyAny>>,
        until: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let (key, when) = (key.as_ref(), when(ttl, until)?);
        let when = when.ok_or_else(|| Failure::Invalid("no time: give ttl or until, or call persist".into()))?;
        self.write(py, |keyspace| match when {
            When::In(lifetime) => keyspace.expire_in(key, lifetime),
            When::At(time) => keyspace.expire_at(key, time),
        })
    }

    /// Returns when every write to the database before the call survives a power cut.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.slot.session.write(holm::Database::sync))
    }

    /// The number of the open database among those that are open now.
    #[getter]
    #[pyo3(name = "_session")]
    fn session(&self) -> usize {
        Arc::as_ptr(&self.slot.session).addr()
    }

    /// Lets a key stay for good; returns whether it was present and would have expired.
    fn persist(&self, py: Python<'_>, key: Bytes<'_>) -> PyResult<bool> {
        let key = key.as_ref();
        self.write(py, |keyspace| keyspace.persist(key))
    }
}

refuses_pickling!(Space, "a keyspace");

/// The options of a keyspace that is created.
pub(crate) fn options(expires: Option<bool>) -> KeyspaceOptions {
    KeyspaceOptions::new().expires(expires.unwrap_or(false))
}
