//! Histories of transactions over lists: each has an order, and what a crash between any two steps leaves is closed
//! under the dependencies between them, with everything that was durable. `cargo xtask histories` runs many.

use super::explore::{caught_for_any, explore};
use super::lists::{self, Bug, Run};
use crate::crashes::{Choice, Crashes, Persistency};
use crate::cycles::{Outcome, Step, Transaction, check, check_left};
use crate::fixture::{TreeFixture, advance};
use crate::subject::Subject;
use crate::subjects::{buffered, holm};
use crate::trace::{Event, Mark};
use rand::Rng;
use rand_pcg::Pcg64;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The number of schedules of each kind for each design, by default.
const FEW: usize = 150;

/// The number of schedules within which each bug is caught.
const ENOUGH: usize = 4_000;

/// The number of random images of each crash, beside the oldest and the newest one.
const DRAWN: usize = 1;

/// The amount of what was checked.
#[derive(Default, Debug)]
struct Tally {
    committed: AtomicUsize,
    aborted: AtomicUsize,
    images: AtomicUsize,
    /// Appends that images had and had not.
    kept: AtomicUsize,
    lost: AtomicUsize,
    /// Commits that an open has completed.
    redone: AtomicUsize,
}

fn history(subject: &'static Subject, bug: Bug, tally: &Tally) {
    let (run, mut random) = lists::run(subject, bug);
    let committed = run.history.iter().filter(|one| matches!(one.outcome, Outcome::Committed(_))).count();
    tally.committed.fetch_add(committed, Relaxed);
    tally.aborted.fetch_add(run.history.len() - committed, Relaxed);
    if let Err(wrong) = check(&run.history) {
        panic!("{}: no order: {} in {:#?}", subject.name, wrong[0], run.history);
    }
    for persistency in
        [if random.random_bool(0.5) { Persistency::Line } else { Persistency::Word }, Persistency::Visible]
    {
        crash(subject, &run, persistency, &mut random, tally);
    }
}

/// Crashes a run at one event.
fn crash(subject: &'static Subject, run: &Run, persistency: Persistency, random: &mut Pcg64, tally: &Tally) {
    let at = random.random_range(0..=run.entries.len());
    let mut crashes = Crashes::new(persistency, run.base.clone());
    // The last instant before the crash, and the one before which all was durable.
    let (mut now, mut durable) = (0, 0);
    for (event, entry) in run.entries[..at].iter().enumerate() {
        crashes.pass(event, entry);
        match entry.event {
            Event::Mark(Mark::Begun(instant)) => now = instant as u64,
            Event::Mark(Mark::Published(ended)) => {
                let begun = run.ends.iter().filter(|(epoch, _)| *epoch <= ended).map(|(_, before)| *before);
                durable = begun.max().unwrap_or(0);
            }
            _ => {}
        }
    }
    // A call whose end is marked as the last instant has returned.
    let (history, floor) = match persistency {
        Persistency::Visible => (known_at(run, now), now + 1),
        _ => (run.history.clone(), durable),
    };
    let found = crashes.window().draw(DRAWN, random, |choice| {
        tally.images.fetch_add(1, Relaxed);
        let pairs = open(subject, run, persistency, choice, tally)?;
        let left = run.lists(&pairs);
        let appends: usize =
            run.history.iter().filter(|one| one.label.is_some()).map(|one| one.appends().count()).sum();
        let kept: usize = left.values().map(Vec::len).sum();
        tally.kept.fetch_add(kept, Relaxed);
        tally.lost.fetch_add(appends.saturating_sub(kept), Relaxed);
        check_left(&history, &left, floor).map_err(|loss| format!("{loss}; left: {left:?}"))
    });
    if let Err(wrong) = found {
        let at = run.entries.get(at).map_or("the end".into(), |entry| entry.to_string());
        panic!("{}: {persistency}: a crash at {at}: {wrong} in {:#?}", subject.name, run.history);
    }
}

/// What is known when the process dies at an instant. A transaction in progress has given no answer to any caller. If
/// none of its writes is left, it has not been, even if others have overwritten what it read.
fn known_at(run: &Run, now: u64) -> Vec<Transaction> {
    let begun = run.history.iter().zip(&run.known).filter(|(one, _)| one.began <= now);
    let known = |(one, known): (&Transaction, &u64)| {
        if *known <= now {
            return one.clone();
        }
        let steps = one.steps.iter().filter(|step| matches!(step, Step::Append { .. })).cloned().collect();
        Transaction { outcome: Outcome::Unknown, steps, ..one.clone() }
    };
    begun.map(known).collect()
}

/// Opens what a crash has left, completes the commits in which the process died, and returns the pairs.
fn open(
    subject: &'static Subject,
    run: &Run,
    persistency: Persistency,
    choice: &Choice<'_>,
    tally: &Tally,
) -> Result<Vec<(u64, u64)>, String> {
    let said = |error: holm_medium::MediumError| error.to_string();
    let fixture = TreeFixture::revive(subject, &choice.snapshot(), persistency, advance, &BTreeSet::new());
    let fixture = fixture.map_err(said)?;
    let writer = fixture.shared_writer();
    let intents = &writer.storage().header().map_err(said)?.intents;
    let numbers = intents.iter().map(|word| word.read()).filter(|_| persistency == Persistency::Visible);
    for number in numbers.filter(|number| *number > 0).collect::<Vec<_>>() {
        tally.redone.fetch_add(1, Relaxed);
        let (tree, root) = fixture.tree();
        for (key, payload) in &run.commits[number as usize - 1] {
            tree.put(root, &mut fixture.clock().pin().map_err(said)?, *key, *payload).map_err(said)?;
        }
    }
    Ok(fixture.contents().map_err(said)?.0)
}

fn histories(subject: &'static Subject) {
    let tally = Arc::new(Tally::default());
    let within = tally.clone();
    explore(FEW, move || history(subject, Bug::None, &within));
    // For a long exploration by hand.
    let _ = writeln!(io::stdout(), "{}: {tally:?}", subject.name);
    let counts = [&tally.committed, &tally.aborted, &tally.images, &tally.kept, &tally.lost];
    assert!(counts.iter().all(|count| count.load(Relaxed) > 0), "nothing was at stake: {tally:?}");
}

#[test]
fn histories_have_an_order_and_crashes_are_closed() {
    histories(&buffered);
}

#[test]
fn histories_of_the_mirrored_design_have_an_order_and_crashes_are_closed() {
    histories(&holm);
}

fn is_caught(bug: Bug, reasons: &[&str]) {
    caught_for_any(ENOUGH, reasons, move || history(&buffered, bug, &Tally::default()));
}

#[test]
fn a_commit_that_forgets_what_it_read_is_caught() {
    for bug in [Bug::ReadsForgotten, Bug::LastReadOnly, Bug::LabelBehindReads] {
        is_caught(bug, &["no order"]);
    }
}

#[test]
fn reads_of_different_instants_are_caught() {
    is_caught(Bug::ReadsApart, &["no order"]);
}

#[test]
fn latches_released_before_the_last_store_are_caught() {
    is_caught(Bug::LeafByLeaf, &["no order", "is left in part"]);
}

#[test]
fn a_label_that_is_not_validated_is_caught() {
    is_caught(Bug::LabelKept, &["the first has label", "not closed", "had to survive", "no order"]);
}

#[test]
fn a_commit_without_an_intent_is_caught() {
    is_caught(Bug::NoIntent, &["is left in part", "not closed"]);
}
