//! uTree (Chen et al., VLDB 2020), for comparison by counts: an ordered list of single pairs in persistent memory, and
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
//! The volatile tree is the standard library's map behind one lock. Times of this rival mean nothing and are drawn
//! nowhere, and it cannot be recovered.

use crate::measured_tree::TreeSetup;
use holm_lab::measured::{MeasuredTree, Request, What};
use holm_medium::{Area, Counts, FIRST_EPOCH, Flush, Mapped, MappedOptions, Medium, Result, Storage, StorageOps};
use holm_medium::{Word, WriteHandle, Writer};
use holm_tree::Rebuilt;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Words of a node.
const WORDS: u64 = 4;

/// The node before the first pair.
const HEAD: u64 = 0;

/// What lies in volatile memory.
struct Above {
    /// The node of each key.
    nodes: BTreeMap<u64, u64>,
    free: Vec<u64>,
    /// The first node that was never used.
    frontier: u64,
}

/// A list, and the tree above it.
pub(super) struct UTree {
    writer: Arc<Writer<Mapped>>,
    above: Mutex<Above>,
}

impl UTree {
    /// Creates an empty tree.
    ///
    /// # Errors
    /// The medium's, if there is not enough memory.
    pub(super) fn new(setup: TreeSetup) -> Result<Self> {
        let flush = if setup.flush { Flush::detect() } else { Flush::Nothing };
        let options = MappedOptions { flush, latency: setup.latency, count: setup.count, ..MappedOptions::default() };
        let writer = Arc::new(Storage::open(Mapped::anonymous(options)?, FIRST_EPOCH)?);
        let tree =
            UTree { writer, above: Mutex::new(Above { nodes: BTreeMap::new(), free: vec![], frontier: HEAD + 1 }) };
        tree.reach(setup.pairs)?;
        Ok(tree)
    }

    fn above(&self) -> MutexGuard<'_, Above> {
        self.above.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes nodes up to this one accessible.
    fn reach(&self, node: u64) -> Result<()> {
        let bytes = (node + 1) * WORDS * size_of::<Word>() as u64;
        self.writer.storage().medium.grow(Area::Leaves, bytes.next_multiple_of(1 << 20))
    }

    fn node(&self, node: u64) -> &[Word; WORDS as usize] {
        let place = Area::Leaves.at(node * WORDS * size_of::<Word>() as u64);
        let words = self.writer.storage().medium.image().words(place, WORDS as usize);
        words.and_then(|words| words.try_into().ok()).expect("a node that was reached")
    }

    /// Returns the node before a key.
    fn before(above: &Above, key: u64) -> u64 {
        above.nodes.range(..key).next_back().map_or(HEAD, |(_, node)| *node)
    }

    fn insert(&self, above: &mut Above, handle: &mut WriteHandle<'_, Mapped>, pair: (u64, u64)) -> Result<()> {
        let node = match above.free.pop() {
            Some(node) => node,
            None => {
                self.reach(above.frontier)?;
                above.frontier += 1;
                above.frontier - 1
            }
        };
        let [key, payload, next, _] = self.node(node);
        let [_, _, link, _] = self.node(Self::before(above, pair.0));
        handle.write(key, pair.0);
        handle.write(payload, pair.1);
        handle.write(next, link.read());
        // Before the link: otherwise a crash leaves a link to a node that is not there.
        handle.persist(key);
        // The commit word.
        handle.write(link, node);
        handle.persist(link);
        above.nodes.insert(pair.0, node);
        Ok(())
    }

    fn put_one(&self, key: u64, value: u64) -> Result<()> {
        let guard = self.writer.clock().pin()?;
        let (mut above, mut handle) = (self.above(), self.writer.begin_write(&guard));
        match above.nodes.get(&key) {
            Some(node) => {
                let [_, payload, ..] = self.node(*node);
                handle.write(payload, value);
                handle.persist(payload);
                Ok(())
            }
            None => self.insert(&mut above, &mut handle, (key, value)),
        }
    }

    fn remove_one(&self, key: u64) -> Result<()> {
        let guard = self.writer.clock().pin()?;
        let (mut above, mut handle) = (self.above(), self.writer.begin_write(&guard));
        let Some(node) = above.nodes.remove(&key) else { return Ok(()) };
        let [_, _, link, _] = self.node(Self::before(&above, key));
        // The commit word.
        handle.write(link, self.node(node)[2].read());
        // Before the node is used again: otherwise a crash leaves a link to another pair.
        handle.persist(link);
        above.free.push(node);
        Ok(())
    }

    fn get_one(&self, key: u64) -> u64 {
        let above = self.above();
        above.nodes.get(&key).map_or(0, |node| self.node(*node)[1].read())
    }
}

impl MeasuredTree for UTree {
    fn put(&self, keys: &[u64], mask: u64) -> Result<()> {
        keys.iter().try_for_each(|key| self.put_one(*key, key ^ mask))
    }

