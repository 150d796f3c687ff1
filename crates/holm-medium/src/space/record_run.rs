//! Record space in one piece, which a pass over the keys fills in their order, whatever is free elsewhere.

use super::{Space, lock};
use crate::error::Result;
use crate::medium::Medium;

/// Bytes that are taken at a time and cut into runs. Neighbours then lie in one read of the disk.
const PIECE: u64 = 256 << 10;

/// Record space in one piece, filled from its beginning on. What is left of it goes back by [`Space::end_run`]. If a
/// run is dropped without it, that space stays unused until the next opening.
#[derive(Debug, Default)]
pub struct RecordRun {
    at: u64,
    end: u64,
}

impl RecordRun {
    fn cut(&mut self, bytes: u64) -> Option<u64> {
        let offset = self.at;
        (self.end - offset >= bytes).then(|| self.at += bytes).map(|()| offset)
    }
}

impl Space {
    /// Cuts a run of `bytes` bytes, a whole number of words, off a piece; takes another piece where that is too short.
    /// O(log n) for n free runs.
    ///
    /// # Errors
    /// Those of the medium, if it cannot grow.
    pub fn cut_run<M: Medium>(&self, medium: &M, piece: &mut RecordRun, bytes: u64) -> Result<RecordRun> {
        debug_assert!(bytes.is_multiple_of(8), "{bytes} bytes are no whole number of words");
        if piece.end - piece.at < bytes {
            self.end_run(std::mem::take(piece));
            *piece = self.take_piece(medium, bytes)?;
        }
        let at = piece.at;
        piece.at += bytes;
        Ok(RecordRun { at, end: piece.at })
    }

    /// Takes the next `words` words of a run, and returns their offset in the record area, in bytes; `None` if the run
    /// has fewer.
    pub fn take_record_of(&self, run: &mut RecordRun, words: u32) -> Option<u64> {
        let bytes = u64::from(words) * 8;
        let offset = run.cut(bytes)?;
        self.own().count(bytes as i64);
        Some(offset)
    }

    /// Returns what is left of a run.
    pub fn end_run(&self, run: RecordRun) {
        if run.at < run.end {
            lock(&self.heap).free(run.at, run.end - run.at);
        }
    }

    /// Takes free space that is in one piece, else space that was given back to the file system, else the end of the
    /// area.
    fn take_piece<M: Medium>(&self, medium: &M, least: u64) -> Result<RecordRun> {
        let bytes = PIECE.max(least.next_multiple_of(64));
        let mut heap = lock(&self.heap);
        let mut found = heap.claim(bytes, bytes);
        if found.is_none() && heap.take_back(medium, bytes) {
            found = heap.claim(bytes, bytes);
        }
        let (at, bytes) = match found {
            Some(found) => found,
            None => self.extend(medium, &mut heap, least, bytes)?,
        };
        Ok(RecordRun { at, end: at + bytes })
    }
}
