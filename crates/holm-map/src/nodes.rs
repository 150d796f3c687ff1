//! The inner nodes of one level, addressed by number: their searches and their changes, independent of the memory
//! layout.
//!
//! Child `i` holds the keys that are greater than separator `i - 1` and at most separator `i`. So a search counts the
//! separators below a key, and the greatest lane, which pads a node, needs no special case. A level implements the
//! paper's five methods; the tree decides which node a change continues to. The search determines the memory layout of
//! nodes, so the layout is a type: [`Apart`], the paper's two areas, or [`Rows`].

use crate::area::{Area, Pages};
use crate::key::Key;
use crate::level::Level;
use crate::search::Search;
use holm_search::{LINE_BYTES, Lane, LaneKernels, Vectors, with_vectors};

mod apart;
#[allow(unsafe_code, reason = "a search ends in its node, and bounds checks would cost more than its steps")]
mod rows;

pub use apart::Apart;
pub use rows::Sampled;

/// The memory layout of a level's nodes, which the search determines: each [`Search`] uses `Apart`, and [`Sampled`]
/// uses `Rows`.
pub trait Layout: 'static {
    /// The nodes.
    type Nodes<K: Key, C: Level>: Nodes<K>;
}

impl<Q: Search> Layout for Q {
    type Nodes<K: Key, C: Level> = Apart<K, C, Q>;
}

/// The nodes of a level.
pub(crate) type NodesOf<K, C> = <<C as Level>::Search as Layout>::Nodes<K, C>;

/// Children that a level's node has room for. One separator's place stays unused, so the last separator is the greatest
/// lane.
const fn children<L: Lane, C: Level>() -> usize {
    let bytes = match size_of::<L>() {
        16 => 2 * C::WIDE_BYTES,
        8 => C::WIDE_BYTES,
        _ => C::BYTES,
    };
    assert!(bytes.is_multiple_of(LINE_BYTES), "nodes are whole lines");
    assert!(bytes / size_of::<L>() >= 4, "a node that splits leaves two children on each side");
    bytes / size_of::<L>()
}

/// One level of a descent of many searches, in two halves. The first half prefetches what the second half reads. The
/// second half finds each node's child, and `ask` prefetches the child. While one search waits for memory, the others
/// proceed.
#[inline(always)]
fn in_two_halves<L: Lane, const MANY: usize>(
    keys: &[L; MANY],
    nodes: &mut [u32; MANY],
    first: impl Fn(u32, L) -> usize,
    second: impl Fn(usize, L) -> u32,
    ask: impl Fn(u32, L),
) {
    let mut places = [0; MANY];
    for ((node, key), place) in nodes.iter().zip(keys).zip(&mut places) {
        *place = first(*node, *key);
    }
    for ((node, key), place) in nodes.iter_mut().zip(keys).zip(places) {
        *node = second(place, *key);
        ask(*node, *key);
    }
}

/// The nodes of a level, and how full they are.
#[derive(Clone)]
pub struct Occupancy {
    /// Separators in each node: one less than its children.
    used: Area<u32>,
    free: Vec<u32>,
}

impl Occupancy {
    fn new(pages: Pages) -> Self {
        Self { used: Area::new(pages), free: Vec::new() }
    }

    fn bytes(&self) -> usize {
        self.used.bytes() + self.free.capacity() * size_of::<u32>()
    }
}

/// The nodes of a level. A memory layout implements the methods without a default; the others build on them.
pub trait Nodes<K: Key>: Clone {
    /// Children that a node has room for.
    const CHILDREN: usize;

    /// Children that the first node of a level has room for when it is created. That node may stay the only one for
    /// long, and large nodes take a hundred KiB. It grows with its content, and becomes a whole node when the level
    /// gets a second one.
    const FIRST_CHILDREN: usize = {
        let small = 1024 / size_of::<K::Lane>();
        if Self::CHILDREN > 4 * small { small } else { Self::CHILDREN }
    };

