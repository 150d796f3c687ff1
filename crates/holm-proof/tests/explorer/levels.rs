//! Designs with durable nodes above the leaves: every scenario, and scripts with four to six children per node, so that
//! few pairs make a high tree. Also the table, with nodes of the usual size, and each of the nodes' sites left out.

use holm_medium::MediumError;
use holm_proof::script::{empty_out, merge, random};
use holm_proof::subjects::durable::{
    fast_fair_all, fast_fair_all_narrow, isle_all, isle_all_narrow, wb_tree_all, wb_tree_all_narrow,
};
use holm_proof::{
    Bounds, Choice, Contents, Crashes, Entry, Event, History, Order, Persistency, Plan, Reader, Script, Site, Snapshot,
    Step, TreeFixture,
};
use holm_proof::{Subject, advance, explore, scenarios, table};
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::collections::BTreeSet;

mod narrow_fast_fair {
    use super::scenarios;
    holm_proof::for_each_scenario!(tests, holm_proof::subjects::durable::fast_fair_all_narrow);
}

mod narrow_isle {
    use super::scenarios;
    holm_proof::for_each_scenario!(tests, holm_proof::subjects::durable::isle_all_narrow);
}

mod narrow_wb {
    use super::scenarios;
    holm_proof::for_each_scenario!(tests, holm_proof::subjects::durable::wb_tree_all_narrow);
}

fn no_holes(subject: &'static Subject) {
    let rows = table::rows(subject, table::quick()).unwrap_or_else(|violation| panic!("{violation}"));
    println!("{}", table::Table(&rows));
    let holes: Vec<_> = rows.iter().flat_map(|row| row.holes()).collect();
    assert!(holes.is_empty(), "{holes:?}");
}

#[test]
fn every_cell_is_covered_or_excused() {
    no_holes(&fast_fair_all);
    no_holes(&isle_all);
    no_holes(&wb_tree_all);
}

/// Ascending keys, which make this many leaves; then keys of the lowest leaf until it is full; then a few more.
fn wedge(subject: &'static Subject, leaves: u64, more: u64) -> Script {
    let half = subject.capacity as u64 / 2;
    let keys = (1..=leaves * half + half).map(|i| i * 100);
    let past = keys.chain((1..=half).map(|i| 100 + i)).map(|key| Step::Put(key, key)).collect();
    let steps = (half + 1..=half + more).map(|i| Step::Put(100 + i, i)).collect();
    Script { name: format!("wedge under {leaves} leaves"), past, steps, blocks: 96 }
}

/// Ascending keys, and one more that splits the last leaf.
fn ascent(subject: &'static Subject, leaves: u64) -> Script {
    let keys = |range: std::ops::RangeInclusive<u64>| range.map(|i| Step::Put(i * 100, i)).collect();
    let upto = (leaves + 1) * (subject.capacity as u64 / 2);
    Script {
        name: format!("ascent to {leaves} leaves"),
        past: keys(1..=upto),
        steps: keys(upto + 1..=upto + 1),
        blocks: 96,
    }
}

/// With few children per node: the first root splits, in its middle and at its end; a node splits below a root that has
/// room; and a node splits whose new half fills the root of two levels.
fn climbs(subject: &'static Subject) -> [Script; 4] {
    let most = subject.children as u64;
    // The number of children that the last node of a level takes before it splits again.
    let step = most / 2;
    let filled = most + step * (most - 2);
    [wedge(subject, most, 2), ascent(subject, most), ascent(subject, most + step), ascent(subject, filled)]
}

/// What a script's steps did above the leaves: the number of additional nodes, and of additional levels.
fn climbed(subject: &'static Subject, script: &Script) -> (usize, u32) {
    let (fixture, _) = TreeFixture::create(subject, script, advance, &BTreeSet::new()).expect("a sound design");
    let look = || {
        let (tree_set, root) = fixture.tree();
        (tree_set.nodes(root).len(), tree_set.height(root))
    };
    let before = look();
    let contents = fixture.contents().expect("a sound tree").0;
    fixture.run(&script.steps, &mut History::from(&contents)).expect("a sound design");
    let after = look();
    (after.0 - before.0, after.1 - before.1)
}

