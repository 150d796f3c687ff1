//! Open and recovery: what a crash has left, and which of it may be kept.
//!
//! With a clean mark, everything is in the data files. Otherwise, if only the process died, the page cache still holds
//! all stores, and the tail that no record covers is kept. An equal boot id alone does not prove this: a write-back
//! that failed after the death loses pages silently (reproduced).
//!
//! The tail is therefore kept only under five conditions. Boot, files and file system are the same. No session has
//! marked the database poisoned. The files can still be synced. The image agrees with what was logged since the last
//! checkpoint (`recover.rs`, `logged.rs`). Otherwise history is cut at the last whole record, and every logged line is
//! restored.

use super::checksum::sum_leaves;
use super::data_files::{Journaled, area_path};
use super::index_file::{self, IndexRead};
use super::map::map;
use super::opened::{JournaledOptions, Opened};
use super::recover::recover;
use super::recovery::{Found, Recovery};
use crate::epoch::FIRST_EPOCH;
use crate::error::{MediumError, Result};
use crate::loc::Area;
use crate::log::{Log, check_segments};
use crate::space::BLOCK;
use crate::superblock::{
    Geometry, ImageKind, State, Superblock, open_superblock, refuse_orphans, reserve, superblock_path,
};
use crate::vfs::{How, Identity, Vfs, VfsFile};
use std::path::Path;
use std::sync::Arc;

/// Opens the database in a folder, or creates it.
///
/// # Errors
/// Every variant of [`MediumError`] that its documentation promises for a folder that is locked, foreign, damaged, of
/// another version or shape, read-only, full, or absent (`Io` of kind `NotFound`).
pub fn open(vfs: Arc<dyn Vfs>, dir: &Path, geometry: &Geometry, options: &JournaledOptions) -> Result<Opened> {
    let path = superblock_path(dir);
    let there = vfs.exists(&path).map_err(|error| MediumError::io("looking for", &path, error))?;
    if !there && let Some(opened) = create(vfs.clone(), dir, geometry, options)? {
        return Ok(opened);
    }
    let superblock_file = open_superblock(&*vfs, dir, How::WRITE)?;
    let (mut superblock, damaged) = Superblock::read(&*superblock_file, &path)?;
    geometry.expect(&superblock.geometry)?;
    let files = [open_area(&*vfs, dir, Area::Leaves, How::WRITE)?, open_area(&*vfs, dir, Area::Records, How::WRITE)?];
    let is_longer = refuse_shortened(dir, &superblock, &files)?;
    let IndexRead { index, earlier } = index_file::read(&*vfs, dir, &superblock, first_block(geometry));
    if index.is_none() {
        expect_all_leaves(&*files[Area::Leaves as usize], &superblock);
        refuse_changed(dir, &superblock, &files)?;
    }
    let kind = if options.private { ImageKind::Private } else { ImageKind::Shared };
    if superblock.state == State::Clean && is_longer {
        // The process that closed it has died before it cut the files, perhaps before its mark was durable. Were the
        // power to fail after the cut, an older superblock would be in force again, which states longer files.
        superblock.write(&*superblock_file, &path)?;
    }
    prepare(dir, &superblock, &files, kind)?;
    let identities = [identity(dir, &files, Area::Leaves)?, identity(dir, &files, Area::Records)?];
    let reason = doubts(&*vfs, &superblock, identities, kind);
    let image = Arc::new(map(dir, &files, kind, options, None)?);
    let medium = Journaled::new(vfs, dir, image, files, kind, options.reserve)?;
    let mut opened = recover(medium, superblock, superblock_file, reason, options)?;
    opened.recovery.damaged.extend(damaged);
    (opened.index, opened.earlier) = (index, earlier);
    Ok(opened)
}

/// The first block after the header.
fn first_block(geometry: &Geometry) -> u32 {
    (BLOCK as u32).div_ceil(geometry.leaf_block.max(1))
}

/// The mark of a database that is being made of a backup or by a repair, and is nobody's yet.
pub const UNFINISHED_FILE: &str = "unfinished";

/// The files that the creation of a database leaves, complete or interrupted.
pub const CREATED_FILES: [&str; 7] =
    ["leaves", "records", "log.0", "log.1", "superblock", "superblock.new", UNFINISHED_FILE];

