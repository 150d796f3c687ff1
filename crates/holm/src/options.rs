//! The options to open a database with. None of them changes an algorithm.

mod open;

use crate::designs::{self, Table};
use crate::durability::{Durability, ImageMode};
use crate::generation::DEFAULT_SNAPSHOT_BYTES;
use crate::sweeper::Sweep;
use crate::wall_clock::TimeSource;
use holm_medium::vfs::{RealFs, Vfs};
use std::sync::Arc;
use std::time::SystemTime;

/// Options to open a database with: [`Database::builder`](crate::Database::builder).
///
/// Every open may choose other options; only the design is fixed at creation.
///
/// ```
/// use holm::{Database, Durability};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sea.holm");
/// let db = Database::builder()
///     .durability(Durability::Strict)
///     .capacity(64 << 30) // at most 64 GiB of records
///     .log_bytes(64 << 20)
///     .open(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "options do nothing until `open`"]
pub struct Builder {
    pub(crate) durability: Durability,
    pub(crate) image: ImageMode,
    /// `None` means that the caller has not chosen.
    pub(crate) design: Option<String>,
    pub(crate) designs: Table,
    pub(crate) create: bool,
    /// `None` means that the caller has not chosen.
    pub(crate) capacity: Option<u64>,
    pub(crate) log_bytes: u64,
    pub(crate) snapshot_bytes: u64,
    pub(crate) sweep: Sweep,
    pub(crate) time_source: Option<TimeSource>,
    pub(crate) vfs: Arc<dyn Vfs>,
    pub(crate) heap: [usize; 2],
    pub(crate) threads: usize,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder")
            .field("durability", &self.durability)
            .field("image", &self.image)
            .field("design", &self.design)
            .field("create", &self.create)
            .field("capacity", &self.capacity)
            .field("log_bytes", &self.log_bytes)
            .field("snapshot_bytes", &self.snapshot_bytes)
            .field("sweep", &self.sweep)
            .finish_non_exhaustive()
    }
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            durability: Durability::default(),
            image: ImageMode::default(),
            design: None,
            designs: designs::shipped,
            create: true,
            capacity: None,
            log_bytes: 256 << 20,
            snapshot_bytes: DEFAULT_SNAPSHOT_BYTES,
            sweep: Sweep::default(),
            time_source: None,
            vfs: Arc::new(RealFs),
            heap: [0; 2],
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl Builder {
    /// Sets how much a power cut may lose. Default: [`Durability::Buffered`] with 10 ms.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::{Database, Durability};
    /// let db = Database::builder().durability(Durability::OnSync).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets where this session keeps the data while the database is open. Default: [`ImageMode::Shared`]. Each open may
    /// choose another.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::{Database, ImageMode};
    /// let db = Database::builder().image(ImageMode::Private).open(&path)?;
    /// db.close()?;
    /// let db = Database::open(&path)?; // in a shared image this time
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn image(mut self, image: ImageMode) -> Self {
        self.image = image;
        self
    }

    /// Sets the leaf design. It is fixed when the database is created; without a call of this, a database is opened
    /// with the one that it has. The designs are `buffered`, that of new databases; `holm`, whose leaves have up to two
    /// blocks; and `clustered`, whose leaves have the small records of their pairs in their own pages, for data larger
    /// than memory. `docs/designs` says what each costs.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::{Database, Error};
    /// let db = Database::builder().design("holm").open(&path)?;
    /// assert_eq!(db.stats().design, "holm");
    /// db.close()?;
    /// let other = Database::builder().design("buffered").open(&path);
    /// assert!(matches!(other, Err(Error::Geometry { .. })));
    /// assert_eq!(Database::open(&path)?.stats().design, "holm");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn design(mut self, name: &str) -> Self {
        self.design = Some(name.into());
        self
    }

    /// For measurements of designs: sets the table in which names are looked up, in place of the designs that ship.
    #[doc(hidden)]
    pub fn designs(mut self, table: Table) -> Self {
        self.designs = table;
        self
    }

    /// Sets whether [`Builder::open`] creates a database where there is none. Default: `true`. The parent of the folder
    /// must exist.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use holm::{Database, Error};
    /// let absent = Database::builder().create(false).open(folder.path().join("absent.holm"));
    /// assert!(matches!(absent, Err(Error::NotFound { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// Sets the most bytes of records, and of leaves, that the database may hold in this session. The capacity reserves
    /// address space, not memory or disk. Each open may choose another number. A write that needs more fails with
    /// [`Error::Capacity`](crate::Error::Capacity). So may the first opening after a crash, of a database that was
    /// full: until what it finds is durable, it takes nothing that was ever written. With a larger capacity it opens.
    ///
    /// Default: the size of the file system rounded up to a power of two, at least 1 GiB and at most 1 TiB. A process
    /// with too little free address space, for example because it has other databases open, gets less. The default is
    /// never less than 1 GiB, nor than four times the existing data. A number below 1 MiB counts as 1 MiB, and one
    /// above 1 TiB for leaves, or 4 TiB for records, as these.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::{Database, Error};
    /// let db = Database::builder().capacity(1 << 20).open(&path)?;
    /// let large = db.keyspace("reefs")?.insert("north", vec![0; 2 << 20]);
    /// assert!(matches!(large, Err(Error::Capacity { .. })));
    /// assert!(db.keyspace("reefs")?.is_empty()?); // nothing has changed
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn capacity(mut self, bytes: u64) -> Self {
        self.capacity = Some(bytes);
        self
    }

    /// Sets the most bytes of the epoch log on disk. Default: 256 MiB; minimum: 2 MiB. With a larger log, a burst of
    /// writes may run further ahead of the checkpoints. A quarter of it bounds the bytes in flight: beyond that,
    /// writers wait. The log starts small and shrinks when idle.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// let db = holm::Database::builder().log_bytes(1 << 30).open(&path)?; // for long bursts of writes
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn log_bytes(mut self, bytes: u64) -> Self {
        self.log_bytes = bytes;
        self
    }

    /// Sets the most bytes that open snapshots keep together: memory for the pairs of changed leaves, and records that
    /// have been replaced. Beyond that, the oldest snapshot ends, and its reads return
    /// [`Ended`](crate::Error::Ended). Default: 1 GiB.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::Error;
    /// let db = holm::Database::builder().snapshot_bytes(1 << 20).open(&path)?;
    /// let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", vec![0; 2 << 20])?;
    /// let snapshot = db.snapshot()?;
    /// reefs.remove("north")?; // two mebibytes to keep
    /// let then = snapshot.keyspace("reefs").expect("it exists");
    /// assert!(matches!(then.get("north"), Err(Error::Ended)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot_bytes(mut self, bytes: u64) -> Self {
        self.snapshot_bytes = bytes;
        self
    }

    /// Sets how expired records are removed, in keyspaces with expiry. Default: [`Sweep::Every`] with 5 minutes.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::{Database, KeyspaceOptions, Sweep};
    /// use std::time::Duration;
    /// let db = Database::builder().sweep(Sweep::Manual).open(&path)?;
    /// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
    /// tides.insert_for("north", "high", Duration::ZERO)?;
    /// assert_eq!((tides.get("north")?, tides.len()?), (None, 1)); // absent, and still in the way
    /// assert_eq!(db.sweep()?, 1);
    /// assert_eq!(tides.len()?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sweep(mut self, sweep: Sweep) -> Self {
        self.sweep = sweep;
        self
    }

    /// For tests: sets where the time of the day comes from, by which keys expire.
    #[doc(hidden)]
    pub fn time_source(mut self, source: Arc<dyn Fn() -> SystemTime + Send + Sync>) -> Self {
        self.time_source = Some(source);
        self
    }

    /// For crash tests: sets another file system, and the heap bytes of its images.
    #[doc(hidden)]
    pub fn vfs(mut self, vfs: Arc<dyn Vfs>, heap: [usize; 2]) -> Self {
        self.vfs = vfs;
        self.heap = heap;
        self
    }
}
