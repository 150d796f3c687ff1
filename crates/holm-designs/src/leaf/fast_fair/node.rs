//! FAST and FAIR above the leaves: inner node and leaf share one layout and its operations, as in the paper.
//!
//! A slot is the least key of a child's range, and the child's number. The key is the mark, so the rules for words in
//! leaves hold here. Slot 0 replaces the paper's leftmost child. In the header's second word the level replaces the
//! leaf's bit. The first node of a level never moves, and **the root is the first node of the highest level**: a tree
//! grows by the word that makes a block such a node, so there is no root pointer to lose.

use super::form::{FRONT, starts_line};
use super::{FIRST, FastFair, LEAF, Volatile};
use crate::guide::Linear;
use crate::inner::durable::Node;
use holm_medium::{Medium, WriteHandle};
use holm_search::Search;
use holm_tree::inner::NodeHeader;
use holm_tree::keys::{Slot, Words};
use holm_tree::leaf::{Leaf, LeafRef, Linked, ReadContext, WriteContext};

/// Where the level lies in the word with the block's owner.
const LEVEL: u32 = 48;

/// How to read a node's slots.
fn reading<V>(volatile: &V) -> ReadContext<'_, V, Words> {
    ReadContext { volatile, keys: &Words, search: Search::portable(), image: None }
}

/// How to change them.
fn writing<'a, 'h, V, M: Medium>(
    volatile: &'a V,
    handle: &'a mut WriteHandle<'h, M>,
) -> WriteContext<'a, 'h, V, M, Words> {
    WriteContext { read: reading(volatile), handle }
}

impl<const SLOTS: usize> Node for FastFair<SLOTS, Linear> {
    const CHILDREN: usize = {
        assert!(Self::MOST >= 4, "where halves have but one child, a tree grows high and not wide");
        Self::MOST
    };
    type Volatile = Volatile<Linear>;

    #[inline]
    fn count(&self, volatile: &Self::Volatile) -> usize {
        Self::count(volatile)
    }

    #[inline]
    fn slot(&self, index: usize) -> Slot {
        self.pairs[index].slot()
    }

    fn begin<M: Medium>(
        &self,
        volatile: &Self::Volatile,
        handle: &mut WriteHandle<'_, M>,
        node_header: NodeHeader,
        children: &[Slot],
    ) {
        assert!((1..=2).contains(&children.len()) && !starts_line(2), "all of it in the header's line");
        handle.write(&self.link, 0);
        let slots = children.iter().copied().chain([Slot::default(); 2]);
        self.pairs[..3].iter().zip(slots).for_each(|(pair, slot)| pair.write(handle, slot));
        // The commit word, last in its line: a search that finds the node finds its children.
        handle
            .write(&self.home, u64::from(node_header.keyspace) | u64::from(node_header.level) << LEVEL | FIRST | FRONT);
        // Before the operation returns: otherwise a crash leaves a tree without a root, and recovery must make one.
        handle.persist(&self.home);
        volatile.count.store(children.len() as u32, super::Relaxed);
    }

    fn insert<M: Medium>(&self, volatile: &Self::Volatile, handle: &mut WriteHandle<'_, M>, child: Slot) {
        Leaf::insert(self, &mut writing(volatile, handle), child.head, child.payload)
            .expect("what was full has been split");
    }

    fn remove<M: Medium>(&self, volatile: &Self::Volatile, handle: &mut WriteHandle<'_, M>, index: usize) {
        Leaf::remove(self, &mut writing(volatile, handle), self.pairs[index].head.read());
    }

    fn point<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize, child: u32) {
        // The commit word.
        handle.write(&self.pairs[index].payload, child.into());
        // Before the replaced child is reused: otherwise a crash leaves the old pointer to a block that another leaf
        // uses.
        handle.persist(&self.pairs[index]);
    }

    fn split<M: Medium>(
        &self,
        volatile: &Self::Volatile,
        handle: &mut WriteHandle<'_, M>,
        (number, leaf, theirs): (u32, &Self, &Self::Volatile),
    ) {
        self.halve(&mut writing(volatile, handle), LeafRef { number, leaf, volatile: theirs });
    }

    fn header(&self) -> Option<NodeHeader> {
        let home = self.home.read();
        let level = (home >> LEVEL) as u32;
        let known = u64::from(u32::MAX) | FIRST | FRONT | u64::from(u16::MAX) << LEVEL;
        let sound = level > 0 && home & LEAF == 0 && home & !known == 0;
        sound.then_some(NodeHeader { keyspace: home as u32, level, first: home & FIRST != 0 })
    }

    fn next(&self) -> u32 {
        Linked::next(self)
    }

    fn repair_link<M: Medium>(&self, volatile: &Self::Volatile, handle: &mut WriteHandle<'_, M>, right: Option<&Self>) {
        Linked::repair_link(self, &mut writing(volatile, handle), right);
        self.rebuild_volatile(reading(volatile));
    }

    fn end<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        self.release(handle);
    }
}
