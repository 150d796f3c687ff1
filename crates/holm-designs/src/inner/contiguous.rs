//! NV-Tree's inner nodes: all levels above the leaf parents, in one contiguous array without pointers.
//!
//! A node is a few lines of separators. With `fan` children per node, child `c` of node `id` is node `id * fan + 1 +
//! c`. The children of the lowest nodes are the leaf parents, whose numbers lie in an array of their own, in order. The
//! array is sized for the present number of leaf parents and accepts no further one. So a full leaf parent does not
//! split: `rebuild_levels.rs` rebuilds all leaf parents half full, and then this array. If the array outgrows its
//! memory, it moves to an array of twice the size. The old array stays allocated, because readers may still be in it.

use holm_medium::{Medium, WriteHandle};
use holm_search::Search;
use holm_tree::inner::lined::{Lined, lines_of_heads};
use holm_tree::inner::{
    FreshNode, Inner, NewChild, NodeContents, NodeContext, NodePrefix, Range, RebuiltWhenFull, Route as _,
    SeparatorEntry, Shape, entry_of,
};
use holm_tree::keys::Keys;
use holm_tree::latch::Latch;
use holm_tree::locks::PerLeaf;
use holm_tree::long_separators::LongSeparators;
use holm_tree::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use holm_tree::sync::rank;
use std::sync::OnceLock;

/// The number of arrays; each has twice the nodes of the one before.
const SIZES: usize = 26;

/// An array of nodes, each with `8 * LINES` children and one separator less. It also has the long separators, and the
/// numbers of the leaf parents.
struct Array<const LINES: usize> {
    nodes: Box<[Lined<[[AtomicU64; 8]; LINES]>]>,
    long: Box<[AtomicU32]>,
    children: Box<[AtomicU32]>,
}

impl<const LINES: usize> Array<LINES> {
    fn new(nodes: usize) -> Self {
        let words = || (0..nodes * LINES * 8).map(|_| AtomicU32::default()).collect();
        Array { nodes: (0..nodes).map(|_| lines_of_heads()).collect(), long: words(), children: words() }
    }
}

/// The layout of an array for a given number of children.
#[derive(Clone, Copy)]
struct Plan {
    fan: usize,
    children: usize,
    /// The number of levels.
    height: u32,
}

impl Plan {
    fn new(fan: usize, children: usize) -> Self {
        let mut height = 1;
        while fan.pow(height) < children {
            height += 1;
        }
        Plan { fan, children, height }
    }

    /// The first node of a level; level 0 is the root's.
    fn first(self, level: u32) -> usize {
        (self.fan.pow(level) - 1) / (self.fan - 1)
    }

    /// The number of nodes of a level; at the level below all nodes, the number of children.
    fn across(self, level: u32) -> usize {
        self.children.div_ceil(self.fan.pow(self.height - level))
    }

    fn nodes(self) -> usize {
        self.first(self.height - 1) + self.across(self.height - 1)
    }

    /// The node and the place of the separator before a child other than the first. It is in the lowest level at which
    /// the child is not the first below its node.
    fn before(self, mut child: usize) -> (usize, usize) {
        let mut level = self.height - 1;
        while child.is_multiple_of(self.fan) {
            child /= self.fan;
            level -= 1;
        }
        (self.first(level) + child / self.fan, child % self.fan - 1)
    }
}

/// The array, with `8 * LINES` children per node.
pub struct Contiguous<const LINES: usize> {
    latch: Latch,
    /// Lower half: the number of separators. From bit 32: the array's size. Bit 63: some separator is long.
    shape: AtomicU64,
    arrays: [OnceLock<Array<LINES>>; SIZES],
}

impl<const LINES: usize> Default for Contiguous<LINES> {
    fn default() -> Self {
        Contiguous { latch: Latch::default(), shape: AtomicU64::new(0), arrays: [const { OnceLock::new() }; SIZES] }
    }
}

impl<const LINES: usize> Contiguous<LINES> {
    /// The current array and its layout. A racing reader may see any value.
    #[inline]
    fn now(&self) -> Option<(&Array<LINES>, Plan)> {
        let shape = self.shape.load(Relaxed);
        let array = self.arrays.get((shape >> 32) as usize & 63)?.get()?;
        Some((array, Plan::new(LINES * 8, shape as u32 as usize + 1)))
    }

    fn rewrite(&self, entries: &[SeparatorEntry], children: &[u32]) {
        debug_assert_eq!(entries.len() + 1, children.len());
        let plan = Plan::new(LINES * 8, children.len());
        let size = plan.nodes().next_power_of_two().ilog2();
        let array = self.arrays[size as usize].get_or_init(|| Array::new(1 << size));
        let long_separators = u64::from(entries.iter().any(|entry| entry.long != 0));
        self.shape.store(long_separators << 63 | u64::from(size) << 32 | entries.len() as u64, Relaxed);
        for (index, entry) in entries.iter().enumerate() {
            let (node, at) = plan.before(index + 1);
            array.nodes[node].as_flattened()[at].store(entry.head, Relaxed);
            array.long[node * plan.fan + at].store(entry.long, Relaxed);
        }
        array.children.iter().zip(children).for_each(|(place, child)| place.store(*child, Relaxed));
    }

