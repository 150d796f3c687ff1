//! Cursors: the iterators behind every loop over keys, values or pairs.
//!
//! A cursor lets go of the interpreter once for each chunk of pairs. It belongs to the session, so closing the database
//! ends it with an exception, whatever pairs it has copied.

use crate::bytes::give;
use crate::chunk::{Arrays, Chunk, Columns};
use crate::failure::{Failure, detached};
use crate::handle::{Bounds, Handle};
use crate::refusal::refuses_pickling;
use crate::session::{Session, Slot, lock};
use crate::transaction::TransactionCore;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::sync::{Arc, Mutex, PoisonError};

/// What a loop over a range gives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Keys,
    Values,
    Items,
}

/// Where a scan reads.
#[derive(Clone)]
pub(crate) enum Source {
    Keyspace(Arc<Slot<Handle>>),
    Transaction(Arc<TransactionCore>, Arc<Slot<Handle>>),
}

impl Source {
    pub(crate) fn session(&self) -> &Arc<Session> {
        match self {
            Source::Keyspace(slot) | Source::Transaction(_, slot) => &slot.session,
        }
    }
}

/// A scan: its source, what is left of its range, and its direction.
pub(crate) struct Scan {
    source: Source,
    /// Of a transaction: the keys that have not been returned. Of a keyspace: the whole range.
    bounds: Bounds,
    reverse: bool,
    /// The pairs that may still be returned.
    left: usize,
    /// Of a keyspace, once the scan has begun.
    iter: Option<Arc<Slot<Mutex<holm::Iter>>>>,
}

impl Scan {
    pub(crate) fn new(source: Source, bounds: Bounds, reverse: bool, limit: Option<usize>) -> Self {
        Scan { source, bounds, reverse, left: limit.unwrap_or(usize::MAX), iter: None }
    }

    /// Gives pairs to `take` until that returns `false` or there are none left.
    pub(crate) fn copy(&mut self, take: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Failure> {
        match self.source.clone() {
            Source::Keyspace(slot) => self.copy_of_keyspace(&slot, take),
            Source::Transaction(core, slot) => self.copy_of_transaction(&core, &slot, take),
        }
    }

    /// Scans on. A scan that one call completes leaves no iterator in a slot.
    fn copy_of_keyspace(&mut self, slot: &Slot<Handle>, take: impl FnMut(&[u8], &[u8]) -> bool) -> Result<(), Failure> {
        let (reverse, left) = (self.reverse, &mut self.left);
        if let Some(iter) = &self.iter {
            return iter.with(|iter| Ok(copy_pairs(&mut lock(iter), reverse, left, take)?));
        }
        self.iter = slot.with(|handle| {
            let mut iter = handle.range(&self.bounds);
            if *left != usize::MAX {
                iter = iter.limit(*left);
            }
            copy_pairs(&mut iter, reverse, left, take)?;
            let goes_on = *left > 0;
            // Within the keyspace's slot: `close` finds either the slot or nothing.
            goes_on.then(|| Slot::new(&slot.session, "the iterator", Mutex::new(iter))).transpose()
        })?;
        Ok(())
    }

    /// Scans the range that is left anew: between two calls the transaction may have written.
    fn copy_of_transaction(
        &mut self,
        core: &TransactionCore,
        slot: &Slot<Handle>,
        mut take: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Failure> {
        let Scan { bounds, reverse, left, .. } = self;
        let mut last = None;
        core.with(slot, |transaction, keyspace| {
            let mut range = transaction.range::<&[u8]>(keyspace, bounds.as_range())?;
            while *left > 0 {
                let Some(pair) = (if *reverse { range.next_back() } else { range.next() }) else { break };
                let (key, value) = pair?;
                *left -= 1;
                let more = take(&key, &value);
                last = Some(key);
                if !more {
                    break;
                }
            }
            Ok(())
        })?;
        if let Some(last) = last {
            self.pass(&last);
        }
        Ok(())
    }

    /// Leaves a key and those before it, in the scan's direction, out of what is left of a transaction's range.
    fn pass(&mut self, key: &[u8]) {
        if self.reverse {
            self.bounds.high = Some(key.to_vec());
        } else {
            self.bounds.low = [key, &[0]].concat();
        }
    }

    /// Whether the source may have other pairs now than those copied when it had `writes`.
    fn writes(&self) -> u64 {
        match &self.source {
            Source::Keyspace(_) => 0,
            Source::Transaction(core, _) => core.writes(),
        }
    }
}

/// Gives pairs to `take` until that returns `false`, and counts down what is left; nothing is left at the end.
fn copy_pairs(
    iter: &mut holm::Iter,
    reverse: bool,
    left: &mut usize,
    mut take: impl FnMut(&[u8], &[u8]) -> bool,
) -> Result<(), holm::Error> {
    loop {
        let pair = if reverse { iter.next_back_ref() } else { iter.next_ref() };
        let Some((key, value)) = pair.transpose()? else {
            *left = 0;
            return Ok(());
        };
        *left -= 1;
        if !take(key, value) {
            return Ok(());
        }
    }
}

/// An iterator over a range.
#[pyclass(frozen, module = "holm")]
pub(crate) struct Cursor {
    session: Arc<Session>,
    kind: Kind,
    state: Mutex<State>,
}

struct State {
    scan: Scan,
    chunk: Chunk,
    /// The writes of the transaction when the chunk was copied.
    writes: u64,
    /// The scan has no pair beyond the chunk.
    is_last: bool,
    /// The cursor has said that it has ended, and says so from now on.
    ended: bool,
}

impl Cursor {
    pub(crate) fn new(scan: Scan, kind: Kind) -> Self {
        let (session, writes) = (scan.source.session().clone(), scan.writes());
        let most = (scan.left != usize::MAX).then_some(scan.left);
        let state = State { scan, chunk: Chunk::new(most), writes, is_last: false, ended: false };
        Cursor { session, kind, state: Mutex::new(state) }
    }

    /// Returns the next item, for a caller that has the cursor alone.
    pub(crate) fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.state.get_mut().unwrap_or_else(PoisonError::into_inner).step(py, self.kind)
    }
}

impl State {
    /// Leaves out what was copied of a transaction before its last writes, except for the pairs that were returned.
    fn follow_writes(&mut self) {
        let writes = self.scan.writes();
        if self.writes == writes {
            return;
        }
        self.writes = writes;
        if let Some((key, unread)) = self.chunk.last_popped() {
            self.scan.left = self.scan.left.saturating_add(unread);
            self.scan.pass(key);
            self.chunk.clear();
            self.is_last = false;
        }
    }

