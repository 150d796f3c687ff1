//! The parent's side. It gives an order to a fresh child process and listens until the child ends. It kills the child
//! when its time is over, or when the order is to die. One run or one kill is one call here; the caller decides the
//! order of runs.

use crate::child::{Event, Order, Reopened, Task};
use crate::memory::{Memory, Space};
use crate::units::rate;
use anyhow::{Context, Result, bail};
use holm_bench::{Outcome, Workload};
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow::{self, Break, Continue};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// One engine in one round.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Run {
    pub(crate) engine: String,
    pub(crate) round: usize,
    pub(crate) steps: Vec<Step>,
    pub(crate) loaded: Option<Loaded>,
    pub(crate) closed: Option<Closed>,
    /// Why the rest is missing.
    pub(crate) failure: Option<String>,
}

/// One workload of a run.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Step {
    pub(crate) threads: usize,
    pub(crate) cpu_seconds: f64,
    pub(crate) outcome: Outcome,
}

/// Measured after the load and a sync, and again after the engine has been idle.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Loaded {
    /// Measured before the engine was opened: the program itself, and the keys if they come from a list.
    pub(crate) before: Memory,
    pub(crate) at_once: Space,
    pub(crate) settled: Space,
}

/// Measured after the end.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Closed {
    pub(crate) disk_bytes: u64,
    pub(crate) peak: Memory,
    pub(crate) close_seconds: f64,
}

/// One engine that is killed and reopened.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct Kill {
    pub(crate) engine: String,
    pub(crate) round: usize,
    pub(crate) found: Option<Reopened>,
    /// Why it is missing.
    pub(crate) failure: Option<String>,
}

/// Runs the steps in a child, collects its events, and shows the progress on the terminal.
pub(crate) fn measure(order: &Order, round: usize, steps: &[(Workload, usize)], limit: Duration) -> Run {
    let order = Order { task: Task::Measure(steps.to_vec()), ..order.clone() };
    let engine = order.engine.clone();
    let mut run = Run { engine, round, steps: Vec::new(), loaded: None, closed: None, failure: None };
    let mut failed = None;
    let done = in_fresh_folder(&order, |order| {
        converse(order, limit, |event| {
            match event {
                Event::Ran { threads, cpu_seconds, outcome } => {
                    let width = if threads == 1 { String::new() } else { format!(" t={threads}") };
                    eprint!(" {}{width} {},", outcome.workload, rate(outcome.per_second));
                    run.steps.push(Step { threads, cpu_seconds, outcome });
                }
                Event::Loaded { before, at_once, settled } => {
                    eprint!(" settled,");
                    run.loaded = Some(Loaded { before, at_once, settled });
                }
                Event::Closed { disk_bytes, peak, close_seconds } => {
                    run.closed = Some(Closed { disk_bytes, peak, close_seconds });
                }
                Event::Failed(reason) => failed = Some(reason),
                Event::Acknowledged(_) | Event::Reopened(_) => {}
            }
            Continue(())
        })
    });
    run.failure = failed.or(done.err().map(|error| format!("{error:#}")));
    match &run.failure {
        None => eprintln!(" closed"),
        Some(reason) => eprintln!(" failed: {reason}"),
    }
    run
}

/// Kills a child when it has acknowledged enough records, or when the time of a load is over. Another child then
/// searches for the records.
pub(crate) fn kill(order: &Order, round: usize, limit: Duration) -> Kill {
    let done = in_fresh_folder(order, |order| {
        let acknowledged = insert_and_kill(order, limit)?;
        let order = Order { task: Task::Reopen { acknowledged }, ..order.clone() };
        let (mut found, mut failed) = (None, None);
        converse(&order, limit, |event| {
            match event {
                Event::Reopened(reopened) => found = Some(reopened),
                Event::Failed(reason) => failed = Some(reason),
                _ => {}
            }
            Continue(())
        })?;
        match failed {
            Some(reason) => bail!("after the kill: {reason}"),
            None => found.context("the child that opened after the kill reported nothing"),
        }
    });
    let (found, failure) = match done {
        Ok(found) => (Some(found), None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    Kill { engine: order.engine.clone(), round, found, failure }
}

/// Returns how many inserts the child had acknowledged when it died.
fn insert_and_kill(order: &Order, limit: Duration) -> Result<u64> {
    let order = Order { task: Task::InsertUntilKilled, ..order.clone() };
    let (mut acknowledged, mut failed) = (0, None);
    let wanted = order.plan.records;
    let limit = order.plan.load_seconds.map_or(limit, |seconds| limit.min(Duration::from_secs_f64(seconds)));
    let began = Instant::now();
    let ended = converse(&order, limit, |event| {
        match event {
            Event::Acknowledged(count) => acknowledged = count,
            Event::Failed(reason) => failed = Some(reason),
            _ => {}
        }
        if acknowledged >= wanted { Break(()) } else { Continue(()) }
    });
    match failed {
        Some(reason) => bail!("before the kill: {reason}"),
        // At the limit the child was killed as well, with fewer records.
        None if began.elapsed() >= limit && acknowledged > 0 => Ok(acknowledged),
        None => ended.map(|()| acknowledged),
    }
}

/// Creates the folder. Afterwards it removes the folder and waits for the disk, so that the disk is idle for the next
/// child.
fn in_fresh_folder<T>(order: &Order, work: impl FnOnce(&Order) -> Result<T>) -> Result<T> {
    let parent = &order.folder;
    let folder = tempfile::Builder::new().prefix("holm-rivals-").tempdir_in(parent);
    let folder = folder.with_context(|| format!("cannot make a folder in {}", parent.display()))?;
    let done = work(&Order { folder: folder.path().to_owned(), ..order.clone() });
    let removed = folder.close().context("cannot remove the folder of a run");
    rustix::fs::sync();
    let done = done?;
    removed?;
    Ok(done)
}

/// Starts a child and passes each of its events to `hear`. It kills the child when `hear` breaks or the limit is
/// reached, and returns when the child has ended. It also passes on events that were in the pipe at the kill.
fn converse(order: &Order, limit: Duration, mut hear: impl FnMut(Event) -> ControlFlow<()>) -> Result<()> {
    let deadline = Instant::now() + limit;
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    let mut command = Command::new(program);
    command.arg("child").arg(serde_json::to_string(order)?).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot start a child")?;
    let events = listen(child.stdout.take().context("the child has no output")?);
    let (mut killed, mut late) = (false, false);
    loop {
        let left = if killed { Duration::MAX } else { deadline.saturating_duration_since(Instant::now()) };
        match events.recv_timeout(left) {
            Ok(event) => {
                if hear(event).is_break() && !killed {
                    child.kill().context("cannot kill the child")?;
                    killed = true;
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                child.kill().context("cannot kill the child")?;
                (killed, late) = (true, true);
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let status = child.wait().context("cannot wait for the child")?;
    if late {
        bail!("did not end within {} s", limit.as_secs());
    }
    if !killed && !status.success() {
        bail!("the child ended with {status}");
    }
    Ok(())
}

/// Turns the lines of a child into events. It drops a line that the kill cut off, or that an engine printed.
fn listen(output: impl std::io::Read + Send + 'static) -> Receiver<Event> {
    let (sender, events) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Ok(event) = serde_json::from_str(&line)
                && sender.send(event).is_err()
            {
                break;
            }
        }
    });
    events
}

/// Rejects an unusable folder before the first child starts.
pub(crate) fn check_folder(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}
