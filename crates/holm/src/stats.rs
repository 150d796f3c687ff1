//! Statistics of an open database, in groups.

use crate::engine::{Engine, ReadOnlyEngine, View};
use crate::feed::FeedStats;
use crate::recovery::Recovery;
use crate::scrub_stats::ScrubStats;
use crate::store::Store;
use crate::sweep::SweepCounters;
use holm_medium::Space;
use holm_medium::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Statistics of an open database: [`Database::stats`](crate::Database::stats).
///
/// Counters start at 0 when the database is opened. With the feature `serde`, this type and its groups are `Serialize`.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// db.keyspace("reefs")?.insert("north", "coral")?;
/// db.sync()?;
/// let stats = db.stats();
/// assert_eq!((stats.keyspaces, stats.records), (2, 1)); // `default` is always there
/// println!("{} of {} bytes on disk are records", stats.space.record_bytes, stats.space.disk_bytes);
/// println!("{} log entries, the slowest took {} ns", stats.log.entries, stats.log.longest_sync_ns);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Stats {
    /// The leaf design.
    pub design: String,
    /// The number of keyspaces.
    pub keyspaces: u64,
    /// The number of records in all keyspaces.
    pub records: u64,
    /// Space in the data files.
    pub space: SpaceStats,
    /// Epochs and the writes that wait for them.
    pub epochs: EpochStats,
    /// The epoch log and the checkpoints that empty it.
    pub log: LogStats,
    /// Memory and page faults.
    pub memory: MemoryStats,
    /// Open snapshots.
    pub snapshots: SnapshotStats,
    /// The removal of expired records.
    pub sweep: SweepStats,
    /// Change feeds.
    pub feeds: FeedStats,
    /// Scrubs.
    pub scrubs: ScrubStats,
    /// What the last open recovered, and its source.
    pub recovery: Recovery,
}

/// Space in the data files: a part of [`Stats`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let space = db.stats().space;
/// let overhead = space.disk_bytes.saturating_sub(space.leaf_bytes + space.record_bytes);
/// println!("{overhead} bytes are the log, free space and the superblock");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SpaceStats {
    /// The number of leaf blocks in use.
    pub leaves: u64,
    /// Bytes of leaf blocks in use.
    pub leaf_bytes: u64,
    /// Bytes of leaf blocks that are free, and are used before the file `leaves` grows. Closing cuts off those behind
    /// the last leaf; a [compaction](crate::Database::compact) moves leaves before them.
    pub free_leaf_bytes: u64,
    /// Bytes of records in use in the file `records`, headers and padding included. Records in leaf blocks, of the
    /// design `clustered`, are part of `leaf_bytes`.
    pub record_bytes: u64,
    /// Bytes of the file `records` that are free, and are used before it grows. Not among them: what writers keep at
    /// hand, and what was replaced a moment ago or is kept by a snapshot.
    pub free_bytes: u64,
    /// The part of `free_bytes` that shares large pages (2 MiB) with records. A
    /// [compaction](crate::Database::compact) gives back the most of it that is not in the first large page. Free leaf
    /// blocks are in no part of it.
    pub fragmented_bytes: u64,
    /// Bytes in the middle of the file `records` that were given back to the file system. Its length has them, and
    /// `disk_bytes` does not. An open counts all that is free in whole large pages.
    pub released_bytes: u64,
    /// Bytes of the file `records` that no key leads to any more and that cannot be used yet, replaced within the last
    /// two epochs, and those that writers keep at hand. What snapshots keep is part of `record_bytes`.
    pub dead_bytes: u64,
    /// Bytes of all files on disk, the log included.
    pub disk_bytes: u64,
    /// How often a writer had to grow a file itself, because no extent was preallocated.
    pub grow_stalls: u64,
}

/// Epochs and the writes that wait for them: a part of [`Stats`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let before = db.stats().epochs.active;
/// db.keyspace("reefs")?.insert("north", "coral")?;
/// db.sync()?;
/// assert!(db.stats().epochs.durable >= before); // the insert's epoch, or a later one
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct EpochStats {
    /// The last epoch that is durable.
    pub durable: u64,
    /// The epoch that new operations belong to.
    pub active: u64,
    /// The longest time that the end of an epoch waited for its operations to finish, in nanoseconds.
    pub longest_wait_ns: u64,
    /// How long the end of an epoch has been waiting for operations at this moment, in nanoseconds; 0 if it does not
    /// wait. No write since then is durable. After a second, the crate `log` also gets a warning.
    pub waiting_ns: u64,
    /// The number of operations that the end of the epoch waits for; 0 while it waits for a batch that holds the clock.
    pub waiting_operations: u64,
    /// The number of writes that had to wait because the disk could not keep up.
    pub throttled_writes: u64,
    /// Bytes of lines that are not durable: what a power cut at this moment takes. Writers go on while they are
    /// counted.
    pub pending_bytes: u64,
    /// How long ago the first write of these can have been, in nanoseconds: that of `pending_bytes` is not older. 0 if
    /// everything is durable.
    pub pending_ns: u64,
}

