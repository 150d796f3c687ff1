//! The work of a child process. It opens one engine in a fresh folder and measures it; or it inserts until it is
//! killed; or it opens what a killed child left, and searches for the acknowledged records. Each task has its own
//! process, so that no engine inherits another's heap, threads or caches. Orders arrive as JSON in one argument; events
//! leave as JSON lines.

use crate::engines::{Durability, entry};
use crate::memory::{Memory, MemorySampler, Space, disk_bytes};
use crate::prefixes::Source;
use anyhow::{Context, Result, anyhow, ensure};
use holm_bench::confine::Confinement;
use holm_bench::{BoxError, Engine, Keys, Outcome, Plan, Values, Workload, balances, fill, key, run};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The child reports to the parent after this many inserts, if single inserts do not wait for the disk.
const ACKNOWLEDGE_EVERY: u64 = 1000;

/// The order to a child.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Order {
    pub(crate) engine: String,
    pub(crate) durability: Durability,
    pub(crate) folder: PathBuf,
    pub(crate) task: Task,
    /// The plan of every step. Its number of threads is replaced by that of the step.
    pub(crate) plan: Plan,
    /// The source of the keys, if they do not come from the records' numbers.
    pub(crate) source: Option<Source>,
    /// Seconds that the engine stays idle after the load, before its space is measured.
    pub(crate) settle_seconds: f64,
    /// The limit on memory.
    pub(crate) confined: Option<Confinement>,
}

/// The task of a child.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) enum Task {
    /// Runs these workloads in this order, with these numbers of threads.
    Measure(Vec<(Workload, usize)>),
    /// Inserts records 0, 1, 2 and so on until killed.
    InsertUntilKilled,
    /// Opens the store, and searches for records 0 to this one.
    Reopen { acknowledged: u64 },
}

/// A message of a child.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) enum Event {
    /// A workload has ended.
    Ran { threads: usize, cpu_seconds: f64, outcome: Outcome },
    /// The records are in and synced, and the engine has been idle. `before` was measured before the engine was opened.
    Loaded { before: Memory, at_once: Space, settled: Space },
    /// The engine is closed.
    Closed { disk_bytes: u64, peak: Memory, close_seconds: f64 },
    /// The number of inserts that have returned.
    Acknowledged(u64),
    /// The content of the store after the kill.
    Reopened(Reopened),
    /// The order failed, and the reason.
    Failed(String),
}

/// The content of a store that was killed.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Reopened {
    /// Seconds from the call of `open` to the result of the first read.
    pub(crate) seconds: f64,
    pub(crate) acknowledged: u64,
    /// Whether the first acknowledged record is present, and the last.
    pub(crate) first: bool,
    pub(crate) last: bool,
    /// Acknowledged records that are absent.
    pub(crate) lost: u64,
    /// Whether the present records are a prefix of the acknowledged ones.
    pub(crate) prefix: bool,
    /// Records whose value differs from the inserted one.
    pub(crate) wrong: u64,
}

/// Runs an order, given as JSON. Its failure is reported as an event, too.
pub(crate) fn obey(order: &str) -> Result<()> {
    let mut order: Order = serde_json::from_str(order).context("the order of a child is not readable")?;
    let done = name_keys(&mut order).and_then(|()| carry_out(&order));
    done.or_else(|error| say(&Event::Failed(format!("{error:#}"))))
}

fn name_keys(order: &mut Order) -> Result<()> {
    if let Some(source) = &order.source {
        order.plan.keys = Keys::Listed(Arc::new(source.list()?));
    }
    Ok(())
}

fn carry_out(order: &Order) -> Result<()> {
    order.confined.iter().try_for_each(Confinement::enter).context("cannot limit the memory")?;
    match &order.task {
        Task::Measure(steps) => measure(order, steps),
        Task::InsertUntilKilled => insert_until_killed(order),
        Task::Reopen { acknowledged } => reopen(order, *acknowledged),
    }
}

fn say(event: &Event) -> Result<()> {
    let mut line = serde_json::to_string(event)?;
    line.push('\n');
    Ok(std::io::stdout().lock().write_all(line.as_bytes())?)
}

