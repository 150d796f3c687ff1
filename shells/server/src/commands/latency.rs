//! LATENCY: when something took long, and how long commands take.

use super::subcommands;
use crate::latency::LatencyEvent;
use crate::session::Session;
use crate::shared::{Shared, now_millis};
use crate::statistics::{BUCKETS, Cost, bucket_micros};
use holm_commands::{Arguments, Outcome, Refusal, Reply, help, wrong_words};
use std::fmt::Write;

/// The width of a bar of LATENCY GRAPH.
const WIDTH: u64 = 50;

pub(super) fn latency(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    match (&arguments[1].to_ascii_lowercase()[..], arguments.len()) {
        (b"latest", 2) => Ok(latest(shared)),
        (b"history", 3) => Ok(history(shared, &arguments[2])),
        (b"reset", _) => Ok(Reply::count(shared.latency.forget(|name| {
            arguments.len() == 2 || arguments.from(2).any(|word| word.eq_ignore_ascii_case(name.as_bytes()))
        }))),
        (b"graph", 3) => graph(shared, &arguments[2]),
        (b"doctor", 2) => Ok(Reply::Verbatim(doctor(shared))),
        (b"histogram", _) => Ok(histogram(shared, arguments)),
        (b"help", _) => Ok(help("latency", subcommands::LATENCY)),
        _ => Err(wrong_words("latency", arguments)),
    }
}

fn integer(number: u64) -> Reply {
    Reply::Integer(i64::try_from(number).unwrap_or(i64::MAX))
}

fn latest(shared: &Shared) -> Reply {
    let line = |(name, event): (&'static str, LatencyEvent)| {
        let (second, millis) = event.moments.back().copied().unwrap_or_default();
        Reply::Array(vec![Reply::fixed(name), integer(second), integer(millis), integer(event.longest)])
    };
    Reply::Array(shared.latency.all().into_iter().map(line).collect())
}

fn history(shared: &Shared, name: &[u8]) -> Reply {
    let moments = shared.latency.find(name).unwrap_or_default().moments;
    let line = |(second, millis)| Reply::Array(vec![integer(second), integer(millis)]);
    Reply::Array(moments.into_iter().map(line).collect())
}

fn graph(shared: &Shared, name: &[u8]) -> Outcome<Reply> {
    let shown = name[..name.len().min(128)].escape_ascii();
    let event = shared.latency.find(name);
    let event = event.ok_or_else(|| Refusal::of(format!("ERR No samples available for event '{shown}'")))?;
    let millis = || event.moments.iter().map(|(_, millis)| *millis);
    let (high, low) = (millis().max().unwrap_or(0), millis().min().unwrap_or(0));
    let mut text = format!("{shown} - high {high} ms, low {low} ms (all time high {} ms)\n", event.longest);
    let now = now_millis() / 1_000;
    for (second, millis) in &event.moments {
        let bar = "#".repeat((millis * WIDTH).div_ceil(high.max(1)) as usize);
        // Writing to a string does not fail.
        let _ = writeln!(text, "{:>7} s ago {millis:>7} ms {bar}", now.saturating_sub(*second));
    }
    Ok(Reply::Verbatim(text))
}

fn doctor(shared: &Shared) -> String {
    let threshold = shared.latency.threshold();
    if threshold == 0 {
        return "Nothing is noted: CONFIG SET latency-monitor-threshold to the milliseconds that are long.\n".into();
    }
    let mut text = String::new();
    for (name, event) in shared.latency.all() {
        let count = event.moments.len() as u64;
        let mean = event.moments.iter().map(|(_, millis)| millis).sum::<u64>() / count.max(1);
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "{name}: {count} moments of {threshold} ms or more, {mean} ms on the mean, {} ms at most. {}",
            event.longest,
            advice(name)
        );
    }
    if text.is_empty() {
        let _ = writeln!(text, "Nothing took {threshold} ms or more.");
    }
    let stats = shared.databases().holm().stats();
    let (sync, wait) = (stats.log.longest_sync_ns / 1_000_000, stats.epochs.longest_wait_ns / 1_000_000);
    let _ = writeln!(
        text,
        "The longest sync of the log took {sync} ms. The end of an epoch waited up to {wait} ms for operations."
    );
    if stats.epochs.throttled_writes > 0 {
        let _ = writeln!(text, "{} writes waited because the disk could not keep up.", stats.epochs.throttled_writes);
    }
    text
}

fn advice(name: &str) -> &'static str {
    match name {
        "command" => "SLOWLOG GET shows which; commands in linear time are marked so in the documentation.",
        "fast-command" => "Such commands do little themselves: look at the load of the machine, and at page faults.",
        "expire-cycle" => "Many keys expire together: spread their times.",
        _ => "",
    }
}

fn histogram(shared: &Shared, arguments: &Arguments<'_>) -> Reply {
    let is_meant = |name: &str| {
        let command = name.split('|').next().unwrap_or(name);
        let is = |word: &[u8], name: &str| word.eq_ignore_ascii_case(name.as_bytes());
        arguments.len() == 2 || arguments.from(2).any(|word| is(word, name) || is(word, command))
    };
    let costs = shared.statistics.costs();
    let found = costs.iter().filter(|(name, cost)| !name.is_empty() && cost.calls > 0 && is_meant(name));
    Reply::Map(found.map(|(name, cost)| (Reply::fixed(name), describe(cost))).collect())
}

/// Returns the number of calls, and for each time in which calls were done, how many took no longer.
fn describe(cost: &Cost) -> Reply {
    let mut sum = 0;
    let mut reached = Vec::new();
    for (index, count) in cost.buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
        sum += count;
        // Those of the last bucket took longer than its limit; there is no larger one.
        let limit = bucket_micros(index).unwrap_or(1 << (BUCKETS - 1));
        reached.push((integer(limit), integer(sum)));
    }
    Reply::Map(vec![
        (Reply::fixed("calls"), integer(cost.calls)),
        (Reply::fixed("histogram_usec"), Reply::Map(reached)),
    ])
}
