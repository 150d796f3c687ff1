//! A snapshot of a range: every leaf of it, copied as if at one instant.
//!
//! The first attempts read without writing, as readers do. Each leaf is copied, and after the last copy all latches are
//! validated. If all of them validate, every copy equalled its leaf at one instant, after the last copy and before the
//! first validation. The leaves were then all leaves of the range, because every split or merge takes their latches.
//!
//! If writers make these attempts fail, the snapshot takes the latches, from left to right. Two threads that do so
//! cannot wait for each other, and every other thread that takes several latches releases what it has instead of
//! waiting.

use crate::design::Design;
use crate::index::{Index, LeafCopy, LeafCursor, SeekTarget, TreeRoot};
use crate::inner::Inner;
use crate::keys::Keys;
use crate::latch::{LatchGuard, Version};
use crate::leaf::{KeyRange, Leaf};
use crate::tree_set::TreeSet;
use crate::wait::back_off;

use holm_medium::Medium;

/// The number of attempts without latches.
const ATTEMPTS: u32 = 8;

/// The leaves of a range at one instant.
pub struct Snapshot {
    /// From left to right; the first and the last may hold keys beyond the range.
    pub leaves: Vec<LeafCopy>,
    /// The number of attempts.
    pub attempts: u32,
    /// Whether latches had to be taken.
    pub latched: bool,
}

/// A latch that a snapshot holds, and the version at which it took it.
struct Held<'a> {
    latch: LatchGuard<'a>,
    version: Version,
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// See [`Index::snapshot`].
    pub(crate) fn take_snapshot(
        &self,
        root: &TreeRoot,
        range: KeyRange<'_, K::Separator>,
        follow: &mut dyn FnMut(&[LeafCopy]),
    ) -> Snapshot {
        for attempts in 1..=ATTEMPTS {
            let leaves = self.copy_out(root, range);
            follow(&leaves);
            if leaves.iter().all(|leaf| self.validate(leaf.leaf_version)) {
                return Snapshot { leaves, attempts, latched: false };
            }
        }
        let (leaves, held) = self.latch_all(root, range);
        follow(&leaves);
        held.into_iter().for_each(|held| held.latch.unlock_unchanged());
        Snapshot { leaves, attempts: ATTEMPTS + 1, latched: true }
    }

    /// Copies one leaf after the other.
    fn copy_out(&self, root: &TreeRoot, KeyRange { low, high }: KeyRange<'_, K::Separator>) -> Vec<LeafCopy> {
        let (mut leaves, mut low) = (Vec::new(), low.clone());
        loop {
            let mut cursor = LeafCursor::default();
            self.copy_leaf(root, SeekTarget::Holding(K::search_key(&low)), 0, &mut cursor);
            leaves.push(cursor.current);
            match cursor.edge.filter(|edge| high.is_none_or(|high| edge < high) && !root.is_freed()) {
                Some(edge) => low = edge,
                None => return leaves,
            }
        }
    }

    /// The same with the latches of all leaves held.
    fn latch_all(
        &self,
        root: &TreeRoot,
        KeyRange { low, high }: KeyRange<'_, K::Separator>,
    ) -> (Vec<LeafCopy>, Vec<Held<'_>>) {
        let (mut leaves, mut held, mut low, mut turn) = (Vec::new(), Vec::new(), low.clone(), 0);
        loop {
            let found = self.try_latch(root, &low, &mut held);
            if root.is_freed() {
                return (leaves, held);
            }
            let Some((leaf, edge)) = found else {
                back_off(&mut turn);
                continue;
            };
            leaves.push(leaf);
            match edge.filter(|edge| high.is_none_or(|high| edge < high)) {
                Some(edge) => (low, turn) = (edge, 0),
                None => return (leaves, held),
            }
        }
    }

    /// Takes the latch of a separator's leaf, unless it is already held: some leaves share one.
    fn try_latch<'a>(
        &'a self,
        root: &TreeRoot,
        low: &K::Separator,
        held: &mut Vec<Held<'a>>,
    ) -> Option<(LeafCopy, Option<K::Separator>)> {
        let (at, edge) = self.inner.descend::<K>(root, &SeekTarget::Holding(K::search_key(low)))?;
        let (leaf, descriptor) = self.leaf(at.leaf).zip(self.descriptors.get(at.leaf))?;
        let latch = at.latch(at.leaf, descriptor);
        let own = held.iter().find(|held| held.latch.holds(latch)).map(|held| held.version);
        let version = own.or_else(|| latch.read())?;
        if !at.leaf_parent.latch().validate(at.version) {
            return None;
        }
        if own.is_none() {
            held.push(Held { latch: latch.try_lock(version)?, version });
        }
        let mut copy = LeafCopy::default();
        copy.pairs.begin(D::Leaf::CAPACITY);
        self.leaf_pairs(leaf, &descriptor.volatile, &mut copy.pairs);
        (copy.skip, copy.stamp) = (leaf.skip(), self.stamp(leaf, &descriptor.volatile));
        copy.pairs.sort(&self.keys, self.inner.search, copy.skip);
        copy.leaf_version = at.leaf_version(at.leaf, version);
        Some((copy, edge))
    }
}
