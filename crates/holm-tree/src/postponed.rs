//! Merges that have to wait: where removals have left sparse leaves that could not merge at once.
//!
//! While a snapshot is open, leaves do not merge. For each tree, the least and the greatest key of such leaves are
//! kept. Later removals that merge something look at some leaves more of that range, from its low end on, and merge
//! what is sparse there. So empty leaves go in time, no removal takes much longer for it, and no thread has to scan the
//! tree when a snapshot closes. A process that ends before that leaves nothing behind: an empty leaf is a free leaf
//! after the next opening.

use crate::design::Design;
use crate::index::{SeekTarget, TreeRoot};
use crate::keys::Keys;
use crate::leaf::Merge as _;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};
use crate::tree_set::TreeSet;
use holm_medium::{Guard, Medium};
use std::collections::BTreeMap;
use std::sync::PoisonError;

/// The most leaves that one removal looks at.
const MOST_LEAVES: usize = 64;

/// The least and the greatest key of the leaves that wait, by keyspace.
type Ranges<K> = BTreeMap<u32, (<K as Keys>::Separator, <K as Keys>::Separator)>;

/// The merges that wait.
pub(crate) struct Postponed<K: Keys> {
    ranges: Mutex<Ranges<K>>,
    /// How many trees have some. Read by each removal that merges.
    trees: AtomicU64,
}

impl<K: Keys> Default for Postponed<K> {
    fn default() -> Self {
        Postponed { ranges: Mutex::new(BTreeMap::new()), trees: AtomicU64::new(0) }
    }
}

impl<K: Keys> Postponed<K> {
    fn change<T>(&self, change: impl FnOnce(&mut Ranges<K>) -> T) -> T {
        let mut ranges = self.ranges.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut ranges);
        self.trees.store(ranges.len() as u64, Relaxed);
        changed
    }

    /// Notes that the leaf of a key waits.
    pub(crate) fn note(&self, keyspace: u32, key: K::Separator) {
        self.change(|ranges| match ranges.get_mut(&keyspace) {
            Some((low, _)) if key < *low => *low = key,
            Some((_, high)) if key > *high => *high = key,
            Some(_) => {}
            None => _ = ranges.insert(keyspace, (key.clone(), key)),
        });
    }

    /// Takes a tree's range out.
    fn take(&self, keyspace: u32) -> Option<(K::Separator, K::Separator)> {
        if self.trees.load(Relaxed) == 0 { None } else { self.change(|ranges| ranges.remove(&keyspace)) }
    }

    /// Forgets a tree that is dropped.
    pub(crate) fn forget(&self, keyspace: u32) {
        self.take(keyspace);
    }
}

impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Merges what waits in a few leaves of a tree. No snapshot was open when the guard got its label.
    pub(crate) fn catch_up(&self, root: &TreeRoot, guard: &Guard<'_>) {
        let Some((mut key, high)) = self.postponed.take(root.keyspace()) else { return };
        for _ in 0..MOST_LEAVES {
            self.merge_if_sparse(root, guard, &key);
            // What has been merged is passed over with its new range.
            let beyond = self.inner.descend::<K>(root, &SeekTarget::Holding(K::search_key(&key)));
            match beyond.map(|(_, edge)| edge) {
                Some(Some(edge)) if edge <= high => key = edge,
                Some(_) => return,
                // A writer is changing the path; the next removal goes on here.
                None => break,
            }
        }
        [key, high].into_iter().for_each(|key| self.postponed.note(root.keyspace(), key));
    }

    fn merge_if_sparse(&self, root: &TreeRoot, guard: &Guard<'_>, key: &K::Separator) {
        let search_key = K::search_key(key);
        // A hint, without a latch.
        let is_sparse = self.inner.seek::<K>(root, search_key).is_some_and(|at| {
            let found = self.leaf(at.leaf).zip(self.descriptors.get(at.leaf));
            found.is_some_and(|(leaf, descriptor)| leaf.sparse(self.context(&descriptor.volatile)))
        });
        if is_sparse {
            self.collapse(root, guard, search_key);
            self.merge_now(root, guard, search_key);
        }
    }
}
