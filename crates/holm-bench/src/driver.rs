//! Runs a workload. All threads start together. Each runs steps until the time is over or no work is left. A thread
//! reads the processor's time-stamp counter once between two steps, and once more after it has drawn records ahead. The
//! system's clock would cost 20 ns more, and would let the processor begin no step before the one before it has ended,
//! which a program that measures nothing does not ask for. If one thread fails, all stop, and the run returns its
//! error.

use crate::meter::Meter;
use crate::steps::{Shared, Steps};
use crate::{BoxError, Engine, KEY_BYTES, Outcome, Plan, Values, Workload};
use quanta::Clock;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Pairs per batch of [`Workload::Batches`] and of [`fill`].
pub const BATCH: usize = 1000;

/// Runs and measures the workload. A mix takes `plan.seconds`, plus or minus the last operation. Load and Batches end
/// earlier if their records are in. After a Load that ended early, the records below [`Outcome::operations`] are in,
/// and [`fill`] inserts the others.
///
/// # Errors
/// A [`PlanError`](crate::PlanError), or the first error of the engine.
pub fn run(engine: &dyn Engine, plan: &Plan, workload: Workload) -> Result<Outcome, BoxError> {
    plan.check_for(workload)?;
    let shared = Shared::new(plan, workload);
    let seconds = if workload == Workload::Load { plan.load_seconds } else { Some(plan.seconds) };
    let limit = seconds.map(Duration::from_secs_f64);
    // The first one of a process compares the counter with the system's clock, before any thread begins.
    let (start, stop, clock) = (Barrier::new(plan.threads), AtomicBool::new(false), Clock::new());
    let (shared, start, stop, clock) = (&shared, &start, &stop, &clock);
    let results: Vec<Result<Meter, BoxError>> = std::thread::scope(|scope| {
        let thread = |number| {
            scope.spawn(move || {
                let steps = Steps::new(engine, plan, workload, shared, number);
                start.wait();
                drive(steps, clock, limit, stop).inspect_err(|_| stop.store(true, Relaxed))
            })
        };
        let threads: Vec<_> = (0..plan.threads).map(thread).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    let mut total = Meter::new();
    for meter in results {
        total.merge(&meter?);
    }
    Ok(total.outcome(workload))
}

fn drive(mut steps: Steps<'_>, clock: &Clock, limit: Option<Duration>, stop: &AtomicBool) -> Result<Meter, BoxError> {
    let mut meter = Meter::new();
    let (began, first) = (Instant::now(), clock.raw());
    let mut before = first;
    while !stop.load(Relaxed) {
        if steps.draw_ahead() {
            before = clock.raw();
        }
        let Some(step) = steps.step()? else { break };
        let now = clock.raw();
        meter.note(step.kind, clock.delta_as_nanos(before, now), step.operations);
        meter.note_misses(step.misses);
        before = now;
        if limit.is_some_and(|limit| clock.delta_as_nanos(first, now) >= limit.as_nanos() as u64) {
            break;
        }
    }
    // The end of the last step. Drawing ahead counts towards the rate, but towards no latency.
    meter.note_span(began, began + Duration::from_nanos(clock.delta_as_nanos(first, before)));
    Ok(meter)
}

/// Inserts the same records and values as [`Workload::Load`], from record `first` on, in batches of [`BATCH`] from one
/// thread. It measures nothing. This is the fast way to load an engine whose single inserts each wait for the disk.
///
/// # Errors
/// A [`PlanError`](crate::PlanError), or the first error of the engine.
pub fn fill(engine: &dyn Engine, plan: &Plan, first: u64) -> Result<(), BoxError> {
    plan.check()?;
    let values = Values::new(plan.value_bytes, plan.seed);
    let mut pairs = Vec::with_capacity(BATCH);
    let mut room = [0; KEY_BYTES];
    for record in first..plan.records {
        pairs.push((plan.keys.of(record, &mut room).to_vec(), values.of(record).to_vec()));
        if pairs.len() == BATCH || record + 1 == plan.records {
            engine.batch(&pairs)?;
            pairs.clear();
        }
    }
    Ok(())
}
