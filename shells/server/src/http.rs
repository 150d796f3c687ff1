//! HTTP for operators: a page at `/`, what it shows as JSON, and metrics at `/metrics`. It only reads.
//!
//! Two threads of its own answer; no worker waits for them. Who may see what is decided as for commands: by the user of
//! HTTP Basic, or by the user `default` where that needs no password. There, a request must name the server by a number
//! or as `localhost`, so that no page of another site can read this one by a name that it controls.
//!
//! | module | |
//! |---|---|
//! | `metrics` | the text for Prometheus |
//! | `status` | what the page shows |
//! | `browse` | the keys in order, and their values |

mod browse;
mod metrics;
mod status;

use crate::acl::denied::Denied;
use crate::acl::{Account, DEFAULT};
use crate::shared::Shared;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use holm_commands::{Arguments, OwnedArguments};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use tiny_http::{Header, Method, Request, Response};

/// The threads that answer.
const THREADS: usize = 2;

/// What the page may load: only what this server sends.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

const HTML: &str = include_str!("../page/index.html");
const STYLE: &str = include_str!("../page/page.css");
const SCRIPT: &str = include_str!("../page/page.js");

/// An answer: its status, the type of its content, and the content.
struct Answer(u16, &'static str, String);

impl Answer {
    fn refused(status: u16, why: &str) -> Self {
        Answer(status, "text/plain; charset=utf-8", format!("{why}\n"))
    }
}

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

/// The threads and the socket.
pub(crate) struct Http {
    address: SocketAddr,
    server: Arc<tiny_http::Server>,
    threads: Vec<JoinHandle<()>>,
}

impl Http {
    /// Listens, and starts the threads.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub(crate) fn start(address: SocketAddr, shared: &Arc<Shared>) -> anyhow::Result<Self> {
        let listening = |error| anyhow::anyhow!("listening on {address} for HTTP: {error}");
        let server = Arc::new(tiny_http::Server::http(address).map_err(listening)?);
        let address = server.server_addr().to_ip().unwrap_or(address);
        let mut threads = Vec::new();
        for number in 0..THREADS {
            let (server, shared) = (server.clone(), shared.clone());
            let thread = std::thread::Builder::new().name(format!("http-{number}"));
            threads.push(thread.spawn(move || serve(&server, &shared))?);
        }
        Ok(Http { address, server, threads })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Lets the threads end.
    pub(crate) fn stop(self) -> anyhow::Result<()> {
        // Each call wakes one thread.
        self.threads.iter().for_each(|_| self.server.unblock());
        for thread in self.threads {
            thread.join().map_err(|_| anyhow::anyhow!("a thread for HTTP has panicked"))?;
        }
        Ok(())
    }
}

fn serve(server: &tiny_http::Server, shared: &Shared) {
    while !shared.is_stopping() {
        match server.recv() {
            Ok(request) => respond(shared, request),
            // The thread is to end, or the next request is another.
            Err(error) => tracing::debug!(%error, "no request"),
        }
    }
}

fn respond(shared: &Shared, request: Request) {
    let Answer(status, content_type, content) = answer(shared, &request);
    let is_head = *request.method() == Method::Head;
    let mut response = Response::from_string(content).with_status_code(status);
    let headers = [
        ("Content-Type", content_type),
        ("Content-Security-Policy", POLICY),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ];
    let challenge = (status == 401).then_some(("WWW-Authenticate", "Basic realm=\"holm-server\", charset=\"UTF-8\""));
    for (name, value) in headers.into_iter().chain(challenge) {
        if let Ok(header) = Header::from_bytes(name, value) {
            response.add_header(header);
        }
    }
    let sent = if is_head {
        request.respond(response.with_data(std::io::empty(), Some(0)))
    } else {
        request.respond(response)
    };
    if let Err(error) = sent {
        tracing::debug!(%error, "an answer was not taken");
    }
}

fn answer(shared: &Shared, request: &Request) -> Answer {
    if !matches!(request.method(), Method::Get | Method::Head) {
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
    let (path, query) = request.url().split_once('?').unwrap_or((request.url(), ""));
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

fn header<'r>(request: &'r Request, name: &'static str) -> Option<&'r str> {
    request.headers().iter().find(|header| header.field.equiv(name)).map(|header| header.value.as_str())
}

/// Returns the account that a request is made by.
fn authenticate(shared: &Shared, request: &Request) -> Result<Arc<Account>, Answer> {
    let Some(credentials) = header(request, "Authorization") else {
        if shared.acl.needs_password() {
            return Err(Answer::refused(401, "a user and a password are needed"));
        }
        if !header(request, "Host").is_some_and(is_own_name) {
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
        let address = request.remote_addr().map_or_else(String::new, SocketAddr::to_string);
        shared.acl.log.add(Denied::Password("HTTP"), "toplevel", user, format!("addr={address} cmd=http"));
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
