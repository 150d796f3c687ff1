//! The second step of opening for writing: trees from the leaves in the files.

use super::kinds::Files;
use super::rebuilt::Rebuilt;
use super::request::{Request, geometry_of, options_of};
use crate::catalog::CATALOG;
use crate::error::{Error, Result};
use crate::intent;
use crate::keys::Records;
use crate::store::{Damage, WritableStore};
use holm_medium::{
    Area, EarlierIndex, Found, Journaled, LeafIndex, Logged, MediumError, OpenedState, Recovery, Storage,
};
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{Entry, Evidence};
use std::sync::Arc;

/// A database whose files are open and locked, and whose leaves are still to be recovered. The clock stands behind the
/// last logged epoch, and nothing may be written yet.
pub(super) struct Opened<'a, 'b> {
    request: &'a Request<'b>,
    store: WritableStore,
    storage: Arc<Storage<Journaled>>,
    state: OpenedState,
    recovery: Recovery,
    recovery_point: RecoveryPoint,
    /// As large as the log.
    logged: Option<Logged>,
    /// Of a clean database.
    index: Option<LeafIndex>,
    /// Of a moment before the crash.
    earlier: Option<EarlierIndex>,
}

/// The page cache turned out to have lost writes. The superblock now says so, and another open cuts history at the last
/// logged epoch.
pub(super) struct LostWrites {
    found: Error,
}

impl LostWrites {
    /// Returns the disagreement between the files and the log, as an error.
    pub(super) fn into_error(self) -> Error {
        self.found
    }
}

impl<'a> Request<'a> {
    /// Opens the files, or creates them, and restores from the log what it must.
    pub(super) fn open(&self) -> Result<Opened<'_, 'a>> {
        let Request { path, builder, design } = self;
        let geometry = geometry_of(design);
        let opened = holm_medium::open(builder.vfs.clone(), path, &geometry, &options_of(builder, design.agrees));
        let opened = opened.map_err(|error| self.explain(error))?;
        Opened::new(self, design, opened)
    }

    /// Notes durably what the death of a process alone cannot leave: the page cache has lost writes.
    fn lost(&self, state: OpenedState, found: Error) -> Result<LostWrites> {
        log::warn!("holm: {}: the tail is not kept: {found}", self.path.display());
        state.mark_poisoned(self.path)?;
        Ok(LostWrites { found })
    }
}

impl<'a, 'b> Opened<'a, 'b> {
    fn new(
        request: &'a Request<'b>,
        design: &Entry<Journaled, Records>,
        mut opened: holm_medium::Opened,
    ) -> Result<Self> {
        let (recovery, logged) = (opened.recovery.clone(), opened.logged.take());
        let (index, earlier) = (opened.index.take(), opened.earlier.take());
        let recovery_point = if opened.is_cut() { RecoveryPoint::At(recovery.epoch) } else { RecoveryPoint::Visible };
        let uuid = opened.superblock().uuid;
        let (medium, state) = opened.into_parts();
        let writer = Arc::new(Storage::open(medium, recovery.epoch + 1)?);
        let storage = writer.storage().clone();
        let store = WritableStore::new(writer, design, request.path, Damage::Refused);
        let mut store = store.with_files(uuid, &request.builder.vfs);
        // Before anything asks for the time: what has been given once is never taken back.
        store.follow_time(request.builder.time_source.clone());
        Ok(Opened { request, store, storage, state, recovery, recovery_point, logged, index, earlier })
    }

    /// States why history was cut, after an open that has found lost writes.
    pub(super) fn explained_by(mut self, lost: &LostWrites) -> Self {
        if let Found::Cut { why } = &mut self.recovery.found {
            *why = format!("the page cache has lost writes: {}", lost.found);
        }
        self
    }

    /// Recovers the leaves and builds the trees from them. Clears the clean mark before the first store.
    ///
    /// # Errors
    /// In the outer result: the files are damaged, or the operating system refuses a call. In the inner one: writes
    /// are lost, and the superblock is marked.
    pub(super) fn rebuild(self) -> Result<std::result::Result<Rebuilt<'b>, LostWrites>> {
        let Opened { request, store, storage, mut state, mut recovery, recovery_point, .. } = self;
        let (logged, index, earlier) = (self.logged, self.index, self.earlier);
        let (kept, active) = (recovery.found == Found::Kept, recovery.epoch + 1);
        if kept {
            withhold_all(&storage);
        }
        // Before anything is written: they lead to records of which the log may have nothing.
        let visible = recovery_point == RecoveryPoint::Visible;
        let ended = kept.then_some(recovery.epoch);
        let pending = if visible { intent::pending(&storage.medium_image(), ended) } else { Ok(Vec::new()) };
        let pending = match pending.map_err(|error| error.within(&store.path)) {
            Err(found @ Error::Corrupt { .. }) if kept => return request.lost(state, found).map(Err),
            pending => pending?,
        };
        pending.iter().for_each(|pending| storage.space.withhold_records(pending.records_end));
        let loaded = index.as_ref().and_then(|index| store.index.load(index, CATALOG));
        if index.is_some() && loaded.is_none() {
            // The file is valid, but the catalog's leaves are not what it says: nothing has verified the leaves yet.
            state.verify_leaves(&storage.medium).map_err(|error| request.explain(error))?;
        }
        let mut ready = || {
            if !visible {
                state.sync_scrubbed(&storage.medium)?;
            }
            state.clear_clean_mark(&storage.medium)
        };
        let threads = request.builder.threads;
        let from_index = loaded.is_some();
        let rebuilt = match loaded {
            Some(loaded) => ready().map(|()| loaded),
            None => {
                let evidence = Evidence { logged: logged.as_ref(), earlier: earlier.as_ref() };
                store.index.rebuild_when(recovery_point, active, threads, evidence, &mut ready)
            }
        };
        let rebuilt = match rebuilt {
            Err(found @ MediumError::Corrupt { .. }) if kept => {
                return request.lost(state, found.into()).map(Err);
            }
            rebuilt => rebuilt.map_err(|error| request.explain(error))?,
        };
        storage.allocate_used().map_err(|error| request.explain(error))?;
        if let Some(after) = rebuilt.after {
            recovery.tail = state.judge_tail(&recovery.tail, after);
        }
        Ok(Ok(Rebuilt {
            path: request.path,
            builder: request.builder,
            store,
            files: Files { storage, state },
            roots: rebuilt.roots,
            pending,
            active,
            // Leaves may carry epochs beyond the last log entry. No crash lost these epochs: only the process died.
            latest: rebuilt.latest.max(recovery.epoch),
            recovery_point,
            recovery: crate::Recovery {
                from_index,
                leaves_from_index: rebuilt.from_index,
                blocks_read: rebuilt.blocks_read,
                ..recovery.into()
            },
        }))
    }
}

/// Until what is found is durable, a cut may still go back behind it: nothing is free that was ever written. The rest
/// of the files was preallocated. Were that withheld, too, each death of a process would make the files grow.
fn withhold_all(storage: &Storage<Journaled>) {
    let [blocks, records] = Area::ALL.map(|area| storage.medium.written_len(area));
    storage.space.withhold(blocks.div_ceil(storage.space.block_bytes()) as u32, records);
}
