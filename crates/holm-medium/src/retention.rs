//! When retired space may be reused: this file alone decides.
//!
//! Two rules. The *grace period*: an operation labelled `f` runs while every epoch up to `f - 2` is durable, so a
//! crash recovers an epoch `f - 2` or later. Only the states before `r` refer to what was retired in epoch `r`. It is
//! reused when `f >= r + 2`: then no crash recovers such a state.
//!
//! ```text
//! epochs    r - 1   r       r + 1   r + 2
//! a crash in r + 1 recovers r - 1 (refers to it), r, or r + 1
//! a crash in r + 2 recovers         r, r + 1, or r + 2: none refers to it
//! ```
//!
//! The *floors*: where leaf blocks hold records, a snapshot of an epoch `g` registers `g` while it lives. Blocks
//! retired in `g` or later are not reused. Without a floor the check costs one relaxed load.
//!
//! No floor retains records. A snapshot keeps single ones, by the pre-images of leaves (`pre_images.rs` of
//! `holm-tree`), because a floor would retain everything that is replaced while it is open. A feed reads an epoch
//! within its grace period. No floor retains the log: nothing outside of recovery reads it.

use crate::epoch::Epoch;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The grace period: the distance from the label of an operation back to the last epoch that every crash keeps.
pub const GRACE: Epoch = 2;

/// Whether an operation labelled `label` may reuse what was retired in epoch `retired`, unless a floor retains it.
#[inline]
pub fn may_reuse(retired: Epoch, label: Epoch) -> bool {
    retired + GRACE <= label
}

/// The floors of a storage, all of leaf blocks.
pub struct Retention {
    /// The least floor; if there is none, a value greater than any epoch.
    lowest: AtomicU64,
    /// The number of floors per epoch.
    floors: Mutex<BTreeMap<Epoch, usize>>,
}

/// Retains leaf blocks while it lives. Dropping it never waits.
pub struct Floor {
    retention: Arc<Retention>,
    epoch: Epoch,
}

impl Default for Retention {
    fn default() -> Self {
        Retention { lowest: AtomicU64::new(Epoch::MAX), floors: Mutex::default() }
    }
}

impl Retention {
    /// Whether an operation labelled `label` may reuse a leaf block that was retired in epoch `retired`.
    #[inline]
    pub fn may_reuse_block(&self, retired: Epoch, label: Epoch) -> bool {
        // Relaxed: a floor is registered in an epoch `g <= retired`, and this operation's label is greater than `g`.
        // The end of `g` waited for the operation that registered the floor, and this one began after that.
        may_reuse(retired, label) && retired < self.lowest.load(Ordering::Relaxed)
    }

    /// Retains the blocks of the state of `epoch` and everything later. The caller has pinned `epoch` or holds the
    /// clock in it, or tells writers of the floor's owner only after this: an operation that begins two epochs later,
    /// or knows the owner, then sees the floor.
    pub fn retain(self: &Arc<Self>, epoch: Epoch) -> Floor {
        let mut floors = self.lock();
        *floors.entry(epoch).or_default() += 1;
        self.publish(&floors);
        Floor { retention: self.clone(), epoch }
    }

    /// The least floor, if there is one.
    pub fn lowest(&self) -> Option<Epoch> {
        Some(self.lowest.load(Ordering::Acquire)).filter(|epoch| *epoch != Epoch::MAX)
    }

    /// Called under the lock, so the last store covers every registration.
    fn publish(&self, floors: &BTreeMap<Epoch, usize>) {
        let lowest = floors.keys().next().copied().unwrap_or(Epoch::MAX);
        // Release: the reads of a floor's owner come before any reuse that the end of the floor allows.
        self.lowest.store(lowest, Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Epoch, usize>> {
        self.floors.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Floor {
    /// The first epoch that this floor retains.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        let mut floors = self.retention.lock();
        if let Some(count) = floors.get_mut(&self.epoch) {
            *count -= 1;
            if *count == 0 {
                floors.remove(&self.epoch);
            }
        }
        self.retention.publish(&floors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::FIRST_EPOCH;

    /// Whether some crash during an operation labelled `label` recovers a state that refers to what was retired in
    /// `retired`.
    fn is_named(retired: Epoch, label: Epoch) -> bool {
        (label - 2..=label).any(|recovered| recovered < retired)
    }

    /// Counts the labels for which a rule allows reuse although a crash may still need the space (early), and those
    /// for which it keeps the space without need (late).
    fn wrong(rule: impl Fn(Epoch, Epoch) -> bool) -> (u64, u64) {
        let (mut early, mut late) = (0, 0);
        for retired in FIRST_EPOCH..20 {
            for label in retired..24 {
                match (rule(retired, label), is_named(retired, label)) {
                    (true, true) => early += 1,
                    (false, false) => late += 1,
                    _ => {}
                }
            }
        }
        (early, late)
    }

    #[test]
    fn the_grace_period_is_as_long_as_a_crash_may_go_back_and_no_longer() {
        assert_eq!(wrong(may_reuse), (0, 0));
        let retention = Retention::default();
        assert_eq!(wrong(|retired, label| retention.may_reuse_block(retired, label)), (0, 0));
        let early = |retired, label| retired < label;
        assert_eq!(wrong(early), (16, 0), "the seeded bug: reuse an epoch early");
    }

    #[test]
    fn the_least_of_all_floors_counts_and_a_dropped_one_does_not() {
        let retention = Arc::new(Retention::default());
        let allowed = |label| (4..30).filter(|retired| retention.may_reuse_block(*retired, label)).collect::<Vec<_>>();
        let all: Vec<_> = (4..19).collect();
        assert_eq!(allowed(20), all);
        let ten = retention.retain(10);
        let seven = retention.retain(7);
        let again = retention.retain(7);
        assert_eq!((allowed(20), seven.epoch()), ((4..7).collect(), 7));
        drop(seven);
        assert_eq!((allowed(20), retention.lowest()), ((4..7).collect(), Some(7)), "registered twice");
        drop(again);
        assert_eq!((allowed(20), allowed(9)), ((4..10).collect(), (4..8).collect()));
        drop(ten);
        assert_eq!((allowed(20), retention.lowest()), (all, None));
    }
}
