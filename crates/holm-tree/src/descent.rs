//! The descent from the root of a tree to a leaf, which many threads do and few writers disturb.
//!
//! Descents use optimistic lock coupling: read a node's version, route, read the child's version, then validate the
//! node. `None` means "restart". A leaf needs no low separator for this: if the leaf parent validates *after* the
//! leaf's version was read, the leaf is the right one.
//!
//! There is one loop. Callers differ in which child they choose and in what they keep of the nodes on the way; both are
//! in a [`Trace`]: `SeekTrace` keeps nothing, `EdgeTrace` keeps the separator at which a scan continues, and
//! `PathTrace` keeps every step and separator.

use crate::departure::{Departure, LeftLeaf};
use crate::design::{DescriptorOf, Design, LocksOf};
use crate::index::{LeafVersion, SeekTarget, TreeRoot};
use crate::inner::{Inner, Range, Route};
use crate::inner_levels::InnerLevels;
use crate::keys::Keys;
use crate::latch::{Latch, Version};
use crate::locks::Locks;
use crate::sync::atomic::Ordering::Relaxed;

/// A leaf parent, and the leaf that was found through it.
pub(crate) struct Reached<'a, D: Design> {
    pub(crate) leaf_parent: &'a D::LeafParent,
    /// The leaf parent's number.
    pub(crate) number: u32,
    pub(crate) version: Version,
    pub(crate) leaf: u32,
    pub(crate) position: usize,
}

impl<'a, D: Design> Reached<'a, D> {
    /// Returns the latch of a leaf below the leaf parent.
    #[inline]
    pub(crate) fn latch(&self, leaf: u32, descriptor: &'a DescriptorOf<D>) -> &'a Latch {
        self.leaf_parent.locks().of(&descriptor.latch, leaf)
    }

    /// Returns the version of a leaf below the leaf parent.
    #[inline]
    pub(crate) fn leaf_version(&self, leaf: u32, version: Version) -> LeafVersion {
        LeafVersion { leaf, leaf_parent: LocksOf::<D>::node_of_latch(self.number), version }
    }

    /// Returns the leaf `places` beside the one reached, if the same leaf parent has it. A hint: no latch validates it.
    pub(crate) fn sibling(&self, places: isize) -> Option<u32> {
        let position = self.position.checked_add_signed(places)?;
        (position <= self.leaf_parent.len()).then(|| self.leaf_parent.child(position))
    }
}

/// A leaf parent that a descent has found and not read: what it was found by is validated once its version is read.
pub(crate) struct AboveLeafParent<'p, 'a, D: Design> {
    parent: &'p Latch,
    version: Version,
    leaf_parent: &'a D::LeafParent,
    /// The leaf parent's number.
    number: u32,
}

/// A step of a descent that keeps separators.
pub(crate) struct Step<'a, I> {
    pub(crate) node: &'a I,
    pub(crate) number: u32,
    pub(crate) version: Version,
    pub(crate) position: usize,
}

/// A whole descent: the upper nodes from the top, the leaf parent, and the ranges of all of them and of the leaf.
pub struct Path<'a, D: Design, K: Keys> {
    pub(crate) uppers: Vec<Step<'a, D::Upper>>,
    pub(crate) leaf_parent: Step<'a, D::LeafParent>,
    /// The range of each node of the descent, the leaf parent's last.
    pub(crate) ranges: Vec<Range<K>>,
    /// The range of the leaf.
    pub(crate) leaf: Range<K>,
}

/// What a descent chooses, and what it keeps of the nodes on its way.
trait Trace<'a, D: Design> {
    /// Returns the position of the child to continue with.
    fn choose<I: Inner>(&self, inner: &InnerLevels<D>, node: &I) -> usize;
    /// Notes an upper node. What this reads of the node is validated with the next step.
    fn upper(&mut self, inner: &InnerLevels<D>, step: Step<'a, D::Upper>);
}

/// A descent to a search key's leaf, for single operations.
struct SeekTrace<'k, K: Keys>(K::SearchKey<'k>);

/// A descent for a scan.
struct EdgeTrace<'t, 'k, 'a, D: Design, K: Keys> {
    target: &'t SeekTarget<'k, K>,
    /// The lowest upper node with a separator on the wanted side, and the separator's position. Usually the leaf parent
    /// has one, and this is not needed.
    lowest: Option<(Step<'a, D::Upper>, usize)>,
}

/// A descent that keeps every step and separator.
struct PathTrace<'t, 'k, 'a, D: Design, K: Keys> {
    target: &'t SeekTarget<'k, K>,
    uppers: Vec<Step<'a, D::Upper>>,
    ranges: Vec<Range<K>>,
    range: Range<K>,
}

