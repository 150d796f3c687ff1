//! Runs a script, crashes it everywhere, opens what is left, and judges; then, from some of what was left, goes on and
//! crashes again.
//!
//! The crash is tried just before each fence, at each return and at the end: between those, an image that a crash may
//! leave is among those of the next such moment, and the promise is no stronger. Equal images are opened once and
//! judged at each moment. Where the last step ended an epoch, the pool also counts as closed in good order: then power
//! is lost, and it is opened as it was left, without a cut. A second round's trace begins with the recovery itself, so
//! that it too is crashed at every fence.

use crate::crashes::{Bounds, Choice, Crashes, Extent, Persistency};
use crate::grove::{Grove, Ticker, advance, capacity, stride};
use crate::inspect::inspect;
use crate::model::{Contents, History, Standing, Step};
use crate::script::{Script, aftermath};
use crate::snapshot::Snapshot;
use crate::trace::{Entry, Event, Mark, Site, sites};
use crate::verdict::{Report, Violation};
use holm_medium::Epoch;
use holm_tree::Design;
use holm_tree::leaf::Leaf;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::thread;
use std::time::Instant;

/// How to explore.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Which stores the first crash may lose.
    pub persistency: Persistency,
    /// Which stores the crashes after it may lose.
    pub later: Persistency,
    /// How many images of each moment.
    pub bounds: Bounds,
    /// How many images of each trace are gone on from, to be crashed again.
    pub nested: usize,
    /// How often; 0 is a single crash.
    pub depth: usize,
    /// For all that is drawn.
    pub seed: u64,
    /// How epochs end.
    pub ticker: Ticker,
    /// Stores, flushes and fences that are left out.
    pub without: BTreeSet<Site>,
    /// When to stop, with what has been seen until then.
    pub deadline: Option<Instant>,
}

impl Plan {
    /// For a test of a second or so.
    pub fn suite(persistency: Persistency) -> Self {
        let bounds = Bounds { exhaustive: 1_000, pairs: 40, random: 40 };
        let without = BTreeSet::new();
        Plan {
            persistency,
            later: persistency,
            bounds,
            nested: 0,
            depth: 0,
            seed: 1,
            ticker: advance,
            without,
            deadline: None,
        }
    }

    /// The same with a second crash, in recovery or after it.
    pub fn twice(persistency: Persistency) -> Self {
        let bounds = Bounds { exhaustive: 40, pairs: 6, random: 6 };
        Plan { bounds, nested: 10, depth: 1, ..Plan::suite(persistency) }
    }

    /// A crash of one kind and then of another.
    pub fn mixed(first: Persistency, later: Persistency) -> Self {
        Plan { later, ..Plan::twice(first) }
    }

    /// For a program that has time.
    pub fn thorough(persistency: Persistency, seed: u64) -> Self {
        let bounds = Bounds { exhaustive: 2_000, pairs: 100, random: 100 };
        Plan { bounds, nested: 8, depth: 2, seed, ..Plan::suite(persistency) }
    }
}

/// What opening an image showed.
enum Outcome {
    Broken(String),
    Sound { contents: Rc<Contents>, cut: Epoch, busy: bool },
}

/// One trace, from certain contents on.
struct Round {
    title: String,
    /// Which stores a crash may lose here.
    persistency: Persistency,
    /// What the crash was that its recovery began with; where there was none, the same.
    opened: Persistency,
    base: Snapshot,
    entries: Vec<Entry>,
    scratch: BTreeSet<u64>,
    history: History,
    steps: Vec<Step>,
    /// Declared durable when the trace begins, and when its recovery has returned.
    published: [Epoch; 2],
    /// What may be found as long as recovery has not returned, the cut being the base's; empty where there is none.
    before: Vec<Contents>,
    depth: usize,
}

/// An image to go on from, with what might be found in it.
struct Branch {
    left: Snapshot,
    opening: Persistency,
    contents: Rc<Contents>,
    before: Vec<Contents>,
}

struct Explorer<'a> {
    plan: &'a Plan,
    random: Pcg64,
    report: Report,
    moments: usize,
}

/// The place in a round at which a crash is tried.
struct Moment {
    event: usize,
    standing: Standing,
    recovered: bool,
    /// The pool has been closed in good order: whoever opens next cuts nothing, though the power was lost since.
    closed: bool,
}

/// The images of one round: what each showed, and those to go on from.
#[derive(Default)]
struct Seen {
    outcomes: HashMap<(u64, Persistency), Rc<Outcome>>,
    contents: HashMap<Contents, Rc<Contents>>,
    branches: Vec<Branch>,
    candidates: usize,
    /// What recoveries went through.
    sites: BTreeSet<Site>,
}

