//! The tree: the way down, and what changes when a leaf is full or nearly empty.
//!
//! Levels one and two are of types of their own, and all above of a third, so the way down is compiled as one piece
//! for any height: a loop that a tree of fewer than billions of pairs never enters, and three steps. Nothing recurs,
//! and no node says what it is. Splitting and joining go up along a path that is found again for them: they are rare,
//! and an insertion that needs neither keeps no path.

use crate::key::Key;
use crate::leaf::Leaf;
use crate::level::Selection;
use crate::nodes::{Nodes, NodesOf};
use holm_search::{LaneKernels, Vectors, prefetch, with_vectors};

/// Levels of inner nodes that a tree can have. The root is split after at least twice as many insertions as the time
/// before, so there are fewer than that before a counter of 64 bits is full.
const MOST_LEVELS: usize = 64;

/// The leaves before and after a leaf, in the order of keys; [`NOWHERE`] at the ends.
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
    /// A node of level `height`: of level 0, the only leaf.
    root: u32,
    height: u32,
    pub(crate) len: usize,
    pub(crate) head: u32,
    pub(crate) tail: u32,
    pub(crate) vectors: Vectors,
}

/// The way down to a leaf: at each level the node, and which of its children comes next.
struct Path {
    steps: [(u32, u32); MOST_LEVELS + 1],
    leaf: u32,
}

/// The same expression for the nodes of whichever level: only where a change goes up, never on the way down.
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

    /// Whether there is not even a leaf: a new tree takes no memory.
    #[inline(always)]
    pub(crate) fn is_bare(&self) -> bool {
        self.head == NOWHERE
    }

    /// Makes the first leaf, and says which it is.
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

    /// Asks for what [`Tree::after`] and [`Tree::before`] of a leaf look at.
    #[inline(always)]
    pub(crate) fn ask_links(&self, leaf: u32) {
        prefetch(&self.links[leaf as usize]);
    }

    /// The leaf that holds `key` if any does; [`NOWHERE`], if there is none at all.
    #[inline(always)]
    pub(crate) fn seek<X: LaneKernels>(&self, x: X, key: K::Lane) -> u32 {
        if self.height == 2 { self.seek_below_two(x, key) } else { self.seek_at_any_height(x, key) }
    }

    /// The same where there are two levels above the leaves: from some thousand pairs to some ten million.
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

    /// The leaves of as many keys, level by level for all of them: while one waits for memory, the others ask.
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

    /// Where `key` is in its leaf, of which nothing has been looked at yet.
    #[inline(always)]
    pub(crate) fn find_in<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> Option<usize> {
        self.leaves.ask_early(leaf, key);
        self.leaves.find(x, leaf, key)
    }

    /// Puts a pair whose key is not there into `leaf`, which is where it belongs. Says where it went, and whether a
    /// leaf was split for it.
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

    /// Takes the pair in an occupied slot out. `key` is its key.
    #[inline(always)]
    pub(crate) fn remove_at(&mut self, leaf: u32, slot: usize, key: K::Lane) -> V {
        let value = self.leaves.remove(leaf, slot);
        self.len -= 1;
        let (left, sparse) = (self.leaves.len(leaf), S::Leaf::<K, V>::SPARSE);
        // A neighbour that had no room may have some later: asked at the bound and at half of it, not each time.
        if (left == 0 || left == sparse || left == sparse / 2) && self.height > 0 {
            self.join(key);
        }
        value
    }

    /// Where `key` is: the search for those who are not in a hurry, compiled once.
    #[inline(never)]
    pub(crate) fn locate(&self, key: K::Lane) -> Option<(u32, usize)> {
        with_vectors!(self.vectors, x => self.find(x, key))
    }

    /// The leaf where `key` belongs, [`NOWHERE`] if there is none yet, and its slot if it is there; likewise.
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

    /// The leaf where `key` belongs, or [`NOWHERE`], likewise.
    #[inline(never)]
    pub(crate) fn home(&self, key: K::Lane) -> u32 {
        with_vectors!(self.vectors, x => self.seek(x, key))
    }

    /// The keys and slots of a leaf in order, likewise.
    #[inline(never)]
    pub(crate) fn order(&self, leaf: u32, out: &mut Vec<(K::Lane, u32)>) {
        with_vectors!(self.vectors, x => self.leaves.sorted(x, leaf, out));
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

    /// Makes room for `key` in the full leaf where it belongs: a neighbour takes some of its pairs, or it is split.
    /// Says which of the two leaves the key belongs to now.
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
        // Keys that come in order fill their leaves: the last one stays as it is, and what follows begins another.
        let (separator, fresh) = match greatest.filter(|greatest| *greatest < key) {
            Some(greatest) => (greatest, self.leaves.fresh()),
            None => with_vectors!(self.vectors, x => self.leaves.split(x, leaf)),
        };
        self.link(leaf, fresh);
        self.climb(&path, separator, fresh, at_end);
        if key > separator { fresh } else { leaf }
    }

    /// Lets the emptier neighbour under the same parent take some of the full leaf's pairs, if one is empty enough;
    /// says which of the two `key` belongs to then. Leaves that are shared before they are split are fuller.
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

    /// Puts `fresh` behind `leaf` in the order of leaves.
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

    /// Takes `leaf`, which is empty, out of the order of leaves.
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

    /// Tells the parents, level by level, that the path's child has a new right neighbour behind `separator`.
    fn climb(&mut self, path: &Path, mut separator: K::Lane, mut right: u32, at_end: bool) {
        for level in 1..=self.height {
            let (node, entry) = (path.steps[level as usize].0, path.steps[level as usize].1 as usize);
            let split = at_level!(self, level, nodes => {
                if !nodes.is_full(node) {
                    return nodes.insert(node, entry, separator, right);
                }
                let (between, fresh) = nodes.split(node, at_end);
                let kept = nodes.children(node);
                // Each is at least one child, and the insertion goes beside the child that was split.
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

    /// The leaf where `key` belongs has become sparse, or empty: it goes, if it is empty or a neighbour takes it in.
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

    /// The leaf where `key` belongs was emptied: it goes, unless it is the only one.
    pub(crate) fn leave(&mut self, key: K::Lane) {
        if self.height > 0 {
            self.join(key);
        }
    }

    /// Child `entry` of the path's node on level 1 is gone: its node forgets it, and if that leaves the node empty or
    /// sparse, it goes or joins a neighbour, and so on upwards.
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

    /// Joins a sparse node with a neighbour under the same parent. Says which of the parent's children is gone.
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

    /// A root of one child gives way to it.
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
