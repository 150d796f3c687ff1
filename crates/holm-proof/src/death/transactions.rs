//! A child whose threads run transactions over lists, and what its parent checks after its sudden end: transactions are
//! left whole or not at all, and with each of them all that it depends on.

use super::Mode;
use super::options::Task;
use super::round::{End, reopen};
use super::wire::{Message, Pipe};
use crate::cycles::{Outcome, Transaction, check, check_left};
use crate::lists::{Board, THREADS, Worker};
use holm::{Durability, Error};
use std::io::{self, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The keys beside each list.
const FILLERS: u8 = 24;

/// The most keys beside lists that a batch changes.
const LONG: usize = 120;

/// The pause between two syncs, in which the threads have the processor.
const BETWEEN_SYNCS: Duration = Duration::from_micros(300);

/// Opens the database and runs transactions until a call fails or the process is ended.
///
/// # Errors
/// The first failure.
pub fn transact(dir: &Path, mode: Mode, set: u64) -> Result<(), Error> {
    let invalid = |error: io::Error| Error::Invalid { what: format!("standard output: {error}") };
    let pipe = Pipe::standard_output().map_err(invalid)?;
    let db = mode.builder().open(dir)?;
    let board = Board::new(&db, set, FILLERS)?.with_long_batches(LONG);
    let _ = pipe.send(&Message::Opened);
    let work = |thread| -> Result<(), Error> {
        let mut worker = Worker::new(&board, thread, set);
        loop {
            let mut sent = Ok(());
            worker.step(&mut |transaction| {
                let message = Message::Transaction { thread, transaction: transaction.clone() };
                sent = pipe.send(&message);
            })?;
            sent.map_err(invalid)?;
        }
    };
    thread::scope(|scope| {
        let (work, board, db, pipe) = (&work, &board, &db, &pipe);
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        scope.spawn(move || {
            loop {
                let instant = board.now();
                if db.sync().is_err() || pipe.send(&Message::Durable { instant }).is_err() {
                    return;
                }
                thread::sleep(BETWEEN_SYNCS);
            }
        });
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

/// A running child.
#[derive(Debug)]
pub struct TransactionRound {
    child: Child,
    opened: Receiver<()>,
    reports: JoinHandle<Reported>,
}

/// What a child has reported.
#[derive(Debug, Default)]
pub struct Reported {
    /// Its transactions. Those that had not returned have no end.
    pub history: Vec<Transaction>,
    /// What had returned before this instant survives a loss of power.
    pub durable: u64,
}

fn collect(pipe: impl io::Read, opened: impl Fn()) -> Reported {
    let mut pipe = BufReader::new(pipe);
    let mut reported = Reported::default();
    let mut in_progress: Vec<Option<Transaction>> = vec![None; THREADS as usize];
    while let Some(message) = Message::receive(&mut pipe) {
        match message {
            Message::Opened => opened(),
            Message::Durable { instant } => reported.durable = instant,
            Message::Transaction { thread, transaction } => {
                let tries = transaction.outcome == Outcome::Unknown;
                in_progress[thread as usize] = tries.then(|| transaction.clone());
                reported.history.extend((!tries).then_some(transaction));
            }
        }
    }
    reported.history.extend(in_progress.into_iter().flatten());
    reported
}

impl TransactionRound {
    /// Starts this program again as the child, which works on fresh lists.
    ///
    /// # Errors
    /// The operating system's errors.
    pub fn start(dir: &Path, mode: &str, set: u64) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(Task::TRANSACT).arg(dir).arg(mode).arg(set.to_string()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let pipe = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (say_opened, opened) = channel();
        let opens = move || {
            // Nobody may wait for it.
            let _ = say_opened.send(());
        };
        let reports = thread::spawn(move || collect(pipe, opens));
        Ok(TransactionRound { child, opened, reports })
    }

    /// Waits until the child has opened the database, at most a minute.
    pub fn wait_until_open(&self) {
        let _ = self.opened.recv_timeout(Duration::from_secs(60));
    }

    /// Kills the child; returns all that it had reported.
    ///
    /// # Errors
    /// The operating system's errors, and an error if the child had ended before.
    pub fn kill(mut self) -> io::Result<Reported> {
        self.child.kill()?;
        let status = self.child.wait()?;
        let reported = self.reports.join().map_err(|_| io::Error::other("reading the reports failed"))?;
        if status.code().is_some() {
            return Err(io::Error::other(format!("the child had ended by itself: {status}")));
        }
        Ok(reported)
    }
}

/// Opens the database after a child's end, verifies it, and checks what is left of its transactions. Returns how many
/// it had committed.
///
/// # Errors
/// A description of what does not fit.
pub fn judge(dir: &Path, mode: Mode, set: u64, reported: &Reported, end: End) -> Result<u64, String> {
    let (db, recovery) = reopen(dir, mode, end)?;
    let history = &reported.history;
    check(history).map_err(|wrong| {
        let text = |at: &usize| format!("\n  T{at} of {}: {:?}", history.len(), history[*at]);
        let named = wrong[0].transactions.iter().map(text);
        format!("while the child ran: {}{}", wrong[0], named.collect::<String>())
    })?;
    let told = |error: Error| error.to_string();
    let left = Board::new(&db, set, 0).and_then(|board| board.lists()).map_err(told)?;
    let all = end == End::Kill && !mode.private || mode.durability == Durability::Strict;
    let floor = if all { u64::MAX } else { reported.durable };
    check_left(history, &left, floor).map_err(|loss| format!("{recovery:?}: {loss}"))?;
    db.close().map_err(|error| format!("closing: {error}"))?;
    let committed = |transaction: &&Transaction| matches!(transaction.outcome, Outcome::Committed(_));
    Ok(history.iter().filter(committed).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::Step;

    #[test]
    fn what_had_not_returned_has_no_end() {
        let one = |began, outcome| Transaction {
            began,
            outcome,
            label: None,
            steps: vec![Step::Append { key: 1, element: began }],
        };
        let message = |thread, transaction| Message::Transaction { thread, transaction };
        let messages = [
            Message::Opened,
            message(0, one(1, Outcome::Unknown)),
            message(1, one(2, Outcome::Unknown)),
            message(0, one(1, Outcome::Committed(3))),
            Message::Durable { instant: 4 },
            message(0, one(5, Outcome::Unknown)),
        ];
        let mut bytes: Vec<u8> = messages.iter().flat_map(Message::encode).collect();
        // Half of a message is no message.
        bytes.extend(&message(1, one(2, Outcome::Committed(6))).encode()[..20]);
        let opened = std::cell::Cell::new(0);
        let reported = collect(&bytes[..], || opened.set(opened.get() + 1));
        let expected = [one(1, Outcome::Committed(3)), one(5, Outcome::Unknown), one(2, Outcome::Unknown)];
        assert_eq!((reported.history, reported.durable, opened.get()), (expected.to_vec(), 4, 1));
    }
}
