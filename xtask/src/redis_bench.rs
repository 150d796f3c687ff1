//! `redis-bench`: `holm-server` beside `redis-server`, under the same `redis-benchmark`, in the same minutes.
//!
//! Both servers run all the time. For each cell the two take turns, and who is first changes from round to round. A
//! ratio is that of one round's pair, so what the machine does meanwhile meets both. The table has the median and the
//! spread of the rounds, and marks the cells that lose.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::redis_suite::built;

/// What is measured: a name, and the words of the command, or none for one that the client has.
pub(crate) const COMMANDS: &[(&str, &[&str])] = &[
    ("SET", &["set", "key:__rand_int__", "__data__"]),
    ("GET", &["get", "key:__rand_int__"]),
    ("ZADD", &["zadd", "scores", "__rand_int__", "member:__rand_int__"]),
    ("ZRANGE", &["zrange", "scores", "0", "9"]),
    ("ZRANGEBYSCORE", &["zrangebyscore", "scores", "__rand_int__", "+inf", "limit", "0", "10"]),
    ("HSET", &["hset", "hash", "field:__rand_int__", "__data__"]),
    ("HGET", &["hget", "hash", "field:__rand_int__"]),
    ("LPUSH", &["lpush", "list", "__data__"]),
    ("RPOP", &["rpop", "list"]),
];

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct RedisBench {
    /// Rounds of each cell.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Requests of a round at P = 1; twice as many at 16 and four times at 64.
    #[arg(long, default_value_t = 100_000)]
    requests: usize,
    /// Connections.
    #[arg(long, default_value_t = 50)]
    clients: usize,
    /// Commands that a client sends before it reads their replies.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64])]
    pipelines: Vec<usize>,
    /// Only these commands.
    #[arg(long, value_delimiter = ',')]
    commands: Vec<String>,
    /// Keys, fields and members that are drawn from.
    #[arg(long, default_value_t = 1_000_000)]
    keys: usize,
    /// Bytes of a value.
    #[arg(long, default_value_t = 100)]
    bytes: usize,
    /// Workers of `holm-server`.
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// What a reply means: `synced` is compared with a Redis that syncs its log before each reply.
    #[arg(long, default_value = "applied", value_parser = ["applied", "synced", "none"])]
    acknowledge: String,
    /// This program in place of the one that is built.
    #[arg(long)]
    server: Option<PathBuf>,
}

/// A server that ends with the measurement.
pub(crate) struct Running {
    process: Child,
    port: u16,
}

impl Running {
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}

