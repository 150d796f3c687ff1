//! The keyspaces at the end of an epoch, for a snapshot that begins there and is continued by a feed.

use super::Catalog;
use crate::keyspace_tree::KeyspaceTree;
use crate::store::WritableStore;
use holm_medium::Epoch;
use holm_medium::sync::MutexGuard;
use std::sync::{Arc, PoisonError};

/// The names are followed: see [`Catalog::follow`].
pub(crate) struct FollowedNames<'a> {
    catalog: &'a Catalog,
    store: &'a WritableStore,
    _one: MutexGuard<'a, ()>,
}

impl Catalog {
    /// From now on, and while the result lives, the catalog knows which keyspaces there were at the end of the active
    /// epoch and of each later one, and keeps the leaves of those that are dropped. Waits for another caller.
    pub(crate) fn follow<'a>(&'a self, store: &'a WritableStore) -> FollowedNames<'a> {
        let one = self.following.lock().unwrap_or_else(PoisonError::into_inner);
        self.write().follow();
        FollowedNames { catalog: self, store, _one: one }
    }
}

impl FollowedNames<'_> {
    /// Returns the keyspaces at the end of an epoch that has ended since, in the order of their names. Each is kept;
    /// the caller lets go of them.
    pub(crate) fn at_end_of(&self, epoch: Epoch) -> Vec<Arc<KeyspaceTree>> {
        self.catalog.read().at_end_of(epoch)
    }
}

impl Drop for FollowedNames<'_> {
    fn drop(&mut self) {
        let former = self.catalog.write().follow_no_more();
        self.catalog.let_go(self.store, former);
    }
}
