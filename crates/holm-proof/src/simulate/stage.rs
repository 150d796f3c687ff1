//! What the scheduler knows of a run: the disk and the clocks, what is to happen before which step, and the images that
//! crashes have left.

use super::counts::Counts;
use super::gone_back;
use super::plan::{Crash, End, Plan, What, When};
use crate::disk::{Calls, Fault, Kind, SimDisk};
use holm_medium::sync::quiet;
use holm_medium::sync::scheduled::time;
use holm_medium::{Area, INTENTS};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The folder of the database.
pub(super) const FOLDER: &str = "/d";

/// The clock on the wall begins here, in milliseconds.
const WALL: i64 = 1_700_000_000_000;

/// What a crash has left.
pub(super) struct Moment {
    pub(super) crash: Crash,
    pub(super) disk: SimDisk,
    /// The instant of the crash in the history.
    pub(super) now: u64,
    /// What had returned before this instant must be left.
    pub(super) floor: u64,
    /// The same if the power goes before what is left has been opened.
    pub(super) synced: u64,
    /// Whether pages have gone back to what the disk had.
    pub(super) has_gone_back: bool,
    /// Whether the database was poisoned by then: its superblock says so, and an opening believes the log alone.
    pub(super) is_marked: bool,
}

impl Moment {
    fn of(live: &Live, crash: Crash, has_failed: bool) -> Moment {
        let (now, survived, synced) = match &live.promises {
            Promises::Of { now, floor, synced } => (*now, *floor, *synced),
            Promises::Returned(returned) => {
                let now = returned.instants.fetch_add(1, SeqCst);
                let synced = if returned.strict { now } else { returned.synced.load(SeqCst) };
                (now, if returned.private || has_failed { synced } else { now }, synced)
            }
        };
        let (disk, floor) = match crash.end {
            End::Death => (live.disk.kill(), survived),
            End::GoneBack => (gone_back::left(&live.disk, crash.seed), synced),
            End::PowerToDurable => (live.disk.crash_to_durable(), synced),
            End::Power => {
                // The kernel may have written some pages back just before.
                if let of @ 1.. = crash.seed % 4 {
                    live.disk.write_back(crash.seed, of as u32);
                }
                (live.disk.crash_seeded(crash.seed), synced)
            }
        };
        let has_gone_back = crash.end == End::GoneBack;
        Moment { crash, disk, now, floor, synced, has_gone_back, is_marked: false }
    }
}

/// Whether a crash is due. `waited` counts the steps that count for it.
fn is_due(live: &Live, when: When, step: u64, waited: &mut u64) -> bool {
    let (counts, after) = match when {
        When::Step(at) => return at <= step,
        When::Store(_) => return false,
        When::InCommit(after) => (is_in_commit(&live.disk), after),
        When::Call(kind, calls, after) => (live.disk.calls().of(kind) - live.before.of(kind) >= calls, after),
    };
    *waited += u64::from(counts);
    *waited > after
}

/// Whether an intent is set: a commit of several writes has begun its stores, and not ended them.
fn is_in_commit(disk: &SimDisk) -> bool {
    disk.stored(Area::Leaves.at(64), INTENTS).iter().any(|word| *word != 0)
}

/// What the crash is counted as.
fn name_of(crash: &Crash) -> &'static str {
    match (crash.when, crash.end) {
        (When::InCommit(_), _) => "deaths in commits",
        (When::Store(_), _) => "deaths between stores",
        (_, End::GoneBack) => "deaths after which pages went back",
        (When::Call(..), End::Death) => "deaths after calls",
        (When::Call(..), _) => "power cuts after calls",
        (_, End::Death) => "deaths",
        _ => "power cuts",
    }
}

/// The part of a run that crashes and faults meet.
pub(super) struct Live {
    pub(super) disk: SimDisk,
    pub(super) promises: Promises,
    /// The calls to the disk before.
    pub(super) before: Calls,
}

impl Live {
    /// The part that begins now.
    pub(super) fn of(disk: &SimDisk, promises: Promises) -> Live {
        Live { disk: disk.clone(), promises, before: disk.calls() }
    }
}

