//! A thread that puts large values one after the other: the files grow, and the log is full again and again.

use super::world::{World, lock};
use holm::{Database, Keyspace, Result};
use std::collections::BTreeMap;

/// The keyspace.
pub(super) const BULK: &str = "bulk";

/// Its keys, which are put in turn, and those beside a compaction: their records are moved while they are replaced.
const KEYS: u64 = 120;
const FEW_KEYS: u64 = 8;

/// The puts of a run.
#[derive(Default)]
pub(super) struct Puts {
    /// The number of keys.
    keys: u64,
    /// When each put began and ended. The put with number `n` is the `n`-th of them.
    puts: Vec<(u64, Option<u64>)>,
}

/// Puts the values.
pub(super) fn bulk(world: &World) -> Result<()> {
    let space = world.db.keyspace(BULK)?;
    let keys = if world.plan.compacts { FEW_KEYS } else { KEYS };
    lock(&world.notes.bulk).keys = keys;
    for number in 0..world.plan.bulk {
        lock(&world.notes.bulk).puts.push((world.now(), None));
        space.insert((number % keys).to_be_bytes(), value(number))?;
        let ended = world.now();
        world.stage.count("large values", 1);
        if let Some((_, end)) = lock(&world.notes.bulk).puts.last_mut() {
            *end = Some(ended);
        }
    }
    Ok(())
}

/// The value of a put: its number again and again.
fn value(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(2_000 + (number as usize * 37) % 3_000)
}

/// Checks that the keyspace is as some put has left it: not one before the last that ended before `floor`, and not one
/// that began after `now`.
///
/// # Panics
/// If it is not.
pub(super) fn compare(db: &Database, Puts { keys, puts }: &Puts, floor: u64, now: u64) -> Result<()> {
    let Some(space) = db.existing_keyspace(BULK)? else {
        assert!(puts.iter().all(|(_, ended)| ended.is_none_or(|ended| ended >= floor)), "the keyspace is there");
        return Ok(());
    };
    let found = found(&space)?;
    let count = found.values().max().map_or(0, |last| last + 1);
    let expected: BTreeMap<u64, u64> =
        (count.saturating_sub(*keys)..count).map(|number| (number % keys, number)).collect();
    assert_eq!(found, expected, "the puts of large values are no prefix");
    let least = puts.iter().take_while(|(_, ended)| ended.is_some_and(|ended| ended < floor)).count() as u64;
    let most = puts.iter().take_while(|(began, _)| *began < now).count() as u64;
    assert!((least..=most).contains(&count), "{count} puts of large values are left, expected {least} to {most}");
    Ok(())
}

/// The number of the put that each key has.
fn found(space: &Keyspace) -> Result<BTreeMap<u64, u64>> {
    let number = |bytes: &[u8]| u64::from_le_bytes(std::array::from_fn(|at| bytes.get(at).copied().unwrap_or(0xff)));
    let pairs = space.iter().map(|pair| {
        let (key, found) = pair?;
        assert_eq!(*found, value(number(&found))[..], "a large value");
        Ok((u64::from_be_bytes(key[..].try_into().expect("eight bytes were written")), number(&found)))
    });
    pairs.collect()
}