    /// Returns a level without nodes.
    fn new() -> Self;

    /// Bytes of all areas.
    fn bytes(&self) -> usize;

    fn occupancy(&self) -> &Occupancy;
    fn occupancy_mut(&mut self) -> &mut Occupancy;

    /// Creates a node filled with greatest lanes, with room for `children` children. All nodes but the first have full
    /// size.
    fn add(&mut self, children: usize);

    /// Children that the first node has room for.
    fn first_room(&self) -> usize;

    /// Enlarges the only node to room for `children` children.
    fn widen(&mut self, children: usize);

    /// Returns the separator at `slot`. Child `slot + 1` begins above it.
    fn separator(&self, node: u32, slot: usize) -> K::Lane;

    /// Returns the number of a child.
    fn child(&self, node: u32, entry: usize) -> u32;

    /// Writes a separator. [`Nodes::resample`] updates what a search derives from separators.
    fn write_separator(&mut self, node: u32, slot: usize, separator: K::Lane);

    /// Writes the number of a child.
    fn write_child(&mut self, node: u32, entry: usize, child: u32);

    /// Copies separators within one node or between two. Overlapping ranges are copied as if all were read first.
    fn copy_separators(&mut self, from: (u32, usize), count: usize, to: (u32, usize));

    /// Copies numbers of children within one node or between two, as [`Nodes::copy_separators`] does.
    fn copy_children(&mut self, from: (u32, usize), count: usize, to: (u32, usize));

    /// Updates the data that a search keeps beside the separators, for separators that changed in `from..to` at most.
    fn resample(&mut self, node: u32, from: usize, to: usize);

    /// Returns the index and the number of the child of `node` that holds `key`: the paper's `find`.
    fn find<X: LaneKernels>(&self, x: X, node: u32, key: K::Lane) -> (usize, u32);

    /// Prefetches what a search of `node` reads first.
    fn ask(&self, node: u32);

    /// One level of a descent of many searches: replaces each node by its child, which `ask` prefetches.
    fn descend<X: LaneKernels, const MANY: usize>(
        &self,
        x: X,
        keys: &[K::Lane; MANY],
        nodes: &mut [u32; MANY],
        ask: impl Fn(u32, K::Lane),
    );

    /// As [`Nodes::find`], for callers that are not performance-critical: compiled once.
    #[inline(never)]
    fn step(&self, vectors: Vectors, node: u32, key: K::Lane) -> (usize, u32) {
        with_vectors!(vectors, x => self.find(x, node, key))
    }

    /// Creates a node without separators whose only child is `child`.
    fn fresh(&mut self, child: u32) -> u32 {
        let node = self.occupancy_mut().free.pop().unwrap_or_else(|| {
            let node = self.occupancy().used.len();
            let number = u32::try_from(node).unwrap_or_else(|_| panic!("a level has at most 2^32 nodes"));
            if node > 0 && self.first_room() < Self::CHILDREN {
                self.widen(Self::CHILDREN);
            }
            self.add(if node == 0 { Self::FIRST_CHILDREN } else { Self::CHILDREN });
            self.occupancy_mut().used.grow(1, 0);
            number
        });
        self.write_child(node, 0, child);
        node
    }

    /// Clears `node` for reuse.
    fn retire(&mut self, node: u32) {
        self.cut(node, 0);
        self.occupancy_mut().free.push(node);
    }

    /// Returns the number of separators in a node.
    fn used(&self, node: u32) -> usize {
        self.occupancy().used[node as usize] as usize
    }

    fn set_used(&mut self, node: u32, used: usize) {
        self.occupancy_mut().used[node as usize] = used as u32;
    }

    fn children(&self, node: u32) -> usize {
        self.used(node) + 1
    }

    fn is_full(&self, node: u32) -> bool {
        self.children(node) == Self::CHILDREN
    }

