//! BD+Tree's leaf in two or more blocks: updates that move from one block into another, blocks that lose all their
//! pairs, and empty leaves beside others that are not.

use crate::epochs::hasty;
use holm_proof::subjects::subnodes::{holm_four, holm_three};
use holm_proof::subjects::{buffered, holm};
use holm_proof::{Order, Persistency, Plan, Reader, Script, Site, Step, Subject, explore, lagging, scenarios};
use std::collections::BTreeSet;

mod three {
    use super::scenarios;
    tests! {
        holm_proof::subjects::subnodes::holm_three;
        never_panics_on_torn_bits
        survives_every_crash_by_line
        survives_every_crash_by_word
        survives_every_death_of_the_process
        survives_emptied_leaves
        survives_merges
        survives_refreshes
        survives_splits
    }
}

mod four {
    use super::scenarios;
    tests! {
        holm_proof::subjects::subnodes::holm_four;
        survives_every_crash_by_word
        survives_every_death_of_the_process
        survives_emptied_leaves
        survives_merges
    }
}

/// The number of pairs in a block.
const SLOTS: u64 = 28;

fn puts(keys: impl IntoIterator<Item = u64>, payload: u64) -> impl Iterator<Item = Step> {
    keys.into_iter().map(move |key| Step::Put(key * 10, key + payload))
}

fn script(name: &str, past: impl Iterator<Item = Step>, steps: impl Iterator<Item = Step>) -> Script {
    Script { name: name.into(), past: past.collect(), steps: steps.collect(), blocks: 24 }
}

fn ticks(count: usize) -> impl Iterator<Item = Step> {
    std::iter::repeat_n(Step::Tick, count)
}

/// The first block is full, and its pairs are updated: each moves into the overflow block, within an epoch or across
/// its end.
fn moved_behind() -> Script {
    let past = puts(1..=SLOTS, 1_000).chain(puts([40], 1_000)).chain(ticks(1));
    let steps =
        puts(1..=4, 2_000).chain(ticks(1)).chain(puts(3..=6, 3_000)).chain([Step::Remove(10), Step::Remove(60)]);
    script("moved behind", past, steps.chain(ticks(1)))
}

/// The last of `blocks` blocks has one pair, and the blocks before it have room, because as many pairs were removed. An
/// update moves that pair into the first block, and releases its own block. Others move there as well.
fn drawn_in(blocks: u64) -> Script {
    let most = (blocks - 1) * SLOTS + 1;
    let gone = (1..most).filter(|key| key % 3 == 0).map(|key| Step::Remove(key * 10));
    let past = puts(1..=most, 1_000).chain(gone).chain(ticks(3));
    let steps = puts([most, SLOTS + 2, 2], 2_000).chain(ticks(1)).chain(puts([most, SLOTS + 3], 3_000)).chain(ticks(1));
    script(&format!("drawn in, of {blocks}"), past, steps.chain(puts([2], 4_000)).chain(ticks(1)))
}

/// One block of several, by its place, loses all its pairs, and the others do not.
fn emptied(place: u64, blocks: u64) -> Script {
    let most = (blocks - 1) * SLOTS + 12;
    let (first, last) = (place * SLOTS + 1, most.min((place + 1) * SLOTS));
    let past = puts(1..=most, 1_000).chain((first..last).map(|key| Step::Remove(key * 10))).chain(ticks(3));
    let steps = [Step::Remove(last * 10)].into_iter().chain(ticks(1)).chain(puts([50, 51], 2_000)).chain(ticks(1));
    script(&format!("emptied, the {place}th of {blocks}"), past, steps)
}

/// A leaf that is not the lowest gets another block in an epoch that may be lost. After a recovery the lowest leaf
/// grows, and takes that block.
fn taken_and_lost() -> Script {
    let lower = SLOTS;
    // One pair too many, and the lower half takes it.
    let past = puts(1..=2 * SLOTS, 1_000)
        .chain([Step::Put(5, 1)])
        .chain((13..=lower).map(|key| Step::Remove(key * 10)))
        .chain(ticks(3));
    let steps = (0..3).map(move |key| Step::Put(lower * 10 + 15 + key, 3_000 + key));
    script("taken and lost", past, steps.chain(ticks(1)))
}

/// Two leaves have up to three blocks each. The upper one releases its second block, and in the next epoch the lower
/// one takes another.
fn given_up_and_wanted() -> Script {
    let half = 3 * SLOTS / 2;
    // Divided into two leaves of two blocks each, half full.
    let past = puts(1..=2 * half, 1_000).chain([Step::Put(5, 1)]).chain(ticks(3));
    let past = past.chain((half + half / 2 + 1..2 * half).map(|key| Step::Remove(key * 10))).chain(ticks(3));
    let more = (1..=2 * SLOTS - half).map(|key| Step::Put(key * 10 + 5, 3_000 + key));
    let steps = [Step::Remove(2 * half * 10)].into_iter().chain(ticks(1)).chain(more).chain(ticks(1));
    script("given up and wanted", past, steps)
}

/// Old versions fill all blocks: the leaf is rewritten into one block, or divided.
fn made_anew(pairs: u64) -> Script {
    let past = puts(1..=pairs, 1_000).chain(ticks(1)).chain(puts(1..=pairs, 2_000)).chain(ticks(1));
    let steps = puts(1..=pairs, 3_000).chain(ticks(2)).chain(puts(1..=3, 4_000)).chain(ticks(1));
    script(&format!("made anew with {pairs}"), past, steps)
}

