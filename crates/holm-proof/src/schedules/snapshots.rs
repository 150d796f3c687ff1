//! A snapshot beside commits, splits, merges and ends of epochs: it has each of them whole or not at all, and stays as
//! it was.

use super::bare::Bare;
use super::explore::{caught_for_any, explore};
use holm_medium::{Guard, StorageOps};
use holm_tree::leaf::Leaf;
use holm_tree::{CommitObserver, CommitRequest, Design, Index, LeafCursor, SeekTarget, TreeWrite, designs};
use shuttle::thread;

const CAPACITY: u64 = <designs::buffered as Design>::Leaf::CAPACITY as u64;

/// The pairs of two full leaves; at first, each key has its own number.
const PAIRS: u64 = 2 * CAPACITY;
const LOW: u64 = 1;
const HIGH: u64 = PAIRS;

/// What the reader does wrong, if anything.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Bug {
    None,
    /// It reads leaves as they are.
    ReadsTheLatest,
    /// It asks for a generation that has not begun.
    LaterGeneration,
    /// It goes on after it has closed the snapshot.
    ReadsAfterClose,
    /// A batch does not hold the clock.
    BatchWithoutHold,
}

struct Nothing;

impl CommitObserver for Nothing {
    fn before_stores(&mut self, _: &Guard<'_>) {}
    fn after_stores(&mut self, _: &Guard<'_>) {}
}

/// Moves an amount from the first key to the last.
fn transfer(bare: &Bare, amount: u64) {
    let Bare { tree_set, root, .. } = bare;
    for _ in 0..4 {
        let both = [LOW, HIGH].map(|key| tree_set.get(root, key));
        let [low, high] = both.map(|lookup| lookup.payload.expect("both are there"));
        let reads = both.map(|lookup| lookup.leaf_version);
        let write =
            |search_key, payload, seen| TreeWrite { root, search_key, payload: Some(payload), seen: Some(seen) };
        let writes = [write(LOW, low.wrapping_sub(amount), reads[0]), write(HIGH, high.wrapping_add(amount), reads[1])];
        let request = CommitRequest { reads: &reads, writes: &writes, observer: &mut Nothing };
        if tree_set.commit(&mut bare.guard(), request).expect("room") != holm_tree::Committed::Conflict {
            return;
        }
    }
}

/// What a snapshot has under both keys, by gets.
fn both(bare: &Bare, generation: u64, bug: Bug) -> [u64; 2] {
    let Bare { tree_set, root, .. } = bare;
    [LOW, HIGH].map(|key| {
        let lookup = match bug {
            Bug::ReadsTheLatest => tree_set.get(root, key),
            Bug::LaterGeneration => tree_set.get_at(root, generation + 1, key).lookup,
            Bug::None | Bug::ReadsAfterClose | Bug::BatchWithoutHold => tree_set.get_at(root, generation, key).lookup,
        };
        lookup.payload.expect("both are there")
    })
}

/// All pairs of a snapshot, by a scan.
fn all(bare: &Bare, generation: u64) -> Vec<(u64, u64)> {
    let (mut pairs, mut low) = (Vec::new(), 0);
    loop {
        let mut cursor = LeafCursor::default();
        bare.tree_set.copy_leaf_at(&bare.root, generation, SeekTarget::Holding(low), &mut cursor);
        pairs.extend(cursor.pairs.iter().map(|slot| (slot.head, slot.payload)).filter(|(head, _)| *head >= low));
        match cursor.edge {
            Some(edge) => low = edge,
            None => return pairs,
        }
    }
}

fn beside_writers(bug: Bug) {
    let bare = Bare::create(PAIRS);
    thread::scope(|scope| {
        scope.spawn(|| transfer(&bare, 3));
        scope.spawn(|| {
            // Both leaves are full, so this splits them.
            for key in [LOW + 1, HIGH - 1] {
                bare.tree_set.remove(&bare.root, &mut bare.guard(), key).expect("sound");
                bare.tree_set.put(&bare.root, &mut bare.guard(), PAIRS * 2 + key, key).expect("room");
            }
            transfer(&bare, 5);
        });
        scope.spawn(|| {
            // The one before stays open while the next one begins.
            let mut older = None;
            for _ in 0..3 {
                let (generation, _) = bare.tree_set.begin_snapshot().expect("sound");
                if bug == Bug::ReadsAfterClose {
                    bare.tree_set.close_snapshot(generation);
                }
                let first = both(&bare, generation, bug);
                assert_eq!(first[0].wrapping_add(first[1]), LOW + HIGH, "the sum is constant");
                let pairs = all(&bare, generation);
                assert_eq!(both(&bare, generation, bug), first, "the snapshot has changed");
                if bug == Bug::None {
                    assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0), "in order, each once: {pairs:?}");
                    assert_eq!([pairs[0], (HIGH, first[1])], [(LOW, first[0]), (HIGH, first[1])]);
                    assert!(pairs.contains(&(HIGH, first[1])) && (PAIRS - 1..=PAIRS).contains(&(pairs.len() as u64)));
                    assert_eq!(all(&bare, generation), pairs, "the snapshot has changed");
                    if let Some((older, pairs)) = older.replace((generation, pairs)) {
                        assert_eq!(all(&bare, older), pairs, "the snapshot has changed");
                        bare.tree_set.close_snapshot(older);
                    }
                }
            }
            if let Some((older, _)) = older {
                bare.tree_set.close_snapshot(older);
            }
        });
        scope.spawn(|| {
            bare.writer.end_epoch().expect("sound");
        });
    });
    if bug == Bug::None {
        assert_eq!(bare.tree_set.snapshot_bytes(), (0, 0), "nothing is kept");
    }
    assert_eq!(bare.tree_set.audit(&bare.root).faults, Vec::<String>::new());
}

