//! MEMORY STATS, DOCTOR and MALLOC-STATS: the memory of the server. MEMORY USAGE, about a key, is one of the commands
//! about keys.
//!
//! Values lie in files that the system maps, so most of what is resident is theirs, and the system takes it back.

use crate::clients::ClientKind;
use crate::process_memory;
use crate::session::Session;
use crate::shared::Shared;
use holm::Stats;
use holm_commands::{Arguments, CONNECTION, Command, Keys, Outcome, Refusal, Reply, of};

/// What MEMORY is, where it is about the server.
pub(crate) const MEMORY: Command<super::OwnFunction> =
    of("memory", -2, CONNECTION, Keys::None, memory, "The memory of the server");

/// Returns whether MEMORY is about the server with these words.
pub(crate) fn is_about_server(arguments: &Arguments<'_>) -> bool {
    ["stats", "doctor", "malloc-stats"].iter().any(|word| arguments.is(1, word))
}

/// The memory of the server by what it is for.
struct Memory {
    stats: Stats,
    /// Of no file.
    own: u64,
    of_files: u64,
    peak: u64,
    normal: u64,
    subscribers: u64,
    keys: u64,
}

impl Memory {
    fn of(shared: &Shared) -> Self {
        let databases = shared.databases();
        let stats = databases.holm().stats();
        let keys = (0..databases.count()).map(|number| databases.key_count(number).unwrap_or(0)).sum();
        let (mut normal, mut subscribers) = (0, 0);
        for client in shared.clients.all() {
            let details = client.details();
            let bytes = client.buffers.memory(details.queued_bytes) as u64;
            if details.kind() == ClientKind::Subscriber { subscribers += bytes } else { normal += bytes }
        }
        let (of_files, peak) = (process_memory::file_bytes(), process_memory::peak_bytes());
        Memory { stats, own: process_memory::own_bytes(), of_files, peak, normal, subscribers, keys }
    }

    fn clients(&self) -> u64 {
        self.normal + self.subscribers
    }

    /// Bytes at rest of keys, values and leaves.
    fn dataset(&self) -> u64 {
        self.stats.space.record_bytes + self.stats.space.leaf_bytes
    }

    fn numbers(&self, shared: &Shared) -> Vec<(&'static str, u64)> {
        let Stats { space, memory, snapshots, .. } = &self.stats;
        let tracking = shared.tracking.counts();
        vec![
            ("peak.resident", self.peak),
            ("total.resident", self.own + self.of_files),
            ("total.allocated", self.own),
            ("startup.allocated", shared.startup_bytes),
            ("files.resident", self.of_files),
            ("files.mapped.resident", memory.resident_bytes),
            ("files.disk", space.disk_bytes),
            ("clients.slaves", 0),
            ("clients.normal", self.normal),
            ("clients.pubsub", self.subscribers),
            ("replication.backlog", 0),
            ("aof.buffer", self.stats.epochs.pending_bytes),
            ("snapshots.allocated", snapshots.memory_bytes),
            ("snapshots.records", snapshots.record_bytes),
            ("tracking.keys", tracking.keys as u64),
            ("tracking.items", tracking.items as u64),
            ("keys.count", self.keys),
            ("keys.bytes-per-key", self.dataset().checked_div(self.keys).unwrap_or(0)),
            ("dataset.bytes", self.dataset()),
            ("records.bytes", space.record_bytes),
            ("leaves.bytes", space.leaf_bytes),
            ("files.free", space.free_bytes),
            ("files.fragmented", space.fragmented_bytes),
        ]
    }

    /// Returns what an operator may want to change.
    fn findings(&self) -> Vec<String> {
        const LARGE: u64 = 64 << 20;
        let Stats { space, memory, snapshots, .. } = &self.stats;
        let mut found = Vec::new();
        let mut note = |is_found: bool, text: String| {
            if is_found {
                found.push(text);
            }
        };
        note(
            self.clients() > LARGE && self.clients() > self.own / 4,
            format!(
                "Buffers of clients: they take {} bytes, a quarter of the server's own memory or more. CLIENT LIST \
                 shows whose they are, and client-output-buffer-limit limits them.",
                self.clients()
            ),
        );
        note(
            snapshots.memory_bytes + snapshots.record_bytes > LARGE,
            format!(
                "Snapshots: {} are open, the oldest for {} s, and keep {} bytes of memory and {} bytes of records that \
                 were replaced. HOLM.SNAPSHOT END releases them.",
                snapshots.open,
                snapshots.oldest_ns / 1_000_000_000,
                snapshots.memory_bytes,
                snapshots.record_bytes
            ),
        );
        note(
            space.fragmented_bytes > LARGE && space.fragmented_bytes > space.record_bytes / 2,
            format!(
                "Fragmentation: {} free bytes share large pages with records. A compaction gives them back.",
                space.fragmented_bytes
            ),
        );
        let mapped = self.dataset();
        note(
            mapped > LARGE && memory.resident_bytes < mapped / 2 && memory.major_faults > 0,
            format!(
                "Pages: {} of {mapped} bytes of the database are in memory, and {} reads of pages have waited for the \
                 disk. More memory would hold more of them.",
                memory.resident_bytes, memory.major_faults
            ),
        );
        found
    }
}

fn memory(_: &mut Session, shared: &Shared, arguments: &Arguments<'_>) -> Outcome<Reply> {
    match &arguments[1].to_ascii_lowercase()[..] {
        b"stats" => {
            let numbers = Memory::of(shared).numbers(shared).into_iter();
            Ok(Reply::Map(numbers.map(|(name, number)| (Reply::fixed(name), Reply::Integer(number as i64))).collect()))
        }
        b"doctor" => {
            let findings = Memory::of(shared).findings();
            Ok(Reply::Verbatim(match findings.is_empty() {
                true => "Nothing stands out: clients, snapshots and free space take little of the memory.\n".into(),
                false => findings.iter().map(|finding| format!(" * {finding}\n")).collect(),
            }))
        }
        // The allocator is that of the system's C library, as in a Redis that is built so.
        b"malloc-stats" => Ok(Reply::bulk("Stats not supported for the current allocator")),
        _ => Err(Refusal::text("ERR unknown subcommand of MEMORY")),
    }
}
