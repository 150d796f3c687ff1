//! BD+Tree's leaf in two blocks: updates that go from one into the other, blocks that lose all their pairs, and leaves
//! that hold nothing beside others that do.

use holm_proof::subjects::{buffered, holm};
use holm_proof::{Persistency, Plan, Script, Step, Subject, explore};

/// Pairs of a block.
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

/// The first block is full, and its pairs are updated: each goes into the block behind, in an epoch or over its end.
fn moved_behind() -> Script {
    let past = puts(1..=SLOTS, 1_000).chain(puts([40], 1_000)).chain(ticks(1));
    let steps =
        puts(1..=4, 2_000).chain(ticks(1)).chain(puts(3..=6, 3_000)).chain([Step::Remove(10), Step::Remove(60)]);
    script("moved behind", past, steps.chain(ticks(1)))
}

/// One of the two blocks loses all its pairs, and the other does not.
fn emptied(first: bool) -> Script {
    let most = SLOTS + 12;
    let (gone, last) = if first { (1..SLOTS, SLOTS) } else { (SLOTS + 1..most, most) };
    let past = puts(1..=most, 1_000).chain(gone.map(|key| Step::Remove(key * 10))).chain(ticks(3));
    let steps = [Step::Remove(last * 10)].into_iter().chain(ticks(1)).chain(puts([50, 51], 2_000)).chain(ticks(1));
    script(&format!("emptied, the first: {first}"), past, steps)
}

/// A leaf that is not the lowest gets its second block in an epoch that may be lost. In what comes after a recovery the
/// lowest leaf grows, and takes that block.
fn linked_and_lost() -> Script {
    let lower = SLOTS;
    // One pair too many, and the lower half takes it.
    let past = puts(1..=2 * SLOTS, 1_000)
        .chain([Step::Put(5, 1)])
        .chain((13..=lower).map(|key| Step::Remove(key * 10)))
        .chain(ticks(3));
    let steps = (0..3).map(move |key| Step::Put(lower * 10 + 15 + key, 3_000 + key));
    script("linked and lost", past, steps.chain(ticks(1)))
}

/// Old versions fill both blocks: the leaf is made anew in one, or divided.
fn made_anew(pairs: u64) -> Script {
    let past = puts(1..=pairs, 1_000).chain(ticks(1)).chain(puts(1..=pairs, 2_000)).chain(ticks(1));
    let steps = puts(1..=pairs, 3_000).chain(ticks(2)).chain(puts(1..=3, 4_000)).chain(ticks(1));
    script(&format!("made anew with {pairs}"), past, steps)
}

/// A leaf has lost all its pairs beside a neighbour that had too many for a merge, and has no longer: of the two that
/// give way one holds nothing, and cannot be the one by whose emptying the other is told.
fn hollow_neighbour(left: bool, capacity: u64) -> Script {
    let half = capacity / 2;
    // Split in two when one more than fits has come; the halves are then 1..=half and the rest.
    let (lower, upper) = (1..=half, half + 1..=capacity + 1);
    let (hollow, other): (Vec<u64>, Vec<u64>) =
        if left { (lower.collect(), upper.collect()) } else { (upper.collect(), lower.collect()) };
    let more = |keys: &[u64]| keys.iter().map(|key| Step::Put(key * 10 + 5, key + 5_000)).take(8).collect::<Vec<_>>();
    let past = puts(1..=capacity + 1, 1_000).chain(ticks(3)).chain(more(&other)).chain(ticks(1));
    let past = past.chain(hollow.iter().map(|key| Step::Remove(key * 10))).chain(ticks(3));
    // Until few enough are left that a merge is tried.
    let past = past.chain(other.iter().map(|key| Step::Remove(key * 10))).chain(ticks(1));
    let steps = other.iter().map(|key| Step::Remove(key * 10 + 5)).take(3).chain(ticks(1));
    script(&format!("hollow neighbour, the left one: {left}"), past, steps)
}

fn survives(subject: &'static Subject, script: &Script) {
    for persistency in Persistency::ALL {
        let report = explore(subject, script, &Plan::suite(persistency)).unwrap_or_else(|found| panic!("{found}"));
        println!("{} {}: {report}", subject.name, script.name);
        let twice = explore(subject, script, &Plan::mixed(persistency, Persistency::Line));
        twice.unwrap_or_else(|found| panic!("{found}"));
    }
}

#[test]
fn updates_that_go_into_the_block_behind() {
    survives(&holm, &moved_behind());
}

#[test]
fn blocks_that_lose_all_their_pairs() {
    survives(&holm, &emptied(true));
    survives(&holm, &emptied(false));
}

#[test]
fn a_link_from_an_epoch_that_is_lost() {
    let plan = Plan { nested: 64, ..Plan::twice(Persistency::Line) };
    let report = explore(&holm, &linked_and_lost(), &plan).unwrap_or_else(|found| panic!("{found}"));
    println!("{report}");
}

#[test]
fn leaves_made_anew_of_two_blocks() {
    survives(&holm, &made_anew(12));
    survives(&holm, &made_anew(24));
}

#[test]
fn a_merge_of_two_of_which_one_holds_nothing() {
    for left in [true, false] {
        survives(&buffered, &hollow_neighbour(left, SLOTS));
        survives(&holm, &hollow_neighbour(left, 2 * SLOTS));
    }
}
