//! What a call accepts as key or value: `bytes`, `str` (as UTF-8), and whatever lends its bytes, such as `bytearray`,
//! `memoryview` and arrays. Results are always `bytes`.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView, PyString};
use pyo3::{Borrowed, Bound};

/// A key or a value of the caller.
pub(crate) enum Bytes<'py> {
    Lent(Bound<'py, PyBytes>),
    Text(PyBackedStr),
    /// A copy, because the caller can change its own.
    Copied(Vec<u8>),
}

impl AsRef<[u8]> for Bytes<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Bytes::Lent(bytes) => bytes.as_bytes(),
            Bytes::Text(text) => text.as_bytes(),
            Bytes::Copied(bytes) => bytes,
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Bytes<'py> {
    type Error = PyErr;

    #[inline]
    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Bytes::Lent(bytes.to_owned()));
        }
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Bytes::Text(text.to_owned().try_into()?));
        }
        extract_other(object)
    }
}

fn extract_other<'py>(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Bytes<'py>> {
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        return Ok(Bytes::Copied(bytes.to_vec()));
    }
    // What has no buffer is refused here; `bytes` itself would take a number as a length.
    let Ok(view) = PyMemoryView::from(&object) else {
        let kind = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "a key or value is bytes, str, bytearray or memoryview, not {kind}: a codec stores other values"
        )));
    };
    let bytes = view.call_method0("tobytes")?.cast_into::<PyBytes>()?;
    // A view keeps a bytearray from growing until it is released.
    view.call_method0("release")?;
    Ok(Bytes::Lent(bytes))
}

/// Returns bytes of Python.
#[inline]
pub(crate) fn give<'py>(py: Python<'py>, bytes: &[u8]) -> Bound<'py, PyBytes> {
    PyBytes::new(py, bytes)
}
