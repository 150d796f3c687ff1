//! The metrics, in the text that Prometheus reads.

use crate::shared::Shared;
use crate::statistics::{BUCKETS, CostsByName, bucket_micros};
use holm::Stats;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Without exemplars.
type NoLabels = [(&'static str, &'static str); 0];

/// What is read for one answer.
#[derive(Debug)]
struct Reading {
    costs: CostsByName,
    stats: Stats,
    /// Counters of the server: name, help, value.
    counters: Vec<(&'static str, &'static str, u64)>,
    /// Counters of bytes.
    traffic: Vec<(&'static str, &'static str, u64)>,
    clients: [usize; 3],
    keys: Vec<u64>,
    uptime: f64,
    memory: u64,
}

/// Returns the text.
pub(super) fn text(shared: &Shared) -> String {
    let mut registry = Registry::with_prefix("holm");
    registry.register_collector(Box::new(Reading::of(shared)));
    let mut text = String::new();
    if let Err(error) = encode(&mut text, &registry) {
        tracing::error!(%error, "the metrics cannot be written");
    }
    text
}

impl Reading {
    fn of(shared: &Shared) -> Self {
        let statistics = &shared.statistics;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let databases = shared.databases();
        let blocked = shared.clients.all().iter().filter(|client| client.details().is_blocked).count();
        Reading {
            costs: statistics.costs(),
            stats: databases.holm().stats(),
            counters: vec![
                ("connections", "Connections that were accepted", read(&statistics.connections)),
                ("rejected_connections", "Connections beyond the limit", read(&statistics.rejected_connections)),
                ("expired_keys", "Keys that were removed because their time was over", read(&statistics.expired)),
                ("syncs", "Syncs that replies waited for", read(&statistics.syncs)),
                (
                    "output_disconnections",
                    "Clients that were disconnected because too much waited for them",
                    read(&statistics.output_disconnections),
                ),
                ("denied", "What users were refused, wrong passwords among it", read(&statistics.denied)),
                ("slow_commands", "Commands that took longer than the limit of the slow log", shared.slow_log.total()),
            ],
            traffic: vec![
                ("network_input", "Bytes from clients", read(&statistics.input_bytes)),
                ("network_output", "Bytes to clients", read(&statistics.output_bytes)),
            ],
            clients: [shared.clients.count(), blocked, shared.max_clients.load(Ordering::Relaxed)],
            keys: (0..databases.count()).map(|number| databases.key_count(number).unwrap_or(0)).collect(),
            uptime: shared.started.elapsed().as_secs_f64(),
            memory: crate::process_memory::own_bytes(),
        }
    }

    fn commands(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let costs = || self.costs.iter().map(|(name, cost)| (if name.is_empty() { "unknown" } else { name }, cost));
        let help = "Commands by name and result";
        let mut family = encoder.encode_descriptor("commands", help, None, MetricType::Counter)?;
        for (name, cost) in costs() {
            for (result, count) in [("ok", cost.calls - cost.failed), ("error", cost.failed)] {
                let labels = [("command", name), ("result", result)];
                family.encode_family(&labels)?.encode_counter::<NoLabels, _, u64>(&count, None)?;
            }
        }
        let help = "How long commands took, waiting for elements and for syncs left out";
        let unit = Unit::Seconds;
        let mut family = encoder.encode_descriptor("command_duration", help, Some(&unit), MetricType::Histogram)?;
        for (name, cost) in costs() {
            let limit = |index| bucket_micros(index).map_or(f64::MAX, |micros| micros as f64 / 1e6);
            let buckets: Vec<_> = (0..BUCKETS).map(|index| (limit(index), cost.buckets[index])).collect();
            let labels = [("command", name)];
            let sum = cost.nanos as f64 / 1e9;
            family.encode_family(&labels)?.encode_histogram::<NoLabels>(sum, cost.calls, &buckets, None)?;
        }
        Ok(())
    }

