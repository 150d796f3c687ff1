//! Keyspaces that a backup or a snapshot reads, whatever becomes of their names. A keyspace that is dropped meanwhile
//! loses its name and its handles at once, and its leaves and records once nothing keeps them.

use crate::engine::{Engine, ReadOnlyEngine};
use crate::keyspace_tree::KeyspaceTree;
use std::ops::Deref;
use std::sync::Arc;

/// Keyspaces that keep their leaves and records.
pub(crate) struct KeptKeyspaces {
    trees: Vec<Arc<KeyspaceTree>>,
    /// `None` where nothing is ever dropped.
    engine: Option<Arc<Engine>>,
}

impl KeptKeyspaces {
    /// Keeps trees of which none is freed meanwhile.
    pub(crate) fn keep(engine: &Arc<Engine>, trees: &[Arc<KeyspaceTree>]) -> Self {
        trees.iter().for_each(|tree| tree.keep());
        KeptKeyspaces::of_kept(engine, trees.to_vec())
    }

    /// Takes over trees that the caller has kept.
    pub(crate) fn of_kept(engine: &Arc<Engine>, trees: Vec<Arc<KeyspaceTree>>) -> Self {
        KeptKeyspaces { trees, engine: Some(engine.clone()) }
    }

    /// Returns the keyspaces of a database that is open for reading.
    pub(crate) fn of_read_only(engine: &ReadOnlyEngine) -> Self {
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
        if let Some(engine) = &self.engine {
            engine.catalog.let_go(&engine.store, self.trees.drain(..));
        }
    }
}
