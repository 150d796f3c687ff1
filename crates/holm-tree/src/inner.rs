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
pub mod sorted;

pub use node_search::{Compared, Halved, Interpolated, NodeSearch};
pub use sorted::Sorted;

use crate::head::masked;
use crate::keys::Keys;
use crate::latch::Latch;
use crate::locks::Locks;
use crate::long_separators::LongSeparators;
use crate::slab::Slab;
use holm_medium::{Image, Medium, MediumError, Result, Storage, WriteHandle};
use holm_search::Search;
use std::cmp::Ordering;
use std::sync::Arc;

/// A separator in its node.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct SeparatorEntry {
    /// Eight bytes of the separator after the node's prefix.
    pub head: u64,
    /// The number of the long separator, or 0 if the head determines the separator.
    pub long: u32,
}

/// The words of a prefix that are compared.
pub const PREFIX_WORDS: usize = 4;

/// The prefix of a node: what all its separators begin with.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct NodePrefix {
    /// Bytes that every key of the node's range begins with.
    pub assured: usize,
    /// Bytes after those that its separators begin with, and that other keys need not.
    pub extra: usize,
    /// The extra bytes, in words that order as the bytes do, padded with zeros.
    pub words: [u64; PREFIX_WORDS],
}

impl NodePrefix {
    /// Returns the prefix of ordered separators in a node with this range. It has no extra bytes if the heads determine
    /// all separators without them.
    pub fn of<K: Keys>(range: (&K::Separator, Option<&K::Separator>), separators: &[K::Separator]) -> Self {
        let assured = K::common(range.0, range.1);
        let extra = match separators {
            [first, .., last] if separators.iter().any(|separator| K::as_long(separator, assured).is_some()) => {
                K::common(first, Some(last)).saturating_sub(assured).min(PREFIX_WORDS * 8)
            }
            _ => 0,
        };
        let word =
            |at: usize| masked(K::head(K::search_key(&separators[0]), assured + at * 8), extra.saturating_sub(at * 8));
        let words = std::array::from_fn(|at| if at * 8 < extra { word(at) } else { 0 });
        NodePrefix { assured, extra, words }
    }

    /// Returns the number of bytes that heads leave out.
    pub fn skip(&self) -> usize {
        self.assured + self.extra
    }

    /// Returns the bytes beyond the assured ones.
    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        self.words.iter().flat_map(|word| word.to_be_bytes()).take(self.extra)
    }
}

/// What a node says of itself in one word, so that a single load is consistent.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of separators; never more than there is room for, whatever a writer is doing.
    pub len: usize,
    /// [`NodePrefix::assured`].
    pub assured: usize,
    /// [`NodePrefix::extra`].
    pub extra: usize,
    /// Whether any separator may be a long one.
    pub long: bool,
}

impl Shape {
    /// Returns the number of bytes that heads leave out.
    #[inline]
    pub fn skip(&self) -> usize {
        self.assured + self.extra
    }

    /// Returns whether the heads and the range's shared bytes determine every separator.
    #[inline]
    fn is_plain(&self) -> bool {
        self.extra == 0 && !self.long
    }
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

/// A separator, its place among the node's separators, and the child to its right.
pub type NewChild<'a, F> = (usize, &'a F, u32);

