//! The kernel reclaims pages of a database that is open, and reads them from the disk again: unchanged, or, if their
//! write-back has failed, as they once were.

use crate::history::{Contents, Mode, Session, contents, random_step};
use holm::{Durability, Error, RecoveredFrom};
use holm_proof::disk::SimDisk;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::path::Path;

const MODES: [Mode; 2] = [Mode::new(false, Durability::OnSync), Mode::new(false, Durability::Strict)];
const FILES: [&str; 2] = ["/d/leaves", "/d/records"];

/// A session whose pages the kernel has written back now and then, and dropped if that has not failed.
fn worked(disk: &SimDisk, mode: Mode, random: &mut Pcg64Mcg) -> Session {
    let db = mode.open(disk).expect("no faults");
    let mut session = Session::begin(db, mode, Contents::new()).expect("no faults");
    let mut serial = 0;
    for _ in 0..150 {
        session.step(random_step(random, &mut serial, false));
        if random.random_ratio(1, 8) {
            disk.write_back(random.random(), 2);
            let changed: usize = FILES.iter().map(|file| disk.evict_mapped(Path::new(file), random.random(), 2)).sum();
            assert_eq!(changed, 0, "{mode:?}: the disk has what the mapping had");
        }
    }
    assert!(session.failed.is_none(), "{:?}", session.failed);
    session.sync();
    session
}

/// Reads everything: any answer, or a typed error.
fn read_all(session: &Session) -> Result<usize, Error> {
    let mut found = 0;
    for name in ["north", "south"] {
        let space = session.db.keyspace(name)?;
        for pair in space.iter() {
            found += usize::from(space.get(pair?.0)?.is_some());
        }
    }
    Ok(found)
}

/// The write-back of some pages fails, and the kernel drops them. What is read is of the past until a sync of the file
/// reports the failure, which closing does at the latest. The next opening finds everything: the log has it.
#[test]
fn pages_that_go_back_while_a_database_is_open_are_restored() {
    let mut met = 0;
    for (mode, seed) in MODES.into_iter().flat_map(|mode| (0..12).map(move |seed| (mode, seed))) {
        let (disk, mut random) = (SimDisk::new(), Pcg64Mcg::seed_from_u64(seed));
        let session = worked(&disk, mode, &mut random);
        let (file, context) = (Path::new(FILES[seed as usize % 2]), format!("{mode:?}, seed {seed}"));
        disk.write_back(random.random(), 1);
        assert!(disk.fail_write_back(file), "{context}");
        let gone_back = disk.evict_mapped(file, random.random(), 1);
        let history = session.history();
        // Nothing is promised of these answers, but that they are answers.
        let read = read_all(&session);
        let closed = session.db.clone().close();
        drop(session);
        if gone_back > 0 {
            met += 1;
            assert!(closed.is_err(), "{context}: {gone_back} pages have gone back, {read:?}, and closed {closed:?}");
        }
        for left in [disk.kill(), disk.crash_to_durable(), disk.crash_seeded(seed)] {
            let db = mode.open(&left).unwrap_or_else(|error| panic!("{context}: {error}"));
            let source = &db.recovery().source;
            assert!(gone_back == 0 || matches!(source, RecoveredFrom::Log { .. }), "{context}: {source:?}");
            history.expect(&contents(&db, &context), &context);
        }
    }
    assert!(met > 10, "pages have gone back in {met} runs");
}
