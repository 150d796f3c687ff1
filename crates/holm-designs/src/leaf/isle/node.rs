//! Isle-Tree above the leaves (section IV-A): a sorted row of children, shifted across lines, and a count that is the
//! last word of every change.
//!
//! ```text
//! bytes 0-31    of the block's lives as a leaf, untouched
//!       32-39   home: keyspace 32 | FIRST 1 | level 16 at bit 48     zero: no node
//!       40-47   tally: next node 32 | pairs in use 32
//!       48-63   the first child: least key of the node's range, number
//!       64-     lines of 4 pairs {least key of the child's range, its number}, ascending
//! ```
//!
//! Next node and count share a word, so a split commits in one store: the link comes with the truncation. What it cut
//! off stays where it is, and is told from what a shift has moved there by its key, which lies beyond the range. The
//! key is the mark, as in the leaf: of two equal ones side by side the right one counts; the key of a vacant slot is
//! zero, which no child but the first may have.

use crate::inner::durable::Node;
use crate::lineage::Lineage;
use holm_medium::{Medium, Pen, Word, persistent};
use holm_tree::inner::Station;
use holm_tree::keys::Slot;
use holm_tree::pair::Pair;

/// Pairs of a line.
const WIDTH: usize = 4;
const FIRST: u64 = 1 << 32;
/// Where the level lies in the word that says whose the node is.
const LEVEL: u32 = 48;

persistent! {
    /// A line of header and lines of pairs: seven make 512 bytes and 29 children.
    #[repr(align(64))]
    pub struct IsleNode<const LINES: usize> {
        lineage: Lineage,
        counters: Word,
        home: Word,
        tally: Word,
        first: Pair,
        lines: [[Pair; 4]; LINES],
    }
}

/// What a crash left of the row: pairs, and of two equal keys side by side, the left one.
struct Found {
    filled: usize,
    stale: Option<usize>,
}

impl<const LINES: usize> IsleNode<LINES> {
    fn pairs(&self) -> &[Pair] {
        self.lines.as_flattened()
    }

    /// Pairs behind the first child.
    fn used(&self) -> usize {
        (self.tally.read() >> 32).min((LINES * WIDTH) as u64) as usize
    }

    fn line<M: Medium>(&self, pen: &mut Pen<'_, M>, at: usize) {
        pen.persist(&self.lines[at / WIDTH]);
    }

    /// Next node and count, durably.
    fn set_tally<M: Medium>(&self, pen: &mut Pen<'_, M>, next: u32, used: usize) {
        pen.write(&self.tally, u64::from(next) | (used as u64) << 32);
        // Before the change is acknowledged, or the next one begins: else a crash finds a row two pairs away from it.
        pen.persist(&self.tally);
    }

    /// Shifts what lies behind a stale key over it, and makes the last slot vacant.
    fn close<M: Medium>(&self, pen: &mut Pen<'_, M>, stale: usize, filled: usize) {
        let pairs = self.pairs();
        for at in stale..filled - 1 {
            pen.write(&pairs[at].payload, pairs[at + 1].payload.read());
            if (at + 1).is_multiple_of(WIDTH) {
                // Before the next line gives the child up: else a crash keeps that line, loses this one, and the child.
                self.line(pen, at);
            }
            // From here on the next one is the stale one.
            pen.write(&pairs[at + 1].head, if at + 2 < filled { pairs[at + 2].head.read() } else { 0 });
        }
        // Before the count: else a crash finds a child that has been let go, and counts it.
        self.line(pen, filled - 1);
    }

    /// The row as it is: up to the first slot that is vacant, or whose key does not lie in order and in the range.
    fn survey(&self, right: Option<&Self>) -> Found {
        let bound = right.map(|right| right.first.head.read());
        let (mut found, mut last) = (Found { filled: 0, stale: None }, 0);
        for pair in self.pairs() {
            let head = pair.head.read();
            if head == 0 || head < last || bound.is_some_and(|bound| head >= bound) {
                break;
            }
            if head == last {
                found.stale = found.stale.or(found.filled.checked_sub(1));
            }
            last = head;
            found.filled += 1;
        }
        found
    }
}

impl<const LINES: usize> Node for IsleNode<LINES> {
    const CHILDREN: usize = 1 + LINES * WIDTH;
    type Beside = ();

    #[inline]
    fn count(&self, _: &()) -> usize {
        1 + self.used()
    }

    #[inline]
    fn slot(&self, index: usize) -> Slot {
        index.checked_sub(1).map_or(&self.first, |at| &self.pairs()[at]).slot()
    }

