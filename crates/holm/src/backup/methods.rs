//! Backups as the handles make and read them.

use super::kept;
use super::source::Source;
use super::{BackupInfo, apply, base, files_of, reader, restore};
use crate::database::Database;
use crate::engine::Reader;
use crate::error::{Error, Result};
use crate::kept_keyspaces::KeptKeyspaces;
use crate::mark;
use crate::options::Builder;
use crate::read_only::ReadOnlyDatabase;
use crate::snapshot::Snapshot;
use std::io::{Read, Write};
use std::path::Path;

/// Backups. Writers continue meanwhile; each backup reads a snapshot, and keeps it open while it runs. A keyspace that
/// is dropped meanwhile is in the backup. Its handles fail at once, and its space is free once the backup has ended.
impl Database {
    /// Writes a whole backup to a stream: all keyspaces as they are at one instant. O(n), and no more memory than a
    /// snapshot takes. Waits until what it contains is durable.
    ///
    /// [`Database::restore`] makes a database of it, and [`verify_backup`] reads it through. A stream has a checksum
    /// for each mebibyte and a hash of all of it, so damage and a missing end are found. Through a
    /// [`PacedWriter`](crate::PacedWriter) it takes longer, and slows writers down less.
    ///
    /// # Errors
    /// [`Io`](Error::Io): the writer refused a call. [`Ended`](Error::Ended): open snapshots kept more than
    /// [`Builder::snapshot_bytes`]. [`Corrupt`](Error::Corrupt): a record has not its checksum, or a leaf is damaged.
    /// Otherwise as [`Database::sync`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// db.keyspace("reefs")?.insert("north", "coral")?;
    /// let mut stream = Vec::new(); // or a file, a pipe, a socket
    /// let info = db.backup_to(&mut stream)?;
    /// assert_eq!((info.records, info.bytes), (1, stream.len() as u64));
    ///
    /// let copy = folder.path().join("copy.holm");
    /// holm::Database::restore(&mut &stream[..], &copy)?;
    /// let copy = holm::Database::open(&copy)?;
    /// assert_eq!(copy.keyspace("reefs")?.get("north")?.as_deref(), Some(&b"coral"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup_to(&self, stream: &mut dyn Write) -> Result<BackupInfo> {
        self.backup_since(0, stream)
    }

    /// Writes an incremental backup: what has changed since an earlier backup of this database, whose
    /// [`BackupInfo::epoch`] is `base`. 0 stands for a whole backup. Any earlier backup will do, however old; a
    /// database keeps nothing for it.
    ///
    /// [`Database::apply`] brings a copy that stands at the base to the state of this stream. The stream has all pairs
    /// of each leaf that has changed, and some 50 bytes for each other leaf (seventeen pairs). O(leaves).
    ///
    /// # Errors
    /// As [`Database::backup_to`]. [`Invalid`](Error::Invalid): the base is not earlier than this backup's own epoch.
    /// Each call ends an epoch; only snapshots taken within one epoch cannot continue each other's backups.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// (0..2_000u32).try_for_each(|reef| reefs.insert(reef.to_be_bytes(), "coral"))?;
    /// db.sync()?;
    /// let copy = folder.path().join("copy.holm");
    /// let whole = db.backup(&copy)?;
    ///
    /// reefs.insert(7u32.to_be_bytes(), "kelp")?;
    /// let mut changes = Vec::new();
    /// db.backup_since(whole.epoch, &mut changes)?;
    ///
    /// let copy = holm::Database::open(&copy)?;
    /// copy.apply(&mut &changes[..])?;
    /// assert_eq!(copy.keyspace("reefs")?.get(7u32.to_be_bytes())?.as_deref(), Some(&b"kelp"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup_since(&self, base: u64, stream: &mut dyn Write) -> Result<BackupInfo> {
        let (kept, snapshot) = kept::with_snapshot(&self.engine)?;
        snapshot.write(kept, base, stream)
    }

    /// Makes a copy of the database in a folder, as it is at one instant. The folder must not exist, or be empty. It
    /// gets its name only once the copy is complete and durable; a copy that is cut short leaves a folder
    /// `<name>.partial` with a file `unfinished`, which the next one removes. The copy has a log and an identity of its
    /// own, and is compact. O(n log n).
    ///
    /// # Errors
    /// As [`Database::backup_to`] and [`Database::restore`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// db.keyspace("reefs")?.insert("north", "coral")?;
    /// let copy = folder.path().join("copy.holm");
    /// db.backup(&copy)?;
    /// assert_eq!(holm::Database::open_read_only(&copy)?.keyspaces()?, ["default", "reefs"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup(&self, folder: impl AsRef<Path>) -> Result<BackupInfo> {
        let (kept, snapshot) = kept::with_snapshot(&self.engine)?;
        let builder = Builder::default().design(self.engine.store.index.design());
        restore::copy(&builder, folder.as_ref(), |stream| snapshot.write(kept, 0, stream))
    }

    /// Makes a database of a whole backup, in a folder that does not exist or is empty. The folder gets its name only
    /// once the database in it is complete and durable; if anything fails, the folder is as before. Options are the
    /// default ones: see [`Builder::restore`].
    ///
    /// Reads exactly one stream. What follows it is left to the reader, so streams may come one behind the other: a
    /// whole backup, and the increments for [`Database::apply`]. A caller that expects one stream asks for the end.
    ///
    /// # Errors
    /// - [`Corrupt`](Error::Corrupt), [`Foreign`](Error::Foreign), [`Version`](Error::Version): the stream is damaged,
    ///   ends early, or is none. `Foreign`, too, if a folder `<name>.partial` is there that no attempt has left.
    /// - [`WrongBase`](Error::WrongBase): the stream is an incremental backup.
    /// - [`Io`](Error::Io): the reader or the operating system refused a call; of kind `AlreadyExists` if the folder
    ///   contains anything.
    /// - [`Locked`](Error::Locked): another process restores to the same folder.
    /// - [`NoSpace`](Error::NoSpace), and otherwise as [`Builder::open`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// use holm::{Database, Error};
    /// let mut stream = Vec::new();
    /// Database::open(&path)?.backup_to(&mut stream)?;
    /// let cut = Database::restore(&mut &stream[..stream.len() - 1], folder.path().join("copy.holm"));
    /// assert!(matches!(cut, Err(Error::Corrupt { .. })));
    /// assert!(!folder.path().join("copy.holm").exists());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(stream: &mut dyn Read, folder: impl AsRef<Path>) -> Result<BackupInfo> {
        Builder::default().restore(stream, folder)
    }

    /// Brings a restored database, or the copy of [`Database::backup`], from one backup to the next. The stream is an
    /// incremental one, whose base is the state that this database stands at. What it does not have goes: the
    /// result is the state of the stream, and nothing else.
    ///
    /// A whole backup can be applied, too, to a database that has no pairs and no mark.
    ///
    /// The stream is read to its end, verified and stored in the database's folder before anything changes. From then
    /// on, an opening after a crash completes what was begun. So after any crash, an open database stands at the base
    /// or at the state of the stream. In this process, readers see the changes one by one meanwhile, and a snapshot
    /// taken before does not. Durable in every mode when it returns.
    ///
    /// # Errors
    /// - [`WrongBase`](Error::WrongBase): the stream belongs to another database or another state, or this database has
    ///   been written since its last backup was restored or applied. Writes from the moment on at which the stream has
    ///   been read to its end are not noticed, and may stay: let nobody write meanwhile.
    /// - [`Corrupt`](Error::Corrupt), [`Foreign`](Error::Foreign), [`Version`](Error::Version), [`Io`](Error::Io):
    ///   nothing has changed.
    /// - [`Invalid`](Error::Invalid): another backup is being applied to this database.
    /// - [`NoSpace`](Error::NoSpace), [`Capacity`](Error::Capacity), [`Poisoned`](Error::Poisoned): call again with the
    ///   same stream, or open the database anew, which completes it.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// use holm::{Database, Error};
    /// let db = Database::open(folder.path().join("sea.holm"))?;
    /// let whole = db.backup(folder.path().join("copy.holm"))?;
    /// let mut changes = Vec::new();
    /// db.backup_since(whole.epoch, &mut changes)?;
    /// // Only a copy of this database can take them.
    /// assert!(matches!(db.apply(&mut &changes[..]), Err(Error::WrongBase { .. })));
    /// let copy = Database::open(folder.path().join("copy.holm"))?;
    /// assert_eq!(copy.apply(&mut &changes[..])?.base, whole.epoch);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply(&self, stream: &mut dyn Read) -> Result<BackupInfo> {
        let info = apply::apply(&self.engine, stream)?;
        // The backup may have brought a keyspace whose keys expire.
        self.engine.start_sweeper();
        Ok(info)
    }
}

