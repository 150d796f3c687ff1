//! Opening with options.

use super::Builder;
use crate::database::Database;
use crate::error::Result;
use crate::opening;
use crate::read_only::ReadOnlyDatabase;
use std::path::Path;

impl Builder {
    /// Opens the database in a folder, and recovers it if it was not closed cleanly.
    ///
    /// The open reads every leaf on all cores: about 0.3 s for a million small records. [`Database::recovery`] reports
    /// what was recovered. The database is locked until its last handle is dropped.
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
