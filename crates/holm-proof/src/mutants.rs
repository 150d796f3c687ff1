//! Mutants for free: every store, flush and fence that a design goes through is left out in turn, and must be missed.
//!
//! A survivor is a hole in the tests, or one too many: then it costs time on every operation and buys nothing.

use crate::crashes::{Bounds, Persistency};
use crate::explore::{Plan, explore};
use crate::grove::capacity;
use crate::scenarios::owed;
use crate::script::{Script, named, random};
use crate::trace::Site;
use crate::verdict::{Report, Violation};
use holm_tree::Design;
use std::collections::BTreeSet;

/// How a mutant fared.
#[derive(Debug)]
pub enum Fate {
    /// Some crash showed that it is needed.
    Caught(Box<Violation>),
    /// None did.
    Survived,
}

fn scripts<D: Design>() -> Vec<Script> {
    let capacity = capacity::<D>();
    named(capacity).into_iter().chain((0..2).map(|seed| random(seed, capacity))).collect()
}

/// The loss of power first, then the death of the process, then one after the other.
fn plans<D: Design>() -> Vec<Plan> {
    let (line, visible) = (Persistency::Line, Persistency::Visible);
    let few = Bounds { exhaustive: 200, pairs: 12, random: 12 };
    let single = owed::<D>().map(|persistency| Plan { bounds: few, ..Plan::suite(persistency) });
    let mixed = [Plan::mixed(visible, line), Plan::mixed(line, visible)];
    single.chain(mixed).chain([Plan::twice(line)]).collect()
}

/// A search that ends with the first violation: single crashes of every script, then pairs of crashes.
fn hunt<D: Design>(without: &BTreeSet<Site>) -> Result<Report, Box<Violation>> {
    let mut total = Report::default();
    for plan in plans::<D>() {
        let plan = Plan { without: without.clone(), ..plan };
        for script in scripts::<D>() {
            total += explore::<D>(&script, &plan)?;
        }
    }
    Ok(total)
}

/// Every site that operations, ticks and recovery go through.
///
/// # Errors
/// A violation, where the design is not sound to begin with.
pub fn sites<D: Design>() -> Result<BTreeSet<Site>, Box<Violation>> {
    let mut found = BTreeSet::new();
    for (first, later) in [(Persistency::Line, Persistency::Visible), (Persistency::Visible, Persistency::Line)] {
        let bounds = Bounds { exhaustive: 4, pairs: 4, random: 4 };
        for script in scripts::<D>() {
            found.extend(explore::<D>(&script, &Plan { bounds, ..Plan::mixed(first, later) })?.sites);
        }
    }
    Ok(found)
}

/// Leaves one site out and looks for what that breaks.
pub fn fate<D: Design>(site: Site) -> Fate {
    match hunt::<D>(&BTreeSet::from([site])) {
        Ok(_) => Fate::Survived,
        Err(violation) => Fate::Caught(violation),
    }
}
