//! Commands that take long: threads of their own carry them out, so that workers go on with other connections.
//!
//! A command begins on its worker, with a budget of pairs that it may visit. One that goes beyond the budget has done
//! nothing yet, and is begun anew here. Its connection waits for it; the reply comes back by mail, as bytes.

use crate::clients::Client;
use crate::late_reply::UnderWay;
use crate::mail::{ConnectionPlace, Mail};
use crate::shared::{Shared, now_millis};
use holm::Snapshot;
use holm_commands::{
    Arguments, At, Command, Function, Lookups, Outcome, OwnedArguments, Protocol, Refusal, Reply, WRITE,
};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The pairs that a command visits on its worker: some milliseconds.
pub(crate) const BUDGET: u64 = 10_000;

/// The threads.
pub(crate) const THREADS: usize = 2;

/// A command that takes long.
pub(crate) struct LongCommand {
    pub(crate) place: ConnectionPlace,
    pub(crate) client: Arc<Client>,
    /// The number of the request on its connection.
    pub(crate) request: u64,
    pub(crate) command: &'static Command<Function>,
    pub(crate) arguments: OwnedArguments,
    pub(crate) database: u32,
    pub(crate) now: u64,
    pub(crate) seed: u64,
    /// Where it reads, if not at the present.
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) protocol: Protocol,
    /// The reply promises that what was written is synced.
    pub(crate) must_sync: bool,
    /// Its number among those that are under way.
    pub(crate) number: u64,
}

/// The commands that wait for a thread. `None` ends one.
pub(crate) struct LongCommands {
    sender: Mutex<Sender<Option<LongCommand>>>,
    receiver: Mutex<Receiver<Option<LongCommand>>>,
    pub(crate) under_way: UnderWay,
}

impl Default for LongCommands {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel();
        LongCommands { sender: Mutex::new(sender), receiver: Mutex::new(receiver), under_way: UnderWay::default() }
    }
}

impl LongCommands {
    fn send(&self, command: Option<LongCommand>) {
        // The receiver lives as long as this.
        let _ = self.sender.lock().unwrap_or_else(PoisonError::into_inner).send(command);
    }

    /// Lets a thread carry out a command.
    pub(crate) fn begin(&self, command: LongCommand) {
        self.send(Some(command));
    }

    /// Ends all threads, once they have carried out what waits.
    pub(crate) fn stop(&self) {
        (0..THREADS).for_each(|_| self.send(None));
    }

    fn next(&self) -> Option<LongCommand> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).recv().ok().flatten()
    }
}

/// Carries out a command at the present.
fn execute(
    shared: &Shared,
    (command, arguments): (&Command<Function>, &Arguments<'_>),
    at: At<'_>,
    author: u64,
) -> Outcome<(Reply, Lookups)> {
    loop {
        // Not locked meanwhile: nobody waits for a long command who flushes a database.
        let databases = shared.present_databases();
        match databases.execute(command, arguments, at) {
            // What it reads was flushed, and belongs to no database any more.
            Err(Refusal::Store(holm::Error::Dropped { .. })) if !shared.is_present(&databases) => {}
            done => {
                let (reply, effects) = done?;
                shared.publish(&effects, author);
                return Ok((reply, effects.lookups));
            }
        }
    }
}

/// Carries out long commands until the server stops. Threads are numbered.
pub(crate) fn run(shared: &Shared, thread: usize) {
    while let Some(long) = shared.long.next() {
        let LongCommand { place, client, request, command, arguments, protocol, must_sync, .. } = &long;
        let started = Instant::now();
        let at = At { database: long.database, now: long.now, seed: long.seed, cursors: &shared.cursors };
        let arguments = arguments.lend();
        let answer = match &long.snapshot {
            Some(snapshot) => shared.present_databases().read_at(snapshot, command, &arguments, at),
            None if command.flags & WRITE != 0 || *must_sync => shared
                .synced_on(thread, *must_sync, || execute(shared, (command, &arguments), at, place.id))
                .unwrap_or_else(|error| Err(Refusal::Store(error))),
            None => execute(shared, (command, &arguments), at, place.id),
        };
        let (reply, lookups) = answer.unwrap_or_else(|refusal| (Reply::Error(refusal.into_text()), Lookups::default()));
        shared.statistics.add_lookups(lookups);
        let mut bytes = Vec::new();
        reply.encode(*protocol, &mut bytes);
        let took = started.elapsed();
        shared.latency.note(took, || now_millis() / 1_000, || "command");
        shared.note_slow(&arguments, took.as_nanos() as u64, client, *request);
        shared.mailbox(*place).send(Mail::Answer { id: place.id, bytes });
        shared.long.under_way.end(long.number);
    }
}
