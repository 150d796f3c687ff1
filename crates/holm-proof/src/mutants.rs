//! Mutants without manual work: every store, flush and fence that a design executes is left out in turn, and some crash
//! must reveal it.
//!
//! A survivor is a hole in the tests, or a superfluous step, which costs time on every operation and has no benefit. A
//! design declares the survivors that it keeps, beside the step: see [`declared`].

pub mod declared;

use crate::crashes::{Bounds, Persistency};
use crate::explore::{Plan, explore, trace};
use crate::scenarios::{owed, survives_creating_and_dropping_trees, thrice};
use crate::script::{
    Script, change, come_along, descent, draw_in, elders, empty, empty_out, hollow, merge, named, overflow, random,
    regrow,
};
use crate::subject::Subject;
use crate::trace::Site;
use crate::verdict::Violation;
use std::collections::BTreeSet;
use std::sync::{Mutex, OnceLock};
use std::thread;

/// What became of a mutant.
#[derive(Debug)]
pub enum Fate {
    /// Some crash showed that the step is needed: the violation.
    Caught(String),
    /// No crash did.
    Survived,
}

fn scripts(subject: &'static Subject) -> Vec<Script> {
    let capacity = subject.capacity;
    let of_lists = (subject.blocks > 1 && !subject.capabilities.per_epoch).then(draw_in);
    let named = named(capacity).into_iter().chain([come_along(capacity)]).chain(of_lists);
    named.chain((0..2).map(|seed| random(seed, capacity))).collect()
}

/// If this variable is set, mutants get every trial: `cargo xtask mutants leaves`.
pub const EVERY_TRIAL: &str = "HOLM_EVERY_TRIAL";

/// Whether mutants get every trial.
pub fn every_trial() -> bool {
    std::env::var_os(EVERY_TRIAL).is_some()
}

/// Whether only operations are searched, by single crashes. With versions, the searches that reach the steps of
/// recovery take minutes where images are many, and are left to [`EVERY_TRIAL`].
fn is_sampled(subject: &'static Subject) -> bool {
    subject.has_many_images() && subject.capabilities.per_epoch && !every_trial()
}

/// The plans to try, ordered by how much they find in how little time: the loss of power, the death of the process,
/// then two and three crashes.
fn trials(subject: &'static Subject) -> Vec<(Plan, Vec<Script>)> {
    let (line, visible) = (Persistency::Line, Persistency::Visible);
    let capacity = subject.capacity;
    let few = Bounds { exhaustive: 200, pairs: 12, random: 12 };
    let single = owed(subject).map(|persistency| (Plan { bounds: few, ..Plan::suite(persistency) }, scripts(subject)));
    let moves = || vec![overflow(capacity), merge(capacity)];
    let again = vec![empty(capacity), regrow(capacity)];
    if is_sampled(subject) {
        return single.collect();
    }
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
    let every = every_trial().then(|| mixed.map(|plan| (plan, scripts(subject))));
    usual.chain(every.into_iter().flatten()).collect()
}

/// The number of images of each trace from which the unmodified design continues to find the sites of a trial. The
/// sites of recovery are the same from nearly all images.
const NESTED_FOR_SITES: usize = 6;

/// A script under a plan, and the sites that it reaches: a mutant without any other site is not tried here.
struct Trial {
    plan: Plan,
    script: Script,
    sites: BTreeSet<Site>,
    /// Whether the whole trial, and not only what found its sites, accepts the unmodified design: asked when it first
    /// catches a mutant.
    control: OnceLock<Result<(), String>>,
}

impl Trial {
    /// Finds the sites that a script reaches under a plan.
    ///
    /// # Errors
    /// A violation, if the unmodified design is not sound.
    fn of(subject: &'static Subject, plan: Plan, script: Script) -> Result<Trial, Box<Violation>> {
        let nested = if every_trial() { plan.nested } else { plan.nested.min(NESTED_FOR_SITES) };
        let sites = match is_sampled(subject) {
            true => crate::trace::sites(&trace(subject, &script, &plan)?),
            false => explore(subject, &script, &Plan { nested, ..plan.clone() })?.sites,
        };
        Ok(Trial { plan, script, sites, control: OnceLock::new() })
    }