/// The epoch log and the checkpoints that empty it: a part of [`Stats`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// db.keyspace("reefs")?.insert("north", "coral")?;
/// db.sync()?;
/// let log = db.stats().log;
/// assert!(log.entries >= 1 && log.bytes >= log.largest_entry_bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LogStats {
    /// The number of entries written: one for each epoch in which something was written.
    pub entries: u64,
    /// Bytes written to the log.
    pub bytes: u64,
    /// Bytes of the largest entry.
    pub largest_entry_bytes: u64,
    /// The longest write and sync of an entry, in nanoseconds.
    pub longest_sync_ns: u64,
    /// The number of checkpoints that have finished.
    pub checkpoints: u64,
    /// Bytes written back by all checkpoints: distinct pages of the data files with lines logged since the checkpoint
    /// before. Each checkpoint writes these pages, unless the kernel has already done so.
    pub write_back_bytes: u64,
}

/// Memory and page faults: a part of [`Stats`]. All are 0 where the kernel does not report them.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let memory = db.stats().memory;
/// println!("{} of {} mapped bytes in large pages", memory.huge_page_bytes, memory.resident_bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MemoryStats {
    /// Bytes of the mapped files (or of the private image) that are in memory now.
    pub resident_bytes: u64,
    /// The part of `resident_bytes` that the page tables map by entries of 2 MiB.
    pub huge_page_bytes: u64,
    /// Page faults of the whole process so far that needed no disk read.
    pub minor_faults: u64,
    /// Page faults of the whole process so far that waited for the disk.
    pub major_faults: u64,
}

/// Open snapshots: a part of [`Stats`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let snapshot = db.snapshot()?;
/// assert_eq!(db.stats().snapshots.open, 1);
/// drop(snapshot);
/// assert_eq!(db.stats().snapshots.open, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SnapshotStats {
    /// The number of open snapshots; clones count once, and long transactions hold one each.
    pub open: u64,
    /// The age of the oldest, in nanoseconds.
    pub oldest_ns: u64,
    /// Bytes of memory with the former pairs of changed leaves.
    pub memory_bytes: u64,
    /// Bytes of replaced records that are kept. They are part of [`SpaceStats::record_bytes`].
    pub record_bytes: u64,
}

/// The removal of expired records, in keyspaces with expiry: a part of [`Stats`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("sea.holm");
/// use holm::{Database, KeyspaceOptions, Sweep};
/// use std::time::Duration;
/// let db = Database::builder().sweep(Sweep::Manual).open(&path)?;
/// let tides = db.keyspace_with("tides", &KeyspaceOptions::new().expires(true))?;
/// tides.insert_for("north", "high", Duration::ZERO)?;
/// db.sweep()?;
/// assert_eq!(db.stats().sweep.records_removed, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SweepStats {
    /// The number of passes that have finished, [`Database::sweep`](crate::Database::sweep) included.
    pub passes: u64,
    /// The number of passes that were left out because the database is a copy to which nothing has been written since
    /// its last backup was applied: the next one removes what its original has removed.
    pub skipped_passes: u64,
    /// The number of records whose deadlines were read.
    pub records_read: u64,
    /// The number of expired records that were removed.
    pub records_removed: u64,
    /// How long the last pass in the background took, pauses included, in nanoseconds.
    pub last_pass_ns: u64,
    /// How long that pass worked, without its pauses, in nanoseconds.
    pub last_pass_work_ns: u64,
}

impl Stats {
    /// Returns the statistics of a database that is open for reading and writing.
    pub(crate) fn of(engine: &Engine) -> Self {
        let mut stats = Stats::of_contents(engine.view());
        stats.sweep = SweepStats::of(engine.sweeper.counters());
        stats.scrubs = engine.scrubs.stats();
        stats.feeds = engine.subscribers.as_ref().map(|subscribers| subscribers.stats()).unwrap_or_default();
        let Some(meter) = engine.session.meter() else { return stats };
        stats.space.disk_bytes = meter.disk_bytes().unwrap_or(0);
        let counters = meter.counters();
        let read = |number: &AtomicU64| number.load(Relaxed);
        stats.space.grow_stalls = read(&counters.grow_stalls);
        stats.epochs.longest_wait_ns = read(&counters.longest_pin_wait_ns);
        stats.epochs.pending_bytes = engine.view().store.clock().dirty_bytes() + read(&counters.record_in_writing);
        if stats.epochs.pending_bytes > 0 {
            stats.epochs.pending_ns = counters.not_durable_ns();
        }
        stats.log = LogStats {
            entries: read(&counters.log_records),
            bytes: read(&counters.log_bytes),
            largest_entry_bytes: read(&counters.largest_log_record),
            longest_sync_ns: read(&counters.longest_sync_ns),
            checkpoints: read(&counters.checkpoints),
            write_back_bytes: read(&counters.write_back_bytes),
        };
        stats
    }

