//! INFO: what the server knows of itself.

use crate::process_memory;
use crate::session::Session;
use crate::shared::{Shared, now_millis};
use crate::topics::TopicKind;
use crate::tracking::TrackingCounts;
use holm_commands::{Arguments, Outcome, Reply};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// The version whose commands the server is compatible with: clients choose their commands by it.
pub(super) const COMPATIBLE: &str = "7.0.15";

type Section = fn(&Shared, &mut String) -> std::fmt::Result;

const SECTIONS: &[(&str, Section)] = &[
    ("Server", server),
    ("Clients", clients),
    ("Memory", memory),
    ("Persistence", persistence),
    ("Stats", stats),
    ("Replication", replication),
    ("CPU", processor),
    ("Commandstats", command_stats),
    ("Errorstats", error_stats),
    ("Latencystats", latency_stats),
    ("Cluster", cluster),
    ("Keyspace", keyspace),
];

fn server(shared: &Shared, text: &mut String) -> std::fmt::Result {
    writeln!(text, "redis_version:{COMPATIBLE}\r")?;
    writeln!(text, "holm_version:{}\r", env!("CARGO_PKG_VERSION"))?;
    writeln!(text, "redis_mode:standalone\r")?;
    writeln!(text, "os:{}\r\narch_bits:{}\r", std::env::consts::OS, usize::BITS)?;
    writeln!(text, "process_id:{}\r", std::process::id())?;
    writeln!(text, "run_id:{}\r", shared.run_id)?;
    writeln!(text, "tcp_port:{}\r", shared.port)?;
    writeln!(text, "workers:{}\r", shared.mailboxes.len())?;
    let file = shared.settings.config.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    writeln!(text, "server_time_usec:{}\r\nconfig_file:{file}\r", now_millis() * 1_000)?;
    let uptime = shared.started.elapsed().as_secs();
    writeln!(text, "uptime_in_seconds:{uptime}\r\nuptime_in_days:{}\r", uptime / 86_400)
}

fn clients(shared: &Shared, text: &mut String) -> std::fmt::Result {
    let blocked = shared.clients.all().iter().filter(|client| client.details().waits()).count();
    writeln!(text, "connected_clients:{}\r", shared.clients.count())?;
    writeln!(text, "maxclients:{}\r\nblocked_clients:{blocked}\r", shared.max_clients.load(Ordering::Relaxed))?;
    writeln!(text, "tracking_clients:{}\r", shared.tracking.counts().clients)
}

fn memory(_: &Shared, text: &mut String) -> std::fmt::Result {
    let (resident, of_files) = (process_memory::resident_bytes(), process_memory::file_bytes());
    for (name, bytes) in [("used_memory", resident.saturating_sub(of_files)), ("used_memory_rss", resident)] {
        writeln!(text, "{name}:{bytes}\r\n{name}_human:{}\r", human(bytes))?;
    }
    writeln!(text, "used_memory_of_files:{of_files}\r\nmaxmemory:0\r\nmaxmemory_human:0B\r")?;
    writeln!(text, "maxmemory_policy:noeviction\r\nmem_allocator:libc\r")
}

/// Shows a number of bytes with a unit.
fn human(bytes: u64) -> String {
    let (mut shown, mut units) = (bytes as f64, "BKMGTPE".chars());
    let mut unit = units.next();
    while shown >= 1_024.0 {
        (shown, unit) = (shown / 1_024.0, units.next());
    }
    match unit {
        Some('B') | None => format!("{bytes}B"),
        Some(unit) => format!("{shown:.2}{unit}"),
    }
}

fn persistence(shared: &Shared, text: &mut String) -> std::fmt::Result {
    let stats = shared.databases().holm().stats();
    writeln!(text, "loading:0\r\nacknowledge:{}\r", shared.settings.acknowledge.name())?;
    writeln!(text, "active_epoch:{}\r\ndurable_epoch:{}\r", stats.epochs.active, stats.epochs.durable)?;
    writeln!(text, "pending_bytes:{}\r\npending_us:{}\r", stats.epochs.pending_bytes, stats.epochs.pending_ns / 1_000)?;
    writeln!(text, "longest_sync_us:{}\r", stats.log.longest_sync_ns / 1_000)?;
    writeln!(text, "throttled_writes:{}\r\naof_enabled:1\r", stats.epochs.throttled_writes)?;
    let flushed = shared.databases().flushed().map_or(0, |names| names.len());
    writeln!(text, "flushed_keyspaces:{flushed}\r")?;
    writeln!(text, "rdb_changes_since_last_save:0\r\nrdb_bgsave_in_progress:0\r\naof_rewrite_in_progress:0\r")?;
    // What is written is saved.
    writeln!(text, "rdb_last_save_time:{}\r\nrdb_last_bgsave_status:ok\r", now_millis() / 1_000)?;
    writeln!(text, "aof_last_bgrewrite_status:ok\r\naof_last_write_status:ok\r")
}

