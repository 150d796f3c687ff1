//! Reads and writes of many keys in one call. The interpreter is let go once for each chunk of them.

use crate::bytes::Bytes;
use crate::failure::{Failure, detached};
use crate::space::Space;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

/// The pairs or keys of a chunk.
const CHUNK: usize = 1024;

/// Reads a pair, which is a tuple or any other sequence of two.
#[inline]
fn pair_of<'py>(item: &Bound<'py, PyAny>) -> PyResult<(Bytes<'py>, Bytes<'py>)> {
    if let Ok(tuple) = item.cast::<PyTuple>()
        && tuple.len() == 2
    {
        return Ok((tuple.get_borrowed_item(0)?.extract()?, tuple.get_borrowed_item(1)?.extract()?));
    }
    if item.len().is_ok_and(|len| len == 2) {
        return Ok((item.get_item(0)?.extract()?, item.get_item(1)?.extract()?));
    }
    let shown = item.repr()?;
    Err(PyTypeError::new_err(format!("a pair of a key and a value is expected, not {shown:.80}")))
}

impl Space {
    /// Stores a chunk of pairs.
    fn put_chunk(&self, py: Python<'_>, pairs: &[(Bytes<'_>, Bytes<'_>)]) -> PyResult<()> {
        let pairs: Vec<(&[u8], &[u8])> = pairs.iter().map(|(key, value)| (key.as_ref(), value.as_ref())).collect();
        detached(py, || {
            self.slot.with(|handle| {
                let keyspace = handle.live()?;
                keyspace.insert_many(pairs.iter().copied()).map(drop).map_err(Failure::from)
            })
        })
    }
}

#[pymethods]
impl Space {
    /// Stores many pairs, of a mapping or of any iterable of pairs, and returns their number. Each pair is a write of
    /// its own: if one is refused, those before it are stored. Pairs in the order of their keys are stored fastest.
    fn put_many(&self, py: Python<'_>, pairs: &Bound<'_, PyAny>) -> PyResult<u64> {
        let items = match pairs.cast::<PyDict>() {
            Ok(dict) => dict.call_method0("items")?,
            Err(_) if pairs.hasattr("items")? => pairs.call_method0("items")?,
            Err(_) => pairs.clone(),
        };
        let (mut chunk, mut count) = (Vec::with_capacity(CHUNK), 0);
        for item in items.try_iter()? {
            let pair = item.and_then(|item| pair_of(&item));
            if pair.is_err() || chunk.len() == CHUNK {
                py.check_signals()?;
                self.put_chunk(py, &chunk)?;
                chunk.clear();
            }
            chunk.push(pair?);
            count += 1;
        }
        self.put_chunk(py, &chunk)?;
        Ok(count)
    }

    /// The values of many keys as a list, with `default` for those that are absent. Several times faster than a loop of
    /// `get`: the keys are looked up together, each at an instant of its own.
    #[pyo3(signature = (keys, default = None))]
    fn get_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let default = default.unwrap_or_else(|| py.None().into_bound(py));
        let values = PyList::empty(py);
        // The values of a chunk, one behind the other, and the end of each that is present.
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(CHUNK));
        let mut keys = keys.try_iter()?;
        loop {
            let chunk = keys.by_ref().take(CHUNK).map(|key| key?.extract()).collect::<PyResult<Vec<Bytes<'_>>>>()?;
            let lent: Vec<&[u8]> = chunk.iter().map(AsRef::as_ref).collect();
            if lent.is_empty() {
                return Ok(values);
            }
            py.check_signals()?;
            bytes.clear();
            ends.clear();
            let keep = |value: Option<&[u8]>| {
                bytes.extend_from_slice(value.unwrap_or_default());
                ends.push(value.map(|_| bytes.len()));
            };
            detached(py, || self.slot.with(|handle| Ok(handle.get_many_with(&lent, keep)?)))?;
            let mut start = 0;
            for end in &ends {
                match *end {
                    Some(end) => values.append(PyBytes::new(py, &bytes[start..end]))?,
                    None => values.append(&default)?,
                }
                start = end.unwrap_or(start);
            }
        }
    }

    /// Removes many keys and returns how many of them were present.
    fn remove_many(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (mut keys, mut count) = (keys.try_iter()?, 0);
        loop {
            let chunk = keys.by_ref().take(CHUNK).map(|key| key?.extract()).collect::<PyResult<Vec<Bytes<'_>>>>()?;
            let lent: Vec<&[u8]> = chunk.iter().map(AsRef::as_ref).collect();
            if lent.is_empty() {
                return Ok(count);
            }
            for present in self
                .write(py, |keyspace| lent.iter().map(|key| keyspace.remove(key)).collect::<holm::Result<Vec<_>>>())?
            {
                count += u64::from(present);
            }
        }
    }
}
