//! Snapshots: the database as it was at one instant.

use crate::backup::Info;
use crate::database::Database;
use crate::expiry::timeout;
use crate::failure::{Failure, detached};
use crate::handle::Handle;
use crate::refusal::refuses_pickling;
use crate::session::Slot;
use crate::stream::Writer;
use pyo3::prelude::*;
use std::sync::Arc;

/// The database as it was. `holm.Snapshot` extends it.
#[pyclass(frozen, subclass, module = "holm._holm")]
pub(crate) struct Snapshot {
    slot: Arc<Slot<holm::Snapshot>>,
}

impl Snapshot {
    pub(crate) fn keyspace(&self, name: &str) -> Result<Option<Arc<Slot<Handle>>>, Failure> {
        let keyspace = self.slot.with(|snapshot| Ok(snapshot.keyspace(name)))?;
        let slot = |keyspace| Slot::new(&self.slot.session, "the snapshot's keyspace", Handle::Past(keyspace));
        keyspace.map(slot).transpose()
    }

    pub(crate) fn of(slot: Arc<Slot<holm::Snapshot>>) -> Self {
        Snapshot { slot }
    }
}

#[pymethods]
impl Snapshot {
    /// Takes a snapshot of a database, or shares one that is at most `within` seconds old. Of a snapshot, it is another
    /// object.
    #[new]
    #[pyo3(signature = (of, within = None))]
    fn new(py: Python<'_>, of: &Bound<'_, PyAny>, within: Option<f64>) -> PyResult<Self> {
        if let Ok(snapshot) = of.cast::<Snapshot>() {
            return Ok(Snapshot { slot: snapshot.get().slot.clone() });
        }
        let (database, within) = (of.cast::<Database>()?.get(), timeout(within)?);
        let slot = detached(py, || {
            let take = |database: &holm::Database| {
                within.map_or_else(|| database.snapshot(), |age| database.snapshot_within(age))
            };
            let snapshot = database.session.write(take)?;
            Slot::new(&database.session, "the snapshot", snapshot)
        })?;
        Ok(Snapshot { slot })
    }

    /// The names of the keyspaces as they were.
    fn keyspaces(&self) -> PyResult<Vec<String>> {
        Ok(self.slot.with(|snapshot| Ok(snapshot.keyspaces()))?)
    }

    /// The epoch in which the snapshot was taken.
    #[getter]
    fn epoch(&self) -> PyResult<u64> {
        Ok(self.slot.with(|snapshot| Ok(snapshot.epoch()))?)
    }

    /// The mark as it was.
    fn mark(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        detached(py, || self.slot.with(|snapshot| Ok(snapshot.mark()?)))
    }

    /// Lets the snapshot go. Its keyspaces and iterators keep what they need until they are gone as well.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || match self.slot.take() {
            Ok(_) | Err(Failure::Closed(_)) => Ok(()),
            Err(failure) => Err(failure),
        })
    }

    #[pyo3(name = "_write_to")]
    fn write_to(&self, py: Python<'_>, file: Py<PyAny>, since: u64) -> PyResult<Info> {
        let mut writer = Writer::new(file);
        let info = detached(py, || {
            let snapshot = self.slot.with(|snapshot| Ok(snapshot.clone()))?;
            Ok(snapshot.write_since(since, &mut writer))
        })?;
        writer.finish(py, info)
    }
}

refuses_pickling!(Snapshot, "a snapshot");
