//! An inner node, level 1 and up. Nodes are volatile and rebuilt at every open. Where a design says so, they are
//! durable instead, each in a block of its own.
//!
//! A node is an array of separators' heads, the long separators that heads do not determine, and one child more than
//! separators. All separators of a node begin with the same bytes, its *prefix*, which heads leave out. The prefix has
//! two parts: the bytes that the node's range shares, and up to 32 bytes more. A search key that was routed here shares
//! the first part; the search compares the second part first. So a long common prefix costs one comparison or none, and
//! heads determine most separators.
//!
//! Nodes consist of atomics: readers race with the writer that holds the latch.

pub mod lined;
pub mod node_search;
pub mod placement;
mod prefix;
mod route;
pub mod sorted;

pub use node_search::{Compared, Halved, Interpolated, NodeSearch};
pub use placement::{DurableNode, InBlocks, InMemory, NodeBlocks, Placement, RebuiltWhenFull};
pub use prefix::{NodePrefix, PREFIX_WORDS, Shape};
pub use route::Route;
pub use sorted::Sorted;

use crate::keys::Keys;
use crate::latch::Latch;
use crate::leaf::KeyRange;
use crate::locks::Locks;
use crate::long_separators::LongSeparators;
use holm_medium::{Medium, WriteHandle};
use holm_search::Search;

/// A separator in its node.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct SeparatorEntry {
    /// Eight bytes of the separator after the node's prefix.
    pub head: u64,
    /// The number of the long separator, or 0 if the head determines the separator.
    pub long: u32,
}

/// A node's tree and height; leaves are level 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeHeader {
    /// The keyspace.
    pub keyspace: u32,
    /// The level; at least 1.
    pub level: u32,
    /// Whether it is the leftmost node of its level, where the node records this.
    pub first: bool,
}

/// A child that a node gets.
pub struct NewChild<'a, S> {
    /// The place of the separator among the node's separators.
    pub position: usize,
    /// The separator.
    pub separator: &'a S,
    /// The child to its right.
    pub child: u32,
}

/// The range of a node, with its own separators.
pub struct Range<K: Keys> {
    /// Where it starts; `None` is the lowest key.
    pub low: Option<K::Separator>,
    /// Where it ends; `None` is no end.
    pub high: Option<K::Separator>,
}

impl<K: Keys> Default for Range<K> {
    fn default() -> Self {
        Range { low: None, high: None }
    }
}

impl<K: Keys> Clone for Range<K> {
    fn clone(&self) -> Self {
        Range { low: self.low.clone(), high: self.high.clone() }
    }
}

impl<K: Keys> Range<K> {
    /// Returns whether a search key lies in the range.
    pub fn holds(&self, search_key: K::SearchKey<'_>) -> bool {
        self.low.as_ref().is_none_or(|low| !K::is_below(search_key, low))
            && self.high.as_ref().is_none_or(|high| K::is_below(search_key, high))
    }
}

/// What the one writer of a node has; it holds the node's latch, or is alone.
pub struct NodeContext<'a, 'h, M: Medium> {
    /// The handle for stores to durable nodes.
    pub handle: &'a mut WriteHandle<'h, M>,
    /// The separators that heads do not determine.
    pub long_separators: &'a LongSeparators,
}

/// Everything that a node is filled with.
pub struct NodeContents<'a, K: Keys> {
    /// Its tree and height.
    pub header: NodeHeader,
    /// Its range.
    pub range: KeyRange<'a, K::Separator>,
    /// Its separators, in order.
    pub separators: &'a [K::Separator],
    /// Its children: one more than separators.
    pub children: &'a [u32],
}

/// A fresh node and its number.
pub struct FreshNode<'a, I> {
    /// The number.
    pub number: u32,
    /// The node.
    pub node: &'a I,
}

impl<I> Clone for FreshNode<'_, I> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<I> Copy for FreshNode<'_, I> {}

/// A node: how it stores separators and children. The search over it is [`Route`].
pub trait Inner: Default + Send + Sync + 'static {
    /// The most children of a node.
    const CHILDREN: usize;
    /// Where the latches of a leaf parent's leaves lie.
    type Locks: Locks;
    /// Where nodes lie.
    type Placement: Placement<Self>;

    /// Returns the node's latch.
    fn latch(&self) -> &Latch;
    /// Returns the latches of its leaves.
    fn locks(&self) -> &Self::Locks;
    /// Returns its length and prefix lengths.
    fn shape(&self) -> Shape;
    /// Prefetches the line that a search reads first.
    fn prefetch_search(&self) {
        holm_search::prefetch(self.latch());
    }
    /// Prefetches what [`Inner::child`] will read, before it is known which child that is.
    fn prefetch_children(&self) {}
    /// Returns a word of the prefix's extra bytes.
    fn prefix_word(&self, index: usize) -> u64 {
        let _ = index;
        0
    }
    /// Returns a separator.
    fn entry(&self, index: usize) -> SeparatorEntry;
    /// Returns a child, `0..=len`.
    fn child(&self, index: usize) -> u32;
    /// Returns how many of the first `len` heads are at most `head`.
    fn rank(&self, search: Search, len: usize, head: u64) -> usize;

    /// Fills the node. A durable node filled this way is the first of its level, has at most two children, and exists
    /// once it is complete.
    fn fill<M: Medium, K: Keys>(&self, context: &mut NodeContext<'_, '_, M>, contents: NodeContents<'_, K>);
    /// Replaces the child at `index`.
    fn set_child<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize, child: u32);
    /// Inserts a separator and the child to its right, if there is room. The node has this range, and the search key
    /// was routed to it.
    fn insert_child<M: Medium, K: Keys>(
        &self,
        context: &mut NodeContext<'_, '_, M>,
        range: &Range<K>,
        new_child: NewChild<'_, K::Separator>,
        search_key: K::SearchKey<'_>,
    );
    /// Removes separator `index` and the child to its right.
    fn remove_child<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize);
    /// Moves the upper half of a full node's children to a fresh node, and returns the separator between the two.
    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut NodeContext<'_, '_, M>,
        range: &Range<K>,
        fresh: FreshNode<'_, Self>,
        search_key: K::SearchKey<'_>,
    ) -> K::Separator;
}

/// Returns a separator in the form in which a node with this prefix length keeps it.
pub fn entry_of<K: Keys>(long_separators: &LongSeparators, separator: &K::Separator, skip: usize) -> SeparatorEntry {
    let long = K::as_long(separator, skip).map_or(0, |long| long_separators.keep(long));
    SeparatorEntry { head: K::head(K::search_key(separator), skip), long }
}
