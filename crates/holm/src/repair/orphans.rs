//! Orphans: whole records that no leaf names.
//!
//! A record says its lengths, its key, its value and their checksum. So the file of the records can be searched without
//! any leaf. But a record does not say which keyspace it belongs to, nor whether its key was written again or removed
//! later. Free space holds such records until it is used again.

use super::area::Source;
use super::evidence::Evidence;
use crate::error::Result;
use crate::record::{self, ReadRecord};
use holm_medium::Area;

/// Words that are read at once.
const WORDS_AT_ONCE: u64 = 1 << 16;

/// The first word that a record can begin at.
const FIRST_WORD: u64 = 8;

/// How often the bytes of the file are read at most for headers that begin no record.
const MOST_READS: u64 = 16;

/// The words that belong to records of leaves: a bit for each.
pub(super) struct Orphans {
    named: Vec<u64>,
    len: u64,
}

impl Orphans {
    /// Begins with a file of this many bytes, of which no record is named. Takes a 64th of that in memory.
    pub(super) fn new(len: u64) -> Self {
        Orphans { named: vec![0; (len / 8).div_ceil(64) as usize], len }
    }

    /// Notes that a leaf names the record of a payload.
    pub(super) fn is_named(&mut self, payload: u64) {
        if let Some((offset, words)) = lies_within(payload, self.len) {
            (offset / 8..offset / 8 + u64::from(words))
                .for_each(|word| self.named[(word / 64) as usize] |= 1 << (word % 64));
        }
    }

    fn has_name(&self, word: u64) -> bool {
        self.named.get((word / 64) as usize).is_some_and(|bits| bits >> (word % 64) & 1 == 1)
    }

    /// Passes each orphan to `keep`, in the order of the file. Returns whether the whole file was searched. O(bytes),
    /// at most sixteen times.
    ///
    /// # Errors
    /// `Io`, and those of `keep`.
    pub(super) fn read(&self, evidence: &Evidence, mut keep: impl FnMut(ReadRecord) -> Result<()>) -> Result<bool> {
        let words = self.len / 8;
        let mut budget = self.len.saturating_mul(MOST_READS);
        let mut buffer = vec![0_u64; WORDS_AT_ONCE.min(words) as usize];
        let (mut word, mut read_from, mut read_upto) = (FIRST_WORD, 0, 0);
        while word < words {
            if word >= read_upto {
                (read_from, read_upto) = (word, (word + WORDS_AT_ONCE).min(words));
                let part = &mut buffer[..(read_upto - read_from) as usize];
                evidence.read(Source::File, Area::Records, word * 8, bytemuck::cast_slice_mut(part))?;
            }
            let header = buffer[(word - read_from) as usize];
            let len = record::words_of_header(header).filter(|len| header != 0 && word + len <= words);
            let Some(len) = len.filter(|_| !self.has_name(word)) else {
                word += 1;
                continue;
            };
            let mut copy = vec![0_u64; len as usize];
            evidence.read(Source::File, Area::Records, word * 8, bytemuck::cast_slice_mut(&mut copy))?;
            if let Ok(record) = record::read_copy(&copy) {
                keep(record)?;
                word += len;
                continue;
            }
            match budget.checked_sub(len * 8) {
                Some(left) => budget = left,
                None => return Ok(false),
            }
            word += 1;
        }
        Ok(true)
    }
}

/// Returns the extent of a payload's record, if it lies within the first `len` bytes of the record area.
fn lies_within(payload: u64, len: u64) -> Option<(u64, u32)> {
    let extent = record::extent(payload);
    extent.filter(|(offset, words)| offset.checked_add(u64::from(*words) * 8).is_some_and(|end| end <= len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;
    use crate::expiry::StoredValue;
    use crate::operation::Operation;

    #[test]
    fn a_record_may_end_where_the_file_does() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path()).unwrap();
        let operation = Operation::begin(&db.engine.store).unwrap();
        let payload = operation.write_record(b"key", StoredValue::verbatim(b"value"), &mut Vec::new()).unwrap();
        let (offset, words) = record::extent(payload).unwrap();
        let end = offset + u64::from(words) * 8;
        assert_eq!(lies_within(payload, end), Some((offset, words)));
        assert_eq!(lies_within(payload, end - 1), None);
    }
}
