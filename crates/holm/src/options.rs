//! How a database is opened. Each option names the room that reads it; none changes an algorithm.

use crate::database::Database;
use crate::designs::{self, Table};
use crate::durability::{Durability, ImageMode};
use crate::engine::Engine;
use crate::error::Result;
use crate::read_only::ReadOnlyDatabase;
use holm_medium::vfs::{RealFs, Vfs};
use std::path::Path;
use std::sync::Arc;

/// Options of a database, and the way to open it with them.
#[derive(Clone)]
#[must_use = "options do nothing until `open`"]
pub struct Builder {
    pub(crate) durability: Durability,
    pub(crate) image: ImageMode,
    pub(crate) design: String,
    pub(crate) designs: Table,
    pub(crate) create: bool,
    pub(crate) capacity: u64,
    pub(crate) log_bytes: u64,
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
            .finish_non_exhaustive()
    }
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            durability: Durability::default(),
            image: ImageMode::default(),
            design: "buffered".into(),
            designs: designs::shipped,
            create: true,
            capacity: 1 << 40,
            log_bytes: 256 << 20,
            vfs: Arc::new(RealFs),
            heap: [0; 2],
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

impl Builder {
    /// How much a power cut may take; see [`Durability`]. Buffered with 10 ms unless chosen.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Where this session keeps the data while the database is open: [`ImageMode::Shared`] unless chosen. Each open may
    /// choose anew.
    pub fn image(mut self, image: ImageMode) -> Self {
        self.image = image;
        self
    }

    /// The leaf design, `buffered` unless chosen. Fixed when the database is made.
    pub fn design(mut self, name: &str) -> Self {
        self.design = name.into();
        self
    }

    /// For whoever measures designs: the table that names are looked up in, in place of the designs that ship.
    #[doc(hidden)]
    pub fn designs(mut self, table: Table) -> Self {
        self.designs = table;
        self
    }

    /// Whether [`Builder::open`] may make a database where there is none. It may, unless told otherwise.
    pub fn create(mut self, create: bool) -> Self {
        self.create = create;
        self
    }

    /// The most bytes of records, and of leaves, the database may ever hold in this session: address space, not memory
    /// or disk. 1 TiB unless chosen; another number may be chosen at each open. What would need more is refused with
    /// [`Error::Capacity`](crate::Error::Capacity).
    pub fn capacity(mut self, bytes: u64) -> Self {
        self.capacity = bytes;
        self
    }

    /// The most bytes both halves of the epoch log may grow to, 256 MiB unless chosen. More lets bursts run further
    /// ahead of the checkpoints; the log starts small and shrinks when idle.
    pub fn log_bytes(mut self, bytes: u64) -> Self {
        self.log_bytes = bytes;
        self
    }

    /// For the proving ground: another file system, and how much heap its images get.
    #[doc(hidden)]
    pub fn vfs(mut self, vfs: Arc<dyn Vfs>, heap: [usize; 2]) -> Self {
        self.vfs = vfs;
        self.heap = heap;
        self
    }

    /// Opens the database in a folder.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) where there is none and none is to be made;
    /// [`Error::Locked`](crate::Error::Locked) while somebody else has it open; `Foreign`, `Version`, `Geometry`,
    /// `Corrupt` for what is no sound database of this shape; `ReadOnly`, `NoSpace`, `Io` from below;
    /// [`Error::Unsupported`](crate::Error::Unsupported) for a design that cannot defer on a shared image, or that
    /// needs whole keys in its slots.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        Engine::open(path.as_ref(), self).map(Database::new)
    }

    /// Opens a cleanly closed database to look at, with these options as far as they matter there: see
    /// [`Database::open_read_only`].
    ///
    /// # Errors
    /// As there.
    pub fn open_read_only(self, path: impl AsRef<Path>) -> Result<ReadOnlyDatabase> {
        Engine::open_read_only(path.as_ref(), self).map(ReadOnlyDatabase::new)
    }
}
