//! `redis-compare`: plays the same commands by chance to `holm-server` and to `redis-server`, and compares each reply.
//!
//! A seed is a history of commands on one connection. One that shows a difference is shortened, command by command,
//! for as long as it shows any, and printed. What is not compared: the order in which hashes and sets answer, what is
//! left of a time to the millisecond, and commands that answer by chance.

mod client;
mod grammar;

use anyhow::{Context, Result, bail};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::redis_bench::{RedisBench, Servers};
use client::{Client, Reply, Words};
use grammar::{Grammar, Order};

/// What to play.
#[derive(clap::Args)]
pub(crate) struct RedisCompare {
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seeds, unless the time is over before.
    #[arg(long, default_value_t = u64::MAX)]
    count: u64,
    /// Seconds.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Commands of a seed.
    #[arg(long, default_value_t = 300)]
    commands: usize,
    /// Ends after that number of differences.
    #[arg(long, default_value_t = 10)]
    differences: usize,
    /// How many commands of a hundred have an argument that they do not expect.
    #[arg(long, default_value_t = 4)]
    wrong: u32,
    /// Only these commands.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// This program in place of the one that is built.
    #[arg(long)]
    server: Option<PathBuf>,
}

/// What two servers have answered differently.
#[derive(Debug)]
struct Difference {
    /// How many commands of the history were played, this one among them.
    at: usize,
    redis: Reply,
    holm: Reply,
}

/// Sorts the items of an array, in groups of that many.
fn sorted(reply: Reply, group: usize) -> Reply {
    match reply {
        Reply::Array { kind, items } => {
            let mut groups: Vec<_> = items.chunks(group).map(<[Reply]>::to_vec).collect();
            groups.sort_unstable();
            Reply::Array { kind, items: groups.concat() }
        }
        other => other,
    }
}

