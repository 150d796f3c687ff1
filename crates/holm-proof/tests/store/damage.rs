//! Damage at rest, and page caches that are not what they seem: detected and reported, never trusted.

use crate::history::{Contents, History, Mode, Session, contents};
use holm::{Durability, Error, RecoveredFrom};
use holm_medium::superblock::{State, Superblock, superblock_path};
use holm_medium::vfs::{How, Vfs};
use holm_proof::disk::{Fault, Kind, SimDisk};
use std::path::{Path, PathBuf};

const SHARED: Mode = Mode::new(false, Durability::OnSync);
const PRIVATE: Mode = Mode::new(true, Durability::OnSync);

fn put(key: u32, byte: u8) -> Vec<(usize, Vec<u8>, Option<Vec<u8>>)> {
    vec![(key as usize % 2, key.to_be_bytes().to_vec(), Some(vec![byte; 50]))]
}

/// A session of `epochs` synced epochs, from an empty database.
fn written(disk: &SimDisk, mode: Mode, epochs: u32) -> Session {
    let db = mode.open(disk).expect("a sound disk");
    let mut session = Session::begin(db, mode, Contents::new()).expect("a sound disk");
    for epoch in 0..epochs {
        (0..20).for_each(|key| session.step(put(epoch * 20 + key, epoch as u8)));
        session.sync();
    }
    session
}

fn file(name: &str) -> PathBuf {
    Path::new("/d").join(name)
}

/// Opens, and asserts a recovery point whose reason contains `word`, and which lost nothing that was synced.
fn expect_cut(disk: &SimDisk, mode: Mode, history: &History, word: &str) {
    let db = mode.open(disk).expect("a cut is no error");
    let RecoveredFrom::Log { reason, .. } = &db.recovery().source else { panic!("{word}: {:?}", db.recovery()) };
    assert!(reason.contains(word), "{word}: {reason}");
    history.expect(&contents(&db, word), word);
}

#[test]
fn a_flip_in_the_middle_of_the_log_is_damage() {
    for mode in [SHARED, PRIVATE] {
        let disk = SimDisk::new();
        let session = written(&disk, mode, 6);
        for (killed, disk) in [(true, disk.kill()), (false, disk.crash_to_durable())] {
            for byte in [3, 40, 70, 100] {
                let damaged = disk.kill();
                assert!(damaged.flip(&file("log.0"), byte, 4), "the log is longer than that");
                let opened = mode.open(&damaged).map(|db| db.recovery().clone());
                assert!(
                    matches!(opened, Err(Error::Corrupt { .. })),
                    "{mode:?}, byte {byte}, killed {killed}: {opened:?}"
                );
            }
        }
        drop(session);
    }
}

#[test]
fn a_poisoned_mark_is_believed() {
    let disk = SimDisk::new();
    let session = written(&disk, SHARED, 3);
    let killed = disk.kill();
    let path = superblock_path(Path::new("/d"));
    let superblock_file = killed.open(&path, How::WRITE).expect("it is there");
    let (mut superblock, _) = Superblock::read(&*superblock_file, &path).expect("it is sound");
    superblock.state = State::Poisoned;
    superblock.write(&*superblock_file, &path).expect("a sound disk");
    drop(superblock_file);
    expect_cut(&killed, SHARED, &session.history(), "marked");
}

/// Any state that a session has left, on the same machine or after a restart that loses what no record has. Damage to
/// either slot of the superblock must not bring back a state whose log has been released.
#[test]
fn damage_to_one_slot_of_the_superblock_loses_nothing() {
    for mode in [SHARED, PRIVATE] {
        let disk = SimDisk::new();
        let mut session = written(&disk, mode, 2);
        // Enough that checkpoints are taken, and segments of the log are reused; more where a busy machine takes them
        // late.
        for round in 0..200 {
            session.step(vec![(0, vec![round], Some(vec![round; 100_000]))]);
            session.sync();
            if round >= 40 && session.db.stats().log.checkpoints > 1 {
                break;
            }
        }
        assert!(session.db.stats().log.checkpoints > 1, "{mode:?}");
        let history = session.history();
        let (killed, cut) = (disk.kill(), disk.crash_to_durable());
        session.db.clone().close().expect("a sound disk");
        drop(session);
        for (left, disk) in
            [("killed", killed), ("cut", cut), ("closed", disk.kill()), ("moved", disk.crash_to_durable())]
        {
            for byte in (0..8192).filter(|byte| byte % 4096 < 284 && byte % 17 == 4 || byte % 1977 == 0) {
                let damaged = disk.kill();
                assert!(damaged.flip(&file("superblock"), byte, 4));
                let context = format!("{mode:?}, {left}, byte {byte}");
                let db = mode.open(&damaged).unwrap_or_else(|error| panic!("{context}: {error}"));
                assert_eq!(db.recovery().damaged.len(), 1, "{context}: {:?}", db.recovery());
                let closed = matches!(left, "closed" | "moved");
                assert!(
                    !closed || db.recovery().source == RecoveredFrom::CleanShutdown,
                    "{context}: {:?}",
                    db.recovery()
                );
                history.expect(&contents(&db, &context), &context);
            }
        }
    }
}

