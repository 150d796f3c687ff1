//! wB+-Tree above the leaves: inner node and leaf share one layout, as in the paper. A slot is the least key of a
//! child's range and the child's number, and a descent halves in the slot array.
//!
//! A child is inserted as a pair is. A split needs no log: link, bitmap and the array's count change in one line, and
//! any of the three may be lost. If the link is kept, the lower end of the right half's range says which children the
//! left one gave up, and recovery takes away what bitmap and array have beyond it. If it is lost, the right half is no
//! node, and recovery gives its children a place.

use super::{Array, WbTree, bitmap, slots};
use crate::inner::durable::Node;
use holm_medium::{Medium, WriteHandle};
use holm_search::Search;
use holm_tree::inner::NodeHeader;
use holm_tree::keys::{Slot, Words};
use holm_tree::leaf::{Leaf, ReadContext, WriteContext};

/// How to change a node's slots.
fn writing<'a, 'h, M: Medium>(handle: &'a mut WriteHandle<'h, M>) -> WriteContext<'a, 'h, (), M, Words> {
    let read = ReadContext { volatile: &(), keys: &Words, search: Search::portable(), image: None };
    WriteContext { read, handle }
}

impl<const SLOTS: usize, const HEADER: usize> WbTree<SLOTS, HEADER> {
    /// The slots of the children that a crash left, by the array or by the bitmap, in order.
    fn children(&self) -> Vec<usize> {
        if self.array_counts() {
            return self.array().slots().collect();
        }
        let mut order: Vec<_> = slots(self.bits()).collect();
        order.sort_by_key(|at| self.pairs[*at].head.read());
        order
    }
}

impl<const SLOTS: usize, const HEADER: usize> Node for WbTree<SLOTS, HEADER> {
    const CHILDREN: usize = {
        assert!(SLOTS >= 4, "where halves have but one child, a tree grows high and not wide");
        SLOTS
    };
    type Volatile = ();

    #[inline]
    fn count(&self, _: &()) -> usize {
        self.len()
    }

    #[inline]
    fn slot(&self, index: usize) -> Slot {
        self.ranked(index).slot()
    }

    /// The paper's binary search, in the slot array.
    #[inline]
    fn rank(&self, len: usize, head: u64) -> usize {
        let (mut low, mut high) = (0, len);
        while low < high {
            let middle = low.midpoint(high);
            if self.ranked(1 + middle).head.read() <= head { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn begin<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, node_header: NodeHeader, children: &[Slot]) {
        assert!((1..=2).contains(&children.len()), "all of them in one line");
        self.pairs.iter().zip(children).for_each(|(pair, child)| pair.write(handle, *child));
        handle.flush(&self.pairs[0]);
        let bits = bitmap(0..children.len());
        self.set_array(handle, Array::new(0..children.len()));
        self.set_bitmap(handle, bits);
        self.roster.link(handle, 0);
        self.flush_header(handle, children.len());
        // Before the block is a node: otherwise a crash leaves a node with the children and the link of the block's
        // last use.
        handle.fence();
        self.roster.begin_node(handle, node_header, Self::roster_bits(bits));
    }

    fn insert<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, child: Slot) {
        Leaf::insert(self, &mut writing(handle), child.head, child.payload).expect("what was full has been split");
    }

    fn remove<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, index: usize) {
        Leaf::remove(self, &mut writing(handle), self.slot(index).head);
    }

    fn point<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize, child: u32) {
        let word = &self.ranked(index).payload;
        // The commit word.
        handle.write(word, child.into());
        // Before the replaced child is reused: otherwise a crash leaves the old pointer to a block that another leaf
        // uses.
        handle.persist(word);
    }

    fn split<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, (number, right, ()): (u32, &Self, &())) {
        let order: Vec<_> = self.array().slots().collect();
        let (lower, upper) = order.split_at(order.len() / 2);
        self.copy_to(handle, right, upper);
        // Before the link: otherwise a crash keeps the link and loses the children to which it leads.
        handle.fence();
        // The commit word: the upper half belongs to the right node. A crash that keeps the truncation and loses the
        // link leaves children without a place, which recovery gives them.
        self.roster.link(handle, number);
        self.truncate(handle, lower);
    }

    fn header(&self) -> Option<NodeHeader> {
        self.roster.node_header()
    }

    fn next(&self) -> u32 {
        self.roster.next()
    }

    fn repair_link<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, right: Option<&Self>) {
        // The right node is not repaired yet.
        let low = |node: &Self| node.children().first().map(|at| node.pairs[*at].head.read());
        let bound = right.and_then(low);
        let mut order = self.children();
        order.retain(|at| bound.is_none_or(|bound| self.pairs[*at].head.read() < bound));
        if !self.array_counts() {
            self.set_array(handle, Array::new(order.iter().copied()));
            self.flush_array(handle, order.len());
            // Before the array counts, as in an insert.
            handle.fence();
            self.admit(handle, bitmap(order));
        } else if order.len() != self.len() || bitmap(order.iter().copied()) != self.bits() {
            self.truncate(handle, &order);
        }
    }

    #[track_caller]
    fn end<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        self.roster.end(handle);
    }
}

impl<const SLOTS: usize, const HEADER: usize> WbTree<SLOTS, HEADER> {
    /// Keeps the first children of the array, which are these slots: a shorter array is another count.
    fn truncate<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, lower: &[usize]) {
        handle.write(&self.array_words()[0], self.array_words()[0].read() & !0xff | lower.len() as u64);
        if Self::ARRAY > 0 {
            self.flush_array(handle, 1);
        }
        // Either of the two words may be lost: the array counts, and its children beyond the node's range are gone.
        self.admit(handle, bitmap(lower.iter().copied()));
    }
}
