//! A process that dies while it closes may leave its mark in the page cache alone. The next opening believes it: all is
//! in the files. If the power then fails, the superblock of the last checkpoint is in force again.

use crate::history::{Contents, Mode, Session, contents};
use holm::Durability;
use holm_medium::superblock::{State, Superblock, open_superblock};
use holm_medium::vfs::How;
use holm_proof::disk::{Fault, Kind, SimDisk, Undecided};
use std::path::Path;
use std::time::{Duration, Instant};

const MODE: Mode = Mode::new(false, Durability::OnSync);

/// Bytes of a value that needs a large file.
const LARGE: usize = 30_000;

/// Calls at the end of closing, among which it writes its mark.
const LAST: u64 = 40;

/// Keys of large values.
const KEYS: u32 = 20;

fn put(number: u32, length: usize) -> Vec<(usize, Vec<u8>, Option<Vec<u8>>)> {
    vec![(0, number.to_be_bytes().to_vec(), Some(vec![number as u8; length]))]
}

/// A database whose last checkpoint has noted longer files than those that are in use by now, and its contents.
fn shrunk(disk: &SimDisk) -> Contents {
    let mut session = Session::begin(MODE.open(disk).expect("no faults"), MODE, Contents::new()).expect("no faults");
    let begun = Instant::now();
    for round in 0.. {
        session.step(put(round % KEYS, LARGE));
        session.sync();
        if session.db.stats().log.checkpoints > 0 && round > KEYS {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "no checkpoint in {round} rounds");
    }
    (0..KEYS).for_each(|number| session.step(put(number, 40)));
    session.sync();
    let left = contents(&session.db, "before closing");
    disk.fail(Kind::Any, disk.calls().of(Kind::Any), Fault::Death);
    left
}

/// Whether the superblock says that the database was closed.
fn is_clean(disk: &SimDisk) -> bool {
    let file = open_superblock(disk, Path::new("/d"), How::READ).expect("nobody has locked it");
    Superblock::read(&*file, Path::new("superblock")).expect("one slot is sound").0.state == State::Clean
}

/// What a loss of power may leave: what is durable, and with it the lengths of files or not.
fn cuts(disk: &SimDisk) -> [SimDisk; 2] {
    let lengths = disk.crash(|what, states| if what == Undecided::Length { states - 1 } else { 0 });
    [disk.crash_to_durable(), lengths]
}

/// The opening cuts the files. If that reached the disk before the mark, the superblock of the checkpoint would find
/// files that are too short.
#[test]
fn files_are_not_cut_before_the_mark_is_durable() {
    let open = SimDisk::new();
    let left = shrunk(&open);
    let (open, mut met) = (open.kill(), 0);
    // Closes, and dies at a call. Returns what is left, and how many calls there were.
    let close = |death: u64| {
        let closing = open.kill();
        let db = MODE.open(&closing).expect("the process has died");
        let before = closing.calls().of(Kind::Any);
        closing.fail(Kind::Any, before + death, Fault::Death);
        let _ = db.close();
        (closing.kill(), closing.calls().of(Kind::Any) - before)
    };
    let calls = close(1 << 40).1;
    // The mark is among the last.
    for death in calls.saturating_sub(LAST)..calls {
        let killed = close(death).0;
        if !is_clean(&killed) || is_clean(&killed.crash_to_durable()) {
            continue;
        }
        for call in 0.. {
            let opening = killed.kill();
            opening.fail(Kind::Any, call, Fault::PowerCut);
            let opened = MODE.open(&opening).is_ok();
            for (number, disk) in cuts(&opening).into_iter().enumerate() {
                let context = format!("death at call {death}, power cut at call {call}, image {number}");
                let db = MODE.open(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
                assert!(contents(&db, &context) == left, "{context}: {}", db.recovery());
                met += 1;
            }
            if opened {
                break;
            }
        }
    }
    assert!(met > 20, "{met} images: some deaths leave a mark that is not durable");
}
