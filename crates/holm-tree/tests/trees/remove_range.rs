//! The removal of ranges: what is left, how many leaves have it, and what writers beside it find.

use crate::fixture;
use holm_medium::{Epoch, Mapped, StorageOps, Writer};
use holm_tree::leaf::{KeyRange, RecoveryPoint};
use holm_tree::{Design, Index, RangeRemoval, Reuse, SeekTarget, Superseded, TreeRoot, TreeSet, Words, designs};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

struct Tree<D: Design> {
    writer: Arc<Writer<Mapped>>,
    tree_set: TreeSet<Mapped, D, Words>,
    root: TreeRoot,
}

impl<D: Design> Tree<D> {
    fn with(count: u64) -> Self {
        let (writer, tree_set) = fixture::tree_set();
        let root = tree_set.create_tree(&mut writer.clock().pin().expect("sound"), 7).expect("memory");
        let tree = Tree { writer, tree_set, root };
        (0..count).for_each(|key| tree.put(key, key + 1));
        tree
    }

    fn put(&self, key: u64, payload: u64) {
        let mut guard = self.writer.clock().pin().expect("sound");
        self.tree_set.put(&self.root, &mut guard, key, payload).expect("memory");
    }

    /// Removes a range, and returns the payloads that have given way, as well as the number of parts.
    fn remove(&self, low: u64, high: Option<u64>, most_leaves: usize) -> (Vec<Superseded>, usize) {
        let (mut gone, mut parts, mut next) = (vec![], 0, Some(low));
        while let Some(low) = next {
            let mut guard = self.writer.clock().pin().expect("sound");
            let removed = &mut |epoch: Epoch, old| {
                assert!(epoch <= self.writer.clock().active());
                gone.push(old);
            };
            let request = RangeRemoval { range: KeyRange { low: &low, high: high.as_ref() }, most_leaves, removed };
            next = self.tree_set.remove_range(&self.root, &mut guard, request).expect("sound");
            parts += 1;
        }
        (gone, parts)
    }

    fn tick(&self) {
        self.writer.end_epoch().expect("sound");
    }

    fn pairs(&self) -> BTreeMap<u64, u64> {
        let (mut edge, mut pairs) = (0, BTreeMap::new());
        loop {
            let cursor = self.tree_set.cursor_at(&self.root, SeekTarget::Holding(edge));
            pairs.extend(cursor.pairs.iter().map(|slot| (slot.head, slot.payload)));
            match cursor.edge {
                Some(high) => edge = high,
                None => return pairs,
            }
        }
    }

    /// The numbers of leaves, leaf parents and levels.
    fn shape(&self) -> (u64, usize, u32) {
        let audit = self.tree_set.audit(&self.root);
        assert_eq!(audit.faults, Vec::<String>::new());
        (audit.leaves, self.tree_set.fills(&self.root).len(), self.tree_set.height(&self.root))
    }

    fn blocks_in_use(&self) -> u64 {
        let space = &self.writer.storage().space;
        u64::from(space.block_frontier() - space.first_block()) - space.free_blocks()
    }
}