#[test]
fn scripts_split_nodes_as_they_say() {
    let said = [(2, 1), (2, 1), (1, 0), (3, 1)];
    assert_eq!(climbs(&fast_fair_all_narrow).map(|script| climbed(&fast_fair_all_narrow, &script)), said);
    assert_eq!(climbs(&isle_all_narrow).map(|script| climbed(&isle_all_narrow, &script)), said);
    assert_eq!(climbs(&wb_tree_all_narrow).map(|script| climbed(&wb_tree_all_narrow, &script)), said);
}

/// The model of power failures under which a design promises most.
fn power(subject: &'static Subject) -> Persistency {
    if subject.capabilities.needs_line_order { Persistency::Line } else { Persistency::Word }
}

/// Every model that the design must survive, with one crash and two, and with a reader beside the writer.
fn survives(subject: &'static Subject, scripts: &[Script]) {
    let (power, visible) = (power(subject), Persistency::Visible);
    let reader = Some(Reader::Careful);
    let single = [power, visible].map(|model| Plan { reader, ..Plan::suite(model) });
    let mixed = [Plan::twice(power), Plan::mixed(power, visible), Plan::mixed(visible, power)];
    for script in scripts {
        for plan in single.iter().chain(&mixed) {
            let report = explore(subject, script, plan).unwrap_or_else(|violation| panic!("{violation}"));
            println!("{}, {}, then {}: {report}", script.name, plan.persistency, plan.later);
        }
    }
}

#[test]
fn splits_of_nodes_survive() {
    survives(&fast_fair_all_narrow, &climbs(&fast_fair_all_narrow));
    survives(&isle_all_narrow, &climbs(&isle_all_narrow));
    survives(&wb_tree_all_narrow, &climbs(&wb_tree_all_narrow));
}

/// A parent that shifts many children, across lines.
#[test]
fn a_wide_node_survives() {
    survives(&fast_fair_all, &[wedge(&fast_fair_all, 10, 2)]);
    survives(&isle_all, &[wedge(&isle_all, 10, 2)]);
    survives(&wb_tree_all, &[wedge(&wb_tree_all, 10, 2)]);
}

/// What has returned needs no recovery: whatever a crash leaves after the last step, opening it writes nothing.
/// Recovery would make a missing root, so nothing else would show that the root was not durable.
fn rests(subject: &'static Subject, script: &Script, without: &BTreeSet<Site>) -> Result<u64, String> {
    let (fixture, mut history) = TreeFixture::create(subject, script, advance, without).expect("a sound design");
    let mut crashes = Crashes::new(power(subject), Snapshot::of(fixture.image()));
    fixture.run(&script.steps, &mut history).expect("a sound design");
    let trace = fixture.medium().take();
    trace.iter().enumerate().for_each(|(event, entry)| crashes.pass(event, entry));
    let bounds = Bounds { exhaustive: 200, pairs: 10, random: 10 };
    let mut images = 0;
    crashes.visit(&bounds, &mut Pcg64::seed_from_u64(1), |choice| {
        images += 1;
        let revived = TreeFixture::revive(subject, &choice.snapshot(), power(subject), advance, &BTreeSet::new());
        let trace = revived.map_err(|error| error.to_string())?.medium().take();
        match trace.iter().find(|entry| matches!(entry.event, Event::Write { .. })) {
            Some(entry) => Err(format!("{}: opening writes: {entry}", script.name)),
            None => Ok(()),
        }
    })?;
    Ok(images)
}

#[test]
fn what_has_returned_needs_no_recovery() {
    fn all_rest(subject: &'static Subject) {
        for script in climbs(subject) {
            assert!(rests(subject, &script, &BTreeSet::new()).expect("nothing to do") > 0);
        }
    }
    all_rest(&fast_fair_all_narrow);
    all_rest(&isle_all_narrow);
    all_rest(&wb_tree_all_narrow);
}

/// Opens what a crash left, and checks that it holds these pairs.
fn holds(subject: &'static Subject, choice: &Choice<'_>, pairs: &Contents) -> Result<(), MediumError> {
    let opened = TreeFixture::revive(subject, &choice.snapshot(), Persistency::Line, advance, &BTreeSet::new())?;
    let (what, path) = ("what is found again", "leaves".into());
    let (found, expected) = (format!("{:?}", opened.contents()?.0), format!("{pairs:?}"));
    if found == expected { Ok(()) } else { Err(MediumError::Corrupt { path, offset: 0, what, found, expected }) }
}

