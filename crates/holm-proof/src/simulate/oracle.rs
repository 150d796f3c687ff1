//! What is expected of a run: of the answers that its threads got, and of each image that a crash has left.

use super::bulk;
use super::compaction;
use super::gone_back;
use super::marks;
use super::moving_leaves;
use super::plan::{Crash, End, Plan, When};
use super::readers;
use super::solo::{DOOMED, SOLO, contents, is_possible};
use super::stage::{FOLDER, Live, Moment, Promises, Stage};
use super::threads::{REGISTERS, found_registers};
use super::world::{Notes, World, builder, lock, open, open_left};
use crate::cycles::{Lists, check, check_left};
use crate::disk::{Fault, Kind, SimDisk};
use crate::history::{Action, Call, check as check_calls, check_crash};
use crate::lists::{Board, Worker};
use holm::{Database, Error, RecoveredFrom};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Checks all answers, and the database at the end.
///
/// # Panics
/// If anything is wrong.
pub(super) fn judge_answers(world: &World) {
    judge_history(&world.notes);
    let report = world.db.check().expect("it can be read");
    assert_eq!(report.faults, Vec::<String>::new(), "faults at the end");
    judge_space(world);
    let now = world.now();
    bulk::compare(&world.db, &lock(&world.notes.bulk), now, now).expect("nothing has failed");
    compaction::compare(&world.db, &lock(&world.notes.hollow), now, now).expect("nothing has failed");
    moving_leaves::compare(&world.db, &lock(&world.notes.shoal), now, now).expect("nothing has failed");
    let stats = world.db.stats();
    assert_eq!(stats.snapshots.open, 0, "{:?}", stats.snapshots);
    assert_eq!(stats.snapshots.record_bytes, 0, "{:?}", stats.snapshots);
    world.stage.count("checkpoints", stats.log.checkpoints);
    world.stage.count("epochs logged", stats.log.entries);
    world.stage.count("growths by writers", stats.space.grow_stalls);
    world.stage.count("throttled writes", stats.epochs.throttled_writes);
    world.stage.count("records swept", stats.sweep.records_removed);
}

/// How often statistics and a check are compared: the sweeper never pauses for long.
const MOST_LOOKS: u32 = 8;

/// What statistics count is what a check finds: nothing is leaked, nothing is shared.
fn judge_space(world: &World) {
    // Space of a keyspace whose drop has failed is freed by the next call with any name.
    world.db.drop_keyspace("nobody's").expect("nothing has failed");
    let mut differs = None;
    for _ in 0..MOST_LOOKS {
        // What was freed in the last epochs is still in use.
        for _ in 0..4 {
            world.db.sync().expect("nothing has failed");
        }
        let (report, stats) = (world.db.check().expect("it can be read"), world.db.stats());
        let used = [stats.space.leaves, stats.space.record_bytes];
        let found = [report.leaf_blocks, report.record_bytes];
        if used == found {
            return;
        }
        // The sweeper may be at work.
        differs = Some((used, found));
    }
    panic!("leaf blocks and bytes of records in use, and found: {differs:?}");
}

/// Checks the answers alone.
pub(super) fn judge_history(notes: &Notes) {
    if let Err(wrong) = check(&lock(&notes.transactions)) {
        panic!("not serializable: {}", wrong[0]);
    }
    if let Err(wrong) = check_calls(&lock(&notes.calls)) {
        panic!("not linearizable: {wrong}");
    }
}

/// Opens what a crash has left, perhaps with a second crash on the way, and compares it with the history.
///
/// # Panics
/// If anything is wrong.
pub(super) fn judge_image(plan: &Plan, stage: &Arc<Stage>, moment: &Moment, notes: &Notes) {
    let crash = &moment.crash;
    if crash.seed % 8 == 0 {
        readers::read_crashed(plan, stage, &moment.disk);
    }
    let (mut disk, mut floor) = (moment.disk.clone(), moment.floor);
    if let Some(call) = crash.again {
        disk.fail(Kind::Any, call, Fault::PowerCut);
        let opened = open(plan, stage, &disk);
        let cut = opened.is_err();
        drop(opened);
        if cut {
            stage.count("recoveries that were cut", 1);
            floor = moment.synced;
        }
        disk = disk.crash_seeded(crash.seed ^ 1);
    }
    let promises = Promises::Of { now: moment.now, floor, synced: moment.synced };
    stage.begin(Live::of(&disk, promises), &crash.within);
    let opened = open_left(plan, stage, &disk);
    stage.end();
    let within = stage.take_moments();
    let db = match opened {
        Ok(db) => db,
        // An image whose crash lies before the end of its creation is none.
        Err(error) => panic!("the image cannot be opened: {error}"),
    };
    let source = match db.recovery().source {
        RecoveredFrom::Log { .. } => "recoveries from the log",
        RecoveredFrom::PageCache => "recoveries from the page cache",
        _ => "other recoveries",
    };
    stage.count(source, 1);
    assert!(!moment.is_marked || source == "recoveries from the log", "no mark of a failure: {}", db.recovery());
    stage.count("recoveries with an earlier index", u64::from(db.recovery().leaves_from_index > 0));
    let report = db.check().expect("it can be read");
    if !gone_back::compare(&db, stage, moment, floor, notes) {
        assert_eq!(report.faults, Vec::<String>::new(), "faults in the image");
        compare(&db, moment, floor, notes);
    }
    stage.count("images", 1);
    stage.judged();
    if crash.seed % 4 == 0 {
        work_on(db, plan, stage, &disk, crash.seed);
    } else {
        drop(db);
    }
    // Once the threads of this database have ended.
    within.iter().for_each(|within| judge_image(plan, stage, within, notes));
}

