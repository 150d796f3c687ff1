//! Opening for reading. Nothing in the folder changes: what a rebuild adds stays in memory.

use super::named::Named;
use super::rebuilt::Unnamed;
use crate::engine::ReadOnlyEngine;
use crate::error::{Error, Result};
use crate::recovery::Recovery;
use crate::store::WritableStore;
use holm_medium::{Epoch, ReadOnlyLock};
use holm_tree::leaf::RecoveryPoint;

/// A cleanly closed database whose files are open under a shared lock, and whose leaves are still to be read.
pub(super) struct ClosedFiles {
    pub(super) store: WritableStore,
    /// The epoch after the last logged one.
    pub(super) active: Epoch,
    pub(super) recovery: Recovery,
    /// That the leaves have not the checksum that they had when they were closed.
    pub(super) changed_leaves: Option<Error>,
    pub(super) lock: ReadOnlyLock,
}

/// For reading: the lock, and what is wrong with the leaves.
pub(super) struct ToRead {
    changed_leaves: Option<Error>,
    lock: ReadOnlyLock,
}

impl ClosedFiles {
    /// Builds the trees from the leaves.
    pub(super) fn rebuild(self, threads: usize) -> Result<Unnamed<ToRead>> {
        let ClosedFiles { store, active, mut recovery, changed_leaves, lock } = self;
        let rebuilt = store.index.rebuild(RecoveryPoint::Visible, active, threads)?;
        recovery.blocks_read = rebuilt.blocks_read;
        recovery.incomplete = changed_leaves.is_some();
        Ok(Unnamed::new(store, rebuilt.roots, recovery, ToRead { changed_leaves, lock }))
    }
}

impl Unnamed<ToRead> {
    /// Reads the catalog. Reports a damaged name: the other keyspaces can still be read.
    pub(super) fn read_catalog(self) -> Result<Named<ToRead>> {
        self.read_names(|_, recovery, name| {
            recovery.damaged.push(format!("a keyspace's name: {}", name.what));
            recovery.incomplete = true;
            Ok(())
        })
    }
}

impl Named<ToRead> {
    /// Gives up the right to change the store, which only the empty trees of the catalog needed.
    pub(super) fn finish(self) -> ReadOnlyEngine {
        let Named { store, catalog, recovery, kind: ToRead { changed_leaves, lock }, .. } = self;
        ReadOnlyEngine { store: store.into_read_only(), catalog, recovery, changed_leaves, _lock: lock }
    }
}
