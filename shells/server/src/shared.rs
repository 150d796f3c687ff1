//! What all threads of a server share.

use crate::acl::Acl;
use crate::clients::{Client, Clients};
use crate::commands::OWN;
use crate::feeds::Feeds;
use crate::latency::Latency;
use crate::long::{LongCommands, THREADS};
use crate::mail::{ConnectionPlace, Mailbox};
use crate::output_limits::OutputLimits;
use crate::pause::Pause;
use crate::process_memory;
use crate::rates::Rates;
use crate::rereads::Rereads;
use crate::session::Found;
use crate::settings::{Acknowledge, Settings};
use crate::slow_log::SlowLog;
use crate::statistics::Statistics;
use crate::tls::Tls;
use crate::topics::Topics;
use crate::tracking::Tracking;
use crate::waiting::Waiting;
use holm_commands::{Arguments, CommandIndex, Cursors, Databases, Effects, Function, TABLE};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// What connections need of the server.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    /// Replaced by what replaces whole databases: FLUSHDB, FLUSHALL, SWAPDB.
    databases: RwLock<Arc<Databases>>,
    pub(crate) cursors: Cursors,
    pub(crate) data: CommandIndex<Function>,
    pub(crate) own: CommandIndex<crate::commands::OwnFunction>,
    pub(crate) acl: Acl,
    pub(crate) tls: Option<Tls>,
    pub(crate) clients: Clients,
    pub(crate) mailboxes: Arc<Vec<Mailbox>>,
    pub(crate) waiting: Waiting,
    pub(crate) pause: Pause,
    pub(crate) tracking: Tracking,
    pub(crate) topics: Topics,
    pub(crate) feeds: Feeds,
    pub(crate) statistics: Statistics,
    pub(crate) rates: Rates,
    pub(crate) slow_log: SlowLog,
    pub(crate) long: LongCommands,
    pub(crate) latency: Latency,
    pub(crate) stopping: AtomicBool,
    /// Whether what has expired is removed.
    pub(crate) sweeps: AtomicBool,
    /// Wakes the thread that accepts connections.
    pub(crate) acceptor: mio::Waker,
    pub(crate) started: Instant,
    /// The memory of its own that the server had before it served anybody.
    pub(crate) startup_bytes: u64,
    pub(crate) run_id: String,
    pub(crate) port: u16,
    /// By worker, and behind them by thread of long commands: it has written, and has not synced since. Only where
    /// replies wait for syncs.
    unsynced: Vec<AtomicBool>,
    pub(crate) max_clients: AtomicUsize,
    pub(crate) output_limits: OutputLimits,
    pub(crate) slower_than: AtomicI64,
    /// Parameters of CONFIG that are kept and have no effect.
    pub(crate) parameters: Mutex<BTreeMap<String, String>>,
}

impl Shared {
    pub(crate) fn new(
        settings: Settings,
        acl: Acl,
        tls: Option<Tls>,
        databases: Databases,
        mailboxes: Vec<Mailbox>,
        acceptor: mio::Waker,
        port: u16,
    ) -> anyhow::Result<Self> {
        let latency = Latency::default();
        latency.set_threshold(settings.latency_monitor_threshold);
        let random = || RandomState::new().hash_one(std::process::id());
        let output_limits = OutputLimits::new(&settings.client_output_buffer_limit).map_err(anyhow::Error::msg)?;
        Ok(Shared {
            cursors: Cursors::default(),
            data: CommandIndex::new(TABLE),
            own: CommandIndex::new(OWN),
            acl,
            tls,
            clients: Clients::default(),
            waiting: Waiting::default(),
            pause: Pause::default(),
            tracking: Tracking::new(settings.tracking_table_max_keys),
            topics: Topics::default(),
            feeds: Feeds::default(),
            statistics: Statistics::default(),
            rates: Rates::default(),
            slow_log: SlowLog::new(settings.slowlog_max_len),
            long: LongCommands::default(),
            latency,
            stopping: AtomicBool::new(false),
            sweeps: AtomicBool::new(true),
            started: Instant::now(),
            startup_bytes: process_memory::own_bytes(),
            run_id: format!("{:016x}{:016x}{:08x}", random(), random(), std::process::id()),
            unsynced: (0..mailboxes.len() + THREADS).map(|_| AtomicBool::new(false)).collect(),
            max_clients: AtomicUsize::new(settings.maxclients),
            output_limits,
            slower_than: AtomicI64::new(settings.slowlog_log_slower_than),
            parameters: Mutex::default(),
            databases: RwLock::new(Arc::new(databases)),
            settings,
            mailboxes: Arc::new(mailboxes),
            acceptor,
            port,
        })
    }

