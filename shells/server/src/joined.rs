//! Runs of commands in a pipeline that are carried out together: GETs as one lookup of many keys, commands that read
//! the same key at one instant, and commands that write the same key in few transactions. Writes of different keys
//! share nothing that a transaction would save: each alone, as an update of its record, takes less time. One lookup
//! before them lets their cache misses overlap.
//!
//! The last run of a connection in a wake-up waits for those of others about the same key: [`crate::together`].

use crate::long::BUDGET;
use crate::session::{Found, ReplyMode, Session};
use crate::shared::Shared;
use crate::statistics::Costs;
use holm_commands::{Arguments, Command, Function, Place, Refusal, Reply, may_share, may_share_reads};
use std::ops::Range;
use std::time::Instant;

/// The most commands of a run that writes different keys.
const MOST_WRITES: usize = 32;

/// The most GETs of a run.
const MOST_GETS: usize = 64;

/// The most commands of a run about one key.
const MOST_OF_A_KEY: usize = 256;

/// The most words of a command of a run: one with more has enough to do alone.
const MOST_WORDS: usize = 64;

/// A run that has this many bytes takes no more commands.
const ENOUGH_BYTES: usize = 256 << 10;

/// How the commands of a run are carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Gets,
    /// Commands that read the same key.
    Reads,
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
    /// Each command, where it begins in the input, and which of the places are its words.
    commands: Vec<(&'static Command<Function>, usize, Range<usize>)>,
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
        let most = match self.way {
            Some(Way::Gets) => MOST_GETS,
            Some(Way::Writes(Keys::Differing)) => MOST_WRITES,
            _ => MOST_OF_A_KEY,
        };
        self.commands.len() >= most || self.bytes >= ENOUGH_BYTES
    }

    /// Returns whether the commands write, and their key: if they are about one key.
    pub(crate) fn about<'r>(&'r self, input: &'r [u8]) -> Option<(bool, &'r [u8])> {
        let does_write = match self.way? {
            Way::Reads => false,
            Way::Writes(Keys::One | Keys::Same) => true,
            Way::Gets | Way::Writes(Keys::Differing) => return None,
        };
        self.iter(input).next().map(|(_, arguments)| (does_write, arguments.at(1)))
    }

    pub(crate) fn len(&self) -> usize {
        self.commands.len()
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
            (Way::Reads, Way::Reads) => is_same().then_some(Way::Reads),
            (Way::Writes(keys), Way::Writes(_)) => {
                let found = if is_same() { Keys::Same } else { Keys::Differing };
                (keys == Keys::One || keys == found).then_some(Way::Writes(found))
            }
            _ => None,
        }
    }

    /// Returns the last command if it has this name, written in the same way.
    fn last_if(&self, input: &[u8], name: &[u8]) -> Option<&'static Command<Function>> {
        self.iter(input).next_back().filter(|(_, arguments)| arguments.at(0) == name).map(|(command, _)| command)
    }

    fn push(&mut self, command: &'static Command<Function>, places: &[Place], from: usize) {
        let first = self.places.len();
        self.places.extend(places.iter().map(|(begin, end)| (begin + from, end + from)));
        self.bytes += places.last().map_or(0, |(_, end)| *end);
        self.commands.push((command, from, first..self.places.len()));
    }

    /// Iterates over the commands and their words.
    pub(crate) fn iter<'r>(
        &'r self,
        input: &'r [u8],
    ) -> impl DoubleEndedIterator<Item = (&'static Command<Function>, Arguments<'r>)> + Clone {
        self.commands.iter().map(|(command, _, words)| (*command, Arguments::new(input, &self.places[words.clone()])))
    }
}

/// What has become of a command that may be carried out together with others.
pub(crate) enum Joined {
    /// It is carried out with others later.
    Added,
    /// It has to run by itself, now.
    Alone,
    /// Another thread carries out a command before it: the input is read again from this place on, once that is done.
    Later(usize),
}