/// A write-back that failed after the process died sets a page back to an older version, and no call reports it.
#[test]
fn a_leaf_gone_back_in_time_is_noticed() {
    let disk = SimDisk::new();
    let mut session = written(&disk, SHARED, 1);
    let old = disk.kill().contents(&file("leaves")).expect("it is there");
    (0..20).for_each(|key| session.step(put(key, 99)));
    session.sync();
    let history = session.history();
    let killed = disk.kill();
    let new = killed.contents(&file("leaves")).expect("it is there");
    let changed: Vec<usize> =
        (512..old.len()).step_by(512).filter(|&at| old[at..at + 512] != new[at..at + 512]).collect();
    assert!(!changed.is_empty());
    for at in changed {
        let lost = killed.kill();
        assert!(lost.overwrite(&file("leaves"), at, &old[at..at + 512]));
        expect_cut(&lost, SHARED, &history, "lost writes");
        let again = SHARED.open(&lost).expect("it was mended and closed");
        assert_eq!(again.recovery().source, RecoveredFrom::CleanShutdown);
    }
}

/// The same for records that no epoch record mentions yet. Their leaves' epochs show which those are. A slot whose
/// record has another key, or none, has lost its record.
#[test]
fn an_unlogged_record_gone_back_in_time_is_noticed() {
    let disk = SimDisk::new();
    let mut session = written(&disk, SHARED, 1);
    (0..20).for_each(|key| session.step(put(key, 99)));
    let history = session.history();
    let killed = disk.kill();
    let records = killed.contents(&file("records")).expect("it is there");
    let record = |key: u32, byte: u8| {
        let pair = [&key.to_be_bytes()[..], &[byte; 50]].concat();
        let at = records.windows(pair.len()).position(|bytes| bytes == pair).expect("the record is there");
        at - 8..at + pair.len()
    };
    // A record of its own key and of the right length, with a value that was never written.
    let torn = killed.kill();
    assert!(torn.overwrite(&file("records"), record(3, 99).end - 8, &[0; 8]));
    expect_cut(&torn, SHARED, &history, "lost writes");
    // A whole record with its checksum, but of another key.
    assert!(killed.overwrite(&file("records"), record(3, 99).start, &records[record(8, 0)]));
    expect_cut(&killed, SHARED, &history, "lost writes");
}

#[test]
fn a_copy_of_a_dirty_database_is_no_page_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let builder = || holm::Database::builder().durability(Durability::OnSync).capacity(1 << 30);
    let db = builder().open(&one).expect("an empty folder");
    let north = db.keyspace("north").expect("a new database");
    (0..500_u32).for_each(|key| north.insert(key.to_be_bytes(), "kept").expect("inserting"));
    db.sync().expect("syncing");
    std::fs::create_dir(&two).expect("a folder");
    for entry in std::fs::read_dir(&one).expect("listing") {
        let entry = entry.expect("listing");
        std::fs::copy(entry.path(), two.join(entry.file_name())).expect("copying");
    }
    let copy = builder().open(&two).expect("a copy is a database too");
    assert!(
        matches!(&copy.recovery().source, RecoveredFrom::Log { reason, .. } if reason.contains("copies")),
        "{:?}",
        copy.recovery()
    );
    assert_eq!(copy.keyspace("north").and_then(|space| space.len()).expect("it was synced"), 500);
    assert_eq!(copy.check().expect("checking").faults, Vec::<String>::new());
}

