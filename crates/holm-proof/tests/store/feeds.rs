//! A change feed is never ahead of what is durable: power fails at any call, and what the feed has given is then a
//! prefix of what recovery finds.

use crate::history::{Change as Step, Contents, Mode, Session, apply, contents, random_step};
use holm::{Change, Changes, Durability, Feed, Snapshot};
use holm_proof::disk::{Fault, Kind, SimDisk};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::time::Duration;

const NAMES: [&str; 2] = ["north", "south"];

/// The number of power cuts in each mode.
const CUTS: u64 = 14;

fn number(name: &str) -> Option<usize> {
    NAMES.iter().position(|other| *other == name)
}

fn of_snapshot(snapshot: &Snapshot) -> Contents {
    let mut copy = Contents::new();
    for (number, name) in NAMES.iter().enumerate() {
        for pair in snapshot.keyspace(name).into_iter().flat_map(|space| space.iter()) {
            let (key, value) = pair.expect("open");
            copy.insert((number, key.to_vec()), value.to_vec());
        }
    }
    copy
}

fn follow(copy: &mut Contents, changes: &Changes) {
    for change in changes.iter() {
        match change {
            Change::Remove { keyspace, key } => {
                copy.remove(&(number(keyspace).expect("one of two"), key.to_vec()));
            }
            Change::Put { keyspace, key, value, .. } => {
                copy.insert((number(keyspace).expect("one of two"), key.to_vec()), value.to_vec());
            }
            _ => {}
        }
    }
}

/// The least and the greatest number of steps after which there are these contents.
fn prefixes(before: &Contents, steps: &[Vec<Step>], found: &Contents) -> Option<(usize, usize)> {
    let mut contents = before.clone();
    let mut fitting = if contents == *found { Some((0, 0)) } else { None };
    for (index, step) in steps.iter().enumerate() {
        apply(&mut contents, step);
        if contents == *found {
            fitting = Some((fitting.map_or(index + 1, |fitting| fitting.0), index + 1));
        }
    }
    fitting
}

/// Takes all that a feed has, up to the error that ends it.
fn take_all(feed: &mut Feed, copy: &mut Contents, epochs: &mut u64) {
    while let Ok(Some(changes)) = feed.next(Duration::ZERO) {
        follow(copy, &changes);
        *epochs += 1;
    }
}

/// A session until power fails at a random call; returns how many epochs the feed gave.
fn cut(mode: Mode, seed: u64) -> u64 {
    let (disk, mut random, mut serial, mut epochs) = (SimDisk::new(), Pcg64Mcg::seed_from_u64(seed), 0, 0);
    let db = mode.open(&disk).expect("a sound disk");
    let mut session = Session::begin(db, mode, Contents::new()).expect("a new one");
    (0..random.random_range(0..80)).for_each(|_| session.step(random_step(&mut random, &mut serial, false)));
    let (snapshot, mut feed) = session.db.snapshot_and_feed(64 << 20).expect("a sound disk");
    let mut copy = of_snapshot(&snapshot);
    drop(snapshot);
    let kind = [Kind::Any, Kind::Write, Kind::Sync][random.random_range(0..3)];
    disk.fail(kind, disk.calls().of(kind) + random.random_range(0..60), Fault::PowerCut);
    let thin = random.random_ratio(1, 3);
    for _ in 0..random.random_range(1..250) {
        session.step(random_step(&mut random, &mut serial, thin));
        if random.random_ratio(1, 12) {
            session.sync();
        }
        if random.random_ratio(1, 6) {
            take_all(&mut feed, &mut copy, &mut epochs);
        }
    }
    take_all(&mut feed, &mut copy, &mut epochs);
    let left = disk.crash_seeded(random.random());
    let context = format!("{mode:?}, seed {seed}");
    let history = session.history();
    drop(session);
    let found = contents(&mode.open(&left).expect("a sound disk"), &context);
    let recovered =
        prefixes(&Contents::new(), &history.steps, &found).unwrap_or_else(|| panic!("{context}: no prefix"));
    let given = prefixes(&Contents::new(), &history.steps, &copy)
        .unwrap_or_else(|| panic!("{context}: what the feed gave is the state after no step"));
    assert!(given.0 <= recovered.1, "{context}: the feed gave {given:?} steps, and {recovered:?} are left");
    epochs
}

/// What recovery finds may have more, and never less.
#[test]
fn what_a_feed_gave_survives_every_power_cut() {
    let buffered = Durability::Buffered { interval: Duration::from_millis(1) };
    let durabilities = [Durability::Strict, buffered, Durability::OnSync];
    for design in ["buffered", "holm"] {
        for private in [false, true] {
            for durability in durabilities {
                let mode = Mode { design, ..Mode::new(private, durability) };
                let epochs: u64 = (0..CUTS).map(|seed| cut(mode, seed)).sum();
                assert!(epochs > CUTS / 2, "{mode:?}: the feeds gave {epochs} epochs: too few to be worth a test");
            }
        }
    }
}