fn boxed(error: BoxError) -> anyhow::Error {
    anyhow!(error)
}

fn open(order: &Order) -> Result<Box<dyn Engine>> {
    (entry(&order.engine)?.open)(&order.folder, order.durability).map_err(boxed).context("cannot open")
}

fn measure(order: &Order, steps: &[(Workload, usize)]) -> Result<()> {
    let (before, watch) = (Memory::now()?, MemorySampler::start());
    let engine = open(order)?;
    let mut loaded = false;
    for (number, &(workload, threads)) in steps.iter().enumerate() {
        if !loaded && workload != Workload::Load {
            load_the_rest(&*engine, order, 0, before)?;
            loaded = true;
        }
        // Each step has another seed, so that each adds its own records.
        let seed = order.plan.seed + number as u64;
        let plan = Plan { threads, seed, ..order.plan.clone() };
        let sum = || workload.transacts().then(|| balances(&*engine, &plan)).transpose().map_err(boxed);
        let at_first = sum()?;
        let cpu = cpu_seconds();
        let outcome =
            run(&*engine, &plan, workload).map_err(boxed).with_context(|| format!("in workload {workload}"))?;
        let (cpu_seconds, done) = (cpu_seconds() - cpu, outcome.operations);
        let at_last = sum()?;
        let changed = "the sum of all balances has changed";
        ensure!(at_first == at_last, "in workload {workload}: {changed}: found {at_last:?}, expected {at_first:?}");
        say(&Event::Ran { threads, cpu_seconds, outcome })?;
        if workload == Workload::Load && !loaded {
            load_the_rest(&*engine, order, done, before)?;
            loaded = true;
        }
    }
    let closing = Instant::now();
    drop(engine);
    let close_seconds = closing.elapsed().as_secs_f64();
    say(&Event::Closed { disk_bytes: disk_bytes(&order.folder)?, peak: watch.peak(), close_seconds })
}

/// Inserts the missing records from `first` on. Reports their space at once, and after the engine had time for its
/// background work. This time is the same for all engines.
fn load_the_rest(engine: &dyn Engine, order: &Order, first: u64, before: Memory) -> Result<()> {
    fill(engine, &order.plan, first).map_err(boxed).context("cannot fill")?;
    engine.sync().map_err(boxed).context("cannot sync")?;
    let at_once = Space::now(&order.folder)?;
    std::thread::sleep(Duration::from_secs_f64(order.settle_seconds));
    say(&Event::Loaded { before, at_once, settled: Space::now(&order.folder)? })
}

/// Returns the processor time of all threads of this process, including background work of the engine.
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn insert_until_killed(order: &Order) -> Result<()> {
    let engine = open(order)?;
    let values = Values::new(order.plan.value_bytes, order.plan.seed);
    let every = if order.durability == Durability::Synced { 1 } else { ACKNOWLEDGE_EVERY };
    for record in 0.. {
        engine.insert(&key(record), values.of(record)).map_err(boxed)?;
        if (record + 1) % every == 0 {
            say(&Event::Acknowledged(record + 1))?;
        }
    }
    Ok(())
}

fn reopen(order: &Order, acknowledged: u64) -> Result<()> {
    let values = Values::new(order.plan.value_bytes, order.plan.seed);
    let mut into = Vec::new();
    let opening = Instant::now();
    let engine = open(order)?;
    let first = engine.read(&key(0), &mut into).map_err(boxed)?;
    let seconds = opening.elapsed().as_secs_f64();
    let last = acknowledged > 0 && engine.read(&key(acknowledged - 1), &mut into).map_err(boxed)?;
    let (mut lost, mut wrong, mut prefix) = (0, 0, true);
    for record in 0..acknowledged {
        if engine.read(&key(record), &mut into).map_err(boxed)? {
            wrong += u64::from(into != values.of(record));
            prefix &= lost == 0;
        } else {
            lost += 1;
        }
    }
    say(&Event::Reopened(Reopened { seconds, acknowledged, first, last, lost, prefix, wrong }))
}
