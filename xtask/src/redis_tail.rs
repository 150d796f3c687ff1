//! `redis-tail`: how long replies of `holm-server` and `redis-server` take at the same load.
//!
//! Each connection has a schedule: its requests are due at fixed times, the same for both servers. The time of a reply
//! counts from when its request was due and not from when it was sent, so a server that stands still answers for all
//! that was due meanwhile. The servers take turns, and who is first changes from round to round.

use anyhow::{Context, Result, bail};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::redis_bench::{COMMANDS, RedisBench, Servers, load_average, median, spread};

/// What to offer.
#[derive(clap::Args)]
pub(crate) struct RedisTail {
    /// Requests per second.
    #[arg(long, default_value_t = 10_000)]
    rate: u32,
    /// Connections.
    #[arg(long, default_value_t = 50)]
    clients: u32,
    /// Seconds of a round.
    #[arg(long, default_value_t = 5)]
    seconds: u32,
    /// Rounds of each command.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Commands.
    #[arg(long, value_delimiter = ',', default_value = "SET,GET,ZADD,HSET,HGET,LPUSH,RPOP")]
    commands: Vec<String>,
    /// Requests of each command before the first round, as fast as they go.
    #[arg(long, default_value_t = 200_000)]
    load: usize,
    /// Keys, fields and members that are drawn from.
    #[arg(long, default_value_t = 1_000_000)]
    keys: u64,
    /// This program in place of the one that is built.
    #[arg(long)]
    server: Option<PathBuf>,
}

/// Makes requests of one command, with numbers drawn by chance.
struct Requests {
    words: &'static [&'static str],
    keys: u64,
    state: u64,
}

impl Requests {
    fn new(words: &'static [&'static str], keys: u64) -> Self {
        Requests { words, keys, state: RandomState::new().hash_one(keys) | 1 }
    }

    fn push_to(&mut self, bytes: &mut Vec<u8>) {
        bytes.extend(format!("*{}\r\n", self.words.len()).bytes());
        for word in self.words {
            // Xorshift of Marsaglia.
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            let number = format!("{:012}", self.state % self.keys);
            let word = word.replace("__rand_int__", &number).replace("__data__", &"x".repeat(100));
            bytes.extend(format!("${}\r\n{word}\r\n", word.len()).bytes());
        }
    }
}

/// Reads a reply.
fn read_reply(stream: &mut BufReader<TcpStream>) -> Result<()> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let count = || line.get(1..).and_then(|count| count.trim().parse::<i64>().ok());
    match (line.as_bytes().first(), count()) {
        (Some(b'+' | b':'), _) => Ok(()),
        (Some(b'$'), Some(length)) if length >= 0 => Ok(stream.read_exact(&mut vec![0; length as usize + 2])?),
        (Some(b'*'), Some(count)) => (0..count).try_for_each(|_| read_reply(stream)),
        (Some(b'$'), Some(_)) => Ok(()),
        _ => bail!("the server has answered {line:?}"),
    }
}

fn connect(port: u16) -> Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    Ok(BufReader::new(stream))
}

/// Sends many requests in pipelines.
fn load(port: u16, mut requests: Requests, count: usize) -> Result<()> {
    let mut stream = connect(port)?;
    for begun in (0..count).step_by(100) {
        let batch = (count - begun).min(100);
        let mut bytes = Vec::new();
        (0..batch).for_each(|_| requests.push_to(&mut bytes));
        stream.get_mut().write_all(&bytes)?;
        (0..batch).try_for_each(|_| read_reply(&mut stream))?;
    }
    Ok(())
}

/// One connection: sends each request when it is due, or at once if that is past. Returns how long the replies took.
fn follow_schedule(
    port: u16,
    mut requests: Requests,
    first: Instant,
    gap: Duration,
    count: u32,
) -> Result<Vec<Duration>> {
    let mut stream = connect(port)?;
    let (mut took, mut bytes) = (Vec::with_capacity(count as usize), Vec::new());
    for number in 0..count {
        let due = first + gap * number;
        bytes.clear();
        requests.push_to(&mut bytes);
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        stream.get_mut().write_all(&bytes)?;
        read_reply(&mut stream)?;
        took.push(due.elapsed());
    }
    Ok(took)
}

/// Returns the time within which a part of the replies came, in milliseconds.
fn percentile(sorted: &[Duration], part: f64) -> f64 {
    let index = (sorted.len() as f64 * part) as usize;
    sorted.get(index.min(sorted.len().saturating_sub(1))).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}