impl<'a, D: Design, K: Keys> Trace<'a, D> for SeekTrace<'_, K> {
    #[inline(always)]
    fn choose<I: Inner>(&self, inner: &InnerLevels<D>, node: &I) -> usize {
        node.route::<K>(inner.search, &inner.long_separators, self.0)
    }

    #[inline(always)]
    fn upper(&mut self, _: &InnerLevels<D>, _: Step<'a, D::Upper>) {}
}

impl<'a, D: Design, K: Keys> Trace<'a, D> for EdgeTrace<'_, '_, 'a, D, K> {
    fn choose<I: Inner>(&self, inner: &InnerLevels<D>, node: &I) -> usize {
        inner.choose(node, self.target)
    }

    fn upper(&mut self, _: &InnerLevels<D>, step: Step<'a, D::Upper>) {
        if let Some(index) = self.target.edge(step.position, step.node.len()) {
            self.lowest = Some((step, index));
        }
    }
}

impl<'a, D: Design, K: Keys> Trace<'a, D> for PathTrace<'_, '_, 'a, D, K> {
    fn choose<I: Inner>(&self, inner: &InnerLevels<D>, node: &I) -> usize {
        inner.choose(node, self.target)
    }

    fn upper(&mut self, inner: &InnerLevels<D>, step: Step<'a, D::Upper>) {
        self.ranges.push(self.range.clone());
        inner.narrow(step.node, step.position, self.target, &mut self.range);
        self.uppers.push(step);
    }
}

impl<K: Keys> SeekTarget<'_, K> {
    /// Returns the index of the separator at which a scan leaves the child at a position of a node, if the node has it.
    fn edge(&self, position: usize, len: usize) -> Option<usize> {
        match self {
            SeekTarget::Holding(_) => (position < len).then_some(position),
            SeekTarget::Below(_) | SeekTarget::Last => position.checked_sub(1),
        }
    }
}

impl<D: Design> InnerLevels<D> {
    /// The one descent.
    #[inline(always)]
    fn follow<'a, T: Trace<'a, D>>(&'a self, root: &TreeRoot, trace: &mut T) -> Option<Reached<'a, D>> {
        let above = self.follow_uppers(root, trace)?;
        self.follow_leaf_parent(above, trace)
    }

    /// The descent through the upper nodes.
    #[inline(always)]
    fn follow_uppers<'p, 'a: 'p, T: Trace<'a, D>>(
        &'a self,
        root: &'p TreeRoot,
        trace: &mut T,
    ) -> Option<AboveLeafParent<'p, 'a, D>> {
        let mut version = root.latch.read()?;
        let top = root.top.load(Relaxed);
        let (mut level, mut number) = (top >> 32, top as u32);
        let mut parent = &root.latch;
        while level > 1 {
            let node = self.uppers.get(number)?;
            let below = node.latch().read()?;
            if !parent.validate(version) {
                return None;
            }
            let position = trace.choose(self, node);
            trace.upper(self, Step { node, number, version: below, position });
            (parent, version, number, level) = (node.latch(), below, node.child(position), level - 1);
        }
        Some(AboveLeafParent { parent, version, leaf_parent: self.leaf_parents.get(number)?, number })
    }

    /// The last step of the descent.
    #[inline(always)]
    fn follow_leaf_parent<'a, T: Trace<'a, D>>(
        &'a self,
        above: AboveLeafParent<'_, 'a, D>,
        trace: &mut T,
    ) -> Option<Reached<'a, D>> {
        let AboveLeafParent { parent, version, leaf_parent, number } = above;
        let below = leaf_parent.latch().read()?;
        if !parent.validate(version) {
            return None;
        }
        leaf_parent.prefetch_children();
        let position = trace.choose(self, leaf_parent);
        Some(Reached { leaf_parent, number, version: below, leaf: leaf_parent.child(position), position })
    }

