//! Leaves of several blocks: crashes of leaves with three, the published order of fences with two links to one subnode,
//! and the lines that a lookup of an absent key reads.

use holm_medium::observed::ReadObserver;
use holm_medium::{Area, FIRST_EPOCH, Storage, StorageOps, Word};
use holm_proof::subjects::faulty::ss_tree_hasty;
use holm_proof::subjects::ss_tree;
use holm_proof::subjects::subnodes::{ss_tree_four, ss_tree_staying, ss_tree_three};
use holm_proof::{
    Order, Persistency, Plan, Recorded, Script, Site, Step, Subject, Violation, explore, scenarios, table,
};
use holm_tree::{Keys, SeekTarget, Words};
use std::collections::BTreeSet;
use std::sync::Arc;

mod three {
    use super::scenarios;
    tests! {
        holm_proof::subjects::subnodes::ss_tree_three;
        survives_a_crash_in_recovery
        survives_every_crash_by_line
        survives_every_death_of_the_process
        survives_reuse
        survives_splits
    }
}

#[test]
fn every_cell_is_covered_or_excused() {
    for subject in [&ss_tree_staying, &ss_tree_three, &ss_tree_four] {
        let rows = table::rows(subject, table::quick()).unwrap_or_else(|violation| panic!("{violation}"));
        println!("{}", table::Table(&rows));
        let holes: Vec<_> = rows.iter().flat_map(|row| row.holes()).collect();
        assert!(holes.is_empty(), "{holes:?}");
    }
}

fn puts(keys: impl Iterator<Item = u64>) -> impl Iterator<Item = Step> {
    keys.map(|key| Step::Put(key * 10, key))
}

/// The last subnode of a leaf of three has one pair left, which is removed. Three epochs later its block is reused: by
/// the leaf itself, or by its right neighbour.
fn reclaimed_and_used(by_neighbour: bool) -> Script {
    // 43 pairs fill a leaf of three subnodes. One more below the greatest splits it, and the lower half keeps all three
    // subnodes.
    let keys: Vec<_> = if by_neighbour { [44].into_iter().chain(1..=43).collect() } else { (1..=30).collect() };
    let past = puts(keys.into_iter()).chain((2..=15).map(|key| Step::Remove(key * 10))).chain([Step::Tick]).collect();
    let ticks = [Step::Tick, Step::Tick, Step::Tick];
    let again: Vec<_> = if by_neighbour { puts(45..=53).collect() } else { puts(31..=46).collect() };
    let steps = [Step::Remove(10)].into_iter().chain(ticks).chain(again).collect();
    Script { name: format!("reclaimed and used, by its neighbour: {by_neighbour}"), past, steps, blocks: 16 }
}

fn crossed(subject: &'static Subject, by_neighbour: bool) -> Option<Violation> {
    let explored = explore(subject, &reclaimed_and_used(by_neighbour), &Plan::suite(Persistency::Line));
    explored.inspect(|report| println!("{}: {report}", subject.name)).err().map(|violation| *violation)
}

/// The paper counts two fences if the subnode before the released one is not the head. The link to the released subnode
/// is then flushed, and nothing waits for it. When the subnode is reused, that link leads from one leaf into another,
/// or in a cycle.
#[test]
fn a_subnode_released_before_its_link_is_durably_gone_is_caught() {
    for by_neighbour in [true, false] {
        assert!(crossed(&ss_tree_three, by_neighbour).is_none(), "with the fence no crash leads there");
        let violation = crossed(&ss_tree_hasty, by_neighbour).expect("a known bug");
        println!("{violation}");
        assert!(violation.lost.contains("subnode.rs"), "the way that should be gone: {violation}");
        let words = "0x300 was 0x500000100000002, stored 0x500000100000000, left 0x500000100000002";
        assert_eq!(violation.words, words, "the link, as the errata print it");
        assert!(violation.wrong.contains("no leaf leads to"), "{violation}");
    }
}