fn compare(db: &Database, moment: &Moment, floor: u64, notes: &Notes) {
    let now = moment.now;
    let left = Board::new(db, 0, 0).and_then(|board| board.lists()).expect("sound");
    if let Err(loss) = check_left(&lock(&notes.transactions), &left, floor) {
        panic!("the image is no prefix: {loss}; {}", db.recovery());
    }
    let registers = db.keyspace(REGISTERS).and_then(|space| found_registers(&space)).expect("sound");
    compare_registers(&lock(&notes.calls), &registers, [floor, now]);
    let solo = db.keyspace(SOLO).and_then(|space| contents(&space)).expect("sound");
    let is_possible = is_possible(&lock(&notes.solo), &solo, floor, now);
    assert!(is_possible, "the image has no state of the thread's own keyspace; {}", db.recovery());
    compare_generations(db, now, floor, notes);
    marks::compare(db, &lock(&notes.marks), floor, now).expect("sound");
    bulk::compare(db, &lock(&notes.bulk), floor, now).expect("sound");
    compaction::compare(db, &lock(&notes.hollow), floor, now).expect("sound");
    moving_leaves::compare(db, &lock(&notes.shoal), floor, now).expect("sound");
}

fn compare_generations(db: &Database, now: u64, floor: u64, notes: &Notes) {
    let Some(space) = db.existing_keyspace(DOOMED).expect("sound") else { return };
    let found: BTreeSet<_> = contents(&space).expect("sound").into_values().collect();
    assert!(found.len() <= 1, "values of one generation are in the image");
    let Some(found) = found.first() else { return };
    let generations = lock(&notes.generations);
    let found = u64::from_le_bytes(found[..].try_into().expect("eight bytes"));
    let of = generations.iter().find(|(number, ..)| *number == found);
    let Some((_, began, ended)) = of else { panic!("generation {found} never was") };
    assert!(*began < now, "generation {found} was not yet");
    assert!(ended.is_none_or(|ended| ended >= floor), "generation {found} was dropped");
}

/// Compares the single keys. If all that had returned was promised, an order of all calls must explain what is found.
/// Otherwise that search would be exponential in the calls that may be lost. Then each key must have what some call
/// left that began before the crash, and that no promised call came after.
fn compare_registers(calls: &[Call], found: &[(u64, u64)], [floor, now]: [u64; 2]) {
    if floor == now {
        if let Err(wrong) = check_crash(calls, now, found) {
            panic!("the image is no prefix: {wrong}");
        }
        return;
    }
    compare_keys(calls, found, [floor, now], leaves);
}

/// Whether a call leaves this value of its key.
pub(super) fn leaves(call: &Call, value: Option<u64>) -> bool {
    match call.action {
        // What it has added to is not known.
        Action::Add(_) if call.ended.is_none() => value.is_some(),
        Action::Swap { new, .. } => new == value,
        action => action.after(call.saw) == value,
    }
}

