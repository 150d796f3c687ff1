//! The simulation of the whole store, for a few seeds: nothing is wrong, everything is met, a seed repeats its run, and
//! a disk that lies is caught. `cargo xtask simulate` runs many.

use crate::simulate::{Counts, Crash, End, FaultAt, Plan, Profile, What, When, run, shrink};
use holm::Durability;

/// Seeds of each profile.
const FEW: u64 = 24;

/// What the runs of all profiles meet.
const MET: [&str; 41] = [
    "backups restored",
    "changes of latency",
    "checkpoints",
    "closed databases that were read",
    "commits",
    "compactions",
    "conflicts",
    "copies that followed a feed",
    "deaths after calls",
    "deaths after which pages went back",
    "deaths between stores",
    "deaths in commits",
    "disks with room again",
    "drops of keyspaces",
    "ends of poisoned databases",
    "epochs logged",
    "failed calls",
    "failed write-backs",
    "full disks",
    "growths by writers",
    "images that readers were refused",
    "images worked on",
    "images",
    "increments applied",
    "jumps of the clock on the wall",
    "large pages given back",
    "large values",
    "marks",
    "openings by an index",
    "opens beside a writer",
    "pages gone back that nothing needed",
    "pages gone back that were noticed",
    "power cuts after calls",
    "reclaims of pages",
    "records swept",
    "recoveries from the log",
    "recoveries from the page cache",
    "recoveries that were cut",
    "refused calls",
    "syncs",
    "write-backs",
];

fn simulated(profile: Profile) -> Counts {
    let mut counts = Counts::default();
    for seed in 1..=FEW {
        let plan = Plan::draw(seed, profile);
        let outcome = run(&plan);
        assert_eq!(outcome.failure, None, "seed {seed} profile {profile} step {}: {plan:?}", outcome.steps[1]);
        counts.merge(&outcome.counts);
    }
    counts
}

#[test]
fn every_kind_of_event_is_met_and_nothing_is_wrong() {
    let mut counts = Counts::default();
    for profile in [Profile::Calm, Profile::Crashes, Profile::Faults] {
        counts.merge(&simulated(profile));
    }
    let missed: Vec<_> = MET.into_iter().filter(|name| counts.of(name) == 0).collect();
    assert!(missed.is_empty(), "never met: {missed:?}; {counts}");
}

#[test]
fn a_plan_repeats_its_run() {
    for seed in [2, 5] {
        let plan = Plan::draw(seed, Profile::Faults);
        let [first, second] = [run(&plan), run(&plan)];
        assert_eq!(
            (first.trace, first.steps, first.counts),
            (second.trace, second.steps, second.counts),
            "seed {seed}"
        );
    }
    let traces = [2, 3].map(|seed| run(&Plan::draw(seed, Profile::Calm)).trace);
    assert_ne!(traces[0], traces[1], "seeds differ");
}

/// A write-back fails in silence, and the kernel reclaims the pages while the process lives. The run notices that they
/// have changed, and without the reclaim it does not.
#[test]
fn pages_that_change_when_they_are_reclaimed_are_noticed() {
    let failure = |seed: u64, reclaims: bool| {
        let mut plan = Plan::draw(seed, Profile::Calm);
        plan.private = false;
        let fault = |step: u64, what: What| FaultAt { step, what };
        plan.faults = vec![fault(200, What::FailWriteBack(0))];
        plan.faults.extend(reclaims.then(|| fault(201, What::Reclaim(1))));
        run(&plan).failure
    };
    for seed in 1..5 {
        assert_eq!(failure(seed, false), None, "seed {seed}");
        let noticed = failure(seed, true).unwrap_or_default();
        assert!(noticed.contains("pages that the kernel has reclaimed"), "seed {seed}: {noticed}");
    }
}

/// The disk acknowledges records of the log that it has not written: the simulation finds the loss, and a smaller plan
/// that shows it.
#[test]
fn a_disk_that_lies_is_caught() {
    let lies = |seed: &u64| {
        let mut plan = Plan::draw(*seed, Profile::Calm);
        plan.durability = Durability::Strict;
        plan.faults = vec![FaultAt { step: 0, what: What::Lie(2) }];
        plan.crashes =
            vec![Crash { when: When::Step(2_000), end: End::PowerToDurable, seed: 1, again: None, within: Vec::new() }];
        let outcome = run(&plan);
        outcome.failure.is_some().then_some((plan, outcome))
    };
    let (plan, outcome) = (1..20).find_map(|seed| lies(&seed)).expect("the loss is found");
    let failure = outcome.failure.clone().unwrap_or_default();
    assert!(failure.contains("the image"), "{failure}");
    let (smaller, outcome) = shrink(&plan, outcome);
    assert!(outcome.failure.is_some(), "it fails still");
    assert!(smaller.operations < plan.operations && smaller.workers <= plan.workers, "{smaller:?}");
}
