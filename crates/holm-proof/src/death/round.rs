//! One child's life, and what it had reported when it ended.

use super::Mode;
use super::ledger::{Ledger, THREADS};
use super::options::Task;
use super::writer::{Kind, Report};
use holm::{RecoveredFrom, Recovery};
use std::io::{self, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A child under way.
pub struct Round {
    child: Child,
    opened: Receiver<()>,
    reports: JoinHandle<Reported>,
}

/// What a child has reported.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reported {
    /// Up to which step of each thread calls have returned.
    pub returned: [u64; THREADS],
    /// Up to which step of each thread a loss of power takes nothing.
    pub durable: [u64; THREADS],
}

impl Round {
    /// Starts this program again as the child: to write on from the ledger, or without one to open and do nothing.
    /// A `quiet` one is expected to meet errors, and nobody reads of them.
    ///
    /// # Errors
    /// The operating system's.
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

    /// Waits until the child has opened the database, a minute at most.
    pub fn wait_until_open(&self) {
        let _ = self.opened.recv_timeout(Duration::from_secs(60));
    }

    /// Kills the child; all that it had reported.
    ///
    /// # Errors
    /// The operating system's, and if the child had ended before.
    pub fn kill(self) -> io::Result<Reported> {
        let (reported, status) = self.end()?;
        if status.code().is_some() {
            return Err(io::Error::other(format!("the child had ended by itself: {status}")));
        }
        Ok(reported)
    }

    /// The same, for a child that may have met a failure.
    ///
    /// # Errors
    /// The operating system's.
    pub fn end(mut self) -> io::Result<(Reported, ExitStatus)> {
        self.child.kill()?;
        let status = self.child.wait()?;
        let reported = self.reports.join().map_err(|_| io::Error::other("reading the reports failed"))?;
        Ok((reported, status))
    }
}

/// How a child has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By a signal: what it had stored is in the page cache.
    Kill,
    /// With the power, and whoever opens next can tell.
    Cut,
    /// The page cache is gone, and nothing says so: the same kernel, the same files.
    UnnoticedCut,
}

impl End {
    /// Whether recovery may take the end for what it says that it found.
    fn may_leave(self, found: &RecoveredFrom, mode: Mode) -> bool {
        match found {
            RecoveredFrom::PageCache => !mode.private && self != End::Cut,
            RecoveredFrom::Log { .. } => mode.private || self != End::Kill,
            RecoveredFrom::Created | RecoveredFrom::CleanShutdown => true,
            _ => false,
        }
    }
}

/// Opens the database after a child's end, verifies it, and settles the ledger.
///
/// # Errors
/// What does not fit, in words.
pub fn judge(dir: &Path, mode: Mode, ledger: &mut Ledger, reported: Reported, end: End) -> Result<Recovery, String> {
    let db = mode.builder().open(dir).map_err(|error| format!("opening: {error}"))?;
    let recovery = db.recovery().clone();
    let report = db.check().map_err(|error| format!("checking: {error}"))?;
    if !report.faults.is_empty() {
        return Err(format!("{:?}: {:?}", recovery, report.faults));
    }
    if !end.may_leave(&recovery.source, mode) {
        return Err(format!("after {end:?}: {recovery:?}"));
    }
    let all = end == End::Kill && !mode.private || mode.durability == holm::Durability::Strict;
    let least = if all { reported.returned } else { reported.durable };
    let most = reported.returned.map(|returned| returned + 1);
    ledger.settle(&db, least, most).map_err(|why| format!("{recovery:?}: {why}"))?;
    db.close().map_err(|error| format!("closing: {error}"))?;
    Ok(recovery)
}
