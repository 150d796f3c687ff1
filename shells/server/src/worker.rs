//! A worker: a thread with a loop of events over its own connections.
//!
//! A wake-up is the unit of everything. The worker reads each connection that has something to read, carries out its
//! whole commands, those of several connections about one key together, appends the replies and sends them, with one
//! write for each connection. If a reply must be durable,
//! the replies of the wake-up are held until one sync is done that serves them all. The worker serves others meanwhile.

use crate::clients::Client;
use crate::connection::Connection;
use crate::lookout::Lookout;
use crate::mail::{ConnectionPlace, Mail};
use crate::session::Session;
use crate::shared::Shared;
use crate::statistics::Costs;
use crate::stream::Stream;
use crate::together;
use holm::PendingSync;
use mio::event::Event;
use mio::{Events, Interest, Poll, Token};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The token of the mailbox. Connections have their ids, which begin at 1.
pub(crate) const MAIL: Token = Token(0);

/// The bytes that one read takes.
const SCRATCH: usize = 64 << 10;

/// How long a worker that stops waits for clients to take their replies.
const FAREWELL: Duration = Duration::from_secs(5);

/// A sync, and the connections whose replies wait for it.
struct Held {
    number: u64,
    sync: PendingSync,
    connections: Vec<u64>,
}

pub(crate) struct Worker {
    number: usize,
    shared: Arc<Shared>,
    poll: Poll,
    connections: HashMap<u64, Connection>,
    /// Connections with something to do, in the order in which they had it: each is marked as queued.
    ready: Vec<u64>,
    /// Connections with something to send, or to end: each is marked as touched.
    touched: Vec<u64>,
    /// Syncs that replies wait for, in the order in which they were begun.
    held: VecDeque<Held>,
    /// The number of the last of them.
    last_held: u64,
    /// When waits end: for elements, and for clients that do not take their replies.
    deadlines: BTreeSet<(Instant, u64)>,
    scratch: Vec<u8>,
    costs: Costs,
    lookout: Lookout,
    /// Connections whose commands wait until a pause is over, in the order in which they came.
    parked: Vec<u64>,
}

impl Worker {
    pub(crate) fn new(number: usize, shared: Arc<Shared>, poll: Poll) -> Self {
        Worker {
            number,
            shared,
            poll,
            connections: HashMap::new(),
            ready: Vec::new(),
            touched: Vec::new(),
            held: VecDeque::new(),
            last_held: 0,
            deadlines: BTreeSet::new(),
            scratch: vec![0; SCRATCH],
            costs: Costs::default(),
            lookout: Lookout::default(),
            parked: Vec::new(),
        }
    }

