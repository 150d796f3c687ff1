//! Settings: the command line, and a file of the same options.

use crate::output_limits;
use anyhow::{Context, anyhow, bail};
use clap::{Parser, ValueEnum};
use holm_commands::Notifications;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What a reply to a write means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Acknowledge {
    /// The write survives the death of the process; a power cut takes the last few milliseconds.
    Applied,
    /// The write survives a power cut.
    Synced,
    /// As applied, and a power cut may take more: nothing is synced before it must be.
    None,
}

impl Acknowledge {
    /// Returns the name that the option has.
    pub fn name(self) -> &'static str {
        match self {
            Acknowledge::Applied => "applied",
            Acknowledge::Synced => "synced",
            Acknowledge::None => "none",
        }
    }
}

/// Which channels new users may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub enum ChannelDefault {
    /// All.
    AllChannels,
    /// None.
    ResetChannels,
}

impl ChannelDefault {
    pub(crate) fn allows_all(self) -> bool {
        self == ChannelDefault::AllChannels
    }
}

/// Serves a database of Holm to clients of the Redis protocol.
#[derive(Clone, Debug, Parser)]
#[command(name = "holm-server", version, args_override_self = true)]
pub struct Settings {
    /// The folder of the database, created if it is absent
    pub path: PathBuf,
    /// The address to listen on; port 0 takes any free port
    #[arg(long, default_value = "127.0.0.1:6379", value_name = "ADDRESS")]
    pub listen: SocketAddr,
    /// An address to listen on with TLS as well
    #[arg(long, value_name = "ADDRESS")]
    pub tls_listen: Option<SocketAddr>,
    /// The server's certificate and those between it and its authority, as PEM; read again at SIGHUP
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// The private key of the certificate, as PEM
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// The authorities of clients' certificates, as PEM; clients must have one then
    #[arg(long, value_name = "FILE")]
    pub tls_client_ca: Option<PathBuf>,
    /// An address for HTTP: a page for operators at /, and metrics at /metrics
    #[arg(long, value_name = "ADDRESS")]
    pub http: Option<SocketAddr>,
    /// A Unix socket to listen on as well
    #[arg(long, value_name = "PATH")]
    pub unix_socket: Option<PathBuf>,
    /// The number of threads that serve clients; by default the number of processors less one, at least one
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// What a reply to a write means
    #[arg(long, value_enum, default_value = "applied")]
    pub acknowledge: Acknowledge,
    /// The leaf design of a folder that is created: buffered, holm, or clustered for data larger than memory
    #[arg(long, value_name = "NAME")]
    pub design: Option<String>,
    /// The number of databases that SELECT knows
    #[arg(long, default_value_t = 16, value_name = "N")]
    pub databases: u32,
    /// The password that clients must give; without one, only loopback addresses are listened on
    #[arg(long, value_name = "PASSWORD", env = "HOLM_SERVER_PASSWORD", hide_env_values = true)]
    pub requirepass: Option<String>,
    /// A file of users, one in each line; it excludes --requirepass
    #[arg(long, value_name = "FILE")]
    pub aclfile: Option<PathBuf>,
    /// The channels of new users
    #[arg(long, value_enum, default_value = "resetchannels", value_name = "WHICH")]
    pub acl_pubsub_default: ChannelDefault,
    /// The most clients at one time
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    pub maxclients: usize,
    /// The most bytes of one argument of a command
    #[arg(long, default_value_t = 512 << 20, value_name = "BYTES")]
    pub max_request: usize,
    /// The bytes of replies that may wait for a client: class, hard limit, soft limit and its seconds, such as
    /// `normal 64mb 0 0`, of normal, replica and pubsub; 0 for none. May be given several times
    #[arg(long, value_name = "LIMITS")]
    pub client_output_buffer_limit: Vec<String>,
    /// Commands that take longer are kept for SLOWLOG; negative for none
    #[arg(long, default_value_t = 10_000, value_name = "MICROSECONDS", allow_negative_numbers = true)]
    pub slowlog_log_slower_than: i64,
    /// The most slow commands that are kept
    #[arg(long, default_value_t = 128, value_name = "N")]
    pub slowlog_max_len: usize,
    /// What takes longer is kept for LATENCY; 0 for nothing
    #[arg(long, default_value_t = 0, value_name = "MILLISECONDS")]
    pub latency_monitor_threshold: u64,
    /// The events about keys that subscribers get, as letters: K or E for the channels, A for all classes
    #[arg(long, default_value = "", value_name = "LETTERS")]
    pub notify_keyspace_events: String,
    /// The most keys that are noted for client-side caching; 0 for any number
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub tracking_table_max_keys: usize,
    /// A file of keys and values, separated by tabs, to store in database 0 before clients are served
    #[arg(long, value_name = "FILE")]
    pub load: Option<PathBuf>,
    /// A file with one option in each line, without the dashes; the command line has precedence
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Check the settings, and serve nobody
    #[arg(long)]
    pub check_config: bool,
}