/// A tree of a few levels changes, and power fails. Nodes that are left and to which no tree leads are not taken for
/// nodes of what is created after the recovery, which omits what `without` says; not even when power fails once more.
/// Returns the number of images without a pair, and the stores of recoveries.
fn nothing_comes_back(
    subject: &'static Subject,
    script: &Script,
    done: impl FnOnce(&TreeFixture),
    after: &[Step],
    without: &BTreeSet<Site>,
) -> Result<(u64, BTreeSet<Site>), MediumError> {
    let none = BTreeSet::new();
    let (fixture, _) = TreeFixture::create(subject, script, advance, &none).expect("a sound design");
    let mut crashes = Crashes::new(Persistency::Line, Snapshot::of(fixture.image()));
    done(&fixture);
    let (mut images, mut gone, mut stores) = (0, 0, BTreeSet::new());
    let (few, fewer) = (Bounds { exhaustive: 20, pairs: 2, random: 2 }, Bounds { exhaustive: 4, pairs: 1, random: 1 });
    let mut after_a_crash = |choice: &Choice<'_>| {
        images += 1;
        let revived = TreeFixture::revive(subject, &choice.snapshot(), Persistency::Line, advance, without)?;
        let mut trace = revived.medium().take();
        stores.extend(trace.iter().filter_map(Entry::site).filter(|site| site.order == Order::Store));
        let (contents, _) = revived.contents()?;
        gone += u64::from(contents.is_empty());
        let mut history = History::from(&contents);
        for steps in after.chunks(14) {
            steps.iter().try_for_each(|step| revived.step(*step, &mut history))?;
            trace.extend(revived.medium().take());
            let mut again = Crashes::new(Persistency::Line, choice.snapshot());
            trace.iter().enumerate().for_each(|(event, entry)| again.pass(event, entry));
            again.visit(&fewer, &mut Pcg64::seed_from_u64(1), |choice| holds(subject, choice, history.now()))?;
        }
        Ok(())
    };
    for (event, entry) in fixture.medium().take().iter().enumerate() {
        if entry.event == Event::Fence {
            crashes.visit(&few, &mut Pcg64::seed_from_u64(1), &mut after_a_crash)?;
        }
        crashes.pass(event, entry);
    }
    assert!(images > gone && images > 10, "{images} images, in {gone} of them no tree");
    Ok((gone, stores))
}

/// A tree is dropped, and a lower one is created in the same keyspace.
fn nodes_do_not_come_back(subject: &'static Subject, without: &BTreeSet<Site>) -> Result<BTreeSet<Site>, MediumError> {
    let drop_tree = |fixture: &TreeFixture| {
        let (tree_set, root) = fixture.tree();
        let mut guard = fixture.clock().pin().expect("a sound storage");
        tree_set.drop_tree(root, &mut guard, &mut |_| {}).expect("a sound storage");
    };
    let few = (1..4).map(|i| Step::Put(i, i)).collect::<Vec<_>>();
    let (gone, stores) = nothing_comes_back(subject, &ascent(subject, 7), drop_tree, &few, without)?;
    assert!(gone > 3);
    Ok(stores)
}

/// A node splits, and the blocks that a crash there left behind are reused.
fn nodes_are_no_leaves(subject: &'static Subject, without: &BTreeSet<Site>) -> Result<BTreeSet<Site>, MediumError> {
    let script = ascent(subject, subject.children as u64);
    let run = |fixture: &TreeFixture| {
        let contents = fixture.contents().expect("a sound tree").0;
        fixture.run(&script.steps, &mut History::from(&contents)).expect("a sound design");
    };
    let many = (0..90).map(|i| Step::Put(100_000 + i, i + 1)).collect::<Vec<_>>();
    Ok(nothing_comes_back(subject, &script, run, &many, without)?.1)
}

#[test]
fn unlinked_nodes_do_not_come_back() {
    let none = BTreeSet::new();
    nodes_do_not_come_back(&fast_fair_all_narrow, &none).expect("sound");
    nodes_do_not_come_back(&isle_all_narrow, &none).expect("sound");
    nodes_do_not_come_back(&wb_tree_all_narrow, &none).expect("sound");
    nodes_are_no_leaves(&fast_fair_all_narrow, &none).expect("sound");
    nodes_are_no_leaves(&isle_all_narrow, &none).expect("sound");
    nodes_are_no_leaves(&wb_tree_all_narrow, &none).expect("sound");
}

