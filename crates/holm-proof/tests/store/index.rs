//! The file `index` when power fails while closing writes it or an opening reads it, and when it is torn, of an earlier
//! life, or refused by the disk. It is a cache: nothing but the way of opening depends on it.

use crate::each_call;
use crate::history::{Contents, History, Mode, Session, contents};
use holm::{Durability, Error, RecoveredFrom};
use holm_proof::disk::{Fault, Kind, SECTOR, SimDisk};
use std::path::Path;

const INDEX: &str = "/d/index";
const LEAVES: &str = "/d/leaves";

/// Lives of a database: in each, it is opened, changed and closed.
const LIVES: u32 = 3;

/// Pairs that a life puts.
const PAIRS: u32 = 100;

fn modes() -> [Mode; 2] {
    [false, true].map(|private| Mode::new(private, Durability::OnSync))
}

/// Changes in one life: leaves split and empty, records of several sizes come and go.
fn change(session: &mut Session, life: u32, pairs: u32) {
    let key = |number: u32| match number % 2 {
        0 => format!("a front that keys share/{number:05}").into_bytes(),
        _ => number.to_be_bytes().to_vec(),
    };
    for number in 0..pairs {
        let value = Some(vec![life as u8; (number * 7 % 300) as usize]);
        session.step(vec![(number as usize % 2, key(number * (life + 1)), value)]);
    }
    (0..pairs).step_by(3).for_each(|number| session.step(vec![(number as usize % 2, key(number * life), None)]));
    session.sync();
    assert!(session.failed.is_none(), "{:?}", session.failed);
}

/// A database after a number of lives, what it contains, and the index of each life.
fn closed(mode: Mode, lives: u32, pairs: u32) -> (SimDisk, Contents, Vec<Vec<u8>>) {
    let (disk, mut before, mut indexes) = (SimDisk::new(), Contents::new(), vec![]);
    for life in 0..lives {
        let mut session = begun(mode, &disk, &before);
        change(&mut session, life, pairs);
        before = contents(&session.db, "before closing");
        session.db.clone().close().expect("no faults");
        indexes.push(disk.contents(Path::new(INDEX)).expect("closing writes one"));
    }
    (disk, before, indexes)
}

fn begun(mode: Mode, disk: &SimDisk, before: &Contents) -> Session {
    Session::begin(mode.open(disk).expect("sound"), mode, before.clone()).expect("sound")
}

/// A copy of a disk whose database is open and has one more life behind it, which is not closed yet.
fn changed(mode: Mode, whole: &SimDisk, before: &Contents) -> (SimDisk, Session) {
    let disk = whole.kill();
    let mut session = begun(mode, &disk, before);
    change(&mut session, LIVES, PAIRS);
    (disk, session)
}

