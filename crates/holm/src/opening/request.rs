//! The first step of opening: checked options, and the files.

use super::read_only::ClosedFiles;
use crate::backup;
use crate::designs;
use crate::durability::ImageMode;
use crate::error::{Error, Result};
use crate::intent;
use crate::keys::Records;
use crate::options::Builder;
use crate::store::{Damage, WritableStore};
use holm_medium::log::LogOptions;
use holm_medium::superblock::{Geometry, State, Superblock, open_superblock, superblock_path};
use holm_medium::vfs::{How, Vfs, VfsFile};
use holm_medium::{Agrees, Journaled, JournaledOptions, MediumError, Reserve, Storage};
use holm_tree::Entry;
use std::path::Path;
use std::sync::Arc;

/// The kind of keys in the superblock: byte strings with records.
const KEYS_RECORDS: u32 = 1;

/// The most bytes reserved where the caller chose no capacity.
const DEFAULT_CAPACITY: u64 = 1 << 40;

/// Options that fit each other. Nothing is opened yet.
pub(super) struct Request<'a> {
    pub(super) path: &'a Path,
    pub(super) builder: &'a Builder,
    pub(super) design: Entry<Journaled, Records>,
}

impl<'a> Request<'a> {
    /// Checks the options of an open for writing.
    ///
    /// # Errors
    /// `Invalid`: there is no such design. `Unsupported`: the options exclude each other.
    pub(super) fn to_write(path: &'a Path, builder: &'a Builder) -> Result<Self> {
        let design = match &builder.design {
            Some(chosen) => designs::chosen(builder.designs, chosen),
            None => existing_design(&*builder.vfs, path).map_or_else(
                || designs::chosen(builder.designs, designs::DEFAULT),
                |existing| designs::found(builder.designs, &existing),
            ),
        }?;
        if !design.capabilities.per_epoch && builder.image == ImageMode::Shared {
            let what = format!("the design {:?} cannot be durable per epoch: it needs ImageMode::Private", design.name);
            return Err(Error::Unsupported { what });
        }
        Ok(Request { path, builder, design })
    }

    /// Converts an error of opening.
    pub(super) fn explain(&self, error: MediumError) -> Error {
        Error::opening(self.path, self.builder.create, error)
    }
}

/// Opens the files of a cleanly closed database to read them. Such an open need not name the design.
///
/// # Errors
/// `NotClean`: the database was not closed, or a batch is to be completed.
pub(super) fn open_read_only(path: &Path, builder: &Builder) -> Result<ClosedFiles> {
    let opening = |error| Error::opening(path, false, error);
    // The first lock is held until the second is taken, so no writer comes between.
    let (design, _lock) = design_of(&*builder.vfs, path).map_err(opening)?;
    let design = designs::found(builder.designs, &design)?;
    let options = options_of(builder, design.agrees);
    let opened = holm_medium::open_read_only(builder.vfs.clone(), path, &geometry_of(&design), &options);
    let opened = opened.map_err(opening)?;
    debug_assert_eq!(opened.superblock().state, State::Clean);
    let (recovery, uuid) = (opened.recovery.clone(), opened.superblock().uuid);
    let changed_leaves = opened.changed_leaves.clone().map(Error::from);
    let (medium, opened_state) = opened.into_parts();
    let active = recovery.epoch + 1;
    let writer = Arc::new(Storage::open_read_only(medium, active)?);
    if intent::is_pending(&writer.storage().medium_image()) {
        // Only an open for writing applies the rest of the batch; until then a reader would see a part of it.
        return Err(MediumError::NotClean { path: path.into() }.into());
    }
    if backup::is_staged(&*builder.vfs, path)? {
        // Only an open for writing completes it.
        return Err(MediumError::NotClean { path: path.into() }.into());
    }
    let mut store = WritableStore::new(writer, &design, path, Damage::Tolerated).with_files(uuid, &builder.vfs);
    store.follow_time(builder.time_source.clone());
    let lock = opened_state.into_read_only_lock();
    Ok(ClosedFiles { store, active, recovery: recovery.into(), changed_leaves, lock })
}

/// The geometry that the superblock has for this design.
pub(super) fn geometry_of(design: &Entry<Journaled, Records>) -> Geometry {
    Geometry { leaf_block: design.block_bytes, design: design.name.into(), keys: KEYS_RECORDS }
}

/// Translates a builder's options for the files and the log.
pub(super) fn options_of(builder: &Builder, agrees: Agrees) -> JournaledOptions {
    // Leaves need about a sixth of the space of small records, and an eighth of the space of tiny ones. At the default
    // capacity that is 2^31 blocks, which is every block number.
    let capacity = builder.capacity.unwrap_or(DEFAULT_CAPACITY);
    let [leaves, records] = [1 << 40, 1 << 42].map(|most| capacity.clamp(1 << 20, most) as usize);
    JournaledOptions {
        create: builder.create,
        private: builder.image == ImageMode::Private,
        reserve: [leaves, records].map(if builder.capacity.is_some() { Reserve::Exactly } else { Reserve::AtMost }),
        heap: builder.heap,
        log: LogOptions { total: builder.log_bytes.max(2 << 20), ..LogOptions::default() },
        agrees,
    }
}

/// Returns the design that a database was created with, which never changes; `None` if there is no sound superblock.
/// Takes no lock: what is wrong with the files, or who has them, the open itself says.
fn existing_design(vfs: &dyn Vfs, path: &Path) -> Option<String> {
    let place = superblock_path(path);
    let file = vfs.open(&place, How::READ).ok()?;
    Superblock::read(&*file, &place).ok().map(|(superblock, _)| superblock.geometry.design)
}

/// Returns the design that a database was created with, and its superblock's file under a shared lock.
fn design_of(vfs: &dyn Vfs, path: &Path) -> Result<(String, Box<dyn VfsFile>), MediumError> {
    let superblock_file = open_superblock(vfs, path, How::READ)?;
    let (superblock, _) = Superblock::read(&*superblock_file, &superblock_path(path))?;
    Ok((superblock.geometry.design, superblock_file))
}