impl Session {
    /// Returns how a command may be carried out together with others. `last` is the one before it, if it has the same
    /// name.
    fn way_of(
        &self,
        shared: &Shared,
        arguments: &Arguments<'_>,
        last: Option<&'static Command<Function>>,
    ) -> Option<(&'static Command<Function>, Way)> {
        let is_plain = self.queue.is_none() && self.snapshot.is_none() && self.reply_mode == ReplyMode::On;
        if arguments.len() > MOST_WORDS || shared.pause.is_on() {
            return None;
        }
        // Each look is noted where it refuses, so what a user with rules asks for is looked at once, when it runs.
        let is_unnoticed = !self.is_subscribed() && self.tracking.is_none();
        if !is_plain || !self.is_authenticated || !self.account.may_do_all() || !is_unnoticed {
            return None;
        }
        let Found::Data(command) = last.map(Found::Data).or_else(|| shared.command(arguments.at(0)))? else {
            return None;
        };
        let is_get = command.name == "get" && arguments.at(1).len() <= holm_commands::MAX_NAME;
        let way = if is_get {
            Way::Gets
        } else if may_share(command) {
            Way::Writes(Keys::One)
        } else if may_share_reads(command) {
            Way::Reads
        } else {
            return None;
        };
        command.accepts(arguments.len()).then_some((command, way))
    }

    /// Adds a command to a run if it may be carried out together with others; `places` are those of its words behind
    /// `from` in the input. If the run is full or has other commands, it is carried out before.
    pub(crate) fn join(
        &mut self,
        shared: &Shared,
        (input, from, places): (&[u8], usize, &[Place]),
        run: &mut Run,
        costs: &mut Costs,
        out: &mut Vec<u8>,
    ) -> Joined {
        let arguments = Arguments::new(&input[from..], places);
        let found = self.way_of(shared, &arguments, run.last_if(input, arguments.at(0)));
        let joined = found.and_then(|(_, way)| run.with(input, way, arguments.at(1)));
        if joined.is_none() {
            let later = self.execute_run(shared, input, run, costs, out);
            if later.is_some() || self.is_waiting() {
                return Joined::Later(later.unwrap_or(from));
            }
        }
        let Some((command, way)) = found else { return Joined::Alone };
        run.way = joined.or(Some(way));
        run.push(command, places, from);
        Joined::Added
    }

    /// Carries out the commands of a run, and forgets them. Returns where the first one begins that has to wait until
    /// another thread has carried out the one before it.
    pub(crate) fn execute_run(
        &mut self,
        shared: &Shared,
        input: &[u8],
        run: &mut Run,
        costs: &mut Costs,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let done = if run.commands.len() > 1 { self.execute_joined(shared, input, run, costs, out) } else { 0 };
        self.execute_rest(shared, (input, run), done, costs, out)
    }

    /// Carries out, one by one, the commands of a run that follow those that are done. Otherwise as
    /// [`Session::execute_run`].
    fn execute_rest(
        &mut self,
        shared: &Shared,
        (input, run): (&[u8], &mut Run),
        done: usize,
        costs: &mut Costs,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        let mut later = None;
        for (index, (_, arguments)) in run.iter(input).enumerate().skip(done) {
            self.execute(shared, &arguments, costs, out);
            if self.is_waiting() {
                let next = if self.is_parked { index } else { index + 1 };
                later = run.commands.get(next).map(|(_, from, _)| *from);
                break;
            }
        }
        run.clear();
        later
    }

    /// Answers the first commands of a run, which were carried out with those of other connections, and carries out the
    /// others. Each has taken this time. Otherwise as [`Session::execute_run`].
    pub(crate) fn finish_run(
        &mut self,
        shared: &Shared,
        (input, run): (&[u8], &mut Run),
        (replies, nanos): (&[Reply], u64),
        costs: &mut Costs,
        out: &mut Vec<u8>,
    ) -> Option<usize> {
        self.answer_run(shared, (input, run), (replies, nanos), costs, out);
        self.execute_rest(shared, (input, run), replies.len(), costs, out)
    }

    /// Carries out commands of a run together, and returns how many: each of the others is to run by itself.
    fn execute_joined(
        &mut self,
        shared: &Shared,
        input: &[u8],
        run: &Run,
        costs: &mut Costs,
        out: &mut Vec<u8>,
    ) -> usize {
        let started = Instant::now();
        let replies = match run.way {
            Some(Way::Gets) => return self.run_gets(shared, (input, run), (started, costs), out),
            Some(Way::Reads) => self.run_reads(shared, input, run).unwrap_or_default(),
            Some(Way::Writes(Keys::Differing)) => self.run_each(shared, input, run),
            Some(Way::Writes(_)) => self.run_writes(shared, input, run),
            None => Vec::new(),
        };
        // Each takes its share of the time.
        let nanos = started.elapsed().as_nanos() as u64 / replies.len().max(1) as u64;
        self.answer_run(shared, (input, run), (&replies, nanos), costs, out);
        replies.len()
    }

