//! A B+-tree over Montage (Wen et al., ICPP 2021), for comparison: each pair is a payload of its own in
//! persistent memory, all of the tree is volatile, and payloads become durable when their epoch ends.
//!
//! ```text
//! payload, a line:       unused | epoch | kind | number of the pair | key | value | unused | unused
//! payload, two lines:    the same header, and key and value behind its 56 bytes
//! ```
//!
//! A put changes a payload of its own epoch in place, and otherwise writes another one with the pair's number. A
//! removal writes a payload that says so. What it replaces is used again two epochs later, and the payload of a removal
//! one epoch after that: until then a crash can bring back what was before. No operation flushes or fences.
//!
//! The published payload has a header of 56 bytes, so that a pair of words takes two lines. That form is
//! `montage_two_lines`; in `montage` a pair takes one line, which spares it half of what it writes. As in the published
//! code, a payload that is given up loses its epoch by a store that is not flushed. The tree is the map of `holm-map`
//! behind one lock.

use super::blocks::{Blocks, FIRST};
use super::rival::{Known, Rival};
use crate::measured_tree::TreeSetup;
use holm_map::Map;
use holm_medium::{Epoch, Guard, Mapped, Result, StorageOps, WriteHandle};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The words of a line.
const LINE: usize = 8;
/// The words of a payload, by what they hold. Its key and its value come behind.
const EPOCH: usize = 1;
const KIND: usize = 2;
const NUMBER: usize = 3;

const ALLOCATED: u64 = 1;
const UPDATED: u64 = 2;
const REMOVED: u64 = 3;

/// What lies in volatile memory.
#[derive(Default)]
struct Above {
    /// The payload of each key.
    payloads: Map<u64, u64>,
    /// Payloads that may be used again once an epoch has ended.
    retired: Vec<(Epoch, u64)>,
    /// The epoch in which payloads were last given back.
    reused: Epoch,
    numbers: u64,
}

/// The payloads, and the tree above them.
pub(super) struct Montage {
    blocks: Blocks,
    /// The word of a payload that holds the key. Its value is the next one.
    key: usize,
    above: Mutex<Above>,
}

impl Montage {
    /// Creates an empty tree whose payloads take a line each.
    ///
    /// # Errors
    /// The medium's, if there is not enough memory.
    pub(super) fn new(setup: TreeSetup) -> Result<Self> {
        Self::with_key(setup, NUMBER + 1)
    }

    /// Creates an empty tree whose payloads have the published header, and take two lines each.
    ///
    /// # Errors
    /// The medium's, if there is not enough memory.
    pub(super) fn of_two_lines(setup: TreeSetup) -> Result<Self> {
        Self::with_key(setup, LINE - 1)
    }

    fn with_key(setup: TreeSetup, key: usize) -> Result<Self> {
        let words = (key + 2).next_multiple_of(LINE);
        Ok(Montage { blocks: Blocks::new(setup, words, Self::PER_EPOCH)?, key, above: Mutex::default() })
    }

    fn above(&self) -> MutexGuard<'_, Above> {
        self.above.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a payload, which becomes durable with the epoch.
    fn write(&self, handle: &mut WriteHandle<'_, Mapped>, payload: u64, values: [u64; 4]) {
        let (words, [kind, number, key, value]) = (self.blocks.block(payload), values);
        let values = [(EPOCH, handle.epoch()), (KIND, kind), (NUMBER, number), (self.key, key), (self.key + 1, value)];
        values.into_iter().for_each(|(word, value)| handle.write(&words[word], value));
        handle.defer_words(words);
    }

    /// Gives back the payloads that no crash brings back any more: once in each epoch.
    fn reuse(&self, above: &mut Above, handle: &mut WriteHandle<'_, Mapped>) {
        let active = handle.epoch();
        if above.reused == active {
            return;
        }
        above.reused = active;
        for (_, payload) in above.retired.extract_if(.., |(epoch, _)| *epoch <= active) {
            handle.write(&self.blocks.block(payload)[EPOCH], 0);
            self.blocks.give_back(payload);
        }
    }

    fn replace(
        &self,
        above: &mut Above,
        handle: &mut WriteHandle<'_, Mapped>,
        old: u64,
        pair: (u64, u64),
    ) -> Result<()> {
        let words = self.blocks.block(old);
        if words[EPOCH].read() == handle.epoch() {
            handle.write(&words[self.key + 1], pair.1);
            handle.defer_words(words);
            return Ok(());
        }
        let payload = self.blocks.take()?;
        self.write(handle, payload, [UPDATED, words[NUMBER].read(), pair.0, pair.1]);
        above.payloads.insert(pair.0, payload);
        above.retired.push((handle.epoch() + 2, old));
        Ok(())
    }
}

impl Rival for Montage {
    const PER_EPOCH: bool = true;

    fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    fn put(&self, guard: &Guard<'_>, key: u64, value: u64) -> Result<()> {
        let (mut above, mut handle) = (self.above(), self.blocks.writer().begin_write(guard));
        self.reuse(&mut above, &mut handle);
        if let Some(old) = above.payloads.get(&key).copied() {
            return self.replace(&mut above, &mut handle, old, (key, value));
        }
        let payload = self.blocks.take()?;
        above.numbers += 1;
        self.write(&mut handle, payload, [ALLOCATED, above.numbers, key, value]);
        above.payloads.insert(key, payload);
        Ok(())
    }

