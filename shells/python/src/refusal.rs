//! Why an object cannot be pickled or copied.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The exception of `__reduce__`.
pub(crate) fn pickling(kind: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "{kind} cannot be pickled or copied: it is a handle of a database that this process has open. \
         Pass the path, and open the database in one process"
    ))
}

/// Refuses to be pickled.
macro_rules! refuses_pickling {
    ($class:ty, $kind:literal) => {
        #[pymethods]
        impl $class {
            fn __reduce__(&self) -> PyResult<()> {
                Err($crate::refusal::pickling($kind))
            }
        }
    };
}
pub(crate) use refuses_pickling;
