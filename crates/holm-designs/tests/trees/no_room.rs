//! A storage without free blocks: a split that gets only some of its blocks gives them back.

use holm_designs::designs;
use holm_lab::words;
use holm_medium::{FIRST_EPOCH, Mapped, MappedOptions, Storage, StorageOps};
use holm_search::Search;
use std::sync::Arc;

/// Even and odd counts: a split takes two.
const BLOCKS: [u64; 4] = [24, 25, 26, 27];

#[test]
fn a_refused_split_takes_no_block() {
    let mut partly = 0;
    for (design, _) in designs::CAPABILITIES.iter().filter(|(_, capabilities)| capabilities.stores_pairs) {
        for blocks in BLOCKS {
            let bytes = u64::from(designs::block_bytes(design).expect("a design of that name"));
            let medium = Mapped::heap((blocks * bytes) as usize, 1 << 16, MappedOptions::default());
            let writer = Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory"));
            let index = words::design(design, writer.clone(), Search::detect()).expect("a design of that name");
            let mut guard = writer.clock().pin().expect("sound");
            let root = index.create_tree(&mut guard, 7).expect("room");
            let space = writer.space();
            let left = || blocks - u64::from(space.block_frontier()) + space.free_blocks();
            let (mut key, mut before) = (0, left());
            let refused = loop {
                match index.put(&root, &mut guard, key, key) {
                    Ok(_) => (key, before) = (key + 1, left()),
                    Err(error) => break error,
                }
            };
            assert!(refused.to_string().contains("growing"), "{design}: {refused}");
            partly += u64::from(before > 0);
            for _ in 0..3 {
                assert_eq!(left(), before, "{design}, {blocks}: blocks after a split that was refused");
                index.put(&root, &mut guard, key, key).expect_err("no room");
            }
            assert_eq!(index.audit(&root).pairs, key, "{design}");
        }
    }
    assert!(partly > 5, "{partly} found a block, and not all they needed");
}
