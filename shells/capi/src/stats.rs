//! `holm_stats`: numbers about an open database, as many as the caller knows.

use crate::code::{HOLM_OK, Refusal};
use crate::database::Database;
use crate::door::door;
use crate::growing::LARGEST;
use crate::raw;
use std::ffi::c_int;

/// The struct of the header: only numbers of eight bytes.
#[repr(C)]
pub struct Stats {
    keyspaces: u64,
    records: u64,
    leaf_bytes: u64,
    record_bytes: u64,
    disk_bytes: u64,
    durable_epoch: u64,
    active_epoch: u64,
    log_entries: u64,
    log_bytes: u64,
    checkpoints: u64,
    throttled_writes: u64,
    recovered_log_entries: u64,
    waiting_ns: u64,
    waiting_operations: u64,
    snapshots: u64,
    oldest_snapshot_ns: u64,
    snapshot_memory_bytes: u64,
    snapshot_record_bytes: u64,
    sweep_passes: u64,
    sweep_skipped_passes: u64,
    sweep_records_read: u64,
    sweep_records_removed: u64,
    sweep_last_pass_ns: u64,
    sweep_last_pass_work_ns: u64,
    feeds: u64,
    feed_epochs: u64,
    feed_changes: u64,
    feed_bytes: u64,
    feeds_lagged: u64,
    feed_read_ns: u64,
}

const _: () = assert!(size_of::<Stats>() == 240, "laid out as in the header");

impl From<holm::Stats> for Stats {
    fn from(stats: holm::Stats) -> Self {
        Stats {
            keyspaces: stats.keyspaces,
            records: stats.records,
            leaf_bytes: stats.space.leaf_bytes,
            record_bytes: stats.space.record_bytes,
            disk_bytes: stats.space.disk_bytes,
            durable_epoch: stats.epochs.durable,
            active_epoch: stats.epochs.active,
            log_entries: stats.log.entries,
            log_bytes: stats.log.bytes,
            checkpoints: stats.log.checkpoints,
            throttled_writes: stats.epochs.throttled_writes,
            recovered_log_entries: stats.recovery.log_entries,
            waiting_ns: stats.epochs.waiting_ns,
            waiting_operations: stats.epochs.waiting_operations,
            snapshots: stats.snapshots.open,
            oldest_snapshot_ns: stats.snapshots.oldest_ns,
            snapshot_memory_bytes: stats.snapshots.memory_bytes,
            snapshot_record_bytes: stats.snapshots.record_bytes,
            sweep_passes: stats.sweep.passes,
            sweep_skipped_passes: stats.sweep.skipped_passes,
            sweep_records_read: stats.sweep.records_read,
            sweep_records_removed: stats.sweep.records_removed,
            sweep_last_pass_ns: stats.sweep.last_pass_ns,
            sweep_last_pass_work_ns: stats.sweep.last_pass_work_ns,
            feeds: stats.feeds.open,
            feed_epochs: stats.feeds.epochs,
            feed_changes: stats.feeds.changes,
            feed_bytes: stats.feeds.bytes,
            feeds_lagged: stats.feeds.lagged,
            feed_read_ns: stats.feeds.read_ns,
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn holm_read_stats(database: *const Database, stats: *mut Stats, size: usize) -> c_int {
    door(|| {
        if stats.is_null() || !(size_of::<u64>()..=LARGEST).contains(&size) {
            return Err(Refusal::invalid(format!("a place for numbers that is NULL, or of {size} bytes")));
        }
        // SAFETY: by the header's contract: a place of `size` bytes.
        unsafe { stats.cast::<u8>().write_bytes(0, size) };
        // SAFETY: by the header's contract: an open handle.
        let found = Stats::from(match unsafe { raw::handle(database, "the database")? } {
            Database::Writable(database) => database.stats(),
            Database::ReadOnly(database) => database.stats(),
        });
        let known = size.min(size_of::<Stats>());
        // SAFETY: a place of `size` bytes, and the copy is at most as long as it and as the struct.
        unsafe { stats.cast::<u8>().copy_from_nonoverlapping((&raw const found).cast(), known) };
        Ok(HOLM_OK)
    })
}
