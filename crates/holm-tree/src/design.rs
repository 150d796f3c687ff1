//! A design: one choice of leaf, twig (level 1) and branch (levels 2 and up). A row in every report.

use crate::berth::Berth;
use crate::forest::Forest;
use crate::index::Index;
use crate::inner::Inner;
use crate::keys::Keys;
use crate::leaf::{Card, Leaf};
use crate::locks::Locks;
use holm_medium::{Agrees, Medium, Quill};
use holm_search::Search;
use std::sync::Arc;

/// One choice of modules for the three roles.
pub trait Design: Send + Sync + 'static {
    /// The name in reports and on command lines.
    const NAME: &'static str;
    /// Levels 2 and up: read most.
    type Branch: Inner;
    /// Level 1.
    type Twig: Inner;
    /// Level 0: written most. The only durable one, unless twig and branch say that they are, too.
    type Leaf: Leaf;
    /// What it assumes and offers: the leaf's card, and whole keys where durable nodes have no room for others.
    const CARD: Card = {
        assert!(Self::Twig::DURABLE == Self::Branch::DURABLE);
        let needs_whole_keys = Self::Leaf::CARD.needs_whole_keys || Self::Twig::DURABLE;
        Card { needs_whole_keys, ..Self::Leaf::CARD }
    };
}

/// Where a design's leaves have their latches: its twigs say.
pub(crate) type LocksOf<D> = <<D as Design>::Twig as Inner>::Locks;

/// The volatile side of a design's leaf.
pub(crate) type BerthOf<D> = Berth<<D as Design>::Leaf, <LocksOf<D> as Locks>::Own>;

/// Makes a design's tree over a medium, empty until it is rebuilt.
pub type Open<M, K> = fn(Arc<Quill<M>>, K, Search) -> Box<dyn Index<K>>;

/// A design over a medium and for a kind of keys, without its type: a row of the table that a store is given.
pub struct Entry<M: Medium, K: Keys> {
    /// The name in reports, on command lines and in superblocks.
    pub name: &'static str,
    /// What it assumes and offers.
    pub card: Card,
    /// Bytes of a leaf block.
    pub block_bytes: u32,
    /// Whether a block agrees with what the log has of it: see [`Leaf::agrees`].
    pub agrees: Agrees,
    /// Opens a tree, empty until it is rebuilt. Only for keys that the card suits.
    pub open: Open<M, K>,
}

impl<M: Medium, K: Keys> Entry<M, K> {
    /// The entry of a design.
    pub fn of<D: Design>() -> Self {
        Entry {
            name: D::NAME,
            card: D::CARD,
            block_bytes: size_of::<D::Leaf>() as u32,
            agrees: D::Leaf::agrees,
            open: |quill, keys, search| Box::new(Forest::<M, D, K>::new(quill, keys, search)),
        }
    }
}