    fn remove(&self, guard: &Guard<'_>, key: u64) -> Result<()> {
        let (mut above, mut handle) = (self.above(), self.blocks.writer().begin_write(guard));
        self.reuse(&mut above, &mut handle);
        let Some(old) = above.payloads.remove(&key) else { return Ok(()) };
        let (words, epoch) = (self.blocks.block(old), handle.epoch());
        if words[EPOCH].read() == epoch {
            // The payload itself says that the pair is removed.
            handle.write(&words[KIND], REMOVED);
            handle.defer_words(words);
        } else {
            let removal = self.blocks.take()?;
            self.write(&mut handle, removal, [REMOVED, words[NUMBER].read(), key, 0]);
            above.retired.push((epoch + 3, removal));
        }
        above.retired.push((epoch + 2, old));
        Ok(())
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.above().payloads.get(&key).map(|payload| self.blocks.block(*payload)[self.key + 1].read())
    }

    fn scan(&self, low: u64, count: usize, each: &mut dyn FnMut(u64)) {
        let above = self.above();
        let payloads = above.payloads.range(low..).take(count);
        payloads.for_each(|(_, payload)| each(self.blocks.block(*payload)[self.key + 1].read()));
    }

    /// Of each pair the payload of the latest epoch counts, unless it says that the pair is gone.
    fn rebuilt(&self) -> Known {
        // By number: the epoch and the payload.
        let mut latest = vec![(0, FIRST); 1];
        for payload in FIRST + 1..self.blocks.frontier() {
            let words = self.blocks.block(payload);
            let (epoch, number) = (words[EPOCH].read(), words[NUMBER].read());
            latest.resize(latest.len().max(number as usize + 1), (0, FIRST));
            if epoch > latest[number as usize].0 {
                latest[number as usize] = (epoch, payload);
            }
        }
        let there = latest.into_iter().map(|(_, payload)| (self.blocks.block(payload), payload));
        let there = there.filter(|(words, _)| [ALLOCATED, UPDATED].contains(&words[KIND].read()));
        let blocks: Map<u64, u64> = there.map(|(words, payload)| (words[self.key].read(), payload)).collect();
        Known { pairs: blocks.len() as u64, blocks }
    }

    fn pairs(&self) -> u64 {
        self.above().payloads.len() as u64
    }

    /// Sixteen bytes a pair, a key and a number: no node of the volatile tree takes less.
    fn volatile_bytes(&self) -> u64 {
        self.pairs() * 16
    }

    fn end_epoch(&self) -> Result<()> {
        self.blocks.writer().end_epoch()?;
        let guard = self.blocks.writer().clock().pin()?;
        self.reuse(&mut self.above(), &mut self.blocks.writer().begin_write(&guard));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured_tree::counted;
    use crate::rivals::rival::Measured;
    use crate::rivals::tests::{agrees_with_a_map, spent};
    use crate::traces::all;
    use holm_lab::measured::MeasuredTree;

    #[test]
    fn a_payload_is_written_when_its_epoch_ends() {
        let (tree, keys) = (agrees_with_a_map("montage"), all(1_000));
        let end = || spent(&*tree, || tree.end_epoch())[0];
        let empty = end();
        assert_eq!(spent(&*tree, || tree.put(&keys, !0)), [0, 0]);
        assert_eq!(end() - empty, 1_000);
        // In another epoch elsewhere, and then in place.
        tree.put(&keys, 0).and_then(|()| tree.put(&keys, 1)).expect("memory");
        assert_eq!((end() - empty, tree.leaf_bytes()), (1_000, 2_001 * 64));
        assert_eq!(spent(&*tree, || tree.remove(&keys[..600])), [0, 0]);
        assert_eq!(end() - empty, 600);
        // What was replaced is used again two epochs later, and what says that a pair is gone, one epoch after that.
        assert_eq!(tree.leaf_bytes(), (2_001 + 600 - 1_000) * 64);
        end();
        assert_eq!(tree.leaf_bytes(), (1_001 + 600 - 600) * 64);
        end();
        assert_eq!(tree.leaf_bytes(), (1_001 - 600) * 64);
    }

    /// The published payload is changed and written whole.
    #[test]
    fn a_payload_of_two_lines_is_written_whole() {
        let (tree, keys) = (agrees_with_a_map("montage_two_lines"), all(1_000));
        let end = || spent(&*tree, || tree.end_epoch())[0];
        let empty = end();
        tree.put(&keys, !0).and_then(|()| tree.put(&keys, 1)).expect("memory");
        assert_eq!((end() - empty, tree.leaf_bytes()), (2_000, 1_001 * 128));
    }

    #[test]
    fn a_recovery_finds_the_payloads_of_the_tree() {
        let tree = Measured(Montage::new(counted(3_000)).expect("memory"));
        let keys = all(1_000);
        for step in 0..4 {
            match step {
                0 => tree.put(&keys, 0),
                1 => tree.put(&keys[..500], 1),
                2 => tree.remove(&keys[250..750]),
                _ => tree.put(&keys[600..], 2),
            }
            .expect("memory");
            assert!(tree.0.rebuilt().blocks == tree.0.above().payloads);
            tree.end_epoch().expect("memory");
            assert!(tree.0.rebuilt().blocks == tree.0.above().payloads);
        }
    }
}
