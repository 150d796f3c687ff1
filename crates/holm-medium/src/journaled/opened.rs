//! How a database on files is opened, and an opened one whose leaves are still to be recovered.

#![forbid(unsafe_code)]

use super::data_files::Journaled;
use super::logged::Logged;
use super::recovery::{Found, Recovery};
use super::reserve::Reserve;
use crate::epoch::Epoch;
use crate::error::MediumError;
use crate::leaf_index::{EarlierIndex, LeafIndex};
use crate::log::{LogOptions, Position};
use crate::superblock::Superblock;
use crate::vfs::VfsFile;

/// How a database on files is opened.
#[derive(Clone, Debug)]
pub struct JournaledOptions {
    /// Create a database if there is none.
    pub create: bool,
    /// Use a private image: memory instead of a shared mapping.
    pub private: bool,
    /// Address space for the leaf area and the record area: the most that each may ever have.
    pub reserve: [Reserve; 2],
    /// Bytes of heap for the areas of files that cannot be mapped.
    pub heap: [usize; 2],
    /// The options of the log.
    pub log: LogOptions,
    /// Decides whether a leaf block agrees with what the log has of it.
    pub agrees: Agrees,
}

/// Gets, for a leaf block, each line as it was last logged, if it was; all lines as they were found; and the last
/// logged epoch. Returns whether both have the same state at the end of that epoch, as far as it was logged.
pub type Agrees = fn(&[Option<[u64; 8]>], &[[u64; 8]], Epoch) -> bool;

/// An opened database whose leaves are still to be recovered.
pub struct Opened {
    /// The medium.
    pub medium: Journaled,
    /// What open found.
    pub recovery: Recovery,
    pub(crate) superblock: Superblock,
    pub(crate) superblock_file: Box<dyn VfsFile>,
    pub(crate) log: LogOptions,
    /// Where the log continues, once what was found is durable in the data files.
    pub(crate) next: Position,
    /// What was logged since the last checkpoint, if the tail was kept. Records must agree with it, since they carry
    /// no epoch of their own.
    pub logged: Option<Logged>,
    /// The leaf index of a clean database, if a valid one is there. Then nothing has compared the leaves with their
    /// checksum yet.
    pub index: Option<LeafIndex>,
    /// The leaf index of an earlier moment, if the database was not closed.
    pub earlier: Option<EarlierIndex>,
    /// That the leaves have not the checksum that they had when they were closed, which a reader alone tolerates.
    pub changed_leaves: Option<MediumError>,
}

impl Opened {
    /// An opened database without a log's tail and without an index.
    pub(super) fn new(
        medium: Journaled,
        recovery: Recovery,
        (superblock, superblock_file): (Superblock, Box<dyn VfsFile>),
        log: LogOptions,
        next: Position,
    ) -> Self {
        Opened {
            medium,
            recovery,
            superblock,
            superblock_file,
            log,
            next,
            logged: None,
            index: None,
            earlier: None,
            changed_leaves: None,
        }
    }

    /// Whether leaves are to be cut at [`Recovery::epoch`]; otherwise they are taken as they are.
    pub fn is_cut(&self) -> bool {
        matches!(self.recovery.found, Found::Cut { .. })
    }

    /// The superblock of the database.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }
}