/// A node: its storage and the search over it. All nodes share the routing.
pub trait Inner: Default + Send + Sync + 'static {
    /// The most children of a node.
    const CHILDREN: usize;
    /// Whether nodes are durable: they lie in blocks of the leaf area and have the blocks' numbers.
    const DURABLE: bool = false;
    /// Whether the tree never inserts a leaf parent into this node. When a leaf parent is full, the tree rebuilds all
    /// leaf parents and the one upper node above them.
    const REBUILT_WHEN_FULL: bool = false;
    /// Where the latches of a leaf parent's leaves lie.
    type Locks: Locks;

    /// Returns the node's latch.
    fn latch(&self) -> &Latch;
    /// Returns the latches of its leaves.
    fn locks(&self) -> &Self::Locks;
    /// Returns its length and prefix lengths.
    fn shape(&self) -> Shape;
    /// Returns the number of separators.
    #[inline]
    fn len(&self) -> usize {
        self.shape().len
    }
    /// Returns whether the node has only one child.
    fn is_empty(&self) -> bool {
        self.len() == 0
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
    /// Returns how many of the first `len` heads are less than `head`.
    #[inline]
    fn rank_below(&self, search: Search, len: usize, head: u64) -> usize {
        head.checked_sub(1).map_or(0, |before| self.rank(search, len, before))
    }

    /// Fills the node with these separators and children. The caller holds the latch, or is alone. A durable node
    /// filled this way is the first of its level, has at most two children, and exists once it is complete.
    fn fill<M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        long_separators: &LongSeparators,
        node_header: NodeHeader,
        range: (&K::Separator, Option<&K::Separator>),
        separators: &[K::Separator],
        children: &[u32],
    );
    /// Replaces the child at `index`.
    fn set_child<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize, child: u32);
    /// Inserts a separator and the child to its right, if there is room. The node has this range.
    fn insert_child<M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        long_separators: &LongSeparators,
        range: &Range<K>,
        new_child: NewChild<'_, K::Separator>,
        search_key: K::SearchKey<'_>,
    );
    /// Removes separator `index` and the child to its right.
    fn remove_child<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize);
    /// Moves the upper half of a full node's children to a fresh node of that number, and returns the separator between
    /// the two.
    fn split<M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        long_separators: &LongSeparators,
        range: &Range<K>,
        fresh: (u32, &Self),
        search_key: K::SearchKey<'_>,
    ) -> K::Separator;

    /// Returns what a block says of itself if it is a durable node; `None` for every other block.
    fn header(image: &Image, offset: u64) -> Option<NodeHeader> {
        let _ = (image, offset);
        None
    }
    /// Attaches a durable node to its block, before any other use and always to the same one. Returns whether the block
    /// lies in the image.
    fn attach_block(&self, image: &Arc<Image>, offset: u64) -> bool {
        let _ = (image, offset);
        true
    }
    /// Returns the least key of a durable node's range.
    fn low(&self) -> u64 {
        0
    }
    /// Returns the number of the next durable node of the level; 0 is none.
    fn next(&self) -> u32 {
        0
    }
    /// After a crash: finishes or undoes what was in progress in a durable node, and between it and its right
    /// neighbour, and derives what is volatile. The repair is durable once the write handle has fenced.
    fn repair_link<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, right: Option<&Self>) {
        let _ = (handle, right);
    }
    /// Ends a durable node: its tree was dropped, or there was none. The caller names the site, so that a test can
    /// leave it out.
    #[track_caller]
    fn end<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        let _ = handle;
    }

    /// Returns what all separators begin with.
    fn prefix(&self) -> NodePrefix {
        let Shape { assured, extra, .. } = self.shape();
        NodePrefix { assured, extra, words: std::array::from_fn(|index| self.prefix_word(index)) }
    }

    /// Returns the first or the last child if the search key lies below or above every key with the node's prefix.
    #[inline]
    fn outermost<K: Keys>(&self, shape: Shape, search_key: K::SearchKey<'_>) -> Option<usize> {
        let Shape { len, assured, extra, .. } = shape;
        for index in 0..extra.div_ceil(8).min(PREFIX_WORDS) {
            // A search key that ends here reads as zeros. If those are equal, the separators end here too, or are long
            // ones.
            match masked(K::head(search_key, assured + index * 8), extra - index * 8).cmp(&self.prefix_word(index)) {
                Ordering::Less => return Some(0),
                Ordering::Greater => return Some(len),
                Ordering::Equal => {}
            }
        }
        None
    }

    /// Returns the child whose range holds the search key.
    #[inline]
    fn route<K: Keys>(&self, search: Search, long_separators: &LongSeparators, search_key: K::SearchKey<'_>) -> usize {
        let shape = self.shape();
        if shape.is_plain() {
            return self.rank(search, shape.len, K::head(search_key, shape.assured));
        }
        self.route_by_more::<K>(search, long_separators, search_key)
    }

    /// The same where heads alone do not determine all separators.
    #[inline(never)]
    fn route_by_more<K: Keys>(
        &self,
        search: Search,
        long_separators: &LongSeparators,
        search_key: K::SearchKey<'_>,
    ) -> usize {
        // The shape is loaded again: passed as an argument, it would be spilled to memory on the way that does not need
        // it.
        let shape = self.shape();
        if let Some(outermost) = self.outermost::<K>(shape, search_key) {
            return outermost;
        }
        let head = K::head(search_key, shape.skip());
        let index = self.rank(search, shape.len, head);
        if !shape.long {
            // The usual case; it avoids reading another line.
            return index;
        }
        match index.checked_sub(1).map(|last| self.entry(last)) {
            Some(last) if last.long != 0 && last.head == head => {
                let below = self.rank_below(search, shape.len, head);
                self.route_among::<K>(long_separators, search_key, below, index)
            }
            _ => index,
        }
    }

    /// Searches the separators whose heads equal the search key's, some of which are long ones. Under a long common
    /// prefix that may be all separators. A separator that its head determines stands before its equals.
    #[cold]
    fn route_among<K: Keys>(
        &self,
        long_separators: &LongSeparators,
        search_key: K::SearchKey<'_>,
        mut below: usize,
        mut above: usize,
    ) -> usize {
        while below < above {
            let middle = below + (above - below) / 2;
            let entry = self.entry(middle);
            if entry.long != 0 && K::compare_long(long_separators, entry.long, search_key) == Ordering::Greater {
                above = middle;
            } else {
                below = middle + 1;
            }
        }
        below
    }

    /// Returns the child whose range holds the greatest key below the search key.
    fn route_below<K: Keys>(
        &self,
        search: Search,
        long_separators: &LongSeparators,
        search_key: K::SearchKey<'_>,
    ) -> usize {
        let shape = self.shape();
        if let Some(outermost) = self.outermost::<K>(shape, search_key) {
            return outermost;
        }
        let head = K::head(search_key, shape.skip());
        let separator = K::to_separator(search_key);
        let (mut below, mut above) = (self.rank_below(search, shape.len, head), self.rank(search, shape.len, head));
        while below < above {
            let middle = below + (above - below) / 2;
            if self.separator::<K>(long_separators, middle, search_key) < separator {
                below = middle + 1;
            } else {
                above = middle;
            }
        }
        below
    }

    /// Returns the separators and children of a node that is about to be rewritten, and frees its long separators.
    fn unpack<K: Keys>(
        &self,
        long_separators: &LongSeparators,
        search_key: K::SearchKey<'_>,
    ) -> (Vec<K::Separator>, Vec<u32>) {
        let len = self.len();
        let separators = (0..len).map(|index| self.separator::<K>(long_separators, index, search_key)).collect();
        let children = (0..=len).map(|index| self.child(index)).collect();
        self.forget_long_separators(long_separators);
        (separators, children)
    }

    /// Frees the long separators of a node that is rewritten, or whose number is reused.
    fn forget_long_separators(&self, long_separators: &LongSeparators) {
        (0..self.len()).for_each(|index| long_separators.forget(self.entry(index).long));
    }

    /// Returns a separator as an owned key. The search key was routed here, so its first bytes are the separator's.
    fn separator<K: Keys>(
        &self,
        long_separators: &LongSeparators,
        index: usize,
        search_key: K::SearchKey<'_>,
    ) -> K::Separator {
        let entry = self.entry(index);
        if entry.long == 0 {
            return K::from_head(search_key, &self.prefix(), entry.head);
        }
        let mut long = Vec::new();
        long_separators.read(entry.long, &mut long);
        K::from_long(&long)
    }
}

