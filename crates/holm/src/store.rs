//! The trees of a database, the storage that they lie in, and the right to change them.
//!
//! Every handle reads through a [`Store`]. Only a [`WritableStore`] begins operations. A read-only database has none,
//! so a write path over it does not compile.

use crate::durability::Durability;
use crate::generation::{DEFAULT_SNAPSHOT_BYTES, Generations};
use crate::keys::Records;
use crate::record::Source;
use crate::wall_clock::{TimeSource, WallClock};
use holm_medium::vfs::Vfs;
use holm_medium::{Clock, Medium, Persistence, StorageOps, Writer};
use holm_search::Search;
use holm_tree::{Entry, Index};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Trees and their storage: what a get, a put and a scan work on.
pub(crate) struct Store {
    pub(crate) index: Box<dyn Index<Records>>,
    pub(crate) storage: Arc<dyn StorageOps>,
    pub(crate) keys: Records,
    pub(crate) path: PathBuf,
    /// What operations wait for before they return, and in strict mode reads too.
    pub(crate) durability: Durability,
    pub(crate) persistence: Persistence,
    /// The words of the longest record that a leaf takes: [`Index::longest_record`], which each insert asks.
    pub(crate) longest_in_leaf: usize,
    pub(crate) generations: Arc<Generations>,
    /// The time by which keys expire.
    pub(crate) wall_clock: WallClock,
    /// `None` over a medium without files.
    pub(crate) files: Option<Files>,
}

/// The files of a store.
pub(crate) struct Files {
    /// Drawn when the database was created.
    pub(crate) uuid: [u8; 16],
    /// The file system that they are on.
    pub(crate) vfs: Arc<dyn Vfs>,
}

impl Store {
    pub(crate) fn clock(&self) -> &Clock {
        self.storage.clock()
    }

    /// Returns where records are read.
    #[inline]
    pub(crate) fn source(&self) -> Source<'_> {
        Source { image: self.storage.image(), search: self.keys.search }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("path", &self.path).field("design", &self.index.design()).finish()
    }
}

/// How the keys of a store treat damaged records.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    /// As an error: a write would make the damage worse.
    Refused,
    /// As absent keys. Only for a store that is not written.
    Tolerated,
}

/// A [`Store`] that may be changed.
pub(crate) struct WritableStore(Store);

impl WritableStore {
    /// Returns a store without trees. Its operations wait for nothing until [`WritableStore::promise`]: while a
    /// database is opened, no thread ends epochs and no caller has seen anything.
    pub(crate) fn new<M: Medium>(
        writer: Arc<Writer<M>>,
        design: &Entry<M, Records>,
        path: &Path,
        damage: Damage,
    ) -> Self {
        let search = Search::detect();
        let image = writer.storage().medium_image();
        let keys = Records { image, search, tolerates_damage: damage == Damage::Tolerated };
        let index = (design.open)(writer.clone(), keys.clone(), search);
        WritableStore(Store {
            longest_in_leaf: index.longest_record(),
            index,
            storage: writer,
            keys,
            path: path.into(),
            durability: Durability::OnSync,
            generations: Arc::new(Generations::limited_to(DEFAULT_SNAPSHOT_BYTES)),
            files: None,
            wall_clock: WallClock::default(),
            persistence: if design.capabilities.per_epoch { Persistence::PerEpoch } else { Persistence::PerOperation },
        })
    }

    /// Sets what operations wait for from now on.
    pub(crate) fn promise(&mut self, durability: Durability) {
        self.0.durability = durability;
    }

    /// States which files the store is in.
    pub(crate) fn with_files(mut self, uuid: [u8; 16], vfs: &Arc<dyn Vfs>) -> Self {
        self.0.path = vfs.absolute(&self.0.path);
        self.0.files = Some(Files { uuid, vfs: vfs.clone() });
        self
    }

    /// Sets how many bytes open snapshots may keep.
    pub(crate) fn limit_snapshots_to(&mut self, bytes: u64) {
        self.0.generations = Arc::new(Generations::limited_to(bytes));
    }

    /// Sets where the time of the day comes from.
    pub(crate) fn follow_time(&mut self, source: Option<TimeSource>) {
        self.0.wall_clock.follow(source);
    }

    /// Gives up the right to change the store.
    pub(crate) fn into_read_only(self) -> Store {
        self.0
    }
}

impl Deref for WritableStore {
    type Target = Store;

    #[inline]
    fn deref(&self) -> &Store {
        &self.0
    }
}
