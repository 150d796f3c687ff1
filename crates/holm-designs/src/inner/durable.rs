//! A durable inner node in a block of its own: its volatile side, and the trait that a block must implement.
//!
//! A node identifies a child by the least key of the child's range. A node is an ordered row of such pairs, and the
//! first pair's key is where the node's own range starts. So a leaf's layout can serve as a node, with child numbers as
//! payloads. This works only for keys that slots hold whole.
//!
//! A writer changes a node under its latch, and the change is durable before the latch is released. Readers validate
//! the latch as elsewhere, so only recovery can see intermediate states.

use holm_medium::{Area, Image, Loc, Medium, Persistent, WriteHandle};
use holm_search::Search;
use holm_tree::inner::{
    DurableNode, FreshNode, InBlocks, Inner, NewChild, NodeContents, NodeContext, NodeHeader, NodePrefix, Range,
    SeparatorEntry, Shape,
};
use holm_tree::keys::{Keys, Slot};
use holm_tree::latch::Latch;
use holm_tree::locks::PerLeaf;
use std::sync::{Arc, OnceLock};

/// A block that holds a node's children. Each child is a slot: the least key of its range, and its number.
pub trait Node: Persistent + Sized {
    /// The largest number of children.
    const CHILDREN: usize;
    /// The node's volatile side.
    type Volatile: Default + Send + Sync + 'static;

    /// The current number of children; never more than [`Node::CHILDREN`].
    fn count(&self, volatile: &Self::Volatile) -> usize;
    /// A child. Total over any bits.
    fn slot(&self, index: usize) -> Slot;
    /// How many of the first `len` children behind the first one have keys up to this one. By default, the linear scan
    /// of most papers.
    #[inline]
    fn rank(&self, len: usize, head: u64) -> usize {
        (1..=len).take_while(|index| self.slot(*index).head <= head).count()
    }

