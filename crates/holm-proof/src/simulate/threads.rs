//! The threads over lists and over single keys, those that sync, and those that copy.

use super::world::{Backup, World, lock};
use crate::cycles::{Lists, Outcome, Step, Transaction};
use crate::history::{Action, Call};
use crate::lists::Worker;
use holm::{Error, Keyspace, Result};
use holm_medium::sync::{sleep, yield_now};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// The keyspace of the single keys, and their number.
pub(super) const REGISTERS: &str = "registers";
const KEYS: u64 = 4;

/// A whole backup, and the increments after it.
const MOST_BACKUPS: usize = 3;

/// Calls of each key are fewer than the checker's limit.
const MOST_CALLS: usize = 100;

/// Runs transactions over the lists.
pub(super) fn lists(world: &World, thread: u64) {
    let mut worker = Worker::new(&world.board, thread, world.plan.seed);
    // The transaction that was shown before it may take effect, until its end is shown.
    let mut open = None;
    for _ in 0..world.plan.operations {
        let mut observer = |shown: &Transaction| {
            open = (shown.outcome == Outcome::Unknown).then(|| shown.clone());
        };
        if let Err(error) = worker.step(&mut observer) {
            world.refused(&error);
            break;
        }
        open = None;
    }
    // Before the lock: the worker may let go of a snapshot, which others may interrupt.
    let history = worker.into_history();
    lock(&world.notes.transactions).extend(history.into_iter().chain(open));
}

/// Reads, writes and removes single keys that other threads use, too.
pub(super) fn registers(world: &World, thread: u64) -> Result<()> {
    let space = world.db.keyspace(REGISTERS)?;
    let mut random = Pcg64Mcg::seed_from_u64(world.plan.seed << 8 | 0x80 | thread);
    for number in 0..world.plan.operations {
        if lock(&world.notes.calls).len() >= MOST_CALLS {
            break;
        }
        let key = random.random_range(0..KEYS);
        // Every other thread mostly reads.
        let action = match random.random_range(0..if thread % 2 == 1 { 24 } else { 8 }) {
            0..3 | 8.. => Action::Get,
            3..5 => Action::Put(thread << 32 | (number + 1)),
            5 => Action::Add(1 << 48),
            6 => Action::Swap {
                expected: lock(&world.notes.calls).iter().rev().find(|call| call.key == key).and_then(|call| call.saw),
                new: random.random_ratio(3, 4).then_some(1 << 40 | thread << 32 | number),
            },
            _ => Action::Remove,
        };
        let began = world.now();
        let place = {
            let mut calls = lock(&world.notes.calls);
            calls.push(Call { key, action, saw: None, began, ended: None });
            calls.len() - 1
        };
        match call(&space, key, action, random.random_ratio(3, 4)) {
            Ok(saw) => {
                let ended = Some(world.now());
                let mut calls = lock(&world.notes.calls);
                (calls[place].saw, calls[place].ended) = (saw, ended);
            }
            Err(error) => world.refused(&error),
        }
    }
    Ok(())
}

/// Makes a call, in one of the ways that there are. Returns what was there before.
fn call(space: &Keyspace, key: u64, action: Action, way: bool) -> Result<Option<u64>> {
    let name = key.to_be_bytes();
    let found = match action {
        Action::Get if way => space.get(name)?,
        Action::Get => space.get_many(&[name, u64::MAX.to_be_bytes()])?.swap_remove(0),
        Action::Add(by) => {
            // The sum alone is known. No put value is zero.
            let before = space.increment(name, by as i64)? - by as i64;
            return Ok((before != 0).then_some(before as u64));
        }
        Action::Swap { expected, new } => {
            let [expected, new] = [expected, new].map(|value| value.map(u64::to_le_bytes));
            let expected = expected.as_ref().map(|value| &value[..]);
            match space.compare_and_swap(name, expected, new.as_ref().map(|value| &value[..]))? {
                Ok(()) => return Ok(expected.map(number)),
                Err(refused) => refused.current,
            }
        }
        Action::Put(value) if way => space.swap(name, value.to_le_bytes())?,
        Action::Put(value) => space.fetch_update(name, |_| Some(value.to_le_bytes().to_vec()))?,
        Action::Remove if way => space.take(name)?,
        Action::Remove => space.fetch_update(name, |_| None)?,
    };
    Ok(found.map(|value| number(&value)))
}

