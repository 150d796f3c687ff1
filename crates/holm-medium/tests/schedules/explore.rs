//! Runs a model under many schedules, and distinguishes a caught bug from a missed one.
//!
//! Half of the schedules are drawn at random, half by priorities that change at a few points (PCT). PCT finds bugs of
//! small depth that a fair draw rarely meets. Seeds are fixed, so a failure repeats. `HOLM_ITERATIONS` and `HOLM_SEED`
//! select more schedules or others.

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

/// The number of points at which PCT changes priorities.
const DEPTH: usize = 3;

/// A model that needs more steps than this is in a livelock.
const MOST_STEPS: usize = 400_000;

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn run<F: Fn() + Send + Sync + 'static>(scheduler: impl Scheduler + 'static, model: &Arc<F>) {
    let mut config = Config::new();
    config.silence_warnings = true;
    config.failure_persistence = FailurePersistence::Print;
    config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
    // Trees keep whole leaves on the stack while they split.
    config.stack_size = 1 << 18;
    let model = model.clone();
    Runner::new(scheduler, config).run(move || model());
}

/// Runs a model under `iterations` schedules of each kind, or as many as `HOLM_ITERATIONS` says.
pub fn explore(iterations: usize, model: impl Fn() + Send + Sync + 'static) {
    let iterations = setting("HOLM_ITERATIONS").map_or(iterations, |asked| asked as usize);
    let seed = setting("HOLM_SEED").unwrap_or(0x9E37_79B9);
    let model = Arc::new(model);
    run(RandomScheduler::new_from_seed(seed, iterations), &model);
    run(PctScheduler::new_from_seed(seed, DEPTH, iterations), &model);
}

/// Asserts that exploring a model with a seeded bug fails, and for the reason given.
pub fn caught(iterations: usize, reason: &str, model: impl Fn() + Send + Sync + 'static) {
    caught_for_any(iterations, &[reason], model);
}

/// The same for a bug that shows in more than one way.
pub fn caught_for_any(iterations: usize, reasons: &[&str], model: impl Fn() + Send + Sync + 'static) {
    let Err(failure) = catch_unwind(AssertUnwindSafe(|| explore(iterations, model))) else {
        panic!("the seeded bug was not caught: {reasons:?}");
    };
    let said = failure.downcast_ref::<String>().map(String::as_str).or(failure.downcast_ref::<&str>().copied());
    if !said.is_some_and(|said| reasons.iter().any(|reason| said.contains(reason))) {
        resume_unwind(failure);
    }
}
