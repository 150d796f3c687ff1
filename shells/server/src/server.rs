//! A running server: the thread that accepts connections, the workers, the sweep, and the end of all.

use crate::acl::Acl;
use crate::followers;
use crate::http::Http;
use crate::load;
use crate::long;
use crate::mail::{Mail, Mailbox, waker};
use crate::settings::{Acknowledge, Settings};
use crate::shared::{Shared, now_millis};
use crate::stream::Stream;
use crate::tls::Tls;
use crate::worker::{MAIL, Worker};
use anyhow::Context;
use holm::{Database, Durability};
use holm_commands::{At, Databases};
use mio::net::{TcpListener, UnixListener};
use mio::{Events, Interest, Poll, Token};
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const STOP: Token = Token(0);
const TCP: Token = Token(1);
const UNIX: Token = Token(2);
const TLS: Token = Token(3);

/// How long a connection is silent before the system asks whether the client is there.
const KEEP_ALIVE: Duration = Duration::from_secs(300);

/// How long the sweep pauses when nothing is due.
const SWEEP_PAUSE: Duration = Duration::from_millis(100);

/// A running server. It stops when it is asked to, and not when this is dropped.
pub struct Server {
    address: SocketAddr,
    tls_address: Option<SocketAddr>,
    http_address: Option<SocketAddr>,
    shared: Arc<Shared>,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl Server {
    /// Reads the files that the settings name, and does nothing else.
    ///
    /// # Errors
    /// The ACL file or the certificates cannot be used.
    pub fn check(settings: &Settings) -> anyhow::Result<()> {
        Acl::open(settings)?;
        Tls::open(settings).map(drop)
    }

    /// Opens the database, listens, and starts all threads.
    ///
    /// # Errors
    /// The database cannot be opened, or the address cannot be listened on.
    pub fn start(settings: Settings) -> anyhow::Result<Self> {
        let durability = match settings.acknowledge {
            Acknowledge::Applied => Durability::default(),
            Acknowledge::Synced | Acknowledge::None => Durability::OnSync,
        };
        let acl = Acl::open(&settings)?;
        let tls = Tls::open(&settings)?;
        let listener = listen(settings.listen)?;
        let address = listener.local_addr()?;
        let tls_listener = settings.tls_listen.map(listen).transpose()?;
        let tls_address = tls_listener.as_ref().map(TcpListener::local_addr).transpose()?;
        let path = settings.path.clone();
        let builder = Database::builder().durability(durability);
        let builder = settings.design.iter().fold(builder, |builder, design| builder.design(design));
        let db = builder.open(&path).with_context(|| format!("opening {}", path.display()))?;
        tracing::info!(path = %path.display(), recovery = ?db.recovery().source, "opened");
        let databases = Databases::open(db, settings.databases)?;
        databases.notifications().set(settings.notify_keyspace_events.as_bytes());
        if let Some(file) = &settings.load {
            let count = load::load(&databases, file, now_millis())?;
            tracing::info!(count, file = %file.display(), "loaded");
        }
        let polls = (0..settings.worker_count()).map(|_| Poll::new()).collect::<Result<Vec<_>, _>>()?;
        let mailboxes = polls.iter().map(|poll| Ok(Mailbox::new(waker(poll, MAIL)?))).collect::<anyhow::Result<_>>()?;
        let poll = Poll::new()?;
        let acceptor = Acceptor::new(&settings, listener, tls_listener, poll)?;
        let wake = waker(&acceptor.poll, STOP)?;
        let shared = Arc::new(Shared::new(settings, acl, tls, databases, mailboxes, wake, address.port())?);
        // Without the database: a thread of the database holds this, and must not be the one that drops it.
        let mailboxes = shared.mailboxes.clone();
        shared.databases().holm().on_sync(move || mailboxes.iter().for_each(Mailbox::ring));
        let mut workers = Vec::new();
        for (number, poll) in polls.into_iter().enumerate() {
            let worker = Worker::new(number, shared.clone(), poll);
            let thread = std::thread::Builder::new().name(format!("worker-{number}"));
            workers.push(thread.spawn(move || worker.run())?);
        }
        let mut long = Vec::new();
        for number in 0..long::THREADS {
            let (shared, thread) = (shared.clone(), std::thread::Builder::new().name(format!("long-{number}")));
            long.push(thread.spawn(move || long::run(&shared, number))?);
        }
        let http = shared.settings.http.map(|address| Http::start(address, &shared)).transpose()?;
        let http_address = http.as_ref().map(Http::address);
        let following = shared.clone();
        let thread = std::thread::Builder::new().name("changes".into());
        let follower = thread.spawn(move || followers::run(&following))?;
        let (stop_sweep, stopped) = mpsc::channel();
        let sweeping = shared.clone();
        let sweeper = std::thread::Builder::new().name("sweep".into()).spawn(move || sweep(&sweeping, &stopped))?;
        let served = shared.clone();
        let thread = std::thread::Builder::new().name("accept".into()).spawn(move || {
            let accepted = acceptor.run(&served);
            served.stop();
            for worker in workers {
                worker.join().map_err(|_| anyhow::anyhow!("a worker has panicked"))??;
            }
            served.long.stop();
            for thread in long {
                thread.join().map_err(|_| anyhow::anyhow!("a thread of long commands has panicked"))?;
            }
            // Before the database is closed: pages read it.
            http.map_or(Ok(()), Http::stop)?;
            drop(stop_sweep);
            follower.join().map_err(|_| anyhow::anyhow!("the thread of changes has panicked"))?;
            sweeper.join().map_err(|_| anyhow::anyhow!("the sweep has panicked"))?;
            let db = served.databases().holm().clone();
            db.sync()?;
            db.close()?;
            tracing::info!("closed");
            accepted
        })?;
        let (tls, http) = (tls_address.map(tracing::field::display), http_address.map(tracing::field::display));
        tracing::info!(%address, tls, http, "listening");
        Ok(Server { address, tls_address, http_address, shared, thread })
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address that the server listens on with TLS.
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.tls_address
    }

    /// Returns the address that the server listens on for HTTP.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http_address
    }