/// What a crash must leave.
pub(super) enum Promises {
    /// What has returned to the threads.
    Returned(Returned),
    /// The same as what the crash must leave whose recovery this is.
    Of { now: u64, floor: u64, synced: u64 },
}

/// What has returned to threads.
pub(super) struct Returned {
    /// The next instant of the history.
    pub(super) instants: Arc<AtomicU64>,
    /// What had returned before this instant was durable when a call said so.
    pub(super) synced: Arc<AtomicU64>,
    /// Whether each call that has returned is durable.
    pub(super) strict: bool,
    /// Whether the death of the process counts as a loss of power, except for the page cache.
    pub(super) private: bool,
}

/// What the scheduler knows of a run.
#[derive(Default)]
pub(super) struct Stage {
    state: Mutex<State>,
    is_live: AtomicBool,
    /// What was added to the clock on the wall, and the highest time that it has shown.
    wall: [AtomicI64; 2],
}

#[derive(Default)]
struct State {
    /// With the steps since their calls, or in commits.
    crashes: Vec<(Crash, u64)>,
    faults: Vec<super::plan::FaultAt>,
    live: Option<Live>,
    /// Steps since the run is live.
    step: u64,
    /// Stores to durable words since the run is live.
    stores: u64,
    steps: u64,
    /// Of these, those before the last image was judged.
    judged: u64,
    trace: u64,
    moments: Vec<Moment>,
    /// Whether the disk has failed: then the next opening trusts nothing but the log.
    has_failed: bool,
    counts: Counts,
}

