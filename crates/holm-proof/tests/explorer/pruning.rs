//! One image that represents many is as good as the many: with and without pruning, small cases have the same verdicts,
//! for unmodified designs and with each of their stores, flushes and fences left out.

use holm_proof::Subject;
use holm_proof::script::{change, inserts, overflow, removals};
use holm_proof::subjects::faulty::{canary, canary_early, canary_lost, canary_torn, canary_unflushed};
use holm_proof::subjects::{buffered, fast_fair};
use holm_proof::{Bounds, Persistency, Plan, Report, Script, Site, Violation, explore, sites, trace};
use std::collections::BTreeSet;

const EVERY: Bounds = Bounds { exhaustive: 200_000, pairs: 0, random: 0 };

/// Every image, pruned or not.
fn verdict(subject: &'static Subject, script: &Script, plan: &Plan, pruned: bool) -> Result<Report, Box<Violation>> {
    let report = explore(subject, script, &Plan { bounds: EVERY, pruned, ..plan.clone() })?;
    assert_eq!(report.sampled, 0, "{} {}: too large to compare", subject.name, script.name);
    Ok(report)
}

/// Compares the verdicts, including the moment of the crash; if the design is sound, returns the number of images that
/// each opened.
fn compare(subject: &'static Subject, script: &Script, plan: &Plan) -> Option<(u64, u64)> {
    match (verdict(subject, script, plan, true), verdict(subject, script, plan, false)) {
        (Ok(pruned), Ok(every)) => {
            assert_eq!(pruned.windows, every.windows);
            assert!(pruned.stood_for >= u128::from(every.images), "{pruned} stand for fewer than {every}");
            Some((pruned.images, every.images))
        }
        (Err(pruned), Err(every)) => {
            let what = |violation: &Violation| (violation.operation.clone(), violation.event.clone());
            assert_eq!(what(&pruned), what(&every));
            None
        }
        (pruned, every) => panic!("{} {}: {pruned:?}, but of all images {every:?}", subject.name, script.name),
    }
}

fn left_out(site: Site) -> BTreeSet<Site> {
    BTreeSet::from([site])
}

/// Leaves out each site of a design in turn; returns how many of them a single crash misses, and what both searches
/// opened.
fn compare_mutants(subject: &'static Subject, script: &Script, persistency: Persistency) -> (usize, u64, u64) {
    let plan = Plan::suite(persistency);
    let (mut caught, mut opened, mut all) = (0, 0, 0);
    for site in sites(&trace(subject, script, &plan).expect("a sound design")) {
        match compare(subject, script, &Plan { without: left_out(site), ..plan.clone() }) {
            Some((pruned, every)) => (opened, all) = (opened + pruned, all + every),
            None => caught += 1,
        }
    }
    (caught, opened, all)
}

#[test]
fn every_mutant_has_the_same_verdict() {
    let line = Persistency::Line;
    let found = [
        compare_mutants(&canary, &change(), line),
        compare_mutants(&canary, &inserts(), Persistency::Word),
        compare_mutants(&canary, &change(), Persistency::Visible),
        compare_mutants(&fast_fair, &inserts(), line),
        compare_mutants(&fast_fair, &removals(), line),
        compare_mutants(&buffered, &inserts(), line),
    ];
    println!("caught, opened with, opened without: {found:?}");
    assert!(found.iter().all(|(caught, ..)| *caught > 0), "{found:?}");
    assert!(found.iter().all(|(_, opened, all)| opened <= all), "{found:?}");
}

#[test]
fn every_known_bug_is_found_at_the_same_moment() {
    for persistency in Persistency::ALL {
        let plan = Plan::suite(persistency);
        assert!(compare(&canary, &change(), &plan).is_some());
        assert_eq!(compare(&canary_unflushed, &change(), &plan).is_none(), persistency != Persistency::Visible);
        assert!(compare(&canary_early, &change(), &plan).is_none());
        assert!(compare(&canary_torn, &change(), &plan).is_none());
    }
}

/// The purpose: a split's fresh leaf has eight lines to which nothing leads, and all images are covered.
#[test]
fn a_split_is_explored_whole() {
    for persistency in Persistency::ALL {
        let bounds = Bounds { exhaustive: 60, pairs: 0, random: 0 };
        let plan = Plan { bounds, ..Plan::suite(persistency) };
        let report = explore(&canary, &overflow(28), &plan).expect("a sound design");
        assert_eq!(report.sampled, 0, "{report}");
        let all = match persistency {
            Persistency::Word => 1 << 30,
            Persistency::Line => 1_000,
            Persistency::Visible => 60,
        };
        assert!(report.images < 60 && report.stood_for > all, "{report}");
        assert!(explore(&canary_lost, &overflow(28), &plan).is_err());
    }
}
