//! NV-Tree's inner nodes: all that stands above the twigs, in one contiguous array without a pointer in it.
//!
//! A node is a few lines of separators; of `fan` children, child `c` of node `id` is node `id * fan + 1 + c`, and those
//! of the lowest nodes are the twigs, whose numbers stand in an array of their own, in order. The array is made for so
//! many twigs as there are. It takes none in but by being written anew, and so a twig that is full does not split:
//! `renew.rs` makes all twigs anew, half full, and then this. Where it outgrows its memory, there is twice as much;
//! what a reader may still be in stays where it is.

use holm_medium::{Medium, Pen};
use holm_search::Search;
use holm_tree::inner::lined::{Lined, lines_of_heads};
use holm_tree::inner::{Arrival, Inner, Lead, Mark, Range, Shape, Station, mark_of};
use holm_tree::keys::Keys;
use holm_tree::latch::Latch;
use holm_tree::locks::InBerths;
use holm_tree::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use holm_tree::sync::rank;
use holm_tree::texts::Texts;
use std::sync::OnceLock;

/// Arrays, each with twice the nodes of the one before.
const SIZES: usize = 26;

/// So many nodes, each of `8 * LINES` children and one separator less, the texts of their separators, and room for what
/// lies below them.
struct Array<const LINES: usize> {
    nodes: Box<[Lined<[[AtomicU64; 8]; LINES]>]>,
    texts: Box<[AtomicU32]>,
    children: Box<[AtomicU32]>,
}

impl<const LINES: usize> Array<LINES> {
    fn new(nodes: usize) -> Self {
        let words = || (0..nodes * LINES * 8).map(|_| AtomicU32::default()).collect();
        Array { nodes: (0..nodes).map(|_| lines_of_heads()).collect(), texts: words(), children: words() }
    }
}

/// Where things stand in an array for so many children.
#[derive(Clone, Copy)]
struct Plan {
    fan: usize,
    children: usize,
    /// Levels of nodes.
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

    /// The first node of a level, counted from the top down.
    fn first(self, level: u32) -> usize {
        (self.fan.pow(level) - 1) / (self.fan - 1)
    }

    /// Nodes of a level; of the one below all nodes, children.
    fn across(self, level: u32) -> usize {
        self.children.div_ceil(self.fan.pow(self.height - level))
    }

    fn nodes(self) -> usize {
        self.first(self.height - 1) + self.across(self.height - 1)
    }

    /// The node and the place in it of the separator before a child that is not the first: in the lowest level that has
    /// that child not as a node's first one.
    fn before(self, mut child: usize) -> (usize, usize) {
        let mut level = self.height - 1;
        while child.is_multiple_of(self.fan) {
            child /= self.fan;
            level -= 1;
        }
        (self.first(level) + child / self.fan, child % self.fan - 1)
    }
}

/// The array, `8 * LINES` children a node.
pub struct Contiguous<const LINES: usize> {
    latch: Latch,
    /// Separators in the lower half; from bit 32 on the size of the array; bit 63: some separator has a text.
    shape: AtomicU64,
    arrays: [OnceLock<Array<LINES>>; SIZES],
}

impl<const LINES: usize> Default for Contiguous<LINES> {
    fn default() -> Self {
        Contiguous { latch: Latch::default(), shape: AtomicU64::new(0), arrays: [const { OnceLock::new() }; SIZES] }
    }
}

impl<const LINES: usize> Contiguous<LINES> {
    /// The array now, and how it is laid out; a racing reader may get any.
    #[inline]
    fn now(&self) -> Option<(&Array<LINES>, Plan)> {
        let shape = self.shape.load(Relaxed);
        let array = self.arrays.get((shape >> 32) as usize & 63)?.get()?;
        Some((array, Plan::new(LINES * 8, shape as u32 as usize + 1)))
    }

    fn rewrite(&self, marks: &[Mark], children: &[u32]) {
        debug_assert_eq!(marks.len() + 1, children.len());
        let plan = Plan::new(LINES * 8, children.len());
        let size = plan.nodes().next_power_of_two().ilog2();
        let array = self.arrays[size as usize].get_or_init(|| Array::new(1 << size));
        let texts = u64::from(marks.iter().any(|mark| mark.text != 0));
        self.shape.store(texts << 63 | u64::from(size) << 32 | marks.len() as u64, Relaxed);
        for (index, mark) in marks.iter().enumerate() {
            let (node, at) = plan.before(index + 1);
            array.nodes[node].as_flattened()[at].store(mark.head, Relaxed);
            array.texts[node * plan.fan + at].store(mark.text, Relaxed);
        }
        array.children.iter().zip(children).for_each(|(place, child)| place.store(*child, Relaxed));
    }

