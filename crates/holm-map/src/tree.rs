//! The tree: the descent, and the changes when a leaf becomes full or nearly empty.
//!
//! Levels 1 and 2 have types of their own, and all levels above share a third. So the descent is compiled as one piece
//! for any height: a loop that trees below billions of pairs never enter, and three steps. There is no recursion, and
//! no node stores its kind. Splits and merges go up along a path that is searched again for them. They are rare, and an
//! insertion that needs neither keeps no path.

use crate::key::Key;
use crate::leaf::{Leaf, Slots};
use crate::level::Selection;
use crate::nodes::{Nodes, NodesOf};
use holm_search::{Lane, LaneKernels, Vectors, prefetch, with_vectors};

/// The most levels of inner nodes of a tree. Each split of the root takes at least twice as many insertions as the one
/// before, so a 64-bit count of insertions overflows before this limit is reached.
const MOST_LEVELS: usize = 64;

/// The leaves before and after a leaf, in key order; [`NOWHERE`] at the ends.
#[derive(Clone, Copy)]
pub(crate) struct Links {
    pub(crate) before: u32,
    pub(crate) after: u32,
}

impl crate::area::Plain for Links {}

/// No leaf.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// A B+-tree over lanes.
pub(crate) struct Tree<K: Key, V, S: Selection> {
    pub(crate) leaves: S::Leaf<K, V>,
    first: NodesOf<K, S::First>,
    second: NodesOf<K, S::Second>,
    above: NodesOf<K, S::Above>,
    links: crate::area::Area<Links>,
    /// A node of level `height`. At height 0 it is the only leaf.
    root: u32,
    height: u32,
    pub(crate) len: usize,
    pub(crate) head: u32,
    pub(crate) tail: u32,
    pub(crate) vectors: Vectors,
}

/// The path to a leaf: at each level the node, and the index of the child that the path enters.
struct Path {
    steps: [(u32, u32); MOST_LEVELS + 1],
    leaf: u32,
}

/// Evaluates one expression for the nodes of the given level. Only changes that go up use it, never the descent.
macro_rules! at_level {
    ($tree:expr, $level:expr, $nodes:ident => $call:expr) => {
        match $level {
            1 => {
                let $nodes = &mut $tree.first;
                $call
            }
            2 => {
                let $nodes = &mut $tree.second;
                $call
            }
            _ => {
                let $nodes = &mut $tree.above;
                $call
            }
        }
    };
}

impl<K: Key, V, S: Selection> Tree<K, V, S> {
    pub(crate) fn new(vectors: Vectors) -> Self {
        Self {
            leaves: S::Leaf::new(),
            first: NodesOf::<K, S::First>::new(),
            second: NodesOf::<K, S::Second>::new(),
            above: NodesOf::<K, S::Above>::new(),
            links: crate::area::Area::new(crate::area::Pages::Usual),
            root: 0,
            height: 0,
            len: 0,
            head: NOWHERE,
            tail: NOWHERE,
            vectors,
        }
    }

    /// Returns a tree of the same shape, whose leaves are empty.
    pub(crate) fn empty_copy(&self) -> Self {
        Self {
            leaves: self.leaves.empty_copy(),
            first: self.first.clone(),
            second: self.second.clone(),
            above: self.above.clone(),
            links: self.links.clone(),
            len: 0,
            ..*self
        }
    }

    /// Returns whether there is no leaf yet: a new tree takes no memory.
    #[inline(always)]
    pub(crate) fn is_bare(&self) -> bool {
        self.head == NOWHERE
    }

    /// Creates the first leaf, and returns it.
    #[cold]
    pub(crate) fn plant(&mut self) -> u32 {
        self.root = self.leaves.fresh();
        self.links.grow(1, Links { before: NOWHERE, after: NOWHERE });
        (self.head, self.tail) = (self.root, self.root);
        self.root
    }

