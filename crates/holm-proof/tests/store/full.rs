//! A disk on which the log finds no room: what fits continues, what does not is pending, and the callers get errors.
//! Nothing acknowledged is lost, whether space appears, the database is closed, the process dies or the power fails.

use crate::history::{Contents, History, Mode, Session, contents};
use holm::{Durability, Error};
use holm_proof::disk::{Fault, Kind, SimDisk};

const SMALL: usize = 30_000;
/// More than both segments of a new log.
const LARGE: usize = 300_000;

fn put(key: u32, len: usize) -> Vec<(usize, Vec<u8>, Option<Vec<u8>>)> {
    vec![(0, key.to_be_bytes().to_vec(), Some(vec![key as u8; len]))]
}

/// A database with small segments and much free space in its data files, on a disk without any more space.
fn roomy(mode: Mode) -> (SimDisk, Contents) {
    let disk = SimDisk::new();
    let mut session = Session::begin(mode.open(&disk).expect("no faults"), mode, Contents::new()).expect("no faults");
    (0..12).for_each(|key| session.step(put(key, 150_000)));
    // Longer than the rest of the first records' piece, so it lies last: otherwise closing would truncate the free
    // space.
    session.step(put(12, 3000));
    (0..12).for_each(|key: u32| session.step(vec![(0, key.to_be_bytes().to_vec(), None)]));
    session.db.clone().close().expect("no faults");
    assert!(session.failed.is_none());
    (disk, [((0, 12_u32.to_be_bytes().to_vec()), vec![12; 3000])].into())
}

fn open_and_fill(disk: &SimDisk, mode: Mode, before: Contents) -> Session {
    let session = Session::begin(mode.open(disk).expect("no faults"), mode, before).expect("no faults");
    disk.fail_from(Kind::Allocate, disk.calls().of(Kind::Allocate), Fault::NoSpace);
    session
}

fn modes() -> Vec<Mode> {
    let modes =
        [Durability::OnSync, Durability::Strict].map(|durability| [false, true].map(|it| Mode::new(it, durability)));
    Mode::over_designs(modes.as_flattened())
}

/// Puts what does not fit into the log, and checks that every caller gets an error: none hangs, and nothing is
/// poisoned.
fn put_too_much(session: &mut Session) {
    let keyspace = session.db.keyspace("north").expect("it is there");
    let large = put(40, LARGE);
    let first = keyspace.insert(&large[0].1, vec![40; LARGE]);
    session.steps.push(large);
    let told = first.and_then(|()| session.db.sync());
    assert!(matches!(told, Err(Error::NoSpace { .. })), "{told:?}");
    let refusals = [
        session.db.sync().err(),
        keyspace.insert("more", "of it").err(),
        keyspace.remove([0, 0, 0, 12]).map(drop).err(),
        session.db.batch().insert(&keyspace, "more", "of it").commit().err(),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, Some(Error::NoSpace { .. })), "{refusal:?}");
    }
    match keyspace.get("more") {
        Ok(found) => assert_eq!(found, None),
        // Its leaf has changed in the waiting epoch.
        Err(error) => assert!(session.is_strict() && matches!(error, Error::NoSpace { .. }), "{error:?}"),
    }
}

#[test]
fn what_fits_continues() {
    for mode in modes() {
        let (disk, before) = roomy(mode);
        let mut session = open_and_fill(&disk, mode, before);
        for round in 0..30 {
            session.step(put(20 + round % 5, SMALL));
            session.sync();
        }
        assert!(session.failed.is_none(), "{mode:?}: {:?}", session.failed);
        assert!(session.db.stats().log.checkpoints > 3);
        session.db.clone().close().expect("closing needs no room");
        let history = session.history();
        drop(session);
        history.expect(&contents(&mode.open(&disk).expect("sound"), "full"), "full");
    }
}

#[test]
fn what_waits_for_space_is_written_when_there_is_some() {
    for mode in modes() {
        let (disk, before) = roomy(mode);
        let mut session = open_and_fill(&disk, mode, before);
        session.step(put(20, SMALL));
        session.sync();
        put_too_much(&mut session);
        disk.heal();
        session.step(put(41, SMALL));
        session.sync();
        assert!(session.failed.is_none(), "{mode:?}: {:?}", session.failed);
        let power = disk.crash_seeded(1);
        session.history().expect(&contents(&mode.open(&power).expect("sound"), "power"), "power");
        session.db.clone().close().expect("sound");
        let history = session.history();
        drop(session);
        history.expect(&contents(&mode.open(&disk).expect("sound"), "closed"), "closed");
    }
}

