//! Levels 1 and up of all trees of a forest: the way down, read by many and written by few.
//!
//! Optimistic lock coupling: read a node's version, route, read the child's version, ask whether the node still
//! stands. "Restart" is `None`. A leaf needs no low fence for this: if the twig still stands *after* the leaf's
//! version was read, the leaf is the right one.

use crate::design::{BerthOf, Design, LocksOf};
use crate::index::{Root, Seen, Toward};
use crate::inner::{Inner, Range, Station, fresh, unused};
use crate::keys::Keys;
use crate::latch::{Held, Latch, Version};
use crate::locks::Locks;
use crate::slab::Slab;
use crate::sync::atomic::Ordering::Relaxed;
use crate::texts::Texts;
use holm_medium::{Medium, Pen, Pool, Quill, Result, Stay};
use holm_search::Search;

/// The most levels of branches; 8 children each would reach further than numbers do.
pub(crate) const MOST_LEVELS: usize = 12;

/// The nodes of a forest; of durable ones, the volatile sides.
pub(crate) struct Spine<D: Design> {
    pub(crate) branches: Slab<D::Branch>,
    pub(crate) twigs: Slab<D::Twig>,
    pub(crate) texts: Texts,
    pub(crate) search: Search,
}

/// A twig, and the leaf that was found through it.
pub(crate) struct Reached<'a, D: Design> {
    pub(crate) twig: &'a D::Twig,
    /// The twig's number.
    pub(crate) number: u32,
    pub(crate) version: Version,
    pub(crate) leaf: u32,
    pub(crate) position: usize,
}

impl<'a, D: Design> Reached<'a, D> {
    /// The latch of a leaf under the twig.
    #[inline]
    pub(crate) fn latch(&self, leaf: u32, berth: &'a BerthOf<D>) -> &'a Latch {
        self.twig.locks().of(&berth.latch, leaf)
    }

    /// When a leaf under the twig was seen.
    #[inline]
    pub(crate) fn seen(&self, leaf: u32, version: Version) -> Seen {
        let twig = if LocksOf::<D>::IN_NODE { self.number } else { 0 };
        Seen { leaf, twig, version }
    }

    /// The leaf so many places from the one reached, if the same twig has it: a hint, asked of no latch.
    pub(crate) fn beside(&self, places: isize) -> Option<u32> {
        let position = self.position.checked_add_signed(places)?;
        (position <= self.twig.len()).then(|| self.twig.child(position))
    }
}

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

    /// Bytes of its nodes.
    pub(crate) fn bytes(&self) -> u64 {
        self.branches.bytes() + self.twigs.bytes() + self.texts.bytes()
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
            if !root.latch.still(rooted) {
                return None;
            }
            return Some(self.reach::<K>((twig, number), version, probe));
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
        let number = node.child(node.route::<K>(self.search, &self.texts, probe));
        let twig = self.twigs.get(number)?;
        let below = twig.latch().read()?;
        if !node.latch().still(version) {
            return None;
        }
        Some(self.reach::<K>((twig, number), below, probe))
    }

