//! Flushes and fences of each operation, by a table of formulas with one row per design.

use crate::grove::{Grove, ORDERS, mixed};
use holm_tree::{Toward, Words};
use std::collections::BTreeMap;

/// Flushes and fences.
type Cost = (u64, u64);

/// One operation, as the table distinguishes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Insert,
    Update,
    Remove,
}

/// What a formula may depend on.
struct Moment {
    kind: Kind,
    /// The number of the leaf's slots that were used since it was written: for designs that append.
    used: usize,
}

/// The costs of operations. Before an operation, some leaves may replace a leaf of some pairs, or divide it; after one,
/// two leaves may merge.
struct Row {
    design: &'static str,
    operation: fn(Moment) -> Cost,
    split: fn(usize, usize) -> Cost,
    merge: Cost,
}

const ROWS: &[Row] = &[
    Row {
        design: "isle",
        operation: |at| if at.kind == Kind::Update { (1, 1) } else { (2, 2) },
        split: |_, _| (17, 2),
        merge: (10, 2),
    },
    Row {
        design: "wb_tree",
        operation: |at| match at.kind {
            Kind::Insert => (4, 3),
            Kind::Update => (1, 1),
            Kind::Remove => (3, 3),
        },
        split: |_, _| (9, 4),
        merge: (0, 0),
    },
    Row {
        design: "fp_tree",
        operation: |at| if at.kind == Kind::Remove { (1, 1) } else { (3, 3) },
        split: |_, _| (14, 7),
        merge: (0, 0),
    },
    Row {
        design: "nv_tree",
        // The two records of an update may lie in two lines: every fourth record starts a line.
        operation: |at| if at.kind == Kind::Update && at.used % 4 == 1 { (3, 2) } else { (2, 2) },
        split: |leaves, pairs| {
            let lines = |pairs: usize| 1 + (pairs as u64).saturating_sub(2).div_ceil(4);
            let fresh = if leaves == 1 { lines(pairs) } else { lines(pairs / 2) + lines(pairs.div_ceil(2)) };
            (fresh + 1, 2)
        },
        merge: (0, 0),
    },
];

/// The number and the pairs of each leaf, in order.
fn leaves(grove: &Grove<Words>) -> Vec<(u32, usize)> {
    let (mut leaves, mut edge) = (vec![], 0);
    loop {
        let view = grove.index.view(&grove.root, Toward::Holding(edge));
        leaves.push((view.seen.leaf(), view.pairs.len()));
        match view.edge {
            Some(high) => edge = high,
            None => return leaves,
        }
    }
}

fn follows(row: &Row) {
    for (name, order) in ORDERS {
        let grove = Grove::new(row.design, Words);
        let mut used: BTreeMap<u32, usize> = leaves(&grove).into_iter().collect();
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
            let before = grove.counts();
            if removes {
                grove.remove(key)
            } else {
                grove.put(key, i)
            };
            let spent = grove.counts() - before;
            let (old, now) = (used.len(), leaves(&grove));
            let own = grove.index.view(&grove.root, Toward::Holding(key)).seen.leaf();
            let extra = if now.len() < old {
                merges += 1;
                row.merge
            } else if own != view.seen.leaf() || now.len() > old {
                splits += 1;
                used.remove(&view.seen.leaf());
                (row.split)(1 + now.len() - old, view.pairs.len())
            } else {
                (0, 0)
            };
            // A rewritten leaf has used as many slots as it had pairs before the operation.
            let came = |number: u32| i64::from(number == own) * [1, 0, -1][kind as usize];
            let anew = |(number, pairs): (u32, usize)| (number, (pairs as i64 - came(number)) as usize);
            used = now.into_iter().map(|leaf| (leaf.0, *used.get(&leaf.0).unwrap_or(&anew(leaf).1))).collect();
            let filled = used.entry(own).or_default();
            let cost = (row.operation)(Moment { kind, used: *filled });
            let wanted = (cost.0 + extra.0, cost.1 + extra.1);
            assert_eq!(
                (spent.flushes, spent.fences),
                wanted,
                "{}, {name}: {kind:?} of {key}, {filled} used",
                row.design
            );
            *filled += if kind == Kind::Update { 2 } else { 1 };
        }
        assert!(splits > 10 && (merges > 3 || row.merge == (0, 0)), "{name}: {splits} splits, {merges} merges");
    }
}

#[test]
fn flushes_and_fences_are_those_of_the_table() {
    ROWS.iter().for_each(follows);
}
