//! The keyspaces that a backup reads, kept together with its snapshot.

use crate::engine::Engine;
use crate::error::Result;
use crate::kept_keyspaces::KeptKeyspaces;
use crate::snapshot::Snapshot;
use std::sync::Arc;

/// Keeps the keyspaces of a snapshot.
///
/// # Errors
/// `Dropped`: one of them has been dropped, and the snapshot does not keep it.
pub(super) fn of_snapshot(snapshot: &Snapshot) -> Result<KeptKeyspaces> {
    let engine = snapshot.engine();
    engine.catalog.with_trees(|_| {
        snapshot.trees().iter().try_for_each(|tree| snapshot.check(tree))?;
        Ok(KeptKeyspaces::keep(engine, snapshot.trees()))
    })
}

/// Takes a snapshot and keeps its keyspaces. None is dropped in between.
pub(super) fn with_snapshot(engine: &Arc<Engine>) -> Result<(KeptKeyspaces, Snapshot)> {
    let (snapshot, kept) = Snapshot::of_and(engine, |trees| {
        trees.iter().try_for_each(|tree| tree.check_not_dropped())?;
        Result::<_>::Ok(KeptKeyspaces::keep(engine, trees))
    })?;
    Ok((kept?, snapshot))
}