/// Creates a database; `None` if another process has created one meanwhile.
fn create(vfs: Arc<dyn Vfs>, dir: &Path, geometry: &Geometry, options: &JournaledOptions) -> Result<Option<Opened>> {
    if !options.create {
        refuse_orphans(&*vfs, dir)?;
        return Err(MediumError::io("opening", dir, std::io::ErrorKind::NotFound.into()));
    }
    let making = |error| MediumError::opening_to_write("creating", dir, error);
    let is_new = !vfs.exists(dir).map_err(making)?;
    vfs.create_dir(dir).map_err(making)?;
    let stranger = if is_new {
        None
    } else {
        // A database whose superblock is lost is no foreign folder, although it has an index.
        refuse_orphans(&*vfs, dir)?;
        vfs.list(dir).map_err(making)?.into_iter().find(|name| !CREATED_FILES.contains(&&**name))
    };
    if let Some(found) = stranger {
        return Err(MediumError::Foreign { path: dir.into(), found, expected: "an empty folder or a database".into() });
    }
    // Before any other file is touched: of several processes that create a database, one continues.
    let Some(superblock_file) = reserve(&*vfs, dir)? else { return Ok(None) };
    refuse_orphans(&*vfs, dir)?;
    let files = [open_area(&*vfs, dir, Area::Leaves, How::CREATE)?, open_area(&*vfs, dir, Area::Records, How::CREATE)?];
    let mut uuid = [0; 16];
    getrandom::fill(&mut uuid).map_err(|error| making(std::io::Error::other(error.to_string())))?;
    let log = Log::create(&*vfs, dir, uuid, options.log)?;
    let kind = if options.private { ImageKind::Private } else { ImageKind::Shared };
    let mut superblock = Superblock {
        sequence: 0,
        uuid,
        geometry: geometry.clone(),
        boot_generation: 0,
        // Not clean: the store has yet to create what every database has, and a read-only open would miss it.
        state: State::Dirty,
        boot_id: vfs.boot_id(),
        leaves: identity(dir, &files, Area::Leaves)?,
        records: identity(dir, &files, Area::Records)?,
        epoch: FIRST_EPOCH,
        log_start: log.start(),
        log_segments: log.segments(),
        image: kind,
        lengths: [0; 2],
        leaves_sum: 0,
        created_by: concat!("holm ", env!("CARGO_PKG_VERSION")).into(),
    };
    superblock.create(&*vfs, dir, &*superblock_file)?;
    if let Some(parent) = dir.parent().filter(|parent| is_new && !parent.as_os_str().is_empty()) {
        // The folder's own name: without this sync, a power cut may lose the database and every acknowledged sync.
        vfs.sync_dir(parent).map_err(making)?;
    }
    let image = Arc::new(map(dir, &files, kind, options, None)?);
    let medium = Journaled::new(vfs, dir, image, files, kind, options.reserve)?;
    let next = log.position();
    let recovery = Recovery::of(Found::New, FIRST_EPOCH);
    Ok(Some(Opened::new(medium, recovery, (superblock, superblock_file), options.log, next)))
}

/// Opens a cleanly closed database to read only. Any number of readers may have it open, without a writer.
///
/// # Errors
/// `NotClean`, if it was not closed; otherwise as [`open`].
pub fn open_read_only(
    vfs: Arc<dyn Vfs>,
    dir: &Path,
    geometry: &Geometry,
    options: &JournaledOptions,
) -> Result<Opened> {
    let path = superblock_path(dir);
    let superblock_file = open_superblock(&*vfs, dir, How::READ)?;
    let (superblock, damaged) = Superblock::read(&*superblock_file, &path)?;
    geometry.expect(&superblock.geometry)?;
    if superblock.state != State::Clean {
        return Err(MediumError::NotClean { path: dir.into() });
    }
    let files = [open_area(&*vfs, dir, Area::Leaves, How::READ)?, open_area(&*vfs, dir, Area::Records, How::READ)?];
    refuse_shortened(dir, &superblock, &files)?;
    // Nothing in the log is needed, but the next open for writing needs its files. And what can still be read of
    // damaged leaves is worth having.
    let changed_leaves = refuse_changed(dir, &superblock, &files).err();
    let faults = [check_segments(&*vfs, superblock.log_files(dir)).err(), changed_leaves.clone()];
    let faults = faults.into_iter().flatten().map(|error| error.to_string());
    let damaged = damaged.into_iter().chain(faults).collect();
    let image = Arc::new(map(dir, &files, ImageKind::Shared, options, Some(superblock.lengths))?);
    let medium = Journaled::new(vfs, dir, image, files, ImageKind::Shared, options.reserve)?;
    let next = superblock.log_start.position();
    let recovery = Recovery { damaged, ..Recovery::of(Found::Clean, superblock.epoch) };
    let opened = Opened::new(medium, recovery, (superblock, superblock_file), options.log, next);
    Ok(Opened { changed_leaves, ..opened })
}

/// Bytes that are announced at once. Linux reads no more for one announcement than it reads ahead: this, by default.
const READ_AHEAD: u64 = 128 << 10;