    fn hold<K: Keys>(&self, texts: &Texts, fences: &[K::Fence], children: &[u32]) {
        let marks: Vec<_> = fences.iter().map(|fence| mark_of::<K>(texts, fence, Lead::default().skip())).collect();
        self.rewrite(&marks, children);
    }
}

impl<const LINES: usize> Inner for Contiguous<LINES> {
    /// As many as there are numbers for.
    const CHILDREN: usize = 1 << 31;
    const RENEWED: bool = true;
    type Locks = InBerths;

    #[inline]
    fn latch(&self) -> &Latch {
        &self.latch
    }
    #[inline]
    fn locks(&self) -> &InBerths {
        &InBerths
    }
    #[inline]
    fn shape(&self) -> Shape {
        let shape = self.shape.load(Relaxed);
        Shape { len: shape as u32 as usize, texts: shape >> 63 == 1, ..Shape::default() }
    }
    fn mark(&self, index: usize) -> Mark {
        let mark = self.now().filter(|(_, plan)| index + 1 < plan.children).and_then(|(array, plan)| {
            let (node, at) = plan.before(index + 1);
            let head = array.nodes.get(node)?.as_flattened()[at].load(Relaxed);
            Some(Mark { head, text: array.texts[node * plan.fan + at].load(Relaxed) })
        });
        mark.unwrap_or_default()
    }
    #[inline]
    fn child(&self, index: usize) -> u32 {
        self.now().and_then(|(array, _)| array.children.get(index)).map_or(0, |child| child.load(Relaxed))
    }
    /// From the top down, by arithmetic alone.
    #[inline]
    fn rank(&self, search: Search, _: usize, head: u64) -> usize {
        let Some((array, plan)) = self.now() else { return 0 };
        let (mut at, mut below) = (0, plan.fan.pow(plan.height - 1));
        for level in 0..plan.height {
            let Some(node) = array.nodes.get(plan.first(level) + at) else { return 0 };
            // All of its children but the first have a separator.
            let count = (plan.children.div_ceil(below) - at * plan.fan - 1).min(plan.fan - 1);
            at = at * plan.fan + rank(Search::rank, search, node.as_flattened(), count, head);
            below /= plan.fan;
        }
        at
    }

    fn fill<M: Medium, K: Keys>(
        &self,
        _: &mut Pen<'_, M>,
        texts: &Texts,
        _: Station,
        _: (&K::Fence, Option<&K::Fence>),
        fences: &[K::Fence],
        children: &[u32],
    ) {
        self.hold::<K>(texts, fences, children);
    }

    fn set_child<M: Medium>(&self, _: &mut Pen<'_, M>, index: usize, child: u32) {
        self.now().into_iter().for_each(|(array, _)| array.children[index].store(child, Relaxed));
    }

    fn adopt<M: Medium, K: Keys>(
        &self,
        _: &mut Pen<'_, M>,
        texts: &Texts,
        _: &Range<K>,
        (position, separator, child): Arrival<'_, K::Fence>,
        probe: K::Probe<'_>,
    ) {
        let (mut fences, mut children) = self.take_apart::<K>(texts, probe);
        fences.insert(position, separator.clone());
        children.insert(position + 1, child);
        self.hold::<K>(texts, &fences, &children);
    }

    fn disown<M: Medium>(&self, _: &mut Pen<'_, M>, index: usize) {
        let mut marks: Vec<_> = (0..self.len()).map(|at| self.mark(at)).collect();
        let mut children: Vec<_> = (0..=self.len()).map(|at| self.child(at)).collect();
        marks.remove(index);
        children.remove(index + 1);
        self.rewrite(&marks, &children);
    }

    fn split<M: Medium, K: Keys>(
        &self,
        _: &mut Pen<'_, M>,
        texts: &Texts,
        _: &Range<K>,
        (_, right): (u32, &Self),
        probe: K::Probe<'_>,
    ) -> K::Fence {
        let (fences, children) = self.take_apart::<K>(texts, probe);
        let middle = fences.len() / 2;
        right.hold::<K>(texts, &fences[middle + 1..], &children[middle + 1..]);
        self.hold::<K>(texts, &fences[..middle], &children[..=middle]);
        fences[middle].clone()
    }
}
