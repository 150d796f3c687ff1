//! One run: a plan is executed under its scheduler, and judged.

use super::bulk;
use super::closing;
use super::compaction;
use super::counts::Counts;
use super::marks;
use super::moving_leaves;
use super::oracle;
use super::plan::Plan;
use super::readers;
use super::solo;
use super::stage::{Live, Promises, Returned, Stage};
use super::threads;
use super::turns::Turns;
use super::world::{Notes, World, lock, open};
use crate::disk::SimDisk;
use crate::lists::Board;
use holm::{Durability, Error, Result};
use holm_medium::sync::scheduled::time;
use holm_medium::sync::{sleep, thread};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Once};
use std::time::Duration;

/// Bytes of the stack of each thread.
const STACK: usize = 1 << 19;

/// What a run has shown.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What is wrong, if anything: the first panic.
    pub failure: Option<String>,
    /// Steps of the whole run, and the step at which the last crash or fault was looked for.
    pub steps: [u64; 2],
    /// Hashes which thread ran at each step.
    pub trace: u64,
    /// What was met.
    pub counts: Counts,
}

std::thread_local! {
    /// The first panic of the run, and where it was.
    static FIRST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Panics of runs are collected, and not printed.
fn collect_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let is_run = FIRST_PANIC.with_borrow_mut(|first| match first {
                None => false,
                Some(first) => {
                    let said = info.payload().downcast_ref::<String>().map(String::as_str);
                    let said = said.or(info.payload().downcast_ref::<&str>().copied()).unwrap_or("a panic");
                    let place = info.location().map_or_else(String::new, |place| format!(" ({place})"));
                    if first.is_empty() {
                        *first = format!("{said}{place}");
                    }
                    true
                }
            });
            if !is_run {
                before(info);
            }
        }));
    });
}

/// Executes a plan, and judges what it has shown. The same plan gives the same outcome. In a thread of its own: a run
/// that fails stops in the middle of a panic, and nothing else may run behind that.
pub fn run(plan: &Plan) -> Outcome {
    collect_panics();
    let ended = std::thread::scope(|scope| scope.spawn(|| run_here(plan)).join());
    ended.unwrap_or_else(|panic| {
        let failure = Some(said(&*panic));
        Outcome { failure, steps: [0; 2], trace: 0, counts: Counts::default() }
    })
}

fn run_here(plan: &Plan) -> Outcome {
    FIRST_PANIC.set(Some(String::new()));
    let stage = Arc::new(Stage::new(plan));
    let turns = Turns::new(plan.clone(), stage.clone());
    let mut config = Config::new();
    config.silence_warnings = true;
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::None;
    config.stack_size = STACK;
    config.ungraceful_shutdown_config.immediately_return_on_panic = true;
    let (plan, shared) = (plan.clone(), stage.clone());
    let ended = catch_unwind(AssertUnwindSafe(|| {
        Runner::new(turns, config).run(move || perform(&plan, &shared));
    }));
    stage.end();
    let first = FIRST_PANIC.take().filter(|first| !first.is_empty());
    let failure = ended.err().map(|panic| first.unwrap_or_else(|| said(&*panic)));
    let (steps, live_steps, trace) = stage.traced();
    Outcome { failure, steps: [steps, live_steps], trace, counts: stage.counts() }
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic").to_owned()
}

/// The main thread of a run.
fn perform(plan: &Plan, stage: &Arc<Stage>) {
    let disk = SimDisk::new();
    let notes = match begin(plan, stage, &disk) {
        Ok(world) => live(world, &disk),
        // Too small a database has no room for the keyspaces.
        Err(Error::Capacity { .. }) if plan.is_small() => return,
        Err(error) => panic!("the database cannot be created: {error}"),
    };
    for moment in stage.take_moments() {
        oracle::judge_image(plan, stage, &moment, &notes);
    }
    oracle::judge_backups(plan, stage, &notes);
    stage.count("runs", 1);
}

fn begin(plan: &Plan, stage: &Arc<Stage>, disk: &SimDisk) -> Result<World> {
    let notes = Notes::default();
    if plan.loaded > 0 {
        let db = open(plan, stage, disk)?;
        lock(&notes.solo).push(solo::load(plan, &db)?);
        db.close()?;
    }
    let db = open(plan, stage, disk)?;
    let board = Board::new(&db, 0, plan.fillers)?.with_long_batches(plan.long_batch);
    db.keyspace(threads::REGISTERS)?;
    db.keyspace(solo::SOLO)?;
    db.sync()?;
    let (synced, failed) = (Arc::new(AtomicU64::new(0)), AtomicBool::new(false));
    let writers = AtomicU64::new(0);
    Ok(World {
        plan: plan.clone(),
        stage: stage.clone(),
        disk: disk.clone(),
        db,
        board,
        notes,
        synced,
        failed,
        writers,
    })
}

