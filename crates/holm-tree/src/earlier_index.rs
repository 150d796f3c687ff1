//! A leaf index made beside writers, for an opening after a crash.
//!
//! It goes from leaf to leaf in key order, as a scan does, and reads a checksum under the leaf's version. It is no
//! instant of the tree: writers go on, and each leaf is as it was when it was read. That is enough. Recovery takes a
//! leaf from the index only if the leaf is still what was read, and takes the separator between two leaves only if both
//! are: what was between them since has changed, or was empty.
//!
//! A leaf that changed after the last epoch that was durable at the beginning counts as changed, whatever its checksum:
//! recovery may have to take it back.

use crate::design::Design;
use crate::index::{SeekTarget, TreeRoot};
use crate::inner::Inner as _;
use crate::keys::Keys;
use crate::tree_set::TreeSet;
use crate::wait::back_off;
use holm_medium::{EarlierIndex, IndexedTree, Medium};

/// How often one leaf is read while writers change it. Then there is no index this time.
const MOST_ATTEMPTS: u32 = 10_000;

/// A leaf that was read.
struct SummedLeaf<S> {
    number: u32,
    sum: u32,
    /// Where its range ended; `None` for the last leaf.
    end: Option<S>,
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// See [`crate::Index::earlier_index`].
    pub(crate) fn index_beside_writers(&self, roots: &[&TreeRoot]) -> Option<EarlierIndex> {
        if !Self::INDEXED {
            return None;
        }
        // Before the first leaf is read.
        let epoch = self.writer.storage().clock.durable();
        let mut trees = roots.iter().map(|root| self.summed_tree(root)).collect::<Option<Vec<_>>>()?;
        trees.sort_unstable_by_key(|tree| tree.keyspace);
        Some(EarlierIndex { trees, epoch })
    }

    fn summed_tree(&self, root: &TreeRoot) -> Option<IndexedTree> {
        let mut tree = IndexedTree::new(root.keyspace());
        let mut low = K::Separator::default();
        loop {
            let leaf = self.summed_leaf(root, &low)?;
            let separator = if tree.is_empty() { Vec::new() } else { K::separator_bytes(&low) };
            // A leaf whose range has grown meanwhile, or whose block was used again, is in the index twice.
            tree.push(&separator, leaf.number, leaf.sum);
            match leaf.end {
                Some(end) => low = end,
                None => return Some(tree),
            }
        }
    }

    fn summed_leaf(&self, root: &TreeRoot, low: &K::Separator) -> Option<SummedLeaf<K::Separator>> {
        let mut turn = 0;
        while turn < MOST_ATTEMPTS && !root.is_dropped() {
            match self.try_sum(root, low) {
                Some(leaf) => return Some(leaf),
                None => back_off(&mut turn),
            }
        }
        None
    }

    /// Reads the leaf whose range holds a separator; `None` if a writer changes it.
    fn try_sum(&self, root: &TreeRoot, low: &K::Separator) -> Option<SummedLeaf<K::Separator>> {
        let (at, end) = self.inner.descend::<K>(root, &SeekTarget::Holding(K::search_key(low)))?;
        let (number, descriptor) = (at.leaf, self.descriptors.get(at.leaf)?);
        let latch = at.latch(number, descriptor);
        let version = latch.read();
        if !at.leaf_parent.latch().validate(at.version) {
            return None;
        }
        let sum = match version {
            Some(version) => self.sum(number).filter(|_| latch.validate(version))?,
            // Nobody has looked at it since it was loaded, and neither does this.
            None => self.loaded_sum(number).filter(|_| latch.is_unseen())?,
        };
        Some(SummedLeaf { number, sum, end })
    }
}
