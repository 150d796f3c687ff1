//! PACTree (Kim et al., SOSP 2021), for comparison: a list of nodes of 64 pairs in persistent memory, and a
//! search layer that learns of a split only later.
//!
//! ```text
//! node, 18 lines:   low | high | own number | next | previous | deleted | bitmap | 64 fingerprints | lock | 64 pairs
//! ```
//!
//! The order of flushes and fences is that of the published code. An insert flushes the pair and the fingerprint,
//! fences, and flushes the bitmap, which commits. An update stores the payload in its place; a removal, the bitmap. A
//! split first writes a record of one line to a log. Then it fills a node, and one flush of the old node's first line
//! links the new one and gives up the moved pairs. Until the search layer knows the new node, operations that look for
//! it find the old one, and step along the list.
//!
//! Here a fresh node flushes only the lines that it fills, nodes do not merge, and the order of pairs within a node is
//! not kept. The search layer is volatile, the map of `holm-map` behind one lock; the paper's is a trie in
//! persistent memory, whose lines are **not** counted here. It learns of sixteen splits at once.

use super::blocks::{Blocks, FIRST};
use super::rival::{Known, Rival};
use crate::measured_tree::TreeSetup;
use holm_map::Map;
use holm_medium::{Guard, Mapped, Result, StorageOps, Word, WriteHandle, atomics};
use holm_search::Search;
use holm_tree::{Keys, Words};
use std::sync::{Mutex, MutexGuard, PoisonError};

const PAIRS: usize = 64;
const WORDS: usize = 16 + 2 * PAIRS;
/// The words of a node that are used by their place. The fingerprints take eight.
const LOW: usize = 0;
const HIGH: usize = 1;
const OWN: usize = 2;
const NEXT: usize = 3;
const PREVIOUS: usize = 4;
const BITMAP: usize = 6;
const FINGERPRINTS: usize = 7;
/// The words of a line.
const LINE: usize = 8;
/// Splits of which the search layer learns at once.
const LAG: usize = 16;

/// A node by its words.
#[derive(Clone, Copy)]
struct Node<'a>(&'a [Word]);

impl<'a> Node<'a> {
    fn read(self, word: usize) -> u64 {
        self.0[word].read()
    }

    fn pair(self, slot: usize) -> &'a [Word] {
        &self.0[16 + 2 * slot..18 + 2 * slot]
    }

    fn slots(self) -> impl Iterator<Item = usize> {
        let bitmap = self.read(BITMAP);
        (0..PAIRS).filter(move |slot| bitmap >> slot & 1 == 1)
    }

    /// Compares all fingerprints at once, as the published code does.
    fn find(self, search: Search, key: u64) -> Option<usize> {
        let wanted = Words::fingerprint(key);
        let equal = |at: usize| {
            let words = atomics(&self.0[at..at + 4]).try_into().expect("four words");
            u64::from(search.bytes_equal(words, wanted))
        };
        let mut left = (equal(FINGERPRINTS) | equal(FINGERPRINTS + 4) << 32) & self.read(BITMAP);
        while left != 0 {
            let slot = left.trailing_zeros() as usize;
            if self.pair(slot)[0].read() == key {
                return Some(slot);
            }
            left &= left - 1;
        }
        None
    }

    /// Writes a pair and its fingerprint to a slot that does not count.
    fn write(self, handle: &mut WriteHandle<'_, Mapped>, slot: usize, (key, payload): (u64, u64)) {
        handle.write(&self.pair(slot)[0], key);
        handle.write(&self.pair(slot)[1], payload);
        let (word, shift) = (&self.0[FINGERPRINTS + slot / 8], slot % 8 * 8);
        let others = word.read() & !(0xff << shift);
        handle.write(word, others | u64::from(Words::fingerprint(key)) << shift);
    }

    /// Inserts a pair into a free slot.
    fn insert(self, handle: &mut WriteHandle<'_, Mapped>, pair: (u64, u64)) {
        let bitmap = self.read(BITMAP);
        let slot = bitmap.trailing_ones() as usize;
        self.write(handle, slot, pair);
        handle.flush(&self.pair(slot)[0]);
        handle.flush(&self.0[FINGERPRINTS + slot / 8]);
        // Before the bitmap: otherwise a crash keeps the bit and loses the pair.
        handle.fence();
        self.commit(handle, bitmap | 1 << slot);
    }

    /// Makes another bitmap durable: the commit word.
    fn commit(self, handle: &mut WriteHandle<'_, Mapped>, bitmap: u64) {
        handle.write(&self.0[BITMAP], bitmap);
        handle.persist(&self.0[BITMAP]);
    }
}