/// Explores a script.
///
/// # Errors
/// The first violation.
pub fn explore<D: Design>(script: &Script, plan: &Plan) -> Result<Report, Box<Violation>> {
    let mut explorer =
        Explorer { plan, random: Pcg64::seed_from_u64(plan.seed), report: Report::default(), moments: 0 };
    let round = record::<D>(script, plan)?;
    explorer.round::<D>(&round)?;
    Ok(explorer.report)
}

/// Runs a script under record and gives the trace, for those who read it.
///
/// # Errors
/// A violation where the script itself fails.
pub fn trace<D: Design>(script: &Script, plan: &Plan) -> Result<Vec<Entry>, Box<Violation>> {
    Ok(record::<D>(script, plan)?.entries)
}

fn record<D: Design>(script: &Script, plan: &Plan) -> Result<Round, Box<Violation>> {
    let run = || {
        let (grove, mut history) = Grove::<D>::plant(script, plan.ticker, &plan.without)?;
        let (base, published) = (Snapshot::of(grove.image()), [grove.published(); 2]);
        grove.run(&script.steps, &mut history)?;
        let (entries, scratch) = (grove.medium().take(), grove.medium().scratch());
        let title = script.name.clone();
        let (steps, before) = (script.steps.clone(), vec![]);
        let (persistency, opened, depth) = (plan.persistency, plan.persistency, plan.depth);
        Ok(Round { title, persistency, opened, base, entries, scratch, history, steps, published, before, depth })
    };
    caught(run).map_err(|wrong| Box::new(violation::<D>(plan, &script.name, wrong)))
}

/// Runs something, a panic being one more way to go wrong.
fn caught<T>(run: impl FnOnce() -> holm_medium::Result<T>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(panic) => Err(panicked(&*panic)),
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("it panicked: {}", text.unwrap_or("without words"))
}

fn violation<D: Design>(plan: &Plan, script: &str, wrong: String) -> Violation {
    Violation {
        design: D::NAME,
        script: script.into(),
        persistency: plan.persistency.name(),
        operation: "none was crashed".into(),
        event: "none".into(),
        lost: "nothing".into(),
        wrong,
        expected: "a run like the model's".into(),
        found: "another".into(),
        replay: None,
    }
}

