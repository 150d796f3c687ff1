//! The variants, lightly: each agrees with the standard library's map and costs what its base does, flush by flush and
//! fence by fence; and each guide leads to what a crash has left of one leaf.

#[path = "strict/agree.rs"]
mod agree;
#[path = "shifting/fills.rs"]
mod fills;
#[path = "strict/grove.rs"]
mod grove;
#[path = "strict/names.rs"]
mod names;
#[path = "strict/recorded.rs"]
mod recorded;
#[path = "strict/stage.rs"]
mod stage;

use fills::every_operation;
use grove::{Grove, ORDERS, Order, mixed};
use holm_search::Search;
use holm_tree::guide::{Aside, Fingerprints, Halving, Linear, Sentinels, Vector};
use holm_tree::leaf::circ::Circ;
use holm_tree::leaf::fast_fair::FastFair;
use holm_tree::variants::{self, CARDS, circ_sentinels, fast_fair_fingerprints_4k, fast_fair_sentinels_4k};
use holm_tree::{Design, Forest, Words};
use names::Names;
use std::collections::BTreeMap;

fn plant(variant: &str) -> Grove<Words> {
    Grove::over(|quill| variants::open(variant, quill, Words, Search::detect()).expect("a variant of that name"))
}

#[test]
fn words_agree_with_a_map_whatever_keys_and_values() {
    CARDS.iter().for_each(|(name, _)| agree::words(|| plant(name), if is_long(name) { 700 } else { 400 }));
}

fn is_long(variant: &str) -> bool {
    variants::block_bytes(variant).is_some_and(|bytes| bytes > 1024)
}

fn names_agree<D: Design>() {
    agree::names(|names| Grove::over(|quill| Box::new(Forest::<_, D, _>::new(quill, names, Search::detect()))));
}

#[test]
fn names_agree_with_a_map_though_heads_are_equal() {
    names_agree::<fast_fair_sentinels_4k>();
    names_agree::<fast_fair_fingerprints_4k>();
    names_agree::<circ_sentinels>();
}

/// Flushes and fences of each operation of a trace.
fn spent(grove: &Grove<Words>, order: Order) -> Vec<(u64, u64)> {
    let operation = |i: u64| {
        let key = order(mixed(i) % 900 + i / 4);
        let before = grove.counts();
        if mixed(i + 7) % 16 < if i < 2_000 { 3 } else { 12 } {
            grove.remove(key)
        } else {
            grove.put(key, i)
        };
        let spent = grove.counts() - before;
        (spent.flushes, spent.fences)
    };
    (0..3_000).map(operation).collect()
}

/// What a variant shifts, and how many pairs of it.
fn kin(variant: &str) -> (bool, Option<&str>) {
    let size = variant.rsplit('_').next().filter(|last| ["1k", "2k", "4k"].contains(last));
    (variant.starts_with("circ"), size)
}

#[test]
fn a_guide_adds_no_flush_and_no_fence() {
    for (order_name, order) in ORDERS {
        let mut bases = BTreeMap::new();
        for base in ["fast_fair", "circ"] {
            bases.insert(kin(base), spent(&Grove::new(base, Words), order));
        }
        for (name, _) in CARDS {
            let spent = spent(&plant(name), order);
            // Of the longer nodes the first one in the list is the plain one.
            assert!(*bases.entry(kin(name)).or_insert_with(|| spent.clone()) == spent, "{name}, {order_name}");
        }
        assert_eq!(bases.len(), 6, "four sizes of one, and two of the other");
    }
}

/// Signs are derived anew by every recovery: each pair is found by them, whatever the crash.
#[test]
fn every_guide_leads_to_what_survived() {
    let fills = [0, 1, 2, 3, 14, 29, 30];
    every_operation::<FastFair<31, Halving>, _>(&Words, &fills, 2, true);
    every_operation::<FastFair<31, Sentinels<Aside<8>, Vector>>, _>(&Words, &fills, 2, true);
    every_operation::<FastFair<31, Fingerprints<Aside<4>, Vector>>, _>(&Words, &fills, 2, true);
    every_operation::<FastFair<31, Sentinels<Aside<8>, Vector>>, _>(&Names::default(), &fills, 0, true);
    every_operation::<FastFair<31, Fingerprints<Aside<4>, Vector>>, _>(&Names::default(), &fills, 0, false);
    let fills = [0, 1, 2, 3, 14, 28, 29];
    every_operation::<Circ<30, Linear>, _>(&Words, &fills, 2, true);
    every_operation::<Circ<30, Sentinels<Aside<8>, Vector>>, _>(&Words, &fills, 2, true);
    every_operation::<Circ<30, Fingerprints<Aside<4>, Vector>>, _>(&Words, &fills, 2, true);
    every_operation::<Circ<30, Sentinels<Aside<8>, Vector>>, _>(&Names::default(), &fills, 0, true);
    every_operation::<Circ<30, Fingerprints<Aside<4>, Vector>>, _>(&Names::default(), &fills, 0, false);
}
