//! Snapshots that begin between any two stores; and readers and writers that treat them wrongly, each caught.

use holm_proof::script::named;
use holm_proof::subjects::{buffered, holm};
use holm_proof::{Subject, TurnBug, Turns, turn_at_each_store};

fn turns(subject: &'static Subject) -> Vec<Turns> {
    let ranges = Turns::of_ranges(subject.capacity);
    named(subject.capacity).into_iter().map(Turns::from).chain([ranges]).collect()
}

#[test]
fn a_snapshot_is_a_state_wherever_it_begins() {
    for subject in [&buffered, &holm] {
        for turns in turns(subject) {
            match turn_at_each_store(subject, turns, TurnBug::None) {
                Ok(said) => println!("{}: {said}", subject.name),
                Err(wrong) => panic!("{}: {wrong}", subject.name),
            }
        }
    }
}

#[test]
fn a_caller_that_treats_snapshots_wrongly_is_caught() {
    let reasons = [
        (TurnBug::ReadsTheLatest, "the snapshot has changed"),
        (TurnBug::LaterGeneration, "the snapshot has changed"),
        (TurnBug::FreesAtOnce, "is freed while a snapshot has it"),
    ];
    for (bug, reason) in reasons {
        let caught = turn_at_each_store(&buffered, Turns::of_ranges(buffered.capacity), bug);
        assert!(caught.as_ref().is_err_and(|said| said.contains(reason)), "{bug:?}: {caught:?}");
    }
}
