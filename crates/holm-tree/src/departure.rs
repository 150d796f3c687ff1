//! Where a scan has left a leaf, so that it need not descend from the root to the next one.

use crate::keys::Keys;
use crate::latch::Version;

/// Where a scan has left a leaf parent, between two of its leaves.
pub(crate) struct Departure<K: Keys> {
    /// `None` if the scan begins, or ends.
    pub(crate) leaf: Option<LeftLeaf>,
    /// The edge of that leaf at which the scan goes on.
    pub(crate) edge: K::Separator,
}

/// The leaf that a scan has left last.
pub(crate) struct LeftLeaf {
    /// The number of its leaf parent.
    pub(crate) leaf_parent: u32,
    /// The leaf parent's version then.
    pub(crate) version: Version,
    /// Its position in the leaf parent.
    pub(crate) position: usize,
    /// Whether the scan goes on at its upper edge. From the other side, the same key leads to the leaf itself.
    pub(crate) forward: bool,
}

impl<K: Keys> Default for Departure<K> {
    fn default() -> Self {
        Departure { leaf: None, edge: K::Separator::default() }
    }
}

impl<K: Keys> Departure<K> {
    /// Notes that a scan leaves a leaf at an edge of its range. Keeps the memory of the edge before.
    pub(crate) fn note(&mut self, leaf: LeftLeaf, edge: &K::Separator) {
        self.edge.clone_from(edge);
        self.leaf = Some(leaf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::{LeafCursor, SeekTarget, TreeRoot};
    use crate::inner::Inner as _;
    use crate::keys::Words;
    use crate::wanted::Wanted;
    use crate::{Index as _, TreeSet, designs};
    use holm_medium::{FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage, StorageOps as _, Writer};
    use holm_search::Search;
    use std::sync::Arc;

    type Trees = TreeSet<Mapped, designs::buffered, Words>;

    /// A tree with every hundredth number.
    fn tree() -> (Arc<Writer<Mapped>>, Trees, TreeRoot) {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let medium = Mapped::anonymous(options).expect("address space");
        let writer = Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory"));
        let trees = Trees::new(writer.clone(), Words, Search::detect());
        let root = trees.create_tree(&mut writer.clock().pin().expect("sound"), 7).expect("memory");
        for key in 0..10_000 {
            put(&writer, &trees, &root, key * 100);
        }
        (writer, trees, root)
    }

    fn put(writer: &Writer<Mapped>, trees: &Trees, root: &TreeRoot, key: u64) {
        trees.put(root, &mut writer.clock().pin().expect("sound"), key, key + 1).expect("memory");
    }

    fn copied(departure: &Departure<Words>) -> Departure<Words> {
        let leaf = departure.leaf.as_ref().map(|left| LeftLeaf { ..*left });
        Departure { leaf, edge: departure.edge }
    }

    fn target(key: Option<u64>, forward: bool) -> SeekTarget<'static, Words> {
        match key {
            Some(key) if forward => SeekTarget::Holding(key),
            Some(key) => SeekTarget::Below(key),
            None if forward => SeekTarget::Holding(0),
            None => SeekTarget::Last,
        }
    }

    #[test]
    fn a_scan_goes_on_where_a_descent_leads_and_mostly_without_one() {
        let (_writer, trees, root) = tree();
        for forward in [true, false] {
            let (mut cursor, mut edge, mut keys) = (LeafCursor::default(), None, Vec::new());
            let (mut leaves, mut resumed) = (0, 0);
            loop {
                let next = target(edge, forward);
                if let Some((at, beyond)) = trees.inner.resume(&mut copied(&cursor.departure), &next) {
                    let (expected, edge) = trees.inner.descend::<Words>(&root, &next).expect("no writers");
                    assert_eq!(
                        (at.leaf, at.position, at.version),
                        (expected.leaf, expected.position, expected.version)
                    );
                    assert_eq!(Some(beyond), edge);
                    resumed += 1;
                }
                trees.copy_leaf(&root, next, Wanted::pairs(usize::MAX), &mut cursor);
                leaves += 1;
                match forward {
                    true => keys.extend(cursor.pairs.iter().map(|slot| slot.head)),
                    false => keys.extend(cursor.pairs.iter().rev().map(|slot| slot.head)),
                }
                edge = match cursor.edge.take() {
                    None => break,
                    edge => edge,
                };
            }
            assert!(resumed * 10 > leaves * 8, "{resumed} of {leaves} leaves");
            let is_ordered = keys.array_windows().all(|[a, b]| if forward { a < b } else { a > b });
            assert!(is_ordered && keys.len() == 10_000, "{} keys", keys.len());
        }
    }

    /// A split moves what lies beside the leaf that was left.
    #[test]
    fn a_scan_does_not_go_on_below_a_leaf_parent_that_has_changed() {
        let (writer, trees, root) = tree();
        let mut cursor = LeafCursor::default();
        trees.copy_leaf(&root, target(None, true), Wanted::pairs(usize::MAX), &mut cursor);
        let edge = cursor.edge.take();
        // Elsewhere in another node, or another key: the leaf parent is as it was.
        let elsewhere = target(edge.map(|edge| edge + 1), true);
        assert!(trees.inner.resume(&mut copied(&cursor.departure), &elsewhere).is_none());
        assert!(trees.inner.resume(&mut copied(&cursor.departure), &target(None, false)).is_none());
        // The other end of the scan comes to the leaf that was left.
        assert!(trees.inner.resume(&mut copied(&cursor.departure), &target(edge, false)).is_none());
        (1..100).for_each(|key| put(&writer, &trees, &root, key));
        let (at, _) = trees.inner.resume(&mut copied(&cursor.departure), &target(edge, true)).expect("its leaf parent");
        assert!(!at.leaf_parent.latch().validate(at.version));
        trees.copy_leaf(&root, target(edge, true), Wanted::pairs(usize::MAX), &mut cursor);
        assert!(cursor.pairs.first().is_some_and(|slot| Some(slot.head) >= edge), "{:?}", cursor.pairs.first());
    }
}
