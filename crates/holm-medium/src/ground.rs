//! What a store sees of its medium, whichever it is: clock, space, image, and the right to lay records.
//!
//! The quill is generic over its medium; a store is not, and crosses this door once per record.

use crate::epoch::{Clock, Epoch, Stay};
use crate::error::Result;
use crate::image::Image;
use crate::loc::{Area, parts};
use crate::medium::Medium;
use crate::pen::Quill;
use crate::space::Space;
use std::sync::Arc;

/// How laid words become durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lay {
    /// With the operation's epoch.
    Deferred,
    /// Before `lay` returns, where the medium flushes.
    Flushed,
    /// Not at all: they are meant for the death of the process alone.
    Visible,
}

/// Leaf blocks kept for operations that must not fail half-way, while this lives.
pub struct Aside<'a> {
    space: &'a Space,
    blocks: u64,
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        self.space.let_go(self.blocks);
    }
}

/// A quill without its type parameter.
pub trait Ground: Send + Sync {
    /// Labels and durability.
    fn clock(&self) -> &Clock;
    /// What is free.
    fn space(&self) -> &Space;
    /// The cache's view.
    fn image(&self) -> &Arc<Image>;

    /// Lays words into fresh record space and gives their offset in the record area. Unreachable until a leaf says
    /// otherwise, so a crash here leaves nothing to clean.
    ///
    /// # Errors
    /// The medium's, where it cannot grow.
    fn lay(&self, stay: &Stay<'_>, words: &[u64], how: Lay) -> Result<u64>;

    /// Sees that so many leaf blocks can be had, by those alone who hold the clock as this stay does.
    ///
    /// # Errors
    /// The medium's, where it cannot grow: nothing is set aside.
    fn set_aside(&self, stay: &Stay<'_>, blocks: u64) -> Result<Aside<'_>>;

    /// Stores one word, in program order with the caller's other stores.
    fn mark(&self, stay: &Stay<'_>, loc: u64, value: u64);

    /// Brings runs of lines, each with its first and how many, to a medium that flushes, by the calling thread: when
    /// this returns they are durable. Of several threads that share an epoch's lines each calls it for its own, for a
    /// fence completes its own thread's flushes alone.
    fn write_back(&self, runs: &[(u64, u64)]);

    /// Declares an epoch durable whose lines have been written back: the clock's word, which is the commit word of the
    /// epoch, and then whoever waits.
    ///
    /// # Errors
    /// `Corrupt` if the pool's block is not there.
    fn declare(&self, ended: Epoch) -> Result<()>;

    /// Does what is left to do for an epoch that has been raised: every line that it wrote, a fence, the clock's word,
    /// a fence: D + 1 flushes and two fences for D dirty lines (BD+Tree, section 2).
    ///
    /// # Errors
    /// As [`Ground::declare`].
    fn settle(&self, ended: Epoch) -> Result<()> {
        let mut runs = Vec::new();
        self.clock().drain(ended, |first, count| runs.push((first, count)));
        self.write_back(&runs);
        self.declare(ended)
    }

    /// Ends an epoch on a medium that flushes.
    ///
    /// # Errors
    /// As [`Ground::declare`].
    fn advance(&self) -> Result<Epoch> {
        let ended = self.clock().raise();
        self.settle(ended)?;
        Ok(ended)
    }
}

impl<M: Medium> Ground for Quill<M> {
    fn clock(&self) -> &Clock {
        &self.pool().clock
    }

    fn space(&self) -> &Space {
        &self.pool().space
    }

    fn image(&self) -> &Arc<Image> {
        self.pool().medium.image()
    }

    fn lay(&self, stay: &Stay<'_>, words: &[u64], how: Lay) -> Result<u64> {
        let pool = self.pool();
        let offset = pool.space.take_record(&pool.medium, stay.epoch(), words.len() as u32)?;
        let mut pen = self.cut(stay);
        let place = pool.medium.image().words(Area::Records.at(offset), words.len()).expect("space lies in the image");
        pen.fill(place, words.iter().copied());
        match how {
            Lay::Flushed => {
                pen.flush_words(place);
                // Before a leaf leads here: else a crash keeps the leaf's word and finds noise behind it.
                pen.fence();
            }
            Lay::Deferred => pen.defer_words(place),
            Lay::Visible => {}
        }
        Ok(offset)
    }

    fn set_aside(&self, stay: &Stay<'_>, blocks: u64) -> Result<Aside<'_>> {
        let pool = self.pool();
        pool.space.set_aside(&pool.medium, stay.epoch(), blocks)?;
        Ok(Aside { space: &pool.space, blocks })
    }

    fn mark(&self, stay: &Stay<'_>, loc: u64, value: u64) {
        debug_assert!(parts(loc).1.is_multiple_of(8), "a word's place");
        if let Some([word]) = self.pool().medium.image().words(loc, 1) {
            self.cut(stay).write(word, value);
        }
    }

    fn write_back(&self, runs: &[(u64, u64)]) {
        let medium = &self.pool().medium;
        runs.iter().flat_map(|(first, count)| *first..first + count).for_each(|line| medium.flush(line));
        // Before the clock word: else a crash keeps the word, loses a line, and takes a half-written epoch for whole.
        medium.fence();
    }

    fn declare(&self, ended: Epoch) -> Result<()> {
        let pool = self.pool();
        let root = pool.root()?;
        self.cut_at(ended).write(&root.durable, ended);
        pool.medium.flush(pool.medium.image().lines_of(&root.durable).0);
        // Before it is published: else an operation of the epoch after next could start, and overwrite the version that
        // this crash would still need.
        pool.medium.fence();
        pool.clock.publish(ended);
        Ok(())
    }
}