fn mixed(key: u64) -> u64 {
    let key = (key ^ key >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    key ^ key >> 29
}

fn agrees_with_a_map<D: Design>() {
    for seed in 0..40u64 {
        let draw = |turn: u64, most: u64| mixed(seed << 32 | turn) % most;
        let tree = Tree::<D>::with(0);
        let mut map = BTreeMap::new();
        for turn in 0..60 {
            let most = 20_000;
            for insert in 0..draw(turn * 7, 400) {
                let key = draw(turn * 7 + 1, most) + if turn % 2 == 0 { insert } else { insert * 17 };
                tree.put(key, turn << 32 | (insert + 1));
                map.insert(key, turn << 32 | (insert + 1));
            }
            let (low, len) = (draw(turn * 7 + 2, most), 1 + draw(turn * 7 + 3, most / (1 << draw(turn * 7 + 4, 12))));
            let high = (turn % 11 != 0).then_some(low + len);
            let in_range = |key: &u64| *key >= low && high.is_none_or(|high| *key < high);
            let mut gone: Vec<_> = map.extract_if(.., |key, _| in_range(key)).map(|(_, payload)| payload).collect();
            let (old, _) = tree.remove(low, high, [1, 3, 64][turn as usize % 3]);
            let mut payloads: Vec<_> = old.iter().map(|old| old.payload).collect();
            gone.sort_unstable();
            payloads.sort_unstable();
            assert_eq!(payloads, gone, "{}, seed {seed}, turn {turn}: what gave way", D::NAME);
            if turn % 5 == 0 {
                tree.tick();
            }
            assert_eq!(tree.pairs(), map, "{}, seed {seed}, turn {turn}: {low}..{high:?}", D::NAME);
            assert_eq!(tree.root.pairs(), map.len() as u64);
        }
        tree.shape();
        let mut tree = tree;
        for recovery_point in [RecoveryPoint::Visible, RecoveryPoint::At(tree.writer.clock().active())] {
            let rebuilt = tree.tree_set.rebuild(recovery_point, tree.writer.clock().active() + 1, 1).expect("sound");
            let Some(root) = rebuilt.roots.into_iter().next() else {
                assert_eq!(map, BTreeMap::new());
                break;
            };
            tree = Tree { root, ..tree };
            assert_eq!(tree.pairs(), map, "{}, seed {seed}: recovered", D::NAME);
        }
    }
}

#[test]
fn ranges_are_removed_as_from_a_map() {
    agrees_with_a_map::<designs::buffered>();
    agrees_with_a_map::<designs::holm>();
}

#[test]
fn a_cleared_tree_is_one_leaf_and_its_blocks_are_free() {
    let tree = Tree::<designs::buffered>::with(200_000);
    let (leaves, leaf_parents, _) = tree.shape();
    tree.tick();
    let (gone, parts) = tree.remove(0, None, usize::MAX);
    assert_eq!(gone.len(), 200_000);
    assert!(parts <= leaf_parents + 1, "{parts} parts for {leaf_parents} leaf parents of {leaves} leaves");
    assert_eq!(tree.shape(), (1, 1, 1), "leaves, leaf parents, levels");
    (0..3).for_each(|_| tree.tick());
    assert_eq!(tree.blocks_in_use(), 1);
    let frontier = tree.writer.storage().space.block_frontier();
    (0..200_000).for_each(|key| tree.put(key, key + 1));
    assert!(tree.writer.storage().space.block_frontier() <= frontier + 1, "the blocks are used again");
}

/// What is left around the range stays, and the leaves within are gone.
#[test]
fn a_range_in_the_middle_leaves_its_neighbours() {
    let tree = Tree::<designs::buffered>::with(100_000);
    let kept = |key: &u64| *key < 20_003 || *key >= 79_998;
    tree.remove(20_003, Some(79_998), 64);
    assert!(tree.pairs().into_keys().eq((0..100_000).filter(kept)));
    let (leaves, leaf_parents, _) = tree.shape();
    assert!(leaves <= 40_005 / 28 + 4, "{leaves} leaves");
    assert!(leaf_parents <= 1 + leaves as usize / 12, "{leaf_parents} leaf parents above {leaves} leaves");
}

#[test]
fn an_empty_range_changes_nothing() {
    let tree = Tree::<designs::buffered>::with(1_000);
    for (low, high) in [(500, Some(500)), (500, Some(3)), (5_000, None), (1_000, Some(1_001)), (500, Some(0))] {
        assert_eq!(tree.remove(low, high, 64).0, [], "{low}..{high:?}");
    }
    assert_eq!(tree.pairs().len(), 1_000);
}

/// While a snapshot is open, what it has is kept: leaves stay, and records are retained until it closes. Removals after
/// that merge what is empty.
#[test]
fn a_snapshot_keeps_what_a_range_removal_takes() {
    let tree = Tree::<designs::buffered>::with(50_000);
    tree.tick();
    let (leaves, ..) = tree.shape();
    let (generation, _) = tree.tree_set.begin_snapshot().expect("sound");
    let (gone, _) = tree.remove(100, Some(49_900), 64);
    assert!(gone.iter().all(|old| old.reuse == Reuse::WithSnapshots));
    assert_eq!((tree.pairs().len(), tree.shape().0), (200, leaves), "no leaf is given up");
    for key in 0..50_000 {
        let payload = tree.tree_set.get_at(&tree.root, generation, key).lookup.payload;
        assert_eq!(payload, Some(key + 1), "the snapshot has {key}");
    }
    let mut freed: Vec<_> = tree.tree_set.close_snapshot(generation).iter().map(|released| released.payload).collect();
    freed.sort_unstable();
    let mut retained: Vec<_> = gone.iter().map(|old| old.payload).collect();
    retained.sort_unstable();
    assert_eq!(freed, retained);
    tree.remove(100, Some(49_900), 64);
    assert!(tree.shape().0 <= 12, "{} leaves of 200 pairs", tree.shape().0);
}

/// The record of a pair is free at once if the pair was put in this epoch. A pair of an earlier epoch may come back in
/// a crash, also if a split has copied it in this one.
#[test]
fn a_record_is_free_at_once_only_if_no_crash_needs_it() {
    let tree = Tree::<designs::buffered>::with(0);
    (0..28).for_each(|key| tree.put(key * 10, key + 1));
    (0..3).for_each(|_| tree.tick());
    // Splits the leaf.
    tree.put(5, 100);
    tree.put(1_000, 101);
    assert!(tree.shape().0 > 1);
    let (gone, _) = tree.remove(0, None, 64);
    assert_eq!(gone.len(), 30);
    for Superseded { payload, reuse } in gone {
        let expected = if payload < 100 { Reuse::AfterGrace } else { Reuse::AtOnce };
        assert_eq!(reuse, expected, "payload {payload}");
    }
    // In a leaf that does not split.
    (0..3).for_each(|key| tree.put(key, key + 1));
    tree.tick();
    tree.put(3, 100);
    let (gone, _) = tree.remove(0, None, 64);
    let reuse: Vec<_> = gone.iter().map(|old| (old.payload, old.reuse == Reuse::AtOnce)).collect();
    assert_eq!(reuse, [(1, false), (2, false), (3, false), (100, true)]);
}

/// The leaf that takes a run's range over may have been emptied epochs ago. Its answer about the range must wait for
/// the epoch of the latest removal there: until then a crash can bring the keys back.
#[test]
fn an_answer_about_a_collapsed_range_waits_for_the_removal() {
    let tree = Tree::<designs::buffered>::with(28 * 4);
    for key in 28..56 {
        let mut guard = tree.writer.clock().pin().expect("sound");
        tree.tree_set.remove(&tree.root, &mut guard, key).expect("sound").expect("it is there");
    }
    (0..3).for_each(|_| tree.tick());
    assert_eq!(tree.shape().0, 4, "an empty leaf between full ones stays");
    tree.remove(56, Some(84), 64);
    assert_eq!(tree.shape().0, 3);
    let lookup = tree.tree_set.get(&tree.root, 60);
    assert_eq!((lookup.payload, lookup.stamp), (None, tree.writer.clock().active()));
}

/// A pair put after the removal has returned stays, and one put before is gone; writers, scans, splits and merges run
/// beside it.
#[test]
fn puts_beside_a_removal_are_before_or_after_it() {
    const KEYS: u64 = 4_000;
    let tree = Tree::<designs::buffered>::with(KEYS);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        // A neighbour whose keys lie between those of the range and are in none.
        let beside = scope.spawn(|| {
            for round in 1..=6 {
                for key in (KEYS..2 * KEYS).step_by(3) {
                    tree.put(key, round << 32 | key);
                }
                for key in (KEYS..2 * KEYS).step_by(3) {
                    let found = tree.tree_set.get(&tree.root, key).payload;
                    assert_eq!(found, Some(round << 32 | key), "{key} is in no range");
                }
            }
        });
        let remover = scope.spawn(|| {
            for round in 1..=12u64 {
                tree.remove(0, Some(KEYS), [1, 5, 64][round as usize % 3]);
                let keys = (0..KEYS).filter(|key| mixed(*key + round).is_multiple_of(3));
                keys.clone().for_each(|key| tree.put(key, round << 32 | key));
                for key in keys {
                    let found = tree.tree_set.get(&tree.root, key).payload;
                    assert_eq!(found, Some(round << 32 | key), "{key} was put after the removal");
                }
            }
            tree.remove(0, Some(KEYS), 64);
        });
        scope.spawn(|| {
            while !done.load(SeqCst) {
                let keys: Vec<_> = tree.pairs().into_keys().collect();
                assert!(keys.is_sorted_by(|a, b| a < b));
                tree.tick();
                thread::yield_now();
            }
        });
        let ended = [beside, remover].map(thread::ScopedJoinHandle::join);
        done.store(true, SeqCst);
        ended.into_iter().for_each(|ended| ended.expect("no panic"));
    });
    assert!(tree.pairs().into_keys().eq((KEYS..2 * KEYS).step_by(3)));
    tree.shape();
}
