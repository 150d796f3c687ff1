//! The right to write, and who may give it.
//!
//! Opening a storage yields one [`Writer`], which can be neither cloned nor made elsewhere. Write handles are made from
//! it, by the tree set under a latch, by the record writer, by recovery; a leaf, a guide or a scenario receives a write
//! handle as an argument and can keep it no longer than the call.

use crate::dirty::Marks;
use crate::epoch::{Clock, Epoch, Guard};
use crate::image::Image;
use crate::loc::LINE;
use crate::medium::Medium;
use crate::persistent::Persistent;
use crate::storage::Storage;
use crate::word::{Scratch, Word};
use std::marker::PhantomData;
use std::sync::Arc;

/// The one source of write handles of a storage.
pub struct Writer<M: Medium> {
    storage: Arc<Storage<M>>,
}

impl<M: Medium> Writer<M> {
    pub(crate) fn new(storage: Arc<Storage<M>>) -> Self {
        Writer { storage }
    }

    /// The storage it writes to.
    #[inline]
    pub fn storage(&self) -> &Arc<Storage<M>> {
        &self.storage
    }

    /// A write handle for an operation that has pinned an epoch. It marks what it defers before the guard can end or be
    /// repinned.
    #[inline]
    pub fn begin_write<'a>(&'a self, guard: &'a Guard<'_>) -> WriteHandle<'a, M> {
        self.begin_write_at(guard.epoch())
    }

    /// A write handle that labels what it defers with a given epoch: recovery's, which is alone in the world.
    #[inline]
    pub fn begin_write_at(&self, epoch: Epoch) -> WriteHandle<'_, M> {
        WriteHandle {
            medium: &self.storage.medium,
            clock: &self.storage.clock,
            epoch,
            marks: Marks::default(),
            own_thread: PhantomData,
        }
    }
}

/// The right to write. Not `Send`: a fence completes only its own thread's flushes.
pub struct WriteHandle<'a, M: Medium> {
    medium: &'a M,
    clock: &'a Clock,
    epoch: Epoch,
    marks: Marks,
    own_thread: PhantomData<*const ()>,
}

impl<M: Medium> Drop for WriteHandle<'_, M> {
    /// Before the operation lets go of the latch of the last block it wrote, and before it unpins: the first makes
    /// it the only one to mark that block, the second makes its marks count. A block that is given back unused ends
    /// being ours as a latch let go does.
    #[inline]
    fn drop(&mut self) {
        self.clock.mark(self.epoch, [self.marks]);
    }
}

impl<M: Medium> WriteHandle<'_, M> {
    /// One aligned eight-byte store, in program order with this write handle's other stores.
    #[inline]
    #[track_caller]
    pub fn write(&mut self, at: &Word, value: u64) {
        at.set(value);
        self.medium.wrote(at, value);
    }

    /// Into words that nobody can reach yet: any order, and modelled so.
    ///
    /// # Panics
    /// If there are more values than words.
    #[inline]
    #[track_caller]
    pub fn fill(&mut self, fresh: &[Word], values: impl Iterator<Item = u64>) {
        let mut filled = 0;
        for value in values {
            fresh[filled].fill(value);
            filled += 1;
        }
        self.medium.filled(&fresh[..filled]);
    }

    /// Stores a word that means nothing after a crash.
    #[inline]
    pub fn scratch(&mut self, at: &Scratch, value: u64) {
        at.set(value);
        self.medium.scratched(at, value);
    }

    /// Orders the stores before against those after. Nothing on x86, whose stores stay in order; elsewhere the release
    /// order of `write` does it.
    #[inline]
    pub fn order(&mut self) {
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::Release);
    }

    /// Starts the write-back of every line that `what` touches. On a medium that is durable per epoch: at the end of
    /// this epoch.
    #[inline]
    #[track_caller]
    pub fn flush<T: Persistent>(&mut self, what: &T) {
        let (first, count) = self.medium.image().lines_of(what);
        if M::PER_EPOCH {
            return self.defer_lines(first, count);
        }
        for line in first..first + count {
            self.medium.flush(line);
        }
    }

    /// Waits until what this write handle flushed is durable.
    #[inline]
    #[track_caller]
    pub fn fence(&mut self) {
        if !M::PER_EPOCH {
            self.medium.fence();
        }
    }

    /// Flush and fence.
    #[inline]
    #[track_caller]
    pub fn persist<T: Persistent>(&mut self, what: &T) {
        self.flush(what);
        self.fence();
    }

    /// Leaves the write-back of every line that `what` touches to the end of this epoch, on every medium: the
    /// discipline of designs that version their contents by epoch.
    #[inline]
    pub fn defer<T: Persistent>(&mut self, what: &T) {
        let (first, count) = self.medium.image().lines_of(what);
        self.defer_lines(first, count);
    }

    /// Kept until the write handle moves on to another block or is let go: the lines of a leaf cost one marking.
    #[inline]
    fn defer_lines(&mut self, first: u64, count: u64) {
        match Marks::within(first, count) {
            Some(marks) if self.marks.join(marks) => {}
            _ => self.defer_apart(first, count),
        }
    }

    /// The same where they do not join what is kept.
    #[inline(never)]
    fn defer_apart(&mut self, first: u64, count: u64) {
        for marks in Marks::of(first, count) {
            if !self.marks.join(marks) {
                self.clock.mark(self.epoch, [std::mem::replace(&mut self.marks, marks)]);
            }
        }
    }

    /// [`WriteHandle::defer`] for a run of words.
    #[inline]
    pub fn defer_words(&mut self, words: &[Word]) {
        if let [first, ..] = words {
            let from = self.medium.image().locate(first);
            let last = (from + words.len() as u64 * 8 - 1) / LINE;
            self.defer_lines(from / LINE, last - from / LINE + 1);
        }
    }

    /// [`WriteHandle::flush`] for a run of words.
    #[inline]
    #[track_caller]
    pub fn flush_words(&mut self, words: &[Word]) {
        if M::PER_EPOCH {
            return self.defer_words(words);
        }
        if let [first, ..] = words {
            let from = self.medium.image().locate(first);
            for line in from / LINE..=(from + words.len() as u64 * 8 - 1) / LINE {
                self.medium.flush(line);
            }
        }
    }

    /// The epoch that this write handle's operation belongs to.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The image it writes to.
    #[inline]
    pub fn image(&self) -> &Image {
        self.medium.image()
    }
}
