//! A thread that leaves record space in pieces, compacts it while others write, and uses again what that has given back
//! to the file system.

use super::world::{World, lock};
use holm::{Database, Keyspace, Result};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The keyspace.
const HOLLOW: &str = "hollow";

/// Its keys. A round puts all of them, removes most, and compacts.
const KEYS: u64 = 70;

/// Of this many keys, one stays.
const STAYS: u64 = 10;

/// Changes of a round.
const CHANGES: u64 = KEYS + KEYS - KEYS / STAYS;

/// The second round uses what the first has given back.
const ROUNDS: u64 = 2;

/// Words of each value: the keys take four large pages.
const WORDS: usize = 12_000;

/// When a change began and ended. The change with number `n` is the `n`-th of them.
pub(super) type Change = (u64, Option<u64>);

/// What the keyspace contains: for each key, the number of the put that it has.
type Contents = BTreeMap<u64, u64>;

/// Applies a change to what there is. Returns its key, and whether it is a put.
fn apply(contents: &mut Contents, number: u64) -> (u64, bool) {
    let (round, at) = (number / CHANGES, number % CHANGES);
    if at < KEYS {
        contents.insert(at, number);
        return (at, true);
    }
    // The keys that stay are others in each round.
    let group = (at - KEYS) / (STAYS - 1);
    let within = (at - KEYS) % (STAYS - 1);
    let key = group * STAYS + within + u64::from(within >= (round + 3) % STAYS);
    contents.remove(&key);
    (key, false)
}

/// Changes the keyspace, and compacts the database.
pub(super) fn compaction(world: &World) -> Result<()> {
    let space = world.db.keyspace(HOLLOW)?;
    let mut contents = Contents::new();
    for number in 0..ROUNDS * CHANGES {
        lock(&world.notes.hollow).push((world.now(), None));
        match apply(&mut contents, number) {
            (key, true) => space.insert(key.to_be_bytes(), value(number))?,
            (key, false) => assert!(space.remove(key.to_be_bytes())?, "the key {key} was there"),
        }
        let ended = world.now();
        if let Some((_, end)) = lock(&world.notes.hollow).last_mut() {
            *end = Some(ended);
        }
        if (number + 1) % CHANGES == 0 {
            let report = world.db.compact().run(|_| ControlFlow::Continue(()))?;
            world.stage.count("compactions", 1);
            world.stage.count("records moved", report.records_moved);
            world.stage.count("leaves moved", report.leaves_moved);
            world.stage.count("large pages given back", report.bytes_released >> 21);
            assert_eq!(found(&space)?, contents, "after a compaction");
        }
    }
    Ok(())
}

/// Lays the records of all keyspaces in the order of their keys, while others change them.
pub(super) fn lays(world: &World) -> Result<()> {
    for _ in 0..world.plan.lays {
        let report = world.db.compact().in_key_order().run(|_| ControlFlow::Continue(()))?;
        world.stage.count("records laid in key order", report.records_moved);
    }
    Ok(())
}

/// The value of a put: its number again and again.
fn value(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(WORDS + number as usize % 7)
}

/// Checks that the keyspace is as some change has left it: not one before the last that ended before `floor`, and not
/// one that began after `now`.
///
/// # Panics
/// If it is not.
pub(super) fn compare(db: &Database, changes: &[Change], floor: u64, now: u64) -> Result<()> {
    let found = db.existing_keyspace(HOLLOW)?.map_or(Ok(Contents::new()), |space| found(&space))?;
    let (least, most) = present(changes, floor, now);
    let mut contents = Contents::new();
    for number in 0..least {
        apply(&mut contents, number);
    }
    let mut fits = contents == found;
    for number in least..most {
        apply(&mut contents, number);
        fits |= contents == found;
    }
    assert!(fits, "changes around a compaction are no prefix of {least} to {most}: {found:?}");
    Ok(())
}

/// How many changes must be present, those that ended before `floor`, and how many may be, those that began before
/// `now`.
pub(super) fn present(changes: &[Change], floor: u64, now: u64) -> (u64, u64) {
    let least = changes.iter().take_while(|(_, ended)| ended.is_some_and(|ended| ended < floor)).count() as u64;
    let most = changes.iter().take_while(|(began, _)| *began < now).count() as u64;
    (least, most)
}

/// The number of the put that each key has.
fn found(space: &Keyspace) -> Result<Contents> {
    let number = |bytes: &[u8]| u64::from_le_bytes(std::array::from_fn(|at| bytes.get(at).copied().unwrap_or(0xff)));
    let pairs = space.iter().map(|pair| {
        let (key, found) = pair?;
        assert!(*found == value(number(&found))[..], "a value of the keyspace that is compacted");
        Ok((u64::from_be_bytes(key[..].try_into().expect("eight bytes were written")), number(&found)))
    });
    pairs.collect()
}