/// Runs all threads, and closes the database. What was noted is left.
fn live(world: World, disk: &SimDisk) -> Notes {
    let plan = &world.plan;
    let returned = Returned {
        instants: world.board.instants(),
        synced: world.synced.clone(),
        strict: plan.durability == Durability::Strict,
        private: plan.private,
    };
    world.stage.begin(Live::of(disk, Promises::Returned(returned)), &plan.crashes);
    let writers = plan.workers
        + plan.registers
        + plan.markers
        + [plan.solo, plan.drops, plan.expires, plan.bulk > 0, plan.compacts, plan.moves_leaves, plan.lays > 0]
            .map(u64::from)
            .iter()
            .sum::<u64>();
    world.writers.store(writers, SeqCst);
    thread::scope(|scope| {
        let world = &world;
        let write = |work: Box<dyn Fn() -> Result<()> + Send>| {
            scope.spawn(move || {
                work().unwrap_or_else(|error| world.refused(&error));
                world.writers.fetch_sub(1, SeqCst);
            });
        };
        for thread in 0..plan.workers {
            write(Box::new(move || {
                threads::lists(world, thread);
                Ok(())
            }));
        }
        (0..plan.registers).for_each(|thread| write(Box::new(move || threads::registers(world, thread))));
        if plan.solo {
            write(Box::new(|| solo::solo(world)));
        }
        if plan.drops {
            write(Box::new(|| solo::drops(world)));
        }
        if plan.expires {
            write(Box::new(|| solo::expires(world)));
        }
        if plan.bulk > 0 {
            write(Box::new(|| bulk::bulk(world)));
        }
        if plan.compacts {
            write(Box::new(|| compaction::compaction(world)));
        }
        if plan.moves_leaves {
            write(Box::new(|| moving_leaves::moving_leaves(world)));
        }
        if plan.lays > 0 {
            write(Box::new(|| compaction::lays(world)));
        }
        (0..plan.markers).for_each(|thread| write(Box::new(move || marks::marks(world, thread))));
        if plan.peeks {
            scope.spawn(|| readers::peeks(world));
        }
        if plan.copies {
            scope.spawn(|| threads::copies(world).unwrap_or_else(|error| world.refused(&error)));
        }
        scope.spawn(|| threads::syncs(world));
    });
    outlast(&world);
    end(world, disk)
}

/// More than the longest time from one checkpoint to the next, in nanoseconds.
const MINUTE_NS: u64 = 61_000_000_000;

/// Time passes after a failure, in which the threads of the store could do harm: a checkpoint after a write-back that
/// has failed would believe the next sync. If the database is poisoned then, crashes meet it.
fn outlast(world: &World) {
    let plan = &world.plan;
    if !plan.is_failing() {
        return;
    }
    time::advance(MINUTE_NS);
    sleep(Duration::from_millis(300));
    // A second failure could be that of the mark.
    let failures = plan.faults.iter().filter(|fault| fault.what.is_failure()).count();
    if failures == 1 && matches!(world.db.sync(), Err(Error::Io { .. } | Error::Poisoned { .. })) {
        world.stage.crash_poisoned(plan.seed);
    }
}

/// Judges the answers, and closes the database.
fn end(world: World, disk: &SimDisk) -> Notes {
    world.stage.end();
    disk.slow_down(Duration::ZERO);
    // The threads may end before the step at which there is room again. From here on, a refusal would be stale.
    disk.heal();
    let committed =
        |transaction: &&crate::cycles::Transaction| matches!(transaction.outcome, crate::cycles::Outcome::Committed(_));
    let transactions = lock(&world.notes.transactions);
    let commits = transactions.iter().filter(committed).count();
    world.stage.count("commits", commits as u64);
    world.stage.count("conflicts", (transactions.len() - commits) as u64);
    drop(transactions);
    let failed = world.failed.load(SeqCst) || world.plan.is_failing();
    if failed {
        world.stage.count("runs in which calls to the disk failed", 1);
        oracle::judge_history(&world.notes);
    } else {
        threads::last_look(&world).expect("nothing has failed");
        oracle::judge_answers(&world);
    }
    let (plan, stage) = (world.plan.clone(), world.stage.clone());
    if failed {
        let World { db, board, notes, .. } = world;
        drop(board);
        // It may be refused: nothing is left to judge but the images.
        drop(db.close());
        return notes;
    }
    world.sync().expect("nothing has failed");
    let now = world.now();
    let World { db, board, notes, .. } = world;
    let left = board.lists().expect("nothing has failed");
    drop(board);
    closing::close_and_open(db, &plan, &stage, disk, (now, &left));
    notes
}
