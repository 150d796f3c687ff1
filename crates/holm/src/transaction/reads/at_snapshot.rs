//! Reads at a snapshot of the transaction's own.
//!
//! To validate all noted leaves after each read takes time in the square of their number. So a transaction that has
//! read many leaves begins a snapshot, and makes sure once that all it has read is of the snapshot's instant. From then
//! on it reads at the snapshot, where everything belongs together, and validates nothing. One that writes nothing takes
//! effect at that instant.
//!
//! One that writes takes effect later. It notes what it reads here as before. A leaf that has changed since the
//! snapshot began is noted as stale. The commit leaves the snapshot and validates everything: a stale leaf that a scan
//! has read is a conflict, and what a stale leaf has answered to gets is compared by value.

use super::{Point, Reads};
use crate::copied_pairs::{CopiedPairs, Remainder, ScanBounds};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::expiry::{Deadline, ReadView};
use crate::generation::OpenGeneration;
use crate::iter::copy_part;
use crate::keys::Records;
use crate::keyspace_tree::KeyspaceTree;
use crate::record;
use crate::slice::Slice;
use crate::store::Store;
use holm_tree::LeafCursor;
use std::sync::Arc;

/// Open snapshots kept too much memory, and this one has ended: the transaction begins anew, as after a conflict.
fn ended_is_conflict(error: Error) -> Error {
    if matches!(error, Error::Ended) { Error::Conflict } else { error }
}

impl Reads {
    /// Begins a snapshot, at which the transaction reads from now on. All that it has read so far was so at that
    /// instant.
    ///
    /// # Errors
    /// `Conflict`; those of a get and of [`OpenGeneration::begin`].
    #[cold]
    pub(in crate::transaction) fn go_on_at_snapshot(&mut self, engine: &Arc<Engine>) -> Result<()> {
        let store: &Store = &engine.store;
        let snapshot = OpenGeneration::begin(engine)?;
        // After it has begun: a sweep or a drop that comes later has taken nothing from it.
        self.check_not_swept(store)?;
        self.check_not_dropped()?;
        for at in 0..self.versions.len() {
            // An unchanged leaf was so when it was read, is so now, and was so at the instant in between.
            if self.states[at].stale || !store.index.validate(self.versions[at]) {
                self.mark_stale(at)?;
            }
        }
        // The first read of a keyspace with expiry has set the time.
        let now = self.now.unwrap_or_default();
        for Point { tree, key, found, leaf } in &self.points {
            if self.states[*leaf].stale {
                let tree = &self.trees[*tree];
                let asked = (&**tree, &self.keys[key.clone()], tree.format.view(|| now));
                let then = snapshot.get(asked, || tree.check_not_dropped(), record::copy_value);
                if then.map_err(ended_is_conflict)?.value != *found {
                    return Err(Error::Conflict);
                }
            }
        }
        self.snapshot = Some(snapshot);
        Ok(())
    }

    /// As [`Reads::get`], at the snapshot.
    pub(super) fn get_at_snapshot(
        &mut self,
        (tree, key, view): (&Arc<KeyspaceTree>, &[u8], ReadView),
    ) -> Result<Option<Slice>> {
        let Some(snapshot) = &self.snapshot else { return Err(Error::Conflict) };
        let found = snapshot
            .get((tree, key, view), || tree.check_not_dropped(), record::copy_value)
            .map_err(ended_is_conflict)?;
        let lookup = found.at.lookup;
        self.stamp = self.stamp.max(lookup.stamp.min(snapshot.epoch()));
        if !self.read_only {
            let leaf = self.note_leaf(lookup.leaf_version, found.at.from_pre_image)?;
            self.note_point((tree, key, found.value.clone()), leaf);
        }
        Ok(found.value)
    }

    /// As [`Reads::deadline`], at the snapshot.
    pub(super) fn deadline_at_snapshot(
        &mut self,
        (tree, key, view): (&Arc<KeyspaceTree>, &[u8], ReadView),
    ) -> Result<Option<Deadline>> {
        let Some(snapshot) = &self.snapshot else { return Err(Error::Conflict) };
        let found = snapshot
            .get((tree, key, view), || tree.check_not_dropped(), record::copy_deadline)
            .map_err(ended_is_conflict)?;
        let lookup = found.at.lookup;
        self.stamp = self.stamp.max(lookup.stamp.min(snapshot.epoch()));
        if !self.read_only {
            self.note_tree(tree);
            let leaf = self.note_leaf(lookup.leaf_version, found.at.from_pre_image)?;
            self.states[leaf].by_version = true;
        }
        Ok(found.value)
    }

    /// As [`Reads::scan`], at the snapshot.
    pub(super) fn scan_at_snapshot(
        &mut self,
        (tree, bounds): (&Arc<KeyspaceTree>, ScanBounds<'_>),
        cursor: &mut LeafCursor<Records>,
        copied: &mut CopiedPairs,
    ) -> Result<Remainder> {
        let Some(snapshot) = &self.snapshot else { return Err(Error::Conflict) };
        let remainder = copy_part(snapshot, tree, bounds, 0, cursor, copied);
        // First of all: the records of a snapshot that has ended may belong to others by now.
        snapshot.check_not_ended().map_err(ended_is_conflict)?;
        let remainder = remainder?;
        self.stamp = self.stamp.max(cursor.stamp.min(snapshot.epoch()));
        if !self.read_only {
            self.note_tree(tree);
            let leaf = self.note_leaf(cursor.leaf_version, cursor.from_pre_image)?;
            self.states[leaf].by_version = true;
        }
        Ok(remainder)
    }

    /// Closes the snapshot. A transaction that writes takes effect later than that, so all that it has read must be so
    /// still.
    ///
    /// # Errors
    /// `Conflict`; those of a get.
    pub(in crate::transaction) fn leave_snapshot(&mut self, store: &Store, writes: bool) -> Result<()> {
        if self.snapshot.take().is_some() && writes { self.validate_again(store) } else { Ok(()) }
    }
}
