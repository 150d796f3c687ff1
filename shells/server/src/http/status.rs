//! What the page shows, as JSON: counters since the start, of which the page makes rates.

use crate::clients::Client;
use crate::http::Visit;
use crate::shared::{Shared, now_millis};
use crate::slow_log::SlowCommand;
use holm::Stats;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// The most clients that are listed.
const MOST_CLIENTS: usize = 200;

pub(super) fn status(visit: &Visit<'_>) -> Value {
    let shared = visit.shared;
    let stats = shared.databases().holm().stats();
    json!({
        "now_ms": now_millis(),
        "user": text(&visit.account.name),
        "server": server(shared),
        "totals": totals(shared),
        "commands": commands(shared),
        "durability": durability(shared, &stats),
        "engine": engine(&stats),
        "snapshots": {
            "open": stats.snapshots.open,
            "oldest_ms": stats.snapshots.oldest_ns / 1_000_000,
            "memory_bytes": stats.snapshots.memory_bytes,
            "record_bytes": stats.snapshots.record_bytes,
        },
        "keyspaces": keyspaces(shared),
        "clients": visit.may(&[b"client", b"list"]).then(|| clients(shared)),
        "slow": visit.may(&[b"slowlog", b"get"]).then(|| slow(shared)),
        "may_browse": visit.may(&[b"holm.range", b"-", b"+"]),
    })
}

/// Returns bytes as text for people: what is no printable ASCII is escaped.
pub(super) fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => bytes.escape_ascii().to_string(),
    }
}

fn server(shared: &Shared) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "run_id": shared.run_id,
        "process": std::process::id(),
        "port": shared.port,
        "workers": shared.mailboxes.len(),
        "uptime_s": shared.started.elapsed().as_secs(),
        "memory_bytes": crate::process_memory::own_bytes(),
        "path": shared.settings.path.display().to_string(),
    })
}

fn totals(shared: &Shared) -> Value {
    let statistics = &shared.statistics;
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let blocked = shared.clients.all().iter().filter(|client| client.details().is_blocked).count();
    json!({
        "commands": read(&statistics.commands),
        "errors": read(&statistics.errors),
        "denied": read(&statistics.denied),
        "input_bytes": read(&statistics.input_bytes),
        "output_bytes": read(&statistics.output_bytes),
        "connections": read(&statistics.connections),
        "rejected_connections": read(&statistics.rejected_connections),
        "expired": read(&statistics.expired),
        "syncs": read(&statistics.syncs),
        "clients": shared.clients.count(),
        "blocked": blocked,
        "max_clients": shared.max_clients.load(Ordering::Relaxed),
        "slow": shared.slow_log.total(),
        "slower_than_us": shared.slower_than.load(Ordering::Relaxed),
    })
}

fn commands(shared: &Shared) -> Vec<Value> {
    let costs = shared.statistics.costs();
    let describe = |(name, cost): (&&str, &crate::statistics::Cost)| {
        json!({
            "name": if name.is_empty() { "unknown" } else { name },
            "calls": cost.calls,
            "failed": cost.failed,
            "nanos": cost.nanos,
            "p50_us": cost.quantile_micros(0.5),
            "p99_us": cost.quantile_micros(0.99),
            "p999_us": cost.quantile_micros(0.999),
            "longest_us": cost.longest_nanos as f64 / 1e3,
            "buckets": cost.buckets,
        })
    };
    costs.iter().map(describe).collect()
}

fn durability(shared: &Shared, stats: &Stats) -> Value {
    json!({
        "acknowledge": shared.settings.acknowledge.name(),
        "pending_bytes": stats.epochs.pending_bytes,
        "pending_us": stats.epochs.pending_ns / 1_000,
        "active": stats.epochs.active,
        "durable": stats.epochs.durable,
        "waiting_ms": stats.epochs.waiting_ns / 1_000_000,
        "waiting_operations": stats.epochs.waiting_operations,
        "longest_wait_us": stats.epochs.longest_wait_ns / 1_000,
        "longest_sync_us": stats.log.longest_sync_ns / 1_000,
        "throttled_writes": stats.epochs.throttled_writes,
    })
}

fn engine(stats: &Stats) -> Value {
    json!({
        "design": stats.design,
        "records": stats.records,
        "leaves": stats.space.leaves,
        "leaf_bytes": stats.space.leaf_bytes,
        "record_bytes": stats.space.record_bytes,
        "disk_bytes": stats.space.disk_bytes,
        "grow_stalls": stats.space.grow_stalls,
        "log_entries": stats.log.entries,
        "log_bytes": stats.log.bytes,
        "largest_entry_bytes": stats.log.largest_entry_bytes,
        "checkpoints": stats.log.checkpoints,
        "write_back_bytes": stats.log.write_back_bytes,
        "resident_bytes": stats.memory.resident_bytes,
        "huge_page_bytes": stats.memory.huge_page_bytes,
        "major_faults": stats.memory.major_faults,
    })
}

fn keyspaces(shared: &Shared) -> Vec<Value> {
    let databases = shared.databases();
    let counted = (0..databases.count()).map(|number| (number, databases.key_count(number).unwrap_or(0)));
    let shown = counted.filter(|(number, keys)| *number == 0 || *keys > 0);
    shown.map(|(database, keys)| json!({ "database": database, "keys": keys })).collect()
}

fn clients(shared: &Shared) -> Vec<Value> {
    let describe = |client: &std::sync::Arc<Client>| {
        let details = client.details().clone();
        json!({
            "id": client.place.id,
            "worker": client.place.worker,
            "address": client.address,
            "name": text(&details.name),
            "user": text(details.user()),
            "library": text(&details.library),
            "age_s": client.since.elapsed().as_secs(),
            "idle_s": details.last_used.unwrap_or(client.since).elapsed().as_secs(),
            "database": details.database,
            "command": details.last_command,
            "subscriptions": details.subscriptions.iter().sum::<usize>(),
            "queued": details.queued,
            "is_blocked": details.is_blocked,
        })
    };
    shared.clients.all().iter().take(MOST_CLIENTS).map(describe).collect()
}

fn slow(shared: &Shared) -> Vec<Value> {
    let describe = |command: SlowCommand| {
        let words: Vec<_> = command.arguments.iter().map(|word| text(word)).collect();
        json!({
            "request": command.request,
            "time_s": command.seconds,
            "micros": command.micros,
            "words": words.join(" "),
            "address": command.address,
            "name": text(&command.name),
        })
    };
    shared.slow_log.all().into_iter().map(describe).collect()
}
