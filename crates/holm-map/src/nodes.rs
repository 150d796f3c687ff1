//! The inner nodes of one level: separators and children by number, each in an area of its own.
//!
//! Child `i` holds the keys that are above separator `i - 1` and not above separator `i`. So a search counts the
//! separators below a key, and the greatest lane, which pads a node, needs no exception. What is asked of a level is
//! the paper's five methods; which node a change goes on to is the tree's.

use crate::area::Area;
use crate::key::Key;
use crate::level::Level;
use crate::search::{Node, Search};
use holm_search::{Hint, LINE_BYTES, Lane, LaneKernels, Vectors, prefetch, prefetch_lines_as, with_vectors};
use std::marker::PhantomData;

#[allow(unsafe_code, reason = "a search ends in its node's room, and checks that it does cost more than the steps")]
mod steps;

/// Inner nodes of one level.
pub(crate) struct Nodes<K: Key, C: Level> {
    separators: Area<K::Lane>,
    samples: Area<K::Lane>,
    identifiers: Area<u32>,
    /// Separators in each node: one less than children.
    used: Area<u32>,
    free: Vec<u32>,
    level: PhantomData<C>,
}

impl<K: Key, C: Level> Nodes<K, C> {
    /// Children that a node has room for. One separator slot stays unused, and so the last is always the greatest.
    const CHILDREN: usize = {
        let bytes = if size_of::<K::Lane>() == 8 { C::WIDE_BYTES } else { C::BYTES };
        assert!(bytes.is_multiple_of(LINE_BYTES), "nodes are whole lines");
        assert!(bytes / size_of::<K::Lane>() >= 4, "a node that splits leaves two children on each side");
        bytes / size_of::<K::Lane>()
    };

    /// Children that the first node of a level has room for when it is made: it may be the only one for long, and large
    /// nodes take a hundred KiB. It grows with what it holds, and is a whole node when there is another.
    const FIRST_CHILDREN: usize = {
        let small = 1024 / size_of::<K::Lane>();
        if Self::CHILDREN > 4 * small { small } else { Self::CHILDREN }
    };

    pub(crate) fn new() -> Self {
        Self {
            separators: Area::new(C::PAGES),
            samples: Area::new(C::PAGES),
            identifiers: Area::new(C::PAGES),
            used: Area::new(C::PAGES),
            free: Vec::new(),
            level: PhantomData,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let numbers = self.identifiers.bytes() + self.used.bytes() + self.free.capacity() * size_of::<u32>();
        self.separators.bytes() + self.samples.bytes() + numbers
    }

    fn samples_per_node() -> usize {
        C::Search::sample_lanes::<K::Lane>(Self::CHILDREN)
    }

    /// A node without separators whose only child is `child`.
    pub(crate) fn fresh(&mut self, child: u32) -> u32 {
        let node = self.free.pop().unwrap_or_else(|| {
            let node = self.used.len();
            let number = u32::try_from(node).unwrap_or_else(|_| panic!("a level has at most 2^32 nodes"));
            if node > 0 {
                self.widen(Self::CHILDREN);
            }
            let children = if node == 0 { Self::FIRST_CHILDREN } else { Self::CHILDREN };
            self.used.grow(1, 0);
            self.identifiers.grow(children, 0);
            self.separators.grow(children, K::Lane::GREATEST);
            self.samples.grow(Self::samples_per_node(), K::Lane::GREATEST);
            number
        });
        self.identifiers[node as usize * Self::CHILDREN] = child;
        node
    }

    /// Gives the first node room for so many children, if it has not.
    fn widen(&mut self, children: usize) {
        let more = children.saturating_sub(self.separators.len());
        self.identifiers.grow(more, 0);
        self.separators.grow(more, K::Lane::GREATEST);
    }

    /// `node` will be given out again: its separators are gone.
    pub(crate) fn retire(&mut self, node: u32) {
        self.cut(node, 0);
        self.free.push(node);
    }

    /// Where the node's slots begin.
    #[inline(always)]
    fn start(node: u32) -> usize {
        node as usize * Self::CHILDREN
    }

    /// The room of a node, in separators and identifiers alike: less than a whole one's only for the first node.
    #[inline(always)]
    fn room(&self, node: u32) -> std::ops::Range<usize> {
        let start = Self::start(node);
        let end = start + Self::CHILDREN;
        start..if Self::FIRST_CHILDREN < Self::CHILDREN { end.min(self.separators.len()) } else { end }
    }

    /// Which child of `node` holds `key`, and its number: the paper's `find`.
    #[inline(always)]
    pub(crate) fn find<X: LaneKernels>(&self, x: X, node: u32, key: K::Lane) -> (usize, u32) {
        if C::Search::SAMPLED {
            return self.find_by_steps(x, node, key);
        }
        let lent = self.node(node);
        prefetch_lines_as(lent.keys, C::KEYS);
        prefetch_lines_as(&self.identifiers[self.room(node)], C::IDENTIFIERS);
        let entry = C::Search::below::<K, X>(x, lent, key);
        (entry, self.identifiers[Self::start(node) + entry])
    }

    /// As [`Nodes::find`], for those who are not in a hurry: compiled once.
    #[inline(never)]
    pub(crate) fn step(&self, vectors: Vectors, node: u32, key: K::Lane) -> (usize, u32) {
        with_vectors!(vectors, x => self.find(x, node, key))
    }

    #[inline(always)]
    fn node(&self, node: u32) -> Node<'_, K::Lane> {
        Node { keys: &self.separators[self.room(node)], counts: &self.used, number: node as usize }
    }