    /// Returns something that reads the certificates again, from any thread. If that fails, the old ones stay.
    pub fn reloader(&self) -> impl Fn() + Send + Sync + use<> {
        let shared = self.shared.clone();
        move || match shared.tls.as_ref().map(Tls::reload) {
            None => tracing::info!("there are no certificates to read again"),
            Some(Ok(())) => tracing::info!("the certificates were read again"),
            Some(Err(error)) => tracing::error!(error = format!("{error:#}"), "the old certificates stay"),
        }
    }

    /// Returns something that stops the server, from any thread.
    pub fn stopper(&self) -> impl Fn() + Send + Sync + use<> {
        let shared = self.shared.clone();
        move || shared.stop()
    }

    /// Lets the server finish: it takes no new connections, sends the replies to what it has read, syncs and closes.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// Waits until the server has stopped.
    ///
    /// # Errors
    /// Something has failed of which no client can know.
    pub fn join(self) -> anyhow::Result<()> {
        drop(self.shared);
        self.thread.join().map_err(|_| anyhow::anyhow!("the accepting thread has panicked"))?
    }
}

/// Removes what has expired, until the server stops.
fn sweep(shared: &Shared, stopped: &mpsc::Receiver<()>) {
    let mut pause = SWEEP_PAUSE;
    while let Err(mpsc::RecvTimeoutError::Timeout) = stopped.recv_timeout(pause) {
        shared.rates.sample(Instant::now(), || shared.statistics.growing());
        // During a pause, keys stay as they are.
        if !shared.sweeps.load(Ordering::SeqCst) || shared.pause.is_on() {
            continue;
        }
        let at = At { database: 0, now: now_millis(), seed: 0, cursors: &shared.cursors };
        let started = Instant::now();
        let databases = shared.present_databases();
        drop_flushed(&databases);
        let swept = databases.sweep(at);
        shared.latency.note(started.elapsed(), || now_millis() / 1_000, || "expire-cycle");
        pause = match swept {
            Ok(swept) => {
                shared.statistics.expired.fetch_add(swept.expired, Ordering::Relaxed);
                shared.publish(&swept.effects, 0);
                if swept.more { Duration::ZERO } else { SWEEP_PAUSE }
            }
            Err(refusal) => {
                tracing::warn!(error = %refusal.into_text(), "a sweep has failed");
                Duration::from_secs(1)
            }
        };
    }
}

/// Drops what databases had before they were flushed.
fn drop_flushed(databases: &Databases) {
    let flushed = databases.flushed();
    let dropped =
        flushed.and_then(|names| names.iter().try_for_each(|name| databases.holm().drop_keyspace(name).map(drop)));
    if let Err(error) = dropped {
        tracing::warn!(%error, "what was flushed cannot be dropped yet");
    }
}

fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).with_context(|| format!("listening on {address}"))
}

/// Accepts connections and gives them to the workers in turn.
struct Acceptor {
    poll: Poll,
    tcp: TcpListener,
    tls: Option<TcpListener>,
    unix: Option<UnixListener>,
    next: u64,
}

impl Acceptor {
    fn new(
        settings: &Settings,
        mut tcp: TcpListener,
        mut tls: Option<TcpListener>,
        poll: Poll,
    ) -> anyhow::Result<Self> {
        poll.registry().register(&mut tcp, TCP, Interest::READABLE)?;
        if let Some(tls) = &mut tls {
            poll.registry().register(tls, TLS, Interest::READABLE)?;
        }
        let mut unix = None;
        if let Some(path) = &settings.unix_socket {
            // A socket that a server has left behind; nobody listens on it. A file refuses connections as well.
            let is_socket = std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
            let is_refused = |error: io::Error| error.kind() == ErrorKind::ConnectionRefused;
            if is_socket && std::os::unix::net::UnixStream::connect(path).is_err_and(is_refused) {
                std::fs::remove_file(path).with_context(|| format!("removing {}", path.display()))?;
            }
            let mut listener = UnixListener::bind(path).with_context(|| format!("listening on {}", path.display()))?;
            poll.registry().register(&mut listener, UNIX, Interest::READABLE)?;
            unix = Some(listener);
        }
        Ok(Acceptor { poll, tcp, tls, unix, next: 1 })
    }

    fn run(mut self, shared: &Shared) -> anyhow::Result<()> {
        let mut events = Events::with_capacity(16);
        while !shared.is_stopping() {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => other?,
            }
            self.accept_all(shared);
        }
        if let Some(path) = &shared.settings.unix_socket {
            // The next server removes it, too.
            let _ = std::fs::remove_file(path);
        }
        Ok(())
    }

    /// Accepts one connection of any listener that has one.
    fn accept_one(&self, shared: &Shared) -> io::Result<(Stream, String)> {
        let is_empty = |error: &io::Error| error.kind() == ErrorKind::WouldBlock;
        let over_tcp = |listener: &TcpListener| {
            let (stream, address) = listener.accept()?;
            // Replies are sent whole, so nothing is gained by delaying them.
            let _ = stream.set_nodelay(true);
            // A client whose machine is gone says nothing. The probes end its connection.
            let probes = socket2::TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE / 4);
            let _ = socket2::SockRef::from(&stream).set_tcp_keepalive(&probes);
            Ok((stream, address.to_string()))
        };
        match over_tcp(&self.tcp) {
            Ok((stream, address)) => return Ok((Stream::Tcp(stream), address)),
            Err(error) if is_empty(&error) => {}
            Err(error) => return Err(error),
        }
        if let (Some(listener), Some(tls)) = (&self.tls, &shared.tls) {
            match over_tcp(listener) {
                Ok((stream, address)) => {
                    let stream = tls.begin(stream).map_err(io::Error::other)?;
                    return Ok((Stream::Tls(Box::new(stream)), address));
                }
                Err(error) if is_empty(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let (stream, _) = self.unix.as_ref().ok_or(ErrorKind::WouldBlock)?.accept()?;
        Ok((Stream::Unix(stream), "unix:0".to_owned()))
    }

    fn accept_all(&mut self, shared: &Shared) {
        while !shared.is_stopping() {
            match self.accept_one(shared) {
                Ok((stream, address)) => self.welcome(shared, stream, address),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    // Mostly too many open files: without a pause this would go round and round.
                    std::thread::sleep(Duration::from_millis(10));
                    return;
                }
            }
        }
    }

    fn welcome(&mut self, shared: &Shared, mut stream: Stream, address: String) {
        if shared.clients.count() >= shared.max_clients.load(Ordering::Relaxed) {
            shared.statistics.rejected_connections.fetch_add(1, Ordering::Relaxed);
            // One small write, which a new socket takes.
            let _ = stream.write(b"-ERR max number of clients reached\r\n");
            return;
        }
        shared.statistics.connections.fetch_add(1, Ordering::Relaxed);
        let id = self.next;
        self.next += 1;
        let worker = (id % shared.mailboxes.len() as u64) as usize;
        shared.mailboxes[worker].send(Mail::Connection { id, stream, address });
    }
}
