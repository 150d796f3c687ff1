//! A node: levels 1 and up. Volatile and rebuilt at every open, or, where a design says so, durable in a block of its
//! own.
//!
//! A node is an array of separators' heads, the long separators of those whose heads do not say all, and one child more
//! than separators. Heads are taken after what all separators of the node begin with, its *prefix*: what its range
//! shares, which whoever was routed here shares as well, and up to 32 bytes more, which are compared first. So long
//! common prefixes cost a comparison or none, and heads say most of what there is to say. Nodes are atomics all
//! through: readers race with the one who holds the latch.

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

/// A separator as a node keeps it.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct SeparatorEntry {
    /// Eight bytes after the node's skip.
    pub head: u64,
    /// The long separator, or 0 where the head says all.
    pub long: u32,
}

/// Words of a prefix that are compared.
pub const PREFIX_WORDS: usize = 4;

/// What all the separators of a node begin with.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct NodePrefix {
    /// Bytes that every key of the node's range begins with.
    pub assured: usize,
    /// Bytes after them that its separators begin with, and not every key need.
    pub extra: usize,
    /// Those bytes, in words that order as they do, zeros after them.
    pub words: [u64; PREFIX_WORDS],
}

impl NodePrefix {
    /// The prefix of separators in order, of a node with this range. Where heads say all without it there is nothing
    /// extra to compare.
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

    /// Bytes that heads leave out.
    pub fn skip(&self) -> usize {
        self.assured + self.extra
    }

    /// The bytes beyond the assured ones.
    pub fn bytes(&self) -> impl Iterator<Item = u8> {
        self.words.iter().flat_map(|word| word.to_be_bytes()).take(self.extra)
    }
}

/// What a node says of itself in one word, so that one look at it tells all.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Separators; never more than there is room for, whatever a writer is doing.
    pub len: usize,
    /// [`NodePrefix::assured`].
    pub assured: usize,
    /// [`NodePrefix::extra`].
    pub extra: usize,
    /// Whether any separator may be long.
    pub long: bool,
}

impl Shape {
    /// Bytes that heads leave out.
    #[inline]
    pub fn skip(&self) -> usize {
        self.assured + self.extra
    }

    /// Whether heads say all of every separator but what the whole range shares.
    #[inline]
    fn is_plain(&self) -> bool {
        self.extra == 0 && !self.long
    }
}

/// In whose tree a node stands, and how high: leaves are level 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeHeader {
    /// The keyspace.
    pub keyspace: u32,
    /// The level; at least 1.
    pub level: u32,
    /// The leftmost node of its level, where that is kept.
    pub first: bool,
}

/// A separator, its place among those of a node, and the child to its right.
pub type NewChild<'a, F> = (usize, &'a F, u32);

