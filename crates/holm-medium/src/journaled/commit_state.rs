//! What the end of an epoch has got to.

#![forbid(unsafe_code)]

use crate::epoch::Epoch;
use crate::error::MediumError;
use crate::log::EpochRecord;
use crate::sync::Instant;

/// A record buffer of at most this many bytes is always kept.
const SMALL_BUFFER: u64 = 256 << 10;

/// The state of the commits of a database. One thread at a time has it: the group-commit thread, or the leader of a
/// commit.
pub(super) struct CommitState {
    /// The record of the epoch that has ended last.
    pub(super) epoch_record: EpochRecord,
    /// About the greatest recent length of a record; it decays by a sixteenth with each.
    usual: u64,
    /// A moment before the begin of the active epoch.
    pub(super) active_since: Instant,
    /// The epoch that has ended and is not durable yet.
    pub(super) ended: Option<Epoch>,
    /// Why a leader could not make it durable.
    pub(super) failure: Option<MediumError>,
}

impl CommitState {
    /// For the active epoch, which begins about now.
    pub(super) fn new() -> CommitState {
        let epoch_record = EpochRecord::new();
        CommitState { epoch_record, usual: 0, active_since: Instant::now(), ended: None, failure: None }
    }

    /// Whether an epoch has ended that is not durable yet, or cannot become so.
    pub(super) fn has_work(&self) -> bool {
        self.ended.is_some() || self.failure.is_some()
    }

    /// Leaves a failure to the group-commit thread.
    pub(super) fn fail(&mut self, why: MediumError) {
        self.failure.get_or_insert(why);
    }

    /// Notes that the epoch is durable. Releases the memory of a record that was far larger than usual: one large
    /// value, or a load that is over, must not keep it forever.
    pub(super) fn finish(&mut self) {
        self.ended = None;
        self.usual = self.epoch_record.padded_len().max(self.usual - self.usual / 16);
        if self.epoch_record.memory() > SMALL_BUFFER.max(4 * self.usual) {
            self.epoch_record = EpochRecord::new();
        }
    }
}
