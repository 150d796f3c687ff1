//! The death of a process, after which the kernel cannot write its pages: another program gets the error, and the pages
//! go back to what the disk has. And what must be left even then.
//!
//! Recovery compares what the page cache has with the log. If it finds a difference, it restores the state at the last
//! record, and everything that holds after a loss of power holds. It finds none if only pages have gone back that were
//! dirtied in the last epochs, which are in no log yet: `docs/durability.md` says so under "What stays open". Then what
//! is left need not be a prefix. Everything that was promised is there, unless one of those epochs has moved it to a
//! fresh leaf whose page has gone back: that a leaf was emptied after the log's last entry is all that shows of it.

use super::oracle::{compare_keys, lists_in};
use super::stage::{FOLDER, Moment, Stage};
use super::threads::{REGISTERS, found_registers};
use super::world::{Notes, lock};
use crate::cycles::check_promised;
use crate::disk::SimDisk;
use holm::{Database, RecoveredFrom};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::path::Path;

/// Bytes of a leaf block, and bits of a version word that name slots; the others are its epoch: `docs/format.md`.
const BLOCK: usize = 512;
const SLOTS: u32 = 28;

/// The files that are mapped.
pub(super) const MAPPED: [&str; 2] = ["leaves", "records"];

/// The disk after the death of the process: of one of the mapped files, or of both, some pages have gone back.
pub(super) fn left(live: &SimDisk, seed: u64) -> SimDisk {
    let (disk, mut random) = (live.kill(), Pcg64Mcg::seed_from_u64(seed));
    let (which, of) = (random.random_range(1..4), random.random_range(1..=4));
    for (number, file) in MAPPED.iter().enumerate().filter(|(number, _)| which >> number & 1 == 1) {
        let path = Path::new(FOLDER).join(file);
        disk.fail_write_back(&path);
        disk.report_elsewhere(&path);
        disk.evict(&path, seed ^ number as u64, of);
    }
    disk
}

/// Compares an image after which pages have gone back, unless recovery has restored it from the log and it is to be
/// compared as any other: then it returns false.
pub(super) fn compare(db: &Database, stage: &Stage, moment: &Moment, floor: u64, notes: &Notes) -> bool {
    if !moment.has_gone_back {
        return false;
    }
    if matches!(db.recovery().source, RecoveredFrom::Log { .. }) {
        stage.count("pages gone back that were noticed", 1);
        return false;
    }
    stage.count("pages gone back that nothing needed", 1);
    if let Err(loss) = check_promised(&lock(&notes.transactions), &lists_in(db), floor) {
        assert!(
            has_emptied_leaf(&moment.disk, db.recovery().epoch),
            "the image lacks what was promised: {loss}; {}",
            db.recovery()
        );
        stage.count("promises lost with a fresh leaf", 1);
        return true;
    }
    let registers = db.keyspace(REGISTERS).and_then(|space| found_registers(&space)).expect("sound");
    compare_keys(&lock(&notes.calls), &registers, [floor, moment.now]);
    true
}

/// Whether a leaf block of the image has had pairs and was emptied after an epoch, as a split, a refresh and a merge
/// do: the greatest of its three version words names no slot, and another one does.
fn has_emptied_leaf(disk: &SimDisk, epoch: u64) -> bool {
    let bytes = disk.contents(&Path::new(FOLDER).join("leaves")).unwrap_or_default();
    bytes.as_chunks::<BLOCK>().0.iter().skip(1).any(|block| {
        let words = block.as_chunks::<8>().0[..3].iter().map(|word| u64::from_le_bytes(*word));
        let states: Vec<_> = words.map(|word| (word >> SLOTS, word & ((1 << SLOTS) - 1))).collect();
        let newest = states.iter().max().expect("three words");
        newest.0 > epoch && newest.1 == 0 && states.iter().any(|(_, slots)| *slots != 0)
    })
}