    fn begin<M: Medium>(&self, _: &(), pen: &mut Pen<'_, M>, station: Station, children: &[Slot]) {
        let rest = children[1..].iter().copied().chain(std::iter::repeat(Slot::default()));
        self.pairs().iter().zip(rest).for_each(|(pair, slot)| pair.write(pen, slot));
        pen.flush(&self.lines);
        // Before the header: else a crash finds a node, and what lay here as its children.
        pen.fence();
        self.first.write(pen, children[0]);
        pen.write(&self.tally, (children.len() as u64 - 1) << 32);
        // The commit word, last in its line.
        pen.write(&self.home, u64::from(station.keyspace) | FIRST | u64::from(station.level) << LEVEL);
        // Before the operation returns: else a crash finds a tree without a top, and recovery has to make one.
        pen.persist(&self.home);
    }

    fn insert<M: Medium>(&self, _: &(), pen: &mut Pen<'_, M>, child: Slot) {
        let (pairs, used) = (self.pairs(), self.used());
        let at = pairs[..used].iter().take_while(|pair| pair.head.read() < child.head).count();
        for from in (at..used).rev() {
            // The key last: until then the slot is vacant, or still what it was.
            pen.write(&pairs[from + 1].payload, pairs[from].payload.read());
            pen.write(&pairs[from + 1].head, pairs[from].head.read());
            if (from + 1).is_multiple_of(WIDTH) {
                // Before the line below gives the child up: else a crash keeps that one, loses this, and the child.
                self.line(pen, from + 1);
            }
        }
        pen.write(&pairs[at].payload, child.payload);
        // The commit word: no key stands here twice any more.
        pen.write(&pairs[at].head, child.head);
        // Before the count: else a crash finds one counted that is not there.
        self.line(pen, at);
        self.set_tally(pen, Node::next(self), used + 1);
    }

    fn remove<M: Medium>(&self, _: &(), pen: &mut Pen<'_, M>, index: usize) {
        let (pairs, used, at) = (self.pairs(), self.used(), index - 1);
        let next = if at + 1 < used { pairs[at + 1].head.read() } else { 0 };
        // The commit word: the slot is stale, or vacant.
        pen.write(&pairs[at].head, next);
        if at + 1 < used {
            self.close(pen, at, used);
        } else {
            self.line(pen, at);
        }
        self.set_tally(pen, Node::next(self), used - 1);
    }

    fn point<M: Medium>(&self, pen: &mut Pen<'_, M>, index: usize, child: u32) {
        let pair = index.checked_sub(1).map_or(&self.first, |at| &self.pairs()[at]);
        // The commit word.
        pen.write(&pair.payload, child.into());
        // Before the child that gives way is used again: else a crash finds the old way into somebody's block.
        pen.persist(pair);
    }

    fn split<M: Medium>(&self, _: &(), pen: &mut Pen<'_, M>, (number, right, ()): (u32, &Self, &())) {
        let middle = Self::CHILDREN / 2;
        let moved = self.pairs()[middle..].iter().map(Pair::slot).chain(std::iter::repeat(Slot::default()));
        right.pairs().iter().zip(moved).for_each(|(pair, slot)| pair.write(pen, slot));
        right.first.write(pen, self.slot(middle));
        pen.write(&right.tally, u64::from(Node::next(self)) | ((Self::CHILDREN - 1 - middle) as u64) << 32);
        pen.write(&right.home, self.home.read() & !FIRST);
        pen.flush(right);
        // Before the link: else a crash keeps the link and finds noise behind it.
        pen.fence();
        // The commit word: the upper half is the right node's.
        self.set_tally(pen, number, middle - 1);
    }

    fn station(&self) -> Option<Station> {
        let home = self.home.read();
        let level = (home >> LEVEL) as u32;
        let known = u64::from(u32::MAX) | FIRST | u64::from(u16::MAX) << LEVEL;
        let sound = level > 0 && home & !known == 0;
        sound.then_some(Station { keyspace: home as u32, level, first: home & FIRST != 0 })
    }

    fn next(&self) -> u32 {
        self.tally.read() as u32
    }

    fn mend<M: Medium>(&self, _: &(), pen: &mut Pen<'_, M>, right: Option<&Self>) {
        let (Found { filled, stale }, used) = (self.survey(right), self.used());
        let sound = filled - usize::from(stale.is_some());
        if sound.abs_diff(used) > 1 {
            // No crash leaves that; whoever reads the children will say what is wrong.
            return;
        }
        if let Some(stale) = stale {
            // An insert is undone, a removal completed: either way one less than there are slots filled.
            self.close(pen, stale, filled);
        }
        if sound != used {
            self.set_tally(pen, Node::next(self), sound);
        }
    }

    #[track_caller]
    fn end<M: Medium>(&self, pen: &mut Pen<'_, M>) {
        pen.write(&self.home, 0);
        // Before the block is used again: else a crash finds a node where a leaf is.
        pen.persist(&self.home);
    }
}