    /// The violation that a mutant without this site commits, if any crash shows one.
    ///
    /// # Panics
    /// If the unmodified design commits one, too.
    fn catches(&self, subject: &'static Subject, site: Site) -> Option<String> {
        let plan = Plan { without: BTreeSet::from([site]), ..self.plan.clone() };
        let violation = explore(subject, &self.script, &plan).err()?;
        let control = || explore(subject, &self.script, &self.plan).map_or_else(|it| Err(it.to_string()), |_| Ok(()));
        if let Err(violation) = self.control.get_or_init(control) {
            panic!("the unmodified design is not sound: {violation}");
        }
        Some(violation.to_string())
    }
}

/// The folders of the designs' own sources.
const OWN: [&str; 3] = ["holm-designs/src/", "holm-tree/src/leaf/", "holm-proof/tests/worked/"];

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
        let each = trials(subject).into_iter().flat_map(|(plan, scripts)| {
            scripts.into_iter().map(move |script| Trial::of(subject, plan.clone(), script))
        });
        Ok(Hunt { subject, trials: each.collect::<Result<_, _>>()? })
    }

    /// All sites that operations, epoch ends and recovery reach.
    pub fn sites(&self) -> BTreeSet<Site> {
        self.trials.iter().flat_map(|trial| trial.sites.iter().copied()).collect()
    }

    /// The sites that a design answers for: those of leaves and nodes, and of what designs share. The sites of the tree
    /// and of the medium are common ground.
    ///
    /// # Errors
    /// A description, if the unmodified design is not sound.
    pub fn own_sites(&self) -> Result<BTreeSet<Site>, String> {
        if !self.subject.capabilities.stores_pairs {
            // Nothing is lost where nothing is stored.
            return Ok(BTreeSet::new());
        }
        let created = survives_creating_and_dropping_trees::sites(self.subject)?;
        let own = |site: &Site| OWN.iter().any(|folder| site.place.file().contains(folder));
        Ok(self.sites().into_iter().chain(created).filter(own).collect())
    }

    /// Leaves one site out and searches for a violation: with one tree, then with trees that are created and dropped.
    pub fn fate(&self, site: Site) -> Fate {
        let mut reaching = self.trials.iter().filter(|trial| trial.sites.contains(&site));
        if let Some(violation) = reaching.find_map(|trial| trial.catches(self.subject, site)) {
            return Fate::Caught(violation);
        }
        let losses = owed(self.subject).filter(|persistency| *persistency != Persistency::Visible);
        let explore = |loss| survives_creating_and_dropping_trees::explore(self.subject, loss, &[site].into());
        losses.into_iter().find_map(|loss| explore(loss).err()).map_or(Fate::Survived, Fate::Caught)
    }

    /// Those of the sites whose absence no crash reveals. All cores search, because each site is a search of its own.
    ///
    /// # Panics
    /// A search has panicked.
    pub fn survivors(&self, sites: impl IntoIterator<Item = Site>) -> BTreeSet<Site> {
        let (rest, left) = (Mutex::new(Vec::from_iter(sites)), Mutex::new(BTreeSet::new()));
        let next = || rest.lock().expect("no search has panicked").pop();
        let work = || {
            while let Some(site) = next() {
                if matches!(self.fate(site), Fate::Survived) {
                    left.lock().expect("no search has panicked").insert(site);
                }
            }
        };
        thread::scope(|scope| {
            (0..thread::available_parallelism().map_or(1, usize::from)).for_each(|_| drop(scope.spawn(work)));
        });
        left.into_inner().expect("no search has panicked")
    }

    /// The design's own sites that no crash needs and that the design does not declare, each with its remedy.
    ///
    /// # Errors
    /// A description, if the unmodified design is not sound.
    pub fn undeclared(&self) -> Result<Vec<String>, String> {
        let mut sites = self.own_sites()?;
        sites.retain(|site| !declared::is_declared(self.subject.name, *site));
        let offence = |site: Site| {
            let order = site.order.name();
            format!("{site}: no crash needs it. Leave it out, or write above it: // Survivor ({order}): the reason")
        };
        Ok(self.survivors(sites).into_iter().map(offence).collect())
    }

    /// The design's own sites that it declares as survivors, and that a crash needs. The search for each of the others
    /// takes every trial.
    ///
    /// # Errors
    /// A description, if the unmodified design is not sound.
    pub fn declared_in_vain(&self) -> Result<Vec<String>, String> {
        let mut sites = self.own_sites()?;
        sites.retain(|site| declared::is_declared(self.subject.name, *site));
        let survivors = self.survivors(sites.iter().copied());
        let offence = |site: &Site| format!("{site}: declared as a survivor, and a crash needs it");
        Ok(sites.difference(&survivors).map(offence).collect())
    }
}
