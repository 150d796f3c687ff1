//! The thread that takes checkpoints: when one is due.
//!
//! During writes a checkpoint is due whenever the log holds a certain share of the data. Log and data thus grow
//! together, and recovery reads at most a share of the data. Once nothing has been written for a second the log is
//! emptied, the first segments are cut to a small share of the data, and the others to a page. Growing them again
//! costs writing zeros. While
//! writers are active, nothing is therefore cut except what the last checkpoint found far too large.

use super::checkpoint::checkpoint;
use super::index_file;
use super::log_size::{due_at, kept};
use super::state::Shared;
use crate::error::Result;
use crate::loc::Area;
use crate::medium::Medium as _;
use crate::sync::Instant;
use crate::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The longest time that a change waits for a checkpoint.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);

/// How often the checkpoint thread checks without a request.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Without a record for this long, no thread is writing.
const QUIET: Duration = Duration::from_secs(1);

/// The bytes that the log takes between two leaf indexes while threads write, as a multiple of the bytes of the leaves.
/// Random writes have changed nearly every leaf after as many bytes as the leaves have, so that an index made earlier
/// spares an opening little, and costs a read of every leaf.
const INDEX_AFTER: u64 = 4;

/// What the checkpoint thread has observed.
struct CheckpointPolicy {
    /// When the last checkpoint ended, and the number of records when it began.
    checkpoint: (Instant, u64),
    /// When the last record was observed, and the number of records then.
    record: (Instant, u64),
    /// The bytes that the log had taken when the last leaf index was made; `None` if this session has made none.
    indexed: Option<u64>,
}

/// Takes checkpoints until the database is closed.
pub(super) fn run(shared: &Shared) {
    let now = Instant::now();
    let mut policy = CheckpointPolicy { checkpoint: (now, 0), record: (now, 0), indexed: None };
    while !shared.is_stopped() {
        shared.wait_for_request(POLL_INTERVAL);
        if shared.refuse_if_failed().is_err() {
            continue;
        }
        if let Err(error) = policy.checkpoint_if_due(shared) {
            shared.fail(&error);
        }
    }
}

/// Gives free space back to the file system. After a checkpoint: what it gives back is then hardly in the log, from
/// which a recovery would restore it.
fn give_surplus_back(shared: &Shared) {
    let storage = shared.storage();
    storage.space.reclaim_of_all(storage.clock.durable());
    if let Err(error) = storage.space.give_surplus_back(&storage.medium) {
        // Not fatal: the space is free, and stays allocated.
        ::log::warn!("holm: {error}");
    }
}

/// Whether making a leaf index reads little from the disk. Otherwise the checkpoint thread would wait for the leaves,
/// and they would displace what others read.
fn are_leaves_in_memory(shared: &Shared) -> bool {
    let storage = shared.storage();
    storage.medium.image().area(Area::Leaves).is_mostly_in_memory(storage.space.block_end() as usize)
}

impl CheckpointPolicy {
    /// Takes a checkpoint if one is due, and then cuts the log if no thread is writing.
    fn checkpoint_if_due(&mut self, shared: &Shared) -> Result<()> {
        let records = shared.counters().log_records.load(Relaxed);
        let trim_target = self.trim_target(shared, records);
        if trim_target.is_some() || self.is_due(shared, records) {
            checkpoint(shared)?;
            self.checkpoint = (Instant::now(), records);
            give_surplus_back(shared);
            self.index_if_due(shared, trim_target.is_some())?;
        }
        if let Some(keep) = trim_target {
            // This does not cut a segment that has received a record meanwhile; then writers are active again.
            shared.journal().log.trim_idle(keep)?;
        }
        Ok(())
    }

    /// Writes a leaf index, from which an opening after a crash takes the leaves that have not changed. Making one
    /// reads every leaf. It is due at the first checkpoint, when writers pause, and once the log has taken
    /// `INDEX_AFTER` times the bytes of the leaves.
    fn index_if_due(&mut self, shared: &Shared, writers_pause: bool) -> Result<()> {
        let logged = shared.counters().log_bytes.load(Relaxed);
        let medium = &shared.storage().medium;
        let least = if writers_pause { 0 } else { INDEX_AFTER * shared.storage().space.block_end() };
        let is_due = self.indexed.is_none_or(|then| logged - then > least);
        if !is_due || !are_leaves_in_memory(shared) {
            return Ok(());
        }
        if let Some(index) = shared.make_index.get().and_then(|make_index| make_index()) {
            let superblock = shared.journal().superblock.clone();
            index_file::write_earlier(medium, &index, &superblock)?;
            self.indexed = Some(logged);
        }
        Ok(())
    }

    /// Whether the log holds its share of the data, or a change has waited long enough.
    fn is_due(&self, shared: &Shared, records: u64) -> bool {
        let journal = shared.journal();
        let is_long_ago = self.checkpoint.0.elapsed() >= CHECKPOINT_EVERY && records != self.checkpoint.1;
        is_long_ago || journal.log.awaits_release() || journal.log.used_bytes() > due_at(shared, &journal)
    }

    /// The size, in bytes, to which the first segments are cut: given once no thread has written for a while and one is
    /// far larger.
    fn trim_target(&mut self, shared: &Shared, records: u64) -> Option<u64> {
        if records != self.record.1 {
            self.record = (Instant::now(), records);
        }
        let journal = shared.journal();
        let keep = kept(shared, &journal);
        let is_too_large = journal.log.capacity().max(journal.log.largest_free()) > 2 * keep;
        (self.record.0.elapsed() >= QUIET && is_too_large).then_some(keep)
    }
}
