//! Borders whose splits copy nothing: both ends of the key space, blocks that leaves share, and what operations cost.

use crate::fixture::{ORDERS, TreeFixture, agrees_with_a_map_for_any_bits, mixed};
use holm_medium::{Area, FIRST_EPOCH, StorageOps};
use holm_tree::Words;
use holm_tree::leaf::RecoveryPoint;
use std::collections::{BTreeMap, BTreeSet};

const DESIGN: &str = "borders_shared";

#[test]
fn keys_and_values_of_any_bits_agree_with_a_map() {
    agrees_with_a_map_for_any_bits(DESIGN);
}

/// The purpose of the design: most splits cost what any insert does.
#[test]
fn uniform_inserts_cost_hardly_more_than_a_line_and_a_fence() {
    let fixture = TreeFixture::<Words>::of_words(DESIGN);
    let mut costs = BTreeMap::new();
    let before = fixture.counts();
    for i in 0..100_000 {
        let before = fixture.counts();
        assert_eq!(fixture.put(mixed(i), i), None);
        let spent = fixture.counts() - before;
        *costs.entry((spent.flushes, spent.fences)).or_insert(0) += 1;
    }
    let spent = fixture.counts() - before;
    let leaves = fixture.index.audit(&fixture.root).leaves;
    assert_eq!((spent.flushes, spent.fences, leaves), (103_547, 103_547, 2_073));
    assert_eq!(costs, BTreeMap::from([((1, 1), 97_423), ((2, 2), 1_690), ((3, 3), 804), ((4, 4), 83)]));
}

#[test]
fn updates_and_removals_cost_a_line_and_a_fence_in_every_block() {
    let fixture = TreeFixture::<Words>::of_words(DESIGN);
    (0..5_000).for_each(|i| assert_eq!(fixture.put(mixed(i), i), None));
    for i in 0..5_000 {
        let before = fixture.counts();
        assert_eq!(fixture.put(mixed(i), i + 1), Some(i));
        let after = fixture.counts();
        assert_eq!(fixture.get(mixed(i)), Some(i + 1));
        assert_eq!(fixture.remove(mixed(i)), Some(i + 1));
        for spent in [after - before, fixture.counts() - after] {
            assert_eq!((spent.flushes, spent.fences), (1, 1));
        }
    }
}

/// What the page says of a block's header.
#[derive(Debug)]
struct Header {
    number: u32,
    low: u64,
    bases: [u32; 3],
    generation: u32,
}

/// The headers of all blocks with the mark of a leaf.
fn headers(fixture: &TreeFixture<Words>) -> Vec<Header> {
    let space = &fixture.writer.storage().space;
    let header = |number: u32| {
        let words = fixture.writer.image().words(Area::Leaves.at(u64::from(number) * 512), 4).expect("a block");
        let [low, state, first, second] = [0, 1, 2, 3].map(|at| words[at].read());
        let bases = [first as u32, (first >> 32) as u32, second as u32];
        (state >> 63 == 1).then_some(Header { number, low, bases, generation: (second >> 32) as u32 })
    };
    (space.first_block()..space.block_frontier()).filter_map(header).collect()
}

/// A block that has been replaced and that no leaf names any more would be found as a leaf, once its tree is dropped.
#[test]
fn blocks_with_the_mark_of_a_leaf_are_leaves_or_are_named_by_leaves() {
    let mut all_replaced = 0;
    for (name, order) in ORDERS {
        let fixture = TreeFixture::<Words>::of_words(DESIGN);
        for i in 0..20_000 {
            let key = order(mixed(i) % 5_000);
            if mixed(i + 3) % 8 < 5 {
                fixture.put(key, i);
            } else {
                fixture.remove(key);
            }
            if i % 1_000 == 999 {
                fixture.writer.end_epoch().expect("a sound storage");
            }
        }
        let mut headers = headers(&fixture);
        headers.sort_by_key(|header| (header.low, header.generation));
        let is_leaf = |at: usize| headers.get(at + 1).is_none_or(|next| next.low > headers[at].low);
        let (leaves, replaced): (Vec<_>, Vec<_>) = (0..headers.len()).partition(|at| is_leaf(*at));
        let named: BTreeSet<_> = leaves.iter().flat_map(|at| headers[*at].bases).collect();
        assert_eq!(leaves.len() as u64, fixture.index.audit(&fixture.root).leaves, "{name}");
        let wrong: Vec<_> = replaced.iter().map(|at| &headers[*at]).filter(|it| !named.contains(&it.number)).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:?}");
        all_replaced += replaced.len();
    }
    assert!(all_replaced > 100, "{all_replaced}");
}

/// Each block of a dropped tree is free again, once: the same tree needs no more blocks, time after time.
#[test]
fn the_blocks_of_a_dropped_tree_are_free_whoever_shared_them() {
    let fixture = TreeFixture::<Words>::of_words(DESIGN);
    let mut frontiers = vec![];
    for round in 0..4 {
        let root =
            fixture.index.create_tree(&mut fixture.writer.clock().pin().expect("sound"), 8 + round).expect("memory");
        let mut guard = fixture.writer.clock().pin().expect("sound");
        (0..5_000).for_each(|i| assert_eq!(fixture.index.put(&root, &mut guard, mixed(i), i).expect("memory"), None));
        fixture.index.drop_tree(&root, &mut guard, &mut |_| {}).expect("sound");
        drop(guard);
        (0..3).for_each(|_| _ = fixture.writer.end_epoch().expect("a sound storage"));
        assert_eq!(headers(&fixture).len(), 1, "the leaf of the other tree");
        frontiers.push(fixture.writer.storage().space.block_frontier());
    }
    assert!(frontiers.iter().all(|frontier| *frontier == frontiers[0]), "{frontiers:?}");
}

/// Two leaves with one start and one generation cannot come from a crash.
#[test]
fn two_leaves_with_one_start_are_damage() {
    let fixture = TreeFixture::<Words>::of_words(DESIGN);
    (0..40).for_each(|key| assert_eq!(fixture.put(key, key), None));
    let [.., last] = &headers(&fixture)[..] else { unreachable!("two leaves") };
    let words = fixture.writer.image().words(Area::Leaves.at(u64::from(last.number) * 512), 4).expect("a block");
    fixture.writer.begin_write_at(FIRST_EPOCH).write(&words[0], 0);
    fixture.writer.begin_write_at(FIRST_EPOCH).write(&words[3], 0);
    let error = fixture.index.rebuild(RecoveryPoint::Visible, FIRST_EPOCH + 1, 1).err().expect("damage");
    assert!(error.to_string().contains("the same start and generation"), "{error}");
}