/// The number that a reply is, if it is one.
fn number(reply: &Reply) -> Option<f64> {
    let (Reply::Line { kind: b':' | b',', text } | Reply::Bulk(text)) = reply else { return None };
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Whether two replies are alike. Any error is the same as any other one: which of several comes first, and in
/// which words, is not compared. Floating point numbers may have other digits.
fn same(redis: &Reply, holm: &Reply) -> bool {
    match (redis, holm) {
        (Reply::Line { kind: b'-', .. }, Reply::Line { kind: b'-', .. }) => true,
        (Reply::Array { kind: a, items: redis }, Reply::Array { kind: b, items: holm }) => {
            a == b && redis.len() == holm.len() && redis.iter().zip(holm).all(|(redis, holm)| same(redis, holm))
        }
        (Reply::Bulk(_), Reply::Bulk(_)) | (Reply::Line { kind: b',', .. }, Reply::Line { kind: b',', .. }) => {
            let close = |(redis, holm): (f64, f64)| (redis - holm).abs() <= redis.abs() * 1e-15;
            redis == holm || number(redis).zip(number(holm)).is_some_and(close)
        }
        _ => redis == holm,
    }
}

/// Whether two replies are equal, as far as the command orders them.
fn agree(redis: &Reply, holm: &Reply, order: Order) -> bool {
    if same(redis, holm) {
        return true;
    }
    match order {
        Order::Exact => false,
        Order::Any => sorted(redis.clone(), 1) == sorted(holm.clone(), 1),
        Order::Pairs => sorted(redis.clone(), 2) == sorted(holm.clone(), 2),
        Order::Near => number(redis)
            .zip(number(holm))
            .is_some_and(|(redis, holm)| redis > 0.0 && holm > 0.0 && (redis - holm).abs() < 60_000.0),
        Order::Kind => std::mem::discriminant(redis) == std::mem::discriminant(holm),
    }
}

/// Replies to `EXEC` are compared as those of the commands that were queued.
fn agree_all(redis: &Reply, holm: &Reply, queued: &[Order]) -> bool {
    match (redis, holm) {
        (Reply::Array { items: redis, .. }, Reply::Array { items: holm, .. }) if redis.len() == holm.len() => {
            let orders = queued.iter().copied().chain(std::iter::repeat(Order::Exact));
            redis.iter().zip(holm).zip(orders).all(|((redis, holm), order)| agree(redis, holm, order))
        }
        _ => redis == holm,
    }
}

/// Plays a history on new connections to empty servers. Returns the first difference.
fn play(ports: [u16; 2], history: &[Words]) -> Result<Option<Difference>> {
    let [mut redis, mut holm] = [Client::connect(ports[0])?, Client::connect(ports[1])?];
    let flush = [b"FLUSHALL".to_vec()];
    redis.ask(&flush)?;
    holm.ask(&flush)?;
    let mut queued: Vec<Order> = Vec::new();
    let mut in_transaction = false;
    for (at, words) in history.iter().enumerate() {
        if in_transaction && grammar::is_refused_in_transactions(words) {
            continue;
        }
        redis.send(words)?;
        holm.send(words)?;
        let (redis, holm) = (redis.reply()?, holm.reply().with_context(|| format!("after {}", line(words)))?);
        let is_queued = matches!(&redis, Reply::Line { kind: b'+', text } if text == b"QUEUED");
        let is_error = matches!(&redis, Reply::Line { kind: b'-', .. });
        match &words[0][..] {
            b"MULTI" if !is_error => {
                in_transaction = true;
                queued.clear();
            }
            b"EXEC" | b"DISCARD" | b"RESET" if words.len() == 1 => in_transaction = false,
            _ => {}
        }
        let is_equal = if words[0] == b"EXEC" {
            agree_all(&redis, &holm, &queued)
        } else {
            agree(&redis, &holm, grammar::order(words))
        };
        if !is_equal {
            return Ok(Some(Difference { at: at + 1, redis, holm }));
        }
        if is_queued {
            queued.push(grammar::order(words));
        }
    }
    Ok(None)
}

/// Leaves commands out for as long as any difference is left.
fn shorten(ports: [u16; 2], mut history: Vec<Words>, mut difference: Difference) -> Result<(Vec<Words>, Difference)> {
    history.truncate(difference.at);
    let mut chunk = (history.len() / 2).max(1);
    loop {
        let (mut at, mut shorter) = (0, false);
        while at < history.len() {
            let mut fewer = history.clone();
            fewer.drain(at..(at + chunk).min(history.len()));
            match play(ports, &fewer)? {
                Some(found) => {
                    fewer.truncate(found.at);
                    (history, difference, shorter) = (fewer, found, true);
                }
                None => at += chunk,
            }
        }
        if chunk == 1 && !shorter {
            return Ok((history, difference));
        }
        chunk = (chunk / 2).max(1);
    }
}

fn line(words: &[Vec<u8>]) -> String {
    let quoted = |word: &Vec<u8>| {
        let text = word.escape_ascii().to_string();
        if text.is_empty() || text.contains([' ', '\\']) { format!("\"{text}\"") } else { text }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

pub(crate) fn run(settings: &RedisCompare) -> Result<()> {
    let servers = Servers::start("compare", settings.server.as_deref(), &RedisBench::default())?;
    let (ports, grammar, begin) = (servers.ports(), Grammar::new(&settings.only, settings.wrong), Instant::now());
    let (mut seeds, mut commands, mut differences) = (0, 0, 0);
    for seed in (settings.seed..).take(usize::try_from(settings.count).unwrap_or(usize::MAX)) {
        if begin.elapsed() > Duration::from_secs(settings.seconds) || differences >= settings.differences {
            break;
        }
        let mut chance = Pcg64Mcg::seed_from_u64(seed);
        let history: Vec<_> = (0..settings.commands).map(|_| grammar.draw(&mut chance).0).collect();
        (seeds, commands) = (seeds + 1, commands + history.len());
        let Some(difference) = play(ports, &history)? else { continue };
        let (history, difference) = shorten(ports, history, difference)?;
        differences += 1;
        println!("seed {seed}:");
        history.iter().for_each(|words| println!("    {}", line(words)));
        println!("    redis-server: {:?}\n    holm-server:  {:?}", difference.redis, difference.holm);
    }
    println!("{seeds} seeds, {commands} commands, {differences} differences");
    if differences > 0 {
        bail!("the servers answer differently");
    }
    Ok(())
}
