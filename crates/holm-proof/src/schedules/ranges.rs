//! A range removal beside puts, readers, a snapshot and ends of epochs. A pair put after the removal has returned
//! stays, pairs beyond the range stay, the range goes from its low end on, and a snapshot has it as it was. Callers
//! that break their obligations are caught.

use super::bare::Bare;
use super::explore::{caught, explore};
use holm_medium::StorageOps;
use holm_tree::leaf::{KeyRange, Leaf};
use holm_tree::{Design, Index, LeafCursor, RangeRemoval, Reuse, SeekTarget, Superseded, designs};
use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use shuttle::thread;
use std::collections::BTreeSet;
use std::sync::Mutex;

const CAPACITY: u64 = <designs::buffered as Design>::Leaf::CAPACITY as u64;

/// The pairs of four full leaves; at first, each key has its own number.
const PAIRS: u64 = 4 * CAPACITY;

/// The range: from within the first leaf to within the last one.
const LOW: u64 = CAPACITY - 2;
const HIGH: u64 = 3 * CAPACITY + 3;

/// A key that others put: of the third leaf, which is in the last part of the removal.
const PUT: u64 = 2 * CAPACITY + 5;

/// The payload of what others put.
const PAYLOAD: u64 = 1 << 40;

/// What a caller does wrong, if anything.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Bug {
    None,
    /// The removal says that it has returned before its last part.
    ReturnsEarly,
    /// It removes the upper half first.
    UpperHalfFirst,
    /// It frees at once what a snapshot needs.
    ForgetsSnapshots,
}

struct Range {
    bare: Bare,
    bug: Bug,
    returned: AtomicBool,
    /// Payloads whose records have been freed.
    freed: Mutex<BTreeSet<u64>>,
}

impl Range {
    fn remove(&self, low: u64, high: u64) {
        let mut next = Some(low);
        while let Some(from) = next {
            let removed = &mut |_, old: Superseded| self.free(old);
            let request = RangeRemoval { range: KeyRange { low: &from, high: Some(&high) }, most_leaves: 2, removed };
            let Bare { tree_set, root, .. } = &self.bare;
            next = tree_set.remove_range(root, &mut self.bare.guard(), request).expect("sound");
            if self.bug == Bug::ReturnsEarly {
                self.returned.store(true, SeqCst);
            }
        }
    }

    fn free(&self, old: Superseded) {
        if old.reuse != Reuse::WithSnapshots || self.bug == Bug::ForgetsSnapshots {
            assert!(self.freed.lock().expect("no panic under it").insert(old.payload), "freed twice");
        }
    }

    fn put(&self, key: u64) {
        let Bare { tree_set, root, .. } = &self.bare;
        let old = tree_set.put(root, &mut self.bare.guard(), key, PAYLOAD + key).expect("room");
        old.into_iter().for_each(|old| self.free(old));
    }

    fn get(&self, key: u64) -> Option<u64> {
        self.bare.tree_set.get(&self.bare.root, key).payload
    }

    /// Reads downwards: where the upper key has gone, the lower one went before.
    fn look(&self) {
        let [upper, lower] = [HIGH - 2, LOW + 1].map(|key| self.get(key));
        assert!(upper.is_some() || lower.is_none(), "the range goes from its low end on");
        assert_eq!([LOW - 1, HIGH].map(|key| self.get(key)), [Some(LOW - 1), Some(HIGH)], "beyond the range");
    }

    /// All pairs of a snapshot.
    fn all(&self, generation: u64) -> Vec<(u64, u64)> {
        let (mut pairs, mut low) = (Vec::new(), 0);
        loop {
            let mut cursor = LeafCursor::default();
            let Bare { tree_set, root, .. } = &self.bare;
            tree_set.copy_leaf_at(root, generation, SeekTarget::Holding(low), &mut cursor);
            pairs.extend(cursor.pairs.iter().map(|slot| (slot.head, slot.payload)).filter(|(head, _)| *head >= low));
            match cursor.edge {
                Some(edge) => low = edge,
                None => return pairs,
            }
        }
    }

