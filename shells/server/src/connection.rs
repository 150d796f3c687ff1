//! A connection: its socket, its buffers and its session.

use crate::joined::{Joined, Run};
use crate::mail::Message;
use crate::session::Session;
use crate::shared::Shared;
use crate::statistics::Costs;
use crate::stream::Stream;
use crate::topics::TopicKind;
use crate::tracking::Invalid;
use holm_commands::{Arguments, Command, Function, Protocol, Reply, RequestParser, Signal};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Replies beyond this many bytes keep further commands waiting.
const ENOUGH_OUTPUT: usize = 1 << 20;

/// The most bytes of a large argument that one read takes.
const LARGE_READ: usize = 4 << 20;

/// A buffer that is empty and larger than this is given back.
const LARGE_BUFFER: usize = 1 << 20;

/// A buffer up to this size is kept.
const SMALL_BUFFER: usize = 32 << 10;

pub(crate) struct Connection {
    pub(crate) stream: Stream,
    pub(crate) session: Session,
    input: Vec<u8>,
    /// All before this is carried out.
    start: usize,
    parser: RequestParser,
    /// Commands that are carried out together: none between two wake-ups.
    run: Run,
    output: Vec<u8>,
    /// All before this is sent.
    sent: usize,
    /// Since when more waits than the soft limit of output allows.
    beyond_since: Option<Instant>,
    /// Where the replies of this wake-up begin.
    begun: usize,
    /// Replies that wait for syncs: the number of the sync, and where they begin.
    held: VecDeque<(u64, usize)>,
    /// What the client must not hold any more, behind the reply that another thread makes.
    invalid: Vec<Invalid>,
    /// The socket may have more to read.
    pub(crate) is_readable: bool,
    /// The other side sends nothing more, and there is no further event for what it has sent.
    has_ended: bool,
    /// The input holds commands that wait until replies are sent, or until an element comes.
    has_commands: bool,
    /// It is in the worker's list of connections with something to do.
    pub(crate) is_queued: bool,
    /// It is in the worker's list of connections with something to send.
    pub(crate) is_touched: bool,
    /// The other side is gone, or the connection has failed.
    pub(crate) is_dead: bool,
}

impl Connection {
    pub(crate) fn new(stream: Stream, session: Session) -> Self {
        Connection {
            stream,
            session,
            input: Vec::new(),
            start: 0,
            parser: RequestParser::default(),
            run: Run::default(),
            output: Vec::new(),
            sent: 0,
            beyond_since: None,
            begun: 0,
            held: VecDeque::new(),
            invalid: Vec::new(),
            is_readable: true,
            has_ended: false,
            has_commands: false,
            is_queued: false,
            is_touched: false,
            is_dead: false,
        }
    }

    fn unsent(&self) -> usize {
        self.output.len() - self.sent
    }

    /// Returns whether commands are to be read or carried out now.
    fn may_proceed(&self) -> bool {
        !self.session.is_closing && !self.session.is_waiting() && self.unsent() < ENOUGH_OUTPUT
    }

    /// Returns whether there is something to do without a further event.
    pub(crate) fn is_ready(&self) -> bool {
        !self.is_dead && self.may_proceed() && (self.is_readable || self.has_commands)
    }

    /// The other side sends nothing more. One that waits for elements is not noticed leaving by reads, and must not
    /// take them.
    pub(crate) fn note_end(&mut self) {
        (self.has_ended, self.is_readable) = (true, true);
        self.is_dead |= self.session.waits_for_others();
    }

    /// Reads once, and carries out the commands that are whole, except for the last ones that belong together: for
    /// these, [`Connection::finish`] must follow.
    pub(crate) fn serve(&mut self, shared: &Shared, scratch: &mut [u8], costs: &mut Costs) {
        if self.is_readable && self.may_proceed() {
            match self.read(scratch) {
                Ok(count) => drop(shared.statistics.input_bytes.fetch_add(count as u64, Ordering::Relaxed)),
                Err(error) => {
                    tracing::debug!(%error, client = self.session.place.id, "reading failed");
                    self.is_dead = true;
                }
            }
        }
        self.carry_out(shared, costs);
    }

