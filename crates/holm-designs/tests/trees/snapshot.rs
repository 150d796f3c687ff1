//! A range at one instant. A token moves from leaf to leaf: it is put in the new place before it is removed from the
//! old one. So at every instant at least one place has it. A scan that reads leaf after leaf may miss it.

use crate::fixture::TreeFixture;
use holm_medium::StorageOps;
use holm_tree::leaf::KeyRange;
use holm_tree::{LeafCopy, SeekTarget, Words};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

/// The value of a key without the token.
const STONE: u64 = 1;
const TOKEN: u64 = 7;

/// The number of keys; the last one has the token.
const KEYS: u64 = 400;

const ALL: KeyRange<'_, u64> = KeyRange { low: &0, high: None };

fn planted(design: &str) -> TreeFixture<Words> {
    let fixture = TreeFixture::of_words(design);
    for key in 0..KEYS {
        fixture.put(key * 10, if key + 1 == KEYS { TOKEN } else { STONE });
    }
    fixture
}

fn in_leaf(leaf: &LeafCopy) -> usize {
    leaf.pairs.iter().filter(|slot| slot.payload == TOKEN).count()
}

fn tokens(leaves: &[LeafCopy]) -> usize {
    leaves.iter().map(in_leaf).sum()
}

/// Moves the token from one key to another.
fn carry(fixture: &TreeFixture<Words>, from: u64, to: u64) {
    assert_eq!(fixture.put(to * 10, TOKEN), Some(STONE));
    assert_eq!(fixture.put(from * 10, STONE), Some(TOKEN));
}

#[test]
fn a_scan_leaf_by_leaf_may_miss_the_token() {
    let fixture = planted("buffered");
    let first = fixture.index.cursor_at(&fixture.root, SeekTarget::Holding(0));
    carry(&fixture, KEYS - 1, 0);
    let (mut seen, mut edge) = (in_leaf(&first), first.edge);
    while let Some(low) = edge {
        let cursor = fixture.index.cursor_at(&fixture.root, SeekTarget::Holding(low));
        (seen, edge) = (seen + in_leaf(&cursor), cursor.edge);
    }
    assert_eq!(seen, 0);
    assert_eq!(tokens(&fixture.index.snapshot(&fixture.root, ALL, &mut |_| {}).leaves), 1);
}

#[test]
fn changed_leaves_are_read_again_and_finally_under_latches() {
    for design in ["buffered", "holm", "borders"] {
        for moves in [0, 1, 7, 8] {
            let fixture = planted(design);
            let (mut place, mut calls) = (KEYS - 1, 0);
            let snapshot = fixture.index.snapshot(&fixture.root, ALL, &mut |_| {
                calls += 1;
                if calls <= moves {
                    let next = (place + 157) % KEYS;
                    carry(&fixture, place, next);
                    place = next;
                }
            });
            assert_eq!((snapshot.attempts, calls, snapshot.latched), (moves + 1, moves + 1, moves == 8), "{design}");
            assert_eq!(tokens(&snapshot.leaves), 1, "{design}");
            let heads = snapshot.leaves.iter().flat_map(|leaf| leaf.pairs.iter().map(|slot| slot.head));
            assert!(heads.eq((0..KEYS).map(|key| key * 10)), "{design}: all keys, in order");
            assert!(
                snapshot.leaves.iter().all(|leaf| fixture.index.validate(leaf.leaf_version)),
                "{design}: and let go unchanged"
            );
        }
    }
}

#[test]
fn a_range_is_the_leaves_that_it_touches() {
    let fixture = planted("buffered");
    let snapshot = fixture.index.snapshot(&fixture.root, KeyRange { low: &1_000, high: Some(&1_500) }, &mut |_| {});
    let heads: Vec<_> = snapshot.leaves.iter().flat_map(|leaf| leaf.pairs.iter().map(|slot| slot.head)).collect();
    assert!(heads[0] <= 1_000 && heads[heads.len() - 1] >= 1_490 && heads.len() < 120, "{heads:?}");
}

/// Leaves split, merge and are replaced meanwhile, and epochs end.
#[test]
fn a_snapshot_beside_writers_has_the_token() {
    let fixture = planted("buffered");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut place = KEYS - 1;
            while !done.load(SeqCst) {
                let next = (place + 157) % KEYS;
                carry(&fixture, place, next);
                place = next;
            }
        });
        scope.spawn(|| {
            for turn in 0.. {
                let key = (turn * 7) % (KEYS * 10);
                if done.load(SeqCst) {
                    return;
                }
                if !key.is_multiple_of(10) && turn / 4_000 % 2 == 0 {
                    fixture.put(key, STONE);
                } else if !key.is_multiple_of(10) {
                    fixture.remove(key);
                }
                if turn % 500 == 0 {
                    fixture.writer.end_epoch().expect("sound");
                }
            }
        });
        let mut latched = 0;
        for _ in 0..300 {
            let snapshot = fixture.index.snapshot(&fixture.root, ALL, &mut |_| {});
            let found = tokens(&snapshot.leaves);
            if !(1..=2).contains(&found) {
                done.store(true, SeqCst);
                panic!("{found} tokens, latched: {}", snapshot.latched);
            }
            latched += u64::from(snapshot.latched);
        }
        done.store(true, SeqCst);
        println!("{latched} of 300 under latches");
    });
    assert_eq!(fixture.index.audit(&fixture.root).faults, Vec::<String>::new());
}