/// What lies in volatile memory.
#[derive(Default)]
struct Above {
    /// Of each node that the search layer knows, its least key and its number.
    nodes: Map<u64, u64>,
    /// Splits of which it has not learned: the same of the new node.
    splits: Vec<(u64, u64)>,
    pairs: u64,
}

/// The list, whose first node is the first block but one, and the search layer. The first block is the log.
pub(super) struct PacTree {
    blocks: Blocks,
    above: Mutex<Above>,
    search: Search,
}

impl PacTree {
    /// Creates an empty tree.
    ///
    /// # Errors
    /// The medium's, if there is not enough memory.
    pub(super) fn new(setup: TreeSetup) -> Result<Self> {
        let blocks = Blocks::new(setup, WORDS, Self::PER_EPOCH)?;
        let first = blocks.take()?;
        {
            let guard = blocks.writer().clock().pin()?;
            let (node, mut handle) = (blocks.block(first), blocks.writer().begin_write(&guard));
            handle.write(&node[HIGH], u64::MAX);
            handle.write(&node[OWN], first);
            handle.persist(&node[HIGH]);
        }
        let above = Mutex::new(Above { nodes: Map::from([(0, first)]), ..Above::default() });
        Ok(PacTree { blocks, above, search: Search::detect() })
    }

    fn above(&self) -> MutexGuard<'_, Above> {
        self.above.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node(&self, number: u64) -> Node<'_> {
        Node(self.blocks.block(number))
    }

    /// The node of a key: the one that the search layer knows, or one behind it.
    fn seek(&self, above: &Above, key: u64) -> Node<'_> {
        let (_, known) = above.nodes.range(..=key).next_back().expect("the first node begins at zero");
        let mut node = self.node(*known);
        while node.read(HIGH) <= key && node.read(NEXT) != FIRST {
            node = self.node(node.read(NEXT));
        }
        node
    }

    /// The record of a split in the log.
    fn record(&self, index: usize) -> &[Word] {
        &self.blocks.block(FIRST)[index * LINE..(index + 1) * LINE]
    }

    /// Moves the upper half of a full node to a fresh one, with the pair if it belongs there, and inserts it otherwise.
    fn split(
        &self,
        above: &mut Above,
        handle: &mut WriteHandle<'_, Mapped>,
        old: Node<'_>,
        pair: (u64, u64),
    ) -> Result<()> {
        let mut order: Vec<_> = old.slots().map(|slot| (old.pair(slot)[0].read(), slot)).collect();
        order.sort_unstable();
        let upper = &order[PAIRS / 2..];
        let (low, number) = (upper[0].0, self.blocks.take()?);
        let record = self.record(above.splits.len());
        let written = [1, low, old.read(OWN), number, pair.0, pair.1];
        record.iter().zip(written).for_each(|(word, value)| handle.write(word, value));
        // Before the new node is allocated: otherwise a crash loses it.
        handle.persist(&record[0]);
        let fresh = self.node(number);
        let header = [low, old.read(HIGH), number, old.read(NEXT), old.read(OWN), 0, 0];
        fresh.0.iter().zip(header).for_each(|(word, value)| handle.write(word, value));
        let moved = upper.iter().map(|(key, slot)| (*key, old.pair(*slot)[1].read()));
        let coming: Vec<_> = moved.chain((pair.0 >= low).then_some(pair)).collect();
        coming.iter().enumerate().for_each(|(slot, pair)| fresh.write(handle, slot, *pair));
        handle.write(&fresh.0[BITMAP], (1 << coming.len()) - 1);
        // Two lines of header, and those of the pairs.
        let lines = 2 + coming.len().div_ceil(4);
        fresh.0.chunks(LINE).take(lines).for_each(|line| handle.flush(&line[0]));
        // Before the link: otherwise a crash keeps the link and loses the pairs.
        handle.fence();
        handle.write(&old.0[HIGH], low);
        handle.write(&old.0[NEXT], number);
        old.commit(handle, upper.iter().fold(old.read(BITMAP), |bits, (_, slot)| bits & !(1 << slot)));
        if pair.0 < low {
            old.insert(handle, pair);
        }
        let next = fresh.read(NEXT);
        if next != FIRST {
            // Not flushed: recovery derives it from the links in the other direction.
            handle.write(&self.node(next).0[PREVIOUS], number);
        }
        above.splits.push((low, number));
        if above.splits.len() == LAG {
            self.learn(above, handle);
        }
        Ok(())
    }

    /// The search layer learns of all splits, and ends their records.
    fn learn(&self, above: &mut Above, handle: &mut WriteHandle<'_, Mapped>) {
        for (index, (low, number)) in std::mem::take(&mut above.splits).into_iter().enumerate() {
            above.nodes.insert(low, number);
            handle.write(&self.record(index)[0], 0);
            handle.persist(&self.record(index)[0]);
        }
    }
}