    pub(crate) fn bytes(&self) -> usize {
        let inner = self.first.bytes() + self.second.bytes() + self.above.bytes();
        self.leaves.bytes() + inner + self.links.bytes()
    }

    pub(crate) fn height(&self) -> usize {
        self.height as usize
    }

    #[inline(always)]
    pub(crate) fn after(&self, leaf: u32) -> u32 {
        self.links[leaf as usize].after
    }

    pub(crate) fn before(&self, leaf: u32) -> u32 {
        self.links[leaf as usize].before
    }

    /// Prefetches what [`Tree::after`] and [`Tree::before`] of a leaf read.
    #[inline(always)]
    pub(crate) fn ask_links(&self, leaf: u32) {
        prefetch(&self.links[leaf as usize]);
    }

    /// Returns the leaf that holds `key` if any does; [`NOWHERE`] if the tree has no leaf.
    #[inline(always)]
    pub(crate) fn seek<X: LaneKernels>(&self, x: X, key: K::Lane) -> u32 {
        if self.height == 2 { self.seek_below_two(x, key) } else { self.seek_at_any_height(x, key) }
    }

    /// As [`Tree::seek`], for two levels above the leaves: from some thousand pairs to some ten million.
    #[inline(always)]
    pub(crate) fn seek_below_two<X: LaneKernels>(&self, x: X, key: K::Lane) -> u32 {
        let (_, node) = self.second.find(x, self.root, key);
        self.first.find(x, node, key).1
    }

    /// As [`Tree::seek`].
    #[inline(never)]
    pub(crate) fn seek_at_any_height<X: LaneKernels>(&self, x: X, key: K::Lane) -> u32 {
        let mut node = (2..self.height).fold(self.root, |node, _| self.above.find(x, node, key).1);
        if self.height > 1 {
            node = self.second.find(x, node, key).1;
        }
        if self.height > 0 {
            node = self.first.find(x, node, key).1;
        }
        if self.is_bare() { NOWHERE } else { node }
    }

    /// Returns the leaves of `MANY` keys. It descends level by level for all of them: while one search waits for
    /// memory, the others prefetch.
    #[inline(always)]
    pub(crate) fn seek_many<X: LaneKernels, const MANY: usize>(
        &self,
        x: X,
        keys: &[K::Lane; MANY],
        nodes: &mut [u32; MANY],
    ) {
        *nodes = [self.root; MANY];
        for level in (3..=self.height).rev() {
            let ask = |node, _| if level > 3 { self.above.ask(node) } else { self.second.ask(node) };
            self.above.descend(x, keys, nodes, ask);
        }
        if self.height > 1 {
            self.second.descend(x, keys, nodes, |node, _| self.first.ask(node));
        }
        let ask_leaf = |leaf, key: K::Lane| self.leaves.ask(leaf, key);
        if self.height > 0 {
            self.first.descend(x, keys, nodes, ask_leaf);
        } else {
            keys.iter().for_each(|key| ask_leaf(self.root, *key));
        }
    }

    #[inline(always)]
    pub(crate) fn find<X: LaneKernels>(&self, x: X, key: K::Lane) -> Option<(u32, usize)> {
        let leaf = self.seek(x, key);
        if leaf == NOWHERE {
            return None;
        }
        self.find_in(x, leaf, key).map(|slot| (leaf, slot))
    }

    /// Returns the slot of `key` in its leaf, none of which has been read yet.
    #[inline(always)]
    pub(crate) fn find_in<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> Option<usize> {
        self.leaves.ask_early(leaf, key);
        self.leaves.find(x, leaf, key)
    }

