//! Keyspaces that have no name any more, or never got one, and whose space is not free yet. A crash, or a close, leaves
//! their leaves to the next open, which frees what no name leads to.

use crate::error::Result;
use crate::keyspace_tree::KeyspaceTree;
use crate::operation::Operation;
use crate::store::WritableStore;
use holm_medium::Epoch;
use holm_medium::sync::{Mutex, MutexGuard};
use std::sync::{Arc, PoisonError};

/// A tree that was dropped.
struct DroppedTree {
    tree: Arc<KeyspaceTree>,
    /// Once this epoch has ended, every writer that missed the drop mark has unpinned.
    label: Epoch,
    gone: Mutex<bool>,
}

/// Trees that were dropped and whose space is not yet freed.
#[derive(Default)]
pub(super) struct DroppedTrees(Mutex<Vec<Arc<DroppedTree>>>);

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

impl DroppedTrees {
    pub(super) fn add(&self, tree: &Arc<KeyspaceTree>, label: Epoch) {
        lock(&self.0).push(Arc::new(DroppedTree { tree: tree.clone(), label, gone: Mutex::default() }));
    }

    /// Frees the dropped trees that nothing keeps. A tree that cannot be freed for lack of space stays on the list.
    /// One with a damaged leaf does not: the leaves before that one are free, and must not be freed again. When this
    /// returns, the removal of all names is durable.
    ///
    /// # Errors
    /// The first one; the other trees have been freed all the same.
    pub(super) fn free(&self, store: &WritableStore) -> Result<()> {
        let all = lock(&self.0).clone();
        all.iter().map(|dropped| self.free_tree(store, dropped)).fold(Ok(()), Result::and)
    }

    fn free_tree(&self, store: &WritableStore, dropped: &Arc<DroppedTree>) -> Result<()> {
        let mut gone = lock(&dropped.gone);
        if *gone {
            return Ok(());
        }
        store.clock().wait_durable(dropped.label)?;
        if dropped.tree.is_kept() {
            // The last to let go of it frees it.
            return Ok(());
        }
        let freed = Operation::begin(store)?.drop_tree(&dropped.tree.root);
        *gone = true;
        lock(&self.0).retain(|other| !Arc::ptr_eq(other, dropped));
        freed
    }
}
