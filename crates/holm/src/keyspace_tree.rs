//! One keyspace's tree and its name, shared by all handles of the keyspace.

use crate::error::{Error, Result};
use holm_medium::MediumError;
use holm_tree::TreeRoot;
use std::sync::Arc;

/// One keyspace's tree.
pub(crate) struct KeyspaceTree {
    pub(crate) name: String,
    pub(crate) root: TreeRoot,
}

impl KeyspaceTree {
    pub(crate) fn new(name: &str, root: TreeRoot) -> Arc<Self> {
        Arc::new(KeyspaceTree { name: name.into(), root })
    }

    /// Refuses a keyspace that was dropped. A writer checks after it has pinned its epoch. A drop sets the mark and
    /// then waits for the epoch to end, so each writer that the drop does not wait for sees the mark. A reader checks
    /// after it has copied its result: leaves of a dropped tree may belong to another keyspace by then.
    #[inline]
    pub(crate) fn check_not_dropped(&self) -> Result<()> {
        if self.root.is_dropped() {
            return Err(Error::Dropped { keyspace: self.name.clone() });
        }
        Ok(())
    }

    /// Explains why a change was refused: `Dropped` if the keyspace was dropped, else the given error.
    pub(crate) fn explain(&self, error: MediumError) -> Error {
        self.check_not_dropped().err().unwrap_or_else(|| error.into())
    }
}
