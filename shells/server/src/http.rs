//! HTTP for operators: a page at `/`, what it shows as JSON, and metrics at `/metrics`. It only reads.
//!
//! One thread accepts connections and a few answer; no worker waits for them. Who may see what is decided as for
//! commands: by the user of HTTP Basic, or by the user `default` where that needs no password. There, a request must
//! name the server by a number or as `localhost`, so that no page of another site can read this one by a name that it
//! controls.
//!
//! | module | |
//! |---|---|
//! | `metrics` | the text for Prometheus |
//! | `status` | what the page shows |
//! | `browse` | the keys in order, and their values |
//! | `wire` | requests and answers as bytes |

mod browse;
mod metrics;
mod status;
mod wire;

use crate::acl::Account;
use crate::mail::waker;
use crate::shared::Shared;
use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use holm_accounts::{DEFAULT, Denied};
use holm_commands::{Arguments, OwnedArguments};
use mio::net::TcpListener;
use mio::{Events, Interest, Poll, Token};
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use wire::{Answer, Request};

/// The threads that answer.
const THREADS: usize = 4;

/// The most connections that wait for a thread; others are closed.
const MOST_WAITING: usize = 64;

const STOP: Token = Token(0);
const ACCEPT: Token = Token(1);

const HTML: &str = include_str!("../page/index.html");
const STYLE: &str = include_str!("../page/page.css");
const SCRIPT: &str = include_str!("../page/page.js");

/// What a request asks of the server.
struct Visit<'s> {
    shared: &'s Shared,
    account: Arc<Account>,
}

impl Visit<'_> {
    /// Returns whether the user may run a command, which is what seeing its answer takes.
    fn may(&self, words: &[&[u8]]) -> bool {
        let words: OwnedArguments = words.iter().collect();
        self.may_run(&words.lend())
    }

    fn may_run(&self, arguments: &Arguments<'_>) -> bool {
        let acl = &self.shared.acl;
        let command = self.shared.command(&arguments[0]).map(crate::session::Found::about);
        self.account.may_do_all()
            || command.is_some_and(|command| acl.check(&self.account.user(), &command, arguments).is_ok())
    }
}

/// A connection that waits for an answer.
type Waiting = (TcpStream, SocketAddr);

/// The threads.
pub(crate) struct Http {
    address: SocketAddr,
    waker: mio::Waker,
    threads: Vec<JoinHandle<()>>,
}

impl Http {
    /// Listens, and starts the threads.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(crate) fn start(address: SocketAddr, shared: &Arc<Shared>) -> anyhow::Result<Self> {
        let mut listener = TcpListener::bind(address).with_context(|| format!("listening on {address} for HTTP"))?;
        let address = listener.local_addr()?;
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, ACCEPT, Interest::READABLE)?;
        let waker = waker(&poll, STOP)?;
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let receiver = Arc::new(Mutex::new(receiver));
        let named = |name: String| std::thread::Builder::new().name(name);
        let mut threads = Vec::new();
        for number in 0..THREADS {
            let (receiver, shared) = (receiver.clone(), shared.clone());
            threads.push(named(format!("http-{number}")).spawn(move || serve(&receiver, &shared))?);
        }
        let shared = shared.clone();
        threads.push(named("http".into()).spawn(move || accept(poll, &listener, &sender, &shared))?);
        Ok(Http { address, waker, threads })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until the threads have ended; the server stops.
    pub(crate) fn stop(self) -> anyhow::Result<()> {
        self.waker.wake()?;
        for thread in self.threads {
            thread.join().map_err(|_| anyhow::anyhow!("a thread for HTTP has panicked"))?;
        }
        Ok(())
    }
}