impl Rival for PacTree {
    const PER_EPOCH: bool = false;

    fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    fn put(&self, guard: &Guard<'_>, key: u64, payload: u64) -> Result<()> {
        let (mut above, mut handle) = (self.above(), self.blocks.writer().begin_write(guard));
        let node = self.seek(&above, key);
        if let Some(slot) = node.find(self.search, key) {
            // The commit word.
            handle.write(&node.pair(slot)[1], payload);
            handle.persist(&node.pair(slot)[1]);
            return Ok(());
        }
        above.pairs += 1;
        if node.read(BITMAP) == u64::MAX {
            return self.split(&mut above, &mut handle, node, (key, payload));
        }
        node.insert(&mut handle, (key, payload));
        Ok(())
    }

    fn remove(&self, guard: &Guard<'_>, key: u64) -> Result<()> {
        let (mut above, mut handle) = (self.above(), self.blocks.writer().begin_write(guard));
        let node = self.seek(&above, key);
        if let Some(slot) = node.find(self.search, key) {
            above.pairs -= 1;
            node.commit(&mut handle, node.read(BITMAP) & !(1 << slot));
        }
        Ok(())
    }

    fn get(&self, key: u64) -> Option<u64> {
        let above = self.above();
        let node = self.seek(&above, key);
        node.find(self.search, key).map(|slot| node.pair(slot)[1].read())
    }

    fn scan(&self, low: u64, count: usize, each: &mut dyn FnMut(u64)) {
        let above = self.above();
        let (mut node, mut left) = (self.seek(&above, low), count);
        loop {
            let mut pairs: Vec<_> = node.slots().map(|slot| [0, 1].map(|word| node.pair(slot)[word].read())).collect();
            pairs.sort_unstable();
            for [_, payload] in pairs.into_iter().filter(|pair| pair[0] >= low).take(left) {
                each(payload);
                left -= 1;
            }
            if left == 0 || node.read(NEXT) == FIRST {
                return;
            }
            node = self.node(node.read(NEXT));
        }
    }

    /// Along the list of nodes. The paper's search layer is persistent, and needs no rebuilding.
    fn rebuilt(&self) -> Known {
        let (mut known, mut node) = (Known { blocks: Map::new(), pairs: 0 }, self.node(FIRST + 1));
        loop {
            known.blocks.insert(node.read(LOW), node.read(OWN));
            known.pairs += u64::from(node.read(BITMAP).count_ones());
            if node.read(NEXT) == FIRST {
                return known;
            }
            node = self.node(node.read(NEXT));
        }
    }

    fn pairs(&self) -> u64 {
        self.above().pairs
    }

    /// Sixteen bytes a node.
    fn volatile_bytes(&self) -> u64 {
        self.above().nodes.len() as u64 * 16
    }
}

#[cfg(test)]
mod tests {
    use crate::rivals::tests::{agrees_with_a_map, spent};
    use crate::traces::{all, ascending};

    #[test]
    fn it_keeps_pairs_in_order_and_writes_as_its_paper_says() {
        let (tree, keys) = (agrees_with_a_map("pactree"), all(64));
        assert_eq!(spent(&*tree, || tree.put(&keys, !0)), [3 * 64, 2 * 64]);
        assert_eq!(spent(&*tree, || tree.put(&keys, 0)), [64, 64]);
        assert_eq!(spent(&*tree, || tree.remove(&keys[..8])), [8, 8]);
    }

    /// The first split: its record, two lines of header and nine of pairs, and the old node. After the sixteenth one,
    /// the search layer has learned of all, and each record has ended.
    #[test]
    fn a_split_writes_its_record_first_and_ends_it_later() {
        let (tree, keys) = (agrees_with_a_map("pactree"), ascending(64 + 15 * 32 + 1));
        tree.put(&keys[..64], !0).expect("memory");
        assert_eq!(spent(&*tree, || tree.put(&keys[64..65], !0)), [1 + 11 + 1, 3]);
        let inserts = 15 * 31;
        let splits = 15;
        assert_eq!(
            spent(&*tree, || tree.put(&keys[65..], !0)),
            [3 * inserts + 13 * splits + 16, 2 * inserts + 3 * splits + 16]
        );
        assert_eq!(tree.volatile_bytes(), 17 * 16);
    }
}
