//! Durable inner nodes after a crash: recovery finds and repairs them, and makes each level agree with the level below
//! it, from the leaves up.
//!
//! A crash may have left any of these:
//!
//! - a node in the middle of a change, which repairs itself;
//! - a split whose parent lacks the new half;
//! - a child that names a replaced or released leaf;
//! - a level without the one above it;
//! - nodes of a tree whose leaves are gone.
//!
//! Recovery finishes each of these with the steps of the operation itself, in the same order. So a crash during
//! recovery leaves nothing else. Any other disagreement is damage.

use crate::design::Design;
use crate::index::TreeRoot;
use crate::inner::{
    DurableNode, FreshNode, InBlocks, NewChild, NodeBlocks, NodeContents, NodeHeader, NodePrefix, Placement as _,
    Range, Route as _,
};
use crate::inner_levels::MOST_LEVELS;
use crate::keys::Keys;
use crate::leaf::{BlockByte, Home, KeyRange, damaged};
use crate::levels::Opening;
use crate::slab::Slab;
use crate::tree_set::TreeSet;
use holm_medium::{Medium, MediumError, Result, WriteHandle};
use std::collections::{BTreeMap, BTreeSet};

/// The nodes of a level, in order: the lower end of each one's range, and its number.
type Level = Vec<(u64, u32)>;

/// A leaf or node below a level, and its least and greatest key; an empty leaf has none.
pub(crate) struct Below {
    pub(crate) number: u32,
    pub(crate) ends: Option<(u64, u64)>,
}

/// The durable nodes of all trees; empty if nodes are volatile.
#[derive(Default)]
pub(crate) struct DurableLevels {
    /// By keyspace, from level 1 up.
    pub(crate) trees: BTreeMap<u32, Vec<Level>>,
    /// The leaves that nodes of level 1 lead to.
    pub(crate) placed: BTreeSet<u32>,
}

fn wrong<D: Design>(number: u32, what: &'static str, found: impl Into<String>, expected: &'static str) -> MediumError {
    damaged::<D::Leaf>(BlockByte::first_of(number), what, found, expected)
}

/// The restoring tree set, and what it must know of the opening.
pub(crate) struct Restorer<'a, M: Medium, D: Design, K: Keys> {
    pub(crate) tree_set: &'a TreeSet<M, D, K>,
    pub(crate) opening: Opening,
}

impl<'a, M: Medium, D: Design<Upper: DurableNode, LeafParent: DurableNode>, K: Keys> Restorer<'a, M, D, K> {
    /// Returns what a block says of itself, if it is a node.
    pub(crate) fn node_header(&self, number: u32) -> Option<NodeHeader> {
        let image = self.tree_set.writer.storage().medium.image();
        let offset = u64::from(number) * size_of::<D::Leaf>() as u64;
        if number < self.opening.blocks { D::LeafParent::header(image, offset) } else { None }
    }

