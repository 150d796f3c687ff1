//! The run of one child process, and what it had reported when it ended.

use super::Mode;
use super::ledger::{Ledger, NAMES, THREADS};
use super::options::Task;
use super::writer::{Kind, Report};
use holm::{Database, RecoveredFrom, Recovery};
use std::io::{self, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, UNIX_EPOCH};

/// A running child.
pub struct Round {
    child: Child,
    opened: Receiver<()>,
    reports: JoinHandle<Reported>,
}

/// What a child has reported.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reported {
    /// For each thread, the last step whose call has returned.
    pub returned: [u64; THREADS],
    /// For each thread, the last step that survives a loss of power.
    pub durable: [u64; THREADS],
}

impl Round {
    /// Starts this program again as the child: with a ledger it continues to write, without one it opens and does
    /// nothing. A `quiet` child is expected to fail, and its messages are discarded.
    ///
    /// # Errors
    /// The operating system's errors.
    pub fn start(dir: &Path, mode: &str, ledger: Option<&Ledger>, quiet: bool) -> io::Result<Round> {
        let next = ledger.iter().flat_map(|ledger| ledger.next).map(|next| next.to_string());
        let stderr = if quiet { Stdio::null() } else { Stdio::inherit() };
        let mut command = Command::new(std::env::current_exe()?);
        let mut child =
            command.arg(Task::WRITE).arg(dir).arg(mode).args(next).stdout(Stdio::piped()).stderr(stderr).spawn()?;
        let pipe = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let last = ledger.map_or([0; THREADS], |ledger| ledger.next.map(|next| next - 1));
        let (say_opened, opened) = channel();
        let reports = thread::spawn(move || {
            let mut pipe = BufReader::new(pipe);
            let mut all = Reported { returned: last, durable: last };
            while let Some(Report { kind, thread, step }) = Report::receive(&mut pipe) {
                match kind {
                    Kind::Returned => all.returned[thread] = step,
                    Kind::Durable => all.durable[thread] = step,
                    Kind::Opened => drop(say_opened.send(())),
                }
            }
            all
        });
        Ok(Round { child, opened, reports })
    }

    /// Waits until the child has opened the database, at most a minute.
    pub fn wait_until_open(&self) {
        let _ = self.opened.recv_timeout(Duration::from_secs(60));
    }

    /// Stops the child where it is: it reports nothing more. Its system calls may go on.
    ///
    /// # Errors
    /// The operating system's errors.
    pub fn stop(&self) -> io::Result<()> {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-STOP", &id]).status()?;
        if !status.success() {
            return Err(io::Error::other(format!("kill -STOP {id}: {status}")));
        }
        // A thread that runs on another processor stops a little later than the call returns.
        while runs(Path::new(&format!("/proc/{id}/task")))? {
            thread::yield_now();
        }
        Ok(())
    }

    /// Kills the child; returns all that it had reported.
    ///
    /// # Errors
    /// The operating system's errors, and an error if the child had ended before.
    pub fn kill(self) -> io::Result<Reported> {
        let (reported, status) = self.end()?;
        if status.code().is_some() {
            return Err(io::Error::other(format!("the child had ended by itself: {status}")));
        }
        Ok(reported)
    }

    /// The same, for a child that may have failed.
    ///
    /// # Errors
    /// The operating system's errors.
    pub fn end(mut self) -> io::Result<(Reported, ExitStatus)> {
        self.child.kill()?;
        let status = self.child.wait()?;
        let reported = self.reports.join().map_err(|_| io::Error::other("reading the reports failed"))?;
        Ok((reported, status))
    }
}

/// Whether a thread of a process is neither stopped nor within a call that the stop waits for.
fn runs(threads: &Path) -> io::Result<bool> {
    for thread in std::fs::read_dir(threads)? {
        let stat = std::fs::read_to_string(thread?.path().join("stat"))?;
        // The state follows the name, which is in parentheses and may contain any character.
        let state = stat.rsplit(") ").next().unwrap_or_default().chars().next();
        if !matches!(state, Some('T' | 'D' | 'Z')) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How a child has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By a signal: the page cache has all that the child had stored.
    Kill,
    /// By a loss of power that the next open can detect.
    Cut,
    /// The page cache is lost, and nothing indicates it: the same kernel, the same files.
    UnnoticedCut,
}

impl End {
    /// Whether this end may lead recovery to the source that it reports.
    fn may_leave(self, found: &RecoveredFrom, mode: Mode) -> bool {
        match found {
            RecoveredFrom::PageCache => !mode.private && self != End::Cut,
            RecoveredFrom::Log { .. } => mode.private || self != End::Kill,
            RecoveredFrom::Created | RecoveredFrom::CleanShutdown => true,
            _ => false,
        }
    }
}

/// Opens the database after a child's end, and verifies it.
///
/// # Errors
/// A description of what does not fit.
pub(super) fn reopen(dir: &Path, mode: Mode, end: End) -> Result<(Database, Recovery), String> {
    let db = mode.builder().open(dir).map_err(|error| format!("opening: {error}"))?;
    let recovery = db.recovery().clone();
    let report = db.check().map_err(|error| format!("checking: {error}"))?;
    if !report.faults.is_empty() {
        return Err(format!("{:?}: {:?}", recovery, report.faults));
    }
    if !end.may_leave(&recovery.source, mode) {
        return Err(format!("after {end:?}: {recovery:?}"));
    }
    Ok((db, recovery))
}

/// Sweeps what the child has not, and verifies the database once more.
fn swept(db: &Database) -> Result<(), String> {
    db.sweep().map_err(|error| format!("sweeping: {error}"))?;
    let Ok(Some(space)) = db.existing_keyspace(NAMES[1]) else { return Ok(()) };
    let left =
        space.expired(UNIX_EPOCH + Duration::from_secs(1), 1).map_err(|error| format!("after a sweep: {error}"))?;
    // Space is free two epochs after it was given up.
    (0..4).try_for_each(|_| db.sync()).map_err(|error| format!("after a sweep: {error}"))?;
    let (used, report) = (db.stats().space, db.check().map_err(|error| format!("checking: {error}"))?);
    let is_freed = (used.record_bytes, used.leaves) == (report.record_bytes, report.leaf_blocks);
    if left.is_empty() && report.faults.is_empty() && is_freed {
        return Ok(());
    }
    Err(format!("swept: {left:?}, {:?}, {used:?} in use of {report:?}", report.faults))
}

/// Opens the database after a child's end, verifies it, and updates the ledger.
///
/// # Errors
/// A description of what does not fit.
pub fn judge(dir: &Path, mode: Mode, ledger: &mut Ledger, reported: Reported, end: End) -> Result<Recovery, String> {
    let (db, recovery) = reopen(dir, mode, end)?;
    let all = end == End::Kill && !mode.private || mode.durability == holm::Durability::Strict;
    let least = if all { reported.returned } else { reported.durable };
    let most = reported.returned.map(|returned| returned + 1);
    ledger.settle(&db, least, most).map_err(|why| format!("{recovery:?}: {why}"))?;
    ledger.preload.verify(&db).map_err(|why| format!("{recovery:?}: {why}"))?;
    swept(&db).map_err(|why| format!("{recovery:?}: {why}"))?;
    db.close().map_err(|error| format!("closing: {error}"))?;
    Ok(recovery)
}