impl Default for RedisBench {
    fn default() -> Self {
        #[derive(clap::Parser)]
        struct Alone {
            #[command(flatten)]
            settings: RedisBench,
        }
        <Alone as clap::Parser>::parse_from(["redis-bench"]).settings
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder that is removed with what is in it.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Both servers, with the same settings, on the same disk.
pub(crate) struct Servers {
    pub(crate) redis: Running,
    pub(crate) holm: Running,
    folder: Folder,
}

impl Servers {
    /// Starts them for a measurement of that name. Without a program, `holm-server` is built.
    pub(crate) fn start(name: &str, program: Option<&Path>, settings: &RedisBench) -> Result<Self> {
        let program = match program {
            Some(program) => std::path::absolute(program)?,
            None => built()?,
        };
        let folder = Folder(std::env::temp_dir().join(format!("holm-{name}-{}", std::process::id())));
        std::fs::create_dir_all(&folder.0)?;
        let (redis, holm) = (start_redis(settings, &folder.0)?, start_holm(settings, &program, &folder.0)?);
        Ok(Servers { redis, holm, folder })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Returns the ports of Redis and of Holm.
    pub(crate) fn ports(&self) -> [u16; 2] {
        [self.redis.port, self.holm.port]
    }
}

/// Returns the load of the machine, as the kernel states it.
pub(crate) fn load_average() -> String {
    std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().to_owned()
}

/// Returns the least and the greatest of some numbers.
pub(crate) fn spread(numbers: &[f64]) -> (f64, f64) {
    numbers.iter().fold((f64::MAX, 0f64), |(low, high), one| (low.min(*one), high.max(*one)))
}

fn start_holm(settings: &RedisBench, program: &Path, folder: &Path) -> Result<Running> {
    let mut command = Command::new(program);
    command.arg(folder.join("bench.holm")).args(["--listen", "127.0.0.1:0"]);
    command.args(["--workers", &settings.workers.to_string(), "--acknowledge", &settings.acknowledge]);
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("starting holm-server")?;
    let mut line = String::new();
    if let Some(output) = process.stdout.take() {
        BufReader::new(output).read_line(&mut line)?;
    }
    let port = line.trim().rsplit(':').next().unwrap_or_default().parse();
    Ok(Running { process, port: port.context("holm-server has not started")? })
}

fn start_redis(settings: &RedisBench, folder: &Path) -> Result<Running> {
    // Freed again at once: Redis takes no port 0.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut command = Command::new("redis-server");
    command.current_dir(folder).args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
    if settings.acknowledge == "synced" {
        command.args(["--appendonly", "yes", "--appendfsync", "always"]);
    }
    let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("starting redis-server")?;
    let running = Running { process, port };
    for _ in 0..1_000 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Ok(running);
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    bail!("redis-server does not listen")
}

/// What a run of the client has shown.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Measured {
    /// Requests per second.
    rate: f64,
    /// The time within which 99.9 % of the replies came, in milliseconds. The client notes it for whole pipelines.
    tail: f64,
}

/// Reads what the client prints: the percentiles of its histogram, and a summary.
fn parse(text: &str) -> Option<Measured> {
    let lines = || text.split(['\n', '\r']).map(str::trim);
    let (_, percentiles) = text.split_once("Latency by percentile distribution:")?;
    let tail = percentiles.lines().find_map(|line| {
        let (percent, rest) = line.split_once("% <= ")?;
        let reached = percent.trim().parse::<f64>().ok()? >= 99.9;
        reached.then(|| rest.split(' ').next()?.parse().ok())?
    })?;
    let rate = lines().find_map(|line| line.strip_prefix("throughput summary: ")?.split(' ').next()?.parse().ok())?;
    Some(Measured { rate, tail })
}

/// Runs the client once.
fn measure(settings: &RedisBench, port: u16, pipeline: usize, words: &[&str]) -> Result<Measured> {
    let requests = settings.requests * if pipeline >= 64 { 4 } else { pipeline.min(2) };
    let data = "x".repeat(settings.bytes);
    let mut command = Command::new("redis-benchmark");
    command.args(["-p", &port.to_string(), "-c", &settings.clients.to_string(), "-P", &pipeline.to_string()]);
    command.args(["-n", &requests.to_string(), "-r", &settings.keys.to_string()]);
    command.args(words.iter().map(|word| if *word == "__data__" { &data[..] } else { *word }));
    let output = command.output().context("starting redis-benchmark")?;
    let text = String::from_utf8_lossy(&output.stdout);
    parse(&text).with_context(|| format!("no figure in what redis-benchmark has printed: {text}"))
}

pub(crate) fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Measures a cell, and prints its row. Returns whether it loses.
fn cell(settings: &RedisBench, ports: [u16; 2], pipeline: usize, (name, words): (&str, &[&str])) -> Result<bool> {
    let (mut redis, mut holm, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..settings.rounds {
        let of = |port| measure(settings, port, pipeline, words);
        let (one, other) = match round % 2 {
            0 => {
                let redis = of(ports[0])?;
                (redis, of(ports[1])?)
            }
            _ => {
                let holm = of(ports[1])?;
                (of(ports[0])?, holm)
            }
        };
        ratios.push(other.rate / one.rate);
        redis.push(one);
        holm.push(other);
    }
    let ratio = median(&ratios);
    let of = |all: &[Measured], part: fn(&Measured) -> f64| median(&all.iter().map(part).collect::<Vec<_>>());
    let spread = spread(&ratios);
    println!(
        "| {pipeline} | {name} | {:.0} | {:.0} | {ratio:.2} | {:.2} to {:.2} | {:.2} | {:.2} |{}",
        of(&redis, |one| one.rate) / 1e3,
        of(&holm, |one| one.rate) / 1e3,
        spread.0,
        spread.1,
        of(&redis, |one| one.tail),
        of(&holm, |one| one.tail),
        if ratio < 1.0 { " loses |" } else { " |" }
    );
    Ok(ratio < 1.0)
}

pub(crate) fn run(settings: &RedisBench) -> Result<()> {
    let servers = Servers::start("redis-bench", settings.server.as_deref(), settings)?;
    println!("load before: {}", load_average());
    println!(
        "thousands a second and the 99.9th percentile in milliseconds, medians of {} rounds, {} connections, {} bytes, \
         {} workers, {}\n",
        settings.rounds, settings.clients, settings.bytes, settings.workers, settings.acknowledge
    );
    println!("| P | command | redis-server | holm-server | ratio | spread | p99.9 Redis | p99.9 Holm | |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let mut losing = 0;
    for pipeline in &settings.pipelines {
        for command in COMMANDS {
            let is_wanted = |name: &String| name.eq_ignore_ascii_case(command.0);
            if settings.commands.is_empty() || settings.commands.iter().any(is_wanted) {
                losing += usize::from(cell(settings, servers.ports(), *pipeline, *command)?);
            }
        }
    }
    println!("\n{losing} cells lose; load after: {}", load_average());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_what_the_client_prints() {
        let text = "get key: rps=0.0\rLatency by percentile distribution:\n0.000% <= 0.103 milliseconds (c 1)\n\
            99.805% <= 5.2 milliseconds (c 2)\n99.902% <= 6.5 milliseconds (c 3)\n100.000% <= 7.5 milliseconds (c 4)\n\
            \nSummary:\n  throughput summary: 425531.94 requests per second\n";
        assert_eq!(parse(text), Some(Measured { rate: 425_531.94, tail: 6.5 }));
        assert_eq!(parse("no such server"), None);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert!(median(&[]).is_nan());
    }
}