/// Accepts connections until the server stops. Then the sender is dropped, which ends the other threads.
fn accept(mut poll: Poll, listener: &TcpListener, sender: &SyncSender<Waiting>, shared: &Shared) {
    let mut events = Events::with_capacity(4);
    while !shared.is_stopping() {
        if let Err(error) = poll.poll(&mut events, None)
            && error.kind() != io::ErrorKind::Interrupted
        {
            tracing::error!(%error, "HTTP is served no more");
            return;
        }
        while !shared.is_stopping() {
            match listener.accept() {
                Ok((stream, peer)) => {
                    let stream = TcpStream::from(stream);
                    if stream.set_nonblocking(false).is_ok() && sender.try_send((stream, peer)).is_err() {
                        tracing::debug!(%peer, "too many connections wait for HTTP");
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection for HTTP cannot be accepted");
                    // Mostly too many open files, of which some are closed later.
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        }
    }
}

fn serve(receiver: &Mutex<Receiver<Waiting>>, shared: &Shared) {
    loop {
        let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((mut stream, peer)) = next else { return };
        let (answer, is_head) = match wire::read(&mut stream, peer) {
            Ok(None) => continue,
            Ok(Some(request)) => (answer(shared, &request), request.method == "HEAD"),
            Err(refused) => (refused, false),
        };
        if let Err(error) = wire::write(&mut stream, &answer, is_head) {
            tracing::debug!(%error, %peer, "an answer was not taken");
        }
    }
}

fn answer(shared: &Shared, request: &Request) -> Answer {
    if !matches!(&request.method[..], "GET" | "HEAD") {
        return Answer::refused(405, "only GET");
    }
    let account = match authenticate(shared, request) {
        Ok(account) => account,
        Err(refused) => return refused,
    };
    let visit = Visit { shared, account };
    if !visit.may(&[b"info"]) {
        return Answer::refused(403, "this user has no permissions to run the 'info' command");
    }
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let json = |value: serde_json::Value| Answer(200, "application/json", value.to_string());
    match path {
        "/" => Answer(200, "text/html; charset=utf-8", HTML.to_owned()),
        "/page.css" => Answer(200, "text/css; charset=utf-8", STYLE.to_owned()),
        "/page.js" => Answer(200, "text/javascript; charset=utf-8", SCRIPT.to_owned()),
        "/metrics" => Answer(200, metrics::CONTENT_TYPE, metrics::text(shared)),
        "/status.json" => json(status::status(&visit)),
        "/keys.json" => browse::keys(&visit, query).map_or_else(|refused| refused, json),
        "/value.json" => browse::value(&visit, query).map_or_else(|refused| refused, json),
        _ => Answer::refused(404, "no such page"),
    }
}

/// Returns the account that a request is made by.
fn authenticate(shared: &Shared, request: &Request) -> Result<Arc<Account>, Answer> {
    let Some(credentials) = request.header("authorization") else {
        if shared.acl.needs_password() {
            return Err(Answer::refused(401, "a user and a password are needed"));
        }
        if !request.header("host").is_some_and(is_own_name) {
            return Err(Answer::refused(403, "ask for this server as localhost, or by its number"));
        }
        return Ok(shared.acl.default_account());
    };
    let refused = || Answer::refused(401, "invalid username-password pair or user is disabled");
    let encoded = credentials.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
    let decoded = encoded.and_then(|(_, encoded)| BASE64_STANDARD.decode(encoded.trim()).ok()).ok_or_else(refused)?;
    let colon = decoded.iter().position(|byte| *byte == b':').ok_or_else(refused)?;
    let (user, password) = (&decoded[..colon], &decoded[colon + 1..]);
    let user = if user.is_empty() { DEFAULT } else { user };
    shared.acl.authenticate(user, password).ok_or_else(|| {
        shared.statistics.denied.fetch_add(1, Ordering::Relaxed);
        let client = format!("addr={} cmd=http", request.peer);
        shared.acl.note_denied(Denied::Password("HTTP"), "toplevel", user, client);
        refused()
    })
}

/// Returns whether a host is one that no name server can point elsewhere.
fn is_own_name(host: &str) -> bool {
    let without_port = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = without_port.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}
