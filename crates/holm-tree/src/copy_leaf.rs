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
use crate::wanted::Wanted;
use holm_medium::Medium;
use holm_search::prefetch_lines;

/// Leaves that a scan announces at a time, besides its own.
const MOST_ANNOUNCED: usize = 16;

/// How many pairs of a leaf's copy a scan to this target passes, if they are all visible. Keys whose heads are that of
/// the target count, so the next leaf can be read ahead too seldom, which costs time, and nothing else.
#[inline]
fn pairs_from<K: Keys>(target: &SeekTarget<'_, K>, copy: &LeafCopy) -> usize {
    let below = |key| {
        let head = K::head(key, copy.skip);
        copy.pairs.partition_point(|slot| slot.head < head)
    };
    match *target {
        SeekTarget::Holding(key) => copy.pairs.len() - below(key),
        SeekTarget::Below(key) => below(key),
        SeekTarget::Last => copy.pairs.len(),
    }
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Attempts [`Index::copy_leaf`](crate::Index::copy_leaf) once; `None` if a writer is changing the leaf.
    pub(crate) fn try_copy_leaf(
        &self,
        root: &TreeRoot,
        target: &SeekTarget<'_, K>,
        wanted: Wanted<'_, K>,
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
        let forward = matches!(target, SeekTarget::Holding(_));
        let step = if forward { 1 } else { -1 };
        let wanted = if wanted.goes_beyond(edge.as_ref(), forward) { wanted.pairs } else { 0 };
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
        let enough = pairs_from(target, &cursor.current);
        if let Some(edge) = edge.as_ref().filter(|_| wanted > enough) {
            let (leaf_parent, version, position) = (at.number, at.version, at.position);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Index as _;
    use crate::keys::Words;
    use crate::{TreeSet, designs};
    use holm_medium::{FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage, StorageOps as _};
    use holm_search::Search;
    use std::sync::Arc;

    /// Every pair that a scan does not pass in its own leaf is in the next one, and a copy of that one in vain is, with
    /// data larger than memory, a fault in vain.
    #[test]
    fn a_scan_reads_ahead_what_its_own_leaf_lacks() {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let medium = Mapped::anonymous(options).expect("address space");
        let writer = Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory"));
        let trees: TreeSet<_, designs::buffered, Words> = TreeSet::new(writer.clone(), Words, Search::detect());
        let root = trees.create_tree(&mut writer.clock().pin().expect("sound"), 7).expect("memory");
        for key in 0..1_000 {
            trees.put(&root, &mut writer.clock().pin().expect("sound"), key * 10, 1).expect("memory");
        }
        let copy = |target, wanted| {
            let mut cursor = LeafCursor::default();
            trees.copy_leaf(&root, target, wanted, &mut cursor);
            (cursor.pairs.iter().map(|slot| slot.head).collect::<Vec<_>>(), cursor.edge, cursor.ahead.pairs.len())
        };
        let (own, edge, ahead) = copy(SeekTarget::Holding(5_000), Wanted::leaf());
        let (first, last, edge) = (own[0], own[own.len() - 1], edge.expect("a leaf in the middle"));
        assert!(own.len() > 4 && ahead == 0, "{own:?}");
        // Forwards, from the third pair on, and from between it and the one before.
        for from in [own[2], own[2] - 5] {
            let ahead = |wanted| copy(SeekTarget::Holding(from), wanted).2;
            assert_eq!(ahead(Wanted::pairs(own.len() - 2)), 0);
            assert!(ahead(Wanted::pairs(own.len() - 1)) > 0);
            let until = |key| Wanted { until: Some(key), ..Wanted::pairs(usize::MAX) };
            assert_eq!([ahead(until(last)), ahead(until(edge))], [0, 0], "the bound is not of the scan");
            assert!(ahead(until(edge + 1)) > 0);
        }
        assert_eq!(copy(SeekTarget::Holding(last + 1), Wanted::leaf()).0, own, "the pair after it is beyond the edge");
        assert!(copy(SeekTarget::Holding(last + 1), Wanted::pairs(1)).2 > 0);
        // Backwards, from the third pair from the end on, which is in the scan.
        let (backwards, start, _) = copy(SeekTarget::Below(own[own.len() - 3] + 1), Wanted::leaf());
        let start = start.expect("a leaf in the middle");
        assert!(backwards == own && start <= first);
        let ahead = |wanted| copy(SeekTarget::Below(own[own.len() - 3] + 1), wanted).2;
        assert_eq!(ahead(Wanted::pairs(own.len() - 2)), 0);
        assert!(ahead(Wanted::pairs(own.len() - 1)) > 0);
        let until = |key| Wanted { until: Some(key), ..Wanted::pairs(usize::MAX) };
        assert_eq!([ahead(until(first)), ahead(until(start))], [0, 0], "the leaf has the bound");
        assert!(ahead(until(start - 1)) > 0);
        // The last leaf has no next one.
        assert_eq!(copy(SeekTarget::Holding(9_990), Wanted::pairs(usize::MAX)).2, 0);
    }
}
