//! `redis-large`: `holm-server` beside `redis-server` with many keys: the memory that they take, and how long a SCAN of
//! all of them takes, in turns.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::redis_bench::{RedisBench, Servers, median, spread};

/// Keys that one write sets.
const BATCH: usize = 1_000;

/// How much to measure.
#[derive(clap::Args)]
pub(crate) struct RedisLarge {
    /// Rounds of the scan.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Keys.
    #[arg(long, default_value_t = 1_000_000)]
    keys: usize,
    /// Bytes of a value.
    #[arg(long, default_value_t = 100)]
    bytes: usize,
    /// This program in place of the one that is built.
    #[arg(long)]
    server: Option<PathBuf>,
}

/// A connection to either server.
struct Client(BufReader<TcpStream>);

impl Client {
    fn connect(port: u16) -> Result<Self> {
        Ok(Client(BufReader::new(TcpStream::connect(("127.0.0.1", port))?)))
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        if line.starts_with('-') || line.is_empty() {
            bail!("the server has answered {line:?}");
        }
        Ok(line.trim_end().to_owned())
    }

    fn length(&mut self) -> Result<usize> {
        let line = self.line()?;
        line.get(1..).and_then(|number| number.parse().ok()).with_context(|| format!("no length: {line}"))
    }

    /// Sets all keys, in an order that is not theirs.
    fn fill(&mut self, settings: &RedisLarge) -> Result<()> {
        let value = "x".repeat(settings.bytes);
        for first in (0..settings.keys).step_by(BATCH) {
            let batch = first..settings.keys.min(first + BATCH);
            let set = |number: usize| {
                let key = format!("key:{:012}", number * 7_919 % settings.keys);
                format!("*3\r\n$3\r\nset\r\n${}\r\n{key}\r\n${}\r\n{value}\r\n", key.len(), value.len())
            };
            let commands: String = batch.clone().map(set).collect();
            self.0.get_mut().write_all(commands.as_bytes())?;
            batch.into_iter().try_for_each(|_| self.line().map(drop))?;
        }
        Ok(())
    }

    /// Scans all keys. Returns how many there were, and the time.
    fn scan(&mut self) -> Result<(usize, Duration)> {
        let (started, mut cursor, mut count) = (Instant::now(), "0".to_owned(), 0);
        loop {
            let command = format!("*4\r\n$4\r\nscan\r\n${}\r\n{cursor}\r\n$5\r\ncount\r\n$4\r\n1000\r\n", cursor.len());
            self.0.get_mut().write_all(command.as_bytes())?;
            self.line()?;
            self.line()?;
            cursor = self.line()?;
            let found = self.length()?;
            for _ in 0..found {
                self.line()?;
                self.line()?;
            }
            count += found;
            if cursor == "0" {
                return Ok((count, started.elapsed()));
            }
        }
    }
}

/// Returns the resident MiB of a process: its own, and those of files.
fn resident(process: u32) -> Result<(u64, u64)> {
    let status = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("status"))?;
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) >> 10
    };
    Ok((of("RssAnon:"), of("RssFile:")))
}

pub(crate) fn run(settings: &RedisLarge) -> Result<()> {
    let both = Servers::start("redis-large", settings.server.as_deref(), &RedisBench::default())?;
    let servers = [&both.redis, &both.holm];
    println!("{} keys, values of {} bytes\n", settings.keys, settings.bytes);
    println!("| | MiB of its own | MiB of files |\n|---|---|---|");
    for (name, server) in ["redis-server", "holm-server"].iter().zip(servers) {
        Client::connect(server.port())?.fill(settings)?;
        let (own, files) = resident(server.id())?;
        println!("| {name} | {own} | {files} |");
    }
    let mut ratios = Vec::new();
    for round in 0..settings.rounds {
        let mut times = [Duration::ZERO; 2];
        for turn in 0..2 {
            let which = (round + turn) % 2;
            let (count, time) = Client::connect(servers[which].port())?.scan()?;
            if count != settings.keys {
                bail!("{count} keys were scanned");
            }
            times[which] = time;
        }
        ratios.push(times[0].as_secs_f64() / times[1].as_secs_f64());
    }
    let spread = spread(&ratios);
    println!("\nSCAN of all keys: {:.2} times as fast, {:.2} to {:.2}", median(&ratios), spread.0, spread.1);
    Ok(())
}
