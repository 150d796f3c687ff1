//! Removals of ranges, crashed at every store.
//!
//! A removal is done in parts, each a call of its own, with ends of epochs between them. When the process dies within a
//! part, the part's range is gone from its low end up to some key. After a power cut, the labels decide which parts are
//! there; a part is there as a whole, because all of its leaves have one label here. Every tree that a crash leaves is
//! inspected and written to again: the range that empty leaves have left belongs to exactly one leaf.

use crate::crashes::Persistency;
use crate::each_crash::{Moment, each_crash};
use crate::fixture::{TreeFixture, advance};
use crate::inspect::inspect;
use crate::model::{Contents, Step};
use crate::scenarios::Verdict;
use crate::script::Script;
use crate::snapshot::Snapshot;
use crate::subject::Subject;
use crate::threads;
use crate::trace::{Entry, Mark};
use holm_medium::{Epoch, Result};
use holm_tree::RangeRemoval;
use holm_tree::leaf::KeyRange;
use std::collections::BTreeSet;

/// What the caller does wrong, if anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RangeBug {
    /// Nothing.
    None,
    /// It returns after the first part.
    FirstPartOnly,
    /// It removes the upper half of each range first.
    UpperHalfFirst,
    /// It takes the end of the range to be the last key that is removed.
    EndIncluded,
}

/// One operation of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    /// Removes a range, this many leaves at a time. With `ticks`, an epoch ends after each part.
    Remove {
        low: u64,
        high: Option<u64>,
        leaves: usize,
        ticks: bool,
    },
    Put(u64, u64),
    Tick,
}

/// The contents after an operation or part that has returned, and its label.
type State = (Contents, Epoch);

/// The operations on five full leaves: ranges that begin and end within leaves, with puts into the holes, and a range
/// of everything.
fn operations(capacity: u64) -> Vec<Operation> {
    let remove = |low, high, leaves, ticks| Operation::Remove { low, high, leaves, ticks };
    vec![
        remove(25, Some(capacity * 25), 64, false),
        Operation::Put(capacity * 15 + 5, 1 << 20),
        Operation::Put(capacity * 3, 2 << 20),
        Operation::Tick,
        remove(capacity * 12, Some(capacity * 45), 2, true),
        Operation::Put(capacity * 20, 3 << 20),
        Operation::Tick,
        remove(0, None, 64, false),
        Operation::Put(5, 4 << 20),
        Operation::Tick,
    ]
}

/// Runs the operations and notes the state after each part.
struct Run {
    fixture: TreeFixture,
    bug: RangeBug,
    states: Vec<State>,
    part: usize,
}

impl Run {
    /// Removes a part of a range, and returns where the rest begins.
    fn remove_part(&mut self, low: u64, high: Option<u64>, leaves: usize) -> Result<Option<u64>> {
        let high = high.map(|high| high + u64::from(self.bug == RangeBug::EndIncluded));
        let expected = self.states.last().expect("one at the beginning").0.clone();
        self.fixture.medium().mark(Mark::Begun(self.part));
        let (mut gone, (tree, root)) = (BTreeSet::new(), self.fixture.tree());
        let (next, label) = threads::apart(|| {
            let mut guard = self.fixture.clock().pin()?;
            let removed = &mut |_, old: holm_tree::Superseded| assert!(gone.insert(old.payload), "freed twice");
            let range = KeyRange { low: &low, high: high.as_ref() };
            let next = tree.remove_range(root, &mut guard, RangeRemoval { range, most_leaves: leaves, removed })?;
            Ok((next, guard.epoch()))
        })?;
        let upto = next.or(high);
        let left = expected.into_iter().filter(|(key, _)| *key < low || upto.is_some_and(|upto| *key >= upto));
        self.returned(left.collect(), label)?;
        Ok(next)
    }

    /// Notes that a part has returned, after which the tree has these contents.
    fn returned(&mut self, contents: Contents, label: Epoch) -> Result<()> {
        self.fixture.medium().mark(Mark::Returned(self.part));
        self.part += 1;
        let expected = if self.bug == RangeBug::EndIncluded { self.fixture.contents()?.0 } else { contents };
        assert_eq!(self.fixture.contents()?.0, expected, "without a crash");
        self.states.push((expected, label));
        Ok(())
    }

    fn tick(&self) -> Result<()> {
        threads::apart(|| self.fixture.end_epoch())
    }