    /// Descends towards a search key's leaf, and prefetches the leaf parent without waiting for it.
    #[inline(always)]
    pub(crate) fn seek_leaf_parent<'p, 'a: 'p, K: Keys>(
        &'a self,
        root: &'p TreeRoot,
        search_key: K::SearchKey<'_>,
    ) -> Option<AboveLeafParent<'p, 'a, D>> {
        let above = self.follow_uppers(root, &mut SeekTrace::<K>(search_key))?;
        above.leaf_parent.prefetch_search();
        Some(above)
    }

    /// Continues a descent to the search key's leaf.
    #[inline(always)]
    pub(crate) fn seek_leaf<'a, K: Keys>(
        &'a self,
        above: AboveLeafParent<'_, 'a, D>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Reached<'a, D>> {
        self.follow_leaf_parent(above, &mut SeekTrace::<K>(search_key))
    }

    /// Descends to a search key's leaf.
    #[inline(always)]
    pub(crate) fn seek<'a, K: Keys>(&'a self, root: &TreeRoot, search_key: K::SearchKey<'_>) -> Option<Reached<'a, D>> {
        self.follow(root, &mut SeekTrace::<K>(search_key))
    }

    /// Descends for a scan, and returns the one separator where the scan continues: the end of the leaf's range or,
    /// backwards, its start.
    pub(crate) fn descend<'a, K: Keys>(
        &'a self,
        root: &TreeRoot,
        target: &SeekTarget<'_, K>,
    ) -> Option<(Reached<'a, D>, Option<K::Separator>)> {
        let mut trace = EdgeTrace { target, lowest: None };
        let reached = self.follow(root, &mut trace)?;
        let edge = match target.edge(reached.position, reached.leaf_parent.len()) {
            Some(index) => Some(self.separator_toward(reached.leaf_parent, index, target)),
            None => trace.lowest.as_ref().map(|(step, index)| self.separator_toward(step.node, *index, target)),
        };
        if trace.lowest.is_some_and(|(step, _)| !step.node.latch().validate(step.version)) {
            return None;
        }
        Some((reached, edge))
    }

    /// As [`InnerLevels::descend`], from the leaf parent that a scan has left for the leaf beside the last one. `None`
    /// if that leaf or its far edge lies below another one, or if the target is not where the scan has left. Takes the
    /// departure: the next attempt descends from the root.
    ///
    /// The caller validates the leaf parent, as after a descent, but by the version that the scan had left. One that is
    /// as it was has the same place in the tree: what unlinks or divides it changes its version.
    pub(crate) fn resume<'a, K: Keys>(
        &'a self,
        departure: &mut Departure<K>,
        target: &SeekTarget<'_, K>,
    ) -> Option<(Reached<'a, D>, K::Separator)> {
        let LeftLeaf { leaf_parent: number, version, position, forward } = departure.leaf.take()?;
        let (next, search_key) = match target {
            SeekTarget::Holding(search_key) if forward => (position + 1, *search_key),
            SeekTarget::Below(search_key) if !forward => (position.checked_sub(1)?, *search_key),
            _ => return None,
        };
        let edge = K::search_key(&departure.edge);
        if K::precedes(edge, search_key) || K::precedes(search_key, edge) {
            return None;
        }
        let leaf_parent = self.leaf_parents.get(number)?;
        let index = target.edge(next, leaf_parent.len())?;
        let edge = self.separator_toward(leaf_parent, index, target);
        Some((Reached { leaf_parent, number, version, leaf: leaf_parent.child(next), position: next }, edge))
    }

    /// Descends and keeps every step and separator, for writers that change nodes. Everything in the result was true at
    /// one instant.
    pub(crate) fn walk<'a, K: Keys>(&'a self, root: &TreeRoot, target: &SeekTarget<'_, K>) -> Option<Path<'a, D, K>> {
        let mut trace = PathTrace { target, uppers: Vec::new(), ranges: Vec::new(), range: Range::default() };
        let Reached { leaf_parent: node, number, version, position, .. } = self.follow(root, &mut trace)?;
        let PathTrace { uppers, mut ranges, mut range, .. } = trace;
        ranges.push(range.clone());
        self.narrow(node, position, target, &mut range);
        let leaf_parent = Step { node, number, version, position };
        node.latch().validate(version).then_some(Path { uppers, leaf_parent, ranges, leaf: range })
    }

    fn separator_toward<I: Inner, K: Keys>(&self, node: &I, index: usize, target: &SeekTarget<'_, K>) -> K::Separator {
        match target {
            SeekTarget::Holding(search_key) | SeekTarget::Below(search_key) => {
                node.separator::<K>(&self.long_separators, index, *search_key)
            }
            // On the right edge heads leave out no bytes, so the lowest key serves as the search key.
            SeekTarget::Last => {
                node.separator::<K>(&self.long_separators, index, K::search_key(&K::Separator::default()))
            }
        }
    }

    fn choose<I: Inner, K: Keys>(&self, node: &I, target: &SeekTarget<'_, K>) -> usize {
        match target {
            SeekTarget::Holding(search_key) => node.route::<K>(self.search, &self.long_separators, *search_key),
            SeekTarget::Below(search_key) => node.route_below::<K>(self.search, &self.long_separators, *search_key),
            SeekTarget::Last => node.len(),
        }
    }

    fn narrow<I: Inner, K: Keys>(&self, node: &I, position: usize, target: &SeekTarget<'_, K>, range: &mut Range<K>) {
        let separator_at = |index| self.separator_toward(node, index, target);
        if position > 0 {
            range.low = Some(separator_at(position - 1));
        }
        if position < node.len() {
            range.high = Some(separator_at(position));
        }
    }
}