    /// Returns the databases, which stay as they are for as long as the caller keeps this. For commands that are short.
    pub(crate) fn databases(&self) -> RwLockReadGuard<'_, Arc<Databases>> {
        self.databases.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the databases as they are now. For what takes long: others may replace them meanwhile.
    pub(crate) fn present_databases(&self) -> Arc<Databases> {
        self.databases().clone()
    }

    /// Returns whether these are the databases of now.
    pub(crate) fn is_present(&self, databases: &Arc<Databases>) -> bool {
        Arc::ptr_eq(&self.databases(), databases)
    }

    /// Tells others what a command of a connection has done: those who wait for elements, those who hold keys in memory
    /// of their own, and subscribers of events.
    pub(crate) fn publish(&self, effects: &Effects, author: u64) {
        self.publish_transaction(effects, author, &Rereads::default());
    }

    /// As [`Shared::publish`], for commands of one transaction.
    pub(crate) fn publish_transaction(&self, effects: &Effects, author: u64, rereads: &Rereads) {
        self.waiting.wake(&effects.signals, &self.mailboxes);
        self.tracking.invalidate(&effects.changed, author, rereads, self);
        for event in &effects.events {
            for (channel, message) in self.databases().notifications().messages(event) {
                self.topics.publish(&channel, &message, &self.mailboxes);
            }
        }
    }

    /// Replaces the databases, between commands.
    pub(crate) fn replace_databases(
        &self,
        new: impl FnOnce(&Databases) -> holm::Result<Databases>,
    ) -> holm::Result<()> {
        let mut databases = self.databases.write().unwrap_or_else(PoisonError::into_inner);
        *databases = Arc::new(new(&databases)?);
        Ok(())
    }

    /// Finds a command of either table.
    pub(crate) fn command(&self, name: &[u8]) -> Option<Found> {
        let data = self.data.find(name).map(Found::Data);
        data.or_else(|| self.own.find(name).map(Found::Own))
    }

    /// Notes, before the first write of a worker since its last sync, that replies must wait for a sync.
    pub(crate) fn note_write(&self, worker: usize) {
        self.unsynced[worker].store(true, Ordering::SeqCst);
    }

    /// Carries out a command on a thread of long commands. What it has written is synced before this returns, if its
    /// reply promises that or if all replies do.
    pub(crate) fn synced_on<T>(&self, thread: usize, must_sync: bool, act: impl FnOnce() -> T) -> holm::Result<T> {
        let place = self.mailboxes.len() + thread;
        if self.settings.acknowledge == Acknowledge::Synced {
            self.note_write(place);
        }
        let done = act();
        if must_sync || self.settings.acknowledge == Acknowledge::Synced {
            self.present_databases().holm().sync()?;
            self.note_synced(place);
        }
        Ok(done)
    }

    /// Returns whether something that a worker has read may not be synced yet. A writer sets its flag before it writes
    /// and clears it after the sync, so who has seen the write sees the flag.
    pub(crate) fn may_have_read_unsynced(&self) -> bool {
        self.settings.acknowledge == Acknowledge::Synced
            && self.unsynced.iter().any(|unsynced| unsynced.load(Ordering::SeqCst))
    }

    /// Begins to make everything durable that was written before the call.
    pub(crate) fn begin_sync(&self) -> holm::Result<holm::PendingSync> {
        self.databases().holm().begin_sync()
    }

    /// Notes that all is synced that a worker has written.
    pub(crate) fn note_synced(&self, worker: usize) {
        self.unsynced[worker].store(false, Ordering::SeqCst);
    }

    /// Returns whether a command that took this time was slow.
    pub(crate) fn is_slow(&self, nanos: u64) -> bool {
        let slower_than = self.slower_than.load(Ordering::Relaxed);
        slower_than >= 0 && nanos / 1_000 >= slower_than as u64
    }

    /// Keeps a command for SLOWLOG if it was slow.
    pub(crate) fn note_slow(&self, arguments: &Arguments<'_>, nanos: u64, client: &Client, request: u64) {
        if self.is_slow(nanos) {
            self.slow_log.add(arguments, nanos / 1_000, client, request);
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Lets all threads finish.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        if let Err(error) = self.acceptor.wake() {
            tracing::error!(%error, "the accepting thread cannot be woken");
        }
        self.mailboxes.iter().for_each(Mailbox::wake);
        self.feeds.notify();
    }

    /// Sends mail to the worker of a connection.
    pub(crate) fn mailbox(&self, place: ConnectionPlace) -> &Mailbox {
        &self.mailboxes[place.worker]
    }
}

/// Returns the time of the day in milliseconds.
pub(crate) fn now_millis() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
