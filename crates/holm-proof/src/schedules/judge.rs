//! Crashes a run at every fence, at every return and at some moments between, and checks whether what is found there
//! has an explanation.

use super::crowd::{Run, instant};
use crate::crashes::{Choice, Crashes, Persistency};
use crate::fixture::{TreeFixture, advance};
use crate::history::{Action, Call, check, check_crash};
use crate::inspect::inspect;
use crate::model::Contents;
use crate::scenarios::owed;
use crate::subject::Subject;
use crate::trace::{Event, Mark};
use holm_medium::Epoch;
use rand::Rng;
use rand::seq::IteratorRandom;
use rand_pcg::Pcg64;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of random images of each moment, beside the one with nothing and the one with all that is not durable.
const DRAWN: usize = 2;

/// The amount of what was checked.
#[derive(Default, Debug)]
pub(super) struct Tally {
    pub(super) runs: AtomicU64,
    moments: AtomicU64,
    pub(super) opened: AtomicU64,
    judged: AtomicU64,
    pub(super) splits: AtomicU64,
    merges: AtomicU64,
}

/// The outcome of an image: its pairs, and its recovery point.
type Found = Result<(Contents, Epoch), String>;

/// Crashes a run.
///
/// # Panics
/// If something cannot be explained; the message describes it.
pub(super) fn judge(subject: &'static Subject, run: &Run, random: &mut Pcg64, tally: &Tally) {
    let [before, after] = run.leaves;
    tally.runs.fetch_add(1, Relaxed);
    tally.splits.fetch_add(u64::from(after > before), Relaxed);
    tally.merges.fetch_add(u64::from(after < before), Relaxed);
    let calls: Vec<Call> = run.calls.iter().map(|it| it.call).collect();
    if let Err(fault) = check(&calls) {
        panic!("{}: no order without a crash: {fault}", subject.name);
    }
    let power = owed(subject).filter(|persistency| *persistency != Persistency::Visible);
    let persistency = power.choose(random).expect("lines at the least");
    let mut crashes = Crashes::new(persistency, run.base.clone());
    let (mut known, mut published) = (HashMap::new(), 0);
    let mut crash = |event: usize, published: Epoch, crashes: &Crashes, random: &mut Pcg64| {
        tally.moments.fetch_add(1, Relaxed);
        let crashed = Moment { subject, run, event, published, tally };
        if let Err(wrong) = crashed.look(crashes, &mut known, random) {
            let at = run.entries.get(event).map_or("the end".into(), |entry| entry.to_string());
            panic!("{}: {persistency}: crashed at event {event}, {at}: {wrong}", subject.name);
        }
    };
    for (event, entry) in run.entries.iter().enumerate() {
        let now = match entry.event {
            Event::Fence => true,
            Event::Write { .. } | Event::Fill { .. } | Event::Flush { .. } => random.random_ratio(1, 24),
            _ => false,
        };
        if now {
            crash(event, published, &crashes, random);
        }
        crashes.pass(event, entry);
        if let Event::Mark(mark) = entry.event {
            if let Mark::Published(epoch) = mark {
                published = epoch;
            }
            crash(event + 1, published, &crashes, random);
        }
    }
}

/// A crash just before an event.
struct Moment<'a> {
    subject: &'static Subject,
    run: &'a Run,
    event: usize,
    /// The last epoch published as durable.
    published: Epoch,
    tally: &'a Tally,
}

impl Moment<'_> {
    fn look(&self, crashes: &Crashes, known: &mut HashMap<u64, Found>, random: &mut Pcg64) -> Result<(), String> {
        let deep = random.random_ratio(1, 8);
        crashes.window().draw(DRAWN, random, |choice| {
            self.tally.judged.fetch_add(1, Relaxed);
            let found = known.entry(choice.content).or_insert_with(|| {
                self.tally.opened.fetch_add(1, Relaxed);
                found(self.subject, choice, crashes.persistency(), deep)
            });
            let (contents, cut) = found.as_ref().map_err(String::clone)?;
            self.explains(contents, *cut).map_err(|wrong| {
                let lost = choice.lost().map_or("nothing".into(), |event| self.run.entries[event].to_string());
                format!("{wrong}\nfirst lost: {lost}\nfound: {contents:?}, cut at {cut}")
            })
        })
    }

    /// Whether the history up to here explains what was found.
    fn explains(&self, contents: &Contents, cut: Epoch) -> Result<(), String> {
        let (crash, calls) = (instant(self.event), &self.run.calls);
        let calls: Vec<Call> = if self.subject.capabilities.per_epoch {
            if cut < self.published {
                let published = self.published;
                return Err(format!("history is cut at epoch {cut}, but {published} has been declared durable"));
            }
            // A call labelled with an ended epoch has taken effect, whether or not it has returned. Calls with later
            // labels have not taken effect, and reads that saw them have seen nothing.
            let kept = calls.iter().filter(|it| it.label <= cut && it.call.began < crash).map(|it| it.call);
            let ended = |call: Call| call.ended.map(|ended| ended.min(crash - 1));
            let looks = |call: &Call| call.action == Action::Get && call.ended >= Some(crash);
            kept.filter(|call| !looks(call)).map(|call| Call { ended: ended(call), ..call }).collect()
        } else {
            calls.iter().map(|it| it.call).collect()
        };
        check_crash(&calls, crash, contents).map_err(|fault| fault.to_string())
    }
}

/// Opens an image; `deep`: and executes operations on it.
fn found(subject: &'static Subject, choice: &Choice<'_>, persistency: Persistency, deep: bool) -> Found {
    let left = choice.snapshot();
    let fixture = TreeFixture::revive(subject, &left, persistency, advance, &BTreeSet::new());
    let mut fixture = fixture.map_err(|error| error.to_string())?;
    let contents = match deep {
        true => inspect(&mut fixture, persistency)?,
        false => fixture.contents().map_err(|error| error.to_string())?.0,
    };
    Ok((contents, left.durable()))
}