fn stats(shared: &Shared, text: &mut String) -> std::fmt::Result {
    let statistics = &shared.statistics;
    let counters: [(&str, &AtomicU64); 13] = [
        ("total_connections_received", &statistics.connections),
        ("rejected_connections", &statistics.rejected_connections),
        ("total_commands_processed", &statistics.commands),
        ("total_error_replies", &statistics.errors),
        ("total_net_input_bytes", &statistics.input_bytes),
        ("total_net_output_bytes", &statistics.output_bytes),
        ("expired_keys", &statistics.expired),
        ("keyspace_hits", &statistics.hits),
        ("keyspace_misses", &statistics.misses),
        ("syncs", &statistics.syncs),
        ("long_commands", &statistics.long_commands),
        ("joined_commands", &statistics.joined_commands),
        ("client_output_buffer_limit_disconnections", &statistics.output_disconnections),
    ];
    for (name, counter) in counters {
        writeln!(text, "{name}:{}\r", counter.load(Ordering::Relaxed))?;
    }
    let [commands, input, output] = shared.rates.per_second();
    writeln!(text, "instantaneous_ops_per_sec:{commands:.0}\r")?;
    writeln!(text, "instantaneous_input_kbps:{:.2}\r", input / 1_024.0)?;
    writeln!(text, "instantaneous_output_kbps:{:.2}\r", output / 1_024.0)?;
    writeln!(text, "pubsub_channels:{}\r", shared.topics.matching(TopicKind::Channel, None).len())?;
    writeln!(text, "pubsubshard_channels:{}\r", shared.topics.matching(TopicKind::Shard, None).len())?;
    writeln!(text, "pubsub_patterns:{}\r\nevicted_keys:0\r", shared.topics.pattern_count())?;
    let TrackingCounts { keys, items, prefixes, .. } = shared.tracking.counts();
    writeln!(text, "tracking_total_keys:{keys}\r\ntracking_total_items:{items}\r")?;
    writeln!(text, "tracking_total_prefixes:{prefixes}\r")
}

fn replication(_: &Shared, text: &mut String) -> std::fmt::Result {
    writeln!(text, "role:master\r\nconnected_slaves:0\r\nmaster_repl_offset:0\r")
}

/// The hundredths of a second that the process has taken, as Linux states them.
fn processor(_: &Shared, text: &mut String) -> std::fmt::Result {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in parentheses may hold spaces.
    let numbers = stat.rsplit_once(") ").map_or("", |(_, numbers)| numbers);
    let seconds =
        |index: usize| numbers.split(' ').nth(index).and_then(|ticks| ticks.parse().ok()).unwrap_or(0.0) / 100.0;
    writeln!(text, "used_cpu_sys:{:.6}\r\nused_cpu_user:{:.6}\r", seconds(12), seconds(11))?;
    writeln!(text, "used_cpu_sys_children:{:.6}\r\nused_cpu_user_children:{:.6}\r", seconds(14), seconds(13))
}

fn command_stats(shared: &Shared, text: &mut String) -> std::fmt::Result {
    for (name, cost) in shared.statistics.costs().iter().filter(|(name, _)| !name.is_empty()) {
        let micros = cost.nanos / 1_000;
        let each = micros as f64 / cost.calls.max(1) as f64;
        writeln!(
            text,
            "cmdstat_{name}:calls={},usec={micros},usec_per_call={each:.2},rejected_calls={},failed_calls={}\r",
            cost.calls, cost.rejected, cost.failed
        )?;
    }
    Ok(())
}

fn error_stats(shared: &Shared, text: &mut String) -> std::fmt::Result {
    shared
        .statistics
        .error_codes()
        .iter()
        .try_for_each(|(code, count)| writeln!(text, "errorstat_{code}:count={count}\r"))
}

fn latency_stats(shared: &Shared, text: &mut String) -> std::fmt::Result {
    let percentiles = shared.latency.percentiles();
    if !shared.latency.is_shown.load(Ordering::Relaxed) {
        return Ok(());
    }
    for (name, cost) in shared.statistics.costs().iter().filter(|(name, _)| !name.is_empty()) {
        let of = |percent: &f64| format!("p{percent}={:.3}", cost.quantile_micros(percent / 100.0));
        let shown: Vec<_> = percentiles.iter().map(of).collect();
        writeln!(text, "latency_percentiles_usec_{name}:{}\r", shown.join(","))?;
    }
    Ok(())
}

/// Clients ask whether they must follow slots.
fn cluster(_: &Shared, text: &mut String) -> std::fmt::Result {
    writeln!(text, "cluster_enabled:0\r")
}

fn keyspace(shared: &Shared, text: &mut String) -> std::fmt::Result {
    let databases = shared.databases();
    for number in 0..databases.count() {
        let keys = databases.key_count(number).unwrap_or(0);
        if keys > 0 {
            let expiring = databases.expiring(number);
            let (expires, life) = (expiring.count(), expiring.mean_life(now_millis()));
            writeln!(text, "db{number}:keys={keys},expires={expires},avg_ttl={life}\r")?;
        }
    }
    Ok(())
}

pub(super) fn info(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    let is_one_of =
        |names: &[&str]| arguments.from(1).any(|name| names.iter().any(|n| name.eq_ignore_ascii_case(n.as_bytes())));
    let by_default = arguments.len() == 1 || is_one_of(&["default"]);
    let all = is_one_of(&["all", "everything"]);
    let mut text = String::new();
    for (title, section) in SECTIONS {
        if all || is_one_of(&[title]) || by_default && !matches!(*title, "Commandstats" | "Latencystats") {
            let separator = if text.is_empty() { "" } else { "\r\n" };
            text.push_str(&format!("{separator}# {title}\r\n"));
            // Writing to a string does not fail.
            let _ = section(shared, &mut text);
        }
    }
    Ok(Reply::Verbatim(text))
}
