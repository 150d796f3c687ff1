//! What the superblock says, and the constants of its format.

#![forbid(unsafe_code)]

use crate::error::{MediumError, Result};
use crate::log::{LogFiles, LogStart};
use crate::vfs::{FORMAT_PAGE, Identity};
use std::path::Path;

/// The format that this program reads and writes.
pub const VERSION: u32 = 2;

/// The longest name of a design, in bytes.
pub const NAME_BYTES: usize = 32;

/// Bytes of the line that every layout is made of.
pub(super) const LINE: u32 = 64;

pub(super) const MAGIC: [u8; 8] = *b"HolmPool";
pub(super) const SLOT: usize = FORMAT_PAGE as usize;
pub(super) const SLOTS: u64 = 2;

/// The shape of a database, fixed at its creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of a leaf block; a multiple of 64.
    pub leaf_block: u32,
    /// The name of the design; 1 to [`NAME_BYTES`] bytes.
    pub design: String,
    /// The kind of keys; the store defines the numbers.
    pub keys: u32,
}

impl Geometry {
    /// Checks that `found` is this shape.
    ///
    /// # Errors
    ///
    /// [`MediumError::Geometry`], which names the first difference.
    pub fn expect(&self, found: &Geometry) -> Result<()> {
        let differs = |what, found: String, expected: String| {
            if found == expected { Ok(()) } else { Err(MediumError::Geometry { what, found, expected }) }
        };
        differs("design", found.design.clone(), self.design.clone())?;
        differs("leaf block size", found.leaf_block.to_string(), self.leaf_block.to_string())?;
        differs("kind of keys", found.keys.to_string(), self.keys.to_string())
    }
}

/// The state that the last writer left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Everything is in the data files; the log holds nothing that is needed.
    Clean,
    /// A session is running, or died.
    Dirty,
    /// A session met an error that left files and memory in doubt: recover as after a loss of power.
    Poisoned,
}

/// Where the stores to the image go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// A shared mapping of the data files.
    Shared,
    /// Memory of the process; only checkpoints write to the data files.
    Private,
}

/// The contents of the superblock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Greater than any written before; [`super::Superblock::write`] raises it.
    pub sequence: u64,
    /// Identifies this database; drawn at random at its creation.
    pub uuid: [u8; 16],
    /// Its shape.
    pub geometry: Geometry,
    /// How often it was opened for writing.
    pub boot_generation: u64,
    /// The state that the last writer left.
    pub state: State,
    /// The boot of the machine in which it was last opened; `None` if that was unknown.
    pub boot_id: Option<[u8; 16]>,
    /// The identity of the `leaves` file at that time.
    pub leaves: Identity,
    /// The identity of the `records` file at that time.
    pub records: Identity,
    /// Everything up to this epoch is complete in the data files.
    pub epoch: u64,
    /// Where the log continues from there.
    pub log_start: LogStart,
    /// How many segments the log has.
    pub log_segments: u8,
    /// Where the stores to the image go.
    pub image: ImageKind,
    /// Bytes that `leaves` and `records` durably had when this was written; of a closed database, those in use.
    pub lengths: [u64; 2],
    /// CRC32C of this length of `leaves` at close; 0 while the database is open. Leaves have no checksum of their own.
    pub leaves_sum: u32,
    /// The version of the program that created the database; at most [`NAME_BYTES`] bytes.
    pub created_by: String,
}

impl Superblock {
    /// The files of the log in the folder of the database.
    pub fn log_files<'a>(&self, dir: &'a Path) -> LogFiles<'a> {
        LogFiles { dir, uuid: self.uuid, segments: self.log_segments }
    }
}
