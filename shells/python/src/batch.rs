//! Batches: writes that take effect at one instant, without reads.

use crate::bytes::Bytes;
use crate::database::Database;
use crate::expiry::{When, when};
use crate::failure::{Failure, detached};
use crate::refusal::refuses_pickling;
use crate::session::{Slot, lock};
use crate::space::Space;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex};

/// Writes that are not committed yet. `holm.Batch` extends it.
#[pyclass(frozen, subclass, module = "holm._holm")]
pub(crate) struct Batch {
    /// `None` while a write is added.
    slot: Arc<Slot<Mutex<Option<holm::Batch>>>>,
}

impl Batch {
    /// Replaces the batch by what a step makes of it.
    fn add(
        &self,
        space: &Space,
        step: impl FnOnce(holm::Batch, &holm::Keyspace) -> holm::Batch,
    ) -> Result<(), Failure> {
        self.slot.with(|batch| {
            space.slot.with(|handle| {
                let keyspace = handle.live()?;
                let mut batch = lock(batch);
                let taken = batch.take().ok_or(Failure::Closed("the batch"))?;
                *batch = Some(step(taken, keyspace));
                Ok(())
            })
        })
    }
}

#[pymethods]
impl Batch {
    #[new]
    fn new(database: &Database) -> PyResult<Self> {
        let batch = database.session.write(|database| Ok::<_, Failure>(database.batch()))?;
        Ok(Batch { slot: Slot::new(&database.session, "the batch", Mutex::new(Some(batch)))? })
    }

    #[pyo3(name = "_put_into")]
    fn put_into(
        &self,
        space: &Space,
        key: Bytes<'_>,
        value: Bytes<'_>,
        ttl: Option<&Bound<'_, PyAny>>,
        until: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (key, value, when) = (key.as_ref(), value.as_ref(), when(ttl, until)?);
        Ok(self.add(space, |batch, keyspace| match when {
            None => batch.insert(keyspace, key, value),
            Some(When::In(lifetime)) => batch.insert_for(keyspace, key, value, lifetime),
            Some(When::At(time)) => batch.insert_until(keyspace, key, value, time),
        })?)
    }

    #[pyo3(name = "_remove_from")]
    fn remove_from(&self, space: &Space, key: Bytes<'_>) -> PyResult<()> {
        Ok(self.add(space, |batch, keyspace| batch.remove(keyspace, key.as_ref()))?)
    }

    /// Sets the database's mark with the batch.
    fn set_mark(&self, mark: u64) -> PyResult<()> {
        Ok(self.slot.with(|batch| {
            let mut batch = lock(batch);
            *batch = batch.take().map(|batch| batch.set_mark(mark));
            Ok(())
        })?)
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(self.slot.with(|batch| Ok(lock(batch).as_ref().map_or(0, holm::Batch::len)))?)
    }

    /// Applies all writes at one instant. The batch is then over.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || {
            let batch = lock(&self.slot.take()?).take();
            self.slot.session.blame_closing(batch.ok_or(Failure::Closed("the batch"))?.commit())
        })
    }

    /// Forgets all writes. The batch is then over; a second call does nothing.
    fn discard(&self) {
        drop(self.slot.take());
    }
}

refuses_pickling!(Batch, "a batch");
