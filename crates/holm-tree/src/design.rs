//! A design: one choice of leaf, twig (level 1) and branch (levels 2 and up). A row in every report.

use crate::berth::Berth;
use crate::inner::Inner;
use crate::leaf::{Card, Leaf};
use crate::locks::Locks;

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