    /// Answers the first commands of a run.
    fn answer_run(
        &mut self,
        shared: &Shared,
        (input, run): (&[u8], &Run),
        (replies, nanos): (&[Reply], u64),
        costs: &mut Costs,
        out: &mut Vec<u8>,
    ) {
        for (reply, (command, _)) in replies.iter().zip(run.iter(input)) {
            self.last_command = command.name;
            costs.of(command.name).note(nanos, reply.is_error());
            if let Reply::Error(text) = reply {
                shared.statistics.note_error(text);
            }
            self.answer(reply, out);
        }
        costs.lookups.add(std::mem::take(&mut self.lookups));
        self.note_run(shared, (input, run), replies.len(), nanos);
    }

    /// Counts the first commands of a run as requests, and keeps them for SLOWLOG if they were slow.
    fn note_run(&mut self, shared: &Shared, (input, run): (&[u8], &Run), count: usize, nanos: u64) {
        if shared.is_slow(nanos) {
            for ((_, arguments), number) in run.iter(input).take(count).zip(self.requests + 1..) {
                shared.note_slow(&arguments, nanos, &self.client, number);
            }
        }
        self.requests += count as u64;
    }

    /// Answers GETs, and returns how many: all or none.
    fn run_gets(
        &mut self,
        shared: &Shared,
        (input, run): (&[u8], &Run),
        (started, costs): (Instant, &mut Costs),
        out: &mut Vec<u8>,
    ) -> usize {
        let keys: Vec<&[u8]> = run.iter(input).map(|(_, arguments)| arguments.at(1)).collect();
        let (at, before, mut failed) = (self.at(shared), out.len(), Vec::new());
        let note = |text: &str| failed.push(text.to_owned());
        let done = shared.databases().get_each((at.database, at.now), &keys, (self.protocol, out), note);
        let Ok(lookups) = done else {
            out.truncate(before);
            return 0;
        };
        costs.lookups.add(lookups);
        self.before_read();
        self.last_command = "get";
        let nanos = started.elapsed().as_nanos() as u64 / keys.len().max(1) as u64;
        costs.of("get").note_several(keys.len() as u64, nanos, failed.len() as u64);
        failed.iter().for_each(|text| shared.statistics.note_error(text));
        self.note_run(shared, (input, run), keys.len(), nanos);
        keys.len()
    }

    fn run_reads(&mut self, shared: &Shared, input: &[u8], run: &Run) -> Option<Vec<Reply>> {
        let at = self.at(shared);
        let (replies, lookups) = shared.databases().read_joined(run.iter(input), at, BUDGET)?;
        self.lookups.add(lookups);
        self.before_read();
        Some(replies)
    }

    fn run_writes(&mut self, shared: &Shared, input: &[u8], run: &Run) -> Vec<Reply> {
        let at = self.at(shared);
        self.before_write(shared);
        let commands: Vec<_> = run.iter(input).collect();
        let (replies, effects) = shared.databases().execute_joined(&commands, at, BUDGET);
        effects.iter().for_each(|effects| self.note_effects(shared, effects));
        replies
    }

    /// Carries out writes of different keys, one after the other, up to one that takes long.
    fn run_each(&mut self, shared: &Shared, input: &[u8], run: &Run) -> Vec<Reply> {
        let at = self.at(shared);
        self.before_write(shared);
        let commands: Vec<_> = run.iter(input).collect();
        let answers = shared.databases().execute_each(&commands, at, BUDGET);
        let mut replies = Vec::with_capacity(answers.len());
        for answer in answers {
            match answer {
                Ok((reply, effects)) => {
                    self.note_effects(shared, &effects);
                    replies.push(reply);
                }
                Err(Refusal::TooLong) => break,
                Err(refusal) => replies.push(Reply::Error(refusal.into_text())),
            }
        }
        replies
    }
}
