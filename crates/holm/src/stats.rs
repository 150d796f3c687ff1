//! Numbers about an open database.

use crate::engine::Engine;
use holm_medium::Recovery;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Numbers about an open database. More may be added.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// The leaf design.
    pub design: String,
    /// Keyspaces.
    pub keyspaces: u64,
    /// Records in all of them.
    pub records: u64,
    /// Leaf blocks in use.
    pub leaves: u64,
    /// Bytes of leaf blocks in use.
    pub leaf_bytes: u64,
    /// Bytes of records in use, headers and padding included.
    pub record_bytes: u64,
    /// Bytes on disk of all files, the log included.
    pub disk_bytes: u64,
    /// Epochs that have ended and are durable.
    pub durable_epoch: u64,
    /// The epoch that operations belong to now.
    pub active_epoch: u64,
    /// Times a writer grew a file itself, because no page was born ahead of it.
    pub births_waited: u64,
    /// Bytes of the mapped files (or of the private image) that are in memory now; 0 where the kernel does not tell.
    pub mapped_resident_bytes: u64,
    /// Bytes of these that the page tables reach by entries of 2 MiB.
    pub mapped_large_bytes: u64,
    /// Page faults of the whole process so far that needed no disk.
    pub minor_faults: u64,
    /// Page faults of the whole process so far that waited for the disk.
    pub major_faults: u64,
    /// Epoch records written.
    pub log_records: u64,
    /// Bytes written to the log.
    pub log_bytes: u64,
    /// Bytes of the largest epoch record.
    pub largest_record: u64,
    /// Checkpoints finished.
    pub checkpoints: u64,
    /// Bytes of distinct pages of the data files that hold lines logged since the checkpoint before, over all
    /// checkpoints: what each had to bring to the disk, if the kernel had not done so already.
    pub write_back_bytes: u64,
    /// The longest wait for an epoch's operations to finish, in nanoseconds.
    pub longest_cut_ns: u64,
    /// The longest write and sync of an epoch's record, in nanoseconds.
    pub longest_sync_ns: u64,
    /// For how long the end of an epoch has been waiting for operations at this moment, in nanoseconds; 0 if it does
    /// not wait. Nothing written since then is durable; after a second the log is told, too.
    pub waiting_ns: u64,
    /// Operations that it waits for; 0 while it is a batch that holds the clock.
    pub waiting_operations: u64,
    /// Times writers were held back because the disk could not keep up.
    pub held_back: u64,
    /// What the last open found.
    pub recovery: Option<Recovery>,
}

impl Stats {
    pub(crate) fn of(engine: &Engine) -> Self {
        let trees = engine.catalog.trees();
        let space = engine.ground.space();
        let leaves = u64::from(space.block_frontier()).saturating_sub(1 + space.free_blocks());
        let (minor_faults, major_faults) = faults();
        let mapping = engine.ground.image().mapping().unwrap_or_default();
        let mut stats = Stats {
            design: engine.index.design().into(),
            keyspaces: trees.len() as u64,
            records: trees.iter().map(|tree| tree.root.pairs()).sum(),
            leaves,
            leaf_bytes: leaves * space.block_bytes(),
            record_bytes: space.record_bytes(),
            durable_epoch: engine.clock().durable(),
            active_epoch: engine.clock().active(),
            mapped_resident_bytes: mapping.resident,
            mapped_large_bytes: mapping.large,
            minor_faults,
            major_faults,
            recovery: Some(engine.recovery.clone()),
            ..Stats::default()
        };
        engine.with_keeper(|keeper| {
            let Some((keeper, house)) = keeper.and_then(|keeper| Some((keeper, keeper.housekeeping()?))) else {
                return;
            };
            let read = |number: &AtomicU64| number.load(Relaxed);
            stats.disk_bytes = keeper.disk_bytes().unwrap_or(0);
            stats.births_waited = read(&house.births_waited);
            stats.log_records = read(&house.records);
            stats.log_bytes = read(&house.log_bytes);
            stats.largest_record = read(&house.largest_record);
            stats.checkpoints = read(&house.checkpoints);
            stats.write_back_bytes = read(&house.write_back_bytes);
            stats.longest_cut_ns = read(&house.longest_cut_ns);
            stats.longest_sync_ns = read(&house.longest_sync_ns);
            stats.held_back = engine.clock().held_back();
            if let Some(stuck) = engine.clock().stuck() {
                stats.waiting_ns = stuck.waited.as_nanos() as u64;
                stats.waiting_operations = stuck.operations as u64;
            }
        });
        stats
    }
}

/// Minor and major faults of this process, where the system tells.
fn faults() -> (u64, u64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the last parenthesis, for a process's name may hold anything: fields 3 onwards.
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
        // Epochs end where somebody waits, and for nothing else.
        let durability = Durability::Buffered { interval: Duration::from_secs(3_600) };
        let db = Database::builder().capacity(1 << 30).durability(durability).open(folder.path().join("sea")).unwrap();
        let waiting = || (db.stats().waiting_operations, db.stats().waiting_ns > 0);
        assert_eq!(waiting(), (0, false));
        thread::scope(|scope| {
            let stay = db.engine.clock().check_in().unwrap();
            let syncing = scope.spawn(|| db.sync());
            while waiting() != (1, true) {
                assert!(!syncing.is_finished(), "durable, while it is still under way");
                thread::yield_now();
            }
            drop(stay);
            syncing.join().unwrap().unwrap();
        });
        assert_eq!(waiting(), (0, false));
    }
}
