//! The file `index`: the leaf index of a closed database, or of an earlier moment.
//!
//! It is a cache. No failure to write or to read it is an error: opening then reads the leaves. Closing writes it
//! before the clean mark. It counts for the superblock that has the same boot generation, epoch and checksum of the
//! leaves, and for no other. A session raises the boot generation, durably, before its first store: from then on no
//! crash leaves a superblock for which an old index counts. It stays where it is: after a crash, it still describes
//! the leaves that have not changed since. Checkpoints replace it by one of their moment, which counts for no closed
//! database.
//!
//! A new index is written beside the old one and renamed, so a crash leaves one of them.

#![forbid(unsafe_code)]

use super::data_files::Journaled;
use crate::error::Result;
use crate::leaf_index::{EarlierIndex, LeafIndex};
use crate::superblock::{State, Superblock};
use crate::vfs::{How, Vfs, read_exact_at, write_all_at};
use std::path::{Path, PathBuf};

/// The name of the file.
pub const INDEX_FILE: &str = "index";

/// The name of the file while it is written. A crash can leave it; nothing reads it.
pub const NEW_INDEX_FILE: &str = "index.new";

fn index_path(dir: &Path) -> PathBuf {
    dir.join(INDEX_FILE)
}

/// Writes the index of the database that will be clean with this superblock, durably.
pub(super) fn write(medium: &Journaled, index: &LeafIndex, clean: &Superblock) {
    replace(medium, &index.encode(clean));
}

/// Writes an index of a database that is in use, durably.
pub(super) fn write_earlier(medium: &Journaled, index: &EarlierIndex, superblock: &Superblock) -> Result<()> {
    let [leaves, _] = medium.lengths()?;
    replace(medium, &index.encode(superblock, leaves));
    Ok(())
}

fn replace(medium: &Journaled, bytes: &[u8]) {
    let (path, beside) = (index_path(&medium.dir), medium.dir.join(NEW_INDEX_FILE));
    let written = medium.refuse_moved().and_then(|()| {
        let file = medium.vfs.open(&beside, How::CREATE)?;
        file.set_len(bytes.len() as u64)?;
        write_all_at(&*file, bytes, 0)?;
        file.sync_all()?;
        medium.vfs.rename(&beside, &path)?;
        medium.vfs.sync_dir(&medium.dir)
    });
    if let Err(error) = written {
        // On a full disk, what is there of it would take the last space.
        let _ = medium.refuse_moved().and_then(|()| medium.vfs.remove(&beside));
        ::log::warn!("holm: {}: {error}; the next open may read all leaves", path.display());
    }
}

/// What the file says of a database that is being opened.
#[derive(Debug, Default)]
pub(super) struct IndexRead {
    /// The index of a clean database, if there is one that counts.
    pub(super) index: Option<LeafIndex>,
    /// The index of an earlier moment, of a database that was not closed.
    pub(super) earlier: Option<EarlierIndex>,
}

/// Reads the index. `first` is the number of the first leaf.
pub(super) fn read(vfs: &dyn Vfs, dir: &Path, superblock: &Superblock, first: u32) -> IndexRead {
    let Some(bytes) = read_bytes(vfs, dir, superblock) else { return IndexRead::default() };
    let ignored = |why: &&str| ::log::info!("holm: {}: {why}; opening reads all leaves", index_path(dir).display());
    match superblock.state {
        State::Clean => {
            let index = LeafIndex::decode(&bytes, superblock, first).inspect_err(ignored).ok();
            IndexRead { index, earlier: None }
        }
        State::Dirty | State::Poisoned => {
            let earlier = EarlierIndex::decode(&bytes, superblock, first).inspect_err(ignored).ok();
            IndexRead { index: None, earlier }
        }
    }
}

fn read_bytes(vfs: &dyn Vfs, dir: &Path, superblock: &Superblock) -> Option<Vec<u8>> {
    let file = vfs.open(&index_path(dir), How::READ).ok()?;
    let len = file.len().ok()?;
    // An index has at most the separators of all leaves and their numbers: longer than the files, it is none.
    if len > (superblock.lengths[0] + superblock.lengths[1]).saturating_mul(2) {
        return None;
    }
    file.expect_reading(0, len);
    let mut bytes = vec![0; len as usize];
    read_exact_at(&*file, &mut bytes, 0).ok()?;
    Some(bytes)
}
