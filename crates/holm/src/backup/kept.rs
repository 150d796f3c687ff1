//! The keyspaces that a backup reads. A keyspace that is dropped meanwhile loses its name and its handles at once, and
//! its leaves and records once no backup reads them.

use crate::engine::{Engine, ReadOnlyEngine};
use crate::error::Result;
use crate::keyspace_tree::KeyspaceTree;
use crate::snapshot::Snapshot;
use std::ops::Deref;
use std::sync::Arc;

/// Keyspaces that keep their leaves and records.
pub(super) struct KeptKeyspaces {
    trees: Vec<Arc<KeyspaceTree>>,
    /// `None` where nothing is ever dropped.
    engine: Option<Arc<Engine>>,
}

impl KeptKeyspaces {
    /// The caller sees to it that none of them is dropped meanwhile.
    fn keep(engine: &Arc<Engine>, trees: &[Arc<KeyspaceTree>]) -> Result<Self> {
        trees.iter().try_for_each(|tree| tree.check_not_dropped())?;
        trees.iter().for_each(|tree| tree.keep());
        Ok(KeptKeyspaces { trees: trees.to_vec(), engine: Some(engine.clone()) })
    }

    /// Keeps the keyspaces of a snapshot.
    ///
    /// # Errors
    /// `Dropped`: one of them has been dropped.
    pub(super) fn of(snapshot: &Snapshot) -> Result<Self> {
        let engine = snapshot.engine();
        engine.catalog.with_trees(|_| KeptKeyspaces::keep(engine, snapshot.trees()))
    }

    /// Takes a snapshot and keeps its keyspaces. None is dropped in between.
    pub(super) fn with_snapshot(engine: &Arc<Engine>) -> Result<(Self, Snapshot)> {
        let (snapshot, kept) = Snapshot::of_and(engine, |trees| KeptKeyspaces::keep(engine, trees))?;
        Ok((kept?, snapshot))
    }

    /// Returns the keyspaces of a database that is open for reading.
    pub(super) fn of_read_only(engine: &ReadOnlyEngine) -> Self {
        KeptKeyspaces { trees: engine.catalog.trees(), engine: None }
    }
}

impl Deref for KeptKeyspaces {
    type Target = [Arc<KeyspaceTree>];

    fn deref(&self) -> &[Arc<KeyspaceTree>] {
        &self.trees
    }
}

impl Drop for KeptKeyspaces {
    fn drop(&mut self) {
        let Some(engine) = &self.engine else { return };
        let dropped = self.trees.iter().fold(false, |dropped, tree| tree.let_go() | dropped);
        if dropped && let Err(error) = engine.catalog.free_dropped(&engine.store) {
            // The next drop frees it, or the next open.
            log::warn!("holm: {}: freeing a dropped keyspace: {error}", engine.store.path.display());
        }
    }
}
