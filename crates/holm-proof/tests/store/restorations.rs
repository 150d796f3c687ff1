//! Restorations of a backup: whatever fails, and whenever power does, the folder is absent or has the whole database,
//! and the next restoration succeeds.

use crate::each_call;
use crate::history::{Contents, Mode, contents};
use holm::{Database, Durability, Error};
use holm_medium::vfs::{How, Vfs as _};
use holm_proof::disk::{Fault, SimDisk};

const MODE: Mode = Mode::new(false, Durability::OnSync);
const FOLDER: &str = "/copy";

/// A whole backup, and what it has.
struct Backup {
    stream: Vec<u8>,
    state: Contents,
}

impl Backup {
    fn new() -> Backup {
        let db = MODE.open(&SimDisk::new()).expect("a sound disk");
        let space = db.keyspace("north").expect("a name");
        (0..80u32).for_each(|key| space.insert(key.to_be_bytes(), vec![7; key as usize]).expect("room"));
        let mut stream = Vec::new();
        db.backup_to(&mut stream).expect("a buffer");
        Backup { stream, state: contents(&db, "the source") }
    }

    fn restore(&self, disk: &SimDisk) -> Result<(), Error> {
        MODE.builder(disk).restore(&mut &self.stream[..], FOLDER).map(drop)
    }

    /// Opens the folder. Returns whether there is a database, which must then be whole.
    fn is_restored(&self, disk: &SimDisk, context: &str) -> bool {
        match MODE.builder(disk).create(false).open(FOLDER) {
            Ok(db) => {
                assert!(contents(&db, context) == self.state, "{context}: a part of the backup");
                assert_eq!(db.check().expect("sound").faults.len(), 0, "{context}");
                db.close().expect("a sound disk");
                true
            }
            Err(Error::NotFound { .. }) => false,
            Err(error) => panic!("{context}: {error}"),
        }
    }

    /// Restores to a disk that has nothing in the folder; nothing else may be left beside it.
    fn restore_again(&self, disk: &SimDisk, context: &str) {
        self.restore(disk).unwrap_or_else(|error| panic!("{context}: again: {error}"));
        assert!(self.is_restored(disk, context), "{context}");
        let beside = disk.files().into_iter().find(|file| !file.starts_with(FOLDER));
        assert_eq!(beside, None, "{context}");
    }
}

/// Calls `look` with what a fault at each call of a restoration leaves.
fn at_each_call(backup: &Backup, fault: Fault, mut look: impl FnMut(&SimDisk, Result<(), Error>, &str)) {
    let mut calls = 0;
    each_call::at_each_call(
        fault,
        || (SimDisk::new(), ()),
        |disk, ()| backup.restore(disk),
        |disk, done, context| {
            calls += 1;
            look(disk, done, context);
        },
    );
    assert!(calls > 31, "a restoration makes calls: {calls}");
}

#[test]
fn power_fails_while_a_backup_is_restored() {
    let backup = Backup::new();
    let mut ends = [0; 2];
    at_each_call(&backup, Fault::PowerCut, |disk, done, context| {
        let mut cuts = vec![disk.crash_to_durable(), disk.crash_keeping_all()];
        cuts.extend((0..2).map(|seed| disk.crash_seeded(seed)));
        for (number, cut) in cuts.into_iter().enumerate() {
            let context = format!("{context}, crash {number}");
            let restored = backup.is_restored(&cut, &context);
            assert!(restored || done.is_err(), "{context}: nothing is left of {done:?}");
            ends[usize::from(restored)] += 1;
            if !restored {
                backup.restore_again(&cut, &context);
            }
        }
    });
    assert!(ends.iter().all(|count| *count > 0), "both ends are met: {ends:?}");
}

#[test]
fn calls_fail_while_a_backup_is_restored() {
    let backup = Backup::new();
    for fault in [Fault::Eio, Fault::NoSpace, Fault::Short(7), Fault::Interrupted] {
        at_each_call(&backup, fault, |disk, done, context| {
            disk.heal();
            match &done {
                Ok(()) | Err(Error::Io { .. } | Error::NoSpace { .. } | Error::Poisoned { .. }) => {}
                other => panic!("{context}: {other:?}"),
            }
            assert!(done.is_ok() || !matches!(fault, Fault::Short(_) | Fault::Interrupted), "{context}: {done:?}");
            let disk = disk.crash_keeping_all();
            let restored = backup.is_restored(&disk, context);
            assert!(restored || done.is_err(), "{context}: nothing is left of {done:?}");
            if !restored {
                backup.restore_again(&disk, context);
            }
        });
    }
}

/// A restoration that follows one that was cut short, and is cut short itself while it removes what that one has left.
#[test]
fn a_restoration_dies_while_it_removes_another_one() {
    let backup = Backup::new();
    let mut first = None;
    at_each_call(&backup, Fault::PowerCut, |disk, done, context| {
        // The latest of them has all files of a database.
        if done.is_err() && !backup.is_restored(&disk.crash_keeping_all(), context) {
            first = Some(disk.crash_keeping_all());
        }
    });
    let first = first.expect("some are cut short");
    each_call::at_each_call(
        Fault::PowerCut,
        || (first.crash_keeping_all(), ()),
        |disk, ()| backup.restore(disk),
        |disk, done, context| {
            let disk = disk.crash_keeping_all();
            if !backup.is_restored(&disk, context) {
                assert!(done.is_err(), "{context}: nothing is left of {done:?}");
                backup.restore_again(&disk, context);
            }
        },
    );
}

/// A folder that contains anything, and one that another restoration has locked, stay as they are.
#[test]
fn a_used_folder_is_left_alone() {
    let (backup, disk) = (Backup::new(), SimDisk::new());
    backup.restore_again(&disk, "a new folder");
    let before = disk.contents("/copy/records".as_ref()).expect("there");
    let refused = backup.restore(&disk);
    assert!(matches!(refused, Err(Error::Io { .. })), "{refused:?}");
    assert_eq!(disk.contents("/copy/records".as_ref()), Some(before));

    let partial: Database = MODE.builder(&disk).open("/other.partial").expect("a sound disk");
    disk.open("/other.partial/unfinished".as_ref(), How::CREATE).expect("a sound disk");
    let refused = MODE.builder(&disk).restore(&mut &backup.stream[..], "/other");
    assert!(matches!(refused, Err(Error::Locked { .. })), "{refused:?}");
    partial.close().expect("a sound disk");
    MODE.builder(&disk).restore(&mut &backup.stream[..], "/other").expect("the lock is free");
}
