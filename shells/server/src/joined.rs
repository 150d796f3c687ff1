//! Runs of commands in a pipeline that are carried out together: GETs as one lookup of many keys, and commands that
//! write the same key as one transaction. Writes of different keys share nothing that a transaction would save: each
//! alone, as an update of its record, takes less time. One lookup before them lets their cache misses overlap.

use crate::session::{Found, ReplyMode, Session};
use crate::settings::Acknowledge;
use crate::shared::Shared;
use crate::statistics::Costs;
use holm_commands::{Arguments, At, Command, Function, Place, Reply, may_share};
use std::ops::Range;
use std::time::Instant;

/// The most commands of a run that writes. Each may read a leaf, and a transaction validates all of them at each read.
const MOST_WRITES: usize = 32;

/// The most GETs of a run.
const MOST_GETS: usize = 64;

/// A run that has this many bytes takes no more commands.
const ENOUGH_BYTES: usize = 256 << 10;

/// How the commands of a run are carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Gets,
    Writes(Keys),
}

/// The keys of commands that write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// There is only one command so far.
    One,
    /// All have the same key.
    Same,
    /// Each has another key than the one before it.
    Differing,
}

/// Commands that follow each other and wait to be carried out together. Their words lie at places of the input.
#[derive(Default)]
pub(crate) struct Run {
    way: Option<Way>,
    /// Each command, and which of the places are its words.
    commands: Vec<(&'static Command<Function>, Range<usize>)>,
    places: Vec<Place>,
    bytes: usize,
}

impl Run {
    fn clear(&mut self) {
        (self.way, self.bytes) = (None, 0);
        self.commands.clear();
        self.places.clear();
    }

    fn is_full(&self) -> bool {
        let most = if self.way == Some(Way::Gets) { MOST_GETS } else { MOST_WRITES };
        self.commands.len() >= most || self.bytes >= ENOUGH_BYTES
    }

    /// Returns how the run is carried out with one more command of this way and key; `None` if it does not take it.
    fn with(&self, input: &[u8], way: Way, key: &[u8]) -> Option<Way> {
        let Some(own) = self.way else { return Some(way) };
        if self.is_full() {
            return None;
        }
        let is_same = || self.iter(input).next_back().is_some_and(|(_, arguments)| arguments.at(1) == key);
        match (own, way) {
            (Way::Gets, Way::Gets) => Some(Way::Gets),
            (Way::Writes(keys), Way::Writes(_)) => {
                let found = if is_same() { Keys::Same } else { Keys::Differing };
                (keys == Keys::One || keys == found).then_some(Way::Writes(found))
            }
            _ => None,
        }
    }

    fn push(&mut self, command: &'static Command<Function>, places: &[Place], from: usize) {
        let first = self.places.len();
        self.places.extend(places.iter().map(|(begin, end)| (begin + from, end + from)));
        self.bytes += places.last().map_or(0, |(_, end)| *end);
        self.commands.push((command, first..self.places.len()));
    }

    /// Iterates over the commands and their words.
    fn iter<'r>(
        &'r self,
        input: &'r [u8],
    ) -> impl DoubleEndedIterator<Item = (&'static Command<Function>, Arguments<'r>)> + Clone {
        self.commands.iter().map(|(command, words)| (*command, Arguments::new(input, &self.places[words.clone()])))
    }
}

impl Session {
    /// Returns how a command may be carried out together with others.
    fn way_of(&self, shared: &Shared, arguments: &Arguments<'_>) -> Option<(&'static Command<Function>, Way)> {
        let is_plain = self.queue.is_none() && self.snapshot.is_none() && self.reply_mode == ReplyMode::On;
        // Each look is noted where it refuses, so what a user with rules asks for is looked at once, when it runs.
        if !is_plain || !self.is_authenticated || !self.account.may_do_all() || self.is_subscribed() {
            return None;
        }
        let Some(Found::Data(command)) = shared.command(arguments.get(0)?) else { return None };
        let is_get = command.name == "get" && arguments.at(1).len() <= holm_commands::MAX_NAME;
        let way = if is_get { Way::Gets } else { Way::Writes(Keys::One) };
        (command.accepts(arguments.len()) && (is_get || may_share(command))).then_some((command, way))
    }