/// The values of the single keys.
pub(super) fn found_registers(space: &Keyspace) -> Result<Vec<(u64, u64)>> {
    let pairs = space.iter().map(|pair| pair.map(|(key, value)| (u64::from_be_bytes(fixed(&key)), number(&value))));
    pairs.collect()
}

fn fixed(bytes: &[u8]) -> [u8; 8] {
    bytes.try_into().expect("eight bytes were written")
}

fn number(value: &[u8]) -> u64 {
    u64::from_le_bytes(fixed(value))
}

/// Syncs now and then, while others write.
pub(super) fn syncs(world: &World) {
    let mut random = Pcg64Mcg::seed_from_u64(world.plan.seed ^ 0x51);
    while world.writers.load(SeqCst) > 0 {
        match world.plan.sync_ns {
            0 => (0..random.random_range(0..200)).for_each(|_| yield_now()),
            apart => sleep(Duration::from_nanos(random.random_range(0..2 * apart))),
        }
        if let Err(error) = world.sync() {
            return world.refused(&error);
        }
        if random.random_ratio(1, 16) {
            let stats = world.db.stats();
            assert!(stats.epochs.durable < stats.epochs.active, "{:?}", stats.epochs);
        }
    }
}

/// Copies a snapshot, follows the feed, and takes backups. At its end, the copy is the database.
pub(super) fn copies(world: &World) -> Result<()> {
    let (snapshot, mut feed) = world.db.snapshot_and_feed(8 << 20)?;
    let mut copy = BTreeMap::new();
    if let Some(space) = snapshot.keyspace(REGISTERS) {
        for pair in space.iter() {
            let (key, value) = pair?;
            copy.insert(key.to_vec(), value.to_vec());
        }
    }
    drop(snapshot);
    while world.writers.load(SeqCst) > 0 {
        if lock(&world.notes.backups).len() < MOST_BACKUPS {
            let (before, mut stream) = (world.now(), Vec::new());
            let base = lock(&world.notes.backups).last().map_or(0, |last| last.epoch);
            let epoch = world.db.backup_since(base, &mut stream)?.epoch;
            lock(&world.notes.backups).push(Backup { before, epoch, stream });
        }
        follow(&mut feed, &mut copy, Duration::from_millis(5))?;
    }
    world.sync()?;
    follow(&mut feed, &mut copy, Duration::ZERO)?;
    let space = world.db.keyspace(REGISTERS)?;
    let there: Result<BTreeMap<_, _>> =
        space.iter().map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect();
    assert_eq!(copy, there?, "the feed's copy is the database");
    world.stage.count("copies that followed a feed", 1);
    Ok(())
}

fn follow(feed: &mut holm::Feed, copy: &mut BTreeMap<Vec<u8>, Vec<u8>>, timeout: Duration) -> Result<()> {
    while let Some(changes) = feed.next(timeout)? {
        changes.removed().filter(|(name, _)| *name == REGISTERS).for_each(|(_, key)| drop(copy.remove(key)));
        let put = changes.put().filter(|(name, ..)| *name == REGISTERS);
        put.for_each(|(_, key, value)| drop(copy.insert(key.to_vec(), value.to_vec())));
    }
    Ok(())
}

/// A transaction that reads all lists, at the end.
pub(super) fn last_look(world: &World) -> std::result::Result<Lists, Error> {
    let began = world.now();
    let found = world.board.lists()?;
    let steps = vec![Step::Scan { keys: 0..u64::MAX, found: found.clone() }];
    let outcome = Outcome::Committed(world.now());
    lock(&world.notes.transactions).push(Transaction { began, outcome, label: None, steps });
    Ok(found)
}
