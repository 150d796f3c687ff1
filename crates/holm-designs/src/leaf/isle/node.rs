//! Isle-Tree above the leaves (section IV-A): a sorted row of children, shifted across lines, and a count that is the
//! last word of every change.
//!
//! ```text
//! bytes 0-23    of the block's lives as a leaf, untouched
//!       24-31   tally: next node 32 | pairs in use 32
//!       32-47   the first child: least key of the node's range, number
//!       48-55   spare: a leaf of up to 32 lines counts in bytes 24-55
//!       56-63   home: keyspace 32 | FIRST 1 | level 16 at bit 48     zero: no node
//!       64-     lines of 4 pairs {least key of the child's range, its number}, ascending
//! ```
//!
//! Next node and count share a word, so a split commits in one store: link and truncation come together. The pairs that
//! it truncates stay where they are. Their keys lie beyond the node's range, which distinguishes them from pairs that a
//! shift moved there. The key is the mark, as in the leaf: of two equal neighbours the right one counts. The key of a
//! vacant slot is zero, which only the first child may have.

use crate::inner::durable::Node;
use crate::lineage::Lineage;
use holm_medium::{Medium, Word, WriteHandle, persistent};
use holm_tree::inner::NodeHeader;
use holm_tree::keys::Slot;
use holm_tree::pair::Pair;

/// The number of pairs in a line.
const WIDTH: usize = 4;
const FIRST: u64 = 1 << 32;
/// Where the level lies in the word with the node's owner.
const LEVEL: u32 = 48;

persistent! {
    /// A header line and lines of pairs: 7, 15 and 31 lines of pairs make 512 bytes, 1 and 2 KiB, and 29, 61 and 125
    /// children.
    #[repr(align(64))]
    pub struct IsleNode<const LINES: usize> {
        lineage: Lineage,
        tally: Word,
        first: Pair,
        spare: Word,
        home: Word,
        lines: [[Pair; 4]; LINES],
    }
}

/// What a crash left of the row: its pairs, and the left one of two neighbours with equal keys.
struct Survey {
    filled: usize,
    stale: Option<usize>,
}

impl<const LINES: usize> IsleNode<LINES> {
    fn pairs(&self) -> &[Pair] {
        self.lines.as_flattened()
    }

    /// The number of pairs behind the first child.
    fn used(&self) -> usize {
        (self.tally.read() >> 32).min((LINES * WIDTH) as u64) as usize
    }

