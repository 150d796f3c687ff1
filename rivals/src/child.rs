//! What a child process does: open one engine in a fresh folder and measure it, or insert until it is killed, or open
//! what a killed child left and look for what it acknowledged. A process of its own for each task, so that no engine
//! inherits another's heap, threads or caches. Orders come as JSON in one argument, events leave as JSON lines.

use crate::engines::{Durability, entry};
use crate::memory::{Memory, Space, Watch, disk_bytes};
use crate::prefixes::Source;
use anyhow::{Context, Result, anyhow};
use holm_bench::{BoxError, Engine, Keys, Outcome, Plan, Values, Workload, fill, key, run};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A line to the parent after this many inserts, where none of them waits for the disk.
const ACKNOWLEDGE_EVERY: u64 = 1000;

/// What one child is told.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Order {
    pub(crate) engine: String,
    pub(crate) durability: Durability,
    pub(crate) folder: PathBuf,
    pub(crate) task: Task,
    /// Of every step; the number of threads is the step's.
    pub(crate) plan: Plan,
    /// Where the keys come from, if not from the records' numbers.
    pub(crate) source: Option<Source>,
    /// How long the engine is left alone after the load, before what it then occupies is measured.
    pub(crate) settle_seconds: f64,
}

/// Which task.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) enum Task {
    /// Run these workloads in this order, with so many threads each.
    Measure(Vec<(Workload, usize)>),
    /// Insert records 0, 1, 2 and so on until killed.
    InsertUntilKilled,
    /// Open, and look for records 0 to this one.
    Reopen { acknowledged: u64 },
}

/// What a child says.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) enum Event {
    /// A workload is done.
    Ran { threads: usize, cpu_seconds: f64, outcome: Outcome },
    /// The records are in and synced, and the engine has been left alone; `before` it was opened.
    Loaded { before: Memory, at_once: Space, settled: Space },
    /// The engine is closed.
    Closed { disk_bytes: u64, peak: Memory, close_seconds: f64 },
    /// So many inserts have returned.
    Acknowledged(u64),
    /// What was found after the kill.
    Reopened(Reopened),
    /// The order could not be carried out to its end, and why.
    Failed(String),
}

/// What a store that was killed still had.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct Reopened {
    /// From the call of `open` to the answer of the first read.
    pub(crate) seconds: f64,
    pub(crate) acknowledged: u64,
    /// Whether the first acknowledged record is there, and the last.
    pub(crate) first: bool,
    pub(crate) last: bool,
    /// Acknowledged records that are not there.
    pub(crate) lost: u64,
    /// Whether what is there is a prefix of what was acknowledged.
    pub(crate) prefix: bool,
    /// Records with another value than was inserted.
    pub(crate) wrong: u64,
}

/// Carries out an order, given as JSON; what goes wrong with it is an event too.
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
    let (before, watch) = (Memory::now()?, Watch::start());
    let engine = open(order)?;
    let mut loaded = false;
    for (number, &(workload, threads)) in steps.iter().enumerate() {
        if !loaded && workload != Workload::Load {
            load_the_rest(&*engine, order, 0, before)?;
            loaded = true;
        }
        // Another seed for each step, so that each adds records of its own.
        let seed = order.plan.seed + number as u64;
        let plan = Plan { threads, seed, ..order.plan.clone() };
        let cpu = cpu_seconds();
        let outcome =
            run(&*engine, &plan, workload).map_err(boxed).with_context(|| format!("in workload {workload}"))?;
        let done = outcome.operations;
        say(&Event::Ran { threads, cpu_seconds: cpu_seconds() - cpu, outcome })?;
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

/// Puts in the records from `first` on, if any are missing, and says what they take: at once, and when the engine has
/// had time for what it does in the background, which is the same for all.
fn load_the_rest(engine: &dyn Engine, order: &Order, first: u64, before: Memory) -> Result<()> {
    fill(engine, &order.plan, first).map_err(boxed).context("cannot fill")?;
    engine.sync().map_err(boxed).context("cannot sync")?;
    let at_once = Space::now(&order.folder)?;
    std::thread::sleep(Duration::from_secs_f64(order.settle_seconds));
    say(&Event::Loaded { before, at_once, settled: Space::now(&order.folder)? })
}

/// Processor time of all threads of this process, background work of the engine included.
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
