//! A thread with a keyspace of its own: puts of one key or many, removals, batches and range removals, of which each
//! state is known. And one that drops its keyspace, and one whose keys expire.

use super::plan::Plan;
use super::world::{World, lock};
use holm::{Batch, Database, Keyspace, KeyspaceOptions, Result};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

/// The keyspaces of these threads.
pub(super) const SOLO: &str = "solo";
pub(super) const DOOMED: &str = "doomed";
pub(super) const TIDES: &str = "tides";

/// Keys of the thread's own keyspace.
const KEYS: u64 = 400;

/// The longest value, in bytes, and the longest large one.
const LONGEST: usize = 3_000;
const LONGEST_LARGE: usize = 60_000;

/// Lengths of values of which seven to thirty take the room of a leaf with records.
const ROOM_LENGTHS: [usize; 6] = [100, 200, 232, 300, 440, 490];

/// What the keyspace contains.
pub(super) type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

/// Key, and value or removal.
type Change = (Vec<u8>, Option<Vec<u8>>);

/// A call of the thread.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) began: u64,
    pub(super) ended: Option<u64>,
    changes: Vec<Change>,
    /// Whether the changes are seen one after the other, and not at once.
    one_by_one: bool,
}

/// Puts every other key of the thread's own keyspace, before there are instants: room for others is between them.
pub(super) fn load(plan: &Plan, db: &Database) -> Result<Step> {
    let space = db.keyspace(SOLO)?;
    let changes: Vec<Change> = (0..plan.loaded).map(|key| (name(2 * key), Some(vec![key as u8; 8]))).collect();
    changes.iter().fold(db.batch(), |batch, change| change_in(batch, &space, change)).commit()?;
    Ok(Step { began: 0, ended: Some(0), changes, one_by_one: false })
}

fn change_in(batch: Batch, space: &Keyspace, (key, value): &Change) -> Batch {
    match value {
        Some(value) => batch.insert(space, key, value),
        None => batch.remove(space, key),
    }
}

/// Changes the thread's own keyspace.
pub(super) fn solo(world: &World) -> Result<()> {
    let space = world.db.keyspace(SOLO)?;
    let mut random = Pcg64Mcg::seed_from_u64(world.plan.seed ^ 0x5010);
    let mut model = Contents::new();
    lock(&world.notes.solo).iter().flat_map(|step| &step.changes).for_each(|change| apply(&mut model, change));
    // Designs without rooms draw as they would without the question.
    let fills_rooms = world.plan.fills_rooms && world.plan.design.has_rooms();
    for _ in 0..world.plan.operations {
        let (key, kind) = (random.random_range(0..KEYS), random.random_range(0..8));
        let value = |random: &mut Pcg64Mcg| {
            let (longest, often) = if world.plan.heavy { (LONGEST_LARGE, 4) } else { (LONGEST, 1) };
            let len = if fills_rooms && random.random_ratio(9, 10) {
                ROOM_LENGTHS[random.random_range(0..ROOM_LENGTHS.len())]
            } else if random.random_ratio(often, 8) {
                random.random_range(0..longest)
            } else {
                8
            };
            Some(vec![random.random(); len])
        };
        let changes: Vec<Change> = match kind {
            0..3 => vec![(name(key), value(&mut random))],
            3 => vec![(name(key), None)],
            4..7 => (0..random.random_range(1..if world.plan.heavy { 16 } else { 40 }))
                .map(|step| (name(key + 3 * step), value(&mut random)))
                .collect(),
            _ => model.range(name(key)..name(key + 60)).map(|(key, _)| (key.clone(), None)).collect(),
        };
        let one_by_one = kind >= 6;
        let began = world.now();
        lock(&world.notes.solo).push(Step { began, ended: None, changes: changes.clone(), one_by_one });
        let done = match (&changes[..], kind) {
            ([(key, Some(value))], 0..3) => space.insert(key, value),
            (_, 3) => space.remove(name(key)).map(drop),
            (all, 6) => space.insert_many(all.iter().filter_map(|(key, value)| Some((key, value.as_ref()?)))).map(drop),
            (all, 4..6) => all.iter().fold(world.db.batch(), |batch, change| change_in(batch, &space, change)).commit(),
            _ => space.remove_range(name(key)..name(key + 60)).map(drop),
        };
        if let Err(error) = done {
            // Whether it has taken effect is not known, and so no later state is.
            world.refused(&error);
            return Ok(());
        }
        let ended = world.now();
        if let Some(step) = lock(&world.notes.solo).last_mut() {
            step.ended = Some(ended);
        }
        changes.iter().for_each(|change| apply(&mut model, change));
        assert!(is_same(&contents(&space)?, &model), "the thread's own keyspace is as the thread has left it");
    }
    Ok(())
}

