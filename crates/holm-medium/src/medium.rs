//! [`Medium`]: what makes an image durable. A medium sees each change and takes no part in reads.

use crate::image::Image;
use crate::loc::Area;
use crate::word::{Scratch, Word};
use std::path::Path;
use std::sync::Arc;

/// What makes an image durable.
///
/// The image always holds the *cache's* view. Durability is derived from it: by the CPU's flush instructions, by an
/// epoch log, or by a recorder that keeps the trace of all stores.
pub trait Medium: Send + Sync + 'static {
    /// Whether lines become durable only when their epoch ends. If so, `flush` marks the line for the record of its
    /// epoch, and `fence` does not wait. This is a constant, so that neither kind of medium pays for the other's
    /// branch.
    const PER_EPOCH: bool = false;

    /// The cache's view, shared with all readers.
    fn image(&self) -> &Arc<Image>;

    /// The folder of the files behind the areas, if there are files.
    fn folder(&self) -> Option<&Path> {
        None
    }

    /// Called after a store to one word.
    #[inline]
    #[track_caller]
    fn wrote(&self, word: &Word, value: u64) {
        let _ = (word, value);
    }

    /// Called after stores, in any order, to words of a block that no other thread can reach yet.
    #[inline]
    #[track_caller]
    fn filled(&self, words: &[Word]) {
        let _ = words;
    }

    /// Called after a store to a scratch word.
    #[inline]
    fn scratched(&self, word: &Scratch, value: u64) {
        let _ = (word, value);
    }

    /// Starts the write-back of a line, given by its location divided by 64. The write-back is complete only after
    /// this thread's next fence.
    #[track_caller]
    fn flush(&self, line: u64);

    /// Waits until the flushes of this thread are durable.
    #[track_caller]
    fn fence(&self);

    /// Makes at least the first `len` bytes of an area accessible, in memory and in the underlying storage.
    ///
    /// # Errors
    /// `NoSpace` if the disk or the reserved address space is used up; nothing has changed then.
    fn grow(&self, area: Area, len: u64) -> crate::Result<()>;

    /// Recovery from the death of a process calls this for places (byte location, bytes) that it keeps and that are in
    /// no log. A medium on files writes them again unchanged, before it relies on its next sync.
    ///
    /// # Errors
    /// Those of the files.
    fn write_again(&self, places: &[(u64, u64)]) -> crate::Result<()> {
        let _ = places;
        Ok(())
    }

    /// Gives bytes of an area, whole large pages of it, back to the file system. They read as zeros from now on, and
    /// nothing may be stored there before [`Medium::take_back`]. Returns whether the medium can do that.
    ///
    /// # Errors
    /// Those of the files; the bytes are then as they were, or zeros.
    fn give_back(&self, area: Area, offset: u64, bytes: u64) -> crate::Result<bool> {
        let _ = (area, offset, bytes);
        Ok(false)
    }

    /// Allocates bytes that may have been given back. Their contents stay, where they have any.
    ///
    /// # Errors
    /// `NoSpace` if the disk is full; the bytes may not be stored to then.
    fn take_back(&self, area: Area, offset: u64, bytes: u64) -> crate::Result<()> {
        let _ = (area, offset, bytes);
        Ok(())
    }

    /// A hint that the frontier of an area has reached `used` bytes. A medium may prepare the bytes beyond it, on
    /// another thread.
    #[inline]
    fn reached(&self, area: Area, used: u64) {
        let _ = (area, used);
    }
}
