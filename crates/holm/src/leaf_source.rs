//! Where a scan copies leaves from: the trees as they are, a snapshot, or whatever a handle reads.

use crate::error::Result;
use crate::keys::Records;
use crate::keyspace_tree::KeyspaceTree;
use crate::store::Store;
use holm_tree::{LeafCursor, SeekTarget, TreeRoot, Wanted};

/// Where a scan copies leaves from.
pub(crate) trait LeafSource {
    /// The store that has them.
    fn store(&self) -> &Store;
    /// As [`Index::copy_leaf`](holm_tree::Index::copy_leaf).
    fn copy_leaf(
        &self,
        root: &TreeRoot,
        target: SeekTarget<'_, Records>,
        wanted: Wanted<'_, Records>,
        cursor: &mut LeafCursor<Records>,
    );
    /// Whether the records of a leaf that was copied stay as they are, also if the leaf changes. If not, a copy of them
    /// is validated.
    #[inline]
    fn keeps_records(&self) -> bool {
        false
    }
    /// Whether each record that is copied is compared with its checksum. Otherwise only its lengths are, and a value
    /// that is damaged at rest is copied as it is.
    #[inline]
    fn compares_checksums(&self) -> bool {
        false
    }
    /// Refuses a keyspace whose leaves may belong to another one by now. Called after what was read is copied.
    #[inline]
    fn check(&self, tree: &KeyspaceTree) -> Result<()> {
        tree.check_not_dropped()
    }
}

impl LeafSource for Store {
    fn store(&self) -> &Store {
        self
    }

    fn copy_leaf(
        &self,
        root: &TreeRoot,
        target: SeekTarget<'_, Records>,
        wanted: Wanted<'_, Records>,
        cursor: &mut LeafCursor<Records>,
    ) {
        self.index.copy_leaf(root, target, wanted, cursor);
    }
}
