//! The object-safe view of a writer, which the store uses: clock, free space, image, and writing records.
//!
//! The writer is generic over its medium and the store is not. The store makes one dynamic call per record.

use crate::epoch::{Clock, Epoch, Guard};
use crate::error::Result;
use crate::image::Image;
use crate::loc::{Area, parts};
use crate::medium::Medium;
use crate::space::{RecordRun, Space};
use crate::writer::Writer;
use std::sync::Arc;

/// How written words become durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Persistence {
    /// With the epoch of the operation.
    PerEpoch,
    /// Before the call returns, on a medium that flushes.
    PerOperation,
    /// Not at all: the words need to survive the death of the process only.
    ProcessOnly,
}

/// A writer without its type parameter.
pub trait StorageOps: Send + Sync {
    /// Epoch labels and durability.
    fn clock(&self) -> &Clock;
    /// The free space.
    fn space(&self) -> &Space;
    /// The cache's view.
    fn image(&self) -> &Arc<Image>;

    /// Allocates record space, writes `words` there and returns their offset in the record area, in bytes. The words
    /// are unreachable until a leaf refers to them, so a crash before that leaves nothing to clean up.
    ///
    /// # Errors
    /// Those of the medium, if it cannot grow.
    fn write_record(&self, guard: &Guard<'_>, words: &[u64], how: Persistence) -> Result<u64>;

    /// As [`StorageOps::write_record`] into free space that ends below an offset in the record area, in bytes. `None`
    /// if there is none: the area never grows for it.
    fn write_record_below(&self, guard: &Guard<'_>, words: &[u64], how: Persistence, limit: u64) -> Option<u64>;

    /// As [`StorageOps::write_record`] into the next words of a run; `None` if it has too few.
    fn write_record_in(&self, guard: &Guard<'_>, words: &[u64], how: Persistence, run: &mut RecordRun) -> Option<u64>;

    /// As [`Space::cut_run`].
    ///
    /// # Errors
    /// Those of the medium, if it cannot grow.
    fn cut_run(&self, piece: &mut RecordRun, bytes: u64) -> Result<RecordRun>;

    /// Gives all record space that is free in whole large pages back to the file system, and returns its bytes.
    ///
    /// # Errors
    /// Those of the medium. What was not given back stays free.
    fn give_space_back(&self) -> Result<u64>;

    /// Stores one word, in program order with the other stores of the caller.
    fn write_word(&self, guard: &Guard<'_>, loc: u64, value: u64);

    /// Writes back runs of lines (first line, number of lines) on a medium that flushes, on the calling thread. They
    /// are durable when this returns. When several threads share the lines of an epoch, each thread calls this for its
    /// own runs, because a fence completes the flushes of its own thread only.
    fn write_back(&self, runs: &[(u64, u64)]);

    /// Publishes an epoch, whose lines have been written back, as durable. This writes the clock's word, which is the
    /// commit word of the epoch, and then wakes the waiters.
    ///
    /// # Errors
    /// `Corrupt` if block 0 is missing.
    fn publish_epoch(&self, ended: Epoch) -> Result<()>;

    /// Completes an epoch that the clock has ended: flushes each line that it wrote, a fence, the clock's word, a
    /// fence. That is D + 1 flushes and two fences for D dirty lines (BD+Tree, section 2).
    ///
    /// # Errors
    /// As [`StorageOps::publish_epoch`].
    fn persist_epoch(&self, ended: Epoch) -> Result<()> {
        let mut runs = Vec::new();
        self.clock().drain(ended, |first, count| runs.push((first, count)));
        self.write_back(&runs);
        self.publish_epoch(ended)
    }

    /// Ends the active epoch and makes it durable, on a medium that flushes.
    ///
    /// # Errors
    /// As [`StorageOps::publish_epoch`].
    fn end_epoch(&self) -> Result<Epoch> {
        let ended = self.clock().advance();
        self.persist_epoch(ended)?;
        Ok(ended)
    }
}

impl<M: Medium> StorageOps for Writer<M> {
    fn clock(&self) -> &Clock {
        &self.storage().clock
    }

    fn space(&self) -> &Space {
        &self.storage().space
    }

    fn image(&self) -> &Arc<Image> {
        self.storage().medium.image()
    }

    fn write_record(&self, guard: &Guard<'_>, words: &[u64], how: Persistence) -> Result<u64> {
        let storage = self.storage();
        let offset = storage.space.take_record(&storage.medium, guard.epoch(), words.len() as u32)?;
        fill_record(self, guard, words, how, offset);
        Ok(offset)
    }

    fn write_record_below(&self, guard: &Guard<'_>, words: &[u64], how: Persistence, limit: u64) -> Option<u64> {
        let offset = self.storage().space.take_record_below(words.len() as u32, limit)?;
        fill_record(self, guard, words, how, offset);
        Some(offset)
    }

    fn write_record_in(&self, guard: &Guard<'_>, words: &[u64], how: Persistence, run: &mut RecordRun) -> Option<u64> {
        let offset = self.storage().space.take_record_of(run, words.len() as u32)?;
        fill_record(self, guard, words, how, offset);
        Some(offset)
    }

    fn cut_run(&self, piece: &mut RecordRun, bytes: u64) -> Result<RecordRun> {
        let storage = self.storage();
        storage.space.cut_run(&storage.medium, piece, bytes)
    }

    fn give_space_back(&self) -> Result<u64> {
        let storage = self.storage();
        storage.space.give_back(&storage.medium, 0)
    }

    fn write_word(&self, guard: &Guard<'_>, loc: u64, value: u64) {
        debug_assert!(parts(loc).1.is_multiple_of(8), "a word's place");
        if let Some([word]) = self.storage().medium.image().words(loc, 1) {
            self.begin_write(guard).write(word, value);
        }
    }

    fn write_back(&self, runs: &[(u64, u64)]) {
        let medium = &self.storage().medium;
        runs.iter().flat_map(|(first, count)| *first..first + count).for_each(|line| medium.flush(line));
        // Before the clock word: otherwise a crash keeps the word, loses a line, and recovery takes a half-written
        // epoch for complete.
        medium.fence();
    }

    fn publish_epoch(&self, ended: Epoch) -> Result<()> {
        let storage = self.storage();
        let root = storage.header()?;
        self.begin_write_at(ended).write(&root.durable, ended);
        storage.medium.flush(storage.medium.image().lines_of(&root.durable).0);
        // Before the epoch is published: otherwise an operation of the second epoch after it could start, and
        // overwrite the version that recovery from this crash still needs.
        storage.medium.fence();
        storage.clock.publish(ended);
        Ok(())
    }
}

/// Fills the space of a record that no leaf refers to yet.
fn fill_record<M: Medium>(writer: &Writer<M>, guard: &Guard<'_>, words: &[u64], how: Persistence, offset: u64) {
    let mut handle = writer.begin_write(guard);
    let image = writer.storage().medium.image();
    let place = image.words(Area::Records.at(offset), words.len()).expect("space lies in the image");
    handle.fill(place, words.iter().copied());
    match how {
        Persistence::PerOperation => {
            handle.flush_words(place);
            // Before a leaf refers to the words: otherwise a crash keeps the leaf's word, and the bytes that it
            // refers to are garbage.
            handle.fence();
        }
        Persistence::PerEpoch => handle.defer_words(place),
        Persistence::ProcessOnly => {}
    }
}
