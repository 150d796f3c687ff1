//! Trees that are created and dropped for ever: their nodes are used again, above the leaves too.

use crate::fixture;
use holm_medium::StorageOps;
use holm_tree::{Design, Index, designs};

/// Enough for several leaf parents.
const KEYS: u64 = 20_000;

fn uses_nodes_again<D: Design>() {
    let (writer, tree_set) = fixture::tree_set::<D>();
    let pin = || writer.clock().pin().expect("sound");
    let rounds = (0..6).map(|round| {
        let root = tree_set.create_tree(&mut pin(), 7 + round).expect("memory");
        for key in 0..KEYS {
            tree_set.put(&root, &mut pin(), key, key).expect("memory");
        }
        root.mark_dropped();
        writer.end_epoch().expect("sound");
        tree_set.drop_tree(&root, &mut pin(), &mut |_| ()).expect("sound");
        // Its blocks can be used again after these.
        for _ in 0..3 {
            writer.end_epoch().expect("sound");
        }
        tree_set.volatile_bytes()
    });
    let rounds: Vec<_> = rounds.collect();
    assert!(rounds.iter().all(|bytes| *bytes == rounds[0]), "{}: {rounds:?} bytes of nodes", D::NAME);
}

#[test]
fn nodes_of_dropped_trees_are_used_again() {
    uses_nodes_again::<designs::buffered>();
    uses_nodes_again::<designs::holm>();
    uses_nodes_again::<designs::clustered>();
}