    /// Replaces the separator between children `slot` and `slot + 1` by one that still lies between its neighbours.
    fn set_separator(&mut self, node: u32, slot: usize, separator: K::Lane) {
        self.write_separator(node, slot, separator);
        self.resample(node, slot, slot + 1);
    }

    /// Inserts a child: child `entry` was split, and `right` now holds its keys above `separator`. The node has room.
    fn insert(&mut self, node: u32, entry: usize, separator: K::Lane, right: u32) {
        let used = self.used(node);
        debug_assert!(used + 1 < Self::CHILDREN && entry <= used);
        if node == 0 && used + 2 > self.first_room() {
            self.widen((self.first_room() * 2).min(Self::CHILDREN));
        }
        self.copy_separators((node, entry), used - entry, (node, entry + 1));
        self.write_separator(node, entry, separator);
        self.copy_children((node, entry + 1), used - entry, (node, entry + 2));
        self.write_child(node, entry + 1, right);
        self.set_used(node, used + 1);
        self.resample(node, entry, used + 1);
    }

    /// Moves the upper part of a full node to a fresh one. The part is half the node, or only the last child if the
    /// node is `at_end` of its level, where more children may follow. Returns the separator between the two, and the
    /// fresh node.
    fn split(&mut self, node: u32, at_end: bool) -> (K::Lane, u32) {
        let children = self.children(node);
        let kept = if at_end { children - 1 } else { children / 2 };
        let fresh = self.fresh(0);
        self.copy_children((node, kept), children - kept, (fresh, 0));
        self.copy_separators((node, kept), children - kept - 1, (fresh, 0));
        self.set_used(fresh, children - kept - 1);
        self.resample(fresh, 0, children - kept);
        let between = self.separator(node, kept - 1);
        self.cut(node, kept - 1);
        (between, fresh)
    }

    /// Removes child `entry`. Its keys now belong to its left neighbour, or to its right one if it is the first. A node
    /// that had no other child is empty afterwards, and the caller retires it.
    fn remove(&mut self, node: u32, entry: usize) {
        let used = self.used(node);
        debug_assert!(used > 0 && entry <= used);
        self.copy_children((node, entry + 1), used - entry, (node, entry));
        let slot = entry.saturating_sub(1);
        self.copy_separators((node, slot + 1), used - slot - 1, (node, slot));
        self.write_separator(node, used - 1, K::Lane::GREATEST);
        self.set_used(node, used - 1);
        self.resample(node, slot, used);
    }

    /// Appends all children of `right` to `left`, which has room. `between` is the separator between the two nodes.
    fn merge(&mut self, left: u32, between: K::Lane, right: u32) {
        let (kept, moved) = (self.children(left), self.children(right));
        self.copy_children((right, 0), moved, (left, kept));
        self.copy_separators((right, 0), moved - 1, (left, kept));
        self.write_separator(left, kept - 1, between);
        self.set_used(left, kept + moved - 1);
        self.resample(left, kept - 1, kept + moved);
        self.retire(right);
    }

    /// Returns whether a node is empty enough to look for a neighbour to merge with.
    fn is_sparse(&self, node: u32) -> bool {
        self.children(node) <= Self::CHILDREN / 4
    }

    /// Returns whether two nodes fit into one, with room left for later insertions.
    fn join(&self, left: u32, right: u32) -> bool {
        self.children(left) + self.children(right) <= Self::CHILDREN - Self::CHILDREN / 4
    }

    /// Removes the separators from `kept` on.
    fn cut(&mut self, node: u32, kept: usize) {
        let used = self.used(node);
        (kept..used).for_each(|slot| self.write_separator(node, slot, K::Lane::GREATEST));
        self.set_used(node, kept);
        self.resample(node, kept, used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::variants::Inner;

    type Large = NodesOf<u64, Inner<Sampled, 8192>>;

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

    /// A second node is created while the first one is small. The first one becomes a whole node, and neither
    /// overwrites the other.
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
