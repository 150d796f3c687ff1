//! The inner levels, 1 and up, of all trees of a tree set: the descent that many threads read and few write.
//!
//! Descents use optimistic lock coupling: read a node's version, route, read the child's version, then validate the
//! node. `None` means "restart". A leaf needs no low separator for this: if the leaf parent validates *after* the
//! leaf's version was read, the leaf is the right one.

use crate::design::{DescriptorOf, Design, LocksOf};
use crate::index::{LeafVersion, SeekTarget, TreeRoot};
use crate::inner::{Inner, NodeHeader, Range, fresh, unused};
use crate::keys::Keys;
use crate::latch::{Latch, LatchGuard, Version};
use crate::locks::Locks;
use crate::long_separators::LongSeparators;
use crate::slab::Slab;
use crate::sync::atomic::Ordering::Relaxed;
use holm_medium::{Guard, Medium, Result, Storage, WriteHandle, Writer};
use holm_search::Search;

/// The most levels of upper nodes; with 8 children each, more levels would exceed the node numbers.
pub(crate) const MOST_LEVELS: usize = 12;

/// The nodes of a tree set; for durable nodes, their volatile sides.
pub(crate) struct InnerLevels<D: Design> {
    pub(crate) uppers: Slab<D::Upper>,
    pub(crate) leaf_parents: Slab<D::LeafParent>,
    pub(crate) long_separators: LongSeparators,
    pub(crate) search: Search,
}

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
        let leaf_parent = if LocksOf::<D>::IN_NODE { self.number } else { 0 };
        LeafVersion { leaf, leaf_parent, version }
    }

    /// Returns the leaf `places` beside the one reached, if the same leaf parent has it. A hint: no latch validates it.
    pub(crate) fn sibling(&self, places: isize) -> Option<u32> {
        let position = self.position.checked_add_signed(places)?;
        (position <= self.leaf_parent.len()).then(|| self.leaf_parent.child(position))
    }
}

/// A step of a descent that keeps separators.
pub(crate) struct Step<'a, I> {
    pub(crate) node: &'a I,
    pub(crate) number: u32,
    pub(crate) version: Version,
    pub(crate) position: usize,
}

/// A whole descent: the upper nodes from the top, the leaf parent, and the ranges of all of them and of the leaf.
pub(crate) struct Path<'a, D: Design, K: Keys> {
    pub(crate) uppers: Vec<Step<'a, D::Upper>>,
    pub(crate) leaf_parent: Step<'a, D::LeafParent>,
    /// The range of each node of the descent, the leaf parent's last.
    pub(crate) ranges: Vec<Range<K>>,
    /// The range of the leaf.
    pub(crate) leaf: Range<K>,
}

impl<D: Design> InnerLevels<D> {
    pub(crate) fn new(search: Search) -> Self {
        InnerLevels {
            uppers: Slab::default(),
            leaf_parents: Slab::default(),
            long_separators: LongSeparators::default(),
            search,
        }
    }

    /// Returns the bytes of its nodes.
    pub(crate) fn bytes(&self) -> u64 {
        self.uppers.bytes() + self.leaf_parents.bytes() + self.long_separators.bytes()
    }

    /// Descends to a search key's leaf.
    #[inline(always)]
    pub(crate) fn seek<K: Keys>(&self, root: &TreeRoot, search_key: K::SearchKey<'_>) -> Option<Reached<'_, D>> {
        let rooted = root.latch.read()?;
        let top = root.top.load(Relaxed);
        let (mut level, number) = (top >> 32, top as u32);
        if level == 1 {
            let leaf_parent = self.leaf_parents.get(number)?;
            let version = leaf_parent.latch().read()?;
            if !root.latch.validate(rooted) {
                return None;
            }
            return Some(self.reach::<K>((leaf_parent, number), version, search_key));
        }
        let mut node = self.uppers.get(number)?;
        let mut version = node.latch().read()?;
        if !root.latch.validate(rooted) {
            return None;
        }
        while level > 2 {
            let child = self.uppers.get(node.child(node.route::<K>(self.search, &self.long_separators, search_key)))?;
            let below = child.latch().read()?;
            if !node.latch().validate(version) {
                return None;
            }
            (node, version, level) = (child, below, level - 1);
        }
        let number = node.child(node.route::<K>(self.search, &self.long_separators, search_key));
        let leaf_parent = self.leaf_parents.get(number)?;
        let below = leaf_parent.latch().read()?;
        if !node.latch().validate(version) {
            return None;
        }
        Some(self.reach::<K>((leaf_parent, number), below, search_key))
    }

    #[inline(always)]
    fn reach<'a, K: Keys>(
        &'a self,
        (leaf_parent, number): (&'a D::LeafParent, u32),
        version: Version,
        search_key: K::SearchKey<'_>,
    ) -> Reached<'a, D> {
        leaf_parent.prefetch_children();
        let position = leaf_parent.route::<K>(self.search, &self.long_separators, search_key);
        Reached { leaf_parent, number, version, leaf: leaf_parent.child(position), position }
    }

