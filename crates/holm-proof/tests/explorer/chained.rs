//! A chain whose links have versions: every scenario, the table, and scripts in which leaves have another leaf before
//! them.

use holm_proof::subjects::chained::bd_tree_chained;
use holm_proof::{
    Bounds, Order, Persistency, Plan, Report, Script, Site, Step, TreeFixture, advance, explore, lagging, scenarios,
    table,
};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

mod scenario {
    use super::scenarios;
    holm_proof::for_each_scenario!(tests, holm_proof::subjects::chained::bd_tree_chained);
}

#[test]
fn every_cell_is_covered_or_excused() {
    let rows = table::rows(&bd_tree_chained, table::quick()).unwrap_or_else(|violation| panic!("{violation}"));
    println!("{}", table::Table(&rows));
    let holes: Vec<_> = rows.iter().flat_map(|row| row.holes()).collect();
    assert!(holes.is_empty(), "{holes:?}");
}

/// Puts under these keys, in this order.
fn puts(keys: impl IntoIterator<Item = u64>, payload: u64) -> impl Iterator<Item = Step> {
    keys.into_iter().zip(payload..).map(|(key, payload)| Step::Put(key, payload))
}

/// Every tenth key, in an order that fills one leaf after another: 25 pairs in the first one, 28 in the others.
fn tens(range: RangeInclusive<u64>) -> impl Iterator<Item = u64> {
    range.map(|i| i * 10)
}

fn script(name: &str, past: Vec<Step>, steps: Vec<Step>) -> Script {
    Script { name: name.into(), past, steps, blocks: 24 }
}

/// The third of four leaves splits, and in a later epoch its lower half: the leaf before changes its link twice.
fn splits_within() -> Script {
    let past = puts(tens(1..=100), 1).collect();
    let lower = (541..=556).filter(|key| key % 10 != 0);
    let steps = puts([541], 1_001).chain([Step::Tick]).chain(puts(lower.skip(1), 1_002)).chain([Step::Tick]);
    let steps = steps.chain(puts([557, 558], 1_050)).chain([Step::Tick]).chain(puts([559], 1_060));
    script("splits within", past, steps.collect())
}

/// The first leaf hands its pairs on and keeps the lowest key, and then the leaf behind it splits.
fn hands_on() -> Script {
    let past = puts([0], 1).chain(puts(tens(1..=30), 2)).chain([Step::Tick; 2]).collect();
    let steps = puts([15, 0, 25], 1_001).chain([Step::Tick]).chain(puts([0, 35, 45], 1_010)).chain([Step::Tick]);
    script("hands on", past, steps.chain(puts([0, 55], 1_020)).chain([Step::Remove(0)]).collect())
}

/// The first leaf is as full as possible. Only then the lowest key comes, and it changes in each epoch.
fn comes_late() -> Script {
    let past = puts(tens(1..=30), 1).chain([Step::Tick; 2]).collect();
    let steps = (0..5).flat_map(|epoch| [Step::Put(0, 1_000 + epoch), Step::Tick]).chain(puts([5], 1_100));
    script("comes late", past, steps.collect())
}

/// Old versions fill a leaf of few pairs that has a leaf before it.
fn refreshes_within() -> Script {
    let few = || tens(58..=69);
    let gone = tens(54..=57).chain(tens(70..=81)).map(Step::Remove);
    let past = puts(tens(1..=100), 1).chain([Step::Tick]).chain(gone).chain([Step::Tick; 3]);
    let steps = puts(few(), 1_001).chain([Step::Tick]).chain(puts(few(), 1_101)).chain([Step::Tick]);
    script("refreshes within", past.collect(), steps.chain(puts(few(), 1_201)).collect())
}

/// The third of four leaves takes over the fourth one's pairs, and grows until it splits.
fn merges_within() -> Script {
    let gone = tens(54..=75).chain(tens(90..=105)).map(Step::Remove);
    let past = puts(tens(1..=109), 1).chain([Step::Tick]).chain(gone).chain([Step::Tick; 3]);
    let gone = tens(82..=89).map(Step::Remove).chain([Step::Tick]);
    let steps = gone.chain(puts([815, 1055], 1_001)).chain([Step::Tick]).chain(puts(841..=856, 1_010));
    script("merges within", past.collect(), steps.collect())
}

/// The third of four leaves loses its last pairs, and another leaf changes later.
fn empties_within() -> Script {
    let gone = tens(54..=79).map(Step::Remove);
    let past = puts(tens(1..=100), 1).chain([Step::Tick]).chain(gone).chain([Step::Tick; 2]);
    let steps = [Step::Remove(800), Step::Tick, Step::Remove(810), Step::Put(15, 1_001)];
    script("empties within", past.collect(), steps.into())
}

/// Full leaves under two nodes; the leaves around the end of the first node split.
fn splits_across_nodes() -> Script {
    let leaves = 2 + bd_tree_chained.children as u64;
    let past = puts(tens(1..=leaves * 28), 1).collect();
    let around = leaves / 2 - 4..leaves / 2 + 4;
    let steps = around.flat_map(|leaf| [Step::Put(leaf * 280 + 145, 100_000 + leaf), Step::Tick]);
    Script { blocks: 200, ..script("splits across nodes", past, steps.collect()) }
}

