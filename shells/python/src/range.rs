//! Ranges: the pairs between two keys, in either direction, as an object that is read when it is looped over.

use crate::bytes::{Bytes, give};
use crate::cursor::{ColumnCursor, Cursor, Kind, Scan, Source};
use crate::failure::{Failure, detached};
use crate::handle::Bounds;
use crate::refusal::refuses_pickling;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PySlice};

/// The pairs between two keys, from the lower one up to and without the higher one. A range holds no pairs: each loop
/// reads them anew. It has no length, because counting reads all of it; `count` does.
///
/// ```pycon
/// >>> import holm
/// >>> db = holm.open("reefs.holm")
/// >>> db.update({"a": "1", "b": "2", "c": "3"})
/// >>> list(db["a":"c"])
/// [(b'a', b'1'), (b'b', b'2')]
/// >>> list(db["b":].reverse().keys())
/// [b'c', b'b']
/// >>> db["a":"c"].remove()
/// 2
/// >>> db.close()
///
/// ```
#[pyclass(frozen, module = "holm")]
pub(crate) struct Range {
    source: Source,
    bounds: Bounds,
    kind: Kind,
    reverse: bool,
    limit: Option<usize>,
}

/// A pair in Python.
pub(crate) type Pair<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Reads `[low:high]`, whose ends are keys or absent.
pub(crate) fn bounds_of(slice: &Bound<'_, PySlice>) -> PyResult<Bounds> {
    if !slice.getattr("step")?.is_none() {
        return Err(PyValueError::new_err("a range of keys has no step: use .reverse() for the other direction"));
    }
    let end = |name| -> PyResult<Option<Vec<u8>>> {
        let end = slice.getattr(name)?;
        Ok(if end.is_none() { None } else { Some(end.extract::<Bytes<'_>>()?.as_ref().to_vec()) })
    };
    Ok(Bounds { low: end("start")?.unwrap_or_default(), high: end("stop")? })
}

impl Range {
    pub(crate) fn new(source: Source, bounds: Bounds, kind: Kind) -> Self {
        Range { source, bounds, kind, reverse: false, limit: None }
    }

    pub(crate) fn with(self, reverse: bool, limit: Option<usize>) -> Self {
        Range { reverse, limit, ..self }
    }

    fn but(&self, kind: Kind, reverse: bool, limit: Option<usize>) -> Self {
        Range { source: self.source.clone(), bounds: self.bounds.clone(), kind, reverse, limit }
    }

    fn scan(&self, reverse: bool) -> Scan {
        Scan::new(self.source.clone(), self.bounds.clone(), reverse, self.limit)
    }

    /// Returns the first pair in the range's direction, or in the other one.
    fn end<'py>(&self, py: Python<'py>, reverse: bool) -> PyResult<Option<Pair<'py>>> {
        let mut scan =
            Scan::new(self.source.clone(), self.bounds.clone(), reverse, Some(self.limit.unwrap_or(1).min(1)));
        let mut pair = None;
        detached(py, || {
            scan.copy(|key, value| {
                pair = Some((key.to_vec(), value.to_vec()));
                false
            })
        })?;
        Ok(pair.map(|(key, value)| (give(py, &key), give(py, &value))))
    }

    fn whole(&self) -> PyResult<()> {
        if self.limit.is_none() {
            return Ok(());
        }
        let what = "a range with a limit, whose last pair is not known: use it for loops only";
        Err(Failure::Invalid(what.into()).into())
    }
}

#[pymethods]
impl Range {
    fn __iter__(&self, py: Python<'_>) -> PyResult<Py<Cursor>> {
        self.source.session().check()?;
        Py::new(py, Cursor::new(self.scan(self.reverse), self.kind))
    }

    fn __reversed__(&self, py: Python<'_>) -> PyResult<Py<Cursor>> {
        self.whole()?;
        Py::new(py, Cursor::new(self.scan(!self.reverse), self.kind))
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.end(py, self.reverse)?.is_some())
    }

    fn __repr__(&self) -> String {
        let Bounds { low, high } = &self.bounds;
        let end = |end: &[u8]| end.escape_ascii().to_string();
        let high = high.as_ref().map_or(String::new(), |high| format!("b'{}'", end(high)));
        let direction = if self.reverse { ", reversed" } else { "" };
        format!("<holm.Range [b'{}':{high}]{direction}>", end(low))
    }

    /// The same range, of which a loop gives keys.
    fn keys(&self) -> Self {
        self.but(Kind::Keys, self.reverse, self.limit)
    }

    /// The same range, of which a loop gives values.
    fn values(&self) -> Self {
        self.but(Kind::Values, self.reverse, self.limit)
    }

    /// The same range, of which a loop gives pairs of key and value.
    fn items(&self) -> Self {
        self.but(Kind::Items, self.reverse, self.limit)
    }

    /// The same range in the other direction.
    fn reverse(&self) -> PyResult<Self> {
        self.whole()?;
        Ok(self.but(self.kind, !self.reverse, None))
    }

    /// The first pairs of the range, in its direction.
    fn limit(&self, count: usize) -> Self {
        self.but(self.kind, self.reverse, Some(self.limit.map_or(count, |limit| limit.min(count))))
    }

    /// The first pair in the range's direction, or `None`.
    pub(crate) fn first<'py>(&self, py: Python<'py>) -> PyResult<Option<Pair<'py>>> {
        self.end(py, self.reverse)
    }

    /// The last pair in the range's direction, or `None`.
    pub(crate) fn last<'py>(&self, py: Python<'py>) -> PyResult<Option<Pair<'py>>> {
        self.whole()?;
        self.end(py, !self.reverse)
    }

    /// Counts the pairs. It reads all of them, and copies none.
    pub(crate) fn count(&self, py: Python<'_>) -> PyResult<u64> {
        let (mut scan, mut count) = (self.scan(self.reverse), 0);
        detached(py, || {
            scan.copy(|_, _| {
                count += 1;
                true
            })
        })?;
        Ok(count)
    }

    /// Whether a key, or in a range of pairs a pair, is in the range.
    fn __contains__(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.whole()?;
        let (key, value) = match self.kind {
            Kind::Keys => (item.extract::<Bytes<'_>>()?, None),
            Kind::Items => {
                let Ok((key, value)) = item.extract::<(Bytes<'_>, Bytes<'_>)>() else { return Ok(false) };
                (key, Some(value))
            }
            Kind::Values => return Err(PyTypeError::new_err("a value is found only by a loop over all of them")),
        };
        let (key, value) = (key.as_ref(), value.as_ref().map(AsRef::as_ref));
        if !self.bounds.contains(key) {
            return Ok(false);
        }
        let found = detached(py, || match &self.source {
            Source::Keyspace(slot) => slot.with(|handle| {
                let mut found = Vec::new();
                Ok(handle.get_into(key, &mut found)?.then_some(found))
            }),
            Source::Transaction(core, slot) => {
                core.with(slot, |transaction, keyspace| Ok(transaction.get(keyspace, key)?.map(Vec::from)))
            }
        })?;
        Ok(found.is_some_and(|found| value.is_none_or(|value| value == found)))
    }

    /// Removes all pairs of the range and returns how many there were. In a keyspace, leaf after leaf, in time
    /// proportional to the leaves; in a transaction, at once.
    fn remove(&self, py: Python<'_>) -> PyResult<u64> {
        self.whole()?;
        let range = self.bounds.as_range();
        detached(py, || match &self.source {
            Source::Keyspace(slot) => slot.with(|handle| Ok(handle.live()?.remove_range::<&[u8]>(range)?)),
            Source::Transaction(core, slot) => {
                core.write(slot, |transaction, keyspace| Ok(transaction.remove_range::<&[u8]>(keyspace, range)?))
            }
        })
    }

    /// The pairs as a list, in one step: `list(range)` is slower.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.source.session().check()?;
        let mut cursor = Cursor::new(self.scan(self.reverse), self.kind);
        let list = PyList::empty(py);
        while let Some(item) = cursor.take(py)? {
            list.append(item)?;
        }
        Ok(list)
    }

    /// An iterator over many pairs at a time, as columns: `holm.to_arrow` makes a table of them.
    #[pyo3(signature = (bytes = 4 << 20))]
    fn columns(&self, bytes: usize) -> ColumnCursor {
        ColumnCursor::new(self.scan(self.reverse), bytes)
    }

    /// The pairs as a `pyarrow.Table` with the binary columns `key` and `value`.
    fn to_arrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("holm._arrow")?.call_method1("to_arrow", (slf,))
    }
}

refuses_pickling!(Range, "a range");

/// Returns what a range of keys is called by: a slice, or else a key.
pub(crate) fn as_slice<'a, 'py>(key: &'a Bound<'py, PyAny>) -> Option<&'a Bound<'py, PySlice>> {
    key.cast::<PySlice>().ok()
}