impl Stage {
    pub(super) fn new(plan: &Plan) -> Self {
        let stage = Stage::default();
        // In reverse: the next one is the last.
        stage.state().faults = plan.faults.iter().rev().copied().collect();
        stage
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, steps count, and what was planned happens, with these crashes.
    pub(super) fn begin(&self, live: Live, crashes: &[Crash]) {
        let mut state = self.state();
        state.crashes = crashes.iter().map(|crash| (crash.clone(), 0)).collect();
        (state.step, state.stores) = (0, 0);
        state.live = Some(live);
        self.is_live.store(true, SeqCst);
    }

    /// Nothing more happens. Returns the crashes that have not occurred.
    pub(super) fn end(&self) -> Vec<Crash> {
        self.is_live.store(false, SeqCst);
        let mut state = self.state();
        state.live = None;
        state.faults.clear();
        std::mem::take(&mut state.crashes).into_iter().map(|(crash, _)| crash).collect()
    }

    pub(super) fn is_live(&self) -> bool {
        self.is_live.load(SeqCst)
    }

    /// The images so far.
    pub(super) fn take_moments(&self) -> Vec<Moment> {
        std::mem::take(&mut self.state().moments)
    }

    pub(super) fn count(&self, name: &'static str, count: u64) {
        self.state().counts.add(name, count);
    }

    pub(super) fn counts(&self) -> Counts {
        self.state().counts.clone()
    }

    /// Notes the number of steps and the hash of the schedule. Returns the number of steps since an image was judged.
    pub(super) fn trace(&self, steps: u64, trace: u64) -> u64 {
        let mut state = self.state();
        (state.steps, state.trace) = (steps, trace);
        steps - state.judged
    }

    /// An image was judged: the run goes on.
    pub(super) fn judged(&self) {
        let mut state = self.state();
        state.judged = state.steps;
    }

    /// The number of all steps, that of steps since the run is live, and the hash of the schedule.
    pub(super) fn traced(&self) -> (u64, u64, u64) {
        let state = self.state();
        (state.steps, state.step, state.trace)
    }

    /// What the clock on the wall shows, in milliseconds. It follows the simulated time, and jumps.
    pub(super) fn wall_millis(&self) -> i64 {
        WALL + (time::elapsed_ns() / 1_000_000) as i64 + self.wall[0].load(SeqCst)
    }

    /// The same for the database.
    pub(super) fn wall_clock(&self) -> SystemTime {
        let shows = self.wall_millis();
        self.wall[1].fetch_max(shows, SeqCst);
        UNIX_EPOCH + Duration::from_millis(shows as u64)
    }

    /// Sets the clock on the wall forward or back, by milliseconds.
    pub(super) fn jump(&self, millis: i64) {
        self.wall[0].fetch_add(millis, SeqCst);
        self.count("jumps of the clock on the wall", 1);
    }

    /// The highest time that the clock on the wall has shown to the database, in milliseconds.
    pub(super) fn highest_wall(&self) -> i64 {
        self.wall[1].load(SeqCst)
    }

    /// The process dies now, or the power goes: what a database leaves that was poisoned before.
    pub(super) fn crash_poisoned(&self, seed: u64) {
        // The scheduler takes the lock, too.
        let _quiet = quiet();
        let mut state = self.state();
        let state = &mut *state;
        let Some(live) = &state.live else { return };
        for end in [End::Death, End::PowerToDurable] {
            // An odd seed: nothing but the opening looks at the image.
            let crash =
                Crash { when: When::Step(state.step), end, seed: seed << 1 | 1, again: None, within: Vec::new() };
            state.counts.add("ends of poisoned databases", 1);
            state.moments.push(Moment { is_marked: true, ..Moment::of(live, crash, true) });
        }
    }

    /// Called by the scheduler while no thread runs.
    pub(super) fn before_step(&self) {
        if !self.is_live() {
            return;
        }
        let mut state = self.state();
        let state = &mut *state;
        state.step += 1;
        let Some(live) = &state.live else { return };
        while let Some(fault) = state.faults.pop_if(|fault| fault.step <= state.step) {
            state.has_failed |= fault.what.is_failure();
            self.meet(live, fault.what, &mut state.counts, fault.step);
        }
        let step = state.step;
        for (crash, _) in state.crashes.extract_if(.., |(crash, waited)| is_due(live, crash.when, step, waited)) {
            state.counts.add(name_of(&crash), 1);
            state.moments.push(Moment::of(live, crash, state.has_failed));
        }
    }

    /// Called before each store to a durable word, by the thread that stores.
    pub(super) fn before_store(&self) {
        if !self.is_live() {
            return;
        }
        let mut state = self.state();
        let state = &mut *state;
        let at = state.stores;
        state.stores += 1;
        let Some(live) = &state.live else { return };
        for (crash, _) in state.crashes.extract_if(.., |(crash, _)| crash.when == When::Store(at)) {
            state.counts.add(name_of(&crash), 1);
            state.moments.push(Moment::of(live, crash, state.has_failed));
        }
    }

    fn meet(&self, live: &Live, what: What, counts: &mut Counts, seed: u64) {
        let disk = &live.disk;
        let name = match what {
            What::WriteBack(of) => {
                disk.write_back(seed, of);
                "write-backs"
            }
            What::Reclaim(of) => {
                disk.write_back(seed, of);
                let path = |file: &&str| Path::new(FOLDER).join(file);
                let changed: usize =
                    gone_back::MAPPED.iter().map(|file| disk.evict_mapped(&path(file), seed, of)).sum();
                assert_eq!(changed, 0, "pages that the kernel has reclaimed and read again");
                "reclaims of pages"
            }
            What::FailWriteBack(file) => {
                disk.write_back(seed, 2);
                let path = Path::new(FOLDER).join(gone_back::MAPPED[file]);
                disk.fail_write_back(&path);
                "failed write-backs"
            }
            What::Slow(micros) => {
                disk.slow_down(Duration::from_micros(micros.into()));
                "changes of latency"
            }
            What::Eio(ahead) => {
                disk.fail(Kind::Any, disk.calls().of(Kind::Any) + ahead, Fault::Eio);
                "failed calls"
            }
            What::Lie(ahead) => {
                disk.fail_from(Kind::Direct, disk.calls().of(Kind::Direct) + ahead, Fault::Lost);
                "disks that lie"
            }
            What::Full => {
                disk.fail_from(Kind::Allocate, 0, Fault::NoSpace);
                "full disks"
            }
            What::Room => {
                disk.heal();
                "disks with room again"
            }
            What::WallClock(millis) => {
                self.wall[0].fetch_add(millis.into(), SeqCst);
                "jumps of the clock on the wall"
            }
            What::Stop(millis) => {
                time::advance(u64::from(millis) * 1_000_000);
                "stops of the whole process"
            }
        };
        counts.add(name, 1);
    }
}
