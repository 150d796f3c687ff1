//! The capability to write: one writer per storage, and the write handles that it gives out.
//!
//! Opening a storage returns one [`Writer`], which cannot be cloned or constructed elsewhere. It gives write handles to
//! the tree (under a latch), to the writer of records, and to recovery. A leaf, a guide or a test scenario borrows a
//! handle as an argument and cannot keep it beyond the call.

use crate::epoch::{Clock, Epoch, Guard, LineSet};
use crate::error::Result;
use crate::image::Image;
use crate::loc::{Area, LINE};
use crate::medium::Medium;
use crate::persistent::Persistent;
use crate::space::{BLOCK, Space};
use crate::storage::Storage;
use crate::word::{Scratch, Word};
use std::marker::PhantomData;
use std::sync::Arc;

/// The writer of a storage: the only source of its write handles.
pub struct Writer<M: Medium> {
    storage: Arc<Storage<M>>,
}

impl<M: Medium> Writer<M> {
    fn new(storage: Arc<Storage<M>>) -> Self {
        Writer { storage }
    }

    /// The storage that this writer writes to.
    #[inline]
    pub fn storage(&self) -> &Arc<Storage<M>> {
        &self.storage
    }

    /// A write handle for a pinned operation. The handle marks the lines that it defers before the guard can end or be
    /// repinned.
    #[inline]
    pub fn begin_write<'a>(&'a self, guard: &'a Guard<'_>) -> WriteHandle<'a, M> {
        self.begin_write_at(guard.epoch())
    }

    /// A write handle that labels deferred lines with a given epoch. For recovery, which runs alone.
    #[inline]
    pub fn begin_write_at(&self, epoch: Epoch) -> WriteHandle<'_, M> {
        WriteHandle {
            medium: &self.storage.medium,
            clock: &self.storage.clock,
            epoch,
            marks: LineSet::default(),
            own_thread: PhantomData,
        }
    }
}

impl<M: Medium> Storage<M> {
    /// Opens a storage whose active epoch is `active` and whose earlier epochs are all durable, and returns its only
    /// writer.
    ///
    /// # Errors
    /// Those of the medium, if it cannot hold block 0.
    pub fn open(medium: M, active: Epoch) -> Result<Writer<M>> {
        medium.grow(Area::Leaves, BLOCK)?;
        let reserved = Area::ALL.map(|area| medium.image().area(area).reserved());
        let clock = Clock::new(active, reserved);
        Ok(Writer::new(Arc::new(Storage { medium, clock, space: Space::new() })))
    }

    /// Opens a storage to read only.
    ///
    /// # Errors
    /// None today.
    pub fn open_read_only(medium: M, active: Epoch) -> Result<Writer<M>> {
        let reserved = Area::ALL.map(|area| medium.image().area(area).reserved());
        let clock = Clock::new(active, reserved);
        Ok(Writer::new(Arc::new(Storage { medium, clock, space: Space::new() })))
    }
}

/// The capability to write. Not `Send`: a fence completes only the flushes of its own thread.
pub struct WriteHandle<'a, M: Medium> {
    medium: &'a M,
    clock: &'a Clock,
    epoch: Epoch,
    marks: LineSet,
    own_thread: PhantomData<*const ()>,
}

impl<M: Medium> Drop for WriteHandle<'_, M> {
    /// A handle is dropped before the operation releases the latch of the last block that it wrote, and before it
    /// unpins. The first makes this thread the only one that marks the block. The second makes the marks part of the
    /// epoch. Giving back an unused block ends this thread's ownership of the block just as releasing a latch does.
    #[inline]
    fn drop(&mut self) {
        self.clock.mark(self.epoch, [self.marks]);
    }
}

impl<M: Medium> WriteHandle<'_, M> {
    /// One aligned eight-byte store, in program order with the other stores of this handle. Not durable by itself: see
    /// [`WriteHandle::persist`] and [`WriteHandle::defer`].
    #[inline]
    #[track_caller]
    pub fn write(&mut self, at: &Word, value: u64) {
        at.set(value);
        self.medium.wrote(at, value);
    }

    /// Stores values into words that no other thread can reach yet. The order is free, and the crash model treats it
    /// so.
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

    /// Orders earlier stores before later ones. On x86 this costs nothing, since stores stay in order. Elsewhere the
    /// release order of `write` has this effect.
    #[inline]
    pub fn order(&mut self) {
        std::sync::atomic::compiler_fence(std::sync::atomic::Ordering::Release);
    }

    /// Starts the write-back of each line that `what` touches. On a medium that is durable per epoch, the write-back
    /// happens at the end of this epoch.
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

    /// Waits until everything that this handle flushed is durable.
    #[inline]
    #[track_caller]
    pub fn fence(&mut self) {
        if !M::PER_EPOCH {
            self.medium.fence();
        }
    }

    /// Flushes each line that `what` touches, then fences. `what` is durable when this returns; on a medium that is
    /// durable per epoch, it becomes durable with the epoch.
    #[inline]
    #[track_caller]
    pub fn persist<T: Persistent>(&mut self, what: &T) {
        self.flush(what);
        self.fence();
    }

    /// Leaves the write-back of each line that `what` touches to the end of this epoch, on every medium. Designs that
    /// version their contents by epoch use this.
    #[inline]
    pub fn defer<T: Persistent>(&mut self, what: &T) {
        let (first, count) = self.medium.image().lines_of(what);
        self.defer_lines(first, count);
    }

    /// The handle collects marks until it moves on to another block or is dropped: all lines of a leaf cost one
    /// marking.
    #[inline]
    fn defer_lines(&mut self, first: u64, count: u64) {
        match LineSet::within(first, count) {
            Some(marks) if self.marks.join(marks) => {}
            _ => self.defer_apart(first, count),
        }
    }

    /// As `defer_lines`, for lines that cannot be joined with the collected marks.
    #[inline(never)]
    fn defer_apart(&mut self, first: u64, count: u64) {
        for marks in LineSet::of(first, count) {
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

    /// The epoch of this handle's operation.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The image that this handle writes to.
    #[inline]
    pub fn image(&self) -> &Image {
        self.medium.image()
    }
}
