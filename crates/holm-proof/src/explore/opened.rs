//! Opens one image: recovers it, inspects it, continues from it, and notes the words that this reads.

use super::moment::{Moment, acceptable, judge};
use super::round::{Branch, Round, panicked};
use super::{Explorer, violation};
use crate::crashes::{Choice, Opener, Persistency};
use crate::fixture::TreeFixture;
use crate::inspect::inspect;
use crate::model::{Contents, Standing};
use crate::snapshot::Snapshot;
use crate::trace::{Event, Site, sites};
use crate::verdict::Violation;
use holm_medium::observed::ReadObserver;
use holm_medium::{Area, Epoch, LINE, parts};
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// The outcome of opening an image.
pub(super) enum Outcome {
    Broken(String),
    Sound { contents: Rc<Contents>, cut: Epoch, busy: bool },
}

/// The outcomes of a round's images, and the images from which to continue.
#[derive(Default)]
pub(super) struct Seen {
    contents: HashMap<Contents, Rc<Contents>>,
    pub(super) branches: Vec<Branch>,
    candidates: usize,
    /// The sites that recoveries reached.
    pub(super) sites: BTreeSet<Site>,
}

/// Opens and judges the images of one moment.
pub(super) struct Look<'a, 'p> {
    pub(super) explorer: &'a mut Explorer<'p>,
    pub(super) round: &'a Round,
    pub(super) moment: &'a Moment,
    pub(super) seen: &'a mut Seen,
}

impl Opener<Rc<Outcome>> for Look<'_, '_> {
    type Stop = Box<Violation>;

    fn open(&mut self, choice: &Choice<'_>) -> (Vec<(u64, u64)>, Rc<Outcome>) {
        self.explorer.report.images += 1;
        self.explorer.report.in_recovery += u64::from(!self.moment.recovered);
        let mut left = choice.snapshot();
        self.poison(&mut left);
        let opening = self.moment.opening(self.round);
        let (outcome, reads) = self.watched(&left, opening);
        let reads = reads.into_iter().map(|loc| (loc, left.word(loc))).collect();
        let outcome = Rc::new(outcome);
        if let Outcome::Sound { contents, busy, .. } = &*outcome
            && self.round.depth > 0
            // A recovery that had nothing to do has nothing in which to crash it; what follows it was tested without
            // it.
            && (*busy || self.explorer.random.random_ratio(1, 16))
        {
            let before = self.before(&outcome).into_iter().cloned().collect();
            self.go_on_from(Branch { left, opening, contents: contents.clone(), before });
        }
        (reads, outcome)
    }

    fn judge(&mut self, choice: &Choice<'_>, outcome: &Rc<Outcome>, images: u128) -> Result<(), Box<Violation>> {
        self.explorer.report.judged += 1;
        self.explorer.report.stood_for = self.explorer.report.stood_for.saturating_add(images);
        judge(self.explorer.subject, self.round, self.moment, outcome)
            .map_err(|(wrong, expected)| Box::new(self.accuse(choice, outcome, wrong, expected)))
    }
}

impl Look<'_, '_> {
    /// Keeps up to `nested` of the images to continue from, all with the same chance.
    fn go_on_from(&mut self, branch: Branch) {
        self.seen.candidates += 1;
        if self.seen.branches.len() < self.explorer.plan.nested {
            self.seen.branches.push(branch);
        } else if let Some(place) =
            self.seen.branches.get_mut(self.explorer.random.random_range(0..self.seen.candidates))
        {
            *place = branch;
        }
    }

    /// What a second crash within the recovery of this image may leave. If only the process had died and then power is
    /// lost, what the process left was never published as durable: the recovery point is where it had been before.
    fn before(&self, outcome: &Outcome) -> Vec<&Contents> {
        let (round, moment) = (self.round, self.moment);
        let power = self.explorer.plan.later != Persistency::Visible;
        match outcome {
            Outcome::Sound { cut, .. }
                if self.explorer.subject.capabilities.per_epoch
                    && power
                    && moment.opening(round) == Persistency::Visible
                    && moment.recovered =>
            {
                vec![round.history.cut(*cut)]
            }
            _ => acceptable(self.explorer.subject, round, moment, outcome).unwrap_or_default(),
        }
    }

    /// Fills words that mean nothing after a crash: in turn with 0, ones, something that looks like a key, and noise.
    fn poison(&mut self, left: &mut Snapshot) {
        for loc in &self.round.scratch {
            let poison = match self.explorer.report.images % 4 {
                0 => 0,
                1 => u64::MAX,
                2 => self.explorer.random.random_range(0..600),
                _ => self.explorer.random.random(),
            };
            left.set(*loc, poison);
        }
    }

