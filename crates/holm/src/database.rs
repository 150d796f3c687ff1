//! An open database: the handle that users hold.

use crate::batch::Batch;
use crate::check::{self, Report};
use crate::durability::Durability;
use crate::engine::Engine;
use crate::error::Result;
use crate::keys::Records;
use crate::keyspace::Keyspace;
use crate::operation::Operation;
use crate::options::Builder;
use crate::read_only::ReadOnlyDatabase;
use crate::recovery::Recovery;
use crate::stats::Stats;
use holm_medium::{Medium, Writer};
use holm_tree::Entry;
use std::path::Path;
use std::sync::Arc;

/// An open database. Cloning is cheap and shares it; the last handle to go closes it, and [`Database::close`] tells
/// what dropping cannot.
///
/// The database stays locked, for this process alone, until its last handle is dropped: of databases, keyspaces,
/// iterators and batches.
#[derive(Clone, Debug)]
pub struct Database {
    pub(crate) engine: Arc<Engine>,
}

impl Database {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Database { engine }
    }

    /// Opens the database in a folder, and creates it if it is absent, with the default options:
    /// [`Durability::Buffered`] with 10 ms, [`ImageMode::Shared`](crate::ImageMode::Shared).
    ///
    /// # Errors
    /// As [`Builder::open`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// assert_eq!(db.keyspaces()?, ["default"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Builder::default().open(path)
    }

    /// Returns a builder to open a database with options: see [`Builder`].
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Opens a database that was closed, for reading alone. Any number of processes may do so at once, while none has
    /// it open for writing. Nothing in the folder is changed.
    ///
    /// # Errors
    /// [`Error::NotClean`](crate::Error::NotClean) if it was not closed; otherwise as [`Builder::open`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use holm::Database;
    /// let path = folder.path().join("sea.holm");
    /// let db = Database::open(&path)?;
    /// db.keyspace("reefs")?.insert("north", "coral")?;
    /// db.close()?;
    /// let (one, another) = (Database::open_read_only(&path)?, Database::open_read_only(&path)?);
    /// assert_eq!(one.keyspaces()?, another.keyspaces()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<ReadOnlyDatabase> {
        Builder::default().open_read_only(path)
    }

    /// For whoever measures designs: an empty database over a medium that flushes, which is neither opened again nor
    /// recovered. Its owner ends the epochs, and outlives it.
    #[doc(hidden)]
    pub fn over<M: Medium>(writer: Arc<Writer<M>>, design: &Entry<M, Records>, durability: Durability) -> Result<Self> {
        Engine::over(writer, design, durability).map(Database::new)
    }

    /// The keyspace of that name (1 to 255 bytes), made if it is not there. One named `default` is always there. In
    /// strict mode it is there durably.
    ///
    /// # Errors
    /// `Invalid` for a name of another length; `Poisoned`, `NoSpace`.
    pub fn keyspace(&self, name: &str) -> Result<Keyspace> {
        Ok(Keyspace::new(self.engine.clone(), self.engine.create_keyspace(name)?))
    }

    /// The keyspace of that name, if there is one. In strict mode the answer is durable.
    ///
    /// # Errors
    /// In strict mode `Poisoned` or `NoSpace`, if the answer cannot be made durable.
    pub fn existing_keyspace(&self, name: &str) -> Result<Option<Keyspace>> {
        Ok(self.engine.find_keyspace(name)?.map(|tree| Keyspace::new(self.engine.clone(), tree)))
    }

    /// The names of all keyspaces, in order. In strict mode the answer is durable.
    ///
    /// # Errors
    /// As [`Database::existing_keyspace`].
    pub fn keyspaces(&self) -> Result<Vec<String>> {
        self.engine.keyspace_names()
    }

    /// Removes a keyspace with all that it holds, durably, and returns whether there was one. Handles to it, and
    /// iterators over it, refuse everything from then on: [`Error::Dropped`](crate::Error::Dropped). O(leaves).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// assert!(db.drop_keyspace("reefs")?);
    /// assert!(matches!(reefs.get("north"), Err(holm::Error::Dropped { .. })));
    /// assert!(!db.drop_keyspace("reefs")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Poisoned`, `NoSpace`. If it is gone by then and what it held could not be freed, the next call does it, of
    /// whichever name; so does opening the database again.
    pub fn drop_keyspace(&self, name: &str) -> Result<bool> {
        self.engine.drop_keyspace(name)
    }

    /// Returns an empty batch: writes that a crash leaves all done or all undone. See [`Batch`].
    pub fn batch(&self) -> Batch {
        Batch::new(self.engine.clone())
    }

    /// Returns when every operation that had completed before the call survives a power cut, whatever the
    /// [`Durability`]. All threads that wait share one sync.
    ///
    /// # Errors
    /// `NoSpace`, if the log finds no room on the disk; nothing is lost, and `sync` may be called again when there is
    /// some. `Poisoned`, if the log could not be written or synced now or earlier. It is never tried again: open the
    /// database anew.
    pub fn sync(&self) -> Result<()> {
        // An operation like others: a database that has failed or was closed acknowledges nothing, however little there
        // is to do.
        Operation::begin(&self.engine)?.finish_durably()
    }

    /// Statistics of this database. Counting is free; this call takes a few system calls and a walk over the process's
    /// page tables, some milliseconds for each gigabyte in small pages.
    pub fn stats(&self) -> Stats {
        Stats::of(&self.engine)
    }

    /// What the last open recovered, and from where.
    pub fn recovery(&self) -> &Recovery {
        &self.engine.recovery
    }

    /// Verifies everything: the structure of every tree, that every key found is gettable, every record's lengths and
    /// checksum, that no two records share space. Reads everything; writers wait meanwhile.
    ///
    /// # Errors
    /// A fault is no error, but a line of [`Report::faults`].
    pub fn check(&self) -> Result<Report> {
        check::check(&self.engine)
    }

    /// Makes everything durable and leaves a clean database. Other handles to it refuse writes from then on, and go on
    /// reading. The database stays locked until the last of them is dropped: to open it again before that, in this
    /// process or another one, is refused with [`Error::Locked`](crate::Error::Locked).
    ///
    /// # Errors
    /// The first failure of the session, or of closing itself.
    pub fn close(self) -> Result<()> {
        self.engine.close()
    }
}
