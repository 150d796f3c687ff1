//! The middle steps of opening: a clock for the changes that opening itself makes, and the names of the trees.

use super::kinds::{Files, OverMedium, ToWrite};
use super::named::Named;
use crate::catalog::{Catalog, DamagedName};
use crate::designs;
use crate::error::Result;
use crate::intent::{self, Pending};
use crate::keys::Records;
use crate::options::Builder;
use crate::recovery::Recovery;
use crate::store::{Damage, WritableStore};
use holm_medium::{Epoch, Medium, Writer};
use holm_tree::leaf::RecoveryPoint;
use holm_tree::{Entry, TreeRoot};
use std::path::Path;
use std::sync::Arc;

/// A database whose trees and free space are there, and whose batches may be half applied.
pub(super) struct Rebuilt<'a> {
    pub(super) path: &'a Path,
    pub(super) builder: &'a Builder,
    pub(super) store: WritableStore,
    pub(super) files: Files,
    pub(super) roots: Vec<TreeRoot>,
    /// The commits in which the process died.
    pub(super) pending: Vec<Pending>,
    /// The epoch after the last logged one.
    pub(super) active: Epoch,
    /// The last epoch in use.
    pub(super) latest: Epoch,
    pub(super) recovery_point: RecoveryPoint,
    pub(super) recovery: Recovery,
}

/// Trees without names, and a clock that labels the changes of opening. `S` is what the kind of opening adds.
pub(super) struct Unnamed<S> {
    store: WritableStore,
    roots: Vec<TreeRoot>,
    recovery: Recovery,
    kind: S,
}

impl<'a> Rebuilt<'a> {
    /// Starts the clock in the epoch of the changes that opening makes, and forgets the intents that a power cut has
    /// left.
    pub(super) fn resume_clock(self) -> Result<Unnamed<ToWrite<'a>>> {
        let Rebuilt { path, builder, store, files, roots, pending, active, latest, recovery_point, recovery } = self;
        // If the log lacks the epoch in which the process died, what opening writes belongs to that epoch, as if the
        // process itself had written it. Nothing of it is durable before that epoch is. In an epoch of its own, a power
        // cut between the two would leave half a completed commit that no later open completes. It would also leave
        // changes of three epochs behind the log's last one: recovery takes that for a damaged log.
        let epoch = latest.max(active);
        store.clock().restart(epoch);
        if recovery_point != RecoveryPoint::Visible {
            intent::forget(&store)?;
        }
        Ok(Unnamed { store, roots, recovery, kind: ToWrite { path, builder, files, pending, epoch, latest } })
    }
}

impl Unnamed<OverMedium> {
    /// Returns the state of an empty database over a medium. The clock of the medium runs.
    ///
    /// # Errors
    /// `Unsupported`: the design cannot hold the store's keys.
    pub(super) fn over<M: Medium>(writer: Arc<Writer<M>>, design: &Entry<M, Records>) -> Result<Self> {
        designs::suitable(design)?;
        let recovery = Recovery { epoch: writer.storage().clock.durable(), ..Recovery::default() };
        let store = WritableStore::new(writer, design, Path::new(""), Damage::Refused);
        Ok(Unnamed { store, roots: Vec::new(), recovery, kind: OverMedium })
    }
}

impl<S> Unnamed<S> {
    pub(super) fn new(store: WritableStore, roots: Vec<TreeRoot>, recovery: Recovery, kind: S) -> Self {
        Unnamed { store, roots, recovery, kind }
    }

    /// Reads the catalog and gives each name its tree. `damaged` decides about entries that cannot be read.
    pub(super) fn read_names(
        self,
        damaged: impl Fn(&WritableStore, &mut Recovery, DamagedName) -> Result<()>,
    ) -> Result<Named<S>> {
        let Unnamed { store, roots, mut recovery, kind } = self;
        let mut each = |name| damaged(&store, &mut recovery, name);
        let (catalog, orphans) = Catalog::read_from(&store, roots, &mut each)?;
        Ok(Named { store, catalog, orphans, recovery, kind })
    }
}

/// The kinds of opening after which the store is written.
pub(super) trait Writes {}
impl Writes for ToWrite<'_> {}
impl Writes for OverMedium {}

impl<S: Writes> Unnamed<S> {
    /// Reads the catalog. Refuses a damaged name: its keyspace would be an orphan, and orphans are freed.
    pub(super) fn read_catalog(self) -> Result<Named<S>> {
        self.read_names(|store, _, name| Err(store.no_record(name.payload)))
    }
}
