//! Light tests of the variants. Each agrees with the standard library's map and costs what its base costs, flush by
//! flush and fence by fence.

use crate::agree;
use crate::fixture::{ORDERS, Order, TreeFixture, mixed};
use holm_designs::variants::{
    self, CAPABILITIES, bd_tree_chained, circ_sentinels, circ_vectors, fast_fair_fingerprints_4k,
    fast_fair_sentinels_4k, holm_prints_aside, isle_vectors_1k, nv_tree_2k, nv_tree_vectors_2k, wb_tree_2k,
};
use holm_search::Search;
use holm_tree::{Design, TreeSet, Words};
use std::collections::BTreeMap;

fn create(variant: &str) -> TreeFixture<Words> {
    TreeFixture::of_words(variant)
}

#[test]
fn words_agree_with_a_map_for_any_keys_and_values() {
    CAPABILITIES.iter().for_each(|(name, _)| agree::words(|| create(name), if is_long(name) { 700 } else { 400 }));
}

fn is_long(variant: &str) -> bool {
    variants::block_bytes(variant).is_some_and(|bytes| bytes > 1024)
}

fn names_agree<D: Design>() {
    agree::names(|names| {
        TreeFixture::over(|writer| Box::new(TreeSet::<_, D, _>::new(writer, names, Search::detect())))
    });
}

#[test]
fn byte_strings_with_equal_heads_agree_with_a_map() {
    names_agree::<fast_fair_sentinels_4k>();
    names_agree::<fast_fair_fingerprints_4k>();
    names_agree::<circ_sentinels>();
    names_agree::<circ_vectors>();
    names_agree::<holm_prints_aside>();
    names_agree::<bd_tree_chained>();
    names_agree::<isle_vectors_1k>();
    names_agree::<nv_tree_2k>();
    names_agree::<nv_tree_vectors_2k>();
    names_agree::<wb_tree_2k>();
}

/// Enough pairs that a node above leaf parents has several lines of separators; if it is short, more than one such
/// node.
#[test]
fn every_search_of_upper_nodes_finds_every_pair() {
    let ways = ["_halved", "_interpolated", "_wide"];
    for (name, _) in CAPABILITIES.iter().filter(|(name, _)| ways.iter().any(|way| name.contains(way))) {
        for (order_name, order) in ORDERS {
            let mut keys: Vec<_> = (0..20_000).map(order).collect();
            let fixture = create(name);
            for key in &keys {
                fixture.put(*key, !key);
            }
            assert!(keys.iter().all(|key| fixture.get(*key) == Some(!key)), "{name}, {order_name}");
            keys.sort_unstable();
            keys.dedup();
            assert!(fixture.payloads().into_iter().eq(keys.iter().map(|key| !key)), "{name}, {order_name}");
        }
    }
}

/// Flushes and fences of each operation of a trace.
fn spent(fixture: &TreeFixture<Words>, order: Order) -> Vec<(u64, u64)> {
    let operation = |i: u64| {
        let key = order(mixed(i) % 900 + i / 4);
        let before = fixture.counts();
        if mixed(i + 7) % 16 < if i < 2_000 { 3 } else { 12 } {
            fixture.remove(key)
        } else {
            fixture.put(key, i)
        };
        let spent = fixture.counts() - before;
        (spent.flushes, spent.fences)
    };
    (0..3_000).map(operation).collect()
}

/// The designs from which variants differ.
const BASES: [&str; 9] = ["fast_fair", "circ", "isle", "wb_tree", "fp_tree", "nv_tree", "buffered", "holm", "bd_tree"];

/// The base of a variant's leaf, and the leaf's size.
fn kin(variant: &str) -> (&str, Option<&str>) {
    let size = variant.rsplit('_').next().filter(|last| ["1k", "2k", "4k"].contains(last));
    let base = BASES.into_iter().find(|base| variant.starts_with(base));
    (base.expect("a variant is named after its design"), size)
}

/// Except where nodes above the leaves are durable too, and where there is no guide.
#[test]
fn no_guide_and_no_volatile_node_adds_a_flush_or_a_fence() {
    for (order_name, order) in ORDERS {
        let mut bases = BTreeMap::new();
        for base in BASES {
            bases.insert(kin(base), spent(&TreeFixture::of_words(base), order));
        }
        let several = |name: &str| name.starts_with("ss_tree") || name.starts_with("holm");
        for (name, _) in CAPABILITIES.iter().filter(|(name, _)| !name.contains("_all") && !several(name)) {
            let spent = spent(&create(name), order);
            // Of the longer nodes, the first one in the list is the plain one.
            assert!(*bases.entry(kin(name)).or_insert_with(|| spent.clone()) == spent, "{name}, {order_name}");
        }
        assert_eq!(bases.len(), 21, "four sizes of two, three of three more, and one of the others");
    }
}