    fn handle(&self) -> WriteHandle<'a, M> {
        self.tree_set.writer.begin_write_at(self.opening.epoch)
    }

    fn blocks(&self) -> NodeBlocks<'a, M> {
        NodeBlocks { storage: self.tree_set.writer.storage(), bytes: size_of::<D::Leaf>() }
    }

    fn node<I: DurableNode>(&self, slab: &'a Slab<I>, number: u32) -> Result<&'a I> {
        let node = self.blocks().node(slab, number);
        node.ok_or_else(|| wrong::<D>(number, "a node's number", "no block of the image", "one of it"))
    }

    fn separator_of(word: u64) -> K::Separator {
        K::from_head(K::search_key(&K::Separator::default()), &NodePrefix::default(), word)
    }

    /// Finds and repairs the nodes of every tree that has leaves. Ends the nodes of other trees, and nodes that no
    /// level leads to, which belong to uncommitted splits.
    pub(crate) fn find(&self, has_leaves: &dyn Fn(u32) -> bool) -> Result<DurableLevels> {
        let mut levels = DurableLevels::default();
        let (mut firsts, mut found) = (BTreeMap::new(), BTreeSet::new());
        let mut handle = self.handle();
        for number in 1..self.opening.blocks {
            match self.node_header(number) {
                Some(node_header) if !has_leaves(node_header.keyspace) => self.end(number, &mut handle)?,
                Some(node_header) if node_header.first => {
                    found.insert(number);
                    if firsts.insert((node_header.keyspace, node_header.level), number).is_some() {
                        return Err(wrong::<D>(number, "the first node of a level", "another one", "one alone"));
                    }
                }
                Some(_) => _ = found.insert(number),
                None => {}
            }
        }
        for ((keyspace, level), first) in firsts {
            let tree = levels.trees.entry(keyspace).or_default();
            if level as usize != tree.len() + 1 || tree.len() > MOST_LEVELS {
                let found = format!("{level} after {}", tree.len());
                return Err(wrong::<D>(first, "a node's level", found, "the one above the last"));
            }
            let inner = &self.tree_set.inner;
            let node_header = NodeHeader { keyspace, level, first: true };
            if level == 1 {
                tree.push(self.chain(&inner.leaf_parents, node_header, first, &mut handle, &mut |leaf| {
                    levels.placed.insert(leaf)
                })?);
            } else {
                tree.push(self.chain(&inner.uppers, node_header, first, &mut handle, &mut |_| true)?);
            }
        }
        levels.trees.values().flatten().flatten().for_each(|node| _ = found.remove(&node.1));
        for number in found {
            self.end(number, &mut handle)?;
        }
        // No fence is needed here. No parent names the right neighbour of a node that was just truncated, and the code
        // that adds it to a parent fences first.
        Ok(levels)
    }

    /// Repairs one level from its first node on. `child` gets each child, and returns whether it is new.
    fn chain<I: DurableNode>(
        &self,
        slab: &'a Slab<I>,
        node_header: NodeHeader,
        first: u32,
        handle: &mut WriteHandle<'_, M>,
        child: &mut dyn FnMut(u32) -> bool,
    ) -> Result<Level> {
        let beside = Some(NodeHeader { first: false, ..node_header });
        let mut level = Level::new();
        let (mut at, mut least) = (first, Some(0));
        while at != 0 {
            let node = self.node(slab, at)?;
            let next = node.next();
            if next != 0 && self.node_header(next) != beside || level.len() > self.opening.blocks as usize {
                return Err(wrong::<D>(at, "a node's neighbour", format!("block {next}"), "a node of its level"));
            }
            node.repair_link(handle, if next != 0 { Some(self.node(slab, next)?) } else { None });
            let low = node.low();
            let heads = (0..node.len()).map(|index| node.entry(index).head);
            for head in [low].into_iter().chain(heads) {
                if least.is_none_or(|least| head < least) || level.is_empty() && low != 0 {
                    return Err(wrong::<D>(
                        at,
                        "where a child's range starts",
                        format!("{head:#x}"),
                        "more than before",
                    ));
                }
                least = head.checked_add(1);
            }
            if (0..=node.len()).any(|index| node.child(index) == 0 || !child(node.child(index))) {
                return Err(wrong::<D>(at, "a node's child", "none, or one that has a place", "one of its own"));
            }
            level.push((low, at));
            at = next;
        }
        Ok(level)
    }

    #[track_caller]
    fn end(&self, number: u32, handle: &mut WriteHandle<'_, M>) -> Result<()> {
        // Otherwise a later recovery would find it again, beside the nodes of a tree created in the same keyspace, or
        // in place of a leaf.
        self.node(&self.tree_set.inner.leaf_parents, number)?.end(handle);
        Ok(())
    }

    /// Ends the remaining nodes, those of trees without a leaf.
    pub(crate) fn end_all(&self, levels: DurableLevels) -> Result<()> {
        let mut handle = self.handle();
        for number in levels.trees.into_values().flatten().flatten().map(|node| node.1) {
            self.end(number, &mut handle)?;
            self.tree_set.writer.storage().space.return_block(number);
        }
        Ok(())
    }

    /// Makes the nodes of one tree agree with its leaves, which are in key order, and returns the root.
    pub(crate) fn build(
        &self,
        levels: &mut DurableLevels,
        keyspace: u32,
        leaves: Vec<Below>,
        pairs: u64,
    ) -> Result<TreeRoot> {
        let tree = levels.trees.remove(&keyspace).unwrap_or_default();
        let height = tree.len();
        let (mut level, mut below) = (0, leaves);
        let mut tree = tree.into_iter();
        while level == 0 || level < height || below.len() > 1 {
            level += 1;
            let node_header = NodeHeader { keyspace, level: level as u32, first: true };
            let nodes = tree.next().unwrap_or_default();
            let inner = &self.tree_set.inner;
            let nodes = match level {
                1 => self.agree(&inner.leaf_parents, node_header, nodes, &below)?,
                _ => self.agree(&inner.uppers, node_header, nodes, &below)?,
            };
            below = nodes.into_iter().map(|(low, number)| Below { number, ends: Some((low, low)) }).collect();
        }
        Ok(TreeRoot::new(keyspace, level as u32, below[0].number, pairs))
    }

    /// Makes one level agree with the level below it: gives a place to what has none, and removes what is gone.
    fn agree<I: DurableNode>(
        &self,
        slab: &'a Slab<I>,
        node_header: NodeHeader,
        mut nodes: Level,
        below: &[Below],
    ) -> Result<Level> {
        let there: BTreeMap<u32, &Below> = below.iter().map(|it| (it.number, it)).collect();
        let mut handle = self.handle();
        if nodes.is_empty() {
            // The crash interrupted the creation of the tree, or the growth after a split of the top.
            let FreshNode { number, node } = self.fresh(slab)?;
            let contents = NodeContents {
                header: node_header,
                range: KeyRange { low: &K::Separator::default(), high: None },
                separators: &[],
                children: &[below[0].number],
            };
            node.fill::<M, K>(&mut self.tree_set.inner.writing(&mut handle), contents);
            nodes.push((0, number));
        }
        let mut placed = BTreeSet::new();
        for (_, number) in &nodes {
            let node = self.node(slab, *number)?;
            placed.extend((0..=node.len()).map(|index| node.child(index)));
        }
        // In order: of two halves that replaced a leaf, the lower one takes its place, and the other goes beside it.
        for it in below.iter().filter(|it| !placed.contains(&it.number)) {
            self.put(slab, &mut nodes, it, &there, &mut handle)?;
        }
        // A leaf of a chain is never gone while the chain exists, nor is a node.
        let goes = node_header.level == 1 && !self.opening.leaves_stay;
        if goes && placed.iter().any(|number| !there.contains_key(number)) {
            self.take_away(slab, node_header.keyspace, &nodes, &there, &mut handle)?;
        }
        self.check(slab, node_header, &nodes, &there, goes)?;
        Ok(nodes)
    }

    fn fresh<I: DurableNode>(&self, slab: &'a Slab<I>) -> Result<FreshNode<'a, I>> {
        let storage = self.tree_set.writer.storage();
        let mut take = || storage.space.take_block_at(&storage.medium, self.opening.epoch);
        InBlocks::fresh(slab, &self.blocks(), &mut take)
    }

    /// Gives a place to a leaf or node without one: the place of one that is gone, or a new one beside its left
    /// neighbour.
    fn put<I: DurableNode>(
        &self,
        slab: &'a Slab<I>,
        nodes: &mut Level,
        it: &Below,
        there: &BTreeMap<u32, &Below>,
        handle: &mut WriteHandle<'_, M>,
    ) -> Result<()> {
        let Some((low, _)) = it.ends else {
            return Err(wrong::<D>(it.number, "a leaf", "nothing in it and no way to it", "a way to it"));
        };
        let search = self.tree_set.inner.search;
        let separator = Self::separator_of(low);
        let search_key = K::search_key(&separator);
        let index = nodes.partition_point(|node| node.0 <= low) - 1;
        let mut node = self.node(slab, nodes[index].1)?;
        let position = node.rank(search, node.len(), low);
        if !there.contains_key(&node.child(position)) {
            node.set_child(handle, position, it.number);
            return Ok(());
        }
        if node.len() + 1 == I::CHILDREN {
            let right = self.fresh(slab)?;
            node.split::<M, K>(&mut self.tree_set.inner.writing(handle), &Range::default(), right, search_key);
            nodes.insert(index + 1, (right.node.low(), right.number));
            node = if right.node.low() <= low { right.node } else { node };
        }
        let position = node.rank(search, node.len(), low);
        let start = position.checked_sub(1).map_or(node.low(), |before| node.entry(before).head);
        if start == low {
            return Err(wrong::<D>(it.number, "where a range starts", format!("{low:#x}"), "a place of its own"));
        }
        let new_child = NewChild { position, separator: &separator, child: it.number };
        node.insert_child::<M, K>(&mut self.tree_set.inner.writing(handle), &Range::default(), new_child, search_key);
        Ok(())
    }

    /// Removes what leads to leaves that are gone; a node left with nothing else gets an empty leaf.
    fn take_away<I: DurableNode>(
        &self,
        slab: &'a Slab<I>,
        keyspace: u32,
        nodes: &Level,
        there: &BTreeMap<u32, &Below>,
        handle: &mut WriteHandle<'_, M>,
    ) -> Result<()> {
        let mut gone = BTreeSet::new();
        for (_, number) in nodes {
            let node = self.node(slab, *number)?;
            let is_gone = |index: usize| !there.contains_key(&node.child(index));
            for index in (1..=node.len()).rev().filter(|index| is_gone(*index)) {
                gone.insert(node.child(index));
                node.remove_child(handle, index - 1);
            }
            if is_gone(0) {
                gone.insert(node.child(0));
                if node.is_empty() {
                    let home = Home { keyspace, skip: 0, first: false };
                    node.set_child(handle, 0, self.tree_set.fresh_leaf(self.opening.epoch, home)?);
                } else {
                    node.set_child(handle, 0, node.child(1));
                    node.remove_child(handle, 0);
                }
            }
        }
        let space = &self.tree_set.writer.storage().space;
        let is_block = |number: &u32| *number < self.opening.blocks && self.node_header(*number).is_none();
        gone.into_iter().filter(is_block).for_each(|number| space.return_block(number));
        Ok(())
    }

    /// Checks that everything below has exactly one place, and lies in its range.
    fn check<I: DurableNode>(
        &self,
        slab: &'a Slab<I>,
        node_header: NodeHeader,
        nodes: &Level,
        there: &BTreeMap<u32, &Below>,
        goes: bool,
    ) -> Result<()> {
        let mut placed = 0;
        for (index, (low, number)) in nodes.iter().enumerate() {
            let node = self.node(slab, *number)?;
            let end = nodes.get(index + 1).map(|next| next.0);
            for at in 0..=node.len() {
                let start = at.checked_sub(1).map_or(*low, |before| node.entry(before).head);
                let end = if at < node.len() { Some(node.entry(at).head) } else { end };
                let fits = |it: &Below| match it.ends {
                    Some((low, _)) if node_header.level > 1 => low == start,
                    Some((low, high)) => low >= start && end.is_none_or(|end| high < end),
                    None => true,
                };
                match there.get(&node.child(at)) {
                    Some(it) if fits(it) => placed += 1,
                    None if goes => {}
                    _ => {
                        let found = format!("block {} from {start:#x} on", node.child(at));
                        return Err(wrong::<D>(*number, "a node's child", found, "what lies in its range"));
                    }
                }
            }
        }
        if placed != there.len() {
            let found = format!("{placed} of {}", there.len());
            return Err(wrong::<D>(nodes[0].1, "what a level leads to", found, "all of the one below"));
        }
        Ok(())
    }
}
