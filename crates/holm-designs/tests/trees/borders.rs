//! The leaf whose borders replace a bitmap: both ends of the key space, and flushes and fences by the page's table.

mod shadow;

use crate::fixture::{ORDERS, TreeFixture, agrees_with_a_map_for_any_bits, mixed};
use holm_designs::leaf::borders::Borders;
use holm_medium::{Area, FIRST_EPOCH, StorageOps};
use holm_tree::leaf::Leaf;
use holm_tree::{SeekTarget, Words};
use shadow::Shadow;
use std::cell::RefCell;
use std::collections::BTreeSet;

#[test]
fn keys_and_values_of_any_bits_agree_with_a_map() {
    agrees_with_a_map_for_any_bits("borders");
}

/// The greatest key of all has no place in a single leaf, however few pairs there are beside it.
#[test]
fn the_greatest_key_splits_a_single_leaf() {
    for beside in 0..=Borders::CAPACITY as u64 {
        let mut fixture = TreeFixture::of_words("borders");
        (0..beside).for_each(|key| assert_eq!(fixture.put(key, 9), None));
        let leaves = |fixture: &TreeFixture<Words>| fixture.index.audit(&fixture.root).leaves;
        assert_eq!(leaves(&fixture), 1);
        assert_eq!(fixture.put(u64::MAX, 5), None);
        assert_eq!(fixture.put(u64::MAX, 6), Some(5));
        assert_eq!(leaves(&fixture), 2);
        (0..beside).for_each(|key| assert_eq!(fixture.remove(key), Some(9)));
        assert_eq!(leaves(&fixture), 2, "no merge takes its place away");
        fixture.rebuild();
        assert_eq!((fixture.payloads(), leaves(&fixture)), (vec![6], 2));
        assert_eq!(fixture.remove(u64::MAX), Some(6));
        assert_eq!(fixture.get(u64::MAX), None);
        assert_eq!(leaves(&fixture), 1, "where it is gone, one does");
    }
}

#[test]
fn creating_and_dropping_a_tree_costs_what_the_page_says() {
    let fixture = TreeFixture::of_words("borders");
    let cost = |before: holm_medium::Counts| {
        let spent = fixture.counts() - before;
        (spent.flushes, spent.fences)
    };
    let before = fixture.counts();
    let root = fixture.index.create_tree(&mut fixture.writer.clock().pin().expect("sound"), 8).expect("memory");
    assert_eq!(cost(before), (8, 2));
    let mut guard = fixture.writer.clock().pin().expect("sound");
    (0..200).for_each(|key| assert_eq!(fixture.index.put(&root, &mut guard, key, key).expect("memory"), None));
    let (leaves, before) = (fixture.index.audit(&root).leaves, fixture.counts());
    fixture.index.drop_tree(&root, &mut guard, &mut |_| {}).expect("sound");
    assert!(leaves > 5);
    assert_eq!(cost(before), (leaves, leaves));
}

/// No separator fits between equal keys. The first insert that needs room there reports it, and nothing panics.
#[test]
fn equal_keys_are_damage() {
    for key in [500, u64::MAX] {
        let mut fixture = TreeFixture::of_words("borders");
        (0..40).for_each(|key| assert_eq!(fixture.put(key, key), None));
        // Block 2 holds the upper half.
        let words = fixture.writer.image().words(Area::Leaves.at(1024), 64).expect("block 2");
        words[2..].iter().step_by(2).for_each(|word| fixture.writer.begin_write_at(FIRST_EPOCH).write(word, key));
        fixture.rebuild();
        let mut guard = fixture.writer.clock().pin().expect("sound");
        let error = fixture.index.put(&fixture.root, &mut guard, 400, 1).expect_err("there is no room");
        assert!(error.to_string().contains("full however often it is split"), "{error}");
    }
}

/// The purpose of the design.
#[test]
fn uniform_inserts_cost_little_more_than_a_line_and_a_fence() {
    let fixture = TreeFixture::of_words("borders");
    let before = fixture.counts();
    (0..100_000).for_each(|i| assert_eq!(fixture.put(mixed(i), i), None));
    let spent = fixture.counts() - before;
    assert_eq!((spent.flushes, spent.fences), (118_073, 104_561));
}

/// Every operation of random traces, in blocks that were never used and in blocks that were.
#[test]
fn flushes_and_fences_are_those_of_the_table() {
    let mut all_waited = 0;
    for (name, order) in ORDERS {
        for recycles in [false, true] {
            let fixture = TreeFixture::of_words("borders");
            let mut shadow = Shadow::new();
            let used = RefCell::new(BTreeSet::from([fixture
                .index
                .cursor_at(&fixture.root, SeekTarget::Last)
                .leaf_version
                .leaf()]));
            let mut reused = 0;
            for i in 0..6_000 {
                let key = order(mixed(i) % 600);
                let removes = mixed(i + 7) % 16 < if i / 1_500 % 2 == 0 { 3 } else { 13 };
                let before = fixture.counts();
                let found = if removes { fixture.remove(key) } else { fixture.put(key, i) };
                let spent = fixture.counts() - before;
                assert_eq!(found.is_some(), shadow.holds(key));
                let splits = shadow.splits;
                let number =
                    |start| fixture.index.cursor_at(&fixture.root, SeekTarget::Holding(start)).leaf_version.leaf();
                let expected = if removes {
                    shadow.remove(key)
                } else {
                    shadow.put(key, |start| !used.borrow_mut().insert(number(start)))
                };
                reused += usize::from(shadow.splits > splits && expected.0 > 8);
                assert_eq!((spent.flushes, spent.fences), expected, "{name}: {i}, key {key}, removed: {removes}");
                let before = fixture.counts();
                let _ = (fixture.get(key), fixture.index.cursor_at(&fixture.root, SeekTarget::Last));
                assert_eq!(fixture.counts(), before, "{name}: reading writes nothing");
                if recycles && i % 50 == 0 {
                    fixture.writer.end_epoch().expect("a sound storage");
                }
            }
            let Shadow { splits, waited, merges, .. } = shadow;
            assert!(shadow.leaves() < 64 && fixture.index.audit(&fixture.root).leaves == shadow.leaves() as u64);
            assert!(splits > 20 && merges > 5, "{name}: {splits} splits, {merges} merges");
            all_waited += waited;
            assert_eq!(reused > 0, recycles, "{name}: {reused} blocks were used again");
        }
    }
    assert!(all_waited > 0, "{all_waited} pairs waited for their split");
}