    /// Serves until the server stops.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1_024);
        let mut until = None;
        loop {
            self.wait(&mut events)?;
            for event in &events {
                if event.token() != MAIL {
                    self.note_event(event);
                }
            }
            self.release();
            self.read_mail();
            self.end_waits();
            self.resume();
            self.serve_ready();
            self.hold_if_needed();
            self.send();
            if self.shared.is_stopping() {
                let until = *until.get_or_insert_with(|| Instant::now() + FAREWELL);
                self.connections.values_mut().for_each(|connection| connection.session.is_closing = true);
                self.touched = self.connections.keys().copied().collect();
                self.send();
                if self.connections.is_empty() || Instant::now() >= until {
                    return Ok(());
                }
            }
        }
    }

    /// Waits for events, or for the end of the first wait of a connection.
    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let now = Instant::now();
        let next = self.deadlines.first().map(|(deadline, _)| deadline.saturating_duration_since(now));
        let end_of_pause = if self.parked.is_empty() { None } else { self.shared.pause.left() };
        let next = next.into_iter().chain(end_of_pause).min();
        let timeout = if self.shared.is_stopping() {
            Some(Duration::from_millis(10))
        } else if self.ready.is_empty() {
            // A millisecond more, because the system rounds down.
            next.map(|next| next + Duration::from_millis(1))
        } else {
            Some(Duration::ZERO)
        };
        match self.lookout.wait(&mut self.poll, events, timeout) {
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            other => other,
        }
    }

    fn note_event(&mut self, event: &Event) {
        let id = event.token().0 as u64;
        self.with(id, |connection| {
            connection.is_readable |= event.is_readable() || event.is_error();
            if event.is_read_closed() {
                connection.note_end();
            }
        });
        self.make_ready(id);
    }

    fn read_mail(&mut self) {
        let shared = self.shared.clone();
        for mail in shared.mailboxes[self.number].take() {
            match mail {
                Mail::Connection { id, stream, address } => self.welcome(id, stream, address),
                Mail::Message { to, message } => self.with(to, |connection| connection.deliver(&message)),
                Mail::Changes { to, name, message, is_last } => {
                    self.with(to, |connection| connection.deliver_changes(&shared, &name, &message, is_last));
                }
                Mail::Invalid { to, invalid, is_redirected } => {
                    self.with(to, |connection| connection.deliver_invalid(invalid, is_redirected));
                }
                Mail::BrokenRedirect { to, redirect } => {
                    self.with(to, |connection| connection.deliver_broken_redirect(redirect));
                }
                Mail::TryAgain { id, key } => {
                    if self.connections.contains_key(&id) {
                        self.with(id, |connection| connection.try_again(&shared, &key));
                        self.make_ready(id);
                    } else {
                        // The connection has left meanwhile: the elements are the next one's.
                        shared.waiting.wake(&[key], &shared.mailboxes);
                    }
                }
                Mail::Unblock { id, with_error } => {
                    self.with(id, |connection| connection.give_up(&shared, with_error));
                    self.make_ready(id);
                }
                Mail::Answer { id, bytes } => {
                    self.with(id, |connection| connection.answer(bytes));
                    self.make_ready(id);
                }
                Mail::Pass(late) => drop(late),
                // Waking up is enough.
                Mail::Resume => {}
                Mail::Close { id } => self.with(id, |connection| connection.is_dead = true),
            }
        }
    }

    fn with(&mut self, id: u64, act: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.connections.get_mut(&id) {
            if !std::mem::replace(&mut connection.is_touched, true) {
                connection.begin_replies();
                self.touched.push(id);
            }
            act(connection);
        }
    }

    fn make_ready(&mut self, id: u64) {
        if let Some(connection) = self.connections.get_mut(&id)
            && !std::mem::replace(&mut connection.is_queued, true)
        {
            self.ready.push(id);
        }
    }

    fn welcome(&mut self, id: u64, mut stream: Stream, address: String) {
        let interests = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = self.poll.registry().register(&mut stream, Token(id as usize), interests) {
            tracing::warn!(%error, "a connection cannot be watched");
            self.shared.clients.remove(id);
            return;
        }
        let place = ConnectionPlace { worker: self.number, id };
        let client = Arc::new(Client::new(place, address, stream.local_address()));
        self.shared.clients.add(client.clone());
        let session = Session::new(place, client, &self.shared);
        self.connections.insert(id, Connection::new(stream, session));
        self.make_ready(id);
    }

    /// Ends the waits whose time is over. One for a client that takes its replies ends as these are sent.
    fn end_waits(&mut self) {
        let now = Instant::now();
        while let Some((deadline, id)) = self.deadlines.first().copied().filter(|(deadline, _)| *deadline <= now) {
            self.deadlines.remove(&(deadline, id));
            let shared = self.shared.clone();
            self.with(id, |connection| {
                let waits_until = connection.session.blocked.as_ref().and_then(|blocked| blocked.deadline);
                if waits_until == Some(deadline) {
                    connection.give_up(&shared, false);
                }
            });
            self.make_ready(id);
        }
    }

    /// Lets connections go on whose commands have waited until a pause is over.
    fn resume(&mut self) {
        if self.parked.is_empty() || self.shared.pause.is_on() {
            return;
        }
        for id in std::mem::take(&mut self.parked) {
            self.with(id, |connection| connection.session.park(false));
            self.make_ready(id);
        }
    }

    /// Serves each connection that has something to do, once.
    fn serve_ready(&mut self) {
        let served = std::mem::take(&mut self.ready);
        for id in &served {
            self.with(*id, |_| {});
            let Some(connection) = self.connections.get_mut(id) else { continue };
            connection.is_queued = false;
            if connection.is_ready() {
                connection.serve(&self.shared, &mut self.scratch, &mut self.costs);
            }
        }
        together::finish(&mut self.connections, &served, &self.shared, &mut self.costs);
        for id in served {
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            if let Some(deadline) = connection.session.blocked.as_ref().and_then(|blocked| blocked.deadline) {
                self.deadlines.insert((deadline, id));
            }
            let session = &mut connection.session;
            if session.is_parked && !std::mem::replace(&mut session.is_listed, true) {
                self.parked.push(id);
            }
            if connection.is_ready() {
                self.make_ready(id);
            }
        }
        self.shared.statistics.add_costs(&mut self.costs);
    }

    /// Holds the replies of this wake-up until a sync is done, if one of them promises it.
    fn hold_if_needed(&mut self) {
        let mut wanted = false;
        for id in &self.touched {
            if let Some(connection) = self.connections.get_mut(id) {
                wanted |= std::mem::take(&mut connection.session.wants_sync);
            }
        }
        if !wanted && (self.touched.is_empty() || !self.shared.may_have_read_unsynced()) {
            return;
        }
        self.shared.statistics.syncs.fetch_add(1, Ordering::Relaxed);
        self.last_held += 1;
        let number = self.last_held;
        for id in &self.touched {
            if let Some(connection) = self.connections.get_mut(id) {
                connection.hold(number);
            }
        }
        let connections = self.touched.clone();
        // Before the sync begins, so that its end does not go unnoticed.
        self.shared.mailboxes[self.number].awaits_sync.store(true, Ordering::SeqCst);
        match self.shared.begin_sync() {
            Ok(sync) => self.held.push_back(Held { number, sync, connections }),
            Err(error) => self.fail(&connections, &error),
        }
        self.release();
    }

    /// Lets replies go whose syncs are done.
    fn release(&mut self) {
        while let Some(Held { sync, .. }) = self.held.front() {
            let done = match sync.is_done() {
                Ok(false) => return,
                done => done,
            };
            let Some(Held { number, connections, .. }) = self.held.pop_front() else { return };
            match done {
                Err(ref error) => self.fail(&connections, error),
                Ok(_) => connections.into_iter().for_each(|id| self.with(id, |connection| connection.release(number))),
            }
            if self.held.is_empty() {
                self.shared.mailboxes[self.number].awaits_sync.store(false, Ordering::SeqCst);
                if done.is_ok() {
                    self.shared.note_synced(self.number);
                }
            }
        }
    }

    /// Ends connections whose replies promise what could not be kept.
    fn fail(&mut self, connections: &[u64], error: &holm::Error) {
        tracing::error!(%error, "a sync has failed: clients are disconnected without their replies");
        let text = format!("MISCONF the sync has failed, and what was written may be lost: {error}");
        for id in connections {
            self.with(*id, |connection| connection.fail(&text));
        }
    }

    /// Sends the replies of this wake-up, and ends connections that are over.
    fn send(&mut self) {
        for id in std::mem::take(&mut self.touched) {
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            connection.is_touched = false;
            // Before the replies: a client that has one may ask another connection about this one.
            connection.session.note_details();
            connection.flush(&self.shared);
            connection.note_buffers();
            if let Some(end) = connection.end_of_patience(&self.shared) {
                self.deadlines.insert((end, id));
            }
            if connection.is_dead {
                self.end(id);
            } else if connection.is_ready() {
                self.make_ready(id);
            }
        }
    }

    fn end(&mut self, id: u64) {
        let Some(mut connection) = self.connections.remove(&id) else { return };
        connection.session.leave(&self.shared);
        // The last replies of a connection that was closed from here are sent already.
        let _ = self.poll.registry().deregister(&mut connection.stream);
        self.deadlines.retain(|(_, other)| *other != id);
        self.parked.retain(|other| *other != id);
    }
}
