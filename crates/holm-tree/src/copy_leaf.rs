//! Copies of leaves for scans: one leaf at a time, and the next one ahead.

use crate::departure::LeftLeaf;
use crate::descent::Reached;
use crate::design::{DescriptorOf, Design};
use crate::index::{LeafCopy, LeafCursor, LeafVersion, SeekTarget, TreeRoot};
use crate::inner::Inner as _;
use crate::keys::Keys;
use crate::latch::Version;
use crate::leaf::Leaf as _;
use crate::locks::Locks as _;
use crate::tree_set::TreeSet;
use holm_medium::Medium;
use holm_search::prefetch_lines;

/// Leaves that a scan announces at a time, besides its own.
const MOST_ANNOUNCED: usize = 16;

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Attempts [`Index::copy_leaf`](crate::Index::copy_leaf) once; `None` if a writer is changing the leaf.
    pub(crate) fn try_copy_leaf(
        &self,
        root: &TreeRoot,
        target: &SeekTarget<'_, K>,
        wanted: usize,
        cursor: &mut LeafCursor<K>,
    ) -> Option<()> {
        let (at, edge) = match self.inner.resume(&mut cursor.departure, target) {
            Some((at, edge)) => (at, Some(edge)),
            None => self.inner.descend::<K>(root, target)?,
        };
        let leaf = self.leaf(at.leaf)?;
        prefetch_lines(leaf);
        let descriptor = self.descriptors.get(at.leaf)?;
        let version = self.read_latch(root, at.leaf, at.latch(at.leaf, descriptor))?;
        if !at.leaf_parent.latch().validate(at.version) {
            return None;
        }
        let step = if matches!(target, SeekTarget::Holding(_)) { 1 } else { -1 };
        if self.image.paging().waits() {
            self.announce_leaves(&at, step, wanted);
        }
        let next =
            at.sibling(step).filter(|_| wanted > 0).and_then(|number| Some((number, self.prefetch_leaf(&at, number)?)));
        cursor.was_ahead = cursor.ahead.leaf_version == at.leaf_version(at.leaf, version);
        if cursor.was_ahead {
            std::mem::swap(&mut cursor.current, &mut cursor.ahead);
        } else {
            self.copy_pairs(&at, (at.leaf, version), (leaf, descriptor), &mut cursor.current)?;
        }
        cursor.ahead.leaf_version = LeafVersion::default();
        cursor.ahead.pairs.clear();
        // A scan starts in the middle of its first leaf on average.
        let enough = cursor.current.pairs.len() / 2;
        if let Some(edge) = edge.as_ref().filter(|_| wanted > enough) {
            let (leaf_parent, version, position, forward) = (at.number, at.version, at.position, step > 0);
            cursor.departure.note(LeftLeaf { leaf_parent, version, position, forward }, edge);
        }
        cursor.edge = edge;
        if let Some((number, (leaf, descriptor))) = next.filter(|_| wanted > enough)
            && let Some(version) = self.read_latch(root, number, at.latch(number, descriptor))
            // The parent is validated after the leaf's version is known. A leaf that was freed meanwhile is a block
            // that another writer may be filling, and with a lock array nobody holds the latch that it had.
            && at.leaf_parent.latch().validate(at.version)
            && self.copy_pairs(&at, (number, version), (leaf, descriptor), &mut cursor.ahead).is_some()
            && wanted > enough + cursor.ahead.pairs.len()
        {
            at.sibling(2 * step).map(|number| self.prefetch_leaf(&at, number));
        }
        Some(())
    }

    /// Begins to read from the disk the leaf that a descent has reached, and those after it that hold `wanted` pairs.
    #[cold]
    fn announce_leaves(&self, at: &Reached<'_, D>, step: isize, wanted: usize) {
        self.announce_leaf(at.leaf);
        let more = (wanted.min(1 << 20) * 2 / D::Leaf::CAPACITY).min(MOST_ANNOUNCED) as isize;
        (1..=more).map_while(|count| at.sibling(count * step)).for_each(|number| self.announce_leaf(number));
    }

    /// Copies the pairs of a leaf below a leaf parent, in order; `None` if the leaf changes meanwhile.
    fn copy_pairs(
        &self,
        at: &Reached<'_, D>,
        (number, version): (u32, Version),
        (leaf, descriptor): (&D::Leaf, &DescriptorOf<D>),
        into: &mut LeafCopy,
    ) -> Option<()> {
        let still = || at.leaf_parent.locks().of(&descriptor.latch, number).validate(version);
        (into.leaf_version, into.from_pre_image) = (LeafVersion::default(), false);
        into.pairs.begin(D::Leaf::CAPACITY);
        self.leaf_pairs(leaf, &descriptor.volatile, &mut into.pairs);
        (into.skip, into.stamp) = (leaf.skip(), self.stamp(leaf, &descriptor.volatile));
        if !still() {
            return None;
        }
        into.pairs.sort(&self.keys, self.inner.search, into.skip);
        // Records have decided ties of heads; the order counts only if the leaf has not changed since.
        still().then(|| into.leaf_version = at.leaf_version(number, version))
    }

    /// Prefetches the lines of a leaf that a scan will read soon.
    fn prefetch_leaf<'a>(&'a self, at: &Reached<'a, D>, number: u32) -> Option<(&'a D::Leaf, &'a DescriptorOf<D>)> {
        let (leaf, descriptor) = self.leaf(number).zip(self.descriptors.get(number))?;
        prefetch_lines(leaf);
        holm_search::prefetch(at.latch(number, descriptor));
        Some((leaf, descriptor))
    }
}