impl Settings {
    /// Reads settings from a command line whose first word is the program's name. Options of the file that it names
    /// come before its own.
    ///
    /// # Errors
    /// What is wrong with the command line or the file.
    pub fn read(words: impl IntoIterator<Item = impl Into<OsString>>) -> anyhow::Result<Self> {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        let settings = Settings::try_parse_from(&words)?;
        let settings = match &settings.config {
            None => settings,
            Some(path) => {
                let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
                let options = text.lines().filter_map(option_of_line);
                let (program, rest) = words.split_at(words.len().min(1));
                Settings::try_parse_from(program.iter().cloned().chain(options).chain(rest.iter().cloned()))?
            }
        };
        settings.check()?;
        Ok(settings)
    }

    /// Returns settings for a folder, with a free port of the loopback address: for tests.
    ///
    /// # Errors
    /// As [`Settings::read`].
    pub fn for_folder(path: &std::path::Path, options: &[&str]) -> anyhow::Result<Self> {
        let words = ["holm-server", "--listen", "127.0.0.1:0"].map(OsString::from);
        let options = options.iter().map(OsString::from);
        Settings::read(words.into_iter().chain([path.as_os_str().to_owned()]).chain(options))
    }

    fn check(&self) -> anyhow::Result<()> {
        let has_password = self.requirepass.as_deref().is_some_and(|password| !password.is_empty());
        if self.is_exposed() && !has_password && self.aclfile.is_none() {
            bail!(
                "refusing to listen beyond the loopback address without a password: set --requirepass or --aclfile, or \
                 listen on 127.0.0.1 only"
            );
        }
        if has_password && self.aclfile.is_some() {
            bail!("--requirepass and --aclfile exclude each other: give the user `default` a password in the file");
        }
        if self.tls_listen.is_none() && (self.tls_cert.is_some() || self.tls_client_ca.is_some()) {
            bail!("--tls-cert and --tls-client-ca need --tls-listen");
        }
        if !Notifications::default().set(self.notify_keyspace_events.as_bytes()) {
            bail!("--notify-keyspace-events takes letters of Ag$lshzxeKEtmdn");
        }
        for limits in &self.client_output_buffer_limit {
            output_limits::check(limits).map_err(|why| anyhow!("--client-output-buffer-limit {limits:?}: {why}"))?;
        }
        if self.workers == Some(0) || self.databases == 0 || self.databases > 1_024 || self.maxclients == 0 {
            bail!("--workers and --maxclients are at least 1, --databases between 1 and 1024");
        }
        Ok(())
    }

    /// Returns whether an address beyond the loopback is listened on.
    pub fn is_exposed(&self) -> bool {
        [Some(self.listen), self.tls_listen, self.http].iter().flatten().any(|address| !address.ip().is_loopback())
    }

    /// Returns the number of worker threads.
    pub fn worker_count(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        self.workers.unwrap_or_else(|| processors().saturating_sub(1).max(1))
    }
}

/// Returns the name of the option that a line of the file sets.
pub(crate) fn name_of_line(line: &str) -> Option<&str> {
    line.split_whitespace().next().filter(|name| !name.starts_with('#'))
}

/// Turns `name value` into `--name=value`. Empty lines and comments are none.
fn option_of_line(line: &str) -> Option<OsString> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    Some(match line.split_once(char::is_whitespace) {
        Some((name, value)) => format!("--{name}={}", value.trim().trim_matches('"')).into(),
        None => format!("--{line}").into(),
    })
}
