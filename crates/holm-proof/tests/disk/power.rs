//! Loss of power at every call, and every image that it may leave.

use crate::session::{Database, UUID, boundaries, files, is_there, logged, options, read_back, record_of, recovered};
use crate::session::{dir, log_0, made, make_dir, superblock};
use holm_medium::error::MediumError;
use holm_medium::log::{Log, LogStart};
use holm_medium::superblock::{Superblock, superblock_path};
use holm_medium::vfs::{How, Vfs};
use holm_proof::disk::{Fault, Kind, SimDisk};

/// A log whose last record is written with `fault`; returns the disk with the power off.
fn cut(epochs: u64, direct: bool, kind: Kind, fault: Fault) -> SimDisk {
    let disk = SimDisk::new();
    make_dir(&disk).expect("no faults");
    let mut log = Log::create(&disk, &dir(), UUID, options(direct)).expect("no faults");
    (1..epochs).for_each(|epoch| log.append(&mut record_of(epoch)).expect("no faults"));
    disk.fail(kind, disk.calls().of(kind), fault);
    assert!(log.append(&mut record_of(epochs)).is_err());
    disk
}

#[test]
fn a_record_torn_at_any_byte_is_the_tail() {
    let padded = record_of(3).padded_len() as usize;
    let sealed = record_of(3).finish(&UUID, &LogStart::FIRST.position(), 16 << 20).to_vec();
    let needed = sealed.iter().rposition(|&byte| byte != 0).expect("a record is not blank") + 1;
    let before = cut(3, true, Kind::Write, Fault::TornAt(0)).crash_to_durable();
    let whole = logged(3, true).contents(&log_0()).expect("it was made");
    for bytes in 0..=padded {
        let disk = torn_copy(&before, &whole, bytes);
        let seen = read_back(&disk, files(2), LogStart::FIRST, 0).expect("a torn tail is no damage");
        assert_eq!(seen.last_epoch, Some(if bytes < needed { 2 } else { 3 }), "{bytes} bytes of {padded}");
        // Without pass and sequence, whose first bytes alone are not zero, the page may as well be an older pass's.
        assert_eq!(seen.torn, (32 < bytes && bytes < needed).then(|| boundaries(3)[2]), "{bytes} bytes");
    }
}

/// As [`cut`] with [`Fault::TornAt`], from one prepared log.
fn torn_copy(before: &SimDisk, whole: &[u8], bytes: usize) -> SimDisk {
    let (disk, begin) = (before.kill(), boundaries(3)[2] as usize);
    assert!(disk.overwrite(&log_0(), begin, &whole[begin..begin + bytes]));
    disk
}

#[test]
fn torn_writes_of_the_disk_are_torn_records() {
    let before = logged(2, true);
    let whole = logged(3, true).contents(&log_0()).expect("it was made");
    for bytes in [0, 1, 63, 64, 65, 511, 512, 4000, 8191] {
        let disk = cut(3, true, Kind::Write, Fault::TornAt(bytes)).crash_to_durable();
        assert!(disk.contents(&log_0()) == torn_copy(&before, &whole, bytes).contents(&log_0()), "{bytes} bytes");
    }
}

#[test]
fn any_subset_of_a_records_sectors_is_all_or_nothing() {
    for (direct, kind) in [(true, Kind::Write), (false, Kind::Write), (false, Kind::Sync)] {
        for epochs in [2, 3] {
            let disk = cut(epochs, direct, kind, Fault::PowerCut);
            let (mut without, mut with) = (0_u32, 0_u32);
            let all = disk.for_each_crash(600, |after| {
                let seen = read_back(&after, files(2), LogStart::FIRST, 0).expect("a torn tail is no damage");
                match epochs - seen.last_epoch.unwrap_or(0) {
                    0 => with += 1,
                    1 => without += 1,
                    more => panic!("{more} epochs lost"),
                }
            });
            assert_eq!(all, epochs == 2, "a record of one page has 256 images, of two pages too many");
            assert!(without > 0 && with > 0);
        }
    }
}

#[test]
fn power_lost_in_any_call_of_a_session_leaves_a_prefix() {
    for direct in [true, false] {
        let mut calls = 0;
        loop {
            let disk = SimDisk::new();
            disk.fail(Kind::Any, calls, Fault::PowerCut);
            let mut attempted = 0;
            let mut acknowledged = 0;
            let mut made = false;
            let outcome = Database::create(&disk, direct).and_then(|mut database| {
                made = true;
                let outcome = database.work();
                (attempted, acknowledged) = (database.attempted, database.acknowledged);
                outcome
            });
            disk.for_each_crash(40, |after| {
                assert!(is_there(&after) || !made, "a database that was made is gone after call {calls}");
                if is_there(&after) {
                    let epoch = recovered(&after).expect("power loss damages nothing");
                    assert!((acknowledged..=attempted).contains(&epoch), "call {calls}: {acknowledged} became {epoch}");
                    assert_eq!(recovered(&after).ok(), Some(epoch), "a second recovery finds the same");
                }
            });
            if outcome.is_ok() {
                assert!(calls >= 40, "the session has become too short: {calls} calls");
                break;
            }
            calls += 1;
        }
    }
}

