//! Why a call fails, and the exception of `holm._errors` that says so.

use pyo3::exceptions::PyException;
use pyo3::prelude::*;

/// Why a call fails. Made without the interpreter, and turned into an exception once the call has it again.
pub(crate) enum Failure {
    Store(holm::Error),
    /// The database, or what the text names, is closed.
    Closed(&'static str),
    /// The process is a child of the one that opened the database.
    Forked,
    /// A write to what can only be read.
    ReadOnly(&'static str),
    Invalid(String),
    Python(PyErr),
}

impl From<holm::Error> for Failure {
    fn from(error: holm::Error) -> Self {
        Failure::Store(error)
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Failure::Python(error)
    }
}

/// Returns the name of the exception for an error of the store.
fn name_of(error: &holm::Error) -> &'static str {
    use holm::Error as E;
    match error {
        E::NotFound { .. } => "NotFoundError",
        E::Io { .. } => "StorageError",
        E::NoSpace { .. } | E::Capacity { .. } => "NoSpaceError",
        E::Corrupt { .. } => "CorruptError",
        E::Foreign { .. } | E::Version { .. } | E::Geometry { .. } => "FormatError",
        E::Locked { .. } => "LockedError",
        E::ReadOnly { .. } | E::OutOfEpochs { .. } => "ReadOnlyError",
        E::NotClean { .. } => "NotCleanError",
        E::Poisoned { .. } => "PoisonedError",
        E::Unsupported { .. } => "UnsupportedError",
        E::TooLarge { .. } => "TooLargeError",
        E::Invalid { .. } => "InvalidError",
        E::Overflow { .. } => "NumberOverflowError",
        E::Conflict => "ConflictError",
        E::Ended => "SnapshotEndedError",
        E::WrongBase { .. } => "WrongBaseError",
        E::Lagged { .. } => "FeedLaggedError",
        E::Closed { .. } => "ClosedError",
        E::Dropped { .. } => "DroppedError",
        _ => "HolmError",
    }
}

/// Makes an exception of `holm._errors`.
fn exception(name: &str, message: String, holder: Option<u32>) -> PyErr {
    // Imported each time: a process may have several interpreters, each with classes of its own.
    let make = |py: Python<'_>| -> PyResult<PyErr> {
        let made = py.import("holm._errors")?.getattr(name)?.call1((&message,))?;
        if name == "LockedError" {
            made.setattr("holder", holder)?;
        }
        Ok(PyErr::from_value(made))
    };
    Python::attach(|py| make(py).unwrap_or_else(|_| PyException::new_err(message.clone())))
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Python(error) => error,
            Failure::Store(error) => {
                let holder = if let holm::Error::Locked { holder, .. } = &error { *holder } else { None };
                exception(name_of(&error), error.to_string(), holder)
            }
            Failure::Closed(what) => exception("ClosedError", format!("{what} is closed"), None),
            Failure::Forked => {
                let message = "the database was opened by the parent of this process: open it here, after the parent \
                               has closed it";
                exception("ForkError", message.into(), None)
            }
            Failure::ReadOnly(what) => exception("ReadOnlyError", format!("{what} cannot be written"), None),
            Failure::Invalid(message) => exception("InvalidError", message, None),
        }
    }
}

/// Runs a step without the interpreter, so that other threads have it meanwhile.
pub(crate) fn detached<R: Send>(py: Python<'_>, step: impl FnOnce() -> Result<R, Failure> + Send) -> PyResult<R> {
    py.detach(step).map_err(PyErr::from)
}