/// Files truncated or overwritten with zeros: a typed error, or a database that is right or reports what is wrong.
#[test]
fn truncated_or_zeroed_files() {
    let disk = SimDisk::new();
    let session = written(&disk, SHARED, 5);
    let whole = session.history();
    let dirty = disk.kill();
    session.db.clone().close().expect("a sound disk");
    drop(session);
    for (clean, disk) in [(false, &dirty), (true, &disk.kill())] {
        for name in ["superblock", "leaves", "records", "log.0", "log.1", "log.2"] {
            if disk.contents(&file(name)).is_none() {
                continue;
            }
            let len = disk.contents(&file(name)).map_or(0, |bytes| bytes.len());
            let damages: [(&str, Option<usize>); 6] = [
                ("cut to nothing", Some(0)),
                ("cut to a sector", Some(512)),
                ("cut at an odd byte", Some(len / 2 + 7)),
                ("cut by a page", Some(len.saturating_sub(4096))),
                ("grown by zeros", Some(len + 4096)),
                ("zeroed", None),
            ];
            for (what, cut) in damages {
                let damaged = disk.kill();
                match cut {
                    Some(len) => assert!(damaged.truncate(&file(name), len)),
                    None => assert!(damaged.overwrite(&file(name), 0, &vec![0; len])),
                }
                told(&damaged, &whole, &format!("{name} {what}, clean: {clean}"));
            }
        }
    }
}

/// A reader maps no file that is shorter than it was when it was closed: it would find no page behind the end.
#[test]
fn a_reader_refuses_files_that_are_cut() {
    let disk = SimDisk::new();
    let session = written(&disk, SHARED, 5);
    session.db.clone().close().expect("a sound disk");
    drop(session);
    for name in ["leaves", "records"] {
        let damaged = disk.kill();
        let len = damaged.contents(&file(name)).map_or(0, |bytes| bytes.len());
        assert!(damaged.truncate(&file(name), len - 4096));
        let refused = SHARED.builder(&damaged).open_read_only("/d").map(drop);
        assert!(matches!(refused, Err(Error::Corrupt { .. })), "{name}: {refused:?}");
    }
}

/// Leaves have no checksum of their own, but a closed database has one over all of them, and its index one of each.
#[test]
fn a_flip_in_the_leaves_of_a_closed_database_is_damage() {
    for mode in [SHARED, PRIVATE] {
        let disk = SimDisk::new();
        let session = written(&disk, mode, 5);
        session.db.clone().close().expect("a sound disk");
        let whole = session.history();
        drop(session);
        let leaves = disk.contents(&file("leaves")).expect("it is there");
        for byte in (0..leaves.len()).step_by(37) {
            let damaged = disk.kill();
            assert!(damaged.flip(&file("leaves"), byte, (byte % 8) as u8));
            let context = format!("{mode:?}, byte {byte}");
            if let Ok(db) = mode.open(&damaged) {
                // By the index, which has no free leaves: all others are compared when they are looked at.
                match db.check().map(|report| report.faults) {
                    Ok(faults) if faults.is_empty() => whole.expect(&contents(&db, &context), &context),
                    _ => assert!(matches!(db.close(), Err(Error::Corrupt { .. })), "{context}"),
                }
            }
            // Without the index, an opening reads them all.
            let damaged = disk.kill();
            assert!(damaged.flip(&file("leaves"), byte, (byte % 8) as u8));
            damaged.remove(&file("index")).expect("a closed database has one");
            let opened = mode.open(&damaged).map(drop);
            assert!(matches!(opened, Err(Error::Corrupt { .. })), "{context}: {opened:?}");
        }
    }
}

fn told(disk: &SimDisk, whole: &History, context: &str) {
    let db = match SHARED.open(disk) {
        Ok(db) => db,
        Err(Error::Corrupt { .. } | Error::Foreign { .. } | Error::NotClean { .. } | Error::Io { .. }) => return,
        Err(error) => panic!("{context}: {error:?}"),
    };
    if db.check().expect("checking").faults.is_empty() {
        whole.expect(&contents(&db, context), context);
    }
}

