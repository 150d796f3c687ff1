//! The death of a process, after which the kernel cannot write its pages: another program gets the error, and the pages
//! go back to what the disk has. And what must be left even then.
//!
//! Recovery compares what the page cache has with the log. If it finds a difference, it restores the state at the last
//! record, and everything that holds after a loss of power holds. It finds none if only pages have gone back that were
//! dirtied in the last epochs, which are in no log yet: `docs/durability.md` says so under "What stays open". Then what
//! is left need not be a prefix. Everything that was promised is there: a leaf that one of those epochs has emptied
//! names the leaves that have its pairs.

use super::oracle::{compare_keys, leaves, lists_in};
use super::stage::{FOLDER, Moment, Stage};
use super::threads::{REGISTERS, found_registers};
use super::world::{Notes, lock};
use crate::cycles::check_promised;
use crate::disk::SimDisk;
use crate::history::Action;
use holm::{Database, RecoveredFrom};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::path::Path;

/// The files that are mapped.
pub(super) const MAPPED: [&str; 2] = ["leaves", "records"];

/// The disk after the death of the process: of one of the mapped files, or of both, some pages have gone back; of the
/// superblock, the index and the log, too, what the process had not made durable by then.
pub(super) fn left(live: &SimDisk, seed: u64) -> SimDisk {
    let (disk, mut random) = (live.kill(), Pcg64Mcg::seed_from_u64(seed));
    let (which, of) = (random.random_range(1..4), random.random_range(1..=4));
    let go_back = |path: &Path, number: usize, of| {
        disk.fail_write_back(path);
        disk.report_elsewhere(path);
        disk.evict(path, seed ^ number as u64, of);
    };
    for (number, file) in MAPPED.iter().enumerate().filter(|(number, _)| which >> number & 1 == 1) {
        go_back(&Path::new(FOLDER).join(file), number, of);
    }
    let is_mapped = |path: &Path| MAPPED.iter().any(|file| path.ends_with(file));
    for (number, path) in disk.files().iter().enumerate().filter(|(_, path)| !is_mapped(path)) {
        if random.random_ratio(1, 2) {
            go_back(path, MAPPED.len() + number, random.random_range(1..=2));
        }
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
        panic!("the image lacks what was promised: {loss}; {}", db.recovery());
    }
    let registers = db.keyspace(REGISTERS).and_then(|space| found_registers(&space)).expect("sound");
    compare_keys(&lock(&notes.calls), &registers, [floor, moment.now], |call, value| match call.action {
        // The record of an attempt that lost to another thread may have lain where that of the addition lies.
        Action::Add(_) => value.is_some(),
        _ => leaves(call, value),
    });
    true
}