    fn hold<K: Keys>(&self, long_separators: &LongSeparators, separators: &[K::Separator], children: &[u32]) {
        let entries: Vec<_> = separators
            .iter()
            .map(|separator| entry_of::<K>(long_separators, separator, NodePrefix::default().skip()))
            .collect();
        self.rewrite(&entries, children);
    }
}

impl<const LINES: usize> Inner for Contiguous<LINES> {
    /// One child for each number that fits.
    const CHILDREN: usize = 1 << 31;
    type Locks = PerLeaf;
    type Placement = RebuiltWhenFull;

    #[inline]
    fn latch(&self) -> &Latch {
        &self.latch
    }
    #[inline]
    fn locks(&self) -> &PerLeaf {
        &PerLeaf
    }
    #[inline]
    fn shape(&self) -> Shape {
        let shape = self.shape.load(Relaxed);
        Shape { len: shape as u32 as usize, long: shape >> 63 == 1, ..Shape::default() }
    }
    fn entry(&self, index: usize) -> SeparatorEntry {
        let entry = self.now().filter(|(_, plan)| index + 1 < plan.children).and_then(|(array, plan)| {
            let (node, at) = plan.before(index + 1);
            let head = array.nodes.get(node)?.as_flattened()[at].load(Relaxed);
            Some(SeparatorEntry { head, long: array.long[node * plan.fan + at].load(Relaxed) })
        });
        entry.unwrap_or_default()
    }
    #[inline]
    fn child(&self, index: usize) -> u32 {
        self.now().and_then(|(array, _)| array.children.get(index)).map_or(0, |child| child.load(Relaxed))
    }
    /// Descends from the top by arithmetic alone.
    #[inline]
    fn rank(&self, search: Search, _: usize, head: u64) -> usize {
        let Some((array, plan)) = self.now() else { return 0 };
        let (mut at, mut below) = (0, plan.fan.pow(plan.height - 1));
        for level in 0..plan.height {
            let Some(node) = array.nodes.get(plan.first(level) + at) else { return 0 };
            // Each child but the first has a separator.
            let count = (plan.children.div_ceil(below) - at * plan.fan - 1).min(plan.fan - 1);
            at = at * plan.fan + rank(Search::rank, search, node.as_flattened(), count, head);
            below /= plan.fan;
        }
        at
    }

    fn fill<M: Medium, K: Keys>(&self, context: &mut NodeContext<'_, '_, M>, contents: NodeContents<'_, K>) {
        let NodeContents { separators, children, .. } = contents;
        let long_separators = context.long_separators;
        self.hold::<K>(long_separators, separators, children);
    }

    fn set_child<M: Medium>(&self, _: &mut WriteHandle<'_, M>, index: usize, child: u32) {
        self.now().into_iter().for_each(|(array, _)| array.children[index].store(child, Relaxed));
    }

    fn insert_child<M: Medium, K: Keys>(
        &self,
        context: &mut NodeContext<'_, '_, M>,
        _: &Range<K>,
        NewChild { position, separator, child }: NewChild<'_, K::Separator>,
        search_key: K::SearchKey<'_>,
    ) {
        let long_separators = context.long_separators;
        let (mut separators, mut children) = self.unpack::<K>(long_separators, search_key);
        separators.insert(position, separator.clone());
        children.insert(position + 1, child);
        self.hold::<K>(long_separators, &separators, &children);
    }

    fn remove_child<M: Medium>(&self, _: &mut WriteHandle<'_, M>, index: usize) {
        let mut entries: Vec<_> = (0..self.len()).map(|at| self.entry(at)).collect();
        let mut children: Vec<_> = (0..=self.len()).map(|at| self.child(at)).collect();
        entries.remove(index);
        children.remove(index + 1);
        self.rewrite(&entries, &children);
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut NodeContext<'_, '_, M>,
        _: &Range<K>,
        FreshNode { node: right, .. }: FreshNode<'_, Self>,
        search_key: K::SearchKey<'_>,
    ) -> K::Separator {
        let long_separators = context.long_separators;
        let (separators, children) = self.unpack::<K>(long_separators, search_key);
        let middle = separators.len() / 2;
        right.hold::<K>(long_separators, &separators[middle + 1..], &children[middle + 1..]);
        self.hold::<K>(long_separators, &separators[..middle], &children[..=middle]);
        separators[middle].clone()
    }
}
