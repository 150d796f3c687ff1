//! uTree (Chen et al., VLDB 2020), for comparison: an ordered list of single pairs in persistent memory, and
//! all of the tree above it in volatile memory.
//!
//! ```text
//! node, 32 bytes, two to a line:   key | payload | number of the next node | unused
//! ```
//!
//! An insert makes its node durable and then links it behind its predecessor; a removal links around it; an update
//! stores the payload in its place. Each of these three stores commits. Nothing ever splits in persistent memory, so
//! no operation writes more than two lines.
//!
//! The volatile tree is the map of `holm-map` behind one lock.

use super::blocks::{Blocks, FIRST};
use super::rival::{Known, Rival};
use crate::measured_tree::TreeSetup;
use holm_map::Map;
use holm_medium::{Guard, Mapped, Result, Word, WriteHandle};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Words of a node.
const WORDS: usize = 4;

/// A list, which begins behind the first node, and for each key its node.
pub(super) struct UTree {
    blocks: Blocks,
    nodes: Mutex<Map<u64, u64>>,
}

impl UTree {
    /// Creates an empty tree.
    ///
    /// # Errors
    /// The medium's, if there is not enough memory.
    pub(super) fn new(setup: TreeSetup) -> Result<Self> {
        Ok(UTree { blocks: Blocks::new(setup, WORDS, Self::PER_EPOCH)?, nodes: Mutex::default() })
    }

    fn nodes(&self) -> MutexGuard<'_, Map<u64, u64>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn node(&self, node: u64) -> &[Word; WORDS] {
        self.blocks.block(node).try_into().expect("as many words")
    }

    /// Returns the nodes of the list from one on; none from [`FIRST`] on.
    fn list(&self, first: u64) -> impl Iterator<Item = u64> {
        let list = std::iter::successors(Some(first), |node| Some(self.node(*node)[2].read()));
        list.take_while(|node| *node != FIRST)
    }

    /// Returns the node before a key.
    fn before(nodes: &Map<u64, u64>, key: u64) -> u64 {
        nodes.range(..key).next_back().map_or(FIRST, |(_, node)| *node)
    }

    fn insert(&self, nodes: &mut Map<u64, u64>, handle: &mut WriteHandle<'_, Mapped>, pair: (u64, u64)) -> Result<()> {
        let node = self.blocks.take()?;
        let [key, payload, next, _] = self.node(node);
        let [_, _, link, _] = self.node(Self::before(nodes, pair.0));
        handle.write(key, pair.0);
        handle.write(payload, pair.1);
        handle.write(next, link.read());
        // Before the link: otherwise a crash leaves a link to a node that is not there.
        handle.persist(key);
        // The commit word.
        handle.write(link, node);
        handle.persist(link);
        nodes.insert(pair.0, node);
        Ok(())
    }
}

impl Rival for UTree {
    const PER_EPOCH: bool = false;

    fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    fn put(&self, guard: &Guard<'_>, key: u64, value: u64) -> Result<()> {
        let (mut nodes, mut handle) = (self.nodes(), self.blocks.writer().begin_write(guard));
        match nodes.get(&key) {
            Some(node) => {
                let [_, payload, ..] = self.node(*node);
                handle.write(payload, value);
                handle.persist(payload);
                Ok(())
            }
            None => self.insert(&mut nodes, &mut handle, (key, value)),
        }
    }

    fn remove(&self, guard: &Guard<'_>, key: u64) -> Result<()> {
        let (mut nodes, mut handle) = (self.nodes(), self.blocks.writer().begin_write(guard));
        let Some(node) = nodes.remove(&key) else { return Ok(()) };
        let [_, _, link, _] = self.node(Self::before(&nodes, key));
        // The commit word.
        handle.write(link, self.node(node)[2].read());
        // Before the node is used again: otherwise a crash leaves a link to another pair.
        handle.persist(link);
        self.blocks.give_back(node);
        Ok(())
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.nodes().get(&key).map(|node| self.node(*node)[1].read())
    }

    /// Along the list, which is in the order of the keys.
    fn rebuilt(&self) -> Known {
        let first = self.node(FIRST)[2].read();
        let blocks: Map<u64, u64> = self.list(first).map(|node| (self.node(node)[0].read(), node)).collect();
        Known { pairs: blocks.len() as u64, blocks }
    }

    /// Along the list.
    fn scan(&self, low: u64, count: usize, each: &mut dyn FnMut(u64)) {
        let first = self.nodes().range(low..).next().map_or(FIRST, |(_, node)| *node);
        self.list(first).take(count).for_each(|node| each(self.node(node)[1].read()));
    }

    fn pairs(&self) -> u64 {
        self.nodes().len() as u64
    }

    /// Sixteen bytes a pair, a key and a number: no node of the volatile tree takes less.
    fn volatile_bytes(&self) -> u64 {
        self.pairs() * 16
    }
}

#[cfg(test)]
mod tests {
    use crate::rivals::tests::{agrees_with_a_map, spent};
    use crate::traces::all;

    #[test]
    fn it_keeps_pairs_in_order_and_writes_as_its_paper_says() {
        let (tree, keys) = (agrees_with_a_map("utree"), all(1_000));
        assert_eq!(spent(&*tree, || tree.put(&keys, !0)), [2_000, 2_000]);
        assert_eq!(spent(&*tree, || tree.put(&keys, 0)), [1_000, 1_000]);
        assert_eq!(spent(&*tree, || tree.remove(&keys[..600])), [600, 600]);
        // What was removed is used again.
        tree.put(&keys[..600], !0).expect("memory");
        assert_eq!((tree.frontier(), tree.leaf_bytes()), (1_001, 1_001 * 32));
    }
}