/// Runs one round. Returns the median and the 99.9th percentile, in milliseconds.
fn round(settings: &RedisTail, port: u16, words: &'static [&'static str]) -> Result<(f64, f64)> {
    let gap = Duration::from_secs(1) * settings.clients / settings.rate;
    let count = settings.rate * settings.seconds / settings.clients;
    let begin = Instant::now() + Duration::from_millis(100);
    let mut all = std::thread::scope(|scope| {
        let follow = |client: u32| {
            let requests = Requests::new(words, settings.keys);
            scope.spawn(move || follow_schedule(port, requests, begin + gap / settings.clients * client, gap, count))
        };
        let threads: Vec<_> = (0..settings.clients).map(follow).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().ok().context("a client has panicked")??);
        }
        Ok::<_, anyhow::Error>(all)
    })?;
    all.sort_unstable();
    Ok((percentile(&all, 0.5), percentile(&all, 0.999)))
}

/// Measures a command, and prints its row.
fn measure(settings: &RedisTail, ports: [u16; 2], name: &str, words: &'static [&'static str]) -> Result<()> {
    // What is popped was pushed before.
    let loading = match name {
        "RPOP" => COMMANDS.iter().find(|(name, _)| *name == "LPUSH").map_or(words, |(_, words)| *words),
        _ => words,
    };
    let count =
        if name == "RPOP" { (settings.rate * settings.seconds) as usize * settings.rounds } else { settings.load };
    for port in ports {
        load(port, Requests::new(loading, settings.keys), count)?;
    }
    let mut measured = [Vec::new(), Vec::new()];
    for number in 0..settings.rounds {
        for which in if number % 2 == 0 { [0, 1] } else { [1, 0] } {
            measured[which].push(round(settings, ports[which], words)?);
        }
    }
    let of = |part: fn(&(f64, f64)) -> f64| measured.each_ref().map(|all| all.iter().map(part).collect::<Vec<_>>());
    let (middles, tails) = (of(|one| one.0), of(|one| one.1));
    let ratios: Vec<_> = tails[1].iter().zip(&tails[0]).map(|(holm, redis)| holm / redis).collect();
    let (low, high) = spread(&ratios);
    println!(
        "| {name} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {low:.2} to {high:.2} |",
        median(&middles[0]),
        median(&middles[1]),
        median(&tails[0]),
        median(&tails[1]),
        median(&ratios)
    );
    Ok(())
}

pub(crate) fn run(settings: &RedisTail) -> Result<()> {
    if settings.clients == 0 || settings.rate < settings.clients {
        bail!("each connection needs at least one request per second");
    }
    let servers = Servers::start("redis-tail", settings.server.as_deref(), &RedisBench::default())?;
    println!("load before: {}", load_average());
    println!(
        "milliseconds from when a request was due; medians of {} rounds of {} s, {} requests a second from {} \
         connections\n",
        settings.rounds, settings.seconds, settings.rate, settings.clients
    );
    println!("| command | p50 Redis | p50 Holm | p99.9 Redis | p99.9 Holm | ratio of p99.9 | spread |");
    println!("|---|---|---|---|---|---|---|");
    for (name, words) in COMMANDS {
        if settings.commands.iter().any(|wanted| wanted.eq_ignore_ascii_case(name)) {
            measure(settings, servers.ports(), name, words)?;
        }
    }
    println!("\nload after: {}", load_average());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Requests, follow_schedule, percentile};
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::{Duration, Instant};

    #[test]
    fn percentiles_are_times_of_replies() {
        let sorted: Vec<_> = (1..=1_000).map(Duration::from_millis).collect();
        assert_eq!((percentile(&sorted, 0.5), percentile(&sorted, 0.999)), (501.0, 1_000.0));
        assert!(percentile(&[], 0.5).is_nan());
    }

    /// A server that answers nothing for a while has delayed all requests that were due, though one alone was sent.
    #[test]
    fn what_was_due_meanwhile_counts() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = [0; 15];
            for _ in 0..10 {
                stream.read_exact(&mut bytes).unwrap();
                assert_eq!(&bytes[..4], b"*1\r\n");
                stream.write_all(b"+PONG\r\n").unwrap();
            }
        });
        // All were due a second ago.
        let first = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
        let took = follow_schedule(port, Requests::new(&["pings"], 1), first, Duration::ZERO, 10);
        server.join().unwrap();
        let took = took.unwrap();
        assert_eq!(took.len(), 10);
        assert!(took.iter().all(|time| *time >= Duration::from_secs(1)));
    }
}