    fn run(&mut self, operation: Operation) -> Result<()> {
        match operation {
            Operation::Tick => self.tick()?,
            Operation::Put(key, payload) => {
                self.fixture.medium().mark(Mark::Begun(self.part));
                let (tree, root) = self.fixture.tree();
                let label = threads::apart(|| {
                    let mut guard = self.fixture.clock().pin()?;
                    tree.put(root, &mut guard, key, payload)?;
                    Ok::<_, holm_medium::MediumError>(guard.epoch())
                })?;
                let contents = self.fixture.contents()?.0;
                self.returned(contents, label)?;
            }
            Operation::Remove { low, high, leaves, ticks } => {
                let middle = high.filter(|_| self.bug == RangeBug::UpperHalfFirst).map(|high| low + (high - low) / 2);
                let mut next = Some(low);
                if let Some(middle) = middle {
                    self.remove_part(middle, high, usize::MAX)?;
                }
                while let Some(from) = next {
                    next = self.remove_part(from, middle.or(high), leaves)?;
                    if ticks {
                        self.tick()?;
                    }
                    if self.bug == RangeBug::FirstPartOnly {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Records the operations. Returns also the state before them, and the one after each part.
fn record(subject: &'static Subject, bug: RangeBug) -> Result<(Snapshot, Vec<Entry>, Vec<State>)> {
    let keys = 1..=subject.capacity as u64 * 5;
    let past = keys.map(|key| Step::Put(key * 10, key)).chain([Step::Tick, Step::Tick]).collect();
    let script = Script { name: "ranges".into(), past, steps: vec![], blocks: 96 };
    let (fixture, history) = TreeFixture::create(subject, &script, advance, &BTreeSet::new())?;
    let base = Snapshot::of(fixture.image());
    let states = vec![(history.now().clone(), fixture.published())];
    let mut run = Run { fixture, bug, states, part: 0 };
    for operation in operations(subject.capacity as u64) {
        run.run(operation)?;
    }
    Ok((base, run.fixture.medium().take(), run.states))
}

/// Whether a crash between two states may leave this: one of them, or a removal up to some key.
fn explains(found: &Contents, before: &Contents, after: &Contents) -> bool {
    if found == before || found == after {
        return true;
    }
    let (found, after): (BTreeSet<_>, BTreeSet<_>) = (found.iter().collect(), after.iter().collect());
    let within = after.iter().all(|pair| found.contains(pair)) && found.iter().all(|pair| before.contains(pair));
    let first_left = before.iter().position(|pair| found.contains(&pair) && !after.contains(&pair));
    let is_upper_end = first_left.is_none_or(|at| before[at..].iter().all(|pair| found.contains(pair)));
    within && is_upper_end
}

/// Crashes removals of ranges at every event, as the model says. Returns a description of what was tested, or of what
/// is wrong.
///
/// # Errors
/// What should not have been found.
pub fn crash_ranges(subject: &'static Subject, crash: Persistency, bug: RangeBug) -> Verdict {
    let (base, entries, states) = record(subject, bug).map_err(|error| error.to_string())?;
    // What a caller that is right would have found.
    let states = if bug == RangeBug::None { states } else { record(subject, RangeBug::None).expect("sound").2 };
    let by_label = subject.capabilities.per_epoch && crash != Persistency::Visible;
    let images = each_crash(crash, base, &entries, |moment, choice| {
        let Moment { event, entry, returned, in_flight, .. } = *moment;
        let left = choice.snapshot();
        let said = |what: String| format!("{crash}: event {event}, {entry}: {what}");
        let mut fixture = TreeFixture::revive(subject, &left, crash, advance, &BTreeSet::new())
            .map_err(|error| said(error.to_string()))?;
        let found = inspect(&mut fixture, crash).map_err(said)?;
        let at = |index: usize| &states[index.min(states.len() - 1)].0;
        let (before, after) = if by_label {
            let kept = at(states.partition_point(|(_, label)| *label <= left.durable()) - 1);
            (kept, kept)
        } else {
            (at(returned), at(returned + usize::from(in_flight)))
        };
        let sound = explains(&found, before, after);
        let wrong = || said(format!("found {found:?}, expected from {before:?} to {after:?}"));
        if sound { Ok(()) } else { Err(wrong()) }
    })?;
    Ok(format!("{crash}: {images} images of {} events", entries.len()))
}
