//! Flushes and fences of each operation, by a table of formulas: one row per design.

use crate::grove::{Grove, ORDERS, mixed};
use holm_tree::{Toward, Words};

/// Flushes and fences.
type Cost = (u64, u64);

/// One operation, as the table sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Insert,
    Update,
    Remove,
}

/// What a full leaf's replacement by so many leaves, or a merge of two, costs beside the operation.
struct Row {
    design: &'static str,
    operation: fn(Kind) -> Cost,
    split: fn(usize) -> Cost,
    merge: Cost,
}

const ROWS: &[Row] = &[
    Row {
        design: "isle",
        operation: |kind| if kind == Kind::Update { (1, 1) } else { (2, 2) },
        split: |_| (17, 2),
        merge: (10, 2),
    },
    Row {
        design: "wb_tree",
        operation: |kind| match kind {
            Kind::Insert => (4, 3),
            Kind::Update => (1, 1),
            Kind::Remove => (3, 3),
        },
        split: |_| (9, 4),
        merge: (0, 0),
    },
    Row {
        design: "fp_tree",
        operation: |kind| if kind == Kind::Remove { (1, 1) } else { (3, 3) },
        split: |_| (14, 7),
        merge: (0, 0),
    },
];

/// The number of leaves.
fn leaves(grove: &Grove<Words>) -> usize {
    let (mut count, mut edge) = (0, 0);
    loop {
        count += 1;
        match grove.index.view(&grove.root, Toward::Holding(edge)).edge {
            Some(high) => edge = high,
            None => return count,
        }
    }
}

fn follows(row: &Row) {
    for (name, order) in ORDERS {
        let grove = Grove::new(row.design, Words);
        let (mut splits, mut merges) = (0, 0);
        for i in 0..4_000 {
            let key = order(mixed(i) % 600);
            let removes = mixed(i + 7) % 16 < if i < 2_000 { 3 } else { 14 };
            let view = grove.index.view(&grove.root, Toward::Holding(key));
            let present = view.pairs.iter().any(|slot| slot.head == key);
            let kind = match (removes, present) {
                (true, true) => Kind::Remove,
                (true, false) => {
                    let before = grove.counts();
                    let _ = (grove.remove(key), grove.get(key), grove.index.view(&grove.root, Toward::Last));
                    assert_eq!(grove.counts(), before, "{name}: nothing is written where nothing is found");
                    continue;
                }
                (false, true) => Kind::Update,
                (false, false) => Kind::Insert,
            };
            let (own, many) = (view.seen.leaf(), leaves(&grove));
            let before = grove.counts();
            if removes {
                grove.remove(key)
            } else {
                grove.put(key, i)
            };
            let spent = grove.counts() - before;
            let replaced = grove.index.view(&grove.root, Toward::Holding(key)).seen.leaf() != own;
            let extra = match leaves(&grove).checked_sub(many) {
                None => {
                    merges += 1;
                    row.merge
                }
                Some(more) if replaced || more > 0 => {
                    splits += 1;
                    (row.split)(1 + more)
                }
                Some(_) => (0, 0),
            };
            let (flushes, fences) = (row.operation)(kind);
            assert_eq!(
                (spent.flushes, spent.fences),
                (flushes + extra.0, fences + extra.1),
                "{}, {name}: {kind:?} of {key}, then {} leaves of {many}",
                row.design,
                leaves(&grove)
            );
        }
        assert!(splits > 10 && (merges > 3 || row.merge == (0, 0)), "{name}: {splits} splits, {merges} merges");
    }
}

#[test]
fn flushes_and_fences_are_those_of_the_table() {
    ROWS.iter().for_each(follows);
}