/// A leaf has lost all its pairs beside a neighbour that had too many for a merge, and now has few. Of the two leaves
/// that are merged, one is empty, so its emptying cannot be what shows that the other one was merged.
fn hollow_neighbour(left: bool, capacity: u64) -> Script {
    let half = capacity / 2;
    // The leaf splits when one pair more than fits has come; the halves are then 1..=half and the rest.
    let (lower, upper) = (1..=half, half + 1..=capacity + 1);
    let (hollow, other): (Vec<u64>, Vec<u64>) =
        if left { (lower.collect(), upper.collect()) } else { (upper.collect(), lower.collect()) };
    let more = |keys: &[u64]| keys.iter().map(|key| Step::Put(key * 10 + 5, key + 5_000)).take(8).collect::<Vec<_>>();
    let past = puts(1..=capacity + 1, 1_000).chain(ticks(3)).chain(more(&other)).chain(ticks(1));
    let past = past.chain(hollow.iter().map(|key| Step::Remove(key * 10))).chain(ticks(3));
    // Until few enough are left for a merge attempt.
    let past = past.chain(other.iter().map(|key| Step::Remove(key * 10))).chain(ticks(1));
    let steps = other.iter().map(|key| Step::Remove(key * 10 + 5)).take(3).chain(ticks(1));
    script(&format!("hollow neighbour, the left one: {left}"), past, steps)
}

fn survives_once(subject: &'static Subject, script: &Script) {
    for persistency in Persistency::ALL {
        let report = explore(subject, script, &Plan::suite(persistency)).unwrap_or_else(|found| panic!("{found}"));
        println!("{} {}: {report}", subject.name, script.name);
    }
}

fn survives(subject: &'static Subject, script: &Script) {
    survives_once(subject, script);
    for persistency in Persistency::ALL {
        let twice = explore(subject, script, &Plan::mixed(persistency, Persistency::Line));
        twice.unwrap_or_else(|found| panic!("{found}"));
    }
}

#[test]
fn updates_that_move_into_another_block() {
    survives(&holm, &moved_behind());
    survives(&holm, &drawn_in(2));
    survives_once(&holm_three, &drawn_in(3));
    survives_once(&holm_four, &drawn_in(4));
}

#[test]
fn blocks_that_lose_all_their_pairs() {
    survives(&holm, &emptied(0, 2));
    survives(&holm, &emptied(1, 2));
    // The first block, which the others name, and one in the middle.
    survives_once(&holm_three, &emptied(0, 3));
    survives_once(&holm_four, &emptied(1, 4));
}

#[test]
fn a_block_taken_in_an_epoch_that_is_lost() {
    let plan = Plan { nested: 64, ..Plan::twice(Persistency::Line) };
    let report = explore(&holm, &taken_and_lost(), &plan).unwrap_or_else(|found| panic!("{found}"));
    println!("{report}");
}

#[test]
fn rewritten_leaves_of_several_blocks() {
    survives(&holm, &made_anew(12));
    survives(&holm, &made_anew(24));
    survives_once(&holm_three, &made_anew(30));
}

#[test]
fn a_merge_with_an_empty_leaf() {
    for left in [true, false] {
        survives(&buffered, &hollow_neighbour(left, SLOTS));
        survives(&holm, &hollow_neighbour(left, 2 * SLOTS));
        survives(&holm_three, &hollow_neighbour(left, 3 * SLOTS));
    }
}

/// While a crash may still choose the epoch in which a block belonged to one leaf, the block must not name another
/// leaf.
#[test]
fn a_block_released_and_reused_an_epoch_early_is_caught() {
    let plan = Plan { end_epoch: lagging, ..Plan::suite(Persistency::Line) };
    let script = given_up_and_wanted();
    explore(&holm_three, &script, &plan).unwrap_or_else(|found| panic!("{found}"));
    let violation = explore(&holm_three, &script, &Plan { end_epoch: hasty, ..plan }).expect_err("too early");
    println!("{violation}");
}

/// The block with the leaf's last change is gone, but a reader's answer still waits for the epoch of that change.
#[test]
fn a_removal_that_releases_a_block_is_seen_only_when_durable() {
    for persistency in [Persistency::Line, Persistency::Word] {
        let plan = Plan { reader: Some(Reader::Careful), ..Plan::suite(persistency) };
        explore(&holm_three, &given_up_and_wanted(), &plan).unwrap_or_else(|found| panic!("{found}"));
    }
}

/// As a leaf of its own, or as a block of another leaf, it would have keys in that leaf's range.
#[test]
fn a_block_without_an_owner_is_caught() {
    let plan = Plan::suite(Persistency::Visible);
    let explored = |without| explore(&holm_three, &given_up_and_wanted(), &Plan { without, ..plan.clone() });
    let report = explored(BTreeSet::new()).unwrap_or_else(|found| panic!("{found}"));
    let of_owner = |site: &&Site| site.order == Order::Store && site.place.file().ends_with("buffered/owner.rs");
    let sites: Vec<_> = report.sites.iter().filter(of_owner).collect();
    assert_eq!(sites.len(), 1, "{sites:?}");
    println!("{}", explored(BTreeSet::from([*sites[0]])).expect_err("an owner that is not written"));
}