#[test]
fn a_snapshot_is_one_instant_and_stays() {
    explore(600, || beside_writers(Bug::None));
}

#[test]
fn a_snapshot_that_reads_leaves_as_they_are_is_caught() {
    for bug in [Bug::ReadsTheLatest, Bug::LaterGeneration, Bug::ReadsAfterClose] {
        caught_for_any(4_000, &["the sum is constant", "the snapshot has changed"], move || beside_writers(bug));
    }
}

/// Moves an amount by operations of their own: the batch keeps snapshots from beginning in between.
fn transfer_by_batch(bare: &Bare, bug: Bug) {
    let Bare { writer, tree_set, root } = bare;
    let hold = (bug != Bug::BatchWithoutHold).then(|| writer.clock().hold(0, 2).expect("sound"));
    for (key, payload) in [(LOW, LOW.wrapping_sub(7)), (HIGH, HIGH + 7)] {
        let mut guard = hold.as_ref().map_or_else(|| bare.guard(), |hold| hold.pin().expect("sound"));
        tree_set.put(root, &mut guard, key, payload).expect("room");
    }
}

fn beside_a_batch(bug: Bug) {
    let bare = Bare::create(PAIRS);
    thread::scope(|scope| {
        scope.spawn(|| transfer_by_batch(&bare, bug));
        scope.spawn(|| {
            for _ in 0..2 {
                let (generation, _) = bare.tree_set.begin_snapshot().expect("sound");
                let first = both(&bare, generation, bug);
                assert_eq!(first[0].wrapping_add(first[1]), LOW + HIGH, "the sum is constant");
                assert_eq!(both(&bare, generation, bug), first, "the snapshot has changed");
                bare.tree_set.close_snapshot(generation);
            }
        });
        scope.spawn(|| {
            bare.writer.end_epoch().expect("sound");
        });
    });
    assert_eq!(bare.tree_set.snapshot_bytes(), (0, 0), "nothing is kept");
}

#[test]
fn a_batch_is_in_a_snapshot_whole() {
    explore(300, || beside_a_batch(Bug::None));
}

#[test]
fn a_batch_that_does_not_hold_the_clock_is_caught() {
    caught_for_any(4_000, &["the sum is constant"], || beside_a_batch(Bug::BatchWithoutHold));
}

/// The keys that are left in two leaves before they merge, in the order in which they are removed.
fn removed_last() -> impl Iterator<Item = u64> {
    (LOW + 1..LOW + 8).chain(HIGH - 7..HIGH).rev()
}

/// Leaves lose pairs until they merge, and snapshots begin and close meanwhile: each has a part of the removals.
fn beside_merges() {
    let bare = Bare::create(PAIRS);
    let Bare { tree_set, root, .. } = &bare;
    for key in LOW + 8..HIGH - 7 {
        tree_set.remove(root, &mut bare.guard(), key).expect("sound");
    }
    thread::scope(|scope| {
        scope.spawn(|| {
            for key in removed_last() {
                tree_set.remove(root, &mut bare.guard(), key).expect("sound");
            }
        });
        scope.spawn(|| {
            for _ in 0..3 {
                let (generation, _) = tree_set.begin_snapshot().expect("sound");
                let pairs = all(&bare, generation);
                let left = |key: &u64| pairs.binary_search_by_key(key, |pair| pair.0).is_ok();
                let kept: Vec<bool> = removed_last().map(|key| left(&key)).collect();
                assert!(left(&LOW) && left(&HIGH) && kept.is_sorted(), "a part of the removals: {pairs:?}");
                thread::yield_now();
                assert_eq!(all(&bare, generation), pairs, "the snapshot has changed");
                tree_set.close_snapshot(generation);
            }
        });
        scope.spawn(|| {
            bare.writer.end_epoch().expect("sound");
        });
    });
    let audit = tree_set.audit(root);
    assert_eq!((audit.pairs, audit.faults), (2, vec![]), "what is left");
    assert_eq!(tree_set.snapshot_bytes(), (0, 0), "nothing is kept");
}

#[test]
fn a_snapshot_beside_merges_is_one_instant_and_stays() {
    explore(150, beside_merges);
}
