//! Mutants for free: every store, flush and fence that a design goes through is left out in turn, and must be missed.
//!
//! A survivor is a hole in the tests, or one too many: then it costs time on every operation and buys nothing.

use crate::crashes::{Bounds, Persistency};
use crate::explore::{Plan, explore};
use crate::scenarios::{owed, survives_planting_and_giving_up, thrice};
use crate::script::{Script, change, descent, empty_out, hollow, merge, named, overflow, random};
use crate::subject::Subject;
use crate::trace::Site;
use crate::verdict::{Report, Violation};
use std::collections::BTreeSet;

/// How a mutant fared.
#[derive(Debug)]
pub enum Fate {
    /// Some crash showed that it is needed.
    Caught(Box<Violation>),
    /// None did.
    Survived,
}

fn scripts(subject: &'static Subject) -> Vec<Script> {
    let capacity = subject.capacity;
    named(capacity).into_iter().chain((0..2).map(|seed| random(seed, capacity))).collect()
}

/// What is tried, from what finds most in least time to the rest: the loss of power, the death of the process, then two
/// and three crashes.
fn trials(subject: &'static Subject) -> Vec<(Plan, Vec<Script>)> {
    let (line, visible) = (Persistency::Line, Persistency::Visible);
    let capacity = subject.capacity;
    let few = Bounds { exhaustive: 200, pairs: 12, random: 12 };
    let single = owed(subject).map(|persistency| (Plan { bounds: few, ..Plan::suite(persistency) }, scripts(subject)));
    let twice = [Plan::twice(line), Plan::mixed(line, visible)];
    let told = twice.map(|plan| (plan, vec![overflow(capacity), merge(capacity)]));
    // All of a split's and a merge's images are gone on from, for only a few of them lie behind its commit.
    let torn = || owed(subject).filter(|persistency| *persistency == Persistency::Word).map(Plan::twice);
    let splits = [Plan::mixed(visible, line), Plan::twice(line)].into_iter().chain(torn());
    let splits = splits.map(|plan| {
        let scripts = [overflow, descent, merge, empty_out].map(|script| script(capacity));
        (Plan { nested: 64, ..plan }, scripts.into())
    });
    let changes = torn().map(|plan| (Plan { nested: 64, ..plan }, vec![change()]));
    let told = told.into_iter().chain(splits).chain(changes).chain([(thrice(line), vec![hollow(capacity)])]);
    let mixed = [Plan::mixed(visible, line), Plan::mixed(line, visible), Plan::twice(line)];
    single.chain(told).chain(mixed.into_iter().chain(torn()).map(|plan| (plan, scripts(subject)))).collect()
}

/// A search that ends with the first violation.
fn hunt(subject: &'static Subject, without: &BTreeSet<Site>) -> Result<Report, Box<Violation>> {
    let mut total = Report::default();
    for (plan, scripts) in trials(subject) {
        let plan = Plan { without: without.clone(), ..plan };
        for script in scripts {
            total += explore(subject, &script, &plan)?;
        }
    }
    Ok(total)
}

/// Every site that operations, ticks and recovery go through.
///
/// # Errors
/// A violation, where the design is not sound to begin with.
pub fn sites(subject: &'static Subject) -> Result<BTreeSet<Site>, Box<Violation>> {
    let mut found = BTreeSet::new();
    for (first, later) in [(Persistency::Line, Persistency::Visible), (Persistency::Visible, Persistency::Line)] {
        let bounds = Bounds { exhaustive: 4, pairs: 4, random: 4 };
        for script in scripts(subject).into_iter().chain([hollow(subject.capacity)]) {
            found.extend(explore(subject, &script, &Plan { bounds, ..Plan::mixed(first, later) })?.sites);
        }
    }
    Ok(found)
}

/// Leaves one site out and looks for what that breaks.
pub fn fate(subject: &'static Subject, site: Site) -> Fate {
    match hunt(subject, &BTreeSet::from([site])) {
        Ok(_) => Fate::Survived,
        Err(violation) => Fate::Caught(violation),
    }
}

/// The sites of a tree's coming and going, and whether anything there misses one that is left out.
///
/// # Errors
/// In words, where the design is not sound to begin with.
pub fn comings_and_goings(subject: &'static Subject) -> Result<Vec<(Site, Option<String>)>, String> {
    let losses = || owed(subject).filter(|persistency| *persistency != Persistency::Visible);
    let missed =
        |site| losses().find_map(|loss| survives_planting_and_giving_up::explore(subject, loss, &[site].into()).err());
    let fate = |site| (site, missed(site));
    Ok(survives_planting_and_giving_up::sites(subject)?.into_iter().map(fate).collect())
}
