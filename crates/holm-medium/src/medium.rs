//! What the bytes rest on. A medium sees every change and is never asked about reads.

use crate::image::Image;
use crate::loc::Area;
use crate::word::{Scratch, Word};
use std::sync::Arc;

/// What the bytes rest on.
///
/// The image always holds the *cache's* view. What is durable is derived: by the CPU's flush instructions, by an epoch
/// log, or by a recorder that keeps the trace.
pub trait Medium: Send + Sync + 'static {
    /// Whether lines become durable only when their epoch ends: `flush` then marks the line for its epoch's record, and
    /// `fence` has nothing to wait for. A constant, so that neither side pays for the other's branch.
    const PER_EPOCH: bool = false;

    /// The cache's view, shared with whoever reads it.
    fn image(&self) -> &Arc<Image>;

    /// A word has been stored.
    #[inline]
    #[track_caller]
    fn wrote(&self, word: &Word, value: u64) {
        let _ = (word, value);
    }

    /// Words of a block that nobody can reach yet have been stored, in any order.
    #[inline]
    #[track_caller]
    fn filled(&self, words: &[Word]) {
        let _ = words;
    }

    /// A scratch word has been stored.
    #[inline]
    fn scratched(&self, word: &Scratch, value: u64) {
        let _ = (word, value);
    }

    /// Starts the write-back of a line (its location divided by 64). Complete only after this thread's next fence.
    #[track_caller]
    fn flush(&self, line: u64);

    /// Waits until this thread's flushes are durable.
    #[track_caller]
    fn fence(&self);

    /// Makes at least the first `len` bytes of an area accessible, in memory and on whatever the medium rests on.
    ///
    /// # Errors
    /// `NoSpace` where the disk or the reserved address space is used up; nothing has changed then.
    fn grow(&self, area: Area, len: u64) -> crate::Result<()>;

    /// After the death of a process: what lies there (byte location, bytes) is kept and in no log, so a medium on files
    /// writes it again, as it is, before it relies on its next sync.
    ///
    /// # Errors
    /// The files'.
    fn write_again(&self, places: &[(u64, u64)]) -> crate::Result<()> {
        let _ = places;
        Ok(())
    }

    /// A hint that an area's frontier has reached `used` bytes; a medium may prepare what lies ahead, elsewhere.
    #[inline]
    fn reached(&self, area: Area, used: u64) {
        let _ = (area, used);
    }
}
