//! A range at one instant. A token moves from leaf to leaf: it is put in the new place before it is removed from the
//! old one. So at every instant at least one place has it. A scan that reads leaf after leaf may miss it.

use crate::grove::Grove;
use holm_medium::Ground;
use holm_tree::{Glimpse, Toward, Words};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

/// The value of a key without the token.
const STONE: u64 = 1;
const TOKEN: u64 = 7;

/// The number of keys; the last one has the token.
const KEYS: u64 = 400;

const ALL: (&u64, Option<&u64>) = (&0, None);

fn planted(design: &str) -> Grove<Words> {
    let grove = Grove::new(design, Words);
    for key in 0..KEYS {
        grove.put(key * 10, if key + 1 == KEYS { TOKEN } else { STONE });
    }
    grove
}

fn in_leaf(leaf: &Glimpse) -> usize {
    leaf.pairs.iter().filter(|slot| slot.payload == TOKEN).count()
}

fn tokens(leaves: &[Glimpse]) -> usize {
    leaves.iter().map(in_leaf).sum()
}

/// Moves the token from one key to another.
fn carry(grove: &Grove<Words>, from: u64, to: u64) {
    assert_eq!(grove.put(to * 10, TOKEN), Some(STONE));
    assert_eq!(grove.put(from * 10, STONE), Some(TOKEN));
}

#[test]
fn a_scan_leaf_by_leaf_may_miss_the_token() {
    let grove = planted("buffered");
    let first = grove.index.view(&grove.root, Toward::Holding(0));
    carry(&grove, KEYS - 1, 0);
    let (mut seen, mut edge) = (in_leaf(&first), first.edge);
    while let Some(low) = edge {
        let view = grove.index.view(&grove.root, Toward::Holding(low));
        (seen, edge) = (seen + in_leaf(&view), view.edge);
    }
    assert_eq!(seen, 0);
    assert_eq!(tokens(&grove.index.snapshot(&grove.root, ALL, &mut |_| {}).leaves), 1);
}

#[test]
fn changed_leaves_are_read_again_and_finally_under_latches() {
    for design in ["buffered", "holm", "borders"] {
        for moves in [0, 1, 7, 8] {
            let grove = planted(design);
            let (mut place, mut calls) = (KEYS - 1, 0);
            let snapshot = grove.index.snapshot(&grove.root, ALL, &mut |_| {
                calls += 1;
                if calls <= moves {
                    let next = (place + 157) % KEYS;
                    carry(&grove, place, next);
                    place = next;
                }
            });
            assert_eq!((snapshot.attempts, calls, snapshot.latched), (moves + 1, moves + 1, moves == 8), "{design}");
            assert_eq!(tokens(&snapshot.leaves), 1, "{design}");
            let heads = snapshot.leaves.iter().flat_map(|leaf| leaf.pairs.iter().map(|slot| slot.head));
            assert!(heads.eq((0..KEYS).map(|key| key * 10)), "{design}: all keys, in order");
            assert!(snapshot.leaves.iter().all(|leaf| grove.index.still(leaf.seen)), "{design}: and let go unchanged");
        }
    }
}

#[test]
fn a_range_is_the_leaves_that_it_touches() {
    let grove = planted("buffered");
    let snapshot = grove.index.snapshot(&grove.root, (&1_000, Some(&1_500)), &mut |_| {});
    let heads: Vec<_> = snapshot.leaves.iter().flat_map(|leaf| leaf.pairs.iter().map(|slot| slot.head)).collect();
    assert!(heads[0] <= 1_000 && heads[heads.len() - 1] >= 1_490 && heads.len() < 120, "{heads:?}");
}

/// Leaves split, merge and are replaced meanwhile, and epochs end.
#[test]
fn a_snapshot_beside_writers_has_the_token() {
    let grove = planted("buffered");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut place = KEYS - 1;
            while !done.load(SeqCst) {
                let next = (place + 157) % KEYS;
                carry(&grove, place, next);
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
                    grove.put(key, STONE);
                } else if !key.is_multiple_of(10) {
                    grove.remove(key);
                }
                if turn % 500 == 0 {
                    grove.quill.advance().expect("sound");
                }
            }
        });
        let mut latched = 0;
        for _ in 0..300 {
            let snapshot = grove.index.snapshot(&grove.root, ALL, &mut |_| {});
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
    assert_eq!(grove.index.audit(&grove.root).faults, Vec::<String>::new());
}
