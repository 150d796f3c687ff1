//! Incremental backups that are applied to a copy: whatever fails, and whenever power does, the copy is at one backup
//! or at the next, and an opening completes what was begun.

use crate::each_call;
use crate::history::{Contents, Mode, contents};
use holm::{Database, Durability, Error};
use holm_proof::disk::{Fault, Kind, SimDisk};

const MODE: Mode = Mode::new(false, Durability::OnSync);

/// A database at some moments, and the streams that lead from each to the next; the first is whole.
struct Source {
    states: Vec<Contents>,
    streams: Vec<Vec<u8>>,
}

impl Source {
    fn new() -> Source {
        let db = MODE.open(&SimDisk::new()).expect("a sound disk");
        let spaces = ["north", "south"].map(|name| db.keyspace(name).expect("a name"));
        let (mut base, mut source) = (0, Source { states: Vec::new(), streams: Vec::new() });
        for round in 0..4u8 {
            for key in 0..120u32 {
                let space = &spaces[key as usize % 2];
                match (key + u32::from(round) * 11) % 5 {
                    0 => _ = space.remove(key.to_be_bytes()).expect("sound"),
                    1 if round > 0 && key > 60 => {}
                    _ => space.insert(key.to_be_bytes(), vec![round; 30 + key as usize]).expect("room"),
                }
            }
            db.sync().expect("a sound disk");
            let mut stream = Vec::new();
            base = db.backup_since(base, &mut stream).expect("a buffer").epoch;
            db.sync().expect("a sound disk");
            source.states.push(contents(&db, "the source"));
            source.streams.push(stream);
        }
        source
    }

