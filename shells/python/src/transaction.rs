//! Transactions, and keyspaces as a transaction sees them.

use crate::bytes::{Bytes, give};
use crate::cursor::{Cursor, Kind, Scan, Source};
use crate::database::Database;
use crate::expiry::{When, when};
use crate::failure::{Failure, detached};
use crate::handle::{Bounds, Handle};
use crate::range::{Pair, Range, as_slice, bounds_of};
use crate::refusal::refuses_pickling;
use crate::session::{Session, Slot, lock};
use crate::space::Space;
use crate::transact::Lent;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A transaction that has not ended, and how often it was written to.
pub(crate) struct TransactionCore {
    slot: Arc<Slot<Mutex<holm::Transaction>>>,
    writes: AtomicU64,
}

impl TransactionCore {
    pub(crate) fn new(session: &Arc<Session>, transaction: holm::Transaction) -> Result<Arc<Self>, Failure> {
        let slot = Slot::new(session, "the transaction", Mutex::new(transaction))?;
        Ok(Arc::new(TransactionCore { slot, writes: AtomicU64::new(0) }))
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.slot.session
    }

    /// Calls a step with the transaction and a keyspace.
    pub(crate) fn with<R>(
        &self,
        space: &Slot<Handle>,
        step: impl FnOnce(&holm::Transaction, &holm::Keyspace) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        self.slot.with(|transaction| space.with(|handle| step(&lock(transaction), handle.live()?)))
    }

    /// The same with a step that writes, which cursors of the transaction must see.
    pub(crate) fn write<R>(
        &self,
        space: &Slot<Handle>,
        step: impl FnOnce(&holm::Transaction, &holm::Keyspace) -> Result<R, Failure>,
    ) -> Result<R, Failure> {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.with(space, step)
    }

    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Relaxed)
    }

    /// Ends the transaction for Python.
    pub(crate) fn take(&self) -> Result<holm::Transaction, Failure> {
        let transaction = self.slot.take()?;
        Ok(transaction.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}

/// A keyspace as a transaction sees it. `holm.TransactionKeyspace` extends it.
#[pyclass(frozen, subclass, module = "holm._holm")]
pub(crate) struct TransactionSpace {
    core: Arc<TransactionCore>,
    space: Arc<Slot<Handle>>,
    name: String,
}

impl TransactionSpace {
    fn source(&self) -> Source {
        Source::Transaction(self.core.clone(), self.space.clone())
    }

    fn read<R: Send>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&holm::Transaction, &holm::Keyspace) -> holm::Result<R> + Send,
    ) -> PyResult<R> {
        detached(py, || self.core.with(&self.space, |transaction, keyspace| Ok(step(transaction, keyspace)?)))
    }

    fn write<R: Send>(
        &self,
        py: Python<'_>,
        step: impl FnOnce(&holm::Transaction, &holm::Keyspace) -> holm::Result<R> + Send,
    ) -> PyResult<R> {
        detached(py, || self.core.write(&self.space, |transaction, keyspace| Ok(step(transaction, keyspace)?)))
    }

    fn cursor(&self, py: Python<'_>, reverse: bool) -> PyResult<Py<Cursor>> {
        Py::new(py, Cursor::new(Scan::new(self.source(), Bounds::default(), reverse, None), Kind::Keys))
    }

    fn whole(&self) -> Range {
        Range::new(self.source(), Bounds::default(), Kind::Items)
    }
}

#[pymethods]
impl TransactionSpace {
    #[new]
    fn new(transaction: &Bound<'_, TransactionSpace>, space: &Bound<'_, Space>) -> Self {
        let (core, space) = (transaction.get().core.clone(), space.get());
        TransactionSpace { core, space: space.slot.clone(), name: space.name.clone() }
    }