#[test]
fn nothing_acknowledged_is_lost_while_writes_wait() {
    for mode in modes() {
        let (disk, before) = roomy(mode);
        let mut session = open_and_fill(&disk, mode, before);
        session.step(put(20, SMALL));
        session.sync();
        put_too_much(&mut session);
        let synced: History = session.history();
        let (killed, power) = (disk.kill(), disk.crash_seeded(7));
        // Closing the shared image needs no log; of the private image, the last epoch is in no file.
        let closed = session.db.clone().close();
        match closed {
            Ok(()) => assert!(!mode.private),
            Err(error) => assert!(mode.private && matches!(error, Error::NoSpace { .. }), "{error:?}"),
        }
        let mut whole = session.history();
        whole.floor = whole.steps.len();
        drop(session);
        for (left, disk, kept) in [("killed", killed, true), ("power", power, false), ("closed", disk, true)] {
            disk.heal();
            let found = contents(&mode.open(&disk).expect("sound"), left);
            let history = if kept && !mode.private { &whole } else { &synced };
            history.expect(&found, &format!("{mode:?}, {left}"));
        }
    }
}

/// Every write past the page cache may fail for lack of space, on file systems that copy on write. Only writes of that
/// kind fail here: a checkpoint in progress would take the fault as its own, and data that cannot be written ends a
/// session.
#[test]
fn a_record_without_room_in_a_half_that_has_room() {
    for mode in modes() {
        let (disk, before) = roomy(mode);
        let mut session = Session::begin(mode.open(&disk).expect("no faults"), mode, before).expect("no faults");
        session.step(put(20, SMALL));
        session.sync();
        for round in 0..12 {
            disk.fail(Kind::Direct, disk.calls().of(Kind::Direct), Fault::NoSpace);
            session.step(put(20 + round, SMALL));
            session.sync();
            assert!(session.failed.is_none(), "{mode:?}: {:?}", session.failed);
            let power = disk.crash_seeded(u64::from(round));
            session.history().expect(&contents(&mode.open(&power).expect("sound"), "power"), "power");
        }
    }
}

/// On file systems that copy on write, a checkpoint of a private image may find no space for what it writes, while the
/// log has some. When there is space again, a call must not get the error of a checkpoint that failed before that.
#[test]
fn a_checkpoint_that_found_no_space_refuses_nothing_once_there_is_some() {
    let (disk, mode) = (SimDisk::new(), Mode::new(true, Durability::OnSync));
    let db = mode.open(&disk).expect("no faults");
    let north = db.keyspace("north").expect("no faults");
    for trial in 0..6_u8 {
        // The log writes past the page cache; the first fault that fits a call is the one that it meets.
        disk.fail_from(Kind::Direct, 0, Fault::Short(usize::MAX));
        disk.fail_from(Kind::Write, 0, Fault::NoSpace);
        let put = |round: u32| north.insert((round % 50).to_be_bytes(), vec![trial; SMALL]).and_then(|()| db.sync());
        let refused = (0..400).find_map(|round| put(round).err());
        assert!(matches!(refused, Some(Error::NoSpace { .. })), "trial {trial}: {refused:?}");
        disk.heal();
        let synced = db.sync();
        assert!(synced.is_ok(), "trial {trial}: {synced:?}");
        let power = mode.open(&disk.crash_to_durable()).expect("sound");
        let found = power.keyspace("north").and_then(|north| north.get([0; 4])).expect("sound");
        assert_eq!(found.as_deref(), Some(&[trial; SMALL][..]), "trial {trial}");
    }
}

/// A dropped keyspace is gone at once. The next drop frees its records when the disk has room.
#[test]
fn what_a_dropped_keyspace_held_is_freed_once_there_is_room() {
    let modes = Mode::over_designs(&[false, true].map(|private| Mode::new(private, Durability::OnSync)));
    // The disk has room for small leaves.
    for mode in modes.into_iter().filter(|mode| mode.block_bytes() <= 512) {
        let (disk, before) = roomy(mode);
        let session = open_and_fill(&disk, mode, before);
        let db = &session.db;
        let (north, south) = (db.keyspace("north").expect("it is there"), db.keyspace("gone").expect("room"));
        (0..200_u32).for_each(|key| south.insert(key.to_be_bytes(), "of a keyspace that goes").expect("room"));
        db.sync().expect("room");
        north.insert("large", vec![1; LARGE]).expect("the epoch is open");
        let told = db.drop_keyspace("gone");
        assert!(matches!(told, Err(Error::NoSpace { .. })), "{told:?}");
        let refused = south.get("x");
        assert!(matches!(refused, Err(Error::Dropped { .. })), "{refused:?}");
        disk.heal();
        db.sync().expect("there is room");
        let held = db.stats().space.record_bytes;
        assert!(!db.drop_keyspace("gone").expect("there is room"), "{mode:?}: it was gone by then");
        assert!(
            db.stats().space.record_bytes + 200 * 40 <= held,
            "{mode:?}: {held} bytes, {}",
            db.stats().space.record_bytes
        );
        assert!(db.check().expect("a database").faults.is_empty());
    }
}
