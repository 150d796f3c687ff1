//! Levels 1 and up of all trees of a forest: the way down, read by many and written by few.
//!
//! Optimistic lock coupling: read a node's version, route, read the child's version, ask whether the node still
//! stands. "Restart" is `None`. A leaf needs no low fence for this: if the twig still stands *after* the leaf's
//! version was read, the leaf is the right one.

use crate::design::Design;
use crate::index::{Root, Toward};
use crate::inner::{Inner, Lead, mark_of};
use crate::keys::Keys;
use crate::latch::{Latch, Version};
use crate::slab::Slab;
use crate::sync::atomic::Ordering::Relaxed;
use crate::texts::Texts;
use holm_search::Search;

/// The most levels of branches; 8 children each would reach further than numbers do.
const MOST_LEVELS: usize = 12;

/// The volatile nodes of a forest.
pub(crate) struct Spine<D: Design> {
    pub(crate) branches: Slab<D::Branch>,
    pub(crate) twigs: Slab<D::Twig>,
    pub(crate) texts: Texts,
    pub(crate) search: Search,
}

/// A twig, and the leaf that was found through it.
pub(crate) struct Reached<'a, D: Design> {
    pub(crate) twig: &'a D::Twig,
    pub(crate) version: Version,
    pub(crate) leaf: u32,
    pub(crate) position: usize,
}

impl<D: Design> Reached<'_, D> {
    /// The leaf so many places from the one reached, if the same twig has it: a hint, asked of no latch.
    pub(crate) fn beside(&self, places: isize) -> Option<u32> {
        let position = self.position.checked_add_signed(places)?;
        (position <= self.twig.len()).then(|| self.twig.child(position))
    }
}

/// Where a range starts and where it ends; `None`: at the lowest key, and nowhere.
pub(crate) type Range<K> = (Option<<K as Keys>::Fence>, Option<<K as Keys>::Fence>);

/// A step of the way down, kept where fences matter.
pub(crate) struct Step<'a, I> {
    pub(crate) node: &'a I,
    pub(crate) number: u32,
    pub(crate) version: Version,
    pub(crate) position: usize,
}

/// The whole way: branches from the top, then the twig; and between which fences the twig and its leaf lie.
pub(crate) struct Path<'a, D: Design, K: Keys> {
    pub(crate) branches: Vec<Step<'a, D::Branch>>,
    pub(crate) twig: Step<'a, D::Twig>,
    /// The range of each node on the way, the twig's last.
    pub(crate) ranges: Vec<Range<K>>,
    /// The range of the leaf.
    pub(crate) leaf: Range<K>,
}

impl<D: Design> Spine<D> {
    pub(crate) fn new(search: Search) -> Self {
        Spine { branches: Slab::default(), twigs: Slab::default(), texts: Texts::default(), search }
    }