    /// Asks for what a search of `node` looks at first.
    #[inline(always)]
    pub(crate) fn ask(&self, node: u32) {
        prefetch_lines_as(if C::Search::SAMPLED { self.samples(node) } else { self.node(node).keys }, Hint::T0);
    }

    /// One level of a descent of many: each node becomes its child, for which `ask` asks. While one search waits for
    /// memory, the others ask.
    #[inline(always)]
    pub(crate) fn descend<X: LaneKernels, const MANY: usize>(
        &self,
        x: X,
        keys: &[K::Lane; MANY],
        nodes: &mut [u32; MANY],
        ask: impl Fn(u32, K::Lane),
    ) {
        if C::Search::SAMPLED {
            return self.descend_by_steps(x, keys, nodes, ask);
        }
        let mut places = [0; MANY];
        for ((node, key), place) in nodes.iter().zip(keys).zip(&mut places) {
            *place = Self::start(*node) + C::Search::below::<K, X>(x, self.node(*node), *key);
            prefetch(&self.identifiers[*place]);
        }
        for ((node, key), place) in nodes.iter_mut().zip(keys).zip(places) {
            *node = self.identifiers[place];
            ask(*node, *key);
        }
    }

    /// The number of a child.
    #[inline(always)]
    pub(crate) fn child(&self, node: u32, entry: usize) -> u32 {
        self.identifiers[Self::start(node) + entry]
    }

    pub(crate) fn children(&self, node: u32) -> usize {
        self.used[node as usize] as usize + 1
    }

    pub(crate) fn is_full(&self, node: u32) -> bool {
        self.children(node) == Self::CHILDREN
    }

    /// The separator at `slot`, above which child `slot + 1` begins.
    pub(crate) fn separator(&self, node: u32, slot: usize) -> K::Lane {
        self.separators[Self::start(node) + slot]
    }

    /// What is between children `slot` and `slot + 1` is another key from now on, still between its neighbours.
    pub(crate) fn set_separator(&mut self, node: u32, slot: usize, separator: K::Lane) {
        self.separators[Self::start(node) + slot] = separator;
        self.resample(node, slot, slot + 1);
    }

    /// Child `entry` was split: its keys above `separator` are in `right` now. There is room.
    pub(crate) fn insert(&mut self, node: u32, entry: usize, separator: K::Lane, right: u32) {
        let (start, used) = (Self::start(node), self.used[node as usize] as usize);
        debug_assert!(used + 1 < Self::CHILDREN && entry <= used);
        if node == 0 && used + 2 > self.separators.len() {
            self.widen((self.separators.len() * 2).min(Self::CHILDREN));
        }
        let separators = &mut self.separators[start..][..=used];
        separators.copy_within(entry..used, entry + 1);
        separators[entry] = separator;
        let identifiers = &mut self.identifiers[start..][..used + 2];
        identifiers.copy_within(entry + 1..=used, entry + 2);
        identifiers[entry + 1] = right;
        self.used[node as usize] += 1;
        self.resample(node, entry, used + 1);
    }

    /// Moves the upper part of a full node to a fresh one: half of it, or of one `at_end` of the level, where more may
    /// be coming, the last child. Says what is between the two, and the fresh node.
    pub(crate) fn split(&mut self, node: u32, at_end: bool) -> (K::Lane, u32) {
        let children = self.children(node);
        let kept = if at_end { children - 1 } else { children / 2 };
        let fresh = self.fresh(0);
        let (from, to) = (Self::start(node), Self::start(fresh));
        self.identifiers.copy_within(from + kept..from + children, to);
        self.separators.copy_within(from + kept..from + children - 1, to);
        self.used[fresh as usize] = (children - kept - 1) as u32;
        self.resample(fresh, 0, children - kept);
        let between = self.separators[from + kept - 1];
        self.cut(node, kept - 1);
        (between, fresh)
    }

