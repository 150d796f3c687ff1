//! What is known about each client, for CLIENT LIST and for those who close connections.

use crate::connection::Connection;
use crate::mail::ConnectionPlace;
use crate::topics::TopicKind;
use crate::tracking::TrackingDetails;
use holm_commands::{Outcome, Refusal};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A client, as others see it.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) place: ConnectionPlace,
    pub(crate) address: String,
    /// The server's end of the connection.
    pub(crate) local_address: String,
    pub(crate) since: Instant,
    details: Mutex<ClientDetails>,
    pub(crate) buffers: Buffers,
}

/// The bytes that a connection holds, as its worker has stated them last.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    /// Of requests, and the room behind them.
    input: AtomicUsize,
    input_room: AtomicUsize,
    /// Of replies and messages that wait, and all memory of these.
    output: AtomicUsize,
    output_memory: AtomicUsize,
}

impl Buffers {
    /// States what a connection holds: requests and the memory of these, replies and the memory of these.
    pub(crate) fn note(&self, (input, input_memory): (usize, usize), (output, output_memory): (usize, usize)) {
        self.input.store(input, Ordering::Relaxed);
        self.input_room.store(input_memory - input, Ordering::Relaxed);
        self.output.store(output, Ordering::Relaxed);
        self.output_memory.store(output_memory, Ordering::Relaxed);
    }

    /// Returns all memory of a connection, with that of its queued commands.
    pub(crate) fn memory(&self, queued: usize) -> usize {
        let parts = [&self.input, &self.input_room, &self.output_memory].map(|part| part.load(Ordering::Relaxed));
        size_of::<Connection>() + parts.iter().sum::<usize>() + queued
    }

    /// Returns the part of the line of CLIENT LIST. There is one buffer of output, so the list of further ones of other
    /// servers is that buffer, or empty.
    fn line(&self, queued: usize) -> String {
        let [input, room, output] =
            [&self.input, &self.input_room, &self.output].map(|part| part.load(Ordering::Relaxed));
        let total = self.memory(queued);
        let list = usize::from(output > 0);
        format!("qbuf={input} qbuf-free={room} multi-mem={queued} obl=0 oll={list} omem={output} tot-mem={total}")
    }
}

/// What a client is here for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientKind {
    Normal,
    Subscriber,
    /// Another server: a single node has none.
    Server,
}

impl ClientKind {
    /// Reads the kind as clients write it.
    ///
    /// # Errors
    /// There is no such kind.
    pub(crate) fn read(word: &[u8]) -> Outcome<Self> {
        match &word.to_ascii_lowercase()[..] {
            b"normal" => Ok(ClientKind::Normal),
            b"pubsub" => Ok(ClientKind::Subscriber),
            b"master" | b"replica" | b"slave" => Ok(ClientKind::Server),
            _ => Err(Refusal::of(format!("ERR Unknown client type '{}'", word.escape_ascii()))),
        }
    }
}

/// What changes about a client.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientDetails {
    pub(crate) name: Vec<u8>,
    /// The user; empty for the one that all begin with.
    pub(crate) user: Vec<u8>,
    pub(crate) library: Vec<u8>,
    pub(crate) library_version: Vec<u8>,
    pub(crate) database: u32,
    pub(crate) last_command: &'static str,
    pub(crate) last_used: Option<Instant>,
    pub(crate) is_new_protocol: bool,
    /// The numbers of subscriptions by kind.
    pub(crate) subscriptions: [usize; TopicKind::ALL.len()],
    /// The number of queued commands, if it is within MULTI.
    pub(crate) queued: Option<usize>,
    /// And their bytes.
    pub(crate) queued_bytes: usize,
    pub(crate) is_blocked: bool,
    pub(crate) tracking: Option<TrackingDetails>,
    /// It waits until a pause is over.
    pub(crate) is_parked: bool,
}

impl ClientDetails {
    pub(crate) fn user(&self) -> &[u8] {
        if self.user.is_empty() { holm_accounts::DEFAULT } else { &self.user }
    }

    /// Returns whether a command of the client waits.
    pub(crate) fn waits(&self) -> bool {
        self.is_blocked || self.is_parked
    }

    pub(crate) fn kind(&self) -> ClientKind {
        if self.subscriptions == [0; TopicKind::ALL.len()] { ClientKind::Normal } else { ClientKind::Subscriber }
    }
}

impl Client {
    pub(crate) fn new(place: ConnectionPlace, address: String, local_address: String) -> Self {
        Client {
            place,
            address,
            local_address,
            since: Instant::now(),
            details: Mutex::default(),
            buffers: Buffers::default(),
        }
    }

    pub(crate) fn details(&self) -> MutexGuard<'_, ClientDetails> {
        self.details.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the line of CLIENT LIST.
    pub(crate) fn line(&self) -> String {
        let details = self.details();
        let tracking = details.tracking.as_ref();
        let letters = [
            (details.kind() == ClientKind::Subscriber, 'P'),
            (details.queued.is_some(), 'x'),
            (details.waits(), 'b'),
            (tracking.is_some(), 't'),
            (tracking.is_some_and(|tracking| tracking.is_broken), 'R'),
            (tracking.is_some_and(|tracking| tracking.is_broadcast), 'B'),
        ];
        let mut flags: String = letters.iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| letter).collect();
        if flags.is_empty() {
            flags.push('N');
        }
        let idle = details.last_used.unwrap_or(self.since).elapsed().as_secs();
        let command = if details.last_command.is_empty() { "NULL" } else { details.last_command };
        format!(
            "id={} addr={} laddr={} name={} age={} idle={idle} flags={flags} db={} sub={} psub={} ssub={} multi={} \
             {} cmd={command} user={} redir={} resp={} lib-name={} lib-ver={}",
            self.place.id,
            self.address,
            self.local_address,
            String::from_utf8_lossy(&details.name),
            self.since.elapsed().as_secs(),
            details.database,
            details.subscriptions[TopicKind::Channel as usize],
            details.subscriptions[TopicKind::Pattern as usize],
            details.subscriptions[TopicKind::Shard as usize],
            details.queued.map_or(-1, |queued| queued as i64),
            self.buffers.line(details.queued_bytes),
            String::from_utf8_lossy(details.user()),
            tracking.map_or(-1, |tracking| tracking.redirect as i64),
            if details.is_new_protocol { 3 } else { 2 },
            String::from_utf8_lossy(&details.library),
            String::from_utf8_lossy(&details.library_version),
        )
    }
}

/// The clients of a server.
#[derive(Debug, Default)]
pub(crate) struct Clients(Mutex<BTreeMap<u64, Arc<Client>>>);

impl Clients {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Client>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, client: Arc<Client>) {
        self.lock().insert(client.place.id, client);
    }

    pub(crate) fn remove(&self, id: u64) {
        self.lock().remove(&id);
    }

    pub(crate) fn find(&self, id: u64) -> Option<Arc<Client>> {
        self.lock().get(&id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Client>> {
        self.lock().values().cloned().collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }
}