    fn server(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, value) in &self.counters {
            counter(encoder, name, help, None, *value)?;
        }
        for (name, help, value) in &self.traffic {
            counter(encoder, name, help, Some(Unit::Bytes), *value)?;
        }
        let [connected, blocked, most] = self.clients.map(|count| count as f64);
        gauge(encoder, "clients", "Clients that are connected", None, connected)?;
        gauge(encoder, "blocked_clients", "Clients that wait for elements", None, blocked)?;
        gauge(encoder, "clients_limit", "The most clients at one time", None, most)?;
        gauge(encoder, "uptime", "Since the server was started", Some(Unit::Seconds), self.uptime)?;
        let help = "Memory of the process, pages of the database left out";
        gauge(encoder, "process_memory", help, Some(Unit::Bytes), self.memory as f64)?;
        let help = "Keys by numbered database, those among them whose time is over";
        let mut family = encoder.encode_descriptor("keys", help, None, MetricType::Gauge)?;
        for (number, count) in self.keys.iter().enumerate().filter(|(number, count)| *number == 0 || **count > 0) {
            let labels = [("database", number.to_string())];
            family.encode_family(&labels)?.encode_gauge(&(*count as f64))?;
        }
        Ok(())
    }

    fn engine(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (bytes, seconds) = (|| Some(Unit::Bytes), |nanos: u64| nanos as f64 / 1e9);
        let Stats { space, epochs, log, memory, snapshots, .. } = &self.stats;
        let gauges: [(&str, &str, Option<Unit>, f64); 19] = [
            ("pending", "What a power cut at this moment would take", bytes(), epochs.pending_bytes as f64),
            ("pending_age", "How old the first of that can be", Some(Unit::Seconds), seconds(epochs.pending_ns)),
            ("epoch_active", "The epoch that operations belong to", None, epochs.active as f64),
            ("epoch_durable", "The last epoch that is durable", None, epochs.durable as f64),
            (
                "epoch_waiting",
                "How long the epoch's end waits for operations",
                Some(Unit::Seconds),
                seconds(epochs.waiting_ns),
            ),
            (
                "epoch_longest_wait",
                "The longest wait of an epoch's end",
                Some(Unit::Seconds),
                seconds(epochs.longest_wait_ns),
            ),
            (
                "log_longest_sync",
                "The longest write and sync of an entry",
                Some(Unit::Seconds),
                seconds(log.longest_sync_ns),
            ),
            ("log_largest_entry", "The largest entry of the log", bytes(), log.largest_entry_bytes as f64),
            ("disk", "All files, the log among them", bytes(), space.disk_bytes as f64),
            ("records", "Records of all keyspaces", None, self.stats.records as f64),
            ("record", "Records in use, with headers and padding", bytes(), space.record_bytes as f64),
            ("leaf", "Leaf blocks in use", bytes(), space.leaf_bytes as f64),
            ("leaf_free", "Leaf blocks that are free", bytes(), space.free_leaf_bytes as f64),
            ("scrubs", "Scrubs that run", None, self.stats.scrubs.running as f64),
            ("resident", "Parts of the mapped files that are in memory", bytes(), memory.resident_bytes as f64),
            ("snapshots", "Open snapshots and long transactions", None, snapshots.open as f64),
            ("snapshot_oldest", "The age of the oldest snapshot", Some(Unit::Seconds), seconds(snapshots.oldest_ns)),
            ("snapshot_memory", "Memory that snapshots hold", bytes(), snapshots.memory_bytes as f64),
            ("snapshot_record", "Replaced records that snapshots hold", bytes(), snapshots.record_bytes as f64),
        ];
        for (name, help, unit, value) in gauges {
            gauge(encoder, name, help, unit, value)?;
        }
        let counters: [(&str, &str, Option<Unit>, u64); 9] = [
            ("log_entries", "Entries written to the log", None, log.entries),
            ("log_written", "Bytes written to the log", bytes(), log.bytes),
            ("checkpoints", "Checkpoints that have finished", None, log.checkpoints),
            ("checkpoint_written", "Bytes written back by checkpoints", bytes(), log.write_back_bytes),
            ("throttled_writes", "Writes that waited for the disk", None, epochs.throttled_writes),
            ("grow_stalls", "Writes that had to grow a file themselves", None, space.grow_stalls),
            ("scrub_read", "Leaves and records that scrubs have read", bytes(), self.stats.scrubs.bytes),
            ("scrub_damages", "Damages that scrubs have found", None, self.stats.scrubs.damages),
            ("major_faults", "Page faults that waited for the disk", None, memory.major_faults),
        ];
        counters.into_iter().try_for_each(|(name, help, unit, value)| counter(encoder, name, help, unit, value))
    }
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, unit: Option<Unit>, value: f64) -> fmt::Result {
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(name, help, unit.as_ref(), gauge.metric_type())?)
}

fn counter(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, unit: Option<Unit>, value: u64) -> fmt::Result {
    let counter = ConstCounter::new(value);
    counter.encode(encoder.encode_descriptor(name, help, unit.as_ref(), counter.metric_type())?)
}

impl Collector for Reading {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.commands(&mut encoder)?;
        self.server(&mut encoder)?;
        self.engine(&mut encoder)
    }
}