    /// The way down to a probe's leaf.
    #[inline(always)]
    pub(crate) fn seek<K: Keys>(&self, root: &Root, probe: K::Probe<'_>) -> Option<Reached<'_, D>> {
        let rooted = root.latch.read()?;
        let top = root.top.load(Relaxed);
        let (mut level, number) = (top >> 32, top as u32);
        if level == 1 {
            let twig = self.twigs.get(number)?;
            let version = twig.latch().read()?;
            return root.latch.still(rooted).then(|| self.reach::<K>(twig, version, probe));
        }
        let mut node = self.branches.get(number)?;
        let mut version = node.latch().read()?;
        if !root.latch.still(rooted) {
            return None;
        }
        while level > 2 {
            let child = self.branches.get(node.child(node.route::<K>(self.search, &self.texts, probe)))?;
            let below = child.latch().read()?;
            if !node.latch().still(version) {
                return None;
            }
            (node, version, level) = (child, below, level - 1);
        }
        let twig = self.twigs.get(node.child(node.route::<K>(self.search, &self.texts, probe)))?;
        let below = twig.latch().read()?;
        node.latch().still(version).then(|| self.reach::<K>(twig, below, probe))
    }

    #[inline(always)]
    fn reach<'a, K: Keys>(&'a self, twig: &'a D::Twig, version: Version, probe: K::Probe<'_>) -> Reached<'a, D> {
        twig.approach();
        let position = twig.route::<K>(self.search, &self.texts, probe);
        Reached { twig, version, leaf: twig.child(position), position }
    }

    /// The way down for a scan, with the one fence that it goes on from: the end of the leaf's range, or its start when
    /// going backwards.
    pub(crate) fn glide<K: Keys>(
        &self,
        root: &Root,
        toward: &Toward<'_, K>,
    ) -> Option<(Reached<'_, D>, Option<K::Fence>)> {
        let rooted = root.latch.read()?;
        let top = root.top.load(Relaxed);
        let (mut level, mut number) = (top >> 32, top as u32);
        let mut parent: (&Latch, Version) = (&root.latch, rooted);
        // The lowest branch that has a fence on the wanted side; most often the twig has one and this is not needed.
        let mut fenced: Option<(&D::Branch, Version, usize)> = None;
        let side = |position: usize, len: usize| match toward {
            Toward::Holding(_) => (position < len).then_some(position),
            Toward::Below(_) | Toward::Last => position.checked_sub(1),
        };
        while level > 1 {
            let node = self.branches.get(number)?;
            let version = node.latch().read()?;
            if !parent.0.still(parent.1) {
                return None;
            }
            let position = self.choose(node, toward);
            if let Some(index) = side(position, node.len()) {
                fenced = Some((node, version, index));
            }
            (parent, number, level) = ((node.latch(), version), node.child(position), level - 1);
        }
        let twig = self.twigs.get(number)?;
        let version = twig.latch().read()?;
        if !parent.0.still(parent.1) {
            return None;
        }
        let position = self.choose(twig, toward);
        let edge = match side(position, twig.len()) {
            Some(index) => Some(self.fence_toward(twig, index, toward)),
            None => fenced.map(|(node, _, index)| self.fence_toward(node, index, toward)),
        };
        if fenced.is_some_and(|(node, version, _)| !node.latch().still(version)) {
            return None;
        }
        Some((Reached { twig, version, leaf: twig.child(position), position }, edge))
    }

    fn fence_toward<I: Inner, K: Keys>(&self, node: &I, index: usize, toward: &Toward<'_, K>) -> K::Fence {
        match toward {
            Toward::Holding(probe) | Toward::Below(probe) => node.fence::<K>(&self.texts, index, *probe),
            // On the right edge nothing is left out of heads, so the lowest key will do for a probe.
            Toward::Last => node.fence::<K>(&self.texts, index, K::probe(&K::Fence::default())),
        }
    }

    fn choose<I: Inner, K: Keys>(&self, node: &I, toward: &Toward<'_, K>) -> usize {
        match toward {
            Toward::Holding(probe) => node.route::<K>(self.search, &self.texts, *probe),
            Toward::Below(probe) => node.route_below::<K>(self.search, &self.texts, *probe),
            Toward::Last => node.len(),
        }
    }

    /// The way down with every step and fence: for those who change nodes, and for scans. All of it was true at one
    /// instant.
    pub(crate) fn walk<K: Keys>(&self, root: &Root, toward: &Toward<'_, K>) -> Option<Path<'_, D, K>> {
        let rooted = root.latch.read()?;
        let top = root.top.load(Relaxed);
        let (mut level, mut number) = (top >> 32, top as u32);
        let mut branches: Vec<Step<'_, D::Branch>> = Vec::new();
        let mut range = (None, None);
        let mut ranges = Vec::new();
        while level > 1 && branches.len() < MOST_LEVELS {
            let node = self.branches.get(number)?;
            let version = node.latch().read()?;
            let parent = branches.last().map_or(root.latch.still(rooted), |step| step.node.latch().still(step.version));
            if !parent {
                return None;
            }
            ranges.push(range.clone());
            let position = self.choose(node, toward);
            self.narrow(node, position, toward, &mut range);
            branches.push(Step { node, number, version, position });
            (number, level) = (node.child(position), level - 1);
        }
        let node = self.twigs.get(number)?;
        let version = node.latch().read()?;
        let parent = branches.last().map_or(root.latch.still(rooted), |step| step.node.latch().still(step.version));
        if !parent {
            return None;
        }
        ranges.push(range.clone());
        let position = self.choose(node, toward);
        self.narrow(node, position, toward, &mut range);
        node.latch().still(version).then(|| Path {
            branches,
            twig: Step { node, number, version, position },
            ranges,
            leaf: range,
        })
    }

    fn narrow<I: Inner, K: Keys>(&self, node: &I, position: usize, toward: &Toward<'_, K>, range: &mut Range<K>) {
        let fence = |index| self.fence_toward(node, index, toward);
        if position > 0 {
            range.0 = Some(fence(position - 1));
        }
        if position < node.len() {
            range.1 = Some(fence(position));
        }
    }

    /// Splits the first full node on the way down, so that a leaf's split finds room and never climbs. Tells whether
    /// there was one: whoever asked starts over then.
    pub(crate) fn split_full<K: Keys>(&self, root: &Root, path: &Path<'_, D, K>, probe: K::Probe<'_>) -> bool {
        for (depth, step) in path.branches.iter().enumerate() {
            if step.node.len() + 1 == D::Branch::CHILDREN {
                self.split(root, path, depth, step, &self.branches, probe);
                return true;
            }
        }
        if path.twig.node.len() + 1 == D::Twig::CHILDREN {
            self.split(root, path, path.branches.len(), &path.twig, &self.twigs, probe);
            return true;
        }
        false
    }

    /// Splits one node in two, if nothing has changed since the walk. The node stays latched until its parent knows of
    /// the new half: let go between the two, the keys of that half would be nowhere.
    fn split<I: Inner, K: Keys>(
        &self,
        root: &Root,
        path: &Path<'_, D, K>,
        depth: usize,
        step: &Step<'_, I>,
        slab: &Slab<I>,
        probe: K::Probe<'_>,
    ) {
        let node = step.node;
        let parent = depth.checked_sub(1).map(|depth| &path.branches[depth]);
        let held_parent = match parent {
            Some(parent) => parent.node.latch().hold(parent.version),
            None => root.latch.read().and_then(|version| root.latch.hold(version)),
        };
        let Some(held_parent) = held_parent else { return };
        let held = if parent.is_some() || root.top.load(Relaxed) as u32 == step.number {
            node.latch().hold(step.version)
        } else {
            None
        };
        let Some(_held) = held else { return held_parent.undo() };
        let range = &path.ranges[depth];
        let low = range.0.clone().unwrap_or_default();
        let len = node.len();
        let (fences, children) = self.take_apart::<I, K>(node, probe);
        let middle = len / 2;
        let separator = &fences[middle];
        let (number, right) = slab.take();
        self.fill::<_, K>(right, (separator, range.1.as_ref()), &fences[middle + 1..], &children[middle + 1..]);
        self.fill::<_, K>(node, (&low, Some(separator)), &fences[..middle], &children[..=middle]);
        match parent {
            Some(parent) => {
                let range = &path.ranges[depth - 1];
                self.adopt::<_, K>(parent.node, range, (parent.position, separator, number), probe);
            }
            None => self.grow::<K>(root, separator, step.number, number),
        }
    }

    /// A new top above two halves.
    fn grow<K: Keys>(&self, root: &Root, separator: &K::Fence, left: u32, right: u32) {
        let (number, top) = self.branches.take();
        self.fill::<_, K>(top, (&K::Fence::default(), None), std::slice::from_ref(separator), &[left, right]);
        let level = (root.top.load(Relaxed) >> 32) + 1;
        root.top.store(level << 32 | u64::from(number), Relaxed);
    }

    /// The separators and children of a node that is going to be written anew; its texts are forgotten.
    fn take_apart<I: Inner, K: Keys>(&self, node: &I, probe: K::Probe<'_>) -> (Vec<K::Fence>, Vec<u32>) {
        let len = node.len();
        let fences = (0..len).map(|index| node.fence::<K>(&self.texts, index, probe)).collect();
        let children = (0..=len).map(|index| node.child(index)).collect();
        (0..len).for_each(|index| self.texts.forget(node.mark(index).text));
        (fences, children)
    }

    /// Makes a node hold these separators and children, its heads leaving out what the range shares.
    pub(crate) fn fill<I: Inner, K: Keys>(
        &self,
        node: &I,
        range: (&K::Fence, Option<&K::Fence>),
        fences: &[K::Fence],
        children: &[u32],
    ) {
        let lead = Lead::of::<K>(range, fences);
        let marks: Vec<_> = fences.iter().map(|fence| mark_of::<K>(&self.texts, fence, lead.skip())).collect();
        node.rewrite(lead, &marks, children);
    }

    /// Takes a separator and the child to its right in, where there is room. Written anew if the separator does not
    /// begin as the others do, or if its head would not say all and all of them share more than heads leave out.
    pub(crate) fn adopt<I: Inner, K: Keys>(
        &self,
        node: &I,
        range: &Range<K>,
        (position, separator, child): (usize, &K::Fence, u32),
        probe: K::Probe<'_>,
    ) {
        let shape = node.shape();
        let (len, skip) = (shape.len, shape.skip());
        let fence = |index| node.fence::<K>(&self.texts, index, probe);
        let begins_alike = shape.extra == 0 || K::shares(separator, &fence(0), skip);
        let is_short = len > 1 && K::text(separator, skip).is_some() && {
            let (first, last) = (fence(0), fence(len - 1));
            K::common((&first).min(separator), Some((&last).max(separator))) > skip
        };
        if begins_alike && !is_short {
            return node.adopt(position, mark_of::<K>(&self.texts, separator, skip), child);
        }
        let (mut fences, mut children) = self.take_apart::<I, K>(node, probe);
        fences.insert(position, separator.clone());
        children.insert(position + 1, child);
        let low = range.0.clone().unwrap_or_default();
        self.fill::<I, K>(node, (&low, range.1.as_ref()), &fences, &children);
    }
}