    /// Opens an image; returns the words that this read, in order, among those that vary in the round.
    fn watched(&mut self, left: &Snapshot, opening: Persistency) -> (Outcome, Vec<u64>) {
        let Round { varying, scratch, .. } = self.round;
        let watched = varying.iter().chain(scratch).map(|loc| parts(*loc));
        let watched = watched.filter(|(area, _)| *area == Area::Leaves).map(|(_, offset)| offset as usize / 8);
        let covered = self.round.depth > 0;
        let outcome = self.opened(left, opening, watched, covered);
        let reads = ReadObserver::end().into_iter().map(|index| Area::Leaves.at(index as u64 * 8));
        // The other area is not observed: its words count as read, before all else.
        let mut noted: Vec<u64> = varying.iter().copied().filter(|loc| parts(*loc).0 != Area::Leaves).collect();
        for loc in reads {
            if scratch.contains(&loc) {
                // What the opening read from here on may depend on the poison, so it holds for no other image: all
                // words count.
                let known: BTreeSet<_> = noted.iter().copied().collect();
                noted.extend(varying.iter().filter(|loc| !known.contains(loc)));
                break;
            }
            noted.push(loc);
        }
        (outcome, noted)
    }

    fn opened(
        &mut self,
        left: &Snapshot,
        opening: Persistency,
        watched: impl Iterator<Item = usize>,
        covered: bool,
    ) -> Outcome {
        let Explorer { subject, plan, .. } = *self.explorer;
        let seen = &mut *self.seen;
        let looked = catch_unwind(AssertUnwindSafe(|| {
            let writer =
                TreeFixture::storage_after_crash(left, opening, &plan.without).map_err(|error| error.to_string())?;
            let image = writer.storage().medium_image();
            let words = image.words(Area::Leaves.at(0), left.bytes()[0] / 8);
            // Where a second crash may lose what this recovery writes, the old words matter as if they were read.
            ReadObserver::begin(words.expect("what was laid lies in the image"), watched, covered);
            let mut fixture =
                TreeFixture::recover(subject, writer, opening, plan.end_epoch).map_err(|error| error.to_string())?;
            let trace = fixture.medium().take();
            // A store that is left out is not in the trace, but its flush is.
            let busy = trace.iter().any(|entry| matches!(entry.event, Event::Write { .. } | Event::Flush { .. }));
            seen.sites.extend(sites(&trace));
            inspect(&mut fixture, opening).map(|contents| (contents, busy))
        }));
        match looked.unwrap_or_else(|panic| Err(panicked(&*panic))) {
            Ok((contents, busy)) => {
                let contents = seen.contents.entry(contents).or_insert_with_key(|it| Rc::new(it.clone())).clone();
                Outcome::Sound { contents, cut: left.durable(), busy }
            }
            Err(wrong) => Outcome::Broken(wrong),
        }
    }

    fn accuse(&self, choice: &Choice<'_>, outcome: &Outcome, wrong: String, expected: String) -> Violation {
        let (round, moment) = (self.round, self.moment);
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
            words: words(round, moment.event, choice),
            expected,
            found: match outcome {
                Outcome::Broken(_) => "no tree".into(),
                Outcome::Sound { contents, cut, .. } => format!("{contents:?}, cut at {cut}"),
            },
            persistency: round.persistency.name(),
            ..violation(self.explorer.subject, self.explorer.plan, &round.title, wrong)
        }
    }
}

/// Describes the words of lines in which the image lacks a store: the word before the round, the last store to it
/// before the crash, and the word in the image. Only words with a store are named.
fn words(round: &Round, crash: usize, choice: &Choice<'_>) -> String {
    let mut stored = BTreeMap::new();
    for entry in &round.entries[..crash.min(round.entries.len())] {
        match &entry.event {
            Event::Write { loc, value } => drop(stored.insert(*loc, *value)),
            Event::Fill { loc, values } => stored.extend((*loc..).step_by(8).zip(values.iter().copied())),
            _ => {}
        }
    }
    let lost = stored.iter().filter(|(loc, value)| choice.word(**loc) != **value);
    let lines: BTreeSet<u64> = lost.map(|(loc, _)| loc / LINE).collect();
    let of_lines = stored.iter().filter(|(loc, _)| lines.contains(&(*loc / LINE)));
    let named = of_lines.map(|(loc, value)| {
        let (before, left) = (round.base.word(*loc), choice.word(*loc));
        format!("{loc:#x} was {before:#x}, stored {value:#x}, left {left:#x}")
    });
    named.collect::<Vec<_>>().join("; ")
}
