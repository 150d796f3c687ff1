//! The file `index`: the leaf index of a closed database.
//!
//! It is a cache. No failure to write or to read it is an error: opening then reads the leaves. Closing writes it
//! before the clean mark. It counts for the superblock that has the same boot generation, epoch and checksum of the
//! leaves, and for no other. A session raises the boot generation, durably, before its first store: from then on no
//! crash leaves a superblock for which an old index counts.

#![forbid(unsafe_code)]

use super::data_files::Journaled;
use crate::leaf_index::LeafIndex;
use crate::superblock::{State, Superblock};
use crate::vfs::{How, Vfs, read_exact_at, write_all_at};
use std::path::{Path, PathBuf};

/// The name of the file.
pub const INDEX_FILE: &str = "index";

fn index_path(dir: &Path) -> PathBuf {
    dir.join(INDEX_FILE)
}

/// Writes the index of the database that will be clean with this superblock, durably.
pub(super) fn write(medium: &Journaled, index: &LeafIndex, clean: &Superblock) {
    let path = index_path(&medium.dir);
    let bytes = index.encode(clean);
    let written = medium.vfs.open(&path, How::CREATE).and_then(|file| {
        file.set_len(bytes.len() as u64)?;
        write_all_at(&*file, &bytes, 0)?;
        file.sync_data()
    });
    if let Err(error) = written {
        ::log::warn!("holm: {}: {error}; the next open reads all leaves", path.display());
    }
}

/// Reads the index of a clean database; `None` if there is none that counts. `first` is the number of the first leaf.
pub(super) fn read(vfs: &dyn Vfs, dir: &Path, superblock: &Superblock, first: u32) -> Option<LeafIndex> {
    if superblock.state != State::Clean {
        return None;
    }
    let path = index_path(dir);
    let file = vfs.open(&path, How::READ).ok()?;
    let len = file.len().ok()?;
    // An index has at most the separators of all leaves and their numbers: longer than the files, it is none.
    if len > (superblock.lengths[0] + superblock.lengths[1]).saturating_mul(2) {
        return None;
    }
    file.expect_reading(0, len);
    let mut bytes = vec![0; len as usize];
    read_exact_at(&*file, &mut bytes, 0).ok()?;
    let index = LeafIndex::decode(&bytes, superblock, first);
    index.inspect_err(|why| ::log::info!("holm: {}: {why}; opening reads all leaves", path.display())).ok()
}