fn name(key: u64) -> Vec<u8> {
    key.to_be_bytes().to_vec()
}

fn apply(model: &mut Contents, (key, value): &Change) {
    match value {
        Some(value) => drop(model.insert(key.clone(), value.clone())),
        None => drop(model.remove(key)),
    }
}

fn is_same(found: &Contents, expected: &Contents) -> bool {
    found == expected
}

/// The pairs of a keyspace.
pub(super) fn contents(space: &Keyspace) -> Result<Contents> {
    space.iter().map(|pair| pair.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect()
}

/// Whether a keyspace is in one of the states that it had between two instants: all that had ended before `floor` has
/// taken effect, and nothing that began after `now`.
pub(super) fn is_possible(steps: &[Step], found: &Contents, floor: u64, now: u64) -> bool {
    let mut model = Contents::new();
    // What was loaded is there before the first instant.
    let must = |step: &Step| step.ended.is_some_and(|ended| ended < floor.max(1));
    let first = steps.iter().take_while(|step| must(step)).count();
    steps[..first].iter().flat_map(|step| &step.changes).for_each(|change| apply(&mut model, change));
    if model == *found {
        return true;
    }
    for step in steps[first..].iter().take_while(|step| step.began < now) {
        for change in &step.changes {
            apply(&mut model, change);
            if step.one_by_one && model == *found {
                return true;
            }
        }
        if model == *found {
            return true;
        }
    }
    false
}

/// Drops a keyspace and creates it again: nothing of the one before is in it.
pub(super) fn drops(world: &World) -> Result<()> {
    let mut random = Pcg64Mcg::seed_from_u64(world.plan.seed ^ 0xD0);
    for generation in 0..world.plan.operations / 4 + 1 {
        lock(&world.notes.generations).push((generation, world.now(), None));
        let space = world.db.keyspace(DOOMED)?;
        assert_eq!(space.len()?, 0, "a new keyspace is empty");
        for key in 0..random.random_range(0..150_u64) {
            space.insert(key.to_be_bytes(), generation.to_le_bytes())?;
        }
        let found = contents(&space)?;
        assert!(found.values().all(|value| **value == generation.to_le_bytes()), "values of one generation");
        world.db.drop_keyspace(DOOMED)?;
        let dropped = world.now();
        if let Some((.., ended)) = lock(&world.notes.generations).last_mut() {
            *ended = Some(dropped);
        }
        world.stage.count("drops of keyspaces", 1);
    }
    Ok(())
}

/// Writes keys that expire, and reads them while the clock on the wall jumps.
pub(super) fn expires(world: &World) -> Result<()> {
    let tides = world.db.keyspace_with(TIDES, &KeyspaceOptions::new().expires(true))?;
    let mut random = Pcg64Mcg::seed_from_u64(world.plan.seed ^ 0xE1);
    let mut deadlines: BTreeMap<u64, i64> = BTreeMap::new();
    for _ in 0..world.plan.operations {
        let key = random.random_range(0..20_u64);
        if random.random_ratio(1, 4) {
            // Far enough that deadlines pass; and back, when what has expired must not come back.
            world.stage.jump(random.random_range(-9_000..12_000));
        }
        if random.random_ratio(1, 2) {
            let deadline = world.stage.highest_wall().max(world.stage.wall_millis()) + random.random_range(0..8_000);
            tides.insert_until(key.to_be_bytes(), b"high", UNIX_EPOCH + Duration::from_millis(deadline as u64))?;
            deadlines.insert(key, deadline);
            continue;
        }
        let before = world.stage.highest_wall();
        let found = tides.get(key.to_be_bytes())?.is_some();
        let after = world.stage.highest_wall();
        // Deadlines are kept in coarser units than the clock: a second on either side may be either.
        match deadlines.get(&key) {
            Some(deadline) if *deadline > after + 1_000 => assert!(found, "key {key} has not expired"),
            Some(deadline) if *deadline + 1_000 < before => {
                assert!(!found, "key {key} has expired");
                world.stage.count("expired keys", 1);
            }
            Some(_) => {}
            None => assert!(!found, "key {key} was never written"),
        }
    }
    Ok(())
}