    /// Returns the statistics of a database that is open for reading. Counters of a session's activity are 0.
    pub(crate) fn of_read_only(engine: &ReadOnlyEngine) -> Self {
        let mut stats = Stats::of_contents(engine.view());
        stats.space.disk_bytes = engine.disk_bytes();
        stats
    }

    fn of_contents(View { store, catalog, recovery }: View<'_>) -> Self {
        let trees = catalog.trees();
        Stats {
            design: store.index.design().into(),
            keyspaces: trees.len() as u64,
            records: trees.iter().map(|tree| tree.root.pairs()).sum(),
            space: SpaceStats::of(store),
            epochs: EpochStats::of(store),
            memory: MemoryStats::of(store),
            snapshots: SnapshotStats::of(store),
            recovery: recovery.clone(),
            ..Stats::default()
        }
    }
}

/// Bytes of leaf blocks and of records in use. O(1): it looks at no free space.
pub(crate) fn bytes_in_use(store: &Store) -> u64 {
    let space = store.storage.space();
    leaves_in_use(space) * space.block_bytes() + space.record_bytes()
}

fn leaves_in_use(space: &Space) -> u64 {
    u64::from(space.block_frontier()).saturating_sub(1 + space.free_blocks())
}

impl SpaceStats {
    fn of(store: &Store) -> Self {
        let space = store.storage.space();
        let leaves = leaves_in_use(space);
        let (record_bytes, records) = (space.record_bytes(), space.record_use());
        SpaceStats {
            leaves,
            leaf_bytes: leaves * space.block_bytes(),
            free_leaf_bytes: space.free_blocks() * space.block_bytes(),
            record_bytes,
            free_bytes: records.free,
            fragmented_bytes: records.fragmented,
            released_bytes: records.released,
            dead_bytes: records.used.saturating_sub(record_bytes + records.free + records.released),
            ..SpaceStats::default()
        }
    }
}

impl EpochStats {
    fn of(store: &Store) -> Self {
        let clock = store.clock();
        let (waiting_ns, waiting_operations) =
            clock.stuck().map_or((0, 0), |stuck| (stuck.waited.as_nanos() as u64, stuck.operations as u64));
        EpochStats {
            durable: clock.durable(),
            active: clock.active(),
            throttled_writes: clock.throttled_writes(),
            waiting_ns,
            waiting_operations,
            ..EpochStats::default()
        }
    }
}

impl SnapshotStats {
    fn of(store: &Store) -> Self {
        let ((open, oldest), (memory_bytes, record_bytes)) = (store.generations.ages(), store.index.snapshot_bytes());
        SnapshotStats { open, oldest_ns: oldest.as_nanos() as u64, memory_bytes, record_bytes }
    }
}

impl SweepStats {
    fn of(counters: &SweepCounters) -> Self {
        SweepStats {
            passes: counters.passes.load(Relaxed),
            skipped_passes: counters.skipped.load(Relaxed),
            records_read: counters.read.load(Relaxed),
            records_removed: counters.removed.load(Relaxed),
            last_pass_ns: counters.last_pass_ns.load(Relaxed),
            last_pass_work_ns: counters.last_pass_work_ns.load(Relaxed),
        }
    }
}

impl MemoryStats {
    fn of(store: &Store) -> Self {
        let mapping = store.storage.image().mapping().unwrap_or_default();
        let (minor_faults, major_faults) = faults();
        MemoryStats { resident_bytes: mapping.resident, huge_page_bytes: mapping.large, minor_faults, major_faults }
    }
}

/// Minor and major faults of this process, where the system reports them.
fn faults() -> (u64, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The fields after the last parenthesis, from field 3 on: the process's name may contain anything.
    let fields: Vec<_> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let field = |index: usize| fields.get(index).and_then(|field| field.parse().ok()).unwrap_or(0);
    (field(7), field(9))
}

#[cfg(test)]
mod tests {
    use crate::{Database, Durability};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn an_operation_that_keeps_its_epoch_open_is_told() {
        let folder = tempfile::tempdir().unwrap();
        // An epoch ends only when a caller waits for it.
        let durability = Durability::Buffered { interval: Duration::from_secs(3_600) };
        let db = Database::builder().capacity(1 << 30).durability(durability).open(folder.path().join("sea")).unwrap();
        let waiting = || (db.stats().epochs.waiting_operations, db.stats().epochs.waiting_ns > 0);
        assert_eq!(waiting(), (0, false));
        thread::scope(|scope| {
            let guard = db.engine.store.clock().pin().unwrap();
            let syncing = scope.spawn(|| db.sync());
            while waiting() != (1, true) {
                assert!(!syncing.is_finished(), "durable, while it is still under way");
                thread::yield_now();
            }
            drop(guard);
            syncing.join().unwrap().unwrap();
        });
        assert_eq!(waiting(), (0, false));
    }
}
