//! Closing: brings everything into the data files and writes the clean mark.
//!
//! The steps are those of a checkpoint. Closing differs in four ways. It waits for no space. It notes
//! the length in use and the checksum of the leaves, which an open without an index compares. It writes the leaf index.
//! It leaves no record in any segment.

use super::checkpoint::{CheckpointMark, apply_log, commit, finish, leave_segments, release_segments};
use super::checksum::sum_leaves;
use super::data_files::SMALL_EXTENT;
use super::index_file;
use super::state::Shared;
use crate::error::{MediumError, Result};
use crate::leaf_index::LeafIndex;
use crate::superblock::{State, Superblock};

/// Makes the leaf index of a database that no thread writes; `None` if it has none.
///
/// # Errors
/// `Corrupt` for a leaf that was damaged before this session looked at it.
pub type MakeIndex<'a> = &'a dyn Fn() -> Result<Option<LeafIndex>>;

/// Empties the log and marks the database as clean. The threads that write have stopped. Returns the damage that making
/// the index has found, if any: everything is in the data files nevertheless.
pub(super) fn close(shared: &Shared, make_index: MakeIndex<'_>) -> Result<Option<MediumError>> {
    if shared.journal().log.awaits_release() {
        // The last record may have switched to a free segment. One checkpoint releases what lies before the switch.
        // Recovery would believe a clean mark over what lies behind it, and lose that.
        let epoch = leave_segments(&mut shared.journal())?;
        release_segments(shared, epoch)?;
        if let Some(error) = shared.postponed() {
            return Err(error);
        }
    }
    let epoch = leave_segments(&mut shared.journal())?;
    let medium = &shared.storage().medium;
    apply_log(shared, medium)?;
    let lengths = in_use(shared, medium.lengths()?);
    medium.sync_data()?;
    let (index, damaged) = match make_index() {
        Ok(index) => (index, None),
        Err(damage) => (None, Some(damage)),
    };
    let block = shared.storage().space.block_bytes();
    let mut leaves_sum = sum_leaves(&medium.dir, &medium.files, lengths[0], block, index.as_ref())?;
    if let Some(index) = &index {
        let superblock = shared.journal().superblock.clone();
        index_file::write(medium, index, &Superblock { epoch, lengths, leaves_sum, ..superblock });
    }
    if damaged.is_some() {
        // A sum that is right would vouch for the damage. With this one, the next open finds it.
        leaves_sum = !leaves_sum;
    }
    let mut journal = commit(shared, CheckpointMark { epoch, state: State::Clean, lengths, leaves_sum })?;
    // The data files are cut when the background threads are dropped: until then readers may load any byte of the
    // mapping.
    let initial = journal.log.initial();
    journal.log.trim_idle(initial)?;
    finish(shared, journal);
    Ok(damaged)
}

/// The lengths of the files as far as they are in use, in whole extents.
fn in_use(shared: &Shared, lengths: [u64; 2]) -> [u64; 2] {
    let space = &shared.storage().space;
    space.free_all_retired();
    let used = [space.block_end(), space.record_frontier()];
    std::array::from_fn(|area| lengths[area].min(used[area].next_multiple_of(SMALL_EXTENT)))
}