    /// Inserts a pair whose key is absent into `leaf`, the leaf of its key. Returns the pair's place, and whether a
    /// leaf was split.
    #[inline(always)]
    pub(crate) fn insert_fresh<X: LaneKernels>(
        &mut self,
        x: X,
        mut leaf: u32,
        key: K::Lane,
        value: V,
    ) -> (u32, usize, bool) {
        let full = self.leaves.len(leaf) == S::Leaf::<K, V>::SLOTS;
        if full {
            leaf = self.make_room(key);
        }
        let slot = if leaf == self.tail {
            self.leaves.insert_at_end(x, leaf, key, value)
        } else {
            self.leaves.insert(x, leaf, key, value)
        };
        self.len += 1;
        (leaf, slot, full)
    }

    /// Removes the pair from an occupied slot. `key` is its key.
    #[inline(always)]
    pub(crate) fn remove_at(&mut self, leaf: u32, slot: usize, key: K::Lane) -> V {
        let value = self.leaves.remove(leaf, slot);
        self.len -= 1;
        let (left, sparse) = (self.leaves.len(leaf), S::Leaf::<K, V>::SPARSE);
        // A neighbour without room may have room later. The tree retries at the bound and at half of it, not at each
        // removal.
        if (left == 0 || left == sparse || left == sparse / 2) && self.height > 0 {
            self.join(key);
        }
        value
    }

    /// Returns the place of `key`. This search is compiled once, for callers that are not performance-critical.
    #[inline(never)]
    pub(crate) fn locate(&self, key: K::Lane) -> Option<(u32, usize)> {
        with_vectors!(self.vectors, x => self.find(x, key))
    }

    /// Returns the leaf that `key` belongs to ([`NOWHERE`] if there is none yet), and its slot if it is present.
    /// Compiled once.
    #[inline(never)]
    pub(crate) fn place(&self, key: K::Lane) -> (u32, Option<usize>) {
        with_vectors!(self.vectors, x => {
            let leaf = self.seek(x, key);
            if leaf == NOWHERE {
                return (NOWHERE, None);
            }
            (leaf, self.find_in(x, leaf, key))
        })
    }

    /// Returns the leaf that `key` belongs to, or [`NOWHERE`]. Compiled once.
    #[inline(never)]
    pub(crate) fn home(&self, key: K::Lane) -> u32 {
        with_vectors!(self.vectors, x => self.seek(x, key))
    }

    /// Writes the slots of a leaf in the order of their keys. Compiled once.
    #[inline(never)]
    pub(crate) fn sort(&self, leaf: u32, out: &mut <S::Leaf<K, V> as Leaf<K, V>>::Slots) {
        with_vectors!(self.vectors, x => self.leaves.sorted(x, leaf, out));
    }

    /// Writes the keys and slots of a leaf in order.
    pub(crate) fn order(&self, leaf: u32, out: &mut Vec<(K::Lane, u32)>) {
        let mut slots = <S::Leaf<K, V> as Leaf<K, V>>::Slots::default();
        self.sort(leaf, &mut slots);
        out.clear();
        out.extend((0..slots.len()).map(|at| (self.leaves.key(leaf, slots.slot(at)), slots.slot(at) as u32)));
    }

    fn path(&mut self, key: K::Lane) -> Path {
        let mut path = Path { steps: [(0, 0); MOST_LEVELS + 1], leaf: self.root };
        for level in (1..=self.height).rev() {
            let vectors = self.vectors;
            let (entry, child) = at_level!(self, level, nodes => nodes.step(vectors, path.leaf, key));
            path.steps[level as usize] = (path.leaf, entry as u32);
            path.leaf = child;
        }
        path
    }

