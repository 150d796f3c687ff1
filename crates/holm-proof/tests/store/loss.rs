//! What a loss of power takes if no caller has asked for a sync: nothing from before the epoch that precedes the active
//! one. An epoch lasts one interval, so this is the guarantee of two intervals, tested without a clock.

use crate::history::{Contents, Mode, Session, contents, random_step};
use holm::Durability;
use holm_proof::disk::SimDisk;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::time::Duration;

/// The number of epochs of a session.
const EPOCHS: u64 = 12;

/// Works until this many epochs have passed. Returns the steps that must be present if power fails now, after comparing
/// them with what is then present.
fn cut(disk: &SimDisk, mode: Mode, random: &mut Pcg64Mcg) -> usize {
    let mut session = Session::begin(mode.open(disk).expect("a sound disk"), mode, Contents::new()).expect("a new one");
    let active = |session: &Session| session.db.stats().epochs.active;
    let last = active(&session) + EPOCHS + random.random_range(0..4);
    // For each step, its epoch or a later one: its label was assigned before this read.
    let (mut labels, mut serial) = (Vec::new(), 0);
    while active(&session) < last {
        session.step(random_step(random, &mut serial, false));
        labels.push(active(&session));
    }
    // Power fails after this read, in this epoch or a later one.
    let now = active(&session);
    let left = if random.random() { disk.crash_to_durable() } else { disk.crash_seeded(random.random()) };
    assert!(session.failed.is_none(), "{:?}", session.failed);
    session.floor = labels.partition_point(|label| label + 2 <= now);
    let history = session.history();
    let context = format!("{mode:?}, cut in epoch {now} or later");
    history.expect(&contents(&mode.open(&left).expect("a sound disk"), &context), &context);
    session.floor
}

#[test]
fn power_takes_two_epochs_at_most() {
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let durability = Durability::Buffered { interval: Duration::from_millis(1) };
    for mode in Mode::over_designs(&[false, true].map(|private| Mode::new(private, durability))) {
        let kept: usize = (0..12).map(|_| cut(&SimDisk::new(), mode, &mut random)).sum();
        assert!(kept > 100, "too little was promised to be worth a test: {kept} steps");
    }
}
