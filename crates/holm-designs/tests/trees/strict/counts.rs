//! Flushes and fences of each operation, by a table of formulas with one row per design.

use crate::fixture::{ORDERS, TreeFixture, mixed};
use holm_tree::{SeekTarget, Words};
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
    /// The leaf's pairs after the operation: for designs whose arrays have several lines.
    pairs: usize,
    /// Whether the key's pair is the only one of its line: for designs that count by lines.
    alone: bool,
}

/// The costs of operations. Before an operation, some leaves may replace a leaf of some pairs, or divide it; after one,
/// two leaves may merge.
struct Row {
    design: &'static str,
    operation: fn(Moment) -> Cost,
    split: fn(usize, usize) -> Cost,
    /// By the pairs of the merged leaf; `None` if leaves do not merge.
    merge: Option<fn(usize) -> Cost>,
    /// The number of slots in which all that one operation appends must lie, and how many there are.
    group: Option<(usize, usize)>,
}

/// The header's line and those of as many pairs.
fn filled(pairs: usize) -> u64 {
    1 + pairs.div_ceil(4) as u64
}

/// wB+-Tree, with a slot array of that many lines.
fn arrayed(kind: Kind, lines: u64) -> Cost {
    match kind {
        Kind::Insert => (3 + lines, 3),
        Kind::Update => (1, 1),
        Kind::Remove => (2 + lines, 3),
    }
}

const ROWS: &[Row] = &[
    Row {
        design: "isle",
        operation: |at| if at.kind == Kind::Update || at.alone { (1, 1) } else { (2, 2) },
        split: |_, pairs| (filled(pairs / 2) + filled(pairs.div_ceil(2)) + 1, 2),
        merge: Some(|pairs| (filled(pairs) + 2, 2)),
        group: None,
    },
    Row { design: "wb_tree", operation: |at| arrayed(at.kind, 1), split: |_, _| (9, 4), merge: None, group: None },
    Row {
        design: "wb_tree_1k",
        operation: |at| arrayed(at.kind, 1),
        // Two lines of header and seven of pairs; the log's record, its state, and its end; the leaf's two lines.
        split: |_, _| (2 + 7 + 1 + 2 + 2, 4),
        merge: None,
        group: None,
    },
    Row {
        design: "wb_tree_2k",
        // The number of pairs, and a byte for each.
        operation: |at| arrayed(at.kind, (1 + at.pairs as u64).div_ceil(64)),
        split: |_, _| (2 + 15 + 2 + 2 + 2, 4),
        merge: None,
        group: None,
    },
    Row {
        design: "fp_tree",
        operation: |at| if at.kind == Kind::Remove { (1, 1) } else { (3, 3) },
        split: |_, _| (14, 7),
        merge: None,
        group: None,
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
        merge: None,
        group: None,
    },
    Row {
        design: "nv_tree_2k",
        operation: |at| if at.kind == Kind::Update && at.used.is_multiple_of(4) { (3, 2) } else { (2, 2) },
        split: |leaves, pairs| {
            let lines = |pairs: usize| 1 + (pairs as u64).saturating_sub(1).div_ceil(4);
            let fresh = if leaves == 1 { lines(pairs) } else { lines(pairs / 2) + lines(pairs.div_ceil(2)) };
            (fresh + 1, 2)
        },
        merge: None,
        group: Some((58, 125)),
    },
];

/// The number and the pairs of each leaf, in order.
fn leaves(fixture: &TreeFixture<Words>) -> Vec<(u32, usize)> {
    let (mut leaves, mut edge) = (vec![], 0);
    loop {
        let cursor = fixture.index.cursor_at(&fixture.root, SeekTarget::Holding(edge));
        leaves.push((cursor.leaf_version.leaf(), cursor.pairs.len()));
        match cursor.edge {
            Some(high) => edge = high,
            None => return leaves,
        }
    }
}

/// How many slots two records leave out that must lie in one group.
fn left_out(used: usize, group: usize, all: usize) -> usize {
    usize::from(used % group == group - 1 && used + 1 < all)
}

fn follows(row: &Row) {
    for (name, order) in ORDERS {
        let fixture = TreeFixture::of_words(row.design);
        let mut used: BTreeMap<u32, usize> = leaves(&fixture).into_iter().collect();
        let (mut splits, mut merges) = (0, 0);
        let keys = if row.design.ends_with('k') { 2_400 } else { 600 };
        for i in 0..4_000 {
            let key = order(mixed(i) % keys);
            let removes = mixed(i + 7) % 16 < if i < 2_000 { 3 } else { 14 };
            let cursor = fixture.index.cursor_at(&fixture.root, SeekTarget::Holding(key));
            let present = cursor.pairs.iter().any(|slot| slot.head == key);
            let kind = match (removes, present) {
                (true, true) => Kind::Remove,
                (true, false) => {
                    let before = fixture.counts();
                    let _ = (
                        fixture.remove(key),
                        fixture.get(key),
                        fixture.index.cursor_at(&fixture.root, SeekTarget::Last),
                    );
                    assert_eq!(fixture.counts(), before, "{name}: nothing is written where nothing is found");
                    continue;
                }
                (false, true) => Kind::Update,
                (false, false) => Kind::Insert,
            };
            let alone = removes && row.design.starts_with("isle") && fixture.is_alone_in_its_line(key);
            let before = fixture.counts();
            if removes {
                fixture.remove(key)
            } else {
                fixture.put(key, i)
            };
            let spent = fixture.counts() - before;
            let (old, now) = (used.len(), leaves(&fixture));
            let own = fixture.index.cursor_at(&fixture.root, SeekTarget::Holding(key)).leaf_version.leaf();
            let extra = if now.len() < old {
                merges += 1;
                let pairs = now.iter().find(|(number, _)| *number == own).map_or(0, |(_, pairs)| *pairs);
                row.merge.expect("it merges")(pairs)
            } else if own != cursor.leaf_version.leaf() || now.len() > old {
                splits += 1;
                used.remove(&cursor.leaf_version.leaf());
                (row.split)(1 + now.len() - old, cursor.pairs.len())
            } else {
                (0, 0)
            };
            // A rewritten leaf has used as many slots as it had pairs before the operation.
            let came = |number: u32| i64::from(number == own) * [1, 0, -1][kind as usize];
            let anew = |(number, pairs): (u32, usize)| (number, (pairs as i64 - came(number)) as usize);
            let pairs = now.iter().find(|(number, _)| *number == own).map_or(0, |leaf| leaf.1);
            used = now.into_iter().map(|leaf| (leaf.0, *used.get(&leaf.0).unwrap_or(&anew(leaf).1))).collect();
            let filled = used.entry(own).or_default();
            if kind == Kind::Update {
                *filled += row.group.map_or(0, |(group, all)| left_out(*filled, group, all));
            }
            let cost = (row.operation)(Moment { kind, used: *filled, pairs, alone });
            let wanted = (cost.0 + extra.0, cost.1 + extra.1);
            assert_eq!(
                (spent.flushes, spent.fences),
                wanted,
                "{}, {name}: {kind:?} of {key}, {filled} used",
                row.design
            );
            *filled += if kind == Kind::Update { 2 } else { 1 };
        }
        assert!(splits > 10 && (merges > 3 || row.merge.is_none()), "{name}: {splits} splits, {merges} merges");
    }
}

#[test]
fn flushes_and_fences_are_those_of_the_table() {
    ROWS.iter().for_each(follows);
}