/// If recovery does not end them, an unlinked half becomes a leaf's block and is still a node. Nodes of a dropped tree
/// are still there beside those of the next one.
#[test]
fn unlinked_nodes_must_be_ended() {
    let mut all = BTreeSet::new();
    for scenario in [nodes_are_no_leaves, nodes_do_not_come_back] {
        let mut ends = scenario(&isle_all_narrow, &BTreeSet::new()).expect("sound");
        ends.retain(|site| site.place.file().ends_with("restore.rs"));
        assert_eq!(ends.len(), 1, "{ends:?}");
        for site in &ends {
            let error = scenario(&isle_all_narrow, &BTreeSet::from([*site])).expect_err("a recovery without it");
            println!("without {site}: {error}");
        }
        all.extend(ends);
    }
    assert_eq!(all.len(), 2, "halves that were not linked, and nodes without leaves: {all:?}");
}

/// The number of sites that scripts reach in these files, and those of them that no crash needs.
fn needless(subject: &'static Subject, scripts: &[Script], files: &[&str]) -> (usize, Vec<Site>) {
    let of_nodes = |site: &Site| files.iter().any(|file| site.place.file().ends_with(file));
    let (power, visible) = (power(subject), Persistency::Visible);
    let few = Bounds { exhaustive: 200, pairs: 12, random: 12 };
    let single = [power, visible].map(|model| Plan { bounds: few, ..Plan::suite(model) });
    let plans: Vec<_> = single.into_iter().chain([Plan::twice(power), Plan::mixed(visible, power)]).collect();
    let mut rest = BTreeSet::new();
    for (script, plan) in scripts.iter().flat_map(|script| plans[2..].iter().map(move |plan| (script, plan))) {
        let found = explore(subject, script, plan).unwrap_or_else(|violation| panic!("{violation}")).sites;
        rest.extend(found.into_iter().filter(of_nodes));
    }
    let all = rest.len();
    rest.retain(|site| {
        let without = BTreeSet::from([*site]);
        if scripts.iter().any(|script| rests(subject, script, &without).is_err()) {
            return false;
        }
        plans.iter().all(|plan| {
            let plan = Plan { without: without.clone(), ..plan.clone() };
            scripts.iter().all(|script| explore(subject, script, &plan).is_ok())
        })
    });
    (all, rest.into_iter().collect())
}

/// All but two. The fence behind a new root: the leaf that made the tree grow splits next, and the same thread fences.
/// And the root's link of zero, which a block that no other tree has used already contains.
#[test]
fn nodes_of_fast_fair_need_all_they_do() {
    let scripts = &climbs(&fast_fair_all_narrow)[..2];
    let (all, left) = needless(&fast_fair_all_narrow, scripts, &["fast_fair/node.rs", "restore.rs"]);
    let orders: Vec<_> = left.iter().map(|site| site.order).collect();
    assert_eq!((all, orders), (5, vec![Order::Store, Order::Fence]), "{left:#?}");
}

/// Isle-Tree's nodes need all of their sites.
#[test]
fn nodes_of_isle_need_all_they_do() {
    let mut scripts = climbs(&isle_all_narrow)[..2].to_vec();
    scripts.extend([merge(28), empty_out(28), random(1, 28)]);
    let (all, left) = needless(&isle_all_narrow, &scripts, &["isle/node.rs", "restore.rs"]);
    assert_eq!((all, left), (32, vec![]));
}

/// wB+-Tree's nodes need all of their sites, where words of a line persist in any order.
#[test]
fn nodes_of_wb_tree_need_all_they_do() {
    let mut scripts = climbs(&wb_tree_all_narrow)[..3].to_vec();
    scripts.extend([wedge(&wb_tree_all_narrow, 2, 2), wedge(&wb_tree_all_narrow, 3, 2)]);
    let (all, left) = needless(&wb_tree_all_narrow, &scripts, &["wb_tree/node.rs", "restore.rs"]);
    assert_eq!((all, left), (10, vec![]));
}