/// A scan that reads an invalid record reports it and does not skip it. A lookup compares keys, and this record has no
/// key any more; the lookup must still terminate.
#[test]
fn a_record_with_impossible_lengths_is_damage() {
    let disk = SimDisk::new();
    let db = SHARED.open(&disk).expect("a sound disk");
    let north = db.keyspace("north").expect("a new database");
    (0..20_u32).for_each(|key| north.insert(key.to_be_bytes(), [0xAB; 40]).expect("inserting"));
    drop(north);
    db.close().expect("a sound disk");
    let records = disk.contents(&file("records")).expect("it is there");
    let value =
        |number: u32| records.windows(8).position(|bytes| bytes == [&number.to_be_bytes()[..], &[0xAB; 4]].concat());
    let at = value(7).expect("the record is there") - 8;
    assert!(disk.flip(&file("records"), at + 2, 0), "64 KiB more of key than there is record");
    let db = SHARED.open(&disk).expect("nothing is verified at open");
    let north = db.keyspace("north").expect("it is there");
    assert!(matches!(north.get(7_u32.to_be_bytes()), Ok(None) | Err(Error::Corrupt { .. })));
    assert!(north.iter().any(|pair| matches!(pair, Err(Error::Corrupt { .. }))));
    assert_eq!(north.get(8_u32.to_be_bytes()).expect("its neighbour is sound").as_deref(), Some(&[0xAB; 40][..]));
    assert!(!db.check().expect("checking").faults.is_empty());
}

/// A damaged key at the beginning or end of a leaf would give the leaf a wrong range, so an open for writing is
/// refused. A read-only open uses the next record, returns all other pairs, and terminates.
#[test]
fn damaged_keys_at_the_ends_of_leaves() {
    let folder = tempfile::tempdir().expect("a folder");
    let builder = || holm::Database::builder().durability(Durability::OnSync).capacity(1 << 30);
    let path = folder.path().join("d");
    let db = builder().open(&path).expect("an empty folder");
    let north = db.keyspace("north").expect("a new database");
    let key = |number: u32| format!("m{number:05}");
    (0..600_u32).for_each(|number| north.insert(key(number), format!("value{number}")).expect("inserting"));
    drop(north);
    db.close().expect("closing");
    let whole = std::fs::read(path.join("records")).expect("it is there");
    let (mut refused, mut accepted) = (0, 0);
    for number in (0..600_u32).step_by(13) {
        let name = key(number);
        let at = whole.windows(11).position(|bytes| bytes == format!("{name}value").as_bytes()).expect("the record");
        for (byte, bit) in [(0, 2), (2, 1), (4, 0), (5, 3)] {
            let mut damaged = whole.clone();
            damaged[at + byte] ^= 1 << bit;
            std::fs::write(path.join("records"), &damaged).expect("writing");
            let context = format!("{name}, byte {byte}");
            let looking = holm::Database::open_read_only(&path).unwrap_or_else(|error| panic!("{context}: {error}"));
            let north = looking.existing_keyspace("north").expect("a catalog").expect("made");
            // One more, because a scan may end with an error.
            for pairs in [north.iter().take(601).collect::<Vec<_>>(), north.iter().rev().take(601).collect()] {
                assert!(pairs.len() <= 600, "{context}: a scan without end");
                let found = pairs.iter().flatten().filter(|(key, _)| **key != *name.as_bytes()).count();
                assert!(found >= 599, "{context}: {found} of the others");
            }
            assert!(!looking.check().expect("checking").faults.is_empty(), "{context}");
            drop((north, looking));
            // By the index, an opening reads no leaf.
            drop(std::fs::remove_file(path.join("index")));
            match holm::Database::builder().create(false).capacity(1 << 30).open(&path).map(drop) {
                Err(Error::Corrupt { .. }) => refused += 1,
                Ok(()) => accepted += 1,
                Err(error) => panic!("{context}: {error}"),
            }
        }
    }
    assert!(refused > 5 && accepted > 20, "{refused} refused, {accepted} accepted");
}

