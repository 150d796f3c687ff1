//! Dropped trees: their blocks and nodes are reused, and a reader that is still in such a tree terminates, whatever its
//! nodes have become.

use crate::grove::{Grove, mixed};
use crate::names::Names;
use holm_designs::{designs, variants};
use holm_medium::{FIRST_EPOCH, Flush, Ground, Mapped, MappedOptions, Pool, Quill};
use holm_search::Search;
use holm_tree::{Design, Forest, Index, Keys, Root, Toward, Words};
use std::sync::Arc;

/// Enough pairs for two levels of upper nodes above the leaf parents, with 512-byte leaves.
const PAIRS: u64 = 120_000;

impl<K: Keys> Grove<K> {
    fn plant(&self, keyspace: u32) -> Root {
        self.index.plant(&mut self.quill.clock().check_in().expect("sound"), keyspace).expect("memory")
    }
}

fn fill(grove: &Grove<Words>, root: &Root, pairs: u64) {
    let mut stay = grove.quill.clock().check_in().expect("sound");
    for key in 0..pairs {
        grove.index.put(root, &mut stay, mixed(key), key, None).expect("memory");
    }
}

/// Drops a tree that no operation writes; two epochs later its blocks are free for others.
fn uproot<K: Keys>(quill: &Quill<Mapped>, index: &dyn Index<K>, root: &Root) {
    root.give_up();
    index.uproot(root, &mut quill.clock().check_in().expect("sound"), &mut |_| ()).expect("sound");
    (0..3).for_each(|_| _ = quill.advance().expect("sound"));
}

/// Several trees replace one, so a former node of an upper level becomes one of a lower level, or a leaf.
#[test]
fn readers_of_a_dropped_tree_terminate() {
    for (design, _) in designs::CARDS.iter().filter(|(_, card)| card.keeps) {
        let grove = Grove::new(design, Words);
        fill(&grove, &grove.root, PAIRS);
        uproot(&grove.quill, &*grove.index, &grove.root);
        for keyspace in 8..12 {
            let root = grove.plant(keyspace);
            fill(&grove, &root, PAIRS / 4 + 1_000);
            assert_eq!(grove.index.audit(&root).faults, Vec::<String>::new(), "{design}");
        }
        let (gone, probes) = (&grove.root, (0..500).map(mixed).collect::<Vec<_>>());
        grove.index.get_many(gone, &probes, &mut vec![]);
        for probe in probes {
            grove.index.get(gone, probe);
            grove.index.view(gone, Toward::Holding(probe));
            grove.index.view(gone, Toward::Below(probe));
        }
        grove.index.view(gone, Toward::Last);
        grove.index.snapshot(gone, (&0, None), &mut |_| ());
    }
}

/// The bytes above the leaves after each of several trees has been created and dropped. Their keys have heads that
/// distinguish little.
fn bytes_after_rounds<D: Design>() -> Vec<u64> {
    let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
    let medium = Mapped::anonymous(options).expect("address space");
    let (quill, names) = (Arc::new(Pool::open(medium, FIRST_EPOCH).expect("memory")), Names::default());
    let forest = Forest::<Mapped, D, Names>::new(quill.clone(), names.clone(), Search::detect());
    let round = |keyspace| {
        let mut stay = quill.clock().check_in().expect("sound");
        let root = forest.plant(&mut stay, keyspace).expect("memory");
        for key in 0..20_000 {
            let key = format!("{:04}, of which there are many: {:04}", key / 50, key % 50).into_bytes();
            forest.put(&root, &mut stay, &key, names.lay(&key), None).expect("memory");
        }
        drop(stay);
        uproot(&quill, &forest, &root);
        forest.volatile_bytes()
    };
    (1..=4).map(round).collect()
}

#[test]
fn nodes_and_long_separators_of_dropped_trees_are_reused() {
    let all = [
        bytes_after_rounds::<designs::buffered>(),
        bytes_after_rounds::<designs::fast_fair>(),
        bytes_after_rounds::<designs::isle>(),
        bytes_after_rounds::<designs::nv_tree>(),
        bytes_after_rounds::<variants::isle_lock_array>(),
    ];
    for bytes in all {
        assert!(bytes[1..].iter().all(|bytes_now| *bytes_now == bytes[1]), "{bytes:?}");
    }
}
