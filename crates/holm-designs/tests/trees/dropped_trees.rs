//! Dropped trees: their blocks and nodes are reused, and a reader that is still in such a tree terminates, whatever its
//! nodes have become.

use crate::fixture::{TreeFixture, mixed};
use crate::names::Names;
use holm_designs::{designs, variants};
use holm_medium::{FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage, StorageOps, Writer};
use holm_search::Search;
use holm_tree::{Design, Index, Keys, SeekTarget, TreeRoot, TreeSet, Words};
use std::sync::Arc;

/// Enough pairs for two levels of upper nodes above the leaf parents, with 512-byte leaves.
const PAIRS: u64 = 120_000;

impl<K: Keys> TreeFixture<K> {
    fn create(&self, keyspace: u32) -> TreeRoot {
        self.index.create_tree(&mut self.writer.clock().pin().expect("sound"), keyspace).expect("memory")
    }
}

fn fill(fixture: &TreeFixture<Words>, root: &TreeRoot, pairs: u64) {
    let mut guard = fixture.writer.clock().pin().expect("sound");
    for key in 0..pairs {
        fixture.index.put(root, &mut guard, mixed(key), key).expect("memory");
    }
}

/// Drops a tree that no operation writes; two epochs later its blocks are free for others.
fn drop_tree<K: Keys>(writer: &Writer<Mapped>, index: &dyn Index<K>, root: &TreeRoot) {
    root.mark_dropped();
    index.drop_tree(root, &mut writer.clock().pin().expect("sound"), &mut |_| ()).expect("sound");
    (0..3).for_each(|_| _ = writer.end_epoch().expect("sound"));
}

/// Several trees replace one, so a former node of an upper level becomes one of a lower level, or a leaf.
fn readers_terminate(design: &str) {
    let fixture = TreeFixture::of_words(design);
    fill(&fixture, &fixture.root, PAIRS);
    drop_tree(&fixture.writer, &*fixture.index, &fixture.root);
    for keyspace in 8..12 {
        let root = fixture.create(keyspace);
        fill(&fixture, &root, PAIRS / 4 + 1_000);
        assert_eq!(fixture.index.audit(&root).faults, Vec::<String>::new(), "{design}");
    }
    let (gone, search_keys) = (&fixture.root, (0..500).map(mixed).collect::<Vec<_>>());
    fixture.index.get_many(gone, &search_keys, &mut vec![]);
    for search_key in search_keys {
        fixture.index.get(gone, search_key);
        fixture.index.cursor_at(gone, SeekTarget::Holding(search_key));
        fixture.index.cursor_at(gone, SeekTarget::Below(search_key));
    }
    fixture.index.cursor_at(gone, SeekTarget::Last);
}

macro_rules! tests {
    ($($name:ident)*) => {
        /// One test for each design: each takes seconds, and they run beside each other.
        mod readers_of_a_dropped_tree_terminate {
            use super::*;

            $(
                #[test]
                fn $name() {
                    if <designs::$name as Design>::CAPABILITIES.stores_pairs {
                        readers_terminate(stringify!($name));
                    }
                }
            )*
        }
    };
}

holm_designs::for_each_design!(tests);

/// The bytes above the leaves after each of several trees has been created and dropped. Their keys have heads that
/// distinguish little.
fn bytes_after_rounds<D: Design>() -> Vec<u64> {
    let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
    let medium = Mapped::anonymous(options).expect("address space");
    let (writer, names) = (Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory")), Names::default());
    let tree_set = TreeSet::<Mapped, D, Names>::new(writer.clone(), names.clone(), Search::detect());
    let round = |keyspace| {
        let mut guard = writer.clock().pin().expect("sound");
        let root = tree_set.create_tree(&mut guard, keyspace).expect("memory");
        for key in 0..20_000 {
            let key = format!("{:04}, of which there are many: {:04}", key / 50, key % 50).into_bytes();
            tree_set.put(&root, &mut guard, &key, names.write_record(&key)).expect("memory");
        }
        drop(guard);
        drop_tree(&writer, &tree_set, &root);
        tree_set.volatile_bytes()
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

/// A node that gives way to its neighbour leaves its parent's separator behind, which is a long one here.
#[test]
fn long_separators_between_merged_nodes_are_reused() {
    let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
    let medium = Mapped::anonymous(options).expect("address space");
    let (writer, names) = (Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory")), Names::default());
    let tree_set = TreeSet::<Mapped, designs::buffered, Names>::new(writer.clone(), names.clone(), Search::detect());
    let root = tree_set.create_tree(&mut writer.clock().pin().expect("sound"), 1).expect("memory");
    let key = |number: u32| format!("{:04}, of which there are many: {:04}", number / 50, number % 50).into_bytes();
    let round = |_| {
        for number in 0..20_000 {
            let (key, mut guard) = (key(number), writer.clock().pin().expect("sound"));
            tree_set.put(&root, &mut guard, &key, names.write_record(&key)).expect("memory");
        }
        for number in 0..20_000 {
            if number % 1_000 == 0 {
                writer.end_epoch().expect("sound");
            }
            assert!(tree_set.remove(&root, &mut writer.clock().pin().expect("sound"), &key(number)).is_ok());
        }
        (0..3).for_each(|_| assert!(writer.end_epoch().is_ok()));
        tree_set.volatile_bytes()
    };
    let rounds: Vec<_> = (0..6).map(round).collect();
    assert!(rounds[2..].iter().all(|bytes| *bytes == rounds[2]), "{rounds:?}");
}