/// A node: storage and search over it; the routing is the same for all.
pub trait Inner: Default + Send + Sync + 'static {
    /// The most children.
    const CHILDREN: usize;
    /// Whether nodes lie in blocks of the leaf area, whose numbers are theirs, and outlive the process.
    const DURABLE: bool = false;
    /// Whether it takes no leaf parent in: where one is full, all leaf parents are made anew, and this one upper node
    /// above them.
    const REBUILT_WHEN_FULL: bool = false;
    /// Where the latches of its leaves lie, if it is a leaf parent.
    type Locks: Locks;

    /// The node's latch.
    fn latch(&self) -> &Latch;
    /// The latches of its leaves.
    fn locks(&self) -> &Self::Locks;
    /// What it says of itself.
    fn shape(&self) -> Shape;
    /// Separators now.
    #[inline]
    fn len(&self) -> usize {
        self.shape().len
    }
    /// Whether there is but one child.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Asks the CPU for what [`Inner::child`] will read, before it is known which child that is.
    fn prefetch_children(&self) {}
    /// A word of what the separators share beyond the range.
    fn prefix_word(&self, index: usize) -> u64 {
        let _ = index;
        0
    }
    /// A separator.
    fn entry(&self, index: usize) -> SeparatorEntry;
    /// A child, `0..=len`.
    fn child(&self, index: usize) -> u32;
    /// How many of the first `len` heads are at most `head`.
    fn rank(&self, search: Search, len: usize, head: u64) -> usize;
    /// How many of them are less than `head`.
    #[inline]
    fn rank_below(&self, search: Search, len: usize, head: u64) -> usize {
        head.checked_sub(1).map_or(0, |before| self.rank(search, len, before))
    }

    /// Becomes a node with these separators and children; the caller holds the latch, or is alone. A durable one is the
    /// first of its level, has two children at most, and is there as soon as it is whole.
    fn fill<M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        long_separators: &LongSeparators,
        node_header: NodeHeader,
        range: (&K::Separator, Option<&K::Separator>),
        separators: &[K::Separator],
        children: &[u32],
    );
    /// Points `child` elsewhere.
    fn set_child<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize, child: u32);
    /// Takes a separator and the child to its right in, where there is room, in a node of this range.
    fn insert_child<M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        long_separators: &LongSeparators,
        range: &Range<K>,
        new_child: NewChild<'_, K::Separator>,
        search_key: K::SearchKey<'_>,
    );
    /// Lets go of separator `index` and of the child to its right.
    fn remove_child<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize);
    /// Gives the upper half of a full node's children to a fresh node of that number; the separator between the two.
    fn split<M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        long_separators: &LongSeparators,
        range: &Range<K>,
        fresh: (u32, &Self),
        search_key: K::SearchKey<'_>,
    ) -> K::Separator;

    /// What a block says of itself: a durable node, and which; `None` for all else.
    fn header(image: &Image, offset: u64) -> Option<NodeHeader> {
        let _ = (image, offset);
        None
    }
    /// Tells a durable node where its block lies: before all else, and always the same. Whether that is in the image.
    fn attach_block(&self, image: &Arc<Image>, offset: u64) -> bool {
        let _ = (image, offset);
        true
    }
    /// The least key of a durable node's range.
    fn low(&self) -> u64 {
        0
    }
    /// The number of the next durable node of the level; 0 is none.
    fn next(&self) -> u32 {
        0
    }
    /// After a crash: finishes or undoes what was under way in a durable node and between it and its right neighbour,
    /// and derives what is volatile. It is durable once the write handle has fenced.
    fn repair_link<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, right: Option<&Self>) {
        let _ = (handle, right);
    }
    /// Gives a durable node up: the tree is gone, or there was none. Known by its caller to who leaves it out.
    #[track_caller]
    fn end<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        let _ = handle;
    }

    /// What all separators begin with.
    fn prefix(&self) -> NodePrefix {
        let Shape { assured, extra, .. } = self.shape();
        NodePrefix { assured, extra, words: std::array::from_fn(|index| self.prefix_word(index)) }
    }

    /// The first or the last child, where the search key lies below or above all that begins as the separators do.
    #[inline]
    fn outermost<K: Keys>(&self, shape: Shape, search_key: K::SearchKey<'_>) -> Option<usize> {
        let Shape { len, assured, extra, .. } = shape;
        for index in 0..extra.div_ceil(8).min(PREFIX_WORDS) {
            // A search key that ends here reads as zeros: if those are equal, separators end here too or have long
            // separators.
            match masked(K::head(search_key, assured + index * 8), extra - index * 8).cmp(&self.prefix_word(index)) {
                Ordering::Less => return Some(0),
                Ordering::Greater => return Some(len),
                Ordering::Equal => {}
            }
        }
        None
    }

    /// The child whose range holds the search key.
    #[inline]
    fn route<K: Keys>(&self, search: Search, long_separators: &LongSeparators, search_key: K::SearchKey<'_>) -> usize {
        let shape = self.shape();
        if shape.is_plain() {
            return self.rank(search, shape.len, K::head(search_key, shape.assured));
        }
        self.route_by_more::<K>(search, long_separators, search_key)
    }

    /// The same where heads are not all that separators are told apart by.
    #[inline(never)]
    fn route_by_more<K: Keys>(
        &self,
        search: Search,
        long_separators: &LongSeparators,
        search_key: K::SearchKey<'_>,
    ) -> usize {
        // Asked again: handed on, it would be written to memory on the way that needs no more.
        let shape = self.shape();
        if let Some(outermost) = self.outermost::<K>(shape, search_key) {
            return outermost;
        }
        let head = K::head(search_key, shape.skip());
        let index = self.rank(search, shape.len, head);
        if !shape.long {
            // The usual case, and a line that need not be looked at.
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

    /// The same among entries whose heads are the search key's and some of which have more to say: under a long common
    /// prefix they may be all. A head that says all stands before its equals.
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

    /// The child whose range holds the greatest key below the search key.
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

    /// The separators and children of a node that is going to be written anew; its long separators are forgotten.
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

    /// Of a node that others are going to use, or that is written anew.
    fn forget_long_separators(&self, long_separators: &LongSeparators) {
        (0..self.len()).for_each(|index| long_separators.forget(self.entry(index).long));
    }

    /// A separator, owned; the search key was routed here, so its first bytes are the separator's.
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

/// A separator as a node with this skip keeps it.
pub fn entry_of<K: Keys>(long_separators: &LongSeparators, separator: &K::Separator, skip: usize) -> SeparatorEntry {
    let long = K::as_long(separator, skip).map_or(0, |long| long_separators.keep(long));
    SeparatorEntry { head: K::head(K::search_key(separator), skip), long }
}

/// Where a range starts and where it ends; `None`: at the lowest key, and nowhere.
pub type Range<K> = (Option<<K as Keys>::Separator>, Option<<K as Keys>::Separator>);

/// The node of a number, found by its block where it has one; blocks are so many bytes long. `None`: there is no such
/// block.
pub(crate) fn reach<'a, I: Inner, M: Medium>(
    slab: &'a Slab<I>,
    storage: &Storage<M>,
    number: u32,
    bytes: usize,
) -> Option<&'a I> {
    let node = slab.get_or_allocate(number)?;
    node.attach_block(storage.medium.image(), u64::from(number) * bytes as u64).then_some(node)
}

/// A number that nobody uses, and its node. Of a durable one, the number of the block that `take` gives.
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

/// Gives a number back that nobody has used.
pub(crate) fn unused<I: Inner, M: Medium>(slab: &Slab<I>, storage: &Storage<M>, number: u32) {
    if I::DURABLE { storage.space.return_block(number) } else { slab.give(number) }
}
