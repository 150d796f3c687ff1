//! A design: one choice of leaf, leaf parent (level 1) and upper node (levels 2 and up); a row in every report.

use crate::descriptor::LeafDescriptor;
use crate::index::Index;
use crate::inner::{Inner, Placement};
use crate::keys::Keys;
use crate::leaf::{Capabilities, Durability as _, Leaf, Merge, Overflow as _, Prefetch, ReadBlock, Recovery as _};
use crate::levels::Levels;
use crate::locks::Locks;
use crate::tree_set::{DurabilityOf, OverflowOf, TreeSet};
use holm_medium::{Agrees, Medium, Writer};
use holm_search::Search;
use std::sync::Arc;

/// One choice of types for the three roles.
pub trait Design: Sized + Send + Sync + 'static {
    /// The name in reports and on command lines.
    const NAME: &'static str;
    /// Levels 2 and up: mostly read.
    type Upper: Inner<Placement: Levels<Self>>;
    /// Level 1.
    type LeafParent: Inner;
    /// Level 0: mostly written. The only durable level, unless the inner nodes say that they are durable too.
    type Leaf: Leaf + Prefetch + Merge;
    /// What it assumes and offers: the leaf's capabilities, and whole keys where durable nodes have room for no others.
    const CAPABILITIES: Capabilities = {
        let in_blocks = <<Self::LeafParent as Inner>::Placement as Placement<Self::LeafParent>>::IN_BLOCKS;
        assert!(in_blocks == <LevelsOf<Self> as Placement<Self::Upper>>::IN_BLOCKS);
        Capabilities {
            source: Self::Leaf::SOURCE,
            per_epoch: DurabilityOf::<Self>::PER_EPOCH,
            needs_line_order: Self::Leaf::NEEDS_LINE_ORDER,
            needs_whole_keys: Self::Leaf::NEEDS_WHOLE_KEYS || LevelsOf::<Self>::NEEDS_WHOLE_KEYS,
            stores_pairs: Self::Leaf::STORES_PAIRS,
            commits_leaves: DurabilityOf::<Self>::COMMIT_ROOM > 0 && !LocksOf::<Self>::IN_NODE,
            indexed: <Self::Leaf as Leaf>::Recovery::INDEXED
                && OverflowOf::<Self>::BLOCKS == 1
                && !LocksOf::<Self>::IN_NODE
                && !in_blocks,
            longest_record: Self::Leaf::LONGEST_RECORD,
            moves_leaves: DurabilityOf::<Self>::MOVES,
        }
    };
}

/// Where a design's leaves have their latches; its leaf parents decide.
pub(crate) type LocksOf<D> = <<D as Design>::LeafParent as Inner>::Locks;

/// The placement of a design's upper nodes, which answers for all levels.
pub(crate) type LevelsOf<D> = <<D as Design>::Upper as Inner>::Placement;

/// The volatile side of a design's leaf.
pub(crate) type DescriptorOf<D> = LeafDescriptor<<D as Design>::Leaf, <LocksOf<D> as Locks>::Own>;

/// Creates a design's tree set over a medium, empty until it is rebuilt.
pub type Open<M, K> = fn(Arc<Writer<M>>, K, Search) -> Box<dyn Index<K>>;

/// A design for a medium and a kind of keys, with its type erased: a row of the table that a store gets.
pub struct Entry<M: Medium, K: Keys> {
    /// The name in reports, on command lines and in superblocks.
    pub name: &'static str,
    /// What it assumes and offers.
    pub capabilities: Capabilities,
    /// Bytes of a leaf block.
    pub block_bytes: u32,
    /// Compares a block with what the log has of it: see [`Versioned::agrees`](crate::leaf::Versioned::agrees).
    pub agrees: Agrees,
    /// Reads a block from a copy of its words; `None` if the design cannot be read so.
    pub read_block: Option<ReadBlock>,
    /// Opens a tree set, empty until it is rebuilt. Only for keys that the design supports.
    pub open: Open<M, K>,
}

impl<M: Medium, K: Keys> Entry<M, K> {
    /// Returns the entry of a design.
    pub fn of<D: Design>() -> Self {
        let in_blocks = <LevelsOf<D> as Placement<D::Upper>>::IN_BLOCKS;
        Entry {
            name: D::NAME,
            capabilities: D::CAPABILITIES,
            block_bytes: size_of::<D::Leaf>() as u32,
            agrees: DurabilityOf::<D>::agrees,
            read_block: if in_blocks { None } else { DurabilityOf::<D>::READ_BLOCK },
            open: |writer, keys, search| Box::new(TreeSet::<M, D, K>::new(writer, keys, search)),
        }
    }
}