    fn put_timed(&self, keys: &[u64], mask: u64, each: &mut dyn FnMut(Duration)) -> Result<()> {
        keys.iter().try_for_each(|key| {
            let began = Instant::now();
            let done = self.put_one(*key, key ^ mask);
            each(began.elapsed());
            done
        })
    }

    fn remove(&self, keys: &[u64]) -> Result<()> {
        keys.iter().try_for_each(|key| self.remove_one(*key))
    }

    fn get(&self, keys: &[u64]) -> u64 {
        keys.iter().fold(0, |sum: u64, key| sum.wrapping_add(self.get_one(*key)))
    }

    fn get_dependent(&self, keys: &[u64], _: u64) {
        std::hint::black_box(self.get(keys));
    }

    fn get_many(&self, keys: &[u64], _: usize) {
        std::hint::black_box(self.get(keys));
    }

    fn scan(&self, keys: &[u64], count: usize) -> (usize, u64) {
        let above = self.above();
        keys.iter().fold((0, 0), |(found, sum), low| {
            let first = above.nodes.range(low..).next().map_or(HEAD, |(_, node)| *node);
            let list = std::iter::successors(Some(first), |node| Some(self.node(*node)[2].read()));
            let of_these = list.take_while(|node| *node != HEAD).take(count).map(|node| self.node(node)[1].read());
            of_these.fold((found, sum), |(found, sum): (usize, u64), payload| (found + 1, sum.wrapping_add(payload)))
        })
    }

    fn mix(&self, keys: &[u64]) -> Result<()> {
        keys.chunks(2).try_for_each(|keys| {
            std::hint::black_box(self.get(&keys[1..]));
            self.put_one(keys[0], !keys[0])
        })
    }

    fn replay(&self, requests: &[Request]) -> Result<()> {
        requests.iter().try_for_each(|request| match request.what {
            What::Get => {
                std::hint::black_box(self.get_one(request.key));
                Ok(())
            }
            What::Put => self.put_one(request.key, !request.key),
            What::Remove => self.remove_one(request.key),
        })
    }

    fn settle(&self) -> Result<()> {
        Ok(())
    }

    fn end_epoch(&self) -> Result<()> {
        self.writer.end_epoch().map(drop)
    }

    /// This rival is never recovered, and no figure asks for it.
    fn rebuilt(&self, _: usize) -> Result<Rebuilt> {
        unreachable!("no figure recovers a rival")
    }

    fn pairs(&self) -> u64 {
        self.above().nodes.len() as u64
    }

    fn counts(&self) -> Counts {
        self.writer.storage().medium.counts()
    }

    fn frontier(&self) -> u32 {
        self.above().frontier as u32
    }

    /// Sixteen bytes a pair, a key and a number: no node of the volatile tree takes less.
    fn volatile_bytes(&self) -> u64 {
        self.pairs() * 16
    }

    fn leaf_bytes(&self) -> u64 {
        let above = self.above();
        (above.frontier - above.free.len() as u64) * WORDS * size_of::<Word>() as u64
    }

    fn words(&self, more: u32) -> &[Word] {
        let image = self.writer.storage().medium.image();
        let words = (self.above().frontier + u64::from(more)) * WORDS;
        let words = words.min(image.area(Area::Leaves).len() as u64 / size_of::<Word>() as u64);
        image.words(Area::Leaves.at(0), words as usize).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured_tree::counted;
    use crate::traces::all;

    fn spent(tree: &UTree, work: impl FnOnce() -> Result<()>) -> [u64; 2] {
        let before = tree.counts();
        work().expect("memory");
        let spent = tree.counts() - before;
        [spent.flushes, spent.fences]
    }

    #[test]
    fn it_keeps_pairs_in_order_and_writes_as_its_paper_says() {
        let (tree, keys) = (UTree::new(counted(1_000)).expect("memory"), all(1_000));
        assert_eq!(spent(&tree, || tree.put(&keys, !0)), [2_000, 2_000]);
        assert_eq!(spent(&tree, || tree.put(&keys, 0)), [1_000, 1_000]);
        assert_eq!(spent(&tree, || tree.remove(&keys[..600])), [600, 600]);
        assert_eq!(tree.pairs(), 400);
        let left = &keys[600..];
        let sum = left.iter().fold(0, |sum: u64, key| sum.wrapping_add(*key));
        // By the tree, and along the list.
        assert_eq!(tree.get(&keys), sum);
        assert_eq!(tree.scan(&[0], 1_000), (400, sum));
        assert_eq!(tree.scan(&[*left.iter().max().expect("some")], 5).0, 1);
        // What was removed is used again.
        tree.put(&keys[..600], !0).expect("memory");
        assert_eq!((tree.frontier(), tree.leaf_bytes()), (1_001, 1_001 * 32));
    }
}
