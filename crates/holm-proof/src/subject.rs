//! A design under test, without its type: its capabilities, its sizes, and its trees over a recorded storage.
//!
//! All uses of a design in the proof go through here, so the proof is compiled once and not for each design. A design
//! adds only its own trees, once in this crate (`subjects.rs`).

use crate::recorded::Recorded;
use holm_medium::{Area, Image, Loc, Quill};
use holm_search::Search;
use holm_tree::inner::Inner;
use holm_tree::leaf::{Card, Leaf, Lens, MOST_PAIRS, Pairs};
use holm_tree::{Design, Forest, Index, Root, Sighting, Words};
use std::sync::Arc;

/// A tree as the proof sees it: what a store uses, and what only the proof needs.
pub trait Tree: Index<Words> {
    /// As [`TreeSet::try_get`].
    fn try_get(&self, root: &Root, key: u64) -> Option<Sighting>;
    /// As [`TreeSet::nodes`].
    fn nodes(&self, root: &Root) -> Vec<u32>;
    /// As [`TreeSet::height`].
    fn height(&self, root: &Root) -> u32;
    /// As [`TreeSet::blocks_of`].
    fn blocks_of(&self, leaf: u32) -> Vec<u32>;
}

impl<D: Design> Tree for Forest<Recorded, D, Words> {
    fn try_get(&self, root: &Root, key: u64) -> Option<Sighting> {
        Forest::try_get(self, root, key)
    }

    fn nodes(&self, root: &Root) -> Vec<u32> {
        Forest::nodes(self, root)
    }

    fn height(&self, root: &Root) -> u32 {
        Forest::height(self, root)
    }

    fn blocks_of(&self, leaf: u32) -> Vec<u32> {
        Forest::blocks_of(self, leaf).collect()
    }
}

/// A design under test.
pub struct Subject {
    /// Its name.
    pub name: &'static str,
    /// What its leaf assumes and offers.
    pub card: Card,
    /// The largest number of pairs in one leaf, for scripts.
    pub capacity: usize,
    /// Bytes of a leaf's block.
    pub block: usize,
    /// The largest number of leaves below one leaf parent.
    pub children: usize,
    tree: fn(Arc<Quill<Recorded>>) -> Arc<dyn Tree>,
    bare: fn(&Image, u32, u64) -> Option<u64>,
    read_all: fn(&Image, u32, &[u64]),
    merges: fn() -> bool,
}

impl Subject {
    /// A design; this call compiles its trees.
    pub const fn of<D: Design>() -> Subject {
        Subject {
            name: D::NAME,
            card: D::Leaf::CARD,
            capacity: if D::Leaf::CAPACITY < MOST_PAIRS { D::Leaf::CAPACITY } else { MOST_PAIRS },
            block: size_of::<D::Leaf>(),
            children: D::Twig::CHILDREN,
            tree: |quill| Arc::new(Forest::<_, D, _>::new(quill, Words, Search::detect())),
            bare: bare::<D::Leaf>,
            read_all: read_all::<D::Leaf>,
            merges: merges::<D::Leaf>,
        }
    }

    /// An empty tree over a recorded storage.
    pub fn tree(&self, quill: Arc<Quill<Recorded>>) -> Arc<dyn Tree> {
        (self.tree)(quill)
    }

    /// The payload of a key in a leaf, without any latch.
    pub(crate) fn bare(&self, image: &Image, number: u32, key: u64) -> Option<u64> {
        (self.bare)(image, number, key)
    }

    /// Calls all read functions of a leaf, whatever bits it has. The test is that this returns.
    pub(crate) fn read_all(&self, image: &Image, number: u32, probes: &[u64]) {
        (self.read_all)(image, number, probes);
    }

    /// Whether the design ever merges: an empty leaf is then worth an attempt.
    pub(crate) fn merges(&self) -> bool {
        (self.merges)()
    }
}

fn leaf_of<L: Leaf>(image: &Image, number: u32) -> Option<&L> {
    image.at(Loc::new(Area::Leaves, u64::from(number) * size_of::<L>() as u64))
}

fn lens(image: &Image) -> Lens<'_, Words> {
    Lens { keys: &Words, search: Search::detect(), image: Some(image) }
}

fn bare<L: Leaf>(image: &Image, number: u32, key: u64) -> Option<u64> {
    let leaf = leaf_of::<L>(image, number)?;
    let beside = L::Beside::default();
    leaf.rederive(&beside, lens(image));
    leaf.get(&beside, lens(image), key)
}

fn read_all<L: Leaf>(image: &Image, number: u32, probes: &[u64]) {
    let Some(leaf) = leaf_of::<L>(image, number) else { return };
    let beside = L::Beside::default();
    let lens = lens(image);
    leaf.rederive(&beside, lens);
    leaf.live(&beside, &mut Pairs::default());
    leaf.gather(&beside, lens, &mut Pairs::default());
    for probe in probes {
        let _ = (leaf.get(&beside, lens, *probe), leaf.glance(&beside, lens, *probe));
    }
    let _ = leaf.join(&beside, (leaf, &beside), lens);
    let _ = (leaf.sparse(&beside, lens), leaf.skip(), leaf.stamp(&beside, lens), leaf.next());
    let _ = (leaf.behind(&beside, lens, 1), leaf.behind(&beside, lens, L::BLOCKS), leaf.shed(&beside));
}

fn merges<L: Leaf>() -> bool {
    let image = Image::heap(size_of::<L>(), 0);
    leaf_of::<L>(&image, 0).is_some_and(|leaf| leaf.sparse(&Default::default(), lens(&image)))
}
