//! A design under test, without its type: its capabilities, its sizes, and its trees over a recorded storage.
//!
//! All uses of a design in the proof go through here, so the proof is compiled once and not for each design. A design
//! adds only its own trees, once in this crate (`subjects.rs`).

use crate::recorded::Recorded;
use holm_designs::leaf::canary::Bug;
use holm_medium::{Area, Image, Loc, Writer};
use holm_search::Search;
use holm_tree::inner::Inner;
use holm_tree::leaf::{
    AlongLinks, ByBlock, ByRange, ByVersions, Capabilities, Durability, Leaf, LeafRef, Linked, MOST_PAIRS, Merge,
    Overflow, Pairs, Prefetch, ReadContext,
};
use holm_tree::{Design, Index, Lookup, TreeRoot, TreeSet, Words};
use std::sync::Arc;

/// A tree as the proof sees it: what a store uses, and what only the proof needs.
pub trait Tree: Index<Words> {
    /// As [`TreeSet::try_get`].
    fn try_get(&self, root: &TreeRoot, key: u64) -> Option<Lookup>;
    /// As [`TreeSet::try_get_at`].
    fn try_get_at(&self, root: &TreeRoot, generation: u64, key: u64) -> Option<Lookup>;
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

    fn try_get_at(&self, root: &TreeRoot, generation: u64, key: u64) -> Option<Lookup> {
        TreeSet::try_get_at(self, root, generation, key).map(|found| found.lookup)
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
    /// The most blocks of a leaf.
    pub blocks: usize,
    /// Bytes of a leaf's block.
    pub block: usize,
    /// The largest number of leaves below one leaf parent.
    pub children: usize,
    bug: Bug,
    tree: fn(Arc<Writer<Recorded>>) -> Arc<dyn Tree>,
    bare: fn(&Image, u32, u64) -> Option<u64>,
    read_all: fn(&Image, u32, &[u64]),
    merges: fn() -> bool,
}

impl Subject {
    /// A design; this call compiles its trees.
    pub const fn of<D: Design<Leaf: Leaf<Recovery: Links<D::Leaf>>>>() -> Subject {
        Self::with_bug::<D>(D::NAME, Bug::None)
    }

    /// The canary under the name of one of its bugs. All of them share their trees' code.
    pub const fn with_bug<D: Design<Leaf: Leaf<Recovery: Links<D::Leaf>>>>(name: &'static str, bug: Bug) -> Subject {
        Subject {
            name,
            bug,
            capabilities: D::CAPABILITIES,
            capacity: if D::Leaf::CAPACITY < MOST_PAIRS { D::Leaf::CAPACITY } else { MOST_PAIRS },
            blocks: <<D::Leaf as Leaf>::Overflow as Overflow<D::Leaf>>::BLOCKS,
            block: size_of::<D::Leaf>(),
            children: D::LeafParent::CHILDREN,
            tree: |writer| Arc::new(TreeSet::<_, D, _>::new(writer, Words, Search::detect())),
            bare: bare::<D::Leaf>,
            read_all: read_all::<D::Leaf>,
            merges: merges::<D::Leaf>,
        }
    }

    /// Whether tests open many times the images of a block of 512 bytes: leaves of several blocks, leaves of two
    /// kilobytes, and versions of lines or links instead of slots, all of which recovery reads. The explorer then
    /// crashes again after fewer images, and its hunt for mutants is sampled, unless [`crate::mutants::EVERY_TRIAL`]
    /// is set.
    pub(crate) fn has_many_images(&self) -> bool {
        let by_slot = self.capabilities.commits_leaves || !self.capabilities.per_epoch;
        self.blocks > 1 || self.block > 1_024 || !by_slot
    }

    /// The number of a keyspace for the design's trees, with its bug if it has one.
    pub fn keyspace(&self, number: u32) -> u32 {
        self.bug.keyspace(number)
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

fn context<'a, L: Leaf>(image: &'a Image, volatile: &'a L::Volatile) -> ReadContext<'a, L::Volatile, Words> {
    ReadContext { volatile, keys: &Words, search: Search::detect(), image: Some(image) }
}

fn bare<L: Leaf>(image: &Image, number: u32, key: u64) -> Option<u64> {
    let leaf = leaf_of::<L>(image, number)?;
    let volatile = L::Volatile::default();
    let context = context::<L>(image, &volatile);
    leaf.rebuild_volatile(context);
    leaf.get(context, key)
}

fn read_all<L>(image: &Image, number: u32, search_keys: &[u64])
where
    L: Prefetch + Merge<Recovery: Links<L>>,
{
    let Some(leaf) = leaf_of::<L>(image, number) else { return };
    let volatile = L::Volatile::default();
    let context = context::<L>(image, &volatile);
    leaf.rebuild_volatile(context);
    leaf.block_pairs(&volatile, &mut Pairs::default());
    L::Overflow::pairs(leaf, context, &mut Pairs::default());
    for search_key in search_keys {
        let _ = (leaf.get(context, *search_key), leaf.candidate_payload(context, *search_key));
        let _ = leaf.candidate(context, *search_key);
    }
    let _ = leaf.may_merge(context, LeafRef { number, leaf, volatile: &volatile });
    let _ = (leaf.sparse(context), leaf.skip(), L::Durability::stamp(leaf, context), L::Recovery::next(leaf));
    let _ = (
        L::Overflow::block(leaf, context, 1),
        L::Overflow::block(leaf, context, L::Overflow::BLOCKS),
        L::Overflow::take_detached(leaf, &volatile),
    );
}

/// The link of a leaf to the next one, where the design has links.
pub trait Links<L> {
    /// As [`Linked::next`].
    fn next(leaf: &L) -> u32;
}

impl<L: Linked, P> Links<L> for AlongLinks<P> {
    fn next(leaf: &L) -> u32 {
        leaf.next()
    }
}

impl<L> Links<L> for ByBlock {
    fn next(_: &L) -> u32 {
        0
    }
}

impl<L> Links<L> for ByRange {
    fn next(_: &L) -> u32 {
        0
    }
}

impl<L> Links<L> for ByVersions {
    fn next(_: &L) -> u32 {
        0
    }
}

fn merges<L: Merge>() -> bool {
    let image = Image::heap(size_of::<L>(), 0);
    leaf_of::<L>(&image, 0).is_some_and(|leaf| leaf.sparse(context::<L>(&image, &Default::default())))
}
