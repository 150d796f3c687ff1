//! The scheduler of a run: which thread runs next, how time passes, and what happens before which step.
//!
//! A seed decides everything. A thread keeps running for a while, or is stopped for some simulated time, as the plan
//! says. Threads that sleep are left out; if all sleep, the clock moves on to the first that awakes.

use super::Plan;
use super::stage::Stage;
use holm_medium::sync::quiet;
use holm_medium::sync::scheduled::{interrupt, observe_stores, time};
use rand::{Rng, RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A run with more steps from one image to the next is in a livelock: in one that compacts, each checkpoint compares
/// megabytes of records.
const MOST_STEPS: u64 = 3_000_000;
const MOST_STEPS_COMPACTING: u64 = 12_000_000;

/// Steps before the last that are counted by their threads.
const RECENT: u64 = 100_000;

/// A sleep of this many nanoseconds has no end.
const ENDLESS_NS: u64 = u64::MAX / 4;

/// The scheduler of one run.
pub(super) struct Turns {
    plan: Plan,
    stage: Arc<Stage>,
    random: Pcg64Mcg,
    begun: bool,
    steps: u64,
    /// Those since an image was judged.
    since: u64,
    /// Hashes which thread ran at each step.
    trace: u64,
    /// The last steps of each thread: who runs in a livelock.
    recent: BTreeMap<usize, u64>,
    /// Threads that were stopped, and until when.
    stalled: BTreeMap<usize, u64>,
}

impl Turns {
    pub(super) fn new(plan: Plan, stage: Arc<Stage>) -> Self {
        let random = Pcg64Mcg::seed_from_u64(plan.seed ^ 0x5EED);
        Turns {
            plan,
            stage,
            random,
            begun: false,
            steps: 0,
            since: 0,
            trace: 0,
            recent: BTreeMap::new(),
            stalled: BTreeMap::new(),
        }
    }

    /// Whether a thread can run now.
    fn is_awake(&self, task: usize) -> bool {
        time::is_awake(task) && self.stalled.get(&task).is_none_or(|until| *until <= time::elapsed_ns())
    }

    /// The threads that can run now; if there are none, time passes until there is one.
    fn awake(&mut self, runnable: &[&Task]) -> Vec<TaskId> {
        loop {
            let awake = runnable.iter().map(|task| task.id()).filter(|id| self.is_awake(usize::from(*id)));
            let awake: Vec<_> = awake.collect();
            if !awake.is_empty() {
                return awake;
            }
            let left = |task: &&Task| {
                let id = usize::from(task.id());
                let stalled = self.stalled.get(&id).map_or(0, |until| until.saturating_sub(time::elapsed_ns()));
                time::next_awakes_in(std::iter::once(id)).unwrap_or(0).max(stalled)
            };
            let first = runnable.iter().map(left).min().unwrap_or(0);
            assert!(first < ENDLESS_NS, "every thread waits without end");
            time::advance(first.max(1));
        }
    }
}

impl Scheduler for Turns {
    fn new_execution(&mut self) -> Option<Schedule> {
        if std::mem::replace(&mut self.begun, true) {
            return None;
        }
        time::drive(true);
        interrupt(self.plan.apart, self.plan.seed);
        let stage = self.stage.clone();
        observe_stores(Some(Box::new(move || stage.before_store())));
        Some(Schedule::new(self.plan.seed))
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        self.steps += 1;
        let most = if self.plan.compacts { MOST_STEPS_COMPACTING } else { MOST_STEPS };
        if self.since > most - RECENT {
            *self.recent.entry(current.map_or(0, usize::from)).or_default() += 1;
        }
        let (seconds, recent) = (time::elapsed_ns() / 1_000_000_000, &self.recent);
        assert!(self.since < most, "a livelock: {most} steps in {seconds} s, the last by {recent:?}");
        let _quiet = quiet();
        self.stage.before_step();
        time::advance(self.random.random_range(0..=2 * self.plan.tick_ns));
        if let Some(current) = current
            && self.stage.is_live()
            && self.random.random_ratio(self.plan.stalls * self.plan.apart, 64 * 4096)
        {
            let most = [50_000, 1_000_000, 30_000_000][self.random.random_range(0..3)];
            self.stalled.insert(usize::from(current), time::elapsed_ns() + self.random.random_range(0..most));
        }
        let awake = self.awake(runnable);
        let goes_on = |current: &TaskId| awake.contains(current) && !is_yielding;
        let next = match current.filter(goes_on).filter(|_| self.random.random_ratio(self.plan.sticky, 64)) {
            Some(current) => current,
            None => {
                let others: Vec<_> = awake.iter().filter(|id| !is_yielding || Some(**id) != current).collect();
                others.get(self.random.random_range(0..others.len().max(1))).map_or(awake[0], |id| **id)
            }
        };
        self.trace = (self.trace.rotate_left(5) ^ usize::from(next) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.since = self.stage.trace(self.steps, self.trace);
        Some(next)
    }

    fn next_u64(&mut self) -> u64 {
        self.random.next_u64()
    }
}