/// Opens a disk and compares it. Returns the open database, and how it was found: not closed (0), closed without an
/// index that counts (1), or with one (2).
fn open(mode: Mode, disk: &SimDisk, history: &History, context: &str) -> (Session, usize) {
    let db = mode.open(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    let (clean, by_index) = (db.recovery().source == RecoveredFrom::CleanShutdown, db.recovery().from_index);
    assert!(clean || !by_index, "{context}: an index of a database that was not closed");
    let found = contents(&db, context);
    history.expect(&found, context);
    let session = Session::begin(db, mode, found).unwrap_or_else(|error| panic!("{context}: {error}"));
    (session, usize::from(clean) + usize::from(by_index))
}

/// The same, and lives one more life, which must end with an index that counts.
fn live_on(mode: Mode, disk: &SimDisk, history: &History, context: &str) -> usize {
    let (mut session, way) = open(mode, disk, history, context);
    change(&mut session, LIVES + 1, PAIRS);
    let left = contents(&session.db, context);
    session.db.clone().close().unwrap_or_else(|error| panic!("{context}: {error}"));
    drop(session);
    let (_, by_index) = open(mode, disk, &History::from(left), context);
    assert_eq!(by_index, 2, "{context}: closing has written an index");
    way
}

/// Judges some disks that a loss of power may leave, and counts how they were found.
fn judge_cuts(mode: Mode, disk: &SimDisk, history: &History, context: &str, met: &mut [u32; 3]) {
    let seed = disk.calls().of(Kind::Any);
    let cuts = [disk.crash_to_durable(), disk.crash_keeping_all(), disk.crash_seeded(seed)];
    for (number, cut) in cuts.iter().enumerate() {
        let context = format!("{mode:?}, {context}, crash {number}");
        // Living on takes longer than opening: of the cuts at each call, one does.
        let lives_on = seed % 3 == number as u64;
        let way = if lives_on { live_on(mode, cut, history, &context) } else { open(mode, cut, history, &context).1 };
        met[way] += 1;
    }
}

/// The index of an earlier life lies where the new one is written. Everything was synced before.
#[test]
fn power_fails_while_a_database_is_closed() {
    for mode in modes() {
        let ((whole, before, _), (_, after, _)) = (closed(mode, LIVES, PAIRS), closed(mode, LIVES + 1, PAIRS));
        let all = History::from(after);
        let mut met = [0; 3];
        each_call::at_each_call(
            Fault::PowerCut,
            || changed(mode, &whole, &before),
            |_, session| session.db.clone().close(),
            |disk, done, context| {
                judge_cuts(mode, disk, &all, &format!("{context}, {done:?}"), &mut met);
            },
        );
        assert!(met[0] > 0 && met[2] > 0, "{mode:?}: ways of opening: {met:?}");
    }
}

/// Power fails in the opening that reads the index, or in the first write after it. What the index said is then of the
/// past, or it is not.
#[test]
fn power_fails_in_the_opening_that_reads_an_index() {
    for mode in modes() {
        let (whole, before, _) = closed(mode, LIVES, PAIRS);
        let step = vec![(0, b"after the opening".to_vec(), Some(b"a value".to_vec()))];
        let mut history = History::from(before);
        history.steps.push(step);
        let mut met = [0; 3];
        each_call::at_each_call(
            Fault::PowerCut,
            || (whole.kill(), ()),
            |disk, ()| {
                let db = mode.open(disk)?;
                db.keyspace("north")?.insert("after the opening", "a value")?;
                db.sync()
            },
            |disk, done, context| {
                history.floor = usize::from(done.is_ok());
                judge_cuts(mode, disk, &history, &format!("{context}, {done:?}"), &mut met);
            },
        );
        assert!(met[0] > 0 && met[2] > 0, "{mode:?}: ways of opening: {met:?}");
    }
}

/// The process dies in any call of an opening of a closed database, which makes the leaf of an empty keyspace anew. The
/// database is no longer marked as closed by then: its leaves have changed.
#[test]
fn a_process_dies_in_the_opening_of_a_closed_database() {
    for mode in modes() {
        let whole = SimDisk::new();
        let mut session = begun(mode, &whole, &Contents::new());
        session.step(vec![(0, b"stays".to_vec(), Some(b"a value".to_vec()))]);
        session.step(vec![(1, b"goes".to_vec(), Some(b"a value".to_vec()))]);
        session.step(vec![(1, b"goes".to_vec(), None)]);
        let before = contents(&session.db, "before closing");
        session.db.clone().close().expect("no faults");
        drop(session);
        // With an index and without one.
        for has_index in [true, false] {
            if !has_index {
                put_index(&whole, &[]);
            }
            let history = History::from(before.clone());
            each_call::at_each_call(
                Fault::Death,
                || (whole.kill(), ()),
                |disk, ()| mode.open(disk).map(drop),
                |disk, done, context| {
                    let context = format!("{mode:?}, index {has_index}, {context}, {done:?}");
                    for left in [disk.kill(), disk.kill().crash_to_durable()] {
                        open(mode, &left, &history, &context);
                    }
                },
            );
        }
    }
}

/// No call that writes an index or reads one makes closing or opening fail alone: what the disk refuses otherwise is an
/// error, and the database then opens without an index.
#[test]
fn a_refusal_in_closing_loses_nothing() {
    for (fault, mode) in [Fault::Eio, Fault::NoSpace].into_iter().flat_map(|fault| modes().map(|mode| (fault, mode))) {
        let ((whole, before, _), (_, after, _)) = (closed(mode, LIVES, PAIRS), closed(mode, LIVES + 1, PAIRS));
        let all = History::from(after);
        let (mut closed_without, mut rounds) = (0, 0);
        // Background threads make calls, too, and can take the refusal in place of the index.
        while closed_without == 0 {
            assert!(rounds < 20, "{mode:?}, {fault:?}: the index was refused, and closing went on");
            rounds += 1;
            each_call::at_each_call(
                fault,
                || changed(mode, &whole, &before),
                |_, session| session.db.clone().close(),
                |disk, done, context| {
                    let context = format!("{mode:?}, {context}, {done:?}");
                    let ways = [disk.kill(), disk.crash_to_durable()].map(|left| open(mode, &left, &all, &context).1);
                    assert!(done.is_err() || !ways.contains(&0), "{context}: closed, and yet {ways:?}");
                    closed_without += u32::from(done.is_ok() && ways.contains(&1));
                },
            );
        }
    }
}

/// The disk has written some sectors of an index and says that it has written all, returns zeros for some, or a wrong
/// bit.
#[test]
fn a_torn_or_damaged_index_is_not_read() {
    for mode in modes() {
        let (whole, after, indexes) = closed(mode, LIVES, 8 * PAIRS);
        let (old, new) = (&indexes[LIVES as usize - 2], &indexes[LIVES as usize - 1]);
        let history = History::from(after);
        let sector = |bytes: &[u8], at: usize| {
            let from = (at * SECTOR).min(bytes.len());
            bytes[from..(from + SECTOR).min(bytes.len())].to_vec()
        };
        let sectors = new.len().div_ceil(SECTOR);
        assert!(sectors > 2, "{} bytes can be torn", new.len());
        let mut torn: Vec<Vec<u8>> = (0..sectors).map(|at| new[..at * SECTOR].to_vec()).collect();
        for lost in 0..sectors {
            for other in [&old[..], &[0; 1 << 16]] {
                let of = |at| if at == lost { other } else { &new[..] };
                torn.push((0..sectors).flat_map(|at| sector(of(at), at)).collect());
            }
        }
        for byte in (0..new.len()).step_by(29) {
            let mut damaged = new.clone();
            damaged[byte] ^= 1 << (byte % 8);
            torn.push(damaged);
        }
        for (number, bytes) in torn.iter().enumerate().filter(|(_, bytes)| *bytes != new) {
            let (disk, context) = (whole.kill(), format!("{mode:?}, index {number}, {} bytes", bytes.len()));
            put_index(&disk, bytes);
            assert_eq!(open(mode, &disk, &history, &context).1, 1, "{context}: a torn index was read");
        }
    }
}

fn put_index(disk: &SimDisk, bytes: &[u8]) {
    assert!(disk.truncate(Path::new(INDEX), bytes.len()) && disk.overwrite(Path::new(INDEX), 0, bytes));
}

/// A copy of the folder gets its index from another time, whole and with a checksum that is right: of an earlier life,
/// or of one that changed nothing that a later one did not take back.
#[test]
fn an_index_of_an_earlier_life_is_not_read() {
    for mode in modes() {
        let (disk, mut before, mut indexes) = closed(mode, LIVES, PAIRS);
        // One of these lives changes a pair and takes that back, so that the leaves may be as they were.
        for life in 0..3 {
            let mut session = begun(mode, &disk, &before);
            let key = b"comes and goes".to_vec();
            if life == 1 {
                session.step(vec![(0, key.clone(), Some(vec![1; 100]))]);
                session.step(vec![(0, key, None)]);
            }
            assert!(session.failed.is_none(), "{:?}", session.failed);
            before = contents(&session.db, "before closing");
            session.db.clone().close().expect("no faults");
            indexes.push(disk.contents(Path::new(INDEX)).expect("closing writes one"));
        }
        let (last, history) = (indexes.pop().expect("there are some"), History::from(before));
        for (life, index) in indexes.iter().enumerate() {
            assert!(*index != last, "each session has a boot generation of its own");
            let (left, context) = (disk.kill(), format!("{mode:?}, the index of life {life}"));
            put_index(&left, index);
            assert_eq!(live_on(mode, &left, &history, &context), 1, "{context} was read");
        }
    }
}

/// A byte of the last leaf block that is in use.
fn byte_in_use(mode: Mode, whole: &SimDisk) -> usize {
    let leaves = whole.contents(Path::new(LEAVES)).expect("it is there");
    let is_read = |byte: &usize| {
        let disk = whole.kill();
        assert!(disk.flip(Path::new(LEAVES), *byte, 0));
        let db = mode.open(&disk).expect("by the index");
        let pairs = |name: &str| db.keyspace(name).and_then(|space| space.iter().collect::<Result<Vec<_>, _>>());
        ["north", "south"].iter().any(|name| matches!(pairs(name), Err(Error::Corrupt { .. })))
    };
    (0..leaves.len()).step_by(512).map(|block| block + 40).rev().find(is_read).expect("some leaf has pairs")
}

/// Nothing has looked at a leaf that is damaged, and closing makes no index, because a snapshot keeps a record. It
/// reports the damage all the same, and does not vouch for it.
#[test]
fn closing_without_an_index_vouches_for_no_leaf_that_is_damaged() {
    let mode = Mode::new(false, Durability::OnSync);
    let (whole, ..) = closed(mode, 1, PAIRS);
    let byte = byte_in_use(mode, &whole);
    assert!(whole.flip(Path::new(LEAVES), byte, 0));
    let db = mode.open(&whole).expect("by the index");
    assert!(db.recovery().from_index);
    let fresh = db.keyspace("fresh").expect("a sound disk");
    fresh.insert("a", "1").expect("a sound disk");
    let snapshot = db.snapshot().expect("sound");
    fresh.insert("a", "2").expect("a sound disk");
    let closed = db.close();
    assert!(matches!(closed, Err(Error::Corrupt { .. })), "{closed:?}");
    let again = mode.open(&whole.kill()).map(drop);
    assert!(matches!(again, Err(Error::Corrupt { .. })), "{again:?}");
    drop(snapshot);
}