const LINE: Persistency = Persistency::Line;
const WORD: Persistency = Persistency::Word;
const VISIBLE: Persistency = Persistency::Visible;

/// One crash, and two, the second of which has few images.
fn plans() -> impl Iterator<Item = Plan> {
    let late = [LINE, WORD].map(|model| Plan { end_epoch: lagging, nested: 2, ..Plan::twice(model) });
    let mixed =
        [(VISIBLE, WORD), (LINE, VISIBLE)].map(|(first, later)| Plan { nested: 2, ..Plan::mixed(first, later) });
    [LINE, WORD, VISIBLE].map(Plan::suite).into_iter().chain(late).chain(mixed)
}

fn survives(script: &Script, plan: &Plan) -> Report {
    let report = explore(&bd_tree_chained, script, plan).unwrap_or_else(|violation| panic!("{violation}"));
    println!("{}, {}, then {}: {report}", script.name, plan.persistency, plan.later);
    report
}

#[test]
fn leaves_with_a_predecessor_survive() {
    for script in [splits_within(), hands_on(), comes_late(), refreshes_within(), merges_within(), empties_within()] {
        plans().for_each(|plan| drop(survives(&script, &plan)));
    }
}

/// The leaf before may be the last one of another node.
#[test]
fn first_leaves_of_nodes_survive() {
    let script = splits_across_nodes();
    let few = Bounds { exhaustive: 12, pairs: 2, random: 2 };
    for model in [LINE, WORD, VISIBLE] {
        survives(&script, &Plan { bounds: few, ..Plan::suite(model) });
    }
}

/// A process dies within a change of the chain. Recovery finishes or undoes the change, and power fails before that is
/// durable: the recovery point must find everything as it was. The search continues from every image of the process's
/// death, because only one of them may contain the case.
#[test]
fn changes_of_the_chain_by_recovery_are_undone_completely() {
    let plan = Plan { nested: 1_000, ..Plan::mixed(VISIBLE, LINE) };
    let first = |script: Script, steps: usize| Script { steps: script.steps[..steps].to_vec(), ..script };
    for script in [first(splits_within(), 1), first(hands_on(), 1), first(merges_within(), 9), empties_within()] {
        let report = survives(&script, &plan);
        assert!((2..1_000).contains(&report.rounds), "{report}");
    }
}

/// Every store of the design itself, in operations and in recovery, is needed: some crash reveals its absence. The
/// stores are: a fresh leaf's link; the links to an empty leaf at the end, from a first leaf, and from the leaf before;
/// the links of a merge and of recovery; and the two words of a merged pair.
#[test]
fn every_store_is_needed() {
    let first = |script: Script, steps: usize| Script { steps: script.steps[..steps].to_vec(), ..script };
    let overflow = script("overflow", puts(tens(1..=25), 1).collect(), puts([260], 1_001).collect());
    let short =
        [first(splits_within(), 1), first(hands_on(), 1), first(merges_within(), 9), empties_within(), overflow];
    let plans = [Plan::suite(VISIBLE), Plan::suite(LINE), Plan::mixed(VISIBLE, LINE)];
    let trials: Vec<_> = short.iter().flat_map(|script| plans.iter().map(move |plan| (script, plan))).collect();
    let own = |site: &Site| site.order == Order::Store && site.place.file().contains("bd_tree/chained");
    let all = trials.iter().flat_map(|(script, plan)| survives(script, plan).sites).filter(own);
    let all: BTreeSet<_> = all.collect();
    assert_eq!(all.len(), 8, "{all:?}");
    for site in all {
        let missed = |(script, plan): &(&Script, &Plan)| {
            let without = BTreeSet::from([site]);
            explore(&bd_tree_chained, script, &Plan { without, ..(*plan).clone() }).err()
        };
        let violation = trials.iter().find_map(missed).unwrap_or_else(|| panic!("{site} is missed by nobody"));
        println!("{site}: {}; {}", violation.wrong, violation.script);
    }
}

/// The leaves of a script's tree before its steps, and the largest number after one of them.
fn leaves(script: &Script) -> [usize; 2] {
    let (fixture, mut history) =
        TreeFixture::create(&bd_tree_chained, script, advance, &BTreeSet::new()).expect("sound");
    let count = || fixture.contents().expect("a sound tree").1.len();
    let before = count();
    let after = script.steps.iter().map(|step| {
        fixture.step(*step, &mut history).expect("sound");
        count()
    });
    let after = after.collect::<Vec<_>>();
    println!("{}: {before}, then {after:?}", script.name);
    [before, after.into_iter().max().unwrap_or(before)]
}

#[test]
fn scripts_do_what_they_say() {
    assert_eq!(leaves(&splits_within()), [4, 6]);
    assert_eq!(leaves(&hands_on()), [2, 4]);
    let [before, after] = leaves(&splits_across_nodes());
    assert_eq!((before > bd_tree_chained.children, after - before), (true, 8));
}