    /// Holds a snapshot open: what it has stays, and is not freed.
    fn hold_snapshot(&self) {
        let tree_set = &self.bare.tree_set;
        let (generation, _) = tree_set.begin_snapshot().expect("sound");
        let pairs = self.all(generation);
        // Nobody puts these keys.
        let stays = |key: &u64| *key != PUT && *key != PUT + 1;
        let keys = || pairs.iter().map(|(key, _)| *key).filter(stays);
        let first = keys().find(|key| (LOW..HIGH).contains(key)).unwrap_or(HIGH);
        assert!(keys().eq((1..LOW).chain(first..=PAIRS).filter(stays)), "a snapshot is a prefix: {pairs:?}");
        thread::yield_now();
        assert_eq!(self.all(generation), pairs, "the snapshot has changed");
        let needed: BTreeSet<_> = pairs.iter().map(|(_, payload)| *payload).collect();
        let freed = self.freed.lock().expect("no panic under it");
        assert_eq!(freed.intersection(&needed).next(), None, "freed while a snapshot has it");
        drop(freed);
        let retained = tree_set.close_snapshot(generation);
        let mut freed = self.freed.lock().expect("no panic under it");
        retained.into_iter().for_each(|released| assert!(freed.insert(released.payload), "freed twice"));
    }
}

impl Range {
    fn create(bug: Bug) -> Self {
        let (returned, freed) = (AtomicBool::new(false), Mutex::default());
        Range { bare: Bare::create(PAIRS), bug, returned, freed }
    }
}

/// Puts into leaves that the removal empties and gives up: each is there, or was removed.
fn beside_puts() {
    let range = Range::create(Bug::None);
    let keys = || (LOW + 2..HIGH).step_by(CAPACITY as usize / 2);
    thread::scope(|scope| {
        scope.spawn(|| range.remove(LOW, HIGH));
        scope.spawn(|| keys().for_each(|key| range.put(key)));
    });
    let freed = range.freed.lock().expect("no panic under it");
    for key in keys() {
        let is_freed = freed.contains(&(PAYLOAD + key));
        assert_eq!(range.get(key).is_none(), is_freed, "{key} is there, or was removed");
    }
    drop(freed);
    assert_eq!(range.bare.tree_set.audit(&range.bare.root).faults, Vec::<String>::new());
}

fn beside_others(bug: Bug) {
    let range = Range::create(bug);
    let stays = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            if bug == Bug::UpperHalfFirst {
                range.remove((LOW + HIGH) / 2, HIGH);
            }
            range.remove(LOW, HIGH);
            range.returned.store(true, SeqCst);
            range.put(PUT + 1);
            assert_eq!(range.get(PUT + 1), Some(PAYLOAD + PUT + 1), "put after the removal");
        });
        scope.spawn(|| {
            let after = range.returned.load(SeqCst);
            range.put(PUT);
            stays.store(u64::from(after), SeqCst);
            (0..2).for_each(|_| range.look());
        });
        scope.spawn(|| range.hold_snapshot());
        scope.spawn(|| {
            range.bare.writer.end_epoch().expect("sound");
        });
    });
    let put = range.get(PUT);
    assert!(put == Some(PAYLOAD + PUT) || put.is_none() && stays.load(SeqCst) == 0, "a put after the removal is lost");
    let Bare { tree_set, root, .. } = &range.bare;
    let audit = tree_set.audit(root);
    assert_eq!(audit.faults, Vec::<String>::new());
    let left = PAIRS - (HIGH - LOW) + 1 + u64::from(put.is_some());
    assert_eq!(audit.pairs, left, "nothing else is left");
    assert_eq!(tree_set.snapshot_bytes(), (0, 0), "nothing is kept");
    // Each pair that is not there any more was freed, and no other.
    let freed = range.freed.lock().expect("no panic under it").len() as u64;
    assert_eq!(freed, HIGH - LOW + u64::from(put.is_none()), "what gave way is freed once");
}

#[test]
fn a_range_is_removed_beside_others() {
    explore(300, || beside_others(Bug::None));
}

#[test]
fn no_put_is_lost_with_a_leaf_that_is_given_up() {
    explore(1_000, beside_puts);
}

#[test]
fn a_removal_that_returns_early_is_caught() {
    caught(4_000, "a put after the removal is lost", || beside_others(Bug::ReturnsEarly));
}

#[test]
fn a_removal_of_the_upper_half_first_is_caught() {
    caught(4_000, "the range goes from its low end on", || {
        let range = Range::create(Bug::UpperHalfFirst);
        thread::scope(|scope| {
            scope.spawn(|| {
                range.remove((LOW + HIGH) / 2, HIGH);
                range.remove(LOW, HIGH);
            });
            scope.spawn(|| (0..4).for_each(|_| range.look()));
        });
    });
}

#[test]
fn a_removal_that_frees_what_a_snapshot_has_is_caught() {
    caught(4_000, "freed", || beside_others(Bug::ForgetsSnapshots));
}