impl Builder {
    /// Makes a database of a whole backup, with these options: see [`Database::restore`]. The design need not be that
    /// of the database that the backup is of.
    ///
    /// # Errors
    /// As [`Database::restore`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let mut stream = Vec::new();
    /// use holm::Database;
    /// Database::open(folder.path().join("sea.holm"))?.backup_to(&mut stream)?;
    /// let copy = folder.path().join("copy.holm");
    /// Database::builder().design("holm").restore(&mut &stream[..], &copy)?;
    /// assert_eq!(Database::builder().design("holm").open(&copy)?.stats().design, "holm");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(self, stream: &mut dyn Read, folder: impl AsRef<Path>) -> Result<BackupInfo> {
        restore::restore(&self, stream, folder.as_ref())
    }
}

impl Snapshot {
    /// Writes a whole backup of this snapshot: see [`Database::backup_to`]. The backup's
    /// [`epoch`](BackupInfo::epoch) is the one before [`Snapshot::epoch`], because the snapshot may lie within its own.
    ///
    /// # Errors
    /// As [`Database::backup_to`]; [`Dropped`](Error::Dropped): a keyspace of the snapshot was dropped before the call.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let reefs = db.keyspace("reefs")?;
    /// reefs.insert("north", "coral")?;
    /// let snapshot = db.snapshot()?;
    /// reefs.insert("south", "kelp")?;
    /// assert_eq!(snapshot.write_to(&mut Vec::new())?.records, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_to(&self, stream: &mut dyn Write) -> Result<BackupInfo> {
        self.write_since(0, stream)
    }

    /// Writes an incremental backup of this snapshot: see [`Database::backup_since`].
    ///
    /// # Errors
    /// As [`Database::backup_since`]; [`Dropped`](Error::Dropped): as for [`Snapshot::write_to`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// let base = db.backup_to(&mut Vec::new())?.epoch;
    /// db.keyspace("reefs")?.insert("north", "coral")?;
    /// db.sync()?;
    /// let info = db.snapshot()?.write_since(base, &mut Vec::new())?;
    /// assert_eq!((info.base, info.records), (base, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_since(&self, base: u64, stream: &mut dyn Write) -> Result<BackupInfo> {
        self.write(kept::of_snapshot(self)?, base, stream)
    }

    /// Writes a backup of this snapshot and its keyspaces.
    fn write(&self, trees: KeptKeyspaces, base: u64, stream: &mut dyn Write) -> Result<BackupInfo> {
        let engine = self.engine();
        let uuid = files_of(&engine.store)?.uuid;
        // The instant lies within its epoch, whose later changes are not in the backup. Those before it are sent again.
        let epoch = self.epoch() - 1;
        // Of two snapshots of one epoch, the later one is no base for the other: it has changes of leaves that the
        // other would keep.
        if base > 0 && base >= epoch {
            let what = format!("the base of a backup is an earlier one: found {base}, and epoch {epoch}");
            return Err(Error::Invalid { what });
        }
        let source = Source { reader: Reader::Snapshot(self.clone()), trees, mark: self.mark()?, epoch };
        base::log_epoch(engine, epoch)?;
        source.write(uuid, base, stream)
    }
}