    /// Adds a command to a run if it may be carried out together with others; `places` are those of its words behind
    /// `from` in the input. If the run is full or has other commands, it is carried out before. Returns false if the
    /// command has to run by itself.
    pub(crate) fn join(
        &mut self,
        shared: &Shared,
        (input, from, places): (&[u8], usize, &[Place]),
        run: &mut Run,
        costs: &mut Costs,
        out: &mut Vec<u8>,
    ) -> bool {
        let arguments = Arguments::new(&input[from..], places);
        let found = self.way_of(shared, &arguments);
        let joined = found.and_then(|(_, way)| run.with(input, way, arguments.at(1)));
        if joined.is_none() {
            self.execute_run(shared, input, run, costs, out);
        }
        let Some((command, way)) = found else { return false };
        run.way = joined.or(Some(way));
        run.push(command, places, from);
        true
    }

    /// Carries out the commands of a run, and forgets them.
    pub(crate) fn execute_run(
        &mut self,
        shared: &Shared,
        input: &[u8],
        run: &mut Run,
        costs: &mut Costs,
        out: &mut Vec<u8>,
    ) {
        let is_done = run.commands.len() > 1 && self.execute_joined(shared, input, run, costs, out);
        if !is_done {
            run.iter(input).for_each(|(_, arguments)| self.execute(shared, &arguments, costs, out));
        }
        run.clear();
    }

    /// Returns false if nothing was done: each command then runs by itself.
    fn execute_joined(
        &mut self,
        shared: &Shared,
        input: &[u8],
        run: &Run,
        costs: &mut Costs,
        out: &mut Vec<u8>,
    ) -> bool {
        let started = Instant::now();
        let replies = match run.way {
            Some(Way::Gets) => self.run_gets(shared, input, run),
            Some(Way::Writes(Keys::Differing)) => Some(self.run_each(shared, input, run)),
            Some(Way::Writes(_)) => self.run_writes(shared, input, run),
            None => None,
        };
        let Some(replies) = replies else { return false };
        // Each takes its share of the time.
        let nanos = started.elapsed().as_nanos() as u64 / run.commands.len() as u64;
        for (reply, (command, arguments)) in replies.iter().zip(run.iter(input)) {
            self.requests += 1;
            self.last_command = command.name;
            costs.of(command.name).note(nanos, reply.is_error());
            shared.note_slow(&arguments, nanos, &self.client, self.requests);
            self.answer(reply, out);
        }
        true
    }

    fn run_gets(&mut self, shared: &Shared, input: &[u8], run: &Run) -> Option<Vec<Reply>> {
        let keys: Vec<&[u8]> = run.iter(input).map(|(_, arguments)| arguments.at(1)).collect();
        let at = self.at(shared);
        let replies = shared.databases().get_each(at.database, at.now, &keys).ok()?;
        self.wants_sync |= self.acknowledge == Some(Acknowledge::Synced);
        Some(replies)
    }

    fn run_writes(&mut self, shared: &Shared, input: &[u8], run: &Run) -> Option<Vec<Reply>> {
        let at = self.at(shared);
        self.before_write(shared);
        let (replies, signals) = shared.databases().execute_joined(run.iter(input), at)?;
        shared.waiting.wake(&signals, &shared.mailboxes);
        Some(replies)
    }

    /// Carries out writes of different keys, one after the other.
    fn run_each(&mut self, shared: &Shared, input: &[u8], run: &Run) -> Vec<Reply> {
        let at = self.at(shared);
        self.before_write(shared);
        let databases = shared.databases();
        let keys: Vec<&[u8]> = run.iter(input).map(|(_, arguments)| arguments.at(1)).collect();
        databases.look_ahead(at.database, &keys);
        let replies = run.iter(input).zip(at.seed..).map(|((command, arguments), seed)| {
            let done = databases.execute(command, &arguments, At { seed, ..at });
            done.map(|(reply, signals)| {
                shared.waiting.wake(&signals, &shared.mailboxes);
                reply
            })
        });
        replies.map(|done| done.unwrap_or_else(|refusal| Reply::Error(refusal.into_text()))).collect()
    }
}
