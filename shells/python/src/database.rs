//! Open databases. A database is also its keyspace `default`, so `db[key]` needs no name.

use crate::expiry::timeout;
use crate::failure::{Failure, detached};
use crate::handle::Handle;
use crate::refusal::refuses_pickling;
use crate::session::{Opened, Session, Slot};
use crate::space::{Space, options};
use holm::{Builder, Durability, ImageMode, Sweep};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// The keyspace that every database has.
const DEFAULT: &str = "default";

/// An open database. `holm.Database` extends it.
#[pyclass(frozen, subclass, extends = Space, module = "holm._holm")]
pub(crate) struct Database {
    pub(crate) session: Arc<Session>,
    path: PathBuf,
}

/// Reads the argument `durability`, with the interval of `buffered` in seconds.
fn durability_of(name: &str, interval: Option<f64>) -> PyResult<Durability> {
    match (name, timeout(interval)?) {
        ("buffered", None) => Ok(Durability::default()),
        ("buffered", Some(interval)) => Ok(Durability::Buffered { interval }),
        ("strict", None) => Ok(Durability::Strict),
        ("onsync", None) => Ok(Durability::OnSync),
        ("strict" | "onsync", Some(_)) => {
            Err(Failure::Invalid(format!("an interval, which durability {name:?} has not")).into())
        }
        _ => {
            let what = format!("durability {name:?}; expected \"buffered\", \"strict\" or \"onsync\"");
            Err(Failure::Invalid(what).into())
        }
    }
}

/// The options of an open, as Python gives them.
#[derive(FromPyObject)]
struct Options {
    #[pyo3(item)]
    durability: String,
    #[pyo3(item)]
    interval: Option<f64>,
    #[pyo3(item)]
    create: bool,
    #[pyo3(item)]
    read_only: bool,
    #[pyo3(item)]
    private: bool,
    #[pyo3(item)]
    capacity: Option<u64>,
    #[pyo3(item)]
    log_bytes: Option<u64>,
    #[pyo3(item)]
    snapshot_bytes: Option<u64>,
    #[pyo3(item)]
    sweep: Option<f64>,
    #[pyo3(item)]
    design: Option<String>,
}

impl Options {
    fn builder(&self) -> PyResult<Builder> {
        let mut builder = holm::Database::builder().create(self.create);
        builder = builder.durability(durability_of(&self.durability, self.interval)?);
        if self.private {
            builder = builder.image(ImageMode::Private);
        }
        if let Some(bytes) = self.capacity {
            builder = builder.capacity(bytes);
        }
        if let Some(bytes) = self.log_bytes {
            builder = builder.log_bytes(bytes);
        }
        if let Some(bytes) = self.snapshot_bytes {
            builder = builder.snapshot_bytes(bytes);
        }
        if let Some(name) = &self.design {
            builder = builder.design(name);
        }
        Ok(match timeout(self.sweep)? {
            None => builder,
            Some(pause) if pause.is_zero() => builder.sweep(Sweep::Manual),
            Some(pause) => builder.sweep(Sweep::Every(pause)),
        })
    }
}

impl Database {
    /// Opens a keyspace; `None` if it is absent and shall not be created.
    pub(crate) fn keyspace(
        &self,
        name: &str,
        create: bool,
        expires: Option<bool>,
    ) -> Result<Option<Arc<Slot<Handle>>>, Failure> {
        let handle = self.session.with(|opened| {
            Ok(match opened {
                Opened::Writable(database) if create => {
                    // Without a wish, a keyspace that exists is opened as it is.
                    let existing = if expires.is_none() { database.existing_keyspace(name)? } else { None };
                    let made = existing.map_or_else(|| database.keyspace_with(name, &options(expires)), Ok)?;
                    Some(Handle::Live(made))
                }
                Opened::Writable(database) => database.existing_keyspace(name)?.map(Handle::Live),
                Opened::ReadOnly(database) => database.existing_keyspace(name)?.map(Handle::ReadOnly),
            })
        })?;
        handle.map(|handle| Slot::new(&self.session, "the keyspace", handle)).transpose()
    }
}

#[pymethods]
impl Database {
    /// Opens a database, and creates it if it is absent.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, options: Options) -> PyResult<PyClassInitializer<Self>> {
        let builder = options.builder()?;
        let opened = detached(py, || {
            Ok(if options.read_only {
                Opened::ReadOnly(builder.open_read_only(&path)?)
            } else {
                Opened::Writable(builder.open(&path)?)
            })
        })?;
        let database = Database { session: Session::new(opened), path };
        let slot = detached(py, || database.keyspace(DEFAULT, true, None))?;
        let slot = slot.ok_or_else(|| Failure::Invalid("a database without its default keyspace".into()))?;
        let space = Space { name: DEFAULT.into(), slot };
        Ok(PyClassInitializer::from(space).add_subclass(database))
    }

    /// The folder of the database.
    #[getter]
    fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Whether the database is closed.
    #[getter]
    fn closed(&self) -> bool {
        self.session.is_closed()
    }

    /// Makes everything durable, closes the database and releases its lock. Every object that was made with it then
    /// raises `ClosedError`. A second call does nothing. Within a function that `transact` calls, the lock is released
    /// when `transact` returns.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        detached(py, || self.session.close())
    }

    /// The names of all keyspaces, in order.
    fn keyspaces(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detached(py, || {
            self.session.with(|opened| {
                Ok(match opened {
                    Opened::Writable(database) => database.keyspaces()?,
                    Opened::ReadOnly(database) => database.keyspaces()?,
                })
            })
        })
    }

    /// Removes a keyspace with all its pairs, and returns whether it existed.
    fn drop_keyspace(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        detached(py, || self.session.write(|database| database.drop_keyspace(name)))
    }

    /// Removes the records that have expired, and returns how many there were.
    fn sweep(&self, py: Python<'_>) -> PyResult<u64> {
        detached(py, || self.session.write(holm::Database::sweep))
    }

    /// The mark that was committed last, or `None`.
    fn mark(&self, py: Python<'_>) -> PyResult<Option<u64>> {
        detached(py, || {
            self.session.with(|opened| {
                Ok(match opened {
                    Opened::Writable(database) => database.mark()?,
                    Opened::ReadOnly(database) => database.mark()?,
                })
            })
        })
    }

    /// The mark that survives a power cut, or `None`.
    fn durable_mark(&self) -> PyResult<Option<u64>> {
        Ok(self.session.write(|database| Ok::<_, Failure>(database.durable_mark()))?)
    }

    #[pyo3(name = "_stats_json")]
    fn stats_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || {
            self.session.with(|opened| match opened {
                Opened::Writable(database) => json(&database.stats()),
                Opened::ReadOnly(database) => json(&database.stats()),
            })
        })
    }

    #[pyo3(name = "_recovery_json")]
    fn recovery_json(&self) -> PyResult<String> {
        Ok(self.session.with(|opened| match opened {
            Opened::Writable(database) => json(database.recovery()),
            Opened::ReadOnly(database) => json(database.recovery()),
        })?)
    }

    #[pyo3(name = "_check_json")]
    fn check_json(&self, py: Python<'_>) -> PyResult<String> {
        detached(py, || {
            self.session.with(|opened| match opened {
                Opened::Writable(database) => json(&database.check()?),
                Opened::ReadOnly(database) => json(&database.check()?),
            })
        })
    }
}

refuses_pickling!(Database, "a database");

/// Returns a report of the store as the text of JSON, which Python reads.
pub(crate) fn json(report: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string(report).map_err(|error| Failure::Invalid(error.to_string()))
}