impl ReadOnlyDatabase {
    /// Writes a whole backup to a stream: see [`Database::backup_to`]. Nothing changes meanwhile.
    ///
    /// # Errors
    /// [`Io`](Error::Io): the writer refused a call. [`Corrupt`](Error::Corrupt): a record is damaged, or the leaves
    /// have not the checksum that they had when the database was closed, or the name of a keyspace is damaged;
    /// [`Database::repair`] saves what is left.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("sea.holm");
    /// # holm::Database::open(&path)?.keyspace("reefs")?.insert("north", "coral")?;
    /// let mut stream = Vec::new();
    /// let info = holm::Database::open_read_only(&path)?.backup_to(&mut stream)?;
    /// assert_eq!(holm::verify_backup(&mut &stream[..])?, info);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup_to(&self, stream: &mut dyn Write) -> Result<BackupInfo> {
        self.backup_since(0, stream)
    }

    /// Writes an incremental backup to a stream: see [`Database::backup_since`].
    ///
    /// # Errors
    /// As [`ReadOnlyDatabase::backup_to`]. [`Invalid`](Error::Invalid): the base is later than the last epoch.
    pub fn backup_since(&self, base: u64, stream: &mut dyn Write) -> Result<BackupInfo> {
        let engine = &self.engine;
        // What is lost would be missing in a backup that is sound by itself.
        engine.changed_leaves.clone().map_or(Ok(()), Err)?;
        if engine.recovery.incomplete {
            let (path, found) = (engine.store.path.clone(), engine.recovery.damaged.join("; "));
            let expected = "the names of all keyspaces".into();
            return Err(Error::Corrupt { path, offset: 0, what: "the catalog", found, expected });
        }
        let epoch = engine.recovery.epoch;
        if base > epoch {
            let what = format!("the base of a backup is an earlier one: found {base}, and epoch {epoch}");
            return Err(Error::Invalid { what });
        }
        let uuid = files_of(&engine.store)?.uuid;
        let source = Source {
            reader: Reader::ReadOnly(engine.clone()),
            trees: KeptKeyspaces::of_read_only(engine),
            mark: mark::read(&engine.store, &engine.catalog)?,
            epoch,
        };
        source.write(uuid, base, stream)
    }
}

/// Reads a backup stream to its end and verifies all of it: checksums, order, counts and the hash. O(n), and no more
/// memory than the largest value takes.
///
/// # Errors
/// [`Corrupt`](Error::Corrupt): the stream is damaged at the offset that the error names, or ends early.
/// [`Foreign`](Error::Foreign), [`Version`](Error::Version): it is none of this format. [`Io`](Error::Io).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let mut stream = Vec::new();
/// let info = db.backup_to(&mut stream)?;
/// assert_eq!(holm::verify_backup(&mut &stream[..])?, info);
/// stream[100] ^= 1;
/// assert!(matches!(holm::verify_backup(&mut &stream[..]), Err(holm::Error::Corrupt { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify_backup(stream: &mut dyn Read) -> Result<BackupInfo> {
    reader::StreamReader::begin(stream)?.finish().map(|end| end.info)
}