/// Lets the kernel read all leaves front to back. Recovery will look at each, and the mapping by itself reads nothing
/// ahead.
fn expect_all_leaves(leaves: &dyn VfsFile, superblock: &Superblock) {
    // The length is a hint. A file that has grown since, or whose length cannot be read, is read less far ahead.
    let end = leaves.len().unwrap_or(superblock.lengths[Area::Leaves as usize]);
    for from in (0..end).step_by(READ_AHEAD as usize) {
        leaves.expect_reading(from, READ_AHEAD.min(end - from));
    }
}

fn open_area(vfs: &dyn Vfs, dir: &Path, area: Area, how: How) -> Result<Box<dyn VfsFile>> {
    let path = area_path(dir, area);
    vfs.open(&path, how).map_err(|error| MediumError::opening(&path, how.write, error))
}

fn identity(dir: &Path, files: &[Box<dyn VfsFile>; 2], area: Area) -> Result<Identity> {
    files[area as usize].identity().map_err(|error| MediumError::io("asking about", &area_path(dir, area), error))
}

/// Without this check, nothing would detect the loss of leaves that a shortened file lacks. The noted lengths are
/// durable, and files only grow while they are in use. Returns whether a file is longer than noted.
fn refuse_shortened(dir: &Path, superblock: &Superblock, files: &[Box<dyn VfsFile>; 2]) -> Result<bool> {
    let mut is_longer = false;
    for ((file, area), expected) in files.iter().zip(Area::ALL).zip(superblock.lengths) {
        let path = area_path(dir, area);
        let found = file.len().map_err(|error| MediumError::io("measuring", &path, error))?;
        is_longer |= found > expected;
        if found < expected {
            return Err(MediumError::Corrupt {
                path,
                offset: found,
                what: "a data file's length",
                found: format!("{found} bytes"),
                expected: format!("{expected} at least"),
            });
        }
    }
    Ok(is_longer)
}

/// Leaves have no checksum of their own; a closed database has one over all of them. O(bytes of leaves), which are
/// read anyway.
pub(super) fn refuse_changed(dir: &Path, superblock: &Superblock, files: &[Box<dyn VfsFile>; 2]) -> Result<()> {
    if superblock.state != State::Clean {
        return Ok(());
    }
    let found = sum_leaves(dir, files, superblock.lengths[0], superblock.geometry.leaf_block.into(), None)?;
    if found == superblock.leaves_sum {
        return Ok(());
    }
    let path = area_path(dir, Area::Leaves);
    let (found, expected) = (format!("{found:08x}"), format!("{:08x}, as when it was closed", superblock.leaves_sum));
    Err(MediumError::Corrupt { path, offset: 0, what: "the leaves' checksum", found, expected })
}

/// Runs before the files are mapped for writing. Bytes beyond the end of a closed database mean nothing, and would be
/// taken for leaves. A hole, as a copy may have, is a full disk that only a store would find, as a fault. Those of a
/// shared mapping of records are allocated later, where records may come to lie (`allocated.rs`).
fn prepare(dir: &Path, superblock: &Superblock, files: &[Box<dyn VfsFile>; 2], kind: ImageKind) -> Result<()> {
    for ((file, area), noted) in files.iter().zip(Area::ALL).zip(superblock.lengths) {
        let path = area_path(dir, area);
        let io = |error| MediumError::io("preparing", &path, error);
        let mut len = file.len().map_err(io)?;
        if superblock.state == State::Clean && len > noted {
            file.set_len(noted).map_err(io)?;
            len = noted;
        }
        let later = kind == ImageKind::Shared && area == Area::Records;
        if !later && file.disk_bytes().map_err(io)? < len {
            file.allocate(0, len).map_err(io)?;
        }
    }
    Ok(())
}

/// Why an unlogged tail cannot be kept, as far as this can be known without the log; `None` if nothing speaks against
/// it. `identities` are those of `leaves` and `records` now.
pub fn doubts(
    vfs: &dyn Vfs,
    superblock: &Superblock,
    identities: [Identity; 2],
    kind: ImageKind,
) -> Option<&'static str> {
    let same = identities == [superblock.leaves, superblock.records];
    let boot = vfs.boot_id();
    match () {
        () if superblock.state == State::Poisoned => Some("the last session met an error and marked the database"),
        () if superblock.image == ImageKind::Private || kind == ImageKind::Private => {
            Some("the image was private: it died with its process")
        }
        () if boot.is_none() || boot != superblock.boot_id => Some("the machine has been started anew"),
        () if !same => Some("the files are copies, or were restored or moved"),
        () if !superblock.leaves.trusted || !superblock.records.trusted => {
            Some("the file system is not known to keep its page cache")
        }
        () => None,
    }
}
