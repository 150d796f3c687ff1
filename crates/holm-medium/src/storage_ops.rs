//! What a store sees of its medium, whichever it is: clock, space, image, and the right to write records.
//!
//! The writer is generic over its medium; a store is not, and crosses this door once per record.

use crate::epoch::{Clock, Epoch, Guard};
use crate::error::Result;
use crate::image::Image;
use crate::loc::{Area, parts};
use crate::medium::Medium;
use crate::space::Space;
use crate::writer::Writer;
use std::sync::Arc;

/// How written words become durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Persistence {
    /// With the operation's epoch.
    PerEpoch,
    /// Before `write_record` returns, where the medium flushes.
    PerOperation,
    /// Not at all: they are meant for the death of the process alone.
    ProcessOnly,
}

/// Leaf blocks kept for operations that must not fail half-way, while this lives.
pub struct ReservedBlocks<'a> {
    space: &'a Space,
    blocks: u64,
}

impl Drop for ReservedBlocks<'_> {
    fn drop(&mut self) {
        self.space.release_reserved(self.blocks);
    }
}

/// A writer without its type parameter.
pub trait StorageOps: Send + Sync {
    /// Labels and durability.
    fn clock(&self) -> &Clock;
    /// What is free.
    fn space(&self) -> &Space;
    /// The cache's view.
    fn image(&self) -> &Arc<Image>;

    /// Writes words into fresh record space and gives their offset in the record area. Unreachable until a leaf says
    /// otherwise, so a crash here leaves nothing to clean.
    ///
    /// # Errors
    /// The medium's, where it cannot grow.
    fn write_record(&self, guard: &Guard<'_>, words: &[u64], how: Persistence) -> Result<u64>;

    /// Sees that so many leaf blocks can be had, by those alone who hold the clock as this guard does.
    ///
    /// # Errors
    /// The medium's, where it cannot grow: nothing is set aside.
    fn reserve_blocks(&self, guard: &Guard<'_>, blocks: u64) -> Result<ReservedBlocks<'_>>;

    /// Stores one word, in program order with the caller's other stores.
    fn write_word(&self, guard: &Guard<'_>, loc: u64, value: u64);

    /// Brings runs of lines, each with its first and how many, to a medium that flushes, by the calling thread: when
    /// this returns they are durable. Of several threads that share an epoch's lines each calls it for its own, for a
    /// fence completes its own thread's flushes alone.
    fn write_back(&self, runs: &[(u64, u64)]);

    /// Declares an epoch durable whose lines have been written back: the clock's word, which is the commit word of the
    /// epoch, and then whoever waits.
    ///
    /// # Errors
    /// `Corrupt` if the storage's block is not there.
    fn publish_epoch(&self, ended: Epoch) -> Result<()>;

    /// Does what is left to do for an epoch that has been ended: every line that it wrote, a fence, the clock's word,
    /// a fence: D + 1 flushes and two fences for D dirty lines (BD+Tree, section 2).
    ///
    /// # Errors
    /// As [`StorageOps::publish_epoch`].
    fn persist_epoch(&self, ended: Epoch) -> Result<()> {
        let mut runs = Vec::new();
        self.clock().drain(ended, |first, count| runs.push((first, count)));
        self.write_back(&runs);
        self.publish_epoch(ended)
    }

    /// Ends an epoch on a medium that flushes.
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
        let mut handle = self.begin_write(guard);
        let place =
            storage.medium.image().words(Area::Records.at(offset), words.len()).expect("space lies in the image");
        handle.fill(place, words.iter().copied());
        match how {
            Persistence::PerOperation => {
                handle.flush_words(place);
                // Before a leaf leads here: else a crash keeps the leaf's word and finds noise behind it.
                handle.fence();
            }
            Persistence::PerEpoch => handle.defer_words(place),
            Persistence::ProcessOnly => {}
        }
        Ok(offset)
    }

    fn reserve_blocks(&self, guard: &Guard<'_>, blocks: u64) -> Result<ReservedBlocks<'_>> {
        let storage = self.storage();
        storage.space.reserve_blocks(&storage.medium, guard.epoch(), blocks)?;
        Ok(ReservedBlocks { space: &storage.space, blocks })
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
        // Before the clock word: else a crash keeps the word, loses a line, and takes a half-written epoch for whole.
        medium.fence();
    }

    fn publish_epoch(&self, ended: Epoch) -> Result<()> {
        let storage = self.storage();
        let root = storage.header()?;
        self.begin_write_at(ended).write(&root.durable, ended);
        storage.medium.flush(storage.medium.image().lines_of(&root.durable).0);
        // Before it is published: else an operation of the epoch after next could start, and overwrite the version that
        // this crash would still need.
        storage.medium.fence();
        storage.clock.publish(ended);
        Ok(())
    }
}
