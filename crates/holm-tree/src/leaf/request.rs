//! What the tree set asks of leaves, and what they answer.

use super::{KeyRange, Leaf};
use crate::keys::Keys;

/// The home of a leaf: its keyspace, and what the keys of its range share.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    /// The keyspace.
    pub keyspace: u32,
    /// Bytes that all keys of the range share and that heads leave out; 0 to 255.
    pub skip: u8,
    /// Whether this is the first leaf of its keyspace; in a linked design that leaf never moves.
    pub first: bool,
}

/// A replaced payload. The caller frees its record, so the leaf must never read through this payload again: see
/// [`Leaf::insert`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// The payload.
    pub payload: u64,
    /// The payload was stored in this same epoch. No crash can bring it back, so its record may be freed at once.
    pub same_epoch: bool,
}

/// The leaf has no room: the caller splits it, or makes room in another way, and retries. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A leaf or a fresh block, by its number, with its volatile side.
pub struct LeafRef<'a, L: Leaf> {
    /// Its number.
    pub number: u32,
    /// The block.
    pub leaf: &'a L,
    /// Its volatile side.
    pub volatile: &'a L::Volatile,
}

impl<L: Leaf> Clone for LeafRef<'_, L> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<L: Leaf> Copy for LeafRef<'_, L> {}

/// A pair that found no room in a leaf.
pub struct PendingPair<'k, K: Keys> {
    /// Its key.
    pub search_key: K::SearchKey<'k>,
    /// Its payload.
    pub payload: u64,
}

impl<K: Keys> Clone for PendingPair<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K: Keys> Copy for PendingPair<'_, K> {}

/// What a split makes room for.
pub enum RoomFor<'k, K: Keys> {
    /// Any pair.
    Any,
    /// A pair of this key, which is put after the split.
    Key(K::SearchKey<'k>),
    /// This pair, which the design may put while it splits.
    Pair(PendingPair<'k, K>),
}

impl<K: Keys> Clone for RoomFor<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K: Keys> Copy for RoomFor<'_, K> {}

impl<'k, K: Keys> RoomFor<'k, K> {
    /// The pair that the design may put.
    pub fn pair(self) -> Option<PendingPair<'k, K>> {
        match self {
            RoomFor::Pair(pair) => Some(pair),
            RoomFor::Any | RoomFor::Key(_) => None,
        }
    }

    /// The key of the pair, now or after the split.
    pub fn key(self) -> Option<K::SearchKey<'k>> {
        match self {
            RoomFor::Any => None,
            RoomFor::Key(search_key) => Some(search_key),
            RoomFor::Pair(pair) => Some(pair.search_key),
        }
    }
}

/// A request to make room in a full leaf.
pub struct SplitRequest<'a, 'k, L: Leaf, K: Keys> {
    /// The leaf's number.
    pub own: u32,
    /// Two fresh blocks, which no reader can reach yet.
    pub fresh: [LeafRef<'a, L>; 2],
    /// Further fresh blocks, [`Overflow::SPARE`](super::Overflow::SPARE) in all.
    pub spare: &'a [LeafRef<'a, L>],
    /// The leaf's range.
    pub range: KeyRange<'a, K::Separator>,
    /// The previous leaf, latched too, for designs that recover along versioned links; the first leaf has none.
    pub previous: Option<&'a L>,
    /// What found no room.
    pub room_for: RoomFor<'k, K>,
}

/// The leaves that a split has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split<S> {
    /// The number of the lower half: the leaf's own, or a fresh one.
    pub left: u32,
    /// The separator and the number of the upper half; `None` if all pairs fitted into `left`.
    pub right: Option<(S, u32)>,
    /// Whether the pending pair has been put.
    pub put: bool,
}

impl<S> Split<S> {
    /// A split that has not put the pending pair.
    pub fn new(left: u32, right: Option<(S, u32)>) -> Self {
        Split { left, right, put: false }
    }

    /// Returns the numbers of the leaves, the left one first.
    pub fn leaves(&self) -> impl Iterator<Item = u32> + Clone {
        std::iter::once(self.left).chain(self.right.as_ref().map(|(_, right)| *right))
    }
}

/// A request to make one leaf of two neighbours.
pub struct MergeRequest<'a, L: Leaf, S> {
    /// The left leaf's number.
    pub own: u32,
    /// The right leaf.
    pub right: LeafRef<'a, L>,
    /// A fresh block, if there was one.
    pub fresh: Option<LeafRef<'a, L>>,
    /// The range of both.
    pub range: KeyRange<'a, S>,
    /// The bytes that all keys of that range share. A leaf that stays in place must not leave out more.
    pub shared: usize,
}

/// What a merge has made of two neighbours. The blocks of the leaves that it does not name are free once the caller has
/// retired them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergedInto {
    /// Nothing has changed: together they hold too much for one leaf, or the design does not merge.
    Neither,
    /// The left leaf has both ranges.
    Left,
    /// The right leaf has both ranges.
    Right,
    /// The fresh block has both ranges.
    Fresh,
}
