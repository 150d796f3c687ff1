//! What a leaf's functions work with: the volatile side of the leaf, the keys, the blocks, and the write handle.

use super::Leaf;
use holm_medium::{Area, Image, Loc, Medium, WriteHandle};
use holm_search::Search;

/// What a reader of a leaf has: the leaf's volatile side, what slots stand for, the vector kernels chosen when the tree
/// was opened, and the other blocks.
///
/// `V` is the leaf's volatile side, [`Leaf::Volatile`].
pub struct ReadContext<'a, V, K> {
    /// The leaf's volatile side.
    pub volatile: &'a V,
    /// What slots stand for.
    pub keys: &'a K,
    /// How to search.
    pub search: Search,
    /// The blocks, for leaves of several blocks; `None` where the caller reads one block only.
    pub image: Option<&'a Image>,
}

impl<'a, V, K> ReadContext<'a, V, K> {
    /// Returns the block of a number.
    #[inline]
    pub fn block<L: Leaf>(self, number: u32) -> Option<&'a L> {
        self.image?.at(Loc::new(Area::Leaves, u64::from(number) * size_of::<L>() as u64))
    }

    /// Returns the same context for another leaf, whose volatile side is `volatile`.
    #[inline]
    pub fn beside<W>(self, volatile: &'a W) -> ReadContext<'a, W, K> {
        ReadContext { volatile, keys: self.keys, search: self.search, image: self.image }
    }
}

impl<V, K> Clone for ReadContext<'_, V, K> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<V, K> Copy for ReadContext<'_, V, K> {}

/// What the one writer of a leaf has: all that a reader has, and the write handle. The tree set holds the latch.
pub struct WriteContext<'a, 'h, V, M: Medium, K> {
    /// What a reader has.
    pub read: ReadContext<'a, V, K>,
    /// The handle for every store.
    pub handle: &'a mut WriteHandle<'h, M>,
}

impl<'a, 'h, V, M: Medium, K> WriteContext<'a, 'h, V, M, K> {
    /// Returns both parts.
    #[inline]
    pub fn parts(&mut self) -> (ReadContext<'a, V, K>, &mut WriteHandle<'h, M>) {
        (self.read, self.handle)
    }
}

/// The range of a leaf or of a node, with separators of type `S`.
#[derive(Debug)]
pub struct KeyRange<'a, S> {
    /// The least key that the range can have.
    pub low: &'a S,
    /// The first key beyond the range; `None` if it has no end.
    pub high: Option<&'a S>,
}

impl<S> Clone for KeyRange<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S> Copy for KeyRange<'_, S> {}
