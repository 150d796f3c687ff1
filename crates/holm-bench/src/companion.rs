//! What runs beside a workload on the same database, and what it costs the workload.

use crate::{BoxError, Outcome, Plan, Store, Workload, run};
use holm::{Database, Error, PacedWriter};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// What runs beside a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub enum Companion {
    /// A snapshot is open. Leaves are changed for the first time since it was taken, or were before.
    Snapshot,
    /// A thread writes whole backups to a file, one after the other.
    Backup,
    /// A thread writes whole backups to a file, one after the other, with at most 192 MiB a second.
    PacedBackup,
    /// A thread takes the changes of each epoch from a feed.
    Feed,
}

/// The rate of a paced backup, in bytes per second.
const BACKUP_RATE: u64 = 192 << 20;

/// How many bytes of changes a feed keeps for its reader.
const FEED_BYTES: usize = 256 << 20;

/// A workload alone, and then beside a companion.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Beside {
    /// The companion.
    pub companion: Companion,
    /// The workload alone.
    pub alone: Outcome,
    /// The workload beside the companion. Of a snapshot: it was taken just before.
    pub beside: Outcome,
    /// The workload once more beside the same snapshot; none of other companions.
    pub again: Option<Outcome>,
    /// Seconds of each backup that was completed; of a feed, the seconds that reading the changes took.
    pub seconds: Vec<f64>,
    /// Bytes of each backup that was completed; of a snapshot, the memory and the bytes of records that it held at the
    /// end.
    pub bytes: Vec<u64>,
}

/// Measures a workload alone and then beside a companion. Both do the same operations in the same order. The keyspace
/// has the records of the plan. `scratch` is the path of a file that backups replace; it is removed in the end.
///
/// # Errors
/// As [`run`], and as the calls of the companion.
///
/// ```
/// use holm_bench::{Companion, Plan, Store, Workload, fill, run_beside};
/// let folder = tempfile::tempdir()?;
/// let store = Store::new("holm", holm::Database::open(folder.path().join("sea.holm"))?, "bench")?;
/// let plan = Plan { records: 100, seconds: 0.01, ..Plan::default() };
/// fill(&store, &plan, 0)?;
/// let beside = run_beside(&store, &plan, Workload::A, Companion::Snapshot, &folder.path().join("scratch"))?;
/// println!("{:.2}", beside.beside.per_second / beside.alone.per_second);
/// # Ok::<(), holm_bench::BoxError>(())
/// ```
pub fn run_beside(
    store: &Store,
    plan: &Plan,
    workload: Workload,
    companion: Companion,
    scratch: &Path,
) -> Result<Beside, BoxError> {
    let alone = run(store, plan, workload)?;
    let database = store.database();
    let measure = || run(store, plan, workload);
    let (beside, again, seconds, bytes) = match companion {
        Companion::Snapshot => {
            let _snapshot = database.snapshot()?;
            let (beside, again) = (measure()?, measure()?);
            let held = database.stats().snapshots;
            (beside, Some(again), vec![], vec![held.memory_bytes, held.record_bytes])
        }
        Companion::Backup | Companion::PacedBackup => {
            let rate = if companion == Companion::PacedBackup { BACKUP_RATE } else { 0 };
            let (beside, backups) = while_running(measure, |stop| backups(database, scratch, rate, stop))?;
            let (seconds, bytes) = backups.into_iter().unzip();
            (beside, None, seconds, bytes)
        }
        Companion::Feed => {
            let before = database.stats().feeds.read_ns;
            let (beside, ()) = while_running(measure, |stop| follow(database, stop))?;
            let seconds = (database.stats().feeds.read_ns - before) as f64 / 1e9;
            (beside, None, vec![seconds], vec![])
        }
    };
    Ok(Beside { companion, alone, beside, again, seconds, bytes })
}

/// Runs two functions at once. The second one ends soon after its argument becomes true.
fn while_running<A, B: Send>(
    first: impl FnOnce() -> Result<A, BoxError>,
    second: impl FnOnce(&AtomicBool) -> Result<B, BoxError> + Send,
) -> Result<(A, B), BoxError> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let second = scope.spawn(|| second(&stop));
        let first = first();
        stop.store(true, Relaxed);
        let second = second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok((first?, second?))
    })
}

/// Writes backups until it is time to stop, one at least. Returns the seconds and the bytes of each.
fn backups(database: &Database, scratch: &Path, rate: u64, stop: &AtomicBool) -> Result<Vec<(f64, u64)>, BoxError> {
    let mut done = vec![];
    while done.is_empty() || !stop.load(Relaxed) {
        let began = Instant::now();
        let info = database.backup_to(&mut PacedWriter::new(File::create(scratch)?, rate))?;
        done.push((began.elapsed().as_secs_f64(), info.bytes));
    }
    std::fs::remove_file(scratch)?;
    Ok(done)
}

/// Takes the changes of each epoch until it is time to stop.
fn follow(database: &Database, stop: &AtomicBool) -> Result<(), BoxError> {
    let mut feed = database.feed(FEED_BYTES)?;
    while !stop.load(Relaxed) {
        match feed.next(Duration::from_millis(10)) {
            Ok(_) => {}
            Err(Error::Lagged { .. }) => return Err("the feed's reader fell behind".into()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