    /// Descends for a scan, and returns the one separator where the scan continues: the end of the leaf's range or,
    /// backwards, its start.
    pub(crate) fn descend<K: Keys>(
        &self,
        root: &TreeRoot,
        target: &SeekTarget<'_, K>,
    ) -> Option<(Reached<'_, D>, Option<K::Separator>)> {
        let rooted = root.latch.read()?;
        let top = root.top.load(Relaxed);
        let (mut level, mut number) = (top >> 32, top as u32);
        let mut parent: (&Latch, Version) = (&root.latch, rooted);
        // The lowest upper node with a separator on the wanted side. Usually the leaf parent has one, and this is not
        // needed.
        let mut fenced: Option<(&D::Upper, Version, usize)> = None;
        let side = |position: usize, len: usize| match target {
            SeekTarget::Holding(_) => (position < len).then_some(position),
            SeekTarget::Below(_) | SeekTarget::Last => position.checked_sub(1),
        };
        while level > 1 {
            let node = self.uppers.get(number)?;
            let version = node.latch().read()?;
            if !parent.0.validate(parent.1) {
                return None;
            }
            let position = self.choose(node, target);
            if let Some(index) = side(position, node.len()) {
                fenced = Some((node, version, index));
            }
            (parent, number, level) = ((node.latch(), version), node.child(position), level - 1);
        }
        let leaf_parent = self.leaf_parents.get(number)?;
        let version = leaf_parent.latch().read()?;
        if !parent.0.validate(parent.1) {
            return None;
        }
        let position = self.choose(leaf_parent, target);
        let edge = match side(position, leaf_parent.len()) {
            Some(index) => Some(self.separator_toward(leaf_parent, index, target)),
            None => fenced.map(|(node, _, index)| self.separator_toward(node, index, target)),
        };
        if fenced.is_some_and(|(node, version, _)| !node.latch().validate(version)) {
            return None;
        }
        Some((Reached { leaf_parent, number, version, leaf: leaf_parent.child(position), position }, edge))
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

    /// Descends and keeps every step and separator: for writers that change nodes, and for scans. Everything in the
    /// result was true at one instant.
    pub(crate) fn walk<K: Keys>(&self, root: &TreeRoot, target: &SeekTarget<'_, K>) -> Option<Path<'_, D, K>> {
        let rooted = root.latch.read()?;
        let top = root.top.load(Relaxed);
        let (mut level, mut number) = (top >> 32, top as u32);
        let mut uppers: Vec<Step<'_, D::Upper>> = Vec::new();
        let mut range = (None, None);
        let mut ranges = Vec::new();
        while level > 1 && uppers.len() < MOST_LEVELS {
            let node = self.uppers.get(number)?;
            let version = node.latch().read()?;
            let parent =
                uppers.last().map_or(root.latch.validate(rooted), |step| step.node.latch().validate(step.version));
            if !parent {
                return None;
            }
            ranges.push(range.clone());
            let position = self.choose(node, target);
            self.narrow(node, position, target, &mut range);
            uppers.push(Step { node, number, version, position });
            (number, level) = (node.child(position), level - 1);
        }
        let node = self.leaf_parents.get(number)?;
        let version = node.latch().read()?;
        let parent = uppers.last().map_or(root.latch.validate(rooted), |step| step.node.latch().validate(step.version));
        if !parent {
            return None;
        }
        ranges.push(range.clone());
        let position = self.choose(node, target);
        self.narrow(node, position, target, &mut range);
        node.latch().validate(version).then(|| Path {
            uppers,
            leaf_parent: Step { node, number, version, position },
            ranges,
            leaf: range,
        })
    }

    fn narrow<I: Inner, K: Keys>(&self, node: &I, position: usize, target: &SeekTarget<'_, K>, range: &mut Range<K>) {
        let separator_at = |index| self.separator_toward(node, index, target);
        if position > 0 {
            range.0 = Some(separator_at(position - 1));
        }
        if position < node.len() {
            range.1 = Some(separator_at(position));
        }
    }

    /// Splits the first full node of the descent, so that a leaf's split finds room and never climbs. Returns whether
    /// there was one; the caller then restarts.
    pub(crate) fn split_full<M: Medium, K: Keys>(
        &self,
        writer: &Writer<M>,
        root: &TreeRoot,
        guard: &Guard<'_>,
        path: &Path<'_, D, K>,
        search_key: K::SearchKey<'_>,
    ) -> Result<bool> {
        for (depth, step) in path.uppers.iter().enumerate() {
            if step.node.len() + 1 == D::Upper::CHILDREN {
                self.split(writer, root, guard, path, depth, (step, &self.uppers), search_key)?;
                return Ok(true);
            }
        }
        if path.leaf_parent.node.len() + 1 == D::LeafParent::CHILDREN && D::Upper::REBUILT_WHEN_FULL {
            self.rebuild_levels::<M, K>(&mut writer.begin_write(guard), root, path);
            return Ok(true);
        }
        if path.leaf_parent.node.len() + 1 == D::LeafParent::CHILDREN {
            self.split(
                writer,
                root,
                guard,
                path,
                path.uppers.len(),
                (&path.leaf_parent, &self.leaf_parents),
                search_key,
            )?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Splits one node in two, if nothing has changed since the walk. The node stays latched until its parent has the
    /// new half. If the latch were released in between, no descent would find the keys of that half.
    #[allow(clippy::too_many_arguments, reason = "where, under which label, and what")]
    fn split<I: Inner, M: Medium, K: Keys>(
        &self,
        writer: &Writer<M>,
        root: &TreeRoot,
        guard: &Guard<'_>,
        path: &Path<'_, D, K>,
        depth: usize,
        (step, slab): (&Step<'_, I>, &Slab<I>),
        search_key: K::SearchKey<'_>,
    ) -> Result<()> {
        let (node, storage) = (step.node, writer.storage());
        let parent = depth.checked_sub(1).map(|depth| &path.uppers[depth]);
        // Allocate before the label is validated: an epoch end in between could release a block that is too young for
        // this label.
        let (number, right) = self.fresh(slab, storage, guard)?;
        let top = match parent {
            Some(_) => None,
            None => Some(self.fresh(&self.uppers, storage, guard).inspect_err(|_| unused(slab, storage, number))?),
        };
        let undone = || {
            unused(slab, storage, number);
            top.iter().for_each(|top| unused(&self.uppers, storage, top.0));
            Ok(())
        };
        let held_parent = match parent {
            Some(parent) => parent.node.latch().try_lock(parent.version),
            None => root.latch.read().and_then(|version| root.latch.try_lock(version)),
        };
        let Some(held_parent) = held_parent else { return undone() };
        let held = if parent.is_some() || root.top.load(Relaxed) as u32 == step.number {
            node.latch().try_lock(step.version)
        } else {
            None
        };
        let Some(held) = held else {
            held_parent.unlock_unchanged();
            return undone();
        };
        // Some leaves of a leaf parent get their lock in another node from now on. No writer may hold them by the lock
        // that they had.
        let locks = hold_all(node.locks().all());
        if locks.is_none() || !guard.valid() {
            locks.into_iter().flatten().for_each(LatchGuard::unlock_unchanged);
            held.unlock_unchanged();
            held_parent.unlock_unchanged();
            return undone();
        }
        let mut handle = writer.begin_write(guard);
        let separator =
            node.split::<M, K>(&mut handle, &self.long_separators, &path.ranges[depth], (number, right), search_key);
        match (parent, top) {
            (Some(parent), _) => {
                let (range, new_child) = (&path.ranges[depth - 1], (parent.position, &separator, number));
                parent.node.insert_child::<M, K>(&mut handle, &self.long_separators, range, new_child, search_key);
            }
            (None, Some(top)) => self.grow::<M, K>(&mut handle, root, top, &separator, [step.number, number]),
            (None, None) => unreachable!("whoever has no parent gets one"),
        }
        Ok(())
    }

    /// Returns an unused number and its node.
    pub(crate) fn fresh<'a, I: Inner, M: Medium>(
        &self,
        slab: &'a Slab<I>,
        storage: &Storage<M>,
        guard: &Guard<'_>,
    ) -> Result<(u32, &'a I)> {
        fresh(slab, storage, size_of::<D::Leaf>(), || storage.space.take_block(&storage.medium, guard))
    }

    /// Makes a new top above two halves.
    fn grow<M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        root: &TreeRoot,
        (number, top): (u32, &D::Upper),
        separator: &K::Separator,
        halves: [u32; 2],
    ) {
        let level = (root.top.load(Relaxed) >> 32) as u32 + 1;
        let node_header = NodeHeader { keyspace: root.keyspace(), level, first: true };
        let (range, separators) = ((&K::Separator::default(), None), std::slice::from_ref(separator));
        top.fill::<M, K>(handle, &self.long_separators, node_header, range, separators, &halves);
        root.top.store(u64::from(level) << 32 | u64::from(number), Relaxed);
    }

    /// Returns the numbers of a tree's upper nodes from the top down, and of its leaf parents from left to right. No
    /// thread may write to the tree meanwhile.
    pub(crate) fn numbers(&self, root: &TreeRoot) -> (Vec<u32>, Vec<u32>) {
        let top = root.top.load(Relaxed);
        let (mut uppers, mut row) = (vec![], vec![top as u32]);
        for _ in 1..top >> 32 {
            uppers.extend_from_slice(&row);
            let nodes = row.iter().filter_map(|number| self.uppers.get(*number));
            row = nodes.flat_map(|node| (0..=node.len()).map(|index| node.child(index))).collect();
        }
        (uppers, row)
    }

    /// Returns the number of children of each leaf parent of a tree, from left to right. No thread may write to the
    /// tree meanwhile.
    pub(crate) fn fills(&self, root: &TreeRoot) -> Vec<usize> {
        let leaf_parents = self.numbers(root).1;
        leaf_parents.into_iter().filter_map(|number| Some(self.leaf_parents.get(number)?.len() + 1)).collect()
    }

    /// Returns the level and number of every durable node of a tree, from the top down. No thread may write to the tree
    /// meanwhile.
    pub(crate) fn nodes(&self, root: &TreeRoot) -> Vec<(u32, u32)> {
        let top = root.top.load(Relaxed);
        let (height, mut first) = ((top >> 32) as u32, top as u32);
        let mut nodes = vec![];
        for level in (1..=height).rev() {
            first = match level {
                1 => row(&self.leaf_parents, (level, first), &mut nodes),
                _ => row(&self.uppers, (level, first), &mut nodes),
            };
        }
        nodes
    }
}

/// Takes all of these latches, or none.
pub(crate) fn hold_all<'a>(latches: impl IntoIterator<Item = &'a Latch>) -> Option<Vec<LatchGuard<'a>>> {
    let mut all = Vec::new();
    for latch in latches {
        match latch.read().and_then(|version| latch.try_lock(version)) {
            Some(held) => all.push(held),
            None => {
                all.into_iter().for_each(LatchGuard::unlock_unchanged);
                return None;
            }
        }
    }
    Some(all)
}

/// Collects the durable nodes of a level from its first one on; returns the first node of the level below.
fn row<I: Inner>(slab: &Slab<I>, (level, first): (u32, u32), nodes: &mut Vec<(u32, u32)>) -> u32 {
    let mut at = first;
    while let Some(node) = slab.get(at).filter(|_| I::DURABLE && at != 0) {
        nodes.push((level, at));
        at = node.next();
    }
    slab.get(first).map_or(0, |node| node.child(0))
}
