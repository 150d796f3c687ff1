//! What the files of a folder have of the things that a kept database is kept for, read as `docs/format.md` says.

use std::fs;
use std::path::Path;

const LINE: usize = 64;
const PAGE: usize = 4096;

/// The greatest number of segments.
const MOST: usize = 16;

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The slot of the superblock with the greater sequence.
fn superblock(folder: &Path) -> Vec<u8> {
    let both = fs::read(folder.join("superblock")).expect("a superblock");
    let slots = both.chunks(PAGE).max_by_key(|slot| number(slot, 24));
    slots.expect("two slots").to_vec()
}

/// Everything up to this epoch is in the data files.
pub(crate) fn epoch_of_superblock(folder: &Path) -> u64 {
    number(&superblock(folder), 136)
}

/// The beginnings of records that are later than the superblock, of each segment.
fn records(folder: &Path) -> Vec<Vec<usize>> {
    let superblock = superblock(folder);
    let (uuid, epoch) = (&superblock[32..48], epoch_of_superblock(folder));
    let segment = |segment| {
        let bytes = fs::read(folder.join(format!("log.{segment}"))).unwrap_or_default();
        let lines = bytes.chunks_exact(LINE).enumerate();
        let is_record = |line: &[u8]| line.starts_with(b"Holm") && &line[8..24] == uuid && number(line, 40) > epoch;
        lines.filter(|(_, line)| is_record(line)).map(|(at, _)| at * LINE).collect()
    };
    (0..MOST).map(segment).collect()
}

/// The records that begin within a page.
pub(crate) fn shared_pages(folder: &Path) -> usize {
    records(folder).iter().flatten().filter(|at| *at % PAGE != 0).count()
}

/// The segments with records that the superblock's epoch does not have.
pub(crate) fn needed_segments(folder: &Path) -> usize {
    records(folder).iter().filter(|records| !records.is_empty()).count()
}

/// Whether there is an index that a checkpoint of the last session has made.
pub(crate) fn is_index_of_a_checkpoint(folder: &Path) -> bool {
    let Ok(index) = fs::read(folder.join("index")) else { return false };
    // The boot generation, and a length of `records` that no file has.
    number(&index, 32) == number(&superblock(folder), 128) && number(&index, 56) == u64::MAX
}
