//! Adds a segment to the log, and counts it in the superblock before it gets a record.

#![forbid(unsafe_code)]

use super::state::{Journal, Shared};
use crate::error::{MediumError, Result};
use crate::superblock::{Superblock, superblock_path};

/// Adds a segment if a record of this size should get one that is still to be made. A full disk is no error: the
/// log goes on with the segments that it has, and asks again after the next checkpoint.
///
/// # Errors
/// Those of the files and of the superblock.
pub(super) fn add_segment(shared: &Shared, journal: &mut Journal, bytes: u64) -> Result<()> {
    if journal.lacks_room_for_segments || !journal.log.wants_segment(bytes) {
        return Ok(());
    }
    shared.refuse_if_failed()?;
    let medium = &shared.storage().medium;
    let moved = |error| MediumError::io("creating a log segment", &medium.dir, error);
    medium.refuse_moved().map_err(moved)?;
    let made = match journal.log.make_segment(&*medium.vfs, &medium.dir) {
        Err(error) if error.is_no_space() => {
            journal.lacks_room_for_segments = true;
            return Ok(());
        }
        made => made?,
    };
    // Again: what was made while the folder moved lies elsewhere, and no recovery would find it.
    medium.refuse_moved().map_err(moved)?;
    // Before the segment has a record: otherwise a crash leaves records that no recovery looks for, or a lost file that
    // none misses.
    let next = Superblock { log_segments: journal.log.segments() + 1, ..journal.superblock.clone() };
    let Journal { superblock, superblock_file, .. } = &mut *journal;
    superblock.replace(next, &**superblock_file, &superblock_path(&medium.dir))?;
    journal.log.add(made);
    Ok(())
}