impl Explorer<'_> {
    fn round<D: Design>(&mut self, round: &Round) -> Result<(), Box<Violation>> {
        let visible = round.persistency == Persistency::Visible;
        let mut crashes = Crashes::new(round.persistency, round.base.clone());
        let standing = Standing { returned: 0, in_flight: false, published: round.published[0] };
        let mut moment = Moment { event: 0, standing, recovered: round.before.is_empty(), closed: false };
        let mut seen = Seen::default();
        self.report.sites.extend(sites(&round.entries));
        for (event, entry) in round.entries.iter().enumerate() {
            moment.event = event;
            if entry.event == Event::Fence && !visible {
                self.window::<D>(round, &crashes, &moment, &mut seen)?;
            }
            crashes.pass(event, entry);
            let stored = matches!(entry.event, Event::Write { .. } | Event::Fill { .. });
            let tighter = match entry.event {
                Event::Mark(mark) => moment.pass(mark, round),
                _ => false,
            };
            if tighter || visible && stored {
                self.window::<D>(round, &crashes, &moment, &mut seen)?;
            }
        }
        moment.event = round.entries.len();
        self.window::<D>(round, &crashes, &moment, &mut seen)?;
        if round.steps.last() == Some(&Step::Tick) {
            moment.closed = true;
            self.window::<D>(round, &crashes, &moment, &mut seen)?;
        }
        self.report.sites.append(&mut seen.sites);
        for branch in seen.branches {
            self.go_on::<D>(round, branch)?;
        }
        Ok(())
    }

    fn over(&self) -> bool {
        self.plan.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Tries the crash at one moment.
    fn window<D: Design>(
        &mut self,
        round: &Round,
        crashes: &Crashes,
        moment: &Moment,
        seen: &mut Seen,
    ) -> Result<(), Box<Violation>> {
        self.moments += 1;
        let tried = self.moments.is_multiple_of(stride::<D>()) || moment.event == round.entries.len();
        if self.over() || !tried {
            return Ok(());
        }
        let mut random = Pcg64::seed_from_u64(self.random.random());
        self.report.windows += 1;
        let extent = crashes.visit(&self.plan.bounds, &mut random, |choice| {
            self.report.judged += 1;
            let opening = moment.opening(round);
            let outcome = match seen.outcomes.get(&(choice.content, opening)) {
                Some(outcome) => outcome.clone(),
                None => self.first_look::<D>(round, choice, moment, seen),
            };
            judge::<D>(round, moment, &outcome).map_err(|(wrong, expected)| {
                Box::new(self.accuse::<D>(round, choice, moment, &outcome, wrong, expected))
            })
        })?;
        self.report.sampled += u64::from(extent == Extent::Sampled);
        Ok(())
    }

    fn first_look<D: Design>(
        &mut self,
        round: &Round,
        choice: &Choice<'_>,
        moment: &Moment,
        seen: &mut Seen,
    ) -> Rc<Outcome> {
        self.report.images += 1;
        let mut left = choice.snapshot();
        self.poison(&mut left, &round.scratch);
        let opening = moment.opening(round);
        let outcome = Rc::new(self.open::<D>(&left, opening, seen));
        seen.outcomes.insert((choice.content, opening), outcome.clone());
        if let Outcome::Sound { contents, busy, .. } = &*outcome
            && round.depth > 0
            // A recovery that had nothing to do has nothing to be crashed in; what follows it was seen without it.
            && (*busy || self.random.random_ratio(1, 16))
        {
            let before = self.before::<D>(round, moment, &outcome).into_iter().cloned().collect();
            let branch = Branch { left, opening, contents: contents.clone(), before };
            seen.candidates += 1;
            // One, where not every moment is tried either.
            let most = if stride::<D>() > 1 { self.plan.nested.min(1) } else { self.plan.nested };
            if seen.branches.len() < most {
                seen.branches.push(branch);
            } else if let Some(place) = seen.branches.get_mut(self.random.random_range(0..seen.candidates)) {
                *place = branch;
            }
        }
        outcome
    }

    /// What a second crash within the recovery of this image may leave. Where only the process had died and then the
    /// power is lost, what the process left was never declared durable: history is cut where it had been before.
    fn before<'a, D: Design>(&self, round: &'a Round, moment: &Moment, outcome: &Outcome) -> Vec<&'a Contents> {
        let power = self.plan.later != Persistency::Visible;
        match outcome {
            Outcome::Sound { cut, .. }
                if D::Leaf::CARD.defers
                    && power
                    && moment.opening(round) == Persistency::Visible
                    && moment.recovered =>
            {
                vec![round.history.cut(*cut)]
            }
            _ => acceptable::<D>(round, moment, outcome).unwrap_or_default(),
        }
    }

    /// Words that mean nothing after a crash are found with anything: in turn 0, ones, what looks like a key, noise.
    fn poison(&mut self, left: &mut Snapshot, scratch: &BTreeSet<u64>) {
        for loc in scratch {
            let poison = match self.report.images % 4 {
                0 => 0,
                1 => u64::MAX,
                2 => self.random.random_range(0..600),
                _ => self.random.random(),
            };
            left.set(*loc, poison);
        }
    }

    fn open<D: Design>(&self, left: &Snapshot, opening: Persistency, seen: &mut Seen) -> Outcome {
        let Plan { ticker, without, .. } = self.plan;
        let looked = catch_unwind(AssertUnwindSafe(|| {
            let mut grove = Grove::<D>::revive(left, opening, *ticker, without).map_err(|e| e.to_string())?;
            let trace = grove.medium().take();
            // A store that is left out is not in the trace, but its flush is.
            let busy = trace.iter().any(|entry| matches!(entry.event, Event::Write { .. } | Event::Flush { .. }));
            seen.sites.extend(sites(&trace));
            inspect(&mut grove, opening).map(|contents| (contents, busy))
        }));
        match looked.unwrap_or_else(|panic| Err(panicked(&*panic))) {
            Ok((contents, busy)) => {
                let contents = seen.contents.entry(contents).or_insert_with_key(|it| Rc::new(it.clone())).clone();
                Outcome::Sound { contents, cut: left.durable(), busy }
            }
            Err(wrong) => Outcome::Broken(wrong),
        }
    }

    /// Recovers an image under record, does a few things more, and crashes all of that.
    fn go_on<D: Design>(&mut self, round: &Round, branch: Branch) -> Result<(), Box<Violation>> {
        if self.over() {
            return Ok(());
        }
        self.report.rounds += 1;
        let title = format!("{}, recovered", round.title);
        let Plan { later, ticker, without, .. } = self.plan;
        let steps = aftermath(&branch.contents, self.report.rounds, capacity::<D>());
        let mut history = History::from(&branch.contents);
        let run = || {
            let grove = Grove::<D>::revive(&branch.left, branch.opening, *ticker, without)?;
            let published = [branch.left.durable(), grove.published()];
            // By a thread of its own: who recovers is not who writes, and a writer's fences complete no flush of his.
            let worked = thread::scope(|scope| scope.spawn(|| grove.run(&steps, &mut history)).join());
            worked.unwrap_or_else(|panic| resume_unwind(panic))?;
            Ok((grove.medium().take(), grove.medium().scratch(), published))
        };
        let (entries, new_scratch, published) =
            caught(run).map_err(|wrong| Box::new(violation::<D>(self.plan, &title, wrong)))?;
        let scratch = round.scratch.union(&new_scratch).copied().collect();
        let Branch { left: base, opening: opened, before, .. } = branch;
        let (persistency, depth) = (*later, round.depth - 1);
        let again =
            Round { title, persistency, opened, base, entries, scratch, history, steps, published, before, depth };
        self.round::<D>(&again)
    }

    fn accuse<D: Design>(
        &self,
        round: &Round,
        choice: &Choice<'_>,
        moment: &Moment,
        outcome: &Outcome,
        wrong: String,
        expected: String,
    ) -> Violation {
        let Standing { returned, in_flight, .. } = moment.standing;
        let step = |number: usize| format!("{number}, {:?}", round.steps[number]);
        let operation = match (in_flight, returned) {
            _ if !moment.recovered => "recovery".into(),
            (true, _) => step(returned),
            (false, 0) => "none yet".into(),
            (false, _) => format!("after {}", step(returned - 1)),
        };
        let event = round.entries.get(moment.event).map_or("at the end".into(), |entry| entry.to_string());
        let lost = choice.lost().and_then(|event| round.entries.get(event).map(|entry| (event, entry)));
        Violation {
            operation,
            event: format!("at event {}, {event}", moment.event),
            lost: lost.map_or("nothing".into(), |(event, entry)| format!("event {event}, {entry}")),
            expected,
            found: match outcome {
                Outcome::Broken(_) => "no tree".into(),
                Outcome::Sound { contents, cut, .. } => format!("{contents:?}, cut at {cut}"),
            },
            persistency: round.persistency.name(),
            ..violation::<D>(self.plan, &round.title, wrong)
        }
    }
}

