//! Removals that empty leaves: in any order the leaves disappear, and so do the nodes above them. The tests count and
//! measure no time.

use crate::fixture::{TreeFixture, mixed};
use holm_medium::StorageOps;
use holm_tree::{SeekTarget, Words};
use std::collections::BTreeSet;

/// Pairs of a tree with several leaf parents; with the largest leaves, one or two.
const MANY: u64 = 8_000;

/// Every design with a leaf that can merge.
fn merging() -> Vec<(&'static str, TreeFixture<Words>)> {
    let of_list = ["buffered", "holm", "bd_tree", "bd_tree_literal", "isle", "borders", "holm_strict"];
    let of_variants = ["bd_tree_chained", "isle_lock_array", "holm_four"];
    let listed = of_list.into_iter().map(|name| (name, TreeFixture::of_words(name)));
    listed.chain(of_variants.into_iter().map(|name| (name, TreeFixture::of_words(name)))).collect()
}

/// Removes keys, in epochs of a thousand removals each.
fn remove_all(fixture: &TreeFixture<Words>, keys: impl IntoIterator<Item = u64>) {
    for (turn, key) in keys.into_iter().enumerate() {
        assert!(fixture.remove(key).is_some());
        if turn % 1_000 == 999 {
            fixture.writer.end_epoch().expect("a sound storage");
        }
    }
}

fn fill(fixture: &TreeFixture<Words>, keys: impl IntoIterator<Item = u64>) {
    keys.into_iter().for_each(|key| assert_eq!(fixture.put(key, key), None));
}

fn audited_leaves(fixture: &TreeFixture<Words>) -> u64 {
    let audit = fixture.index.audit(&fixture.root);
    assert_eq!(audit.faults, Vec::<String>::new());
    audit.leaves
}

/// The number of leaves that a search for the first pair reads.
fn visited_by_first(fixture: &TreeFixture<Words>) -> u64 {
    let (mut edge, mut visited) = (0, 0);
    loop {
        let cursor = fixture.index.cursor_at(&fixture.root, SeekTarget::Holding(edge));
        visited += 1;
        match cursor.edge.filter(|_| cursor.pairs.is_empty()) {
            Some(high) => edge = high,
            None => return visited,
        }
    }
}

/// The orders in which `count` keys are removed.
fn orders(count: u64) -> [(&'static str, Vec<u64>); 4] {
    let shuffled: BTreeSet<_> = (0..count).map(|key| (mixed(key), key)).collect();
    let from_both_ends = (0..count).map(|turn| if turn % 2 == 0 { turn / 2 } else { count - 1 - turn / 2 });
    [
        ("ascending", (0..count).collect()),
        ("descending", (0..count).rev().collect()),
        ("random", shuffled.into_iter().map(|(_, key)| key).collect()),
        ("from both ends", from_both_ends.collect()),
    ]
}

#[test]
fn a_tree_that_has_lost_all_its_pairs_has_few_leaves_left() {
    let mut wrong = vec![];
    for (name, fixture) in merging() {
        for (order, keys) in orders(MANY) {
            fill(&fixture, 0..MANY);
            let full = audited_leaves(&fixture);
            remove_all(&fixture, keys);
            let left = audited_leaves(&fixture);
            if left > 2 {
                wrong.push(format!("{name}, {order}: {left} leaves of {full}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_first_pair_is_found_behind_few_leaves_however_many_were_removed_before_it() {
    for (name, fixture) in merging() {
        fill(&fixture, 0..MANY);
        for first in 0..MANY - 1 {
            remove_all(&fixture, [first]);
            if first % 97 == 0 {
                let visited = visited_by_first(&fixture);
                assert!(visited <= 4, "{name}: {visited} leaves before key {}", first + 1);
            }
        }
    }
}