    /// Returns what the commands are about that are left: whether they write, the database and the key. `None` unless
    /// they are about one key.
    pub(crate) fn subject(&self) -> Option<(bool, u32, &[u8])> {
        let (does_write, key) = self.run.about(&self.input)?;
        Some((does_write, self.session.database, key))
    }

    /// Returns how many commands are left.
    pub(crate) fn left_count(&self) -> usize {
        self.run.len()
    }

    /// Iterates over the commands that are left.
    pub(crate) fn left(&self) -> impl Iterator<Item = (&'static Command<Function>, Arguments<'_>)> + Clone {
        self.run.iter(&self.input)
    }

    /// Carries out the commands that are left.
    pub(crate) fn finish(&mut self, shared: &Shared, costs: &mut Costs) {
        let mut run = std::mem::take(&mut self.run);
        self.carry_out_run(shared, &mut run, costs);
        self.end_run(run);
    }

    /// As [`Connection::finish`], after the first ones of the commands that are left were carried out with those of
    /// other connections; each has taken this time.
    pub(crate) fn finish_with(&mut self, shared: &Shared, answered: (&[Reply], u64), costs: &mut Costs) {
        let mut run = std::mem::take(&mut self.run);
        let of = (&self.input[..], &mut run);
        if let Some(from) = self.session.finish_run(shared, of, answered, costs, &mut self.output) {
            self.read_again(from);
        }
        self.end_run(run);
    }

    /// Keeps the memory of a run, and gives back that of the input.
    fn end_run(&mut self, run: Run) {
        self.run = run;
        if self.start == self.input.len() {
            empty(&mut self.input);
            self.start = 0;
        } else if self.start > LARGE_BUFFER / 4 {
            self.input.drain(..self.start);
            self.start = 0;
        }
        self.is_dead |= self.has_ended && self.session.waits_for_others();
    }