/// Compares each of the single keys alone. `leaves` says whether a call may have left a value.
pub(super) fn compare_keys(
    calls: &[Call],
    found: &[(u64, u64)],
    [floor, now]: [u64; 2],
    leaves: impl Fn(&Call, Option<u64>) -> bool,
) {
    let keys: BTreeSet<u64> = calls.iter().map(|call| call.key).chain(found.iter().map(|(key, _)| *key)).collect();
    for key in keys {
        let value = found.iter().find(|(at, _)| *at == key).map(|(_, value)| *value);
        let stores = |call: &Call| match call.action {
            Action::Get => false,
            Action::Swap { expected, .. } => call.ended.is_none() || call.saw == expected,
            _ => true,
        };
        let writes = || calls.iter().filter(move |call| call.key == key && stores(call));
        let promised = |call: &&Call| call.ended.is_some_and(|ended| ended < floor);
        let is_last = |call: &Call| !writes().filter(promised).any(|then| call.ended.is_some_and(|at| at < then.began));
        let never_written = value.is_none() && writes().find(promised).is_none();
        let is_left = never_written || writes().any(|call| call.began < now && leaves(call, value) && is_last(call));
        assert!(is_left, "the image is no prefix: key {key} has {value:?}, floor {floor}, crash {now}: {calls:?}");
    }
}

/// Goes on with what recovery has left, closes it, and finds the same again.
fn work_on(db: Database, plan: &Plan, stage: &Arc<Stage>, disk: &SimDisk, seed: u64) {
    let done = || -> Result<(), Error> {
        let board = Board::new(&db, 1, 3)?;
        let mut worker = Worker::new(&board, 0, seed);
        (0..6).try_for_each(|_| worker.step(&mut |_| ()))?;
        if let Err(wrong) = check(&worker.into_history()) {
            panic!("not serializable after recovery: {}", wrong[0]);
        }
        Ok(())
    };
    match done() {
        Ok(()) => {}
        Err(Error::Capacity { .. }) if plan.is_small() => {}
        Err(error) => panic!("an error after recovery: {error}"),
    }
    assert_eq!(db.check().expect("it can be read").faults, Vec::<String>::new(), "faults after recovery");
    let left = Board::new(&db, 1, 3).and_then(|board| board.lists()).expect("sound");
    db.close().expect("nothing fails");
    let db = open_left(plan, stage, disk).expect("closed");
    assert!(matches!(db.recovery().source, RecoveredFrom::CleanShutdown), "{}", db.recovery());
    assert_eq!(Board::new(&db, 1, 3).and_then(|board| board.lists()).expect("sound"), left, "closed and opened");
    stage.count("images worked on", 1);
}

/// Restores the whole backup and applies each increment to it, with crashes on the way: each state is a prefix of the
/// history, and after a crash, the one before the increment or the one after it.
pub(super) fn judge_backups(plan: &Plan, stage: &Arc<Stage>, notes: &Notes) {
    let backups = lock(&notes.backups);
    let Some(whole) = backups.first() else { return };
    let disk = SimDisk::new();
    builder(plan, stage, &disk).restore(&mut &whole.stream[..], FOLDER).expect("it was written whole");
    let db = open(plan, stage, &disk).expect("it was restored");
    let mut last = lists_in(&db);
    let judge = |left: &Lists, floor: u64| {
        if let Err(loss) = check_left(&lock(&notes.transactions), left, floor) {
            panic!("the backup is no prefix: {loss}");
        }
    };
    judge(&last, whole.before);
    stage.count("backups restored", 1);
    for (number, increment) in backups.iter().enumerate().skip(1) {
        if let Some(later) = backups.get(number + 1) {
            let refused = db.apply(&mut &later.stream[..]).map(drop);
            assert!(matches!(refused, Err(Error::WrongBase { .. })), "an increment on another base: {refused:?}");
        }
        let crashes = [End::Death, End::Power].map(|end| Crash {
            when: When::Call(Kind::Any, plan.seed % 61, plan.seed % 509),
            end,
            seed: plan.seed,
            again: None,
            within: Vec::new(),
        });
        stage.begin(Live::of(&disk, Promises::Of { now: 0, floor: 0, synced: 0 }), &crashes);
        let applied = db.apply(&mut &increment.stream[..]);
        stage.end();
        match applied {
            Ok(_) => {}
            // What an increment replaces is free two epochs later: a copy needs more room than the database did.
            Err(Error::Capacity { .. }) if plan.is_small() => {
                stage.take_moments();
                return;
            }
            Err(error) => panic!("its base is there: {error}"),
        }
        let next = lists_in(&db);
        judge(&next, increment.before);
        for moment in stage.take_moments() {
            let left = lists_in(&open_left(plan, stage, &moment.disk).expect("a crash is no error"));
            assert!(left == last || left == next, "a crash has left half of an increment: {left:?}");
        }
        last = next;
        stage.count("increments applied", 1);
    }
    assert_eq!(db.check().expect("it can be read").faults, Vec::<String>::new(), "faults in the copy");
}

pub(super) fn lists_in(db: &Database) -> Lists {
    Board::new(db, 0, 0).and_then(|board| board.lists()).expect("sound")
}
