//! Runs a script, crashes it everywhere, opens what is left, and judges. Then it continues from some of these images
//! and crashes again.
//!
//! The explorer tries a crash just before each fence, at each return and at the end. Between those moments, each image
//! that a crash may leave is also an image of the next such moment, and the guarantees there are no weaker. If the last
//! step ended an epoch, the explorer also treats the storage as closed properly: power is then lost, and the storage is
//! opened as it was left, without a recovery point. A second round's trace begins with the recovery itself, so that
//! recovery is crashed at every fence, too.
//!
//! Of the images that agree in every word that opening them reads, the explorer opens one. It judges the outcome at
//! each moment that may leave any of them: an opening is a function of what it reads. A hook in `Word`
//! (`holm_medium::observed`), which no shipped build has, reports the reads. A build without it opens every image. If
//! the explorer continues from an image and crashes again, words that the opening overwrites count as read: a second
//! crash may lose the write, and the old word is there again.

mod moment;
mod opened;
mod plan;
mod round;

pub use plan::Plan;
pub(crate) use round::panicked;

use crate::crashes::{Choice, Crashes, Extent, Known, Opener, Persistency, Window};
use crate::model::{Standing, Step};
use crate::script::Script;
use crate::subject::Subject;
use crate::trace::{Entry, Event, sites};
use crate::verdict::{Report, Violation};
use holm_medium::observed;
use moment::Moment;
use opened::{Look, Outcome, Seen};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use round::Round;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

struct Explorer<'a> {
    subject: &'static Subject,
    plan: &'a Plan,
    random: Pcg64,
    report: Report,
}

/// The outcomes of a round's images: by the words read from them, or by their contents where reads are not observed.
/// The kind of crash as which they were opened is part of the key.
#[derive(Default)]
struct Outcomes {
    known: HashMap<Persistency, Known<Rc<Outcome>>>,
    equal: HashMap<(u64, Persistency), Rc<Outcome>>,
}

/// Explores a script.
///
/// # Errors
/// The first violation.
pub fn explore(subject: &'static Subject, script: &Script, plan: &Plan) -> Result<Report, Box<Violation>> {
    let mut explorer = Explorer { subject, plan, random: Pcg64::seed_from_u64(plan.seed), report: Report::default() };
    let round = Round::first(subject, script, plan)?;
    explorer.round(&round)?;
    Ok(explorer.report)
}

/// Runs a script on a recorded medium and returns the trace.
///
/// # Errors
/// A violation if the script itself fails.
pub fn trace(subject: &'static Subject, script: &Script, plan: &Plan) -> Result<Vec<Entry>, Box<Violation>> {
    Ok(Round::first(subject, script, plan)?.entries)
}

fn violation(subject: &Subject, plan: &Plan, script: &str, wrong: String) -> Violation {
    Violation {
        design: subject.name,
        script: script.into(),
        persistency: plan.persistency.name(),
        operation: "none was crashed".into(),
        event: "none".into(),
        lost: "nothing".into(),
        words: "none".into(),
        wrong,
        expected: "a run like the model's".into(),
        found: "another".into(),
        replay: None,
    }
}

impl Explorer<'_> {
    fn round(&mut self, round: &Round) -> Result<(), Box<Violation>> {
        let visible = round.persistency == Persistency::Visible;
        let mut crashes = Crashes::new(round.persistency, round.base.clone());
        let standing = Standing { returned: 0, in_flight: false, published: round.published[0], told: 0 };
        let recovered = round.before.is_empty();
        let mut moment = Moment { event: 0, standing, recovered, closed: false, unheard_of: None };
        let (mut outcomes, mut seen) = (Outcomes::default(), Seen::default());
        let mut try_it = |explorer: &mut Self, crashes: &Crashes, moment: &Moment| {
            let look = Look { explorer, round, moment, seen: &mut seen };
            look.window(crashes, &mut outcomes)
        };
        self.report.sites.extend(sites(&round.entries));
        for (event, entry) in round.entries.iter().enumerate() {
            moment.event = event;
            if entry.event == Event::Fence && !visible {
                try_it(self, &crashes, &moment)?;
            }
            crashes.pass(event, entry);
            let stored = matches!(entry.event, Event::Write { .. } | Event::Fill { .. });
            let tighter = match entry.event {
                Event::Mark(mark) => moment.pass(mark, round),
                _ => false,
            };
            if tighter || visible && stored {
                try_it(self, &crashes, &moment)?;
            }
        }
        moment.event = round.entries.len();
        try_it(self, &crashes, &moment)?;
        let all_durable = round.history.kept(moment.standing.published) == round.steps.len();
        if round.steps.last() == Some(&Step::Tick) && all_durable {
            moment.closed = true;
            try_it(self, &crashes, &moment)?;
        }
        self.report.sites.append(&mut seen.sites);
        for branch in seen.branches {
            if self.over() {
                break;
            }
            self.report.rounds += 1;
            let again = round.after(self.subject, branch, self.plan, self.report.rounds)?;
            self.round(&again)?;
        }
        Ok(())
    }

    fn over(&self) -> bool {
        self.plan.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

impl Look<'_, '_> {
    /// Tries the crash at one moment.
    fn window(mut self, crashes: &Crashes, outcomes: &mut Outcomes) -> Result<(), Box<Violation>> {
        if self.explorer.over() {
            return Ok(());
        }
        let mut random = Pcg64::seed_from_u64(self.explorer.random.random());
        self.explorer.report.windows += 1;
        let opening = self.moment.opening(self.round);
        let window = crashes.window();
        let extent = if self.explorer.plan.pruned && observed::SEES {
            let known = outcomes.known.entry(opening).or_default();
            self.classes(&window, known, &mut random)?
        } else {
            let bounds = &self.explorer.plan.bounds;
            window.visit(bounds, &mut random, |choice| {
                let equal = outcomes.equal.entry((choice.content, opening));
                let outcome = equal.or_insert_with(|| self.open(choice).1).clone();
                self.judge(choice, &outcome, 1)
            })?
        };
        self.explorer.report.sampled += u64::from(extent == Extent::Sampled);
        Ok(())
    }

    /// All classes if they are few; otherwise the images that are selected where reads are not observed.
    fn classes(
        &mut self,
        window: &Window<'_>,
        known: &mut Known<Rc<Outcome>>,
        random: &mut Pcg64,
    ) -> Result<Extent, Box<Violation>> {
        let bounds = &self.explorer.plan.bounds;
        if window.classes(known, bounds.exhaustive, random, self)? {
            return Ok(Extent::Whole);
        }
        let visitor = |choice: &Choice<'_>| {
            let outcome = match known.find(|loc| choice.word(loc)) {
                Some(outcome) => outcome.clone(),
                None => {
                    let (reads, outcome) = self.open(choice);
                    known.learn(&reads, outcome.clone());
                    outcome
                }
            };
            self.judge(choice, &outcome, 1)
        };
        window.sample(bounds, random, visitor)?;
        Ok(Extent::Sampled)
    }
}