/// Nothing needs what an older pass has left in the log, and damage to it is not reported.
#[test]
fn damage_in_unneeded_parts_of_the_log_is_ignored() {
    let disk = SimDisk::new();
    let mut session = written(&disk, SHARED, 2);
    session.db.clone().close().expect("a sound disk");
    let history = std::mem::replace(&mut session, written(&SimDisk::new(), SHARED, 1)).history();
    for segment in ["log.0", "log.1"] {
        for byte in 24..40 {
            for bit in 0..8 {
                let damaged = disk.kill();
                assert!(damaged.flip(&file(segment), byte, bit));
                let context = format!("{segment}, byte {byte}, bit {bit}");
                let db = SHARED.open(&damaged).unwrap_or_else(|error| panic!("{context}: {error}"));
                history.expect(&contents(&db, &context), &context);
            }
        }
    }
}

/// The death of a process truncates no file.
#[test]
fn truncated_files_of_a_killed_database() {
    for mode in [SHARED, PRIVATE] {
        let disk = SimDisk::new();
        let session = written(&disk, mode, 3);
        session.db.clone().close().expect("a sound disk");
        drop(session);
        let session = Session::begin(mode.open(&disk).expect("sound"), mode, Contents::new()).expect("sound");
        for (left, disk) in [("killed", disk.kill()), ("cut", disk.crash_to_durable())] {
            for name in ["leaves", "records"] {
                let damaged = disk.kill();
                let len = damaged.contents(&file(name)).map_or(0, |bytes| bytes.len());
                for len in [0, len - 4096, len - 1] {
                    assert!(damaged.truncate(&file(name), len));
                    let opened = mode.open(&damaged).map(drop);
                    assert!(matches!(opened, Err(Error::Corrupt { .. })), "{mode:?}, {left}, {name}: {opened:?}");
                }
            }
        }
        drop(session);
    }
}

/// A creation that fails half-way leaves nothing that looks like a closed database.
#[test]
fn a_creation_on_a_full_disk() {
    for mode in [SHARED, PRIVATE] {
        let mut failed = 0;
        for growths in 0..10 {
            let disk = SimDisk::new();
            disk.fail_from(Kind::Allocate, growths, Fault::NoSpace);
            if mode.open(&disk).map(drop).is_ok() {
                break;
            }
            failed += 1;
            let path = superblock_path(Path::new("/d"));
            if let Ok(superblock_file) = disk.open(&path, How::READ) {
                let (superblock, _) = Superblock::read(&*superblock_file, &path).expect("it is whole");
                assert_ne!(superblock.state, State::Clean, "{mode:?}, growth {growths}");
            }
            disk.heal();
            let db = mode.open(&disk).expect("there is room");
            assert_eq!(db.keyspaces().expect("a catalog"), ["default"]);
        }
        assert!(failed > 2, "{mode:?}: {failed} growths");
    }
}

/// Damage in the middle of a record, and a slot that leads to the record of another one: `check` compares every byte,
/// and finds what two records share.
#[test]
fn check_reports_damaged_records_and_those_that_overlap() {
    let disk = SimDisk::new();
    let mut session = written(&disk, SHARED, 1);
    let lens = [7_000, 9_000];
    for (key, len) in (100..).zip(lens) {
        session.step(vec![(0, u32::to_be_bytes(key).to_vec(), Some(vec![0xA5; len]))]);
    }
    session.db.clone().close().expect("a sound disk");
    drop(session);
    // The words of the two slots: docs/format.md.
    let leaves = disk.contents(&file("leaves")).expect("it is there");
    let words = leaves.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).enumerate();
    let slots = lens.map(|len| {
        let of_len = words.clone().find(|(_, word)| (len as u64 / 8..len as u64 / 8 + 4).contains(&(word >> 40)));
        of_len.expect("a slot leads to it")
    });
    let offset = (slots[0].1 & ((1 << 40) - 1)) * 8;
    let faults = |disk: &SimDisk| {
        let db = SHARED.builder(disk).open_read_only("/d").expect("a reader sees what is left");
        db.check().expect("it can be read").faults
    };
    assert_eq!(faults(&disk.kill()), Vec::<String>::new());
    let flipped = disk.kill();
    assert!(flipped.flip(&file("records"), offset as usize + 5_000, 3));
    let found = faults(&flipped);
    assert!(found.iter().any(|fault| fault.contains("checksum")), "{found:?}");
    assert!(disk.overwrite(&file("leaves"), slots[1].0 * 8, &slots[0].1.to_le_bytes()));
    let found = faults(&disk);
    assert!(found.iter().any(|fault| fault.contains("overlap")), "{found:?}");
}