    fn line<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, at: usize) {
        handle.persist(&self.lines[at / WIDTH]);
    }

    /// Makes next node and count durable.
    fn set_tally<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, next: u32, used: usize) {
        handle.write(&self.tally, u64::from(next) | (used as u64) << 32);
        // Before the change is acknowledged, or the next one begins: otherwise a crash leaves a row two pairs away from
        // its count.
        handle.persist(&self.tally);
    }

    /// Shifts the pairs behind a stale key over it, and makes the last slot vacant.
    fn close<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, stale: usize, filled: usize) {
        let pairs = self.pairs();
        for at in stale..filled - 1 {
            handle.write(&pairs[at].payload, pairs[at + 1].payload.read());
            if (at + 1).is_multiple_of(WIDTH) {
                // Before the next line gives up the child: otherwise a crash keeps that line, loses this one, and the
                // child.
                self.line(handle, at);
            }
            // From here on the next slot is the stale one.
            handle.write(&pairs[at + 1].head, if at + 2 < filled { pairs[at + 2].head.read() } else { 0 });
        }
        // Before the count: otherwise a crash leaves a removed child, and recovery counts it.
        self.line(handle, filled - 1);
    }

    /// The row as it is: up to the first slot that is vacant, or whose key is out of order or out of range.
    fn survey(&self, right: Option<&Self>) -> Survey {
        let bound = right.map(|right| right.first.head.read());
        let (mut found, mut last) = (Survey { filled: 0, stale: None }, 0);
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
    const CHILDREN: usize = {
        assert!(LINES <= 32, "a leaf with more lines has counters where a node's home is");
        1 + LINES * WIDTH
    };
    type Volatile = ();

    #[inline]
    fn count(&self, _: &()) -> usize {
        1 + self.used()
    }

    #[inline]
    fn slot(&self, index: usize) -> Slot {
        index.checked_sub(1).map_or(&self.first, |at| &self.pairs()[at]).slot()
    }

    fn begin<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, node_header: NodeHeader, children: &[Slot]) {
        let rest = children[1..].iter().copied().chain(std::iter::repeat(Slot::default()));
        self.pairs().iter().zip(rest).for_each(|(pair, slot)| pair.write(handle, slot));
        handle.flush(&self.lines);
        // Before the header: otherwise a crash leaves a node with the block's old contents as children.
        handle.fence();
        self.first.write(handle, children[0]);
        handle.write(&self.tally, (children.len() as u64 - 1) << 32);
        // The commit word, last in its line.
        handle.write(&self.home, u64::from(node_header.keyspace) | FIRST | u64::from(node_header.level) << LEVEL);
        // Before the operation returns: otherwise a crash leaves a tree without a root, and recovery must make one.
        handle.persist(&self.home);
    }

    fn insert<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, child: Slot) {
        let (pairs, used) = (self.pairs(), self.used());
        let at = pairs[..used].iter().take_while(|pair| pair.head.read() < child.head).count();
        for from in (at..used).rev() {
            // The key last: until then the slot is vacant, or has its old pair.
            handle.write(&pairs[from + 1].payload, pairs[from].payload.read());
            handle.write(&pairs[from + 1].head, pairs[from].head.read());
            if (from + 1).is_multiple_of(WIDTH) {
                // Before the line below gives up the child: otherwise a crash keeps that line, loses this one, and the
                // child.
                self.line(handle, from + 1);
            }
        }
        handle.write(&pairs[at].payload, child.payload);
        // The commit word: no key is in two slots any more.
        handle.write(&pairs[at].head, child.head);
        // Before the count: otherwise a crash leaves a count that includes a missing child.
        self.line(handle, at);
        self.set_tally(handle, Node::next(self), used + 1);
    }

    fn remove<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, index: usize) {
        let (pairs, used, at) = (self.pairs(), self.used(), index - 1);
        let next = if at + 1 < used { pairs[at + 1].head.read() } else { 0 };
        // The commit word: the slot is stale, or vacant.
        handle.write(&pairs[at].head, next);
        if at + 1 < used {
            self.close(handle, at, used);
        } else {
            self.line(handle, at);
        }
        self.set_tally(handle, Node::next(self), used - 1);
    }

    fn point<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize, child: u32) {
        let pair = index.checked_sub(1).map_or(&self.first, |at| &self.pairs()[at]);
        // The commit word.
        handle.write(&pair.payload, child.into());
        // Before the replaced child is reused: otherwise a crash leaves the old pointer to a block that another leaf
        // uses.
        handle.persist(pair);
    }

    fn split<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, (number, right, ()): (u32, &Self, &())) {
        let middle = Self::CHILDREN / 2;
        let moved = self.pairs()[middle..].iter().map(Pair::slot).chain(std::iter::repeat(Slot::default()));
        right.pairs().iter().zip(moved).for_each(|(pair, slot)| pair.write(handle, slot));
        right.first.write(handle, self.slot(middle));
        handle.write(&right.tally, u64::from(Node::next(self)) | ((Self::CHILDREN - 1 - middle) as u64) << 32);
        handle.write(&right.home, self.home.read() & !FIRST);
        handle.flush(right);
        // Before the link: otherwise a crash keeps the link and loses the pairs to which it leads.
        handle.fence();
        // The commit word: the upper half belongs to the right node.
        self.set_tally(handle, number, middle - 1);
    }

    fn header(&self) -> Option<NodeHeader> {
        let home = self.home.read();
        let level = (home >> LEVEL) as u32;
        let known = u64::from(u32::MAX) | FIRST | u64::from(u16::MAX) << LEVEL;
        let sound = level > 0 && home & !known == 0;
        sound.then_some(NodeHeader { keyspace: home as u32, level, first: home & FIRST != 0 })
    }

    fn next(&self) -> u32 {
        self.tally.read() as u32
    }

    fn repair_link<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, right: Option<&Self>) {
        let (Survey { filled, stale }, used) = (self.survey(right), self.used());
        let sound = filled - usize::from(stale.is_some());
        if sound.abs_diff(used) > 1 {
            // No crash leaves this; the code that reads the children reports the damage.
            return;
        }
        if let Some(stale) = stale {
            // This undoes an insert or completes a removal: either way, one child less than there are filled slots.
            self.close(handle, stale, filled);
        }
        if sound != used {
            self.set_tally(handle, Node::next(self), sound);
        }
    }

    #[track_caller]
    fn end<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.home, 0);
        // Before the block is reused: otherwise recovery finds a node where a leaf is.
        handle.persist(&self.home);
    }
}