/// A leaf of two subnodes, not the lowest, loses the last pair of its last subnode. After a recovery, the lowest leaf
/// grows and takes that block.
fn given_up_beside_one_that_grows() -> Script {
    // 29 pairs fill the leaf; the next one is below the greatest, and splits it.
    let gone = (17..=29).chain([31]).map(|key| Step::Remove(key * 10));
    let past = puts(31..=31).chain(puts(1..=30)).chain(gone).chain([Step::Tick]).collect();
    Script { name: "given up beside one that grows".into(), past, steps: vec![Step::Remove(160)], blocks: 24 }
}

/// Before a block that recovery has found to be released is reused, no link may lead to it. Two more fences are not
/// needed here: the one behind every block's own recovery, for designs that write there, and the one behind splits.
#[test]
fn the_fence_behind_all_lists_is_needed() {
    let plan = Plan { nested: 64, ..Plan::twice(Persistency::Line) };
    let explored = |without| explore(&ss_tree, &given_up_beside_one_that_grows(), &Plan { without, ..plan.clone() });
    let report = explored(BTreeSet::new()).unwrap_or_else(|violation| panic!("{violation}"));
    let of_rebuild = |site: &&Site| site.order == Order::Fence && site.place.file().contains("rebuild/");
    let fences: Vec<_> = report.sites.iter().filter(of_rebuild).collect();
    let caught = fences.iter().filter_map(|site| explored(BTreeSet::from([**site])).err());
    assert_eq!((fences.len(), caught.inspect(|violation| println!("{violation}")).count()), (3, 1), "{fences:?}");
}

/// The lines of a leaf's blocks that a lookup reads.
fn lines_read(words: &[Word], look: impl FnOnce()) -> BTreeSet<usize> {
    ReadObserver::begin(words, 0..words.len(), false);
    look();
    ReadObserver::end().into_iter().map(|word| word / 8).collect()
}

/// In a leaf of one subnode, DRAM alone shows that a key is absent, unless a fingerprint happens to match. A present
/// key costs one line. With two subnodes the head's first line is read first.
#[test]
fn an_absent_key_is_answered_without_persistent_memory() {
    let medium = Recorded::new([16 * 256, 64]);
    let writer = Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory"));
    let tree_set = ss_tree.tree(writer.clone());
    let words = writer.image().words(Area::Leaves.at(0), 16 * 32).expect("as long as that");
    let mut guard = writer.clock().pin().expect("a sound storage");
    let root = tree_set.create_tree(&mut guard, 1).expect("memory");
    let capacity = ss_tree.capacity as u64;
    for count in 1..=capacity {
        tree_set.put(&root, &mut guard, count * 10, count).expect("memory");
        let head: Vec<_> = (if count > 15 { 16..=count } else { 1..=count }).collect();
        let agree = |key: u64, among: &[u64]| {
            among.iter().filter(|it| Words::fingerprint(*it * 10) == Words::fingerprint(key)).count()
        };
        for key in (0..400).filter(|key| key % 10 != 0) {
            let lines = lines_read(words, || assert_eq!(tree_set.get(&root, key).payload, None)).len();
            if count <= 15 {
                assert!(lines <= agree(key, &head), "{key} beside {count}: {lines} lines");
            } else {
                let all: Vec<_> = (1..=count).collect();
                assert!((1..=1 + agree(key, &all)).contains(&lines), "{key} beside {count}: {lines} lines");
            }
        }
        for key in 1..=count {
            let lines = lines_read(words, || assert_eq!(tree_set.get(&root, key * 10).payload, Some(key))).len();
            let others = (1..=count)
                .filter(|other| *other != key && Words::fingerprint(*other * 10) == Words::fingerprint(key * 10));
            let most = if head.contains(&key) { 1 } else { 2 } + others.count();
            assert!((1..=most).contains(&lines), "{key} of {count}: {lines} lines");
        }
        let removed = lines_read(words, || assert_eq!(tree_set.remove(&root, &mut guard, 5).expect("sound"), None));
        assert!(count > 15 || removed.len() <= agree(5, &head), "nor is a key that is not there removed from it");
    }
    assert_eq!(tree_set.cursor_at(&root, SeekTarget::Last).pairs.len() as u64, capacity);
}
