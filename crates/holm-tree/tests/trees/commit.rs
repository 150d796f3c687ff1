//! Commits of several leaves: all or nothing to readers, valid only over what was read, and never half-way for want of
//! room.

use crate::fixture;
use holm_medium::{Guard, Mapped, StorageOps, Writer};
use holm_tree::{
    CommitObserver, CommitRequest, Committed, Design, Index, LeafCursor, LeafVersion, SeekTarget, TreeRoot, TreeSet,
    TreeWrite, Words, designs,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Counts the calls, in order.
#[derive(Default)]
struct Steps(Vec<&'static str>);

impl CommitObserver for Steps {
    fn before_stores(&mut self, _: &Guard<'_>) {
        self.0.push("before");
    }
    fn after_stores(&mut self, _: &Guard<'_>) {
        self.0.push("after");
    }
}

struct Tree<D: Design> {
    writer: Arc<Writer<Mapped>>,
    tree_set: TreeSet<Mapped, D, Words>,
    roots: [TreeRoot; 2],
}

impl<D: Design> Tree<D> {
    fn new() -> Self {
        let (writer, tree_set) = fixture::tree_set();
        let root = |keyspace| tree_set.create_tree(&mut writer.clock().pin().expect("sound"), keyspace);
        let roots = [7, 9].map(|keyspace| root(keyspace).expect("memory"));
        Tree { writer, tree_set, roots }
    }

    /// Commits writes to the first tree, in the order of their keys, with the leaves that have answered for the keys at
    /// some time.
    fn commit_seen(&self, writes: &[(u64, Option<u64>)], seen: &BTreeMap<u64, LeafVersion>) -> bool {
        let write =
            |(key, payload): &(u64, _)| TreeWrite { seen: seen.get(key).copied(), ..self.write(0, *key, *payload) };
        self.commit_all(&[], &writes.iter().map(write).collect::<Vec<_>>())
    }

    /// Commits writes to the first tree, in the order of their keys.
    fn commit(&self, reads: &[LeafVersion], writes: &[(u64, Option<u64>)]) -> bool {
        let writes: Vec<_> = writes.iter().map(|(key, payload)| self.write(0, *key, *payload)).collect();
        self.commit_all(reads, &writes)
    }

    fn write(&self, tree: usize, key: u64, payload: Option<u64>) -> TreeWrite<'_, Words> {
        TreeWrite { root: &self.roots[tree], search_key: key, payload, seen: None }
    }

    fn commit_all(&self, reads: &[LeafVersion], writes: &[TreeWrite<'_, Words>]) -> bool {
        let mut steps = Steps::default();
        let mut guard = self.writer.clock().pin().expect("sound");
        let request = CommitRequest { reads, writes, observer: &mut steps };
        let done = self.tree_set.commit(&mut guard, request).expect("memory") != Committed::Conflict;
        assert_eq!(steps.0, if done { vec!["before", "after"] } else { vec![] });
        done
    }

    fn put(&self, key: u64, payload: u64) {
        let mut guard = self.writer.clock().pin().expect("sound");
        self.tree_set.put(&self.roots[0], &mut guard, key, payload).expect("memory");
    }

    fn get(&self, tree: usize, key: u64) -> Option<u64> {
        self.tree_set.get(&self.roots[tree], key).payload
    }

    fn leaf(&self, key: u64) -> LeafVersion {
        self.tree_set.get(&self.roots[0], key).leaf_version
    }

    /// Adds up the payloads of the first tree, leaf after leaf. `copy` copies a leaf.
    fn sum(&self, mut copy: impl FnMut(SeekTarget<'_, Words>) -> LeafCursor<Words>) -> u64 {
        let (mut sum, mut low) = (0, Some(0));
        while let Some(key) = low {
            let cursor = copy(SeekTarget::Holding(key));
            // The pre-image of a leaf that was split since has the pairs of both halves.
            let own = cursor.pairs.iter().filter(|slot| slot.head >= key);
            sum += own.map(|slot| slot.payload).sum::<u64>();
            low = cursor.edge;
        }
        sum
    }

    /// Adds up the payloads of leaves that are unchanged after the last one was copied; `None` if one has changed.
    fn validated_sum(&self) -> Option<u64> {
        let mut copied = Vec::new();
        let sum = self.sum(|target| {
            let cursor = self.tree_set.cursor_at(&self.roots[0], target);
            copied.push(cursor.leaf_version);
            cursor
        });
        copied.iter().all(|leaf_version| self.tree_set.validate(*leaf_version)).then_some(sum)
    }

    /// Adds up the payloads at one instant.
    fn sum_of_snapshot(&self) -> u64 {
        let (generation, _) = self.tree_set.begin_snapshot().expect("sound");
        let sum = self.sum(|target| {
            let mut cursor = LeafCursor::default();
            self.tree_set.copy_leaf_at(&self.roots[0], generation, target, &mut cursor);
            cursor
        });
        self.tree_set.close_snapshot(generation);
        sum
    }

    fn contents(&self, tree: usize) -> BTreeMap<u64, u64> {
        let (mut contents, mut low) = (BTreeMap::new(), 0);
        loop {
            let cursor = self.tree_set.cursor_at(&self.roots[tree], SeekTarget::Holding(low));
            contents.extend(cursor.pairs.iter().map(|slot| (slot.head, slot.payload)));
            match cursor.edge {
                Some(edge) => low = edge,
                None => return contents,
            }
        }
    }

    fn check(&self, tree: usize, wanted: &BTreeMap<u64, u64>) {
        assert_eq!(&self.contents(tree), wanted);
        assert_eq!(self.roots[tree].pairs(), wanted.len() as u64);
        assert_eq!(self.tree_set.audit(&self.roots[tree]).faults, Vec::<String>::new());
    }
}

fn mixed(seed: u64) -> u64 {
    let z = (seed ^ seed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB) >> 33
}

/// Commits of many sizes, over sparse and dense keys, with ends of epochs in between, against a map.
fn follows_a_model<D: Design>() {
    let tree = Tree::<D>::new();
    let mut model = BTreeMap::new();
    for round in 0..300u64 {
        let count = [1, 2, 5, 40, 300][(mixed(round) % 5) as usize];
        let space = [60, 2_000, 1 << 30][(mixed(round + 1_000) % 3) as usize];
        let writes: BTreeMap<u64, Option<u64>> = (0..count)
            .map(|i| {
                let r = mixed(round << 20 | i);
                (r % space, (r >> 20 & 3 != 0).then_some(round << 20 | i))
            })
            .collect();
        let writes: Vec<_> = writes.into_iter().collect();
        assert!(tree.commit(&[], &writes));
        for (key, payload) in writes {
            match payload {
                Some(payload) => model.insert(key, payload),
                None => model.remove(&key),
            };
        }
        if mixed(round + 7).is_multiple_of(3) {
            tree.writer.end_epoch().expect("sound");
        }
        if round % 20 == 0 {
            tree.check(0, &model);
        }
    }
    tree.check(0, &model);
}

/// Keys are written where they were last seen: one commit ago, or many commits ago, when the leaf may have been split,
/// merged, given up or used again. Others among them were not seen.
fn follows_a_model_by_what_was_seen<D: Design>() {
    let tree = Tree::<D>::new();
    let (mut model, mut seen) = (BTreeMap::new(), BTreeMap::new());
    for round in 0..2_000u64 {
        // In turns mostly puts and mostly removals, so that leaves split and merge.
        let puts = if round / 400 % 2 == 0 { 7 } else { 1 };
        let write = |i| {
            let r = mixed(round << 20 | i);
            // In every other round they lie in one leaf or two.
            let key = if round % 2 == 0 { r % 900 } else { mixed(round) % 860 + r % 40 };
            (key, (r >> 20 & 7 < puts).then_some(round << 20 | i))
        };
        let writes: BTreeMap<u64, Option<u64>> = (0..1 + mixed(round) % 8).map(write).collect();
        for key in writes.keys() {
            match mixed(round ^ key << 32) % 8 {
                0..4 => drop(seen.insert(*key, tree.leaf(*key))),
                // Not seen at all, among others that were.
                4..6 => drop(seen.remove(key)),
                _ => {}
            }
        }
        assert!(tree.commit_seen(&writes.iter().map(|(key, payload)| (*key, *payload)).collect::<Vec<_>>(), &seen));
        for (key, payload) in writes {
            match payload {
                Some(payload) => model.insert(key, payload),
                None => model.remove(&key),
            };
        }
        if round % 16 == 0 {
            tree.writer.end_epoch().expect("sound");
        }
        if round % 100 == 0 {
            tree.check(0, &model);
        }
    }
    tree.check(0, &model);
}

#[test]
fn commits_by_what_was_seen_follow_a_model() {
    follows_a_model_by_what_was_seen::<designs::buffered>();
    follows_a_model_by_what_was_seen::<designs::holm>();
}

#[test]
fn commits_follow_a_model() {
    follows_a_model::<designs::buffered>();
    follows_a_model::<designs::holm>();
}

/// Many more keys than a leaf holds, all into one leaf: in front, behind, and between two pairs.
fn takes_long_runs<D: Design>() {
    for from in [0, 1_000_000, 500_001] {
        let tree = Tree::<D>::new();
        let mut model: BTreeMap<u64, u64> = [(499_000, 1), (500_000, 2), (900_000, 3)].into();
        model.iter().for_each(|(key, payload)| tree.put(*key, *payload));
        let run: Vec<_> = (from..from + 10_000).map(|key| (key, Some(key))).collect();
        assert!(tree.commit(&[], &run));
        model.extend(run.iter().map(|(key, payload)| (*key, payload.expect("a put"))));
        tree.check(0, &model);
        let removals: Vec<_> = run.iter().map(|(key, _)| (*key, None)).collect();
        assert!(tree.commit(&[], &removals));
        model.retain(|key, _| *key < from || *key >= from + 10_000);
        tree.check(0, &model);
    }
}

#[test]
fn a_commit_takes_long_runs_of_new_keys() {
    takes_long_runs::<designs::buffered>();
    takes_long_runs::<designs::holm>();
}

/// In each epoch the same keys: every slot that a write vacates stays pinned for two more epochs.
fn survives_pinned_slots<D: Design>() {
    let tree = Tree::<D>::new();
    for round in 0..60u64 {
        let writes: Vec<_> = (0..20).map(|key| (key, (round % 3 != 2).then_some(round))).collect();
        assert!(tree.commit(&[], &writes));
        assert_eq!(tree.get(0, 13), (round % 3 != 2).then_some(round));
        tree.writer.end_epoch().expect("sound");
    }
    assert_eq!(tree.tree_set.audit(&tree.roots[0]).faults, Vec::<String>::new());
}

#[test]
fn slots_that_older_states_pin_are_no_room() {
    survives_pinned_slots::<designs::buffered>();
    survives_pinned_slots::<designs::holm>();
}

fn depends_on_what_was_read<D: Design>() {
    let tree = Tree::<D>::new();
    (1..=400).for_each(|key| tree.put(key * 10, key));
    let (near, far) = (tree.leaf(15), tree.leaf(3_000));
    assert_ne!(near.leaf(), far.leaf());
    // It reads one leaf and writes another; then it reads what it writes.
    assert!(tree.commit(&[near], &[(3_000, Some(1))]));
    assert!(!tree.commit(&[far], &[(15, Some(2))]), "the leaf has changed");
    assert!(!tree.commit(&[near, far], &[(15, Some(2)), (3_000, Some(2))]), "also if it is written");
    assert_eq!(tree.leaf(15), near, "a refused commit has changed nothing");
    let far = tree.leaf(3_000);
    assert!(tree.commit(&[near, far], &[(15, Some(3)), (3_000, Some(3))]));
    assert_eq!((tree.get(0, 15), tree.get(0, 3_000)), (Some(3), Some(3)));
    // A phantom: a key that was absent.
    let gap = tree.leaf(1_005);
    tree.put(1_005, 0);
    assert!(!tree.commit(&[gap], &[(15, Some(4))]));
    assert_eq!(tree.get(0, 15), Some(3));
    assert!(!tree.commit(&[LeafVersion::default()], &[(15, Some(4))]), "no leaf is never unchanged");
}

/// It reads a full leaf as a scan does and writes to it: the leaf is split, and that is no change.
fn splits_what_it_has_read<D: Design>() {
    let tree = Tree::<D>::new();
    (1..=400).for_each(|key| tree.put(key * 100, key));
    for key in 0..300 {
        let key = key * 131 % 40_000;
        let (seen, other) = (tree.leaf(key), tree.leaf(20_000));
        assert!(tree.commit(&[seen, other], &[(key, Some(1)), (key + 1, Some(1)), (key + 2, Some(1))]));
    }
    assert_eq!(tree.tree_set.audit(&tree.roots[0]).faults, Vec::<String>::new());
}

#[test]
fn a_commit_that_is_alone_always_succeeds() {
    splits_what_it_has_read::<designs::buffered>();
    splits_what_it_has_read::<designs::holm>();
}

#[test]
fn a_commit_depends_on_what_was_read() {
    depends_on_what_was_read::<designs::buffered>();
    depends_on_what_was_read::<designs::holm>();
}

#[test]
fn a_commit_writes_to_several_trees() {
    let tree = Tree::<designs::buffered>::new();
    let writes = [tree.write(0, 5, Some(1)), tree.write(0, 6, None), tree.write(1, 5, Some(2))];
    assert!(tree.commit_all(&[], &writes));
    assert_eq!((tree.get(0, 5), tree.get(1, 5)), (Some(1), Some(2)));
    assert!(tree.commit_all(&[], &[]), "nothing to do is done");
    tree.roots[1].mark_dropped();
    let mut steps = Steps::default();
    let request = CommitRequest { reads: &[], writes: &writes, observer: &mut steps };
    let mut guard = tree.writer.clock().pin().expect("sound");
    // The caller checks before it commits; here only a descent that misses would notice.
    assert!(tree.tree_set.commit(&mut guard, request).is_ok());
}

/// The caller's order is the order of latches. Two commits in different orders would wait for each other.
#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "writes ascend by tree and key")]
fn writes_out_of_order_are_caught() {
    let tree = Tree::<designs::buffered>::new();
    tree.commit(&[], &[(2, Some(2)), (1, Some(1))]);
}

/// Threads move amounts between accounts in many leaves, and another one adds them up: from leaves that validate
/// together, and from snapshots.
#[test]
fn every_reader_sees_a_commit_whole() {
    const ACCOUNTS: u64 = 600;
    let tree = Tree::<designs::buffered>::new();
    (0..ACCOUNTS).for_each(|key| tree.put(key, 1_000));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            let (tree, done) = (&tree, &done);
            scope.spawn(move || {
                let mut moved = 0;
                for round in 0..20_000u64 {
                    let r = mixed(round << 1 | thread);
                    let (from, to) = (r % ACCOUNTS, (r >> 12) % ACCOUNTS);
                    if from == to {
                        continue;
                    }
                    let [a, b] = [from, to].map(|key| tree.tree_set.get(&tree.roots[0], key));
                    let mut writes =
                        [(from, a.payload.map(|amount| amount - 1)), (to, b.payload.map(|amount| amount + 1))];
                    writes.sort_unstable();
                    moved += u64::from(tree.commit(&[a.leaf_version, b.leaf_version], &writes));
                    if round % 1_000 == 0 && thread == 0 {
                        tree.writer.end_epoch().expect("sound");
                    }
                }
                done.store(true, Ordering::Relaxed);
                assert!(moved > 10_000, "{moved}");
            });
        }
        let tree = &tree;
        let mut sums = 0;
        while !done.load(Ordering::Relaxed) || sums == 0 {
            // Whether leaves validate together depends on the writers; an open snapshot always answers.
            for sum in tree.validated_sum().into_iter().chain([tree.sum_of_snapshot()]) {
                assert_eq!(sum, ACCOUNTS * 1_000);
            }
            sums += 1;
        }
    });
    assert_eq!(tree.contents(0).values().sum::<u64>(), ACCOUNTS * 1_000);
    assert_eq!(tree.tree_set.audit(&tree.roots[0]).faults, Vec::<String>::new());
}
