//! Repair: a new database of what can be believed of a damaged one.
//!
//! ```text
//!  superblock, leaves, records, log ---evidence---> areas, and which source is believed
//!                                                      |
//!                                      leaves: blocks in the order of their epochs
//!                                                      |
//!                                      records: by slot, checksum and key compared
//!                                                      |
//!                                      salvage ---> a new database
//! ```
//!
//! Nothing here maps a file, builds a tree over damage or writes to the damaged folder. Each pair is judged by itself:
//! a leaf names it, its record has its checksum, and the record's key has the head and the fingerprint that the leaf
//! has for it. docs/repair.md states what can be saved after which damage.

mod area;
mod evidence;
mod found;
mod leaves;
mod names;
mod orphans;
mod records;
mod report;
mod salvage;

pub use report::RepairReport;

use crate::backup::{build, would_change};
use crate::database::Database;
use crate::designs;
use crate::error::{Error, Result};
use crate::options::Builder;
use crate::sweeper::Sweep;
use evidence::Evidence;
use holm_medium::Area;
use leaves::Leaves;
use salvage::Salvage;
use std::path::{Path, PathBuf};

/// A repair: it reads a damaged database, which an open may refuse, and writes what can be believed of it to a new
/// one. It never changes the damaged folder.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sea.holm");
/// # let db = holm::Database::open(&path)?;
/// # db.keyspace("reefs")?.insert("north", "coral")?;
/// # db.close()?;
/// std::fs::remove_file(path.join("superblock"))?;
/// assert!(matches!(holm::Database::open(&path), Err(holm::Error::Corrupt { .. })));
///
/// let report = holm::Repair::of(&path).orphans(true).write_to(folder.path().join("saved.holm"))?;
/// assert_eq!(report.losses, ["superblock is missing"]);
/// let saved = holm::Database::open(folder.path().join("saved.holm"))?;
/// assert_eq!(saved.keyspace("reefs")?.get("north")?.as_deref(), Some(&b"coral"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a repair does nothing until `write_to`"]
pub struct Repair {
    from: PathBuf,
    orphans: bool,
    options: Option<Builder>,
}

impl Repair {
    /// Begins a repair of the database in a folder.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// let absent = holm::Repair::of(folder.path().join("absent.holm")).write_to(folder.path().join("saved.holm"));
    /// assert!(matches!(absent, Err(holm::Error::NotFound { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(folder: impl AsRef<Path>) -> Self {
        Repair { from: folder.as_ref().into(), orphans: false, options: None }
    }

    /// Sets whether records that no leaf names are kept, too, in the keyspace `lost-records`. Default: `false`. They
    /// are always kept if the file `leaves` is missing or empty.
    ///
    /// Among them are values that were replaced or removed, names of keyspaces, and keys with empty values from
    /// removals that a commit was about to do. A value of a keyspace with expiry follows the eight bytes of its
    /// deadline. Of several records of one key, the last one in the file is kept. Takes a 64th of the records' file in
    /// memory.
    pub fn orphans(mut self, keep: bool) -> Self {
        self.orphans = keep;
        self
    }

    /// Sets the options of the new database. Default: those of [`Database::builder`], with the design of the damaged
    /// database.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let (path, saved) = (folder.path().join("sea.holm"), folder.path().join("saved.holm"));
    /// # holm::Database::open(&path)?.close()?;
    /// let options = holm::Database::builder().design("holm");
    /// holm::Repair::of(&path).options(options.clone()).write_to(&saved)?;
    /// assert_eq!(options.open(&saved)?.stats().design, "holm");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn options(mut self, options: Builder) -> Self {
        self.options = Some(options);
        self
    }

    /// Writes the new database to a folder that does not exist or is empty. The folder gets its name only once the
    /// database in it is complete and durable. O(n log n); 24 bytes of memory for each leaf, and 16 for each line of
    /// the log.
    ///
    /// A pair is kept only if the checksum of its record holds and its key is the one that its leaf describes. Each
    /// pair is judged by itself, so a batch or a transaction can be there in part.
    ///
    /// # Errors
    /// - [`NotFound`](Error::NotFound): the damaged folder has no file of a database.
    /// - [`Invalid`](Error::Invalid): the new folder lies within the damaged one, or the damaged one has the name
    ///   `<new>.partial`, under which the new database is made.
    /// - [`Locked`](Error::Locked): a process has the damaged database open.
    /// - [`Version`](Error::Version), [`Geometry`](Error::Geometry): it is of another version, or of a design that this
    ///   program does not have. [`Unsupported`](Error::Unsupported): its design cannot be repaired.
    /// - [`Io`](Error::Io): the operating system refused a call; of kind `AlreadyExists` if the new folder contains
    ///   anything.
    /// - [`NoSpace`](Error::NoSpace), [`Capacity`](Error::Capacity), and otherwise as [`Builder::open`].
    pub fn write_to(self, folder: impl AsRef<Path>) -> Result<RepairReport> {
        let Repair { from, mut orphans, options } = self;
        let has_options = options.is_some();
        let mut builder = options.unwrap_or_default().sweep(Sweep::Manual);
        let mut report = RepairReport::default();
        if would_change(&from, folder.as_ref())? {
            let (from, into) = (from.display(), folder.as_ref().display());
            return Err(Error::Invalid {
                what: format!("a repair into {into} would change the damaged folder {from}"),
            });
        }
        let mut evidence = Evidence::open(&builder, &from, &mut report)?;
        // The designs that ship have the same blocks.
        let chosen = builder.design.as_deref().unwrap_or(designs::DEFAULT);
        let name = evidence.superblock.as_ref().map_or(chosen, |superblock| &superblock.geometry.design);
        let design = designs::found(builder.designs, name)?;
        let Some(read) = design.read_block else {
            return Err(Error::Unsupported { what: format!("to repair a database of the design {:?}", design.name) });
        };
        if !has_options {
            builder = builder.design(design.name);
        }
        if let Some(block) = Leaves::new(&evidence, read, design.block_bytes.into()).beyond_the_log()? {
            evidence.distrust_log(block, &mut report);
        }
        orphans |= evidence.area(Area::Leaves).len() == 0;
        build(&builder, folder.as_ref(), |engine| {
            let leaves = Leaves::new(&evidence, read, design.block_bytes.into());
            Salvage::new(&evidence, leaves, engine, &mut report, orphans).run()
        })?;
        Ok(report)
    }
}

/// Repair.
impl Database {
    /// Reads a damaged database, which an open may refuse, and writes what can be believed of it to a new one:
    /// [`Repair`] with its default options. Never changes the damaged folder.
    ///
    /// # Errors
    /// As [`Repair::write_to`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::Database;
    /// # let db = Database::open(&path)?;
    /// # db.keyspace("reefs")?.insert("north", "coral")?;
    /// # db.close()?;
    /// std::fs::remove_file(path.join("log.0"))?;
    /// assert!(Database::open(&path).is_err());
    /// let report = Database::repair(&path, folder.path().join("saved.holm"))?;
    /// print!("{report}");
    /// assert_eq!((report.records, &report.losses[..]), (1, &["log.0 is missing".to_owned()][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn repair(damaged: impl AsRef<Path>, into: impl AsRef<Path>) -> Result<RepairReport> {
        Repair::of(damaged).write_to(into)
    }
}
