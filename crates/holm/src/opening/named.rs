//! The last steps of opening for writing: complete commits, threads, and a tidy catalog.

use super::kinds::{Files, OverMedium, ToWrite};
use crate::backup;
use crate::catalog::Catalog;
use crate::engine::{Engine, Session};
use crate::error::{Error, Result};
use crate::feed::{FeedObserver, Subscribers};
use crate::intent::{self, IntentSlots};
use crate::mark::{self, CommittedMarks};
use crate::operation::Operation;
use crate::options::Builder;
use crate::recovery::Recovery;
use crate::scrub_stats::ScrubCounters;
use crate::snapshot::RecentSnapshot;
use crate::store::WritableStore;
use crate::sweeper::{Sweep, Sweeper};
use crate::sync_wakers::SyncWakers;
use crate::transaction::FallbackLock;
use holm_medium::{Background, Epoch, EpochObserver, GRACE, Persistence};
use holm_tree::TreeRoot;
use std::path::Path;
use std::sync::Arc;

/// A database whose keyspaces have their trees. `S` is what the kind of opening adds.
pub(super) struct Named<S> {
    pub(super) store: WritableStore,
    pub(super) catalog: Catalog,
    /// Trees that no name has.
    pub(super) orphans: Vec<TreeRoot>,
    pub(super) recovery: Recovery,
    pub(super) kind: S,
}

/// A database whose contents are complete. Nothing has been made durable since the open.
pub(super) struct Completed<'a> {
    path: &'a Path,
    builder: &'a Builder,
    store: WritableStore,
    catalog: Catalog,
    orphans: Vec<TreeRoot>,
    recovery: Recovery,
    files: Files,
    /// The last epoch in use.
    pub(super) latest: Epoch,
}

/// A database whose epochs end and become durable. It is not marked as closed when this is dropped: until its catalog
/// is tidy, it may lack its default keyspace, and the next open creates that.
pub(super) struct Running {
    store: WritableStore,
    catalog: Catalog,
    orphans: Vec<TreeRoot>,
    recovery: Recovery,
    sweep: Sweep,
    session: Session,
    subscribers: Option<Arc<Subscribers>>,
}

impl<'a> Named<ToWrite<'a>> {
    /// Completes the commits in which the process died, and ends their epoch.
    pub(super) fn complete_commits(self) -> Result<Completed<'a>> {
        let Named { store, catalog, orphans, recovery, kind } = self;
        let ToWrite { path, builder, files, pending, epoch, latest } = kind;
        pending.iter().try_for_each(|pending| intent::redo(&store, &catalog, pending))?;
        let latest = if pending.is_empty() { latest } else { epoch };
        store.clock().restart(latest + 1);
        Ok(Completed { path, builder, store, catalog, orphans, recovery, files, latest })
    }
}

impl Completed<'_> {
    /// Makes what was found durable, starts the background threads, and lets go of the space that recovery withheld.
    /// From here on, operations wait for what the caller's mode promises.
    pub(super) fn start_threads(self) -> Result<Running> {
        let Completed { path, builder, mut store, catalog, orphans, recovery, files, latest } = self;
        let Files { storage, state } = files;
        let per_epoch = store.persistence == Persistence::PerEpoch;
        let subscribers = store.index.block_difference().map(|_| Arc::new(Subscribers::default()));
        let observer = subscribers.clone().zip(store.index.block_difference()).map(|(subscribers, read)| {
            let (keys, block_bytes) = (store.keys.clone(), storage.space.block_bytes());
            Arc::new(FeedObserver::new(subscribers, &store.path, read, keys, block_bytes)) as Arc<dyn EpochObserver>
        });
        let pace = builder.durability.pace();
        let background = Background::start(storage.clone(), state, latest, pace, per_epoch, observer)
            .map_err(|error| Error::opening(path, builder.create, error))?;
        storage.space.release();
        store.promise(builder.durability);
        store.limit_snapshots_to(builder.snapshot_bytes);
        let (sweep, session) = (builder.sweep, Session::files(background));
        Ok(Running { store, catalog, orphans, recovery, sweep, session, subscribers })
    }
}

impl Named<OverMedium> {
    /// Takes over the caller's epochs. Operations wait for nothing until the caller sees the database.
    pub(super) fn run_over_medium(self) -> Running {
        let Named { store, catalog, orphans, recovery, .. } = self;
        Running {
            store,
            catalog,
            orphans,
            recovery,
            sweep: Sweep::default(),
            session: Session::Medium,
            subscribers: None,
        }
    }
}

impl Running {
    /// Lets the epochs end for which a leaf keeps the slots of its earlier states. No crash can bring those back any
    /// more, and a block that was emptied just before would have no room.
    pub(super) fn pass_grace_period(self) -> Result<Self> {
        for _ in 0..GRACE {
            match Operation::begin(&self.store).and_then(Operation::finish_durably) {
                Ok(()) => {}
                // The database can still be read, and pairs removed.
                Err(Error::NoSpace { .. } | Error::OutOfEpochs { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(self)
    }

    /// Frees the trees without a name, and creates the default keyspace. All that recovery found is durable by now.
    pub(super) fn tidy_catalog(self) -> Result<Engine> {
        let Running { store, catalog, orphans, recovery, sweep, session, subscribers } = self;
        catalog.tidy(&store, &orphans)?;
        let marks = CommittedMarks::opened_at(mark::read(&store, &catalog)?);
        let engine = Engine {
            store: Arc::new(store),
            catalog: Arc::new(catalog),
            recovery,
            sweeper: Arc::new(Sweeper::new(sweep, backup::awaits_increment)),
            intents: IntentSlots::default(),
            fallback_lock: FallbackLock::default(),
            marks,
            recent_snapshot: RecentSnapshot::default(),
            scrubs: ScrubCounters::default(),
            increments: Arc::default(),
            subscribers,
            sync_wakers: SyncWakers::default(),
            session: Arc::new(session),
        };
        engine.index_at_checkpoints();
        Ok(engine)
    }
}
