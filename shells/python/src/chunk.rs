//! Pairs that a cursor has copied ahead: enough that letting go of the interpreter costs little for each, and at first
//! only some, so that a reader of one pair pays for few others.

use crate::bytes::give;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The pairs of a cursor's first chunk; each further chunk has four times as many.
const FIRST: usize = 8;

/// The pairs of its largest chunk.
const MOST: usize = 512;

/// The bytes that a first chunk has room for at once.
const FIRST_BYTES: usize = 2048;

/// The bytes after which a chunk takes no further pair.
const MOST_BYTES: usize = 128 << 10;

/// Copied pairs, in the order of the scan.
pub(crate) struct Chunk {
    bytes: Vec<u8>,
    /// Where each key and each value ends.
    ends: Vec<(usize, usize)>,
    next: usize,
    /// The number of pairs that a further pair makes too many, in this chunk and in the next one.
    wanted: usize,
    next_wanted: usize,
}

impl Chunk {
    /// Returns an empty chunk for a cursor that returns at most `most` pairs.
    pub(crate) fn new(most: Option<usize>) -> Self {
        let first = most.map_or(FIRST, |most| most.clamp(1, MOST));
        let (bytes, ends) = (Vec::with_capacity(FIRST_BYTES), Vec::with_capacity(first));
        Chunk { bytes, ends, next: 0, wanted: first, next_wanted: first }
    }

    /// Forgets its pairs and wants more of them than before.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.next = 0;
        self.wanted = self.next_wanted;
        self.next_wanted = (self.wanted * 4).min(MOST);
    }

    /// Whether it has no pair to return.
    #[inline]
    pub(crate) fn is_used_up(&self) -> bool {
        self.next == self.ends.len()
    }

    /// Returns the key that was returned last, and the number of pairs after it.
    pub(crate) fn last_popped(&self) -> Option<(&[u8], usize)> {
        let last = self.next.checked_sub(1)?;
        let start = if last == 0 { 0 } else { self.ends[last - 1].1 };
        Some((&self.bytes[start..self.ends[last].0], self.ends.len() - self.next))
    }

    pub(crate) fn is_full(&self) -> bool {
        self.ends.len() >= self.wanted || self.bytes.len() >= MOST_BYTES
    }

    #[inline]
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((key_end, self.bytes.len()));
    }

    /// Returns the next pair.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(&[u8], &[u8])> {
        let &(key_end, end) = self.ends.get(self.next)?;
        let start = if self.next == 0 { 0 } else { self.ends[self.next - 1].1 };
        self.next += 1;
        Some((&self.bytes[start..key_end], &self.bytes[key_end..end]))
    }
}

/// Many pairs as four columns, for programs that read arrays: where each key and each value ends, and their bytes.
#[derive(Default)]
pub(crate) struct Columns {
    pub(crate) count: usize,
    key_ends: Vec<u8>,
    keys: Vec<u8>,
    value_ends: Vec<u8>,
    values: Vec<u8>,
}

/// What `Columns` is in Python: offsets of eight bytes each, one more than pairs, and the bytes between them.
pub(crate) type Arrays<'py> =
    (usize, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

impl Columns {
    pub(crate) fn new() -> Self {
        Columns { key_ends: vec![0; 8], value_ends: vec![0; 8], ..Columns::default() }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.keys.len() + self.values.len()
    }

    #[inline]
    pub(crate) fn push(&mut self, key: &[u8], value: &[u8]) {
        self.count += 1;
        self.keys.extend_from_slice(key);
        self.values.extend_from_slice(value);
        self.key_ends.extend_from_slice(&(self.keys.len() as u64).to_ne_bytes());
        self.value_ends.extend_from_slice(&(self.values.len() as u64).to_ne_bytes());
    }

    pub(crate) fn give<'py>(&self, py: Python<'py>) -> Arrays<'py> {
        let Columns { count, key_ends, keys, value_ends, values } = self;
        (*count, give(py, key_ends), give(py, keys), give(py, value_ends), give(py, values))
    }
}
