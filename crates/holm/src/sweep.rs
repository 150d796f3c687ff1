//! One pass over the keyspaces with expiry, which removes the records that have expired.
//!
//! A pass has one time, which it announces before it removes the first record: to transactions in memory, and to later
//! opens in the catalog. It goes from leaf to leaf, as a scan does. Each expired key is then looked up and removed only
//! if its leaf is as it was found. So a value that another thread stores meanwhile is never removed.
//!
//! No caller can observe that a record which has expired is gone. So a pass waits for no durability, and a pass that a
//! crash cuts short is simply repeated.

use crate::catalog::Catalog;
use crate::direction::Direction;
use crate::error::{Error, Result};
use crate::expiry::Millis;
use crate::keys::{Records, SearchKey};
use crate::keyspace_tree::KeyspaceTree;
use crate::operation::Operation;
use crate::record::{self, NoRecord};
use crate::store::{Store, WritableStore};
use holm_medium::sync::atomic::{AtomicU64, Ordering::Relaxed};
use holm_tree::{Keys, LeafCursor, LeafVersion, SeekTarget, Seen, Slot, Wanted, back_off};
use std::ops::ControlFlow;

/// How often a key whose leaf keeps changing is tried. The next pass finds it again.
const MOST_ATTEMPTS: u32 = 64;

/// A key's value, when a pass looks at it.
enum Found {
    /// A writer is changing the leaf.
    Changing,
    /// It is absent, or has not expired.
    Nothing,
    /// It has expired. The leaf that it is in.
    In(LeafVersion),
}

/// What passes have done so far.
#[derive(Default)]
pub(crate) struct SweepCounters {
    pub(crate) passes: AtomicU64,
    pub(crate) skipped: AtomicU64,
    pub(crate) read: AtomicU64,
    pub(crate) removed: AtomicU64,
    pub(crate) last_pass_ns: AtomicU64,
    pub(crate) last_pass_work_ns: AtomicU64,
}

/// One pass.
pub(crate) struct Pass<'a> {
    pub(crate) store: &'a WritableStore,
    pub(crate) catalog: &'a Catalog,
    pub(crate) counters: &'a SweepCounters,
    /// Records that have expired by this time are removed.
    by: Millis,
    /// The pass ends once this is false. Asked under the latch before each removal.
    may_go_on: &'a dyn Fn() -> bool,
    read: u64,
    removed: u64,
}

/// What a pass has done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Swept {
    pub(crate) read: u64,
    pub(crate) removed: u64,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(store: &'a WritableStore, catalog: &'a Catalog, counters: &'a SweepCounters) -> Self {
        Pass { store, catalog, counters, by: store.wall_clock.now(), may_go_on: &|| true, read: 0, removed: 0 }
    }

    /// Ends the pass once this is false, and removes nothing from then on. It must be quick and use no tree.
    pub(crate) fn while_it_may(self, go_on: &'a dyn Fn() -> bool) -> Self {
        Pass { may_go_on: go_on, ..self }
    }

    /// Sweeps all keyspaces. After each leaf, `pace` gets what was read so far and may end the pass.
    ///
    /// # Errors
    /// Those of removals. A keyspace that is dropped meanwhile is left out.
    pub(crate) fn run(mut self, mut pace: impl FnMut(u64) -> ControlFlow<()>) -> Result<Swept> {
        let mut damage = Ok(());
        for tree in self.catalog.expiring_trees() {
            match self.sweep(&tree, &mut pace) {
                Ok(ControlFlow::Continue(())) | Err(Error::Dropped { .. }) => {}
                Ok(ControlFlow::Break(())) => break,
                // Of this keyspace alone: the others are swept.
                Err(error @ Error::Corrupt { .. }) => damage = damage.and(Err(error)),
                Err(error) => return Err(error),
            }
        }
        self.counters.passes.fetch_add(1, Relaxed);
        damage.map(|()| Swept { read: self.read, removed: self.removed })
    }

    fn sweep(&mut self, tree: &KeyspaceTree, pace: &mut impl FnMut(u64) -> ControlFlow<()>) -> Result<ControlFlow<()>> {
        let (mut low, mut cursor, mut keys) = (Vec::new(), LeafCursor::default(), Vec::new());
        // Ends: `low` rises with each leaf, and `pace` is asked after each.
        loop {
            let read = self.store.expired_of_leaf(tree, &low, self.by, &mut cursor, &mut keys)?;
            self.read += read;
            self.counters.read.fetch_add(read, Relaxed);
            if !keys.is_empty() {
                self.store.wall_clock.announce_sweep(self.by);
                self.catalog.note_sweep(self.store, tree, self.by)?;
            }
            for key in keys.drain(..) {
                let removed = u64::from(self.store.remove_expired(tree, &key, self.by, self.may_go_on)?);
                self.removed += removed;
                self.counters.removed.fetch_add(removed, Relaxed);
            }
            if !(self.may_go_on)() || pace(self.read).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            match cursor.edge.take().filter(|edge| *edge > low) {
                Some(edge) => low = edge,
                None => return Ok(ControlFlow::Continue(())),
            }
        }
    }
}

