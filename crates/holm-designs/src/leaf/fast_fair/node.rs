//! FAST and FAIR above the leaves: inner node and leaf share one layout and its operations, as in the paper.
//!
//! A slot is the least key of a child's range, and the child's number. The key is the mark, so the rules for words in
//! leaves hold here. Slot 0 replaces the paper's leftmost child. In the header's second word the level replaces the
//! leaf's bit. The first node of a level never moves, and **the root is the first node of the highest level**: a tree
//! grows by the word that makes a block such a node, so there is no root pointer to lose.

use super::{Beside, FIRST, FRONT, FastFair, LEAF, starts_line};
use crate::guide::Linear;
use crate::inner::durable::Node;
use holm_medium::{Medium, Pen};
use holm_search::Search;
use holm_tree::inner::Station;
use holm_tree::keys::{Slot, Words};
use holm_tree::leaf::{Fresh, Leaf, Lens};

/// Where the level lies in the word with the block's owner.
const LEVEL: u32 = 48;

/// How to read a node's slots.
const LENS: Lens<'static, Words> = Lens { keys: &Words, search: Search::portable(), image: None };

impl<const SLOTS: usize> Node for FastFair<SLOTS, Linear> {
    const CHILDREN: usize = {
        assert!(Self::MOST >= 4, "where halves have but one child, a tree grows high and not wide");
        Self::MOST
    };
    type Beside = Beside<Linear>;

    #[inline]
    fn count(&self, beside: &Self::Beside) -> usize {
        Self::count(beside)
    }

    #[inline]
    fn slot(&self, index: usize) -> Slot {
        self.pairs[index].slot()
    }

    fn begin<M: Medium>(&self, beside: &Self::Beside, pen: &mut Pen<'_, M>, station: Station, children: &[Slot]) {
        assert!((1..=2).contains(&children.len()) && !starts_line(2), "all of it in the header's line");
        pen.write(&self.link, 0);
        let slots = children.iter().copied().chain([Slot::default(); 2]);
        self.pairs[..3].iter().zip(slots).for_each(|(pair, slot)| pair.write(pen, slot));
        // The commit word, last in its line: a search that finds the node finds its children.
        pen.write(&self.home, u64::from(station.keyspace) | u64::from(station.level) << LEVEL | FIRST | FRONT);
        // Before the operation returns: otherwise a crash leaves a tree without a root, and recovery must make one.
        pen.persist(&self.home);
        beside.count.store(children.len() as u32, super::Relaxed);
    }

    fn insert<M: Medium>(&self, beside: &Self::Beside, pen: &mut Pen<'_, M>, child: Slot) {
        Leaf::insert(self, beside, LENS, pen, child.head, child.payload).expect("what was full has been split");
    }

    fn remove<M: Medium>(&self, beside: &Self::Beside, pen: &mut Pen<'_, M>, index: usize) {
        Leaf::remove(self, beside, LENS, pen, self.pairs[index].head.read());
    }

    fn point<M: Medium>(&self, pen: &mut Pen<'_, M>, index: usize, child: u32) {
        // The commit word.
        pen.write(&self.pairs[index].payload, child.into());
        // Before the replaced child is reused: otherwise a crash leaves the old pointer to a block that another leaf
        // uses.
        pen.persist(&self.pairs[index]);
    }

    fn split<M: Medium>(
        &self,
        beside: &Self::Beside,
        pen: &mut Pen<'_, M>,
        (number, leaf, theirs): (u32, &Self, &Self::Beside),
    ) {
        self.halve::<M, Words>(beside, pen, Fresh { number, leaf, beside: theirs });
    }

    fn station(&self) -> Option<Station> {
        let home = self.home.read();
        let level = (home >> LEVEL) as u32;
        let known = u64::from(u32::MAX) | FIRST | FRONT | u64::from(u16::MAX) << LEVEL;
        let sound = level > 0 && home & LEAF == 0 && home & !known == 0;
        sound.then_some(Station { keyspace: home as u32, level, first: home & FIRST != 0 })
    }

    fn next(&self) -> u32 {
        Leaf::next(self)
    }

    fn mend<M: Medium>(&self, beside: &Self::Beside, pen: &mut Pen<'_, M>, right: Option<&Self>) {
        Leaf::mend(self, beside, LENS, pen, right);
        self.rederive(beside, LENS);
    }

    fn end<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        self.abandon(pen);
    }
}