    #[inline(always)]
    fn reach<'a, K: Keys>(
        &'a self,
        (twig, number): (&'a D::Twig, u32),
        version: Version,
        probe: K::Probe<'_>,
    ) -> Reached<'a, D> {
        twig.approach();
        let position = twig.route::<K>(self.search, &self.texts, probe);
        Reached { twig, number, version, leaf: twig.child(position), position }
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
        Some((Reached { twig, number, version, leaf: twig.child(position), position }, edge))
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
    pub(crate) fn split_full<M: Medium, K: Keys>(
        &self,
        quill: &Quill<M>,
        root: &Root,
        stay: &Stay<'_>,
        path: &Path<'_, D, K>,
        probe: K::Probe<'_>,
    ) -> Result<bool> {
        for (depth, step) in path.branches.iter().enumerate() {
            if step.node.len() + 1 == D::Branch::CHILDREN {
                self.split(quill, root, stay, path, depth, (step, &self.branches), probe)?;
                return Ok(true);
            }
        }
        if path.twig.node.len() + 1 == D::Twig::CHILDREN && D::Branch::RENEWED {
            self.renew::<M, K>(&mut quill.cut(stay), root, path);
            return Ok(true);
        }
        if path.twig.node.len() + 1 == D::Twig::CHILDREN {
            self.split(quill, root, stay, path, path.branches.len(), (&path.twig, &self.twigs), probe)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Splits one node in two, if nothing has changed since the walk. The node stays latched until its parent knows of
    /// the new half: let go between the two, the keys of that half would be nowhere.
    #[allow(clippy::too_many_arguments, reason = "where, under which label, and what")]
    fn split<I: Inner, M: Medium, K: Keys>(
        &self,
        quill: &Quill<M>,
        root: &Root,
        stay: &Stay<'_>,
        path: &Path<'_, D, K>,
        depth: usize,
        (step, slab): (&Step<'_, I>, &Slab<I>),
        probe: K::Probe<'_>,
    ) -> Result<()> {
        let (node, pool) = (step.node, quill.pool());
        let parent = depth.checked_sub(1).map(|depth| &path.branches[depth]);
        // Before the label is validated: a tick in between could release a block that is too young for this label.
        let (number, right) = self.fresh(slab, pool, stay)?;
        let top = match parent {
            Some(_) => None,
            None => Some(self.fresh(&self.branches, pool, stay).inspect_err(|_| unused(slab, pool, number))?),
        };
        let undone = || {
            unused(slab, pool, number);
            top.iter().for_each(|top| unused(&self.branches, pool, top.0));
            Ok(())
        };
        let held_parent = match parent {
            Some(parent) => parent.node.latch().hold(parent.version),
            None => root.latch.read().and_then(|version| root.latch.hold(version)),
        };
        let Some(held_parent) = held_parent else { return undone() };
        let held = if parent.is_some() || root.top.load(Relaxed) as u32 == step.number {
            node.latch().hold(step.version)
        } else {
            None
        };
        let Some(held) = held else {
            held_parent.undo();
            return undone();
        };
        // Of a twig's leaves some have their lock elsewhere from now on: nobody may be at them by the lock they had.
        let locks = hold_all(node.locks().all());
        if locks.is_none() || !stay.valid() {
            locks.into_iter().flatten().for_each(Held::undo);
            held.undo();
            held_parent.undo();
            return undone();
        }
        let mut pen = quill.cut(stay);
        let separator = node.split::<M, K>(&mut pen, &self.texts, &path.ranges[depth], (number, right), probe);
        match (parent, top) {
            (Some(parent), _) => {
                let (range, arrival) = (&path.ranges[depth - 1], (parent.position, &separator, number));
                parent.node.adopt::<M, K>(&mut pen, &self.texts, range, arrival, probe);
            }
            (None, Some(top)) => self.grow::<M, K>(&mut pen, root, top, &separator, [step.number, number]),
            (None, None) => unreachable!("whoever has no parent gets one"),
        }
        Ok(())
    }

    /// A number that nobody uses, and its node.
    pub(crate) fn fresh<'a, I: Inner, M: Medium>(
        &self,
        slab: &'a Slab<I>,
        pool: &Pool<M>,
        stay: &Stay<'_>,
    ) -> Result<(u32, &'a I)> {
        fresh(slab, pool, size_of::<D::Leaf>(), || pool.space.take_block(&pool.medium, stay))
    }

    /// A new top above two halves.
    fn grow<M: Medium, K: Keys>(
        &self,
        pen: &mut Pen<'_, M>,
        root: &Root,
        (number, top): (u32, &D::Branch),
        separator: &K::Fence,
        halves: [u32; 2],
    ) {
        let level = (root.top.load(Relaxed) >> 32) as u32 + 1;
        let station = Station { keyspace: root.keyspace(), level, first: true };
        let (range, fences) = ((&K::Fence::default(), None), std::slice::from_ref(separator));
        top.fill::<M, K>(pen, &self.texts, station, range, fences, &halves);
        root.top.store(u64::from(level) << 32 | u64::from(number), Relaxed);
    }

    /// Numbers of a tree's branches, from the top down, and of its twigs, from left to right; nobody may write to it
    /// meanwhile.
    pub(crate) fn numbers(&self, root: &Root) -> (Vec<u32>, Vec<u32>) {
        let top = root.top.load(Relaxed);
        let (mut branches, mut row) = (vec![], vec![top as u32]);
        for _ in 1..top >> 32 {
            branches.extend_from_slice(&row);
            let nodes = row.iter().filter_map(|number| self.branches.get(*number));
            row = nodes.flat_map(|node| (0..=node.len()).map(|index| node.child(index))).collect();
        }
        (branches, row)
    }

    /// Children of each twig of a tree, from left to right; nobody may write to it meanwhile.
    pub(crate) fn fills(&self, root: &Root) -> Vec<usize> {
        let twigs = self.numbers(root).1;
        twigs.into_iter().filter_map(|number| Some(self.twigs.get(number)?.len() + 1)).collect()
    }

    /// Level and number of every durable node of a tree, from the top down; nobody may write to it meanwhile.
    pub(crate) fn nodes(&self, root: &Root) -> Vec<(u32, u32)> {
        let top = root.top.load(Relaxed);
        let (height, mut first) = ((top >> 32) as u32, top as u32);
        let mut nodes = vec![];
        for level in (1..=height).rev() {
            first = match level {
                1 => row(&self.twigs, (level, first), &mut nodes),
                _ => row(&self.branches, (level, first), &mut nodes),
            };
        }
        nodes
    }
}

/// All of these latches, or none of them.
pub(crate) fn hold_all<'a>(latches: impl IntoIterator<Item = &'a Latch>) -> Option<Vec<Held<'a>>> {
    let mut all = Vec::new();
    for latch in latches {
        match latch.read().and_then(|version| latch.hold(version)) {
            Some(held) => all.push(held),
            None => {
                all.into_iter().for_each(Held::undo);
                return None;
            }
        }
    }
    Some(all)
}

/// The durable nodes of a level from its first one on; tells which is the first one below.
fn row<I: Inner>(slab: &Slab<I>, (level, first): (u32, u32), nodes: &mut Vec<(u32, u32)>) -> u32 {
    let mut at = first;
    while let Some(node) = slab.get(at).filter(|_| I::DURABLE && at != 0) {
        nodes.push((level, at));
        at = node.next();
    }
    slab.get(first).map_or(0, |node| node.child(0))
}