    /// Makes the block the first node of its level, with one or two children. The node becomes durable and reachable in
    /// one step.
    fn begin<M: Medium>(
        &self,
        volatile: &Self::Volatile,
        handle: &mut WriteHandle<'_, M>,
        node_header: NodeHeader,
        children: &[Slot],
    );
    /// Inserts a child. The caller has checked that there is room.
    fn insert<M: Medium>(&self, volatile: &Self::Volatile, handle: &mut WriteHandle<'_, M>, child: Slot);
    /// Removes a child other than the first.
    fn remove<M: Medium>(&self, volatile: &Self::Volatile, handle: &mut WriteHandle<'_, M>, index: usize);
    /// Assigns a child's range to another child.
    fn point<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize, child: u32);
    /// Moves the upper half of the children to a fresh node with that number.
    fn split<M: Medium>(
        &self,
        volatile: &Self::Volatile,
        handle: &mut WriteHandle<'_, M>,
        right: (u32, &Self, &Self::Volatile),
    );

    /// The block's header; `None` if the block is not a node. Total over any bits.
    fn header(&self) -> Option<NodeHeader>;
    /// The number of the level's next node; 0 is none.
    fn next(&self) -> u32;
    /// After a crash: as [`DurableNode::repair_link`].
    fn repair_link<M: Medium>(&self, volatile: &Self::Volatile, handle: &mut WriteHandle<'_, M>, right: Option<&Self>);
    /// Makes the block no node, durably. The mutants that omit a step identify it by its caller.
    #[track_caller]
    fn end<M: Medium>(&self, handle: &mut WriteHandle<'_, M>);
}

/// The volatile side of a node in a block.
pub struct Durable<N: Node> {
    latch: Latch,
    volatile: N::Volatile,
    block: OnceLock<(Arc<Image>, Loc<N>)>,
}

impl<N: Node> Default for Durable<N> {
    fn default() -> Self {
        Durable { latch: Latch::default(), volatile: N::Volatile::default(), block: OnceLock::new() }
    }
}

impl<N: Node> Durable<N> {
    /// `None` if a stale number leads here: no block of that number has ever been a node.
    #[inline]
    fn look(&self) -> Option<&N> {
        let (image, place) = self.block.get()?;
        image.at(*place)
    }

    /// The block, for writers.
    fn block(&self) -> &N {
        self.look().expect("a node is attached to its block before it is used")
    }

    #[inline]
    fn slot(&self, index: usize) -> Slot {
        self.look().filter(|_| index < N::CHILDREN).map_or(Slot::default(), |block| block.slot(index))
    }
}

/// A separator in the form in which slots hold it.
fn word<K: Keys>(separator: &K::Separator) -> u64 {
    K::head(K::search_key(separator), 0)
}

impl<N: Node> Inner for Durable<N> {
    const CHILDREN: usize = N::CHILDREN;
    type Locks = PerLeaf;
    type Placement = InBlocks;

    #[inline]
    fn latch(&self) -> &Latch {
        &self.latch
    }
    fn locks(&self) -> &PerLeaf {
        &PerLeaf
    }
    #[inline]
    fn shape(&self) -> Shape {
        let count = self.look().map_or(0, |block| block.count(&self.volatile));
        Shape { len: count.min(N::CHILDREN).saturating_sub(1), ..Shape::default() }
    }
    fn prefetch_children(&self) {
        self.look().into_iter().for_each(holm_search::prefetch_lines);
    }
    #[inline]
    fn entry(&self, index: usize) -> SeparatorEntry {
        SeparatorEntry { head: self.slot(index + 1).head, long: 0 }
    }
    #[inline]
    fn child(&self, index: usize) -> u32 {
        self.slot(index).payload as u32
    }
    #[inline]
    fn rank(&self, _: Search, len: usize, head: u64) -> usize {
        self.look().map_or(0, |block| block.rank(len.min(N::CHILDREN - 1), head))
    }

    fn fill<M: Medium, K: Keys>(&self, context: &mut NodeContext<'_, '_, M>, contents: NodeContents<'_, K>) {
        let NodeContents { header, range, separators, children } = contents;
        let lows = [range.low].into_iter().chain(separators).map(word::<K>);
        let slots: Vec<_> = lows.zip(children).map(|(head, child)| Slot { head, payload: u64::from(*child) }).collect();
        self.block().begin(&self.volatile, context.handle, header, &slots);
    }

    fn set_child<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize, child: u32) {
        self.block().point(handle, index, child);
    }

    fn insert_child<M: Medium, K: Keys>(
        &self,
        context: &mut NodeContext<'_, '_, M>,
        _: &Range<K>,
        NewChild { separator, child, .. }: NewChild<'_, K::Separator>,
        _: K::SearchKey<'_>,
    ) {
        let child = Slot { head: word::<K>(separator), payload: child.into() };
        self.block().insert(&self.volatile, context.handle, child);
    }

    fn remove_child<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize) {
        self.block().remove(&self.volatile, handle, index + 1);
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut NodeContext<'_, '_, M>,
        _: &Range<K>,
        FreshNode { number, node: right }: FreshNode<'_, Self>,
        search_key: K::SearchKey<'_>,
    ) -> K::Separator {
        self.block().split(&self.volatile, context.handle, (number, right.block(), &right.volatile));
        K::from_head(search_key, &NodePrefix::default(), right.low())
    }
}

impl<N: Node> DurableNode for Durable<N> {
    fn header(image: &Image, offset: u64) -> Option<NodeHeader> {
        image.at::<N>(Loc::new(Area::Leaves, offset))?.header()
    }

    fn attach_block(&self, image: &Arc<Image>, offset: u64) -> bool {
        let place = Loc::new(Area::Leaves, offset);
        self.block.get_or_init(|| (image.clone(), place));
        image.at::<N>(place).is_some()
    }

    fn low(&self) -> u64 {
        self.slot(0).head
    }

    fn next(&self) -> u32 {
        self.look().map_or(0, N::next)
    }

    fn repair_link<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, right: Option<&Self>) {
        self.block().repair_link(&self.volatile, handle, right.and_then(Self::look));
    }

    #[track_caller]
    fn end<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        self.block().end(handle);
    }
}
