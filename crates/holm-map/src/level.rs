//! The choices that define a level: the size of its nodes, their search, their pages, and what is prefetched. All of
//! them are types and constants, so the compiler compiles a tree of chosen levels as one unit.

use crate::area::Pages;
use crate::key::Key;
use crate::leaf::Leaf;
use crate::nodes::Layout;
use holm_search::Hint;

/// A level of inner nodes. Their keys are sorted.
pub trait Level: 'static {
    /// The search within a node. It also decides how the node lies in memory.
    type Search: Layout;
    /// Bytes of keys in a node: whole cache lines. A node has as many children as keys fit in.
    const BYTES: usize;
    /// Bytes of keys in a node if a key has eight bytes; twice as many if it has sixteen.
    const WIDE_BYTES: usize = Self::BYTES;
    /// The pages of the level's areas.
    const PAGES: Pages = Pages::Large;
    /// How a node's keys are prefetched on entry, for searches that do not read all of them at once.
    const KEYS: Hint = Hint::None;
    /// How a node's identifiers are prefetched on entry.
    const IDENTIFIERS: Hint = Hint::None;
}

/// A tree: its leaf, and the level at each height.
///
/// The height has no limit: levels 3 and up all use `Above`.
pub trait Selection: 'static {
    /// Level 0.
    type Leaf<K: Key, V>: Leaf<K, V>;
    /// Level 1: the parents of leaves.
    type First: Level;
    /// Level 2: the root of a large tree.
    type Second: Level;
    /// Levels 3 and up.
    type Above: Level;
}