    fn fill(&mut self, py: Python<'_>) -> PyResult<()> {
        // No byte code may run between two chunks, so nothing else would notice an interrupt.
        py.check_signals()?;
        let State { scan, chunk, .. } = self;
        chunk.clear();
        let copied = detached(py, || {
            scan.copy(|key, value| {
                chunk.push(key, value);
                !chunk.is_full()
            })
        });
        if copied.is_err() {
            self.chunk.clear();
        }
        self.is_last = copied.is_err() || !self.chunk.is_full() || self.scan.left == 0;
        copied
    }

    #[inline]
    fn step<'py>(&mut self, py: Python<'py>, kind: Kind) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.ended {
            return Ok(None);
        }
        self.follow_writes();
        if self.chunk.is_used_up() && !self.is_last {
            self.fill(py)?;
        }
        let Some((key, value)) = self.chunk.pop() else {
            self.ended = true;
            return Ok(None);
        };
        Ok(Some(match kind {
            Kind::Keys => give(py, key).into_any(),
            Kind::Values => give(py, value).into_any(),
            Kind::Items => (give(py, key), give(py, value)).into_pyobject(py)?.into_any(),
        }))
    }
}

#[pymethods]
impl Cursor {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    #[inline]
    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.session.check()?;
        // Without the interpreter where another thread has it: that thread waits for the interpreter.
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        state.step(py, self.kind)
    }
}

refuses_pickling!(Cursor, "an iterator");

/// An iterator over a range that gives many pairs at once, as columns.
#[pyclass(frozen, module = "holm")]
pub(crate) struct ColumnCursor {
    bytes: usize,
    scan: Mutex<Option<Scan>>,
}

impl ColumnCursor {
    pub(crate) fn new(scan: Scan, bytes: usize) -> Self {
        ColumnCursor { bytes, scan: Mutex::new(Some(scan)) }
    }
}

#[pymethods]
impl ColumnCursor {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Arrays<'py>>> {
        let mut held = self.scan.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let Some(scan) = held.as_mut() else { return Ok(None) };
        let mut columns = Columns::new();
        detached(py, || {
            scan.copy(|key, value| {
                columns.push(key, value);
                columns.bytes() < self.bytes
            })
        })?;
        if columns.count == 0 {
            *held = None;
            return Ok(None);
        }
        Ok(Some(columns.give(py)))
    }
}

refuses_pickling!(ColumnCursor, "an iterator");
