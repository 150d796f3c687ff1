//! A design under test, without its type: its capabilities, its sizes, and its trees over a recorded storage.
//!
//! All uses of a design in the proof go through here, so the proof is compiled once and not for each design. A design
//! adds only its own trees, once in this crate (`subjects.rs`).

use crate::recorded::Recorded;
use holm_medium::{Area, Image, Loc, Writer};
use holm_search::Search;
use holm_tree::inner::Inner;
use holm_tree::leaf::{Capabilities, Leaf, MOST_PAIRS, Pairs, ReadContext};
use holm_tree::{Design, Index, Lookup, TreeRoot, TreeSet, Words};
use std::sync::Arc;

/// A tree as the proof sees it: what a store uses, and what only the proof needs.
pub trait Tree: Index<Words> {
    /// As [`TreeSet::try_get`].
    fn try_get(&self, root: &TreeRoot, key: u64) -> Option<Lookup>;
    /// As [`TreeSet::nodes`].
    fn nodes(&self, root: &TreeRoot) -> Vec<u32>;
    /// As [`TreeSet::height`].
    fn height(&self, root: &TreeRoot) -> u32;
    /// As [`TreeSet::blocks_of`].
    fn blocks_of(&self, leaf: u32) -> Vec<u32>;
}

impl<D: Design> Tree for TreeSet<Recorded, D, Words> {
    fn try_get(&self, root: &TreeRoot, key: u64) -> Option<Lookup> {
        TreeSet::try_get(self, root, key)
    }

    fn nodes(&self, root: &TreeRoot) -> Vec<u32> {
        TreeSet::nodes(self, root)
    }

    fn height(&self, root: &TreeRoot) -> u32 {
        TreeSet::height(self, root)
    }

    fn blocks_of(&self, leaf: u32) -> Vec<u32> {
        TreeSet::blocks_of(self, leaf).collect()
    }
}

/// A design under test.
pub struct Subject {
    /// Its name.
    pub name: &'static str,
    /// What its leaf assumes and offers.
    pub capabilities: Capabilities,
    /// The largest number of pairs in one leaf, for scripts.
    pub capacity: usize,
    /// Bytes of a leaf's block.
    pub block: usize,
    /// The largest number of leaves below one leaf parent.
    pub children: usize,
    tree: fn(Arc<Writer<Recorded>>) -> Arc<dyn Tree>,
    bare: fn(&Image, u32, u64) -> Option<u64>,
    read_all: fn(&Image, u32, &[u64]),
    merges: fn() -> bool,
}

impl Subject {
    /// A design; this call compiles its trees.
    pub const fn of<D: Design>() -> Subject {
        Subject {
            name: D::NAME,
            capabilities: D::Leaf::CAPABILITIES,
            capacity: if D::Leaf::CAPACITY < MOST_PAIRS { D::Leaf::CAPACITY } else { MOST_PAIRS },
            block: size_of::<D::Leaf>(),
            children: D::LeafParent::CHILDREN,
            tree: |writer| Arc::new(TreeSet::<_, D, _>::new(writer, Words, Search::detect())),
            bare: bare::<D::Leaf>,
            read_all: read_all::<D::Leaf>,
            merges: merges::<D::Leaf>,
        }
    }

    /// An empty tree over a recorded storage.
    pub fn tree(&self, writer: Arc<Writer<Recorded>>) -> Arc<dyn Tree> {
        (self.tree)(writer)
    }

    /// The payload of a key in a leaf, without any latch.
    pub(crate) fn bare(&self, image: &Image, number: u32, key: u64) -> Option<u64> {
        (self.bare)(image, number, key)
    }

    /// Calls all read functions of a leaf, whatever bits it has. The test is that this returns.
    pub(crate) fn read_all(&self, image: &Image, number: u32, search_keys: &[u64]) {
        (self.read_all)(image, number, search_keys);
    }

    /// Whether the design ever merges: an empty leaf is then worth an attempt.
    pub(crate) fn merges(&self) -> bool {
        (self.merges)()
    }
}

fn leaf_of<L: Leaf>(image: &Image, number: u32) -> Option<&L> {
    image.at(Loc::new(Area::Leaves, u64::from(number) * size_of::<L>() as u64))
}

fn context(image: &Image) -> ReadContext<'_, Words> {
    ReadContext { keys: &Words, search: Search::detect(), image: Some(image) }
}

fn bare<L: Leaf>(image: &Image, number: u32, key: u64) -> Option<u64> {
    let leaf = leaf_of::<L>(image, number)?;
    let volatile = L::Volatile::default();
    leaf.rebuild_volatile(&volatile, context(image));
    leaf.get(&volatile, context(image), key)
}

fn read_all<L: Leaf>(image: &Image, number: u32, search_keys: &[u64]) {
    let Some(leaf) = leaf_of::<L>(image, number) else { return };
    let volatile = L::Volatile::default();
    let context = context(image);
    leaf.rebuild_volatile(&volatile, context);
    leaf.block_pairs(&volatile, &mut Pairs::default());
    leaf.leaf_pairs(&volatile, context, &mut Pairs::default());
    for search_key in search_keys {
        let _ = (leaf.get(&volatile, context, *search_key), leaf.candidate_payload(&volatile, context, *search_key));
    }
    let _ = leaf.join(&volatile, (leaf, &volatile), context);
    let _ = (leaf.sparse(&volatile, context), leaf.skip(), leaf.stamp(&volatile, context), leaf.next());
    let _ = (
        leaf.overflow_block(&volatile, context, 1),
        leaf.overflow_block(&volatile, context, L::BLOCKS),
        leaf.take_detached(&volatile),
    );
}

fn merges<L: Leaf>() -> bool {
    let image = Image::heap(size_of::<L>(), 0);
    leaf_of::<L>(&image, 0).is_some_and(|leaf| leaf.sparse(&Default::default(), context(&image)))
}
