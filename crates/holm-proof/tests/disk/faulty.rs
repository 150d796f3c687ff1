//! Calls that fail: every call of a session, with every kind of failure, once and permanently.

use crate::session::{Database, UUID, dir, files, is_there, make_dir, options, read_back, record_of, recovered};
use holm_medium::error::{MediumError, Result};
use holm_medium::log::{Log, LogFiles, LogStart};
use holm_medium::vfs::{RealFs, Vfs};
use holm_proof::disk::{Fault, Kind, SimDisk};

const FAULTS: [Fault; 5] = [Fault::Eio, Fault::NoSpace, Fault::Interrupted, Fault::WouldBlock, Fault::Short(100)];

/// A session on a faulty disk; returns the last epoch acknowledged, the last attempted, and how the session ended.
fn session(disk: &SimDisk, direct: bool) -> (u64, u64, Result<()>) {
    match Database::create(disk, direct) {
        Ok(mut database) => {
            let outcome = database.work();
            (database.acknowledged, database.attempted, outcome)
        }
        Err(error) => (0, 0, Err(error)),
    }
}

fn check(disk: &SimDisk, acknowledged: u64, attempted: u64, what: &str) {
    disk.heal();
    let killed = disk.kill();
    for after in [killed, disk.crash_to_durable(), disk.crash_keeping_all(), disk.crash_seeded(1), disk.crash_seeded(2)]
    {
        if is_there(&after) {
            let found = recovered(&after).unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!((acknowledged..=attempted).contains(&found), "{what}: {acknowledged} became {found}");
        } else {
            assert_eq!(acknowledged, 0, "{what}: the database is gone");
        }
    }
}

#[test]
fn every_call_may_fail_once() {
    for direct in [true, false] {
        let calm = SimDisk::new();
        assert!(session(&calm, direct).2.is_ok());
        for index in 0..calm.calls().of(Kind::Any) {
            for fault in FAULTS {
                let disk = SimDisk::new();
                disk.fail(Kind::Any, index, fault);
                let (acknowledged, attempted, outcome) = session(&disk, direct);
                let what = format!("{fault:?} at call {index}, direct {direct}");
                match outcome {
                    Ok(()) => {}
                    Err(MediumError::Io { .. }) => assert_eq!(fault, Fault::Eio, "{what}"),
                    Err(MediumError::NoSpace { .. }) => assert_eq!(fault, Fault::NoSpace, "{what}"),
                    Err(other) => panic!("{what}: {other:?}"),
                }
                check(&disk, acknowledged, attempted, &what);
            }
        }
    }
}

#[test]
fn every_call_may_fail_permanently() {
    let calm = SimDisk::new();
    assert!(session(&calm, false).2.is_ok());
    for kind in [Kind::Read, Kind::Write, Kind::Allocate, Kind::Sync, Kind::Meta] {
        for index in 0..calm.calls().of(kind) {
            for fault in [Fault::Eio, Fault::NoSpace] {
                let disk = SimDisk::new();
                disk.fail_from(kind, index, fault);
                let (acknowledged, attempted, outcome) = session(&disk, false);
                let what = format!("{fault:?} from call {index} of {kind:?}");
                assert!(outcome.is_err(), "{what}");
                check(&disk, acknowledged, attempted, &what);
            }
        }
    }
}

#[test]
fn a_full_disk_harms_nothing_and_ends() {
    let disk = SimDisk::new();
    let mut database = Database::create(&disk, true).expect("no faults");
    disk.fail_from(Kind::Allocate, 0, Fault::NoSpace);
    let error = loop {
        match database.put() {
            Ok(()) => {}
            Err(error) => break error,
        }
    };
    assert!(error.is_no_space() && !database.log.is_poisoned());
    let (held, segments) = (database.acknowledged, database.log.segments());
    disk.heal();
    database.put().expect("there is space again");
    assert!(database.log.segments() > segments);
    assert_eq!(recovered(&disk.crash_to_durable()).ok(), Some(held + 1));
}

#[test]
fn where_direct_writes_are_refused_records_are_synced() {
    let disk = SimDisk::new();
    disk.refuse_direct(true);
    let mut database = Database::create(&disk, true).expect("falls back");
    assert!(!database.log.is_direct());
    database.work().expect("no faults");
    assert_eq!(recovered(&disk.crash_to_durable()).ok(), Some(database.acknowledged));
}

#[test]
fn concurrent_creations_of_one_database_exclude_each_other() {
    let disk = SimDisk::new();
    make_dir(&disk).expect("no faults");
    let other = disk.open(&dir().join("superblock.new"), holm_medium::vfs::How::CREATE).expect("no faults");
    assert!(other.lock(true).expect("no faults"));
    let outcome = crate::session::made(&disk, &mut crate::session::superblock()).map(drop);
    assert!(matches!(outcome, Err(MediumError::Locked { .. })));
}

#[test]
fn the_same_log_on_real_files() -> Result<()> {
    for direct in [true, false] {
        let place = std::env::temp_dir().join(format!("holm-log-{}-{direct}", std::process::id()));
        RealFs.create_dir(&place).map_err(|e| MediumError::io("creating", &place, e))?;
        let mut log = Log::create(&RealFs, &place, UUID, options(direct))?;
        for epoch in 1..=6 {
            if epoch == 4 {
                log.switch()?;
            }
            log.append(&mut record_of(epoch))?;
        }
        let mut epochs = Vec::new();
        let seen =
            holm_medium::log::replay(&RealFs, LogFiles { dir: &place, ..files(2) }, LogStart::FIRST, |epoch, _, _| {
                epochs.push(epoch);
                Ok(())
            })?;
        epochs.dedup();
        assert_eq!((epochs, seen.records, seen.next), ((1..=6).collect(), 6, log.position()));
        assert!(log.files().disk_bytes()? >= 16 << 10);
        std::fs::remove_dir_all(&place).map_err(|e| MediumError::io("removing", &place, e))?;
    }
    let nothing = read_back(&SimDisk::new(), files(2), LogStart::FIRST, 0);
    assert!(matches!(nothing, Err(MediumError::Io { .. })), "no log at all is an error of its own");
    Ok(())
}
