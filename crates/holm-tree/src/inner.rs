//! A volatile node: levels 1 and up. Rebuilt at every open, never durable.
//!
//! A node is an array of separators' heads, the texts of those whose heads do not say all, and one child more than
//! separators. Whoever was routed to a node shares its first `skip` bytes, so heads are taken after them and long
//! common prefixes cost no comparison. Nodes are atomics all through: readers race with the one who holds the latch.

pub mod sorted;

pub use sorted::Sorted;

use crate::keys::Keys;
use crate::latch::Latch;
use crate::texts::Texts;
use holm_search::Search;
use std::cmp::Ordering;

/// A separator as a node keeps it.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Eight bytes after the node's skip.
    pub head: u64,
    /// The whole text, or 0 where the head says all.
    pub text: u32,
}

/// A node: storage and search over it; the routing is the same for all.
pub trait Inner: Default + Send + Sync + 'static {
    /// The most children.
    const CHILDREN: usize;

    /// The node's latch.
    fn latch(&self) -> &Latch;
    /// Separators now; never more than `CHILDREN - 1`, whatever a writer is doing.
    fn len(&self) -> usize;
    /// Whether there is but one child.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Bytes that heads leave out.
    fn skip(&self) -> usize;
    /// A separator.
    fn mark(&self, index: usize) -> Mark;
    /// A child, `0..=len`.
    fn child(&self, index: usize) -> u32;
    /// How many heads are at most `head`.
    fn rank(&self, search: Search, head: u64) -> usize;
    /// How many heads are less than `head`.
    fn rank_below(&self, search: Search, head: u64) -> usize;

    /// Becomes a node with these separators and children; the caller holds the latch, or is alone.
    fn rewrite(&self, skip: usize, marks: &[Mark], children: &[u32]);
    /// Points `child` elsewhere.
    fn set_child(&self, index: usize, child: u32);
    /// Takes in a separator at `index` and a child to its right; there is room.
    fn adopt(&self, index: usize, mark: Mark, child: u32);
    /// Lets go of separator `index` and of the child to its right.
    fn disown(&self, index: usize);

    /// The child whose range holds the probe.
    #[inline]
    fn route<K: Keys>(&self, search: Search, texts: &Texts, probe: K::Probe<'_>) -> usize {
        let head = K::head(probe, self.skip());
        let index = self.rank(search, head);
        match index.checked_sub(1).map(|last| self.mark(last)) {
            Some(last) if last.text != 0 && last.head == head => {
                let below = self.rank_below(search, head);
                self.route_among::<K>(texts, probe, below, index)
            }
            _ => index,
        }
    }

    /// The same among marks whose heads are the probe's and some of which have more to say: under a long common prefix
    /// they may be all. A head that says all stands before its equals.
    #[cold]
    fn route_among<K: Keys>(&self, texts: &Texts, probe: K::Probe<'_>, mut below: usize, mut above: usize) -> usize {
        while below < above {
            let middle = below + (above - below) / 2;
            let mark = self.mark(middle);
            if mark.text != 0 && K::compare_text(texts, mark.text, probe) == Ordering::Greater {
                above = middle;
            } else {
                below = middle + 1;
            }
        }
        below
    }

    /// The child whose range holds the greatest key below the probe.
    fn route_below<K: Keys>(&self, search: Search, texts: &Texts, probe: K::Probe<'_>) -> usize {
        let head = K::head(probe, self.skip());
        let fence = K::fence(probe);
        let (mut below, mut above) = (self.rank_below(search, head), self.rank(search, head));
        while below < above {
            let middle = below + (above - below) / 2;
            if self.fence::<K>(texts, middle, probe) < fence {
                below = middle + 1;
            } else {
                above = middle;
            }
        }
        below
    }

    /// A separator as a fence; the probe was routed here, so its first bytes are the separator's.
    fn fence<K: Keys>(&self, texts: &Texts, index: usize, probe: K::Probe<'_>) -> K::Fence {
        let mark = self.mark(index);
        if mark.text == 0 {
            return K::from_head(probe, self.skip(), mark.head);
        }
        let mut text = Vec::new();
        texts.read(mark.text, &mut text);
        K::from_text(&text)
    }
}

/// A fence as a node with this skip keeps it.
pub fn mark_of<K: Keys>(texts: &Texts, fence: &K::Fence, skip: usize) -> Mark {
    let text = K::text(fence, skip).map_or(0, |text| texts.keep(text));
    Mark { head: K::head(K::probe(fence), skip), text }
}