#[test]
fn session_after_session_with_power_lost_in_each_loses_nothing() {
    for seed in 0..200_u64 {
        let direct = seed.is_multiple_of(2);
        let mut disk = SimDisk::new();
        drop(Database::create(&disk, direct).expect("no faults"));
        let mut floor = 0;
        let mut ceiling = 0;
        for round in 0..6_u64 {
            // Sometimes within recovery itself, sometimes during the session, sometimes not at all.
            let call = (seed * 7919 + round * 104_729) % 60;
            disk.fail(Kind::Any, call, Fault::PowerCut);
            if let Ok(mut database) = Database::open(&disk, direct) {
                let found = database.acknowledged;
                assert!((floor..=ceiling).contains(&found), "seed {seed}, round {round}: {floor} became {found}");
                let _ = database.work();
                (floor, ceiling) = (database.acknowledged, database.attempted);
            }
            disk = disk.crash_seeded(seed * 10 + round);
        }
        let found = recovered(&disk).expect("power loss damages nothing");
        assert!((floor..=ceiling).contains(&found), "seed {seed}: {floor} became {found}");
    }
}

#[test]
fn a_record_torn_right_after_a_switch_does_not_stop_recovery() {
    let disk = SimDisk::new();
    let mut database = Database::create(&disk, true).expect("no faults");
    database.put().expect("no faults");
    database.log.switch().expect("the other segment was never used");
    disk.fail(Kind::Write, disk.calls().of(Kind::Write), Fault::TornAt(100));
    assert!(database.put().is_err());
    let after = disk.crash_to_durable();
    let mut database = Database::open(&after, true).expect("power loss damages nothing");
    assert_eq!(database.acknowledged, 1);
    // The rest of the torn record lies in the segment that is written now, and belongs to another pass.
    database.put().expect("no faults");
    assert_eq!(recovered(&after).ok(), Some(2));
}

#[test]
fn the_superblock_is_the_old_or_the_new_one() {
    for (kind, slot) in [(Kind::Write, 0), (Kind::Sync, 0), (Kind::Write, 1), (Kind::Sync, 1)] {
        let disk = SimDisk::new();
        make_dir(&disk).expect("no faults");
        let mut block = superblock();
        let superblock_file = made(&disk, &mut block).expect("no faults");
        for epoch in 1..4 {
            block.epoch = epoch;
            block.write(&*superblock_file, &superblock_path(&dir())).expect("no faults");
        }
        disk.fail(kind, disk.calls().of(kind) + slot, Fault::PowerCut);
        block.epoch = 4;
        assert!(block.write(&*superblock_file, &superblock_path(&dir())).is_err());
        let mut seen = [0; 5];
        disk.for_each_crash(300, |after| {
            let superblock_file = after.open(&superblock_path(&dir()), How::READ).expect("its name is durable");
            let (read, _) = Superblock::read(&*superblock_file, &superblock_path(&dir())).expect("one slot is whole");
            seen[read.epoch as usize] += 1;
        });
        // The second slot's older state cannot come back: the first slot is durable.
        assert!(seen[..3] == [0; 3] && (seen[3] > 0) == (slot == 0) && seen[4] > 0, "{seen:?}");
    }
}

#[test]
fn a_failed_sync_poisons_the_log_and_loses_nothing_acknowledged() {
    let disk = SimDisk::new();
    let mut database = Database::create(&disk, false).expect("no faults");
    database.put().expect("no faults");
    disk.fail(Kind::Sync, disk.calls().of(Kind::Sync), Fault::Eio);
    assert!(matches!(database.put(), Err(MediumError::Io { .. })));
    let calls = disk.calls();
    assert!(matches!(database.put(), Err(MediumError::Poisoned { .. })));
    assert!(matches!(database.checkpoint(), Err(MediumError::Poisoned { .. })));
    assert_eq!(disk.calls(), calls, "nothing is tried again after a failed sync");
    disk.for_each_crash(300, |after| {
        assert!([1, 2].contains(&recovered(&after).expect("a failed sync damages nothing")));
    });
}
