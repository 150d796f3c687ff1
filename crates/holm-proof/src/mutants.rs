//! Mutants without manual work: every store, flush and fence that a design executes is left out in turn, and some crash
//! must reveal it.
//!
//! A survivor is a hole in the tests, or a superfluous step, which costs time on every operation and has no benefit.

use crate::crashes::{Bounds, Persistency};
use crate::explore::{Plan, explore};
use crate::scenarios::{owed, survives_creating_and_dropping_trees, thrice};
use crate::script::{
    Script, change, come_along, descent, elders, empty, empty_out, hollow, merge, named, overflow, random, regrow,
};
use crate::subject::Subject;
use crate::trace::Site;
use crate::verdict::Violation;
use std::collections::BTreeSet;

/// What became of a mutant.
#[derive(Debug)]
pub enum Fate {
    /// Some crash showed that the step is needed.
    Caught(Box<Violation>),
    /// No crash did.
    Survived,
}

fn scripts(subject: &'static Subject) -> Vec<Script> {
    let capacity = subject.capacity;
    named(capacity).into_iter().chain([come_along(capacity)]).chain((0..2).map(|seed| random(seed, capacity))).collect()
}

/// If this variable is set, mutants get every trial: `cargo xtask mutants`.
pub const EVERY_TRIAL: &str = "HOLM_EVERY_TRIAL";

/// The plans to try, ordered by how much they find in how little time: the loss of power, the death of the process,
/// then two and three crashes.
fn trials(subject: &'static Subject) -> Vec<(Plan, Vec<Script>)> {
    let (line, visible) = (Persistency::Line, Persistency::Visible);
    let capacity = subject.capacity;
    let few = Bounds { exhaustive: 200, pairs: 12, random: 12 };
    let single = owed(subject).map(|persistency| (Plan { bounds: few, ..Plan::suite(persistency) }, scripts(subject)));
    let moves = || vec![overflow(capacity), merge(capacity)];
    let again = vec![empty(capacity), regrow(capacity)];
    let few_crashes = [(Plan::twice(line), moves()), (Plan::mixed(line, visible), moves()), (Plan::twice(line), again)];
    // The search continues from all images of a split and a merge, for only a few of them lie behind its commit.
    let torn = || owed(subject).filter(|persistency| *persistency == Persistency::Word).map(Plan::twice);
    let splits = [Plan::mixed(visible, line), Plan::twice(line)].into_iter().chain(torn());
    let splits = splits.map(|plan| {
        let scripts = [overflow, descent, merge, empty_out].map(|script| script(capacity));
        (Plan { nested: 64, ..plan }, scripts.into())
    });
    let changes = torn().map(|plan| (Plan { nested: 64, ..plan }, vec![change()]));
    let rest = [(thrice(line), vec![hollow(capacity)]), (Plan::mixed(visible, line), vec![elders(capacity)])];
    let usual = single.chain(few_crashes).chain(splits).chain(changes).chain(rest);
    // All scripts under all mixed plans take most of the time, and found three mutants once. The scripts that did are
    // among the usual trials now.
    let mixed = [Plan::mixed(visible, line), Plan::mixed(line, visible), Plan::twice(line)].into_iter().chain(torn());
    let every = std::env::var_os(EVERY_TRIAL).map(|_| mixed.map(|plan| (plan, scripts(subject))));
    usual.chain(every.into_iter().flatten()).collect()
}

/// A script under a plan, and every site that it reaches: leaving out any other site changes nothing here.
struct Trial {
    plan: Plan,
    script: Script,
    sites: BTreeSet<Site>,
}

/// All trials of a design.
pub struct Hunt {
    subject: &'static Subject,
    trials: Vec<Trial>,
}

impl Hunt {
    /// Tries the unmodified design, and notes the sites that each trial reaches.
    ///
    /// # Errors
    /// A violation, if the unmodified design is not sound.
    pub fn of(subject: &'static Subject) -> Result<Hunt, Box<Violation>> {
        let mut all = vec![];
        for (plan, scripts) in trials(subject) {
            for script in scripts {
                let sites = explore(subject, &script, &plan)?.sites;
                all.push(Trial { plan: plan.clone(), script, sites });
            }
        }
        Ok(Hunt { subject, trials: all })
    }

    /// All sites that operations, epoch ends and recovery reach.
    pub fn sites(&self) -> BTreeSet<Site> {
        self.trials.iter().flat_map(|trial| trial.sites.iter().copied()).collect()
    }

    /// Leaves one site out and searches for a violation.
    pub fn fate(&self, site: Site) -> Fate {
        for trial in self.trials.iter().filter(|trial| trial.sites.contains(&site)) {
            let plan = Plan { without: BTreeSet::from([site]), ..trial.plan.clone() };
            if let Err(violation) = explore(self.subject, &trial.script, &plan) {
                return Fate::Caught(violation);
            }
        }
        Fate::Survived
    }

    /// The sites that creating and dropping a tree reaches, and for each the violation that its absence causes, if any.
    ///
    /// # Errors
    /// A description, if the unmodified design is not sound.
    pub fn comings_and_goings(&self) -> Result<Vec<(Site, Option<String>)>, String> {
        let losses = || owed(self.subject).filter(|persistency| *persistency != Persistency::Visible);
        let explore = |loss, site| survives_creating_and_dropping_trees::explore(self.subject, loss, &[site].into());
        let missed = |site| losses().find_map(|loss| explore(loss, site).err());
        let fate = |site| (site, missed(site));
        Ok(survives_creating_and_dropping_trees::sites(self.subject)?.into_iter().map(fate).collect())
    }
}