/// Returns a separator in the form in which a node with this prefix length keeps it.
pub fn entry_of<K: Keys>(long_separators: &LongSeparators, separator: &K::Separator, skip: usize) -> SeparatorEntry {
    let long = K::as_long(separator, skip).map_or(0, |long| long_separators.keep(long));
    SeparatorEntry { head: K::head(K::search_key(separator), skip), long }
}

/// The start and the end of a range; `None` means the lowest key, or no end.
pub type Range<K> = (Option<<K as Keys>::Separator>, Option<<K as Keys>::Separator>);

/// Returns the node of a number; a durable one is found by its block, and blocks have this many bytes. `None` means
/// that there is no such block.
pub(crate) fn reach<'a, I: Inner, M: Medium>(
    slab: &'a Slab<I>,
    storage: &Storage<M>,
    number: u32,
    bytes: usize,
) -> Option<&'a I> {
    let node = slab.get_or_allocate(number)?;
    node.attach_block(storage.medium.image(), u64::from(number) * bytes as u64).then_some(node)
}

/// Returns an unused number and its node. For a durable node, `take` gives the block and so the number.
pub(crate) fn fresh<'a, I: Inner, M: Medium>(
    slab: &'a Slab<I>,
    storage: &Storage<M>,
    bytes: usize,
    take: impl FnOnce() -> Result<u32>,
) -> Result<(u32, &'a I)> {
    if !I::DURABLE {
        return Ok(slab.take());
    }
    let number = take()?;
    let node = reach(slab, storage, number, bytes);
    node.map(|node| (number, node)).ok_or(MediumError::TooLarge {
        what: "a node's number",
        found: number.into(),
        limit: u32::MAX.into(),
    })
}

/// Gives back a number that was not used.
pub(crate) fn unused<I: Inner, M: Medium>(slab: &Slab<I>, storage: &Storage<M>, number: u32) {
    if I::DURABLE { storage.space.return_block(number) } else { slab.give(number) }
}
