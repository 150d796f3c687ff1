//! The choices that a level is: how large its nodes are, how they are searched, on which pages they lie, and what is
//! asked for ahead. All of them are types and constants, so that a tree of chosen levels is compiled as one.

use crate::area::Pages;
use crate::key::Key;
use crate::leaf::Leaf;
use crate::nodes::Layout;
use holm_search::Hint;

/// A level of inner nodes, which are sorted.
pub trait Level: 'static {
    /// How a node is searched, and so how it lies in memory.
    type Search: Layout;
    /// Bytes of keys in a node: whole cache lines. A node has as many children as keys fit in.
    const BYTES: usize;
    /// The same where keys have eight bytes.
    const WIDE_BYTES: usize = Self::BYTES;
    /// The pages of the level's areas.
    const PAGES: Pages = Pages::Large;
    /// How a node's keys are asked for when the node is entered, for searches that do not look at all of them at once.
    const KEYS: Hint = Hint::None;
    /// How a node's identifiers are asked for when the node is entered.
    const IDENTIFIERS: Hint = Hint::None;
}

/// A tree: which leaf, and which level at which height.
///
/// There is no limit to the height: what stands on the second level and its like is `Above`, as often as needed.
pub trait Selection: 'static {
    /// Level 0.
    type Leaf<K: Key, V>: Leaf<K, V>;
    /// Level 1, the parents of leaves.
    type First: Level;
    /// Level 2: the root of a large tree.
    type Second: Level;
    /// Levels 3 and up.
    type Above: Level;
}