    /// The keyspace's name.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(slice) = as_slice(key) {
            let range = Range::new(self.source(), bounds_of(slice)?, Kind::Items);
            return Ok(Bound::new(py, range)?.into_any());
        }
        let found = self.get(py, key.extract()?, None)?;
        found.ok_or_else(|| PyKeyError::new_err(key.clone().unbind()))
    }

    fn __setitem__(&self, py: Python<'_>, key: Bytes<'_>, value: Bytes<'_>) -> PyResult<()> {
        self.put(py, key, value, None, None)
    }

    fn __delitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(slice) = as_slice(key) {
            let bounds = bounds_of(slice)?;
            return self.write(py, |transaction, keyspace| {
                transaction.remove_range::<&[u8]>(keyspace, bounds.as_range()).map(drop)
            });
        }
        if self.remove(py, key.extract()?)? { Ok(()) } else { Err(PyKeyError::new_err(key.clone().unbind())) }
    }

    fn __contains__(&self, py: Python<'_>, key: Bytes<'_>) -> PyResult<bool> {
        let key = key.as_ref();
        self.read(py, |transaction, keyspace| transaction.contains_key(keyspace, key))
    }

    /// Counts the pairs. It reads all of them.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.whole().count(py)? as usize)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.whole().first(py)?.is_some())
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Py<Cursor>> {
        self.cursor(py, false)
    }

    fn __reversed__(&self, py: Python<'_>) -> PyResult<Py<Cursor>> {
        self.cursor(py, true)
    }

    /// The value of a key, or `default`.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: Bytes<'py>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let key = key.as_ref();
        let found = self.read(py, |transaction, keyspace| transaction.get(keyspace, key))?;
        Ok(found.map(|value| give(py, &value).into_any()).or(default))
    }

    /// Stores a value when the transaction commits. `ttl` and `until` say when the key expires.
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
        self.write(py, |transaction, keyspace| match when {
            None => transaction.insert(keyspace, key, value),
            Some(When::In(lifetime)) => transaction.insert_for(keyspace, key, value, lifetime),
            Some(When::At(time)) => transaction.insert_until(keyspace, key, value, time),
        })
    }

    /// Removes a key and returns whether it was present.
    fn remove(&self, py: Python<'_>, key: Bytes<'_>) -> PyResult<bool> {
        let key = key.as_ref();
        self.write(py, |transaction, keyspace| Ok(transaction.take(keyspace, key)?.is_some()))
    }

    /// Removes a key and returns its value. Without the key: `default` if one is given, and else a `KeyError`.
    #[pyo3(signature = (key, *default))]
    fn pop<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let bytes: Bytes<'_> = key.extract()?;
        let bytes = bytes.as_ref();
        if let Some(value) = self.write(py, |transaction, keyspace| transaction.take(keyspace, bytes))? {
            return Ok(give(py, &value).into_any());
        }
        default.get_item(0).map_err(|_| PyKeyError::new_err(key.clone().unbind()))
    }

    /// The pair with the least key, or `None`.
    fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Pair<'py>>> {
        self.whole().first(py)
    }

    /// The pair with the greatest key, or `None`.
    fn last<'py>(&self, py: Python<'py>) -> PyResult<Option<Pair<'py>>> {
        self.whole().last(py)
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

    /// Removes all pairs.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.write(py, |transaction, keyspace| transaction.remove_range::<&[u8]>(keyspace, ..).map(drop))
    }
}

refuses_pickling!(TransactionSpace, "a transaction");

/// A transaction, which is also its view of the keyspace `default`. `holm.Transaction` extends it.
#[pyclass(frozen, subclass, extends = TransactionSpace, module = "holm._holm")]
pub(crate) struct Transaction;

/// What `commit` returns: proof of a commit, by which its durability can be awaited.
#[pyclass(frozen, module = "holm")]
pub(crate) struct Receipt {
    slot: Arc<Slot<holm::Receipt>>,
}

#[pymethods]
impl Transaction {
    /// Begins a transaction, or makes an object of one that `transact` has begun.
    #[new]
    fn new(of: &Bound<'_, PyAny>, default: &Bound<'_, Space>) -> PyResult<PyClassInitializer<Self>> {
        let core = if let Ok(database) = of.cast::<Database>() {
            let session = &database.get().session;
            TransactionCore::new(session, session.write(|database| Ok::<_, Failure>(database.begin()))?)?
        } else if let Ok(lent) = of.cast::<Lent>() {
            lent.get().core.clone()
        } else {
            return Err(PyTypeError::new_err("a transaction is of a holm.Database"));
        };
        let space = default.get();
        let view = TransactionSpace { core, space: space.slot.clone(), name: space.name.clone() };
        Ok(PyClassInitializer::from(view).add_subclass(Transaction))
    }

    /// Sets the database's mark with the transaction.
    fn set_mark(slf: PyRef<'_, Self>, mark: u64) -> PyResult<()> {
        let core = &slf.as_super().core;
        Ok(core.slot.with(|transaction| Ok(lock(transaction).set_mark(mark)?))?)
    }

    /// Makes all writes take effect at one instant. `ConflictError` if what was read has changed; nothing has happened
    /// then. The transaction is over in any case.
    fn commit(slf: PyRef<'_, Self>, py: Python<'_>) -> PyResult<Receipt> {
        let core = slf.as_super().core.clone();
        let slot = detached(py, || {
            let receipt = core.session().blame_closing(core.take()?.commit())?;
            Slot::new(core.session(), "the receipt", receipt)
        })?;
        Ok(Receipt { slot })
    }

    /// Forgets the transaction. A second call does nothing.
    fn discard(slf: PyRef<'_, Self>) {
        drop(slf.as_super().core.take());
    }

    /// Whether the transaction has been committed or discarded.
    #[getter]
    fn ended(slf: PyRef<'_, Self>) -> bool {
        slf.as_super().core.slot.with(|_| Ok(())).is_err()
    }
}

refuses_pickling!(Transaction, "a transaction");

#[pymethods]
impl Receipt {
    /// The epoch of the commit.
    #[getter]
    fn epoch(&self) -> PyResult<u64> {
        Ok(self.slot.with(|receipt| Ok(receipt.epoch()))?)
    }

    /// Returns when the commit survives a power cut.
    fn wait_durable(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.slot.with(|receipt| Ok(receipt.wait_durable()?)))
    }
}

refuses_pickling!(Receipt, "a receipt");
