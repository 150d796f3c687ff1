//! CONFIG: parameters by their names.

use crate::commands::rewrite::{Changeable, rewrite};
use crate::commands::subcommands;
use crate::output_limits::OutputLimits;
use crate::session::Session;
use crate::shared::Shared;
use crate::sizes::parse_size;
use holm_commands::{Arguments, Outcome, Refusal, Reply, help, matches, parse_integer, wrong_words};
use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// Returns the parameters and their values.
fn parameters(shared: &Shared) -> Vec<(String, String)> {
    let settings = &shared.settings;
    let mut all = vec![
        ("acl-pubsub-default", default_of_channels(shared).to_owned()),
        ("aclfile", settings.aclfile.as_ref().map_or_else(String::new, |path| path.display().to_string())),
        ("acllog-max-len", shared.acl.log.most().to_string()),
        ("acknowledge", settings.acknowledge.name().to_owned()),
        ("appendfsync", if settings.acknowledge.name() == "synced" { "always" } else { "everysec" }.to_owned()),
        ("appendonly", "yes".to_owned()),
        ("bind", settings.listen.ip().to_string()),
        ("client-output-buffer-limit", shared.output_limits.to_string()),
        ("databases", settings.databases.to_string()),
        ("latency-tracking", if shared.latency.is_shown.load(Ordering::Relaxed) { "yes" } else { "no" }.to_owned()),
        ("latency-tracking-info-percentiles", shown(&shared.latency.percentiles())),
        ("latency-monitor-threshold", shared.latency.threshold().to_string()),
        ("maxclients", shared.max_clients.load(Ordering::Relaxed).to_string()),
        ("maxmemory", "0".to_owned()),
        ("maxmemory-policy", "noeviction".to_owned()),
        ("notify-keyspace-events", shared.databases().notifications().letters()),
        ("port", shared.port.to_string()),
        ("proto-max-bulk-len", settings.max_request.to_string()),
        // Passwords are shown to nobody.
        ("requirepass", String::new()),
        ("save", String::new()),
        ("slowlog-log-slower-than", shared.slower_than.load(Ordering::Relaxed).to_string()),
        ("slowlog-max-len", shared.slow_log.most().to_string()),
        ("tracking-table-max-keys", shared.tracking.most().to_string()),
        // An idle client stays.
        ("timeout", "0".to_owned()),
        ("workers", settings.worker_count().to_string()),
    ];
    all.sort();
    let own = shared.parameters.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known = |name: &str| all.iter().any(|(known, _)| *known == name);
    let others: Vec<_> = own.iter().filter(|(name, _)| !is_known(name)).map(|(n, v)| (n.clone(), v.clone())).collect();
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(others).collect()
}

pub(super) fn config(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    match (&arguments[1].to_ascii_lowercase()[..], arguments.len()) {
        (b"get", 3..) => {
            let is_meant =
                |name: &str| arguments.from(2).any(|pattern| matches(&pattern.to_ascii_lowercase(), name.as_bytes()));
            let chosen = parameters(shared).into_iter().filter(|(name, _)| is_meant(name));
            Ok(Reply::Map(chosen.map(|(name, value)| (Reply::bulk(name), Reply::bulk(value))).collect()))
        }
        (b"set", 4..) if arguments.len().is_multiple_of(2) => {
            set_all(shared, arguments.from(2).collect::<Vec<_>>().as_chunks().0).map(|()| Reply::OK)
        }
        (b"resetstat", 2) => {
            shared.statistics.reset();
            shared.rates.clear();
            Ok(Reply::OK)
        }
        (b"rewrite", 2) => rewrite(shared.settings.config.as_deref(), &changeable(shared)).map(|()| Reply::OK),
        (b"help", _) => Ok(help("config", subcommands::CONFIG)),
        _ => Err(wrong_words("config", arguments)),
    }
}

/// Returns the options of the file that `set` may change. A password is none of them: it is known by its hash only.
fn changeable(shared: &Shared) -> Vec<Changeable> {
    let settings = &shared.settings;
    let of_channels = if settings.acl_pubsub_default.allows_all() { "allchannels" } else { "resetchannels" };
    let begun_with_limits = OutputLimits::new(&settings.client_output_buffer_limit);
    let begun_with = [
        ("acl-pubsub-default", of_channels.to_owned()),
        ("latency-monitor-threshold", settings.latency_monitor_threshold.to_string()),
        ("client-output-buffer-limit", begun_with_limits.map_or_else(|_| String::new(), |limits| limits.to_string())),
        ("maxclients", settings.maxclients.to_string()),
        ("notify-keyspace-events", settings.notify_keyspace_events.clone()),
        ("slowlog-log-slower-than", settings.slowlog_log_slower_than.to_string()),
        ("slowlog-max-len", settings.slowlog_max_len.to_string()),
        ("tracking-table-max-keys", settings.tracking_table_max_keys.to_string()),
    ];
    let present: BTreeMap<String, String> = parameters(shared).into_iter().collect();
    let of =
        |(name, begun_with)| Changeable { name, begun_with, value: present.get(name).cloned().unwrap_or_default() };
    begun_with.into_iter().map(of).collect()
}

fn shown(percentiles: &[f64]) -> String {
    percentiles.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
}

fn default_of_channels(shared: &Shared) -> &'static str {
    if shared.acl.all_channels.load(Ordering::Relaxed) { "allchannels" } else { "resetchannels" }
}

