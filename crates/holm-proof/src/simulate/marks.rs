//! Threads that set marks, each with an effect in the same commit.

use super::world::{World, lock};
use holm::{Database, Error, Result};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The keyspace of the effects, and the key: its value is the mark.
pub(super) const EFFECTS: &str = "effects";
const LAST: &str = "last";

/// What was noted of marks.
#[derive(Default)]
pub(super) struct Marks {
    /// The last one that a thread has chosen.
    chosen: u64,
    /// Marks, and when their commits began and ended.
    set: Vec<(u64, u64, Option<u64>)>,
    /// Marks that were durable at an instant.
    durable: Vec<(u64, u64)>,
}

/// Sets marks in batches and transactions, and reads them: a mark never falls.
pub(super) fn marks(world: &World, thread: u64) -> Result<()> {
    let effects = world.db.keyspace(EFFECTS)?;
    let mut random = Pcg64Mcg::seed_from_u64(world.plan.seed << 8 | 0xA0 | thread);
    let mut seen = None;
    for _ in 0..world.plan.operations {
        let (mark, at) = {
            let mut marks = lock(&world.notes.marks);
            marks.chosen += random.random_range(1..3);
            let mark = marks.chosen;
            marks.set.push((mark, world.now(), None));
            (mark, marks.set.len() - 1)
        };
        let value = mark.to_le_bytes();
        let set = if random.random_ratio(1, 2) {
            let other = random.random_range(0..200_u64).to_be_bytes();
            world.db.batch().insert(&effects, LAST, value).insert(&effects, other, value).set_mark(mark).commit()
        } else {
            world.db.transact(|on| {
                on.insert(&effects, LAST, value)?;
                on.set_mark(mark)
            })
        };
        match set {
            Ok(()) => {
                let ended = world.now();
                lock(&world.notes.marks).set[at].2 = Some(ended);
                world.stage.count("marks", 1);
                assert!(world.db.mark()? >= Some(mark), "the mark is at least the one that was set");
            }
            // Another thread has set a later one.
            Err(Error::Invalid { .. }) => assert!(world.db.mark()? > Some(mark), "a mark that rises is refused"),
            Err(error) => return Err(error),
        }
        let (durable, found) = (world.db.durable_mark(), world.db.mark()?);
        assert!(durable <= found && seen <= found, "a mark fell: durable {durable:?}, then {found:?}, before {seen:?}");
        seen = found;
        if let Some(durable) = durable {
            lock(&world.notes.marks).durable.push((world.now(), durable));
        }
    }
    Ok(())
}

/// Checks the mark of an image, and that its effect is there with it.
///
/// # Panics
/// If they are not what the threads have left.
pub(super) fn compare(db: &Database, marks: &Marks, floor: u64, now: u64) -> Result<()> {
    let mark = db.mark()?;
    let effect = match db.existing_keyspace(EFFECTS)? {
        Some(space) => space.get(LAST)?.map(|value| u64::from_le_bytes(value[..].try_into().expect("eight bytes"))),
        None => None,
    };
    assert_eq!(mark, effect, "the mark, and what was committed with it");
    let ended = marks.set.iter().filter(|(.., ended)| ended.is_some_and(|ended| ended < floor));
    let durable = marks.durable.iter().filter(|(instant, _)| *instant < now).map(|(_, mark)| *mark);
    let least = ended.map(|(mark, ..)| *mark).chain(durable).max();
    assert!(mark >= least, "the mark is {mark:?}, and {least:?} was there to stay");
    let began = |mark: u64| marks.set.iter().any(|(set, began, _)| *set == mark && *began < now);
    assert!(mark.is_none_or(began), "the mark {mark:?} was not yet");
    Ok(())
}
