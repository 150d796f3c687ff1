//! A thread that empties leaves before those of other threads, so that a compaction moves these forwards while they
//! change.

use super::compaction::{Change, present};
use super::world::{World, lock};
use holm::{Batch, Database, Result};
use std::ops::ControlFlow;

/// The keyspace.
const SHOAL: &str = "shoal";

/// Its keys: leaves of them are more than a quarter of all.
const KEYS: u64 = 500;

/// Fills and clearances, in turn.
const ROUNDS: u64 = 4;

/// The value of all keys after a round; `None` if there are none.
fn value(round: u64) -> Option<[u8; 8]> {
    round.is_multiple_of(2).then(|| round.to_le_bytes())
}

/// Fills the keyspace, clears it once others have leaves behind it, and compacts the database.
pub(super) fn moving_leaves(world: &World) -> Result<()> {
    let space = world.db.keyspace(SHOAL)?;
    for round in 0..ROUNDS {
        lock(&world.notes.shoal).push((world.now(), None));
        let change = |batch: Batch, key: u64| match value(round) {
            Some(value) => batch.insert(&space, key.to_be_bytes(), value),
            None => batch.remove(&space, key.to_be_bytes()),
        };
        (0..KEYS).fold(world.db.batch(), change).commit()?;
        let ended = world.now();
        if let Some((_, end)) = lock(&world.notes.shoal).last_mut() {
            *end = Some(ended);
        }
        let report = world.db.compact().run(|_| ControlFlow::Continue(()))?;
        world.stage.count("leaves moved", report.leaves_moved);
        let pairs = if value(round).is_some() { KEYS } else { 0 };
        assert_eq!(space.len()?, pairs, "after a compaction");
    }
    Ok(())
}

/// Checks that the keyspace is as some round has left it: not one before the last that ended before `floor`, and not
/// one that began after `now`.
///
/// # Panics
/// If it is not.
pub(super) fn compare(db: &Database, rounds: &[Change], floor: u64, now: u64) -> Result<()> {
    let found: Vec<_> = match db.existing_keyspace(SHOAL)? {
        Some(space) => space.iter().collect::<Result<_>>()?,
        None => Vec::new(),
    };
    let (least, most) = present(rounds, floor, now);
    let is_left_by = |done: u64| match done.checked_sub(1).and_then(value) {
        Some(value) => {
            let keys = found.iter().map(|(key, _)| key[..].try_into().map_or(KEYS, u64::from_be_bytes));
            keys.eq(0..KEYS) && found.iter().all(|(_, found)| **found == value[..])
        }
        None => found.is_empty(),
    };
    assert!((least..=most).any(is_left_by), "{} pairs are those of no round from {least} to {most}", found.len());
    Ok(())
}