    /// Child `entry` is no more; its keys are its left neighbour's, or its right one's if it is the first. A node that
    /// had no other child is without any: the caller retires it.
    pub(crate) fn remove(&mut self, node: u32, entry: usize) {
        let (start, used) = (Self::start(node), self.used[node as usize] as usize);
        debug_assert!(used > 0 && entry <= used);
        self.identifiers[start..][..=used].copy_within(entry + 1.., entry);
        let slot = entry.saturating_sub(1);
        let separators = &mut self.separators[start..][..used];
        separators.copy_within(slot + 1.., slot);
        separators[used - 1] = K::Lane::GREATEST;
        self.used[node as usize] -= 1;
        self.resample(node, slot, used);
    }

    /// All children of `right` become the last of `left`, which has room; `between` is what was between the two.
    pub(crate) fn merge(&mut self, left: u32, between: K::Lane, right: u32) {
        let (kept, moved) = (self.children(left), self.children(right));
        let (to, from) = (Self::start(left), Self::start(right));
        self.identifiers.copy_within(from..from + moved, to + kept);
        self.separators.copy_within(from..from + moved - 1, to + kept);
        self.separators[to + kept - 1] = between;
        self.used[left as usize] = (kept + moved - 1) as u32;
        self.resample(left, kept - 1, kept + moved);
        self.retire(right);
    }

    /// Whether a node is so empty that it is worth looking for a neighbour to join.
    pub(crate) fn is_sparse(&self, node: u32) -> bool {
        self.children(node) <= Self::CHILDREN / 4
    }

    /// Whether two nodes fit into one, with room left for what may come.
    pub(crate) fn join(&self, left: u32, right: u32) -> bool {
        self.children(left) + self.children(right) <= Self::CHILDREN - Self::CHILDREN / 4
    }

    /// Forgets the separators from `kept` on.
    fn cut(&mut self, node: u32, kept: usize) {
        let used = self.used[node as usize] as usize;
        self.separators[Self::start(node)..][kept..used].fill(K::Lane::GREATEST);
        self.used[node as usize] = kept as u32;
        self.resample(node, kept, used);
    }

    fn resample(&mut self, node: u32, from: usize, to: usize) {
        let samples = Self::samples_per_node();
        let room = self.room(node);
        let samples = &mut self.samples[node as usize * samples..][..samples];
        C::Search::resample(samples, &self.separators[room], Self::CHILDREN, from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::search::Sampled;
    use crate::variants::Inner;

    type Large = Nodes<u64, Inner<Sampled, 8192>>;

    /// Child `number` of `node` holds the keys from `10 * number - 9` to `10 * number`.
    fn check(nodes: &Large, node: u32, numbers: std::ops::Range<u32>) {
        for number in numbers.step_by(if cfg!(miri) { 61 } else { 1 }) {
            for key in [10 * number - 9, 10 * number] {
                for vectors in Vectors::all_available() {
                    let lane = u64::from(key).lane();
                    assert_eq!(nodes.step(vectors, node, lane).1, number, "{key} in {node}, {}", vectors.name());
                }
            }
        }
    }

    #[test]
    fn a_first_node_grows_until_there_is_another() {
        let mut nodes = Large::new();
        let node = nodes.fresh(1);
        assert!(nodes.bytes() < 8192, "{} bytes of a node with one child", nodes.bytes());
        let last = Large::CHILDREN as u32;
        for number in 1..last {
            nodes.insert(node, number as usize - 1, u64::from(10 * number).lane(), number + 1);
            if number.is_power_of_two() || number + 1 == last {
                check(&nodes, node, 1..number + 2);
            }
        }
        assert!(nodes.is_full(node));
        let (between, fresh) = nodes.split(node, false);
        assert_eq!(between, u64::from(10 * (last / 2)).lane());
        check(&nodes, node, 1..last / 2 + 1);
        check(&nodes, fresh, last / 2 + 1..last + 1);
    }

    /// A second node made while the first is small: the first becomes a whole one, and neither disturbs the other.
    #[test]
    fn a_small_first_node_makes_room_for_a_second() {
        let mut nodes = Large::new();
        let (first, second) = (nodes.fresh(1), nodes.fresh(1));
        let last = Large::CHILDREN as u32;
        for number in 1..last {
            for node in [first, second] {
                nodes.insert(node, number as usize - 1, u64::from(10 * number).lane(), number + 1);
            }
        }
        check(&nodes, first, 1..last + 1);
        check(&nodes, second, 1..last + 1);
    }
}