/// Changes all parameters, or none if one of them cannot be changed.
fn set_all(shared: &Shared, pairs: &[[&[u8]; 2]]) -> Outcome<()> {
    let lower = |pair: &[&[u8]; 2]| String::from_utf8_lossy(pair[0]).to_ascii_lowercase();
    let names: Vec<_> = pairs.iter().map(lower).collect();
    if let Some((_, name)) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        return Err(Refusal::of(format!(
            "ERR CONFIG SET failed (possibly related to argument '{}') - duplicate parameter",
            name.escape_default()
        )));
    }
    // A password cannot be put back, because only its hash is known. So it comes last.
    let (last, first): (Vec<_>, Vec<_>) = (0..pairs.len()).partition(|at| names[*at] == "requirepass");
    let before: BTreeMap<String, String> = parameters(shared).into_iter().collect();
    let mut changed: Vec<&str> = Vec::new();
    for at in first.into_iter().chain(last) {
        let Err(refusal) = set(shared, pairs[at][0], pairs[at][1]) else {
            changed.push(&names[at]);
            continue;
        };
        for name in changed {
            match before.get(name) {
                Some(value) => set(shared, name.as_bytes(), value.as_bytes())?,
                None => drop(shared.parameters.lock().unwrap_or_else(PoisonError::into_inner).remove(name)),
            }
        }
        return Err(refusal);
    }
    Ok(())
}

fn set(shared: &Shared, name: &[u8], value: &[u8]) -> Outcome<()> {
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let text = String::from_utf8_lossy(value).into_owned();
    let wrong =
        |why: &str| Refusal::of(format!("ERR CONFIG SET failed (possibly related to argument '{name}') - {why}"));
    let number = || parse_integer(value).ok_or_else(|| wrong("argument couldn't be parsed into an integer"));
    let size =
        || number().and_then(|number| usize::try_from(number).map_err(|_| wrong("argument must not be negative")));
    match &name[..] {
        "maxclients" => match size()? {
            0 => return Err(wrong("argument must be at least 1")),
            most => shared.max_clients.store(most, Ordering::Relaxed),
        },
        "client-output-buffer-limit" => shared.output_limits.set(&text).map_err(wrong)?,
        "requirepass" => {
            shared.acl.set_default_password(value).map_err(|why| wrong(&why))?;
        }
        "acl-pubsub-default" => match &text.to_ascii_lowercase()[..] {
            "allchannels" => shared.acl.all_channels.store(true, Ordering::Relaxed),
            "resetchannels" => shared.acl.all_channels.store(false, Ordering::Relaxed),
            _ => return Err(wrong("argument must be one of: allchannels, resetchannels")),
        },
        "acllog-max-len" => shared.acl.log.set_most(size()?),
        "latency-tracking" => match &text.to_ascii_lowercase()[..] {
            "yes" => shared.latency.is_shown.store(true, Ordering::Relaxed),
            "no" => shared.latency.is_shown.store(false, Ordering::Relaxed),
            _ => return Err(wrong("argument must be 'yes' or 'no'")),
        },
        "latency-tracking-info-percentiles" => {
            let percent = |word: &str| word.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
            let percentiles: Option<Vec<f64>> = text.split_whitespace().map(percent).collect();
            let percentiles = percentiles.ok_or_else(|| wrong("argument must be numbers between 0.0 and 100.0"))?;
            shared.latency.set_percentiles(percentiles);
        }
        "latency-monitor-threshold" => shared.latency.set_threshold(size()? as u64),
        "notify-keyspace-events" => {
            if !shared.databases().notifications().set(value) {
                return Err(wrong("Invalid event class character. Use 'Ag$lshzxeKEtmdn'."));
            }
        }
        "slowlog-log-slower-than" => shared.slower_than.store(number()?, Ordering::Relaxed),
        "slowlog-max-len" => shared.slow_log.set_most(size()?),
        "tracking-table-max-keys" => shared.tracking.set_most(size()?, shared),
        "acknowledge" | "aclfile" | "bind" | "databases" | "port" | "proto-max-bulk-len" | "workers" => {
            return Err(wrong("can't set immutable config"));
        }
        "maxmemory" if parse_size(&text).is_none() => return Err(wrong("argument must be a memory value")),
        _ if holds_without_effect(&name) => {
            tracing::info!(name, "a parameter is kept that has no effect here");
            shared.parameters.lock().unwrap_or_else(PoisonError::into_inner).insert(name, text);
        }
        _ => {
            return Err(Refusal::of(format!(
                "ERR Unknown option or number of arguments for CONFIG SET - '{}'",
                name.escape_default()
            )));
        }
    }
    Ok(())
}

/// Parameters of other servers that clients and their tests set, and that change nothing here.
fn holds_without_effect(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "active-expire-effort",
        "aof-use-rdb-preamble",
        "activedefrag",
        "activerehashing",
        "appendfsync",
        "appendonly",
        "auto-aof-rewrite-percentage",
        "client-query-buffer-limit",
        "close-on-oom",
        "dynamic-hz",
        "hll-sparse-max-bytes",
        "hz",
        "key-load-delay",
        "list-compress-depth",
        "lua-time-limit",
        "busy-reply-threshold",
        "maxmemory",
        "maxmemory-policy",
        "maxmemory-clients",
        "maxmemory-samples",
        "min-replicas-to-write",
        "rdb-key-save-delay",
        "rdbcompression",
        "repl-diskless-sync-delay",
        "save",
        "stop-writes-on-bgsave-error",
        "timeout",
        "tcp-keepalive",
    ];
    let is_encoding = ["-max-listpack-", "-max-ziplist-", "-max-intset-"].iter().any(|part| name.contains(part));
    NAMES.contains(&name) || is_encoding || name.starts_with("lazyfree-") || name.starts_with("replica-")
}