impl Moment {
    /// As what the crash is taken by whoever opens next. The death of a process that was recovering from the loss of
    /// power is not the death of one that had recovered: what it left is still of the power's making.
    fn opening(&self, round: &Round) -> Persistency {
        if self.closed {
            return Persistency::Visible;
        }
        let still = !self.recovered && round.opened != Persistency::Visible;
        if still { round.opened } else { round.persistency }
    }

    /// Takes a mark in, and tells whether more is promised now.
    fn pass(&mut self, mark: Mark, round: &Round) -> bool {
        match mark {
            Mark::Begun(_) => {
                self.standing.in_flight = true;
                false
            }
            Mark::Returned(number) => {
                (self.standing.returned, self.standing.in_flight) = (number + 1, false);
                true
            }
            Mark::Published(epoch) => {
                self.standing.published = epoch;
                true
            }
            Mark::Recovered => {
                self.recovered = true;
                self.standing.published = round.published[1];
                true
            }
        }
    }
}

/// The contents that may be found at a moment.
fn acceptable<'a, D: Design>(
    round: &'a Round,
    moment: &Moment,
    outcome: &Outcome,
) -> Result<Vec<&'a Contents>, String> {
    let Outcome::Sound { cut, .. } = outcome else { return Ok(vec![]) };
    let deferred = D::Leaf::CARD.defers && moment.opening(round) != Persistency::Visible;
    let published = moment.standing.published;
    if deferred && *cut < published {
        return Err(format!("history is cut at epoch {cut}, but {published} has been declared durable"));
    }
    Ok(match (moment.recovered, deferred) {
        (false, true) if *cut != round.base.durable() => vec![round.history.cut(*cut)],
        (false, _) => round.before.iter().collect(),
        (true, true) => vec![round.history.cut(*cut)],
        (true, false) => round.history.strict(moment.standing),
    })
}

/// What is wrong, and what would have been right.
fn judge<D: Design>(round: &Round, moment: &Moment, outcome: &Outcome) -> Result<(), (String, String)> {
    match outcome {
        Outcome::Broken(wrong) => Err((wrong.clone(), "a tree that works".into())),
        Outcome::Sound { .. } if !D::Leaf::CARD.keeps => Ok(()),
        Outcome::Sound { contents, .. } => {
            let right = acceptable::<D>(round, moment, outcome).map_err(|wrong| (wrong, "all of it".into()))?;
            if right.contains(&&**contents) {
                return Ok(());
            }
            let right: Vec<_> = right.iter().map(|contents| format!("{contents:?}")).collect();
            Err(("the contents".into(), right.join(" or ")))
        }
    }
}