    /// Reads what the socket has, up to a limit. Returns the number of bytes.
    fn read(&mut self, scratch: &mut [u8]) -> io::Result<usize> {
        let before = self.input.len();
        let wanted = (self.start + self.parser.wanted()).saturating_sub(before);
        if wanted > scratch.len() {
            // Straight to its place: a large argument is not copied twice.
            let most = wanted.min(LARGE_READ) as u64;
            let read = Read::by_ref(&mut self.stream).take(most).read_to_end(&mut self.input);
            return match read {
                Ok(count) => {
                    self.is_dead = (count as u64) < most;
                    Ok(count)
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.is_readable = false;
                    Ok(self.input.len() - before)
                }
                Err(error) => Err(error),
            };
        }
        loop {
            match self.stream.read(scratch) {
                Ok(0) => {
                    self.is_dead = true;
                    return Ok(0);
                }
                Ok(count) => {
                    // A read that leaves room has emptied the socket; the next event tells of more.
                    self.is_readable = count == scratch.len() || self.has_ended;
                    self.input.extend_from_slice(&scratch[..count]);
                    return Ok(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.is_readable = false;
                    return Ok(0);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Carries out the commands that are whole. Some that follow each other are carried out together; the last of these
    /// are left.
    fn carry_out(&mut self, shared: &Shared, costs: &mut Costs) {
        self.has_commands = false;
        let mut run = std::mem::take(&mut self.run);
        let most = shared.output_limits.hard(self.session.kind());
        loop {
            if !self.may_proceed() || self.unsent() > most {
                self.has_commands = self.start < self.input.len();
                break;
            }
            let limits = self.session.limits(shared);
            match self.parser.parse(&self.input[self.start..], &limits) {
                Ok(None) => break,
                Ok(Some(used)) => {
                    let (input, out) = (&self.input, &mut self.output);
                    let arguments = self.parser.arguments(&input[self.start..]);
                    if !arguments.is_empty() {
                        let of = (&input[..], self.start, self.parser.places().unwrap_or_default());
                        match self.session.join(shared, of, &mut run, costs, out) {
                            Joined::Added => {}
                            Joined::Alone => {
                                self.session.execute(shared, &arguments, costs, out);
                                if self.session.is_parked {
                                    self.read_again(self.start);
                                    break;
                                }
                            }
                            Joined::Later(from) => {
                                self.read_again(from);
                                break;
                            }
                        }
                    }
                    self.start += used;
                    self.parser.next();
                }
                Err(error) => {
                    if self.carry_out_run(shared, &mut run, costs) {
                        break;
                    }
                    let text = format!("ERR Protocol error: {}", error.0);
                    Reply::error(text).encode(self.session.protocol, &mut self.output);
                    self.session.is_closing = true;
                }
            }
        }
        self.run = run;
    }

    /// Carries out a run. Returns whether a command has to wait now.
    fn carry_out_run(&mut self, shared: &Shared, run: &mut Run, costs: &mut Costs) -> bool {
        if let Some(from) = self.session.execute_run(shared, &self.input, run, costs, &mut self.output) {
            self.read_again(from);
        }
        self.session.is_waiting()
    }

    /// Lets commands that are read already be read again from a place on.
    fn read_again(&mut self, from: usize) {
        self.start = from;
        self.parser.next();
        self.has_commands = true;
    }

    /// Elements may have come that the connection waits for.
    pub(crate) fn try_again(&mut self, shared: &Shared, key: &Signal) {
        self.session.try_again(shared, key, &mut self.output);
        self.has_commands = self.start < self.input.len();
    }

    /// Another thread has carried out the command.
    pub(crate) fn answer(&mut self, bytes: Vec<u8>) {
        self.session.answer_long(bytes, &mut self.output);
        std::mem::take(&mut self.invalid).into_iter().for_each(|invalid| self.deliver_invalid(invalid, false));
        self.has_commands = self.start < self.input.len();
    }

    /// The time of a wait is over.
    pub(crate) fn give_up(&mut self, shared: &Shared, with_error: bool) {
        self.session.give_up(shared, with_error, &mut self.output);
        self.has_commands = self.start < self.input.len();
    }

    /// Appends a message of a channel, if the connection still wants it.
    pub(crate) fn deliver(&mut self, message: &Message) {
        let Message { kind, pattern, channel, content } = message;
        let (word, topic) = match kind {
            TopicKind::Channel => ("message", channel),
            TopicKind::Pattern => ("pmessage", pattern),
            TopicKind::Shard => ("smessage", channel),
        };
        if !self.session.subscriptions.of(*kind).contains(topic) {
            return;
        }
        let mut parts = vec![Reply::fixed(word), Reply::bulk(&topic[..])];
        parts.extend((*kind == TopicKind::Pattern).then(|| Reply::bulk(&channel[..])));
        parts.push(Reply::bulk(&content[..]));
        Reply::Push(parts).encode(self.session.protocol, &mut self.output);
    }

    /// Appends what the client must not hold any more. A client of the older protocol is sent it as a message, if it
    /// has subscriptions and hears of changes in place of another one.
    pub(crate) fn deliver_invalid(&mut self, invalid: Invalid, is_redirected: bool) {
        if self.session.is_away() && !is_redirected {
            // The reply may hold what was read before the change.
            self.invalid.push(invalid);
            return;
        }
        let mut parts = match self.session.protocol {
            Protocol::Resp3 => vec![Reply::fixed("invalidate")],
            Protocol::Resp2 if is_redirected && !self.session.subscriptions.is_empty() => {
                vec![Reply::fixed("message"), Reply::fixed("__redis__:invalidate")]
            }
            Protocol::Resp2 => return,
        };
        parts.push(invalid.map_or(Reply::Null, |keys| Reply::bulks(keys.iter())));
        Reply::Push(parts).encode(self.session.protocol, &mut self.output);
    }

    /// Appends that the connection has left that hears of changes in its place.
    pub(crate) fn deliver_broken_redirect(&mut self, redirect: u64) {
        if self.session.protocol == Protocol::Resp3 {
            let parts = vec![Reply::fixed("tracking-redir-broken"), Reply::Integer(redirect as i64)];
            Reply::Push(parts).encode(self.session.protocol, &mut self.output);
        }
    }

    /// Appends a message of a feed, if the connection still follows it and its user still may.
    pub(crate) fn deliver_changes(&mut self, shared: &Shared, name: &[u8], message: &Reply, is_last: bool) {
        if !self.session.followed.contains(name) {
            return;
        }
        if !self.session.may_follow(shared, name) {
            self.is_dead = true;
            return;
        }
        message.encode(self.session.protocol, &mut self.output);
        if is_last {
            self.session.followed.remove(name);
        }
    }

    /// Called before the first reply of a wake-up.
    pub(crate) fn begin_replies(&mut self) {
        self.begun = self.output.len();
    }

    /// Holds the replies of this wake-up until a sync is done.
    pub(crate) fn hold(&mut self, number: u64) {
        if self.begun < self.output.len() {
            self.held.push_back((number, self.begun));
        }
    }

    /// Lets the replies go that wait for a sync or for an earlier one.
    pub(crate) fn release(&mut self, number: u64) {
        while self.held.pop_front_if(|(held, _)| *held <= number).is_some() {}
    }

    /// Replaces all replies that are held: what they promise could not be kept.
    pub(crate) fn fail(&mut self, text: &str) {
        let Some((_, from)) = self.held.front() else { return };
        self.output.truncate(*from);
        self.held.clear();
        Reply::error(text.to_owned()).encode(self.session.protocol, &mut self.output);
        self.session.is_closing = true;
    }

    /// Returns when the connection ends if as much waits then as now; notes since when it does.
    pub(crate) fn end_of_patience(&mut self, shared: &Shared) -> Option<Instant> {
        let patience = shared.output_limits.patience(self.session.kind(), self.unsent());
        self.beyond_since = patience.and(self.beyond_since).or_else(|| patience.map(|_| Instant::now()));
        Some(self.beyond_since? + patience?)
    }

    /// Ends the connection if more waits for its client than its class may have.
    fn end_if(&mut self, shared: &Shared, is_too_much: bool) {
        if is_too_much && !self.is_dead {
            tracing::warn!(client = self.session.place.id, bytes = self.unsent(), "a client reads too slowly");
            shared.statistics.output_disconnections.fetch_add(1, Ordering::Relaxed);
            self.is_dead = true;
        }
    }

    /// States what the connection holds.
    pub(crate) fn note_buffers(&self) {
        let input = (self.input.len() - self.start, self.input.capacity());
        self.session.client.buffers.note(input, (self.unsent(), self.output.capacity()));
    }

    /// Sends what the socket takes, unless it is more than may wait.
    pub(crate) fn flush(&mut self, shared: &Shared) {
        let hard = shared.output_limits.hard(self.session.kind());
        self.end_if(shared, self.unsent() > hard || self.session.is_overflowing);
        if self.stream.has_unsent() {
            self.is_dead |= self.stream.flush().is_err_and(|error| error.kind() != ErrorKind::WouldBlock);
        }
        let until = self.held.front().map_or(self.output.len(), |(_, from)| *from);
        while self.sent < until && !self.is_dead {
            match self.stream.write(&self.output[self.sent..until]) {
                Ok(0) => self.is_dead = true,
                Ok(count) => {
                    self.sent += count;
                    shared.statistics.output_bytes.fetch_add(count as u64, Ordering::Relaxed);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.is_dead = true,
            }
        }
        if self.sent == self.output.len() {
            empty(&mut self.output);
            self.sent = 0;
            self.is_dead |= self.session.is_closing && !self.stream.has_unsent();
        } else if self.sent > LARGE_BUFFER {
            self.output.drain(..self.sent);
            self.held.iter_mut().for_each(|(_, from)| *from -= self.sent);
            self.sent = 0;
        }
        let is_late = self.end_of_patience(shared).is_some_and(|end| end <= Instant::now());
        self.end_if(shared, is_late);
    }
}

/// Empties a buffer. One that is much larger than what it has held gives some of its memory back.
fn empty(buffer: &mut Vec<u8>) {
    let (used, capacity) = (buffer.len(), buffer.capacity());
    buffer.clear();
    if capacity > LARGE_BUFFER {
        *buffer = Vec::new();
    } else if capacity > SMALL_BUFFER && used < capacity / 4 {
        buffer.shrink_to(capacity / 2);
    }
}