impl Store {
    /// Collects the keys of the leaf at `low` that have expired by a time, in order, and returns how many pairs the
    /// leaf has. The cursor's edge is where the next leaf begins.
    pub(crate) fn expired_of_leaf(
        &self,
        tree: &KeyspaceTree,
        low: &[u8],
        by: Millis,
        cursor: &mut LeafCursor<Records>,
        keys: &mut Vec<Vec<u8>>,
    ) -> Result<u64> {
        // Without a bound: see the head of `read.rs`.
        loop {
            let target: SeekTarget<'_, Records> = SeekTarget::Holding(SearchKey::new(low));
            self.index.copy_leaf(&tree.root, target, Wanted::leaf(), cursor);
            self.keys.prefetch_records(cursor, low, Direction::Forward, usize::MAX);
            keys.clear();
            let image = self.storage.image();
            // What has no deadline is damaged, and stays for `check` to report.
            let is_over =
                |slot: &&Slot| record::deadline(image, slot.payload).is_ok_and(|deadline| deadline.is_over(by));
            let expired = cursor.pairs.iter().filter(is_over).filter_map(|slot| self.keys.key(*slot));
            if self.copied(tree, Some(cursor.leaf_version), || keys.extend(expired))?.is_some() {
                return Ok(cursor.pairs.len() as u64);
            }
        }
    }
}

impl WritableStore {
    /// Removes a key if its value has expired by a time, and if it may. Returns whether it was removed.
    fn remove_expired(&self, tree: &KeyspaceTree, key: &[u8], by: Millis, may: &dyn Fn() -> bool) -> Result<bool> {
        let mut turn = 0;
        for _ in 0..MOST_ATTEMPTS {
            match self.find_expired(tree, key, by)? {
                Found::Changing => {}
                Found::Nothing => return Ok(false),
                Found::In(leaf) if self.remove_found(tree, key, leaf, may)? => return Ok(true),
                Found::In(_) if !may() => return Ok(false),
                Found::In(_) => back_off(&mut turn),
            }
        }
        Ok(false)
    }

    /// Looks for a value that has expired by a time.
    fn find_expired(&self, tree: &KeyspaceTree, key: &[u8], by: Millis) -> Result<Found> {
        let image = self.storage.image();
        let lookup = self.index.get(&tree.root, SearchKey::new(key));
        let Some(payload) = lookup.payload else { return Ok(Found::Nothing) };
        // A damaged deadline must not take a value along.
        let look = || record::verify(image, payload).map(|()| record::deadline(image, payload));
        let Some(deadline) = self.copied(tree, Some(lookup.leaf_version), look)? else { return Ok(Found::Changing) };
        match deadline {
            Ok(Ok(deadline)) if deadline.is_over(by) => Ok(Found::In(lookup.leaf_version)),
            Ok(Ok(_) | Err(NoRecord)) => Ok(Found::Nothing),
            Err(fault) => {
                log::warn!("holm: {}: {fault}: an expired record stays", self.path.display());
                Ok(Found::Nothing)
            }
        }
    }

    /// Removes a key whose value was found to have expired, unless its leaf has changed since: the key may have another
    /// value by now. Asks under the latch whether it may. Returns whether it was removed.
    fn remove_found(&self, tree: &KeyspaceTree, key: &[u8], leaf: LeafVersion, may: &dyn Fn() -> bool) -> Result<bool> {
        let mut operation = Operation::begin(self)?;
        tree.check_not_dropped()?;
        let seen = Seen { leaf, others: &[], holds: Some(may) };
        let removed = operation.remove_seen(tree, SearchKey::new(key), seen)?;
        operation.finish_later();
        Ok(removed)
    }
}

/// Returns the keys of a keyspace that have expired by a time, in order, at most `limit`.
pub(crate) fn expired_keys(store: &Store, tree: &KeyspaceTree, by: Millis, limit: usize) -> Result<Vec<Vec<u8>>> {
    let (mut low, mut cursor, mut keys, mut all) = (Vec::new(), LeafCursor::default(), Vec::new(), Vec::new());
    while all.len() < limit {
        store.expired_of_leaf(tree, &low, by, &mut cursor, &mut keys)?;
        store.wait_stable(cursor.stamp)?;
        all.extend(keys.drain(..).filter(|key| *key >= low));
        match cursor.edge.take().filter(|edge| *edge > low) {
            Some(edge) => low = edge,
            None => break,
        }
    }
    all.truncate(limit);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Database, KeyspaceOptions};
    use std::time::Duration;

    /// Between the look at a key that has expired and its removal, another thread stores a value.
    #[test]
    fn what_is_stored_after_the_look_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path()).unwrap();
        let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).unwrap();
        let (store, tree) = (tides.store(), tides.tree());
        let found = || match store.find_expired(tree, b"north", store.wall_clock.now()).unwrap() {
            Found::In(leaf) => leaf,
            Found::Changing | Found::Nothing => panic!("it has expired, and nobody changes it"),
        };
        tides.insert_for("north", "high", Duration::ZERO).unwrap();
        let leaf = found();
        tides.insert("north", "low").unwrap();
        assert!(!store.remove_found(tree, b"north", leaf, &|| true).unwrap());
        assert_eq!(tides.get("north").unwrap().as_deref(), Some(&b"low"[..]));
        tides.insert_for("north", "high", Duration::ZERO).unwrap();
        assert!(!store.remove_found(tree, b"north", found(), &|| false).unwrap());
        assert!(store.remove_found(tree, b"north", found(), &|| true).unwrap());
        assert_eq!(tides.len().unwrap(), 0);
    }

    /// A sweep has found keys of a keyspace that is dropped before it notes its time. The note would be an entry of the
    /// catalog, and the next open would have the keyspace again.
    #[test]
    fn a_sweep_does_not_bring_a_dropped_keyspace_back() {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(folder.path()).unwrap();
        let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true)).unwrap();
        let engine = tides.engine().clone();
        assert!(db.drop_keyspace("tides").unwrap());
        let by = engine.store.wall_clock.now();
        let noted = engine.catalog.note_sweep(&engine.store, tides.tree(), by);
        assert!(matches!(noted, Err(Error::Dropped { .. })), "{noted:?}");
        drop((tides, engine));
        db.close().unwrap();
        let names = Database::open(folder.path()).unwrap().keyspaces().unwrap();
        assert_eq!(names, ["default"]);
    }
}