    /// Opens a copy, which must be at one of two neighbouring states; returns which.
    fn open(&self, disk: &SimDisk, context: &str) -> (Database, usize) {
        let db = MODE.open(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
        let found = contents(&db, context);
        let at = self.states.iter().position(|state| *state == found);
        let at = at.unwrap_or_else(|| panic!("{context}: neither one backup nor the next, {} pairs", found.len()));
        let left = disk.files().into_iter().find(|file| file.to_string_lossy().contains("increment"));
        assert_eq!(left, None, "{context}");
        (db, at)
    }

    /// Returns a disk with a closed copy at the first state.
    fn copy(&self) -> SimDisk {
        let disk = SimDisk::new();
        let db = MODE.open(&disk).expect("a sound disk");
        db.apply(&mut &self.streams[0][..]).expect("an empty database");
        db.close().expect("a sound disk");
        disk
    }

    /// Applies the rest of the streams.
    fn go_on(&self, db: &Database, at: usize, context: &str) {
        for (state, stream) in self.states.iter().zip(&self.streams).skip(at + 1) {
            db.apply(&mut &stream[..]).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert!(contents(db, context) == *state, "{context}");
        }
        assert_eq!(db.check().expect("sound").faults.len(), 0, "{context}");
    }
}

/// Calls `look` with what a fault at each call of an application leaves.
fn at_each_call(source: &Source, fault: Fault, look: impl FnMut(&SimDisk, Result<(), Error>, &str)) {
    let prepare = || {
        let disk = source.copy();
        let db = MODE.open(&disk).expect("a sound disk");
        db.sync().expect("a sound disk");
        (disk, db)
    };
    each_call::at_each_call(fault, prepare, |_, db| db.apply(&mut &source.streams[1][..]).map(drop), look);
}

/// Power fails at each call of an application, and in half of the cases again while the next opening completes it.
#[test]
fn power_fails_while_a_backup_is_applied() {
    let source = Source::new();
    let mut ends = [0; 2];
    at_each_call(&source, Fault::PowerCut, |disk, done, context| {
        let mut cuts = vec![disk.crash_to_durable(), disk.crash_keeping_all()];
        cuts.extend((0..3).map(|seed| disk.crash_seeded(seed)));
        for (number, cut) in cuts.into_iter().enumerate() {
            let context = format!("{context}, crash {number}");
            let again = cut.crash_keeping_all();
            again.fail(Kind::Any, again.calls().of(Kind::Any) + 7 * number as u64 + 10, Fault::PowerCut);
            drop(MODE.open(&again));
            for disk in [cut, again.crash_seeded(number as u64)] {
                let (db, at) = source.open(&disk, &context);
                assert!(at <= 1 && (done.is_err() || at == 1), "{context}: {at} after {done:?}");
                ends[at] += 1;
                source.go_on(&db, at, &context);
            }
        }
    });
    assert!(ends.iter().all(|count| *count > 20), "both ends are met: {ends:?}");
}

/// Each call of an application fails once. The error is typed; the next opening finds one backup or the next.
#[test]
fn calls_fail_while_a_backup_is_applied() {
    let source = Source::new();
    for fault in [Fault::Eio, Fault::NoSpace, Fault::Short(7), Fault::Interrupted] {
        at_each_call(&source, fault, |disk, done, context| {
            disk.heal();
            match &done {
                Ok(()) | Err(Error::Io { .. } | Error::NoSpace { .. } | Error::Poisoned { .. }) => {}
                other => panic!("{context}: {other:?}"),
            }
            assert!(done.is_ok() || !matches!(fault, Fault::Short(_) | Fault::Interrupted), "{context}: {done:?}");
            let disk = disk.crash_keeping_all();
            let (db, at) = source.open(&disk, context);
            assert!(at <= 1 && (done.is_err() || at == 1), "{context}: {at} after {done:?}");
            source.go_on(&db, at, context);
        });
    }
}

/// A full disk in the middle of an application: the call can be repeated, on the same handle.
#[test]
fn an_application_goes_on_after_a_full_disk() {
    let source = Source::new();
    for call in (0..200).step_by(3) {
        let disk = source.copy();
        let db = MODE.open(&disk).expect("a sound disk");
        disk.fail_from(Kind::Any, disk.calls().of(Kind::Any) + call, Fault::NoSpace);
        let refused = db.apply(&mut &source.streams[1][..]);
        disk.heal();
        match refused {
            Ok(_) => {}
            Err(Error::NoSpace { .. }) => {
                db.apply(&mut &source.streams[1][..]).unwrap_or_else(|error| panic!("call {call}: {error}"));
            }
            // Calls that cannot meet a full disk on a real one, such as an opening.
            Err(Error::Io { .. } | Error::Poisoned { .. }) => continue,
            Err(error) => panic!("call {call}: {error}"),
        }
        assert!(contents(&db, "applied") == source.states[1], "call {call}");
    }
}

/// Epochs without changes have no record in the log, so after a loss of power the clock went back behind the epoch of a
/// backup. What was changed then had stamps at or below it, and an increment left it out.
#[test]
fn no_session_begins_behind_a_base() {
    let disk = SimDisk::new();
    let db = MODE.open(&disk).expect("a sound disk");
    db.keyspace("north").expect("a name").insert("reef", "coral").expect("room");
    // Nothing changes in the epochs that end here.
    (0..10).for_each(|_| db.sync().expect("a sound disk"));
    let mut stream = Vec::new();
    let base = db.backup_since(0, &mut stream).expect("a buffer").epoch;
    let copy = MODE.open(&SimDisk::new()).expect("a sound disk");
    copy.apply(&mut &stream[..]).expect("an empty database");

    let disk = disk.crash_to_durable();
    drop(db);
    let db = MODE.open(&disk).expect("a sound disk");
    db.keyspace("north").expect("a name").insert("reef", "sand").expect("room");
    (0..12).for_each(|_| db.sync().expect("a sound disk"));
    stream.clear();
    db.backup_since(base, &mut stream).expect("a later epoch");
    copy.apply(&mut &stream[..]).expect("it stands at the base");
    assert_eq!(contents(&copy, "the copy"), contents(&db, "the original"));
}

/// A removal emptied a leaf's overflow block, which alone had the epoch of the removal. The next open left the block
/// out, and an increment took the leaf for unchanged.
#[test]
fn an_empty_overflow_block_leaves_its_epoch_to_the_leaf() {
    let mode = Mode { design: "holm", ..MODE };
    // Up to one more than the pairs of two blocks: for one of these numbers, the last pair lies alone.
    for count in 20..58_u32 {
        for removes_range in [false, true] {
            let disk = SimDisk::new();
            let db = mode.open(&disk).expect("a sound disk");
            let space = db.keyspace("north").expect("a name");
            // A pair among the others comes last.
            let last = count | 1;
            let keys = (0..count).map(|key| 2 * key).chain([last]);
            keys.for_each(|key| space.insert(key.to_be_bytes(), "reef").expect("room"));
            db.sync().expect("a sound disk");
            let mut stream = Vec::new();
            let base = db.backup_since(0, &mut stream).expect("a buffer").epoch;
            let copy = mode.open(&SimDisk::new()).expect("a sound disk");
            copy.apply(&mut &stream[..]).expect("an empty database");
            if removes_range {
                let range = last.to_be_bytes()..=last.to_be_bytes();
                assert_eq!(space.remove_range(range).expect("sound"), 1);
            } else {
                assert!(space.remove(last.to_be_bytes()).expect("sound"));
            }
            let disk = if removes_range { disk.kill() } else { disk };
            drop(space);
            db.close().expect("a sound disk");
            let db = mode.open(&disk).expect("a sound disk");
            stream.clear();
            db.backup_since(base, &mut stream).expect("a later epoch");
            copy.apply(&mut &stream[..]).unwrap_or_else(|error| panic!("{count}: {error}"));
            assert_eq!(contents(&copy, "the copy"), contents(&db, "the original"), "{count}");
        }
    }
}
