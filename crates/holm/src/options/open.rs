//! Opening with options.

use super::Builder;
use crate::database::Database;
use crate::durability::{Durability, ImageMode};
use crate::error::{Error, Result};
use crate::opening;
use crate::read_only::ReadOnlyDatabase;
use holm_medium::vfs::{MemoryFs, TemporaryFs};
use std::path::Path;
use std::sync::Arc;

impl Builder {
    /// Opens the database in a folder, and recovers it if it was not closed cleanly.
    ///
    /// After a close the open reads an index: some 50 ms for ten million small records. After a crash it reads every
    /// leaf, on all cores: some 200 ms for as many. [`Database::recovery`] reports what was recovered. The database is
    /// locked until its last handle is dropped.
    ///
    /// # Errors
    /// - [`NotFound`](crate::Error::NotFound): the folder has no database, and [`Builder::create`] is `false`.
    /// - [`Locked`](crate::Error::Locked): another process, or another handle of this one, has it open.
    /// - [`Foreign`](crate::Error::Foreign), [`Version`](crate::Error::Version), [`Geometry`](crate::Error::Geometry),
    ///   [`Corrupt`](crate::Error::Corrupt): the folder holds no sound database of this format and design.
    /// - [`ReadOnly`](crate::Error::ReadOnly), [`NoSpace`](crate::Error::NoSpace), [`Io`](crate::Error::Io): the
    ///   operating system refused a call.
    /// - [`Invalid`](crate::Error::Invalid): there is no design of that name.
    /// - [`Unsupported`](crate::Error::Unsupported): the design needs whole keys in its slots, or
    ///   [`ImageMode::Private`](crate::ImageMode::Private).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::{Database, Durability};
    /// let db = Database::builder().durability(Durability::Strict).open(&path)?;
    /// println!("{}", db.recovery());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        opening::open(path.as_ref(), self).map(Database::new)
    }

    /// Makes an empty database that has no files: it lies in memory of the kernel, mapped as files are, and is gone
    /// with its last handle. For tests, caches and data that are computed again.
    ///
    /// Everything works as it does in a folder: transactions, snapshots, feeds, [`Database::backup`] into one. There
    /// is nothing to survive, so [`Builder::durability`] has no effect; epochs end as with
    /// [`OnSync`](Durability::OnSync). The log is memory, too, at most [`Builder::log_bytes`]. Systems other than Linux
    /// use a file for temporary files that has no name.
    ///
    /// # Errors
    /// As [`Builder::open`].
    ///
    /// ```
    /// let db = holm::Database::builder().in_memory()?;
    /// let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// assert_eq!(reefs.get("north")?.unwrap(), "coral");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_memory(mut self) -> Result<Database> {
        self.vfs = Arc::new(MemoryFs::default());
        self.durability(Durability::OnSync).image(ImageMode::Shared).create(true).open("/in memory")
    }

    /// Makes an empty database in a folder for temporary files, which is removed with the last handle. For tests of
    /// what a program does with files: otherwise as [`Builder::open`]. A process that is killed leaves the folder.
    ///
    /// # Errors
    /// As [`Builder::open`].
    ///
    /// ```
    /// let db = holm::Database::builder().durability(holm::Durability::Strict).temporary()?;
    /// db.keyspace("reefs")?.insert("north", "coral")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn temporary(mut self) -> Result<Database> {
        let files = TemporaryFs::new();
        let files = files.map_err(|error| Error::io("creating", std::env::temp_dir(), Arc::new(error)))?;
        let folder = files.folder().join("holm");
        self.vfs = Arc::new(files);
        self.create(true).open(folder)
    }

    /// Opens a cleanly closed database for reading only. Of the options, only [`Builder::capacity`] has an effect.
    ///
    /// # Errors
    /// As [`Database::open_read_only`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::{Database, Error};
    /// let db = Database::open(&path)?;
    /// assert!(matches!(Database::builder().open_read_only(&path), Err(Error::Locked { .. })));
    /// db.close()?;
    /// let db = Database::builder().open_read_only(&path)?;
    /// assert_eq!(db.keyspaces()?, ["default"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_read_only(self, path: impl AsRef<Path>) -> Result<ReadOnlyDatabase> {
        opening::open_read_only(path.as_ref(), self).map(ReadOnlyDatabase::new)
    }
}
