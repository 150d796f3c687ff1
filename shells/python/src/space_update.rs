//! Atomic operations on one key of a keyspace: each reads and writes at one instant.

use crate::bytes::{Bytes, give};
use crate::failure::{Failure, detached};
use crate::range::Pair;
use crate::space::Space;
use holm::{Keyspace, Slice};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

fn given<'py>(py: Python<'py>, value: Option<Slice>) -> Option<Bound<'py, PyBytes>> {
    value.map(|value| give(py, &value))
}

fn given_pair<'py>(py: Python<'py>, pair: Option<(Slice, Slice)>) -> Option<Pair<'py>> {
    pair.map(|(key, value)| (give(py, &key), give(py, &value)))
}

impl Space {
    /// Takes the keyspace out of its slot, for a call that goes back to Python: the slot must be free meanwhile.
    fn keyspace(&self) -> Result<Keyspace, Failure> {
        self.slot.with(|handle| Ok(handle.live()?.clone()))
    }
}

#[pymethods]
impl Space {
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
        if let Some(value) = self.write(py, |keyspace| keyspace.take(bytes))? {
            return Ok(give(py, &value).into_any());
        }
        default.get_item(0).map_err(|_| PyKeyError::new_err(key.clone().unbind()))
    }

    /// Removes a pair and returns it: the last one, or with `last=False` the first one. `KeyError` if there is none.
    #[pyo3(signature = (last = true))]
    fn popitem<'py>(&self, py: Python<'py>, last: bool) -> PyResult<Pair<'py>> {
        let pair = self.write(py, |keyspace| if last { keyspace.pop_last() } else { keyspace.pop_first() })?;
        given_pair(py, pair).ok_or_else(|| PyKeyError::new_err("the keyspace is empty"))
    }

    /// Returns the value of a key, and stores `default` first if the key is absent.
    #[pyo3(signature = (key, default = None))]
    fn setdefault<'py>(
        &self,
        py: Python<'py>,
        key: Bytes<'py>,
        default: Option<Bytes<'py>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (key, value) = (key.as_ref(), default.as_ref().map_or(&[][..], AsRef::as_ref));
        let found = self.write(py, |keyspace| keyspace.insert_if_absent(key, value))?;
        Ok(given(py, found).unwrap_or_else(|| give(py, value)))
    }

    /// Stores a value unless the key is present; returns whether it did.
    fn add(&self, py: Python<'_>, key: Bytes<'_>, value: Bytes<'_>) -> PyResult<bool> {
        let (key, value) = (key.as_ref(), value.as_ref());
        Ok(self.write(py, |keyspace| keyspace.insert_if_absent(key, value))?.is_none())
    }

    /// Stores a value and returns the one before, or `None`.
    fn swap<'py>(&self, py: Python<'py>, key: Bytes<'py>, value: Bytes<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let (key, value) = (key.as_ref(), value.as_ref());
        Ok(given(py, self.write(py, |keyspace| keyspace.swap(key, value))?))
    }

    /// Replaces `expected` by `new` and returns `True`; returns `False` and changes nothing if the key has another
    /// value. `None` stands for an absent key.
    fn compare_and_swap(
        &self,
        py: Python<'_>,
        key: Bytes<'_>,
        expected: Option<Bytes<'_>>,
        new: Option<Bytes<'_>>,
    ) -> PyResult<bool> {
        let key = key.as_ref();
        let (expected, new) = (expected.as_ref().map(AsRef::as_ref), new.as_ref().map(AsRef::as_ref));
        Ok(self.write(py, |keyspace| keyspace.compare_and_swap(key, expected, new))?.is_ok())
    }

    /// Adds to a number and returns the sum. An absent key counts as 0. The value has eight bytes, little-endian.
    #[pyo3(signature = (key, by = 1))]
    fn increment(&self, py: Python<'_>, key: Bytes<'_>, by: i64) -> PyResult<i64> {
        let key = key.as_ref();
        self.write(py, |keyspace| keyspace.increment(key, by))
    }

    /// Replaces a value by what `function` makes of it and returns the new one. The function gets `None` for an absent
    /// key, and returns `None` to remove the key. It runs again if another thread changes the key meanwhile. If it
    /// raises an exception, nothing changes.
    fn update_value<'py>(
        &self,
        py: Python<'py>,
        key: Bytes<'py>,
        function: Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let (key, function) = (key.as_ref(), function.unbind());
        let mut raised = None;
        let updated = detached(py, || {
            let (keyspace, session) = (self.keyspace()?, &self.slot.session);
            // The value is compared, so that an exception changes nothing: the closure of an update must return one.
            loop {
                let current = session.blame_closing(keyspace.get(key))?;
                let new = match call(&function, current.as_deref()) {
                    Ok(new) => new,
                    Err(error) => {
                        raised = Some(error);
                        return Ok(None);
                    }
                };
                let swapped = keyspace.compare_and_swap(key, current.as_deref(), new.as_deref());
                if session.blame_closing(swapped)?.is_ok() {
                    return Ok(new);
                }
            }
        })?;
        match raised {
            Some(error) => Err(error),
            None => Ok(updated.map(|value| give(py, &value))),
        }
    }
}

/// Asks the caller's function for a new value.
fn call(function: &Py<PyAny>, current: Option<&[u8]>) -> PyResult<Option<Vec<u8>>> {
    Python::attach(|py| {
        let new = function.bind(py).call1((current.map(|value| give(py, value)),))?;
        Ok(new.extract::<Option<Bytes<'_>>>()?.map(|value| value.as_ref().to_vec()))
    })
}