    /// Makes room for `key` in the full leaf that it belongs to: a neighbour takes some pairs, or the leaf is split.
    /// Returns which of the two leaves the key belongs to now.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, key: K::Lane) -> u32 {
        let path = self.path(key);
        let leaf = path.leaf;
        if S::Leaf::<K, V>::SHARING > 0
            && self.height > 0
            && let Some(leaf) = self.share(&path, key)
        {
            return leaf;
        }
        let at_end = leaf == self.tail;
        let greatest = if at_end { self.leaves.end(leaf, false).map(|(greatest, _)| greatest) } else { None };
        // Ascending insertions leave full leaves: the last leaf keeps its pairs, and the new key begins another one.
        let (separator, fresh) = match greatest.filter(|greatest| *greatest < key) {
            Some(greatest) => (greatest, self.leaves.fresh()),
            None => with_vectors!(self.vectors, x => self.leaves.split(x, leaf)),
        };
        self.link(leaf, fresh);
        self.climb(&path, separator, fresh, at_end);
        if key > separator { fresh } else { leaf }
    }

    /// Moves some pairs of the full leaf to the emptier neighbour under the same parent, if one has enough room.
    /// Returns which of the two `key` belongs to then. Leaves that share before they split are fuller on average.
    fn share(&mut self, path: &Path, key: K::Lane) -> Option<u32> {
        let (parent, entry) = (path.steps[1].0, path.steps[1].1 as usize);
        let right = (entry + 1 < self.first.children(parent)).then_some((entry + 1, true));
        let left = entry.checked_sub(1).map(|left| (left, false));
        let sides = [right, left].into_iter().flatten().map(|(at, right)| (self.first.child(parent, at), right));
        sides.clone().for_each(|(neighbour, _)| self.leaves.ask_count(neighbour));
        let (neighbour, to_right) = sides.min_by_key(|(neighbour, _)| self.leaves.len(*neighbour))?;
        if self.leaves.len(neighbour) > S::Leaf::<K, V>::SHARING {
            return None;
        }
        let separator = with_vectors!(self.vectors, x => self.leaves.share(x, path.leaf, neighbour, to_right))?;
        self.first.set_separator(parent, if to_right { entry } else { entry - 1 }, separator);
        Some(if (key > separator) == to_right { neighbour } else { path.leaf })
    }

    /// Appends a leaf behind the last one, whose greatest key is `greatest`. All further keys are greater.
    #[cold]
    #[inline(never)]
    pub(crate) fn append_leaf(&mut self, greatest: K::Lane) {
        let path = self.path(K::Lane::GREATEST);
        let fresh = self.leaves.fresh();
        self.link(self.tail, fresh);
        self.climb(&path, greatest, fresh, true);
    }

    /// Inserts `fresh` behind `leaf` in the order of leaves.
    fn link(&mut self, leaf: u32, fresh: u32) {
        if fresh as usize == self.links.len() {
            self.links.grow(1, Links { before: NOWHERE, after: NOWHERE });
        }
        assert_ne!(fresh, NOWHERE, "a tree has fewer than 2^32 leaves");
        let after = std::mem::replace(&mut self.links[leaf as usize].after, fresh);
        self.links[fresh as usize] = Links { before: leaf, after };
        if after == NOWHERE {
            self.tail = fresh;
        } else {
            self.links[after as usize].before = fresh;
        }
    }

    /// Removes `leaf`, which is empty, from the order of leaves.
    fn unlink(&mut self, leaf: u32) {
        let Links { before, after } = self.links[leaf as usize];
        if before == NOWHERE {
            self.head = after;
        } else {
            self.links[before as usize].after = after;
        }
        if after == NOWHERE {
            self.tail = before;
        } else {
            self.links[after as usize].before = before;
        }
        self.leaves.retire(leaf);
    }

    /// Inserts the path's new child into its parents, level by level: `right` is the right neighbour of the path's
    /// child, and `separator` lies between them.
    fn climb(&mut self, path: &Path, mut separator: K::Lane, mut right: u32, at_end: bool) {
        for level in 1..=self.height {
            let (node, entry) = (path.steps[level as usize].0, path.steps[level as usize].1 as usize);
            let split = at_level!(self, level, nodes => {
                if !nodes.is_full(node) {
                    return nodes.insert(node, entry, separator, right);
                }
                let (between, fresh) = nodes.split(node, at_end);
                let kept = nodes.children(node);
                // Each part has at least one child, and the new child goes beside the one that was split.
                if entry < kept {
                    nodes.insert(node, entry, separator, right);
                } else {
                    nodes.insert(fresh, entry - kept, separator, right);
                }
                (between, fresh)
            });
            (separator, right) = split;
        }
        self.height += 1;
        self.root = at_level!(self, self.height, nodes => {
            let root = nodes.fresh(self.root);
            nodes.insert(root, 0, separator, right);
            root
        });
    }

    /// Handles the leaf of `key`, which has become sparse or empty: removes it if it is empty or a neighbour can take
    /// its pairs.
    #[cold]
    #[inline(never)]
    fn join(&mut self, key: K::Lane) {
        let path = self.path(key);
        let (parent, entry) = (path.steps[1].0, path.steps[1].1 as usize);
        if self.leaves.len(path.leaf) == 0 {
            self.unlink(path.leaf);
            return self.drop_child(&path, entry);
        }
        let children = self.first.children(parent);
        for left in [entry, entry.wrapping_sub(1)] {
            if left == usize::MAX || left + 1 >= children {
                continue;
            }
            let (near, far) = (self.first.child(parent, left), self.first.child(parent, left + 1));
            let slots = S::Leaf::<K, V>::SLOTS;
            if self.leaves.len(near) + self.leaves.len(far) <= slots - slots / 4 {
                self.leaves.merge(near, far);
                self.unlink(far);
                return self.drop_child(&path, left + 1);
            }
        }
    }

    /// Removes the leaf that `key` belongs to, which has been emptied, unless it is the only one.
    pub(crate) fn leave(&mut self, key: K::Lane) {
        if self.height > 0 {
            self.join(key);
        }
    }

    /// Removes child `entry` of the path's node on level 1. If that leaves the node empty or sparse, the node is
    /// removed or merged with a neighbour, and so on upwards.
    fn drop_child(&mut self, path: &Path, mut entry: usize) {
        for level in 1..=self.height {
            let node = path.steps[level as usize].0;
            let alone = at_level!(self, level, nodes => nodes.children(node) == 1);
            if level == self.height {
                debug_assert!(!alone, "a root has two children");
                at_level!(self, level, nodes => nodes.remove(node, entry));
                return self.lower();
            }
            let (parent, own) = (path.steps[level as usize + 1].0, path.steps[level as usize + 1].1 as usize);
            if alone {
                at_level!(self, level, nodes => nodes.retire(node));
                entry = own;
                continue;
            }
            at_level!(self, level, nodes => nodes.remove(node, entry));
            let Some(gone) = self.join_nodes(level, node, parent, own) else { return };
            entry = gone;
        }
    }

    /// Merges a sparse node with a neighbour under the same parent. Returns the index of the child that the parent
    /// loses.
    fn join_nodes(&mut self, level: u32, node: u32, parent: u32, own: usize) -> Option<usize> {
        if !at_level!(self, level, nodes => nodes.is_sparse(node)) {
            return None;
        }
        let children = at_level!(self, level + 1, parents => parents.children(parent));
        for left in [own, own.wrapping_sub(1)] {
            if left == usize::MAX || left + 1 >= children {
                continue;
            }
            let (near, far, between) = at_level!(self, level + 1, parents => {
                (parents.child(parent, left), parents.child(parent, left + 1), parents.separator(parent, left))
            });
            let joined = at_level!(self, level, nodes => {
                let joined = nodes.join(near, far);
                if joined {
                    nodes.merge(near, between, far);
                }
                joined
            });
            if joined {
                return Some(left + 1);
            }
        }
        None
    }

    /// Replaces a root that has one child by that child.
    fn lower(&mut self) {
        while self.height > 0 {
            let root = self.root;
            let only = at_level!(self, self.height, nodes => {
                if nodes.children(root) > 1 {
                    return;
                }
                let only = nodes.child(root, 0);
                nodes.retire(root);
                only
            });
            self.root = only;
            self.height -= 1;
        }
    }
}
