//! Payloads that have given way, and when their records may be reused.

use crate::design::Design;
use crate::keys::Keys;
use crate::leaf::{Leaf as _, Replaced};
use crate::pairs::Pairs;
use crate::pre_images::{GivenWay, PreImageContents};
use crate::tree_set::{LatchedLeaf, TreeSet};
use holm_medium::{Guard, Medium};

/// When the record of a payload that has given way may be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reuse {
    /// At once: no crash can bring the payload back, and no snapshot needs it.
    AtOnce,
    /// After the grace period of the operation's epoch.
    AfterGrace,
    /// Once the snapshots that need it are closed: [`Index::close_snapshot`](crate::Index::close_snapshot) returns it.
    WithSnapshots,
}

/// A payload that an operation has replaced or removed. The caller frees its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superseded {
    /// The payload.
    pub payload: u64,
    /// When the record may be reused.
    pub reuse: Reuse,
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Keeps what a leaf holds for open snapshots. Before the first store of an operation whose label is valid, which
    /// then puts `payloads` if anything.
    #[inline(always)]
    pub(crate) fn preserve(
        &self,
        guard: &Guard<'_>,
        latched: &LatchedLeaf<'_, D>,
        payloads: impl IntoIterator<Item = u64>,
    ) {
        if guard.has_snapshots() {
            self.copy_pre_image(guard, latched, payloads.into_iter());
        }
    }

    #[cold]
    #[inline(never)]
    fn copy_pre_image(
        &self,
        guard: &Guard<'_>,
        LatchedLeaf { number, leaf, descriptor, .. }: &LatchedLeaf<'_, D>,
        payloads: impl Iterator<Item = u64>,
    ) {
        self.pre_images.preserve(*number, guard.generation(), payloads, || {
            let mut pairs = Pairs::default();
            self.leaf_pairs(leaf, &descriptor.volatile, &mut pairs);
            PreImageContents {
                skip: leaf.skip(),
                pairs: pairs.iter().copied().collect(),
                stamp: self.stamp(leaf, &descriptor.volatile),
            }
        });
    }

    /// Says when the record of what a leaf has replaced may be reused. The latch is still held.
    #[inline(always)]
    pub(crate) fn superseded(&self, guard: &Guard<'_>, leaf: u32, old: Replaced) -> Superseded {
        let reuse = if guard.has_snapshots() && self.is_retained(guard, leaf, old.payload) {
            Reuse::WithSnapshots
        } else if old.same_epoch {
            Reuse::AtOnce
        } else {
            Reuse::AfterGrace
        };
        Superseded { payload: old.payload, reuse }
    }

    #[cold]
    #[inline(never)]
    fn is_retained(&self, guard: &Guard<'_>, leaf: u32, payload: u64) -> bool {
        let bytes = K::location(payload).map_or(0, |(_, words)| u64::from(words) * 8);
        self.pre_images.retain(leaf, GivenWay { payload, bytes, epoch: guard.epoch() })
    }
}
